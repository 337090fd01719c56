//! What went wrong, as a headline says it, of a run and of a load alike: a short response time of the few that were answered
//! does not deceive.

use sojourn_stats::Estimate;

use super::number::{is_share, share};
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
