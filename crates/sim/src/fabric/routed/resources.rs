//! What a request visits at its server: the processor, then the disk and the network; and where the bytes of a file come from.
//!
//! | the file is | what is visited |
//! |---|---|
//! | in the server's memory | no disk |
//! | on the server's own disk | this disk |
//! | in the memory of the server that owns it | no disk; the file crosses the network |
//! | on that server's disk | that disk, at the rate of remote reads; then the file crosses the network |
//!
//! Files are dealt to the servers in turn, and each is kept in the memory that it went through, the least recently used goes
//! first. A server that has fetched a file often enough has it on its own disk from then on, where that is said ([`Copies`]);
//! its own decider alone knows. To write the copy takes no time. A file crosses the network over the link that the paths
//! of its region share, or else in the time that the cluster's
//! link takes for it, without waiting. A server that goes down loses its memory, its copies and the reads from its disk.
//!
//! Andresen, Yang, Holmedahl, Ibarra, SWEB: towards a scalable World Wide Web server on multicomputers, IPPS 1996, sections
//! 3.3 and 4.1, whose bound counts the same two rates. The price: a file is read whole before its first byte leaves, and
//! memory holds nothing but files.

use sojourn_dispatch::BackendId;
use sojourn_model::{Admission, Copies, FileCache, Server, Station, System};
use sojourn_stats::Span;

use super::super::deciders::{Decider, Next};
use super::freezable::Freezable;
use super::{Route, Routed};
use crate::control::SimError;
use crate::requests::jobs::{Job, Stage};
use crate::requests::{Cx, What};

/// Files on disks, and what is in memory.
pub(super) struct Storage {
    /// The stage of the disk at each server.
    disks: Vec<usize>,
    /// How many files there are, dealt to the servers in turn; none: every server has all of them.
    files: Option<u32>,
    /// Bytes per second of the disk of another server, if it is not that disk's own rate.
    remote_rate: Option<f64>,
    /// Bytes per second of the cluster's link; none: nothing limits it.
    link_rate: Option<f64>,
    /// By server; none where nothing is cached.
    memory: Vec<Option<FileCache>>,
    /// By server; empty where nothing is copied.
    copies: Vec<Copies<u32>>,
}

/// Where the bytes of a file come from.
enum Source {
    /// The server's own memory.
    Memory,
    /// A disk, and the time that it takes there; `owner` where it is another server's.
    Disk { host: usize, work: Span, owner: Option<u32> },
    /// Another server's memory.
    Elsewhere { owner: u32 },
}

impl Storage {
    /// None where servers have no files of their own and no memory.
    pub(super) fn new(system: &System) -> Option<Storage> {
        let machines = || system.servers().filter_map(|server| server.machine.as_deref());
        if machines().all(|machine| machine.files.is_none() && machine.memory.is_none()) {
            return None;
        }
        let files = machines().find_map(|machine| machine.files);
        let memory = |server: &Server| {
            let memory = server.machine.as_ref().and_then(|machine| machine.memory)?;
            Some(FileCache::new(memory.size))
        };
        Some(Storage {
            disks: system.servers().map(|server| disk(server).expect("what has files has a disk")).collect(),
            files: files.map(|files| files.number),
            remote_rate: files.and_then(|files| files.remote_rate),
            link_rate: system.network.cluster_link().rate.map(|bits| bits / 8.0),
            memory: system.servers().map(memory).collect(),
            copies: files
                .and_then(|files| files.copies)
                .map_or(Vec::new(), |rules| vec![Copies::new(rules); system.hosts.len()]),
        })
    }

    /// The server that owns a file; none where all do.
    fn owner(&self, file: u32) -> Option<usize> {
        self.files.map(|_| file as usize % self.disks.len())
    }

