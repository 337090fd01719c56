//! What a run measured of an objective, and what is left of that once its doubts are weighed.

use sojourn_load::{Cause, Counts, Doubt, Effect, Proof, Report};
use sojourn_stats::{Estimate, Span};

use crate::objective::{Judgement, Objective, unanswered};

/// What a run at some rate measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The objective's metric; none where the run does not measure it.
    pub estimate: Option<Estimate>,
    /// How late the generator itself was (s); a response time contains as much of it.
    pub lateness_s: f64,
    /// Of the requests that failed, the share that no trouble of the generator explains: refused, answered by an error, cut off.
    pub failed_by_server: f64,
    /// Whether what the objective limits is known of all requests though some failed or were given up.
    pub bears_failures: bool,
    /// Why a time that meets the objective is none of all requests, where these are why.
    pub outdone: Option<String>,
    /// That the queue grew to the end of the run, where it did.
    pub unsettled: Option<String>,
    /// Why the run is SUSPECT; empty when it is not.
    pub doubts: Vec<Doubt>,
}

/// What a run says about an objective once its doubts are weighed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It holds.
    Holds,
    /// It does not.
    Fails,
    /// This run cannot decide it; why.
    Open(String),
}

impl Measured {
    /// What a run measured of what `objective` is about.
    pub fn from_report(objective: &Objective, report: &Report) -> Measured {
        let measure = objective.deciding(&report.measures);
        let doubts = match &report.verdict {
            Proof::Suspect(doubts) => doubts.clone(),
            _ => Vec::new(),
        };
        let estimate = measure.map(|measure| measure.estimate.clone());
        Measured {
            estimate,
            lateness_s: lateness_s(objective, report),
            failed_by_server: failed_by_server(&report.measured),
            bears_failures: objective.bears(unanswered(&report.measures)),
            outdone: objective.outdone_by_failures(&report.measures, &report.response_time_cdf),
            unsettled: report.unsettled.map(|unsettled| unsettled.to_string()),
            doubts,
        }
    }

    /// What it says about `objective`, doubts aside, and what with them.
    pub fn judge(&self, objective: &Objective) -> (Judgement, Finding) {
        let judgement = match &self.estimate {
            None => Judgement::Unknown,
            // What is above its limit already is no less in a longer run; what is not may become so.
            Some(estimate) if self.why_unsettled(objective).is_some() => {
                let is_missed = objective.below && estimate.value().is_some_and(|value| !objective.met(value));
                if is_missed { Judgement::Fails } else { Judgement::Undecided }
            }
            Some(estimate) => objective.judge(estimate),
        };
        (judgement, self.weigh(objective, judgement))
    }

    /// That the queue grew to the end of the run, where the number that `objective` limits has no interval.
    pub(super) fn why_unsettled(&self, objective: &Objective) -> Option<&str> {
        let is_bare =
            matches!(self.estimate, Some(Estimate::WithoutInterval { .. } | Estimate::TooFew { samples: 1.. }));
        self.unsettled.as_deref().filter(|_| is_bare && !objective.is_of_a_rate())
    }

    /// Whether a doubt is one about what the objective limits: that requests failed is none where that is known all the same.
    pub(super) fn is_open_to(&self, doubt: &Doubt) -> bool {
        doubt.cause != Cause::Errors || !self.bears_failures
    }

    /// Why a measurement that does not decide `objective` would not if it were longer: requests failed, or had to wait for a
    /// connection.
    pub(super) fn hindrance(&self, objective: &Objective, judgement: Judgement) -> Option<String> {
        let is_open = matches!(judgement, Judgement::Undecided | Judgement::NoInterval | Judgement::TooFew);
        let hinders = |doubt: &&Doubt| match doubt.cause {
            Cause::Errors => !objective.is_of_errors() && self.is_open_to(doubt),
            Cause::Queued => true,
            _ => false,
        };
        self.doubts.iter().filter(|_| is_open).find(hinders).map(ToString::to_string)
    }

    /// What would decide `objective` where it is open, where that is known and the run is as good as a longer one would be.
    pub(super) fn enough(&self, objective: &Objective, judgement: Judgement, report: &Report) -> Option<String> {
        let is_open = matches!(judgement, Judgement::Undecided | Judgement::NoInterval | Judgement::TooFew);
        let hinders = |doubt: &Doubt| {
            matches!(doubt.cause.effect(), Effect::Slower | Effect::OtherLoad) && self.is_open_to(doubt)
        };
        let is_of_use = is_open && self.why_unsettled(objective).is_none() && !self.doubts.iter().any(hinders);
        objective.enough(&report.measures, true).filter(|_| is_of_use)
    }

