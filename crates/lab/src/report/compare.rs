//! What the numbers say when set beside each other: live against its twin, variant against variant.

use super::failures::{self, NOT_WELL};
use super::{Answers, Engine, VariantAnswers, html, number, who_meets};
use crate::answer::FAILURES;
use crate::compare::{compared_setting, equal_but_for, variants_by};
use crate::objective::FAILED_MOST;
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
    // The simulator's numbers are the sharpest and cover the most; the first of those that cover as much is kept.
    let mut best = (Engine::Sim, answered(&report.variants, Engine::Sim));
    for engine in [Engine::Live, Engine::Theory, Engine::Twin] {
        let means = answered(&report.variants, engine);
        if means.len() > best.1.len() {
            best = (engine, means);
        }
    }
    let (engine, means) = best;
    let text = match means.as_slice() {
        [] => return None,
        [(variant, _)] => {
            let estimate = variant.estimate(engine, MEAN)?;
            format!("Mean response time by {}: {}.", engine.name(), number::estimate(estimate, "s"))
        }
        several => {
            let text = equal_settings(report, engine).unwrap_or_else(|| first_and_last(several, engine));
            text + &of_the_answered(several, engine)
        }
    };
    let name = |of: &VariantAnswers| format!("<strong>{}</strong>", html::escape(&of.label));
    let meets = who_meets(report, name).into_iter().map(|(_, sentence)| sentence);
    let text = std::iter::once(text).chain(meets).chain(agreement(report)).chain(failures(report));
    Some(text.collect::<Vec<_>>().join(" "))
}

/// What share of the requests the means that are set beside each other leave out; empty where that is little.
fn of_the_answered(means: &[(&VariantAnswers, f64)], engine: Engine) -> String {
    let failed = || means.iter().filter_map(|(of, _)| of.failed(engine));
    let (least, most) = (failed().fold(f64::INFINITY, f64::min), failed().fold(0.0, f64::max));
    if most <= FAILED_MOST {
        return String::new();
    }
    let share = |value: f64| number::share("error_ratio", &Estimate::Exact { value });
    let range = match least > 0.0 {
        true => format!("{} to {}", share(least), share(most)),
        false => format!("up to {}", share(most)),
    };
    format!(" Means are of what was answered: {range} of the requests failed.")
}

/// Whether of the variants of a case the one with the lowest mean failed more of the requests than another: what answers half of
/// them soon is not the fastest.
fn fails_more(means: &[(&VariantAnswers, f64)], engine: Engine) -> bool {
    let failed = |(of, _): &(&VariantAnswers, f64)| of.failed(engine);
    let least = means.iter().filter_map(failed).fold(f64::INFINITY, f64::min);
    means.first().and_then(failed).is_some_and(|first| first > least + FAILED_MOST)
}

/// The variants of which an engine has a mean, with it, the lowest first.
fn answered<'a>(
    variants: impl IntoIterator<Item = &'a VariantAnswers>,
    engine: Engine,
) -> Vec<(&'a VariantAnswers, f64)> {
    let known = variants.into_iter().filter_map(|of| Some((of, of.estimate(engine, MEAN)?.value()?)));
    let mut means: Vec<(&VariantAnswers, f64)> = known.collect();
    means.sort_by(|a, b| a.1.total_cmp(&b.1));
    means
}

/// Whether the means of two variants are seen to differ, picked from so many pairs; none where one of them has no interval.
fn are_apart(a: &VariantAnswers, b: &VariantAnswers, engine: Engine, pairs: usize) -> Option<bool> {
    variants_by(a, b, engine, MEAN).map(|compared| compared.differs_among(pairs))
}

/// The pairs of so many.
fn pairs_of(count: usize) -> usize {
    count * count.saturating_sub(1) / 2
}

/// What a reader must know who finds a difference in a table of ratios where `says_none` was seen here: what is picked from so
/// many pairs has to hold against all of them ([`crate::compare::Comparison::differs_among`]). Empty where it does not matter.
fn at_once(says_none: bool, pairs: usize) -> String {
    match says_none && pairs > 1 {
        true => format!(" Here all {pairs} pairs are judged at once; a table of ratios judges each alone."),
        false => String::new(),
    }
}

