//! What a bed is to be: hosts with addresses, links, and the links that packets pass from each host to each other one.
//!
//! A link is one direction. A route is a list of links: an access line, a medium that several routes share and a long way
//! are each one of them, so that what is shared is shared by being named twice. The price: a route is fixed.

mod presets;
mod segment;

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use thiserror::Error;

use crate::link::{LinkError, LinkSpec};
pub use segment::Segment;

/// Hosts, links and routes.
#[derive(Clone, Debug, Default)]
pub struct Topology {
    /// The hosts.
    pub hosts: Vec<Station>,
    /// The links; each transmits in one direction.
    pub links: Vec<LinkSpec>,
    /// For each ordered pair of different hosts (indices) the links that a packet passes, in order.
    pub routes: BTreeMap<(usize, usize), Vec<usize>>,
    /// The Ethernets of hosts that are not routed one by one.
    pub segments: Vec<Segment>,
}

/// A host and its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Station {
    /// Its name, which other hosts know as a host name.
    pub name: String,
    /// Its address.
    pub address: Ipv4Addr,
}

/// Why there can be no such bed.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum TopologyError {
    /// There is no host.
    #[error("there is no host")]
    Empty,
    /// A name that cannot be a host's.
    #[error("a host cannot be named `{0}`: letters, digits, dots and hyphens, at most 63")]
    Name(String),
    /// Two hosts have the same name.
    #[error("two hosts are named {0}; each needs a name of its own")]
    NamedTwice(String),
    /// Two hosts have the same address.
    #[error("hosts {0} and {1} have the same address {2}")]
    AddressedTwice(String, String, Ipv4Addr),
    /// No route leads from one host to another.
    #[error("nothing connects {0} to {1}: every host needs a route to every other one")]
    Unconnected(String, String),
    /// A route names a link that is not there.
    #[error("the route from {0} to {1} passes a link that is not there")]
    NoSuchLink(String, String),
    /// Two links have the same name, and would make the same draws.
    #[error("two links are named {0}; each needs a name of its own")]
    LinkNamedTwice(String),
    /// A segment names a host that is not there.
    #[error("a segment has a host {0}, which is not there")]
    NoSuchHost(usize),
    /// A host is on two segments.
    #[error("host {0} is on two segments; each has one device")]
    OnTwoSegments(String),
    /// A router is on a segment itself.
    #[error("{0} is the router of a segment and on a segment itself; a router is reached over links")]
    Router(String),
    /// A service's address is in use.
    #[error("the service address {0} is also another's")]
    ServiceAddress(Ipv4Addr),
    /// A link that cannot be.
    #[error(transparent)]
    Link(#[from] LinkError),
}

/// The length of a host name (RFC 1035).
const NAME_MAX: usize = 63;

impl Topology {
    /// The names of the presets, with what each is.
    pub const PRESETS: &[(&str, &str)] = presets::PRESETS;

    /// A topology by its name.
    pub fn preset(name: &str) -> Option<Topology> {
        presets::preset(name)
    }

    /// Adds a host, and gives its index.
    pub fn host(&mut self, name: impl Into<String>, address: Ipv4Addr) -> usize {
        self.hosts.push(Station { name: name.into(), address });
        self.hosts.len() - 1
    }

    /// Adds a link, and gives its index.
    pub fn link(&mut self, link: LinkSpec) -> usize {
        self.links.push(link);
        self.links.len() - 1
    }

    /// Says which links lead from one host to another.
    pub fn route(&mut self, from: usize, to: usize, links: impl Into<Vec<usize>>) {
        self.routes.insert((from, to), links.into());
    }

    /// The index of a host.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.hosts.iter().position(|host| host.name == name)
    }

    /// Whether it can be: names and addresses differ, every host reaches every other one, every link can be.
    ///
    /// # Errors
    /// Names the first thing that cannot be.
    pub fn check(&self) -> Result<(), TopologyError> {
        if self.hosts.is_empty() {
            return Err(TopologyError::Empty);
        }
        for (index, host) in self.hosts.iter().enumerate() {
            if !is_name(&host.name) {
                return Err(TopologyError::Name(host.name.clone()));
            }
            for other in &self.hosts[..index] {
                if other.name == host.name {
                    return Err(TopologyError::NamedTwice(host.name.clone()));
                }
                if other.address == host.address {
                    let (first, second) = (other.name.clone(), host.name.clone());
                    return Err(TopologyError::AddressedTwice(first, second, host.address));
                }
            }
        }
        let mut names = BTreeSet::new();
        for link in &self.links {
            link.check()?;
            if !names.insert(&link.name) {
                return Err(TopologyError::LinkNamedTwice(link.name.clone()));
            }
        }
        self.check_segments()?;
        let routed = || (0..self.hosts.len()).filter(|host| self.segment_of(*host).is_none());
        for from in routed() {
            for to in routed().filter(|to| *to != from) {
                let names = || (self.hosts[from].name.clone(), self.hosts[to].name.clone());
                match self.routes.get(&(from, to)) {
                    None => {
                        let (from, to) = names();
                        return Err(TopologyError::Unconnected(from, to));
                    }
                    Some(links) if links.iter().any(|link| *link >= self.links.len()) => {
                        let (from, to) = names();
                        return Err(TopologyError::NoSuchLink(from, to));
                    }
                    Some(_) => {}
                }
            }
        }
        Ok(())
    }
}

fn is_name(name: &str) -> bool {
    let is_sign = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '.' | '-');
    !name.is_empty() && name.len() <= NAME_MAX && name.chars().all(is_sign) && !name.starts_with(['.', '-'])
}
