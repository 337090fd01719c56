//! The proof of load: was this run the load that was asked for, and did the client leave the answer alone?
//!
//! A doubt is a sentence with its number and, where there is one, the way out. The limits are named constants here;
//! each is a judgement, said where it stands.

use serde::{Deserialize, Serialize};
use sojourn_stats::Time;

use crate::report::{Pace, Report};
use crate::setting::Pacing;

/// Whether a run can be trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The load was what it claims to be.
    Valid,
    /// It was not, or the client may have been the limit; why.
    Suspect(Vec<String>),
    /// The run was stopped before its end; why.
    Incomplete(String),
}

/// Lateness that never matters.
const LATE_FLOOR_S: f64 = 1e-3;
/// Lateness below this share of the mean gap leaves the arrival process what it is.
const LATE_OF_GAP: f64 = 0.1;
/// Lateness below this share of the mean response time leaves the answer what it is.
const LATE_OF_RESPONSE: f64 = 0.1;
/// A client thread busier than this may have been what was measured.
const BUSY_MAX: f64 = 0.9;
/// Every core busier than this: something waited for a core.
const CORES_BUSY_MAX: f64 = 0.95;
/// Share of a core taken by other machines on the same host.
const STOLEN_MAX: f64 = 0.02;
/// Share of the offered load that may not have been begun in time.
const SHORTFALL_MAX: f64 = 0.01;
/// Share of requests that may fail.
const ERRORS_MAX: f64 = 0.01;
/// Share of the requests' time inside, from planned on, in which the generator had not noticed them yet.
const UNNOTICED_MAX: f64 = 0.1;
/// Distance between the distributions of emitted and planned gaps that matters, however sure it is.
const GAPS_MAX: f64 = 0.05;

/// What the verdict needs beyond the report.
pub(crate) struct Evidence {
    /// Mean number inside as the loop saw it, and as the requests' times from planned say.
    pub(crate) inside: (f64, f64),
    /// How many gaps between requests of an open schedule were looked at.
    pub(crate) gaps: Option<usize>,
    pub(crate) paced: bool,
    /// Why it is not a whole run, if it is not.
    pub(crate) incomplete: Option<String>,
    pub(crate) connections_max: u32,
    pub(crate) response_mean_s: f64,
    pub(crate) lateness_p99_s: f64,
}

pub(crate) fn verdict(report: &Report, evidence: &Evidence) -> Verdict {
    if let Some(why) = &evidence.incomplete {
        return Verdict::Incomplete(why.clone());
    }
    let mut doubts = Vec::new();
    let counts = &report.measured;
    if counts.planned == 0 {
        doubts.push("no request was planned after the warm-up".to_owned());
    }
    lateness(report, evidence, &mut doubts);
    let Pace { offered, achieved } = report.pace;
    // One request that falls on the far side of the end is no shortfall.
    let seconds = report.measured_s;
    if evidence.gaps.is_some() && (offered - achieved) * seconds > SHORTFALL_MAX * offered * seconds + 1.0 {
        doubts.push(format!("{achieved:.1} requests/s were begun of {offered:.1} offered"));
    }
    if counts.missed > 0 {
        doubts.push(format!("{} requests were not sent: the generator was too late for them", counts.missed));
    }
    if counts.queued > 0 {
        doubts.push(format!(
            "{} requests had to wait for one of the {} connections: allow more",
            counts.queued, evidence.connections_max
        ));
    }
    let busiest = report.client_busy.iter().copied().fold(0.0, f64::max);
    if busiest > BUSY_MAX && !(report.pacing == Pacing::Spin && evidence.paced) {
        doubts.push(format!(
            "a thread of the load generator was {:.0} % busy: it may have been the limit; use more threads",
            busiest * 100.0
        ));
    }
    let (seen, said) = evidence.inside;
    // Little's law: the mean number inside is the rate times the time inside. Seen by the generator it lacks the time
    // in which a request was due and nobody had noticed.
    if said > 0.0 && said - seen > UNNOTICED_MAX * said {
        let remedy = if report.pacing == Pacing::Timer { "; spin, or read the service time" } else { "" };
        doubts.push(format!(
            "{:.0} % of the mean response time is the generator's own lateness (by Little's law: {seen:.3} requests \
             inside on average as it saw them, {said:.3} by their times){remedy}",
            (1.0 - seen / said) * 100.0
        ));
    }
    if let (Some(count), Some(distance)) = (evidence.gaps, report.gap_distance) {
        gaps(count, distance, &mut doubts);
    }
    let wrong = counts.failed() + counts.unfinished;
    if wrong as f64 > ERRORS_MAX * counts.planned as f64 {
        let mut causes: Vec<String> =
            counts.causes().into_iter().map(|(cause, count)| format!("{count} {cause}")).collect();
        if counts.unfinished > 0 {
            causes.push(format!("{} unfinished", counts.unfinished));
        }
        doubts.push(format!("{wrong} of {} requests failed: {}", counts.planned, causes.join(", ")));
    }
    let lost: u64 = report.record_files.iter().map(|file| file.lost).sum();
    if lost > 0 {
        doubts.push(format!("{lost} requests are missing in the file of records: the disk could not follow"));
    }
    host(report, &mut doubts);
    if doubts.is_empty() { Verdict::Valid } else { Verdict::Suspect(doubts) }
}

