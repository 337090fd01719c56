//! Streaming quantiles.

use sojourn_stats::{Histogram, Law, Stream};

fn recorded(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    values.iter().for_each(|value| histogram.record(*value));
    histogram
}

fn skewed(count: usize) -> Vec<u64> {
    let law = Law::exponential(1e6);
    let mut stream = Stream::new(1, "histogram", "values");
    (0..count).map(|_| law.sample(&mut stream).powf(1.5) as u64).collect()
}

#[test]
fn quantiles_are_within_their_promise() {
    let mut values = skewed(100_000);
    let histogram = recorded(&values);
    values.sort_unstable();
    for p in [0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999] {
        let exact = values[(p * values.len() as f64).round() as usize - 1] as f64;
        let read = histogram.quantile(p).expect("not empty") as f64;
        assert!((read / exact - 1.0).abs() <= 1.0 / 256.0, "p{p}: {read} for {exact}");
        let share = histogram.share_up_to(exact as u64);
        assert!((share - p).abs() < 0.01 && share >= p, "{share} for {p}");
    }
    assert_eq!(histogram.quantile(0.0), Some(values[0]));
    assert_eq!(histogram.quantile(1.0), values.last().copied());
    let mean = values.iter().map(|value| u128::from(*value)).sum::<u128>() as f64 / 1e5;
    assert_eq!(histogram.mean(), Some(mean));
}

#[test]
fn every_number_has_a_bucket_near_it() {
    let mut value: u64 = 0;
    loop {
        let histogram = recorded(&[value]);
        let (low, high, count) = histogram.buckets().next().expect("one");
        assert!(low <= value && value <= high && count == 1, "{value} in {low} to {high}");
        assert!((high - low) as f64 <= value as f64 / 128.0, "{value} in {low} to {high}");
        assert!(value >= 256 || low == high);
        assert_eq!(histogram.quantile(0.5), Some(value), "alone, the ends say it exactly");
        if value == u64::MAX {
            break;
        }
        value = value.saturating_add(value / 100 + 1);
    }
}

/// Looked for from the nearer end, a quantile is in the bucket that counting up from the least number comes to, and shares are
/// sums over all buckets, at and beyond both ends too.
#[test]
fn a_quantile_is_in_the_bucket_of_its_rank() {
    for values in
        [skewed(1), skewed(2), skewed(7), skewed(374), vec![500; 9], [vec![1000; 50], vec![9000; 50]].concat()]
    {
        let histogram = recorded(&values);
        let buckets: Vec<(u64, u64, u64)> = histogram.buckets().collect();
        for rank in 1..=values.len() as u64 {
            let p = (rank as f64 - 0.5) / values.len() as f64;
            let mut up_to = 0;
            let (low, high, _) = buckets
                .iter()
                .find(|(.., count)| {
                    up_to += count;
                    up_to >= rank
                })
                .expect("it is one of them");
            let read = histogram.quantile(p).expect("not empty");
            assert!((*low..=*high).contains(&read), "rank {rank} of {}: {read}, not in {low} to {high}", values.len());
        }
        for at in [0, 1, values[0] / 2, values[0], values[0] + 1, 2 * values[0], u64::MAX] {
            let count = |is_in: &dyn Fn(u64, u64) -> bool| -> u64 {
                buckets.iter().filter(|(low, high, _)| is_in(*low, *high)).map(|(.., count)| count).sum()
            };
            let share = |count: u64| count as f64 / values.len() as f64;
            assert_eq!(histogram.share_up_to(at), share(count(&|low, _| low <= at)), "up to {at}");
            assert_eq!(histogram.share_below(at), share(count(&|_, high| high < at)), "below {at}");
        }
    }
    assert_eq!((Histogram::new().share_up_to(5), Histogram::new().share_below(5)), (0.0, 0.0));
}

#[test]
fn small_numbers_are_exact() {
    let histogram = recorded(&(0..256).collect::<Vec<_>>());
    for p in [0.1, 0.25, 0.5, 0.75, 0.9] {
        assert_eq!(histogram.quantile(p), Some((256.0 * p).ceil() as u64 - 1));
    }
}

#[test]
fn merging_is_recording() {
    let values = skewed(10_000);
    let mut merged = recorded(&values[..3000]);
    merged.merge(&recorded(&values[3000..]));
    merged.merge(&Histogram::new());
    assert_eq!(merged, recorded(&values));
    let mut twice = recorded(&[5, 5, 9]);
    let mut counted = Histogram::new();
    counted.record_n(5, 2);
    counted.record_n(9, 1);
    assert_eq!(twice, counted);
    twice.clear();
    assert_eq!(twice, Histogram::new());
}

