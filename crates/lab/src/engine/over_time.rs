//! Outcomes over time, in a system in which something breaks or clients wait only so long; and where requests went meanwhile: how
//! many per second each site got, and how many failed.
//!
//! Outcomes belong to the interval in which they happened. Where requests went is told by the interval in which they were
//! planned, in sim and in live. Intervals are whole seconds, at most some two hundred of them. The price: with replications it
//! is their mean, which is smoother than one run.

use sojourn_model::System;
use sojourn_model::system::server_name;
use sojourn_sim::{CALM, Column, FAILING, Recovery, USUAL};
use sojourn_stats::{Estimate, Measure, Span};

use crate::answer::{FAILED, Flow, MetricOverTime};
use crate::objective::RECOVERY;
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

/// How long after the last fault had ended (s) outcomes over time end, and how long all must be as before (s) to show a recovery;
/// none without faults that end, or without such outcomes.
pub(crate) fn seen_after(system: &System, over_time: &[MetricOverTime]) -> Option<(f64, f64)> {
    let (every_s, end_s) = ends(over_time.iter().find(|of| of.metric == "failed")?)?;
    Some((end_s - last_end(system)?, CALM as f64 * every_s))
}

/// When the last fault ends (s).
fn last_end(system: &System) -> Option<f64> {
    Some(system.faults.iter().filter_map(|fault| fault.until.or(Some(fault.at))).max()?.as_secs_f64())
}

/// What came after the last fault had ended, in words, from outcomes over time, the recovery time, and how each replication
/// recovered; none where that says nothing.
pub(super) fn aftermath(
    system: &System,
    over_time: &[MetricOverTime],
    measures: &[Measure],
    recoveries: &[Recovery],
) -> Option<String> {
    let ended_s = last_end(system)?;
    let Some(recovery) = measures.iter().find(|measure| measure.metric == RECOVERY) else {
        return untold(system, over_time, measures, recoveries);
    };
    let recovery = &recovery.estimate;
    if let Some(mean_s) = recovery.value() {
        let after_s = |of: &Recovery| match of {
            Recovery::After(seconds) => Some(*seconds),
            _ => None,
        };
        return Some(recovered(mean_s, &recoveries.iter().filter_map(after_s).collect::<Vec<f64>>()));
    }
    let failed = over_time.iter().find(|of| of.metric == "failed")?;
    let goodput = over_time.iter().find(|of| of.metric == "goodput")?;
    let (every_s, end_s) = ends(failed)?;
    let after_s = end_s - ended_s;
    // What is after the fault alone.
    let last = |of: &MetricOverTime| -> Vec<f64> {
        let after = of.points.iter().rev().take_while(|(at, _)| *at >= ended_s);
        after.take(LAST).filter_map(|(_, estimate)| estimate.value()).collect()
    };
    // All was as before at the end, or nothing failed any more, and the run ended too soon to see how that goes on.
    let is_calm = !recoveries.contains(&Recovery::Never);
    if is_calm || after_s < 2.0 * CALM as f64 * every_s && last(failed).first() == Some(&0.0) {
        return Some(format!(
            "whether it recovered could not be seen: {}",
            ended_early(after_s, CALM as f64 * every_s)
        ));
    }
    let tell = |values: &[f64], what: &str| {
        let mean = significant(values.iter().sum::<f64>() / values.len() as f64);
        match values.iter().all(|value| significant(*value) == mean) {
            true => format!("{mean} {what}"),
            false => format!("{mean} {what}, on average over the last {:.0} s", every_s * values.len() as f64),
        }
    };
    let still = match (last(failed), last(goodput)) {
        (failed, _) if failed.iter().any(|of| *of > 0.0) => tell(&failed, "requests a second still failed"),
        (_, good) if !good.is_empty() => tell(&good, "good replies a second came"),
        _ => return None,
    };
    let who = match recovery.samples() {
        Some(recovered) if recovered > 0 => format!("only {recovered} replications recovered"),
        _ => "it did not recover".to_owned(),
    };
    Some(format!("{who}: {after_s:.0} s after the last fault had ended, {still}"))
}

/// How long a recovery took (s); of replications that differ, that it is their mean, and the longest.
fn recovered(mean_s: f64, each_s: &[f64]) -> String {
    if mean_s == 0.0 {
        return "as soon as the last fault had ended, all was as before it".into();
    }
    let (mean, longest) = (significant(mean_s), significant(each_s.iter().copied().fold(mean_s, f64::max)));
    let of_several = match each_s.len() {
        several @ 2.. if longest != mean => {
            format!(", on average over {several} replications; the longest took {longest} s")
        }
        _ => String::new(),
    };
    format!("it recovered {mean} s after the last fault had ended{of_several}")
}

