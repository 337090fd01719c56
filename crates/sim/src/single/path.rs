//! One long path of drawn jobs, on as many cores as there are.
//!
//! Segments of a path draw from streams of their own ([`super::jobs`]), and a queue in order of arrival forgets what came before
//! a segment: the walk from the true state and the walk from an empty queue meet, to the nanosecond, and are the same from then
//! on. So each segment is walked from an empty queue, all at once, and counts what comes after its head. The heads are played
//! one after the other, each from where the segment before it has ended. Where the queue after the head is the one of the walk
//! from an empty queue, the rest of that walk is the path; where it is not, the rest is played in order too. The counts are
//! therefore the same on one core as on many.

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use sojourn_stats::Time;

use super::jobs::{SEGMENT, Source, is_cut};
use super::play::{InOrder, Player};
use super::sections::Section;
use super::{Arrival, Counts, Drawn, Queue, play_in_order, play_some};
use crate::control::SimError;

/// Jobs of a segment that are played in order: enough for a queue that is busy to 0.98 to forget what was before them.
const HEAD: u64 = SEGMENT / 32;
/// Parts of a segment that counts are kept apart for, at most.
const PARTS: u64 = 32;
/// Segments walked at once, for each thread, and in all: what is kept of them is 1 to 2 MB each.
const FOR_EACH: usize = 4;
const AT_ONCE: usize = 64;

/// The jobs of a path, as far as they are drawn.
pub(super) struct Path<'a> {
    drawn: &'a Drawn<'a>,
    /// Before the first job; none where jobs do not leave in the order in which they come.
    empty: Option<InOrder>,
    /// To walk several segments at once; none where that is not asked for, or has not been worth it.
    pool: Option<ThreadPool>,
    /// The segment under way, and the number of the next.
    source: Source,
    next: u64,
    /// When the last job came.
    last: Time,
    block: Vec<Arrival>,
}

/// A segment, walked from an empty queue that it finds at time 0.
struct Walk {
    head: Vec<Arrival>,
    after_head: InOrder,
    /// The counts of the jobs after the head, and when the last of each has left.
    parts: Vec<(Section, Time)>,
    end: InOrder,
    /// When its last job came.
    last: Time,
}

