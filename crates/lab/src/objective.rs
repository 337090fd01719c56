//! What must hold: `p99 < 50 ms`.
//!
//! A measured number is judged by the unfavourable end of its interval: an objective holds only when it would at either
//! end. Where the limit lies inside the interval the measurement is too coarse to say, and a longer one may. A percentile that
//! is not known well enough may be decided by another of the same time: p99 is never below p50.

mod enough;
mod failures;
mod groups;
mod judgement;
mod measurement;
mod metric;

use sojourn_stats::{Dimension, quantity};

pub(crate) use self::failures::unanswered;
pub(crate) use self::groups::wide_of_few;
pub use self::judgement::Judgement;
pub(crate) use self::metric::{
    GIVEN_UP, Need, RECOVERY, dimension, full_name, is_of_worst_second, known, need_of, percentile, unknown,
};
use self::metric::{OF_A_LOAD, SHORT, meant};
use crate::error::SpecError;
use crate::report::number::is_share;

/// Share of the requests that may fail where a mean is asked of them.
pub(crate) const FAILED_MOST: f64 = 0.01;

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

    /// Whether it allows a recovery to take longer than this (s).
    pub(crate) fn allows_recovery_after(&self, seen_s: f64) -> bool {
        self.metric == RECOVERY && self.below && self.limit > seen_s
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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn no_more_replies_come_than_requests_are_offered() {
        let of = |text: &str, offered: f64| Objective::parse(text).unwrap().is_beyond(offered);
        assert!(of("throughput > 101 /s", 100.0) && of("throughput > 100 /s", 100.0));
        assert!(!of("throughput > 99 /s", 100.0) && !of("throughput < 101 /s", 100.0) && !of("p99 > 101 s", 100.0));
    }
}