    /// Owners of all files, by file.
    pub(super) fn owners(&self) -> impl Iterator<Item = (u32, usize)> + '_ {
        (0..self.files.unwrap_or(0)).filter_map(|file| Some((file, self.owner(file)?)))
    }

    /// Whether a server has a copy of a file that another one owns.
    fn has_copy(&mut self, host: usize, file: u32) -> bool {
        self.copies.get_mut(host).is_some_and(|copies| copies.has(&file))
    }

    fn has(&mut self, host: usize, file: u32) -> bool {
        self.memory[host].as_mut().is_some_and(|memory| memory.has(file))
    }

    fn keep(&mut self, host: usize, file: u32, bytes: u64) {
        self.memory[host].iter_mut().for_each(|memory| memory.keep(file, bytes));
    }

    /// A server went down. Gives the files that it has no copy of any more.
    pub(super) fn forget(&mut self, host: usize) -> Vec<u32> {
        self.memory[host].iter_mut().for_each(FileCache::clear);
        self.copies.get_mut(host).map_or(Vec::new(), Copies::clear)
    }

    /// Where `bytes` of a file come from, for a request at `host`.
    fn source(&mut self, host: usize, file: u32, bytes: u64, servers: &[Server]) -> Source {
        if self.has(host, file) {
            return Source::Memory;
        }
        let has_copy = self.has_copy(host, file);
        match self.owner(file).filter(|owner| *owner != host && !has_copy) {
            None => Source::Disk { host, work: work_at(&servers[host], self.disks[host], bytes), owner: None },
            Some(owner) if self.has(owner, file) => Source::Elsewhere { owner: owner as u32 },
            Some(at) => {
                let work = match self.remote_rate {
                    Some(rate) => Span::from_secs_f64(bytes as f64 / rate),
                    None => work_at(&servers[at], self.disks[at], bytes),
                };
                Source::Disk { host: at, work, owner: Some(at as u32) }
            }
        }
    }
}

/// Refuses what cannot be read.
///
/// # Errors
/// Where a server with files or memory has no disk, servers of several regions own files, or the objects that are asked for
/// are not the files.
pub(super) fn check(system: &System, objects: usize) -> Result<(), SimError> {
    let machines = || system.servers().filter_map(|server| server.machine.as_deref());
    let files = machines().find_map(|machine| machine.files);
    if files.is_none() && machines().all(|machine| machine.memory.is_none()) {
        return Ok(());
    }
    let wrong = |what: String| Err(SimError::NotYet(what));
    if system.servers().any(|server| disk(server).is_none()) {
        return wrong("files or memory of servers without a disk: give each `resources.disk`".into());
    }
    let mut regions = system.hosts.iter().map(|host| system.region_of(host.site));
    let first = regions.next();
    if files.is_some() && regions.any(|region| Some(region) != first) {
        return wrong(
            "files of one owner each whose owners are in several regions: a file crosses the network of one region, so put all \
             servers in one, or leave `files` out where each has all of them"
                .into(),
        );
    }
    match files.map(|files| files.number) {
        Some(number) if number as usize != objects => wrong(format!(
            "{number} files where the workload asks for {objects} objects: write size = \"documents(n = {number}, ...)\", so \
             that each file has a size of its own"
        )),
        None if objects == 0 => wrong(
            "memory that caches what is asked for once: write size = \"documents(n = 60, ...)\", so that there are files".into(),
        ),
        _ => Ok(()),
    }
}

