//! What tells self-similarity from its imitations.

use super::cycle::{self, Cycle};
use super::periodogram::{Bins, Periodogram};
use super::whittle::{self, Fit, Model};
use super::{Estimate, blocks};
use crate::Stream;

/// H of block means may differ by this much between scales before anything is made of it: real series are no exact
/// model, and long ones would show it.
const IMMATERIAL: f64 = 0.05;
/// ... and by this many standard errors: one in sixteen thousand by chance.
pub(super) const BEYOND_CHANCE: f64 = 4.0;
/// Once it is known that H does change, longer blocks have to agree within this many, so that what is still changing is
/// not taken for settled.
const SETTLED: f64 = 2.0;
/// A model explains a series better than another from this difference of log-likelihoods on: odds of 1,000 to 1.
const BETTER: f64 = 6.9;
/// The standardised bridge of partial sums of independent numbers goes beyond this seven times in ten thousand
/// (2 e^(-z^2 / 2) bounds Kolmogorov's law); that of numbers with larger H, which is smoother, more rarely.
const SHIFTED: f64 = 4.0;

/// Whittle's H of block means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Numbers in a block.
    pub block: usize,
    /// H of the blocks' means, were they fractional Gaussian noise.
    pub estimate: Estimate,
}

/// Where the level of a series changes most, if that is more than its dependence explains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// How many numbers come before the change.
    pub position: usize,
    /// Their mean.
    pub before: f64,
    /// The mean of the others.
    pub after: f64,
    /// A straight line explains more than a step.
    pub gradual: bool,
    /// H without the step or line, of block means as long as those that the verdict rests on.
    pub without: Estimate,
}

/// All of it.
pub(super) struct Evidence {
    pub(super) scales: Vec<Scale>,
    /// The scale from which on H stays as it is.
    pub(super) onset: usize,
    /// An autoregression that explains the block means at the onset better than any self-similar model: correlation of
    /// neighbours, and difference of the log-likelihoods.
    pub(super) autoregression: Option<(f64, f64)>,
    pub(super) shift: Option<Shift>,
    pub(super) cycle: Option<Cycle>,
    pub(super) shuffled: Estimate,
    /// Share of the variance that the largest deviation is.
    pub(super) largest_share: f64,
}

impl Evidence {
    /// Of a centred series, whose numbers were `original` before. A cycle is taken out of its `bins`.
    pub(super) fn gather(original: &[f64], mut series: Vec<f64>, bins: &mut Bins) -> Evidence {
        let fitted = whittle::fit(bins, Model::Fgn);
        let scales = scales(&series, fitted.estimate());
        let cycle = cycle::find(bins, &fitted, series.len());
        let onset = onset(&scales);
        let at_onset = scales[onset];
        let means = blocks::local_averages(&series, at_onset.block);
        let autoregression = bins_of(&means).and_then(|bins| autoregression(&bins));
        let rising = at_onset.estimate.h > scales[0].estimate.h;
        // A shift makes block means look dependent: where H grows, it is judged by the dependence of single numbers.
        let h = if rising { scales[0].estimate } else { at_onset.estimate }.h;
        let shift = if rising {
            shift(original, &series, 1, at_onset.block, h)
        } else {
            shift(original, &means, at_onset.block, 1, h)
        };
        let squares: f64 = series.iter().map(|x| x * x).sum();
        let largest_share = series.iter().fold(0.0f64, |most, x| most.max(x * x)) / squares;
        let mut stream = Stream::new(1, "hurst", "shuffle");
        (1..series.len()).rev().for_each(|i| series.swap(i, stream.below(i + 1)));
        // An alternating series was refused, and no shuffling makes one of another.
        let shuffled = bins_of(&series).map_or(scales[0].estimate, |bins| whittle::fit(&bins, Model::Fgn).estimate());
        Evidence { scales, onset, autoregression, shift, cycle, shuffled, largest_share }
    }

    /// H where it has come to rest.
    pub(super) fn settled(&self) -> Scale {
        self.scales[self.onset]
    }
}

/// None where block means are all the same, or alternate.
fn bins_of(series: &[f64]) -> Option<Bins> {
    Some(Periodogram::new(series).ok()?.bins())
}

