//! Outcomes over time: interval by interval what was asked, answered and failed, how long it took, and how many were inside.
//!
//! Each event belongs to the interval in which it happens, from the beginning of the run on, warm-up included: an attempt when
//! it is sent, a reply when its last byte is at the client, a failure when the client gives the request up. So a second says what
//! users had then, and no later end changes it. What ends after the last whole interval of the run is left out. Response times
//! of an interval are kept as the filled buckets of a histogram, and joined over the replications: percentiles are never
//! averaged.
//!
//! From them: the worst interval, what was while a fault lasted, and how long the system took to recover from the last one. It
//! has recovered at the first interval from which on [`CALM`] of them in a row are as those before the first fault: no fewer
//! good replies than [`SPREADS`] standard deviations below their mean, or one fewer than their least; no more failures than
//! their most; no p99 further above. A replication that has not recovered by the end of the run has no such time, and neither
//! has then the whole. One that ends calm, but sooner than after [`CALM`] intervals, has not shown whether it recovered. What was
//! before the first fault is told by what is past the warm-up, or where that leaves too little, as one that ends with the fault,
//! by the later half of it.

use std::sync::Arc;

use sojourn_stats::histogram::Sparse;
use sojourn_stats::interval::exact_ratio;
use sojourn_stats::measure::{CONFIDENCE, NoInterval};
use sojourn_stats::parts::of_parts;
use sojourn_stats::{Estimate, Histogram, Measure, Span, Time};

use crate::control::Column;
use crate::summary::{self, Events, Row};

/// So many calm intervals in a row end a recovery.
pub const CALM: usize = 5;

/// How far from the mean before the first fault an interval is calm (standard deviations): an interval is farther off by chance
/// once in a thousand times.
const SPREADS: f64 = 3.3;

/// Intervals before the first fault that it takes to say what is usual.
pub const USUAL: usize = 5;

/// Why a request has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The client has waited long enough.
    TimedOut,
    /// A server or a decider did not take it, lost it, or could not be reached.
    Refused,
    /// The reply was an error.
    Error,
    /// The user's patience was over.
    GivenUp,
}

/// Outcomes of one run, or of one replication, over time.
#[derive(Clone, Debug)]
pub struct OutcomesOverTime {
    every: Span,
    intervals: Vec<Interval>,
    /// Response times (ns) of the interval that the last reply was in.
    late: Histogram,
    late_at: usize,
    /// When each fault begins and ends; [`Time::NEVER`] of one that does not.
    troubles: Vec<(Time, Time)>,
    /// When requests cease to come.
    horizon: Time,
}

/// What happened in an interval.
#[derive(Clone, Debug, Default)]
struct Interval {
    arrived: u32,
    attempts: u32,
    good: u32,
    failed: [u32; 4],
    /// Of the good replies; of the interval that is being filled in [`OutcomesOverTime::late`].
    responses: Sparse,
}

const FAILURES: [(Failure, &str); 4] = [
    (Failure::TimedOut, "timed_out"),
    (Failure::Refused, "refused"),
    (Failure::Error, "errors"),
    (Failure::GivenUp, "given_up"),
];

impl Interval {
    fn failed(&self) -> u32 {
        self.failed.iter().sum()
    }

    fn ended(&self) -> u32 {
        self.good + self.failed()
    }
}

impl OutcomesOverTime {
    /// None yet, in intervals of `every`, of a run of which faults begin and end at these instants ([`Time::NEVER`] where one
    /// does not end), and in which requests come until `horizon`.
    pub fn new(every: Span, troubles: Vec<(Time, Time)>, horizon: Time) -> OutcomesOverTime {
        OutcomesOverTime { every, intervals: Vec::new(), late: Histogram::new(), late_at: 0, troubles, horizon }
    }

    #[inline]
    fn at(&mut self, now: Time) -> &mut Interval {
        let at = (now.0 / self.every.0) as usize;
        if self.intervals.len() <= at {
            self.intervals.resize(at + 1, Interval::default());
        }
        &mut self.intervals[at]
    }

    /// A request comes, and is asked for the first time.
    #[inline]
    pub fn arrived(&mut self, now: Time) {
        let interval = self.at(now);
        interval.arrived += 1;
        interval.attempts += 1;
    }

    /// A request is asked for once more.
    #[inline]
    pub fn again(&mut self, now: Time) {
        self.at(now).attempts += 1;
    }

    /// A good reply has come after so long.
    #[inline]
    pub fn answered(&mut self, now: Time, response: Span) {
        self.at(now).good += 1;
        let at = (now.0 / self.every.0) as usize;
        if at != self.late_at {
            if self.late.count() > 0 {
                self.intervals[self.late_at].responses = self.late.sparse();
                self.late.clear();
            }
            self.late_at = at;
        }
        self.late.record(response.0);
    }

