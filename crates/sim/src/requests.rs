//! Requests of open and closed workloads, as traffic of the engine: what happens to them, how they end, and what a
//! replication of them reports.
//!
//! The classes of events at equal time are those of the crate's documentation; within a class, what was entered first
//! happens first. A request's state is one small struct in a slab.

pub(crate) mod clients;
pub(crate) mod connections;
mod cursor;
pub(crate) mod jobs;
pub(crate) mod of_class;
pub(crate) mod over_time;
pub(crate) mod prediction;
pub(crate) mod tally;
pub(crate) mod timeline;

use std::sync::Arc;

use sojourn_stats::{Batches, Histogram, Span, Time};
use sojourn_traffic::Workload;

use self::connections::Connections;
use self::jobs::{Job, Jobs};
use self::of_class::OfClass;
use self::over_time::Intervals;
use self::prediction::Errors;
use self::tally::Tally;
use self::timeline::{Failure, Replications};
use crate::agenda::{self, Entry};
use crate::control::OverTime;
use crate::course::{Course, Milestone, Phases};
use crate::engine::{self, Clients, Engine, Fabric, Inside, Traffic};
use crate::study::{Replication, merged};
use crate::summary::{self, Counts, QUANTILES, Row};

/// Requests of open and closed workloads.
pub(crate) enum Requests {}

/// What clients and fabric share.
pub(crate) type Cx = engine::Cx<Requests>;

/// What happens to requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    /// The request reaches the balancer.
    AtBalancer,
    /// A client asks for the service's address again.
    Resolves,
    /// The request reaches its server.
    AtServer,
    /// A server that stood still takes it from its door.
    Accepted,
    /// A file from another server is there.
    Fetched,
    /// The reply's first byte reaches the balancer.
    FirstByte,
    /// The reply's last byte reaches the balancer.
    ReplyAtBalancer,
    /// The reply's bytes enter the links to the client.
    ReplyFlows,
    /// The reply's last byte reaches the client.
    ReplyAtClient,
    /// The client is redirected.
    Redirected,
    /// A client has the answer to its SYN.
    Connects,
    /// The client's part of a handshake of TLS has come to the other end, and the answer to the client.
    Greeted,
    Secured,
    /// A time-out of TCP has ended.
    SendsAgain,
    /// TCP gives a connection up.
    GivesUp,
    /// The client has waited as long as it does.
    TimesOut,
    /// The client asks again for what has failed.
    TriesAgain,
    /// The client may ask a second time, beside what it waits for.
    Hedges,
    /// The client gives up.
    PatienceEnds,
    /// The user has thought.
    UserAsks,
    /// A switch learns that a connection is closed.
    Closes,
    /// A part breaks, or is whole again.
    Fault,
    /// Deciders learn whether a server is down.
    HealthKnown,
}

/// A request's event in the agenda.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RequestEntry {
    at: Time,
    /// Class, then sequence.
    order: u64,
    event: agenda::Event<What>,
}

impl Traffic for Requests {
    type Entry = RequestEntry;
    type Jobs = Jobs;
    type Tally = Tally;
}

impl What {
    /// The event's class: see the crate's documentation.
    fn class(self) -> u8 {
        match self {
            What::PatienceEnds => 3,
            What::UserAsks => 4,
            _ => 2,
        }
    }
}

impl engine::What for What {
    #[inline]
    fn is_of_clients(self) -> bool {
        matches!(self, What::PatienceEnds | What::UserAsks)
    }

    #[inline]
    fn has_generation(self) -> bool {
        !matches!(self, What::UserAsks | What::Closes | What::Fault | What::HealthKnown)
    }
}

impl Entry for RequestEntry {
    type What = What;

    #[inline]
    fn new(at: Time, event: agenda::Event<What>, sequence: u64) -> RequestEntry {
        RequestEntry { at, order: u64::from(event.what.class()) << 56 | sequence, event }
    }

    #[inline]
    fn at(&self) -> Time {
        self.at
    }

    #[inline]
    fn event(self) -> agenda::Event<What> {
        self.event
    }
}

impl Inside for Jobs {
    #[inline]
    fn generation(&self, slot: u32) -> u32 {
        self.slab[slot as usize].generation
    }

    fn planned(&self) -> impl Iterator<Item = Time> {
        self.inside().map(|job| job.planned)
    }
}

