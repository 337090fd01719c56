//! The event list of browsing users: a binary heap of single numbers.
//!
//! An entry is (time, kind, entity, generation) in 128 bits, so that a comparison is one of whole numbers, and two entries
//! at one instant have an order that depends on nothing else: the kind, in the order of [`EventKind`], then the user,
//! connection or server that it happens to. Entries are never cancelled: each carries the generation of its connection,
//! and is passed over if the connection has another by then.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use sojourn_stats::Time;

/// The kinds of events, in their order at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum EventKind {
    /// A server counts its requests for a poll.
    Counts,
    /// Its answer is at the balancer.
    Reports,
    /// A connection's first packet is at the balancer.
    Opens,
    /// A request is at the balancer.
    Requests,
    /// A request is at its server.
    Served,
    /// The first byte of its reply is where it is looked for.
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
    /// A user's think time is over.
    Thought,
}

const ALL: [EventKind; 12] = [
    EventKind::Counts,
    EventKind::Reports,
    EventKind::Opens,
    EventKind::Requests,
    EventKind::Served,
    EventKind::FirstByte,
    EventKind::Replies,
    EventKind::Received,
    EventKind::GivesUp,
    EventKind::Idle,
    EventKind::Asks,
    EventKind::Thought,
];

/// Users, connections and servers are numbered below this.
pub(super) const ENTITY_LIMIT: u32 = 1 << 24;

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) kind: EventKind,
    pub(super) entity: u32,
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
        let entity = (low >> 32) as u32 & (ENTITY_LIMIT - 1);
        Some(Event { kind: ALL[(low >> 56) as usize], entity, generation: low as u32 })
    }

    /// Adds an event of the user, connection or server `entity`, below [`ENTITY_LIMIT`].
    #[inline]
    pub(super) fn add(&mut self, at: Time, kind: EventKind, entity: u32, generation: u32) {
        debug_assert!(entity < ENTITY_LIMIT);
        let low = u64::from(kind as u8) << 56 | u64::from(entity) << 32 | u64::from(generation);
        self.heap.push(Reverse(u128::from(at.0) << 64 | u128::from(low)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_one_instant_the_order_is_that_of_the_list() {
        let mut calendar = Calendar::default();
        for kind in ALL.into_iter().rev() {
            calendar.add(Time(5), kind, ENTITY_LIMIT - 1, 7);
            calendar.add(Time(5), kind, 1, u32::MAX);
        }
        let event = |kind, entity, generation| Some(Event { kind, entity, generation });
        calendar.add(Time(4), EventKind::Thought, 9, 0);
        assert_eq!((calendar.first_at(), calendar.take()), (Time(4), event(EventKind::Thought, 9, 0)));
        for kind in ALL {
            let both = (calendar.take(), calendar.take());
            assert_eq!(both, (event(kind, 1, u32::MAX), event(kind, ENTITY_LIMIT - 1, 7)));
        }
        assert_eq!((calendar.first_at(), calendar.take()), (Time::NEVER, None));
    }
}
