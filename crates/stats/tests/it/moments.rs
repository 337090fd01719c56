//! Mean and variance in constant memory.

use sojourn_stats::Moments;

#[test]
fn digits_survive_a_large_mean() {
    // The sample variance of 4, 7, 13, 16 is 30, wherever they begin.
    let moments: Moments = [4.0, 7.0, 13.0, 16.0].map(|value| value + 1e9).into_iter().collect();
    assert_eq!((moments.count(), moments.mean(), moments.variance()), (4, 1e9 + 10.0, 30.0));
    assert_eq!((moments.min(), moments.max()), (1e9 + 4.0, 1e9 + 16.0));
}

#[test]
fn merging_is_pushing() {
    let values: Vec<f64> = (0..100).map(|i| f64::from(i * i % 37)).collect();
    let whole: Moments = values.iter().copied().collect();
    for cut in [0, 1, 50, 99, 100] {
        let mut merged: Moments = values[..cut].iter().copied().collect();
        merged.merge(&values[cut..].iter().copied().collect());
        assert_eq!(merged.count(), whole.count());
        assert!((merged.mean() - whole.mean()).abs() < 1e-12);
        assert!((merged.variance() - whole.variance()).abs() < 1e-10);
        assert_eq!((merged.min(), merged.max()), (whole.min(), whole.max()));
    }
    assert_eq!((Moments::new().mean(), Moments::new().variance()), (0.0, 0.0));
}
