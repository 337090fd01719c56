//! Whether a model is to be relied on: by what it predicted of loads that no fit has used, and by what disturbed these.
//!
//! VALID is a model that was judged and found no reason against it. SUSPECT is one with reasons; it is written with
//! them. One that misses by half of what was measured is no model of that server, and is refused.

use crate::judge::{Judged, Point};
use crate::model::time_text;
use crate::others;
use crate::settings::{CalibrateError, Interval};

/// A prediction off by more than this is a reason. The aim is 15 %, and a slow drift of the machine adds to it.
pub(crate) const MISS_MAX: f64 = 0.25;
/// A server whose speed has changed by more than this was another one when it was measured.
const DRIFT_MAX: f64 = 0.25;
/// A mean that is off by more than this was not predicted at all.
const MISS_REFUSED: f64 = 0.5;

/// The verdict in a word.
pub(crate) fn verdict(reasons: &[String], judged: bool) -> &'static str {
    match (reasons.is_empty(), judged) {
        (false, _) => "SUSPECT",
        (true, true) => "VALID",
        (true, false) => "NOT JUDGED",
    }
}

/// Why a model with this overhead, judged at these points, is SUSPECT; empty when it is not.
///
/// # Errors
/// When it is none.
pub(crate) fn reasons(overhead: &Interval, judged: &[Point]) -> Result<Vec<String>, CalibrateError> {
    let mut reasons = Vec::new();
    if overhead.high < 0.0 {
        reasons.push(format!(
            "an idle reply takes {} less than the work of a request under load: the client, or something else, took \
             the server's cores",
            time_text(-overhead.value)
        ));
    }
    for point in judged {
        let at = format!("at utilisation {}", point.utilization);
        // The simulation of the very requests that were sent: chance is no reason.
        let replayed = |run: &Judged| Some(run.replayed);
        let (Some(predicted), Some((mean, p90))) = (point.median(replayed), point.error(replayed)) else { continue };
        let measured = point.measured();
        let told = |of: &str, error: f64, (predicted_s, measured_s): (f64, f64)| {
            let (predicted, measured) = (time_text(predicted_s), time_text(measured_s));
            format!("{at} it predicts a {of} of {predicted} where {measured} were measured ({:+.1} %)", 100.0 * error)
        };
        let means = told("mean", mean, (predicted.mean_s, measured.mean_s));
        // A miss without a number is one too.
        if mean.is_nan() || mean.abs() > MISS_REFUSED {
            // What took the cores is often the cause, and asking for more work is then no remedy.
            let doubts = match point.doubts.is_empty() {
                true => String::new(),
                false => format!(" ({}; {})", point.doubts.join("; "), point.cores()),
            };
            let otherwise = "ask for more work per request, or measure the delay with --curve";
            let remedy = others::remedy(point.others, &point.cores_busy, otherwise);
            return Err(CalibrateError::Refused(format!("no model was found: {means}{doubts}; {remedy}")));
        }
        if mean.abs() > MISS_MAX {
            reasons.push(means);
        } else if p90.abs() > MISS_MAX {
            reasons.push(told("90th percentile", p90, (predicted.p90_s, measured.p90_s)));
        }
        if (point.speed() - 1.0).abs() > DRIFT_MAX {
            reasons.push(format!(
                "{at} the server had {:.0} % of the speed that it was measured with",
                100.0 * point.speed()
            ));
        }
        reasons.extend(point.doubts.iter().map(|doubt| format!("{at}: {doubt} ({})", point.cores())));
    }
    Ok(reasons)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Predicted;

    const ABOVE: Interval = Interval { value: 1e-4, low: 0.9e-4, high: 1.1e-4 };

    /// A load at utilisation 0.7 whose mean of 10 ms and 90th percentile of 20 ms are predicted with these errors.
    fn point(mean: f64, p90: f64, doubts: &[&str]) -> Point {
        let measured = Predicted { mean_s: 10e-3, p90_s: 20e-3 };
        let replayed = Predicted { mean_s: 10e-3 * (1.0 + mean), p90_s: 20e-3 * (1.0 + p90) };
        let far = Predicted { mean_s: 1.0, p90_s: 1.0 };
        let run = Judged { rate: 70.0, speed: 1.0, measured, theory: None, sim: far, replayed, sim_as_made: far };
        let doubts = doubts.iter().map(ToString::to_string).collect();
        Point { runs: vec![run], doubts, cores_busy: vec![0.98, 0.964], ..Point::new(0.7) }
    }

    fn told(judged: &[Point]) -> Vec<String> {
        reasons(&ABOVE, judged).unwrap()
    }

    #[test]
    fn a_model_that_predicts_is_valid() {
        assert_eq!(told(&[point(0.24, -0.24, &[]), point(-0.24, 0.0, &[])]), Vec::<String>::new());
        assert_eq!(
            (verdict(&[], true), verdict(&[], false), verdict(&["x".into()], false)),
            ("VALID", "NOT JUDGED", "SUSPECT")
        );
    }

    #[test]
    fn a_miss_or_a_doubt_makes_it_suspect() {
        assert!(
            told(&[point(0.0, 0.0, &[]), point(-0.3, 0.0, &[])])[0]
                .contains("a mean of 7 ms where 10 ms were measured (-30.0 %)")
        );
        assert!(told(&[point(0.0, 0.26, &[])])[0].contains("a 90th percentile of 25.2 ms where 20 ms"));
        assert_eq!(
            told(&[point(0.0, 0.0, &["every core was busy"])]),
            ["at utilisation 0.7: every core was busy (cores busy: 98 %, 96 %)"]
        );
        let mut drifted = point(0.0, 0.0, &[]);
        drifted.runs[0].speed = 0.7;
        assert!(told(&[drifted])[0].contains("had 70 % of the speed"));
        let below = Interval { value: -24e-6, low: -35e-6, high: -1e-6 };
        assert!(reasons(&below, &[]).unwrap()[0].contains("takes 24 us less"));
        assert_eq!(reasons(&Interval { high: 1e-6, ..below }, &[]).unwrap(), Vec::<String>::new(), "it may be 0");
    }

    #[test]
    fn what_misses_by_half_is_no_model() {
        for mean in [-0.966, 0.51, f64::NAN] {
            let refused =
                reasons(&ABOVE, &[point(0.0, 0.0, &[]), point(mean, 0.0, &["it was late", "no core"])]).unwrap_err();
            let message = refused.to_string();
            let doubts = "(it was late; no core; cores busy: 98 %, 96 %)";
            assert!(message.contains("no model was found") && message.contains(doubts), "{message}");
            assert!(message.contains("--curve") && message.lines().count() == 1, "{message}");
            // Where other work had the cores, more work per request is no remedy.
            let crowded = Point { others: 1.2, ..point(mean, 0.0, &["every core was busy"]) };
            let message = reasons(&ABOVE, &[crowded]).unwrap_err().to_string();
            let is_right = message.contains("leave the machine alone") && message.contains("kept 1.2 cores");
            assert!(is_right && !message.contains("--curve"), "{message}");
        }
    }
}
