//! Unit exponential and standard normal numbers by ziggurat (Marsaglia and Tsang, Journal of Statistical Software 5(8), 2000) as
//! Doornik has it (An Improved Ziggurat Method to Generate Normal Random Samples, Oxford, 2005).
//!
//! Bits are used as in the crate rand_distr 0.6, whose draws these are but for the last digits of one in some hundred: what lies
//! at a layer's edge or in the tail is decided by [`crate::math`] here, and so alike on every machine. What lies inside
//! a layer, 98.8 % of all, takes one number from the stream and a multiplication.

mod tables;

use self::tables::{EXPONENTIAL_F, EXPONENTIAL_TAIL, NORMAL_F, NORMAL_TAIL};
pub(crate) use self::tables::{EXPONENTIAL_X, NORMAL_X};
use crate::{Stream, math};

/// A number from the exponential law of mean 1; above 0.
#[inline]
pub fn exponential(stream: &mut Stream) -> f64 {
    let bits = stream.bits();
    let layer = bits as usize & 0xff;
    let x = open(bits) * EXPONENTIAL_X[layer];
    if x < EXPONENTIAL_X[layer + 1] { x } else { exponential_at_edge(layer, x, stream) }
}

/// A number from the normal law of mean 0 and variance 1.
#[inline]
pub fn normal(stream: &mut Stream) -> f64 {
    let bits = stream.bits();
    let layer = bits as usize & 0xff;
    let u = around_zero(bits);
    let x = u * NORMAL_X[layer];
    if x.abs() < NORMAL_X[layer + 1] { x } else { normal_at_edge(layer, u, stream) }
}

/// As many of them as `out` has room for: those of [`exponential`], sooner.
pub fn exponentials(out: &mut [f64], stream: &mut Stream) {
    // A copy whose address no call knows stays in registers.
    let mut state = stream.clone();
    for value in out {
        let bits = state.bits();
        let layer = bits as usize & 0xff;
        let x = open(bits) * EXPONENTIAL_X[layer];
        *value = x;
        if x >= EXPONENTIAL_X[layer + 1] {
            *stream = state;
            *value = exponential_at_edge(layer, x, stream);
            state = stream.clone();
        }
    }
    *stream = state;
}

/// As many of them as `out` has room for: those of [`normal`], sooner.
pub fn normals(out: &mut [f64], stream: &mut Stream) {
    let mut state = stream.clone();
    for value in out {
        let bits = state.bits();
        let layer = bits as usize & 0xff;
        let u = around_zero(bits);
        *value = u * NORMAL_X[layer];
        if value.abs() >= NORMAL_X[layer + 1] {
            *stream = state;
            *value = normal_at_edge(layer, u, stream);
            state = stream.clone();
        }
    }
    *stream = state;
}

/// From 0 to 1, both left out, by the upper 52 bits.
#[inline(always)]
pub(crate) fn open(bits: u64) -> f64 {
    f64::from_bits(bits >> 12 | 0x3ff << 52) - (1.0 - 0.5 * f64::EPSILON)
}

/// From -1 to 1 by the upper 52 bits.
#[inline(always)]
pub(crate) fn around_zero(bits: u64) -> f64 {
    f64::from_bits(bits >> 12 | 0x400 << 52) - 3.0
}

#[cold]
#[inline(never)]
fn exponential_at_edge(mut layer: usize, mut x: f64, stream: &mut Stream) -> f64 {
    loop {
        if layer == 0 {
            // Beyond its beginning an exponential tail is that law again.
            return EXPONENTIAL_TAIL - math::ln(stream.uniform());
        }
        let (high, low) = (EXPONENTIAL_F[layer], EXPONENTIAL_F[layer + 1]);
        if low + (high - low) * stream.uniform() < math::exp(-x) {
            return x;
        }
        let bits = stream.bits();
        layer = bits as usize & 0xff;
        x = open(bits) * EXPONENTIAL_X[layer];
        if x < EXPONENTIAL_X[layer + 1] {
            return x;
        }
    }
}

#[cold]
#[inline(never)]
fn normal_at_edge(mut layer: usize, mut u: f64, stream: &mut Stream) -> f64 {
    loop {
        if layer == 0 {
            return normal_tail(u < 0.0, stream);
        }
        let x = u * NORMAL_X[layer];
        let (high, low) = (NORMAL_F[layer], NORMAL_F[layer + 1]);
        if low + (high - low) * stream.uniform() < math::exp(-0.5 * x * x) {
            return x;
        }
        let bits = stream.bits();
        layer = bits as usize & 0xff;
        u = around_zero(bits);
        if (u * NORMAL_X[layer]).abs() < NORMAL_X[layer + 1] {
            return u * NORMAL_X[layer];
        }
    }
}

/// What lies beyond the last layer (Marsaglia, Technometrics 6, 1964).
fn normal_tail(is_negative: bool, stream: &mut Stream) -> f64 {
    loop {
        let x = math::ln(open(stream.bits())) / NORMAL_TAIL;
        let y = math::ln(open(stream.bits()));
        if -2.0 * y >= x * x {
            return if is_negative { x - NORMAL_TAIL } else { NORMAL_TAIL - x };
        }
    }
}