fn lateness(report: &Report, evidence: &Evidence, doubts: &mut Vec<String>) {
    let gap_s = match evidence.gaps {
        Some(_) if report.pace.offered > 0.0 => 1.0 / report.pace.offered,
        _ => 0.0,
    };
    let limit_s = LATE_FLOOR_S.max(LATE_OF_GAP * gap_s).max(LATE_OF_RESPONSE * evidence.response_mean_s);
    let late_s = evidence.lateness_p99_s;
    if late_s > limit_s {
        doubts.push(format!(
            "1 % of the requests went out more than {:.3} ms late (limit {:.3} ms)",
            late_s * 1e3,
            limit_s * 1e3
        ));
    }
}

/// Two-sample Kolmogorov-Smirnov test of the emitted against the planned gaps, at one false alarm in a million, and
/// only where the distance is one that matters.
fn gaps(count: usize, distance: f64, doubts: &mut Vec<String>) {
    // c(alpha) sqrt(2 / n) with c(1e-6) = sqrt(ln(2 / 1e-6) / 2) (Smirnov 1948).
    let limit = ((2.0e6_f64).ln() / 2.0).sqrt() * (2.0 / count as f64).sqrt();
    if distance > limit.max(GAPS_MAX) {
        doubts.push(format!(
            "the gaps between requests are not the planned ones (Kolmogorov-Smirnov distance {distance:.3})"
        ));
    }
}

/// Distance between the distributions of the gaps of (planned, begun) instants, given in runs that each hold neighbours of
/// one another in any order; none below two gaps.
///
/// Gaps that differ by at most a tenth of the mean count as equal: a deterministic plan is one step at one value, and
/// the least jitter would otherwise be a distance of one half.
pub fn gap_distance(runs: &[Vec<(Time, Time)>]) -> Option<f64> {
    let planned = sorted(gaps_of(runs, |pair| pair.0));
    let begun = sorted(gaps_of(runs, |pair| pair.1));
    if planned.len() < 2 {
        return None;
    }
    let mean = planned.iter().sum::<u64>() / planned.len() as u64;
    Some(distance(&planned, &begun, mean / 10))
}

/// The gaps of each run's instants, in their order of time.
fn gaps_of(runs: &[Vec<(Time, Time)>], of: fn(&(Time, Time)) -> Time) -> impl Iterator<Item = Vec<u64>> {
    runs.iter().map(move |run| {
        let instants = sorted(std::iter::once(run.iter().map(|pair| of(pair).0).collect()));
        instants.windows(2).map(|pair| pair[1] - pair[0]).collect()
    })
}

fn sorted(runs: impl Iterator<Item = Vec<u64>>) -> Vec<u64> {
    let mut all: Vec<u64> = runs.flatten().collect();
    all.sort_unstable();
    all
}

/// The largest distance between the empirical distribution functions of two sorted samples of equal size, when values
/// may be shifted by `tolerance` (the Lévy form of the distance).
fn distance(a: &[u64], b: &[u64], tolerance: u64) -> f64 {
    let one_way = |of: &[u64], over: &[u64]| {
        let mut at = 0;
        let mut worst: f64 = 0.0;
        for (index, &value) in of.iter().enumerate() {
            while at < over.len() && over[at] <= value.saturating_add(tolerance) {
                at += 1;
            }
            worst = worst.max((index + 1) as f64 / of.len() as f64 - at as f64 / over.len() as f64);
        }
        worst
    };
    one_way(a, b).max(one_way(b, a))
}

fn host(report: &Report, doubts: &mut Vec<String>) {
    if !report.cores_busy.is_empty() && report.cores_busy.iter().all(|&busy| busy > CORES_BUSY_MAX) {
        doubts.push(format!("every core was more than {:.0} % busy", CORES_BUSY_MAX * 100.0));
    }
    let stolen = report.cores_stolen.iter().copied().fold(0.0, f64::max);
    if stolen > STOLEN_MAX {
        doubts.push(format!("the host took {:.0} % of a core away (steal time)", stolen * 100.0));
    }
}
