//! What a request visits at its server: the processor, then the disk and the network.

use sojourn_stats::Span;

use super::Routed;
use super::servers::Visit;
use crate::fabric::deciders::Next;
use crate::requests::jobs::{Job, Stage};
use crate::requests::{Cx, What};

impl Routed {
    /// A request comes to its present stage at its server.
    pub(super) fn visit(&mut self, slot: u32, cx: &mut Cx) {
        let job = &cx.jobs.slab[slot as usize];
        let route = &mut self.routes[slot];
        let host = job.choice.server as usize;
        let (station, work) = match self.servers.visit(slot, host, job, route, &self.stations, cx.now) {
            Visit::Passes => return self.moves_on(slot, cx),
            Visit::Fetches { owner } => {
                route.fetches = Some(owner);
                return self.crosses(slot, cx);
            }
            Visit::Works { station, work, owner } => {
                route.fetches = owner;
                (station, work)
            }
        };
        if route.fetches.is_some_and(|owner| self.faults.is_host_down(owner)) {
            self.leave_server(slot, cx);
            return self.deny(slot, cx);
        }
        let is_first = route.stage == 0;
        if self.enter_station(slot, station, work, cx) && is_first {
            self.inform(cx.now, |information, view| information.arrived(host, view));
        }
        self.take_dropped(cx);
    }

    /// Whether a station takes a request; one that has no place denies it.
    fn enter_station(&mut self, slot: u32, number: usize, work: Span, cx: &mut Cx) -> bool {
        let job = &mut cx.jobs.slab[slot as usize];
        let route = &mut self.routes[slot];
        let Some(ticket) = self.stations.enter(number, job, slot, route.until, work, cx.now) else {
            match self.servers.drops_overflow(job.choice.server as usize) {
                true => self.drop_silently(slot, cx),
                false => self.deny(slot, cx),
            }
            return false;
        };
        (job.ticket, job.stage) = (ticket, Stage::AtServer);
        (route.station, route.service) = (number, route.service + work);
        true
    }

    /// Servers have dropped requests without an answer.
    pub(super) fn take_dropped(&mut self, cx: &mut Cx) {
        while let Some(slot) = self.stations.next_dropped() {
            self.information.cancelled(cx.jobs.slab[slot as usize].choice.server);
            self.drop_silently(slot, cx);
        }
    }

    /// A request has visited its present stage.
    pub(super) fn has_visited(&mut self, slot: u32, cx: &mut Cx) {
        let job = &cx.jobs.slab[slot as usize];
        match self.servers.has_visited(job.choice.server as usize, job, &self.routes[slot]) {
            true => self.crosses(slot, cx),
            false => self.moves_on(slot, cx),
        }
    }

    /// A file sets out from the server that owns it.
    fn crosses(&mut self, slot: u32, cx: &mut Cx) {
        let Job { choice, size, .. } = cx.jobs.slab[slot as usize];
        let region = self.network.region_of(Next::Server(choice.server));
        let Some((medium, rate)) = self.network.medium_between(region, region) else {
            let takes = self.servers.crossing(size) + self.network.site_delay();
            return self.happens(cx.now + takes, What::Fetched, slot, cx);
        };
        let owner = self.routes[slot].fetches.expect("it comes from there");
        if !self.carry_file(slot, owner, rate, cx) {
            let work = Span::from_secs_f64(8.0 * size as f64 / rate).max(Span(1));
            self.enter_station(slot, self.stations.medium(medium), work, cx);
        }
    }

    /// A file from another server is here.
    pub(super) fn fetched(&mut self, slot: u32, cx: &mut Cx) {
        let Job { choice, size, .. } = cx.jobs.slab[slot as usize];
        let (route, host) = (&mut self.routes[slot], choice.server as usize);
        route.fetches = None;
        let file = route.asked.object;
        if let Some(gone) = self.servers.fetched(host, file, size, cx.now) {
            self.balancers.set_copy(host, file, self.servers.owner(file), true);
            for file in gone {
                self.balancers.set_copy(host, file, self.servers.owner(file), false);
            }
        }
        self.moves_on(slot, cx);
    }

    /// A request goes on to the next stage, or out.
    fn moves_on(&mut self, slot: u32, cx: &mut Cx) {
        let job = &mut cx.jobs.slab[slot as usize];
        let (host, planned, size, client) = (job.choice.server as usize, job.planned, job.size, job.client);
        job.stage = Stage::Forwarded;
        let route = &mut self.routes[slot];
        if route.stage + 1 < self.stations.of_host(host).len() {
            route.stage += 1;
            return self.visit(slot, cx);
        }
        let stood = self.faults.stood(host as u32, route.came, cx.now);
        cx.tally.served(planned, route.waited + stood, route.service);
        let (stayed, machine) = (cx.now - route.came, self.network.machine(client));
        self.inform(cx.now, |information, view| information.served(host, machine, size, stayed, view));
        self.leaves_server(slot, host, size, cx);
    }

    /// A request that is at its server goes away from it before its end, wherever it is there.
    pub(super) fn leave_server(&mut self, slot: u32, cx: &mut Cx) {
        let Job { choice, ticket, stage, .. } = cx.jobs.slab[slot as usize];
        let route = &mut self.routes[slot];
        match stage {
            Stage::AtServer => self.stations.cancel(route.station, ticket, cx.now),
            Stage::Forwarded if route.fetches.is_some() => {}
            _ => return,
        }
        route.fetches = None;
        self.information.cancelled(choice.server);
        self.take_dropped(cx);
    }
}
