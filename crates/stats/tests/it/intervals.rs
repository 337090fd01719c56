//! Intervals against printed tables, and against the coverage they promise.

use std::ops::RangeInclusive;

use sojourn_stats::interval::{exact_count, exact_ratio, normal_quantile, quantile_ranks, ratio, t_quantile};
use sojourn_stats::measure::{self, CONFIDENCE, NoInterval, mean_of_samples, quantile_of_samples, range};
use sojourn_stats::parts::{self, of_parts};
use sojourn_stats::{Dimension, Estimate, Law, Measure, Moments, Stream};

/// Three decimals as in every printed table, e.g. Fisher and Yates (1963), table III.
#[test]
fn t_quantiles_are_the_printed_ones() {
    let table = [
        (0.975, 1, 12.706),
        (0.975, 2, 4.303),
        (0.975, 3, 3.182),
        (0.975, 5, 2.571),
        (0.975, 10, 2.228),
        (0.975, 19, 2.093),
        (0.975, 30, 2.042),
        (0.975, 120, 1.980),
        (0.95, 1, 6.314),
        (0.95, 10, 1.812),
        (0.995, 10, 3.169),
        (0.9995, 5, 6.869),
    ];
    for (p, degrees, printed) in table {
        let t = t_quantile(p, degrees);
        assert!((t - printed).abs() < 5.1e-4, "{p}, {degrees}: {t}");
        assert!((t_quantile(1.0 - p, degrees) + t).abs() < 1e-6 * t, "{p}, {degrees}");
    }
    // Beyond, by the distribution function's finite sum for whole degrees (Abramowitz and Stegun 26.7.3).
    for (p, degrees, exact, off) in [
        (0.6, 201, 0.253_682_699_889_17, 1e-10),
        (0.975, 201, 1.971_836_506_779_86, 5e-9),
        (0.995, 1000, 2.580_754_698_065_84, 1e-10),
        (0.9995, 201, 3.339_586_788_905_11, 6e-8),
    ] {
        let t = t_quantile(p, degrees);
        assert!((t - exact).abs() < off, "{p}, {degrees}: {t}");
    }
    // Where the series takes over from the inverse of the distribution function there is no step.
    for p in [0.6, 0.975, 0.9995] {
        let (before, after, later) = (t_quantile(p, 200), t_quantile(p, 201), t_quantile(p, 202));
        assert!(((before - after) / (after - later) - 202.0 / 200.0).abs() < 1e-2, "{p}: {before} {after} {later}");
    }
    assert!((t_quantile(0.975, 1_000_000) - normal_quantile(0.975)).abs() < 1e-5);
    assert!((normal_quantile(0.975) - 1.959964).abs() < 1e-6);
}

/// Newcombe, Statistics in Medicine 17 (1998), table I, method 3.
#[test]
fn wilson_intervals_are_the_printed_ones() {
    for (successes, samples, low, high) in
        [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)]
    {
        let (a, b) = ratio(successes, samples, 0.95).expect("trials");
        assert!((a - low).abs() < 5.1e-5 && (b - high).abs() < 5.1e-5, "{successes}/{samples}: {a} to {b}");
    }
    assert_eq!(measure::ratio(0, 0), Estimate::TooFew { samples: 0 });
    assert_eq!(measure::ratio(20, 20).interval().map(|ends| ends.1), Some(1.0));
    assert_eq!(measure::ratio(5, 20).value(), Some(0.25));
}

/// The interval of the median from 10 samples is the 2nd to the 9th (97.9 %), from 6 the 1st to the 6th (96.9 %):
/// David and Nagaraja, Order Statistics (2003), section 7.1.
#[test]
fn order_statistics_bracket_a_quantile() {
    assert_eq!(quantile_ranks(10, 0.5, 0.95), Some((1, 8)));
    assert_eq!(quantile_ranks(6, 0.5, 0.95), Some((0, 5)));
    assert_eq!(quantile_ranks(5, 0.5, 0.95), None);
    // 0.99^n falls below 0.025 at n = 368.
    assert_eq!(quantile_ranks(71, 0.99, 0.95), None);
    assert_eq!(quantile_ranks(367, 0.99, 0.95), None);
    assert!(quantile_ranks(368, 0.99, 0.95).is_some());
    // For many samples the normal approximation: np -+ 1.96 sqrt(np(1-p)).
    let (low, high) = quantile_ranks(100_000_000, 0.9, 0.95).expect("plenty");
    assert!((low as f64 - (9e7 - 1.959964 * 3000.0)).abs() < 3.0, "{low}");
    assert!((high as f64 - (9e7 + 1.959964 * 3000.0)).abs() < 3.0, "{high}");
    let few: Vec<f64> = (0..71).map(f64::from).collect();
    assert_eq!(quantile_of_samples(&few, 0.99), Estimate::TooFew { samples: 71 }, "it is their maximum");
    let more: Vec<f64> = (0..100).map(f64::from).collect();
    let bare = Estimate::WithoutInterval { value: 98.0, samples: 100, why: NoInterval::TooFew };
    assert_eq!(quantile_of_samples(&more, 0.99), bare, "one sample lies beyond it");
    let ten: Vec<f64> = (1..=10).rev().map(f64::from).collect();
    assert_eq!(
        quantile_of_samples(&ten, 0.5),
        Estimate::Sampled { value: 5.0, ci_low: 2.0, ci_high: 9.0, samples: 10 }
    );
}

