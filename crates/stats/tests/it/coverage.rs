//! Intervals cover the truth as often as they say, and not more often: one that is too wide says too little, and is as wrong
//! as one that is too narrow. Of 400 intervals at 95 % 3 to 44 miss; a right one has fewer, or more, once in a million sets.

use sojourn_stats::hurst::{estimate, whittle};
use sojourn_stats::measure::{mean_of_samples, mean_of_series, of_parts, quantile_of_series};
use sojourn_stats::{Estimate, Moments, Stream};

use crate::noise;

const SETS: usize = 400;

/// Asserts that so many of the intervals missed as a chance of `least` to `most` to cover makes likely: outside the range once
/// in a million sets on either side.
fn missed(name: &str, misses: usize, (least, most): (f64, f64)) {
    // The largest number of misses with a chance of at most 1e-6 to have so few, and the smallest to have so many.
    let chance = |k: usize, miss: f64| -> f64 {
        let ways: f64 = (0..k).map(|i| ((SETS - i) as f64 / (k - i) as f64).ln()).sum();
        (ways + k as f64 * miss.ln() + (SETS - k) as f64 * (1.0 - miss).ln()).exp()
    };
    let few = (0..SETS).find(|k| (0..=*k).map(|k| chance(k, 1.0 - most)).sum::<f64>() > 1e-6).unwrap();
    let many = (0..SETS).rev().find(|k| (*k..=SETS).map(|k| chance(k, 1.0 - least)).sum::<f64>() > 1e-6).unwrap();
    eprintln!("{name}: {misses} of {SETS} miss, {few} to {many} expected");
    assert!((few..=many).contains(&misses), "{name}: {misses} of {SETS} intervals miss, not {few} to {many}");
}

fn misses(estimate: &Estimate, truth: f64) -> usize {
    let (low, high) = estimate.interval().expect("there are samples enough");
    usize::from(truth < low || high < truth)
}

/// Student's interval of independent numbers, and of sections of a whole; of normal numbers both are exact.
#[test]
fn of_independent_numbers() {
    let mut stream = Stream::new(1, "coverage", "independent");
    let (mut means, mut sections) = (0, 0);
    for _ in 0..SETS {
        let numbers = noise::white(200, &mut stream);
        means += misses(&mean_of_samples(&numbers[..5].iter().copied().collect()), 0.0);
        let parts: Vec<f64> = numbers.chunks(10).map(|part| part.iter().sum::<f64>() / 10.0).collect();
        let whole: Moments = numbers.iter().copied().collect();
        sections += misses(&of_parts(whole.mean(), &parts, 200), 0.0);
    }
    missed("means", means, (0.95, 0.95));
    missed("sections", sections, (0.95, 0.95));
}

/// Batch means of a series whose correlation is gone long before the end of a batch cover as documented: the mean within 94 to
/// 96 %, quantiles within 92 to 96 %. Batches that are correlated beyond chance by chance make some a little wider.
#[test]
fn of_a_series() {
    let mut stream = Stream::new(1, "coverage", "autoregression");
    let (mut means, mut quantiles) = (0, 0);
    for _ in 0..SETS {
        let series = noise::autoregression(0.5, 4000, &mut stream);
        means += misses(&mean_of_series(&series), 0.0);
        quantiles += misses(&quantile_of_series(&series, 0.9), 1.281_551_565_5);
    }
    missed("mean of a series", means, (0.94, 0.96));
    missed("quantile of a series", quantiles, (0.92, 0.96));
}

/// The five estimators of the Hurst parameter that have intervals, on the noise that each of them models. Of 4,096 numbers
/// they cover within 92 to 97 %.
#[test]
fn of_the_hurst_parameter() {
    const H: f64 = 0.7;
    let mut stream = Stream::new(1, "coverage", "hurst");
    let mut counts = [("whittle_fgn", 0), ("local_whittle", 0), ("wavelet", 0), ("periodogram", 0)];
    let mut farima = 0;
    for _ in 0..SETS {
        let found = estimate(&noise::fgn(H, 1 << 12, &mut stream)).unwrap();
        for (name, reading) in found.readings() {
            let (Some(low), Some(high)) = (reading.ci_low, reading.ci_high) else { continue };
            if let Some((_, count)) = counts.iter_mut().find(|(of, _)| *of == name) {
                *count += usize::from(H < low || high < H);
            }
        }
        let found = whittle::farima(&noise::farima(H, 1 << 11, &mut stream)).unwrap();
        farima += usize::from(H < found.ci_low || found.ci_high < H);
    }
    for (name, count) in counts {
        missed(name, count, (0.92, 0.97));
    }
    missed("whittle_farima", farima, (0.92, 0.97));
}

/// The range itself, as the text above says it.
#[test]
fn of_400_intervals_3_to_44_miss() {
    for (misses, is_right) in [(2, false), (3, true), (44, true), (45, false)] {
        let judged = std::panic::catch_unwind(|| missed("made up", misses, (0.95, 0.95)));
        assert_eq!(judged.is_ok(), is_right, "{misses}");
    }
}
