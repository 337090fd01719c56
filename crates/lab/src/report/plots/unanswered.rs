//! Numbers that are not of all requests: where more of them failed or were given up than a mean may leave out, a cross lies on
//! the mark. Who answers half of the requests soon has the lowest curve, and is not the fastest.

use sojourn_stats::Estimate;

use super::canvas::{Align, Canvas, Ink};
use super::ink::Meaning;
use super::legend::{room, rows};
use crate::objective::{FAILED_MOST, unanswered};
use crate::report::{Engine, VariantAnswers, number};

/// Red, as what failed is in every figure.
const INK: Ink = Ink::of(Meaning::Failed);
/// How far its strokes reach from the middle, and how wide they are (pixels).
const REACH: f64 = 4.6;
const STROKE: f64 = 1.8;

/// The share (1) of the requests that have no good answer by `engine`, where `metric` is a response time and they are more than
/// may be left out.
pub(super) fn share(variant: &VariantAnswers, engine: Engine, metric: &str) -> Option<f64> {
    let share = unanswered(&variant.answer(engine)?.measures);
    (metric.starts_with("response_time_") && share > FAILED_MOST).then_some(share)
}

/// Whether a number of one of these variants is to be marked.
pub(super) fn is_any(variants: &[VariantAnswers], metric: &str) -> bool {
    let has = |of: &VariantAnswers, engine: Engine| of.estimate(engine, metric).and_then(Estimate::value).is_some();
    let is_marked = |of: &VariantAnswers, engine: Engine| share(of, engine, metric).is_some() && has(of, engine);
    variants.iter().any(|of| Engine::ALL.into_iter().any(|engine| is_marked(of, engine)))
}

/// A share, as a number: `46.0 %`.
pub(super) fn percent(share: f64) -> String {
    number::share("error_ratio", &Estimate::Exact { value: share })
}

/// What stands behind a number where one points at it, and in tables.
pub(super) fn told(share: f64) -> String {
    format!(" ({} of the requests failed or were given up)", percent(share))
}

/// What a cross says.
fn note() -> String {
    let most = 100.0 * FAILED_MOST;
    format!(
        "more than {most:.0}\u{a0}% of the requests failed or were given up: the time is of those that were answered"
    )
}

/// The same in rows for `width` pixels, in text that is `size` pixels high.
pub(super) fn note_in_rows(width: f64, size: f64) -> Vec<String> {
    rows(&note(), room(width, size))
}

/// The same as a sentence of a caption, with a space before it.
pub(super) fn sentence() -> String {
    format!(" A red cross: {}.", note())
}

/// The same as a legend of a page.
pub(super) fn legend() -> String {
    format!("<ul class=\"legend\" aria-label=\"Crosses\"><li><span class=\"cross\">\u{d7}</span>{}</li></ul>\n", note())
}

/// The mark, which lies above that of the number.
pub(super) fn cross(canvas: &Canvas, (x, y): (f64, f64)) {
    for side in [-REACH, REACH] {
        canvas.path(&[(x - REACH, y - side), (x + REACH, y + side)], INK, 1.0, STROKE);
    }
}

/// The line of a legend in a drawing: the mark at `at` (pixels), and what it says from `left` on, in these rows.
pub(super) fn entry(canvas: &Canvas, at: (f64, f64), left: f64, rows: &[String], (size, row): (f64, f64)) {
    cross(canvas, at);
    for (number, text) in rows.iter().enumerate() {
        canvas.text(text, (left, at.1 + row * number as f64), Align::Left, size, Ink::Text);
    }
}

#[cfg(test)]
mod tests {
    use sojourn_stats::Measure;

    use super::*;
    use crate::report::Answer;

    /// One in a hundred is left out of a mean without a word; requests that were given up count as well as those that failed, and
    /// of what is no response time nothing is said.
    #[test]
    fn shares_above_one_percent_are_told_of_response_times() {
        let of = |failed: f64, given_up: f64, metric: &str| {
            let measure = |name: &str, value: f64| Measure::new(name, "1", Estimate::Exact { value });
            let mut answer = Answer::new(Engine::Sim);
            let measures = [("error_ratio", failed), ("abandoned_ratio", given_up), (metric, 0.1)];
            answer.measures = measures.map(|(name, value)| measure(name, value)).to_vec();
            let variant = VariantAnswers { answers: vec![answer], ..VariantAnswers::default() };
            assert_eq!(share(&variant, Engine::Live, metric), None, "it says nothing");
            assert_eq!(is_any(std::slice::from_ref(&variant), metric), share(&variant, Engine::Sim, metric).is_some());
            share(&variant, Engine::Sim, metric)
        };
        assert_eq!(of(0.01, 0.0, "response_time_mean"), None);
        assert_eq!(of(0.0, 0.0, "response_time_mean"), None);
        assert_eq!(of(0.5, 0.0, "response_time_p99"), Some(0.5));
        assert_eq!(of(0.0, 0.25, "response_time_mean"), Some(0.25));
        assert_eq!(of(0.5, 0.0, "lateness_p99"), None);
        assert_eq!(told(0.46), " (46.0\u{a0}% of the requests failed or were given up)");
        assert!(note().starts_with("more than 1\u{a0}% of"), "{}", note());
    }
}
