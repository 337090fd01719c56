//! Links as data, and the wire of a link as a sans-I/O state machine.

use sojourn_stats::{Span, Time};

/// For how long a queue holds what its link transmits, and the least that it holds (bytes).
const QUEUE_S: f64 = 0.1;
const QUEUE_BYTES_LEAST: f64 = 64_000.0;

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

    /// Packets that wait in front of a link of finite rate, at most (bytes): a tenth of a second of it, and no less than a
    /// switch's port has. It is what live's links have; messages, which have no sender to slow down, wait however long the
    /// queue is.
    pub fn queue_bytes(&self) -> Option<u64> {
        self.rate.map(|rate| (rate / 8.0 * QUEUE_S).max(QUEUE_BYTES_LEAST) as u64)
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

    /// How long what enters at `now` waits.
    pub fn wait(&self, now: Time) -> Span {
        self.free.max(now) - now
    }

    /// How many bytes more can enter from `now` on within so long: what the queue holds and the link carries meanwhile, without
    /// what waits already. Any number where the link has no rate.
    pub fn room(&self, now: Time, within: Span) -> u64 {
        let (Some(held), Some(rate)) = (self.link.queue_bytes(), self.link.rate) else { return u64::MAX };
        let bytes = held as f64 + (within.as_secs_f64() - self.wait(now).as_secs_f64()) * rate / 8.0;
        bytes.max(0.0) as u64
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
