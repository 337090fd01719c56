//! What is going to happen by itself: messages in flight, patience that ends, users that think. A binary heap; an event of
//! a request that has gone is skipped when its turn comes (its generation is over). Empty, and then free of cost, where
//! there are no links, patience or users.
//!
//! Events come in the order of their times. Which of two comes first at one instant is the [`Entry`]'s to say: it belongs
//! to the kind of traffic, and every number depends on it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use sojourn_stats::Time;

/// The events to come.
pub(crate) struct Agenda<E> {
    heap: BinaryHeap<Reverse<E>>,
    sequence: u64,
}

/// An event as the heap keeps it, smallest first.
pub(crate) trait Entry: Copy + Ord + Send {
    /// What can happen.
    type What: Copy;

    /// `event` at an instant, entered after `sequence` others.
    fn new(at: Time, event: Event<Self::What>, sequence: u64) -> Self;

    fn at(&self) -> Time;

    fn event(self) -> Event<Self::What>;
}

/// An event: what happens, and what it happens to, which is passed over if it has another generation by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event<W> {
    pub(crate) entity: u32,
    pub(crate) generation: u32,
    pub(crate) what: W,
}

impl<E: Entry> Default for Agenda<E> {
    fn default() -> Agenda<E> {
        Agenda { heap: BinaryHeap::new(), sequence: 0 }
    }
}

impl<E: Entry> Agenda<E> {
    /// When the first event is due; [`Time::NEVER`] when there is none.
    #[inline]
    pub(crate) fn first_at(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |Reverse(entry)| entry.at())
    }

    /// Takes the first event.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<Event<E::What>> {
        self.heap.pop().map(|Reverse(entry)| entry.event())
    }

    /// Adds an event.
    #[inline]
    pub(crate) fn add(&mut self, at: Time, what: E::What, entity: u32, generation: u32) {
        self.heap.push(Reverse(E::new(at, Event { entity, generation, what }, self.sequence)));
        self.sequence += 1;
    }
}
