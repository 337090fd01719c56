//! What a connection of TCP runs over: a path with its losses.

use sojourn_stats::{Span, Time};

use crate::{Loss, Wire};

/// One direction of a path, for the segments, and the other one for their acknowledgements.
#[derive(Debug)]
pub struct Way<'a> {
    /// Round trip, empty.
    pub rtt: Span,
    /// Rate at which segments leave (bit/s); none: at once.
    pub rate: Option<f64>,
    /// The losses of segments.
    pub there: &'a mut Loss,
    /// The losses of acknowledgements.
    pub back: &'a mut Loss,
    /// When more is lost, in both directions.
    pub spells: &'a [Spell],
}

/// A time in which a path loses more than it usually does, counted from the first segment's start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spell {
    /// Its first instant.
    pub from: Span,
    /// The first instant after it.
    pub until: Span,
    /// The further share of the packets that is lost: those that set out in this time, each by itself.
    pub lost: f64,
}

/// A link that connections share. What each sends in a round joins a queue in front of it, first come, first served; what finds
/// no room is lost.
#[derive(Debug)]
pub struct Shared<'a> {
    /// The link.
    pub link: &'a mut Wire,
    /// Now: each round is played when it begins, so that rounds of different connections come in the order of time.
    pub now: Time,
    /// Acknowledgements come back over it too, and wait in its queue as long as what they acknowledge did. The price: they take
    /// no time on the link, and none is lost.
    pub carries_answers: bool,
}

impl Shared<'_> {
    /// Of `wanted` segments of so many bytes, the last one `spare` shorter, how many find room, and how long these wait (s).
    /// Room is what the queue holds, and what the link carries in a round trip while they come.
    pub(super) fn joins(&mut self, wanted: u64, bytes: u64, spare: u64, rtt: Span) -> (u64, f64) {
        let fit = wanted.min(self.link.room(self.now, rtt) / bytes);
        if fit == 0 {
            return (0, 0.0);
        }
        let spare = if fit == wanted { spare } else { 0 };
        (fit, (self.link.send(self.now, fit * bytes - spare).starts - self.now).as_secs_f64())
    }
}

impl Way<'_> {
    /// Whether the packet that sets out at `at` is lost: a segment, or what answers one.
    pub(super) fn loses(&mut self, is_answer: bool, at: Span) -> bool {
        let losses = if is_answer { &mut *self.back } else { &mut *self.there };
        let is_lost = losses.next_is_lost();
        let of_spells = |spell: &Spell| spell.from <= at && at < spell.until && losses.draws_below(spell.lost);
        self.spells.iter().any(of_spells) || is_lost
    }
}