    /// What is left of `judgement` when the doubts are weighed.
    fn weigh(&self, objective: &Objective, judgement: Judgement) -> Finding {
        // A generator's trouble makes response times longer and rates lower, never the other way round.
        let looks_worse = objective.below != objective.is_of_a_rate();
        // Requests that fail are what is judged, or leave a percentile that is known as of all requests, or make a server that
        // fails anyway no better, or leave alone what cannot happen: without patience no client leaves.
        let cannot_happen =
            objective.metric == "abandoned_ratio" && self.estimate.as_ref().is_some_and(Estimate::is_sharp);
        let is_told = objective.is_of_errors() || self.bears_failures;
        let errors_count = !is_told && !cannot_happen && judgement != Judgement::Fails;
        let doubt = |matters: &dyn Fn(Effect) -> bool| {
            let concerns = |doubt: &&Doubt| doubt.cause != Cause::Errors || errors_count;
            self.doubts.iter().filter(concerns).find(|doubt| matters(doubt.cause.effect())).map(ToString::to_string)
        };
        let open = |doubt: Option<String>, otherwise| doubt.map_or(otherwise, Finding::Open);
        match judgement {
            Judgement::Holds => open(
                doubt(&|effect| match effect {
                    Effect::None => false,
                    Effect::OtherLoad => true,
                    Effect::Late | Effect::Slower => !looks_worse,
                })
                .or_else(|| self.outdone.clone()),
                Finding::Holds,
            ),
            Judgement::Fails if !looks_worse => open(doubt(&|effect| effect == Effect::OtherLoad), Finding::Fails),
            Judgement::Fails if self.fails_by_server(objective) => {
                open(doubt(&|effect| effect == Effect::OtherLoad), Finding::Fails)
            }
            Judgement::Fails => {
                let own = self.own_lateness(objective).or_else(|| match objective.is_of_a_time() {
                    true => None,
                    false => doubt(&|effect| effect == Effect::Late),
                });
                open(doubt(&|effect| matches!(effect, Effect::OtherLoad | Effect::Slower)).or(own), Finding::Fails)
            }
            Judgement::Undecided => {
                Finding::Open(self.why_unsettled(objective).unwrap_or("the limit lies inside the interval").into())
            }
            Judgement::NoInterval => {
                let why = match &self.estimate {
                    Some(Estimate::WithoutInterval { why, .. }) => format!(" ({})", why.words()),
                    _ => String::new(),
                };
                Finding::Open(format!("the estimate has no interval{why}"))
            }
            Judgement::TooFew => Finding::Open("too few samples".into()),
            Judgement::NoSample => Finding::Open("no request got a good reply".into()),
            Judgement::NotRecovered => Finding::Open("it had not recovered when the run ended".into()),
            Judgement::RecoveryUntold => Finding::Open("whether it recovered cannot be said".into()),
            Judgement::Unknown => Finding::Open("this run does not measure it".into()),
        }
    }

    /// Whether a limit on failures is missed by those alone that no slowness of the generator explains.
    fn fails_by_server(&self, objective: &Objective) -> bool {
        let low = self.estimate.as_ref().and_then(Estimate::interval).map(|ends| ends.0);
        objective.metric == "error_ratio" && low.is_some_and(|low| !objective.met(low * self.failed_by_server))
    }

    /// That a time would meet the objective without the generator's lateness, where it would.
    fn own_lateness(&self, objective: &Objective) -> Option<String> {
        let estimate = self.estimate.as_ref().filter(|_| objective.is_of_a_time())?;
        let (low, value) = (estimate.interval().map(|ends| ends.0).or(estimate.value())?, estimate.value()?);
        objective.met(low - self.lateness_s).then(|| {
            format!(
                "up to {:.3} of the {:.3} are the generator's own lateness",
                Span::from_secs_f64(self.lateness_s),
                Span::from_secs_f64(value)
            )
        })
    }
}

/// How much of the objective's metric may be the generator's own lateness (s): of a mean the mean, of all others what
/// 99 % of the requests stay below.
fn lateness_s(objective: &Objective, report: &Report) -> f64 {
    let lateness_ns = match objective.metric.ends_with("_mean") {
        true => report.lateness.mean(),
        false => report.lateness.quantile(0.99).map(|ns| ns as f64),
    };
    lateness_ns.unwrap_or(0.0) * 1e-9
}

/// Of the requests that failed, the share that no trouble of the generator explains.
pub(super) fn failed_by_server(counts: &Counts) -> f64 {
    let Counts { refused, reset, closed_early, protocol, redirects, client_error, server_error, check, .. } = *counts;
    let own = refused + reset + closed_early + protocol + redirects + client_error + server_error + check;
    own as f64 / counts.wrong().max(1) as f64
}
