//! Convolution: the normalisation constant of a mixed network, stations of any rates included, and the means from it.
//!
//! The constant G(n) of a population n is the coefficient of x^n in the product of one function per station. With t =
//! sum of demand x variable over the closed chains, a station that does a(k) work per second with k jobs inside is f(t)
//! = sum of t^k / (a(1) ... a(k)); a delay is e^t (Buzen, CACM 16, 1973; Reiser and Kobayashi, IBM J. R&D 19, 1975;
//! chains: Bruell and Balbo, Computational Algorithms for Closed Queueing Networks, 1980).
//!
//! A product with f is usually a sum over all smaller populations. But rates settle: beyond m jobs a station works at a
//! rate u, and then f(t) = P(t) / (1 - t/u) with a polynomial P of degree m-1 whose coefficients are not negative as
//! long as the rate never was above u. Multiplying by t is one pass over the populations, dividing by 1 - t/u another:
//! m passes in place of all pairs of populations. An open load r at the station makes it f(r + t), which has the same
//! form with the pole u - r. Where the rate falls with more jobs, f is summed term by term: as many passes as there are
//! jobs.
//!
//! Everything added is positive, so that there is none of the cancellation that mean value analysis with rates is known
//! for; the price is the range of the numbers and a second product per such station for its mean number,
//! demand x `[x^(n-1)]` f'(t) G(without it) / G(n).

use super::demands::{Demands, Serving, Steady};
use super::wide::Wide;

/// Means of a mixed network, exactly; none where open chains ask a station for all that it can do, or more.
///
/// Time is proportional to chains x (rates of all stations) x (1 + stations with several rates) x the product of (users
/// + 1).
pub fn exact(network: &Demands) -> Option<Steady> {
    let factors: Vec<Factor> = (0..network.stations.len()).map(|i| Factor::of(network, i)).collect::<Option<_>>()?;
    let lattice = Lattice::of(network);
    let whole = lattice.product(network, &factors, None);
    let all = lattice.last(&whole);
    let before: Vec<Wide> = (0..network.closed.len()).map(|chain| lattice.without_one(&whole, chain)).collect();
    let throughput: Vec<f64> = before.iter().map(|constant| constant.over(all)).collect();

    let stations = network.stations.len();
    let mut closed = vec![vec![0.0; stations]; network.closed.len()];
    let mut open = vec![vec![0.0; stations]; network.open.len()];
    for (station, factor) in factors.iter().enumerate() {
        if let Factor::Delay = factor {
            for (chain, numbers) in closed.iter_mut().enumerate() {
                numbers[station] = throughput[chain] * network.closed[chain].demand_s[station];
            }
            open.iter_mut().zip(&network.open).for_each(|(numbers, work)| numbers[station] = work[station]);
            continue;
        }
        let derivative = lattice.derivative(network, &factors, station, &whole);
        for (chain, numbers) in closed.iter_mut().enumerate() {
            let seen = lattice.without_one(&derivative, chain).over(all);
            numbers[station] = network.closed[chain].demand_s[station] * seen;
        }
        let seen = lattice.last(&derivative).over(all);
        open.iter_mut().zip(&network.open).for_each(|(numbers, work)| numbers[station] = work[station] * seen);
    }
    Some(Steady { throughput, closed, open })
}

/// Number of values that [`exact`] computes, to decide whether it is worth it.
pub fn cost(network: &Demands) -> f64 {
    let jobs: f64 = network.closed.iter().map(|chain| f64::from(chain.users)).sum();
    let passes = |serving: &Serving| match serving {
        Serving::Delay => 0.0,
        Serving::Rates(rates) if falls(rates) => jobs.max(1.0),
        Serving::Rates(rates) => rates.len() as f64,
    };
    let all: f64 = network.stations.iter().map(passes).sum();
    let again = network.stations.iter().filter(|serving| matches!(serving, Serving::Rates(rates) if rates.len() > 1));
    network.lattice() * network.closed.len().max(1) as f64 * (all * (1.0 + again.count() as f64) + 1.0)
}

/// Whether a rate is above the last one.
fn falls(rates: &[f64]) -> bool {
    rates.iter().any(|rate| *rate > rates[rates.len() - 1])
}

