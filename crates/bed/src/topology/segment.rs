//! A segment: an Ethernet whose hosts reach one another directly, by ARP, and all others through a router.
//!
//! Between routed hosts a link only knows addresses of the network layer. What works below that (a front node that forwards
//! by MAC address, servers that share one address) needs real frames. The price: a segment has no delay, no rate and no
//! losses of its own; the links of its router are where those are.

use std::net::Ipv4Addr;

use super::{Topology, TopologyError};

/// An Ethernet, by the indices of its hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// The routed host through which the others reach all hosts elsewhere, and are reached.
    pub router: usize,
    /// Those on it, besides the router. They have no routes of their own.
    pub hosts: Vec<usize>,
    /// Addresses of services: packets for them come to the segment too, where a host may take them.
    pub services: Vec<Ipv4Addr>,
}

impl Topology {
    /// The segment that a host is on; none for one that is routed.
    pub fn segment_of(&self, host: usize) -> Option<&Segment> {
        self.segments.iter().find(|segment| segment.hosts.contains(&host))
    }

    /// Whether the segments can be: each host is on one at most, routers are routed, and addresses differ.
    pub(super) fn check_segments(&self) -> Result<(), TopologyError> {
        let name = |host: usize| self.hosts.get(host).map_or_else(|| format!("{host}"), |host| host.name.clone());
        let mut services: Vec<Ipv4Addr> = Vec::new();
        for segment in &self.segments {
            for &host in segment.hosts.iter().chain([&segment.router]) {
                if host >= self.hosts.len() {
                    return Err(TopologyError::NoSuchHost(host));
                }
            }
            if self.segment_of(segment.router).is_some() {
                return Err(TopologyError::Router(name(segment.router)));
            }
            for &host in &segment.hosts {
                if self.segments.iter().flat_map(|segment| &segment.hosts).filter(|other| **other == host).count() > 1 {
                    return Err(TopologyError::OnTwoSegments(name(host)));
                }
            }
            for &service in &segment.services {
                if services.contains(&service) || self.hosts.iter().any(|host| host.address == service) {
                    return Err(TopologyError::ServiceAddress(service));
                }
                services.push(service);
            }
        }
        Ok(())
    }
}
