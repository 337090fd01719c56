//! The proof of load: was this run the load that was asked for, and did the client leave the answer alone?
//!
//! A doubt is a sentence with its number and, where there is one, the way out. The limits are named constants here;
//! each is a judgement, said where it stands.

use serde::{Deserialize, Serialize};

use crate::report::gaps::Gaps;
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
/// Share of the run in which a thread of the generator could have run and waited for a core.
const WAITING_MAX: f64 = 0.05;

/// What the verdict needs beyond the report.
pub(crate) struct Evidence {
    /// Mean number inside as the loop saw it, and as the requests' times from planned say.
    pub(crate) inside: (f64, f64),
    /// Whether an open plan was followed.
    pub(crate) open: bool,
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
    if evidence.open && (offered - achieved) * seconds > SHORTFALL_MAX * offered * seconds + 1.0 {
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
    let waiting = report.client_waiting.iter().copied().fold(0.0, f64::max);
    if waiting > WAITING_MAX {
        doubts.push(format!(
            "a thread of the load generator waited for a core {:.0} % of the time (run queue): others had it",
            waiting * 100.0
        ));
    }
    let (seen, said) = evidence.inside;
    // Little's law: the mean number inside is the rate times the time inside. Seen by the generator it lacks the time
    // in which a request was due and had not been noticed.
    if said > 0.0 && said - seen > UNNOTICED_MAX * said {
        let remedy = if report.pacing == Pacing::Timer { "; spin, or read the service time" } else { "" };
        doubts.push(format!(
            "{:.0} % of the mean response time is the generator's own lateness (by Little's law: {seen:.3} requests \
             inside on average as it saw them, {said:.3} by their times){remedy}",
            (1.0 - seen / said) * 100.0
        ));
    }
    doubts.extend(report.gaps.iter().flat_map(Gaps::doubts));
    if counts.wrong() as f64 > ERRORS_MAX * counts.planned as f64 {
        doubts.push(counts.trouble());
    }
    let lost: u64 = report.record_files.iter().map(|file| file.lost).sum();
    if lost > 0 {
        doubts.push(format!("{lost} requests are missing in the file of records: the disk could not follow"));
    }
    host(report, &mut doubts);
    if doubts.is_empty() { Verdict::Valid } else { Verdict::Suspect(doubts) }
}

fn lateness(report: &Report, evidence: &Evidence, doubts: &mut Vec<String>) {
    let paced = evidence.open && report.pace.offered > 0.0;
    let gap_s = if paced { 1.0 / report.pace.offered } else { 0.0 };
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

fn host(report: &Report, doubts: &mut Vec<String>) {
    if !report.cores_busy.is_empty() && report.cores_busy.iter().all(|&busy| busy > CORES_BUSY_MAX) {
        doubts.push(format!("every core was more than {:.0} % busy", CORES_BUSY_MAX * 100.0));
    }
    let stolen = report.cores_stolen.iter().copied().fold(0.0, f64::max);
    if stolen > STOLEN_MAX {
        doubts.push(format!("the host took {:.0} % of a core away (steal time)", stolen * 100.0));
    }
}
