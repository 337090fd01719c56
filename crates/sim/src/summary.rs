//! From the counts of parts (replications of a run, or sections of one) to numbers with intervals.

mod counts;
mod row;

use std::sync::Arc;

use sojourn_stats::Histogram;
use sojourn_stats::measure::quantile_stands;
use sojourn_stats::parts::QuantileOfParts;

use crate::requests::of_class::OfClass;

pub(crate) use counts::Counts;
pub(crate) use row::{Events, Row, Rows, answers, measures, values};

/// The quantiles reported.
pub(crate) const QUANTILES: [(&str, f64); 5] = [
    ("response_time_p50", 0.5),
    ("response_time_p90", 0.9),
    ("response_time_p95", 0.95),
    ("response_time_p99", 0.99),
    ("response_time_p99.9", 0.999),
];

/// Samples beyond a quantile that each part must be expected to hold.
const BEYOND: f64 = 5.0;
/// Shares are reported up to so many servers.
pub(crate) const MOST_SHARES: usize = 16;
/// Corners of the distribution function.
const CORNERS: usize = 200;

/// The mean of all response times (s).
pub(crate) fn mean(metric: &str, whole: &Histogram, parts: &[&Histogram]) -> Row {
    let seconds = |histogram: &Histogram| histogram.mean().map(|ns| ns * 1e-9);
    let parts = parts.iter().map(|part| seconds(part)).collect();
    let samples = whole.count();
    Row { metric: metric.into(), unit: "s", whole: seconds(whole), parts, samples, ..Row::default() }
}

/// The longest response time (s) of a part, mean over the parts: that of the whole grows with their number.
pub(crate) fn longest(metric: &str, whole: &Histogram, parts: &[&Histogram]) -> Row {
    let parts: Vec<Option<f64>> = parts.iter().map(|part| part.max().map(|ns| ns as f64 * 1e-9)).collect();
    let known: Vec<f64> = parts.iter().flatten().copied().collect();
    let mean = (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64);
    let samples = whole.count();
    Row { metric: metric.into(), unit: "s", whole: mean, parts, samples, ..Row::default() }
}

/// The `p` quantile (s) of all response times; with an interval only if every part has enough of them.
pub(crate) fn quantile(metric: &str, whole: &Arc<Histogram>, parts: &[&Histogram], p: f64) -> Row {
    let quantile = Some(QuantileOfParts::new(whole, parts, p));
    let enough = |part: &Histogram| part.count() as f64 * (1.0 - p) * (1.0 + 1e-12) >= BEYOND;
    let seconds = |histogram: &Histogram| histogram.quantile(p).map(|ns| ns as f64 * 1e-9);
    let parts = parts.iter().map(|part| if enough(part) { seconds(part) } else { None }).collect();
    let samples = whole.count();
    let ends = whole.quantile_ends(p).map(|(low, high)| (low as f64 * 1e-9, high as f64 * 1e-9));
    let whole = if quantile_stands(samples, p) { seconds(whole) } else { None };
    Row { metric: metric.into(), unit: "s", whole, parts, samples, quantile, ends, ..Row::default() }
}

