//! The run second by second: response times and lateness of each second as histograms, in bounded memory.
//!
//! Two dense histograms hold the present second; when it is over what they hold goes into a list of filled buckets (a
//! few kB). After [`INTERVALS_MAX`] of them neighbours are joined and intervals are twice as long from then on, for a few
//! milliseconds once in an hour.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sojourn_stats::histogram::Sparse;
use sojourn_stats::{Histogram, Span, Time};

/// Intervals that are kept: an hour of seconds.
const INTERVALS_MAX: usize = 3600;
const SECOND: u64 = 1_000_000_000;

/// A stretch of the run, a second or as many as its length forced to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// When it began.
    pub start: Time,
    /// How long it was.
    #[serde(with = "sojourn_stats::nanoseconds")]
    pub length: Span,
    /// Response times (ns) of the good replies that came in it, warm-up included; of whole objects where users browse.
    pub response: Sparse,
    /// Lateness (ns) of the requests that were begun in it.
    pub lateness: Sparse,
}

/// One thread's intervals.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Intervals {
    /// Length of an interval (s).
    seconds: u64,
    /// By number, in order.
    done: Vec<(u64, [Sparse; 2])>,
    /// The present one.
    number: u64,
    until: Time,
    #[serde(skip)]
    now: [Histogram; 2],
}

impl Intervals {
    pub(crate) fn new() -> Intervals {
        Intervals { seconds: 1, done: Vec::new(), number: 0, until: Time(SECOND), now: Default::default() }
    }

    /// A reply was whole at `at`.
    #[inline]
    pub(crate) fn response(&mut self, at: Time, response: Span) {
        self.reach(at);
        self.now[0].record(response.0);
    }

    /// A request was begun at `at`.
    #[inline]
    pub(crate) fn lateness(&mut self, at: Time, lateness: Span) {
        self.reach(at);
        self.now[1].record(lateness.0);
    }

    /// Puts the present interval to the others.
    pub(crate) fn close(&mut self) {
        if self.now.iter().any(|times| times.count() > 0) {
            self.done.push((self.number, self.now.each_ref().map(Histogram::sparse)));
            self.now.iter_mut().for_each(Histogram::clear);
        }
    }

    /// Adds those of another thread; both are closed.
    pub(crate) fn absorb(&mut self, mut other: Intervals) {
        while self.seconds < other.seconds {
            self.join();
        }
        while other.seconds < self.seconds {
            other.join();
        }
        self.done.append(&mut other.done);
        self.done = united(std::mem::take(&mut self.done), 1);
        while self.done.len() > INTERVALS_MAX {
            self.join();
        }
    }

    /// All of them.
    pub(crate) fn all(&self) -> Vec<Interval> {
        let length = Span(self.seconds * SECOND);
        let interval = |(number, [response, lateness]): &(u64, [Sparse; 2])| Interval {
            start: Time(number * length.0),
            length,
            response: response.clone(),
            lateness: lateness.clone(),
        };
        self.done.iter().map(interval).collect()
    }

    #[inline]
    fn reach(&mut self, at: Time) {
        if at >= self.until {
            self.next(at);
        }
    }

    fn next(&mut self, at: Time) {
        self.close();
        if self.done.len() >= INTERVALS_MAX {
            self.join();
        }
        self.number = at.0 / (self.seconds * SECOND);
        self.until = Time((self.number + 1) * self.seconds * SECOND);
    }

    fn join(&mut self) {
        self.seconds *= 2;
        self.done = united(std::mem::take(&mut self.done), 2);
    }
}

/// Intervals of the same number, once their numbers are divided, as one.
fn united(intervals: Vec<(u64, [Sparse; 2])>, divided: u64) -> Vec<(u64, [Sparse; 2])> {
    let mut all: BTreeMap<u64, Vec<[Sparse; 2]>> = BTreeMap::new();
    for (number, times) in intervals {
        all.entry(number / divided).or_default().push(times);
    }
    let mut sum: [Histogram; 2] = Default::default();
    let unite = |(number, mut parts): (u64, Vec<[Sparse; 2]>)| {
        if parts.len() == 1 {
            return (number, parts.remove(0));
        }
        for part in &parts {
            for (sum, times) in sum.iter_mut().zip(part) {
                sum.merge_sparse(times);
            }
        }
        let united = sum.each_ref().map(Histogram::sparse);
        sum.iter_mut().for_each(Histogram::clear);
        (number, united)
    };
    all.into_iter().map(unite).collect()
}
