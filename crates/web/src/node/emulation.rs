//! The emulated server behind `/work`: what a request visits there, and how long it takes, to the nanosecond.
//!
//! A server without `resources` is its processor. One of several is visited as in the simulator: the processor first, then
//! disk and network, each a station of its own. A file that is in memory needs no disk, and each that was read is kept there.
//! Which file a request is for says its path, `/work/N`; `/work` is for a file of its own, which is read from the disk.
//! Of a file that another node owns, the owner's disk does the work, and the bytes cross the network ([`super::stored`]).
//! The price: a resource is entered when the reply of the one before has woken the request, so lateness adds up over resources.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard};

use sojourn_model::{FileCache, Resource, Server, Station};
use sojourn_part::settings::node::NodeSettings;
use sojourn_part::{ServeError, clock};
use sojourn_stats::{Span, Stream, Time};

use super::DEMAND_MAX;
use super::processor::{Processor, Totals};

/// The emulated server of a node.
pub(super) struct Emulation {
    pub(super) server: Server,
    /// The names of the classes in the order of their priority.
    classes: Vec<String>,
    /// A station of each resource, the processor first.
    stations: Vec<Arc<Processor>>,
    memory: Option<Mutex<FileCache>>,
    /// For demands that no request brings along.
    stream: Mutex<Stream>,
}

/// What a request is for.
pub(super) struct Wanted<'a> {
    /// Its work, where it says so.
    pub(super) demand: Option<Span>,
    pub(super) class: &'a str,
    /// The file.
    pub(super) object: Option<u32>,
    /// Bytes of the reply.
    pub(super) size: u64,
    /// When its client gives it up; [`Time::NEVER`] where that is not known.
    pub(super) deadline: Time,
}

/// What a request took, all resources together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Served {
    pub(super) waited: Span,
    pub(super) stayed: Span,
}

/// Why a request is not served.
pub(super) enum NotServed {
    /// There is no place for it.
    Full,
    /// It is dropped, and gets no answer.
    Dropped,
    /// The model makes it longer than anything may be.
    TooLong(Span),
    /// The node that owns its file does not give it.
    NotFetched(String),
}

impl Emulation {
    /// The server that a node is to be; none where it is to be none.
    ///
    /// # Errors
    /// When no timer can be made, or files belong to one of several nodes and there is no cluster of them.
    pub(super) fn of(node: &NodeSettings, model: Option<Server>) -> Result<Option<Emulation>, ServeError> {
        let Some(server) = model else { return Ok(None) };
        let machine = server.machine.as_deref();
        if machine.is_some_and(|machine| machine.files.is_some()) && node.cluster.is_none() {
            let wrong = "the server model: files that belong to one of several nodes: say which, in a [cluster] with owners \
                         of /work/0 and so on; or leave `files` out, then each node has all";
            return Err(ServeError::Config(wrong.into()));
        }
        let others = machine.map_or(&[][..], |machine| &machine.resources[1..]);
        let processor = Station::new(server.discipline.clone(), server.cores, server.capacity);
        let others = others.iter().map(|of| Station::new(of.discipline.clone(), 1, None));
        let stations = std::iter::once(processor).chain(others);
        let stations = stations.map(|station| Processor::new(station).map(Arc::new)).collect::<Result<_, _>>()?;
        let memory = machine.and_then(|machine| machine.memory).map(|memory| Mutex::new(FileCache::new(memory.size)));
        let stream = Mutex::new(Stream::new(node.seed, &node.name, "demand"));
        Ok(Some(Emulation { server, classes: node.classes.clone(), stations, memory, stream }))
    }

    /// The stations, whose bells are to be watched.
    pub(super) fn stations(&self) -> &[Arc<Processor>] {
        &self.stations
    }

    /// What its processor has done.
    pub(super) fn totals(&self) -> Totals {
        self.stations[0].totals()
    }

    /// Requests at a resource of this name, waiting or served; none where it has no such resource.
    pub(super) fn inside(&self, name: &str) -> u64 {
        let others = self.server.machine.as_deref().map_or(&[][..], |machine| &machine.resources[1..]);
        let names = std::iter::once("cpu").chain(others.iter().map(|resource| resource.name.as_str()));
        let mut stations = names.zip(&self.stations);
        stations.find(|(of, _)| *of == name).map_or(0, |(_, station)| station.inside())
    }

