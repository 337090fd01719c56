//! What a measurement says about an objective: by the unfavourable end of an interval, or by another percentile.

use std::fmt;

use serde::Serialize;
use sojourn_stats::Estimate;
use sojourn_stats::measure::Measure;

use super::{Objective, RECOVERY, percentile};

/// What a measurement says about an objective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// It holds over the whole interval.
    Holds,
    /// It holds nowhere in the interval.
    Fails,
    /// The limit lies inside the interval.
    Undecided,
    /// There is a number without an interval.
    NoInterval,
    /// There are too few samples for this metric.
    TooFew,
    /// There is no sample at all: no request got a good reply.
    NoSample,
    /// It had not recovered when the run ended, once at least.
    NotRecovered,
    /// Whether it recovered cannot be said.
    RecoveryUntold,
    /// Nothing measures this metric here.
    Unknown,
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Judgement::Holds => "met",
            Judgement::Fails => "MISSED",
            Judgement::Undecided => "UNDECIDED: the limit is inside the interval; measure longer",
            Judgement::NoInterval => "UNDECIDED: the number has no interval; measure longer",
            Judgement::TooFew => "UNDECIDED: too few samples; measure longer",
            Judgement::NoSample => "MISSED: not measurable, no request got a good reply",
            Judgement::NotRecovered => "MISSED: it had not recovered when the run ended",
            Judgement::RecoveryUntold => "UNDECIDED: whether it recovered cannot be said",
            Judgement::Unknown => "MISSED: this run does not measure it",
        })
    }
}

impl Objective {
    /// What `measures` say about it, by the one that [`Objective::deciding`] names.
    pub fn judge_among(&self, measures: &[Measure]) -> Judgement {
        self.deciding(measures).map_or(Judgement::Unknown, |measure| self.judge(&measure.estimate))
    }

    /// The one of `measures` that says most about it: its own metric's, or, where that leaves it open, another percentile of
    /// the same time that does not. A lower percentile is a lower bound and a higher one an upper bound. None where its metric
    /// is not among them.
    pub fn deciding<'a>(&self, measures: &'a [Measure]) -> Option<&'a Measure> {
        let own = measures.iter().find(|measure| measure.metric == self.metric)?;
        let is_open =
            matches!(self.judge(&own.estimate), Judgement::Undecided | Judgement::NoInterval | Judgement::TooFew);
        let Some((time, level)) = percentile(&self.metric).filter(|_| is_open) else { return Some(own) };
        let decides = |measure: &&Measure| {
            let (Some((of, other)), Some(_)) = (percentile(&measure.metric), measure.estimate.ends()) else {
                return false;
            };
            let wanted = if (other < level) == self.below { Judgement::Fails } else { Judgement::Holds };
            of == time && other != level && self.judge(&measure.estimate) == wanted
        };
        Some(measures.iter().find(decides).unwrap_or(own))
    }

    /// What `estimate` says about it; a formula's interval is a point.
    pub fn judge(&self, estimate: &Estimate) -> Judgement {
        let (low, high) = match (estimate.ends(), estimate.value()) {
            (Some(ends), _) => ends,
            (None, Some(_)) => return Judgement::NoInterval,
            (None, None) if self.metric == RECOVERY && self.below => return Judgement::NotRecovered,
            (None, None) if estimate.samples() == Some(0) => return Judgement::NoSample,
            (None, None) => return Judgement::TooFew,
        };
        match (self.met(low), self.met(high)) {
            (true, true) => Judgement::Holds,
            (false, false) => Judgement::Fails,
            _ => Judgement::Undecided,
        }
    }
}

#[cfg(test)]
mod tests {
    use sojourn_stats::measure::NoInterval;

    use super::*;

