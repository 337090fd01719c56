//! The response time law of M/G/1 under FCFS, computed on a grid.
//!
//! The wait is a geometric sum of equilibrium residuals of the service (Pollaczek and Khinchine; Kleinrock, Queueing
//! Systems I, 1975, section 5.7). On a grid that is a compound geometric law, which Panjer's recursion sums exactly
//! (ASTIN Bulletin 12, 1981). The error is that of the grid alone and falls with the square of its step. The price:
//! some milliseconds of computing where a formula would take none. A service that takes certain times with a probability
//! gives the response time of those that do not wait the same: that part is added without the grid.

use sojourn_stats::Law;
use statrs::function::gamma::gamma_ur;

use crate::law::{Moments, Shape, balanced_means};
use crate::numeric;

/// Tail P(T > t) of a response time on a grid, linear between its points.
#[derive(Clone, Debug, PartialEq)]
pub struct Tail {
    step_s: f64,
    /// P(T > k steps), k = 0, 1, ..., without what is `alone`.
    above: Vec<f64>,
    /// The part of the jobs that do not wait, and their service (s), where that has atoms.
    alone: Option<(f64, Law)>,
}

impl Tail {
    /// What lies between two points of the grid (s).
    pub(crate) fn step_s(&self) -> f64 {
        self.step_s
    }

    /// The `p`-quantile (s), of a law whose mean service is `scale_s`; one at a service that many jobs have is that service
    /// exactly.
    pub(crate) fn quantile(&self, p: f64, scale_s: f64) -> f64 {
        let found = numeric::quantile(p, scale_s, |t| self.at(t));
        let atom = self.alone.as_ref().and_then(|(_, service)| {
            let beyond = found * (1.0 + NEAR);
            let value = service.quantile(1.0 - service.survival(beyond)).ok()?;
            // What lies between two atoms is none.
            (service.survival(value * (1.0 - NEAR)) > service.survival(beyond)).then_some(value)
        });
        atom.filter(|atom| (atom - found).abs() <= NEAR * found).unwrap_or(found)
    }

    /// Tail P(T > t) at `t_s` (s).
    pub fn at(&self, t_s: f64) -> f64 {
        let position = (t_s / self.step_s).max(0.0);
        let below = position as usize;
        let on_grid = match (self.above.get(below), self.above.get(below + 1)) {
            (Some(left), Some(right)) => left + (right - left) * (position - below as f64),
            (Some(last), None) => *last,
            _ => 0.0,
        };
        // A hair more, so that the time of an atom is not before it.
        let alone = |(part, service): &(f64, Law)| part * service.survival(t_s * (1.0 + 1e-12));
        on_grid + self.alone.as_ref().map_or(0.0, alone)
    }
}

/// A search is as near to an atom as this, as a part of it.
const NEAR: f64 = 1e-9;

/// Grid points in a mean service: at least, or there is no law, and at most.
const STEPS_MIN: f64 = 6.0;
const STEPS_MAX: f64 = 256.0;
/// Multiplications that a law may cost; where its reach would take more, the grid is coarser.
const COST: f64 = 5e6;
/// The law is computed up to here.
const NEGLIGIBLE: f64 = 1e-4;
/// The service is.
const NEGLIGIBLE_SERVICE: f64 = 1e-7;
/// A law that does reach over so many points is given up.
const POINTS_MAX: usize = 1_000_000;

/// Response time law of M/G/1 under FCFS from moments: a service known by two moments only is taken to be gamma.
///
/// None at a utilisation of 1 or more, for a service of infinite variance, and where the law reaches too far for the
/// grid.
pub fn response_time_law_of_moments(arrival_rate: f64, service: &Moments) -> Option<Tail> {
    let above = |x: f64| survival(service, x);
    // Simpson's rule, up to a hair before the end, where a constant service may end.
    let between = |a: f64, b: f64| (b - a) / 6.0 * (above(a) + 4.0 * above(0.5 * (a + b)) + above(b - 1e-9));
    let atoms = (service.scv == 0.0).then(|| Law::constant(service.mean_s));
    Some(on_grid(arrival_rate, service.mean_s, service.scv, above, between, atoms)?.0)
}

/// Response time law of M/G/1 under FCFS for any service law (s). None as [`response_time_law_of_moments`].
pub fn response_time_law(arrival_rate: f64, service: &Law) -> Option<Tail> {
    Some(law_and_wait(arrival_rate, service)?.0)
}

/// The probabilities of waits of 0, 1, 2, ... steps of so many seconds in the same queue.
pub(crate) fn waits(arrival_rate: f64, service: &Law) -> Option<(f64, Vec<f64>)> {
    let (tail, wait) = law_and_wait(arrival_rate, service)?;
    Some((tail.step_s, wait))
}

