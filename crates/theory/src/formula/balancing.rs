//! Dispatchers that look at the servers: join the shortest queue, and power of d choices.
//!
//! [`join_shortest_queue`]: two exponential servers, Poisson arrivals, each to the server with fewer jobs, ties by
//! chance. The number in the system is the level of a Markov chain of which the difference between the queues is the
//! state; the difference is cut where nothing is left (Flatto and McKean, Two queues in parallel, Communications on
//! Pure and Applied Mathematics 30, 1977, solve it in full). The mean is that under FCFS, PS and limited PS alike.
//!
//! [`power_of_d`]: of d servers drawn by chance, the one with the fewest jobs, as the number of servers grows without
//! end: the number in a server has the tail rho^((d^i - 1)/(d - 1)) (Vvedenskaya, Dobrushin and Karpelevich 1996;
//! Mitzenmacher, The power of two choices in randomized load balancing, IEEE TPDS 12, 2001). Round robin over
//! exponential servers is in [`super::general::ekm1`].

use nalgebra::DMatrix;

use crate::numeric::qbd::{self, Levels};

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

/// Mean response time (in mean services) of two exponential servers behind join the shortest queue, at this utilisation
/// of each; none above 0.99, where too many states would count, and infinite at 1 or more.
pub fn join_shortest_queue(utilisation: f64) -> Option<f64> {
    if utilisation >= 1.0 {
        return Some(f64::INFINITY);
    }
    if utilisation > 0.99 {
        return None;
    }
    // The number inside falls like rho^n, the difference far faster.
    let levels = ((1e-13f64).ln() / utilisation.ln()).ceil().max(4.0) as usize + 2 * WIDEST;
    let chain = Shortest { rate: 2.0 * utilisation, levels };
    let solved = qbd::solve(&chain)?;
    let number: f64 = solved.levels.iter().enumerate().map(|(level, states)| level as f64 * states.sum()).sum();
    let lost = solved.levels[levels].sum();
    Some(number / (chain.rate * (1.0 - lost)))
}

/// Half of the widest difference between the queues that is counted.
const WIDEST: usize = 30;

/// Two servers of rate 1 with `levels` jobs at most.
struct Shortest {
    rate: f64,
    levels: usize,
}

impl Shortest {
    /// States of a level: the differences 0, 2, 4, ... or 1, 3, 5, ... that are possible and counted.
    fn states(level: usize) -> usize {
        (level / 2 + 1).min(WIDEST)
    }

    /// The difference of a state.
    fn difference(level: usize, state: usize) -> usize {
        2 * state + level % 2
    }

    /// The state of a difference; a wider one than is counted is taken to be the widest.
    fn state(level: usize, difference: usize) -> usize {
        (difference / 2).min(Shortest::states(level) - 1)
    }

    /// Rates from `level` to `to`, its neighbour or itself.
    fn block(&self, level: usize, to: usize) -> DMatrix<f64> {
        let mut rates = DMatrix::zeros(Shortest::states(level), Shortest::states(to));
        for from in 0..Shortest::states(level) {
            let difference = Shortest::difference(level, from);
            let (shorter, longer) = ((level - difference.min(level)) / 2, (level + difference) / 2);
            let mut go = |level_to: usize, difference: usize, rate: f64| {
                if level_to == to {
                    rates[(from, Shortest::state(to, difference))] += rate;
                }
                if level == to {
                    rates[(from, from)] -= rate;
                }
            };
            if level < self.levels {
                // To the shorter one; of two equal ones it does not matter which.
                go(level + 1, difference.abs_diff(1), self.rate);
            }
            if longer > 0 {
                go(level - 1, difference.abs_diff(1), if difference == 0 { 2.0 } else { 1.0 });
            }
            if shorter > 0 && difference > 0 {
                go(level - 1, difference + 1, 1.0);
            }
        }
        rates
    }
}

impl Levels for Shortest {
    fn boundary(&self) -> usize {
        self.levels
    }

    fn ends(&self) -> bool {
        true
    }

    fn down(&self, level: usize) -> DMatrix<f64> {
        self.block(level, level - 1)
    }

    fn stay(&self, level: usize) -> DMatrix<f64> {
        self.block(level, level)
    }

    fn up(&self, level: usize) -> DMatrix<f64> {
        self.block(level, level + 1)
    }
}
