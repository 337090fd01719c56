//! What is found of candidates.

use std::cmp::Ordering;

use serde::Serialize;
use sojourn_stats::Estimate;

use super::with;
use crate::judged::each::is_judged_by_each;
use crate::objective::{Judgement, Objective};

/// What an objective's metric was found to be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answered {
    /// The objective as written.
    pub objective: String,
    /// The fault under which it is asked; none where nothing is broken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub under: Option<String>,
    /// The metric.
    pub metric: String,
    /// Its SI unit, `1` for a ratio; empty where it is not measured.
    pub unit: String,
    /// The limit, in that unit.
    pub limit: f64,
    /// None where the simulator does not measure it.
    pub estimate: Option<Estimate>,
    /// Whether it holds.
    pub judgement: Judgement,
    /// Why it is not decided though its number is within the limit, or what a limit that holds does not tell. Empty where the
    /// number says all.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// How many times as many requests failed or were given up as may be slower than a limit on a time; none where no more did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times_outdone: Option<f64>,
    /// What is told in place of the number where requests without an answer make it another, or none: that of all requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_all: Option<String>,
}

impl Answered {
    /// By how much the objective is missed, in words; none where it holds.
    pub fn miss(&self) -> Option<String> {
        let is_below = self.estimate.as_ref().and_then(Estimate::value).map(|value| value < self.limit);
        let by = match (self.judgement, self.times_off()) {
            (Judgement::Fails, _) if self.is_met_on_average() => "some replications miss it".into(),
            (Judgement::Holds, _) => return None,
            (Judgement::NoInterval, _) => "its number has no interval".into(),
            (Judgement::TooFew, _) => "too few samples to say".into(),
            (Judgement::NoSample, _) => "no request got a good reply".into(),
            (Judgement::NotRecovered, _) => "it had not recovered when the run ended".into(),
            (Judgement::RecoveryUntold, _) => "whether it recovered cannot be said".into(),
            (Judgement::Undecided, _) if !self.reason.is_empty() => self.reason.clone(),
            (Judgement::Undecided, _) => "the limit is inside the interval".into(),
            (Judgement::Fails, None) => "another percentile misses it".into(),
            (_, None) => "not measured".into(),
            (_, Some(times)) if is_below == Some(true) => format!("{:.0} % of it", 100.0 / times),
            (_, Some(times)) => format!("{times:.2} times as much"),
        };
        Some(format!("{}: {by}", self.what()))
    }

    /// Whether its number, a mean over replications, meets the limit of what each of them must meet.
    fn is_met_on_average(&self) -> bool {
        let objective = Objective::parse(&self.objective).ok().filter(|of| is_judged_by_each(&of.metric));
        let value = self.estimate.as_ref().and_then(Estimate::value);
        objective.zip(value).is_some_and(|(objective, value)| objective.met(value))
    }

    /// Whether it is known to be missed; what is neither this nor holds is not decided.
    pub fn is_missed(&self) -> bool {
        use Judgement::{Fails, NoSample, NotRecovered, Unknown};
        matches!(self.judgement, Fails | NoSample | NotRecovered | Unknown)
    }

    /// As [`Answered::miss`], in a sentence about a candidate: "misses ...", or "does not certainly meet ..." of what is not
    /// decided.
    pub fn misses(&self) -> Option<String> {
        let word = if self.is_missed() { "misses" } else { "does not certainly meet" };
        Some(format!("{word} {}", self.miss()?))
    }

    /// The objective and the fault: "`p99 < 300 ms` with 1 server down".
    pub fn what(&self) -> String {
        format!("`{}`{}", self.objective, with(self.under.as_deref()))
    }

    /// What was found of all requests, with its interval, in the unit of the limit; none without an estimate.
    pub fn measured(&self) -> Option<String> {
        if self.judgement == Judgement::RecoveryUntold {
            return Some("it cannot be said".into());
        }
        let of_answers = || Some(Objective::parse(&self.objective).ok()?.measured(self.estimate.as_ref()?));
        self.of_all.clone().or_else(of_answers)
    }