impl Routed {
    /// A request comes to its present stage at its server.
    pub(super) fn visit(&mut self, slot: u32, cx: &mut Cx) {
        let job = &mut cx.jobs.slab[slot as usize];
        let host = job.choice.server as usize;
        let (stage, file) = (self.routes[slot as usize].stage, self.routes[slot as usize].asked.object);
        let (at, work) = match (stage, &mut self.storage) {
            (0, _) => {
                if let Some(predictor) = &mut self.predictor {
                    let (station, now) = self.stations[self.stages[host][0]].at(cx.now);
                    predictor.predict(slot, job, &self.servers[host], station, now);
                }
                (host, job.service)
            }
            (stage, Some(storage)) if storage.disks[host] == stage => {
                match storage.source(host, file, job.size, &self.servers) {
                    Source::Memory => return self.moves_on(slot, cx),
                    Source::Elsewhere { owner } => {
                        self.routes[slot as usize].fetches = Some(owner);
                        return self.crosses(slot, cx);
                    }
                    Source::Disk { host, work, owner } => {
                        self.routes[slot as usize].fetches = owner;
                        (host, work)
                    }
                }
            }
            (stage, _) => (host, work_at(&self.servers[host], stage, job.size)),
        };
        let owner = self.routes[slot as usize].fetches.map(|owner| owner as usize);
        if owner.is_some_and(|owner| self.is_down[owner]) {
            self.leave_server(slot, cx);
            return self.deny(slot, cx);
        }
        let stage = if at == host { stage } else { self.storage.as_ref().map_or(stage, |storage| storage.disks[at]) };
        if self.enter_station(slot, self.stages[at][stage], work, cx) && stage == 0 {
            self.report(cx.now, |reporting, view| reporting.arrived(host as u32, view));
        }
    }

    /// Whether a station takes a request; one that has no place denies it.
    fn enter_station(&mut self, slot: u32, number: usize, work: Span, cx: &mut Cx) -> bool {
        let job = &mut cx.jobs.slab[slot as usize];
        let station = &mut self.stations[number];
        let due = station.next_departure();
        let Admission::Admitted(ticket) = station.arrive_of(job.class, cx.now, u64::from(slot), work) else {
            self.deny(slot, cx);
            return false;
        };
        (job.ticket, job.stage) = (ticket, Stage::AtServer);
        if station.next_departure() != due {
            self.timers.set(number, station.next_departure());
        }
        let route = &mut self.routes[slot as usize];
        (route.station, route.service) = (number, route.service + work);
        true
    }

    /// A request has visited its present stage.
    pub(super) fn has_visited(&mut self, slot: u32, cx: &mut Cx) {
        let Job { choice, size, .. } = cx.jobs.slab[slot as usize];
        let Route { stage, fetches, asked, .. } = &self.routes[slot as usize];
        let (host, stage, file, fetches) = (choice.server as usize, *stage, asked.object, *fetches);
        if let Some(storage) = self.storage.as_mut().filter(|storage| stage > 0 && storage.disks[host] == stage) {
            storage.keep(fetches.map_or(host, |owner| owner as usize), file, size);
            if fetches.is_some() {
                return self.crosses(slot, cx);
            }
        }
        self.moves_on(slot, cx);
    }

    /// A file sets out from the server that owns it.
    fn crosses(&mut self, slot: u32, cx: &mut Cx) {
        let Job { choice, size, .. } = cx.jobs.slab[slot as usize];
        let region = self.places.region_of_host(choice.server as usize);
        if let Some((medium, rate)) = self.places.medium_between(region, region) {
            let owner = self.routes[slot as usize].fetches.expect("it comes from there");
            if self.carries(slot, owner, rate, cx) {
                return;
            }
            let work = Span::from_secs_f64(8.0 * size as f64 / rate).max(Span(1));
            self.enter_station(slot, self.first_medium + medium, work, cx);
            return;
        }
        let rate = self.storage.as_ref().and_then(|storage| storage.link_rate);
        let takes = rate.map_or(Span::ZERO, |rate| Span::from_secs_f64(size as f64 / rate)) + self.cluster_delay;
        match takes {
            Span::ZERO => self.fetched(slot, cx),
            takes => cx.later(cx.now + takes, What::Fetched, slot),
        }
    }

    /// A file from another server is here.
    pub(super) fn fetched(&mut self, slot: u32, cx: &mut Cx) {
        let Job { choice, size, .. } = cx.jobs.slab[slot as usize];
        let route = &mut self.routes[slot as usize];
        route.fetches = None;
        let file = route.asked.object;
        let host = choice.server as usize;
        if let Some(storage) = &mut self.storage {
            storage.keep(host, file, size);
            if let Some(copies) = storage.copies.get_mut(host)
                && copies.is_due(&file, size, cx.now)
            {
                let gone = copies.keep(file, size);
                self.tell_copies(host, &[file], true);
                self.tell_copies(host, &gone, false);
            }
        }
        self.moves_on(slot, cx);
    }

