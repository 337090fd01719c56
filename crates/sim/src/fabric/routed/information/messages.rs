//! Messages between deciders, and from servers to deciders: what is under way, and when it comes.
//!
//! They are no requests and outlast none: the run ends although some are under way, so they are the fabric's deadlines
//! and not in the agenda. Those of one instant come in the order in which they were sent.

use std::collections::BTreeMap;

use sojourn_dispatch::reports::Totals;
use sojourn_dispatch::{Report, RoundTrip};
use sojourn_stats::Time;

/// Messages that are under way.
#[derive(Default)]
pub(in crate::fabric::routed) struct Messages {
    coming: BTreeMap<(Time, u64), Message>,
    sent: u64,
}

/// A message, and to or from which reporter or decider it is.
pub(super) enum Message {
    /// A target reports its load. `is_taken`: its receiver has had the time that it takes for it.
    Load { reporter: u32, load: Box<Load>, is_taken: bool },
    /// A target reports the request rates (1/s) of clients.
    Rates { reporter: u32, rates: Vec<(u32, f64)> },
    /// A decider wants the round trip between a client and one of its targets.
    Order { decider: u32, target: u32, client: u32 },
    /// A target has measured it.
    Echoes { decider: u32, target: u32, client: u32, round_trip: RoundTrip },
}

/// What a report says; the receiver makes differences of the totals.
pub(super) struct Load {
    /// Its shares and numbers at one instant; of targets that add up reports, their rates too.
    pub(super) report: Report,
    /// An overload has begun there, and has not ended.
    pub(super) is_overloaded: bool,
    /// No server is left behind this decider.
    pub(super) is_empty: bool,
    pub(super) totals: Totals,
}

impl Messages {
    /// Sends a message that comes at `at`.
    pub(super) fn send(&mut self, at: Time, message: Message) {
        self.coming.insert((at, self.sent), message);
        self.sent += 1;
    }

    /// When the first one comes; [`Time::NEVER`] if none is under way.
    #[inline]
    pub(in crate::fabric::routed) fn first_at(&self) -> Time {
        self.coming.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at)
    }

    /// Takes the first one that comes at or before `now`.
    pub(super) fn take(&mut self, now: Time) -> Option<Message> {
        (self.first_at() <= now).then(|| self.coming.pop_first().expect("it has a time").1)
    }
}
