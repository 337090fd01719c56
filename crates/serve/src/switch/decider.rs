//! What a switch knows besides the rules: the dispatcher, the connections that count at it, and the state of each server.
//!
//! The kernel's map is the truth about which connections there are; this one is what the dispatcher was told. They are
//! compared from time to time, so that what was idle for too long, or never came to be, is told as well.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Value, json};
use sojourn_bed::Events;
use sojourn_dispatch::{BackendId, Dispatcher, Event, Information, Request, Signals, State, Table, key};
use sojourn_stats::{Span, Time};

use super::counts::{ServerCounts, ServerLoad, SpliceCounts, SwitchCounts};
use super::overflow::Sites;
use super::packet::{Kind, Packet};
use super::record::record;
use super::rules::{self, Mark, REFUSED, UNDECIDED};
use super::{Lifetimes, Mode, Probe, SwitchConfig, address};
use crate::report::{self, Dropped, Told};
use crate::upstream::Upstream;
use crate::{ServeError, clock};

/// Longest time between two comparisons with the kernel's connections.
const COMPARED: Span = Span(5_000_000_000);

/// The dispatcher and its books.
pub(super) struct Decider {
    dispatcher: Dispatcher,
    /// By backend.
    servers: Vec<Known>,
    sites: Option<Sites>,
    /// The address of the service here; other addresses are those of other sites.
    service: Ipv4Addr,
    flows: HashMap<SocketAddrV4, Flow>,
    lifetimes: Lifetimes,
    /// Whether it finds out by itself which servers are up.
    probes: bool,
    connections_max: usize,
    counts: SwitchCounts,
    upstream: Option<Arc<Upstream>>,
    events: Events,
}

/// What is known of a server.
struct Known {
    name: String,
    address: Ipv4Addr,
    mark: Mark,
    is_drained: bool,
    is_down: bool,
    /// Probes that failed in a row.
    failed: u32,
    connections: u64,
    open: u64,
}

/// A connection.
struct Flow {
    mark: Mark,
    /// None where the server is not on the list any more.
    to: Option<To>,
    since: Time,
}

/// Where a connection goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum To {
    Server(BackendId),
    Site(BackendId),
}

/// How a connection ended.
#[derive(Clone, Copy)]
enum End {
    Closed,
    Forgotten,
    /// The server did not accept it.
    Failed,
}

/// What a switch sees of connections.
fn signals(mode: Mode) -> Signals {
    match mode {
        Mode::Mac | Mode::Rewrite | Mode::Nat | Mode::Tunnel => Signals::SWITCH,
        Mode::Splice => Signals::SPLICE,
        Mode::SpliceAsymmetric => Signals::SPLICE_ASYMMETRIC,
    }
}

/// Waits for the decider; those who have it are soon done.
pub(super) fn lock(decider: &Mutex<Decider>) -> MutexGuard<'_, Decider> {
    decider.lock().expect("no thread panics while it decides")
}

/// The backends of a switch.
pub(super) fn ids(config: &SwitchConfig) -> impl Iterator<Item = BackendId> + use<> {
    (0..config.backends.len() as u32).map(BackendId)
}

/// Compares with the kernel's connections for as long as it is polled.
pub(super) async fn keep_books(decider: Arc<Mutex<Decider>>, lifetimes: Lifetimes) {
    let Lifetimes { opening, open, closing } = lifetimes;
    let every = opening.min(open).min(closing).min(COMPARED);
    loop {
        tokio::time::sleep(every.as_std()).await;
        let asked = clock::now();
        // A list that cannot be had now is had the next time.
        if let Ok(Ok(known)) = tokio::task::spawn_blocking(rules::connections).await {
            lock(&decider).compare(&known, asked);
        }
    }
}

