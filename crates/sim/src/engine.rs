//! One replication: the event loop.
//!
//! The next event is the earliest of four candidates, each kept by whom it is cheapest for: the dispatchers' deadline
//! (a number), the stations' timers (an indexed heap), the agenda (a binary heap, empty without links, patience and
//! users) and the next planned request (a number). A request's state is one small struct in a slab. Nothing is
//! allocated or hashed per request, and virtual calls are the plan's demand and the policy only.
//!
//! Conservation is asserted at every pause: arrivals = completed + lost + inside; no server was busier than its cores;
//! and Little's law exactly, in whole nanoseconds: the integral of the number inside is the sum of the times spent.

use std::sync::Arc;

use sojourn_model::{Admission, Knowledge, Server, Station, Wire};
use sojourn_stats::{Histogram, Span, Time};
use sojourn_traffic::{Plan, Planned, Request, Script, Workload};

use crate::agenda::{Agenda, What};
use crate::balancer::Balancer;
use crate::course::{Course, Phases, Turn};
use crate::jobs::{Job, Jobs, Stage};
use crate::ledger::Ledger;
use crate::prediction::Errors;
use crate::scenario::{Scenario, SimError};
use crate::study::{Replication, merged};
use crate::summary::{self, Part, QUANTILES, Row};
use crate::tally::Tally;
use crate::timers::Timers;

/// One replication.
pub(crate) struct Engine {
    now: Time,
    source: Source,
    /// The next planned request; at [`Time::NEVER`] when there is none.
    next: Planned,
    balancer: Option<Balancer>,
    servers: Vec<Server>,
    /// Some server's speed is not 1.
    speeds_differ: bool,
    stations: Vec<Station>,
    timers: Timers,
    agenda: Agenda,
    client_delay: Span,
    client_wires: Option<Wires>,
    cluster_delay: Span,
    cluster_wire: Option<Wire>,
    jobs: Jobs,
    predictor: Option<Predictor>,
    ledger: Ledger,
    phases: Phases,
    /// What is measured.
    pub(crate) tally: Tally,
}

#[allow(clippy::large_enum_variant, reason = "there is one source per replication")]
enum Source {
    Plan(Plan),
    /// Scripts, and what each user asks when it has thought.
    Users(Vec<(Script, Request)>),
    /// A plan that has come to its end. It is let go, since one with long memory is as long as all that it drew, and
    /// replications are kept.
    Spent,
}

/// What is predicted of the requests inside.
struct Predictor {
    knows: Knowledge,
    /// The mean demand on a server of speed 1.
    demand_mean: Span,
    /// The time at its server of the request in each slot.
    predicted: Vec<Span>,
}

/// Each client's own wire from the balancer.
struct Wires {
    idle: Wire,
    wires: Vec<Wire>,
}