/// Every metric but the response times.
pub(crate) fn others(whole: &Counts, parts: &[Counts]) -> Vec<Row> {
    let mut rows = Rows::new(whole, parts);
    for (class, OfClass { name, completed, .. }) in whole.of_class.iter().enumerate() {
        rows.add(format!("response_time_mean_{name}"), "s", *completed, |part| {
            per(part.of_class[class].response_ns as f64 * 1e-9, part.of_class[class].completed)
        });
    }
    rows.add("waiting_time_mean", "s", whole.served, |part| per(part.waiting_s, part.served));
    rows.add("service_time_mean", "s", whole.served, |part| per(part.service_s, part.served));
    rows.add("throughput", "1/s", whole.completions, |part| {
        (part.elapsed_s > 0.0).then(|| part.completions as f64 / part.elapsed_s)
    });
    if whole.completions == 0 && whole.ended > 0 {
        let good = Events::new(parts.iter().map(|part| (0, part.ended)).collect(), false);
        rows.rows.last_mut().expect("it was added").rate = Some((good, whole.elapsed_s));
    }
    rows.add("utilization", "1", whole.completions, |part| {
        (part.elapsed_s > 0.0).then(|| part.busy_s / part.elapsed_s)
    });
    rows.share("error_ratio", |part| (part.denied, part.ended));
    rows.certain(!whole.may_fail.0);
    rows.slow_share("abandoned_ratio", |part| (part.abandoned, part.ended));
    rows.certain(!whole.may_fail.1);
    if whole.retried.is_some() {
        rows.add("attempts_ratio", "1", whole.ended, |part| {
            per((part.ended + part.retried.unwrap_or(0)) as f64, part.ended)
        });
        let again = parts.iter().map(|part| (part.retried.unwrap_or(0), part.ended)).collect();
        rows.rows.last_mut().expect("it was added").again = Some(again);
    }
    if whole.connections.is_some() {
        let of = |part: &Counts| part.connections.unwrap_or_default();
        let connections = of(whole);
        let per_second = |part: &Counts, sum: f64| (part.elapsed_s > 0.0).then(|| sum / part.elapsed_s);
        rows.add("connect_time_mean", "s", connections.set_up, |part| {
            per(of(part).set_up_ns as f64 * 1e-9, of(part).set_up)
        });
        rows.add("connection_rate", "1/s", connections.set_up, |part| per_second(part, of(part).set_up as f64));
        rows.share("connection_error_ratio", |part| (of(part).given_up, of(part).set_up + of(part).given_up));
        rows.add("byte_throughput", "B/s", whole.completions, |part| per_second(part, of(part).bytes as f64));
        rows.add("littles_load_factor", "1", whole.completions, |part| {
            per_second(part, of(part).response_ns as f64 * 1e-9)
        });
    }
    let servers = whole.sent.len();
    if servers > 1 {
        let sent: u64 = whole.sent.iter().sum();
        rows.add("imbalance_index", "1", sent, |part| imbalance(&part.sent));
        if servers <= MOST_SHARES {
            for server in 0..servers {
                rows.share(format!("share_{}", server + 1), |part| (part.sent[server], part.sent.iter().sum()));
                // A policy may send each server just so many; that it sends one none, or all, is what was seen.
                rows.certain(![0, sent].contains(&whole.sent[server]));
            }
        }
    }
    rows.rows
}

/// How many are inside on average: the time that those who leave spent inside, waiting, served and shared alike, over the time
/// (s) that passes meanwhile (Little 1961).
pub(crate) fn number_in_system(whole: (&Histogram, f64), parts: &[(&Histogram, f64)]) -> Row {
    let mut rows = Rows::new(&whole, parts);
    rows.add("number_in_system_mean", "1", whole.0.count(), |(response, elapsed_s)| {
        (*elapsed_s > 0.0).then(|| response.sum() as f64 * 1e-9 / elapsed_s)
    });
    rows.rows.remove(0)
}

/// A mean over so many; none over none.
pub(crate) fn per(sum: f64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum / count as f64)
}

/// The distribution function of response times in seconds.
pub(crate) fn cdf(whole: &Histogram) -> Vec<(f64, f64)> {
    whole.cdf_points(CORNERS).into_iter().map(|(ns, share)| (ns as f64 * 1e-9, share)).collect()
}

/// 1 + (p90 - p10) / (2 mean) of the servers' numbers, with percentiles interpolated between ranks.
fn imbalance(sent: &[u64]) -> Option<f64> {
    let mut sorted = sent.to_vec();
    sorted.sort_unstable();
    let mean = sorted.iter().sum::<u64>() as f64 / sorted.len() as f64;
    let percentile = |p: f64| {
        let rank = p * (sorted.len() - 1) as f64;
        let (below, above) = (sorted[rank.floor() as usize] as f64, sorted[rank.ceil() as usize] as f64);
        below + (above - below) * rank.fract()
    };
    (mean > 0.0).then(|| 1.0 + (percentile(0.9) - percentile(0.1)) / (2.0 * mean))
}

