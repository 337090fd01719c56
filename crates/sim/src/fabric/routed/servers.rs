//! The servers: their connections, their files and memory, and where the bytes of a file come from.
//!
//! A request visits the processor of its server, then the disk and the network.
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
//!
//! A connection lasts from when a server takes a request until its reply has arrived, whatever it waits for. A server that has
//! as many as it may refuses the next request at its door; a client that fails over asks the next address.
//! What is redirected takes none. This is a server that gives each connection a process of its own until the last byte is
//! gone. The price: a refusal takes no time, where a kernel would keep the connection waiting for a while.

use sojourn_model::{Copies, FileCache, Knowledge, Server, System};
use sojourn_stats::{Span, Time};

use super::route::Route;
use super::stations::Stations;
use crate::control::SimError;
use crate::requests::jobs::Job;
use crate::requests::prediction::Predictor;

/// All servers of a system.
pub(super) struct Servers {
    all: Vec<Server>,
    speeds_differ: bool,
    /// Connections of servers; none where no server has a limit of them.
    connections: Option<Connections>,
    /// Files and memory of servers; none where they have none of their own.
    storage: Option<Storage>,
    predictor: Option<Predictor>,
}

/// How many connections each server has, and may have.
struct Connections {
    open: Vec<u32>,
    most: Vec<u32>,
}

/// Files on disks, and what is in memory.
struct Storage {
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

/// What a request does at a stage of its server.
pub(super) enum Visit {
    /// Nothing: what it would read is in memory.
    Passes,
    /// It takes so long at a station; `owner` where that is the disk of another server.
    Works { station: usize, work: Span, owner: Option<u32> },
    /// What it reads comes from the memory of another server.
    Fetches { owner: u32 },
}

impl Servers {
    /// Those of `system`; `predict` says what is predicted from, and the mean demand.
    pub(super) fn new(system: &System, predict: Option<(Knowledge, Span)>) -> Servers {
        let all: Vec<Server> = system.servers().cloned().collect();
        Servers {
            speeds_differ: all.iter().any(|server| server.speed != 1.0),
            connections: Connections::new(&all),
            storage: Storage::new(system),
            predictor: predict.map(|(knows, demand_mean)| Predictor::new(knows, demand_mean)),
            all,
        }
    }

    pub(super) fn all(&self) -> &[Server] {
        &self.all
    }

    /// Whether what a server has no room for gets no answer.
    pub(super) fn drops_overflow(&self, host: usize) -> bool {
        self.all[host].drops_overflow
    }

    /// Core time that a demand is at a server.
    #[inline]
    pub(super) fn service_time(&self, host: usize, demand: Span) -> Span {
        if self.speeds_differ { self.all[host].service_time(demand) } else { demand }
    }

    /// How long a request would be at a server's processors if it came now.
    pub(super) fn response_time(&self, host: usize, job: &Job, stations: &Stations, now: Time) -> Span {
        let (station, own) = stations.processors(host, now);
        station.predict(job.class, own, self.all[host].service_time(job.service)).unwrap_or(Span::FOREVER)
    }

    /// Whether a request has a connection of its server, which it keeps until it ends.
    #[inline]
    pub(super) fn connect(&mut self, host: usize, route: &mut Route) -> bool {
        let Some(connections) = &mut self.connections else { return true };
        if connections.open[host] >= connections.most[host] {
            return false;
        }
        connections.open[host] += 1;
        route.connected = Some(host as u32);
        true
    }

    /// A request ends, or this attempt of it: its connection is free.
    #[inline]
    pub(super) fn hang_up(&mut self, route: &mut Route) {
        if let Some((host, connections)) = route.connected.take().zip(self.connections.as_mut()) {
            connections.open[host as usize] -= 1;
        }
    }

    /// What a request does at its present stage at server `host`.
    pub(super) fn visit(
        &mut self,
        slot: u32,
        host: usize,
        job: &Job,
        route: &Route,
        stations: &Stations,
        now: Time,
    ) -> Visit {
        let at_stage = |host: usize, stage: usize, work, owner| Visit::Works {
            station: stations.of_host(host)[stage],
            work,
            owner,
        };
        if route.stage == 0 {
            if let Some(predictor) = &mut self.predictor {
                let (station, own) = stations.processors(host, now);
                predictor.predict(slot, job, &self.all[host], station, own);
            }
            return at_stage(host, 0, job.service, None);
        }
        let (stage, file, bytes) = (route.stage, route.asked.object, job.size);
        let Some(storage) = self.storage.as_mut().filter(|storage| storage.disks[host] == stage) else {
            return at_stage(host, stage, work_at(&self.all[host], stage, bytes), None);
        };
        if storage.has(host, file) {
            return Visit::Passes;
        }
        let has_copy = storage.copies.get_mut(host).is_some_and(|copies| copies.has(&file));
        match storage.owner(file).filter(|owner| *owner != host && !has_copy) {
            None => at_stage(host, stage, work_at(&self.all[host], stage, bytes), None),
            Some(owner) if storage.has(owner, file) => Visit::Fetches { owner: owner as u32 },
            Some(owner) => {
                let disk = storage.disks[owner];
                let work = match storage.remote_rate {
                    Some(rate) => Span::from_secs_f64(bytes as f64 / rate),
                    None => work_at(&self.all[owner], disk, bytes),
                };
                at_stage(owner, disk, work, Some(owner as u32))
            }
        }
    }

