//! Outcomes over time: interval by interval what was asked, answered and failed, how long it took, and how many were inside.
//!
//! Each event belongs to the interval in which it happens, from the beginning of the run on, warm-up included: an attempt when
//! it is sent, a reply when its last byte is at the client, a failure when the client gives the request up. So a second says what
//! users had then, and no later end changes it. What ends after the last whole interval of the run is left out. Response times
//! of an interval are kept as the filled buckets of a histogram, and joined over the replications: percentiles are never
//! averaged. All of this is to cost a simulation next to nothing, so that a histogram is cleared and filled again rather than
//! made, and what is counted of each event stands apart from what is kept of each interval.
//!
//! From them: the worst interval, what was while a fault lasted, and how long the system took to recover from the last one
//! (`recovery`).

mod recovery;

use std::sync::Arc;

use sojourn_stats::histogram::Sparse;
use sojourn_stats::interval::exact_count;
use sojourn_stats::measure::{CONFIDENCE, NoInterval};
use sojourn_stats::parts::of_parts;
use sojourn_stats::{Estimate, Histogram, Measure, Span, Time};

pub use self::recovery::{FAILING, SPREADS, Seen, Usual};
use super::cursor::Cursor;
use crate::control::Column;
use crate::recovery::Recovery;
use crate::summary::{self, Events, Row};

/// So many calm intervals in a row end a recovery.
pub const CALM: usize = 5;

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
    cursor: Cursor,
    intervals: Vec<Interval>,
    /// Of the good replies of the intervals before that of the last one.
    responses: Vec<Responses>,
    /// Response times (ns) of the interval that the last reply was in.
    late: Histogram,
    late_at: usize,
    /// When each fault begins and ends; [`Time::NEVER`] of one that does not.
    troubles: Vec<(Time, Time)>,
    /// When requests cease to come.
    horizon: Time,
    /// Whether clients may ask for a request more than once.
    may_retry: bool,
}

/// What happened in an interval.
#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    arrived: u32,
    attempts: u32,
    good: u32,
    failed: [u32; 4],
}

/// How long the good replies of an interval took.
#[derive(Clone, Debug, Default)]
struct Responses {
    all: Sparse,
    p99_ns: Option<u64>,
}

