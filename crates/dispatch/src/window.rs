//! The averaging window: what the policies that judge by speed read.
//!
//! Windows lie end to end from the start of the run, and totals are cleared at each end (Zhang 2002, section 5.1.2:
//! that history is lost there is the published weakness, and it is kept). Only backends that
//! something happened to are touched at the end, so that the clearing costs nothing per request that it does not
//! already owe.
//!
//! **A failure never looks fast.** A backend that fails at once would otherwise show the shortest round trips, the
//! fewest bytes and the fewest requests in flight, and draw all traffic (linkerd2-proxy, pull request 4537). So a
//! failure (no reply, a broken one, or status 429 or from 500 up) counts, until the window ends,
//! - as one round trip of twice the longest of: its own duration, the window's length, and the longest round trip of
//!   any backend in this window or the last. Twice, because a first byte may have been a fast sample before;
//! - as many bytes as the most that any backend transmitted in this window or the last, and at least one;
//! - as a request still in flight, where the window policies compare those.

use sojourn_stats::{Span, Time};

use crate::BackendId;

/// What one backend did in the present window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowTotals {
    /// Bytes of replies, penalties for failures included.
    pub bytes: u64,
    /// The penalties among them.
    pub penalty_bytes: u64,
    /// Round trips: first bytes that came back, and failures.
    pub round_trips: u32,
    /// Their sum, penalties for failures included.
    pub round_trip_sum: Span,
    /// Failures among them.
    pub failures: u32,
}

impl WindowTotals {
    /// Mean time from sending to the first byte, to the nanosecond below; none without a sample.
    #[inline]
    pub fn mean_round_trip(&self) -> Option<Span> {
        (self.round_trips > 0).then(|| Span(self.round_trip_sum.0 / u64::from(self.round_trips)))
    }
}

/// The window itself.
#[derive(Debug)]
pub(crate) struct Window {
    length: Span,
    pub(crate) end: Time,
    /// Who has totals that are not zero.
    touched: Vec<BackendId>,
    longest: Largest,
    most_bytes: Largest,
}

/// The largest value of this window and of the last that had any.
#[derive(Clone, Copy, Debug, Default)]
struct Largest {
    now: u64,
    before: u64,
}

impl Largest {
    #[inline]
    fn add(&mut self, value: u64) {
        self.now = self.now.max(value);
    }

    fn roll(&mut self) {
        if self.now > 0 {
            self.before = std::mem::take(&mut self.now);
        }
    }

    fn value(self) -> u64 {
        self.now.max(self.before)
    }
}

impl Window {
    pub(crate) fn new(length: Span) -> Window {
        assert!(length > Span::ZERO, "a window has a length");
        let (longest, most_bytes) = (Largest::default(), Largest::default());
        Window { length, end: Time::ZERO + length, touched: Vec::new(), longest, most_bytes }
    }

    #[inline]
    pub(crate) fn round_trip(&mut self, id: BackendId, totals: &mut WindowTotals, round_trip: Span) {
        self.touch(id, totals);
        totals.round_trips += 1;
        totals.round_trip_sum += round_trip;
        self.longest.add(round_trip.0);
    }

    #[inline]
    pub(crate) fn transmitted(&mut self, id: BackendId, totals: &mut WindowTotals, bytes: u64) {
        if bytes == 0 {
            return;
        }
        self.touch(id, totals);
        totals.bytes = totals.bytes.saturating_add(bytes);
        self.most_bytes.add(totals.bytes - totals.penalty_bytes); // penalties would breed penalties
    }

    pub(crate) fn failed(&mut self, id: BackendId, totals: &mut WindowTotals, after: Span) {
        self.touch(id, totals);
        totals.failures += 1;
        totals.round_trips += 1;
        totals.round_trip_sum += after.max(self.length).max(Span(self.longest.value())) * 2;
        let penalty = self.most_bytes.value().max(1).min(u64::MAX - totals.bytes);
        totals.bytes += penalty;
        totals.penalty_bytes += penalty;
    }

    /// Begins the window that `now` is in and returns those whose totals are to be cleared.
    pub(crate) fn roll(&mut self, now: Time) -> Vec<BackendId> {
        self.longest.roll();
        self.most_bytes.roll();
        let into = Span(now.0 % self.length.0);
        self.end = Time(now.0 - into.0) + self.length;
        std::mem::take(&mut self.touched)
    }

    /// Gives back the list that [`Window::roll`] returned, for its memory.
    pub(crate) fn recycle(&mut self, mut list: Vec<BackendId>) {
        list.clear();
        self.touched = list;
    }

    #[inline]
    fn touch(&mut self, id: BackendId, totals: &WindowTotals) {
        if totals.round_trips == 0 && totals.bytes == 0 {
            self.touched.push(id);
        }
    }
}
