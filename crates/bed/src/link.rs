//! One direction of a link, as a state machine that does no I/O: a queue, a transmitter of finite rate, losses, a delay.
//!
//! A packet waits in the queue, is transmitted, may then be lost, and arrives after its delay. All instants are computed
//! from the instant at which the packet came and from the state of the link, never from the time at which this code happens to
//! run: a late call makes one packet late and moves no other. Draws are made in the order of transmission, from streams of the
//! link's own, so the same packets at the same instants meet the same losses. The price: a packet that will be lost
//! takes its share of the rate first, as on a real line.

mod codel;

use std::collections::VecDeque;

use sojourn_model::{Loss, LossLaw};
use sojourn_stats::{Law, Span, Stream, Time};
use thiserror::Error;

use self::codel::{Codel, MTU};

/// What one direction of a link is to be.
#[derive(Clone, Debug)]
pub struct LinkSpec {
    /// Its name, which also names its random streams.
    pub name: String,
    /// How long each packet travels (s), drawn for each.
    pub delay: Law,
    /// How much longer (s), drawn for each besides.
    pub jitter: Option<Law>,
    /// Whether a packet may overtake an earlier one that drew a longer time; else it waits for that one.
    pub reorders: bool,
    /// Which packets are lost.
    pub loss: LossLaw,
    /// What it transmits at most; none: packets of any size take no time.
    pub rate: Option<Rate>,
}

/// A finite rate and the queue in front of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// bit/s, of whole IP packets.
    pub bits_per_s: f64,
    /// What waits, and what is dropped.
    pub queue: Queue,
}

/// The queue of a transmitter, which holds at most so many bytes besides the packet in transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// First come, first served; what no longer fits is dropped.
    DropTail {
        /// Bytes that may wait.
        bytes: u64,
    },
    /// CoDel with its usual target of 5 ms and interval of 100 ms (RFC 8289): drops earlier where packets wait for long.
    Codel {
        /// Bytes that may wait.
        bytes: u64,
    },
}

/// Why there can be no such link; `link` names it.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum LinkError {
    /// A delay that may be negative or is not finite.
    #[error("link {0}: its delay or jitter may be negative or has no finite mean; write a law of times from 0 on")]
    Delay(String),
    /// A rate at which nothing is ever transmitted.
    #[error("link {0}: a rate of {1} bit/s transmits nothing; it is above 0, or left out for an infinitely fast link")]
    Rate(String, f64),
    /// A chance that is none.
    #[error("link {0}: a share of losses is from 0 to 1, a correlation from 0 to below 1")]
    Loss(String),
    /// A queue in which no packet fits.
    #[error("link {0}: its queue has {1} bytes; a packet has up to {MTU}")]
    Queue(String, u64),
}

/// What became of the packets of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// That came.
    pub offered: u64,
    /// That found no room in the queue, or were dropped by CoDel.
    pub dropped: u64,
    /// That were transmitted and lost.
    pub lost: u64,
    /// That arrive at the far end.
    pub passed: u64,
    /// Bytes of these.
    pub passed_bytes: u64,
}

/// A link with its state; `P` is whatever a packet is.
#[derive(Debug)]
pub struct Link<P> {
    spec: LinkSpec,
    delays: Stream,
    losses: Loss,
    /// What it loses besides, and how often that has changed.
    further: Loss,
    changes: u32,
    seed: u64,
    codel: Codel,
    /// The one in transmission comes first.
    queue: VecDeque<Waiting<P>>,
    /// Of those behind the first.
    waiting_bytes: u64,
    /// When the last packet arrives of all that have been sent.
    latest: Time,
    counts: Counts,
}

#[derive(Debug)]
struct Waiting<P> {
    since: Time,
    bytes: u32,
    packet: P,
}

impl LinkSpec {
    /// A link of constant delay that loses nothing and is infinitely fast.
    pub fn constant(name: impl Into<String>, delay: Span) -> LinkSpec {
        let delay = Law::constant(delay.as_secs_f64());
        LinkSpec { name: name.into(), delay, jitter: None, reorders: false, loss: LossLaw::default(), rate: None }
    }

    /// The same with a finite rate.
    #[must_use]
    pub fn at(self, bits_per_s: f64, queue: Queue) -> LinkSpec {
        LinkSpec { rate: Some(Rate { bits_per_s, queue }), ..self }
    }

    /// The same with losses.
    #[must_use]
    pub fn losing(self, loss: LossLaw) -> LinkSpec {
        LinkSpec { loss, ..self }
    }

