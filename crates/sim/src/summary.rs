//! From the counts of parts (replications of a run, or sections of one) to numbers with intervals.

use sojourn_stats::measure::{NoInterval, quantile_stands};
use sojourn_stats::{Estimate, Histogram, Measure, interval};

use crate::requests::connections::Connections;
use crate::requests::of_class::OfClass;

/// A metric of the whole, and of each part.
pub(crate) struct Row {
    pub(crate) metric: String,
    pub(crate) unit: &'static str,
    pub(crate) whole: Option<f64>,
    pub(crate) parts: Vec<Option<f64>>,
    /// Samples behind the whole.
    pub(crate) samples: u64,
    /// There is no interval unless every part has a value; else parts without one are left out.
    pub(crate) needs_every_part: bool,
}

impl Row {
    /// The metric with its interval.
    pub(crate) fn measure(&self, confidence: f64) -> Measure {
        let estimate = if self.needs_every_part && self.parts.contains(&None) {
            Estimate::without_interval(self.whole, self.samples, NoInterval::TooFew)
        } else {
            of_parts(self.whole, &self.parts, self.samples, confidence)
        };
        Measure::new(self.metric.as_str(), self.unit, estimate)
    }
}

/// The metrics with their intervals.
pub(crate) fn measures(rows: &[Row], confidence: f64) -> Vec<Measure> {
    rows.iter().map(|row| row.measure(confidence)).collect()
}

/// The metrics' values in each part.
pub(crate) fn values(rows: Vec<Row>) -> Vec<(String, Vec<Option<f64>>)> {
    rows.into_iter().map(|row| (row.metric, row.parts)).collect()
}

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

/// What one part of a run counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) elapsed_s: f64,
    pub(crate) completions: u64,
    pub(crate) served: u64,
    pub(crate) waiting_s: f64,
    pub(crate) service_s: f64,
    /// Time that a core was busy, mean over all cores of a server and over the servers.
    pub(crate) busy_s: f64,
    /// Requests that ended, and how.
    pub(crate) ended: u64,
    pub(crate) denied: u64,
    pub(crate) abandoned: u64,
    /// Requests sent to each server.
    pub(crate) sent: Vec<u64>,
    /// Of connections, where they are set up.
    pub(crate) connections: Option<Connections>,
    /// Of each class, where there are several.
    pub(crate) of_class: Vec<OfClass>,
}

/// The number of the whole with the interval that its values in independent parts imply: Student's t on their spread
/// around the whole (sectioning; Nakayama, ACM TOMACS 24(4), 2014). Parts without a value are left out.
pub(crate) fn of_parts(whole: Option<f64>, parts: &[Option<f64>], samples: u64, confidence: f64) -> Estimate {
    let values: Vec<f64> = parts.iter().flatten().copied().filter(|value| value.is_finite()).collect();
    let count = values.len() as u64;
    let whole = whole.filter(|value| value.is_finite());
    let squares: f64 = values.iter().map(|value| (value - whole.unwrap_or(0.0)).powi(2)).sum();
    let variance = squares / (count.max(2) - 1) as f64;
    match (whole, interval::mean_half_width(count, variance, confidence)) {
        (Some(value), Some(half)) => Estimate::Sampled { value, ci_low: value - half, ci_high: value + half, samples },
        (value, _) => Estimate::without_interval(value, samples, NoInterval::TooFew),
    }
}

/// The mean of all response times (s).
pub(crate) fn mean(metric: &str, whole: &Histogram, parts: &[&Histogram]) -> Row {
    let seconds = |histogram: &Histogram| histogram.mean().map(|ns| ns * 1e-9);
    let parts = parts.iter().map(|part| seconds(part)).collect();
    let samples = whole.count();
    Row { metric: metric.into(), unit: "s", whole: seconds(whole), parts, samples, needs_every_part: false }
}

/// The longest response time (s) of a part, mean over the parts: that of the whole grows with their number.
pub(crate) fn longest(metric: &str, whole: &Histogram, parts: &[&Histogram]) -> Row {
    let parts: Vec<Option<f64>> = parts.iter().map(|part| part.max().map(|ns| ns as f64 * 1e-9)).collect();
    let known: Vec<f64> = parts.iter().flatten().copied().collect();
    let mean = (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64);
    let samples = whole.count();
    Row { metric: metric.into(), unit: "s", whole: mean, parts, samples, needs_every_part: false }
}

/// The `p` quantile (s) of all response times; with an interval only if every part has enough of them.
pub(crate) fn quantile(metric: &str, whole: &Histogram, parts: &[&Histogram], p: f64) -> Row {
    let enough = |part: &Histogram| part.count() as f64 * (1.0 - p) * (1.0 + 1e-12) >= BEYOND;
    let seconds = |histogram: &Histogram| histogram.quantile(p).map(|ns| ns as f64 * 1e-9);
    let parts = parts.iter().map(|part| if enough(part) { seconds(part) } else { None }).collect();
    let samples = whole.count();
    let whole = if quantile_stands(samples, p) { seconds(whole) } else { None };
    Row { metric: metric.into(), unit: "s", whole, parts, samples, needs_every_part: true }
}

