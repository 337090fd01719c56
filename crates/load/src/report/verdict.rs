//! The proof of load: was this run the load that was asked for, and did the client leave the answer alone?
//!
//! A run is VALID when nothing that was looked at is beyond its limit ([`Limits`]), and SUSPECT with every doubt that
//! there is otherwise. What a doubt means for one question is [`super::doubt`]'s affair.

use serde::{Deserialize, Serialize};
use sojourn_stats::{Histogram, Span};

use crate::report::doubt::{Cause, Doubt};
use crate::report::limits::Limits;
use crate::report::{Pace, Report};
use crate::setting::Pacing;

/// The proof of load: whether a run was the load that was asked for, and why not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// The load was what it claims to be.
    Valid,
    /// It was not, or the client may have been the limit; why.
    Suspect(Vec<Doubt>),
    /// The run was stopped before its end; why.
    Incomplete(String),
}

impl Proof {
    /// Why it is not valid, in sentences.
    pub fn reasons(&self) -> Vec<String> {
        match self {
            Proof::Valid => Vec::new(),
            Proof::Suspect(doubts) => doubts.iter().map(ToString::to_string).collect(),
            Proof::Incomplete(why) => vec![why.clone()],
        }
    }
}

/// What the verdict needs beyond the report.
pub(crate) struct Evidence {
    /// Mean number inside as the loop saw it, and as the requests' times from planned say.
    pub(crate) inside: (f64, f64),
    /// Requests per second, all of the run.
    pub(crate) rate: f64,
    /// Whether an open plan was followed.
    pub(crate) open: bool,
    pub(crate) paced: bool,
    /// Why it is not a whole run, if it is not.
    pub(crate) incomplete: Option<String>,
    pub(crate) connections_max: u32,
    pub(crate) limits: Limits,
}

pub(crate) fn verdict(report: &Report, evidence: &Evidence) -> Proof {
    if let Some(why) = &evidence.incomplete {
        return Proof::Incomplete(why.clone());
    }
    let mut doubts = Vec::new();
    load(report, evidence, &mut doubts);
    lateness(report, evidence, &mut doubts);
    generator(report, evidence, &mut doubts);
    host(report, &evidence.limits, &mut doubts);
    if doubts.is_empty() { Proof::Valid } else { Proof::Suspect(doubts) }
}

/// Whether the load was the one asked for.
fn load(report: &Report, evidence: &Evidence, doubts: &mut Vec<Doubt>) {
    let (counts, limits) = (&report.measured, &evidence.limits);
    if counts.planned == 0 {
        doubts.push(Cause::Nothing.doubt("no request was planned after the warm-up"));
    }
    let Pace { offered, achieved, .. } = report.pace;
    // One request that falls on the far side of the end is no shortfall.
    let seconds = report.measured_s;
    if evidence.open && (offered - achieved) * seconds > limits.shortfall * offered * seconds + 1.0 {
        let text = format!("{achieved:.1} requests/s were begun of {offered:.1} offered");
        doubts.push(Cause::Shortfall.doubt(text));
    }
    if counts.missed > 0 {
        let text = format!("{} requests were not sent: the generator was too late for them", counts.missed);
        doubts.push(Cause::Missed.doubt(text));
    }
    if counts.queued as f64 > limits.queued * counts.planned as f64 {
        doubts.push(Cause::Queued.doubt(format!(
            "{} requests had to wait for one of the {} connections: allow more (`connections`)",
            counts.queued, evidence.connections_max
        )));
    }
    if let Some(gaps) = &report.gaps {
        doubts.extend(gaps.doubts());
    }
    if counts.wrong() as f64 > limits.errors * counts.planned as f64 {
        doubts.push(Cause::Errors.doubt(counts.trouble()));
    }
    doubts.extend(report.record_files.iter().filter_map(|file| {
        let error = file.error.as_ref()?;
        Some(Cause::LostRecords.doubt(format!("the file of records {} is missing: {error}", file.path.display())))
    }));
    let lost: u64 = report.record_files.iter().map(|file| file.lost).sum();
    if lost > 0 {
        let text = format!("{lost} requests are missing in the file of records: the disk could not follow");
        doubts.push(Cause::LostRecords.doubt(text));
    }
}

