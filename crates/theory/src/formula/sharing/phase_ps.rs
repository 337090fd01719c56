//! The response time law of M/G/1-PS for services that are mixtures of Erlang laws: exact, from its transform.
//!
//! Let the clock run with the service that a job of size x attains (as in [`super::md1_ps`]). While it runs from 0 to
//! x, every job present lives for what it needs and gives birth to arrivals at rate lambda, and the response time is
//! the integral of the number of those alive (Yashkov, Problems of Control and Information Theory 12, 1983). With
//! 1/g(u) the transform of what a job that lives for u contributes with its offspring, and G its mean over a residual
//! service, E\[e^(-sT(x))\] = (1-rho) / (g(x) - rho G(x)). Both solve linear equations with a rational transform; by
//! its residues
//!
//! g(x) - rho G(x) = sum over the roots r of r = s + lambda (1 - S(r)) of (s/r)^2 e^(rx) / (1 + lambda S'(r)),
//!
//! where S is the transform of the service (the same as Ott, The sojourn-time distribution in the M/G/1 queue with
//! processor sharing, J. Applied Probability 21, 1984, has as a double transform). Averaged over x, and inverted by
//! Euler summation. The price is some milliseconds for each point of the law, more with more stages.

use num_complex::Complex64;
use sojourn_stats::law::ErlangBranch;
use sojourn_stats::{Law, quadrature};
use statrs::function::gamma::ln_gamma;

use crate::formula::sharing::mg1_ps;
use crate::numeric;
use crate::numeric::inversion::invert;

/// Roots at most, one more than the stages: half a second for a few percentiles.
const ROOTS_MAX: u32 = 32;
/// A root is found where a step is this part of it.
const SETTLED: f64 = 1e-14;
/// Steps for each at most: where rounding keeps them longer than that, they are as good as they get.
const STEPS_MAX: u32 = 200;
/// What is left out of the mean over sizes.
const NEGLIGIBLE: f64 = 1e-14;

/// Response time law of M/G/1-PS for mixtures of Erlang laws.
#[derive(Clone, Debug)]
pub struct PhaseSharing {
    arrival_rate: f64,
    service: Law,
    stages: Vec<Stages>,
    /// Minus the poles of the service's transform, and their orders.
    poles: Vec<(f64, u32)>,
    utilisation: f64,
}

/// A branch of the service: so many stages, each of this rate.
#[derive(Clone, Copy, Debug)]
struct Stages {
    weight: f64,
    count: u32,
    rate: f64,
}

impl PhaseSharing {
    /// Law for jobs that come at `arrival_rate` (1/s) and need a time of this law (s). None at a utilisation of 1 or
    /// more, and where the law is no mixture of Erlang laws or one of too many stages.
    pub fn new(arrival_rate: f64, service: &Law) -> Option<PhaseSharing> {
        let utilisation = arrival_rate * service.mean();
        if utilisation >= 1.0 {
            return None;
        }
        let stages = |branch: &ErlangBranch| {
            let ErlangBranch { weight, stages, mean } = *branch;
            Stages { weight, count: stages, rate: f64::from(stages) / mean }
        };
        let stages: Vec<Stages> = service.erlang_mixture()?.iter().map(stages).collect();
        let mut poles: Vec<(f64, u32)> = Vec::new();
        for Stages { count, rate, .. } in &stages {
            match poles.iter_mut().find(|(pole, _)| (pole / rate - 1.0).abs() < 1e-12) {
                Some((_, order)) => *order = (*order).max(*count),
                None => poles.push((*rate, *count)),
            }
        }
        let law = PhaseSharing { arrival_rate, service: service.clone(), stages, poles, utilisation };
        (law.degree() <= ROOTS_MAX).then_some(law)
    }

    /// Tail P(T > t) at `t_s` (s).
    pub fn tail(&self, t_s: f64) -> f64 {
        if t_s <= 0.0 {
            return 1.0;
        }
        invert(t_s, |s| (1.0 - self.transform(s)) / s).clamp(0.0, 1.0)
    }

    /// Quantile at `p` (s).
    pub fn quantile(&self, p: f64) -> f64 {
        let mean_s = mg1_ps::response_time_mean(self.arrival_rate, self.service.mean());
        numeric::smooth_quantile(p, mean_s, |t| self.tail(t))
    }

