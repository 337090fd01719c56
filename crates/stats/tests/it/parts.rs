//! Intervals from parts of a run.

use std::sync::Arc;

use sojourn_stats::interval::t_quantile;
use sojourn_stats::measure::NoInterval;
use sojourn_stats::parts::{QuantileOfParts, clump, half_width};
use sojourn_stats::{Histogram, Stream};

/// Twenty parts that take turns cancel in pairs; ten pairs of equals are as sure as ten parts.
#[test]
fn neighbours_that_are_alike_count_as_one() {
    let t = t_quantile(0.975, 19);
    let turns: Vec<f64> = (0..20).map(|part| if part % 2 == 0 { 1.0 } else { -1.0 }).collect();
    assert!((half_width(&turns, 0.95).unwrap() - t * (1.0_f64 / 19.0).sqrt()).abs() < 1e-12);
    let pairs: Vec<f64> = (0..20).map(|part| if part / 2 % 2 == 0 { 1.0 } else { -1.0 }).collect();
    assert!((half_width(&pairs, 0.95).unwrap() - t * (1.0_f64 / 9.0).sqrt()).abs() < 1e-12);
    // Of nineteen nothing is known of pairs; the first of 21 has no neighbour.
    assert!((half_width(&pairs[1..], 0.95).unwrap() - t_quantile(0.975, 18) * (1.0_f64 / 18.0).sqrt()).abs() < 1e-12);
    let odd = [&[0.0], &pairs[..]].concat();
    assert!((half_width(&odd, 0.95).unwrap() - t_quantile(0.975, 20) * (1.0_f64 / 9.0).sqrt()).abs() < 1e-12);
    assert_eq!((half_width(&[1.0], 0.95), half_width(&[], 0.95)), (None, None));
}

fn histograms(parts: &[Vec<u64>]) -> (Arc<Histogram>, Vec<Histogram>) {
    let mut whole = Histogram::new();
    let parts = parts.iter().map(|part| {
        let mut histogram = Histogram::new();
        part.iter().for_each(|value| histogram.record(*value));
        whole.merge(&histogram);
        histogram
    });
    let parts = parts.collect();
    (Arc::new(whole), parts)
}

fn interval(parts: &[Vec<u64>], p: f64) -> Result<(u64, u64), NoInterval> {
    let (whole, parts) = histograms(parts);
    QuantileOfParts::new(&whole, &parts.iter().collect::<Vec<_>>(), p).interval(0.95)
}

/// The same numbers once evenly spread over the parts, and once with all of the largest fiftieth in one part of twenty.
#[test]
fn a_percentile_is_known_by_what_lies_beyond_it_in_the_parts() {
    // A permutation, so that each part is a fair draw of 0 to 99,999.
    let all: Vec<u64> = (0..100_000_u64).map(|k| k * 61_803 % 100_000).collect();
    let even: Vec<Vec<u64>> = all.chunks(5_000).map(<[u64]>::to_vec).collect();
    let (low, high) = interval(&even, 0.99).unwrap();
    assert!((98_701..=99_000).contains(&low) && (99_000..99_300).contains(&high), "{low} to {high}");
    let mut sorted = all;
    sorted.sort_unstable();
    let (rest, largest) = sorted.split_at(98_000);
    let mut clumped: Vec<Vec<u64>> =
        (0..20).map(|part| rest.iter().skip(part).step_by(20).copied().collect()).collect();
    clumped[7].extend(largest);
    assert_eq!(interval(&clumped, 0.99), Err(NoInterval::TooShort), "one clump");
    assert!(interval(&clumped, 0.5).is_ok(), "the middle is known");
    assert_eq!(interval(&even[..1], 0.5), Err(NoInterval::TooFew), "one part");
    let few: Vec<Vec<u64>> = even.iter().map(|part| part[..40].to_vec()).collect();
    assert_eq!(interval(&few, 0.99), Err(NoInterval::TooFew), "eight beyond it");
}

