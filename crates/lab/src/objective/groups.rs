//! Requests that fail in groups: why the interval of a share of which little was seen is wide.

use sojourn_stats::Estimate;
use sojourn_stats::interval::exact_ratio;
use sojourn_stats::measure::{CONFIDENCE, Measure};

use super::GIVEN_UP;
use crate::report::number::significant;

/// More events than these tell by themselves how they come.
const FEW: f64 = 10.0;

/// Why the intervals of shares of which little was seen in so many replications, or nothing, are wider than those of as many
/// independent requests (an exact binomial interval: of none about 3 in all of them), each with its metric.
pub(crate) fn wide_of_few(measures: &[Measure], replications: u32) -> Vec<(&'static str, String)> {
    let value = |metric: &str| measures.iter().find(|of| of.metric == metric)?.estimate.value();
    let given_up = value(GIVEN_UP).is_some_and(|share| share > 0.0);
    let of = |(metric, past, aside): (&'static str, &str, &str)| {
        let measure = measures.iter().find(|measure| measure.metric == metric)?;
        let Estimate::Sampled { value, ci_high, samples, .. } = measure.estimate else { return None };
        let (all, events) = (samples.max(1) as f64, (value * samples as f64).round());
        let upper = |together: f64| exact_ratio(events / together, all / together, CONFIDENCE).1;
        if events > FEW || events == all || upper(2.0) > ci_high {
            return None;
        }
        // How many come together where the exact interval is as wide.
        let (mut low, mut high) = (1.0, all);
        for _ in 0..60 {
            let middle = f64::sqrt(low * high);
            *(if upper(middle) < ci_high { &mut low } else { &mut high }) = middle;
        }
        let runs = if replications > 1 { format!(" in {replications} replications") } else { String::new() };
        let seen = if events == 0.0 { "none".to_owned() } else { format!("{events:.0}") };
        Some((
            metric,
            format!(
                "{seen} of {samples} requests{runs} {past}{aside}, and still up to {} % may: slow replies come here in groups of \
                 about {low:.0}, these may come in such groups too, and then so many requests say no more than {:.0} would of \
                 which each has its own fate",
                significant(100.0 * ci_high),
                all / low
            ),
        ))
    };
    let aside = if given_up { " (those that were given up aside)" } else { "" };
    [("error_ratio", "failed", aside), (GIVEN_UP, "gave up", "")].into_iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Why few of many, or none, allow so much is said in plain words, with what the interval rests on.
    #[test]
    fn few_say_what_their_interval_rests_on() {
        let of = |metric: &str, value: f64, ci_high: f64, replications: u32| {
            let estimate = Estimate::Sampled { value, ci_low: 0.0, ci_high, samples: 120_000 };
            let told = wide_of_few(&[Measure { metric: metric.into(), unit: "1".into(), estimate }], replications);
            told.into_iter().next().map(|(_, told)| told)
        };
        let upper = |events: f64, together: f64| exact_ratio(events / together, 120_000.0 / together, CONFIDENCE).1;
        assert_eq!(of("error_ratio", 0.0, upper(0.0, 1.0), 10), None);
        let told = of("error_ratio", 0.0, upper(0.0, 446.0), 10).unwrap();
        for part in [
            "none of 120000 requests in 10 replications failed, ",
            "up to 1.11 % may",
            "about 446,",
            "no more than 269",
        ] {
            assert!(told.contains(part), "{part}: {told}");
        }
        let alone = of("error_ratio", 0.0, upper(0.0, 446.0), 1).unwrap();
        assert!(alone.starts_with("none of 120000 requests failed, "), "{alone}");
        let three = of("abandoned_ratio", 3.0 / 120_000.0, upper(3.0, 446.0), 1).unwrap();
        assert!(three.starts_with("3 of 120000 requests gave up, ") && three.contains("about 446,"), "{three}");
        assert_eq!(of("abandoned_ratio", 3.0 / 120_000.0, upper(3.0, 1.0), 1), None);
        assert_eq!(of("abandoned_ratio", 300.0 / 120_000.0, 0.01, 1), None, "so many tell how they come");
    }
}