    /// E\[e^(-sT)\].
    fn transform(&self, s: Complex64) -> Complex64 {
        let roots = self.roots(s);
        let term = |&r: &Complex64| (s / r).powu(2) / (self.slope(r) * self.arrival_rate + 1.0);
        let mut terms: Vec<Complex64> = roots.iter().map(term).collect();
        // Short stretches first, where those terms fade that fade fast; then as long as the slowest allows.
        let slowest = roots.iter().max_by(|a, b| a.re.total_cmp(&b.re)).expect("there is one root at least");
        let rates = self.stages.iter().map(|stages| stages.rate);
        let (lowest, highest) = (rates.clone().fold(f64::INFINITY, f64::min), rates.fold(0.0, f64::max));
        let first = 1.0 / roots.iter().map(|r| r.norm()).fold(highest, f64::max);
        let longest = 3.0 / (slowest.norm() + lowest);
        let (mut start, mut width, mut sum) = (0.0, 0.0, Complex64::ZERO);
        let mut growth: Vec<Vec<Complex64>> = Vec::new();
        loop {
            let next = f64::clamp(0.5 * start, first, longest.max(first));
            if next != width {
                width = next;
                let ends = quadrature::points(0.0, width).map(|(x, _)| x).chain([width]);
                growth = ends.map(|x| roots.iter().map(|&r| (r * x).exp()).collect()).collect();
            }
            let grown = |at: usize| terms.iter().zip(&growth[at]).map(|(term, by)| *term * *by);
            for (at, (x, weight)) in quadrature::points(start, start + width).enumerate() {
                let all = grown(at).sum::<Complex64>();
                sum += weight * self.density(x) * (1.0 - self.utilisation) / all;
            }
            terms = grown(growth.len() - 1).collect();
            start += width;
            let all = terms.iter().sum::<Complex64>();
            assert!(all.norm().is_finite(), "a sum of fading and growing terms is a number as long as it matters");
            if self.service.survival(start) < NEGLIGIBLE * all.norm() {
                return sum;
            }
        }
    }

    /// The density of the service.
    fn density(&self, x: f64) -> f64 {
        let of = |stages: &Stages| {
            let (k, passed) = (f64::from(stages.count), stages.rate * x);
            stages.weight * stages.rate * ((k - 1.0) * passed.ln() - passed - ln_gamma(k)).exp()
        };
        self.stages.iter().map(of).sum()
    }

    /// S(r).
    fn service(&self, r: Complex64) -> Complex64 {
        self.stages.iter().map(|stages| stages.transform(r)).sum()
    }

    /// S'(r).
    fn slope(&self, r: Complex64) -> Complex64 {
        let of = |stages: &Stages| -stages.transform(r) * f64::from(stages.count) / (r + stages.rate);
        self.stages.iter().map(of).sum()
    }

    /// How many roots there are.
    fn degree(&self) -> u32 {
        1 + self.poles.iter().map(|(_, order)| order).sum::<u32>()
    }

    /// The roots of r = s + lambda (1 - S(r)), all at once, by Newton's steps that shun the others (Aberth, Mathematics
    /// of Computation 27, 1973) on what becomes a polynomial when S's poles are multiplied out.
    fn roots(&self, s: Complex64) -> Vec<Complex64> {
        let (poles, degree) = (&self.poles, self.degree());
        let radius = s.norm() + 2.0 * self.arrival_rate + poles.iter().map(|(rate, _)| *rate).fold(0.0, f64::max);
        let turn = |k: u32| Complex64::new(0.0, (f64::from(k) + 0.3) * std::f64::consts::TAU / f64::from(degree)).exp();
        let mut roots: Vec<Complex64> = (0..degree).map(|k| turn(k) * radius).collect();
        for _ in 0..STEPS_MAX {
            let mut largest = 0.0f64;
            for at in 0..roots.len() {
                let r = roots[at];
                let off = r - s + (self.service(r) - 1.0) * self.arrival_rate;
                // So near that its square is no number any more.
                if off.norm() < 1e-150 {
                    continue;
                }
                let from_poles =
                    poles.iter().fold(Complex64::ZERO, |sum, (rate, order)| sum + f64::from(*order) / (r + *rate));
                let pull = (self.slope(r) * self.arrival_rate + 1.0) / off + from_poles;
                let others = roots.iter().enumerate().filter(|(other, _)| *other != at);
                let shun = others.fold(Complex64::ZERO, |sum, (_, other)| sum + 1.0 / (r - *other));
                let step = 1.0 / (pull - shun);
                roots[at] = r - step;
                largest = largest.max(step.norm() / r.norm());
            }
            if largest < SETTLED {
                break;
            }
        }
        roots
    }
}

impl Stages {
    /// What it adds to S(r).
    fn transform(&self, r: Complex64) -> Complex64 {
        (self.rate / (r + self.rate)).powu(self.count) * self.weight
    }
}
