//! The averaging window: what the policies that judge by speed read.
//!
//! A window **resets** or **slides**. Windows that reset lie end to end from the start of the run, and totals are
//! cleared at each end (Zhang 2002, section 5.1.2: that history is lost there is the published weakness, and it is
//! kept). A window that slides (section 2.3 of the same, after Srisuresh and Gan, RFC 2391, 1998, and Bryhni 2000) is
//! made of [`PARTS`] parts: the present one and those before it, so that totals always cover between nine tenths of
//! its length and all of it, and lose a tenth at a time. Price: a slot per part in which something happened, and a
//! deadline ten times as often.
//!
//! Decisions read the totals of the window that is open now, or ([`Reads::Last`]) those of the **last complete** one,
//! frozen while the present one fills: the other way to read the same section, where the statistics of one window
//! decide the next. A window in which nothing happened is a last one too, and during the first nothing is known. Price:
//! totals twice over, and news, a failure's too, that is up to a whole window late in the decisions.
//!
//! Only backends that something happened to are touched at an end, so that forgetting costs nothing per request that
//! it does not already owe.
//!
//! **A failure never looks fast.** A backend that fails at once would otherwise show the shortest round trips, the
//! fewest bytes and the fewest requests in flight, and draw all traffic (linkerd2-proxy, pull request 4537). So a
//! failure (no reply, a broken one, or status 429 or from 500 up) counts, until the window forgets it,
//! - as one round trip of twice the longest of: its own duration, the window's length, and the longest round trip of
//!   any backend in this window or the last. Twice, because a first byte may have been a fast sample before;
//! - as many bytes as the most that any backend transmitted in this window or the last, and at least one;
//! - as a request still in flight, where the window policies compare those.
//!
//! With [`Reads::Last`] all this holds for the window in which it failed, and so is felt only in the next.
//!
//! The last window is, for one that slides, the last part that it forgot and that had any.

use std::collections::VecDeque;

use sojourn_stats::{Span, Time};

use crate::BackendId;

/// Parts of a window that slides.
const PARTS: u64 = 10;

/// The averaging window that a policy asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Averaging {
    /// How far back it looks at most; above zero.
    pub length: Span,
    /// Which totals decisions read.
    pub reads: Reads,
}

/// Which totals the decisions read that ask for an averaging window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reads {
    /// Those of the present window, which is cleared at its end.
    #[default]
    Present,
    /// Those of the last complete window, frozen until the present one ends.
    Last,
    /// Those of a window that slides, in steps of a tenth of its length.
    Sliding,
}

/// What one backend did in a window.
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

/// The window itself, with the totals of every backend.
#[derive(Debug)]
pub(crate) struct Window {
    length: Span,
    /// How often it forgets: its length, or that of a part.
    step: Span,
    end: Time,
    totals: Vec<WindowTotals>,
    sliding: Option<Sliding>,
    last: Option<Last>,
    /// Who has something in the present part (of a window that resets, the whole of it).
    touched: Vec<BackendId>,
    longest: Largest,
    most_bytes: Largest,
}

/// What a window that slides must remember in order to forget.
#[derive(Debug)]
struct Sliding {
    /// How many parts before the present one are covered.
    before: usize,
    /// What happened in the present part.
    present: Vec<WindowTotals>,
    /// What happened in those before it, the oldest first.
    past: VecDeque<Vec<(BackendId, WindowTotals)>>,
}

/// The last complete window, where that is what decisions read.
#[derive(Debug, Default)]
struct Last {
    totals: Vec<WindowTotals>,
    /// Who has something in it.
    touched: Vec<BackendId>,
}

/// The largest value of this window and of the last that had any.
#[derive(Clone, Debug, Default)]
struct Largest {
    present: u64,
    /// Of the parts before, the oldest first; a window that resets has none.
    past: VecDeque<u64>,
    last: u64,
}

