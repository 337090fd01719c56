//! Networks of queues: closed, open and mixed chains over stations.
//!
//! A network is solved exactly where it has product form, by mean value analysis ([`mva`]) where every station is a
//! delay or works at a fixed rate, by convolution ([`convolution`]) where one has several cores or rates. Beyond what
//! these can go through in time there is Schweitzer's approximation, and stations outside product form are replaced by
//! delays (Fujita 2000, see [`solve`]). [`bounds`] needs no solution at all.
//!
//! Which of these answered, what it assumes and what the network makes of it is said in the notes of [`answer`]; a
//! network for which there is nothing, such as one with gaps between arrivals that are not exponential, is refused by
//! name.

pub mod bounds;
pub mod convolution;
mod demands;
mod fixed_point;
pub mod mva;
mod rows;
mod solution;
mod visits;
mod wide;

use sojourn_model::network::Network;

pub use demands::{ClosedChain, Demands, Serving, Steady};
pub use rows::answer;
pub use solution::{Solution, StationMeans, solve};

use crate::cache;

/// Hit ratio of each chain's cache; 0 where there is none, and, until its throughput is known, of objects that live for
/// a time and are asked for by users.
pub fn hit_ratios(network: &Network) -> Vec<f64> {
    let ratio = |chain: &sojourn_model::network::Chain| {
        let rate = chain.arrival_rate().unwrap_or(0.0);
        chain.cache.as_ref().map_or(0.0, |cache| cache::hit_ratio(cache, chain.size_mean(), rate).value)
    };
    network.chains.iter().map(ratio).collect()
}