impl Cx {
    /// The client has the whole reply.
    #[inline(always)]
    pub(crate) fn complete(&mut self, slot: u32) {
        let job = self.jobs.release(slot);
        let Job { planned, client, .. } = job;
        self.tally.completed(&job, self.now);
        self.ledger.completed();
        if let Some(milestone) = self.phases.settled(self.now - planned, self.ledger.ended(), self.now) {
            self.milestone = Some(milestone);
        }
        self.leave(planned, client);
    }

    /// A request has failed.
    pub(crate) fn deny(&mut self, slot: u32, why: Failure) {
        let Job { planned, client, .. } = self.jobs.release(slot);
        self.tally.denied(planned, self.now, why);
        self.ledger.lost();
        self.leave(planned, client);
    }

    /// A client gave up.
    pub(crate) fn abandon(&mut self, slot: u32) {
        let Job { planned, client, .. } = self.jobs.release(slot);
        self.tally.abandoned(planned, self.now);
        self.ledger.lost();
        self.leave(planned, client);
    }

    #[inline]
    fn leave(&mut self, planned: Time, client: u32) {
        self.ledger.leave(planned, self.now);
        if self.clients_listen {
            self.ended.push(client);
        }
    }
}

/// The replication of clients who send the requests of `workload` to a fabric, which `course` plays.
pub(crate) fn engine<C: Clients<F>, F: Fabric<Traffic = Requests>>(
    clients: C,
    fabric: F,
    course: &Course,
    workload: &Workload,
) -> Engine<C, F> {
    let mut tally = Tally::new(fabric.servers().len(), course.finite, course.keep_series);
    tally.predictions = course.predict.map(|_| Errors::new());
    let horizon = course.horizon.map_or(Time::NEVER, |horizon| Time::ZERO + horizon);
    let intervals = |every| Intervals::new(every, fabric.servers().len(), fabric.troubles(), horizon);
    tally.over_time = course.over_time.map(intervals);
    tally.of_class = OfClass::all(workload);
    tally.retried = fabric.may_retry().then_some(0);
    if let Some(intervals) = tally.over_time.as_mut().filter(|_| !fabric.may_retry()) {
        intervals.outcomes.never_retries();
    }
    tally.may_fail = (fabric.may_deny(), workload.patience().is_some());
    tally.connections = fabric.has_connections().then(Connections::default);
    Engine::new(clients, fabric, Jobs::new(course.most_inside), tally, course)
}

/// A replication that has been played, or is: what a plan's run and a study's report read of it.
pub(crate) trait Played: Replication {
    /// Takes the events before `end`.
    fn run_before(&mut self, end: Time);
    /// Begins measuring at `now`, unless that has happened.
    fn start_measuring(&mut self, now: Time);
    /// What has been counted since measuring began, with the window of throughput and utilisation up to `now`, an
    /// instant between the last event and the next, unless that has closed.
    fn counts_at(&self, now: Time) -> Counts;
    /// What is measured.
    fn tally(&mut self) -> &mut Tally;
    /// The last event's time.
    fn now(&self) -> Time;
    /// Requests that have come so far, warm-up included.
    fn arrived(&self) -> u64;
}

/// What a replication has counted since measuring began, with the window of throughput and utilisation up to `now`, when its
/// servers of so many `cores` had been busy for so long, unless that has closed.
pub(crate) fn counts(
    tally: &Tally,
    phases: &Phases,
    now: Time,
    busy: Vec<Span>,
    cores: impl Fn(usize) -> u32,
) -> Counts {
    let closed = phases.is_draining();
    let end = if closed { tally.until } else { now };
    let busy = if closed { &tally.busy_after } else { &busy };
    let spent = busy.iter().zip(&tally.busy_before).enumerate();
    let busy = spent.map(|(server, (after, before))| (*after - *before).as_secs_f64() / f64::from(cores(server)));
    let busy: Vec<f64> = busy.collect();
    Counts {
        elapsed_s: end.saturating_since(tally.since).as_secs_f64(),
        busy_s: busy.iter().sum::<f64>() / busy.len() as f64,
        busy,
        completions: tally.completions,
        served: tally.served,
        waiting_s: tally.waiting_ns as f64 * 1e-9,
        service_s: tally.service_ns as f64 * 1e-9,
        ended: tally.ended(),
        denied: tally.denied,
        abandoned: tally.abandoned,
        retried: tally.retried,
        may_fail: tally.may_fail,
        sent: tally.sent.clone(),
        connections: tally.connections,
        of_class: tally.of_class.clone(),
    }
}

/// All response times of some replications.
pub(crate) fn responses(tallies: &[&Tally]) -> Histogram {
    merged(&tallies.iter().map(|tally| &tally.response).collect::<Vec<_>>())
}

