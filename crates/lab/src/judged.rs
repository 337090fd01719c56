//! What an answer says about an objective, and why it may say nothing.
//!
//! The number decides ([`Objective::judge_answer`]) where nothing speaks against it. A number by a model that is SUSPECT, or
//! that the log contradicts, decides nothing, whichever side of the limit it is on: the objective is then UNDECIDED, with that
//! as its reason. So is a number of a live run that is not VALID, but for too many failures: these happened, and may be why the
//! run is in doubt. So is a time below its limit where more requests failed than may be slower, or where with these as the
//! slowest it would not be below it, and a recovery for which the run was too short, or of which nothing can be said for another
//! reason. What is out of every system's reach is missed, however short the run is.

mod doubt;
pub(crate) mod each;
mod opened;

use sojourn_sim::CALM;
use sojourn_traffic::Workload;

use crate::answer::{Answer, ObjectiveAnswer, VariantAnswers, Verdict};
use crate::engine;
use crate::objective::{GIVEN_UP, Judgement, Objective};
use crate::report::number::quantity;
use crate::spec::{Engine, Spec};

pub(crate) use self::opened::again;

/// What is known of all variants before the objectives of one are judged.
pub(crate) struct Judge {
    /// Why the model does not give what happened, by the log.
    doubt: Option<String>,
}

impl Judge {
    /// Of variants whose models have been set beside the log, where there is one.
    pub(crate) fn of(variants: &[VariantAnswers]) -> Judge {
        let mut trusts = variants.iter().filter_map(VariantAnswers::model_trust);
        let suspect = trusts.find(|trust| trust.verdict != Verdict::Valid);
        Judge { doubt: suspect.and_then(|trust| trust.reasons.first().cloned()) }
    }

    /// The objectives of variant number `variant`, each by every engine that has a number, or by those that say why none has.
    pub(crate) fn objectives(
        &self,
        variant: usize,
        experiment: &Spec,
        answered: &VariantAnswers,
    ) -> Vec<ObjectiveAnswer> {
        // An engine that has no number at all has said why once.
        let is_silent = answered.answers.iter().all(|answer| answer.measures.is_empty());
        let speak = |answer: &&Answer| is_silent || !answer.measures.is_empty();
        let of_one = |objective: &Objective| -> Vec<ObjectiveAnswer> {
            let asked = Asked { judge: self, objective, experiment, answered };
            answered.answers.iter().filter(speak).map(|answer| asked.by(answer, variant)).collect()
        };
        experiment.objectives.iter().flat_map(of_one).collect()
    }
}

/// An objective of a variant.
struct Asked<'a> {
    judge: &'a Judge,
    objective: &'a Objective,
    experiment: &'a Spec,
    answered: &'a VariantAnswers,
}

