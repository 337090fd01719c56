//! An objective on a recovery, or on the worst second, is about every run, so it is judged replication by replication.
//!
//! A mean over replications hides the one in ten that took longer, and who asks for `recovery_time < 30 s` asks it of each
//! fault. One recovery that was seen to take longer therefore misses the objective, as one that never came does; a live run
//! has one, and that may miss it but cannot meet it. It is met where each of the replications recovered in time and their mean
//! did so over its whole interval. How seldom a fault may still take longer is said with it: of none in ten, up to 26 %.
//!
//! So it is with `worst_second_p99 < 300 ms`: each replication has a worst second of its own, and the mean of these is the worst
//! second of none. The price: of more replications, or longer ones, one is sooner seen to miss it.

use sojourn_stats::interval::exact_ratio;
use sojourn_stats::measure::CONFIDENCE;
use sojourn_stats::{Estimate, Measure};

use crate::answer::Answer;
use crate::objective::{Judgement, Objective, RECOVERY, is_of_worst_second};

/// What the replications of a run have of a metric.
struct OfEach {
    /// How many replications could have a number.
    all: usize,
    /// The numbers (SI) of those that have one: at least one.
    seen: Vec<f64>,
}

impl OfEach {
    /// What an engine saw; none where it saw nothing, or has the number from a formula.
    fn of(answer: &Answer, metric: &str) -> Option<OfEach> {
        let estimate = answer.estimate(metric)?;
        match (answer.replications(metric), estimate) {
            (_, Estimate::Exact { .. } | Estimate::Approximate { .. }) => None,
            (Some(all), _) => Some(OfEach { all: all.len(), seen: all.iter().flatten().copied().collect() }),
            (None, _) => estimate.value().map(|value| OfEach { all: 1, seen: vec![value] }),
        }
        .filter(|of| !of.seen.is_empty())
    }

    /// The highest number, or the lowest.
    fn extreme(&self, is_highest: bool) -> f64 {
        let pick: fn(f64, f64) -> f64 = if is_highest { f64::max } else { f64::min };
        self.seen.iter().copied().reduce(pick).expect("there is at least one")
    }

    /// How many in a hundred runs may miss what all of these met, rounded up.
    fn may_miss_percent(&self) -> f64 {
        (100.0 * exact_ratio(0.0, self.all as f64, CONFIDENCE).1).ceil()
    }
}

/// Whether an objective on `metric` is judged replication by replication.
pub(crate) fn is_judged_by_each(metric: &str) -> bool {
    metric == RECOVERY || is_of_worst_second(metric)
}

impl Objective {
    /// What an answer says about it: [`Objective::judge_among`] of its measures, of what is judged by each replication what each
    /// of these says, and of a recovery of which nothing can be said, that.
    pub(crate) fn judge_answer(&self, answer: &Answer) -> Judgement {
        match self.of_each(answer) {
            Some(of) if of.seen.iter().any(|seen| !self.met(*seen)) => Judgement::Fails,
            _ if self.metric == RECOVERY && answer.recovery_untold.is_some() => Judgement::RecoveryUntold,
            _ => self.judge_among(&answer.measures),
        }
    }

    /// What an answer has of it, in the unit of its limit: [`Objective::measured_of_all`] of its measures, and of what is judged
    /// by each replication in how many it is met, or missed, and the number that is farthest off.
    pub(crate) fn measured_by(&self, answer: &Answer) -> String {
        match self.of_each(answer).filter(|of| of.all > 1) {
            Some(of) if self.metric == RECOVERY && self.below => self.recoveries(&of),
            Some(of) if is_of_worst_second(&self.metric) => self.worst_seconds(&of, answer),
            _ => self.measured_of_all(&answer.measures, &answer.curve),
        }
    }

    /// [`Objective::outdone_by_failures`] of an answer; of the worst second, by the replication that failed most.
    pub(crate) fn outdone_in(&self, answer: &Answer) -> Option<String> {
        self.outdone_by_failures(&at_worst(answer), &answer.curve)
    }

    /// [`Objective::times_outdone`] of an answer, likewise.
    pub(crate) fn times_outdone_in(&self, answer: &Answer) -> Option<f64> {
        self.times_outdone(&at_worst(answer))
    }

    fn recoveries(&self, of: &OfEach) -> String {
        let all = of.all;
        let in_time = of.seen.iter().filter(|seen_s| self.met(**seen_s)).count();
        let limit = self.limit_as_written();
        let longest = self.measured(&Estimate::Exact { value: of.extreme(true) });
        if in_time == all {
            let more = of.may_miss_percent();
            return format!(
                "all {all} replications recovered within {limit}, the longest took {longest}; up to {more} % of such faults may \
                 take longer"
            );
        }
        let of_those = if of.seen.len() < all { " of those that recovered" } else { "" };
        format!("{in_time} of {all} replications recovered within {limit}, the longest{of_those} took {longest}")
    }

