//! Complex numbers, as far as the inversion of transforms needs them.

use std::ops::{Add, Div, Mul, Neg, Sub};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Complex {
    pub(crate) re: f64,
    pub(crate) im: f64,
}

impl Complex {
    pub(crate) const ZERO: Complex = Complex { re: 0.0, im: 0.0 };
    pub(crate) const ONE: Complex = Complex { re: 1.0, im: 0.0 };

    pub(crate) fn new(re: f64, im: f64) -> Complex {
        Complex { re, im }
    }

    pub(crate) fn size(self) -> f64 {
        self.re.hypot(self.im)
    }

    /// The root whose real part is not negative.
    pub(crate) fn sqrt(self) -> Complex {
        let size = self.size();
        let re = (0.5 * (size + self.re)).max(0.0).sqrt();
        let im = (0.5 * (size - self.re)).max(0.0).sqrt();
        Complex { re, im: im.copysign(self.im) }
    }

    pub(crate) fn exp(self) -> Complex {
        let size = self.re.exp();
        Complex { re: size * self.im.cos(), im: size * self.im.sin() }
    }

    pub(crate) fn power(self, exponent: u32) -> Complex {
        let (mut result, mut square, mut left) = (Complex::ONE, self, exponent);
        while left > 0 {
            if left % 2 == 1 {
                result = result * square;
            }
            square = square * square;
            left /= 2;
        }
        result
    }
}

impl Add for Complex {
    type Output = Complex;
    fn add(self, other: Complex) -> Complex {
        Complex { re: self.re + other.re, im: self.im + other.im }
    }
}

impl Add<f64> for Complex {
    type Output = Complex;
    fn add(self, other: f64) -> Complex {
        Complex { re: self.re + other, ..self }
    }
}

impl Sub<f64> for Complex {
    type Output = Complex;
    fn sub(self, other: f64) -> Complex {
        Complex { re: self.re - other, ..self }
    }
}

impl Sub for Complex {
    type Output = Complex;
    fn sub(self, other: Complex) -> Complex {
        Complex { re: self.re - other.re, im: self.im - other.im }
    }
}

impl Neg for Complex {
    type Output = Complex;
    fn neg(self) -> Complex {
        Complex { re: -self.re, im: -self.im }
    }
}

impl Mul for Complex {
    type Output = Complex;
    fn mul(self, other: Complex) -> Complex {
        Complex { re: self.re * other.re - self.im * other.im, im: self.re * other.im + self.im * other.re }
    }
}

impl Mul<f64> for Complex {
    type Output = Complex;
    fn mul(self, other: f64) -> Complex {
        Complex { re: self.re * other, im: self.im * other }
    }
}

impl Div for Complex {
    type Output = Complex;
    fn div(self, other: Complex) -> Complex {
        let size = other.re * other.re + other.im * other.im;
        Complex {
            re: (self.re * other.re + self.im * other.im) / size,
            im: (self.im * other.re - self.re * other.im) / size,
        }
    }
}
