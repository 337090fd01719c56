//! Incidents: what the parts of a live run did although nothing asked for it. Each is a doubt, and an event with its instant.

use serde_json::{Value, json};
use sojourn_bed::{Child, clock};
use sojourn_stats::Time;

/// A part that ended, stood still or did not answer.
pub(super) struct Incident {
    part: String,
    /// On the clock of [`clock::since_boot`].
    at: Time,
    what: String,
}

/// The incidents of a child before it is told to stop; a pause that begins when `is_planned` says so is none.
pub(super) fn of(part: &str, child: &Child, is_planned: impl Fn(Time) -> bool) -> Vec<Incident> {
    let incident = |at: Time, what: String| Incident { part: part.into(), at, what };
    let mut found = Vec::new();
    for pause in child.pauses().into_iter().filter(|pause| !is_planned(pause.from)) {
        let what = match pause.until {
            Some(until) => format!("stood still for {:.3}, stopped by a signal", until - pause.from),
            None => "stood still from then on, stopped by a signal".into(),
        };
        found.push(incident(pause.from, what));
    }
    if let Some(ended) = child.ended() {
        found.push(incident(ended.at, format!("ended ({})", ended.status)));
    }
    found
}

/// That a part which should still have answered did not.
pub(super) fn silence(part: &str) -> Incident {
    Incident { part: part.into(), at: clock::since_boot(), what: "did not answer when it was told to stop".into() }
}

impl Incident {
    /// As a reason to doubt a run that started at `start`.
    pub(super) fn reason(&self, start: Time) -> String {
        format!("{} {}, {:.1} s after the start", self.part, self.what, self.after_s(start))
    }

    /// When, in seconds after a run's start, and what.
    pub(super) fn told(&self, start: Time) -> (f64, String) {
        (self.after_s(start), format!("{} {}", self.part, self.what))
    }

    /// As a line of the run folder's events.
    pub(super) fn event(&self, start: Time) -> Value {
        json!({"event": "incident", "part": self.part, "what": self.what, "at_s": self.after_s(start)})
    }

    fn after_s(&self, start: Time) -> f64 {
        // What happened before the start, while parts were being started, counts as negative.
        (self.at.0 as f64 - start.0 as f64) * 1e-9
    }
}