    /// Whether there can be such a link.
    ///
    /// # Errors
    /// Names the first thing that cannot be.
    pub fn check(&self) -> Result<(), LinkError> {
        let name = || self.name.clone();
        let mut times = std::iter::once(&self.delay).chain(&self.jitter);
        if times.any(|law| law.limits().0 < 0.0 || !law.mean().is_finite()) {
            return Err(LinkError::Delay(name()));
        }
        if !self.loss.is_possible() {
            return Err(LinkError::Loss(name()));
        }
        match self.rate {
            Some(Rate { bits_per_s, .. }) if !(bits_per_s.is_finite() && bits_per_s > 0.0) => {
                Err(LinkError::Rate(name(), bits_per_s))
            }
            Some(Rate { queue, .. }) if queue.bytes() < u64::from(MTU) => Err(LinkError::Queue(name(), queue.bytes())),
            _ => Ok(()),
        }
    }
}

impl Queue {
    fn bytes(self) -> u64 {
        match self {
            Queue::DropTail { bytes } | Queue::Codel { bytes } => bytes,
        }
    }
}

impl<P> Link<P> {
    /// An idle link, whose draws are those of its name in the run of this seed.
    ///
    /// # Errors
    /// As [`LinkSpec::check`].
    pub fn new(spec: LinkSpec, seed: u64) -> Result<Link<P>, LinkError> {
        spec.check()?;
        Ok(Link {
            delays: Stream::new(seed, &spec.name, "delay"),
            losses: Loss::new(spec.loss, Stream::new(seed, &spec.name, "loss")),
            further: Loss::new(LossLaw::default(), Stream::new(seed, &spec.name, "further loss")),
            changes: 0,
            seed,
            codel: Codel::default(),
            queue: VecDeque::new(),
            waiting_bytes: 0,
            latest: Time::ZERO,
            counts: Counts::default(),
            spec,
        })
    }

    /// A packet comes at `now`. Where the transmitter was idle, gives the instant at which it will have sent the packet:
    /// [`Link::send`] is to be called with that instant.
    pub fn offer(&mut self, now: Time, bytes: u32, packet: P) -> Option<Time> {
        self.counts.offered += 1;
        let is_idle = self.queue.is_empty();
        let room = self.spec.rate.map_or(u64::MAX, |rate| rate.queue.bytes());
        if !is_idle {
            if self.waiting_bytes + u64::from(bytes) > room {
                self.counts.dropped += 1;
                return None;
            }
            self.waiting_bytes += u64::from(bytes);
        }
        self.queue.push_back(Waiting { since: now, bytes, packet });
        is_idle.then(|| now + self.transmission(bytes))
    }

    /// The transmission that ends at `now` is over. Gives the packet with the instant of its arrival, or nothing when it is
    /// lost; and the end of the next transmission, for which `send` is to be called again.
    ///
    /// # Panics
    /// When nothing is being transmitted.
    pub fn send(&mut self, now: Time) -> (Option<(Time, P)>, Option<Time>) {
        let sent = self.queue.pop_front().expect("a transmission that ends had a packet");
        let next = self.next_to_transmit(now).map(|bytes| now + self.transmission(bytes));
        // Both are asked each time, so that a further loss changes nothing of the other one.
        if self.losses.next_is_lost() | self.further.next_is_lost() {
            self.counts.lost += 1;
            return (None, next);
        }
        let LinkSpec { delay, jitter, .. } = &self.spec;
        let further_s = jitter.as_ref().map_or(0.0, |law| law.sample(&mut self.delays));
        let mut arrival = now + Span::from_secs_f64(delay.sample(&mut self.delays) + further_s);
        if !self.spec.reorders {
            arrival = arrival.max(self.latest);
            self.latest = arrival;
        }
        self.counts.passed += 1;
        self.counts.passed_bytes += u64::from(sent.bytes);
        (Some((arrival, sent.packet)), next)
    }

    /// Loses this besides what it loses anyway, from the next packet on; it takes the place of what was said so before.
    ///
    /// # Panics
    /// When the law is not possible.
    pub fn lose_besides(&mut self, law: LossLaw) {
        self.changes += 1;
        let purpose = format!("further loss {}", self.changes);
        self.further = Loss::new(law, Stream::new(self.seed, &self.spec.name, &purpose));
    }

    /// What it is.
    pub fn spec(&self) -> &LinkSpec {
        &self.spec
    }

    /// What became of its packets so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The size of the packet at the head of the queue, once CoDel has dropped what it drops at `now`.
    fn next_to_transmit(&mut self, now: Time) -> Option<u32> {
        let is_codel = matches!(self.spec.rate, Some(Rate { queue: Queue::Codel { .. }, .. }));
        loop {
            let head = self.queue.front()?;
            let (bytes, waited) = (head.bytes, now - head.since);
            let is_full = self.waiting_bytes > u64::from(MTU);
            self.waiting_bytes -= u64::from(bytes);
            if !(is_codel && self.codel.drops(now, waited, is_full)) {
                return Some(bytes);
            }
            self.counts.dropped += 1;
            self.queue.pop_front();
        }
    }

    fn transmission(&self, bytes: u32) -> Span {
        match self.spec.rate {
            None => Span::ZERO,
            Some(rate) => Span::from_secs_f64(f64::from(bytes) * 8.0 / rate.bits_per_s),
        }
    }
}
