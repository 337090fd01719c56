//! One replication: the event loop that clients and a fabric of servers share.
//!
//! [`Clients`] say when a request comes, a [`Fabric`] brings it to a server and back, and both work on one [`Cx`]: the
//! clock, the agenda, the requests inside, the ledger, the phases and the tally, one of each. The kinds of clients and
//! fabrics are type parameters, so that each pair compiles to a loop of its own: the common case, an open plan at a
//! direct fabric, pays for nothing that it does not use.
//!
//! The next event is the earliest of five candidates, each kept where it is cheapest: the fabric's deadline (a number),
//! its stations' timers (a tournament), the agenda (a binary heap, empty without links, patience and users) and the
//! next planned request (a number). A request's state is one small struct in a slab. Nothing is allocated or hashed per
//! request, and virtual calls are the plan's demand and the policy only. What each request passes through once is always
//! inlined: the compiler's own limit is just below it, and the calls took a tenth of an M/M/1's instructions.
//!
//! Conservation is asserted at every pause: arrivals = completed + lost + inside; no server was busier than its cores;
//! and Little's law exactly, in whole nanoseconds: the integral of the number inside is the sum of the times spent.

use sojourn_model::Server;
use sojourn_stats::{Histogram, Span, Time};
use sojourn_traffic::{Planned, Request};

use crate::agenda::{Agenda, What};
use crate::course::{Course, Milestone, Phases};
use crate::jobs::{Job, Jobs};
use crate::ledger::Ledger;
use crate::prediction::Errors;
use crate::study::{Replication, merged};
use crate::summary::{self, Counts, QUANTILES, Row};
use crate::tally::Tally;

/// One replication.
pub(crate) struct Engine<C, F> {
    clients: C,
    fabric: F,
    pub(crate) cx: Cx,
}

/// What clients and fabric share.
pub(crate) struct Cx {
    pub(crate) now: Time,
    pub(crate) agenda: Agenda,
    pub(crate) jobs: Jobs,
    pub(crate) phases: Phases,
    /// What is measured.
    pub(crate) tally: Tally,
    ledger: Ledger,
    /// The warm-up is over with the request that has just ended.
    milestone: Option<Milestone>,
    /// Clients whose requests have ended and that have not been told yet; none where they do not listen.
    ended: Vec<u32>,
    clients_listen: bool,
}

/// Who asks, and when.
pub(crate) trait Clients: Send {
    /// Whether they are told of the ends of their requests.
    const LISTEN: bool;

    /// The next planned request; at [`Time::NEVER`] when there is none.
    fn next(&self) -> &Planned;

    /// The next planned request has entered: plans the one after it.
    fn plan(&mut self, cx: &mut Cx);

    /// What client number `client` asks now that it has thought.
    fn asks(&mut self, client: u32) -> Request;

    /// A request of `client` has ended.
    fn ended(&mut self, client: u32, cx: &mut Cx);
}

/// What brings requests to servers and replies back.
pub(crate) trait Fabric: Send {
    /// Enters in the agenda what is to happen by itself.
    fn start(&mut self, cx: &mut Cx) {
        let _ = cx;
    }

    /// When [`Fabric::meet_deadline`] is due; [`Time::NEVER`] when nothing is.
    fn deadline(&self) -> Time;

    /// When the next job leaves a station; [`Time::NEVER`] when all are idle.
    fn next_departure(&self) -> Time;

    /// Does what is due of its own: polls and the ends of windows.
    fn meet_deadline(&mut self, cx: &mut Cx);

    /// The job that is due leaves its station.
    fn depart(&mut self, cx: &mut Cx);

    /// A request comes in at its client.
    fn enter(&mut self, slot: u32, cx: &mut Cx);

    /// What the fabric entered in the agenda happens, to the request in `slot` (or to what the fabric numbers so).
    fn fire(&mut self, what: What, slot: u32, cx: &mut Cx);

    /// The client of a request goes away: the request leaves where it is. The caller ends it.
    fn cancel(&mut self, slot: u32, cx: &mut Cx);

    /// The servers' models.
    fn servers(&self) -> &[Server];

    /// Core time that each server has spent up to `now`, an instant between the last event and the next.
    fn busy(&self, now: Time) -> Vec<Span>;

    /// Whether something that it entered in the agenda has no request, so that no generation is looked at.
    fn is_its_own(what: What) -> bool {
        let _ = what;
        false
    }
}

impl Cx {
    /// Something will happen to a request, unless it is gone by then.
    #[inline]
    pub(crate) fn later(&mut self, at: Time, what: What, slot: u32) {
        self.agenda.add(at, what, slot, self.jobs.slab[slot as usize].generation);
    }

