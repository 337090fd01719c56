//! What must hold: `p99 < 50 ms`.
//!
//! A measured number is judged by the unfavourable end of its interval: an objective holds only when it would at either
//! end. Where the limit lies inside the interval the measurement is too coarse to say, and a longer one may. A percentile that
//! is not known well enough may be decided by another of the same time: p99 is never below p50.

mod enough;
mod failures;

use std::fmt;

use serde::Serialize;
use sojourn_stats::interval::exact_ratio;
use sojourn_stats::measure::{CONFIDENCE, Measure};
use sojourn_stats::{Dimension, Estimate, nearest, quantity};

use crate::error::SpecError;
use crate::report::number::{between, is_share, range, significant, significant_end};

pub(crate) use self::failures::unanswered;

/// What must hold of a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Objective {
    /// The metric's name.
    pub metric: String,
    /// Whether the metric must be below the limit (or above it).
    pub below: bool,
    /// In the metric's SI unit.
    pub limit: f64,
    /// As written.
    pub text: String,
}

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

/// Digits of a number that the limit has the first three of.
const NEAR_DIGITS: usize = 6;

/// How long a system took to be as before a fault.
pub(crate) const RECOVERY: &str = "recovery_time";

/// The share of the requests whose clients gave up.
pub(crate) const GIVEN_UP: &str = "abandoned_ratio";

/// Whether `metric` is of the worst second of a run.
pub(crate) fn is_of_worst_second(metric: &str) -> bool {
    metric.starts_with("worst_second_")
}

/// What stands in front of a metric that is measured while a fault lasts, and those metrics.
const DURING: &str = "during(fault).";
const MEASURED_DURING: [&str; 4] = ["error_ratio", "attempts_ratio", "throughput", "response_time_p99"];

/// Share of the requests that may fail where a mean is asked of them.
pub(crate) const FAILED_MOST: f64 = 0.01;

/// Short names of the metrics that objectives are mostly about.
const SHORT: [&str; 6] = ["mean", "p50", "p90", "p95", "p99", "p99.9"];

/// What else is mostly asked of a load.
const OF_A_LOAD: [&str; 4] = ["error_ratio", "throughput", "abandoned_ratio", "attempts_ratio"];

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
fn meant<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
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

impl Objective {
    /// Reads `p99 < 50 ms`, `error_ratio < 1%` or `throughput > 900 /s`: a metric by its short or full name, `<` or `>`,
    /// and a limit with its unit.
    ///
    /// # Errors
    /// One line that says what would be right.
    pub fn parse(text: &str) -> Result<Objective, SpecError> {
        let fail = |what: String| SpecError(format!("`{text}`: {what}, e.g. `p99 < 50 ms`"));
        let is_sign = |c: char| c == '<' || c == '>' || OR_EQUAL.contains(&c);
        let at = text.find(is_sign).ok_or_else(|| fail("an objective has `<` or `>`".into()))?;
        let (name, rest) = (text[..at].trim(), &text[at..]);
        let bare = name.trim_end_matches(['=', ':']);
        if let Some(meant) = without_equal(rest, bare != name) {
            let meant = format!("{} {meant}", bare.trim_end());
            // What else is wrong with it is said first.
            Objective::parse(&meant)?;
            return Err(SpecError(format!("`{text}`: {NEVER_EQUAL}: did you mean `{meant}`?")));
        }
        let limit = rest[1..].trim();
        let metric = full_name(name);
        let dimension = dimension(&metric).ok_or_else(|| {
            let known = || SHORT.into_iter().chain(OF_A_LOAD);
            match meant(name, known()) {
                Some(meant) => SpecError(format!("`{text}`: `{name}` is no metric; did you mean `{meant}`?")),
                None => fail(format!("`{name}` is no metric; there are {}", known().collect::<Vec<_>>().join(", "))),
            }
        })?;
        let limit = quantity::parse(limit, dimension).map_err(|error| fail(error.to_string()))?;
        let objective = Objective { metric, below: rest.starts_with('<'), limit, text: text.trim().to_owned() };
        objective.impossible(name).map_or(Ok(objective), |why| Err(fail(why)))
    }