    /// A request has failed.
    pub fn failed(&mut self, now: Time, why: Failure) {
        self.at(now).failed[why as usize] += 1;
    }

    /// What there is to say of one run that measures from `since` on: outcomes interval by interval, and the metrics that come of
    /// them. Events may have been told in any order of kinds, but replies in the order of their ends.
    pub fn told(&self, since: Time) -> (Vec<Column>, Vec<Measure>) {
        let Some(one) = Replications::new(vec![self], since) else { return Default::default() };
        (one.columns(), summary::answers(&one.rows(), CONFIDENCE, 1.0))
    }

    fn get(&self, at: usize) -> Interval {
        self.intervals.get(at).cloned().unwrap_or_default()
    }

    fn responses(&self, at: usize) -> Histogram {
        let mut all = Histogram::new();
        if at == self.late_at {
            all.merge(&self.late);
        } else if let Some(interval) = self.intervals.get(at) {
            all.merge_sparse(&interval.responses);
        }
        all
    }

    /// The 99th percentile of an interval (s); of fewer than 100 replies the longest.
    fn p99(&self, at: usize) -> Option<f64> {
        self.responses(at).quantile(0.99).map(|ns| ns as f64 * 1e-9)
    }

    /// How many faults touch an interval.
    fn faults_in(&self, at: usize) -> usize {
        let (from, to) = (Time(at as u64 * self.every.0), Time((at as u64 + 1) * self.every.0));
        // What is over at once is in the interval of its instant.
        let touches =
            |(begins, ends): &&(Time, Time)| *begins < to && (*ends > from || (begins == ends && *ends == from));
        self.troubles.iter().filter(touches).count()
    }

    /// How long (s) it took from the end of the last fault until all was as before the first one; `intervals` are those of the
    /// run, of which the first `warm_up` say nothing. None where there is no fault that ends, too little before it, or no
    /// recovery.
    fn recovery(&self, warm_up: usize, intervals: usize) -> Recovery {
        let (first, last) = (self.troubles.iter().map(|of| of.0).min(), self.troubles.iter().map(|of| of.1).max());
        let (Some(first), Some(last)) = (first, last.filter(|last| *last < Time::NEVER)) else {
            return Recovery::Unasked;
        };
        let first_at = (first.0 / self.every.0) as usize;
        let before = if warm_up + USUAL <= first_at { warm_up..first_at } else { first_at / 2..first_at };
        let from = last.0.div_ceil(self.every.0) as usize;
        if before.len() < USUAL || from + CALM > intervals {
            return Recovery::Unasked;
        }
        let usual = Usual::new(self, before);
        let is_calm = |at: usize| usual.has(&self.get(at), self.p99(at));
        let begins = (from..=intervals - CALM).find(|begin| (*begin..begin + CALM).all(is_calm));
        match begins {
            Some(begin) => Recovery::After((begin as u64 * self.every.0).saturating_sub(last.0) as f64 * 1e-9),
            // It may have begun to recover; how that goes on is not seen.
            None if is_calm(intervals - 1) => Recovery::Unasked,
            None => Recovery::Never,
        }
    }
}

/// How a replication has recovered.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Recovery {
    /// There is nothing to recover from, or too little was seen of it.
    Unasked,
    /// So long after the end of the last fault (s).
    After(f64),
    /// Not by the end of the run.
    Never,
}

/// How intervals are before the first fault.
struct Usual {
    good_least: f64,
    failed_most: u32,
    p99_most: Option<f64>,
}

impl Usual {
    fn new(of: &OutcomesOverTime, intervals: std::ops::Range<usize>) -> Usual {
        let spread = |values: &[f64]| {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
            (mean, (squares / (values.len() as f64 - 1.0).max(1.0)).sqrt())
        };
        let all: Vec<Interval> = intervals.clone().map(|at| of.get(at)).collect();
        let good: Vec<f64> = all.iter().map(|interval| f64::from(interval.good)).collect();
        let (mean, deviation) = spread(&good);
        let least = good.iter().copied().fold(f64::INFINITY, f64::min);
        let p99: Vec<f64> = intervals.filter_map(|at| of.p99(at)).collect();
        let p99_most = (!p99.is_empty()).then(|| {
            let (mean, deviation) = spread(&p99);
            // A bucket of the histogram is up to 1 % wide.
            p99.iter().copied().fold(mean + SPREADS * deviation, f64::max) * 1.01
        });
        Usual {
            good_least: (mean - SPREADS * deviation).min(least - 1.0),
            failed_most: all.iter().map(Interval::failed).max().unwrap_or(0),
            p99_most,
        }
    }