fn law_and_wait(arrival_rate: f64, service: &Law) -> Option<(Tail, Vec<f64>)> {
    let mean_s = service.mean();
    let limited = |x: f64| service.limited_moment(1, x * mean_s) / mean_s;
    let between = |a: f64, b: f64| limited(b) - limited(a);
    let atoms = service.has_atoms().then(|| service.clone());
    on_grid(arrival_rate, mean_s, service.scv(), |x| service.survival(x * mean_s), between, atoms)
}

/// The response time, and the probabilities of waits of so many steps. `survival` is P(S > x mean), `between` its
/// integral; `atoms` is the service where it has some.
fn on_grid(
    arrival_rate: f64,
    mean_s: f64,
    scv: f64,
    survival: impl Fn(f64) -> f64,
    between: impl Fn(f64, f64) -> f64,
    atoms: Option<Law>,
) -> Option<(Tail, Vec<f64>)> {
    let rho = arrival_rate * mean_s;
    if rho >= 1.0 || !scv.is_finite() {
        return None;
    }
    let mut reach = 1.0;
    while survival(reach) > NEGLIGIBLE_SERVICE {
        reach *= 2.0;
    }
    let response = 1.0 + rho / (1.0 - rho) * 0.5 * (1.0 + scv);
    let steps = (COST / (10.0 * response * reach)).sqrt().min(STEPS_MAX).floor();
    if steps < STEPS_MIN {
        return None;
    }
    let step_s = mean_s / steps;
    // The equilibrium residual, by the mass around each point: the survival function over the mean, integrated.
    let mut residual = Vec::new();
    let mut missing = 1.0;
    while missing > NEGLIGIBLE_SERVICE && residual.len() < POINTS_MAX {
        let point = residual.len() as f64;
        let (low, high) = ((point - 0.5).max(0.0), point + 0.5);
        // On each side of the point, where a constant service may end.
        let mass = between(low / steps, point / steps) + between(point / steps, high / steps);
        residual.push(mass);
        missing -= mass;
    }
    let total: f64 = residual.iter().sum();
    residual.iter_mut().for_each(|mass| *mass /= total);
    // The service itself, likewise.
    let mut own = Vec::new();
    loop {
        let point = own.len() as f64;
        let above = if own.is_empty() { 1.0 } else { survival((point - 0.5) / steps) };
        own.push(above - survival((point + 0.5) / steps));
        if survival((point + 0.5) / steps) < NEGLIGIBLE_SERVICE || own.len() > POINTS_MAX {
            break;
        }
    }
    let factor = 1.0 / (1.0 - rho * residual[0]);
    let mut wait = vec![(1.0 - rho) * factor];
    let alone = if atoms.is_some() { 1.0 - rho } else { 0.0 };
    let (mut above, mut left) = (Vec::new(), 1.0 - alone);
    let waits = |wait: &[f64], steps: usize| if steps == 0 { wait[0] - alone } else { wait[steps] };
    let mut work = 0;
    loop {
        let n = above.len();
        work += n.min(residual.len()) + n.min(own.len());
        if n >= wait.len() {
            let most = n.min(residual.len() - 1);
            let sum: f64 = (1..=most).map(|j| residual[j] * wait[n - j]).sum();
            wait.push(rho * factor * sum);
        }
        let most = n.min(own.len() - 1);
        left -= (0..=most).map(|j| own[j] * waits(&wait, n - j)).sum::<f64>();
        // A point stands for what is around it: half of it lies below.
        above.push(left);
        if left < NEGLIGIBLE {
            break;
        }
        if above.len() > POINTS_MAX || work as f64 > 20.0 * COST {
            return None;
        }
    }
    let before = std::iter::once(1.0 - alone).chain(above.iter().copied());
    let above = before.zip(&above).map(|(before, after)| 0.5 * (before + after)).collect();
    Some((Tail { step_s, above, alone: atoms.map(|service| (alone, service)) }, wait))
}

/// P(S > x mean).
fn survival(service: &Moments, x: f64) -> f64 {
    match service.shape {
        Shape::Constant => f64::from(u8::from(x < 1.0)),
        Shape::Exponential => (-x).exp(),
        Shape::Erlang(phases) => gamma_survival(f64::from(phases), x),
        Shape::Hyperexponential => balanced_means(service.scv).iter().map(|(p, rate)| p * (-rate * x).exp()).sum(),
        Shape::General if service.scv == 0.0 => f64::from(u8::from(x < 1.0)),
        Shape::General => gamma_survival(1.0 / service.scv, x),
    }
}

fn gamma_survival(shape: f64, x: f64) -> f64 {
    if x <= 0.0 { 1.0 } else { gamma_ur(shape, shape * x) }
}