#[cfg(test)]
mod tests {
    use sojourn_stats::interval::exact_ratio;

    use super::*;
    use crate::requests::connections::Connections;

    const S: u128 = 1_000_000_000;

    /// Two parts of a run, of different lengths.
    fn two() -> [Counts; 2] {
        let class = |name: &str, completed, seconds| OfClass { name: name.into(), completed, response_ns: seconds * S };
        [
            Counts {
                busy: Vec::new(),
                elapsed_s: 4.0,
                completions: 12,
                served: 10,
                waiting_s: 5.0,
                service_s: 2.5,
                busy_s: 2.0,
                ended: 16,
                denied: 4,
                abandoned: 2,
                retried: Some(8),
                may_fail: (true, true),
                sent: vec![3, 9],
                connections: Some(Connections {
                    set_up: 4,
                    set_up_ns: 2 * S,
                    given_up: 4,
                    bytes: 8000,
                    response_ns: 10 * S,
                }),
                of_class: vec![class("x", 8, 4), class("y", 4, 6)],
            },
            Counts {
                busy: Vec::new(),
                elapsed_s: 6.0,
                completions: 30,
                served: 20,
                waiting_s: 4.0,
                service_s: 8.0,
                busy_s: 1.5,
                ended: 40,
                denied: 20,
                abandoned: 8,
                retried: Some(4),
                may_fail: (true, true),
                sent: vec![10, 15],
                connections: Some(Connections {
                    set_up: 10,
                    set_up_ns: 3 * S,
                    given_up: 6,
                    bytes: 9000,
                    response_ns: 12 * S,
                }),
                of_class: vec![class("x", 16, 2), class("y", 14, 7)],
            },
        ]
    }

    /// All of a run is the sum of its parts, and without the first of them it is the other.
    #[test]
    fn parts_make_the_whole() {
        let [first, second] = two();
        let whole = Counts::sum([&first, &second]);
        assert_eq!(format!("{:?}", whole.since(&first)), format!("{second:?}"));
        assert_eq!((whole.elapsed_s, whole.busy_s, whole.waiting_s, whole.service_s), (10.0, 3.5, 9.0, 10.5));
        assert_eq!((whole.completions, whole.served), (42, 30));
        assert_eq!((whole.ended, whole.denied, whole.abandoned, whole.sent), (56, 24, 10, vec![13, 24]));
    }

