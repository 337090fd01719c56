//! The demands of the requests at a server, if it shared itself in a given way.
//!
//! With c cores of which up to h requests are served at once, the others first come, first served, request i begins
//! to be served when it comes, or when the h-th largest of the ends of those that came before it is past. While n
//! are served, each is at min(1, c / n) of a core. The integral of that from its beginning to its end is its demand:
//! with h = c the time between (FCFS), with h without a limit the attained service of processor sharing. A negative
//! demand contradicts the sharing: the request ended before it could have begun.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::visits::Visit;

/// How a server shares itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Sharing {
    pub(super) cores: u32,
    /// Served at once; [`u32::MAX`] for all that come.
    pub(super) helpers: u32,
}

impl Sharing {
    /// Those served at once, where that is not all.
    pub(super) fn limit(self) -> Option<u32> {
        (self.helpers < u32::MAX).then_some(self.helpers)
    }

    /// First come, first served, or shared by all.
    pub(super) fn is_plain(self) -> bool {
        self.helpers == self.cores || self.helpers == u32::MAX
    }
}

/// A demand (s), and the share of a core that its request had when it ended.
pub(super) type Served = (f64, f64);

/// The demands (s) of `visits`, which are in the order of their begins.
pub(super) fn demands(visits: &[Visit], sharing: Sharing) -> Vec<f64> {
    let ends = by_end(visits);
    served(visits, &ends, sharing).into_iter().map(|(demand_s, _)| demand_s).collect()
}

/// The places of `visits` in the order of their ends.
pub(super) fn by_end(visits: &[Visit]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..visits.len() as u32).collect();
    order.sort_by(|one, other| visits[*one as usize].end_s().total_cmp(&visits[*other as usize].end_s()));
    order
}

/// The demand of each visit; `ends` are their places by end.
pub(super) fn served(visits: &[Visit], ends: &[u32], sharing: Sharing) -> Vec<Served> {
    let starts = starts(visits, sharing.helpers);
    let mut served = vec![(0.0, 1.0); visits.len()];
    // A request that ends before it begins is never served.
    let is_served = |at: usize| starts[at] <= visits[at].end_s();
    let cores = f64::from(sharing.cores);
    let share = |inside: u32| (cores / f64::from(inside.max(1))).min(1.0);
    let (mut now_s, mut attained_s, mut inside) = (0.0_f64, 0.0_f64, 0_u32);
    let mut next = 0;
    for &end in ends {
        let end = end as usize;
        let end_s = visits[end].end_s();
        // Starts are in the order of time, since neither a start nor the h-th largest end ever goes back.
        // What begins just when this one ends is not beside it.
        while next < visits.len() && (starts[next] < end_s || next <= end && is_served(end)) {
            if is_served(next) {
                attained_s += (starts[next] - now_s).max(0.0) * share(inside);
                now_s = now_s.max(starts[next]);
                inside += 1;
                served[next].0 = -attained_s;
            }
            next += 1;
        }
        if is_served(end) {
            attained_s += (end_s - now_s).max(0.0) * share(inside);
            now_s = now_s.max(end_s);
            served[end].0 += attained_s;
            served[end].1 = share(inside);
            inside = inside.saturating_sub(1);
        } else {
            served[end] = (end_s - starts[end], 1.0);
        }
    }
    served
}

/// When each begins to be served.
fn starts(visits: &[Visit], helpers: u32) -> Vec<f64> {
    if helpers == u32::MAX {
        return visits.iter().map(|visit| visit.begin_s).collect();
    }
    let mut largest: BinaryHeap<Reverse<Instant>> = BinaryHeap::new();
    let start = |visit: &Visit| {
        let is_full = largest.len() == helpers as usize;
        let free_s = if is_full { largest.peek().map_or(0.0, |Reverse(end)| end.0) } else { f64::NEG_INFINITY };
        largest.push(Reverse(Instant(visit.end_s())));
        if is_full {
            largest.pop();
        }
        visit.begin_s.max(free_s)
    };
    visits.iter().map(start).collect()
}

#[derive(Clone, Copy, PartialEq)]
struct Instant(f64);

impl Eq for Instant {}

impl PartialOrd for Instant {
    fn partial_cmp(&self, other: &Instant) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Instant {
    fn cmp(&self, other: &Instant) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

#[cfg(test)]
mod tests {
    use sojourn_model::Discipline;
    use sojourn_sim::single::{Arrival, Queue, play};
    use sojourn_stats::{Law, Span, Stream, Time};

    use super::*;

    /// Jobs that a station has served, told by their begins and ends alone, give their demands back.
    #[test]
    fn the_demands_of_a_station_come_back() {
        let rules = [
            (Discipline::Fcfs, 1, 1),
            (Discipline::Fcfs, 3, 3),
            (Discipline::Ps, 2, u32::MAX),
            (Discipline::LimitedPs { helpers: 5 }, 2, 5),
        ];
        for (discipline, cores, helpers) in rules {
            let mut stream = Stream::new(1, "inverse", "jobs");
            let (gap, work) = (Law::exponential(0.012 / f64::from(cores)), Law::hyperexponential(0.01, 2.0));
            let mut at_s = 0.0;
            let jobs: Vec<Arrival> = (0..5_000)
                .map(|_| {
                    at_s += gap.sample(&mut stream);
                    let demand = Span::from_secs_f64(work.sample(&mut stream));
                    Arrival { at: Time::ZERO + Span::from_secs_f64(at_s), demand, class: 0 }
                })
                .collect();
            let queue = Queue { discipline: discipline.clone(), cores, capacity: None };
            let mut visits = vec![None; jobs.len()];
            play(&queue, jobs.iter().copied(), |job| {
                let begin_s = job.arrival.at.0 as f64 / 1e9;
                let taken_s = (job.left - job.arrival.at).as_secs_f64();
                visits[job.number as usize] = Some(Visit { begin_s, taken_s, bytes: 0, object: 0 });
            });
            let visits: Vec<Visit> = visits.into_iter().flatten().collect();
            let found = demands(&visits, Sharing { cores, helpers });
            for (found_s, job) in found.iter().zip(&jobs) {
                let error_s = found_s - job.demand.as_secs_f64();
                assert!(error_s.abs() < 1e-6, "{discipline:?}: {found_s} s where {} was drawn", job.demand);
            }
        }
    }
}
