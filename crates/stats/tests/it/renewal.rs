//! The tests of independence keep their level for gaps of any law, and see what they are for.

use sojourn_stats::renewal::dependence;
use sojourn_stats::{Dimension, Law, Stream};

/// 400 samples at a level of 1 % for each test: by chance 8 samples would have a false alarm on average, and more than 32
/// with a probability below 1e-9 (Chernoff's bound), or 1e-6 with what the limit laws are off by.
#[test]
fn false_alarms_are_as_rare_as_asked() {
    for text in ["exponential(mean = 1 s)", "lognormal(mean = 1 s, cv = 3)", "uniform(low = 1 s, high = 2 s)"] {
        let law = Law::parse(text, Dimension::Time).unwrap();
        let alarms = (0..400).filter(|seed| {
            let mut stream = Stream::new(*seed, "gaps", text);
            let gaps: Vec<f64> = (0..1000).map(|_| law.sample(&mut stream)).collect();
            let found = dependence(&[gaps[..300].to_vec(), gaps[300..].to_vec()], 0.01).unwrap();
            let dispersed = found.dispersions.iter().any(|sum| sum.ratio < sum.low || sum.ratio > sum.high);
            found.correlation.abs() > found.correlation_limit || dispersed
        });
        let alarms = alarms.count();
        assert!(alarms <= 32, "{text}: {alarms} of 400");
    }
}

#[test]
fn sums_over_a_round_of_clocks_are_always_the_same() {
    let round = [3.0, 1.0, 4.0, 1.5, 5.0, 9.0, 2.0, 6.0];
    let gaps: Vec<f64> = (0..800).map(|k| round[k % 8]).collect();
    let found = dependence(&[gaps], 1e-6).unwrap();
    let eight = found.dispersions.iter().find(|sum| sum.summands == 8).unwrap();
    assert!(eight.ratio < 1e-9 && eight.low > 0.1, "{eight:?}");
}

#[test]
fn too_little_or_nothing_to_rank_says_nothing() {
    assert_eq!(dependence(&[vec![1.0; 100]], 1e-6), None);
    assert_eq!(dependence(&[(0..30).map(f64::from).collect()], 1e-6), None);
}