    /// The client has the whole reply.
    #[inline(always)]
    pub(crate) fn complete(&mut self, slot: u32) {
        let Job { planned, number, client, .. } = self.jobs.release(slot);
        self.tally.completed(planned, number, self.now);
        self.ledger.completed();
        if let Some(milestone) = self.phases.settled(self.now - planned, self.ledger.ended(), self.now) {
            self.milestone = Some(milestone);
        }
        self.leave(planned, client);
    }

    /// A server or a balancer denied a request.
    pub(crate) fn deny(&mut self, slot: u32) {
        let Job { planned, client, .. } = self.jobs.release(slot);
        self.tally.denied(planned);
        self.ledger.lost();
        self.leave(planned, client);
    }

    /// A client gave up.
    fn abandon(&mut self, slot: u32) {
        let Job { planned, client, .. } = self.jobs.release(slot);
        self.tally.abandoned(planned);
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

impl<C: Clients, F: Fabric> Engine<C, F> {
    /// The replication of clients at a fabric, which `course` plays; `start` lets the clients begin.
    pub(crate) fn new(clients: C, fabric: F, course: &Course, start: impl FnOnce(&mut C, &mut Cx)) -> Engine<C, F> {
        let servers = fabric.servers().len();
        let mut cx = Cx {
            now: Time::ZERO,
            agenda: Agenda::default(),
            jobs: Jobs::new(course.most_inside),
            phases: Phases::new(course, servers),
            tally: Tally::new(servers, course.finite, course.keep_series),
            ledger: Ledger::default(),
            milestone: None,
            ended: Vec::new(),
            clients_listen: C::LISTEN,
        };
        cx.tally.predictions = course.predict.map(|_| Errors::new());
        let mut engine = Engine { clients, fabric, cx };
        engine.fabric.start(&mut engine.cx);
        start(&mut engine.clients, &mut engine.cx);
        engine
    }

    /// Takes the events before `end`.
    pub(crate) fn run_before(&mut self, end: Time) {
        while self.next_at() < end && self.step() {}
        self.settle_books();
    }

    /// Begins measuring at `now`, unless that has happened: an instant between the last event and the next.
    pub(crate) fn start_measuring(&mut self, now: Time) {
        if self.cx.phases.is_warming_up() {
            let milestone = self.cx.phases.begin(now);
            self.pass(milestone);
        }
    }

    /// What has been counted since measuring began, with the window of throughput and utilisation up to `now`, an
    /// instant between the last event and the next, unless that has closed.
    pub(crate) fn counts_at(&self, now: Time) -> Counts {
        let tally = &self.cx.tally;
        let closed = self.cx.phases.is_draining();
        let end = if closed { tally.until } else { now };
        let busy = if closed { tally.busy_after.clone() } else { self.fabric.busy(now) };
        let elapsed_s = end.saturating_since(tally.since).as_secs_f64();
        let servers = self.fabric.servers();
        let spent = busy.iter().zip(&tally.busy_before).zip(servers);
        let busy_s = spent.map(|((after, before), server)| (*after - *before).as_secs_f64() / f64::from(server.cores));
        Counts {
            elapsed_s,
            busy_s: busy_s.sum::<f64>() / servers.len() as f64,
            completions: tally.completions,
            served: tally.served,
            waiting_s: tally.waiting_ns as f64 * 1e-9,
            service_s: tally.service_ns as f64 * 1e-9,
            ended: tally.ended(),
            denied: tally.denied,
            abandoned: tally.abandoned,
            sent: tally.sent.clone(),
        }
    }

    /// When the next event of a request or a client is due; [`Time::NEVER`] when there is none.
    fn next_at(&self) -> Time {
        self.fabric.next_departure().min(self.cx.agenda.first_at()).min(self.clients.next().at)
    }

    /// A request enters.
    #[inline(always)]
    fn arrive(fabric: &mut F, cx: &mut Cx, planned: Time, request: &Request) {
        let number = cx.ledger.enter(cx.now);
        let slot = cx.jobs.put(planned, number as u32, request);
        if cx.jobs.were_full() {
            cx.phases.accept_until(cx.now);
        }
        if request.patience != Span::FOREVER {
            cx.later(planned + request.patience, What::PatienceEnds, slot);
        }
        fabric.enter(slot, cx);
    }

    /// Takes the agenda's first entry.
    #[inline]
    fn take_entry(&mut self) {
        let event = self.cx.agenda.take().expect("an entry is due");
        if event.what == What::UserAsks {
            let request = self.clients.asks(event.entity);
            let now = self.cx.now;
            return Self::arrive(&mut self.fabric, &mut self.cx, now, &request);
        }
        let slot = event.entity;
        if !F::is_its_own(event.what) && self.cx.jobs.slab[slot as usize].generation != event.generation {
            return;
        }
        if event.what == What::PatienceEnds {
            self.fabric.cancel(slot, &mut self.cx);
            return self.cx.abandon(slot);
        }
        self.fabric.fire(event.what, slot, &mut self.cx);
    }

    /// Tells what the last event has ended: the warm-up, and clients their requests.
    #[inline]
    fn tell(&mut self) {
        if let Some(milestone) = self.cx.milestone.take() {
            self.pass(milestone);
        }
        if !C::LISTEN {
            return;
        }
        for place in 0..self.cx.ended.len() {
            let client = self.cx.ended[place];
            self.clients.ended(client, &mut self.cx);
        }
        self.cx.ended.clear();
    }

    /// The end of a phase.
    fn pass(&mut self, milestone: Milestone) {
        match milestone {
            Milestone::Begin(at) => self.cx.tally.restart(at, self.fabric.busy(at)),
            Milestone::Close(at) => self.cx.tally.close(at, self.fabric.busy(at)),
        }
    }
}

/// A replication that has been played, or is: what a plan's run and a study's report read of it.
pub(crate) trait Played: Replication {
    /// Takes the events before `end`.
    fn run_before(&mut self, end: Time);
    /// Begins measuring at `now`, unless that has happened.
    fn start_measuring(&mut self, now: Time);
    /// What has been counted up to `now`.
    fn counts_at(&self, now: Time) -> Counts;
    /// What is measured.
    fn tally(&mut self) -> &mut Tally;
    /// The last event's time.
    fn now(&self) -> Time;
    /// Requests that have come so far, warm-up included.
    fn arrived(&self) -> u64;
}

impl<C: Clients, F: Fabric> Played for Engine<C, F> {
    fn run_before(&mut self, end: Time) {
        Engine::run_before(self, end);
    }

    fn start_measuring(&mut self, now: Time) {
        Engine::start_measuring(self, now);
    }

    fn counts_at(&self, now: Time) -> Counts {
        Engine::counts_at(self, now)
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

impl<C: Clients, F: Fabric> Replication for Engine<C, F> {
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
        let departure = self.fabric.next_departure();
        let entry = self.cx.agenda.first_at();
        let mut at = departure.min(entry).min(self.clients.next().at);
        let deadline = self.fabric.deadline();
        if at == Time::NEVER {
            // Deadlines without a request inside go on for ever.
            return false;
        }
        at = at.min(deadline);
        assert!(at >= self.cx.now, "time never goes back");
        while let Some(milestone) = self.cx.phases.passed(at) {
            self.pass(milestone);
        }
        self.cx.now = at;
        if deadline == at {
            self.fabric.meet_deadline(&mut self.cx);
        } else if departure == at {
            self.fabric.depart(&mut self.cx);
        } else if entry == at {
            self.take_entry();
        } else {
            let Engine { clients, fabric, cx } = self;
            let Planned { at, request } = clients.next();
            Self::arrive(fabric, cx, *at, request);
            clients.plan(cx);
        }
        self.tell();
        true
    }

    fn finish(&mut self) {
        if let Some(milestone) = self.cx.phases.finished() {
            self.pass(milestone);
        }
    }

    fn settle_books(&self) {
        let cx = &self.cx;
        cx.ledger.assert_balanced(cx.now, cx.jobs.inside().map(|job| job.planned));
        for (busy, server) in self.fabric.busy(cx.now).iter().zip(self.fabric.servers()) {
            let most = u128::from(cx.now.0) * u128::from(server.cores);
            assert!(u128::from(busy.0) <= most, "a server spent more core time than it has");
        }
    }

    fn responses(replications: &[&Engine<C, F>]) -> Histogram {
        merged(&replications.iter().map(|engine| &engine.cx.tally.response).collect::<Vec<_>>())
    }

    fn rows(replications: &[&Engine<C, F>]) -> Vec<Row> {
        let tallies: Vec<&Tally> = replications.iter().map(|engine| &engine.cx.tally).collect();
        let histograms: Vec<&Histogram> = tallies.iter().map(|tally| &tally.response).collect();
        let whole = merged(&histograms);
        let mut rows = vec![summary::mean("response_time_mean", &whole, &histograms)];
        rows.extend(QUANTILES.iter().map(|(metric, p)| summary::quantile(metric, &whole, &histograms, *p)));
        let errors: Vec<&Errors> = tallies.iter().filter_map(|tally| tally.predictions.as_ref()).collect();
        if !errors.is_empty() {
            let mut all = Errors::new();
            errors.iter().for_each(|errors| all.join(errors));
            rows.extend(Errors::rows(&all, &errors));
        }
        let counts: Vec<Counts> = replications.iter().map(|engine| engine.counts_at(engine.cx.now)).collect();
        rows.extend(summary::others(&Counts::sum(&counts), &counts));
        rows
    }
}