/// Who has the lowest mean and who the highest, of two and more, as far as they are seen to differ.
fn first_and_last(means: &[(&VariantAnswers, f64)], engine: Engine) -> String {
    let name = |v: &VariantAnswers| format!("<strong>{}</strong>", html::escape(&v.label));
    let without = |(of, _): &&(&VariantAnswers, f64)| of.estimate(engine, MEAN).and_then(Estimate::ends).is_none();
    let unknown: Vec<String> = means.iter().filter(without).map(|(of, _)| name(of)).collect();
    let known: Vec<(&VariantAnswers, f64)> = means.iter().filter(|of| !without(of)).copied().collect();
    let uncertain = match unknown.len() {
        0 => String::new(),
        count => format!(
            " Where {} {} in that order is not known: {} no interval.",
            html::and_list(&unknown, MOST_NAMED),
            if count == 1 { "stands" } else { "stand" },
            if count == 1 { "it has" } else { "they have" }
        ),
    };
    let (Some((first, low)), Some((last, high))) = (known.first(), known.last()) else {
        return format!("No mean response time by {} has an interval: which is lower is not known.", engine.name());
    };
    let pairs = pairs_of(known.len());
    let like = |one: &VariantAnswers| {
        let is_like = |of: &VariantAnswers| std::ptr::eq(of, one) || are_apart(one, of, engine, pairs) != Some(true);
        let alike = known.iter().filter(|(of, _)| is_like(of));
        alike.map(|(of, _)| name(of)).collect::<Vec<String>>()
    };
    let by = engine.name();
    let range = |low: f64, high: f64| format!("{} to {}", number::quantity(low, "s"), number::quantity(high, "s"));
    if known.len() == 1 {
        return format!("Mean response time of {} by {by}: {}.{uncertain}", name(first), number::quantity(*low, "s"));
    }
    if are_apart(first, last, engine, pairs) != Some(true) {
        let all: Vec<String> = known.iter().map(|(of, _)| name(of)).collect();
        return format!(
            "By {by}, no difference is seen between the mean response times of {}: {}.{uncertain}{}",
            html::and_list(&all, MOST_NAMED),
            range(*low, *high),
            at_once(true, pairs)
        );
    }
    let (lows, mut highs) = (like(first), like(last));
    // The last is told first.
    highs.reverse();
    let seen = |names: &[String]| if names.len() == 1 { "" } else { " (no difference is seen between them)" };
    let (has, times_of) = (if lows.len() == 1 { "has" } else { "have" }, times(high / low));
    format!(
        "By {by}, {} {has} the lowest mean response time, {}{}; {} the highest, {}{} ({times_of} times as long).{uncertain}{}",
        html::and_list(&lows, MOST_NAMED),
        number::quantity(*low, "s"),
        seen(&lows),
        html::and_list(&highs, MOST_NAMED),
        number::quantity(*high, "s"),
        seen(&highs),
        at_once(lows.len() > 1 || highs.len() > 1, pairs)
    )
}

/// More names than this are counted.
const MOST_NAMED: usize = 3;

/// What went wrong where most did; not what is told with the number that it has when all goes well.
fn failures(report: &Answers) -> Option<String> {
    let most = |(metric, words): (&'static str, &'static str)| {
        let (variant, answer, value) = report.worst(metric)?;
        let said = failures::said((metric, words), value, "request")?;
        let at = if report.variants.len() == 1 {
            String::new()
        } else {
            format!(" at <strong>{}</strong>", html::escape(&variant.label))
        };
        Some(format!("{said}{at} ({})", answer.engine.name()))
    };
    let said: Vec<String> = FAILURES.into_iter().filter_map(most).collect();
    failures::sentence(if report.variants.len() == 1 { NOT_WELL } else { "Not all went well; the worst" }, &said)
}

