//! Intervals from one autocorrelated series.

use sojourn_stats::interval::exact_ratio;
use sojourn_stats::measure::{NoInterval, mean_of_batches, mean_of_samples, mean_of_series, quantile_by_share};
use sojourn_stats::parts::{half_width, quantile_of_series, quantiles_of_series};
use sojourn_stats::{Batches, Dimension, Estimate, Law, Moments, Stream};

/// First-order autoregression around 0 with correlation 0.8 and standard normal marginals.
fn autoregression(length: usize, stream: &mut Stream) -> Vec<f64> {
    // A normal law is redrawn below 0: ten sigma up there is nothing to redraw.
    let normal = Law::parse("normal(mean = 10, sd = 1)", Dimension::Number).expect("a law");
    let mut state = normal.sample(stream) - 10.0;
    let mut next = || {
        state = 0.8 * state + 0.6 * (normal.sample(stream) - 10.0);
        state
    };
    (0..length).map(|_| next()).collect()
}

fn covers(estimate: &Estimate, truth: f64) -> bool {
    estimate.interval().is_some_and(|(low, high)| low <= truth && truth <= high)
}

/// 1,000 series of 4,000. Batches of 200 leave a correlation of 0.02 between neighbours, so the mean's interval truly
/// covers at least 0.94 of them; sectioned p90 intervals at least 0.92. Less 5 sigma (3e-7 one-sided): 0.902 and
/// 0.877. The interval for independent samples, three times too short, covers half.
#[test]
fn series_intervals_cover_where_the_naive_one_does_not() {
    const RUNS: u32 = 1000;
    let mut stream = Stream::new(1, "coverage", "series");
    let (mut means, mut quantiles, mut naive) = (0, 0, 0);
    for _ in 0..RUNS {
        let series = autoregression(4000, &mut stream);
        means += u32::from(covers(&mean_of_series(&series), 0.0));
        quantiles += u32::from(covers(&quantile_of_series(&series, 0.9), 1.2815515655));
        let moments: Moments = series.iter().copied().collect();
        naive += u32::from(covers(&mean_of_samples(&moments), 0.0));
    }
    let share = |count: u32| f64::from(count) / f64::from(RUNS);
    assert!(share(means) > 0.902, "means {}", share(means));
    assert!(share(quantiles) > 0.877, "quantiles {}", share(quantiles));
    assert!(share(naive) < 0.7, "naive {}", share(naive));
}

#[test]
fn too_few_samples_are_said() {
    let series: Vec<f64> = (0..2000).map(|i| f64::from(i * 37 % 100)).collect();
    let without = |value: f64, samples, why| Estimate::WithoutInterval { value, samples, why };
    assert_eq!(mean_of_series(&[1.0; 19]), without(1.0, 19, NoInterval::TooFew));
    assert_eq!(mean_of_series(&[]), Estimate::TooFew { samples: 0 });
    assert!(mean_of_series(&series[..20]).interval().is_some());
    // Twenty independent ones beyond a percentile it takes at least.
    assert!(quantile_of_series(&series, 0.99).interval().is_some());
    assert_eq!(quantile_of_series(&series[..1999], 0.99), without(99.0, 1999, NoInterval::TooShort));
    assert_eq!(quantile_of_series(&series[..999], 0.99), without(99.0, 999, NoInterval::TooFew));
    assert!(quantile_of_series(&series[..201], 0.9).interval().is_some());
    assert_eq!(quantile_of_series(&series[..99], 0.9), without(90.0, 99, NoInterval::TooFew));
    // With no sample beyond it a quantile is an extreme, and not even a number.
    assert_eq!(quantile_of_series(&series[..99], 0.99), Estimate::TooFew { samples: 99 });
    assert!(quantile_of_series(&series[..100], 0.99).value().is_some());
    // One long excursion: the share below is so uncertain that the interval would end beyond the largest sample.
    let excursion: Vec<f64> = (0..1000).map(|i| if (500..570).contains(&i) { f64::from(i) } else { 1.0 }).collect();
    assert_eq!(quantile_of_series(&excursion, 0.95), without(519.0, 1000, NoInterval::TooShort));
    assert_eq!(quantile_of_series(&[], 0.5), Estimate::TooFew { samples: 0 });
}

