//! From the counts of replications to rows of metrics, in the names of [`sojourn_model::network`].

use std::sync::Arc;

use sojourn_stats::{Histogram, Time};

use super::layout::{Branching, Chain, Layout, StationKind};
use super::tally::{Spent, Tally};
use crate::study::merged;
use crate::summary::{self, QUANTILES, Row, Rows, per};

/// What one replication counted, beside its response times.
pub(super) struct Counts {
    elapsed_s: f64,
    chains: Vec<ChainCounts>,
    stations: Vec<StationCounts>,
}

#[derive(Clone, Default)]
struct ChainCounts {
    completions: u64,
    came: u64,
    first_branch: u64,
    /// Number and sum (s) of the response times by branch.
    branches: Vec<(u64, f64)>,
    /// The same by class of sizes.
    sizes: Vec<(u64, f64)>,
}

#[derive(Clone, Copy, Default)]
struct StationCounts {
    /// Work done over the most that could be, times the length of the part (s).
    done_s: f64,
    /// Integral of the number there (s).
    inside_s: f64,
    visits: u64,
    spent_s: f64,
}

impl Counts {
    /// Of a tally whose window ends at `end`, where the stations have spent `after`.
    pub(super) fn new(layout: &Layout, tally: &Tally, end: Time, after: &[Spent]) -> Counts {
        let seconds = |of: &[(u64, u128)]| of.iter().map(|(count, ns)| (*count, *ns as f64 * 1e-9)).collect();
        let chains = tally.chains.iter().map(|chain| ChainCounts {
            completions: chain.completions,
            came: chain.came,
            first_branch: chain.first_branch,
            branches: seconds(&chain.branches),
            sizes: seconds(&chain.sizes),
        });
        let spent = after.iter().zip(&tally.before).zip(&tally.stations).zip(&layout.stations);
        let stations = spent.map(|(((after, before), visits), station)| StationCounts {
            done_s: (after.done - before.done).as_secs_f64() / station.capacity(),
            inside_s: (after.integral - before.integral) as f64 * 1e-9,
            visits: visits.visits,
            spent_s: visits.spent_ns as f64 * 1e-9,
        });
        Counts {
            elapsed_s: end.saturating_since(tally.since).as_secs_f64(),
            chains: chains.collect(),
            stations: stations.collect(),
        }
    }

    /// All parts together; of no part, nothing.
    fn sum(parts: &[Counts], layout: &Layout) -> Counts {
        let mut whole = Counts {
            elapsed_s: 0.0,
            chains: layout.chains.iter().map(ChainCounts::empty).collect(),
            stations: vec![StationCounts::default(); layout.stations.len()],
        };
        for part in parts {
            whole.elapsed_s += part.elapsed_s;
            for (all, some) in whole.chains.iter_mut().zip(&part.chains) {
                all.completions += some.completions;
                all.came += some.came;
                all.first_branch += some.first_branch;
                let all_sums = all.branches.iter_mut().chain(&mut all.sizes);
                for (all, some) in all_sums.zip(some.branches.iter().chain(&some.sizes)) {
                    *all = (all.0 + some.0, all.1 + some.1);
                }
            }
            for (all, some) in whole.stations.iter_mut().zip(&part.stations) {
                all.done_s += some.done_s;
                all.inside_s += some.inside_s;
                all.visits += some.visits;
                all.spent_s += some.spent_s;
            }
        }
        whole
    }
}

impl ChainCounts {
    fn empty(chain: &Chain) -> ChainCounts {
        let (branches, sizes) = (vec![(0, 0.0); chain.branches.len()], vec![(0, 0.0); chain.size_classes()]);
        ChainCounts { branches, sizes, ..ChainCounts::default() }
    }
}

/// The response times of all chains in `tallies`.
pub(super) fn responses(tallies: &[&Tally]) -> Histogram {
    let chains = tallies.iter().flat_map(|tally| &tally.chains);
    merged(&chains.map(|chain| &chain.response).collect::<Vec<_>>())
}

