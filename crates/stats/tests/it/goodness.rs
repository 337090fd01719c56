//! Tests of samples against laws.

use sojourn_stats::goodness::{critical_distance, kolmogorov};
use sojourn_stats::{Dimension, Stream};

use crate::laws::parsed;

/// False alarm at most 1e-6 per law by the inequality itself.
#[test]
fn a_sample_of_the_law_passes() {
    for text in
        ["exponential(mean = 3)", "zipf(n = 20, s = 1)", "inverse-gaussian(mean = 3.86, shape = 6.08, max = 95)"]
    {
        let law = parsed(text, Dimension::Number);
        let mut stream = Stream::new(1, "test", text);
        let sample: Vec<f64> = (0..10_000).map(|_| law.sample(&mut stream)).collect();
        let found = kolmogorov(&sample, |x| law.cdf(x));
        assert!(found.p_value > 1e-6, "{text}: {found:?}");
        assert!(found.distance < critical_distance(10_000, 1e-6));
    }
}

/// Off by 10 % in the mean, an exponential's distribution function is off by 0.038; a sample of 10,000 is off from its
/// own by another 0.028 in one of a million.
#[test]
fn a_sample_of_another_law_does_not() {
    let (law, other) =
        (parsed("exponential(mean = 3)", Dimension::Number), parsed("exponential(mean = 4)", Dimension::Number));
    let mut stream = Stream::new(1, "test", "other");
    let sample: Vec<f64> = (0..10_000).map(|_| other.sample(&mut stream)).collect();
    let found = kolmogorov(&sample, |x| law.cdf(x));
    assert!(found.p_value < 1e-9, "{found:?}");
}

#[test]
fn the_distance_is_the_largest_step() {
    // Half of the sample at 1, half at 2, against the uniform law on 0 to 4: 0.5 against 0.25 and 1 against 0.5.
    let found = kolmogorov(&[2.0, 1.0, 1.0, 2.0], |x| x / 4.0);
    assert_eq!(found.distance, 0.5);
    assert!((found.p_value - 2.0 * (-2.0f64).exp()).abs() < 1e-15);
    assert!((critical_distance(4, found.p_value) - 0.5).abs() < 1e-15);
}
