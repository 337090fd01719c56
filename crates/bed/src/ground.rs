//! Grounds: what the hosts of a live run are made of.
//!
//! A host has a name and an address, and children run on it. What uses a ground asks for the address and never assumes
//! one, so that the same run works on the loopback interface and where hosts are really apart. A command is given whole:
//! a ground may start it from inside a network namespace, or wrap it. The price: a child is told where to listen by its
//! arguments, which its parent writes after asking for the address.

use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;
use std::time::Duration;

use sojourn_model::LossLaw;
use sojourn_stats::Span;
use thiserror::Error;

use crate::namespace::NamespaceError;
use crate::supervisor::{Child, SpawnError};
use crate::topology::{Topology, TopologyError};

/// A place for the hosts of a live run.
pub trait Ground: Sync {
    /// Makes a host.
    ///
    /// # Errors
    /// When there is a host of this name, or no room for another one.
    fn host(&mut self, name: &str) -> Result<Host, GroundError>;

    /// The address of a host, at which all other hosts and this process reach it.
    ///
    /// # Panics
    /// When the host is not of this ground.
    fn address(&self, host: Host) -> IpAddr;

    /// Starts a child on a host and waits at most `patience` for its ready line.
    ///
    /// # Errors
    /// As [`Child::start`].
    ///
    /// # Panics
    /// When the host is not of this ground.
    fn spawn(&self, host: Host, command: Command, patience: Duration) -> Result<Child, SpawnError>;

    /// Runs `body` on a host, once: its sockets, and those of threads and processes that it starts, are the host's.
    ///
    /// # Errors
    /// When the host cannot be entered; the body has not been run then.
    ///
    /// # Panics
    /// When the host is not of this ground, and as `body` does.
    fn within(&self, host: Host, body: &mut (dyn FnMut() + Send)) -> Result<(), GroundError>;

    /// The emulated links between its hosts, if it has some.
    fn links(&self) -> Option<&dyn Links> {
        None
    }
}

/// Emulated links between the hosts of a ground, which can be cut and lose more.
pub trait Links {
    /// What the ground was made of.
    fn topology(&self) -> &Topology;

    /// Cuts both ways between two hosts, or mends them.
    ///
    /// # Panics
    /// When one is not of this ground.
    fn cut(&self, one: Host, other: Host, is_cut: bool);

    /// Lets both ways between two hosts lose this besides what they lose anyway, from now on.
    ///
    /// # Panics
    /// When one is not of this ground, and when the law is not possible.
    fn lose(&self, one: Host, other: Host, law: LossLaw);

    /// How long what moves packets has waited for a core, where the kernel counts it.
    fn waited(&self) -> Option<Span>;
}

/// A host of a ground, by number in the order in which they were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Host(pub u32);

/// Why there is no such host.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GroundError {
    /// The name is in use.
    #[error("host {0} is named twice; each needs a name of its own")]
    NamedTwice(String),
    /// There are as many hosts as the ground has addresses.
    #[error("no room for host {name}: this ground has room for {most} hosts")]
    Full {
        /// The host asked for.
        name: String,
        /// The most hosts that it has room for.
        most: u32,
    },
    /// The ground was made with other hosts.
    #[error("there is no host {name}; there are {known}")]
    Unknown {
        /// The host asked for.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// A topology that cannot be.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// A namespace that cannot be made.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// The system refuses something.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// What the system said.
        source: std::io::Error,
    },
}

/// The loopback interface of this machine: every host is this machine under an address of its own.
///
/// The first host is 127.0.0.1, the next 127.0.0.2 and so on, so that several may listen on the same port, as the
/// servers behind one DNS name do. The price: links have no delay and no limit, all hosts share all cores, and a server
/// sees 127.0.0.1 as the source of every connection.
#[derive(Clone, Debug, Default)]
pub struct Loopback {
    names: Vec<String>,
}

impl Loopback {
    /// The most hosts: all of 127.0.0.0/8 except its network and broadcast addresses.
    pub const HOSTS_MAX: u32 = (1 << 24) - 2;

    /// A ground without hosts.
    pub fn new() -> Loopback {
        Loopback::default()
    }
}

impl Ground for Loopback {
    fn host(&mut self, name: &str) -> Result<Host, GroundError> {
        if self.names.iter().any(|known| known == name) {
            return Err(GroundError::NamedTwice(name.to_owned()));
        }
        let index = self.names.len() as u32;
        if index >= Loopback::HOSTS_MAX {
            return Err(GroundError::Full { name: name.to_owned(), most: Loopback::HOSTS_MAX });
        }
        self.names.push(name.to_owned());
        Ok(Host(index))
    }

    fn address(&self, host: Host) -> IpAddr {
        assert!((host.0 as usize) < self.names.len(), "host {} is not of this ground", host.0);
        Ipv4Addr::from_bits(Ipv4Addr::LOCALHOST.to_bits() + host.0).into()
    }

    fn spawn(&self, host: Host, command: Command, patience: Duration) -> Result<Child, SpawnError> {
        assert!((host.0 as usize) < self.names.len(), "host {} is not of this ground", host.0);
        Child::start(command, patience)
    }
    fn within(&self, host: Host, body: &mut (dyn FnMut() + Send)) -> Result<(), GroundError> {
        assert!((host.0 as usize) < self.names.len(), "host {} is not of this ground", host.0);
        body();
        Ok(())
    }
}