/// Whether `estimate` covers `truth`.
fn covers(estimate: &Estimate, truth: f64) -> bool {
    estimate.interval().is_some_and(|(low, high)| low <= truth && truth <= high)
}

/// 4,000 intervals each; 0.95 -+ 5.3 sigma (1.2e-7) is 0.931 to 0.969. Order statistics cover a little more than asked:
/// with 200 samples the p90 interval covers at most 0.97, and Wilson's at most 0.005 off 0.95.
#[test]
fn intervals_cover_as_often_as_they_say() {
    let normal = Law::parse("normal(mean = 10 s, sd = 1 s)", Dimension::Time).expect("a law");
    let skewed = Law::exponential(1.0);
    let mut stream = Stream::new(1, "coverage", "samples");
    let (mut means, mut quantiles, mut ratios) = (0, 0, 0);
    const RUNS: u32 = 4000;
    for _ in 0..RUNS {
        let few: Moments = (0..5).map(|_| normal.sample(&mut stream)).collect();
        means += u32::from(covers(&mean_of_samples(&few), 10.0));
        let many: Vec<f64> = (0..200).map(|_| skewed.sample(&mut stream)).collect();
        quantiles += u32::from(covers(&quantile_of_samples(&many, 0.9), 10f64.ln()));
        let successes = many.iter().filter(|value| **value > 1.0).count() as u64;
        ratios += u32::from(covers(&measure::ratio(successes, 200), (-1.0f64).exp()));
    }
    let share = |count: u32| f64::from(count) / f64::from(RUNS);
    assert!((0.931..0.969).contains(&share(means)), "means {}", share(means));
    assert!((0.931..0.985).contains(&share(quantiles)), "quantiles {}", share(quantiles));
    assert!((0.925..0.975).contains(&share(ratios)), "ratios {}", share(ratios));
}

