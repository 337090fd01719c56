//! A doubt about a run: what it is about, and what it can have done to the answer.
//!
//! A response time counts from the planned instant, so what the generator adds is contained in it: a request that goes
//! out late leaves no earlier than one in time, and by no more than the lateness later (departures of a queue that
//! serves first come, first served, grow with its arrivals; Baccelli and Brémaud, Elements of Queueing Theory, 2003,
//! section 2.2). A time that stays below a limit in spite of such a doubt is therefore below it. A load that was not
//! the one asked for says nothing either way.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A doubt about a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doubt {
    /// What it is about.
    pub cause: Cause,
    /// The doubt as a sentence with its number and, where there is one, the way out.
    pub text: String,
}

/// What a doubt is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// No request was planned after the warm-up.
    Nothing,
    /// 1 % of the requests went out too late.
    Late,
    /// Too much of the time inside is the generator's own lateness, by Little's law.
    Unnoticed,
    /// The requests did not go out with the planned gaps.
    Emission,
    /// Fewer requests were begun than offered.
    Shortfall,
    /// The generator had no core, or no time of its own.
    Busy,
    /// The generator waited for a core.
    RunQueue,
    /// All cores of the machine were busy.
    Cores,
    /// The host gave the cores to others.
    Stolen,
    /// Requests had to wait for a connection.
    Queued,
    /// Requests were not sent at all.
    Missed,
    /// The plan is not of the law asked for.
    Plan,
    /// The shares of several clients did not start as one.
    Start,
    /// Requests failed.
    Errors,
    /// Records are missing in their file.
    LostRecords,
}

/// What a cause can have done to a response time or a throughput.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    None,
    /// It is contained in the response times, which are longer by no more than the generator's lateness.
    Late,
    /// It can only have made the server look slower, nothing says by how much.
    Slower,
    /// The load was another one.
    OtherLoad,
}

impl Cause {
    /// What it can have done.
    pub fn effect(self) -> Effect {
        match self {
            Cause::LostRecords => Effect::None,
            Cause::Late | Cause::Unnoticed | Cause::Emission | Cause::Shortfall => Effect::Late,
            Cause::Busy | Cause::RunQueue | Cause::Cores | Cause::Stolen | Cause::Queued => Effect::Slower,
            Cause::Nothing | Cause::Missed | Cause::Plan | Cause::Start | Cause::Errors => Effect::OtherLoad,
        }
    }

    /// A doubt of this cause.
    pub(crate) fn doubt(self, text: impl Into<String>) -> Doubt {
        Doubt { cause: self, text: text.into() }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
