//! The Hurst parameter that came out of arrivals with long memory, which is not quite the one they were made for.

use sojourn_stats::hurst::whittle;
use sojourn_stats::{Estimate, Measure};

use super::clock::Gaps;
use super::{Arrivals, Process};

/// Gaps that are looked at, at most: they tell H to 0.003, and twenty replications of them take a second or two.
const GAPS_MOST: u64 = 1 << 18;
/// The least mean count of an interval, where counts are looked at: below, they are little but their own noise.
const COUNT_LEAST: f64 = 20.0;

impl Arrivals {
    /// The Hurst parameter of the first `requests` (of at most the first 2^18) of the plan of `seed`, by Whittle's
    /// estimator for fractional Gaussian noise, as the measure `arrivals_hurst` with its 95 % interval: of the gaps, or
    /// where there are sources that are on and off of the requests in equal intervals, as long as they take to be on and
    /// off once, or as 20 requests. Before any profile, whose ups and downs would pass for memory.
    ///
    /// None of a renewal process, and where the rate is not settled.
    pub fn hurst_of(&self, seed: u64, requests: u64) -> Option<Measure> {
        self.hurst()?;
        let mut gaps = Gaps::new(self, seed).ok()?;
        let looked_at = requests.min(GAPS_MOST);
        let gaps = (0..looked_at).map(|_| gaps.next());
        let series: Vec<f64> = match self.process() {
            Process::OnOff(sources) => counts(gaps, sources.cycle_s().max(COUNT_LEAST / self.rate()?)),
            _ => gaps.collect(),
        };
        let samples = series.len() as u64;
        let estimate = match whittle::fgn(&series) {
            Ok(found) => Estimate::Sampled { value: found.h, ci_low: found.ci_low, ci_high: found.ci_high, samples },
            Err(_) => Estimate::TooFew { samples },
        };
        Some(Measure::new("arrivals_hurst", "1", estimate))
    }
}

/// How many come in each whole interval.
fn counts(gaps: impl Iterator<Item = f64>, interval_s: f64) -> Vec<f64> {
    let (mut counts, mut at_s) = (Vec::new(), 0.0);
    for gap_s in gaps {
        at_s += gap_s;
        let interval = (at_s / interval_s) as usize;
        counts.resize(counts.len().max(interval + 1), 0.0);
        counts[interval] += 1.0;
    }
    // The last interval was cut short.
    counts.pop();
    counts
}
