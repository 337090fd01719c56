//! Whittle's estimator: no bias to speak of, and intervals that cover. `benches/hurst.rs` judges it on a thousand paths.

use sojourn_stats::hurst::{Estimate, HurstError, whittle};
use sojourn_stats::{Moments, Stream};

use crate::noise;

const PATHS: usize = 60;
const POINTS: usize = 1 << 14;

/// What came out over paths of one H.
struct Outcome {
    error: Moments,
    covered: usize,
}

fn outcome(h: f64, of: impl Fn(&[f64]) -> Result<Estimate, HurstError>, path: impl Fn() -> Vec<Vec<f64>>) -> Outcome {
    let mut outcome = Outcome { error: Moments::new(), covered: 0 };
    for series in path() {
        let estimate = of(&series).unwrap();
        outcome.error.push(estimate.h - h);
        outcome.covered += usize::from(estimate.ci_low <= h && h <= estimate.ci_high);
    }
    outcome
}

/// 60 paths of 2^14 points per H. The estimate scatters by 0.006, so the mean error over 60 is beyond 0.005 for one correct
/// program in 10^10. Intervals that truly cover 0.93 of all paths would cover fewer than 250 of 300 in one of 10^8.
#[test]
fn fractional_noise_is_measured_without_bias() {
    let mut covered = 0;
    for (index, h) in [0.5, 0.6, 0.7, 0.8, 0.9].into_iter().enumerate() {
        let paths = || {
            let mut stream = Stream::new(1, "fractional noise", &index.to_string());
            (0..PATHS).map(|_| noise::fgn(h, POINTS, &mut stream)).collect()
        };
        let outcome = outcome(h, whittle::fgn, paths);
        assert!(outcome.error.mean().abs() < 0.005, "H = {h}: {:?}", outcome.error);
        covered += outcome.covered;
    }
    assert!(covered >= 250, "{covered} of {} intervals cover", 5 * PATHS);
}

/// As above; below a half too.
#[test]
fn farima_is_measured_without_bias() {
    let mut covered = 0;
    for (index, h) in [0.3, 0.5, 0.7, 0.9].into_iter().enumerate() {
        let paths = || {
            let mut stream = Stream::new(1, "farima", &index.to_string());
            (0..PATHS).map(|_| noise::farima(h, POINTS, &mut stream)).collect()
        };
        let outcome = outcome(h, whittle::farima, paths);
        assert!(outcome.error.mean().abs() < 0.005, "H = {h}: {:?}", outcome.error);
        covered += outcome.covered;
    }
    assert!(covered >= 196, "{covered} of {} intervals cover", 4 * PATHS);
}

/// The textbook's limit for FARIMA(0, d, 0): 6 / (pi^2 n).
#[test]
fn the_interval_has_the_known_width() {
    let series = noise::white(POINTS, &mut Stream::new(1, "width", "noise"));
    let found = whittle::farima(&series).unwrap();
    let known = (6.0 / POINTS as f64).sqrt() / std::f64::consts::PI;
    assert!((found.standard_error / known - 1.0).abs() < 0.01, "{} against {known}", found.standard_error);
    assert!(((found.ci_high - found.ci_low) / found.standard_error - 2.0 * 1.959_964).abs() < 1e-5);
    let shorter = whittle::fgn(&series[..1 << 12]).unwrap();
    let longer = whittle::fgn(&series).unwrap();
    assert!((shorter.standard_error / longer.standard_error - 2.0).abs() < 0.1);
}

/// H does not depend on unit and origin, on the direction of time, or on whether the length is a power of two.
#[test]
fn neither_unit_nor_length_matters() {
    let series = noise::fgn(0.8, 10_007, &mut Stream::new(1, "unit", "noise"));
    let h = whittle::fgn(&series).unwrap().h;
    for (scale, origin) in [(1e-200, 0.0), (1e200, 0.0), (-3.0, 1e6)] {
        let other: Vec<f64> = series.iter().map(|x| origin + scale * x).collect();
        assert!((whittle::fgn(&other).unwrap().h - h).abs() < 1e-5, "{scale} {origin}");
    }
    let backwards: Vec<f64> = series.iter().rev().copied().collect();
    assert!((whittle::fgn(&backwards).unwrap().h - h).abs() < 1e-5);
    assert!((whittle::fgn(&series[..10_000]).unwrap().h - h).abs() < 0.005);
}
