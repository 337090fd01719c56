//! Where requests went over time: how many of each interval were sent to each server, and how many failed.

use sojourn_stats::{Span, Time};

use super::cursor::Cursor;
use super::timeline::{OutcomesOverTime, Replications};
use crate::control::OverTime;

/// Counts of one replication.
#[derive(Clone)]
pub(crate) struct Intervals {
    every: Span,
    cursor: Cursor,
    /// By server, then interval.
    sent: Vec<Vec<u32>>,
    failed: Vec<u32>,
    /// Outcomes by the instants at which they happened.
    pub(crate) outcomes: OutcomesOverTime,
}

impl Intervals {
    /// Those of a run up to `horizon`, in which faults begin and end at these instants.
    pub(crate) fn new(every: Span, servers: usize, faults: Vec<(Time, Time)>, horizon: Time) -> Intervals {
        let outcomes = OutcomesOverTime::new(every, faults, horizon);
        let (cursor, sent) = (Cursor::new(every), vec![Vec::new(); servers]);
        Intervals { every, cursor, sent, failed: Vec::new(), outcomes }
    }

    #[inline]
    pub(crate) fn sent(&mut self, planned: Time, server: usize) {
        count(&mut self.sent[server], self.cursor.of(planned));
    }

    pub(crate) fn failed(&mut self, planned: Time) {
        count(&mut self.failed, self.cursor.of(planned));
    }

    /// The mean of some replications, which measured from `since` on, where `alike` requests tell as much as one; none of none.
    pub(crate) fn mean<'a>(
        all: impl Iterator<Item = &'a Intervals> + Clone,
        since: Time,
        alike: f64,
    ) -> Option<OverTime> {
        let first = all.clone().next()?;
        let (every, servers) = (first.every, first.sent.len());
        let rows = |of: &'a Intervals| of.sent.iter().chain([&of.failed]);
        let intervals = all.clone().flat_map(rows).map(Vec::len).max().unwrap_or(0);
        let each = 1.0 / (every.as_secs_f64() * all.clone().count() as f64);
        let rates = |row: &dyn Fn(&'a Intervals) -> &'a Vec<u32>| {
            let mut rates = vec![0.0; intervals];
            all.clone().for_each(|of| rates.iter_mut().zip(row(of)).for_each(|(sum, count)| *sum += f64::from(*count)));
            rates.iter_mut().for_each(|sum| *sum *= each);
            rates
        };
        let servers = (0..servers).map(|server| rates(&|of| &of.sent[server])).collect();
        let outcomes = Replications::new(all.clone().map(|of| &of.outcomes).collect(), since);
        let (columns, recoveries) =
            outcomes.map_or_else(Default::default, |outcomes| (outcomes.columns(alike), outcomes.recoveries()));
        Some(OverTime { every, servers, failed: rates(&|of| &of.failed), columns, recoveries })
    }
}

#[inline]
fn count(counts: &mut Vec<u32>, at: usize) {
    if counts.len() <= at {
        counts.resize(at + 1, 0);
    }
    counts[at] += 1;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_of_planned_instants_and_the_mean_is_per_second() {
        let second = Span(1_000_000_000);
        let at = |s: f64| Time::ZERO + Span::from_secs_f64(s);
        let mut one = Intervals::new(Span(2 * second.0), 2, Vec::new(), Time::NEVER);
        [0.0, 1.9, 2.0, 5.0].into_iter().for_each(|s| one.sent(at(s), 0));
        one.sent(at(3.0), 1);
        let mut other = Intervals::new(Span(2 * second.0), 2, Vec::new(), Time::NEVER);
        other.sent(at(0.5), 0);
        other.failed(at(6.5));
        let mean = Intervals::mean([&one, &other].into_iter(), Time::ZERO, 1.0).unwrap();
        assert_eq!(mean.servers, [vec![0.75, 0.25, 0.25, 0.0], vec![0.0, 0.25, 0.0, 0.0]]);
        assert_eq!(mean.failed, [0.0, 0.0, 0.0, 0.25]);
        assert_eq!(Intervals::mean([].into_iter(), Time::ZERO, 1.0), None);
    }
}
