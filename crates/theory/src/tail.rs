//! Laws of the response time that have no closed form, computed.
//!
//! [`fcfs`]: in M/G/1 the wait is a geometric sum of equilibrium residuals of the service (Pollaczek and Khinchine; Kleinrock,
//! Queueing Systems I, 1975, section 5.7). On a grid that is a compound geometric law, which Panjer's recursion sums exactly
//! (ASTIN Bulletin 12, 1981); the grid is the only error, of its square.
//!
//! [`constant_ps`]: in M/D/1-PS, let the clock run with the service that the tagged job attains. Everybody present then gives
//! birth to arrivals at the arrival rate and lives for its own remaining service, so that the time in the system is the
//! integral of a branching process (Yashkov, 1983). For a constant service its transform is closed (below), and is inverted
//! by Euler summation (Abate and Whitt, ORSA Journal on Computing 7, 1995), after the atom of those who met nobody has been
//! taken out.
//!
//! The price: some milliseconds of computing where a formula would take none.

use std::f64::consts::PI;

use sojourn_stats::Law;
use statrs::function::gamma::gamma_ur;

use crate::complex::Complex;
use crate::moments::{Moments, Shape, balanced_means};

/// P(T > t) on a grid, between whose points it is straight.
#[derive(Clone, Debug, PartialEq)]
pub struct Tail {
    step_s: f64,
    /// P(T > k steps), k = 0, 1, ...
    above: Vec<f64>,
}

impl Tail {
    /// P(T > t).
    pub fn at(&self, t_s: f64) -> f64 {
        let position = (t_s / self.step_s).max(0.0);
        let below = position as usize;
        match (self.above.get(below), self.above.get(below + 1)) {
            (Some(left), Some(right)) => left + (right - left) * (position - below as f64),
            (Some(last), None) => *last,
            _ => 0.0,
        }
    }
}

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

/// The response time of M/G/1 under FCFS. Of a law that is known by two moments only, as if it were gamma.
///
/// None at a utilisation of 1 or more, for a service of infinite variance, and where the law reaches too far for the grid.
pub fn fcfs(arrival_rate: f64, service: &Moments) -> Option<Tail> {
    let above = |x: f64| survival(service, x);
    // Simpson's rule, up to a hair before the end, where a constant service may end.
    let between = |a: f64, b: f64| (b - a) / 6.0 * (above(a) + 4.0 * above(0.5 * (a + b)) + above(b - 1e-9));
    Some(fcfs_on_grid(arrival_rate, service.mean_s, service.scv, above, between)?.0)
}

/// The same of a service that follows this law, whatever it is.
pub fn fcfs_of(arrival_rate: f64, service: &Law) -> Option<Tail> {
    Some(fcfs_and_wait(arrival_rate, service)?.0)
}

/// The probabilities of waits of 0, 1, 2, ... steps of so many seconds in the same queue.
pub(crate) fn waits(arrival_rate: f64, service: &Law) -> Option<(f64, Vec<f64>)> {
    let (tail, wait) = fcfs_and_wait(arrival_rate, service)?;
    Some((tail.step_s, wait))
}

fn fcfs_and_wait(arrival_rate: f64, service: &Law) -> Option<(Tail, Vec<f64>)> {
    let mean_s = service.mean();
    let limited = |x: f64| service.limited_moment(1, x * mean_s) / mean_s;
    let between = |a: f64, b: f64| limited(b) - limited(a);
    fcfs_on_grid(arrival_rate, mean_s, service.scv(), |x| service.survival(x * mean_s), between)
}

/// The response time, and the probabilities of waits of so many steps. `survival` is P(S > x mean), `between` its integral.
fn fcfs_on_grid(
    arrival_rate: f64,
    mean_s: f64,
    scv: f64,
    survival: impl Fn(f64) -> f64,
    between: impl Fn(f64, f64) -> f64,
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
    let (mut above, mut left) = (Vec::new(), 1.0);
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
        left -= (0..=most).map(|j| own[j] * wait[n - j]).sum::<f64>();
        // A point stands for what is around it: half of it lies below.
        above.push(left);
        if left < NEGLIGIBLE {
            break;
        }
        if above.len() > POINTS_MAX || work as f64 > 20.0 * COST {
            return None;
        }
    }
    let before = std::iter::once(1.0).chain(above.iter().copied());
    let above = before.zip(&above).map(|(before, after)| 0.5 * (before + after)).collect();
    Some((Tail { step_s, above }, wait))
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

/// P(T > t) of M/D/1-PS.
///
/// With arrival rate l and service D, a newborn in the branching process contributes b = (l+s)/(l + s e^((l+s)D)) to the
/// transform by the time the tagged job ends, as does the tagged job itself; one of those met on arrival, a geometric number
/// with uniform residuals, contributes B = b (l D + s (e^((l+s)D) - 1)/(l+s)) / ((l+s) D). So E\[e^(-sT)\] = b (1-rho)/(1 -
/// rho B).
pub fn constant_ps(t_s: f64, arrival_rate: f64, service_s: f64) -> f64 {
    let rho = arrival_rate * service_s;
    if t_s < service_s {
        return 1.0;
    }
    if rho >= 1.0 {
        return 1.0;
    }
    // In units of the service: the rate is rho.
    let beyond = t_s / service_s - 1.0;
    let alone = (1.0 - rho) * (-rho).exp();
    if beyond < 1e-9 {
        return 1.0 - alone;
    }
    // The transform of the time beyond D, and of its tail: (1 - f(s)) / s with the atom taken out.
    let transform = |s: Complex| {
        let sum = s + rho;
        let shrunk = (-s).exp();
        // b e^s, and B, with e^s multiplied out.
        let own = sum / (shrunk * rho + s * rho.exp());
        let met = own * (s * (-shrunk + rho.exp()) / sum + shrunk * rho) / sum;
        own * (1.0 - rho) / (-(met * rho) + 1.0)
    };
    let tail = |s: Complex| (-(transform(s)) + 1.0) / s;
    invert(beyond, tail).clamp(0.0, 1.0 - alone)
}

/// f(t) from its Laplace transform, for an f that is bounded by 1: Abate and Whitt's Euler algorithm with its usual numbers
/// (discretisation error 1e-8).
pub(crate) fn invert(t: f64, transform: impl Fn(Complex) -> Complex) -> f64 {
    const A: f64 = 18.4;
    const TERMS: usize = 30;
    const AVERAGED: usize = 12;
    let term = |k: usize| transform(Complex::new(A / (2.0 * t), k as f64 * PI / t)).re;
    let scale = (A / 2.0).exp() / t;
    let mut sum = 0.5 * scale * term(0);
    let mut partial = Vec::with_capacity(AVERAGED + 1);
    for k in 1..=TERMS + AVERAGED {
        sum += scale * if k % 2 == 0 { 1.0 } else { -1.0 } * term(k);
        if k >= TERMS {
            partial.push(sum);
        }
    }
    // The mean of the partial sums under the binomial law.
    let mut weight = 0.5f64.powi(AVERAGED as i32);
    let mut value = 0.0;
    for (j, sum) in partial.iter().enumerate() {
        value += weight * sum;
        weight *= (AVERAGED - j) as f64 / (j + 1) as f64;
    }
    value
}