/// Every metric but the response times.
pub(crate) fn others(whole: &Counts, parts: &[Counts]) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut add = |metric: &str, unit: &'static str, samples: u64, of: &dyn Fn(&Counts) -> Option<f64>| {
        let parts = parts.iter().map(of).collect();
        rows.push(Row { metric: metric.into(), unit, whole: of(whole), parts, samples, needs_every_part: false });
    };
    let per = |sum: f64, count: u64| (count > 0).then(|| sum / count as f64);
    for (class, OfClass { name, completed, .. }) in whole.of_class.iter().enumerate() {
        add(&format!("response_time_mean_{name}"), "s", *completed, &|part| {
            per(part.of_class[class].response_ns as f64 * 1e-9, part.of_class[class].completed)
        });
    }
    add("waiting_time_mean", "s", whole.served, &|part| per(part.waiting_s, part.served));
    add("service_time_mean", "s", whole.served, &|part| per(part.service_s, part.served));
    add("throughput", "1/s", whole.completions, &|part| {
        (part.elapsed_s > 0.0).then(|| part.completions as f64 / part.elapsed_s)
    });
    add("utilization", "1", whole.completions, &|part| (part.elapsed_s > 0.0).then(|| part.busy_s / part.elapsed_s));
    add("error_ratio", "1", whole.ended, &|part| per(part.denied as f64, part.ended));
    add("abandoned_ratio", "1", whole.ended, &|part| per(part.abandoned as f64, part.ended));
    if whole.connections.is_some() {
        let of = |part: &Counts| part.connections.unwrap_or_default();
        let connections = of(whole);
        let tried = connections.set_up + connections.given_up;
        let per_second = |part: &Counts, sum: f64| (part.elapsed_s > 0.0).then(|| sum / part.elapsed_s);
        add("connect_time_mean", "s", connections.set_up, &|part| {
            per(of(part).set_up_ns as f64 * 1e-9, of(part).set_up)
        });
        add("connection_rate", "1/s", connections.set_up, &|part| per_second(part, of(part).set_up as f64));
        add("connection_error_ratio", "1", tried, &|part| {
            per(of(part).given_up as f64, of(part).set_up + of(part).given_up)
        });
        add("byte_throughput", "B/s", whole.completions, &|part| per_second(part, of(part).bytes as f64));
        add("littles_load_factor", "1", whole.completions, &|part| {
            per_second(part, of(part).response_ns as f64 * 1e-9)
        });
    }
    let servers = whole.sent.len();
    if servers > 1 {
        let sent: u64 = whole.sent.iter().sum();
        add("imbalance_index", "1", sent, &|part| imbalance(&part.sent));
        if servers <= MOST_SHARES {
            for server in 0..servers {
                let share = |part: &Counts| per(part.sent[server] as f64, part.sent.iter().sum());
                add(&format!("share_{}", server + 1), "1", sent, &share);
            }
        }
    }
    rows
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

impl Counts {
    /// All parts together.
    pub(crate) fn sum<'a>(parts: impl IntoIterator<Item = &'a Counts>) -> Counts {
        let mut whole = Counts::default();
        for part in parts {
            whole.elapsed_s += part.elapsed_s;
            whole.completions += part.completions;
            whole.served += part.served;
            whole.waiting_s += part.waiting_s;
            whole.service_s += part.service_s;
            whole.busy_s += part.busy_s;
            whole.ended += part.ended;
            whole.denied += part.denied;
            whole.abandoned += part.abandoned;
            whole.connections = part.connections.map(|part| whole.connections.unwrap_or_default() + part);
            whole.of_class = match whole.of_class.is_empty() {
                true => part.of_class.clone(),
                false => whole.of_class.iter().zip(&part.of_class).map(|(all, some)| all.and(some)).collect(),
            };
            whole.sent.resize(part.sent.len(), 0);
            whole.sent.iter_mut().zip(&part.sent).for_each(|(all, some)| *all += some);
        }
        whole
    }

    /// What was counted after `before` was.
    pub(crate) fn since(&self, before: &Counts) -> Counts {
        Counts {
            elapsed_s: self.elapsed_s - before.elapsed_s,
            busy_s: self.busy_s - before.busy_s,
            completions: self.completions - before.completions,
            served: self.served - before.served,
            waiting_s: self.waiting_s - before.waiting_s,
            service_s: self.service_s - before.service_s,
            ended: self.ended - before.ended,
            denied: self.denied - before.denied,
            abandoned: self.abandoned - before.abandoned,
            sent: self.sent.iter().zip(&before.sent).map(|(now, then)| now - then).collect(),
            connections: self.connections.map(|now| now - before.connections.unwrap_or_default()),
            of_class: self.of_class.iter().zip(&before.of_class).map(|(now, then)| now.since(then)).collect(),
        }
    }
}