/// How long an interval is and when the last one ends (s).
fn ends(of: &MetricOverTime) -> Option<(f64, f64)> {
    let every_s = of.points.get(1).map_or(1.0, |(at, _)| *at);
    Some((every_s, of.points.last()?.0 + every_s))
}

/// That a run ended too soon after the last fault, or after all was as before.
fn ended_early(after_s: f64, calm_s: f64) -> String {
    if after_s <= 0.0 {
        return "the run ended before the last fault had ended".into();
    }
    let told_s = significant(after_s);
    match after_s < calm_s {
        true => {
            format!("the run ended {told_s} s after the last fault had ended, and it takes {calm_s:.0} s as before it")
        }
        false => format!(
            "the run ended {told_s} s after the last fault had ended, before {calm_s:.0} s in a row had been as before it"
        ),
    }
}

/// Why it cannot be said how long the system took to recover, in a sentence; none where it can, or did not recover within the
/// run, and where there is no fault, or one that never ends.
pub(super) fn untold(
    system: &System,
    over_time: &[MetricOverTime],
    measures: &[Measure],
    recoveries: &[Recovery],
) -> Option<String> {
    if measures.iter().any(|measure| measure.metric == RECOVERY) {
        return None;
    }
    let first = *recoveries.iter().min_by_key(|of| rank(of))?;
    let alike: Vec<&Recovery> = recoveries.iter().filter(|of| rank(of) == rank(&first)).collect();
    let among = match (alike.len(), recoveries.len()) {
        (some, all) if some < all => format!(" in {some} of {all} replications"),
        _ => String::new(),
    };
    let (every_s, end_s) = ends(over_time.iter().find(|of| of.metric == "failed")?)?;
    let (usual_s, calm_s) = (USUAL as f64 * every_s, CALM as f64 * every_s);
    let unsaid = |why: String| Some(format!("whether it recovered cannot be said{among}: {why}"));
    match first {
        Recovery::FailingBefore { .. } => {
            let share = |of: &&Recovery| if let Recovery::FailingBefore { share } = **of { share } else { 0.0 };
            let before = alike.iter().map(share).sum::<f64>() / alike.len() as f64;
            let at_end = failing_at_end(over_time)
                .map_or(String::new(), |share| format!(", and {} % at the end of the run", significant(100.0 * share)));
            unsaid(format!(
                "before the first fault {} % of the requests failed already{at_end}; to be as before is a recovery only where no \
                 more than {:.0} % failed",
                significant(100.0 * before),
                100.0 * FAILING
            ))
        }
        Recovery::SilentBefore { spoke: 0, of } => unsaid(format!(
            "no requests ended in the {:.0} s before the first fault, so that there is nothing to compare with",
            every_s * of as f64
        )),
        Recovery::SilentBefore { spoke, of } => unsaid(format!(
            "in only {:.0} of the {:.0} s before the first fault requests ended, and what is usual is known from {usual_s:.0} s",
            every_s * spoke as f64,
            every_s * of as f64
        )),
        Recovery::LittleBefore => Some(little_before(system, every_s)),
        Recovery::SilentAfter => unsaid(format!(
            "too few requests came after the last fault had ended, and it takes {calm_s:.0} s of them, as before it"
        )),
        Recovery::EndsEarly => {
            let why = ended_early(end_s - last_end(system)?, calm_s);
            Some(format!("whether it recovered could not be seen: {why}"))
        }
        Recovery::After(_) | Recovery::Never | Recovery::NotYet => None,
    }
}

/// What is said first of replications that differ.
fn rank(recovery: &Recovery) -> u8 {
    match recovery {
        Recovery::FailingBefore { .. } => 0,
        Recovery::SilentBefore { .. } => 1,
        Recovery::LittleBefore => 2,
        Recovery::SilentAfter => 3,
        Recovery::EndsEarly => 4,
        Recovery::After(_) | Recovery::Never | Recovery::NotYet => 5,
    }
}

/// Which share (1) of the requests failed that ended in the last intervals; none where none ended.
fn failing_at_end(over_time: &[MetricOverTime]) -> Option<f64> {
    let last = |metric: &str| {
        let of = over_time.iter().find(|of| of.metric == metric)?;
        Some(of.points.iter().rev().take(LAST).filter_map(|(_, estimate)| estimate.value()).sum::<f64>())
    };
    let (failed, good) = (last("failed")?, last("goodput")?);
    (failed + good > 0.0).then(|| failed / (failed + good))
}