/// The percentile that is told of each interval.
const P99: f64 = 0.99;

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
        let (intervals, responses, late) = (Vec::new(), Vec::new(), Histogram::new());
        let cursor = Cursor::new(every);
        OutcomesOverTime { every, cursor, intervals, responses, late, late_at: 0, troubles, horizon, may_retry: true }
    }

    /// Each request is asked for once only.
    pub fn never_retries(&mut self) {
        self.may_retry = false;
    }

    /// The interval of an instant, which there is then.
    #[inline]
    fn at(&mut self, now: Time) -> usize {
        let at = self.cursor.of(now);
        if self.intervals.len() <= at {
            self.intervals.resize(at + 1, Interval::default());
        }
        at
    }

    /// A request comes, and is asked for the first time.
    #[inline]
    pub fn arrived(&mut self, now: Time) {
        let at = self.at(now);
        let interval = &mut self.intervals[at];
        interval.arrived += 1;
        interval.attempts += 1;
    }

    /// A request is asked for once more.
    #[inline]
    pub fn again(&mut self, now: Time) {
        let at = self.at(now);
        self.intervals[at].attempts += 1;
    }

    /// A good reply has come after so long.
    #[inline]
    pub fn answered(&mut self, now: Time, response: Span) {
        let at = self.at(now);
        self.intervals[at].good += 1;
        if at != self.late_at {
            self.keep_late();
            self.late_at = at;
        }
        self.late.record(response.0);
    }

    /// Keeps the response times of the interval that the last reply was in, and begins another.
    #[cold]
    fn keep_late(&mut self) {
        let late = &mut self.late;
        if late.count() > 0 {
            self.responses.resize(self.responses.len().max(self.late_at + 1), Responses::default());
            self.responses[self.late_at] = Responses { p99_ns: late.quantile(P99), all: late.sparse() };
            late.clear();
        }
    }

    /// A request has failed.
    pub fn failed(&mut self, now: Time, why: Failure) {
        let at = self.at(now);
        self.intervals[at].failed[why as usize] += 1;
    }

    /// What there is to say of one run that measures from `since` on: outcomes interval by interval, the metrics that come of
    /// them, and its recovery, where there are faults that end. Events may have been told in any order of kinds, but replies in
    /// the order of their ends.
    pub fn told(&self, since: Time) -> (Vec<Column>, Vec<Measure>, Vec<Recovery>) {
        let Some(one) = Replications::new(vec![self], since) else { return Default::default() };
        (one.columns(1.0), summary::answers(&one.rows(), CONFIDENCE, 1.0), one.recoveries())
    }

    fn get(&self, at: usize) -> Interval {
        self.intervals.get(at).copied().unwrap_or_default()
    }

    /// Adds the response times of an interval to others.
    fn add_responses(&self, at: usize, others: &mut Histogram) {
        if at == self.late_at {
            others.merge(&self.late);
        } else if let Some(of) = self.responses.get(at) {
            others.merge_sparse(&of.all);
        }
    }

    /// The 99th percentile of an interval (s); of fewer than 100 replies the longest.
    fn p99(&self, at: usize) -> Option<f64> {
        let kept = || self.responses.get(at)?.p99_ns;
        let ns = if at == self.late_at { self.late.quantile(P99) } else { kept() };
        ns.map(|ns| ns as f64 * 1e-9)
    }

    /// How many faults touch an interval.
    fn faults_in(&self, at: usize) -> usize {
        let (from, to) = (Time(at as u64 * self.every.0), Time((at as u64 + 1) * self.every.0));
        // What is over at once is in the interval of its instant.
        let touches =
            |(begins, ends): &&(Time, Time)| *begins < to && (*ends > from || (begins == ends && *ends == from));
        self.troubles.iter().filter(touches).count()
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

    /// Interval by interval, with what the replications agree on, where `alike` requests tell as much as one.
    pub(crate) fn columns(&self, alike: f64) -> Vec<Column> {
        let mut columns = vec![
            self.coming("arrivals", &|of| of.arrived),
            self.coming("attempts", &|of| of.attempts),
            self.ending("goodput", &|of| of.good, alike),
            self.ending("failed", &Interval::failed, alike),
        ];
        for (failure, name) in FAILURES {
            let of = |interval: &Interval| interval.failed[failure as usize];
            if self.all.iter().any(|one| one.intervals.iter().any(|interval| of(interval) > 0)) {
                columns.push(self.ending(name, &of, alike));
            }
        }
        let in_flight = |intervals: &[Interval]| {
            let inside = |count: &mut i64, of: &Interval| {
                *count += i64::from(of.arrived) - i64::from(of.ended());
                Some(*count as f64)
            };
            intervals.iter().scan(0, inside).collect::<Vec<f64>>()
        };
        let mut inside = self.column("in_flight", "1", &in_flight);
        for of in inside.values.iter_mut().filter(|of| is_of_none(of)) {
            // How many there are where some are is not known of none.
            *of = of.clone().withheld(NoInterval::TooFew);
        }
        columns.push(inside);
        if !self.all[0].troubles.is_empty() {
            let last = |at: usize| Estimate::Exact { value: self.all[0].faults_in(at) as f64 };
            let values = (0..self.intervals).map(last).collect();
            columns.push(Column { metric: "faults".into(), unit: "1".into(), values });
        }
        columns.extend(self.response_times());
        columns
    }

    /// Percentiles of the response times of each interval, all replications together.
    fn response_times(&self) -> [Column; 2] {
        const TOLD: [(&str, f64); 2] = [("response_time_p50", 0.5), ("response_time_p99", P99)];
        let mut times = TOLD.map(|(metric, _)| Column { metric: metric.into(), unit: "s".into(), values: Vec::new() });
        let mut parts = vec![Histogram::new(); self.all.len()];
        let mut whole = Arc::new(Histogram::new());
        for at in 0..self.intervals {
            for (part, one) in parts.iter_mut().zip(&self.all) {
                part.clear();
                one.add_responses(at, part);
            }
            let parts: Vec<&Histogram> = parts.iter().collect();
            let all = Arc::get_mut(&mut whole).expect("the rows of the interval before are gone");
            all.clear();
            parts.iter().for_each(|part| all.merge(part));
            for (column, (metric, p)) in times.iter_mut().zip(TOLD) {
                let row = summary::quantile(metric, &whole, &parts, p);
                column.values.push(row.answer(CONFIDENCE, 1.0).estimate);
            }
        }
        times
    }

    /// A rate (1/s) of what comes; where none came, 3 may have in all replications together, and where few did, as many as
    /// Poisson's law allows.
    fn coming(&self, metric: &str, of: &dyn Fn(&Interval) -> u32) -> Column {
        let mut column = self.rate(metric, of);
        for (at, estimate) in column.values.iter_mut().enumerate().filter(|(_, of)| reaches_none(of)) {
            let came = self.all.iter().map(|one| u64::from(of(&one.get(at)))).sum();
            *estimate = self.of_few(estimate, exact_count(came, CONFIDENCE));
        }
        column
    }

    /// A rate (1/s) of requests that end so; where all replications saw the same, as none, or so few that Student's t allows
    /// none, it is no better known than their share of those that ended.
    fn ending(&self, metric: &str, of: &dyn Fn(&Interval) -> u32, alike: f64) -> Column {
        let mut column = self.rate(metric, of);
        let are_few = |of: &Estimate| of.is_sharp() || reaches_none(of);
        for (at, estimate) in column.values.iter_mut().enumerate().filter(|(_, of)| are_few(of)) {
            let counts = |one: &&OutcomesOverTime| {
                let interval = one.get(at);
                (u64::from(of(&interval)), u64::from(interval.ended()))
            };
            let events = Events::new(self.all.iter().map(counts).collect(), false);
            // Where nothing ended there is no share, and it is as with what comes.
            let ends = events.ends(CONFIDENCE, alike).unwrap_or_else(|| exact_count(0, CONFIDENCE));
            *estimate = self.of_few(estimate, ends);
        }
        column
    }

    /// A rate (1/s) whose interval holds these ends (events in all replications) too, and the lower one in place of what is below
    /// none: what was seen can happen.
    fn of_few(&self, rate: &Estimate, (low, high): (f64, f64)) -> Estimate {
        let (low, high) = (low / self.seconds(), high / self.seconds());
        match rate.clone().widened((low, high)) {
            Estimate::Sampled { value, ci_low, ci_high, samples } => {
                Estimate::Sampled { value, ci_low: if ci_low > 0.0 { ci_low } else { low }, ci_high, samples }
            }
            other => other,
        }
    }

    fn rate(&self, metric: &str, of: &dyn Fn(&Interval) -> u32) -> Column {
        let every_s = self.all[0].every.as_secs_f64();
        self.column(metric, "1/s", &|all| all.iter().map(|one| f64::from(of(one)) / every_s).collect())
    }

    /// How long an interval is in all replications together (s).
    fn seconds(&self) -> f64 {
        self.all.len() as f64 * self.all[0].every.as_secs_f64()
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
        rows[1].worst_of = (ended > 0).then(|| ((failed, ended), measured().len()));
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
            let again = |one: &&OutcomesOverTime| {
                let arrived = sum(one, |of| of.arrived);
                ((sum(one, |of| of.attempts) - arrived) as u64, arrived as u64)
            };
            let may_be = self.all[0].may_retry;
            rows.last_mut().expect("it was added").again = may_be.then(|| self.all.iter().map(again).collect());
            rows.push(self.row("during(fault).throughput", "1/s", &|one| Some(sum(one, |of| of.good) / lasts)));
            let good = |one: &&OutcomesOverTime| (sum(one, |of| of.good) as u64, sum(one, Interval::ended) as u64);
            let good = Events::new(self.all.iter().map(good).collect(), false);
            rows.last_mut().expect("it was added").rate = Some((good, lasts * self.all.len() as f64));
            let responses = |one: &&OutcomesOverTime| {
                let mut all = Histogram::new();
                troubled.iter().for_each(|at| one.add_responses(*at, &mut all));
                all
            };
            let parts: Vec<Histogram> = self.all.iter().map(responses).collect();
            let parts: Vec<&Histogram> = parts.iter().collect();
            let whole = Arc::new(crate::study::merged(&parts));
            rows.push(summary::quantile("during(fault).response_time_p99", &whole, &parts, P99));
        }
        let recoveries = self.recoveries();
        let after = |recovery: &Recovery| match recovery {
            Recovery::After(seconds) => Some(*seconds),
            _ => None,
        };
        let parts: Vec<Option<f64>> = recoveries.iter().map(after).collect();
        // One that did not recover within the run has no time, and then the whole has none. Of what cannot be said there is no
        // row.
        let is_late = recoveries.iter().any(|of| matches!(of, Recovery::Never | Recovery::NotYet));
        let has_all = !parts.is_empty() && parts.iter().all(Option::is_some);
        if is_late || has_all {
            rows.push(of_replications("recovery_time", "s", parts, true));
        }
        rows
    }

    /// How each of them recovered from the last fault; none where there is no fault, or one that never ends.
    pub(crate) fn recoveries(&self) -> Vec<Recovery> {
        self.all.iter().filter_map(|one| one.recovery(self.warm_up, self.intervals)).collect()
    }

    fn row(&self, metric: &str, unit: &'static str, of: &dyn Fn(&OutcomesOverTime) -> Option<f64>) -> Row {
        of_replications(metric, unit, self.all.iter().map(|one| of(one)).collect(), false)
    }
}

