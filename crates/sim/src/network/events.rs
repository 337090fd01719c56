//! What is going to happen to jobs that are at no queue: delays that end, and jobs that come. A binary heap ordered by
//! (time, class, sequence).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use sojourn_stats::Time;

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    /// The job in this slot has been at its delay for as long as it takes.
    DelayEnds { slot: u32 },
    /// A job of this chain comes; of a closed one, from this user.
    Comes { chain: u32, user: u32 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    at: Time,
    /// Class, then sequence.
    order: u64,
    what: What,
}

/// The events to come.
#[derive(Default)]
pub(super) struct Events {
    heap: BinaryHeap<Reverse<Event>>,
    sequence: u64,
}

impl Events {
    /// When the first event is due; [`Time::NEVER`] when there is none.
    #[inline]
    pub(super) fn first_at(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |Reverse(event)| event.at)
    }

    /// Takes the first event.
    #[inline]
    pub(super) fn take(&mut self) -> Option<What> {
        self.heap.pop().map(|Reverse(event)| event.what)
    }

    /// Adds an event.
    #[inline]
    pub(super) fn add(&mut self, at: Time, what: What) {
        // An arrival finds what all other events of that instant have left.
        let class = u64::from(matches!(what, What::Comes { .. }));
        self.heap.push(Reverse(Event { at, order: class << 56 | self.sequence, what }));
        self.sequence += 1;
    }
}