/// That a first fault begins too soon.
fn little_before(system: &System, every_s: f64) -> String {
    let usual_s = USUAL as f64 * every_s;
    let first_s = system.faults.iter().map(|fault| fault.at).min().unwrap_or_default().as_secs_f64();
    // Of more a part is warm-up.
    let past = if first_s < usual_s { "" } else { ", past the warm-up" };
    let shorter = match every_s > 1.0 {
        true => format!(", or make the run shorter, and so its intervals of {every_s:.0} s"),
        false => String::new(),
    };
    format!(
        "whether it recovered is not told: what is usual before the first fault is known from {usual_s:.0} s of it{past}: let it \
         begin later{shorter}"
    )
}

#[cfg(test)]
mod tests {
    use sojourn_model::Server;
    use sojourn_model::system::{Fault, Subject, Trouble};
    use sojourn_stats::Time;

    use super::*;

    /// What is said of recoveries from a fault of the 20th second, in a run of 60 s at whose end 3 requests in 4 fail.
    fn told(recoveries: &[Recovery]) -> String {
        let mut system = System::single(Server::from_toml("discipline = \"ps\"\ndemand = \"1 ms\"\n").unwrap());
        let (at, until) = (Time(20 * SECOND), Some(Time(21 * SECOND)));
        system.faults = vec![Fault { at, until, subject: Subject::Host(0), trouble: Trouble::Frozen }];
        let column = |metric: &str, rate: f64| MetricOverTime {
            metric: metric.into(),
            unit: "1/s".into(),
            points: (0..60).map(|at| (f64::from(at), Estimate::Exact { value: rate })).collect(),
        };
        let over_time = [column("goodput", 2.5), column("failed", 7.5)];
        let untold = untold(&system, &over_time, &[], recoveries);
        assert_eq!(aftermath(&system, &over_time, &[], recoveries), untold, "the note is the reason");
        let measures = [Measure::new(RECOVERY, "s", Estimate::TooFew { samples: 0 })];
        assert_eq!(super::untold(&system, &over_time, &measures, recoveries), None, "there is a row");
        untold.unwrap_or_default()
    }

    /// Each reason for which a recovery cannot be told, with its numbers, and in how many replications that is so.
    #[test]
    fn why_a_recovery_cannot_be_told_is_said() {
        let well = Recovery::After(1.0);
        let failing = |share: f64| Recovery::FailingBefore { share };
        assert_eq!(
            told(&[failing(0.99), failing(0.996), failing(0.996), failing(0.998)]),
            "whether it recovered cannot be said: before the first fault 99.5 % of the requests failed already, and 75.0 % at \
             the end of the run; to be as before is a recovery only where no more than 1 % failed"
        );
        let some = told(&[well, Recovery::SilentAfter, failing(0.5), well]);
        assert!(
            some.starts_with("whether it recovered cannot be said in 1 of 4 replications: before the first"),
            "{some}"
        );
        let silent = |spoke: usize| told(&[Recovery::SilentBefore { spoke, of: 16 }]);
        assert_eq!(
            silent(0),
            "whether it recovered cannot be said: no requests ended in the 16 s before the first fault, so that there is nothing \
             to compare with"
        );
        assert_eq!(
            silent(4),
            "whether it recovered cannot be said: in only 4 of the 16 s before the first fault requests ended, and what is usual \
             is known from 5 s"
        );
        let after = told(&[Recovery::SilentAfter]);
        assert!(after.contains("cannot be said: too few requests came after the last fault had ended"), "{after}");
        assert!(told(&[Recovery::LittleBefore]).contains("known from 5 s of it, past the warm-up: let it begin later"));
        assert!(
            told(&[Recovery::EndsEarly]).starts_with("whether it recovered could not be seen: the run ended 39.0 s")
        );
        assert_eq!(told(&[]), "", "a fault that never ends");
    }

    #[test]
    fn a_recovery_has_its_number_however_short() {
        assert_eq!(recovered(0.0, &[0.0, 0.0]), "as soon as the last fault had ended, all was as before it");
        assert_eq!(recovered(0.3, &[]), "it recovered 0.300 s after the last fault had ended");
        assert_eq!(recovered(3.0, &[3.0, 3.0]), "it recovered 3.00 s after the last fault had ended");
        assert_eq!(
            recovered(7.3, &[4.0, 4.0, 13.9]),
            "it recovered 7.30 s after the last fault had ended, on average over 3 replications; the longest took 13.9 s"
        );
    }
}
