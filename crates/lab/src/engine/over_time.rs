//! Outcomes over time, in a system in which something breaks or clients wait only so long; and where requests went meanwhile: how
//! many per second each site got, and how many failed.
//!
//! Outcomes belong to the interval in which they happened. Where requests went is told by the interval in which they were
//! planned, in sim and in live. Intervals are whole seconds, at most some two hundred of them. The price: with replications it
//! is their mean, which is smoother than one run.

use sojourn_model::System;
use sojourn_model::system::server_name;
use sojourn_sim::Column;
use sojourn_stats::{Estimate, Measure, Span};

use crate::answer::{FAILED, Flow, MetricOverTime};
use crate::report::number::significant;

/// What is said of the end of a run is of so many intervals.
const LAST: usize = 10;

/// About so many intervals are enough for a drawing.
const INTERVALS: u64 = 200;

const SECOND: u64 = 1_000_000_000;

/// The length of an interval in a run of so long; none where nothing breaks, and clients wait for as long as it takes.
pub(super) fn interval(system: &System, duration: Option<Span>) -> Option<Span> {
    let rules = &system.rules;
    let gives_up = rules.timeout.is_some() || rules.deadline.is_some() || rules.retries.is_some();
    let duration = duration.filter(|_| !system.faults.is_empty() || gives_up)?;
    Some(Span(duration.0.div_ceil(INTERVALS * SECOND).max(1) * SECOND))
}

/// Requests per second by site, of those of each server and of those that failed; none where nothing breaks.
pub(super) fn by_site(system: &System, every: Span, servers: &[Vec<f64>], failed: &[f64]) -> Vec<Flow> {
    let mut flows: Vec<Flow> = Vec::new();
    if system.faults.is_empty() {
        return flows;
    }
    let points = |values: &[f64]| {
        let at = |number: usize| number as f64 * every.as_secs_f64();
        values.iter().enumerate().map(|(number, value)| (at(number), *value)).collect()
    };
    for (index, values) in servers.iter().enumerate() {
        let site = system.hosts[index].site;
        let name = site.map_or_else(|| server_name(index), |site| system.sites[site].name.clone());
        match flows.iter_mut().find(|flow| flow.to == name) {
            Some(flow) => flow.points.iter_mut().zip(values).for_each(|((_, sum), value)| *sum += value),
            None => flows.push(Flow { to: name, points: points(values) }),
        }
    }
    flows.push(Flow { to: FAILED.into(), points: points(failed) });
    flows
}

/// Outcomes over time, as an answer has them.
pub(super) fn outcomes(every: Span, columns: Vec<Column>) -> Vec<MetricOverTime> {
    let of = |column: Column| {
        let at = |(number, estimate): (usize, Estimate)| (number as f64 * every.as_secs_f64(), estimate);
        let points = column.values.into_iter().enumerate().map(at).collect();
        MetricOverTime { metric: column.metric, unit: column.unit, points }
    };
    columns.into_iter().map(of).collect()
}

/// What came after the last fault had ended, in words, from outcomes over time and the recovery time; none where that says
/// nothing.
pub(super) fn aftermath(system: &System, over_time: &[MetricOverTime], measures: &[Measure]) -> Option<String> {
    let recovery = &measures.iter().find(|measure| measure.metric == "recovery_time")?.estimate;
    let ended_s = system.faults.iter().filter_map(|fault| fault.until.or(Some(fault.at))).max()?.as_secs_f64();
    if let Some(value) = recovery.value() {
        return Some(match value < 0.5 {
            true => "as soon as the last fault had ended, all was as before it".into(),
            false => format!("it recovered {} s after the last fault had ended", significant(value)),
        });
    }
    let failed = over_time.iter().find(|of| of.metric == "failed")?;
    let goodput = over_time.iter().find(|of| of.metric == "goodput")?;
    let last = |of: &MetricOverTime| {
        let values = of.points.iter().rev().take(LAST).filter_map(|(_, estimate)| estimate.value());
        values.fold(None, |ends: Option<(f64, f64)>, value| {
            Some(ends.map_or((value, value), |(low, high)| (low.min(value), high.max(value))))
        })
    };
    let every_s = failed.points.get(1).map_or(1.0, |(at, _)| *at);
    let after_s = failed.points.last()?.0 + every_s - ended_s;
    let rate = |(low, high): (f64, f64)| match (significant(low), significant(high)) {
        (low, high) if low == high => low,
        (low, high) => format!("{low} to {high}"),
    };
    let still = match (last(failed)?, last(goodput)?) {
        (failed, _) if failed.1 > 0.0 => format!("{} requests a second still failed", rate(failed)),
        (_, good) => format!("{} good replies a second came", rate(good)),
    };
    let some = match recovery.samples() {
        Some(recovered) if recovered > 0 => format!(" in every replication ({recovered} did)"),
        _ => String::new(),
    };
    Some(format!("it did not recover{some}: {after_s:.0} s after the last fault had ended, {still}"))
}