    /// Why its limit says nothing: that nothing can meet it, or everything does. `name` is what the metric was called.
    pub(crate) fn impossible(&self, name: &str) -> Option<String> {
        let Objective { below, limit, .. } = *self;
        let of_share = is_share(&self.metric) || self.metric == "utilization";
        if below && limit <= 0.0 {
            return Some(format!("`{name}` is never below 0: the limit is above it"));
        }
        if !below && limit < 0.0 {
            return Some(format!("`{name}` is never below 0: everything meets that"));
        }
        if !below && limit >= 1.0 && is_share(&self.metric) {
            return Some(format!("`{name}` is a share and never above 1: the limit is below that"));
        }
        (below && limit > 1.0 && of_share)
            .then(|| format!("`{name}` is a share and never above 1: everything meets that"))
    }

    /// Whether `value` meets it.
    pub fn met(&self, value: f64) -> bool {
        if self.below { value < self.limit } else { value > self.limit }
    }

    /// Whether its metric is a time.
    pub(crate) fn is_of_a_time(&self) -> bool {
        dimension(&self.metric) == Some(Dimension::Time)
    }

    /// Whether its metric is so much per second.
    pub(crate) fn is_of_a_rate(&self) -> bool {
        dimension(&self.metric) == Some(Dimension::Rate)
    }

    /// Whether it asks for more good replies per second than `offered` (1/s) requests allow.
    pub fn is_beyond(&self, offered: f64) -> bool {
        self.metric == "throughput" && !self.below && self.limit >= offered
    }

    /// The share of the requests that take no longer than its metric, where that is a percentile.
    pub fn quantile(&self) -> Option<f64> {
        percentile(&self.metric).map(|(_, level)| level / 100.0)
    }

    /// Whether its metric counts what failed.
    pub(crate) fn is_of_errors(&self) -> bool {
        matches!(self.metric.as_str(), "error_ratio" | "denied_ratio")
    }

    /// `estimate` in the unit in which the limit is written, with its interval: `0.00229 % (0.0001 to 0.012 %)`.
    pub fn measured(&self, estimate: &Estimate) -> String {
        let estimate = &estimate.within(range(&self.metric));
        let (factor, unit) = self.unit();
        let limit = significant(self.limit * factor);
        // So near that three digits would say that it is at the limit.
        let near = |text: String, value: f64| match text == limit && value != self.limit {
            true => format!("{}", rounded(value * factor, NEAR_DIGITS)),
            false => text,
        };
        let number = |value: f64| near(significant(value * factor), value);
        let end = |value: f64, is_upper: bool| near(significant_end(value * factor, is_upper), value);
        let in_unit =
            |number: String| if number == "infinite" { number } else { format!("{number} {unit}").trim_end().into() };
        let with_unit = |value: f64| in_unit(number(value));
        match *estimate {
            Estimate::Sampled { value, .. } if estimate.is_sharp() => format!("exactly {}", with_unit(value)),
            Estimate::Sampled { value, ci_low, ci_high, .. } => {
                // So narrow that three digits would hide it.
                if significant(ci_low * factor) == significant(ci_high * factor) {
                    let told = between(value * factor, (ci_low * factor, ci_high * factor)).replace('\u{a0}', " ");
                    let (value, ends) = told.split_once(" (").unwrap_or((&told, ""));
                    return format!("{} ({}", in_unit(value.into()), ends.replace(')', &in_unit(String::new()))) + ")";
                }
                let ends = (end(ci_low, false), in_unit(end(ci_high, true)));
                format!("{} ({} to {})", with_unit(value), ends.0, ends.1)
            }
            Estimate::WithoutInterval { value, why, .. } => {
                format!("{} (no interval: {})", with_unit(value), why.words())
            }
            Estimate::Exact { value } => with_unit(value),
            Estimate::Approximate { value } => format!("\u{2248} {}", with_unit(value)),
            Estimate::TooFew { samples: 0 } if self.metric == RECOVERY => "it had not recovered by the end".into(),
            Estimate::TooFew { samples } if self.metric == RECOVERY => {
                format!("only {samples} replications recovered")
            }
            Estimate::TooFew { .. } => "too few samples".into(),
        }
    }

