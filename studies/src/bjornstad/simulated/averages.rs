//! Local averages of self-similar gaps (Figure 7.7).

use rayon::prelude::*;
use sojourn_stats::{Moments, Stream};

use super::memory::{self, HURST};
use crate::bjornstad::series::{REQUESTS, Series, averages};

/// Gaps of an average.
pub(in crate::bjornstad) const SIZE: usize = 1000;

/// The averages of one file.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::bjornstad) struct Averages {
    /// A place in [`HURST`].
    pub(in crate::bjornstad) hurst: usize,
    pub(in crate::bjornstad) set: u64,
    /// Standard deviation of the gaps, and of their averages, over the mean gap.
    pub(in crate::bjornstad) gaps_cv: f64,
    pub(in crate::bjornstad) averages_cv: f64,
}

fn gaps(hurst: usize, set: u64) -> Vec<f64> {
    Series::Noise(HURST[hurst]).draw(REQUESTS, &mut Stream::new(1 + set, "bjornstad", "gaps"))
}

/// As many files of each H as response times have.
pub(super) fn all() -> Vec<Averages> {
    let of = |number: usize| {
        let (hurst, set) = (number % HURST.len(), (number / HURST.len()) as u64);
        let gaps = gaps(hurst, set);
        let cv = |values: &[f64]| {
            let moments: Moments = values.iter().copied().collect();
            moments.variance().sqrt() / moments.mean()
        };
        Averages { hurst, set, gaps_cv: cv(&gaps), averages_cv: cv(&averages(&gaps, SIZE)) }
    };
    (0..HURST.len() * memory::SETS as usize).into_par_iter().map(of).collect()
}

/// The averages of the first file of each H, over the mean gap: the points of the figure.
pub(super) fn first() -> Vec<Vec<f64>> {
    (0..HURST.len()).map(|hurst| averages(&gaps(hurst, 0), SIZE)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_spread_as_the_law_says() {
        // Of fractional Gaussian noise: m^(H - 1) times the deviation of one. At H = 0.5 the 100 averages give it to 7 %
        // (one sigma), so five of these; at 0.8 they are correlated, and their own mean takes some of it away.
        let of = |hurst: usize| {
            let gaps = gaps(hurst, 0);
            let moments: Moments = gaps.iter().copied().collect();
            let means: Moments = averages(&gaps, SIZE).into_iter().collect();
            means.variance().sqrt() / moments.variance().sqrt() / (SIZE as f64).powf(HURST[hurst] - 1.0)
        };
        assert!((of(0) - 1.0).abs() < 0.36, "{}", of(0));
        assert!(of(3) > 0.5 && of(3) < 1.5, "{}", of(3));
    }
}
