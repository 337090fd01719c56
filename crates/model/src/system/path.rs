//! Paths between regions: how long a packet takes, how many are lost, and at what rate bytes flow.

use sojourn_stats::{Law, Span, Stream};

use crate::{Link, LossLaw, LossModel, TcpStack};

/// The paths between all pairs of regions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Paths {
    /// For regions `a <= b` of n, at `a * n + b`; empty where no region is named.
    paths: Vec<Path>,
    regions: usize,
}

/// The path between two places, the same for both.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// Round trip (s), drawn once for each client and place; half of it passes each way.
    pub rtt: Law,
    /// Share of the packets that are lost in each direction.
    pub loss: Directions<f64>,
    /// Correlation of one packet's loss with the last one's, from 0 to 1.
    pub loss_correlation: f64,
    /// How losses depend on each other.
    pub loss_model: LossModel,
    /// What each client has of it in each direction (bit/s); none: infinitely fast.
    pub rate: Directions<Option<f64>>,
    /// The link that it shares with other paths, an index into [`crate::System::media`].
    pub medium: Option<usize>,
    /// What only the links of a bed have.
    pub line: Line,
}

/// What there is of something in each direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Directions<T> {
    /// From clients to servers; between deciders, or a decider and a server, away from the one that forwards.
    pub up: T,
    /// From servers to clients, and between servers.
    pub down: T,
}

/// What packets meet one by one: the simulator has no packets, so it refuses a path that is not plain in this.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// Time (s) by which a packet is later than the path's round trip says, drawn for each packet in each direction.
    pub jitter: Option<Law>,
    /// Whether a packet may overtake one that drew a longer time.
    pub reorders: bool,
    /// What waits in front of the path's own rate; none: drop-tail of [`Link::queue_bytes`].
    pub queue: Option<LineQueue>,
}

/// A queue in front of a rate, of so many bytes at most; none: [`Link::queue_bytes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineQueue {
    /// First come, first served; what no longer fits is dropped.
    DropTail(Option<u64>),
    /// CoDel (RFC 8289), which drops earlier where packets wait for long.
    Codel(Option<u64>),
}

/// How requests and replies are carried over the paths, where packets are lost or TCP is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transport {
    /// The TCP of both ends.
    pub stack: TcpStack,
    /// Every request has a connection of its own (HTTP/1.0); else connections are kept and used again.
    pub one_request_per_connection: bool,
}

/// A link that several paths share.
#[derive(Clone, Debug, PartialEq)]
pub struct Medium {
    /// Its name.
    pub name: String,
    /// Its rate (bit/s), in each direction.
    pub rate: f64,
}

impl Medium {
    /// One direction of it; its delay is the paths'.
    pub fn link(&self) -> Link {
        Link { delay: Span::ZERO, rate: Some(self.rate) }
    }
}

/// One way between a client and a region, half of a round trip of this law (s) that is drawn once for the two: whoever asks
/// gets the same. `client` is the first one on its machine.
pub fn one_way(rtt: &Law, seed: u64, client: u32, region: usize) -> Span {
    let mut stream = Stream::new(seed, &format!("client {client}"), &format!("round trip to region {region}"));
    Span::from_secs_f64(rtt.sample(&mut stream).max(0.0) / 2.0)
}

impl<T: Copy> Directions<T> {
    /// The same in both.
    pub fn both(of: T) -> Directions<T> {
        Directions { up: of, down: of }
    }

    /// What `make` makes of each.
    pub fn map<U>(self, make: impl Fn(T) -> U) -> Directions<U> {
        Directions { up: make(self.up), down: make(self.down) }
    }
}

impl Line {
    /// What it has that a plain one has not, as files call it.
    pub fn first_key(&self) -> Option<&'static str> {
        let keys = [("jitter", self.jitter.is_some()), ("reorders", self.reorders), ("queue", self.queue.is_some())];
        keys.into_iter().find(|(_, is_written)| *is_written).map(|(key, _)| key)
    }
}

impl Path {
    /// What is lost in each direction.
    pub fn losses(&self) -> Directions<LossLaw> {
        self.loss.map(|share| LossLaw { share, correlation: self.loss_correlation, model: self.loss_model })
    }

    /// Whether anything is lost.
    pub fn loses(&self) -> bool {
        self.loss != Directions::both(0.0)
    }
}

impl Paths {
    /// The paths of `regions` regions; `path(a, b)` is asked for each pair with `a <= b`.
    ///
    /// # Errors
    /// The first error of `path`.
    pub fn new<E>(regions: usize, mut path: impl FnMut(usize, usize) -> Result<Path, E>) -> Result<Paths, E> {
        let mut paths = Vec::with_capacity(regions * regions);
        for a in 0..regions {
            for b in 0..regions {
                paths.push(path(a.min(b), a.max(b))?);
            }
        }
        Ok(Paths { paths, regions })
    }

    /// The path between two regions; none where nothing is said of paths.
    pub fn between(&self, a: usize, b: usize) -> Option<&Path> {
        self.paths.get(a * self.regions + b)
    }

    /// Whether nothing is said of paths.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// All of them; a path between two regions comes twice.
    pub fn iter(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter()
    }
}
