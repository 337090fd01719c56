//! What one replication has counted since measuring began.

use sojourn_stats::{Histogram, Span, Time};

use crate::engine::Measured;

/// Response times up to which an object is of high and of average quality (s): shown at its end, and shown as it loads
/// (Bjornstad 2006, Table 2.2).
const QUALITY: [[u64; 2]; 2] = [[5_000_000_000, 11_000_000_000], [39_000_000_000, 56_000_000_000]];

/// Counts and response times.
#[derive(Clone)]
pub(crate) struct Tally {
    /// When measuring began, and the core time that each server had spent by then.
    pub(crate) since: Time,
    pub(crate) busy_before: Vec<Span>,
    /// Response times (ns) of objects, page files and files asked for since.
    pub(crate) objects: Histogram,
    pub(crate) pages: Histogram,
    pub(crate) files: Histogram,
    /// The same in the order of their ends (s), where they are asked for.
    pub(crate) series: Option<[Vec<f64>; 3]>,
    pub(crate) counts: Counts,
}

/// Counts that add up over replications and over sections of time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    /// Objects and files that were completed, and bytes sent, since measuring began.
    pub(crate) objects: u64,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    /// Objects that ended, refused and abandoned ones too; denials; objects given up.
    pub(crate) ended: u64,
    pub(crate) denied: u64,
    pub(crate) abandoned: u64,
    /// Number and sum (ns) of the response times of objects, page files and files.
    pub(crate) responses: [(u64, u128); 3],
    /// Objects of high, average and low quality, shown at their end and as they load.
    pub(crate) quality: [[u64; 3]; 2],
    pub(crate) servers: Vec<ServerCounts>,
}

/// What one server did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ServerCounts {
    /// Objects whose page file it sent.
    pub(crate) objects: u64,
    pub(crate) bytes: u64,
    /// Number and sum (ns) of the response times of these objects.
    pub(crate) responses: (u64, u128),
}

/// What a response time is of.
#[derive(Clone, Copy)]
pub(crate) enum Of {
    Object,
    Page,
    File,
}

impl Tally {
    pub(crate) fn new(servers: usize, keep_series: bool) -> Tally {
        Tally {
            since: Time::ZERO,
            busy_before: vec![Span::ZERO; servers],
            objects: Histogram::new(),
            pages: Histogram::new(),
            files: Histogram::new(),
            series: keep_series.then(Default::default),
            counts: Counts { servers: vec![ServerCounts::default(); servers], ..Counts::default() },
        }
    }

    /// Bytes left a server.
    #[inline]
    pub(crate) fn sent(&mut self, server: u32, bytes: u64) {
        self.counts.bytes += bytes;
        self.counts.servers[server as usize].bytes += bytes;
    }

    /// A user has a file; a page's own, or one that it shows.
    #[inline]
    pub(crate) fn file(&mut self, asked: Time, now: Time, of_page: bool) {
        self.counts.files += 1;
        if asked >= self.since {
            self.response(Of::File, now - asked);
            if of_page {
                self.response(Of::Page, now - asked);
            }
        }
    }

    /// A user has an object, whose page file came from `server`.
    #[inline]
    pub(crate) fn object(&mut self, asked: Time, now: Time, server: u32) {
        self.counts.objects += 1;
        self.counts.ended += 1;
        let there = &mut self.counts.servers[server as usize];
        there.objects += 1;
        if asked < self.since {
            return;
        }
        let Span(ns) = now - asked;
        there.responses.0 += 1;
        there.responses.1 += u128::from(ns);
        for (shares, limits) in self.counts.quality.iter_mut().zip(QUALITY) {
            shares[usize::from(ns > limits[0]) + usize::from(ns > limits[1])] += 1;
        }
        self.response(Of::Object, now - asked);
    }

    /// A user was refused a file of an object, which ends.
    pub(crate) fn refused(&mut self) {
        self.counts.ended += 1;
        self.counts.denied += 1;
    }

    /// A user gave an object up.
    pub(crate) fn abandoned(&mut self) {
        self.counts.ended += 1;
        self.counts.abandoned += 1;
    }

    /// A user was denied after an object.
    pub(crate) fn denied(&mut self) {
        self.counts.denied += 1;
    }

    #[inline]
    fn response(&mut self, of: Of, time: Span) {
        let histogram = match of {
            Of::Object => &mut self.objects,
            Of::Page => &mut self.pages,
            Of::File => &mut self.files,
        };
        histogram.record(time.0);
        let sums = &mut self.counts.responses[of as usize];
        sums.0 += 1;
        sums.1 += u128::from(time.0);
        if let Some(series) = &mut self.series {
            series[of as usize].push(time.as_secs_f64());
        }
    }
}

impl Measured for Tally {
    fn restart(&mut self, now: Time, busy: Vec<Span>) {
        let (servers, keep_series) = (self.counts.servers.len(), self.series.is_some());
        *self = Tally { since: now, busy_before: busy, ..Tally::new(servers, keep_series) };
    }

    /// Nothing closes: what is under way at the horizon counts when it ends, and the counts of a window are read at its end.
    fn close(&mut self, _: Time, _: Vec<Span>) {}
}

impl Counts {
    /// Adds what `other` counted.
    pub(crate) fn add(&mut self, other: &Counts) {
        self.merge(other, u64::wrapping_add, u128::wrapping_add);
    }

    /// What was counted after `before` was.
    pub(crate) fn since(&self, before: &Counts) -> Counts {
        let mut after = self.clone();
        after.merge(before, u64::wrapping_sub, u128::wrapping_sub);
        after
    }

    fn merge(&mut self, other: &Counts, small: fn(u64, u64) -> u64, large: fn(u128, u128) -> u128) {
        let pair = |ours: &mut (u64, u128), theirs: &(u64, u128)| {
            *ours = (small(ours.0, theirs.0), large(ours.1, theirs.1));
        };
        self.objects = small(self.objects, other.objects);
        self.files = small(self.files, other.files);
        self.bytes = small(self.bytes, other.bytes);
        self.ended = small(self.ended, other.ended);
        self.denied = small(self.denied, other.denied);
        self.abandoned = small(self.abandoned, other.abandoned);
        self.responses.iter_mut().zip(&other.responses).for_each(|(ours, theirs)| pair(ours, theirs));
        let theirs = other.quality.iter().flatten();
        self.quality.iter_mut().flatten().zip(theirs).for_each(|(ours, theirs)| *ours = small(*ours, *theirs));
        self.servers.resize(other.servers.len().max(self.servers.len()), ServerCounts::default());
        for (ours, theirs) in self.servers.iter_mut().zip(&other.servers) {
            ours.objects = small(ours.objects, theirs.objects);
            ours.bytes = small(ours.bytes, theirs.bytes);
            pair(&mut ours.responses, &theirs.responses);
        }
    }
}
