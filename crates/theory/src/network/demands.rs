//! A product-form network as numbers, and what a solution of it says.

/// Service of a station: its rate by the number of jobs inside.
#[derive(Clone, Debug, PartialEq)]
pub enum Serving {
    /// Infinite server: all jobs at once, one second of work per second each.
    Delay,
    /// Rates: this much work per second with 1, 2, 3, ... jobs inside, all together; the last for all beyond. `[1.0]`
    /// is one core.
    Rates(Vec<f64>),
}

/// A closed, open or mixed network of stations with product form (Baskett, Chandy, Muntz and Palacios, J. ACM 22,
/// 1975).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Demands {
    /// Stations.
    pub stations: Vec<Serving>,
    /// Closed chains.
    pub closed: Vec<ClosedChain>,
    /// Work per second that each open chain brings to each station: arrival rate times demand.
    pub open: Vec<Vec<f64>>,
}

/// Closed chain: users that think and send a job round.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClosedChain {
    /// Users.
    pub users: u32,
    /// Mean think time (s).
    pub think_s: f64,
    /// Mean work of a job at each station, over all its visits (s).
    pub demand_s: Vec<f64>,
}

/// Means in the steady state.
#[derive(Clone, Debug, PartialEq)]
pub struct Steady {
    /// Throughput of each closed chain (1/s).
    pub throughput: Vec<f64>,
    /// Mean number of jobs of each closed chain at each station.
    pub closed: Vec<Vec<f64>>,
    /// Mean number of jobs of each open chain at each station.
    pub open: Vec<Vec<f64>>,
}

impl Serving {
    /// Rates of a station of `cores` cores of which a job uses at most one.
    pub fn cores(cores: u32) -> Serving {
        Serving::Rates((1..=cores).map(f64::from).collect())
    }

    /// Fixed rate: whether the rate does not depend on how many are there.
    pub fn is_fixed_rate(&self) -> bool {
        matches!(self, Serving::Rates(rates) if rates.len() == 1)
    }
}

impl Demands {
    /// Network of one closed chain: `users`, mean think time (s), and the demand at each station (s).
    pub fn single(stations: Vec<Serving>, users: u32, think_s: f64, demand_s: Vec<f64>) -> Demands {
        Demands { stations, closed: vec![ClosedChain { users, think_s, demand_s }], open: Vec::new() }
    }

    /// Work per second that open chains bring to `station`.
    pub(super) fn open_work(&self, station: usize) -> f64 {
        self.open.iter().map(|chain| chain[station]).sum()
    }

    /// Time that a job of a closed chain spends where no job waits: thinking, and at delays (s).
    pub(super) fn away_s(&self, chain: &ClosedChain) -> f64 {
        let delays = self.stations.iter().zip(&chain.demand_s).filter(|(serving, _)| **serving == Serving::Delay);
        chain.think_s + delays.map(|(_, demand_s)| demand_s).sum::<f64>()
    }

    /// Number of populations that exact algorithms go through: the product of users + 1 over the closed chains.
    pub fn lattice(&self) -> f64 {
        self.closed.iter().map(|chain| f64::from(chain.users) + 1.0).product()
    }
}

impl Steady {
    /// Mean time that a job of a closed chain spends in the network, thinking apart (s).
    pub fn response_time_mean_s(&self, chain: usize) -> f64 {
        self.closed[chain].iter().sum::<f64>() / self.throughput[chain]
    }

    /// Mean number of jobs at `station`.
    pub fn number_mean(&self, station: usize) -> f64 {
        self.closed.iter().chain(&self.open).map(|chain| chain[station]).sum()
    }
}