/// Twenty parts of which each has just a hundredth beyond a percentile, while what is beyond the 90th comes in clumps. What
/// agrees by chance has the interval of so few independent numbers.
#[test]
fn parts_that_agree_beyond_a_percentile_are_no_surer_than_so_few() {
    // Two parts have `more` than 90 between the percentiles, the next two fewer.
    let parts = |more: u64| -> Vec<Vec<u64>> {
        let part = |part: u64| {
            let near = if (part / 2).is_multiple_of(2) { 90 + more } else { 90 - more };
            let rest = (0..990 - near).map(|_| 1_000);
            rest.chain((0..near).map(|k| 8_000 + 100 * k)).chain((0..10).map(|k| 100_000 + 10_000 * k)).collect()
        };
        (0..20).map(part).collect()
    };
    // Shares that are off by 0.016 in pairs have a standard error of 0.016 / 3, as those of 3,164 independent numbers have. Of
    // these 32 are beyond, and 22 to 45 may be: 81 of 20,000 numbers below the percentile, and 63 above, where all parts together
    // have 20 at every 10,000.
    let (low, high) = interval(&parts(16), 0.99).unwrap();
    assert!((17_000..18_000).contains(&low) && (129_000..132_000).contains(&high), "{low} to {high}");
    // Off by 0.005 they are as the 200 that there are, and what the parts say stands; by 0.021 as 18.
    let (low, high) = interval(&parts(5), 0.99).unwrap();
    assert!(low > 17_000 && high < 101_000, "{low} to {high}");
    assert_eq!(interval(&parts(21), 0.99), Err(NoInterval::TooShort));
}

/// A percentile inside a value that many have is that value for sure, as long as chance does not take it out of there.
#[test]
fn an_atom_is_known_where_it_reaches_far_enough() {
    let parts: Vec<Vec<u64>> =
        (0..20).map(|part| (0..1_000).map(|k| if k < 900 + part % 5 { 5 } else { 1_000 + k }).collect()).collect();
    assert_eq!(interval(&parts, 0.8), Ok((5, 5)));
    let (low, high) = interval(&parts, 0.902).unwrap();
    assert!(low == 5 && high > 1_000, "{low} to {high}");
}

/// Events one by one, in bursts of five, and all at once.
#[test]
fn events_that_come_together_are_counted() {
    let parts = |events: &dyn Fn(u64) -> u64| (0..40).map(|part| (events(part), 1_000)).collect::<Vec<_>>();
    assert_eq!(clump(&parts(&|_| 1)), 1.0);
    let bursts = clump(&parts(&|part| if part % 5 == 0 { 5 } else { 0 }));
    assert!((4.0..=5.0).contains(&bursts), "{bursts}");
    assert_eq!(clump(&parts(&|part| if part == 3 { 7 } else { 0 })), 7.0);
    assert_eq!(clump(&parts(&|_| 0)), 1.0, "none");
}

/// A value that half of the numbers have, in a bucket that its middle lies beyond, is the median: an interval that begins in that
/// bucket holds it. Of 100 runs at least 80 do (at 95 % fewer do less than once in a million).
#[test]
fn the_interval_of_a_quantile_at_an_atom_holds_it() {
    const ATOM: u64 = 1_000_000_000;
    let holds = |seed: u64| {
        let mut stream = Stream::new(seed, "parts", "atom");
        let mut part = || {
            let mut part = Histogram::new();
            for _ in 0..500 {
                let beyond = if stream.uniform() < 0.5 { 0 } else { (stream.uniform() * 1e9) as u64 };
                part.record(ATOM + beyond);
            }
            part
        };
        let parts: Vec<Histogram> = (0..20).map(|_| part()).collect();
        let mut whole = Histogram::new();
        parts.iter().for_each(|part| whole.merge(part));
        let (low, high) =
            QuantileOfParts::new(&Arc::new(whole), &parts.iter().collect::<Vec<_>>(), 0.5).interval(0.95).unwrap();
        (low..=high).contains(&ATOM)
    };
    let held = (1..=100).filter(|seed| holds(*seed)).count();
    assert!(held >= 80, "{held} of 100");
}