/// Every metric of replications of `layout`, each with its tally and its counts.
pub(super) fn rows(layout: &Layout, tallies: &[&Tally], parts: &[Counts]) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut times = |suffix: &str, parts: &[&Histogram]| {
        let whole = Arc::new(merged(parts));
        rows.push(summary::mean(&format!("response_time_mean{suffix}"), &whole, parts));
        let quantiles = QUANTILES.iter();
        rows.extend(quantiles.map(|(metric, p)| summary::quantile(&format!("{metric}{suffix}"), &whole, parts, *p)));
    };
    let all: Vec<Histogram> = tallies.iter().map(|tally| responses(&[tally])).collect();
    times("", &all.iter().collect::<Vec<_>>());
    for (number, chain) in layout.chains.iter().enumerate() {
        let parts: Vec<&Histogram> = tallies.iter().map(|tally| &tally.chains[number].response).collect();
        times(&format!("_{}", chain.name), &parts);
    }
    rows.extend(others(layout, &Counts::sum(parts, layout), parts));
    rows
}

fn others(layout: &Layout, whole: &Counts, parts: &[Counts]) -> Vec<Row> {
    let mut rows = Rows::new(whole, parts);
    let rate = |count: u64, part: &Counts| (part.elapsed_s > 0.0).then(|| count as f64 / part.elapsed_s);
    let completions = |part: &Counts| part.chains.iter().map(|chain| chain.completions).sum::<u64>();
    rows.add("throughput", "1/s", completions(whole), |part| rate(completions(part), part));
    for (number, chain) in layout.chains.iter().enumerate() {
        let (name, totals) = (&chain.name, &whole.chains[number]);
        rows.add(format!("throughput_{name}"), "1/s", totals.completions, |part| {
            rate(part.chains[number].completions, part)
        });
        if matches!(chain.choice, Branching::Cache(_)) {
            let hits = |part: &Counts| (part.chains[number].first_branch, part.chains[number].came);
            rows.share(format!("hit_ratio_{name}"), hits);
        }
        let mut of_kind = |kind: &str, index: usize, of: &dyn Fn(&ChainCounts) -> &[(u64, f64)]| {
            let of = |part: &Counts| -> (u64, f64, u64) {
                let parts = of(&part.chains[number]);
                (parts[index].0, parts[index].1, parts.iter().map(|(count, _)| count).sum())
            };
            let (taken, ..) = of(whole);
            rows.share(format!("share_{name}_{kind}"), |part| {
                let (count, _, ended) = of(part);
                (count, ended)
            });
            rows.add(format!("response_time_mean_{name}_{kind}"), "s", taken, |part| {
                let (count, sum_s, _) = of(part);
                per(sum_s, count)
            });
        };
        if chain.branches.len() > 1 {
            for (index, branch) in chain.branch_names.iter().enumerate() {
                of_kind(branch, index, &|part| part.branches.as_slice());
            }
        }
        for index in 0..chain.size_classes() {
            of_kind(&format!("size_{}", index + 1), index, &|part| part.sizes.as_slice());
        }
    }
    for (number, station) in layout.stations.iter().enumerate() {
        let name = &station.name;
        let visits = whole.stations[number].visits;
        let per_time = |sum_s: f64, part: &Counts| (part.elapsed_s > 0.0).then(|| sum_s / part.elapsed_s);
        if !matches!(station.kind, StationKind::Delay) {
            rows.add(format!("utilization_{name}"), "1", visits, |part| per_time(part.stations[number].done_s, part));
        }
        rows.add(format!("queue_length_mean_{name}"), "1", visits, |part| {
            per_time(part.stations[number].inside_s, part)
        });
        rows.add(format!("throughput_{name}"), "1/s", visits, |part| rate(part.stations[number].visits, part));
        rows.add(format!("response_time_mean_{name}"), "s", visits, |part| {
            per(part.stations[number].spent_s, part.stations[number].visits)
        });
    }
    rows.rows
}