    fn has(&self, interval: &Interval, p99: Option<f64>) -> bool {
        let is_fast = match (p99, self.p99_most) {
            (Some(p99), Some(most)) => p99 <= most,
            (None, _) => true,
            (Some(_), None) => false,
        };
        f64::from(interval.good) >= self.good_least && interval.failed() <= self.failed_most && is_fast
    }
}

/// Some replications of a run.
pub(crate) struct Replications<'a> {
    all: Vec<&'a OutcomesOverTime>,
    intervals: usize,
    warm_up: usize,
}

impl<'a> Replications<'a> {
    /// Those of runs of which what came before `since` says nothing; none of none.
    pub(crate) fn new(all: Vec<&'a OutcomesOverTime>, since: Time) -> Option<Replications<'a>> {
        let OutcomesOverTime { every, horizon, .. } = **all.first()?;
        let whole = all.iter().map(|of| of.intervals.len()).max().unwrap_or(0);
        let intervals = whole.min((horizon.0 / every.0) as usize);
        (intervals > 0).then(|| Replications { intervals, warm_up: since.0.div_ceil(every.0) as usize, all })
    }

    /// Interval by interval, with what the replications agree on.
    pub(crate) fn columns(&self) -> Vec<Column> {
        let every = self.all[0].every;
        let per_second = |count: u32| f64::from(count) / every.as_secs_f64();
        let mut columns = vec![
            self.column("arrivals", "1/s", &|of| of.iter().map(|of| per_second(of.arrived)).collect()),
            self.column("attempts", "1/s", &|of| of.iter().map(|of| per_second(of.attempts)).collect()),
            self.column("goodput", "1/s", &|of| of.iter().map(|of| per_second(of.good)).collect()),
        ];
        columns.push(self.column("failed", "1/s", &|of| of.iter().map(|of| per_second(of.failed())).collect()));
        for (failure, name) in FAILURES {
            let of = |intervals: &[Interval]| {
                intervals.iter().map(|of| per_second(of.failed[failure as usize])).collect::<Vec<f64>>()
            };
            if self.all.iter().any(|one| one.intervals.iter().any(|of| of.failed[failure as usize] > 0)) {
                columns.push(self.column(name, "1/s", &of));
            }
        }
        let in_flight = |intervals: &[Interval]| {
            let inside = |count: &mut i64, of: &Interval| {
                *count += i64::from(of.arrived) - i64::from(of.ended());
                Some(*count as f64)
            };
            intervals.iter().scan(0, inside).collect::<Vec<f64>>()
        };
        columns.push(self.column("in_flight", "1", &in_flight));
        if !self.all[0].troubles.is_empty() {
            let last = |at: usize| Estimate::Exact { value: self.all[0].faults_in(at) as f64 };
            let values = (0..self.intervals).map(last).collect();
            columns.push(Column { metric: "faults".into(), unit: "1".into(), values });
        }
        const TOLD: [(&str, f64); 2] = [("response_time_p50", 0.5), ("response_time_p99", 0.99)];
        let mut times = TOLD.map(|(metric, _)| Column { metric: metric.into(), unit: "s".into(), values: Vec::new() });
        for at in 0..self.intervals {
            let parts: Vec<Histogram> = self.all.iter().map(|one| one.responses(at)).collect();
            let parts: Vec<&Histogram> = parts.iter().collect();
            let whole = Arc::new(crate::study::merged(&parts));
            for (column, (metric, p)) in times.iter_mut().zip(TOLD) {
                let row = summary::quantile(metric, &whole, &parts, p);
                column.values.push(row.answer(CONFIDENCE, 1.0).estimate);
            }
        }
        columns.extend(times);
        columns
    }

    fn column(&self, metric: &str, unit: &str, of: &dyn Fn(&[Interval]) -> Vec<f64>) -> Column {
        let padded = |one: &OutcomesOverTime| {
            let mut intervals = one.intervals.clone();
            intervals.resize(self.intervals, Interval::default());
            of(&intervals)
        };
        let parts: Vec<Vec<f64>> = self.all.iter().map(|one| padded(one)).collect();
        let value = |at: usize| {
            let values: Vec<f64> = parts.iter().map(|part| part[at]).collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let samples = values.len() as u64;
            match values.len() {
                1 => Estimate::without_interval(Some(mean), samples, NoInterval::TooFew),
                _ => of_parts(mean, &values, samples, CONFIDENCE),
            }
        };
        Column { metric: metric.into(), unit: unit.into(), values: (0..self.intervals).map(value).collect() }
    }

    /// The worst interval, what was while a fault lasted, and how long it took to recover.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let measured = || self.warm_up..self.intervals;
        let worst = |values: &mut dyn Iterator<Item = f64>| {
            values.fold(None, |worst: Option<f64>, value| Some(worst.map_or(value, |worst| worst.max(value))))
        };
        let whole_share = |of: &Interval| (of.failed(), of.ended());
        let counts = |one: &OutcomesOverTime, among: &mut dyn Iterator<Item = usize>| {
            among
                .map(|at| whole_share(&one.get(at)))
                .fold((0u64, 0u64), |sum, (failed, ended)| (sum.0 + u64::from(failed), sum.1 + u64::from(ended)))
        };
        let mut rows = vec![
            self.row("worst_second_p99", "s", &|one| worst(&mut measured().filter_map(|at| one.p99(at)))),
            self.row("worst_second_error_ratio", "1", &|one| {
                let share = |at: usize| {
                    let of = one.get(at);
                    (of.ended() > 0).then(|| f64::from(of.failed()) / f64::from(of.ended()))
                };
                worst(&mut measured().filter_map(share))
            }),
        ];
        let all = self.all.iter().map(|one| counts(one, &mut measured()));
        let (failed, ended) = all.fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
        rows[1].none_of = (failed == 0 && ended > 0).then(|| (ended, measured().len()));
        let troubled: Vec<usize> = (0..self.intervals).filter(|at| self.all[0].faults_in(*at) > 0).collect();
        if !troubled.is_empty() {
            let sum = |one: &OutcomesOverTime, of: fn(&Interval) -> u32| {
                troubled.iter().map(|at| u64::from(of(&one.get(*at)))).sum::<u64>() as f64
            };
            let share = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
            let lasts = troubled.len() as f64 * self.all[0].every.as_secs_f64();
            rows.push(self.row("during(fault).error_ratio", "1", &|one| {
                share(sum(one, Interval::failed), sum(one, Interval::ended))
            }));
            let of_faults = self.all.iter().map(|one| counts(one, &mut troubled.iter().copied())).collect();
            rows.last_mut().expect("it was added").events = Some(Events::new(of_faults, false));
            rows.push(self.row("during(fault).attempts_ratio", "1", &|one| {
                share(sum(one, |of| of.attempts), sum(one, |of| of.arrived))
            }));
            rows.last_mut().expect("it was added").ends = self.no_retry(&troubled);
            rows.push(self.row("during(fault).throughput", "1/s", &|one| Some(sum(one, |of| of.good) / lasts)));
            let responses = |one: &&OutcomesOverTime| {
                let parts: Vec<Histogram> = troubled.iter().map(|at| one.responses(*at)).collect();
                crate::study::merged(&parts.iter().collect::<Vec<_>>())
            };
            let parts: Vec<Histogram> = self.all.iter().map(responses).collect();
            let parts: Vec<&Histogram> = parts.iter().collect();
            let whole = Arc::new(crate::study::merged(&parts));
            rows.push(summary::quantile("during(fault).response_time_p99", &whole, &parts, 0.99));
        }
        let recoveries: Vec<Recovery> = self.all.iter().map(|one| one.recovery(self.warm_up, self.intervals)).collect();
        let is_told = recoveries.iter().all(|recovery| *recovery != Recovery::Unasked);
        if is_told || recoveries.contains(&Recovery::Never) {
            let after = |recovery: &Recovery| match recovery {
                Recovery::After(seconds) => Some(*seconds),
                Recovery::Never | Recovery::Unasked => None,
            };
            let parts: Vec<Option<f64>> = recoveries.iter().map(after).collect();
            rows.push(of_replications("recovery_time", "s", parts, true));
        }
        rows
    }

