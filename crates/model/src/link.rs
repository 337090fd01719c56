//! Links as data, and the wire of a link as a sans-I/O state machine.

use sojourn_stats::{Span, Time};

/// A link: a propagation delay and a rate at which messages are put on it, one after another (FIFO).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// One-way propagation delay.
    pub delay: Span,
    /// Bits per second; none: infinitely fast.
    pub rate: Option<f64>,
}

impl Link {
    /// Transmission time of `bytes` on the link, without delay and without waiting.
    #[inline]
    pub fn transmission(&self, bytes: u64) -> Span {
        match self.rate {
            Some(rate) => Span::from_secs_f64(bytes as f64 * 8.0 / rate),
            None => Span::ZERO,
        }
    }

    /// Whether every message arrives the moment it is sent.
    pub fn is_instant(&self) -> bool {
        self.delay == Span::ZERO && self.rate.is_none()
    }
}

/// One direction of a [`Link`]: whole messages leave one after another in the order of sending, so its state is the
/// instant at which it is free.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wire {
    link: Link,
    free: Time,
}

/// The instants of a message on a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// When its first byte is put on the wire.
    pub starts: Time,
    /// When its first byte arrives (`starts` + delay).
    pub first_byte: Time,
    /// When its last byte arrives.
    pub arrives: Time,
}

impl Wire {
    /// An idle wire.
    pub fn new(link: Link) -> Wire {
        Wire { link, free: Time::ZERO }
    }

    /// A message of `bytes` enters at `now`: it waits until the wire is free, is put on it at the link's rate, and
    /// arrives `delay` later. Messages must be sent in order of time.
    #[inline]
    pub fn send(&mut self, now: Time, bytes: u64) -> Passage {
        let starts = now.max(self.free);
        self.free = starts + self.link.transmission(bytes);
        Passage { starts, first_byte: starts + self.link.delay, arrives: self.free + self.link.delay }
    }
}
