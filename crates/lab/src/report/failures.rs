//! What went wrong, as a headline says it, of a run and of a load alike: a short response time of the few that were answered
//! does not deceive. Of many variants it is told where something did: among rows without a failure those with one drown.

use sojourn_stats::Estimate;

use super::number::{is_share, share, significant_end};
use super::{Answers, Engine, VariantAnswers};
use crate::answer::usual;

/// How a headline about it begins.
pub(super) const NOT_WELL: &str = "Not all went well";

/// What one of [`crate::FAILURES`] has, as part of a sentence, where `of` is one of what was asked for: `2.00 % of the requests
/// failed`, `1.08 attempts at each request`. None where the number that is shown is the one that it has when all goes well.
pub(super) fn said((metric, words): (&str, &str), value: f64, of: &str) -> Option<String> {
    let shown = |value: f64| share(metric, &Estimate::Exact { value });
    let number = Some(shown(value)).filter(|number| *number != shown(usual(metric)))?;
    Some(match is_share(metric) {
        true => format!("{number} of the {of}s {}", became(metric, words)),
        false => format!("{number} {words} at each {of}"),
    })
}

/// These as a sentence; none where there are none. `beginning` says of what they are.
pub(super) fn sentence(beginning: &str, said: &[String]) -> Option<String> {
    (!said.is_empty()).then(|| format!("{beginning}: {}.", said.join(", ")))
}

/// What became of a share of the requests, as the end of a sentence.
fn became(metric: &str, words: &str) -> String {
    match metric {
        "error_ratio" => words.to_owned(),
        "worst_second_error_ratio" => words.replace("or given up", "or were given up"),
        _ => format!("were {words}"),
    }
}

/// The variants that a table of what went wrong has a row for, and what is said of the others in one line: at several nothing was
/// seen to go wrong, with the highest upper end of each share of the requests by each engine. A variant of which nothing is
/// known, or a share without an interval, has its row.
pub fn gone_wrong(report: &Answers) -> (Vec<&VariantAnswers>, Option<String>) {
    let metrics = report.failures();
    let saw_none = |of: &&VariantAnswers| {
        let by_each = |(metric, _): &(&'static str, &'static str)| {
            of.answers.iter().filter_map(|answer| answer.estimate(metric)).collect::<Vec<&Estimate>>()
        };
        let known: Vec<&Estimate> = metrics.iter().flat_map(by_each).collect();
        !of.has_failures() && !known.is_empty() && known.iter().all(|estimate| estimate.ends().is_some())
    };
    let (quiet, others): (Vec<&VariantAnswers>, Vec<&VariantAnswers>) = report.variants.iter().partition(saw_none);
    if quiet.len() < 2 || others.is_empty() {
        return (report.variants.iter().collect(), None);
    }
    let most = |metric: &str, words: &str, engine: Engine| {
        let ends = quiet.iter().filter_map(|of| of.estimate(engine, metric)?.ends());
        let high = ends.map(|(_, high)| high.min(1.0)).reduce(f64::max)?;
        let told = || format!("at most {} % {words} ({})", significant_end(100.0 * high, true), engine.name());
        (is_share(metric) && high > 0.0).then(told)
    };
    let of_metric = |(metric, words): &(&'static str, &'static str)| {
        Engine::ALL.into_iter().filter_map(|engine| most(metric, words, engine)).collect::<Vec<String>>()
    };
    let may_come = metrics.iter().flat_map(of_metric).collect::<Vec<_>>().join(", ");
    let told = format!("Nothing was seen to go wrong at {} others", quiet.len());
    (others, Some(if may_come.is_empty() { told } else { format!("{told}: {may_come}") }))
}

#[cfg(test)]
mod tests {
    use sojourn_stats::Measure;
    use sojourn_stats::measure::NoInterval;

    use super::*;
    use crate::answer::Answer;

    /// A variant of which the simulator saw such shares of failures (value, upper end), and attempts.
    fn variant(label: &str, failed: Option<(f64, f64)>) -> VariantAnswers {
        let share = |(value, ci_high)| {
            let failed = Estimate::Sampled { value, ci_low: 0.0, ci_high, samples: 99 };
            let attempts = Measure::new("attempts_ratio", "1", Estimate::Exact { value: 1.0 });
            [Measure::new("error_ratio", "1", failed), attempts]
        };
        let measures = failed.into_iter().flat_map(share).collect();
        let answers = vec![Answer { measures, ..Answer::new(Engine::Sim) }];
        VariantAnswers { label: label.to_owned(), answers, ..VariantAnswers::default() }
    }

    fn told(variants: &[VariantAnswers]) -> (Vec<String>, Option<String>) {
        let report = Answers { variants: variants.to_vec(), ..Answers::default() };
        let (rows, others) = gone_wrong(&report);
        (rows.iter().map(|of| of.label.clone()).collect(), others)
    }

    /// One failed, and of the others the line has the highest end that may come.
    #[test]
    fn variants_without_a_failure_are_one_line() {
        let (bad, none) = (variant("bad", Some((0.02, 0.03))), variant("none", Some((0.0, 0.000_042))));
        let more = variant("more", Some((0.0, 0.000_05)));
        let line = "Nothing was seen to go wrong at 2 others: at most 0.00500 % failed (sim)";
        assert_eq!(told(&[none.clone(), bad.clone(), more]), (vec!["bad".to_owned()], Some(line.to_owned())));
        // A single one has its row, as has one of which nothing is known.
        assert_eq!(told(&[none.clone(), bad.clone()]).0, ["none", "bad"]);
        let unknown = variant("unknown", None);
        assert_eq!(told(&[none.clone(), unknown, bad.clone(), none.clone()]).0, ["unknown", "bad"]);
        let mut bare = none.clone();
        let without = Estimate::WithoutInterval { value: 0.0, samples: 9, why: NoInterval::TooFew };
        (bare.label, bare.answers[0].measures[0].estimate) = ("bare".to_owned(), without);
        assert_eq!(told(&[none.clone(), bare, bad, none.clone()]).0, ["bare", "bad"]);
        assert_eq!(told(&[none.clone(), none]).1, None, "where nothing went wrong there is no table");
    }
}
