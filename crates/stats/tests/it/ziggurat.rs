//! Draws are those of the crate rand_distr but for last digits, and draws of many at once are those of one at a time.

use rand_distr::{Distribution, Exp1, Gamma, StandardNormal, Zipf};
use sojourn_stats::{Dimension, Law, Stream, ziggurat};

use crate::laws::all;

const DRAWS: usize = 400_000;

/// Compares the draws of two equal streams, which use up as many numbers; gives the share that have the same bits.
fn share_alike(mut ours: impl FnMut(&mut Stream) -> f64, mut theirs: impl FnMut(&mut Stream) -> f64) -> f64 {
    let mut streams = [Stream::new(3, "ziggurat", "draws"), Stream::new(3, "ziggurat", "draws")];
    let mut alike = 0;
    for _ in 0..DRAWS {
        let (a, b) = (ours(&mut streams[0]), theirs(&mut streams[1]));
        assert!((a - b).abs() <= 1e-12 * b.abs(), "{a}, not {b}");
        alike += usize::from(a.to_bits() == b.to_bits());
    }
    assert_eq!(streams[0], streams[1], "they took as many numbers");
    alike as f64 / DRAWS as f64
}

#[test]
fn draws_are_those_of_rand_distr() {
    let share = share_alike(ziggurat::exponential, |stream| Exp1.sample(stream));
    assert!(share > 0.9995, "exponential: {share}");
    let share = share_alike(ziggurat::normal, |stream| StandardNormal.sample(stream));
    assert!(share > 0.9995, "normal: {share}");
    for shape in [0.3, 1.0, 4.2] {
        let law = Law::parse(&format!("gamma(shape = {shape}, scale = 2 s)"), Dimension::Time).unwrap();
        let theirs = Gamma::new(shape, 2.0).unwrap();
        share_alike(|stream| law.sample(stream), |stream| theirs.sample(stream));
    }
    for (n, s) in [(1, 1.0), (10, 0.0), (1000, 0.7), (100_000, 1.0), (50, 2.5)] {
        let law = Law::parse(&format!("zipf(n = {n}, s = {s})"), Dimension::Number).unwrap();
        let theirs = Zipf::new(f64::from(n), s).unwrap();
        share_alike(|stream| law.sample(stream), |stream| theirs.sample(stream));
    }
}

#[test]
fn many_draws_at_once_are_those_of_one_at_a_time() {
    for (text, law) in all() {
        let [mut one, mut other] = [Stream::new(5, "law", &text), Stream::new(5, "law", &text)];
        for length in [0, 1, 3, 64, 1000, 4096] {
            let mut many = vec![f64::NAN; length];
            law.fill(&mut many, &mut one);
            for value in many {
                assert_eq!(value.to_bits(), law.sample(&mut other).to_bits(), "{text}");
            }
            assert_eq!(one, other, "{text}: they took as many numbers");
        }
    }
}
