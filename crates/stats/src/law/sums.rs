//! How far a mean of so many independent values is from being normal.

use super::Law;
use crate::quadrature::over_scales;
use crate::{math, root};

/// What fewer than one in so many means has a value above is left out: a mean hardly ever has it in it, and its interval need
/// not allow for it.
const RARE: f64 = 20.0;
/// Relative error of the moments.
const RELATIVE: f64 = 1e-6;

impl Law {
    /// The skewness of a mean of `count` independent values, each to this `power`, as far as that many tell it: the third
    /// moment over the second to 3/2, over the root of `count`, where no value is above what one in twenty such means has among
    /// its values. Student's interval of a mean is a few percent of coverage short from about 0.5 on (the term of the skewness
    /// squared in Hall, The Bootstrap and Edgeworth Expansion, 1992, section 2.6, is 0.06 there), however many parts it is from.
    /// A law whose variance is infinite keeps its skewness, however large the count.
    pub fn skewness_of_mean(&self, power: i32, count: u64) -> f64 {
        let most = self.largest_of(count);
        let moment = |k: i32| {
            let k = k * power;
            over_scales(0.0, most, 0.1 * self.mean(), RELATIVE, |x| {
                f64::from(k) * (x / most).powi(k - 1) * self.survival(x) / most
            })
        };
        moment(3) / math::pow(moment(2), 1.5) / (count.max(1) as f64).sqrt()
    }

    /// What one in twenty sets of `count` independent values has a value above.
    pub fn largest_of(&self, count: u64) -> f64 {
        let rare = 1.0 / (RARE * count.max(1) as f64);
        let (low, high) = self.limits();
        // In powers of e, since a tail may go far.
        let is_above = |log: f64| self.survival(math::exp(log)) - rare;
        match root::find_above(math::ln(self.mean().max(f64::MIN_POSITIVE)), 1.0, 1e-9, is_above) {
            Some(log) => math::exp(log).min(high).max(low),
            None => high,
        }
    }
}