    #[test]
    fn each_metric_by_hand() {
        let parts = two();
        let wanted: [(&str, &str, u64, [f64; 3]); 17] = [
            ("response_time_mean_x", "s", 24, [6.0 / 24.0, 4.0 / 8.0, 2.0 / 16.0]),
            ("response_time_mean_y", "s", 18, [13.0 / 18.0, 6.0 / 4.0, 7.0 / 14.0]),
            ("waiting_time_mean", "s", 30, [9.0 / 30.0, 5.0 / 10.0, 4.0 / 20.0]),
            ("service_time_mean", "s", 30, [10.5 / 30.0, 2.5 / 10.0, 8.0 / 20.0]),
            ("throughput", "1/s", 42, [42.0 / 10.0, 12.0 / 4.0, 30.0 / 6.0]),
            ("utilization", "1", 42, [3.5 / 10.0, 2.0 / 4.0, 1.5 / 6.0]),
            ("error_ratio", "1", 56, [24.0 / 56.0, 4.0 / 16.0, 20.0 / 40.0]),
            ("abandoned_ratio", "1", 56, [10.0 / 56.0, 2.0 / 16.0, 8.0 / 40.0]),
            ("attempts_ratio", "1", 56, [68.0 / 56.0, 24.0 / 16.0, 44.0 / 40.0]),
            ("connect_time_mean", "s", 14, [5.0 / 14.0, 2.0 / 4.0, 3.0 / 10.0]),
            ("connection_rate", "1/s", 14, [14.0 / 10.0, 4.0 / 4.0, 10.0 / 6.0]),
            ("connection_error_ratio", "1", 24, [10.0 / 24.0, 4.0 / 8.0, 6.0 / 16.0]),
            ("byte_throughput", "B/s", 42, [17_000.0 / 10.0, 8000.0 / 4.0, 9000.0 / 6.0]),
            ("littles_load_factor", "1", 42, [22.0 / 10.0, 10.0 / 4.0, 12.0 / 6.0]),
            // Eight tenths of the difference between two servers, over twice their mean.
            ("imbalance_index", "1", 37, [1.0 + 0.8 * 11.0 / 37.0, 1.0 + 0.8 * 6.0 / 12.0, 1.0 + 0.8 * 5.0 / 25.0]),
            ("share_1", "1", 37, [13.0 / 37.0, 3.0 / 12.0, 10.0 / 25.0]),
            ("share_2", "1", 37, [24.0 / 37.0, 9.0 / 12.0, 15.0 / 25.0]),
        ];
        let rows = others(&Counts::sum(&parts), &parts);
        assert_eq!(rows.len(), wanted.len());
        for (row, (metric, unit, samples, numbers)) in rows.iter().zip(wanted) {
            assert_eq!((row.metric.as_str(), row.unit, row.samples), (metric, unit, samples));
            let found = std::iter::once(row.whole).chain(row.parts.iter().copied()).map(Option::unwrap);
            for (found, by_hand) in found.zip(numbers) {
                assert!((found - by_hand).abs() < 1e-12 * by_hand, "{metric}: {found}, not {by_hand}");
            }
        }
    }

    /// Where nothing was counted, no metric has a number.
    #[test]
    fn nothing_has_no_metric() {
        let class = OfClass { name: "x".into(), completed: 0, response_ns: 0 };
        let nothing = Counts {
            sent: vec![0; 2],
            connections: Some(Connections::default()),
            retried: Some(0),
            of_class: vec![class],
            ..Counts::default()
        };
        for row in others(&nothing, &[]) {
            assert_eq!(row.whole, None, "{}", row.metric);
        }
    }

    fn times(seconds: &[u64]) -> Histogram {
        let mut times = Histogram::new();
        seconds.iter().for_each(|seconds| times.record(seconds * 1_000_000_000));
        times
    }

    /// Within the histogram's resolution.
    fn near(found: Option<f64>, by_hand: f64) -> bool {
        found.is_some_and(|found| (found / by_hand - 1.0).abs() < 0.01)
    }

    #[test]
    fn the_longest_of_the_whole_is_the_mean_of_the_parts_longest() {
        let (short, long, empty) = (times(&[1, 2]), times(&[3, 6]), times(&[]));
        let row = longest("response_time_max", &times(&[1, 2, 3, 6]), &[&short, &long, &empty]);
        assert!(near(row.whole, 4.0) && near(row.parts[0], 2.0) && near(row.parts[1], 6.0), "{:?}", row.parts);
        assert_eq!((row.parts[2], row.samples), (None, 4));
        assert_eq!(longest("response_time_max", &empty, &[&empty]).whole, None);
    }

    /// A rate of none has an upper end, as the share of none has: about 3 in all that ended.
    #[test]
    fn a_rate_of_none_has_an_upper_end() {
        let two = || [(); 2].map(|()| Counts { ended: 200, elapsed_s: 10.0, denied: 200, ..Counts::default() });
        let of = |parts: &[Counts], alike: f64| {
            let rows = others(&Counts::sum(parts), parts);
            let row = rows.iter().find(|row| row.metric == "throughput").expect("there is time");
            row.answer(0.95, alike).estimate.interval().expect("there are two parts")
        };
        let (low, high) = of(&two(), 1.0);
        // None of 400 in 20 s: 400 (1 - 0.05^(1/400)) / 20 = 0.1492 a second.
        assert!(low == 0.0 && (high - 0.1492).abs() < 1e-4, "{low} to {high}");
        let (_, bursty) = of(&two(), 40.0);
        assert!((bursty - 20.0 * 0.2589).abs() < 1e-2, "forty good ones may come together: {bursty}");
        let (_, most) = of(&two(), 1e9);
        // Two parts without any: 1 - 0.05^(1/2) of them may have had nothing but.
        assert!((most - 20.0 * 0.7764).abs() < 1e-2, "{most}");
        let good = two().map(|part| Counts { completions: 30, ..part });
        assert_eq!(of(&good, 1.0), (3.0, 3.0), "what was seen is told by how parts differ");
    }

