//! What is going to happen, when and to whom: a binary heap of single numbers.
//!
//! An entry is (time, what, whom) in 128 bits, so that a comparison is one of whole numbers and two entries at one
//! instant have an order that depends on nothing else: what happens, in the order of [`What`], then whom it happens to.
//! Entries are never cancelled: one carries the generation of whom it happens to, and is passed over when that is over.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use sojourn_stats::Time;

/// What happens, in the order in which it does at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum What {
    /// A server counts for a poll.
    Counts,
    /// Its answer is at the balancer.
    Reports,
    /// A connection's first packet is at the balancer.
    Opens,
    /// A request is at the balancer.
    Requests,
    /// A request is at its server.
    Served,
    /// The first byte of its reply is where somebody looks for it.
    FirstByte,
    /// A reply enters the links.
    Replies,
    /// A reply's last byte is at the user.
    Received,
    /// A user's patience with a file ends.
    GivesUp,
    /// A connection may have been idle for too long: looked at when it comes.
    Idle,
    /// An active OFF time is over.
    Asks,
    /// A user has thought.
    Thought,
}

const ALL: [What; 12] = [
    What::Counts,
    What::Reports,
    What::Opens,
    What::Requests,
    What::Served,
    What::FirstByte,
    What::Replies,
    What::Received,
    What::GivesUp,
    What::Idle,
    What::Asks,
    What::Thought,
];

/// Users, connections and servers are numbered below this.
pub(super) const WHOM_LIMIT: u32 = 1 << 24;

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) what: What,
    pub(super) whom: u32,
    pub(super) generation: u32,
}

/// The events to come.
#[derive(Default)]
pub(super) struct Calendar {
    heap: BinaryHeap<Reverse<u128>>,
}

impl Calendar {
    /// When the first event is due; [`Time::NEVER`] when there is none.
    #[inline]
    pub(super) fn first_at(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |Reverse(entry)| Time((entry >> 64) as u64))
    }

    /// Takes the first event.
    #[inline]
    pub(super) fn take(&mut self) -> Option<Event> {
        let Reverse(entry) = self.heap.pop()?;
        let low = entry as u64;
        let whom = (low >> 32) as u32 & (WHOM_LIMIT - 1);
        Some(Event { what: ALL[(low >> 56) as usize], whom, generation: low as u32 })
    }

    /// Adds an event that happens to somebody below [`WHOM_LIMIT`].
    #[inline]
    pub(super) fn add(&mut self, at: Time, what: What, whom: u32, generation: u32) {
        debug_assert!(whom < WHOM_LIMIT);
        let low = u64::from(what as u8) << 56 | u64::from(whom) << 32 | u64::from(generation);
        self.heap.push(Reverse(u128::from(at.0) << 64 | u128::from(low)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_one_instant_the_order_is_that_of_the_list() {
        let mut calendar = Calendar::default();
        for what in ALL.into_iter().rev() {
            calendar.add(Time(5), what, WHOM_LIMIT - 1, 7);
            calendar.add(Time(5), what, 1, u32::MAX);
        }
        let event = |what, whom, generation| Some(Event { what, whom, generation });
        calendar.add(Time(4), What::Thought, 9, 0);
        assert_eq!((calendar.first_at(), calendar.take()), (Time(4), event(What::Thought, 9, 0)));
        for what in ALL {
            let both = (calendar.take(), calendar.take());
            assert_eq!(both, (event(what, 1, u32::MAX), event(what, WHOM_LIMIT - 1, 7)));
        }
        assert_eq!((calendar.first_at(), calendar.take()), (Time::NEVER, None));
    }
}
