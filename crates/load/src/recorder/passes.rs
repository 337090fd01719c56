//! What is kept of scenarios, beside what is kept of every request: passes, and requests by step. All after the warm-up.

use serde::{Deserialize, Serialize};
use sojourn_stats::{Histogram, Measure, Time};

use super::Steps as Times;
use crate::outcome::{Counts, Outcome};
use crate::recorder::objects::time_measures;
use crate::request::scenario::{Fault, Scenarios};
use crate::schedule::job::Job;
use crate::schedule::passes::{PassEnd, PassEnded};

/// What a run with scenarios measured of passes and steps, after the warm-up.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Passes {
    /// Passes that came to the end of their scenario.
    pub whole: u64,
    /// Those that ended with a step that failed.
    pub failed: u64,
    /// Those that the end of the run cut short.
    pub unfinished: u64,
    /// The steps of all scenarios, in the order of the files.
    pub steps: Vec<StepReport>,
}

/// The requests of one step.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StepReport {
    /// Its name, with that of its scenario before it where there are several.
    pub name: String,
    /// Good replies.
    pub ok: u64,
    /// Requests that failed or were unfinished.
    pub failed: u64,
    /// Mean response time (s) of the good replies; none without any.
    pub response_time_mean_s: Option<f64>,
    /// Their 95th percentile (s), where there are enough to say.
    pub response_time_p95_s: Option<f64>,
    /// The checks that did not hold and the values that were not there, and how often.
    pub faults: Vec<(String, u64)>,
}

/// One thread's passes and steps.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PassTally {
    whole: u64,
    failed: u64,
    unfinished: u64,
    /// From when whole passes began to when they were over.
    times: Times,
    steps: Vec<StepTally>,
}

/// One thread's requests of a step.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StepTally {
    name: String,
    counts: Counts,
    response: Histogram,
    faults: Vec<(String, u64)>,
}

impl StepTally {
    /// Empty ones for all steps of `scenarios`.
    pub(crate) fn of(scenarios: &Scenarios) -> Vec<StepTally> {
        let tally = |(name, faults): (String, Vec<String>)| StepTally {
            name,
            counts: Counts::default(),
            response: Histogram::new(),
            faults: faults.into_iter().map(|fault| (fault, 0)).collect(),
        };
        scenarios.steps().into_iter().zip(scenarios.faults()).map(tally).collect()
    }
}

impl PassTally {
    pub(super) fn new(steps: Vec<StepTally>) -> PassTally {
        PassTally { whole: 0, failed: 0, unfinished: 0, times: Times::default(), steps }
    }

    /// The request of a step is over.
    pub(super) fn over(&mut self, job: &Job, outcome: Outcome, response: sojourn_stats::Span) {
        let step = &mut self.steps[job.target as usize];
        step.counts.planned += 1;
        step.counts.settle(outcome);
        if outcome == Outcome::Ok {
            step.response.record(response.0);
        }
    }

    /// Something of the reply to `job` did not come out.
    pub(super) fn fault(&mut self, job: &Job, fault: Fault) {
        self.steps[job.target as usize].faults[fault].1 += 1;
    }

    pub(super) fn pass_over(&mut self, pass: &PassEnded, window: usize, now: Time) {
        match pass.end {
            PassEnd::Whole => {
                self.whole += 1;
                self.times.record(window, now.saturating_since(pass.began));
            }
            PassEnd::Failed => self.failed += 1,
            PassEnd::Unfinished => self.unfinished += 1,
        }
    }

    pub(super) fn absorb(&mut self, other: PassTally) {
        self.whole += other.whole;
        self.failed += other.failed;
        self.unfinished += other.unfinished;
        self.times.absorb(other.times);
        for (step, more) in self.steps.iter_mut().zip(other.steps) {
            step.counts.add(&more.counts);
            step.response.merge(&more.response);
            for ((_, count), (_, more)) in step.faults.iter_mut().zip(more.faults) {
                *count += more;
            }
        }
    }

    /// `pass_time_*`: of whole passes, thinking included.
    pub(crate) fn measures(&self) -> Vec<Measure> {
        let mut all = Histogram::new();
        self.times.0.iter().for_each(|window| all.merge(window));
        if all.count() == 0 {
            return Vec::new();
        }
        time_measures("pass_time", &all, || self.times.0.iter(), &[("p90", 0.9)])
    }

    pub(crate) fn report(self, quantile: fn(&Histogram, f64) -> Option<f64>) -> Passes {
        let step = |step: StepTally| StepReport {
            name: step.name,
            ok: step.counts.ok,
            failed: step.counts.wrong(),
            response_time_mean_s: step.response.mean().map(|mean_ns| mean_ns * 1e-9),
            response_time_p95_s: quantile(&step.response, 0.95),
            faults: step.faults.into_iter().filter(|(_, count)| *count > 0).collect(),
        };
        let steps = self.steps.into_iter().map(step).collect();
        Passes { whole: self.whole, failed: self.failed, unfinished: self.unfinished, steps }
    }
}
