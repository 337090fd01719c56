//! What the numbers say when set beside each other: live against its twin, variant against variant.

use super::{Answers, Engine, VariantAnswers, html, number};
use crate::answer::FAILURES;
use crate::compare::{compared_setting, equal_but_for};
use sojourn_stats::Estimate;

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

/// The answer in a sentence or two of HTML: who is fastest, how sure that is, and whether live agrees.
pub(super) fn finding(report: &Answers) -> Option<String> {
    let answered = |engine: Engine| {
        let means = report.variants.iter().filter_map(move |v| {
            let estimate = v.estimate(engine, MEAN)?;
            // Without an interval it may be anywhere.
            let unknown = || Some((estimate.value()?, f64::NEG_INFINITY, f64::INFINITY));
            let (value, low, high) = interval(estimate).or_else(unknown)?;
            Some((v, value, low, high))
        });
        means.collect::<Vec<_>>()
    };
    // The simulator's numbers are the sharpest and cover the most; the first of those that cover as much is kept.
    let mut best = (Engine::Sim, answered(Engine::Sim));
    for engine in [Engine::Live, Engine::Theory, Engine::Twin] {
        let means = answered(engine);
        if means.len() > best.1.len() {
            best = (engine, means);
        }
    }
    let (engine, mut means) = best;
    means.sort_by(|a, b| a.1.total_cmp(&b.1));
    let name = |v: &VariantAnswers| format!("<strong>{}</strong>", html::escape(&v.label));
    let text = match means.as_slice() {
        [] => return None,
        [(variant, ..)] => {
            let estimate = variant.estimate(engine, MEAN)?;
            format!("Mean response time by {}: {}.", engine.name(), number::estimate(estimate, "s"))
        }
        [_, _, ..] if equal_settings(report, engine).is_some() => equal_settings(report, engine)?,
        [(first, value, _, high), rest @ ..] => {
            let (last, worst, ..) = rest[rest.len() - 1];
            let without = |(.., high): &&(&VariantAnswers, f64, f64, f64)| high.is_infinite();
            let unknown: Vec<String> = means.iter().filter(without).map(|(v, ..)| name(v)).collect();
            let tied: Vec<String> = rest.iter().filter(|(_, _, low, _)| low <= high).map(|(v, ..)| name(v)).collect();
            let mut text = format!(
                "By {}, {} has the lowest mean response time, {}; {} the highest, {} ({} times as long).",
                engine.name(),
                name(first),
                number::quantity(*value, "s"),
                name(last),
                number::quantity(worst, "s"),
                times(worst / value)
            );
            if !unknown.is_empty() {
                let has = if unknown.len() == 1 { "has" } else { "have" };
                text += &format!(" The order is not certain: {} {has} no interval.", html::and_list(&unknown, 3));
            } else if !tied.is_empty() {
                text += &format!(
                    " The order at the top is not certain: the interval of {} overlaps that of the lowest.",
                    html::and_list(&tied, 3)
                );
            }
            text
        }
    };
    let text = [Some(text), agreement(report), failures(report)];
    Some(text.into_iter().flatten().collect::<Vec<_>>().join(" "))
}

/// What went wrong where most did, so that a short response time of the few that were answered does not deceive.
fn failures(report: &Answers) -> Option<String> {
    let most = |(metric, words): (&'static str, &'static str)| {
        let (variant, answer, value) = report.worst(metric)?;
        let share = number::share(metric, &Estimate::Exact { value });
        let of = if number::is_share(metric) { " of the requests" } else { " at each request" };
        let at = if report.variants.len() == 1 {
            String::new()
        } else {
            format!(" at <strong>{}</strong>", html::escape(&variant.label))
        };
        let said =
            if number::is_share(metric) { format!("{share}{of} {words}") } else { format!("{share} {words}{of}") };
        Some(format!("{said}{at} ({})", answer.engine.name()))
    };
    let said: Vec<String> = FAILURES.into_iter().filter_map(most).collect();
    let up_to = if report.variants.len() == 1 { "Not all went well" } else { "Not all went well; the worst" };
    (!said.is_empty()).then(|| format!("{up_to}: {}.", said.join(", ")))
}

