//! Non-negative numbers of any magnitude: normalisation constants of large networks leave the range of a double.

use std::ops::{Add, AddAssign, Mul};

/// A mantissa times 2^(512 x exponent). Sums and products keep a double's relative precision; nothing is subtracted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Wide {
    mantissa: f64,
    exponent: i32,
}

/// 2^512: a mantissa stays within 2^256 of 1, so that a product of two is still a double.
const STEP: f64 = f64::from_bits((1023 + 512) << 52);
/// 2^256.
const HIGH: f64 = f64::from_bits((1023 + 256) << 52);

impl Wide {
    pub(super) const ZERO: Wide = Wide { mantissa: 0.0, exponent: 0 };
    pub(super) const ONE: Wide = Wide { mantissa: 1.0, exponent: 0 };

    #[cfg(test)]
    fn new(value: f64) -> Wide {
        Wide { mantissa: value, exponent: 0 }.normal()
    }

    #[inline]
    fn normal(mut self) -> Wide {
        while self.mantissa >= HIGH {
            self = Wide { mantissa: self.mantissa / STEP, exponent: self.exponent + 1 };
        }
        while self.mantissa < 1.0 / HIGH && self.mantissa > 0.0 {
            self = Wide { mantissa: self.mantissa * STEP, exponent: self.exponent - 1 };
        }
        self
    }

    /// This number over `other`, which must be near enough for a double.
    pub(super) fn over(self, other: Wide) -> f64 {
        self.mantissa / other.mantissa * STEP.powi(self.exponent - other.exponent)
    }
}

impl Add for Wide {
    type Output = Wide;

    #[inline]
    fn add(self, other: Wide) -> Wide {
        if self.mantissa == 0.0 {
            return other;
        }
        if other.mantissa == 0.0 {
            return self;
        }
        match self.exponent - other.exponent {
            0 => Wide { mantissa: self.mantissa + other.mantissa, exponent: self.exponent }.normal(),
            1 => Wide { mantissa: self.mantissa + other.mantissa / STEP, exponent: self.exponent }.normal(),
            -1 => Wide { mantissa: self.mantissa / STEP + other.mantissa, exponent: other.exponent }.normal(),
            difference if difference > 0 => self,
            _ => other,
        }
    }
}

impl AddAssign for Wide {
    #[inline]
    fn add_assign(&mut self, other: Wide) {
        *self = *self + other;
    }
}

impl Mul<f64> for Wide {
    type Output = Wide;

    #[inline]
    fn mul(self, factor: f64) -> Wide {
        Wide { mantissa: self.mantissa * factor, ..self }.normal()
    }
}

impl Mul for Wide {
    type Output = Wide;

    #[inline]
    fn mul(self, other: Wide) -> Wide {
        Wide { mantissa: self.mantissa * other.mantissa, exponent: self.exponent + other.exponent }.normal()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factorial_and_back_has_all_its_digits() {
        let factorial = (1..=2000).fold(Wide::ONE, |product, n| product * f64::from(n));
        // ln 2000! = 13206.524...: 9 steps of 2^512 (355 each) and more.
        let back = (1..=2000).fold(factorial, |product, n| product * (1.0 / f64::from(n)));
        assert!((back.over(Wide::ONE) - 1.0).abs() < 1e-12);
        let next = factorial * 2001.0;
        assert!((next.over(factorial) - 2001.0).abs() < 1e-9);
        assert_eq!((factorial + Wide::ONE).over(factorial), 1.0);
        assert_eq!((Wide::ONE + factorial).over(factorial), 1.0);
        assert_eq!((Wide::new(0.25) + Wide::new(0.5)).over(Wide::ONE), 0.75);
        assert_eq!((Wide::ZERO + Wide::new(1e-300)).over(Wide::new(1e-300)), 1.0);
        let (small, large) = (Wide::new(2f64.powi(-260)), Wide::new(2f64.powi(260)));
        assert_eq!((small * large).over(Wide::ONE), 1.0);
        assert_eq!((small + small).over(small), 2.0, "on both sides of a step");
        assert_eq!((large + large).over(large), 2.0);
    }
}