    #[test]
    fn the_unfavourable_end_decides() {
        let of = |ci_low, ci_high| Estimate::Sampled { value: 0.5 * (ci_low + ci_high), ci_low, ci_high, samples: 99 };
        let below = Objective::parse("mean < 50 ms").unwrap();
        assert_eq!(below.judge(&of(0.02, 0.04)), Judgement::Holds);
        assert_eq!(below.judge(&of(0.02, 0.06)), Judgement::Undecided, "its middle would hold");
        assert_eq!(below.judge(&of(0.06, 0.07)), Judgement::Fails);
        assert_eq!(below.judge(&Estimate::TooFew { samples: 3 }), Judgement::TooFew);
        assert_eq!(below.judge(&Estimate::TooFew { samples: 0 }), Judgement::NoSample);
        let recovery = Objective::parse("recovery_time < 10 s").unwrap();
        assert_eq!(recovery.judge(&Estimate::TooFew { samples: 19 }), Judgement::NotRecovered, "one has not");
        let bare = Estimate::WithoutInterval { value: 0.01, samples: 99, why: NoInterval::TooShort };
        assert_eq!(below.judge(&bare), Judgement::NoInterval, "its number would hold");
        assert_eq!(below.judge(&Estimate::Exact { value: 0.04 }), Judgement::Holds);
        let above = Objective::parse("throughput > 100 /s").unwrap();
        assert_eq!(above.judge(&of(99.0, 130.0)), Judgement::Undecided);
        assert_eq!(above.judge(&of(101.0, 130.0)), Judgement::Holds);
    }

    /// A percentile that is not known, or not well enough, lies between the others.
    #[test]
    fn another_percentile_may_decide() {
        let sampled = |ci_low: f64, ci_high: f64| Estimate::Sampled { value: ci_low, ci_low, ci_high, samples: 99 };
        let measure = |metric: &str, estimate| Measure { metric: metric.into(), unit: "s".into(), estimate };
        let measures = [
            measure("waiting_time_p50", sampled(0.5, 0.6)),
            measure("response_time_p50", sampled(0.02, 0.03)),
            measure("response_time_p90", Estimate::TooFew { samples: 40 }),
            measure("response_time_p99", sampled(0.06, 0.09)),
        ];
        let judged = |text: &str| Objective::parse(text).unwrap().judge_among(&measures);
        assert_eq!(judged("p90 < 10 ms"), Judgement::Fails, "half of them take longer");
        assert_eq!(judged("p90 > 10 ms"), Judgement::Holds);
        assert_eq!(judged("p90 < 100 ms"), Judgement::Holds, "99 % take less");
        assert_eq!(judged("p90 > 100 ms"), Judgement::Fails);
        assert_eq!(judged("p90 < 50 ms"), Judgement::TooFew, "between the two");
        assert_eq!(judged("p90 < 25 ms"), Judgement::TooFew, "inside the interval of p50");
        assert_eq!(judged("p99 < 70 ms"), Judgement::Undecided, "a lower percentile that holds says nothing");
        assert_eq!(judged("p95 < 10 ms"), Judgement::Unknown);
        let told = |text: &str| Objective::parse(text).unwrap().measured_among(&measures);
        assert_eq!(told("p90 < 10 ms"), "too few samples; p50 20.0 ms (20.0 to 30.0 ms)");
        assert_eq!(told("p90 < 50 ms"), "too few samples");
        assert_eq!(told("p95 < 50 ms"), "");
    }

    /// A count of what failed can be equal to its limit, and the sign says "below".
    #[test]
    fn a_number_at_its_limit_does_not_meet_it() {
        let ratio = Estimate::Exact { value: 0.01 };
        for sign in ["<", ">"] {
            let objective = Objective::parse(&format!("error_ratio {sign} 1%")).unwrap();
            assert_eq!(objective.judge(&ratio), Judgement::Fails, "{sign}");
        }
        assert_eq!(Judgement::Fails.to_string(), "MISSED");
        assert!(Judgement::NoInterval.to_string().starts_with("UNDECIDED: "));
    }
}