impl Largest {
    #[inline]
    fn add(&mut self, value: u64) {
        self.present = self.present.max(value);
    }

    fn roll(&mut self, before: usize) {
        self.past.push_back(std::mem::take(&mut self.present));
        while self.past.len() > before {
            self.last = self.past.pop_front().filter(|&value| value > 0).unwrap_or(self.last);
        }
    }

    fn value(&self) -> u64 {
        self.past.iter().fold(self.present.max(self.last), |largest, &value| largest.max(value))
    }
}

impl WindowTotals {
    fn is_zero(&self) -> bool {
        self.round_trips == 0 && self.bytes == 0
    }

    /// Takes out what happened in a part. Saturating: a sum that met the end of its range is no longer exact.
    fn forget(&mut self, part: &WindowTotals) {
        self.bytes = self.bytes.saturating_sub(part.bytes);
        self.penalty_bytes = self.penalty_bytes.saturating_sub(part.penalty_bytes);
        self.round_trips = self.round_trips.saturating_sub(part.round_trips);
        self.round_trip_sum = Span(self.round_trip_sum.0.saturating_sub(part.round_trip_sum.0));
        self.failures = self.failures.saturating_sub(part.failures);
    }
}

impl Last {
    /// Puts the window that ended, whose totals it clears, in place of the one before; or, if whole windows went by
    /// since (`next` is false), the last of those, in which nothing happened. Returns those whose totals it changed.
    fn replace(&mut self, ended: &mut [WindowTotals], touched: &mut Vec<BackendId>, next: bool) -> Vec<BackendId> {
        let mut changed = std::mem::replace(&mut self.touched, std::mem::take(touched));
        for id in &changed {
            self.totals[id.0 as usize] = WindowTotals::default();
        }
        if next {
            changed.retain(|id| ended[id.0 as usize].is_zero()); // the others follow
            for &id in &self.touched {
                self.totals[id.0 as usize] = std::mem::take(&mut ended[id.0 as usize]);
            }
            changed.extend_from_slice(&self.touched);
        } else {
            for id in self.touched.drain(..) {
                ended[id.0 as usize] = WindowTotals::default();
            }
        }
        changed
    }
}

impl Window {
    pub(crate) fn new(averaging: Averaging) -> Window {
        let Averaging { length, reads } = averaging;
        let slides = reads == Reads::Sliding;
        assert!(length > Span::ZERO, "a window has a length");
        let parts = if slides { PARTS.min(length.0) } else { 1 };
        let step = Span(length.0 / parts);
        Window {
            length,
            step,
            end: Time::ZERO + step,
            totals: Vec::new(),
            sliding: slides.then(|| Sliding { before: parts as usize - 1, present: Vec::new(), past: VecDeque::new() }),
            last: (reads == Reads::Last).then(Last::default),
            touched: Vec::new(),
            longest: Largest::default(),
            most_bytes: Largest::default(),
        }
    }

    /// When it next forgets something.
    #[inline]
    pub(crate) fn end(&self) -> Time {
        self.end
    }

    /// What `id` did, in the window that decisions read.
    #[inline]
    pub(crate) fn totals(&self, id: BackendId) -> WindowTotals {
        self.last.as_ref().map_or(&self.totals, |last| &last.totals)[id.0 as usize]
    }

    /// Makes room for a backend, whose number is the next.
    pub(crate) fn join(&mut self, id: BackendId) {
        let members = id.0 as usize + 1;
        self.totals.resize(members, WindowTotals::default());
        if let Some(sliding) = &mut self.sliding {
            sliding.present.resize(members, WindowTotals::default());
        }
        if let Some(last) = &mut self.last {
            last.totals.resize(members, WindowTotals::default());
        }
    }

    #[inline]
    pub(crate) fn round_trip(&mut self, id: BackendId, round_trip: Span) {
        self.add(id, |totals| {
            totals.round_trips += 1;
            totals.round_trip_sum += round_trip;
        });
        self.longest.add(round_trip.0);
    }

