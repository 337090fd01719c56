//! How fast a run offered its requests and began them.

use serde::{Deserialize, Serialize};
use sojourn_stats::Time;

use crate::outcome::Counts;
use crate::recorder::division::Windowing;
use crate::recorder::{Recorder, SLICE};

/// Offered and achieved rate (1/s) after the warm-up. A closed schedule offers what it achieves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pace {
    /// Requests planned per second.
    pub offered: f64,
    /// Requests begun per second.
    pub achieved: f64,
    /// What the plan offers in the long run, where its gaps have a law: what came of it is more or less by chance.
    #[serde(default)]
    pub asked: Option<f64>,
}

/// Offered and achieved rate after the warm-up.
///
/// Whatever was planned was taken up, however late, so the windows' counts are the offered load. `end` may have become
/// known only after the start: then what was begun after it is told by whole slices.
pub(super) fn pace(all: &Recorder, measured: &Counts, open: bool, end: Time, measured_s: f64) -> Pace {
    let rate = |count: u64| if measured_s > 0.0 { count as f64 / measured_s } else { 0.0 };
    let offered = rate(measured.planned);
    if !open {
        return Pace { offered, achieved: offered, asked: None };
    }
    let late: u64 = match all.windowing() {
        Windowing::Until(until) if until <= end => 0,
        _ => all.slices.iter().skip((end.0 / SLICE.0) as usize + 1).map(|slice| slice.begun).sum(),
    };
    Pace { offered, achieved: rate(all.begun_in_time.saturating_sub(late)), asked: None }
}
