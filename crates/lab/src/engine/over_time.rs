//! Where requests went over time, in a system in which something breaks: how many per second each site got, and how many failed.
//!
//! A request belongs to the interval in which it was planned, in sim and in live. Intervals are whole seconds, at most some two
//! hundred of them. The price: with replications it is their mean, which is smoother than one run.

use sojourn_model::System;
use sojourn_model::system::server_name;
use sojourn_stats::Span;

use crate::answer::{FAILED, Flow};

/// About so many intervals are enough for a drawing.
const INTERVALS: u64 = 200;

const SECOND: u64 = 1_000_000_000;

/// The length of an interval in a run of so long; none where nothing breaks.
pub(super) fn interval(system: &System, duration: Option<Span>) -> Option<Span> {
    let duration = duration.filter(|_| !system.faults.is_empty())?;
    Some(Span(duration.0.div_ceil(INTERVALS * SECOND).max(1) * SECOND))
}

/// Requests per second by site, of those of each server and of those that failed.
pub(super) fn by_site(system: &System, every: Span, servers: &[Vec<f64>], failed: &[f64]) -> Vec<Flow> {
    let mut flows: Vec<Flow> = Vec::new();
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
