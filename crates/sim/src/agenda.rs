//! What is going to happen to requests that are not at a station: messages in flight, patience that ends, users that
//! think. A binary heap ordered by (time, class, sequence); an entry for a request that has gone is skipped when its
//! turn comes (its generation is over). Empty, and then free of cost, where there are no links, patience or users.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use sojourn_stats::Time;

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    /// The request reaches the balancer.
    AtBalancer,
    /// The request reaches its server.
    AtServer,
    /// The reply's first byte reaches the balancer.
    FirstByte,
    /// The reply's last byte reaches the balancer.
    ReplyAtBalancer,
    /// The reply's last byte reaches the client.
    ReplyAtClient,
    /// The client is told to ask elsewhere.
    Redirected,
    /// A switch hears that a connection is closed.
    Closes,
    /// A part breaks, or is whole again.
    Fault,
    /// Deciders learn whether a server is down.
    HealthKnown,
    /// The client gives up.
    PatienceEnds,
    /// The user has thought.
    UserAsks,
}

impl What {
    /// The event's class: see the crate's documentation.
    fn class(self) -> u8 {
        match self {
            What::PatienceEnds => 3,
            What::UserAsks => 4,
            _ => 2,
        }
    }
}

/// An event: what it happens to is a request's slot and generation, or a user's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event {
    pub(crate) at: Time,
    /// Class, then sequence.
    order: u64,
    pub(crate) entity: u32,
    pub(crate) generation: u32,
    pub(crate) what: What,
}

/// The events to come.
#[derive(Default)]
pub(crate) struct Agenda {
    heap: BinaryHeap<Reverse<Event>>,
    sequence: u64,
}

impl Agenda {
    /// When the first event is due.
    #[inline]
    pub(crate) fn first_at(&self) -> Time {
        match self.heap.peek() {
            Some(Reverse(event)) => event.at,
            None => Time::NEVER,
        }
    }

    /// Takes the first event.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<Event> {
        self.heap.pop().map(|Reverse(event)| event)
    }

    /// Adds an event.
    #[inline]
    pub(crate) fn add(&mut self, at: Time, what: What, entity: u32, generation: u32) {
        let order = u64::from(what.class()) << 56 | self.sequence;
        self.sequence += 1;
        self.heap.push(Reverse(Event { at, order, entity, generation, what }));
    }
}