/// Blocks double while there are enough of them.
fn scales(series: &[f64], own: Estimate) -> Vec<Scale> {
    let mut scales = vec![Scale { block: 1, estimate: own }];
    let (mut means, mut block) = (blocks::local_averages(series, 2), 2);
    while means.len() >= whittle::SHORTEST {
        let Some(bins) = bins_of(&means) else { break };
        scales.push(Scale { block, estimate: whittle::fit(&bins, Model::Fgn).estimate() });
        (means, block) = (blocks::local_averages(&means, 2), 2 * block);
    }
    scales
}

/// The first scale with which all longer ones agree: the first of all, unless that is beyond doubt wrong. The H of longer
/// blocks is a part of what the shorter ones know, so their difference has the difference of their variances (Hausman,
/// Econometrica 46(6), 1978).
fn onset(scales: &[Scale]) -> usize {
    let agree = |fine: &Estimate, coarse: &Estimate, immaterial: f64, errors: f64| {
        let variance = coarse.standard_error.powi(2) - fine.standard_error.powi(2);
        (coarse.h - fine.h).abs() <= immaterial + errors * variance.max(0.0).sqrt()
    };
    let settled = |at: usize, immaterial: f64, errors: f64| {
        scales[at + 1..].iter().all(|later| agree(&scales[at].estimate, &later.estimate, immaterial, errors))
    };
    if settled(0, IMMATERIAL, BEYOND_CHANCE) {
        return 0;
    }
    (1..scales.len()).find(|at| settled(*at, 0.0, SETTLED)).expect("nothing comes after the last")
}

fn autoregression(bins: &Bins) -> Option<(f64, f64)> {
    let [fgn, farima, other]: [Fit; 3] =
        [Model::Fgn, Model::Farima, Model::Autoregression].map(|model| whittle::fit(bins, model));
    let gain = other.log_likelihood - fgn.log_likelihood.max(farima.log_likelihood);
    (gain > BETTER && other.parameter > 0.0).then_some((other.parameter, gain))
}

/// The bridge of the partial sums against fractional Brownian motion's, which has standard deviation
/// sqrt(2^(-2H) - 1/4) n^H in the middle. `block` numbers went into each of `means`; `without` is judged on means of
/// `longer` of them.
fn shift(original: &[f64], means: &[f64], block: usize, longer: usize, h: f64) -> Option<Shift> {
    let n = means.len() as f64;
    let mean = means.iter().sum::<f64>() / n;
    // The deviations from the series' own mean are smaller than those from the true one, by the variance of that mean.
    let variance = means.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - n.powf(2.0 * h - 1.0));
    let standard = variance.sqrt() * n.powf(h) * (0.25f64.powf(h) - 0.25).sqrt();
    let (mut sum, mut farthest, mut at) = (0.0f64, 0.0f64, 0);
    for (index, x) in means.iter().enumerate() {
        sum += x - mean;
        if sum.abs() > farthest {
            (farthest, at) = (sum.abs(), index + 1);
        }
    }
    if farthest <= SHIFTED * standard {
        return None;
    }
    let before = at as f64;
    let explained_by_step = farthest * farthest * (1.0 / before + 1.0 / (n - before));
    let middle = 0.5 * (n - 1.0);
    let products: f64 = means.iter().enumerate().map(|(index, x)| (index as f64 - middle) * (x - mean)).sum();
    let spread = n * (n * n - 1.0) / 12.0;
    let gradual = products * products / spread > explained_by_step;
    let average = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let (low, high) = (average(&means[..at]), average(&means[at..]));
    let level = |index: usize| match gradual {
        true => mean + products / spread * (index as f64 - middle),
        false if index < at => low,
        false => high,
    };
    let flat: Vec<f64> = means.iter().enumerate().map(|(index, x)| x - level(index)).collect();
    let bins = bins_of(&blocks::local_averages(&flat, longer))?;
    let (first, second) = original.split_at(at * block);
    let without = whittle::fit(&bins, Model::Fgn).estimate();
    Some(Shift { position: first.len(), before: average(first), after: average(second), gradual, without })
}