#[test]
fn it_survives_a_pipe() {
    let mut histogram = recorded(&skewed(1000));
    histogram.record_n(u64::MAX, 3);
    let text = serde_json::to_string(&histogram).expect("plain data");
    assert_eq!(serde_json::from_str::<Histogram>(&text).expect("its own text"), histogram);
}

#[test]
fn cdf_points_climb_to_one() {
    let histogram = recorded(&skewed(10_000));
    let points = histogram.cdf_points(100);
    assert!(points.len() <= 100 && points.len() > 40, "{}", points.len());
    assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1));
    assert_eq!(points.last().map(|point| (Some(point.0), point.1)), Some((histogram.max(), 1.0)));
    assert_eq!(recorded(&[300]).cdf_points(100), [(300, 1.0)]);
}

#[test]
fn an_empty_one_says_nothing() {
    let empty = Histogram::new();
    assert_eq!((empty.quantile(0.5), empty.mean(), empty.min(), empty.max()), (None, None, None, None));
    assert!(empty.cdf_points(10).is_empty());
    assert_eq!(empty.share_up_to(5), 0.0);
}

/// Of a smooth law a quantile is read as its rank has it, not by steps as wide as a bucket. The rank of a number in its
/// bucket is off by half the root of the bucket's count at most; a run of 400 comparisons fails by chance once in 10^6.
#[test]
fn quantiles_of_a_smooth_law_have_no_steps() {
    for seed in 0..100 {
        let law = Law::exponential(1e9);
        let mut stream = Stream::new(seed, "histogram", "smooth");
        let mut values: Vec<u64> = (0..50_000).map(|_| law.sample(&mut stream) as u64).collect();
        let histogram = recorded(&values);
        values.sort_unstable();
        for p in [0.1, 0.5, 0.9, 0.99] {
            let exact = values[(p * values.len() as f64).round() as usize - 1];
            let read = histogram.quantile(p).expect("not empty");
            let (low, high, count) = histogram.buckets().find(|(_, high, _)| exact <= *high).expect("it was recorded");
            let off = read.abs_diff(exact) as f64 / (high - low) as f64;
            assert!(
                off < 5.5 * 0.5 / (count as f64).sqrt(),
                "seed {seed}, p{p}: {read} for {exact}, {count} in the bucket"
            );
            assert_eq!(histogram.quantile_ends(p), Some((read, read)), "seed {seed}, p{p}");
        }
    }
}

/// Where one number is far more frequent than those about it, a bucket tells no more than its ends.
#[test]
fn a_frequent_number_is_within_its_bucket() {
    let law = Law::exponential(1e9);
    let mut stream = Stream::new(1, "histogram", "atom");
    for number in [693_000_123, 695_200_000, 690_100_000] {
        let mut histogram = Histogram::new();
        (0..90_000).for_each(|_| histogram.record(law.sample(&mut stream) as u64));
        histogram.record_n(number, 5_000);
        let p = histogram.share_below(number) + 0.02;
        let (low, high) = histogram.quantile_ends(p).expect("not empty");
        assert!(low <= number && number <= high && high - low > 4_000_000, "{number}: {low} to {high}");
    }
}

/// What is read from a bucket is known within it, and where all numbers are one, exactly.
#[test]
fn a_quantile_is_between_the_ends_of_its_bucket() {
    let mut numbers = Histogram::new();
    (0..1000).for_each(|k| numbers.record(1_000_000 + 3 * k));
    let (low, high) = numbers.quantile_ends(0.5).unwrap();
    assert!(low <= 1_001_500 && 1_001_500 <= high && high - low < 8192, "{low} to {high}");
    let mean = numbers.mean().unwrap();
    let variance = (0..1000).map(|k| (f64::from(1_000_000 + 3 * k) - mean).powi(2)).sum::<f64>() / 1000.0;
    assert!((numbers.variance().sqrt() / mean - variance.sqrt() / mean).abs() < 0.005);
    let mut one = Histogram::new();
    one.record_n(23_026_000_000, 50);
    assert_eq!(one.quantile_ends(0.9), Some((23_026_000_000, 23_026_000_000)));
    assert_eq!(Histogram::new().quantile_ends(0.5), None);
}