    /// Whether it takes a further request while it has `in_flight` of them, that one included.
    pub(super) fn takes(&self, in_flight: u64) -> bool {
        let most = self.server.machine.as_ref().and_then(|machine| machine.connections);
        most.is_none_or(|most| in_flight <= most.into())
    }

    /// The work that a request brings along, or a draw from the law of its class.
    pub(super) fn work_of(&self, wanted: &Wanted<'_>) -> Span {
        wanted.demand.unwrap_or_else(|| {
            let mut stream = self.stream.lock().expect("a draw does not panic");
            self.server.demand(wanted.class).draw(wanted.size, &mut stream)
        })
    }

    /// Serves a request of so much core time. Where another node owns its file, `fetched` brings it and says how long it
    /// waited there.
    pub(super) async fn serve(
        &self,
        wanted: &Wanted<'_>,
        service: Span,
        mut fetched: Option<impl Future<Output = Result<Span, NotServed>>>,
    ) -> Result<Served, NotServed> {
        let mut served = Served::default();
        self.visit(0, wanted, service, &mut served).await?;
        let others = self.server.machine.as_deref().map_or(&[][..], |machine| &machine.resources[1..]);
        for (number, resource) in (1..).zip(others) {
            let is_disk = resource.name == "disk";
            if is_disk && self.has_in_memory(wanted.object) {
                continue;
            }
            let fetched = if is_disk { fetched.take() } else { None };
            match fetched {
                Some(fetched) => {
                    let since = clock::now();
                    served.waited += fetched.await?;
                    served.stayed += clock::now().saturating_since(since);
                }
                None => self.visit(number, wanted, takes(resource, wanted.size), &mut served).await?,
            }
            if is_disk {
                self.keep(wanted);
            }
        }
        Ok(served)
    }

    /// Reads a file of its disk for another node: at the rate of remote reads, unless it is in memory.
    pub(super) async fn read(&self, wanted: &Wanted<'_>) -> Result<Served, NotServed> {
        let mut served = Served::default();
        let resources = self.server.machine.as_deref().map_or(&[][..], |machine| &machine.resources);
        let disk = resources.iter().position(|resource| resource.name == "disk");
        if let Some(disk) = disk.filter(|_| !self.has_in_memory(wanted.object)) {
            let remote_rate = self.server.machine.as_ref().and_then(|machine| machine.files?.remote_rate);
            let rate = Resource { rate: remote_rate.or(resources[disk].rate), ..resources[disk].clone() };
            self.visit(disk, wanted, takes(&rate, wanted.size), &mut served).await?;
            self.keep(wanted);
        }
        Ok(served)
    }

    async fn visit(
        &self,
        number: usize,
        wanted: &Wanted<'_>,
        service: Span,
        served: &mut Served,
    ) -> Result<(), NotServed> {
        if service > DEMAND_MAX {
            return Err(NotServed::TooLong(service));
        }
        let class = self.class_of(wanted.class);
        let is_full = if self.server.drops_overflow { NotServed::Dropped } else { NotServed::Full };
        let admitted = self.stations[number].admit(class, service, wanted.deadline).ok_or(is_full)?;
        let departure = admitted.await.ok_or(NotServed::Dropped)?;
        served.waited += departure.started.saturating_since(departure.arrived);
        served.stayed += departure.at.saturating_since(departure.arrived);
        Ok(())
    }

    fn has_in_memory(&self, file: Option<u32>) -> bool {
        self.memory().zip(file).is_some_and(|(mut memory, file)| memory.has(file))
    }

    fn keep(&self, wanted: &Wanted<'_>) {
        if let Some((mut memory, file)) = self.memory().zip(wanted.object) {
            memory.keep(file, wanted.size);
        }
    }

    fn memory(&self) -> Option<MutexGuard<'_, FileCache>> {
        self.memory.as_ref().map(|memory| memory.lock().expect("nothing panics while it holds the memory"))
    }

    /// The number of a class; one that is not known comes last.
    fn class_of(&self, class: &str) -> u8 {
        match class {
            "" => 0,
            class => self.classes.iter().position(|known| known == class).unwrap_or(self.classes.len()) as u8,
        }
    }
}

/// How long a resource beside the processor takes for so many bytes.
fn takes(resource: &Resource, size: u64) -> Span {
    let rate = resource.rate.expect("a resource beside the processor has a rate");
    Span::from_secs_f64(size as f64 / rate)
}
