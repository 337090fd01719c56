//! Names of metrics: short and full ones, what each is a number of, and what an experiment must have for it.

use sojourn_stats::{Dimension, nearest};

/// How long a system took to be as before a fault.
pub(crate) const RECOVERY: &str = "recovery_time";

/// The share of the requests whose clients gave up.
pub(crate) const GIVEN_UP: &str = "abandoned_ratio";

/// Whether `metric` is of the worst second of a run.
pub(crate) fn is_of_worst_second(metric: &str) -> bool {
    metric.starts_with("worst_second_")
}

/// What stands in front of a metric that is measured while a fault lasts, and those metrics.
pub(super) const DURING: &str = "during(fault).";
const MEASURED_DURING: [&str; 4] = ["error_ratio", "attempts_ratio", "throughput", "response_time_p99"];

/// Short names of the metrics that objectives are mostly about.
pub(super) const SHORT: [&str; 6] = ["mean", "p50", "p90", "p95", "p99", "p99.9"];

/// What else is mostly asked of a load.
pub(super) const OF_A_LOAD: [&str; 4] = ["error_ratio", "throughput", "abandoned_ratio", "attempts_ratio"];

/// And of an experiment, as messages list it.
const OF_AN_EXPERIMENT: [&str; 6] = [
    "utilization",
    RECOVERY,
    "worst_second_p99",
    "during(fault).error_ratio",
    "during(fault).attempts_ratio",
    "during(fault).p99",
];

/// The metrics that are named where an experiment asks for one that is not known.
pub(crate) fn known() -> Vec<&'static str> {
    [&SHORT[..], &OF_A_LOAD, &OF_AN_EXPERIMENT].concat()
}

/// The one of `known` that a name which is no metric's was probably meant to be. Another percentile is no spelling mistake.
pub(super) fn meant<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let is_percentile = name.strip_prefix('p').is_some_and(|digits| digits.parse::<f64>().is_ok());
    nearest(name, known).filter(|_| !is_percentile || name == "p999")
}

/// What is said of such a name.
pub(crate) fn unknown(name: &str, known: &[&str]) -> String {
    let right = match meant(name, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("known are {}", known.join(", ")),
    };
    format!("unknown metric `{name}`; {right}")
}

/// `response_time` and 99 of `response_time_p99`; none of a metric that is no percentile.
pub(crate) fn percentile(metric: &str) -> Option<(&str, f64)> {
    let (time, level) = metric.rsplit_once("_p")?;
    Some((time, level.parse().ok()?))
}

/// `response_time_p99` for `p99`, behind `during(fault).` too, and any other name as it is.
pub(crate) fn full_name(name: &str) -> String {
    if let Some(during) = name.strip_prefix(DURING) {
        return format!("{DURING}{}", full_name(during));
    }
    match name {
        short if SHORT.contains(&short) => format!("response_time_{short}"),
        full => full.to_owned(),
    }
}

/// What an experiment must have for a metric that is about what goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Clients that ask more than once.
    Attempts,
    /// Outcomes that are counted second by second.
    Seconds,
    /// A fault.
    Fault,
    /// Faults that end.
    Recovery,
}

/// What an experiment must have for a metric; none of one that needs nothing of it.
pub(crate) fn need_of(metric: &str) -> Option<Need> {
    match metric {
        "attempts_ratio" => Some(Need::Attempts),
        RECOVERY => Some(Need::Recovery),
        _ if is_of_worst_second(metric) => Some(Need::Seconds),
        _ if metric.starts_with(DURING) => Some(Need::Fault),
        _ => None,
    }
}

/// What `metric` is a number of; none of a name that is no metric's.
pub(crate) fn dimension(metric: &str) -> Option<Dimension> {
    if let Some(during) = metric.strip_prefix(DURING) {
        return MEASURED_DURING.contains(&during).then(|| dimension(during)).flatten();
    }
    let time = metric.contains("_time_") || metric.starts_with("lateness_");
    let numbers = [
        "utilization",
        "error_ratio",
        GIVEN_UP,
        "denied_ratio",
        "attempts_ratio",
        "worst_second_error_ratio",
        "connection_error_ratio",
        "littles_load_factor",
        "imbalance_index",
        "arrivals_hurst",
    ];
    match metric {
        _ if time || [RECOVERY, "worst_second_p99"].contains(&metric) => Some(Dimension::Time),
        "throughput" | "connection_rate" => Some(Dimension::Rate),
        // Of a chain or a station of a network.
        _ if metric.starts_with("throughput_") || metric.ends_with("_throughput") => Some(Dimension::Rate),
        _ if ["utilization_", "queue_length_mean_", "hit_ratio_", "share_"].iter().any(|of| metric.starts_with(of)) => {
            Some(Dimension::Number)
        }
        _ if numbers.contains(&metric) => Some(Dimension::Number),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objective::Objective;

    /// The same in an experiment.
    #[test]
    fn a_name_that_is_no_metrics_is_answered_with_the_one_that_was_meant() {
        for (name, meant) in
            [("p999", "p99.9"), ("latency", "mean"), ("error_rate", "error_ratio"), ("qps", "throughput")]
        {
            assert_eq!(unknown(name, &known()), format!("unknown metric `{name}`; did you mean `{meant}`?"));
        }
        assert!(unknown("p75", &known()).starts_with("unknown metric `p75`; known are mean, p50, p90,"));
    }

    #[test]
    fn each_metric_is_a_number_of_something() {
        let of = |name: &str| dimension(name);
        for time in ["response_time_p99.9", "waiting_time_mean", "lateness_p99"] {
            assert_eq!(of(time), Some(Dimension::Time), "{time}");
        }
        for rate in ["throughput", "connection_rate", "throughput_web", "byte_throughput"] {
            assert_eq!(of(rate), Some(Dimension::Rate), "{rate}");
        }
        assert_eq!((of("recovery_time"), of("worst_second_p99")), (Some(Dimension::Time), Some(Dimension::Time)));
        assert_eq!(of("during(fault).response_time_p99"), Some(Dimension::Time));
        assert_eq!(of("during(fault).attempts_ratio"), Some(Dimension::Number));
        assert_eq!(of("during(fault).utilization"), None, "it is not measured so");
        assert_eq!(Objective::parse("during(fault).p99 < 1 s").unwrap().metric, "during(fault).response_time_p99");
        assert!(Objective::parse("attempts_ratio > 1.1").is_ok());
        for number in ["utilization", "utilization_disk", "queue_length_mean_disk", "hit_ratio_proxy", "share_2"] {
            assert_eq!(of(number), Some(Dimension::Number), "{number}");
        }
        for none in ["p98", "utilisation", "rate", ""] {
            assert_eq!(of(none), None, "{none}");
        }
        let kinds = |text: &str| {
            let objective = Objective::parse(text).unwrap();
            (objective.is_of_a_time(), objective.is_of_a_rate(), objective.is_of_errors())
        };
        assert_eq!(kinds("p50 < 1 ms"), (true, false, false));
        assert_eq!(kinds("throughput > 1 /s"), (false, true, false));
        assert_eq!(kinds("error_ratio < 1%"), (false, false, true));
        assert_eq!(kinds("utilization < 1%"), (false, false, false));
    }
}