/// Who is fastest where all other settings are equal, of a run in which several vary: what serves half the load is no answer.
/// Who is not seen to differ from the fastest is not slower, and where a mean has no interval nothing is seen.
fn equal_settings(report: &Answers, engine: Engine) -> Option<String> {
    let key = compared_setting(report)?;
    let groups = equal_but_for(report, key);
    let cases = groups.iter().map(|(others, variants)| (others, answered(variants.iter().copied(), engine)));
    let all: Vec<_> = cases.filter(|(_, means)| means.len() > 1).collect();
    if groups.len() < 2 || all.is_empty() {
        return None;
    }
    let has_interval = |of: &VariantAnswers| of.estimate(engine, MEAN).and_then(Estimate::ends).is_some();
    let (cases, open): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|(_, means)| means.iter().all(|(of, _)| has_interval(of)));
    let (failing, cases): (Vec<_>, Vec<_>) = cases.into_iter().partition(|(_, means)| fails_more(means, engine));
    let by = engine.name();
    let count = html::count(cases.len() + open.len() + failing.len(), "case");
    let unjudged = |cases: usize, why: &str| match cases {
        0 => String::new(),
        _ => format!(" In {} this could not be judged: {why}.", html::count(cases, "case")),
    };
    let unjudged = [
        unjudged(open.len(), "a mean has no interval"),
        unjudged(failing.len(), "with the lowest mean more of the requests failed than with another"),
    ]
    .concat();
    if cases.is_empty() && !failing.is_empty() {
        return Some(format!(
            "By {by}, with all else equal, the lowest mean response time could be judged in none of {count}.{unjudged}"
        ));
    }
    if cases.is_empty() {
        return Some(format!(
            "By {by}, with all else equal, the lowest mean response time could be judged in none of {count}: a mean has no \
             interval."
        ));
    }
    let pairs: usize = cases.iter().map(|(_, means)| pairs_of(means.len())).sum();
    // Of each value: in how many cases it alone is the lowest, and in how many it is one of those that may be.
    let mut wins: Vec<(&str, usize, usize)> = Vec::new();
    for (_, means) in &cases {
        let first = means[0].0;
        let may_be =
            |of: &&VariantAnswers| std::ptr::eq(*of, first) || are_apart(first, of, engine, pairs) != Some(true);
        let lowest: Vec<&str> =
            means.iter().map(|(of, _)| *of).filter(may_be).filter_map(|of| of.setting(key)).collect();
        for value in &lowest {
            let alone = usize::from(lowest.len() == 1);
            match wins.iter_mut().find(|(of, ..)| of == value) {
                Some((_, of_it, among)) => (*of_it, *among) = (*of_it + alone, *among + 1 - alone),
                None => wins.push((value, alone, 1 - alone)),
            }
        }
    }
    let bold = |name: &str| format!("<strong>{}</strong>", html::escape(name));
    // Of equals the first, in the order of the file.
    let (winner, alone, among) = wins.into_iter().rev().max_by_key(|(_, alone, among)| (alone + among, *alone))?;
    let (winner, all) = (bold(winner), count);
    let lead = match (alone, among) {
        (alone, 0) => format!("{winner} has the lowest mean response time in {alone} of {all}."),
        (0, among) => format!(
            "{winner} is among those with the lowest mean response time in {among} of {all}: no difference is seen between these."
        ),
        (alone, among) => format!(
            "{winner} has the lowest mean response time in {alone} of {all}; in {among} more it is among the lowest, between \
             which no difference is seen."
        ),
    };
    let ends = cases.iter().filter_map(|(others, means)| {
        let ((first, low), (last, high)) = (means.first()?, means.last()?);
        let is_seen = *low > 0.0 && are_apart(first, last, engine, pairs) == Some(true);
        is_seen.then(|| Some((others, (first.setting(key)?, *low), (last.setting(key)?, *high))))?
    });
    let largest = ends.max_by(|a, b| (a.2.1 / a.1.1).total_cmp(&(b.2.1 / b.1.1)));
    let says_none = among > 0 || largest.is_none();
    let largest = match largest {
        Some((others, least, most)) => format!(
            "The largest difference is at {}: {} with {} against {} with {} ({} times as long).",
            html::escape(others),
            number::quantity(least.1, "s"),
            bold(least.0),
            number::quantity(most.1, "s"),
            bold(most.0),
            times(most.1 / least.1)
        ),
        None => "In no case is a difference seen between the lowest and the highest.".to_owned(),
    };
    Some(format!("By {by}, with all else equal, {lead}{unjudged} {largest}{}", at_once(says_none, pairs)))
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
    use crate::report::Answer;

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

    /// A variant whose replications have this noise in common and a factor of their own.
    fn simulated(policy: &str, load: &str, factor: f64, own: f64) -> VariantAnswers {
        let values: Vec<f64> =
            (0..8).map(|k| factor * (1.0 + 0.3 * f64::from(k % 3)) * (1.0 + own * f64::from(k % 2))).collect();
        let mean = values.iter().sum::<f64>() / 8.0;
        let mut sim = Answer::new(Engine::Sim);
        sim.measures = vec![sojourn_stats::Measure::new(MEAN, "s", sampled(mean, 0.2 * mean))];
        sim.replications = vec![(MEAN.to_owned(), values.into_iter().map(Some).collect())];
        let settings = [("policy", policy), ("load", load)].map(|(key, value)| (key.to_owned(), value.to_owned()));
        VariantAnswers { label: policy.to_owned(), settings: settings.to_vec(), answers: vec![sim] }
    }

    fn headline(variants: Vec<VariantAnswers>) -> String {
        let settings = vec!["policy".to_owned(), "load".to_owned()];
        let text = finding(&Answers { settings, variants, ..Answers::default() }).unwrap();
        text.replace("<strong>", "").replace("</strong>", "").replace('\u{a0}', " ")
    }

    /// Intervals that overlap do not hide what pairs see, and what pairs do not see has no winner.
    #[test]
    fn a_headline_names_a_winner_only_where_a_difference_is_seen() {
        let told = headline(vec![simulated("random", "0.7", 1.1, 0.0), simulated("jsq", "0.7", 1.0, 0.0)]);
        assert!(
            told.starts_with("By sim, jsq has the lowest mean response time, 1.26 s; random the highest, 1.39 s"),
            "{told}"
        );
        let told = headline(vec![simulated("random", "0.7", 1.001, 0.0), simulated("jsq", "0.7", 1.0, 0.003)]);
        let none = "By sim, no difference is seen between the mean response times of random and jsq: 1.26 s to 1.26 s.";
        assert_eq!(told, none);
        let three = [("random", 2.0, 0.0), ("jsq", 1.0, 0.003), ("sed", 1.001, 0.0)];
        let told = headline(three.map(|(policy, factor, own)| simulated(policy, "0.7", factor, own)).to_vec());
        let tied =
            "sed and jsq have the lowest mean response time, 1.26 s (no difference is seen between them); random";
        let other =
            "jsq and sed have the lowest mean response time, 1.26 s (no difference is seen between them); random";
        assert!(told.contains(tied) || told.contains(other), "{told}");
        let mut bare = simulated("sed", "0.7", 0.5, 0.0);
        let why = NoInterval::TooShort;
        bare.answers[0].measures[0].estimate = Estimate::WithoutInterval { value: 0.5, samples: 30, why };
        let told = headline(vec![simulated("random", "0.7", 1.1, 0.0), simulated("jsq", "0.7", 1.0, 0.0), bare]);
        assert!(
            told.contains("jsq has the lowest") && told.contains("Where sed stands in that order is not known"),
            "{told}"
        );
    }

    /// With all else equal a case counts for whoever is seen to be lower than all others.
    #[test]
    fn cases_without_a_difference_are_no_wins() {
        let at = |load: &str, random: (f64, f64), jsq: (f64, f64)| {
            [simulated("random", load, random.0, random.1), simulated("jsq", load, jsq.0, jsq.1)]
        };
        let seen = at("0.9", (2.0, 0.0), (1.0, 0.0));
        let unseen = at("0.1", (1.0, 0.003), (1.001, 0.0));
        let told = headline([unseen.clone(), seen].concat());
        assert!(
            told.contains(
                "jsq has the lowest mean response time in 1 of 2 cases; in 1 more it is among the lowest, between which"
            ),
            "{told}"
        );
        assert!(told.contains("The largest difference is at load 0.9: 1.26 s with jsq"), "{told}");
        let at_once = "Here all 2 pairs are judged at once; a table of ratios judges each alone.";
        assert!(told.contains(at_once), "{told}");
        let told = headline([at("0.9", (2.0, 0.0), (1.0, 0.0)), at("0.1", (3.0, 0.0), (1.0, 0.0))].concat());
        assert!(told.contains("in 2 of 2 cases.") && !told.contains(at_once), "where every case is seen: {told}");
        let told = headline([unseen.clone(), at("0.2", (1.001, 0.0), (1.0, 0.003))].concat());
        assert!(told.contains("is among those with the lowest mean response time in 2 of 2 cases"), "{told}");
        assert!(told.contains("In no case is a difference seen"), "{told}");
    }

    /// Of failures the headline is a sentence, and nothing is alarming where the number that is shown is the usual one.
    #[test]
    fn a_headline_tells_failures_that_can_be_seen() {
        let with = |metrics: &[(&str, f64)]| {
            let mut variant = simulated("jsq", "0.7", 1.0, 0.0);
            for (metric, value) in metrics {
                let estimate = Estimate::Sampled { value: *value, ci_low: *value, ci_high: 2.0 * value, samples: 999 };
                variant.answers[0].measures.push(sojourn_stats::Measure::new(*metric, "1", estimate));
            }
            headline(vec![variant])
        };
        let told = with(&[("error_ratio", 0.0), ("attempts_ratio", 1.00007)]);
        assert!(!told.contains("Not all went well"), "{told}");
        let told = with(&[("error_ratio", 0.0), ("attempts_ratio", 1.08)]);
        assert!(told.ends_with("Not all went well: 1.08 attempts at each request (sim)."), "{told}");
        let told = with(&[("error_ratio", 0.02), ("worst_second_error_ratio", 0.857), ("abandoned_ratio", 0.03)]);
        let expected = "Not all went well: 2.00 % of the requests failed (sim), 85.7 % of the requests failed or were given up \
                        in the worst second (sim), 3.00 % of the requests were given up (sim).";
        assert!(told.ends_with(expected), "{told}");
    }

    /// A mean of the few that were answered wins nothing where another failed fewer, and what failed is said.
    #[test]
    fn a_mean_of_survivors_is_no_win() {
        let failing = |policy: &str, load: &str, factor: f64, failed: f64| {
            let mut variant = simulated(policy, load, factor, 0.0);
            let estimate = Estimate::Sampled { value: failed, ci_low: failed, ci_high: 1.1 * failed, samples: 999 };
            variant.answers[0].measures.push(sojourn_stats::Measure::new("error_ratio", "1", estimate));
            variant
        };
        let case =
            |load: &str, random: f64, jsq: f64| [failing("random", load, 2.0, random), failing("jsq", load, 1.0, jsq)];
        let told = headline([case("0.7", 0.18, 0.09), case("0.9", 0.09, 0.18)].concat());
        for part in [
            "jsq has the lowest mean response time in 1 of 2 cases. In 1 case this could not be judged: with the lowest mean \
             more of the requests failed than with another. The largest difference is at load 0.7",
            " Means are of what was answered: 9.00 % to 18.0 % of the requests failed. Not all went well",
        ] {
            assert!(told.contains(part), "{part}: {told}");
        }
        let told = headline([case("0.7", 0.09, 0.18), case("0.9", 0.0, 0.18)].concat());
        assert!(told.contains("could be judged in none of 2 cases. In 2 cases this"), "{told}");
        assert!(told.contains("up to 18.0 %"), "{told}");
        let told = headline([case("0.7", 0.005, 0.0), case("0.9", 0.0, 0.005)].concat());
        assert!(told.contains("in 2 of 2 cases") && !told.contains("Means are of"), "{told}");
    }

    /// A case without intervals is neither a win nor one in which no difference is seen.
    #[test]
    fn a_case_without_intervals_could_not_be_judged() {
        let at = |load: &str| [simulated("random", load, 2.0, 0.0), simulated("jsq", load, 1.0, 0.0)];
        let bare = |load: &str| {
            let mut variants = at(load);
            let why = NoInterval::TooShort;
            variants[0].answers[0].measures[0].estimate = Estimate::WithoutInterval { value: 2.0, samples: 30, why };
            variants
        };
        let told = headline([at("0.7"), bare("0.9")].concat());
        let expected = "jsq has the lowest mean response time in 1 of 2 cases. In 1 case this could not be judged: a mean has no \
                        interval. The largest difference is at load 0.7";
        assert!(told.contains(expected), "{told}");
        let told = headline([bare("0.7"), bare("0.9")].concat());
        assert_eq!(
            told,
            "By sim, with all else equal, the lowest mean response time could be judged in none of 2 cases: a mean has no \
             interval."
        );
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