/// Who is fastest where all other settings are equal, of a run in which several vary: what serves half the load is no answer.
fn equal_settings(report: &Answers, engine: Engine) -> Option<String> {
    let key = compared_setting(report)?;
    let groups = equal_but_for(report, key);
    let mean = |v: &VariantAnswers| v.estimate(engine, MEAN).and_then(Estimate::value).filter(|mean| *mean > 0.0);
    // In each case the fastest and the slowest, with their means.
    let cases = groups.iter().filter_map(|(others, variants)| {
        let mut known: Vec<(&str, f64)> = variants.iter().filter_map(|v| Some((v.setting(key)?, mean(v)?))).collect();
        known.sort_by(|a, b| a.1.total_cmp(&b.1));
        Some((others, *known.first()?, *known.last()?)).filter(|(_, least, most)| least.0 != most.0)
    });
    let cases: Vec<_> = cases.collect();
    if groups.len() < 2 || cases.is_empty() {
        return None;
    }
    let mut wins: Vec<(&str, usize)> = Vec::new();
    for (_, (winner, _), _) in &cases {
        match wins.iter_mut().find(|(of, _)| of == winner) {
            Some((_, count)) => *count += 1,
            None => wins.push((*winner, 1)),
        }
    }
    let (winner, count) = wins.iter().copied().max_by_key(|(_, count)| *count)?;
    let (others, least, most) = cases.iter().max_by(|a, b| (a.2.1 / a.1.1).total_cmp(&(b.2.1 / b.1.1)))?;
    let bold = |name: &str| format!("<strong>{}</strong>", html::escape(name));
    Some(format!(
        "By {}, with all else equal, {} has the lowest mean response time in {count} of {}. The largest difference is at {}: {} \
         with {} against {} with {} ({} times as long).",
        engine.name(),
        bold(winner),
        html::count(cases.len(), "case"),
        html::escape(others),
        number::quantity(least.1, "s"),
        bold(least.0),
        number::quantity(most.1, "s"),
        bold(most.0),
        times(most.1 / least.1)
    ))
}

fn times(ratio: f64) -> String {
    if ratio < 9.95 { format!("{ratio:.1}") } else { format!("{ratio:.0}") }
}

/// How live compares with its twin, where the live run is valid.
fn agreement(report: &Answers) -> Option<String> {
    let valid = || report.variants.iter().filter(|v| !v.is_suspect());
    let differences: Vec<(&VariantAnswers, Difference)> =
        valid().filter_map(|v| Some((v, difference(v, MEAN)?))).collect();
    let (widest, gap) = differences.iter().max_by(|a, b| a.1.value.abs().total_cmp(&b.1.value.abs()))?;
    let close = differences.iter().filter(|(_, d)| d.meaning() == Meaning::Agrees).count();
    let runs = if valid().count() == report.variants.len() { "live run" } else { "valid live run" };
    let scope = match (close, differences.len()) {
        (1, 1) => "Live agrees".to_owned(),
        (0, 1) => "Live does not agree".to_owned(),
        (close, n) if close == n => format!("All {} agree", html::count(n, runs)),
        (close, n) => format!("{close} of {} {}", html::count(n, runs), if close == 1 { "agrees" } else { "agree" }),
    };
    let largest = match differences.len() {
        1 => format!("it differs by {}", number::signed_percent(gap.value)),
        _ => {
            let label = html::escape(&widest.label);
            format!("the largest difference is {} ({label})", number::signed_percent(gap.value))
        }
    };
    let within = AGREEMENT * 100.0;
    Some(format!("{scope} within {within:.0}\u{a0}% with the simulator given the same requests: {largest}."))
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