    fn worst_seconds(&self, of: &OfEach, answer: &Answer) -> String {
        let (all, limit) = (of.all, self.limit_as_written());
        let (right, end) = if self.below { ("below", "highest") } else { ("above", "lowest") };
        let farthest = self.measured(&Estimate::Exact { value: of.extreme(self.below) });
        match of.seen.iter().filter(|seen| !self.met(**seen)).count() {
            0 if self.judge_among(&answer.measures) == Judgement::Holds => format!(
                "{right} {limit} in all {all} replications, the {end} {farthest}; up to {} % of such runs may have a second that \
                 is not",
                of.may_miss_percent()
            ),
            // What leaves it open is the interval.
            0 => self.measured_among(&answer.measures),
            missed => format!("not {right} {limit} in {missed} of {all} replications, the {end} {farthest}"),
        }
    }

    /// Its limit as the objective has it: `30 s`.
    fn limit_as_written(&self) -> &str {
        self.text.rsplit(['<', '>']).next().unwrap_or_default().trim()
    }

    fn of_each(&self, answer: &Answer) -> Option<OfEach> {
        OfEach::of(answer, &self.metric).filter(|_| is_judged_by_each(&self.metric))
    }
}

/// What an answer has measured, and of worst seconds that of the replication that has most.
fn at_worst(answer: &Answer) -> Vec<Measure> {
    let mut measures = answer.measures.clone();
    for measure in measures.iter_mut().filter(|of| is_of_worst_second(&of.metric)) {
        if let Some(of) = OfEach::of(answer, &measure.metric) {
            measure.estimate = Estimate::Exact { value: of.extreme(true) };
        }
    }
    measures
}

#[cfg(test)]
mod tests {
    use sojourn_stats::measure::{NoInterval, mean_of_samples};

    use super::*;
    use crate::spec::Engine;

    /// An answer of replications that took so long, or did not recover.
    fn simulated(all: &[Option<f64>]) -> Answer {
        let known: Option<Vec<f64>> = all.iter().copied().collect();
        let recovered = all.iter().flatten().count() as u64;
        let estimate = known
            .map_or(Estimate::TooFew { samples: recovered }, |known| mean_of_samples(&known.iter().copied().collect()));
        let mut answer = Answer::new(Engine::Sim);
        answer.measures = vec![Measure::new(RECOVERY, "s", estimate)];
        answer.replications = vec![(RECOVERY.into(), all.to_vec())];
        answer
    }

    fn of(all: &[Option<f64>]) -> (Judgement, String) {
        let objective = Objective::parse("recovery_time < 30 s").unwrap();
        let answer = simulated(all);
        (objective.judge_answer(&answer), objective.measured_by(&answer))
    }

    /// Nine are quick and one is not: their mean is in time, and the objective is not met.
    #[test]
    fn one_fault_that_takes_longer_misses_it() {
        let mut all = vec![Some(4.0); 9];
        all.push(Some(37.0));
        let told = "9 of 10 replications recovered within 30 s, the longest took 37.0 s";
        assert_eq!(of(&all), (Judgement::Fails, told.into()));
        let mean = Objective::parse("recovery_time < 30 s").unwrap().judge_among(&simulated(&all).measures);
        assert_eq!(mean, Judgement::Holds, "of the mean alone it would be met");
        all[9] = Some(5.0);
        // 0.05^(1/10) is 0.741.
        let told = "all 10 replications recovered within 30 s, the longest took 5.00 s; up to 26 % of such faults may take \
                    longer";
        assert_eq!(of(&all), (Judgement::Holds, told.into()));
    }

    /// One that did not recover misses it as before; one that took longer does so though another may still recover.
    #[test]
    fn one_that_did_not_recover_is_told_with_those_that_did() {
        let told = "2 of 3 replications recovered within 30 s, the longest of those that recovered took 5.00 s";
        assert_eq!(of(&[Some(4.0), None, Some(5.0)]), (Judgement::NotRecovered, told.into()));
        assert_eq!(of(&[Some(4.0), None, Some(35.0)]).0, Judgement::Fails);
        assert_eq!(of(&[None, None]), (Judgement::NotRecovered, "it had not recovered by the end".into()));
    }

    /// Of what cannot be said neither number nor lack of one decides.
    #[test]
    fn a_recovery_of_which_nothing_can_be_said_is_open() {
        for text in ["recovery_time < 30 s", "recovery_time > 30 s"] {
            let objective = Objective::parse(text).unwrap();
            let untold = Answer { recovery_untold: Some("no requests came".into()), ..Answer::new(Engine::Sim) };
            assert_eq!(objective.judge_answer(&untold), Judgement::RecoveryUntold, "{text}");
            assert_eq!(objective.measured_by(&untold), "", "{text}");
            assert_eq!(objective.judge_answer(&Answer::new(Engine::Sim)), Judgement::Unknown, "nothing breaks");
        }
        let other = Objective::parse("p99 < 30 s").unwrap();
        let untold = Answer { recovery_untold: Some("no requests came".into()), ..Answer::new(Engine::Sim) };
        assert_eq!(other.judge_answer(&untold), Judgement::Unknown, "it is of another metric");
    }