impl Engine {
    /// The replication of `scenario` with this seed.
    pub(crate) fn new(scenario: &Scenario, seed: u64, course: &Course) -> Result<Engine, SimError> {
        let station = |server: &Server| Station::new(server.discipline.clone(), server.cores, server.capacity);
        let demand = Arc::clone(&scenario.demand);
        let source = match &scenario.workload {
            Workload::Closed(closed) => {
                scenario.workload.check()?;
                let script = |user| Script::new(closed, user, seed, Arc::clone(&demand));
                Source::Users((0..closed.users).map(|user| (script(user), NOTHING)).collect())
            }
            workload => Source::Plan(Plan::new(workload, seed, demand)?),
        };
        let client_link = scenario.client_link.filter(|link| !link.is_instant());
        let cluster_link = scenario.cluster_link.filter(|link| !link.is_instant());
        let mut engine = Engine {
            now: Time::ZERO,
            source,
            next: NEVER,
            balancer: Balancer::new(scenario, seed)?,
            stations: scenario.servers.iter().map(station).collect(),
            timers: Timers::new(scenario.servers.len()),
            speeds_differ: scenario.servers.iter().any(|server| server.speed != 1.0),
            servers: scenario.servers.clone(),
            agenda: Agenda::default(),
            client_delay: client_link.map_or(Span::ZERO, |link| link.delay),
            client_wires: client_link.map(|link| Wires { idle: Wire::new(link), wires: Vec::new() }),
            cluster_delay: cluster_link.map_or(Span::ZERO, |link| link.delay),
            cluster_wire: cluster_link.map(Wire::new),
            jobs: Jobs::default(),
            predictor: course.predict.map(|knows| Predictor {
                knows,
                demand_mean: Span::from_secs_f64(scenario.demand_mean_s()),
                predicted: Vec::new(),
            }),
            ledger: Ledger::default(),
            phases: Phases::new(course, scenario.servers.len()),
            tally: Tally::new(scenario.servers.len(), course.finite, course.keep_series),
        };
        engine.tally.predictions = course.predict.map(|_| Errors::new());
        match &engine.source {
            Source::Plan(_) => engine.plan_next(),
            Source::Users(users) => (0..users.len() as u32).for_each(|user| engine.let_think(user)),
            Source::Spent => unreachable!("it has just been made"),
        }
        Ok(engine)
    }

    /// Requests that have come so far, warm-up included.
    pub(crate) fn arrived(&self) -> u64 {
        self.ledger.arrived()
    }

    /// Takes the events before `end`.
    pub(crate) fn run_before(&mut self, end: Time) {
        while self.next_at() < end && self.step() {}
        self.settle_books();
    }

    /// Begins measuring at `now`, unless that has happened: an instant between the last event and the next.
    pub(crate) fn start_measuring(&mut self, now: Time) {
        if self.phases.is_warming_up() {
            let turn = self.phases.begin(now);
            self.take(turn);
        }
    }

    /// What has been counted since measuring began.
    pub(crate) fn part(&self) -> Part {
        self.part_at(self.now)
    }

