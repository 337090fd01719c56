//! Drawing ranks by Zipf's law: by rejection from the law whose density is 1 up to 1 and x^-s beyond it, as the crate
//! rand_distr 0.6 does.

use crate::{Stream, math};

/// What is computed once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Zipf {
    n: f64,
    s: f64,
    /// What lies below that density.
    area: f64,
    /// 1 / (1 - s); not used where s is 1.
    inverse: f64,
}

impl Zipf {
    /// Of ranks up to `n` of at least 1, with chances proportional to rank^-`s`, `s` of at least 0.
    pub(super) fn new(n: f64, s: f64) -> Zipf {
        let inverse = if s == 1.0 { 0.0 } else { 1.0 / (1.0 - s) };
        let area = if s == 1.0 { 1.0 + math::ln(n) } else { (math::pow(n, 1.0 - s) - s) * inverse };
        Zipf { n, s, area, inverse }
    }

    pub(super) fn sample(&self, stream: &mut Stream) -> f64 {
        loop {
            let place = self.place(stream.uniform());
            // Rounding could lead beyond the last rank.
            let rank = (place + 1.0).floor().min(self.n);
            let accepted = if rank > 1.0 { math::exp(self.s * math::ln(place / rank)) } else { 1.0 };
            if stream.uniform() < accepted {
                return rank;
            }
        }
    }

    /// Where a share `p` of the area lies to the left.
    fn place(&self, p: f64) -> f64 {
        let area = p * self.area;
        if area <= 1.0 {
            area
        } else if self.s == 1.0 {
            math::exp(area - 1.0)
        } else {
            math::exp(self.inverse * math::ln(area * (1.0 - self.s) + self.s))
        }
    }
}
