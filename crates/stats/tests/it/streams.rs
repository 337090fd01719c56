//! The random streams are pinned: these bytes never change, on any platform, in any later version.

use rand::Rng;
use sojourn_stats::Stream;

/// Computed apart from this crate, from the definitions of SHA-256 and xoshiro256++ (Blackman and Vigna 2019).
#[test]
fn bytes_are_pinned() {
    let cases = [
        ((1, "source", "arrivals"), [0xe4ae_6b61_b94a_bb90, 0x937f_e9ee_6603_40ea, 0xe051_fe00_1362_0f79]),
        ((42, "server 1", "service"), [0x6a25_01eb_7d8b_6d28, 0xb4c3_9c9b_aecd_95db, 0x64b0_f986_95c6_6ea6]),
        ((1, "sourcearrivals", ""), [0xf430_d477_dcb3_a963, 0x6739_d592_3e59_d163, 0x29e2_7a26_1b96_ceef]),
    ];
    for ((seed, entity, purpose), numbers) in cases {
        let mut stream = Stream::new(seed, entity, purpose);
        assert_eq!([stream.next_u64(), stream.next_u64(), stream.next_u64()], numbers, "{seed} {entity} {purpose}");
    }
}

/// Each face of a die of n = 6 and of n = 3 * 2^62 (where a careless method would favour a third of them): a chi
/// square of k - 1 degrees has a tail below 1e-7 beyond 41 for k = 6, and beyond 33 for k = 3.
#[test]
fn below_is_fair() {
    let mut stream = Stream::new(1, "die", "faces");
    let chi_square = |counts: &[u64]| {
        let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
        counts.iter().map(|count| (*count as f64 - expected).powi(2) / expected).sum::<f64>()
    };
    let mut faces = [0; 6];
    (0..600_000).for_each(|_| faces[stream.below(6)] += 1);
    assert!(chi_square(&faces) < 41.0, "{faces:?}");
    let mut thirds = [0; 3];
    (0..300_000).for_each(|_| thirds[stream.below(3 << 62) >> 62] += 1);
    assert!(chi_square(&thirds) < 33.0, "{thirds:?}");
    assert_eq!(stream.below(1), 0);
}

/// Mean of 1e6 uniforms: 5 sigma two-sided, 6e-7.
#[test]
fn uniform_is_uniform() {
    let mut stream = Stream::new(1, "uniform", "mean");
    let mut sum = 0.0;
    for _ in 0..1_000_000 {
        let draw = stream.uniform();
        assert!((0.0..1.0).contains(&draw));
        sum += draw;
    }
    assert!((sum / 1e6 - 0.5).abs() < 5.0 * (1.0 / 12.0f64 / 1e6).sqrt());
}