    /// A request has been at the processors of its server for so long; what was predicted, where that is asked for.
    #[inline]
    pub(super) fn predicted(&self, slot: u32) -> Option<Span> {
        self.predictor.as_ref().map(|predictor| predictor.prediction(slot))
    }

    /// A request has visited its present stage at server `host`. Where that was a disk, what was read is kept; whether it
    /// now has to come from there.
    pub(super) fn has_visited(&mut self, host: usize, job: &Job, route: &Route) -> bool {
        let is_disk = |storage: &&mut Storage| route.stage > 0 && storage.disks[host] == route.stage;
        let Some(storage) = self.storage.as_mut().filter(is_disk) else { return false };
        storage.keep(route.fetches.map_or(host, |owner| owner as usize), route.asked.object, job.size);
        route.fetches.is_some()
    }

    /// How long so many bytes take from server to server where nothing waits.
    pub(super) fn crossing(&self, bytes: u64) -> Span {
        let rate = self.storage.as_ref().and_then(|storage| storage.link_rate);
        rate.map_or(Span::ZERO, |rate| Span::from_secs_f64(bytes as f64 / rate))
    }

    /// A file from another server is at `host`. Where its own disk has a copy from now on, gives the files that it has none of
    /// any more.
    pub(super) fn fetched(&mut self, host: usize, file: u32, bytes: u64, now: Time) -> Option<Vec<u32>> {
        let storage = self.storage.as_mut()?;
        storage.keep(host, file, bytes);
        let copies = storage.copies.get_mut(host)?;
        copies.is_due(&file, bytes, now).then(|| copies.keep(file, bytes))
    }

    /// The server that owns a file; none where all do.
    pub(super) fn owner(&self, file: u32) -> Option<u32> {
        self.storage.as_ref()?.owner(file).map(|owner| owner as u32)
    }

    /// Owners of all files, by file.
    pub(super) fn owners(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let files = self.storage.as_ref().and_then(|storage| storage.files).unwrap_or(0);
        (0..files).filter_map(|file| Some((file, self.owner(file)?)))
    }

    /// A server went down: its memory is empty. Gives the files that it has no copy of any more.
    pub(super) fn forget(&mut self, host: usize) -> Vec<u32> {
        let Some(storage) = &mut self.storage else { return Vec::new() };
        storage.memory[host].iter_mut().for_each(FileCache::clear);
        storage.copies.get_mut(host).map_or(Vec::new(), Copies::clear)
    }
}

impl Connections {
    /// None where no server has a limit.
    fn new(servers: &[Server]) -> Option<Connections> {
        let most = |server: &Server| server.machine.as_ref().and_then(|machine| machine.connections);
        servers.iter().any(|server| most(server).is_some()).then(|| Connections {
            open: vec![0; servers.len()],
            most: servers.iter().map(|server| most(server).unwrap_or(u32::MAX)).collect(),
        })
    }
}

impl Storage {
    /// None where servers have no files of their own and no memory.
    fn new(system: &System) -> Option<Storage> {
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

    fn has(&mut self, host: usize, file: u32) -> bool {
        self.memory[host].as_mut().is_some_and(|memory| memory.has(file))
    }

    fn keep(&mut self, host: usize, file: u32, bytes: u64) {
        self.memory[host].iter_mut().for_each(|memory| memory.keep(file, bytes));
    }
}

/// Refuses files of servers that are not the objects that are asked for.
pub(super) fn check(system: &System, objects: usize) -> Result<(), SimError> {
    let mut machines = system.servers().filter_map(|server| server.machine.as_deref());
    match machines.find_map(|machine| machine.files).map(|files| files.number) {
        Some(number) if number as usize != objects => Err(SimError::NotYet(format!(
            "{number} files where the workload asks for {objects} objects: write size = \"documents(n = {number}, ...)\", so \
             that each file has a size of its own"
        ))),
        _ => Ok(()),
    }
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