#[test]
fn estimates_know_their_sharpness() {
    let sampled = Estimate::Sampled { value: 10.0, ci_low: 9.0, ci_high: 11.0, samples: 4 };
    assert_eq!((sampled.value(), sampled.samples(), sampled.relative_half_width()), (Some(10.0), Some(4), 0.1));
    assert_eq!(Estimate::Exact { value: 1.0 }.relative_half_width(), 0.0);
    assert_eq!(Estimate::TooFew { samples: 1 }.relative_half_width(), f64::INFINITY);
    let one = mean_of_samples(&[1.0].into_iter().collect());
    assert_eq!(one, Estimate::WithoutInterval { value: 1.0, samples: 1, why: NoInterval::TooFew });
    assert_eq!((one.interval(), one.ends(), one.relative_half_width()), (None, None, f64::INFINITY));
    assert_eq!(mean_of_samples(&Moments::default()), Estimate::TooFew { samples: 0 });
    assert_eq!(sampled.clone().withheld(NoInterval::TooShort).value(), Some(10.0));
    assert_eq!((sampled.half_width(), Estimate::Exact { value: 1.0 }.ends()), (Some(1.0), Some((1.0, 1.0))));
    let clipped = Estimate::Sampled { value: 1.0, ci_low: 0.0, ci_high: 4.0, samples: 4 };
    assert_eq!(clipped.half_width(), Some(3.0), "the lower half was cut off");
    let hardly = Estimate::Sampled { value: 3.0, ci_low: 0.0, ci_high: 4.0, samples: 4 };
    assert_eq!(hardly.half_width(), Some(2.0), "but for at most half of it");
    let within = |value: f64, half: f64| {
        let (ci_low, ci_high) = (value - half, value + half);
        Estimate::Sampled { value, ci_low, ci_high, samples: 4 }
    };
    assert_eq!((within(0.0, 0.0).relative_half_width(), within(-10.0, 1.0).relative_half_width()), (0.0, 0.1));
    assert!(within(3.0, 0.0).is_sharp() && within(-3.0, 1e-13).is_sharp(), "but for rounding it has no width");
    assert!(within(4e6, 1e-6).is_sharp() && !within(4e-6, 1e-12).is_sharp(), "rounding is of the number");
    assert!(!within(3.0, 1e-11).is_sharp() && !one.is_sharp() && !Estimate::Exact { value: 1.0 }.is_sharp());
    assert_eq!(NoInterval::TooFew.name(), "too-few");
    assert_eq!((NoInterval::TooShort.name(), NoInterval::TooShort.words()), ("too-short", "too short a run"));
    // Two replications at 9 and 11: 10 -+ 12.706 * sqrt(2/2).
    let (low, high) = of_parts(10.0, &[9.0, 11.0], 1000, CONFIDENCE).interval().expect("two parts");
    assert!((low + 2.706).abs() < 1e-3 && (high - 22.706).abs() < 1e-3, "{low} to {high}");
    // Four at 8 and 12: 10 -+ 3.1824 * sqrt(16/3/4).
    let (low, high) = of_parts(10.0, &[8.0, 12.0, 8.0, 12.0], 1000, CONFIDENCE).interval().expect("four parts");
    assert!((low - 6.3252).abs() < 1e-4 && (high - 13.6748).abs() < 1e-4, "{low} to {high}");
    let text = serde_json::to_string(&sampled).expect("plain data");
    assert_eq!(text, r#"{"sampled":{"value":10.0,"ci_low":9.0,"ci_high":11.0,"samples":4}}"#);
    assert_eq!(serde_json::from_str::<Estimate>(&text).expect("its own text"), sampled);
}

/// Clopper and Pearson's interval: of no event by the power that it is; 1 of 10 and 5 of 20 as R's `binom.test` has them.
#[test]
fn exact_intervals_of_few_events() {
    let near = |found: (f64, f64), low: f64, high: f64| {
        assert!((found.0 - low).abs() < 5e-6 && (found.1 - high).abs() < 5e-6, "{found:?}, not {low} to {high}");
    };
    near(exact_ratio(0.0, 39.0, 0.95), 0.0, 1.0 - 0.05f64.powf(1.0 / 39.0));
    near(exact_ratio(39.0, 39.0, 0.95), 0.05f64.powf(1.0 / 39.0), 1.0);
    near(exact_ratio(1.0, 10.0, 0.95), 0.0025286, 0.4450161);
    near(exact_ratio(5.0, 20.0, 0.95), 0.0865715, 0.4910459);
    assert!((exact_ratio(0.0, 39.0, 0.95).1 - 0.0739).abs() < 5e-5);
    // Of 4 in 1e9 the law is Poisson's: 1.0899 to 10.2416 (Garwood 1936).
    let (low, high) = exact_ratio(4.0, 1e9, 0.95);
    assert!((low * 1e9 - 1.0899).abs() < 1e-3 && (high * 1e9 - 10.2416).abs() < 1e-3, "{low} to {high}");
}

/// At the lower end the chance of at least so many successes is what is outside of one side, at the upper end that of at most so
/// many, by the sum of the binomial law: at every count, and at confidences that put the ends near and far.
#[test]
fn ends_of_a_ratio_are_where_the_binomial_law_has_them() {
    const TRIALS: i32 = 60;
    // Of so many successes in 60 trials of chance p.
    let among = |counts: RangeInclusive<i32>, p: f64| -> f64 {
        let choose = |k: i32| (1..=k).fold(1.0, |of, i| of * f64::from(TRIALS - k + i) / f64::from(i));
        counts.map(|k| choose(k) * p.powi(k) * (1.0 - p).powi(TRIALS - k)).sum()
    };
    for confidence in [0.5, 0.95, 0.9999, 1.0 - 1e-9] {
        let outside = 0.5 * (1.0 - confidence);
        for successes in 1..TRIALS {
            let (low, high) = exact_ratio(f64::from(successes), f64::from(TRIALS), confidence);
            for (counts, end) in [(successes..=TRIALS, low), (0..=successes, high)] {
                let chance = among(counts, end);
                assert!((chance / outside - 1.0).abs() < 1e-6, "{successes} at {confidence}: {chance} at {end}");
            }
        }
    }
}

/// What is seen in no part, in as many as in the next, or in all but few, is not known to the last digit.
#[test]
fn parts_that_are_alike_do_not_make_a_share_of_few_sure() {
    let sharp = |value: f64| Estimate::Sampled { value, ci_low: value, ci_high: value, samples: 400 };
    let of = |value: f64, events, alike| parts::of_few(sharp(value), (events, 400), alike, 0.95).interval().unwrap();
    let none = of(0.0, 0, 1.0);
    assert!(none.0 == 0.0 && (none.1 - 3.0 / 400.0).abs() < 1e-4, "the rule of three: {none:?}");
    let one = of(0.0025, 1, 1.0);
    assert!(one.0 < 1e-4 && one.1 > 0.0138, "{one:?}");
    let all = of(1.0, 400, 1.0);
    assert!(all.1 == 1.0 && all.0 < 0.9926, "{all:?}");
    // Where ten tell as much as one, there are forty.
    assert!((of(0.0, 0, 10.0).1 - exact_ratio(0.0, 40.0, 0.95).1).abs() < 1e-12);
    // One that is seen, of so many that would come together, is a part of a clump, whose exact lower end is 10^-50: the chance
    // that one is seen is no more than as many as are expected, so that 2.5 % in 400 is the least.
    let part = of(0.0025, 1, 33.0);
    assert!((part.0 * 400.0 / 0.025_317 - 1.0).abs() < 1e-3 && part.1 > one.1, "{part:?}");
    assert!(exact_ratio(1.0 / 33.0, 400.0 / 33.0, 0.95).0 < 1e-45);
    // Half of them, with no spread between the parts.
    assert!(of(0.5, 200, 1.0).1 > 0.549);
    let wide = Estimate::Sampled { value: 0.5, ci_low: 0.45, ci_high: 0.55, samples: 400 };
    assert_eq!(parts::of_few(wide.clone(), (200, 400), 1.0, 0.95), wide, "many events have their spread");
    let known = Estimate::Exact { value: 0.0 };
    assert_eq!(parts::of_few(known.clone(), (0, 400), 1.0, 0.95), known);
}

/// A request is asked for once at least, and where one was asked for again more often than that on average: Student's t of a few
/// parts reaches below 1.
#[test]
fn attempts_are_never_fewer_than_requests() {
    let of = |further: &[u64], ci_low: f64, ci_high: f64| {
        let parts: Vec<(u64, u64)> = further.iter().map(|further| (*further, 1000)).collect();
        let value = 1.0 + further.iter().sum::<u64>() as f64 / (1000 * further.len()) as f64;
        let estimate = Estimate::Sampled { value, ci_low, ci_high, samples: 1000 * further.len() as u64 };
        parts::attempts_of_few(estimate, &parts, 1.0, 0.95).interval().unwrap()
    };
    let none = of(&[0; 4], 1.0, 1.0);
    assert!(none.0 == 1.0 && (none.1 - 1.0 - exact_ratio(0.0, 4000.0, 0.95).1).abs() < 1e-12, "{none:?}");
    let two = of(&[1, 0, 1, 0], 0.9996, 1.0014);
    let exact = exact_ratio(2.0, 4000.0, 0.95);
    assert!((two.0 - 1.0 - exact.0).abs() < 1e-12 && two.1 >= 1.0 + exact.1 && two.0 > 1.0, "{two:?}");
    // Many clumps have their spread, but for what is below 1; and of more than there are requests there is no share.
    assert_eq!(of(&[100, 120, 110, 90], 1.08, 1.13), (1.08, 1.13));
    let wild = of(&[3000, 0], -16.0, 21.0);
    assert!((wild.0 - 1.0 - exact_ratio(1.0, 2000.0, 0.95).0).abs() < 1e-12 && wild.1 == 21.0, "{wild:?}");
}

/// The share of a series: of none the exact end; of many that come alone the binomial interval, to a factor of two (its variance
/// is that of 39 parts, or of 20 pairs: four times off once in 10^7); of as many in one burst nearly nothing is known.
#[test]
fn the_share_of_a_series_is_known_as_its_events_come() {
    let of = |events: Vec<bool>| parts::share_of_series(events.into_iter());
    let none = of(vec![false; 39]).interval().unwrap();
    assert!(none.0 == 0.0 && (none.1 - (1.0 - 0.05f64.powf(1.0 / 39.0))).abs() < 1e-12, "{none:?}");
    let all = of(vec![true; 39]).interval().unwrap();
    assert!(all.1 == 1.0 && (all.0 - 0.05f64.powf(1.0 / 39.0)).abs() < 1e-12, "{all:?}");
    assert_eq!(of(vec![true]).interval().map(|ends| ends.1), Some(1.0));
    assert_eq!(of(Vec::new()), Estimate::TooFew { samples: 0 });
    let mut stream = Stream::new(1, "intervals", "share");
    let alone: Vec<bool> = (0..20_000).map(|_| stream.uniform() < 0.1).collect();
    let count = alone.iter().filter(|is_event| **is_event).count();
    let estimate = of(alone);
    assert_eq!((estimate.value(), estimate.samples()), (Some(count as f64 / 20_000.0), Some(20_000)));
    let (low, high) = estimate.interval().unwrap();
    let of_binomial = 2.0 * 1.96 * (0.1 * 0.9 / 20_000.0_f64).sqrt();
    assert!((0.5..2.0).contains(&((high - low) / of_binomial)), "{low} to {high}");
    // One burst of ten that there is room for: as one of ten.
    let (low, high) = of((0..20_000).map(|at| at < 2_000).collect()).interval().unwrap();
    assert!(low < 0.0026 && high > 0.4449, "{low} to {high}");
}

#[test]
fn samples_are_alike_only_beyond_chance() {
    assert_eq!(parts::alike(1.5 / 100.0, 100, 1.0, 19), 1.0, "19 degrees are 1.59 times as much by chance");
    assert!((parts::alike(1.7 / 100.0, 100, 1.0, 19) - 1.7).abs() < 1e-12);
    assert_eq!(parts::alike(3.7 / 100.0, 100, 1.0, 1), 1.0, "one degree, nearly 3.84 times");
    assert_eq!(parts::alike(0.0, 100, 0.0, 19), 1.0, "all alike");
}

/// Garwood's table of 1936, as in every handbook: 95 % of a Poisson mean, of which so many events were seen.
#[test]
fn the_interval_of_a_poisson_count_is_the_tabled_one() {
    for (events, low, high) in [(1, 0.0253, 5.5716), (2, 0.2422, 7.2247), (10, 4.7954, 18.3904), (30, 20.2409, 42.8269)]
    {
        let (found_low, found_high) = exact_count(events, 0.95);
        assert!(
            (found_low - low).abs() < 1e-4 && (found_high - high).abs() < 1e-4,
            "{events}: {found_low} {found_high}"
        );
    }
    let (low, high) = exact_count(0, 0.95);
    assert!(low == 0.0 && (high - 2.9957).abs() < 1e-4, "all of the error is above");
}

/// No time, count or rate is negative, no share above 1, and no request is less than one attempt; a difference may be either.
#[test]
fn an_interval_ends_where_its_metric_cannot_be() {
    let of = |metric: &str, value: f64| {
        let estimate = Estimate::Sampled { value, ci_low: value - 2.0, ci_high: value + 2.0, samples: 9 };
        Measure::new(metric, "1", estimate).within_range().estimate
    };
    for metric in ["response_time_mean", "throughput", "queue_length_mean_disk", "imbalance_index"] {
        assert_eq!(of(metric, 0.5).interval(), Some((0.0, 2.5)), "{metric}");
    }
    assert_eq!(of("response_time_mean", 0.5).half_width(), Some(2.0), "as wide as it was");
    for metric in ["error_ratio", "worst_second_error_ratio", "utilization", "utilization_disk", "hit_ratio_a"] {
        assert_eq!(of(metric, 0.5).interval(), Some((0.0, 1.0)), "{metric}");
    }
    for metric in ["attempts_ratio", "during(fault).attempts_ratio"] {
        assert_eq!((range(metric).0, of(metric, 1.5).interval()), (1.0, Some((1.0, 3.5))), "{metric}");
    }
    // How many times as long is no share.
    assert_eq!(of("response_time_mean_ratio", 1.5).interval(), Some((0.0, 3.5)));
    for metric in ["prediction_error_mean", "response_time_mean_difference", "response_time_p99_difference"] {
        assert_eq!(of(metric, -0.5).interval(), Some((-2.5, 1.5)), "{metric}");
    }
    assert_eq!(of("utilization", 1.5).interval(), Some((0.0, 1.5)), "a number stays within its interval");
    let formula = Measure::new("error_ratio", "1", Estimate::Exact { value: 0.5 });
    assert_eq!(formula.within_range(), formula);
}