impl Decider {
    /// A decider without connections.
    pub(super) fn new(
        config: &SwitchConfig,
        upstream: Option<Arc<Upstream>>,
        events: Events,
    ) -> Result<Decider, ServeError> {
        let backends: Vec<_> = config.backends.iter().map(|backend| (backend.name.clone(), backend.weight)).collect();
        let SwitchConfig { catalogue, policy, seed, .. } = config;
        // The simulator's dispatchers bear the same name, so that both draw the same numbers.
        let (fresh, name) = (Information::Immediate, "dispatcher 0");
        let reports = if config.reports.is_some() { report::SIGNALS } else { Signals::empty() };
        let signals = signals(config.mode) | reports;
        let mut dispatcher = Dispatcher::from_catalogue(catalogue, policy, &backends, fresh, signals, *seed, name)?;
        if let Some(path) = &config.record {
            record(&mut dispatcher, path, config.explain)?;
        }
        if let Some(limit) = config.limit {
            dispatcher.limit(limit)?;
        }
        let servers = config.backends.iter().map(|backend| Known {
            name: backend.name.clone(),
            address: address(backend),
            mark: Mark(0),
            is_drained: config.drained.contains(&backend.name),
            is_down: false,
            failed: 0,
            connections: 0,
            open: 0,
        });
        let (servers, flows) = (servers.collect(), HashMap::new());
        let reports_dropped = config.reports.as_ref().map(|_| Dropped::default());
        let spliced = config.mode.is_spliced().then(SpliceCounts::default);
        let counts = SwitchCounts { reports_dropped, spliced, ..SwitchCounts::default() };
        let (lifetimes, probes) = (config.lifetimes, config.health.probe != Probe::Off);
        let connections_max = config.connections as usize;
        let (sites, service) = (Sites::new(config)?, *config.service.ip());
        Ok(Decider {
            dispatcher,
            servers,
            sites,
            service,
            flows,
            lifetimes,
            probes,
            connections_max,
            counts,
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
            if server.is_drained {
                self.dispatcher.observe(Event::Draining { backend }, now);
            }
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
                    self.dispatcher.observe(Event::Inherited { backend }, now);
                    self.dispatcher.observe(Event::Opened { backend }, now);
                    self.servers[backend.0 as usize].open += 1;
                }
                Some(To::Site(site)) => self.sites_mut().inherit(site, now),
                None => {}
            }
            self.flows.insert(client, Flow { mark, to, since: now });
        }
    }

    /// The verdict on a packet: the mark with which it passes.
    pub(super) fn decide(&mut self, head: &[u8], mark: u32, now: Time) -> u32 {
        let Some(packet) = Packet::read(head) else { return UNDECIDED };
        match packet.kind {
            Kind::Opens => self.open(packet.client, packet.service != self.service, now),
            Kind::Closes => {
                self.end(packet.client, End::Closed, now);
                mark
            }
            Kind::Complains => self.flows.get(&packet.client).map_or(UNDECIDED, |flow| flow.mark.decided()),
            Kind::Within => mark,
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
        if let Some(backend) = self.forward(client, &request, &[], now) {
            self.counts.accepted += u64::from(comes_from_site);
            return self.servers[backend.0 as usize].mark.decided();
        }
        let sites = self.sites.as_mut().filter(|_| !comes_from_site);
        let Some((site, mark)) = sites.and_then(|sites| sites.choose(&request, now)) else {
            self.counts.refused += 1;
            return REFUSED;
        };
        self.counts.overflowed += 1;
        self.flows.insert(client, Flow { mark, to: Some(To::Site(site)), since: now });
        mark.decided()
    }

    /// Whether what has been chosen can still be.
    fn stands(&self, to: To) -> bool {
        match to {
            // One that is full now may be so by this very connection.
            To::Server(backend) => self.dispatcher.table().state(backend) == State::Up,
            To::Site(_) => true,
        }
    }

    /// Gives a client's connection to a server that was not tried for it, if one may be chosen; else it is refused.
    pub(super) fn choose(
        &mut self,
        client: SocketAddrV4,
        request: &Request,
        tried: &[BackendId],
        now: Time,
    ) -> Option<BackendId> {
        let chosen = self.forward(client, request, tried, now);
        self.counts.refused += u64::from(chosen.is_none());
        chosen
    }

    fn forward(
        &mut self,
        client: SocketAddrV4,
        request: &Request,
        tried: &[BackendId],
        now: Time,
    ) -> Option<BackendId> {
        let backend = self.dispatcher.choose(request, tried, now).forwarded_to()?;
        self.dispatcher.observe(Event::Sent { backend }, now);
        self.dispatcher.observe(Event::Opened { backend }, now);
        let server = &mut self.servers[backend.0 as usize];
        server.connections += 1;
        server.open += 1;
        self.counts.connections += 1;
        self.flows.insert(client, Flow { mark: server.mark, to: Some(To::Server(backend)), since: now });
        Some(backend)
    }

    /// A server has not accepted the connection that it was given. One that refuses is taken out until a probe succeeds.
    pub(super) fn fail(&mut self, client: SocketAddrV4, is_refused: bool, now: Time) {
        let to = self.flows.get(&client).and_then(|flow| flow.to);
        self.end(client, End::Failed, now);
        if let Some(To::Server(backend)) = to
            && is_refused
            && self.probes
        {
            self.struck(backend, 1, 1, "no program listens there", now);
        }
    }

    /// A connection has come to its end.
    pub(super) fn close(&mut self, client: SocketAddrV4, now: Time) {
        self.end(client, End::Closed, now);
    }

    /// A connection is not known any more.
    pub(super) fn forget(&mut self, client: SocketAddrV4, now: Time) {
        self.end(client, End::Forgotten, now);
    }

    /// What replies tell, where they pass.
    pub(super) fn tell(&mut self, event: Event, now: Time) {
        self.dispatcher.observe(event, now);
    }

    /// What is counted where packets are spliced.
    pub(super) fn spliced(&mut self) -> &mut SpliceCounts {
        self.counts.spliced.get_or_insert_default()
    }

    /// Ends a connection, if it is known.
    fn end(&mut self, client: SocketAddrV4, end: End, now: Time) {
        let Some(flow) = self.flows.remove(&client) else { return };
        match end {
            End::Closed => self.counts.closed += 1,
            End::Forgotten => self.counts.forgotten += 1,
            End::Failed => self.counts.connections -= 1,
        }
        let Some(to) = flow.to else { return };
        let (To::Server(backend) | To::Site(backend)) = to;
        let event = match end {
            End::Closed => {
                // What the server said does not pass here.
                let latency = now.saturating_since(flow.since);
                Event::Completed { backend, status: 200, bytes: 0, latency }
            }
            End::Forgotten => Event::Cancelled { backend },
            End::Failed => Event::Failed { backend, after: now.saturating_since(flow.since) },
        };
        match to {
            To::Server(_) => {
                self.dispatcher.observe(event, now);
                self.dispatcher.observe(Event::Closed { backend }, now);
                let server = &mut self.servers[backend.0 as usize];
                server.open -= 1;
                server.connections -= u64::from(matches!(end, End::Failed));
            }
            To::Site(_) => self.sites_mut().end(event, now),
        }
    }

    fn sites_mut(&mut self) -> &mut Sites {
        self.sites.as_mut().expect("only a switch with other sites passes connections on")
    }

    /// Ends those that the kernel, which was asked at `asked`, does not know.
    fn compare(&mut self, known: &HashSet<SocketAddrV4>, asked: Time) {
        let unknown = self.flows.iter().filter(|(client, flow)| flow.since < asked && !known.contains(client));
        let mut unknown: Vec<_> = unknown.map(|(client, _)| *client).collect();
        unknown.sort();
        let now = clock::now();
        for client in unknown {
            self.end(client, End::Forgotten, now);
        }
        let of_sites = self.sites.as_ref().and_then(Sites::record_error);
        if let Some(why) = self.dispatcher.record_error().map(ToString::to_string).or(of_sites)
            && self.counts.records_failed == 0
        {
            self.record_failed(&why);
        }
    }

    /// A server has answered a probe; gives its mark where that brings it back.
    pub(super) fn probed(&mut self, backend: BackendId, now: Time) -> Option<Mark> {
        let server = &mut self.servers[backend.0 as usize];
        server.failed = 0;
        if !std::mem::replace(&mut server.is_down, false) {
            return None;
        }
        let event = if server.is_drained { Event::Draining { backend } } else { Event::Joined { backend } };
        self.dispatcher.observe(event, now);
        self.events.emit(&json!({"event": "backend_up", "backend": server.name}));
        self.upstream.iter().for_each(|upstream| upstream.changed());
        Some(server.mark)
    }

    /// So many more probes failed; gives the mark of a server that is taken out by them, after `fall` in a row.
    pub(super) fn struck(&mut self, backend: BackendId, times: u32, fall: u32, why: &str, now: Time) -> Option<Mark> {
        let server = &mut self.servers[backend.0 as usize];
        server.failed = server.failed.saturating_add(times);
        if server.failed < fall || std::mem::replace(&mut server.is_down, true) {
            return None;
        }
        self.dispatcher.observe(Event::Down { backend }, now);
        self.events.emit(&json!({"event": "backend_down", "backend": server.name, "why": why}));
        self.upstream.iter().for_each(|upstream| upstream.changed());
        Some(server.mark)
    }

    /// What it has done so far, and how old what it was told is now.
    pub(super) fn counts(&self, now: Time) -> SwitchCounts {
        let backends = self.servers.iter().enumerate().map(|(index, server)| ServerCounts {
            name: server.name.clone(),
            connections: server.connections,
            open: server.open,
            up: !server.is_down && !server.is_drained,
            load: self.load(BackendId(index as u32), now),
        });
        let upstream = self.upstream.as_ref().map(|upstream| upstream.counts());
        let sites = self.sites.as_ref().map_or_else(Vec::new, Sites::counts);
        SwitchCounts { backends: backends.collect(), upstream, sites, ..self.counts.clone() }
    }

    /// Connections that are open at its servers.
    pub(super) fn open_now(&self) -> u64 {
        self.servers.iter().map(|server| server.open).sum()
    }

    /// What is known of its servers.
    pub(super) fn table(&self) -> &Table {
        self.dispatcher.table()
    }

    fn load(&self, backend: BackendId, now: Time) -> Option<ServerLoad> {
        let table = self.dispatcher.table();
        let (report, age) = table.report(backend).zip(table.report_age(backend, now))?;
        Some(ServerLoad {
            age_s: age.as_secs_f64(),
            in_flight: report.in_flight,
            cpu: report.cpu,
            capacity_per_s: report.capacity,
            room_per_s: report.room,
        })
    }

    /// Takes what reports tell. A switch that probes its servers knows better than their silence whether they are up:
    /// silence is only said then. Without probes a silent server gets no new connection until it is heard again.
    pub(super) fn hear(&mut self, told: &[Told], now: Time) {
        for told in told {
            let news = told.news();
            if let Some((event, backend)) = news {
                self.events.emit(&json!({"event": event, "backend": self.servers[backend.0 as usize].name}));
            }
            if news.is_none() || !self.probes {
                told.tell(&mut self.dispatcher, now);
            }
        }
        self.upstream.iter().for_each(|upstream| upstream.hear(told));
    }

    /// Notes how many reports were not believed so far.
    pub(super) fn count_dropped(&mut self, dropped: Dropped) {
        self.counts.reports_dropped = Some(dropped);
    }

    /// Ends the record.
    pub(super) fn finish(&mut self) {
        let of_sites = self.sites.as_mut().map_or(Ok(()), Sites::finish);
        if let Err(error) = self.dispatcher.finish_record().and(of_sites)
            && self.counts.records_failed == 0
        {
            self.record_failed(&error.to_string());
        }
    }

    /// Says something that happened.
    pub(super) fn say(&self, event: &Value) {
        self.events.emit(event);
    }

    fn record_failed(&mut self, why: &str) {
        self.counts.records_failed += 1;
        self.events.emit(&json!({"event": "record_failed", "why": why}));
    }
}

