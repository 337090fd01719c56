//! What the formulas read of a law: two moments and, where it is known, its shape.

use sojourn_stats::Law;
use statrs::function::gamma::gamma_ur;

/// Mean and squared coefficient of variation of a law of times, and its shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// Mean (s); infinite where there is none.
    pub mean_s: f64,
    /// Squared coefficient of variation C2 = variance / mean^2; infinite where the second moment is.
    pub scv: f64,
    /// Shape: what else is known.
    pub shape: Shape,
}

/// Shape of a law, of those whose Laplace transform the exact formulas use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One value.
    Constant,
    /// Exponential.
    Exponential,
    /// Erlang of this many phases.
    Erlang(u32),
    /// Two exponential branches with balanced means (p1/mu1 = p2/mu2).
    Hyperexponential,
    /// Nothing but the moments is known.
    General,
}

impl Moments {
    /// Moments and shape of `law` (s).
    pub fn of(law: &Law) -> Moments {
        let (mean, scv) = (law.mean(), law.scv());
        if law.is_exponential() {
            return Moments::exponential(mean);
        } else if law.variance() == 0.0 {
            return Moments::constant(mean);
        } else if !mean.is_finite() || !scv.is_finite() {
            return Moments::general(mean, f64::INFINITY);
        }
        // A law does not tell its name, and need not: gamma of shape 2 is Erlang-2. It is compared with the one law of
        // either family that has its moments.
        let phases = (1.0 / scv).round();
        let same = |survival: &dyn Fn(f64) -> f64| {
            let near = |x: f64| (law.survival(x * mean) - survival(x)).abs() < 1e-9;
            [0.05, 0.3, 0.7, 1.0, 1.5, 3.0, 6.0].into_iter().all(near)
        };
        if scv > 1.0 && same(&|x| hyperexponential_survival(x, scv)) {
            Moments::hyperexponential(mean, scv)
        } else if (1.0..1e6).contains(&phases)
            && (scv * phases - 1.0).abs() < 1e-9
            && same(&|x| gamma_ur(phases, phases * x))
        {
            Moments::erlang(phases as u32, mean)
        } else {
            Moments::general(mean, scv)
        }
    }

    /// Moments of a law of which only mean (s) and variance (s^2) are known.
    pub fn from_variance(mean_s: f64, variance_s2: f64) -> Moments {
        let finite = mean_s.is_finite() && variance_s2.is_finite();
        Moments::general(mean_s, if finite { variance_s2 / (mean_s * mean_s) } else { f64::INFINITY })
    }

    /// Moments of a law of which only mean (s) and squared coefficient of variation are known.
    pub fn general(mean_s: f64, scv: f64) -> Moments {
        Moments { mean_s, scv, shape: Shape::General }
    }

    /// Moments of the constant law (s).
    pub fn constant(mean_s: f64) -> Moments {
        Moments { mean_s, scv: 0.0, shape: Shape::Constant }
    }

    /// Moments of the exponential law (s).
    pub fn exponential(mean_s: f64) -> Moments {
        Moments { mean_s, scv: 1.0, shape: Shape::Exponential }
    }

    /// Moments of the Erlang law (s) of `phases` phases.
    pub fn erlang(phases: u32, mean_s: f64) -> Moments {
        Moments { mean_s, scv: 1.0 / f64::from(phases), shape: Shape::Erlang(phases) }
    }

    /// Moments of the hyperexponential law (s) of two branches with balanced means; `scv` >= 1.
    pub fn hyperexponential(mean_s: f64, scv: f64) -> Moments {
        Moments { mean_s, scv, shape: Shape::Hyperexponential }
    }

    /// Whether this is the exponential law.
    pub fn is_exponential(&self) -> bool {
        matches!(self.shape, Shape::Exponential | Shape::Erlang(1))
    }

    /// Law of this mean and shape (s); none for [`Shape::General`], of which there are many.
    pub fn law(&self) -> Option<Law> {
        if !(self.mean_s > 0.0 && self.mean_s.is_finite()) {
            return None;
        }
        match self.shape {
            Shape::Constant => Some(Law::constant(self.mean_s)),
            Shape::Exponential => Some(Law::exponential(self.mean_s)),
            Shape::Erlang(phases) => Some(Law::erlang(phases, self.mean_s)),
            Shape::Hyperexponential => Some(Law::hyperexponential(self.mean_s, self.scv.sqrt().max(1.0))),
            Shape::General => None,
        }
    }

    /// Complement of the transform, 1 - E\[e^(-sX)\] (s in 1/s), in a form that keeps its digits for small `s`; none
    /// for [`Shape::General`].
    pub fn transform_complement(&self, s: f64) -> Option<f64> {
        let x = s * self.mean_s;
        match self.shape {
            Shape::Constant => Some(-(-x).exp_m1()),
            Shape::Exponential => Some(x / (1.0 + x)),
            Shape::Erlang(phases) => {
                let k = f64::from(phases);
                Some(-(-k * (x / k).ln_1p()).exp_m1())
            }
            Shape::Hyperexponential => {
                let [first, second] = balanced_means(self.scv);
                let branch = |(p, rate): (f64, f64)| p * x / (rate + x);
                Some(branch(first) + branch(second))
            }
            Shape::General => None,
        }
    }
}

/// P(X > x) of the hyperexponential law with mean 1.
fn hyperexponential_survival(x: f64, scv: f64) -> f64 {
    balanced_means(scv).iter().map(|(p, rate)| p * (-rate * x).exp()).sum()
}

/// Branches (probability, rate) of the hyperexponential law with mean 1, this C2 >= 1 and balanced means
/// (Tijms, Stochastic Models, 1994, appendix B).
pub fn balanced_means(scv: f64) -> [(f64, f64); 2] {
    let p = (1.0 + ((scv - 1.0) / (scv + 1.0)).sqrt()) / 2.0;
    [(p, 2.0 * p), (1.0 - p, 2.0 * (1.0 - p))]
}