    /// How many of the unit in which the limit is written are one of the metric's SI unit, and its name.
    fn unit(&self) -> (f64, &str) {
        let limit = self.text.rsplit(['<', '>']).next().unwrap_or_default().trim();
        let end = limit.find(|c: char| !(c.is_ascii_digit() || ".+-eE_".contains(c))).unwrap_or(limit.len());
        let (number, unit) = (limit[..end].parse::<f64>().unwrap_or(0.0), limit[end..].trim());
        // Of a limit of 0 the ratio says nothing.
        let factor = if self.limit == 0.0 { 1.0 } else { number / self.limit };
        if unit == "%" { (100.0, "%") } else { (factor, unit) }
    }

    /// Whether it allows a recovery to take longer than this (s).
    pub(crate) fn allows_recovery_after(&self, seen_s: f64) -> bool {
        self.metric == RECOVERY && self.below && self.limit > seen_s
    }

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

    /// What `measures` have of it, in the unit of its limit: [`Objective::measured`] of its own metric, and of the percentile
    /// that decides it, where that is another. Empty where its metric is not among them.
    pub fn measured_among(&self, measures: &[Measure]) -> String {
        let Some(own) = measures.iter().find(|measure| measure.metric == self.metric) else { return String::new() };
        let measured = self.measured(&own.estimate);
        match self.deciding(measures).filter(|deciding| deciding.metric != own.metric) {
            Some(Measure { metric, estimate, .. }) => {
                let name = metric.rsplit('_').next().unwrap_or(metric);
                format!("{measured}; {name} {}", self.measured(estimate))
            }
            None => measured,
        }
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

/// Signs of what is below or equal to a limit, or above or equal.
const OR_EQUAL: [char; 2] = ['\u{2264}', '\u{2265}'];

/// Why there are none of them.
pub(crate) const NEVER_EQUAL: &str = "measured numbers are never equal to a limit";

/// `< 500 ms` for `<= 500 ms`, for `=< 500 ms` and with one of [`OR_EQUAL`]; none of what begins with a plain sign, unless it
/// `has_more` before that, and of what begins with none.
pub(crate) fn without_equal(written: &str, has_more: bool) -> Option<String> {
    let signed = written.trim_start_matches('=').trim_start();
    let sign = match signed.chars().next()? {
        '<' | '\u{2264}' => '<',
        '>' | '\u{2265}' => '>',
        _ => return None,
    };
    let limit = signed.trim_start_matches(['<', '>', OR_EQUAL[0], OR_EQUAL[1], '=']).trim();
    let is_plain = !has_more && signed == written && signed.strip_prefix(sign).map(str::trim) == Some(limit);
    (!is_plain).then(|| format!("{sign} {limit}"))
}

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

/// To so many significant digits.
fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits - 1).parse().unwrap_or(value)
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
    use sojourn_stats::measure::NoInterval;

    use super::*;

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
    fn short_names_units_and_mistakes() {
        let p99 = Objective::parse(" p99 < 50 ms ").unwrap();
        assert_eq!((p99.metric.as_str(), p99.below, p99.limit), ("response_time_p99", true, 0.05));
        let rate = Objective::parse("throughput > 900 /s").unwrap();
        assert_eq!((rate.metric.as_str(), rate.below, rate.limit), ("throughput", false, 900.0));
        assert_eq!(Objective::parse("error_ratio < 1%").unwrap().limit, 0.01);
        assert_eq!(Objective::parse("service_time_mean<1 ms").unwrap().metric, "service_time_mean");
        for (bad, expected) in [
            ("p99 50 ms", "`<` or `>`"),
            ("p99 <= 50 ms", "never equal"),
            ("p99 =< 50 ms", "did you mean `p99 < 50 ms`?"),
            ("p99=<= 50 ms", "did you mean `p99 < 50 ms`?"),
            ("p99 \u{2264} 50 ms", "did you mean `p99 < 50 ms`?"),
            ("p99: < 50 ms", "did you mean `p99 < 50 ms`?"),
            ("p98 < 50 ms", "p99.9, error_ratio, throughput, abandoned_ratio, attempts_ratio"),
            ("p99 < 50", "ms"),
            ("throughput > 50 ms", "/s"),
            ("error_ratio < 0%", "never below 0"),
            ("p99 < 0 ms", "never below 0"),
            ("error_ratio > 100%", "never above 1"),
        ] {
            let error = Objective::parse(bad).unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains("p99 < 50 ms"), "{bad}: {error}");
        }
        for (other, ours) in [("availability > 99.9%", "error_ratio"), ("attempts < 2", "attempts_ratio")] {
            let error = Objective::parse(other).unwrap_err().to_string();
            assert!(error.ends_with(&format!("is no metric; did you mean `{ours}`?")), "{error}");
        }
        assert!(known().into_iter().all(|name| dimension(&full_name(name)).is_some()), "all can be asked for");
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

