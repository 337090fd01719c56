//! A network as the event loop reads it: steps laid out flat, shares summed up, tables built. Made once and shared by all
//! replications.

use sojourn_model::Demand;
use sojourn_model::network::{Keeps, Kind as Written, Network, Population, Room};
use sojourn_model::{Discipline, network};
use sojourn_stats::{Law, Span, Stream};
use sojourn_traffic::Alias;

use super::cache::{Cache, Sizes};

/// See the module.
pub(super) struct Layout {
    pub(super) stations: Vec<Station>,
    pub(super) chains: Vec<Chain>,
}

pub(super) struct Station {
    pub(super) name: String,
    pub(super) kind: StationKind,
}

pub(super) enum StationKind {
    Queue { discipline: Discipline, cores: u32 },
    Graded { rates: Vec<f64> },
    Delay,
}

pub(super) struct Chain {
    pub(super) name: String,
    pub(super) population: Population,
    pub(super) choice: Branching,
    /// Bytes of a job, or of an object where there is a cache.
    pub(super) size: Option<Law>,
    /// Upper ends of the classes of sizes (B).
    size_limits: Vec<f64>,
    pub(super) branch_names: Vec<String>,
    /// The steps of each branch, a visit each.
    pub(super) branches: Vec<Vec<Step>>,
}

/// How a job gets its branch.
pub(super) enum Branching {
    /// There is one.
    Only,
    /// Branch i where a uniform number is below entry i, and below none before.
    Shares { up_to: Vec<f64> },
    /// By a cache: the first is a hit, the second a miss.
    Cache(Stored),
}

/// A cache, and what is asked of it.
pub(super) struct Stored {
    written: network::Cache,
    pub(super) popularity: Alias,
    /// Bytes of each object, where they have any: what is asked for is the same in every replication.
    pub(super) bytes: Vec<u64>,
}

/// A visit.
pub(super) struct Step {
    pub(super) station: usize,
    demand: Demand,
    /// Of the station.
    speed: f64,
}

impl Layout {
    /// Of a network that has been checked, with its objects drawn from the run's `seed`.
    pub(super) fn new(network: &Network, seed: u64) -> Layout {
        let station = |node: &network::Node| {
            let kind = match &node.kind {
                Written::Delay => StationKind::Delay,
                Written::Queue { discipline, cores, rates } if rates.is_empty() => {
                    StationKind::Queue { discipline: discipline.clone(), cores: *cores }
                }
                Written::Queue { rates, .. } => StationKind::Graded { rates: rates.clone() },
            };
            Station { name: node.name.clone(), kind }
        };
        let visits = |step: &network::Step| {
            let speed = network.stations[step.station].speed;
            let visit = |_| Step { station: step.station, demand: step.demand.clone(), speed };
            (0..step.visits).map(visit).collect::<Vec<_>>()
        };
        let chain = |chain: &network::Chain| Chain {
            name: chain.name.clone(),
            population: chain.population.clone(),
            choice: Branching::new(chain, seed),
            size: chain.size.clone(),
            size_limits: chain.size_limits.clone(),
            branch_names: chain.branches.iter().map(|branch| branch.name.clone()).collect(),
            branches: chain.branches.iter().map(|branch| branch.steps.iter().flat_map(visits).collect()).collect(),
        };
        Layout {
            stations: network.stations.iter().map(station).collect(),
            chains: network.chains.iter().map(chain).collect(),
        }
    }

    /// Visits of the longest branch.
    pub(super) fn steps_most(&self) -> usize {
        self.chains.iter().flat_map(|chain| &chain.branches).map(Vec::len).max().unwrap_or(0)
    }
}

impl Station {
    /// Work done per unit of time at best, which utilisation is relative to; 1 of a delay, which has none. Speed is not in
    /// it, nor in the work that is counted.
    pub(super) fn capacity(&self) -> f64 {
        match &self.kind {
            StationKind::Queue { cores, .. } => f64::from(*cores),
            StationKind::Graded { rates } => rates.iter().copied().fold(0.0, f64::max),
            StationKind::Delay => 1.0,
        }
    }
}

impl Chain {
    /// Bytes of a job; 0 where it carries none.
    #[inline]
    pub(super) fn draw_size(&self, stream: &mut Stream) -> u64 {
        self.size.as_ref().map_or(0, |law| whole_bytes(law, stream))
    }

    /// Which class of sizes a job of `size` bytes is of; 0 where none are told apart.
    #[inline]
    pub(super) fn size_class(&self, size: u64) -> usize {
        self.size_limits.partition_point(|limit| size as f64 > *limit)
    }

    /// How many classes of sizes are told apart.
    pub(super) fn size_classes(&self) -> usize {
        if self.size_limits.is_empty() { 0 } else { self.size_limits.len() + 1 }
    }
}

/// To the nearest byte; the conversion saturates.
#[inline]
fn whole_bytes(law: &Law, stream: &mut Stream) -> u64 {
    (law.sample(stream) + 0.5) as u64
}

impl Branching {
    fn new(chain: &network::Chain, seed: u64) -> Branching {
        match &chain.cache {
            Some(written) => {
                let mut sizes = Stream::new(seed, &format!("chain {}", chain.name), "objects");
                let bytes = chain.size.as_ref().map_or(Vec::new(), |law| {
                    written.popularity.iter().map(|_| whole_bytes(law, &mut sizes)).collect()
                });
                let popularity = Alias::new(&written.popularity);
                Branching::Cache(Stored { written: written.clone(), popularity, bytes })
            }
            None if chain.branches.len() == 1 => Branching::Only,
            None => {
                let mut sum = 0.0;
                let up_to = chain.branches.iter().map(|branch| {
                    sum += branch.share;
                    sum
                });
                Branching::Shares { up_to: up_to.collect() }
            }
        }
    }
}

impl Stored {
    /// How many objects there are.
    pub(super) fn objects(&self) -> u32 {
        self.written.popularity.len() as u32
    }

    /// The cache at the end of a past drawn from `past`.
    pub(super) fn cache(&self, past: &mut Stream) -> Cache {
        let room = |room: Room| match room {
            Room::Objects(places) => (places, Sizes::Places),
            Room::Bytes(room) => (room, Sizes::Bytes(self.bytes.clone())),
        };
        match self.written.keeps {
            Keeps::Lru(written) => {
                let (room, sizes) = room(written);
                Cache::lru(self.objects(), room, sizes, &self.popularity, past)
            }
            Keeps::Lfu(written) => {
                let (room, sizes) = room(written);
                Cache::lfu(room, &sizes, &self.written.popularity)
            }
            Keeps::Ttl { ttl, renewed } => Cache::ttl(self.objects(), ttl, renewed),
        }
    }
}

impl Step {
    /// The time on a core that a visit with a job of `size` bytes takes.
    #[inline]
    pub(super) fn draw(&self, size: u64, stream: &mut Stream) -> Span {
        let work = self.demand.draw(size, stream);
        if self.speed == 1.0 { work } else { Span::from_secs_f64(work.as_secs_f64() / self.speed) }
    }
}
