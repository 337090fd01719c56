//! The direct fabric: one tier in front of stations, or a single station, in one place.

use sojourn_dispatch::Catalogue;
use sojourn_model::{Admission, Knowledge, Server, Station, System};
use sojourn_stats::{Span, Time, prefetch};

use super::link::Links;
use crate::balancer::{Balancer, Choice};
use crate::control::SimError;
use crate::engine::Fabric;
use crate::requests::jobs::{Job, Stage};
use crate::requests::prediction::Predictor;
use crate::requests::timeline::Failure;
use crate::requests::{Cx, Requests, What};
use crate::timers::{Near, Timers};

/// One tier in front of stations, or a single station.
pub(crate) struct Direct {
    balancer: Option<Balancer>,
    servers: Vec<Server>,
    /// Some server's speed is not 1.
    speeds_differ: bool,
    stations: Vec<Station>,
    timers: Timers,
    links: Links,
    predictor: Option<Predictor>,
}

impl Direct {
    /// The servers of `system`, with policies of `catalogue` and random streams of this seed; `predict` says what is
    /// predicted from, and the mean demand.
    pub(crate) fn new(
        system: &System,
        catalogue: &Catalogue,
        seed: u64,
        predict: Option<(Knowledge, Span)>,
    ) -> Result<Direct, SimError> {
        let servers: Vec<Server> = system.servers().cloned().collect();
        let station = |server: &Server| Station::new(server.discipline.clone(), server.cores, server.capacity);
        Ok(Direct {
            balancer: system
                .tier()
                .map(|tier| Balancer::first(tier, servers.len(), false, catalogue, seed))
                .transpose()?,
            stations: servers.iter().map(station).collect(),
            timers: Timers::new(servers.len()),
            speeds_differ: servers.iter().any(|server| server.speed != 1.0),
            servers,
            links: Links::new(&system.network),
            predictor: predict.map(|(knows, demand_mean)| Predictor::new(knows, demand_mean)),
        })
    }

    /// The balancer sends a request to a server.
    #[inline]
    fn at_balancer(&mut self, slot: u32, cx: &mut Cx) {
        let job = &mut cx.jobs.slab[slot as usize];
        if let Some(balancer) = &mut self.balancer {
            if balancer.wants_predictions() {
                for (number, (server, station)) in self.servers.iter().zip(&self.stations).enumerate() {
                    let predicted = station.predict(job.class, cx.now, server.service_time(job.service));
                    balancer.predicted(number as u32, predicted.unwrap_or(Span::FOREVER), cx.now);
                }
            }
            match balancer.choose(job.asked(), &[], cx.now) {
                Some(choice) => job.choice = choice,
                None => return cx.deny(slot, Failure::Refused),
            }
        } else {
            job.choice = Choice { dispatcher: 0, server: 0, is_retry: false };
        }
        job.sent = cx.now;
        let server = job.choice.server as usize;
        if self.speeds_differ {
            job.service = self.servers[server].service_time(job.service);
        }
        cx.tally.sent(job.planned, server);
        if self.links.cluster_delay == Span::ZERO {
            self.at_server(slot, cx);
        } else {
            job.stage = Stage::Forwarded;
            cx.later(cx.now + self.links.cluster_delay, What::AtServer, slot);
        }
    }

    #[inline]
    fn at_server(&mut self, slot: u32, cx: &mut Cx) {
        let job = &mut cx.jobs.slab[slot as usize];
        let server = job.choice.server as usize;
        let station = &mut self.stations[server];
        let due = station.next_departure();
        if let Some(predictor) = &mut self.predictor {
            predictor.predict(slot, job, &self.servers[server], station, cx.now);
        }
        match station.arrive_of(job.class, cx.now, u64::from(slot), job.service) {
            Admission::Admitted(ticket) => {
                job.ticket = ticket;
                job.stage = Stage::AtServer;
                let next = station.next_departure();
                if next != due {
                    self.set_timer(server, next, cx);
                }
            }
            Admission::Denied => {
                let Job { choice, sent, .. } = *job;
                if let Some(balancer) = &mut self.balancer {
                    balancer.failed(choice, cx.now - sent, cx.now);
                }
                cx.deny(slot, Failure::Refused);
            }
        }
    }

    /// Sets a server's timer to its next departure.
    #[inline(always)]
    fn set_timer(&mut self, server: usize, next: Option<Time>, cx: &Cx) {
        let Direct { stations, balancer, timers, .. } = self;
        let job = || stations[server].next_job() as u32;
        // Over thousands of servers, a departure would else wait for memory several times in a row: for its station,
        // then for its job and the balancer's line, which it finds there.
        timers.set_of(server, next, job, |near, server, slot| match near {
            Near::InSemiFinal => {
                stations[server].prefetch();
                if let Some(job) = cx.jobs.slab.get(slot as usize) {
                    prefetch(job);
                }
                if let Some(balancer) = balancer {
                    balancer.prefetch(server as u32);
                }
            }
            Near::InFinal => stations[server].prefetch_jobs(),
        });
    }