/// f(r + t) of a station.
enum Factor {
    Delay,
    /// The k-th coefficient is `terms[k]` / (a(1) ... a(k)), and all is divided by 1 - t x `pole`.
    Series {
        terms: Vec<Wide>,
        pole: Option<f64>,
        rates: Vec<f64>,
    },
}

impl Factor {
    fn of(network: &Demands, station: usize) -> Option<Factor> {
        let Serving::Rates(rates) = &network.stations[station] else { return Some(Factor::Delay) };
        let (load, last) = (network.open_work(station), rates[rates.len() - 1]);
        if load.is_nan() || load >= last {
            return None;
        }
        let terms = if falls(rates) {
            let jobs: usize = network.closed.iter().map(|chain| chain.users as usize).sum();
            // One term beyond the population: its derivative is at that of one job less.
            (0..=jobs + 1).map(|k| shifted_series(k, load, rates)).collect()
        } else {
            (0..rates.len()).map(|k| shifted_polynomial(k, load, rates)).collect()
        };
        let pole = (!falls(rates)).then_some(1.0 / (last - load));
        Some(Factor::Series { terms, pole, rates: rates.clone() })
    }

    /// f'(r + t) without the part that comes from the pole.
    fn derived(&self) -> Factor {
        let Factor::Series { terms, rates, .. } = self else { unreachable!("a delay's number needs no derivative") };
        let rate = |jobs: usize| rates[jobs.min(rates.len()) - 1];
        let terms = (1..terms.len()).map(|k| terms[k] * (k as f64 / rate(k))).collect();
        Factor::Series { terms, pole: None, rates: rates.clone() }
    }
}

/// The k-th coefficient of P(load + t), times a(1) ... a(k).
fn shifted_polynomial(k: usize, load: f64, rates: &[f64]) -> Wide {
    let last = rates[rates.len() - 1];
    let mut term = Wide::ONE;
    let mut sum = Wide::ZERO;
    for j in k..rates.len() {
        sum += term * if j == 0 { 1.0 } else { 1.0 - rates[j - 1] / last };
        term = term * next(j, k, load, rates);
    }
    sum
}

/// The k-th coefficient of f(load + t), times a(1) ... a(k).
fn shifted_series(k: usize, load: f64, rates: &[f64]) -> Wide {
    let mut term = Wide::ONE;
    let mut sum = Wide::ZERO;
    for j in k.. {
        sum += term;
        let ratio = next(j, k, load, rates);
        // Beyond the last rate the ratio falls towards load / rate, below 1: what is left is less than a geometric
        // tail.
        let is_settled = j >= rates.len() && ratio < 1.0;
        if ratio == 0.0 || (is_settled && term.over(sum) * ratio / (1.0 - ratio) < 1e-17) {
            break;
        }
        term = term * ratio;
    }
    sum
}

/// The (j+1)-th term of such a coefficient over the j-th: C(j, k) load^(j-k) a(1) ... a(k) / (a(1) ... a(j)).
fn next(j: usize, k: usize, load: f64, rates: &[f64]) -> f64 {
    (j + 1) as f64 / (j + 1 - k) as f64 * load / rates[j.min(rates.len() - 1)]
}

/// The populations, numbered in a mixed radix.
struct Lattice {
    users: Vec<usize>,
    strides: Vec<usize>,
    len: usize,
}

impl Lattice {
    fn of(network: &Demands) -> Lattice {
        let users: Vec<usize> = network.closed.iter().map(|chain| chain.users as usize).collect();
        let mut strides = Vec::with_capacity(users.len());
        let mut len = 1;
        for most in &users {
            strides.push(len);
            len *= most + 1;
        }
        Lattice { users, strides, len }
    }

    fn last(&self, constants: &[Wide]) -> Wide {
        constants[self.len - 1]
    }

    fn without_one(&self, constants: &[Wide], chain: usize) -> Wide {
        if self.users[chain] == 0 { Wide::ZERO } else { constants[self.len - 1 - self.strides[chain]] }
    }

