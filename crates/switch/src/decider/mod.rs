//! What a switch knows besides the rules: the front, the connections that count at it, and the state of each server.
//!
//! The kernel's map is the truth about which connections there are; this one is what the dispatcher was told. They are
//! compared from time to time ([`books`]), so that what was idle for too long, or never came to be, is told as well.

pub(super) mod books;
mod flow;
mod servers;
mod splicing;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::Value;
use sojourn_bed::Events;
use sojourn_dispatch::{BackendId, Catalogue, Code, DispatchError, Event, Front, News, Request, Signals, State, key};
use sojourn_part::settings::switch::{Mode, SwitchSettings};
use sojourn_part::{Probe, ServeError, record};
use sojourn_report::Dropped;
use sojourn_report::upstream::Upstream;
use sojourn_splice::{Lifetimes, SpliceCounts};
use sojourn_stats::Time;

use super::counts::SwitchCounts;
use super::kernel::ends::Ends;
use super::kernel::rules::{Mark, REFUSED, UNDECIDED};
use super::lifetimes;
use super::overflow::Sites;
use super::packet::{Kind, Packet};
use flow::{End, Flow, To};
use servers::Known;

/// The front and its books.
pub(super) struct Decider {
    front: Front,
    /// By backend.
    servers: Vec<Known>,
    sites: Option<Sites>,
    /// The address of the service here.
    service: Ipv4Addr,
    /// Those of other sites' services that are taken here.
    accepted: Vec<Ipv4Addr>,
    flows: HashMap<SocketAddrV4, Flow>,
    /// By which connections end; none where each packet passes this process.
    ends: Option<Ends>,
    lifetimes: Lifetimes,
    /// Servers that are drained because the switch is.
    drained_with_it: Vec<BackendId>,
    connections_max: usize,
    counts: SwitchCounts,
    upstream: Option<Arc<Upstream>>,
    events: Events,
}

/// What a switch sees of connections.
fn signals(mode: Mode) -> Signals {
    match mode {
        Mode::Mac | Mode::Rewrite | Mode::Nat | Mode::Tunnel => Signals::SWITCH,
        Mode::Splice => Signals::SPLICE,
        Mode::SpliceAsymmetric => Signals::SPLICE_ASYMMETRIC,
    }
}

/// What chooses among the servers.
///
/// # Errors
/// When the policy is unknown, or asks for what a switch cannot see.
pub(super) fn front(config: &SwitchSettings, catalogue: &Catalogue) -> Result<Front, DispatchError> {
    let backends: Vec<_> = config.backends.iter().map(|backend| (backend.name.clone(), backend.weight)).collect();
    let reports = if config.reports.listen.is_some() { sojourn_report::SIGNALS } else { Signals::empty() };
    // The simulator's dispatchers bear the same name, so that both draw the same numbers.
    Front::new(&config.decider, &backends, catalogue, signals(config.mode) | reports, "dispatcher 0")
}

/// Waits for the decider; those who have it are soon done.
pub(super) fn lock(decider: &Mutex<Decider>) -> MutexGuard<'_, Decider> {
    decider.lock().expect("no thread panics while it decides")
}

impl Decider {
    /// A decider without connections, which hears by `ends` when they are over.
    pub(super) fn new(
        config: &SwitchSettings,
        catalogue: &Catalogue,
        ends: Option<Ends>,
        upstream: Option<Arc<Upstream>>,
        events: Events,
    ) -> Result<Decider, ServeError> {
        let mut front = front(config, catalogue)?;
        record(&mut front, config.record.as_deref(), config.record_limits, config.explain)?;
        let probes = config.health.probe != Probe::Off;
        for (backend, of) in front.backends().zip(&config.backends) {
            front.watch(backend, probes, config.reports.listen.is_some(), Time::ZERO);
            front.learn(backend, News::Drained(config.drain.contains(&of.name)), Time::ZERO);
        }
        let reports_dropped = config.reports.listen.map(|_| Dropped::default());
        let spliced = config.mode.is_spliced().then(SpliceCounts::default);
        Ok(Decider {
            front,
            servers: config.backends.iter().map(Known::new).collect(),
            sites: Sites::new(config)?,
            service: *config.service.ip(),
            accepted: config.accept.iter().map(|accepted| accepted.service).collect(),
            flows: HashMap::new(),
            ends,
            lifetimes: lifetimes(config),
            drained_with_it: Vec::new(),
            connections_max: config.connections as usize,
            counts: SwitchCounts { reports_dropped, spliced, ..SwitchCounts::default() },
            upstream,
            events,
        })
    }