    /// The balancer has the whole reply, which enters the client's link.
    #[inline(always)]
    fn reply_at_balancer(&mut self, slot: u32, cx: &mut Cx) {
        let job = &mut cx.jobs.slab[slot as usize];
        if let Some(balancer) = &mut self.balancer {
            balancer.completed(job.choice, job.size, cx.now - job.sent, cx.now);
        }
        let arrives = match &mut self.links.client_wires {
            None => cx.now,
            Some(wires) => wires.of_client(job.client).send(cx.now, job.size).arrives,
        };
        if arrives == cx.now {
            cx.complete(slot);
        } else {
            job.stage = Stage::Returning;
            cx.later(arrives, What::ReplyAtClient, slot);
        }
    }
}

impl Fabric for Direct {
    type Traffic = Requests;

    #[inline]
    fn deadline(&self) -> Time {
        self.balancer.as_ref().map_or(Time::NEVER, Balancer::deadline)
    }

    #[inline]
    fn next_departure(&self) -> Time {
        self.timers.first_at()
    }

    fn meet_deadline(&mut self, cx: &mut Cx) {
        let stations = &self.stations;
        let balancer = self.balancer.as_mut().expect("only a balancer has deadlines");
        balancer.poll(cx.now, |server| Some(stations[server].occupancy().0));
    }

    /// A server finishes a job: its reply enters the cluster's link.
    #[inline]
    fn depart(&mut self, cx: &mut Cx) {
        let server = self.timers.first();
        let station = &mut self.stations[server];
        let departure = station.depart(cx.now).expect("the timer is the station's next departure");
        let next = station.next_departure();
        self.set_timer(server, next, cx);
        let slot = departure.job as u32;
        let job = &mut cx.jobs.slab[slot as usize];
        if let Some(predictor) = &self.predictor {
            let actual = departure.at - departure.arrived;
            cx.tally.predicted(job.planned, predictor.prediction(slot), actual);
        }
        cx.tally.served(job.planned, departure.started - departure.arrived, job.service);
        let (size, sent, choice) = (job.size, job.sent, job.choice);
        let (first_byte, whole) = match &mut self.links.cluster_wire {
            None => (cx.now, cx.now),
            Some(wire) => {
                let passage = wire.send(cx.now, size);
                (passage.first_byte, passage.arrives)
            }
        };
        if let Some(balancer) = self.balancer.as_mut().filter(|balancer| balancer.wants_first_byte()) {
            if first_byte == cx.now {
                balancer.first_byte(choice, cx.now - sent, cx.now);
            } else {
                cx.later(first_byte, What::FirstByte, slot);
            }
        }
        if whole == cx.now {
            self.reply_at_balancer(slot, cx);
        } else {
            cx.jobs.slab[slot as usize].stage = Stage::Forwarded;
            cx.later(whole, What::ReplyAtBalancer, slot);
        }
    }

    #[inline]
    fn enter(&mut self, slot: u32, cx: &mut Cx) {
        if self.links.client_delay == Span::ZERO {
            self.at_balancer(slot, cx);
        } else {
            cx.later(cx.now + self.links.client_delay, What::AtBalancer, slot);
        }
    }

    #[inline]
    fn fire(&mut self, what: What, slot: u32, cx: &mut Cx) {
        match what {
            What::AtBalancer => self.at_balancer(slot, cx),
            What::AtServer => self.at_server(slot, cx),
            What::FirstByte => {
                let Job { choice, sent, .. } = cx.jobs.slab[slot as usize];
                let balancer = self.balancer.as_mut().expect("only a balancer waits for first bytes");
                balancer.first_byte(choice, cx.now - sent, cx.now);
            }
            What::ReplyAtBalancer => self.reply_at_balancer(slot, cx),
            What::ReplyAtClient => cx.complete(slot),
            other => unreachable!("a direct fabric enters no {other:?}"),
        }
    }

    fn cancel(&mut self, slot: u32, cx: &mut Cx) {
        let Job { choice, ticket, stage, sent, .. } = cx.jobs.slab[slot as usize];
        if stage == Stage::AtServer {
            let server = choice.server as usize;
            let station = &mut self.stations[server];
            station.cancel(cx.now, ticket);
            self.timers.set(server, station.next_departure());
        }
        if let (Stage::Forwarded | Stage::AtServer, Some(balancer)) = (stage, &mut self.balancer) {
            balancer.cancelled(choice, cx.now - sent, cx.now);
        }
    }

    fn servers(&self) -> &[Server] {
        &self.servers
    }

    fn may_deny(&self) -> bool {
        self.servers.iter().any(|server| server.capacity.is_some())
    }

    fn busy(&self, now: Time) -> Vec<Span> {
        self.stations.iter().map(|station| station.busy(now)).collect()
    }
}
