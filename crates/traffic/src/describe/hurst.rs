//! The Hurst parameter of counts, and whether to believe it.
//!
//! Every estimator of [`sojourn_stats::hurst`] looks at the counts in equal periods, as `sojourn traffic hurst` would, and its
//! verdict and warnings are told with the number. A day's rise and fall would look like a high H, so all of it is given
//! twice: of the counts as they are, and in the time in which the profile is level. A difference between the two is the
//! day's.

use serde::Serialize;
use sojourn_stats::hurst::{self, Finding, Hurst};

use super::Facts;
use super::rate::{Profiled, counts};

/// Periods to count in: no fewer where the instants are known well enough, lest the estimate say little, and no more than
/// this.
const PERIODS_LEAST: f64 = 1024.0;
const PERIODS_MOST: f64 = (1u32 << 20) as f64;

/// How self-similar some counts are.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Memory {
    /// The fact that has its number: `hurst_of_counts`.
    pub name: &'static str,
    /// What was counted: `Counts of 1 s, as they are`.
    pub title: String,
    /// Length of a period (s).
    pub every_s: f64,
    /// What every estimator says, and the verdict.
    pub hurst: Hurst,
}

impl Memory {
    /// The H of the verdict, where it says that there is long-range dependence and nothing speaks against it.
    pub fn undoubted(&self) -> Option<f64> {
        undoubted(&self.hurst)
    }
}

/// As [`Memory::undoubted`].
pub(crate) fn undoubted(hurst: &Hurst) -> Option<f64> {
    let is_sure = hurst.finding == Finding::LongRange && hurst.warnings.is_empty();
    is_sure.then_some(hurst.settled.estimate.h)
}

/// Of the counts of these instants (s from the start, in order), as they are and with the profile taken out; nothing where
/// there are too few. `finest_s` is how exactly the instants are known: shorter periods would count what is made up.
pub(crate) fn of_counts(instants_s: &[f64], span_s: f64, arrivals: &Profiled, finest_s: f64) -> Vec<Memory> {
    if instants_s.len() < PERIODS_LEAST as usize {
        return Vec::new();
    }
    // A second, where that gives neither too few nor too many.
    let every_s = 1f64.clamp(span_s / PERIODS_MOST, span_s / PERIODS_LEAST).max(finest_s);
    let of = |name, which: &str, instants_s: &[f64]| {
        let series: Vec<f64> = counts(instants_s, span_s, every_s).iter().map(|count| *count as f64).collect();
        let title = format!("Counts of {} s, {which}", super::digits(every_s));
        Some(Memory { name, title, every_s, hurst: hurst::estimate(&series).ok()? })
    };
    let as_they_are = of("hurst_of_counts", "as they are", instants_s);
    let level = (!arrivals.levels.is_empty())
        .then(|| of("hurst_of_counts_without_the_profile", "the change of the rate taken out", &arrivals.instants_s));
    as_they_are.into_iter().chain(level.flatten()).collect()
}

/// The facts about it: Whittle's H of the single periods with its interval, and what came of the look behind it.
pub(super) fn tell(memory: &[Memory], facts: &mut Facts) {
    if let Some(first) = memory.first() {
        facts.number("hurst_period", first.every_s, "s");
    }
    for Memory { name, hurst, .. } in memory {
        let whittle = &hurst.whittle_fgn;
        facts.number(name, whittle.h, "1");
        if let (Some(low), Some(high)) = (whittle.ci_low, whittle.ci_high) {
            facts.text(&format!("{name}_interval"), format!("{low:.3} to {high:.3}"));
        }
        facts.text(&format!("{name}_finding"), in_short(hurst));
    }
}

fn in_short(hurst: &Hurst) -> String {
    let settled = hurst.settled;
    let found = match hurst.finding {
        Finding::Independent => "as of independent counts".to_owned(),
        Finding::ShortRange => {
            let longest = hurst.scales[hurst.scales.len() - 1];
            let (h, block) = (longest.estimate.h, longest.block);
            format!("short-range dependence, not self-similar: H is {h:.2} in blocks of {block} periods")
        }
        Finding::LongRange if settled.block == 1 => "self-similar".to_owned(),
        Finding::LongRange => {
            format!("not of one H: {:.2} from blocks of {} periods on", settled.estimate.h, settled.block)
        }
        Finding::Antipersistent => "antipersistent".to_owned(),
        Finding::NotStationary => "not stationary, so there is no one H".to_owned(),
        Finding::Undecided => "undecided".to_owned(),
    };
    let doubted = if hurst.warnings.is_empty() { "" } else { "; doubted, see the verdict" };
    found + doubted
}
