//! Where no candidate meets every objective: the one that comes nearest, and what may be done.

use super::candidate::{Candidate, Fate};
use super::found::{Answered, Nearest, Simulated};
use super::{Plan, Planner, RunError};
use crate::objective::{FAILED_MOST, GIVEN_UP, Judgement};
use crate::report::number::significant;

/// Candidates whose distances to the objectives differ by no more are as near as each other: two per cent of one limit.
const AS_NEAR: f64 = 0.02;

impl Plan {
    /// That there is no offer, in words that no candidate's fate contradicts: what could not be decided is not missed, and
    /// what was not asked is not known.
    pub fn none_meets(&self) -> &'static str {
        let asked = self.asked.iter().filter_map(|(_, _, fate)| match fate {
            Fate::Misses(simulated) => Some(&simulated.answers[..]),
            _ => None,
        });
        none_meets(self.interrupted, asked.chain(self.nearest.as_ref().map(|nearest| &nearest.answers[..])))
    }
}

/// The same of what was simulated and not seen to meet every objective.
fn none_meets<'a>(is_interrupted: bool, mut simulated: impl Iterator<Item = &'a [Answered]>) -> &'static str {
    let is_undecided = |answers: &[Answered]| !answers.iter().any(Answered::is_missed);
    match (is_interrupted, simulated.any(is_undecided)) {
        (true, _) => "No candidate asked until then is seen to meet every objective",
        (false, true) => "No candidate is seen to meet every objective",
        (false, false) => "No candidate meets every objective",
    }
}

impl Planner<'_> {
    /// The candidate that comes nearest, and why none can do, if that is known. Of those that theory left out, which is near to
    /// what they are, the cheapest and the dearest of the nearest are simulated too.
    pub(super) fn nearest(&self, candidates: &[Candidate]) -> Result<Option<Nearest>, RunError> {
        let mut known: Vec<(&Candidate, Simulated)> = Vec::new();
        let mut left_out: Vec<(&Candidate, f64)> = Vec::new();
        for candidate in candidates {
            match &candidate.fate {
                Fate::Misses(simulated) => known.push((candidate, simulated.clone())),
                Fate::Excluded { distance, .. } => left_out.push((candidate, *distance)),
                _ => {}
            }
        }
        let least = left_out.iter().map(|(_, distance)| *distance).fold(f64::INFINITY, f64::min);
        let mut near = left_out.iter().filter(|(_, distance)| *distance <= least + AS_NEAR).map(|(of, _)| *of);
        for candidate in [near.next(), near.next_back()].into_iter().flatten() {
            let judged = self.judge(&self.states(&self.choices.settings(candidate))?, &self.label(candidate))?;
            known.extend(judged.map(|simulated| (candidate, simulated)));
        }
        known.sort_by(|(one, _), (other, _)| one.cost.total_cmp(&other.cost));
        let least = known.iter().map(|(_, found)| distance(&found.answers)).fold(f64::INFINITY, f64::min);
        let nearest = known.into_iter().find(|(_, found)| distance(&found.answers) <= least + AS_NEAR);
        let Some((candidate, found)) = nearest else { return Ok(None) };
        Ok(Some(Nearest {
            label: self.label(candidate),
            cost: candidate.cost,
            hint: self.hint(&found),
            answers: found.answers,
            impossible: self.impossible.clone(),
        }))
    }

    /// What may be done where many requests of the nearest are not waited for: none where few are.
    fn hint(&self, found: &Simulated) -> Option<String> {
        let is_lost = found.answers.iter().any(|of| {
            let is_of_it = of.times_outdone.is_some() || of.metric == GIVEN_UP || of.metric == "error_ratio";
            is_of_it && of.judgement != Judgement::Holds
        });
        let many = |share: f64| share > FAILED_MOST || is_lost && share > 0.0;
        let told = |share: f64, what: &str, key: &str| {
            let share = significant(100.0 * share);
            format!(
                "{share} % of the requests {what}: let clients wait longer (`{key}`), or offer more or faster servers"
            )
        };
        if many(found.given_up) {
            return Some(told(found.given_up, "were given up", "workload.patience"));
        }
        // Requests also fail for other reasons than that clients wait only so long.
        let limit = ["timeout", "deadline"].into_iter().find(|key| self.source.has("client", key));
        let limit = limit.filter(|_| many(found.failed))?;
        Some(told(found.failed, "failed", &format!("client.{limit}")))
    }
}

/// How far a candidate is from meeting every objective: the sum of the logarithms of how many times each that does not hold
/// is off.
pub(super) fn distance<'a>(answers: impl IntoIterator<Item = &'a Answered>) -> f64 {
    let missed = answers.into_iter().filter(|answer| answer.judgement != Judgement::Holds);
    missed.map(far).sum()
}

/// The logarithm of how many times an objective is off.
pub(super) fn far(answer: &Answered) -> f64 {
    answer.times_off().map_or(f64::INFINITY, f64::ln)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn that_no_candidate_meets_all_is_said_only_where_each_misses_something() {
        let answers = |judgements: &[Judgement]| -> Vec<Answered> {
            let answer = |judgement: &Judgement| Answered {
                objective: "p99 < 150 ms".into(),
                under: None,
                metric: "response_time_p99".into(),
                unit: "s".into(),
                limit: 0.15,
                estimate: None,
                judgement: *judgement,
                reason: String::new(),
                times_outdone: None,
                of_all: None,
            };
            judgements.iter().map(answer).collect()
        };
        let missed = answers(&[Judgement::Undecided, Judgement::Fails]);
        let undecided = answers(&[Judgement::Holds, Judgement::Undecided]);
        let told = |is_interrupted, of: &[&[Answered]]| none_meets(is_interrupted, of.iter().copied());
        assert_eq!(told(false, &[&missed, &missed]), "No candidate meets every objective");
        assert_eq!(told(false, &[&missed, &undecided]), "No candidate is seen to meet every objective");
        assert!(told(true, &[&missed]).starts_with("No candidate asked until then"));
    }
}
