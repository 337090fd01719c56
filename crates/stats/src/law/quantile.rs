//! The inverse of the distribution function, and what is left of an interval that one looks into.
//!
//! In closed form where there is one. Gamma, Erlang, hyperexponential and inverse Gaussian laws and mixtures have none:
//! their own distribution function is inverted, by false position between bounds, until the tail is met to 1e-13 of
//! itself; the price is some ten evaluations of it. Zipf's law of ranks has no quantile here.
//!
//! Both tails are handed around, P(X <= x) and P(X > x): each knows what the other has lost to rounding.

use std::f64::consts::SQRT_2;

use statrs::function::erf::{erfc, erfc_inv};

use super::kind::Kind;
use super::{Law, LawError};
use crate::{Stream, math};

/// The chances to be at most, and above, a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tails {
    lower: f64,
    upper: f64,
}

impl Law {
    /// The `p` quantile (SI unit): the smallest x with P(X <= x) at least `p`. 0 gives the smallest possible value, 1 the
    /// largest, which may be infinite.
    ///
    /// # Errors
    /// Where the law has no quantile function here; it is named.
    ///
    /// # Panics
    /// Unless 0 <= `p` <= 1.
    pub fn quantile(&self, p: f64) -> Result<f64, LawError> {
        assert!((0.0..=1.0).contains(&p), "the quantile {p} is not between 0 and 1");
        match p {
            0.0 => self.invertible().map(|()| self.limits().0),
            1.0 => self.invertible().map(|()| self.limits().1),
            _ => self.at(Tails { lower: p, upper: 1.0 - p }),
        }
    }

    /// The value that lies where `z` lies in the standard normal law, to full precision in both tails. Of normal `z` it
    /// has this law, and of normal numbers that hang together their order in time (a Gaussian copula).
    ///
    /// # Errors
    /// As [`Law::quantile`].
    #[inline]
    pub fn quantile_of_normal(&self, z: f64) -> Result<f64, LawError> {
        match self.kind {
            Kind::Lognormal { mu, sigma } => Ok(math::exp(mu + sigma * z)),
            _ => self.at(Tails { lower: 0.5 * erfc(-z / SQRT_2), upper: 0.5 * erfc(z / SQRT_2) }),
        }
    }

    /// Draws what is left of an interval of this law (SI unit) at an instant that falls anywhere into it: the equilibrium
    /// law, whose density is P(X > x) over the mean (Cox, Renewal Theory, 1962, section 5.2).
    ///
    /// # Panics
    /// Unless the mean is positive and finite.
    pub fn sample_residual(&self, stream: &mut Stream) -> f64 {
        assert!(self.mean > 0.0 && self.mean.is_finite(), "an interval of {self} has no residual life");
        match self.kind {
            Kind::Constant(value) => value * stream.uniform(),
            Kind::Exponential { .. } => self.sample(stream),
            Kind::Pareto { alpha, min } => {
                // P(X_e > x) = (min/x)^(alpha - 1) / alpha beyond min, with all digits of the far tail.
                let upper = 1.0 - stream.uniform();
                let beyond = alpha * upper;
                if beyond < 1.0 {
                    min * math::exp(-math::ln(beyond) / (alpha - 1.0))
                } else {
                    self.mean * (1.0 - upper)
                }
            }
            _ => {
                let lower = stream.uniform().max(f64::EPSILON / 4.0);
                let age = |x: f64| (self.kind.partial(1, x) + x * self.kind.survival(x)) / self.mean;
                let tails = Tails { lower, upper: 1.0 - lower };
                invert(tails, (lower * self.mean, self.mean), age, |x| (1.0 - age(x)).max(0.0)).min(self.limits().1)
            }
        }
    }

    /// The index of a tail that falls as a power, P(X > x) about x^-alpha: moments from alpha up are infinite. None of a law
    /// whose tail falls faster.
    pub fn tail_index(&self) -> Option<f64> {
        self.kind.tail_index()
    }

    #[inline]
    fn at(&self, tails: Tails) -> Result<f64, LawError> {
        self.invertible()?;
        Ok(self.kind.quantile(tails))
    }

    fn invertible(&self) -> Result<(), LawError> {
        if self.kind.is_invertible() { Ok(()) } else { Err(LawError(format!("{self} has no quantile function here"))) }
    }
}

impl Kind {
    fn is_invertible(&self) -> bool {
        match self {
            Kind::Zipf { .. } => false,
            Kind::Mix(parts) => parts.iter().all(|part| part.law.is_invertible()),
            Kind::Redrawn { law, .. } | Kind::Capped { law, .. } => law.is_invertible(),
            _ => true,
        }
    }

    fn tail_index(&self) -> Option<f64> {
        match self {
            Kind::Pareto { alpha, .. } => Some(*alpha),
            Kind::Mix(parts) => parts.iter().filter_map(|part| part.law.tail_index()).reduce(f64::min),
            _ => None,
        }
    }

