//! Objectives of a run folder that is opened, by today's rules.
//!
//! A folder has what the version that wrote it concluded, and rules have become stricter: a time that many requests did not get
//! meets no limit any more. So what was met is judged again by the numbers of the folder. What was missed or undecided stays so.
//! The price: doubts that stand in the experiment alone, as those of a fitted server, are taken as they were.

use super::{Judge, doubt};
use crate::answer::{Answer, Answers, ObjectiveAnswer, VariantAnswers};
use crate::objective::{Judgement, Objective};
use crate::spec::Engine;

/// Judges again what was met. Where the folder has no number for it, it is said whose verdict it is.
pub(crate) fn again(answers: &mut Answers) {
    let judge = Judge::of(&answers.variants);
    let Answers { variants, objectives, version, .. } = answers;
    for of in objectives.iter_mut().filter(|of| of.met == Some(true)) {
        let answered = variants.get(of.variant);
        let answer = answered.and_then(|answered| answered.answer(of.engine));
        let known = answered.zip(answer).zip(Objective::parse(&of.text).ok());
        let known = known.map(|((answered, answer), asked)| (asked.judge_answer(answer), asked, answered, answer));
        match known.filter(|(judgement, ..)| *judgement != Judgement::Unknown) {
            Some((judgement, asked, answered, answer)) => {
                let (met, reason) = today(&judge, &asked, judgement, answered, answer);
                if met != Some(true) {
                    let reason = reason.unwrap_or_default();
                    let measured = asked.measured_by(answer);
                    *of = ObjectiveAnswer { met, undecided: met.is_none(), measured, reason, ..of.clone() };
                }
            }
            None => of.reason = format!("by {}, which wrote the folder: it has no number to judge it by", who(version)),
        }
    }
}

/// Whether it is met, and why not.
fn today(
    judge: &Judge,
    asked: &Objective,
    judgement: Judgement,
    answered: &VariantAnswers,
    answer: &Answer,
) -> (Option<bool>, Option<String>) {
    let doubt = match answer.engine {
        Engine::Live => doubt::of_live(asked, judgement, answer),
        Engine::Log => None,
        Engine::Theory | Engine::Sim | Engine::Twin => {
            doubt::by_log(asked, judgement, judge.doubt.as_deref(), answered)
        }
    };
    match judgement {
        _ if doubt.is_some() => (None, doubt),
        Judgement::Holds => {
            let outdone = asked.outdone_in(answer);
            (outdone.is_none().then_some(true), outdone)
        }
        Judgement::Fails | Judgement::NoSample | Judgement::NotRecovered => (Some(false), None),
        Judgement::Undecided
        | Judgement::NoInterval
        | Judgement::TooFew
        | Judgement::RecoveryUntold
        | Judgement::Unknown => (None, None),
    }
}

/// The version that wrote a folder.
fn who(version: &str) -> String {
    if version.is_empty() { "the version".to_owned() } else { format!("sojourn {version}") }
}

#[cfg(test)]
mod tests {
    use sojourn_stats::{Estimate, Measure};

    use super::*;
    use crate::answer::{Trust, Verdict};

    /// What becomes of an objective that a folder says is met, by an engine with these numbers: with their ends, 10 % off.
    fn opened(text: &str, engine: Engine, numbers: &[(&str, f64)], verdict: Verdict) -> (Option<bool>, String) {
        let measure = |(metric, value): &(&str, f64)| {
            let estimate =
                Estimate::Sampled { value: *value, ci_low: 0.9 * value, ci_high: 1.1 * value, samples: 9000 };
            Measure::new(*metric, "s", estimate)
        };
        let trust = Trust { verdict, reasons: vec!["late".into()], ..Trust::default() };
        let trust = Some(trust).filter(|_| engine == Engine::Live);
        let (measures, curve) = (numbers.iter().map(measure).collect(), vec![(0.0, 0.0), (0.2, 1.0)]);
        let answer = Answer { measures, curve, trust, ..Answer::new(engine) };
        let objective = ObjectiveAnswer {
            text: text.to_owned(),
            variant: 0,
            engine,
            met: Some(true),
            undecided: false,
            measured: "as it was".to_owned(),
            reason: String::new(),
        };
        let mut answers = Answers {
            version: "0.0.1".to_owned(),
            variants: vec![VariantAnswers { answers: vec![answer], ..VariantAnswers::default() }],
            objectives: vec![objective],
            ..Answers::default()
        };
        again(&mut answers);
        let of = &answers.objectives[0];
        assert_eq!((of.undecided, of.measured == "as it was"), (of.met.is_none(), of.met == Some(true)), "{of:?}");
        (of.met, of.reason.clone())
    }

    #[test]
    fn what_was_met_is_judged_by_the_rules_of_today() {
        let p99 = "response_time_p99 < 100 ms";
        let of = |numbers: &[(&str, f64)]| opened(p99, Engine::Sim, numbers, Verdict::Valid);
        let time = |value: f64| ("response_time_p99", value);
        assert_eq!(of(&[time(0.05)]), (Some(true), String::new()), "as it stands");
        assert_eq!(of(&[time(0.05), ("error_ratio", 0.001)]), (Some(true), String::new()));
        let (met, why) = of(&[time(0.05), ("error_ratio", 0.001), ("abandoned_ratio", 0.2)]);
        assert!(met.is_none() && why.starts_with("20.1 % of the requests failed or were given up"), "{why}");
        assert_eq!(of(&[time(0.095)]), (None, String::new()), "the limit is inside the interval");
        assert_eq!(of(&[time(0.2)]), (Some(false), String::new()));
    }

    #[test]
    fn a_live_run_in_doubt_met_nothing() {
        let of = |verdict: Verdict| {
            opened("response_time_p99 < 100 ms", Engine::Live, &[("response_time_p99", 0.05)], verdict)
        };
        assert_eq!(of(Verdict::Valid), (Some(true), String::new()));
        assert_eq!(of(Verdict::Suspect), (None, "the live run is SUSPECT: late".to_owned()));
    }

    /// Where there is nothing to judge by, it is the verdict of another version.
    #[test]
    fn without_a_number_the_verdict_is_that_of_the_version() {
        let why = "by sojourn 0.0.1, which wrote the folder: it has no number to judge it by";
        let kept = (Some(true), why.to_owned());
        let other = [("response_time_mean", 0.05)];
        assert_eq!(opened("response_time_p99 < 100 ms", Engine::Sim, &other, Verdict::Valid), kept);
        assert_eq!(opened("a_metric_of_old < 3", Engine::Sim, &other, Verdict::Valid), kept);
    }
}