    /// Replications that differ so much that their mean may be beyond the limit do not meet it.
    #[test]
    fn few_that_differ_leave_it_open() {
        assert_eq!(of(&[Some(1.0), Some(29.0)]).0, Judgement::Undecided);
    }

    /// A single live run may miss it, and does not meet it; a formula has no replications.
    #[test]
    fn a_live_run_has_one_recovery() {
        let objective = Objective::parse("recovery_time < 30 s").unwrap();
        let live = |value: f64| {
            let estimate = Estimate::WithoutInterval { value, samples: 1, why: NoInterval::TooFew };
            Answer { measures: vec![Measure::new(RECOVERY, "s", estimate)], ..Answer::new(Engine::Live) }
        };
        assert_eq!(objective.judge_answer(&live(31.0)), Judgement::Fails);
        assert_eq!(objective.judge_answer(&live(3.0)), Judgement::NoInterval);
        assert_eq!(objective.measured_by(&live(31.0)), "31.0 s (no interval: too few samples)");
        let formula = Measure::new(RECOVERY, "s", Estimate::Approximate { value: 3.0 });
        let theory = Answer { measures: vec![formula], ..Answer::new(Engine::Theory) };
        assert_eq!(objective.judge_answer(&theory), Judgement::Holds);
    }

    /// An answer of replications whose worst seconds have such a p99 (s), and in which such a share of the requests failed.
    fn of_seconds(p99_s: &[f64], failed: &[f64]) -> Answer {
        let metrics = [("worst_second_p99", "s", p99_s), ("worst_second_error_ratio", "1", failed)];
        let mut answer = Answer::new(Engine::Sim);
        for (metric, unit, values) in metrics {
            let estimate = mean_of_samples(&values.iter().copied().collect());
            answer.measures.push(Measure::new(metric, unit, estimate));
            answer.replications.push((metric.into(), values.iter().copied().map(Some).collect()));
        }
        answer
    }

    /// Each replication has a worst second of its own: three of ten that miss the limit are not hidden by the mean.
    #[test]
    fn one_worst_second_beyond_the_limit_misses_it() {
        let of = |text: &str, p99_s: &[f64]| {
            let objective = Objective::parse(text).unwrap();
            let answer = of_seconds(p99_s, &[0.0, 0.0]);
            let alone = objective.judge_among(&answer.measures);
            (objective.judge_answer(&answer), objective.measured_by(&answer), alone)
        };
        let mut all = vec![0.2; 7];
        all.extend([0.31, 0.32, 0.33]);
        let told = "not below 300 ms in 3 of 10 replications, the highest 330 ms";
        let missed = (Judgement::Fails, told.to_owned(), Judgement::Holds);
        assert_eq!(of("worst_second_p99 < 300 ms", &all), missed, "by the mean it would be met");
        // 0.05^(1/10) is 0.741.
        let told = "below 400 ms in all 10 replications, the highest 330 ms; up to 26 % of such runs may have a second that is \
                    not";
        assert_eq!(of("worst_second_p99 < 400 ms", &all).1, told);
        assert_eq!(of("worst_second_p99 < 400 ms", &all).0, Judgement::Holds);
        let told = "not above 250 ms in 7 of 10 replications, the lowest 200 ms";
        assert_eq!(of("worst_second_p99 > 250 ms", &all).1, told);
        // Each is below the limit, and their mean may be above it.
        let open = of("worst_second_p99 < 300 ms", &[0.1, 0.29]);
        assert!(open.0 == Judgement::Undecided && open.1.starts_with("195 ms ("), "{open:?}");
    }

    /// A worst second in which more failed than may be slower has no p99, in one replication of ten as in all.
    #[test]
    fn failures_of_one_replication_outdo_its_worst_second() {
        let objective = Objective::parse("worst_second_p99 < 300 ms").unwrap();
        let mut failed = vec![0.0; 9];
        failed.push(0.05);
        let outdone = objective.outdone_in(&of_seconds(&[0.2; 10], &failed)).unwrap();
        assert!(outdone.starts_with("5.00 % of the requests failed"), "the mean is 0.5 %: {outdone}");
        assert_eq!(objective.outdone_in(&of_seconds(&[0.2; 10], &[0.005; 10])), None);
    }

    /// Other objectives are judged by their measures.
    #[test]
    fn another_objective_is_judged_by_its_measure() {
        let answer = simulated(&[Some(4.0), Some(37.0)]);
        let other = Objective::parse("p99 < 30 s").unwrap();
        assert_eq!((other.judge_answer(&answer), other.measured_by(&answer)), (Judgement::Unknown, String::new()));
    }
}