    fn quantile(&self, tails: Tails) -> f64 {
        let Tails { lower, upper } = tails;
        match *self {
            Kind::Constant(value) => value,
            Kind::Uniform { low, high } if lower < upper => low + (high - low) * lower,
            Kind::Uniform { low, high } => high - (high - low) * upper,
            Kind::Exponential { mean } => -mean * tails.log_upper(),
            Kind::Lognormal { mu, sigma } => math::exp(mu + sigma * tails.normal()),
            Kind::Normal { mean, sd } => {
                // P(X > x) is Phi((mean - x) / sd) / Phi(mean / sd), and what is below 0 counts as below.
                let kept = 0.5 * erfc(-mean / sd / SQRT_2);
                let upper = upper * kept;
                let lower = 0.5 * erfc(mean / sd / SQRT_2) + lower * kept;
                (mean + sd * Tails { lower, upper }.normal()).max(0.0)
            }
            Kind::Pareto { alpha, min } => min * math::exp(-tails.log_upper() / alpha),
            Kind::BoundedPareto { alpha, min, max, share } => {
                (min * math::exp(-math::ln_1p(-share * lower) / alpha)).clamp(min, max)
            }
            Kind::Weibull { shape, scale } => scale * math::pow(-tails.log_upper(), 1.0 / shape),
            Kind::Empirical { ref data, scale } => {
                let count = data.values.len();
                // The hair keeps 0.9 * 10 from becoming the tenth by rounding.
                let rank = (lower * count as f64 * (1.0 - 1e-12)).ceil() as usize;
                scale * data.values[rank.clamp(1, count) - 1]
            }
            Kind::Redrawn { ref law, max } => {
                let (kept, cut) = (law.partial(0, max), law.survival(max));
                law.quantile(Tails { lower: lower * kept, upper: cut + upper * kept }).min(max)
            }
            Kind::Capped { ref law, cap } => law.quantile(tails).min(cap),
            Kind::Hyperexponential { fast_mean, slow_mean, .. } => {
                let bounds = (-fast_mean * tails.log_upper(), -slow_mean * tails.log_upper());
                self.inverted(tails, bounds)
            }
            Kind::Mix(ref parts) => {
                let parts = parts.iter().map(|part| part.law.quantile(tails));
                let bounds = parts.fold((f64::INFINITY, 0.0f64), |(low, high), x| (low.min(x), high.max(x)));
                self.inverted(tails, bounds)
            }
            Kind::Erlang { mean, .. } | Kind::InverseGaussian { mean, .. } => self.inverted(tails, (mean, mean)),
            Kind::Gamma { shape, scale, .. } => self.inverted(tails, (shape * scale, shape * scale)),
            Kind::Zipf { .. } => unreachable!("only what is invertible is inverted"),
        }
    }

    /// By its own tails, sought from between `bounds`.
    fn inverted(&self, tails: Tails, bounds: (f64, f64)) -> f64 {
        invert(tails, bounds, |x| self.partial(0, x), |x| self.survival(x))
    }
}

impl Tails {
    /// The logarithm of the upper tail.
    fn log_upper(self) -> f64 {
        if self.lower < 0.5 { math::ln_1p(-self.lower) } else { math::ln(self.upper) }
    }

    /// The quantile of the standard normal law.
    fn normal(self) -> f64 {
        if self.lower < self.upper { -SQRT_2 * erfc_inv(2.0 * self.lower) } else { SQRT_2 * erfc_inv(2.0 * self.upper) }
    }
}

/// The x > 0 where the smaller of the two tails, and with it the other, is as asked, or where it jumps over that; sought
/// from `bounds`, which are moved apart until it lies between them.
///
/// Logarithms of tail and place are near a straight line in both tails of every law here, so that false position
/// (Anderson and Björck, BIT 13, 1973) takes few steps; bisection helps where it stalls, as at a jump.
fn invert(tails: Tails, bounds: (f64, f64), cdf: impl Fn(f64) -> f64, survival: impl Fn(f64) -> f64) -> f64 {
    /// Of the tail, relative.
    const CLOSE: f64 = 1e-13;
    let rises = tails.lower < tails.upper;
    // Below 0 to the left of the x sought, above 0 to the right of it.
    let off = |log_x: f64| {
        let x = math::exp(log_x);
        if rises {
            math::ln(cdf(x).max(f64::MIN_POSITIVE)) - math::ln(tails.lower)
        } else {
            math::ln(tails.upper) - math::ln(survival(x).max(f64::MIN_POSITIVE))
        }
    };
    let (mut a, mut b) = (math::ln(bounds.0.max(f64::MIN_POSITIVE)), math::ln(bounds.1.max(f64::MIN_POSITIVE)));
    let (mut at_a, mut at_b) = (off(a), off(b));
    let mut step = 1.0;
    while at_a > CLOSE && a > -700.0 {
        (b, at_b) = (a, at_a);
        a -= step;
        at_a = off(a);
        step *= 2.0;
    }
    step = 1.0;
    while at_b < -CLOSE && b < 700.0 {
        (a, at_a) = (b, at_b);
        b += step;
        at_b = off(b);
        step *= 2.0;
    }
    for (end, at_end) in [(a, at_a), (b, at_b)] {
        if at_end.abs() <= CLOSE {
            return math::exp(end);
        }
    }
    let mut widths = [f64::INFINITY; 3];
    let mut moved_b = None;
    for round in 0..300 {
        let width = b - a;
        if width <= 4.0 * f64::EPSILON * b.abs().max(1.0) {
            break;
        }
        // Where three rounds did not halve what lies between, the middle does.
        let stalls = width > 0.5 * widths[round % 3];
        widths[round % 3] = width;
        let position = a - at_a * width / (at_b - at_a);
        let x = if stalls || !(position > a && position < b) { a + 0.5 * width } else { position };
        let at_x = off(x);
        if at_x.abs() <= CLOSE {
            return math::exp(x);
        }
        // An end that stays a second time gets less weight, or it would stay for ever.
        let less = |of: f64| if of < 1.0 { 1.0 - of } else { 0.5 };
        if at_x > 0.0 {
            if moved_b == Some(true) {
                at_a *= less(at_x / at_b);
            }
            (b, at_b, moved_b) = (x, at_x, Some(true));
        } else {
            if moved_b == Some(false) {
                at_b *= less(at_x / at_a);
            }
            (a, at_a, moved_b) = (x, at_x, Some(false));
        }
    }
    math::exp(b)
}