    /// The deciders on a server hear which files it has a copy of, or has none of any more.
    pub(super) fn tell_copies(&mut self, host: usize, files: &[u32], is_there: bool) {
        let Routed { deciders, storage, .. } = self;
        let Some(storage) = storage else { return };
        for Decider { balancer, targets, here, .. } in deciders.iter_mut().filter(|of| of.host == Some(host as u32)) {
            for file in files {
                let owner = storage.owner(*file).map(|owner| Next::Server(owner as u32));
                let owner = targets.iter().position(|next| Some(*next) == owner).map(|at| at as u32);
                let holders: Vec<BackendId> =
                    owner.into_iter().chain(here.filter(|_| is_there)).map(BackendId).collect();
                balancer.set_owners(*file, &holders);
            }
        }
    }

    /// A request goes on to the next stage, or out.
    fn moves_on(&mut self, slot: u32, cx: &mut Cx) {
        let job = &mut cx.jobs.slab[slot as usize];
        let (host, planned, size, client) = (job.choice.server as usize, job.planned, job.size, job.client);
        job.stage = Stage::Forwarded;
        let route = &mut self.routes[slot as usize];
        if route.stage + 1 < self.stages[host].len() {
            route.stage += 1;
            return self.visit(slot, cx);
        }
        let Route { waited, service, came, .. } = *route;
        cx.tally.served(planned, waited + self.outages.stood(host as u32, came, cx.now), service);
        let (stayed, machine) = (cx.now - came, self.places.machine(client));
        self.report(cx.now, |reporting, view| reporting.served(host as u32, machine, size, stayed, view));
        self.leaves_server(slot, host, size, cx);
    }

    /// A request that is at its server goes away from it before its end, wherever it is there.
    pub(super) fn leave_server(&mut self, slot: u32, cx: &mut Cx) {
        let Job { choice, ticket, stage, .. } = cx.jobs.slab[slot as usize];
        let Route { station: number, fetches, .. } = self.routes[slot as usize];
        match stage {
            Stage::AtServer => {
                let station = &mut self.stations[number];
                station.cancel(cx.now, ticket);
                self.timers.set(number, station.next_departure());
            }
            Stage::Forwarded if fetches.is_some() => {}
            _ => return,
        }
        self.routes[slot as usize].fetches = None;
        self.report(cx.now, |reporting, _| reporting.cancelled(choice.server));
    }
}

/// The stations of each server, by its resources, and all of them: the processors first, in the order of the servers.
pub(super) fn stations(servers: &[Server]) -> (Vec<Vec<usize>>, Vec<Freezable>) {
    let mut stations: Vec<Station> =
        servers.iter().map(|server| Station::new(server.discipline.clone(), server.cores, server.capacity)).collect();
    let mut stages: Vec<Vec<usize>> = (0..servers.len()).map(|server| vec![server]).collect();
    for (server, stages) in servers.iter().zip(&mut stages) {
        for resource in server.machine.iter().flat_map(|machine| &machine.resources[1..]) {
            stages.push(stations.len());
            stations.push(Station::new(resource.discipline.clone(), 1, None));
        }
    }
    (stages, stations.into_iter().map(Freezable::new).collect())
}

/// The stage of a server's disk.
fn disk(server: &Server) -> Option<usize> {
    server.machine.as_ref()?.resources.iter().position(|resource| resource.name == "disk")
}

/// The work of `size` bytes at stage `stage` of a server, which is not its processor.
fn work_at(server: &Server, stage: usize, size: u64) -> Span {
    let resource = server.machine.as_ref().and_then(|machine| machine.resources.get(stage));
    let rate = resource.and_then(|resource| resource.rate).expect("a resource beside the processor has a rate");
    Span::from_secs_f64(size as f64 / rate)
}
