//! Is Whittle's estimator as good as it says, and how fast are the estimators on ten million points?
//!
//! `cargo bench --profile dev -p sojourn-stats --bench hurst`
//!
//! 1,000 paths of 2^14 points of exact fractional Gaussian noise per H: the mean error is below 0.005 for every H, and
//! the 95 % intervals cover H in 93 to 97 % of all paths. Whittle's estimator and the wavelet's take less than 10 s each
//! on 10^7 points.

use std::time::Instant;

use sojourn_stats::fgn::Fgn;
use sojourn_stats::hurst::{estimate, wavelet, whittle};
use sojourn_stats::{Moments, Stream};

const PATHS: usize = 1000;
const POINTS: usize = 1 << 14;
const MOST_ERROR: f64 = 0.005;
const COVERAGE: std::ops::RangeInclusive<f64> = 0.93..=0.97;
const LONG: usize = 10_000_000;
const LIMIT_S: f64 = 10.0;

#[allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench reads the clock and answers on the terminal"
)]
fn main() {
    let mut covered = 0;
    for h in [0.5, 0.6, 0.7, 0.8, 0.9] {
        let mut stream = Stream::new(1, "bench", &format!("fractional noise {h}"));
        let mut noise = Fgn::new(h, POINTS).expect("H lies between 0 and 1");
        let (mut errors, mut here) = (Moments::new(), 0);
        for _ in 0..PATHS {
            let estimate = whittle::fgn(&noise.path(&mut stream)).expect("the path is long enough");
            errors.push(estimate.h - h);
            here += usize::from((estimate.ci_low..=estimate.ci_high).contains(&h));
        }
        covered += here;
        let standard_error = (errors.variance() / PATHS as f64).sqrt();
        println!(
            "whittle, H = {h}: mean error {:+.5} +- {:.5}, standard deviation {:.5}, coverage {:.3}",
            errors.mean(),
            1.96 * standard_error,
            errors.variance().sqrt(),
            here as f64 / PATHS as f64
        );
        assert!(errors.mean().abs() < MOST_ERROR, "biased");
    }
    let pooled = covered as f64 / (5 * PATHS) as f64;
    println!("whittle, coverage over all: {pooled:.4} ({} to {})", COVERAGE.start(), COVERAGE.end());
    assert!(COVERAGE.contains(&pooled), "the intervals are wrong");

    let series = Fgn::new(0.8, LONG).expect("H lies between 0 and 1").path(&mut Stream::new(1, "bench", "long"));
    let timed = |name: &str, limit_s: f64, of: &dyn Fn() -> f64| {
        let start = Instant::now();
        let h = of();
        let elapsed_s = start.elapsed().as_secs_f64();
        println!("{name}, {LONG} points: {elapsed_s:.2} s, H = {h:.5}");
        assert!(elapsed_s < limit_s, "{name} is too slow");
    };
    timed("whittle", LIMIT_S, &|| whittle::fgn(&series).expect("a good series").h);
    timed("wavelet", LIMIT_S, &|| wavelet(&series).expect("a good series").h);
    timed("every estimator and the verdict", f64::INFINITY, &|| {
        estimate(&series).expect("a good series").whittle_fgn.h
    });
}
