//! How far a fitted law is from its sample, and how far it would be if it were true.
//!
//! The distances of a law whose parameters came from the sample itself follow no table: the fit has bent the law towards
//! the sample. [`bootstrap`] therefore draws samples from the fitted law, fits each anew and counts those that are as far
//! from their own fit (Stute, Gonzalez Manteiga and Presedo Quindimil, Metrika 40, 1993). The price is a fit per draw, so
//! it is for samples up to [`BOOTSTRAP_MOST`]; beyond, nothing is tested, and the distance says how far a law is off.

use super::{Fit, Sample, maximum};
use crate::{Law, Stream};

/// The largest sample whose p-value is worth its price.
pub const BOOTSTRAP_MOST: usize = 2_000;

/// How far a law is from a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distance {
    /// Largest difference of the distribution functions.
    pub kolmogorov: f64,
    /// Anderson and Darling's statistic over the number of numbers.
    pub anderson_darling: f64,
}

/// Both distances. At the end of a law's range, where its logarithm would be infinite, Anderson and Darling's takes the
/// chance for half of one number instead: else a law that begins at the smallest number would be infinitely far.
pub fn distance(sample: &Sample, law: &Law) -> Distance {
    let n = sample.count();
    let least = 0.5 / n;
    let (mut below, mut kolmogorov, mut sum) = (0.0, 0.0f64, 0.0);
    for (value, weight) in sample.values.iter().zip(&sample.weights) {
        let (chance, rest) = (law.cdf(*value), law.survival(*value));
        let up_to = below + weight;
        kolmogorov = kolmogorov.max((chance - below / n).abs()).max((chance - up_to / n).abs());
        // (2i - 1) summed over the ranks of equal numbers is a difference of squares.
        let from_below = up_to * up_to - below * below;
        let from_above = (n - below) * (n - below) - (n - up_to) * (n - up_to);
        sum += from_below * chance.max(least).ln() + from_above * rest.max(least).ln();
        below = up_to;
    }
    Distance { kolmogorov, anderson_darling: (-n - sum / n) / n }
}

/// The share of `draws` samples of the fitted law, as many numbers in each as `sample` has and each fitted anew, whose
/// Kolmogorov distance is at least that of `fit`; its own sample counts as one of them, so that the share is never 0 and a
/// test at level p is false with chance at most p. None when the law cannot be drawn.
pub fn bootstrap(fit: &Fit, sample: &Sample, draws: usize, stream: &mut Stream) -> Option<f64> {
    let law = fit.shape().law(fit.law.dimension())?;
    let count = sample.count() as usize;
    let mut numbers = vec![0.0; count];
    let (mut as_far, mut done) = (1usize, 1usize);
    for _ in 0..draws {
        numbers.iter_mut().for_each(|number| *number = law.sample(stream));
        numbers.sort_unstable_by(f64::total_cmp);
        if numbers[0] <= 0.0 || numbers[0] == numbers[count - 1] {
            continue;
        }
        let drawn = Sample::of_sorted(&numbers);
        // A sample that has no fit of this family says nothing of the distance to one.
        let Some(own) = maximum::likelihood(fit.family, &drawn).and_then(|shape| shape.law(law.dimension())) else {
            continue;
        };
        done += 1;
        as_far += usize::from(distance(&drawn, &own).kolmogorov >= fit.kolmogorov);
    }
    (done > draws / 2).then(|| as_far as f64 / done as f64)
}