    /// Learns the marks of the servers and the connections that are open there.
    pub(super) fn begin(&mut self, marks: &BTreeMap<Ipv4Addr, Mark>, open: HashMap<SocketAddrV4, Mark>, now: Time) {
        let mut known = HashMap::new();
        for (index, server) in self.servers.iter_mut().enumerate() {
            let backend = BackendId(index as u32);
            server.mark = marks[&server.address];
            known.insert(server.mark, To::Server(backend));
        }
        if let Some(sites) = &mut self.sites {
            known.extend(sites.begin(|place| marks[&place]).into_iter().map(|(mark, site)| (mark, To::Site(site))));
        }
        self.counts.inherited = open.len() as u64;
        let mut open: Vec<_> = open.into_iter().collect();
        // In an order that a second start with the same connections has too.
        open.sort();
        for (client, mark) in open {
            let to = known.get(&mark).copied();
            match to {
                Some(To::Server(backend)) => {
                    self.front.observe(Event::Inherited { backend }, now);
                    self.front.observe(Event::Opened { backend }, now);
                    self.servers[backend.0 as usize].open += 1;
                }
                Some(To::Site(site)) => self.sites_mut().inherit(site, now),
                None => {}
            }
            self.flows.insert(client, Flow::new(mark, to, now));
        }
    }

    /// The verdict on a packet: the mark with which it passes.
    pub(super) fn decide(&mut self, head: &[u8], mark: u32, now: Time) -> u32 {
        let Some(packet) = Packet::read(head) else { return UNDECIDED };
        match packet.kind {
            Kind::Opens => {
                self.hear_ends(now);
                self.open(packet.client, packet.service != self.service, now)
            }
            Kind::Complains => self.flows.get(&packet.client).map_or(UNDECIDED, |flow| flow.mark.decided()),
            Kind::Closes | Kind::Within => mark,
        }
    }

    /// Says where a new connection goes; `comes_from_site`: another site could not take it.
    fn open(&mut self, client: SocketAddrV4, comes_from_site: bool, now: Time) -> u32 {
        // A SYN that was sent again before the first one's verdict goes where that one goes.
        if let Some(flow) = self.flows.get(&client)
            && now.saturating_since(flow.since) < self.lifetimes.opening
            && flow.to.is_some_and(|to| self.stands(to))
        {
            return flow.mark.decided();
        }
        self.end(client, End::Forgotten, now);
        // What was not set up is still to be forgotten: the books are no larger than the kernel's.
        if self.flows.len() >= self.connections_max {
            self.counts.full += 1;
            return UNDECIDED;
        }
        let request = Request { client: key(&client.ip().to_string()), ..Request::default() };
        let why = match self.forward(client, &request, &[], now) {
            Ok(backend) => {
                self.counts.accepted += u64::from(comes_from_site);
                return self.servers[backend.0 as usize].mark.decided();
            }
            Err(why) => why,
        };
        let sites = self.sites.as_mut().filter(|_| !comes_from_site);
        let Some((site, mark)) = sites.and_then(|sites| sites.choose(&request, now)) else {
            self.refuse(why);
            return REFUSED;
        };
        self.counts.overflowed += 1;
        self.flows.insert(client, Flow::new(mark, Some(To::Site(site)), now));
        mark.decided()
    }

    /// Whether what has been chosen can still be.
    fn stands(&self, to: To) -> bool {
        match to {
            // One that is full now may be so by this very connection.
            To::Server(backend) => self.front.table().state(backend) == State::Up,
            To::Site(_) => true,
        }
    }

    fn refuse(&mut self, why: Code) {
        self.counts.refused += 1;
        self.counts.over_limit += u64::from(why == Code::Full);
    }

    fn forward(
        &mut self,
        client: SocketAddrV4,
        request: &Request,
        tried: &[BackendId],
        now: Time,
    ) -> Result<BackendId, Code> {
        let decision = self.front.choose(request, tried, now);
        let backend = decision.forwarded_to().ok_or(decision.reason.code)?;
        self.front.observe(Event::Sent { backend }, now);
        self.front.observe(Event::Opened { backend }, now);
        let server = &mut self.servers[backend.0 as usize];
        server.connections += 1;
        server.open += 1;
        self.counts.connections += 1;
        self.flows.insert(client, Flow::new(server.mark, Some(To::Server(backend)), now));
        Ok(backend)
    }

    /// Says something that happened.
    pub(super) fn say(&self, event: &Value) {
        self.events.emit(event);
    }
}
