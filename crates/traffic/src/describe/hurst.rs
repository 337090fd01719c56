//! The Hurst parameter of counts.
//!
//! Whittle's estimate for fractional Gaussian noise, of the counts in equal periods. A day's rise and fall would look like
//! a high one, so it is given twice: of the counts as they are, and in the time in which the profile is level. A difference
//! between the two is the day's.

use sojourn_stats::hurst::whittle;

use super::Facts;
use super::rate::{Profiled, counts};

/// Periods to count in: no fewer, lest the estimate say nothing, and no more than this.
const PERIODS_LEAST: f64 = 1024.0;
const PERIODS_MOST: f64 = (1u32 << 20) as f64;

/// H of the counts of these instants (s from the start, in order), as they are and with the profile taken out.
pub(super) fn tell(instants_s: &[f64], span_s: f64, arrivals: &Profiled, facts: &mut Facts) {
    if instants_s.len() < PERIODS_LEAST as usize {
        return;
    }
    // A second, the resolution of a log, where that gives neither too few nor too many.
    let every_s = 1f64.clamp(span_s / PERIODS_MOST, span_s / PERIODS_LEAST);
    facts.number("hurst_period", every_s, "s");
    let mut of = |name: &str, instants_s: &[f64]| {
        let series: Vec<f64> = counts(instants_s, span_s, every_s).iter().map(|count| *count as f64).collect();
        if let Ok(estimate) = whittle::fgn(&series) {
            facts.number(name, estimate.h, "1");
            facts.text(&format!("{name}_interval"), format!("{:.3} to {:.3}", estimate.ci_low, estimate.ci_high));
        }
    };
    of("hurst_of_counts", instants_s);
    if !arrivals.levels.is_empty() {
        of("hurst_of_counts_without_the_profile", &arrivals.instants_s);
    }
}
