//! Why a number decides nothing although it is on one side of the limit.

use crate::answer::{Answer, Trust, VariantAnswers, Verdict};
use crate::objective::{Judgement, Objective, unanswered};
use crate::report::number::is_share;
use crate::spec::Engine;

/// Why a live run decides nothing: what it measured may be the generator's doing, or the machine's. Too many failures and no
/// good reply at all stay what they are. Where nothing but failures is in doubt, an upper limit on a percentile is missed by
/// what is above it without them, and met where they leave the percentile known.
pub(super) fn of_live(objective: &Objective, judgement: Judgement, answer: &Answer) -> Option<String> {
    let trust = answer.trust.as_ref().filter(|trust| trust.verdict != Verdict::Valid)?;
    let Trust { verdict, reasons, is_of_failures: only_failures, .. } = trust;
    let is_told = match judgement {
        Judgement::Fails => objective.limits_a_percentile(),
        _ => objective.bears(unanswered(&answer.measures)),
    };
    if *only_failures && is_told {
        return None;
    }
    let is_of_failures = objective.below && is_share(&objective.metric);
    if judgement == Judgement::NoSample || judgement == Judgement::Fails && is_of_failures {
        return None;
    }
    let why = reasons.first().map_or(String::new(), |reason| format!(": {reason}"));
    Some(format!("the live run is {}{why}", verdict.word()))
}

/// Why a model decides nothing, by the log that is replayed: it does not give what happened, as `doubt` says, or the log says
/// the contrary of this objective.
pub(super) fn by_log(
    objective: &Objective,
    judgement: Judgement,
    doubt: Option<&str>,
    answered: &VariantAnswers,
) -> Option<String> {
    if let Some(doubt) = doubt {
        return Some(format!("the model is SUSPECT by the log: {doubt}"));
    }
    let happened = answered.answer(Engine::Log)?;
    let is_decided = |of: Judgement| matches!(of, Judgement::Holds | Judgement::Fails);
    let by_log = objective.judge_answer(happened);
    let contradicts = is_decided(by_log) && is_decided(judgement) && by_log != judgement;
    contradicts.then(|| format!("the log contradicts the model: it has {}", objective.measured_by(happened)))
}