/// A hundred of 10,000 values lie beyond the 99th percentile: spread over the run they are a hundred independent ones; in five
/// clumps of twenty they are as few as five, and the interval that their shares allow is not given.
#[test]
fn the_longest_times_in_few_clumps_make_no_interval_of_one_run() {
    let series = |is_beyond: &dyn Fn(u32) -> bool| -> Vec<f64> {
        (0..10_000).map(|i| if is_beyond(i) { 1000.0 + f64::from(i) } else { f64::from(i * 7 % 100) }).collect()
    };
    let even = series(&|i| i * 377 % 10_000 >= 9_900);
    let clumps = series(&|i| [2, 6, 9, 13, 18].contains(&(i / 500)) && (100..120).contains(&(i % 500)));
    assert!(quantile_of_series(&even, 0.99).interval().is_some());
    let found = quantiles_of_series(&clumps, &[0.5, 0.99]);
    assert!(found[0].interval().is_some(), "{found:?}");
    let withheld = Estimate::WithoutInterval { value: 99.0, samples: 10_000, why: NoInterval::TooShort };
    assert_eq!(found[1], withheld);
}

/// A trend from batch to batch is correlation beyond chance: the interval must be wider than the plain one.
#[test]
fn correlated_batches_widen_the_interval() {
    let slow: Vec<f64> = (0..2000).map(|i| (f64::from(i) / 300.0).sin()).collect();
    let mut shuffled = slow.clone();
    let mut stream = Stream::new(1, "shuffle", "order");
    (1..shuffled.len()).rev().for_each(|i| shuffled.swap(i, stream.below(i + 1)));
    let width = |series: &[f64]| mean_of_series(series).interval().map_or(0.0, |(low, high)| high - low);
    assert!(width(&slow) > 5.0 * width(&shuffled), "{} {}", width(&slow), width(&shuffled));
}

/// Skart's correction by hand, of twenty batch means: half the width is Student's t of 19 degrees, 2.0930, times the root of
/// s2/20 (1 + r)/(1 - r), where r counts above 1.645/sqrt(20) = 0.368, and in the denominator to 0.9 at most.
#[test]
fn the_correction_for_correlated_batches_is_the_published_one() {
    let runs_of = |n: usize| (0..20).map(|i| f64::from(u8::from(i / n % 2 == 1))).collect::<Vec<f64>>();
    let trend: Vec<f64> = (0..20).map(f64::from).collect();
    let wave: Vec<f64> = (0..20).map(|i| (std::f64::consts::TAU * (f64::from(i) + 0.5) / 20.0).sin()).collect();
    for (name, means, variance, factor) in [
        ("runs of 3, r = 0.353", runs_of(3), 99.0 / 380.0, 1.0),
        ("runs of 4, r = 0.55", runs_of(4), 4.8 / 19.0, 1.55 / 0.45),
        ("a trend, r = 0.85", trend, 35.0, 1.85 / 0.15),
        ("a wave, r = 0.9535", wave, 10.0 / 19.0, 1.953_503_690 / 0.1),
    ] {
        let half = mean_of_batches(&means, 20).half_width().expect("twenty batches");
        let by_hand = 2.093_024_054 * f64::sqrt(variance / 20.0 * factor);
        assert!((half / by_hand - 1.0).abs() < 1e-6, "{name}: {half}, not {by_hand}");
    }
}

