//! The numerical inversion of Laplace transforms.

use std::f64::consts::PI;

use num_complex::Complex64;

/// f(t) from its Laplace transform, for an f that is bounded by 1: Abate and Whitt's Euler algorithm with its usual
/// numbers (discretisation error 1e-8).
pub(crate) fn invert(t: f64, transform: impl Fn(Complex64) -> Complex64) -> f64 {
    const A: f64 = 18.4;
    const TERMS: usize = 30;
    const AVERAGED: usize = 12;
    let term = |k: usize| transform(Complex64::new(A / (2.0 * t), k as f64 * PI / t)).re;
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
