//! From the counts of parts (replications, or sections of one) to rows of metrics.

use super::tally::{Counts, ServerCounts};
use crate::summary::{MOST_SHARES, Row, Rows, per};

/// Sums over one part of a run: a replication, or a section of one.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    pub(super) elapsed_s: f64,
    pub(super) counts: Counts,
    /// Time (ns) that a server had so many connections open, and so many users attached.
    pub(super) open: Vec<u64>,
    pub(super) attached: Vec<u64>,
    /// Time that a core was busy, mean over all cores of a station and over the stations; none without stations.
    pub(super) busy_s: Option<f64>,
}

/// What the quantiles of response times are called, after their prefix.
pub(super) const QUANTILES: [(&str, &str, f64); 6] = [
    ("response_time_", "p50", 0.5),
    ("response_time_", "p90", 0.9),
    ("response_time_", "p95", 0.95),
    ("response_time_", "p99", 0.99),
    ("page_response_time_", "p90", 0.9),
    ("file_response_time_", "p90", 0.9),
];

impl Sums {
    /// All parts together.
    pub(super) fn sum(parts: &[Sums]) -> Sums {
        let mut whole = Sums::default();
        for part in parts {
            whole.elapsed_s += part.elapsed_s;
            whole.counts.add(&part.counts);
            add(&mut whole.open, &part.open);
            add(&mut whole.attached, &part.attached);
            whole.busy_s = part.busy_s.map(|busy_s| busy_s + whole.busy_s.unwrap_or(0.0));
        }
        whole
    }

    /// What was counted after `before` was.
    pub(super) fn since(&self, before: &Sums) -> Sums {
        let less = |now: &[u64], then: &[u64]| {
            now.iter().enumerate().map(|(at, ns)| ns - then.get(at).copied().unwrap_or(0)).collect()
        };
        Sums {
            elapsed_s: self.elapsed_s - before.elapsed_s,
            counts: self.counts.since(&before.counts),
            open: less(&self.open, &before.open),
            attached: less(&self.attached, &before.attached),
            busy_s: self.busy_s.zip(before.busy_s).map(|(now, then)| now - then),
        }
    }
}

/// Every metric but the response times of all servers.
pub(super) fn others(whole: &Sums, parts: &[Sums]) -> Vec<Row> {
    let mut rows = Rows::new(whole, parts);
    let Counts { objects, files, .. } = whole.counts;
    let per_second = |count: u64, part: &Sums| (part.elapsed_s > 0.0).then(|| count as f64 / part.elapsed_s);
    rows.add("throughput", "1/s", objects, |part| per_second(part.counts.objects, part));
    rows.add("file_throughput", "1/s", files, |part| per_second(part.counts.files, part));
    rows.add("byte_throughput", "B/s", files, |part| per_second(part.counts.bytes, part));
    rows.share("denied_ratio", |part| (part.counts.denied, part.counts.ended));
    rows.slow_share("abandoned_ratio", |part| (part.counts.abandoned, part.counts.ended));
    for (shown, prefix) in ["quality_", "quality_incremental_"].iter().enumerate() {
        for (level, name) in ["high", "average", "low"].iter().enumerate() {
            let share = |part: &Sums| (part.counts.quality[shown][level], part.counts.responses[0].0);
            rows.slow_share(format!("{prefix}{name}"), share);
        }
    }
    type Spent = fn(&Sums) -> &[u64];
    let loads: [(&str, &str, Spent); 2] = [
        ("connections_", "imbalance_index", |part| &part.open),
        ("attached_", "attached_imbalance_index", |part| &part.attached),
    ];
    for (prefix, index, spent) in loads {
        rows.add(format!("{prefix}mean"), "1", objects, |part| mean(spent(part)));
        rows.add(format!("{prefix}p10"), "1", objects, |part| quantile(spent(part), 0.1));
        rows.add(format!("{prefix}p90"), "1", objects, |part| quantile(spent(part), 0.9));
        rows.add(index, "1", objects, |part| {
            let (low, high) = quantile(spent(part), 0.1).zip(quantile(spent(part), 0.9))?;
            mean(spent(part)).filter(|mean| *mean > 0.0).map(|mean| 1.0 + (high - low) / (2.0 * mean))
        });
    }
    if whole.busy_s.is_some() {
        let utilization =
            |part: &Sums| part.busy_s.filter(|_| part.elapsed_s > 0.0).map(|busy_s| busy_s / part.elapsed_s);
        rows.add("utilization", "1", files, utilization);
    }
    let servers = whole.counts.servers.len();
    if (2..=MOST_SHARES).contains(&servers) {
        for server in 0..servers {
            let there = |part: &Sums| part.counts.servers.get(server).copied().unwrap_or_default();
            let number = server + 1;
            rows.add(format!("share_{number}"), "1", objects, |part| ratio(there(part).objects, part.counts.objects));
            rows.add(format!("byte_share_{number}"), "1", files, |part| ratio(there(part).bytes, part.counts.bytes));
            let ServerCounts { responses: (samples, _), .. } = there(whole);
            rows.add(format!("response_time_mean_{number}"), "s", samples, |part| mean_s(there(part).responses));
        }
    }
    rows.rows
}

/// Mean response time (s) of a number and a sum (ns).
pub(super) fn mean_s((count, sum): (u64, u128)) -> Option<f64> {
    per(sum as f64 * 1e-9, count)
}

/// Numbers and the share of the time at each, where there was any.
pub(super) fn shares(spent: &[u64]) -> Vec<(u32, f64)> {
    let all: u64 = spent.iter().sum();
    let filled = spent.iter().enumerate().filter(|(_, ns)| **ns > 0);
    filled.map(|(number, ns)| (number as u32, *ns as f64 / all as f64)).collect()
}

fn mean(spent: &[u64]) -> Option<f64> {
    let all: u64 = spent.iter().sum();
    let weighted: f64 = spent.iter().enumerate().map(|(number, ns)| number as f64 * *ns as f64).sum();
    (all > 0).then(|| weighted / all as f64)
}

/// The least number that was not exceeded for a share `p` of the time.
fn quantile(spent: &[u64], p: f64) -> Option<f64> {
    let all: u64 = spent.iter().sum();
    let needed = (p * all as f64).ceil() as u64;
    let mut seen = 0;
    let at = spent.iter().position(|ns| {
        seen += ns;
        seen >= needed.max(1)
    });
    at.map(|number| number as f64)
}

fn ratio(some: u64, all: u64) -> Option<f64> {
    per(some as f64, all)
}

fn add(ours: &mut Vec<u64>, theirs: &[u64]) {
    ours.resize(ours.len().max(theirs.len()), 0);
    ours.iter_mut().zip(theirs).for_each(|(all, some)| *all += some);
}
