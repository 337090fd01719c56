//! Dispatchers that look at the servers: join the shortest queue, and power of d choices.
//!
//! [`join_shortest_queue`]: exponential servers, Poisson arrivals, each to the server with the fewest jobs. Bounds, of two
//! servers so near that they are the mean (Flatto and McKean, Two queues in parallel, Communications on Pure and Applied
//! Mathematics 30, 1977, solve these in full). The mean is that under FCFS, PS and limited PS alike, whatever is done of ties.
//!
//! [`power_of_d`]: of d servers drawn by chance, the one with the fewest jobs, as the number of servers grows without
//! end: the number in a server has the tail rho^((d^i - 1)/(d - 1)) (Vvedenskaya, Dobrushin and Karpelevich 1996;
//! Mitzenmacher, The power of two choices in randomized load balancing, IEEE TPDS 12, 2001). Round robin over
//! exponential servers is in [`super::general::ekm1`].

mod shortest;

pub use self::shortest::{Bounds, join_shortest_queue};

/// Mean response time (in mean services) of power of `choices` >= 1 among very many exponential servers at this
/// utilisation: the sum over i of rho^((d^i - d)/(d - 1)). With 100 servers it is longer, at utilisation .99 by 9 %.
pub fn power_of_d(choices: u32, utilisation: f64) -> f64 {
    if utilisation >= 1.0 {
        return f64::INFINITY;
    }
    if choices <= 1 {
        return 1.0 / (1.0 - utilisation);
    }
    let d = f64::from(choices);
    let (mut sum, mut term, mut exponent) = (0.0, 1.0, 0.0);
    while term > 1e-18 * sum {
        sum += term;
        exponent = exponent * d + d;
        term = utilisation.powf(exponent);
    }
    sum
}
