//! Which variants have the lowest mean response time, as far as they are seen to differ.
//!
//! Who is first is picked from many, so that a difference has to hold against all pairs at once.

use sojourn_stats::Estimate;

use crate::compare::{Choice, compared_choice, equal_but_for, variants_by};
use crate::objective::FAILED_MOST;
use crate::report::compare::MEAN;
use crate::report::{Answers, Engine, VariantAnswers, html, number};

/// More names than this are counted, and of more than two that have more letters all but the first.
const MOST_NAMED: usize = 3;
const LETTERS_MOST: usize = 60;

/// What share of the requests the means that are set beside each other leave out; empty where that is little.
pub(super) fn of_the_answered(means: &[(&VariantAnswers, f64)], engine: Engine) -> String {
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
    format!(" Means are of what was answered: {range} of the requests failed or were given up.")
}

/// Whether of the variants of a case the one with the lowest mean failed more of the requests than another: what answers half of
/// them soon is not the fastest.
fn fails_more(means: &[(&VariantAnswers, f64)], engine: Engine) -> bool {
    let failed = |(of, _): &(&VariantAnswers, f64)| of.failed(engine);
    let least = means.iter().filter_map(failed).fold(f64::INFINITY, f64::min);
    means.first().and_then(failed).is_some_and(|first| first > least + FAILED_MOST)
}

/// The variants of which an engine has a mean, with it, the lowest first.
pub(super) fn answered<'a>(
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

/// The names of variants in a list, so that long ones do not fill the page.
fn listed(variants: &[&VariantAnswers]) -> String {
    let letters: usize = variants.iter().take(MOST_NAMED).map(|of| of.label.chars().count()).sum();
    let names: Vec<String> = variants.iter().map(|of| name(of)).collect();
    html::and_list(&names, if letters > LETTERS_MOST && names.len() > 2 { 1 } else { MOST_NAMED })
}

fn name(variant: &VariantAnswers) -> String {
    format!("<strong>{}</strong>", html::escape(&variant.label))
}

/// The pairs of so many.
fn pairs_of(count: usize) -> usize {
    count * count.saturating_sub(1) / 2
}

/// What a reader must know who finds a difference in a table of ratios where `says_none` was seen here: what is picked from so
/// many has to hold against all of them ([`crate::compare::Comparison::differs_among`]). Empty where it does not matter.
fn at_once(says_none: bool, pairs: usize, comparisons: usize) -> String {
    let (all, what) = if comparisons > pairs { (comparisons, "comparisons") } else { (pairs, "pairs") };
    match says_none && all > 1 {
        true => format!(" Here all {all} {what} are judged at once; a table of ratios judges each alone."),
        false => String::new(),
    }
}

/// Who has the lowest mean and who the highest, of two and more, as far as they are seen to differ where at least so many
/// comparisons are judged at once.
pub(super) fn first_and_last(means: &[(&VariantAnswers, f64)], engine: Engine, comparisons: usize) -> String {
    let without = |(of, _): &&(&VariantAnswers, f64)| of.estimate(engine, MEAN).and_then(Estimate::ends).is_none();
    let unknown: Vec<&VariantAnswers> = means.iter().filter(without).map(|(of, _)| *of).collect();
    let known: Vec<(&VariantAnswers, f64)> = means.iter().filter(|of| !without(of)).copied().collect();
    let uncertain = match unknown.len() {
        0 => String::new(),
        count => format!(
            " Where {} {} in that order is not known: {} no interval.",
            listed(&unknown),
            if count == 1 { "stands" } else { "stand" },
            if count == 1 { "it has" } else { "they have" }
        ),
    };
    let (Some((first, low)), Some((last, high))) = (known.first(), known.last()) else {
        return format!("No mean response time by {} has an interval: which is lower is not known.", engine.name());
    };
    let pairs = pairs_of(known.len());
    let among = pairs.max(comparisons);
    let like = |one: &VariantAnswers| {
        let is_like = |of: &VariantAnswers| std::ptr::eq(of, one) || are_apart(one, of, engine, among) != Some(true);
        let alike = known.iter().filter(|(of, _)| is_like(of));
        alike.map(|(of, _)| *of).collect::<Vec<&VariantAnswers>>()
    };
    let by = engine.name();
    let range = |low: f64, high: f64| format!("{} to {}", number::quantity(low, "s"), number::quantity(high, "s"));
    if known.len() == 1 {
        return format!("Mean response time of {} by {by}: {}.{uncertain}", name(first), number::quantity(*low, "s"));
    }
    if are_apart(first, last, engine, among) != Some(true) {
        let all: Vec<&VariantAnswers> = known.iter().map(|(of, _)| *of).collect();
        return format!(
            "By {by}, no difference is seen between the mean response times of {}: {}.{uncertain}{}",
            listed(&all),
            range(*low, *high),
            at_once(true, pairs, comparisons)
        );
    }
    if fails_more(&known, engine) {
        return format!(
            "By {by}, which is the fastest could not be judged: {} has the lowest mean response time, {}, and with it more of \
             the requests failed than with another.{uncertain}",
            name(first),
            number::quantity(*low, "s")
        );
    }
    let (lows, mut highs) = (like(first), like(last));
    // The last is told first.
    highs.reverse();
    let seen = |names: &[&VariantAnswers]| if names.len() == 1 { "" } else { " (no difference is seen between them)" };
    let (has, longer) = (if lows.len() == 1 { "has" } else { "have" }, longer(high / low));
    format!(
        "By {by}, {} {has} the lowest mean response time, {}{}; {} the highest, {}{} ({longer}).{uncertain}{}",
        listed(&lows),
        number::quantity(*low, "s"),
        seen(&lows),
        listed(&highs),
        number::quantity(*high, "s"),
        seen(&highs),
        at_once(lows.len() > 1 || highs.len() > 1, pairs, comparisons)
    )
}

