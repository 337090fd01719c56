//! What one run says about an objective, in words.

use sojourn_load::{Counts, Pace, Report};

use super::measured::{Finding, Measured};
use crate::objective::{Judgement, Objective};
use crate::report::number::quantity;

/// What a run says about an objective.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// Whether it was seen to hold.
    pub is_met: bool,
    /// Whether it does and, where it does not or cannot be decided, why.
    pub words: String,
}

/// What `report` says about `objective`, its doubts weighed as a search weighs them.
pub fn judge(objective: &Objective, report: &Report) -> Judged {
    let measured = Measured::from_report(objective, report);
    let (judgement, finding) = measured.judge(objective);
    let hindrance = measured.hindrance(objective, judgement);
    let is_met = finding == Finding::Holds;
    let Pace { offered, asked, .. } = report.pace;
    let most = asked.unwrap_or(offered);
    let is_planned = report.gaps.is_some() && report.objects.is_none();
    // Whatever else there is to doubt.
    let words = match (judgement, finding) {
        (Judgement::Holds, Finding::Holds) => match objective.leaves_out(&report.measures) {
            Some(left_out) => format!("{judgement}; {left_out}"),
            None => judgement.to_string(),
        },
        _ if is_planned && objective.is_beyond(most) => {
            format!("MISSED: no more than {} is offered", quantity(most, "1/s").replace('\u{a0}', " "))
        }
        (Judgement::Fails, _) if is_of_good_replies(objective) && has_no_reply(&report.measured) => {
            "MISSED: no request got a good reply".into()
        }
        (Judgement::Undecided, Finding::Open(why)) if measured.why_unsettled(objective).is_some() => {
            format!("UNDECIDED: {why}")
        }
        (Judgement::Holds | Judgement::Fails, Finding::Open(why)) => format!("UNDECIDED: {why}"),
        _ => match (hindrance, measured.enough(objective, judgement, report)) {
            (Some(why), _) => format!("UNDECIDED: {why}"),
            (None, Some(enough)) => format!("{judgement}: {enough}"),
            (None, None) => judgement.to_string(),
        },
    };
    Judged { is_met, words }
}

/// Whether it asks for good replies: so many in a second, or that few are not.
fn is_of_good_replies(objective: &Objective) -> bool {
    objective.is_beyond(0.0) || (objective.metric == "error_ratio" && objective.below)
}

/// Whether requests were made and none of them got a good reply, for a reason that is not the generator's.
fn has_no_reply(counts: &Counts) -> bool {
    let Counts { ok, planned, local, missed, .. } = *counts;
    ok == 0 && planned > 0 && local + missed == 0
}