    /// That none of 400 requests was asked for again is no proof that none is: 3 may be.
    #[test]
    fn no_retry_seen_is_not_none() {
        let two = |retried| [(); 2].map(|()| Counts { ended: 200, retried, ..Counts::default() });
        let of = |parts: &[Counts]| {
            let rows = others(&Counts::sum(parts), parts);
            let row = rows.iter().find(|row| row.metric == "attempts_ratio").map(|row| row.answer(0.95, 1.0));
            row.map(|measure| measure.estimate.interval().expect("there are two parts"))
        };
        let (low, high) = of(&two(Some(0))).expect("clients may ask again");
        assert!(low == 1.0 && (high - 1.007_462).abs() < 1e-5, "{low} to {high}");
        assert_eq!(of(&two(None)), None, "they never do");
        // Three in one part and one in the other: Student's t of two parts reaches far below 1, where no request can be.
        let few = [3, 1].map(|again| Counts { ended: 200, retried: Some(again), ..Counts::default() });
        let (low, high) = of(&few).expect("clients may ask again");
        let exact = exact_ratio(4.0, 400.0, 0.95);
        assert!(low > 1.0 && low <= 1.0 + exact.0 + 1e-12 && high >= 1.0 + exact.1, "{low} to {high}");
    }

    /// Two parts with an event each, or none, or with the same median, do not make a number exact.
    #[test]
    fn parts_that_agree_by_chance_are_not_exact() {
        let two =
            |denied: u64| [(); 2].map(|()| Counts { ended: 200, denied, may_fail: (true, false), ..Counts::default() });
        let error = |parts: &[Counts]| {
            let rows = others(&Counts::sum(parts), parts);
            let row = rows.iter().find(|row| row.metric == "error_ratio").expect("requests have ended");
            row.answer(0.95, 1.0).estimate.interval().expect("there are two parts")
        };
        let (none, one) = (error(&two(0)), error(&two(1)));
        assert!(none.0 == 0.0 && none.1 > 0.0074 && one.0 < 0.001 && one.1 > 0.017, "{none:?}, {one:?}");
        let never = two(0).map(|part| Counts { may_fail: (false, false), ..part });
        assert_eq!(error(&never), (0.0, 0.0), "it cannot happen");
        let part = Arc::new(times(&[&[3][..], &[2; 49]].concat()));
        let row = quantile("response_time_p50", &part, &[&part, &part], 0.5);
        let Some((low, high)) = row.answer(0.95, 1.0).estimate.interval() else { panic!("25 lie beyond it") };
        assert!(low <= 2.0 && 2.0 < high && high < 2.02, "{low} to {high}");
    }

    #[test]
    fn quantiles_and_the_distribution_are_in_seconds() {
        let part = Arc::new(times(&[2; 10]));
        let row = quantile("response_time_p50", &part, &[&part], 0.5);
        assert!(near(row.whole, 2.0) && near(row.parts[0], 2.0), "{:?}, {:?}", row.whole, row.parts);
        let points = cdf(&times(&[2, 2, 2, 8]));
        let (last, before) = (points[points.len() - 1], points[points.len() - 2]);
        assert!(near(Some(before.0), 2.0) && near(Some(before.1), 0.75), "{points:?}");
        assert!(near(Some(last.0), 8.0) && near(Some(last.1), 1.0), "{points:?}");
    }
}