/// Who is fastest where all other settings are equal, of a run in which several vary: what serves half the load is no answer.
/// Who is not seen to differ from the fastest is not slower, and where a mean has no interval nothing is seen. At least so many
/// comparisons are judged at once.
pub(super) fn equal_settings(report: &Answers, engine: Engine, comparisons: usize) -> Option<String> {
    let key = compared_choice(report)?;
    let (choice, groups) = (Choice::of(report, key), equal_but_for(report, key));
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
    let among_all = pairs.max(comparisons);
    // Of each value: in how many cases it alone is the lowest, and in how many it is one of those that may be.
    let mut wins: Vec<(String, usize, usize)> = Vec::new();
    for (_, means) in &cases {
        let first = means[0].0;
        let may_be =
            |of: &&VariantAnswers| std::ptr::eq(*of, first) || are_apart(first, of, engine, among_all) != Some(true);
        let lowest: Vec<String> =
            means.iter().map(|(of, _)| *of).filter(may_be).filter_map(|of| choice.told(of)).collect();
        let alone = usize::from(lowest.len() == 1);
        for value in lowest {
            match wins.iter_mut().find(|(of, ..)| *of == value) {
                Some((_, of_it, among)) => (*of_it, *among) = (*of_it + alone, *among + 1 - alone),
                None => wins.push((value, alone, 1 - alone)),
            }
        }
    }
    let bold = |name: &str| format!("<strong>{}</strong>", html::escape(name));
    // Of equals the first, in the order of the file.
    let (winner, alone, among) = wins.into_iter().rev().max_by_key(|(_, alone, among)| (alone + among, *alone))?;
    let (winner, all) = (bold(&winner), count);
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
        let is_seen = *low > 0.0 && are_apart(first, last, engine, among_all) == Some(true);
        is_seen.then(|| Some((others, (choice.told(first)?, *low), (choice.told(last)?, *high))))?
    });
    let largest = ends.max_by(|a, b| (a.2.1 / a.1.1).total_cmp(&(b.2.1 / b.1.1)));
    let says_none = among > 0 || largest.is_none();
    let largest = match largest {
        Some((others, least, most)) => format!(
            "The largest difference is at {}: {} with {} against {} with {} ({}).",
            html::escape(others),
            number::quantity(least.1, "s"),
            bold(&least.0),
            number::quantity(most.1, "s"),
            bold(&most.0),
            longer(most.1 / least.1)
        ),
        None => "In no case is a difference seen between the lowest and the highest.".to_owned(),
    };
    Some(format!("By {by}, with all else equal, {lead}{unjudged} {largest}{}", at_once(says_none, pairs, comparisons)))
}

/// How much longer what takes so many times as long takes: a small difference has digits of its own.
fn longer(ratio: f64) -> String {
    if ratio < 1.095 {
        return format!("{}\u{a0}% longer", number::Short(100.0 * (ratio - 1.0)));
    }
    if ratio < 9.95 { format!("{ratio:.1} times as long") } else { format!("{ratio:.0} times as long") }
}
