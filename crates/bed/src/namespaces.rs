//! A ground of network namespaces: each host has its own network, and packets between hosts pass emulated links.
//!
//! It is made inside a bed ([`crate::namespace::enter`], then [`crate::namespace::furnish`] in the first child): only
//! there may an ordinary user make networks. All hosts share the cores, memory and files of this machine. The price: what
//! a host computes is not slowed down, only what it sends.

use std::net::IpAddr;
use std::process::Command;
use std::time::Duration;

use sojourn_model::LossLaw;
use sojourn_stats::Span;

use crate::forwarder::Forwarder;
use crate::ground::{Ground, GroundError, Host, Links};
use crate::link::Counts;
use crate::namespace::{self, NamespaceError};
use crate::network::Network;
use crate::segment;
use crate::supervisor::{Child, SpawnError};
use crate::topology::Topology;

/// Hosts with networks of their own, joined by emulated links.
#[derive(Debug)]
pub struct Namespaces {
    topology: Topology,
    hosts: Vec<namespace::Network>,
    is_taken: Vec<bool>,
    links: Forwarder,
}

impl Namespaces {
    /// Makes the hosts of `topology` and joins them; what is drawn is drawn from `seed`.
    ///
    /// # Errors
    /// When the topology cannot be, the machine refuses a network or a device, or this process is not inside a bed.
    pub fn new(topology: Topology, seed: u64) -> Result<Namespaces, GroundError> {
        let network = Network::new(&topology, seed)?;
        let (mut hosts, mut devices) = (Vec::new(), Vec::new());
        for station in &topology.hosts {
            let host = namespace::Network::new(&station.name)?;
            let is_routed = topology.segment_of(hosts.len()).is_none();
            devices.push(is_routed.then(|| host.attach(station.address)).transpose()?);
            hosts.push(host);
        }
        for (number, segment) in topology.segments.iter().enumerate() {
            segment::join(&topology, segment, number, &hosts)?;
        }
        let links = Forwarder::start(network, &topology, devices)
            .map_err(|source| GroundError::System { what: "cannot move packets".into(), source })?;
        let is_taken = vec![false; hosts.len()];
        Ok(Namespaces { topology, hosts, is_taken, links })
    }

    /// What `body` gives when it is run on a host, in a thread of its own. Threads and processes that it starts are on that
    /// host too.
    ///
    /// # Errors
    /// When the host's network cannot be entered.
    ///
    /// # Panics
    /// When the host is not of this ground, and as `body` does.
    pub fn on<T: Send>(&self, host: Host, body: impl FnOnce() -> T + Send) -> Result<T, NamespaceError> {
        self.hosts[host.0 as usize].within(body)
    }

    /// What became of the packets of each link, by its name, and how many met a cut.
    pub fn counts(&self) -> (Vec<(String, Counts)>, u64) {
        let network = self.links.network();
        (network.counts().map(|(name, counts)| (name.to_owned(), counts)).collect(), network.cut_packets())
    }
}

impl Links for Namespaces {
    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn cut(&self, one: Host, other: Host, is_cut: bool) {
        let (one, other) = (one.0 as usize, other.0 as usize);
        let mut network = self.links.network();
        network.cut(one, other, is_cut);
        network.cut(other, one, is_cut);
    }

    fn lose(&self, one: Host, other: Host, law: LossLaw) {
        let (one, other) = (one.0 as usize, other.0 as usize);
        let mut network = self.links.network();
        network.lose(one, other, law);
        network.lose(other, one, law);
    }

    fn waited(&self) -> Option<Span> {
        self.links.waited()
    }
}

impl Ground for Namespaces {
    fn host(&mut self, name: &str) -> Result<Host, GroundError> {
        let Some(index) = self.topology.find(name) else {
            let known = self.topology.hosts.iter().map(|host| host.name.as_str()).collect::<Vec<_>>().join(", ");
            return Err(GroundError::Unknown { name: name.to_owned(), known });
        };
        if std::mem::replace(&mut self.is_taken[index], true) {
            return Err(GroundError::NamedTwice(name.to_owned()));
        }
        Ok(Host(index as u32))
    }

    fn address(&self, host: Host) -> IpAddr {
        self.topology.hosts[host.0 as usize].address.into()
    }

    fn spawn(&self, host: Host, command: Command, patience: Duration) -> Result<Child, SpawnError> {
        let program = command.get_program().to_string_lossy().into_owned();
        let started = self.on(host, || Child::start(command, patience));
        started.unwrap_or_else(|error| Err(SpawnError::Run { program, source: std::io::Error::other(error) }))
    }

    fn within(&self, host: Host, body: &mut (dyn FnMut() + Send)) -> Result<(), GroundError> {
        Ok(self.on(host, body)?)
    }

    fn links(&self) -> Option<&dyn Links> {
        Some(self)
    }
}
