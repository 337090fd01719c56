//! Series whose dependence is known.

use rand_distr::{Distribution, StandardNormal};
use realfft::RealFftPlanner;
use sojourn_stats::Stream;
use sojourn_stats::fgn::Fgn;

/// Independent standard normal numbers.
pub(crate) fn white(n: usize, stream: &mut Stream) -> Vec<f64> {
    (0..n).map(|_| StandardNormal.sample(stream)).collect()
}

/// Fractional Gaussian noise of variance 1.
pub(crate) fn fgn(h: f64, n: usize, stream: &mut Stream) -> Vec<f64> {
    Fgn::new(h, n).unwrap().path(stream)
}

/// FARIMA(0, d, 0) of variance 1, d = h - 1/2 (Beran 1994, equation 2.43).
pub(crate) fn farima(h: f64, n: usize, stream: &mut Stream) -> Vec<f64> {
    let d = h - 0.5;
    let mut covariances = vec![1.0];
    for k in 1..=n {
        let lag = k as f64;
        covariances.push(covariances[k - 1] * (lag - 1.0 + d) / (lag - d));
    }
    gaussian(&covariances, stream)
}

/// First-order autoregression of variance 1.
pub(crate) fn autoregression(correlation: f64, n: usize, stream: &mut Stream) -> Vec<f64> {
    let innovation = (1.0 - correlation * correlation).sqrt();
    let mut state: f64 = StandardNormal.sample(stream);
    (0..n)
        .map(|_| {
            let noise: f64 = StandardNormal.sample(stream);
            state = correlation * state + innovation * noise;
            state
        })
        .collect()
}

/// The same numbers in random order.
pub(crate) fn shuffled(mut series: Vec<f64>, stream: &mut Stream) -> Vec<f64> {
    (1..series.len()).rev().for_each(|i| series.swap(i, stream.below(i + 1)));
    series
}

/// Numbers with these covariances at lags 0 to n, exactly, by circulant embedding (Davies and Harte 1987).
fn gaussian(covariances: &[f64], stream: &mut Stream) -> Vec<f64> {
    let n = covariances.len() - 1;
    let mut row: Vec<f64> = covariances.iter().chain(covariances[1..n].iter().rev()).copied().collect();
    let mut planner = RealFftPlanner::<f64>::new();
    let (forward, inverse) = (planner.plan_fft_forward(2 * n), planner.plan_fft_inverse(2 * n));
    let mut eigenvalues = forward.make_output_vec();
    forward.process(&mut row, &mut eigenvalues).unwrap();
    let mut spectrum = inverse.make_input_vec();
    for (k, (out, value)) in spectrum.iter_mut().zip(&eigenvalues).enumerate() {
        assert!(value.re > -1e-9, "not a covariance");
        let real = k == 0 || k == n;
        let scale = (value.re.max(0.0) * if real { 1.0 } else { 0.5 } / (2 * n) as f64).sqrt();
        let (a, b): (f64, f64) = (StandardNormal.sample(stream), StandardNormal.sample(stream));
        (out.re, out.im) = (scale * a, if real { 0.0 } else { scale * b });
    }
    let mut path = inverse.make_output_vec();
    inverse.process(&mut spectrum, &mut path).unwrap();
    path.truncate(n);
    path
}