impl<'a> Path<'a> {
    pub(super) fn new(queue: &'a Queue, drawn: &'a Drawn<'a>, threads: usize) -> Result<Path<'a>, SimError> {
        let empty = InOrder::new(queue).filter(|_| is_cut(drawn));
        let pool = match threads > 1 && empty.is_some() && drawn.jobs >= 3 * SEGMENT {
            true => Some(ThreadPoolBuilder::new().num_threads(threads).build()),
            false => None,
        };
        let pool = pool.transpose().map_err(|error| SimError::Threads(error.to_string()))?;
        let source = Source::new(drawn, 0, Time::ZERO)?;
        Ok(Path { drawn, empty, pool, source, next: 1, last: Time::ZERO, block: Vec::new() })
    }

    /// Plays some more jobs, of which the first has the number `come`; how many, and when the last of them came.
    pub(super) fn step(
        &mut self,
        come: u64,
        player: &mut Player,
        counts: &mut Counts<'_>,
    ) -> Result<(u64, Time), SimError> {
        if self.source.is_done() && is_cut(self.drawn) {
            let (segments, parts_end) = self.at_once(come, counts);
            if segments > 1
                && let Player::InOrder(queue) = player
            {
                let walks = self.walk(segments, &parts_end)?;
                return self.follow(walks, (come, queue, counts));
            }
            self.source = Source::new(self.drawn, self.next, self.last)?;
            self.next += 1;
        }
        self.source.next(&mut self.block);
        let (jobs, last) = play_some(come, self.block.iter().copied(), player, counts);
        self.last = self.last.max(last);
        Ok((jobs, last))
    }

    /// How many of the next segments can be walked at once, and after how many jobs from here on each part of the counts ends.
    fn at_once(&self, come: u64, counts: &Counts<'_>) -> (usize, Vec<u64>) {
        let Some(pool) = self.pool.as_ref().filter(|_| counts.are_of_all()) else { return (0, Vec::new()) };
        let whole = |jobs: u64| usize::try_from(jobs / SEGMENT).unwrap_or(usize::MAX);
        let most = (pool.current_num_threads() * FOR_EACH).min(AT_ONCE.max(pool.current_num_threads()));
        let most = most.min(whole(self.drawn.jobs.saturating_sub(come)));
        if come < counts.warm_up {
            return (most.min(whole(counts.warm_up - come)), Vec::new());
        }
        let (first, size) = (counts.sections.room(), counts.sections.size());
        if size < SEGMENT / PARTS || counts.sections.jobs() == 0 {
            return (0, Vec::new());
        }
        let end = most as u64 * SEGMENT;
        let mut ends: Vec<u64> = (0..).map(|part| first + part * size).take_while(|at| *at < end).collect();
        ends.push(end);
        (most, ends)
    }

    /// So many of the next segments at once, each from an empty queue.
    fn walk(&self, segments: usize, parts_end: &[u64]) -> Result<Vec<Walk>, SimError> {
        let (Some(pool), Some(empty)) = (&self.pool, &self.empty) else { return Ok(Vec::new()) };
        let (drawn, next) = (self.drawn, self.next);
        let one = |number: usize| {
            let from = number as u64 * SEGMENT;
            let parts_end = parts_end.iter().map(|end| end.saturating_sub(from));
            Walk::new(empty.clone(), Source::new(drawn, next + number as u64, Time::ZERO)?, parts_end)
        };
        pool.install(|| (0..segments).into_par_iter().map(one).collect())
    }

    /// Joins these walks, of which the first job has the number `come`, to the path so far.
    fn follow(
        &mut self,
        walks: Vec<Walk>,
        (mut come, queue, counts): (u64, &mut InOrder, &mut Counts<'_>),
    ) -> Result<(u64, Time), SimError> {
        let (before, segments) = (come, walks.len());
        let mut apart = 0;
        for walk in walks {
            let by = self.last - Time::ZERO;
            let later = |at: Time| Time(at.0.saturating_add(by.0));
            let head = walk.head.iter().map(|job| Arrival { at: later(job.at), ..*job });
            let (jobs, last) = play_in_order(come, head, queue, counts);
            come += jobs;
            if queue.is_as(&walk.after_head.later(by), last) {
                *queue = walk.end.later(by);
                walk.parts.iter().for_each(|(part, until)| counts.sections.join(part, later(*until)));
                (come, self.last) = (come + SEGMENT - HEAD, later(walk.last));
            } else {
                apart += 1;
                (come, self.last) = self.play_on((come, queue, counts))?;
            }
            self.next += 1;
        }
        if apart > segments / 4 {
            // It forgets too slowly.
            self.pool = None;
        }
        Ok((come - before, self.last))
    }

    /// What comes after the head of the next segment, in order.
    fn play_on(
        &mut self,
        (mut come, queue, counts): (u64, &mut InOrder, &mut Counts<'_>),
    ) -> Result<(u64, Time), SimError> {
        let mut source = Source::new(self.drawn, self.next, self.last)?;
        let (mut drawn, mut last) = (0, self.last);
        while !source.is_done() {
            source.next(&mut self.block);
            drawn += self.block.len() as u64;
            if drawn > HEAD {
                let (jobs, at) = play_in_order(come, self.block.iter().copied(), queue, counts);
                (come, last) = (come + jobs, at);
            }
        }
        Ok((come, last))
    }
}

impl Walk {
    /// From `queue`, which is empty. `parts_end`: after how many jobs each part of the counts ends; without parts nothing is
    /// counted.
    fn new(mut queue: InOrder, mut source: Source, parts_end: impl Iterator<Item = u64>) -> Result<Walk, SimError> {
        let (mut head, mut block) = (Vec::with_capacity(HEAD as usize), Vec::new());
        while (head.len() as u64) < HEAD {
            source.next(&mut block);
            queue.pass(&block);
            head.extend_from_slice(&block);
        }
        let after_head = queue.clone();
        let mut ends = parts_end.skip_while(|end| *end <= HEAD);
        let (mut parts, mut at, mut end) = (Vec::new(), HEAD, ends.next());
        let (mut part, mut until, mut last) = (Section::new(), Time::ZERO, Time::ZERO);
        while !source.is_done() {
            source.next(&mut block);
            last = block.last().map_or(last, |job| job.at);
            let mut jobs = &block[..];
            while let Some(part_end) = end.filter(|_| !jobs.is_empty()) {
                let some = jobs.len().min(usize::try_from(part_end - at).unwrap_or(usize::MAX));
                until = until.max(queue.count(&jobs[..some], &mut part));
                (at, jobs) = (at + some as u64, &jobs[some..]);
                if at == part_end {
                    parts.push((std::mem::replace(&mut part, Section::new()), until));
                    end = ends.next();
                }
            }
            queue.pass(jobs);
        }
        parts.push((part, until));
        Ok(Walk { head, after_head, parts, end: queue, last })
    }
}
