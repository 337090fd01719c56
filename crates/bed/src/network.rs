//! Hosts joined by links, as a state machine that does no I/O: packets enter at a host, pass the links of their route one
//! after another, and leave at the other end.
//!
//! Everything happens in the order of its own instants, those of a late call included. The price is a heap: each link
//! that a packet passes costs two entries.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use sojourn_model::LossLaw;
use sojourn_stats::Time;

use crate::link::{Counts, Link};
use crate::topology::{Topology, TopologyError};

/// A network of links with what is under way; `P` is whatever a packet is.
#[derive(Debug)]
pub struct Network<P> {
    links: Vec<Link<Passing<P>>>,
    /// The links between two hosts, at `from * hosts + to`.
    routes: Vec<Vec<usize>>,
    /// Whether this route is cut.
    cuts: Vec<bool>,
    cut_packets: u64,
    hosts: usize,
    agenda: BinaryHeap<Entry<P>>,
    entries: u64,
}

/// A packet on its way.
#[derive(Debug)]
struct Passing<P> {
    packet: P,
    bytes: u32,
    route: usize,
    /// Links of the route that it has passed.
    passed: usize,
}

#[derive(Debug)]
enum Event<P> {
    /// The packet is at the end of a link, or at the beginning of its route.
    Arrives(Passing<P>),
    /// The transmitter of this link has sent its packet.
    Sent(usize),
}

/// An event with its instant; what was entered first comes first among events of one instant.
#[derive(Debug)]
struct Entry<P> {
    at: Time,
    number: u64,
    event: Event<P>,
}

impl<P> Network<P> {
    /// A network in which nothing is under way.
    ///
    /// # Errors
    /// As [`Topology::check`].
    pub fn new(topology: &Topology, seed: u64) -> Result<Network<P>, TopologyError> {
        topology.check()?;
        let hosts = topology.hosts.len();
        let links = topology.links.iter().map(|spec| Link::new(spec.clone(), seed)).collect::<Result<_, _>>()?;
        let mut routes = vec![Vec::new(); hosts * hosts];
        for (&(from, to), links) in &topology.routes {
            routes[from * hosts + to].clone_from(links);
        }
        let cuts = vec![false; hosts * hosts];
        Ok(Network { links, routes, cuts, cut_packets: 0, hosts, agenda: BinaryHeap::new(), entries: 0 })
    }

    /// A packet of so many bytes enters at the host `from`, for the host `to`.
    ///
    /// # Panics
    /// When there is no such host.
    pub fn enter(&mut self, now: Time, from: usize, to: usize, bytes: u32, packet: P) {
        assert!(from < self.hosts && to < self.hosts, "there are {} hosts", self.hosts);
        let route = from * self.hosts + to;
        self.push(now, Event::Arrives(Passing { packet, bytes, route, passed: 0 }));
    }

    /// When something happens next.
    pub fn next_at(&self) -> Option<Time> {
        self.agenda.peek().map(|entry| entry.at)
    }

    /// Lets everything happen up to and with `now`; `leave` is told the instant, the host and the packet that leaves there.
    pub fn advance(&mut self, now: Time, mut leave: impl FnMut(Time, usize, P)) {
        while self.next_at().is_some_and(|at| at <= now) {
            let Entry { at, event, .. } = self.agenda.pop().expect("it was just looked at");
            match event {
                Event::Arrives(passing) if self.cuts[passing.route] => self.cut_packets += 1,
                Event::Arrives(passing) => match self.routes[passing.route].get(passing.passed) {
                    None => leave(at, passing.route % self.hosts, passing.packet),
                    Some(&link) => {
                        if let Some(sent) = self.links[link].offer(at, passing.bytes, passing) {
                            self.push(sent, Event::Sent(link));
                        }
                    }
                },
                Event::Sent(link) => {
                    let (arrival, next) = self.links[link].send(at);
                    if let Some((at, passing)) = arrival {
                        self.push(at, Event::Arrives(Passing { passed: passing.passed + 1, ..passing }));
                    }
                    if let Some(next) = next {
                        self.push(next, Event::Sent(link));
                    }
                }
            }
        }
    }

    /// Cuts the way from one host to another, or mends it. What is under way on it is lost when it next arrives.
    pub fn cut(&mut self, from: usize, to: usize, is_cut: bool) {
        self.cuts[from * self.hosts + to] = is_cut;
    }

    /// Lets the last link of the way from one host to another lose this besides what it loses anyway, from now on.
    ///
    /// # Panics
    /// When the law is not possible.
    pub fn lose(&mut self, from: usize, to: usize, law: LossLaw) {
        if let Some(&link) = self.routes[from * self.hosts + to].last() {
            self.links[link].lose_besides(law);
        }
    }

    /// Packets that met a cut.
    pub fn cut_packets(&self) -> u64 {
        self.cut_packets
    }

    /// What became of the packets of each link, by its name.
    pub fn counts(&self) -> impl Iterator<Item = (&str, Counts)> {
        self.links.iter().map(|link| (link.spec().name.as_str(), link.counts()))
    }

    fn push(&mut self, at: Time, event: Event<P>) {
        self.entries += 1;
        self.agenda.push(Entry { at, number: self.entries, event });
    }
}

impl<P> Ord for Entry<P> {
    fn cmp(&self, other: &Entry<P>) -> Ordering {
        // The heap gives the greatest: the earliest is that.
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl<P> PartialOrd for Entry<P> {
    fn partial_cmp(&self, other: &Entry<P>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> PartialEq for Entry<P> {
    fn eq(&self, other: &Entry<P>) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<P> Eq for Entry<P> {}
