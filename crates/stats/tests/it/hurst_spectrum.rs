//! The spectral densities that Whittle's estimator believes in.

use std::f64::consts::{PI, TAU};

use sojourn_stats::fgn::autocovariance;
use sojourn_stats::hurst::spectrum;
use statrs::function::gamma::gamma;

/// 4,001 aliases one by one, and an integral for those beyond, which is good to 1e-9 of the sum.
#[test]
fn fractional_noise_has_the_sum_of_its_aliases() {
    for h in [0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99] {
        for frequency in [1e-6, 1e-3, 0.1, 1.0, 2.0, 3.0, PI] {
            let exponent = -2.0 * h - 1.0;
            let one_by_one: f64 = (-2000..=2000).map(|j| (frequency + TAU * f64::from(j)).abs().powf(exponent)).sum();
            let beyond: f64 = [frequency, -frequency]
                .map(|off| (TAU * 2000.5 + off).powf(exponent + 1.0) / (-TAU * (exponent + 1.0)))
                .iter()
                .sum();
            let scale = (PI * h).sin() * gamma(2.0 * h + 1.0) / PI;
            let expected = scale * 2.0 * (0.5 * frequency).sin().powi(2) * (one_by_one + beyond);
            let found = spectrum::fgn(h, frequency);
            assert!((found / expected - 1.0).abs() < 2e-9, "{h} at {frequency}: {found} against {expected}");
        }
    }
}

/// The density is the transform of the covariance, which is known in closed form.
#[test]
fn densities_integrate_to_the_covariances() {
    for h in [0.3, 0.5, 0.7, 0.8, 0.9] {
        for lag in [0, 1, 10] {
            let found = covariance(|frequency| spectrum::fgn(h, frequency), lag);
            assert!((found - autocovariance(h, lag)).abs() < 1e-6, "{h}, lag {lag}: {found}");
        }
        let d = h - 0.5;
        let variance = gamma(1.0 - 2.0 * d) / gamma(1.0 - d).powi(2);
        let found = [0, 1].map(|lag| covariance(|frequency| spectrum::farima(h, frequency), lag));
        assert!(
            (found[0] - variance).abs() < 1e-6 && (found[1] - variance * d / (1.0 - d)).abs() < 1e-6,
            "{h}: {found:?}"
        );
    }
}

/// Over -pi to pi, in a variable in which the pole at 0 is none.
fn covariance(density: impl Fn(f64) -> f64, lag: usize) -> f64 {
    const STEPS: usize = 4000;
    const POWER: i32 = 12;
    let step = |i: usize| {
        let u = (i as f64 + 0.5) / STEPS as f64;
        let frequency = PI * u.powi(POWER);
        let length = PI * f64::from(POWER) * u.powi(POWER - 1) / STEPS as f64;
        2.0 * density(frequency) * (lag as f64 * frequency).cos() * length
    };
    (0..STEPS).map(step).sum()
}

#[test]
fn independent_numbers_are_flat() {
    for frequency in [1e-5, 0.3, 1.7, PI] {
        assert!((spectrum::fgn(0.5, frequency) * TAU - 1.0).abs() < 1e-13);
        assert!((spectrum::farima(0.5, frequency) * TAU - 1.0).abs() < 1e-13);
    }
}