    /// Of the answers of two systems to the same objective, which is better by its metric: that one is the lesser.
    fn compared(&self, other: &Answered) -> Ordering {
        let value = |of: &Answered| of.estimate.as_ref().and_then(Estimate::value);
        let (Some(one), Some(other)) = (value(self), value(other)) else { return Ordering::Equal };
        match Objective::parse(&self.objective) {
            Ok(Objective { below: false, .. }) => other.total_cmp(&one),
            _ => one.total_cmp(&other),
        }
    }

    /// How many times the limit it is, or the limit it; where too many requests failed, how many times too many. None without a
    /// number.
    pub(super) fn times_off(&self) -> Option<f64> {
        if self.times_outdone.is_some() {
            return self.times_outdone;
        }
        let value = self.estimate.as_ref().and_then(Estimate::value)?;
        Some((value / self.limit).max(self.limit / value)).filter(|times| times.is_finite())
    }
}

/// The utilisation of a part of the system.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Utilization {
    /// The part's name.
    pub name: String,
    /// Its utilisation.
    pub utilization: f64,
}

/// What the simulator found of a system.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Simulated {
    /// Each objective.
    pub answers: Vec<Answered>,
    /// Parts of the system, the busiest first.
    pub parts: Vec<Utilization>,
    /// The share (1) of the requests that were given up, in the state in which most were.
    pub given_up: f64,
    /// The share (1) of the requests that failed, likewise.
    pub failed: f64,
}

impl Simulated {
    /// Whether every objective holds.
    pub fn holds(&self) -> bool {
        self.answers.iter().all(|answer| answer.judgement == Judgement::Holds)
    }

    /// Whether that is known: every objective holds, or one fails.
    pub fn is_decided(&self) -> bool {
        self.holds() || self.answers.iter().any(|answer| answer.judgement == Judgement::Fails)
    }

    /// What does not hold: "misses ...", and "does not certainly meet ..." of what is not decided.
    pub(super) fn shortfall(&self) -> String {
        let open = || self.answers.iter().filter(|answer| answer.judgement != Judgement::Holds);
        let of = |is_missed: bool| -> Vec<String> {
            open().filter(|answer| answer.is_missed() == is_missed).map(Answered::what).collect()
        };
        let words = [("misses", of(true)), ("does not certainly meet", of(false))];
        let told =
            words.iter().filter(|(_, of)| !of.is_empty()).map(|(word, of)| format!("{word} {}", of.join(" and ")));
        told.collect::<Vec<_>>().join(", and ")
    }

    /// Which of two systems does better by the first objective in which they differ: that one is the lesser.
    pub(super) fn compared(&self, other: &Simulated) -> Ordering {
        let by_objective = self.answers.iter().zip(&other.answers).map(|(one, other)| one.compared(other));
        by_objective.fold(Ordering::Equal, Ordering::then)
    }
}

/// A candidate that meets every objective.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Offer {
    /// What it is, in a line.
    pub label: String,
    /// The settings and their values.
    pub settings: Vec<(String, String)>,
    /// What it costs.
    pub cost: f64,
    /// What was found of it.
    pub simulated: Simulated,
}

/// The candidate nearest to an objective that none meets.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Nearest {
    /// What it is, in a line.
    pub label: String,
    /// What it costs.
    pub cost: f64,
    /// Each objective.
    pub answers: Vec<Answered>,
    /// Why no candidate can meet an objective, of each of which a reason is known.
    pub impossible: Vec<String>,
    /// What may be done where many requests are not waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// How many candidates met which fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Tally {
    /// All of them.
    pub candidates: usize,
    /// More work comes than they can do.
    pub overloaded: usize,
    /// Left out by theory.
    pub excluded: usize,
    /// Simulated.
    pub simulated: usize,
    /// Never asked, because a stronger one misses.
    pub weaker: usize,
    /// Never asked, because they are no cheaper than what was wanted.
    pub dearer: usize,
}

