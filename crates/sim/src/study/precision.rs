//! The precision of metrics: which have to be sharp, whether they are, and how many times as much it takes until then.

use sojourn_stats::Measure;

use crate::control::Control;
use crate::summary::Row;

/// A round is at least and at most so many times as long as all before.
pub(super) const GROWTH: (f64, f64) = (1.3, 4.0);
/// A share so many times the half width of its interval away from a limit is on one side of it.
const FAR: f64 = 2.0;
/// The metrics that must be sharp whatever else is asked for.
pub(crate) const ALWAYS: [&str; 3] = ["response_time_mean", "response_time_p90", "response_time_p99"];

/// The widest interval (half-width over number) of the metrics that must be sharp.
pub(crate) fn widest(measures: &[Measure], control: &Control) -> f64 {
    let is_sharp = |metric: &str| match &control.sharp {
        Some(sharp) => sharp.iter().any(|of| of == metric),
        None => ALWAYS.contains(&metric),
    };
    widest_of(measures, |metric| is_sharp(metric) || control.metrics.iter().any(|of| of == metric))
}

pub(super) fn widest_of(measures: &[Measure], asked: impl Fn(&str) -> bool) -> f64 {
    let asked = measures.iter().filter(|measure| asked(&measure.metric));
    asked.map(|measure| measure.estimate.relative_half_width()).fold(0.0, f64::max)
}

/// Whether a share is so far from a limit that no more needs to be known of it: a share near 0 is never known to a few percent of
/// itself. Looked at again and again, it is to be farther than its interval tells.
pub(super) fn is_decided(row: &Row, control: &Control, alike: f64) -> bool {
    let Some(limit) = control.limits.iter().find(|(metric, _)| *metric == row.metric).map(|(_, limit)| limit) else {
        return false;
    };
    let estimate = row.answer(control.confidence(), alike).estimate;
    let far =
        estimate.value().zip(estimate.half_width()).is_some_and(|(value, half)| (value - limit).abs() > FAR * half);
    row.events.is_some() && far
}

/// How many times as much it takes until one knows on which side of their limits shares are of which every part says the
/// same, such as those without any event; none where that is known.
pub(crate) fn undecided(rows: &[Row], control: &Control, alike: f64) -> Option<f64> {
    let confidence = control.confidence();
    let of = |(metric, limit): &(String, f64)| {
        let row = rows.iter().find(|row| row.metric == *metric && row.events.is_some())?;
        row.measure(confidence).estimate.is_sharp().then_some(())?;
        let (low, high) = row.answer(confidence, alike).estimate.interval()?;
        // What is left on the side of the limit shrinks with the length.
        let growth = if row.whole? < *limit { high / limit } else { (1.0 - low) / (1.0 - limit) };
        (low < high && (low..=high).contains(limit)).then(|| (1.1 * growth).clamp(GROWTH.0, GROWTH.1))
    };
    control.limits.iter().filter_map(of).reduce(f64::max)
}

/// How many times as much it takes until intervals this wide are as narrow as `relative`.
pub(crate) fn growth(widest: f64, relative: f64) -> f64 {
    // An interval narrows with the square root of the length; a tenth more saves a round.
    let growth = 1.1 * (widest / relative).powi(2);
    if growth.is_finite() { growth.clamp(GROWTH.0, GROWTH.1) } else { GROWTH.1 }
}