/// The rule of runs is that of series: twenty sections of which each has just a hundredth beyond a percentile, while what is
/// beyond the 90th comes in clumps. As many as 32 independent ones beyond it make an interval as of so few, 18 make none; by what
/// lies beyond the percentile alone it would have no width.
#[test]
fn sections_that_agree_beyond_a_percentile_are_no_surer_than_so_few() {
    let series = |more: u32| -> Vec<f64> {
        let section = |section: u32| {
            let near = if (section / 2).is_multiple_of(2) { 90 + more } else { 90 - more };
            let rest = (0..990 - near).map(|_| 1_000);
            rest.chain((0..near).map(|k| 8_000 + 100 * k)).chain((0..10).map(|k| 100_000 + 10_000 * k)).map(f64::from)
        };
        (0..20).flat_map(section).collect()
    };
    let (low, high) = quantile_of_series(&series(16), 0.99).interval().unwrap();
    assert!((17_000.0..18_000.0).contains(&low) && (129_000.0..132_000.0).contains(&high), "{low} to {high}");
    let without = Estimate::WithoutInterval { value: 19_000.0, samples: 20_000, why: NoInterval::TooShort };
    assert_eq!(quantile_of_series(&series(21), 0.99), without);
}

/// Heidelberger and Lewis by hand: the ends of the share's interval, mapped back through ten thousand numbers that are their own
/// ranks. Of a thousand, a hundred of which lie beyond, the ends are no nearer than Clopper and Pearson's.
#[test]
fn the_quantile_of_a_series_ends_where_the_share_does() {
    let series: Vec<f64> = (0..10_000).map(|i| f64::from(i * 3779 % 10_000)).collect();
    let half_of = |least: f64| {
        let beyond = |section: &[f64]| section.iter().filter(|value| **value > least).count() as f64 / 500.0;
        let shares: Vec<f64> = series.chunks(500).map(beyond).collect();
        let mean = shares.iter().sum::<f64>() / 20.0;
        half_width(&shares.iter().map(|share| share - mean).collect::<Vec<_>>(), 0.95).unwrap()
    };
    let half = half_of(8999.0).max(half_of(8998.0));
    let ranks = |count: f64, shares: [f64; 2]| shares.map(|share| (count * share).ceil() - 1.0);
    let [low, high] = ranks(10_000.0, [0.9 - half, 0.9 + half]);
    assert_eq!(quantile_of_series(&series, 0.9).ends(), Some((low, high)), "{half}");
    assert!(half > 2e-4, "{half} would be told from its double");
    let few: Vec<f64> = (0..1000).map(|i| f64::from(i * 377 % 1000)).collect();
    let [low, high] = ranks(1000.0, exact_ratio(900.0, 1000.0, 0.95).into());
    assert_eq!(quantile_of_series(&few, 0.9).ends(), Some((low, high)));
}

/// An interval that would end at the smallest or the largest sample ends where nothing is known.
#[test]
fn a_share_known_to_the_end_has_no_interval() {
    let of = |p: f64, half: f64| quantile_by_share(p, half, 1000, |share| share);
    let bare = |value: f64| Estimate::WithoutInterval { value, samples: 1000, why: NoInterval::TooShort };
    assert_eq!((of(0.25, 0.25), of(0.75, 0.25)), (bare(0.25), bare(0.75)));
    assert_eq!((of(0.25, 0.125).ends(), of(0.75, 0.125).ends()), (Some((0.125, 0.375)), Some((0.625, 0.875))));
}

#[test]
fn batches_keep_the_mean_in_bounded_memory() {
    let mut batches = Batches::new(50, 5);
    for i in 0..12_345 {
        batches.push(f64::from(i));
        assert!(batches.means().len() < 100);
    }
    assert_eq!((batches.size(), batches.means().len(), batches.samples()), (160, 77, 12_320));
    for (at, mean) in batches.means().iter().enumerate() {
        assert_eq!(*mean, at as f64 * 160.0 + 79.5);
    }
    let estimate = mean_of_batches(batches.means(), batches.samples());
    assert_eq!((estimate.value(), estimate.samples()), (Some(6159.5), Some(12_320)));
}