    #[inline]
    pub(crate) fn transmitted(&mut self, id: BackendId, bytes: u64) {
        if bytes == 0 {
            return;
        }
        self.add(id, |totals| totals.bytes = totals.bytes.saturating_add(bytes));
        let totals = &self.totals[id.0 as usize];
        self.most_bytes.add(totals.bytes.saturating_sub(totals.penalty_bytes)); // penalties would breed penalties
    }

    pub(crate) fn failed(&mut self, id: BackendId, after: Span) {
        let round_trip = after.max(self.length).max(Span(self.longest.value())) * 2;
        let penalty = self.most_bytes.value().max(1).min(u64::MAX - self.totals[id.0 as usize].bytes);
        self.add(id, |totals| {
            totals.failures += 1;
            totals.round_trips += 1;
            totals.round_trip_sum += round_trip;
            totals.bytes += penalty;
            totals.penalty_bytes += penalty;
        });
    }

    /// Forgets what is too old at `now` and returns those whose totals, as decisions read them, it changed.
    pub(crate) fn roll(&mut self, now: Time) -> Vec<BackendId> {
        let steps = 1 + now.saturating_since(self.end).0 / self.step.0;
        self.end = Time(now.0 - now.0 % self.step.0) + self.step;
        let Some(sliding) = &mut self.sliding else {
            self.longest.roll(0);
            self.most_bytes.roll(0);
            if let Some(last) = &mut self.last {
                return last.replace(&mut self.totals, &mut self.touched, steps == 1);
            }
            for id in &self.touched {
                self.totals[id.0 as usize] = WindowTotals::default();
            }
            return std::mem::take(&mut self.touched);
        };
        let mut changed = Vec::new();
        // After as many steps as there are parts nothing is left, however long it has been.
        for _ in 0..steps.min(sliding.before as u64 + 1) {
            self.longest.roll(sliding.before);
            self.most_bytes.roll(sliding.before);
            let mut part = Vec::new();
            part.extend(self.touched.drain(..).map(|id| (id, std::mem::take(&mut sliding.present[id.0 as usize]))));
            sliding.past.push_back(part);
            if sliding.past.len() > sliding.before {
                let gone = sliding.past.pop_front().expect("one was just added");
                for (id, part) in gone {
                    self.totals[id.0 as usize].forget(&part);
                    changed.push(id);
                }
            }
        }
        changed
    }

    /// Gives back the list that [`Window::roll`] returned, for its memory.
    pub(crate) fn recycle(&mut self, mut list: Vec<BackendId>) {
        list.clear();
        if self.touched.capacity() < list.capacity() {
            self.touched = list;
        }
    }

    /// Bytes allocated.
    pub(crate) fn memory(&self) -> usize {
        let sliding = self.sliding.as_ref().map_or(0, |sliding| {
            let past = sliding.past.iter().map(Vec::capacity).sum::<usize>();
            size_of::<WindowTotals>() * sliding.present.capacity() + size_of::<(BackendId, WindowTotals)>() * past
        });
        let last = self.last.as_ref().map_or(0, |last| {
            size_of::<WindowTotals>() * last.totals.capacity() + size_of::<BackendId>() * last.touched.capacity()
        });
        let touched = size_of::<BackendId>() * self.touched.capacity();
        size_of::<WindowTotals>() * self.totals.capacity() + touched + sliding + last
    }

    #[inline]
    fn add(&mut self, id: BackendId, what: impl Fn(&mut WindowTotals)) {
        let at = id.0 as usize;
        let part = match &mut self.sliding {
            Some(sliding) => &mut sliding.present[at],
            None => &mut self.totals[at],
        };
        if part.is_zero() {
            self.touched.push(id);
        }
        what(part);
        if self.sliding.is_some() {
            what(&mut self.totals[at]);
        }
    }
}
