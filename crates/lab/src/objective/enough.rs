//! What would decide an objective that is open: how many requests, and how long they take.
//!
//! Of a share of which none was seen the interval ends where so many would have been seen but once in twenty times, and that end
//! falls as requests are added: ln(1 - end) is inversely proportional to their number, in whatever groups they tell as much as
//! one. A percentile in a tail has an interval from a number of requests on.

use sojourn_load::estimate;
use sojourn_stats::measure::Measure;
use sojourn_stats::{Dimension, Estimate, quantity};

use super::{GIVEN_UP, Objective};
use crate::report::number::two_digits;

impl Objective {
    /// What would decide it where `measures` leave it open: so many requests, and how long these take at the rate of `measures`.
    /// Of a share of which none was seen, as many as would do if again none is; of a percentile without an interval, as many as
    /// one of a load has an interval from. None of everything else, since nothing says so much.
    pub(crate) fn enough(&self, measures: &[Measure], are_of_load: bool) -> Option<String> {
        let of = |metric: &str| Some(&measures.iter().find(|of| of.metric == metric)?.estimate);
        let (requests, what) = match *of(&self.metric)? {
            Estimate::Sampled { value: 0.0, ci_high, samples, .. } => {
                let none = none(&self.metric).filter(|_| self.below && self.limit <= ci_high && ci_high < 1.0)?;
                (samples as f64 * (-ci_high).ln_1p() / (-self.limit).ln_1p(), Some(none))
            }
            Estimate::WithoutInterval { samples, .. } | Estimate::TooFew { samples } => {
                let is_of_load = are_of_load && self.metric.starts_with("response_time_p");
                let needed = self.quantile().filter(|_| is_of_load).and_then(estimate::requests_needed)?;
                (Some(needed).filter(|needed| *needed > samples)? as f64, None)
            }
            _ => return None,
        };
        let requests = two_digits(requests, f64::ceil);
        let rate = of("throughput").and_then(Estimate::value).filter(|rate| *rate > 0.0);
        let lasting = rate.map_or(String::new(), |rate| {
            let seconds = two_digits(requests / rate, f64::ceil);
            format!(" ({} at this rate)", quantity::format(seconds, Dimension::Time))
        });
        Some(match what {
            Some(none) => format!("about {requests:.0} requests of which none {none} would do{lasting}"),
            None => format!("it has an interval from about {requests:.0} requests on{lasting}"),
        })
    }
}

/// What happens to a request that a share counts.
fn none(metric: &str) -> Option<&'static str> {
    match metric {
        "error_ratio" => Some("fails"),
        GIVEN_UP => Some("is given up"),
        "denied_ratio" => Some("is denied"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use sojourn_stats::interval::exact_ratio;
    use sojourn_stats::measure::{CONFIDENCE, NoInterval};

    use super::*;

    /// `estimate` of what an objective is about, at 100 requests a second.
    fn enough(objective: &str, estimate: Estimate, are_of_load: bool) -> Option<String> {
        let objective = Objective::parse(objective).unwrap();
        let measures = [
            Measure::new(objective.metric.clone(), "1", estimate),
            Measure::new("throughput", "1/s", Estimate::Exact { value: 100.0 }),
        ];
        objective.enough(&measures, are_of_load)
    }

    /// None of 1490, of which so many together tell as much as one.
    fn none_seen(together: f64) -> Estimate {
        let ci_high = exact_ratio(0.0, 1490.0 / together, CONFIDENCE).1;
        Estimate::Sampled { value: 0.0, ci_low: 0.0, ci_high, samples: 1490 }
    }

    #[test]
    fn none_of_so_many_would_do() {
        let told = "about 3000 requests of which none fails would do (30 s at this rate)";
        assert_eq!(enough("error_ratio < 0.1%", none_seen(1.0), true).as_deref(), Some(told));
        let upper = |requests: f64| exact_ratio(0.0, requests, CONFIDENCE).1;
        assert!(upper(3000.0) < 0.001 && upper(2900.0) > 0.001, "by the rule of the interval");
        let four = enough("error_ratio < 0.1%", none_seen(4.0), true).unwrap();
        assert!(four.starts_with("about 12000 requests "), "in groups of four: {four}");
        let given_up = enough("abandoned_ratio < 0.1%", none_seen(1.0), false).unwrap();
        assert!(given_up.contains("none is given up"), "{given_up}");
        // What is decided, the other way round, or not of single requests.
        for other in ["error_ratio < 1%", "error_ratio > 0.1%", "worst_second_error_ratio < 0.1%", "utilization < 0.1%"]
        {
            assert_eq!(enough(other, none_seen(1.0), true), None, "{other}");
        }
        let some = Estimate::Sampled { value: 1e-4, ci_low: 1e-6, ci_high: 2e-3, samples: 10_000 };
        assert_eq!(enough("error_ratio < 0.1%", some, true), None, "how many come is not known");
    }

    #[test]
    fn a_percentile_has_an_interval_from_so_many_on() {
        let bare = |samples| Estimate::WithoutInterval { value: 0.1, samples, why: NoInterval::TooFew };
        let told = "it has an interval from about 1000 requests on (10 s at this rate)";
        assert_eq!(enough("p99 < 50 ms", bare(200), true).as_deref(), Some(told));
        let few = enough("p99.9 < 50 ms", Estimate::TooFew { samples: 200 }, true).unwrap();
        assert!(few.contains("about 10000 requests"), "{few}");
        assert_eq!(enough("p99 < 50 ms", bare(1000), true), None, "so many were not enough");
        assert_eq!(enough("p99 < 50 ms", bare(200), false), None, "the simulator has another rule");
        for other in ["p50 < 50 ms", "mean < 50 ms", "worst_second_p99 < 50 ms"] {
            assert_eq!(enough(other, bare(200), true), None, "{other}");
        }
    }
}
