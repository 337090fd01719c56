//! What the numbers say when set beside each other: live against its twin, and the response times that are shown of each.

use sojourn_stats::Estimate;

use super::{Answers, Engine, VariantAnswers};

pub(super) const MEAN: &str = "response_time_mean";

/// Live and its twin within this share of each other are said to agree.
pub(super) const AGREEMENT: f64 = 0.10;

/// Live over twin minus one, with the ends of its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Difference {
    pub(super) value: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// What a difference means, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Agrees,
    CannotTell,
    LiveSlower,
    LiveFaster,
}

impl Meaning {
    pub(super) fn words(self) -> &'static str {
        match self {
            Meaning::Agrees => "within 10\u{a0}%",
            Meaning::CannotTell => "cannot tell",
            Meaning::LiveSlower => "live is slower",
            Meaning::LiveFaster => "live is faster",
        }
    }

    pub(super) fn class(self) -> &'static str {
        match self {
            Meaning::Agrees => "good",
            Meaning::CannotTell => "muted",
            Meaning::LiveSlower | Meaning::LiveFaster => "bad",
        }
    }
}

impl Difference {
    /// How `live` differs from `twin`. The ends of the interval combine both relative half widths as if the two were
    /// independent (the delta method); sharing a plan they are not, so the interval is wider than it need be.
    pub(super) fn between(live: &Estimate, twin: &Estimate) -> Option<Difference> {
        let (l, l_low, l_high) = interval(live)?;
        let (t, t_low, t_high) = interval(twin)?;
        if l <= 0.0 || t <= 0.0 {
            return None;
        }
        let ratio = l / t;
        let below = ratio * ((l - l_low) / l).hypot((t_high - t) / t);
        let above = ratio * ((l_high - l) / l).hypot((t - t_low) / t);
        let value = ratio - 1.0;
        Some(Difference { value, low: value - below, high: value + above })
    }

    pub(super) fn meaning(self) -> Meaning {
        if self.value.abs() <= AGREEMENT {
            Meaning::Agrees
        } else if self.low <= 0.0 && self.high >= 0.0 {
            Meaning::CannotTell
        } else if self.value > 0.0 {
            Meaning::LiveSlower
        } else {
            Meaning::LiveFaster
        }
    }
}

/// The difference of live from its twin in `metric`, where both have a number.
pub(super) fn difference(variant: &VariantAnswers, metric: &str) -> Option<Difference> {
    Difference::between(variant.estimate(Engine::Live, metric)?, variant.estimate(Engine::Twin, metric)?)
}

/// An estimate's value and the ends of its interval; a formula's interval is a point. None without an interval.
pub(super) fn interval(estimate: &Estimate) -> Option<(f64, f64, f64)> {
    let ((low, high), value) = (estimate.ends()?, estimate.value()?);
    value
        .is_finite()
        .then(|| (value, if low.is_finite() { low } else { value }, if high.is_finite() { high } else { value }))
}

/// The quantiles of the response time that the report shows: p90 and p99 if they were asked for, else the two highest.
pub(super) fn quantiles(report: &Answers) -> Vec<String> {
    let mut found: Vec<(f64, String)> = Vec::new();
    let measures = report.variants.iter().flat_map(|v| &v.answers).flat_map(|a| &a.measures);
    for measure in measures {
        let Some(percent) = percent(&measure.metric) else { continue };
        if found.iter().all(|(_, name)| *name != measure.metric) {
            found.push((percent, measure.metric.clone()));
        }
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    let usual: Vec<String> =
        found.iter().filter(|(p, _)| *p == 90.0 || *p == 99.0).map(|(_, name)| name.clone()).collect();
    if usual.len() == 2 {
        return usual;
    }
    let highest = found.len().saturating_sub(2);
    found.into_iter().skip(highest).map(|(_, name)| name).collect()
}

/// `response_time_p99` is 99, `response_time_p999` is 99.9; anything else is no quantile of the response time.
fn percent(metric: &str) -> Option<f64> {
    let digits = metric.strip_prefix("response_time_p")?;
    if digits.len() < 2 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    format!("{}.{}", &digits[..2], &digits[2..]).parse().ok()
}

/// `response_time_p99` in short: "p99".
pub(super) fn short(metric: &str) -> &str {
    metric.strip_prefix("response_time_").unwrap_or(metric)
}

#[cfg(test)]
mod tests {
    use sojourn_stats::measure::NoInterval;

    use super::*;

    fn sampled(value: f64, half: f64) -> Estimate {
        Estimate::Sampled { value, ci_low: value - half, ci_high: value + half, samples: 1000 }
    }

    #[test]
    fn a_difference_is_relative_and_its_interval_combines_both() {
        let d = Difference::between(&sampled(1.2, 0.12), &sampled(1.0, 0.0)).unwrap();
        assert!((d.value - 0.2).abs() < 1e-12 && (d.high - d.low - 0.24).abs() < 1e-12, "{d:?}");
        let d = Difference::between(&sampled(1.0, 0.03), &sampled(1.0, 0.04)).unwrap();
        assert!((d.high - 0.05).abs() < 1e-12 && (d.low + 0.05).abs() < 1e-12, "{d:?}");
        assert_eq!(Difference::between(&sampled(1.0, 0.1), &Estimate::TooFew { samples: 3 }), None);
        let bare = Estimate::WithoutInterval { value: 1.0, samples: 30, why: NoInterval::TooShort };
        assert_eq!(Difference::between(&sampled(1.0, 0.1), &bare), None, "how far off it may be is not known");
        assert_eq!(Difference::between(&sampled(1.0, 0.1), &Estimate::Exact { value: f64::INFINITY }), None);
        assert_eq!(Difference::between(&sampled(0.0, 0.1), &sampled(0.0, 0.1)), None);
    }

    #[test]
    fn a_difference_is_named_by_size_and_certainty() {
        let meaning = |value, low, high| Difference { value, low, high }.meaning();
        assert_eq!(meaning(0.04, -0.3, 0.38), Meaning::Agrees);
        assert_eq!(meaning(0.3, -0.1, 0.7), Meaning::CannotTell);
        assert_eq!(meaning(0.3, 0.1, 0.5), Meaning::LiveSlower);
        assert_eq!(meaning(-0.3, -0.5, -0.1), Meaning::LiveFaster);
    }

    #[test]
    fn metric_names_give_their_percentage() {
        assert_eq!(percent("response_time_p90"), Some(90.0));
        assert_eq!(percent("response_time_p999"), Some(99.9));
        assert_eq!(percent("response_time_p9"), None);
        assert_eq!(percent("response_time_mean"), None);
        assert_eq!(percent("waiting_time_p90"), None);
    }
}
