//! Does a sample follow a law? Tests that are honest for any law, discrete ones included.
//!
//! [`kolmogorov`] bounds the chance of a false alarm by the Dvoretzky-Kiefer-Wolfowitz inequality with Massart's
//! constant (Annals of Probability 18(3), 1990), which holds at every sample size and needs no table. The price is some
//! power: where the law is continuous its exact quantiles are a little smaller.

/// How far a sample is from a law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goodness {
    /// Largest difference between the sample's distribution function and the law's.
    pub distance: f64,
    /// At most this is the chance that a sample of the law itself is as far away.
    pub p_value: f64,
}

/// Compares independent draws with the distribution function P(X <= x). Where the law may have jumps, `cdf` is asked at
/// the sample's values only, so the sample should hold every jump that matters.
///
/// # Panics
/// When a draw is NaN.
pub fn kolmogorov(sample: &[f64], cdf: impl Fn(f64) -> f64) -> Goodness {
    let mut sorted = sample.to_vec();
    sorted.sort_by(|one, other| one.partial_cmp(other).expect("a draw is a number"));
    let n = sorted.len() as f64;
    let mut distance = 0.0f64;
    let mut up_to = 0;
    for equal in sorted.chunk_by(|one, other| one == other) {
        up_to += equal.len();
        distance = distance.max((up_to as f64 / n - cdf(equal[0])).abs());
    }
    Goodness { distance, p_value: (2.0 * (-2.0 * n * distance * distance).exp()).min(1.0) }
}

/// The distance that [`kolmogorov`] exceeds with a chance of at most `p` for `n` draws of the law itself.
pub fn critical_distance(n: usize, p: f64) -> f64 {
    ((2.0 / p).ln() / (2.0 * n as f64)).sqrt()
}