#[cfg(test)]
mod tests {
    use sojourn_dispatch::Limit;

    use super::*;
    use crate::Backend;

    /// The head of a first packet, from this port of 10.0.0.1.
    fn syn(port: u16) -> Vec<u8> {
        let mut head = vec![0; 40];
        (head[0], head[9], head[33]) = (0x45, 6, 2);
        head[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 1, 100]);
        head[20..22].copy_from_slice(&port.to_be_bytes());
        head
    }

    /// A SYN that is sent again before its first verdict goes where that one goes, although its server is full by it.
    #[test]
    fn a_repeated_first_packet_does_not_count_twice() {
        let address = "10.0.1.11:80".parse().unwrap();
        let service = SocketAddrV4::new(Ipv4Addr::new(10, 0, 1, 100), 80);
        let mut config = SwitchConfig::new(service, "round-robin", vec![Backend::new("web-1", address)]);
        config.limit = Some(Limit::new(1, 0).unwrap());
        let mut decider = Decider::new(&config, None, Events::nowhere()).unwrap();
        decider.begin(&BTreeMap::from([(Ipv4Addr::new(10, 0, 1, 11), Mark(1))]), HashMap::new(), Time::ZERO);
        let first = decider.decide(&syn(5000), 0, Time::ZERO);
        assert_eq!(first, Mark(1).decided());
        assert_eq!(decider.decide(&syn(5000), 0, Time(1)), first);
        assert_eq!(decider.decide(&syn(5001), 0, Time(2)), REFUSED);
        let counts = decider.counts(clock::now());
        assert_eq!((counts.connections, counts.refused, counts.forgotten), (1, 1, 0), "{counts:?}");
    }
}