    /// What was measured is said in the unit of the limit.
    #[test]
    fn a_number_beside_its_limit_has_its_unit() {
        let of = |text: &str, value: f64, ci_low: f64, ci_high: f64| {
            Objective::parse(text).unwrap().measured(&Estimate::Sampled { value, ci_low, ci_high, samples: 99 })
        };
        assert_eq!(of("error_ratio < 0.1%", 2.29e-5, 2e-6, 1.2e-4), "0.00229 % (0.000200 to 0.0120 %)");
        assert_eq!(of("error_ratio < 0.1 %", 0.0, 0.0, 0.0739), "0 % (0 to 7.39 %)");
        assert_eq!(of("p99 < 50 ms", 0.0612, 0.06, 0.063), "61.2 ms (60.0 to 63.0 ms)");
        assert_eq!(of("p99 < 1.5 s", 0.0612, -0.01, 0.063), "0.0612 s (0 to 0.0630 s)");
        assert_eq!(of("throughput > 900 /s", 901.0, 899.0, 903.0), "901 /s (899 to 903 /s)");
        assert_eq!(of("utilization < 0.8", 0.5, 0.4, 0.6), "0.500 (0.400 to 0.600)");
        assert_eq!(of("error_ratio < 1%", 0.0, 0.0, 0.0), "exactly 0 %");
        assert_eq!(
            of("p99 < 154 ms", 0.15351, 0.15, 0.16),
            "153.51 ms (150 to 160 ms)",
            "154 would not be below the limit"
        );
        assert_eq!(of("p99 < 154 ms", 0.154, 0.15, 0.16), "154 ms (150 to 160 ms)");
        let attempts = of("attempts_ratio < 1.1", 1.000_041, 0.99, 1.000_11);
        assert_eq!(attempts, "1.000041 (1.000000 to 1.000110)", "a request is one attempt at least");
        assert_eq!(of("p99 < 60 ms", 0.061_2, 0.061_198, 0.061_203), "61.2000 ms (61.1980 to 61.2030 ms)");
        // Ends are rounded outwards, and still on the side of the limit on which they are.
        assert_eq!(of("p99 < 50 ms", 0.03148, 0.031_48, 0.031_71), "31.5 ms (31.4 to 31.8 ms)");
        assert_eq!(of("throughput > 900 /s", 901.2, 900.3, 902.1), "901 /s (900.3 to 903 /s)");
        assert_eq!(of("p99 < 150 ms", 0.149, 0.148, 0.14996), "149 ms (148 to 149.96 ms)");
        assert_eq!(of("error_ratio < 1%", 3.3e-8, 1.234e-8, 5.671e-8), "3.30e-6 % (1.23e-6 to 5.68e-6 %)");
    }

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

    #[test]
    fn no_more_replies_come_than_requests_are_offered() {
        let of = |text: &str, offered: f64| Objective::parse(text).unwrap().is_beyond(offered);
        assert!(of("throughput > 101 /s", 100.0) && of("throughput > 100 /s", 100.0));
        assert!(!of("throughput > 99 /s", 100.0) && !of("throughput < 101 /s", 100.0) && !of("p99 > 101 s", 100.0));
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