impl Asked<'_> {
    /// What an engine says of it.
    fn by(&self, answer: &Answer, variant: usize) -> ObjectiveAnswer {
        let Asked { objective, experiment, .. } = *self;
        let has_faults = experiment.system().is_some_and(|asked| !asked.system.faults.is_empty());
        let judgement = objective.judge_answer(answer);
        // No system can do it, however short the run is.
        let beyond = self.beyond();
        // It may still have recovered in time.
        let early =
            (judgement == Judgement::NotRecovered).then(|| ended_early(objective, experiment, answer)).flatten();
        let judgement = match judgement {
            open if is_open(open) && beyond.is_some() => Judgement::Fails,
            Judgement::NotRecovered if early.is_some() => Judgement::Undecided,
            judgement => judgement,
        };
        let doubt = match judgement {
            Judgement::Unknown => None,
            _ if beyond.is_some() => None,
            _ => self.doubt(judgement, answer),
        };
        let measured = match early {
            Some(_) => "not yet recovered".to_owned(),
            None => objective.measured_by(answer),
        };
        let is_doubted = doubt.is_some();
        let reason = match judgement {
            _ if is_doubted => doubt,
            _ if early.is_some() => early,
            Judgement::RecoveryUntold => answer.recovery_untold.clone(),
            Judgement::Holds => objective.outdone_in(answer),
            open if is_open(open) && has_faults => Some(open_over_a_fault(answer.engine, open)),
            open if is_open(open) => self.open(open, answer),
            Judgement::Fails => beyond,
            _ => None,
        };
        let is_untold = judgement == Judgement::RecoveryUntold;
        let undecided =
            is_doubted || is_untold || is_open(judgement) || (judgement == Judgement::Holds && reason.is_some());
        let reason = match judgement {
            Judgement::Holds if !undecided => self.left_out(answer),
            _ => reason,
        };
        ObjectiveAnswer {
            text: objective.text.clone(),
            variant,
            engine: answer.engine,
            met: match judgement {
                _ if undecided => None,
                Judgement::Holds => Some(true),
                Judgement::Fails | Judgement::NoSample | Judgement::NotRecovered => Some(false),
                _ => None,
            },
            undecided,
            measured,
            reason: reason.unwrap_or_default(),
        }
    }

    /// Why it is open, and what would decide it where that is known. None where only the interval does not tell.
    fn open(&self, judgement: Judgement, answer: &Answer) -> Option<String> {
        let enough = self.objective.enough(&answer.measures, answer.engine == Engine::Live);
        let why = format!("{}; {}", lack(judgement), more(answer.engine));
        match enough {
            Some(enough) => Some(format!("{why}: {enough}")),
            None => (judgement != Judgement::Undecided).then_some(why),
        }
    }

    /// Why what an engine says of it is not to be relied on.
    fn doubt(&self, judgement: Judgement, answer: &Answer) -> Option<String> {
        match answer.engine {
            Engine::Theory | Engine::Sim | Engine::Twin => self.doubt_of_model(judgement),
            Engine::Live => doubt::of_live(self.objective, judgement, answer),
            Engine::Log => None,
        }
    }

    /// Why what a model says of it is not to be relied on, whatever it says: the fit that the model is from said so, or the log
    /// that is replayed does.
    fn doubt_of_model(&self, judgement: Judgement) -> Option<String> {
        let asked = self.experiment.system()?;
        if let Some(doubt) = asked.findings.doubts.first() {
            return Some(format!("the server model is SUSPECT: {doubt}"));
        }
        doubt::by_log(self.objective, judgement, self.judge.doubt.as_deref(), self.answered)
    }

    /// What a limit that is met does not tell, unless another limit does.
    fn left_out(&self, answer: &Answer) -> Option<String> {
        left_out(self.objective, &self.experiment.objectives, answer)
    }

    /// Why no system can meet it: it asks for more good replies than requests are offered.
    fn beyond(&self) -> Option<String> {
        let asked = self.experiment.system().filter(|asked| asked.system.faults.is_empty())?;
        let rate = offered(&asked.workload).filter(|rate| self.objective.is_beyond(*rate))?;
        Some(format!("no more than {} is offered", quantity(rate, "1/s").replace('\u{a0}', " ")))
    }
}

/// Why a recovery that was not seen may still be within its limit: the run ended sooner after the last fault than a recovery
/// within it shows. None where it did not.
pub(crate) fn ended_early(objective: &Objective, experiment: &Spec, answer: &Answer) -> Option<String> {
    let (seen_s, calm_s) = engine::seen_after(&experiment.system()?.system, &answer.over_time)?;
    let seen = quantity(seen_s, "s").replace('\u{a0}', " ");
    let length = match answer.engine {
        Engine::Live | Engine::Twin => "run.live.duration",
        _ => "run.duration",
    };
    let why = || {
        format!(
            "the run ended {seen} after the last fault had ended, and {calm_s:.0} s in a row as before it show a recovery; a \
             longer `{length}` tells"
        )
    };
    objective.allows_recovery_after(broken_until(seen_s, calm_s)).then(why)
}

/// How long after a fault (s) it was surely not as before, in a run that ended so long after it without the calm seconds that
/// show a recovery: as many of them, but for one interval, may have been at the end.
fn broken_until(seen_s: f64, calm_s: f64) -> f64 {
    seen_s - calm_s * (CALM - 1) as f64 / CALM as f64
}

/// What a limit that is met does not tell, unless another one of `all` does.
pub(crate) fn left_out(objective: &Objective, all: &[Objective], answer: &Answer) -> Option<String> {
    let is_limited = all.iter().any(|of| of.below && of.metric == GIVEN_UP);
    objective.leaves_out(&answer.measures).filter(|_| !is_limited)
}

/// Whether more of the same may decide it.
fn is_open(judgement: Judgement) -> bool {
    matches!(judgement, Judgement::Undecided | Judgement::NoInterval | Judgement::TooFew)
}

/// How many requests a second (1/s) come, where their gaps say so.
fn offered(workload: &Workload) -> Option<f64> {
    match workload {
        Workload::Open(open) => open.arrivals.rate(),
        _ => None,
    }
}

/// What leaves an objective open.
fn lack(judgement: Judgement) -> &'static str {
    match judgement {
        Judgement::NoInterval => "the number has no interval",
        Judgement::TooFew => "too few samples for a number",
        _ => "the interval does not tell",
    }
}

