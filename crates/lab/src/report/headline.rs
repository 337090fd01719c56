//! The answer at the head of a page, in a few sentences of HTML: who is fastest and how sure that is ([`lowest`]), who meets what
//! is asked, whether live agrees with its twin, and what went wrong.

mod lowest;
#[cfg(test)]
mod tests;

use self::lowest::{answered, equal_settings, first_and_last, of_the_answered};
use super::compare::{AGREEMENT, Difference, MEAN, Meaning, difference};
use super::failures::{self, NOT_WELL};
use super::{Answers, Engine, VariantAnswers, html, number, who_meets};
use crate::answer::FAILURES;

/// Names of more letters together are left to the tables.
const LETTERS_MOST: usize = 200;

/// The answer in a sentence or two of HTML: who is fastest, how sure that is, and whether live agrees.
pub(super) fn finding(report: &Answers) -> Option<String> {
    finding_among(report, 0)
}

/// The same of what is picked from at least so many comparisons that are judged at once, as from all of runs beside each other.
pub(super) fn finding_among(report: &Answers, comparisons: usize) -> Option<String> {
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
            let of_equals = equal_settings(report, engine, comparisons);
            let text = of_equals.unwrap_or_else(|| first_and_last(several, engine, comparisons));
            text + &of_the_answered(several, engine)
        }
    };
    let name = |of: &VariantAnswers| format!("<strong>{}</strong>", html::escape(&of.label));
    let meets = who_meets(report, LETTERS_MOST, name).into_iter().map(|of| of.sentence);
    let text = std::iter::once(text).chain(meets).chain(agreement(report)).chain(failures(report));
    Some(text.collect::<Vec<_>>().join(" "))
}

/// What went wrong where most did; not what is told with the number that it has when all goes well.
fn failures(report: &Answers) -> Option<String> {
    let mut before: Option<&VariantAnswers> = None;
    let most = |(metric, words): (&'static str, &'static str)| {
        let (variant, answer, value) = report.worst(metric)?;
        let said = failures::said((metric, words), value, "request")?;
        // A long name stands once.
        let is_told = before.is_some_and(|before| std::ptr::eq(before, variant));
        before = Some(variant);
        let at = match (report.variants.len(), is_told) {
            (1, _) => String::new(),
            (_, true) => " there".to_owned(),
            (_, false) => format!(" at <strong>{}</strong>", html::escape(&variant.label)),
        };
        Some(format!("{said}{at} ({})", answer.engine.name()))
    };
    let said: Vec<String> = FAILURES.into_iter().filter_map(most).collect();
    failures::sentence(if report.variants.len() == 1 { NOT_WELL } else { "Not all went well; the worst" }, &said)
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
