//! What is going to happen, when and to whom: a binary heap of single numbers.
//!
//! An entry is (time, what, whom) in 128 bits, so that a comparison is one of whole numbers and two entries at one instant
//! have an order that depends on nothing else: what happens, in the order of [`What`], then whom it happens to. Entries
//! are never cancelled; the few that time may overtake say so.

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
    /// A connection may have been idle for too long: looked at when it comes.
    Idle,
    /// An active OFF time is over.
    Asks,
    /// A user has thought.
    Thought,
}

const ALL: [What; 11] = [
    What::Counts,
    What::Reports,
    What::Opens,
    What::Requests,
    What::Served,
    What::FirstByte,
    What::Replies,
    What::Received,
    What::Idle,
    What::Asks,
    What::Thought,
];

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
    pub(super) fn take(&mut self) -> Option<(What, u32)> {
        self.heap.pop().map(|Reverse(entry)| (ALL[(entry >> 32) as u32 as usize], entry as u32))
    }

    /// Adds an event.
    #[inline]
    pub(super) fn add(&mut self, at: Time, what: What, whom: u32) {
        self.heap.push(Reverse(u128::from(at.0) << 64 | u128::from(what as u8) << 32 | u128::from(whom)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_one_instant_the_order_is_that_of_the_list() {
        let mut calendar = Calendar::default();
        for what in ALL.into_iter().rev() {
            calendar.add(Time(5), what, 2);
            calendar.add(Time(5), what, 1);
        }
        calendar.add(Time(4), What::Thought, 9);
        assert_eq!((calendar.first_at(), calendar.take()), (Time(4), Some((What::Thought, 9))));
        for what in ALL {
            assert_eq!((calendar.take(), calendar.take()), (Some((what, 1)), Some((what, 2))));
        }
        assert_eq!((calendar.first_at(), calendar.take()), (Time::NEVER, None));
    }
}