/// What more of the same is by an engine.
fn more(engine: Engine) -> &'static str {
    match engine {
        Engine::Sim => "more replications, or longer ones",
        _ => "measure longer",
    }
}

/// Why an objective is open where a fault is in the run: a run that is longer has the same fault and more of the time without.
fn open_over_a_fault(engine: Engine, judgement: Judgement) -> String {
    let what = match engine {
        Engine::Sim => "more replications have the fault more often, longer ones are another mixture",
        _ => "the fault is in this run once, and a longer one is another mixture: repeat it",
    };
    format!("{}; {what}", lack(judgement))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use sojourn_stats::measure::NoInterval;
    use sojourn_stats::{Estimate, Measure};

    use super::*;
    use crate::answer::{MetricOverTime, Trust};

    const FILE: &str = "name = \"x\"\n[workload]\nkind = \"open\"\narrivals = \"exponential(rate = 10 /s)\"\n[system.server]\n\
                        discipline = \"ps\"\ndemand = \"10 ms\"\n[objective]\nmean = \"< 50 ms\"\nthroughput = \"> 12 /s\"\n";

    fn answer(engine: Engine, mean: (f64, f64)) -> Answer {
        let of = |value: f64, half: f64| Estimate::Sampled {
            value,
            ci_low: value - half,
            ci_high: value + half,
            samples: 900,
        };
        let measures = vec![
            Measure::new("response_time_mean", "s", of(mean.0, mean.1)),
            Measure::new("throughput", "1/s", of(10.0, 3.0)),
        ];
        Answer { measures, ..Answer::new(engine) }
    }

    fn judged(answers: Vec<Answer>) -> Vec<ObjectiveAnswer> {
        let experiment = Spec::parse(FILE, Path::new("x.toml")).unwrap();
        let answered = VariantAnswers { answers, ..VariantAnswers::default() };
        let mean = |of: &ObjectiveAnswer| of.text.starts_with("response_time_mean");
        let judge = Judge::of(std::slice::from_ref(&answered));
        judge.objectives(0, &experiment, &answered).into_iter().filter(mean).collect()
    }

    /// What the model meets and the log misses is open by the model.
    #[test]
    fn the_log_contradicts_a_model() {
        let of = judged(vec![answer(Engine::Sim, (0.048, 0.001)), answer(Engine::Log, (0.053, 0.001))]);
        let told: Vec<(&str, String)> = of.iter().map(ObjectiveAnswer::words).collect();
        let contradicted = "UNDECIDED: the log contradicts the model: it has 53.0 ms (52.0 to 54.0 ms)";
        assert_eq!(told, [("warn", contradicted.into()), ("bad", "MISSED".into())]);
        let of = judged(vec![answer(Engine::Sim, (0.048, 0.001)), answer(Engine::Log, (0.049, 0.0005))]);
        assert!(of.iter().all(|of| of.met == Some(true)), "{of:?}");
        // A log that does not decide contradicts nothing.
        let of = judged(vec![answer(Engine::Sim, (0.048, 0.001)), answer(Engine::Log, (0.051, 0.003))]);
        assert_eq!((of[0].met, of[1].met), (Some(true), None), "{of:?}");
    }

    /// A model that does not give what happened decides nothing, whichever side of the limit its number is on.
    #[test]
    fn a_model_that_misses_the_log_decides_nothing() {
        for mean in [0.02, 0.09] {
            let trust = Trust { verdict: Verdict::Suspect, reasons: vec!["it misses".into()], ..Trust::default() };
            let happened = Answer { trust: Some(trust), ..answer(Engine::Log, (0.04, 0.001)) };
            let of = judged(vec![answer(Engine::Sim, (mean, 0.001)), happened]);
            assert_eq!((of[0].met, of[0].undecided, of[1].met), (None, true, Some(true)), "{of:?}");
            assert_eq!(of[0].words().1, "UNDECIDED: the model is SUSPECT by the log: it misses");
        }
    }

    /// A live run that is in doubt meets nothing, and misses no more than failures show.
    #[test]
    fn a_live_run_in_doubt_decides_nothing_but_failures() {
        let words = |objective: &str, verdict: Verdict, value: f64| {
            let file = format!("{}[objective]\n{objective}\n", FILE.split("[objective]").next().unwrap());
            let experiment = Spec::parse(&file, Path::new("x.toml")).unwrap();
            let estimate = Estimate::Sampled { value, ci_low: 0.9 * value, ci_high: 1.1 * value, samples: 900 };
            let measures = vec![Measure::new(experiment.objectives[0].metric.clone(), "1", estimate)];
            let reasons = if verdict == Verdict::Valid { vec![] } else { vec!["late".into(), "busy".into()] };
            let trust = Some(Trust { verdict, reasons, ..Trust::default() });
            let live = Answer { measures, trust, ..Answer::new(Engine::Live) };
            let answered = VariantAnswers { answers: vec![live], ..VariantAnswers::default() };
            let of = Judge::of(&[]).objectives(0, &experiment, &answered);
            assert_eq!(of[0].met.is_none(), of[0].undecided, "{of:?}");
            of[0].words()
        };
        let (valid, suspect) = (Verdict::Valid, Verdict::Suspect);
        let doubted = || ("warn", "UNDECIDED: the live run is SUSPECT: late".to_owned());
        assert_eq!(words("mean = \"< 5 s\"", valid, 0.2), ("good", "met".into()));
        assert_eq!(words("mean = \"< 5 s\"", suspect, 0.2), doubted(), "a number in doubt is not green");
        assert_eq!(words("mean = \"< 5 ms\"", suspect, 0.2), doubted(), "nor red");
        assert_eq!(words("mean = \"< 0.21 s\"", suspect, 0.2), doubted(), "a longer run would not help");
        assert_eq!(words("error_ratio = \"< 30%\"", suspect, 0.2), doubted());
        for share in ["error_ratio", "abandoned_ratio"] {
            assert_eq!(words(&format!("{share} = \"< 1%\""), suspect, 0.2), ("bad", "MISSED".into()), "{share}");
        }
        assert_eq!(words("error_ratio = \"> 90%\"", suspect, 0.2), doubted(), "that few failed is no failure");
        let (_, told) = words("mean = \"< 5 s\"", Verdict::Incomplete, 0.2);
        assert_eq!(told, "UNDECIDED: the live run is INCOMPLETE: late");
    }

    /// A live run of which 4 % timed out, and that is in no other doubt, knows in what time half of all requests were answered.
    #[test]
    fn a_live_run_that_only_failed_decides_what_failures_leave_known() {
        let judged = |objective: &str, is_of_failures: bool| {
            let file = format!("{}[objective]\n{objective}\n", FILE.split("[objective]").next().unwrap());
            let experiment = Spec::parse(&file, Path::new("x.toml")).unwrap();
            let time =
                |value: f64| Estimate::Sampled { value, ci_low: 0.9 * value, ci_high: 1.1 * value, samples: 900 };
            let measures = vec![
                Measure::new("response_time_mean", "s", time(0.2)),
                Measure::new("response_time_p50", "s", time(0.1)),
                Measure::new("response_time_p90", "s", time(0.4)),
                Measure::new("response_time_p99", "s", time(0.6)),
                Measure::new("error_ratio", "1", Estimate::Exact { value: 0.04 }),
            ];
            let reasons = vec!["8 of 200 requests failed".to_owned()];
            let trust = Some(Trust { verdict: Verdict::Suspect, reasons, is_of_failures, ..Trust::default() });
            let live = Answer { measures, trust, ..Answer::new(Engine::Live) };
            let answered = VariantAnswers { answers: vec![live], ..VariantAnswers::default() };
            Judge::of(&[]).objectives(0, &experiment, &answered).remove(0).met
        };
        assert_eq!(judged("p50 = \"< 1 s\"", true), Some(true));
        assert_eq!(judged("p50 = \"< 50 ms\"", true), Some(false));
        assert_eq!(judged("p99 = \"< 50 ms\"", true), Some(false), "too slow without those that failed");
        for open in ["p99 = \"< 1 s\"", "mean = \"< 1 s\"", "p50 = \"< 120 ms\""] {
            assert_eq!(judged(open, true), None, "{open}");
        }
        assert_eq!(judged("p50 = \"< 1 s\"", false), None, "another doubt may be the reason");
    }

    /// What leaves an objective open is said as it is: where there is no interval none can tell.
    #[test]
    fn what_leaves_an_objective_open_is_the_reason() {
        let words = |engine: Engine, file: &str, estimate: Estimate| {
            let experiment = Spec::parse(file, Path::new("x.toml")).unwrap();
            let measures = vec![Measure::new("response_time_mean", "s", estimate)];
            let answers = vec![Answer { measures, ..Answer::new(engine) }];
            let answered = VariantAnswers { answers, ..VariantAnswers::default() };
            let of = Judge::of(&[]).objectives(0, &experiment, &answered);
            of.iter().find(|of| of.text.starts_with("response_time_mean")).unwrap().words().1
        };
        let bare = || Estimate::WithoutInterval { value: 0.118, samples: 2000, why: NoInterval::TooShort };
        let few = || Estimate::TooFew { samples: 3 };
        let wide = || Estimate::Sampled { value: 0.05, ci_low: 0.03, ci_high: 0.07, samples: 2000 };
        let longer = "more replications, or longer ones";
        assert_eq!(words(Engine::Sim, FILE, bare()), format!("UNDECIDED: the number has no interval; {longer}"));
        assert_eq!(words(Engine::Sim, FILE, few()), format!("UNDECIDED: too few samples for a number; {longer}"));
        assert_eq!(words(Engine::Sim, FILE, wide()), format!("UNDECIDED: the interval does not tell; {longer}"));
        assert_eq!(words(Engine::Live, FILE, bare()), "UNDECIDED: the number has no interval; measure longer");
        assert_eq!(words(Engine::Live, FILE, wide()), "UNDECIDED: the interval does not tell; measure longer");
        let fault = "[client]\ntimeout = \"1 s\"\n[run]\nduration = \"5 s\"\n[[fault]]\nat = \"2 s\"\nuntil = \"3 s\"\n\
                     server = 1\nwhat = \"slow(0.9)\"\n[objective]";
        let told = words(Engine::Sim, &FILE.replace("[objective]", fault), bare());
        assert!(told.starts_with("UNDECIDED: the number has no interval; more replications have the fault"), "{told}");
    }

    /// What an objective `recovery_time < limit` comes to by sim, in a run of 20 s whose only fault ends after 3 s.
    fn recovery(limit: &str, answer: Answer) -> ObjectiveAnswer {
        let fault = "[client]\ntimeout = \"1 s\"\n[run]\nduration = \"20 s\"\n[[fault]]\nat = \"2 s\"\nuntil = \"3 s\"\n\
                     server = 1\nwhat = \"slow(0.9)\"\n[objective]";
        let file = FILE.split("[objective]").next().unwrap().to_owned() + fault;
        let experiment = Spec::parse(&format!("{file}\nrecovery_time = \"< {limit}\"\n"), Path::new("x.toml")).unwrap();
        let mean = Measure::new("response_time_mean", "s", Estimate::Exact { value: 0.01 });
        let measures = std::iter::once(mean).chain(answer.measures.clone()).collect();
        let answered = VariantAnswers { answers: vec![Answer { measures, ..answer }], ..VariantAnswers::default() };
        Judge::of(&[]).objectives(0, &experiment, &answered).remove(0)
    }

    /// Why a recovery cannot be told is the reason for which its objective is open: it is not missed, nor without a number.
    #[test]
    fn a_recovery_that_cannot_be_told_leaves_its_objective_open() {
        let why = "whether it recovered cannot be said: no requests ended before the fault";
        let of = recovery("30 s", Answer { recovery_untold: Some(why.into()), ..Answer::new(Engine::Sim) });
        assert_eq!((of.met, of.measured.as_str()), (None, ""));
        assert_eq!(of.words(), ("warn", format!("UNDECIDED: {why}")));
    }

    /// The last four of the 17 s after the fault may have been as before it, so that it was not for 13 s.
    #[test]
    fn what_had_not_recovered_by_the_end_misses_what_is_over_by_then() {
        let at = |limit: &str| {
            let points = (0..20).map(|at| (f64::from(at), Estimate::Exact { value: 0.0 })).collect();
            let over_time = vec![MetricOverTime { metric: "failed".into(), unit: "1/s".into(), points }];
            let measures = vec![Measure::new("recovery_time", "s", Estimate::TooFew { samples: 0 })];
            recovery(limit, Answer { measures, over_time, ..Answer::new(Engine::Sim) })
        };
        let missed = at("12 s");
        assert_eq!((missed.met, missed.measured.as_str()), (Some(false), "it had not recovered by the end"));
        for limit in ["14 s", "18 s"] {
            let open = at(limit);
            assert!(open.met.is_none() && open.undecided && open.measured == "not yet recovered", "{limit}: {open:?}");
            assert!(open.reason.starts_with("the run ended 17"), "{open:?}");
        }
    }

    /// What no system can do is missed, however little is known of it.
    #[test]
    fn what_is_beyond_every_system_is_missed() {
        let experiment = Spec::parse(FILE, Path::new("x.toml")).unwrap();
        let answered =
            VariantAnswers { answers: vec![answer(Engine::Sim, (0.04, 0.001))], ..VariantAnswers::default() };
        let of = Judge::of(&[]).objectives(0, &experiment, &answered);
        let rate = of.iter().find(|of| of.text.starts_with("throughput")).unwrap();
        assert_eq!(rate.words(), ("bad", "MISSED: no more than 10.0 /s is offered".into()), "12 is inside 7 to 13");
    }
}