/// Every metric of some replications, from their tallies and counts.
pub(crate) fn rows(tallies: &[&Tally], counts: &[Counts]) -> Vec<Row> {
    let histograms: Vec<&Histogram> = tallies.iter().map(|tally| &tally.response).collect();
    let whole = Arc::new(merged(&histograms));
    let mut rows = vec![summary::mean("response_time_mean", &whole, &histograms)];
    rows.extend(QUANTILES.iter().map(|(metric, p)| summary::quantile(metric, &whole, &histograms, *p)));
    if tallies.iter().any(|tally| tally.connections.is_some()) {
        rows.push(summary::longest("response_time_max", &whole, &histograms));
    }
    let errors: Vec<&Errors> = tallies.iter().filter_map(|tally| tally.predictions.as_ref()).collect();
    if !errors.is_empty() {
        let mut all = Errors::new();
        errors.iter().for_each(|errors| all.join(errors));
        rows.extend(Errors::rows(&all, &errors));
    }
    rows.extend(summary::others(&Counts::sum(counts), counts));
    rows.extend(outcomes_over_time(tallies));
    rows
}

/// What outcomes over time say of some replications, where they are counted.
pub(crate) fn outcomes_over_time(tallies: &[&Tally]) -> Vec<Row> {
    let all = tallies.iter().filter_map(|tally| Some(&tally.over_time.as_ref()?.outcomes)).collect();
    let since = tallies.iter().map(|tally| tally.since).max().unwrap_or_default();
    Replications::new(all, since).map_or_else(Vec::new, |outcomes| outcomes.rows())
}

impl<C: Clients<F>, F: Fabric<Traffic = Requests>> Played for Engine<C, F> {
    fn run_before(&mut self, end: Time) {
        Engine::run_before(self, end);
    }

    fn start_measuring(&mut self, now: Time) {
        Engine::start_measuring(self, now);
    }

    fn counts_at(&self, now: Time) -> Counts {
        let Cx { tally, phases, .. } = &self.cx;
        let servers = self.fabric.servers();
        counts(tally, phases, now, self.fabric.busy(now), |server| servers[server].cores)
    }

    fn tally(&mut self) -> &mut Tally {
        &mut self.cx.tally
    }

    fn now(&self) -> Time {
        self.cx.now
    }

    fn arrived(&self) -> u64 {
        self.cx.ledger.arrived()
    }
}

impl<C: Clients<F>, F: Fabric<Traffic = Requests>> Replication for Engine<C, F> {
    fn phases(&self) -> &Phases {
        &self.cx.phases
    }

    fn ended(&self) -> u64 {
        self.cx.ledger.ended()
    }

    fn counted(&self) -> u64 {
        self.cx.tally.ended()
    }

    fn overflowed(&self) -> Option<usize> {
        self.cx.jobs.were_full().then_some(self.cx.jobs.slab.len())
    }

    #[inline(always)]
    fn step(&mut self) -> bool {
        let due = self.due();
        let goes_on = due.of_jobs() != Time::NEVER;
        if goes_on {
            self.take(due);
        }
        goes_on
    }

    fn finish(&mut self) {
        if let Some(milestone) = self.cx.phases.finished() {
            self.pass(milestone);
        }
    }

    fn settle_books(&self) {
        Engine::settle_books(self);
    }

    fn responses(replications: &[&Engine<C, F>]) -> Histogram {
        responses(&replications.iter().map(|engine| &engine.cx.tally).collect::<Vec<_>>())
    }

    fn rows(replications: &[&Engine<C, F>]) -> Vec<Row> {
        let tallies: Vec<&Tally> = replications.iter().map(|engine| &engine.cx.tally).collect();
        let counts: Vec<Counts> = replications.iter().map(|engine| engine.counts_at(engine.cx.now)).collect();
        rows(&tallies, &counts)
    }

    fn begin_anew(&mut self) {
        if !self.cx.phases.is_warming_up() {
            self.pass(Milestone::Begin(self.cx.now));
        }
    }

    fn remembered(&self) -> Option<&Batches> {
        Some(&self.cx.tally.remembered)
    }

    fn over_time(replications: &[&Engine<C, F>], alike: f64) -> Option<OverTime> {
        let since = replications.iter().map(|engine| engine.cx.tally.since).max().unwrap_or_default();
        Intervals::mean(replications.iter().filter_map(|engine| engine.cx.tally.over_time.as_ref()), since, alike)
    }
}
