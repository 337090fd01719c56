//! What must hold, as `[objective]` writes it, where the experiment has what it is about.

use std::collections::BTreeMap;

use sojourn_model::system::Trouble;
use sojourn_stats::quantity;

use super::{Engine, Question, Reader, Run, SpecError, Text};
use crate::objective::{self, Need, Objective};

impl Reader<'_> {
    pub(super) fn objectives(
        &self,
        raw: BTreeMap<String, Text>,
        question: &Question,
        run: &Run,
    ) -> Result<Vec<Objective>, SpecError> {
        raw.into_iter()
            .map(|(metric, text)| {
                let fail = |message: &str| self.at(&text, &metric, message);
                let written = text.get_ref().trim();
                if let Some(meant) = objective::without_equal(written, false) {
                    return Err(fail(&format!("{}: did you mean `{meant}`?", objective::NEVER_EQUAL)));
                }
                let below = written.starts_with('<');
                if !below && !written.starts_with('>') {
                    return Err(fail("an objective starts with < or >, e.g. `< 500 ms`"));
                }
                let metric = objective::full_name(&metric);
                let Some(dimension) = objective::dimension(&metric) else {
                    return Err(fail(&objective::unknown(&metric, &objective::known())));
                };
                if let Some(right) = why_unmeasured(&metric, question, run) {
                    return Err(fail(right));
                }
                let limit = quantity::parse(written[1..].trim(), dimension).map_err(|e| fail(&e.to_string()))?;
                let objective = Objective { text: format!("{metric} {written}"), metric, below, limit };
                objective.impossible(&objective.metric).map_or(Ok(objective), |why| Err(fail(&why)))
            })
            .collect()
    }
}

/// What is missing in an experiment for a metric that is about what goes wrong; none where it is measured, or about something
/// else.
fn why_unmeasured(metric: &str, question: &Question, run: &Run) -> Option<&'static str> {
    let need = objective::need_of(metric)?;
    let Question::System(asked) = question else { return Some("nothing breaks in a network of queues") };
    let (faults, rules) = (&asked.system.faults, &asked.system.rules);
    let gives_up = rules.timeout.is_some() || rules.deadline.is_some() || rules.retries.is_some();
    match need {
        Need::Attempts if rules.retries.is_none() && rules.hedge.is_none() => {
            Some("clients ask once only: say `retries` or `hedge` under [client]")
        }
        Need::Attempts => None,
        Need::Seconds if faults.is_empty() && !gives_up => {
            Some("nothing is counted by seconds: plan a [[fault]], or say `timeout` under [client]")
        }
        Need::Fault if faults.is_empty() => Some("nothing breaks: plan a [[fault]]"),
        Need::Recovery if faults.is_empty() => Some("there is nothing to recover from: plan a [[fault]]"),
        Need::Recovery if faults.iter().any(|fault| fault.until.is_none() && fault.trouble != Trouble::Restarted) => {
            Some("a fault never ends, so that nothing recovers: give it `until`")
        }
        _ if run.by.contains(&Engine::Sim) && run.duration.is_none() => {
            Some("seconds are counted in runs with an end: give `duration` under [run]")
        }
        _ => None,
    }
}