/// What may be done where the timer wakes the generator too late.
const SPIN: &str =
    "; pace by spinning (`--spin`, in an experiment `pacing = \"spin\"`), or read the response time from sent";

/// Whether the generator acted when it was to.
fn lateness(report: &Report, evidence: &Evidence, doubts: &mut Vec<Doubt>) {
    let limits = &evidence.limits;
    let paced = evidence.open && report.pace.offered > 0.0;
    let gap_s = if paced { 1.0 / report.pace.offered } else { 0.0 };
    let response_mean_s = report.response.mean().unwrap_or(0.0) * 1e-9;
    let limit_s = limits.late_s.max(limits.late_of_gap * gap_s).max(limits.late_of_response * response_mean_s);
    let late_s = report.lateness.quantile(0.99).unwrap_or(0) as f64 * 1e-9;
    if late_s > limit_s {
        let (late, limit) = (Span::from_secs_f64(late_s), Span::from_secs_f64(limit_s));
        doubts.push(
            Cause::Late.doubt(format!("1 % of the requests went out more than {late:.3} late (limit {limit:.3})")),
        );
    }
    let (seen, said) = evidence.inside;
    // Little's law: the mean number inside is the rate times the time inside. Seen by the generator it lacks the time
    // in which a request was due and had not been noticed. What never matters of each is forgiven: what is left are
    // the few that were late by far, which no percentile need show.
    let forgiven = evidence.rate * capped_mean_s(&report.lateness, limits.late_s);
    if said > 0.0 && said - seen - forgiven > limits.unnoticed * said {
        // To spin takes a core, which a busy machine does not have.
        let has_core = !is_machine_busy(report, limits);
        let remedy = if report.pacing == Pacing::Timer && has_core { SPIN } else { "" };
        doubts.push(Cause::Unnoticed.doubt(format!(
            "{:.0} % of the mean response time is the generator's own lateness (by Little's law: {seen:.3} requests \
             inside on average as it saw them, {said:.3} by their times){remedy}",
            (1.0 - seen / said) * 100.0
        )));
    }
}

/// Whether the generator's threads had the time that they needed.
fn generator(report: &Report, evidence: &Evidence, doubts: &mut Vec<Doubt>) {
    let limits = &evidence.limits;
    let busiest = report.client_busy.iter().copied().fold(0.0, f64::max);
    if busiest > limits.busy && !(report.pacing == Pacing::Spin && evidence.paced) {
        doubts.push(Cause::Busy.doubt(format!(
            "a thread of the load generator was {:.0} % busy: it may have been the limit; use more threads",
            busiest * 100.0
        )));
    }
    let waiting = report.client_waiting.iter().copied().fold(0.0, f64::max);
    if waiting > limits.waiting {
        doubts.push(Cause::RunQueue.doubt(format!(
            "a thread of the load generator waited for a core {:.0} % of the time (run queue): others had it",
            waiting * 100.0
        )));
    }
}

/// Whether the machine had.
fn host(report: &Report, limits: &Limits, doubts: &mut Vec<Doubt>) {
    if is_machine_busy(report, limits) {
        doubts.push(Cause::Cores.doubt(format!("every core was more than {:.0} % busy", limits.cores_busy * 100.0)));
    }
    let stolen = report.cores_stolen.iter().copied().fold(0.0, f64::max);
    if stolen > limits.stolen {
        doubts.push(Cause::Stolen.doubt(format!("the host took {:.0} % of a core away (steal time)", stolen * 100.0)));
    }
}

fn is_machine_busy(report: &Report, limits: &Limits) -> bool {
    !report.cores_busy.is_empty() && report.cores_busy.iter().all(|&busy| busy > limits.cores_busy)
}

/// The mean (s) of what is in `times` (ns), each counted as `cap_s` at most.
fn capped_mean_s(times: &Histogram, cap_s: f64) -> f64 {
    let sum_s: f64 = times.buckets().map(|(low, _, count)| (low as f64 * 1e-9).min(cap_s) * count as f64).sum();
    sum_s / times.count().max(1) as f64
}