impl Tally {
    /// In a line: `42 candidates: 6 overloaded, ...`.
    pub fn words(&self) -> String {
        let Tally { candidates, overloaded, excluded, simulated, weaker, dearer } = *self;
        let s = if candidates == 1 { "" } else { "s" };
        let mut unasked = Vec::new();
        if weaker > 0 {
            unasked.push(format!("{weaker} since a stronger one misses already"));
        }
        if dearer > 0 {
            unasked.push(format!("{dearer} since they are no cheaper than what was found"));
        }
        let unasked =
            if unasked.is_empty() { String::new() } else { format!("; not simulated: {}", unasked.join(", ")) };
        format!(
            "{candidates} candidate{s}: {overloaded} overloaded, {excluded} left out by theory, {simulated} simulated{unasked}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_decided_is_not_said_to_be_missed() {
        let told = |judgements: &[Judgement]| {
            let answers = judgements.iter().zip(["down", "slow"]).map(|(judgement, fault)| Answered {
                objective: "p99 < 150 ms".into(),
                under: Some(fault.into()),
                metric: "response_time_p99".into(),
                unit: "s".into(),
                limit: 0.15,
                estimate: Some(Estimate::Sampled { value: 0.15, ci_low: 0.1, ci_high: 0.2, samples: 99 }),
                judgement: *judgement,
                reason: String::new(),
                times_outdone: None,
                of_all: None,
            });
            let found = Simulated { answers: answers.collect(), ..Simulated::default() };
            (found.shortfall(), found.answers.iter().filter_map(Answered::misses).next().unwrap_or_default())
        };
        let (down, slow) = ("`p99 < 150 ms` with down", "`p99 < 150 ms` with slow");
        use Judgement::{Fails, Holds, NoSample, RecoveryUntold, Undecided};
        let open = format!("does not certainly meet {down}: the limit is inside the interval");
        assert_eq!(told(&[Undecided, Holds]), (format!("does not certainly meet {down}"), open.clone()));
        assert_eq!(told(&[Undecided, Fails]), (format!("misses {slow}, and does not certainly meet {down}"), open));
        assert_eq!(told(&[NoSample, Fails]).0, format!("misses {down} and {slow}"));
        assert!(told(&[NoSample, Holds]).1.starts_with(&format!("misses {down}: ")));
        let untold = format!("does not certainly meet {down}: whether it recovered cannot be said");
        assert_eq!(told(&[RecoveryUntold, Holds]).1, untold);
    }

    /// What one replication in ten misses is not "83 % of the limit".
    #[test]
    fn what_some_replications_miss_is_said_so() {
        let told = |objective: &str, metric: &str, value: f64, judgement| {
            let estimate = Some(Estimate::Sampled { value, ci_low: value, ci_high: value, samples: 10 });
            let (objective, unit) = (objective.to_owned(), "s".to_owned());
            let limit = Objective::parse(&objective).unwrap().limit;
            let (metric, reason) = (metric.to_owned(), String::new());
            let (under, times_outdone, of_all) = (None, None, None);
            Answered { objective, under, metric, unit, limit, estimate, judgement, reason, times_outdone, of_all }
                .miss()
        };
        for (objective, metric) in
            [("worst_second_p99 < 300 ms", "worst_second_p99"), ("recovery_time < 300 ms", "recovery_time")]
        {
            let some = Some(format!("`{objective}`: some replications miss it"));
            assert_eq!(told(objective, metric, 0.25, Judgement::Fails), some);
            let all = Some(format!("`{objective}`: 2.00 times as much"));
            assert_eq!(told(objective, metric, 0.6, Judgement::Fails), all);
        }
    }
}