    /// As [`Engine::part`], with the window of throughput and utilisation up to `now`, an instant between the last event
    /// and the next, unless that has closed.
    pub(crate) fn part_at(&self, now: Time) -> Part {
        let tally = &self.tally;
        let closed = self.phases.is_draining();
        let end = if closed { tally.until } else { now };
        let busy = if closed { tally.busy_after.clone() } else { self.busy(now) };
        let elapsed_s = end.saturating_since(tally.since).as_secs_f64();
        let spent = busy.iter().zip(&tally.busy_before).zip(&self.servers);
        let busy_s = spent.map(|((after, before), server)| (*after - *before).as_secs_f64() / f64::from(server.cores));
        Part {
            elapsed_s,
            busy_s: busy_s.sum::<f64>() / self.servers.len() as f64,
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

    /// Core time that each server has spent up to `now`, an instant between the last event and the next.
    fn busy(&self, now: Time) -> Vec<Span> {
        self.stations.iter().map(|station| station.busy(now)).collect()
    }

    /// When the next event of a request or a user is due; [`Time::NEVER`] when there is none.
    fn next_at(&self) -> Time {
        self.timers.first_at().min(self.agenda.first_at()).min(self.next.at)
    }

    /// Draws the next planned request.
    #[inline]
    fn plan_next(&mut self) {
        let Source::Plan(plan) = &mut self.source else { unreachable!("users plan for themselves") };
        self.next = match plan.next() {
            Some(planned) if self.phases.accepts(planned.at) => planned,
            Some(_) => NEVER,
            None => {
                self.phases.accept_until(self.now);
                NEVER
            }
        };
        if self.next.at == Time::NEVER {
            self.source = Source::Spent;
        }
    }

    /// Lets a user think about its next request.
    fn let_think(&mut self, user: u32) {
        let Source::Users(users) = &mut self.source else { unreachable!("only users think") };
        let (script, request) = &mut users[user as usize];
        let step = script.step();
        *request = step.request;
        let at = self.now + step.think;
        if self.phases.accepts(at) {
            self.agenda.add(at, What::UserAsks, user, 0);
        }
    }

    /// A request enters.
    #[inline]
    fn arrive(&mut self, planned: Time, request: &Request) {
        let number = self.ledger.enter(self.now);
        let slot = self.jobs.put(planned, number as u32, request);
        if request.patience != Span::FOREVER {
            let generation = self.jobs.slab[slot as usize].generation;
            self.agenda.add(planned + request.patience, What::PatienceEnds, slot, generation);
        }
        if self.client_delay == Span::ZERO {
            self.at_balancer(slot);
        } else {
            self.later(self.now + self.client_delay, What::AtBalancer, slot);
        }
    }

    #[inline]
    fn later(&mut self, at: Time, what: What, slot: u32) {
        self.agenda.add(at, what, slot, self.jobs.slab[slot as usize].generation);
    }

    /// The balancer sends a request to a server.
    #[inline]
    fn at_balancer(&mut self, slot: u32) {
        let job = &mut self.jobs.slab[slot as usize];
        if let Some(balancer) = &mut self.balancer {
            if balancer.wants_predictions() {
                for (number, (server, station)) in self.servers.iter().zip(&self.stations).enumerate() {
                    let predicted = station.predict(job.class, self.now, server.service_time(job.service));
                    balancer.predicted(number as u32, predicted.unwrap_or(Span::FOREVER), self.now);
                }
            }
            match balancer.choose(job.client, job.class, self.now) {
                Some(choice) => job.choice = choice,
                None => {
                    self.tally.denied(job.planned);
                    return self.lose(slot);
                }
            }
        }
        job.stage = Stage::Forwarded;
        job.sent = self.now;
        let server = job.choice.server as usize;
        if self.speeds_differ {
            job.service = self.servers[server].service_time(job.service);
        }
        self.tally.sent(job.planned, server);
        if self.cluster_delay == Span::ZERO {
            self.at_server(slot);
        } else {
            self.later(self.now + self.cluster_delay, What::AtServer, slot);
        }
    }

    #[inline]
    fn at_server(&mut self, slot: u32) {
        let job = &mut self.jobs.slab[slot as usize];
        let server = job.choice.server as usize;
        let station = &mut self.stations[server];
        let due = station.next_departure();
        if let Some(predictor) = &mut self.predictor {
            predictor.predict(slot, job, &self.servers[server], station, self.now);
        }
        match station.arrive_of(job.class, self.now, u64::from(slot), job.service) {
            Admission::Admitted(ticket) => {
                job.ticket = ticket;
                job.stage = Stage::AtServer;
                if station.next_departure() != due {
                    self.timers.set(server, station.next_departure());
                }
            }
            Admission::Denied => {
                let Job { choice, sent, planned, .. } = *job;
                if let Some(balancer) = &mut self.balancer {
                    balancer.failed(choice, self.now - sent, self.now);
                }
                self.tally.denied(planned);
                self.lose(slot);
            }
        }
    }

    /// A server finishes a job: its reply enters the cluster's link.
    #[inline]
    fn depart(&mut self, server: usize) {
        let station = &mut self.stations[server];
        let departure = station.depart(self.now).expect("the timer is the station's next departure");
        self.timers.set(server, station.next_departure());
        let slot = departure.job as u32;
        let job = &mut self.jobs.slab[slot as usize];
        job.stage = Stage::Forwarded;
        if let Some(predictor) = &self.predictor {
            let actual = departure.at - departure.arrived;
            self.tally.predicted(job.planned, predictor.predicted[slot as usize], actual);
        }
        self.tally.served(job.planned, departure.started - departure.arrived, job.service);
        let (size, sent, choice) = (job.size, job.sent, job.choice);
        let (first_byte, whole) = match &mut self.cluster_wire {
            None => (self.now, self.now),
            Some(wire) => {
                let passage = wire.send(self.now, size);
                (passage.first_byte, passage.arrives)
            }
        };
        if let Some(balancer) = self.balancer.as_mut().filter(|balancer| balancer.wants_first_byte()) {
            if first_byte == self.now {
                balancer.first_byte(choice, self.now - sent, self.now);
            } else {
                self.later(first_byte, What::FirstByte, slot);
            }
        }
        if whole == self.now {
            self.reply_at_balancer(slot);
        } else {
            self.later(whole, What::ReplyAtBalancer, slot);
        }
    }

    /// The balancer has the whole reply, which enters the client's link.
    #[inline]
    fn reply_at_balancer(&mut self, slot: u32) {
        let job = &mut self.jobs.slab[slot as usize];
        job.stage = Stage::Returning;
        if let Some(balancer) = &mut self.balancer {
            balancer.completed(job.choice, job.size, self.now - job.sent, self.now);
        }
        let arrives = match &mut self.client_wires {
            None => self.now,
            Some(wires) => wires.of(job.client).send(self.now, job.size).arrives,
        };
        if arrives == self.now {
            self.complete(slot);
        } else {
            self.later(arrives, What::ReplyAtClient, slot);
        }
    }

    /// The client has the whole reply.
    #[inline]
    fn complete(&mut self, slot: u32) {
        let Job { planned, number, .. } = self.jobs.slab[slot as usize];
        self.tally.completed(planned, number, self.now);
        self.ledger.completed();
        if let Some(turn) = self.phases.settled(self.now - planned, self.ledger.ended(), self.now) {
            self.take(turn);
        }
        self.leave(slot);
    }

    /// A request ends without a reply.
    fn lose(&mut self, slot: u32) {
        self.ledger.lost();
        self.leave(slot);
    }

    #[inline]
    fn leave(&mut self, slot: u32) {
        let Job { planned, client, .. } = self.jobs.slab[slot as usize];
        self.ledger.leave(planned, self.now);
        self.jobs.release(slot);
        if matches!(self.source, Source::Users(_)) {
            self.let_think(client);
        }
    }

    /// Takes the agenda's first entry.
    #[inline]
    fn take_entry(&mut self) {
        let event = self.agenda.take().expect("an entry is due");
        if event.what == What::UserAsks {
            let Source::Users(users) = &self.source else { unreachable!("only users think") };
            let request = users[event.whom as usize].1;
            return self.arrive(self.now, &request);
        }
        let slot = event.whom;
        if self.jobs.slab[slot as usize].generation != event.generation {
            return;
        }
        match event.what {
            What::AtBalancer => self.at_balancer(slot),
            What::AtServer => self.at_server(slot),
            What::FirstByte => {
                let Job { choice, sent, .. } = self.jobs.slab[slot as usize];
                let balancer = self.balancer.as_mut().expect("only a balancer waits for first bytes");
                balancer.first_byte(choice, self.now - sent, self.now);
            }
            What::ReplyAtBalancer => self.reply_at_balancer(slot),
            What::ReplyAtClient => self.complete(slot),
            What::PatienceEnds => self.abandon(slot),
            What::UserAsks => unreachable!("handled above"),
        }
    }

    /// The client gives up.
    fn abandon(&mut self, slot: u32) {
        let Job { planned, choice, ticket, stage, .. } = self.jobs.slab[slot as usize];
        if stage == Stage::AtServer {
            let server = choice.server as usize;
            let station = &mut self.stations[server];
            station.cancel(self.now, ticket);
            self.timers.set(server, station.next_departure());
        }
        if let (Stage::Forwarded | Stage::AtServer, Some(balancer)) = (stage, &mut self.balancer) {
            balancer.cancelled(choice, self.now);
        }
        self.tally.abandoned(planned);
        self.lose(slot);
    }

    /// The end of a phase.
    fn take(&mut self, turn: Turn) {
        match turn {
            Turn::Begin(at) => self.tally.restart(at, self.busy(at)),
            Turn::Close(at) => self.tally.close(at, self.busy(at)),
        }
    }
}

impl Replication for Engine {
    fn phases(&self) -> &Phases {
        &self.phases
    }

    fn ended(&self) -> u64 {
        self.ledger.ended()
    }

    fn counted(&self) -> u64 {
        self.tally.ended()
    }

    #[inline]
    fn step(&mut self) -> bool {
        let departure = self.timers.first_at();
        let entry = self.agenda.first_at();
        let mut at = departure.min(entry).min(self.next.at);
        let deadline = self.balancer.as_ref().map_or(Time::NEVER, Balancer::deadline);
        if at == Time::NEVER {
            // Deadlines without anybody inside go on for ever.
            return false;
        }
        at = at.min(deadline);
        assert!(at >= self.now, "time never goes back");
        while let Some(turn) = self.phases.passed(at) {
            self.take(turn);
        }
        self.now = at;
        if deadline == at {
            let stations = &self.stations;
            let balancer = self.balancer.as_mut().expect("only a balancer has deadlines");
            balancer.poll(at, |server| Some(stations[server].occupancy().0));
        } else if departure == at {
            self.depart(self.timers.first());
        } else if entry == at {
            self.take_entry();
        } else {
            let Planned { at, request } = self.next;
            self.plan_next();
            self.arrive(at, &request);
        }
        true
    }

    fn finish(&mut self) {
        if let Some(turn) = self.phases.finished() {
            self.take(turn);
        }
    }

    fn settle_books(&self) {
        self.ledger.assert_balanced(self.now, self.jobs.inside().map(|job| job.planned));
        for (station, server) in self.stations.iter().zip(&self.servers) {
            let most = u128::from(self.now.0) * u128::from(server.cores);
            assert!(u128::from(station.busy(self.now).0) <= most, "a server spent more core time than it has");
        }
    }

    fn responses(replications: &[&Engine]) -> Histogram {
        merged(&replications.iter().map(|engine| &engine.tally.response).collect::<Vec<_>>())
    }

    fn rows(replications: &[&Engine]) -> Vec<Row> {
        let histograms: Vec<&Histogram> = replications.iter().map(|engine| &engine.tally.response).collect();
        let whole = merged(&histograms);
        let mut rows = vec![summary::mean("response_time_mean", &whole, &histograms)];
        rows.extend(QUANTILES.iter().map(|(metric, p)| summary::quantile(metric, &whole, &histograms, *p)));
        let errors: Vec<&Errors> = replications.iter().filter_map(|engine| engine.tally.predictions.as_ref()).collect();
        if !errors.is_empty() {
            let mut all = Errors::new();
            errors.iter().for_each(|errors| all.join(errors));
            rows.extend(Errors::rows(&all, &errors));
        }
        let parts: Vec<Part> = replications.iter().map(|engine| engine.part()).collect();
        rows.extend(summary::others(&Part::sum(&parts), &parts));
        rows
    }
}

const NOTHING: Request =
    Request { client: 0, class: 0, object: 0, size: 0, demand: Span::ZERO, patience: Span::FOREVER };
const NEVER: Planned = Planned { at: Time::NEVER, request: NOTHING };

impl Predictor {
    fn predict(&mut self, slot: u32, job: &Job, server: &Server, station: &Station, now: Time) {
        let predicted = match self.knows {
            Knowledge::Demands => station.predict(job.class, now, job.service).unwrap_or(Span::ZERO),
            Knowledge::Number => station.predict_by_number(server.service_time(self.demand_mean)),
        };
        let slot = slot as usize;
        if self.predicted.len() <= slot {
            self.predicted.resize(slot + 1, Span::ZERO);
        }
        self.predicted[slot] = predicted;
    }
}

impl Wires {
    #[inline]
    fn of(&mut self, client: u32) -> &mut Wire {
        let client = client as usize;
        if self.wires.len() <= client {
            self.wires.resize(client + 1, self.idle);
        }
        &mut self.wires[client]
    }
}