    /// Between which ends the number of attempts at a request is where these intervals saw none a second time.
    fn no_retry(&self, intervals: &[usize]) -> Option<(f64, f64)> {
        let sum = |of: fn(&Interval) -> u32| -> u64 {
            self.all.iter().flat_map(|one| intervals.iter().map(|at| u64::from(of(&one.get(*at))))).sum()
        };
        let (attempts, arrived) = (sum(|of| of.attempts), sum(|of| of.arrived));
        (arrived > 0 && attempts == arrived).then(|| (1.0, 1.0 + exact_ratio(0.0, arrived as f64, CONFIDENCE).1))
    }

    fn row(&self, metric: &str, unit: &'static str, of: &dyn Fn(&OutcomesOverTime) -> Option<f64>) -> Row {
        of_replications(metric, unit, self.all.iter().map(|one| of(one)).collect(), false)
    }
}

/// The mean of what the replications have; where `needs_all`, none unless all have it.
fn of_replications(metric: &str, unit: &'static str, parts: Vec<Option<f64>>, needs_all: bool) -> Row {
    let known: Vec<f64> = parts.iter().flatten().copied().collect();
    let has = if needs_all { known.len() == parts.len() } else { !known.is_empty() };
    let whole = has.then(|| known.iter().sum::<f64>() / known.len() as f64);
    Row { metric: metric.into(), unit, whole, samples: known.len() as u64, parts, ..Row::default() }
}