    /// The product of all factors but that of `left_out`.
    fn product(&self, network: &Demands, factors: &[Factor], left_out: Option<usize>) -> Vec<Wide> {
        let mut constants = self.away(network);
        for (station, factor) in factors.iter().enumerate().filter(|(station, _)| Some(*station) != left_out) {
            self.multiply(&mut constants, factor, &demands(network, station));
        }
        constants
    }

    /// f'(r + t) of `station` times the product of all other factors; `whole` is the product of all.
    fn derivative(&self, network: &Demands, factors: &[Factor], station: usize, whole: &[Wide]) -> Vec<Wide> {
        let Factor::Series { terms, pole, .. } = &factors[station] else {
            unreachable!("a delay is left to the caller")
        };
        let demands = demands(network, station);
        // (P / (1 - gt))' = P' / (1 - gt) + g P / (1 - gt)^2, and the last is g / (1 - gt) times the station's own
        // factor.
        let mut sum: Vec<Wide> = match pole {
            Some(pole) => whole.iter().map(|constant| *constant * *pole).collect(),
            None => vec![Wide::ZERO; self.len],
        };
        if terms.len() > 1 {
            let mut others = self.product(network, factors, Some(station));
            self.multiply(&mut others, &factors[station].derived(), &demands);
            sum.iter_mut().zip(others).for_each(|(sum, other)| *sum += other);
        }
        if let Some(pole) = pole {
            self.divide(&mut sum, &demands, *pole);
        }
        sum
    }

    /// The factor of thinking and of all delays: the product over chains of z^n / n!.
    fn away(&self, network: &Demands) -> Vec<Wide> {
        let mut constants = vec![Wide::ZERO; self.len];
        constants[0] = Wide::ONE;
        for (chain, stride) in self.strides.iter().enumerate() {
            let away_s = network.away_s(&network.closed[chain]);
            for index in 0..*stride {
                let mut constant = constants[index];
                for jobs in 1..=self.users[chain] {
                    constant = constant * (away_s / jobs as f64);
                    constants[index + jobs * stride] = constant;
                }
            }
        }
        constants
    }

    fn multiply(&self, constants: &mut [Wide], factor: &Factor, demands: &[f64]) {
        let Factor::Series { terms, pole, rates } = factor else { return };
        let mut power = if terms.len() > 1 { constants.to_vec() } else { Vec::new() };
        constants.iter_mut().for_each(|constant| *constant = *constant * terms[0]);
        for (k, term) in terms.iter().enumerate().skip(1) {
            self.times_t(&mut power, demands, 1.0 / rates[k.min(rates.len()) - 1]);
            constants.iter_mut().zip(&power).for_each(|(sum, power)| *sum += *power * *term);
        }
        if let Some(pole) = pole {
            self.divide(constants, demands, *pole);
        }
    }

    /// Multiplies by t x `factor`, in place: a population needs smaller ones as they were.
    fn times_t(&self, constants: &mut [Wide], demands: &[f64], factor: f64) {
        let mut population = self.users.clone();
        for index in (0..self.len).rev() {
            let mut sum = Wide::ZERO;
            for (chain, _) in population.iter().enumerate().filter(|(_, jobs)| **jobs > 0) {
                sum += constants[index - self.strides[chain]] * (demands[chain] * factor);
            }
            constants[index] = sum;
            for (jobs, most) in population.iter_mut().zip(&self.users) {
                if *jobs > 0 {
                    *jobs -= 1;
                    break;
                }
                *jobs = *most;
            }
        }
    }

    /// Divides by 1 - t x `pole`, in place: a population needs smaller ones as they become.
    fn divide(&self, constants: &mut [Wide], demands: &[f64], pole: f64) {
        let mut population = vec![0usize; self.users.len()];
        for index in 0..self.len {
            for (chain, _) in population.iter().enumerate().filter(|(_, jobs)| **jobs > 0) {
                let before = constants[index - self.strides[chain]] * (demands[chain] * pole);
                constants[index] += before;
            }
            for (jobs, most) in population.iter_mut().zip(&self.users) {
                if *jobs < *most {
                    *jobs += 1;
                    break;
                }
                *jobs = 0;
            }
        }
    }
}

fn demands(network: &Demands, station: usize) -> Vec<f64> {
    network.closed.iter().map(|chain| chain.demand_s[station]).collect()
}