/// Whether the interval allows none or less, as of what was seen in few replications.
fn reaches_none(estimate: &Estimate) -> bool {
    estimate.interval().is_some_and(|(low, _)| low <= 0.0)
}

/// Whether it is 0 in every replication.
fn is_of_none(estimate: &Estimate) -> bool {
    estimate.value() == Some(0.0) && estimate.is_sharp()
}

/// The mean of what the replications have; where `needs_all`, none unless all have it.
fn of_replications(metric: &str, unit: &'static str, parts: Vec<Option<f64>>, needs_all: bool) -> Row {
    let known: Vec<f64> = parts.iter().flatten().copied().collect();
    let has = if needs_all { known.len() == parts.len() } else { !known.is_empty() };
    let whole = has.then(|| known.iter().sum::<f64>() / known.len() as f64);
    Row { metric: metric.into(), unit, whole, samples: known.len() as u64, parts, ..Row::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of so many seconds in which ten requests come in each and one fails in the last; in the first none comes.
    fn run(seconds: u64) -> OutcomesOverTime {
        let second = Span(1_000_000_000);
        let at = |second_of: u64, part: u64| Time(second_of * second.0 + part * second.0 / 20);
        let faults = vec![(at(seconds - 1, 0), at(seconds, 0))];
        let mut outcomes = OutcomesOverTime::new(second, faults, at(seconds, 0));
        for of in 1..seconds {
            for part in 0..10 {
                outcomes.arrived(at(of, part));
                match of + 1 == seconds {
                    true => outcomes.failed(at(of, part), Failure::Refused),
                    false => outcomes.answered(at(of, part), Span(1_000_000)),
                }
            }
        }
        outcomes
    }

    /// That no replication saw a failure in a second is no proof that none can come there: 3 in all that ended, or where they
    /// come together, in 1 - 0.05^(1/10) of ten replications all of them. So it is with good replies while a fault lasts.
    #[test]
    fn none_in_a_second_has_an_upper_end() {
        let runs: Vec<OutcomesOverTime> = (0..10).map(|_| run(8)).collect();
        let all = Replications::new(runs.iter().collect(), Time::ZERO).unwrap();
        let interval = |alike: f64, metric: &str, at: usize| {
            let columns = all.columns(alike);
            let column = columns.iter().find(|column| column.metric == metric).unwrap();
            column.values[at].interval()
        };
        let near = |found: Option<(f64, f64)>, low: f64, high: f64| {
            let (found_low, found_high) = found.expect("there is an interval");
            assert!((found_low - low).abs() < 1e-3 && (found_high - high).abs() < 1e-3, "{found_low} to {found_high}");
        };
        // None of 100 in ten replications of a second: 100 (1 - 0.05^(1/100)) / 10.
        near(interval(1.0, "failed", 3), 0.0, 0.2951);
        near(interval(1.0, "refused", 3), 0.0, 0.2951);
        near(interval(1e6, "failed", 3), 0.0, 2.5887);
        near(interval(1.0, "goodput", 7), 0.0, 0.2951);
        near(interval(1.0, "failed", 7), 9.7049, 10.0);
        // Nothing ends where nothing comes, and 3 may have come in ten seconds.
        near(interval(1.0, "arrivals", 0), 0.0, 0.2996);
        near(interval(1.0, "goodput", 0), 0.0, 0.2996);
        assert_eq!(interval(1.0, "in_flight", 0), None, "how many there might be is not known");
        let rows = summary::answers(&all.rows(), CONFIDENCE, 1.0);
        let during = rows.iter().find(|of| of.metric == "during(fault).throughput").unwrap();
        near(during.estimate.interval(), 0.0, 0.2951);
        // Ten requests each of ten replications in the last second, none of which was asked for again.
        let attempts = |runs: &[OutcomesOverTime]| {
            let all = Replications::new(runs.iter().collect(), Time::ZERO).unwrap();
            let rows = summary::answers(&all.rows(), CONFIDENCE, 1.0);
            rows.iter().find(|of| of.metric == "during(fault).attempts_ratio").unwrap().estimate.interval()
        };
        near(attempts(&runs), 1.0, 1.0295);
        let once: Vec<OutcomesOverTime> = runs
            .iter()
            .cloned()
            .map(|mut run| {
                run.never_retries();
                run
            })
            .collect();
        assert_eq!(attempts(&once), Some((1.0, 1.0)), "it cannot be");
        // One of them was: Student's t over ten replications has 0.9874 to 1.0326, and no request is asked for less than once.
        let mut again = runs.clone();
        again[0].again(Time(7_000_000_000));
        near(attempts(&again), 1.000_253, 1.054_5);
        assert!(attempts(&again).is_some_and(|(low, _)| low > 1.0), "what was seen can happen");
        // One of two replications has a second in which nine in ten fail: no share is below 0, or above 1.
        let second = |good: u32| Interval { arrived: 10, attempts: 10, good, failed: [10 - good, 0, 0, 0] };
        let mut two = [run(8), run(8)];
        (two[0].intervals[7], two[1].intervals[7]) = (second(1), second(10));
        let worst = |runs: &[OutcomesOverTime]| {
            let all = Replications::new(runs.iter().collect(), Time::ZERO).unwrap();
            let rows = summary::answers(&all.rows(), CONFIDENCE, 1.0);
            rows.iter().find(|of| of.metric == "worst_second_error_ratio").unwrap().estimate.interval().unwrap()
        };
        let (low, high) = worst(&two);
        assert!(low > 0.0 && high == 1.0, "{low} to {high}");
        // One failure in one of ten replications is no surer: 101 times what Clopper and Pearson have for 1 of 101, over ten
        // seconds, where Student's t has -0.13 to 0.33. A request more that comes is one of a Poisson process.
        let mut one_failed = runs.clone();
        one_failed[0].failed(Time(3_500_000_000), Failure::Refused);
        one_failed[1].arrived(Time(100_000_000));
        let columns = Replications::new(one_failed.iter().collect(), Time::ZERO).unwrap().columns(1.0);
        let of = |metric: &str, at: usize| {
            columns.iter().find(|column| column.metric == metric).and_then(|column| column.values[at].interval())
        };
        near(of("failed", 3), 0.002_53, 0.544_72);
        near(of("refused", 3), 0.002_53, 0.544_72);
        near(of("arrivals", 0), 0.002_53, 0.557_16);
        assert!(of("failed", 3).unwrap().0 > 0.0, "what was seen can happen");
        // Nor is it next to never, where forty would come together: one is seen no more often than they are expected.
        let clumps = Replications::new(one_failed.iter().collect(), Time::ZERO).unwrap().columns(40.0);
        let failed = clumps.iter().find(|column| column.metric == "failed").unwrap().values[3].interval().unwrap();
        assert!((failed.0 - 0.002_53).abs() < 1e-4 && failed.1 > 0.544_72, "{failed:?}");
        // One run has no interval at all.
        let (columns, ..) = run(8).told(Time::ZERO);
        let failed = columns.iter().find(|column| column.metric == "failed").unwrap();
        assert_eq!((failed.values[3].value(), failed.values[3].interval()), (Some(0.0), None));
    }
}
