//! What stands in the place of a recovery time that has no number, and what that means.
//!
//! There is one rule for tables, pages, files and objectives: a run in which every replication recovered has a time; where some
//! had not when the run ended, or none had, that is said in its place, and an objective is missed by it; of what cannot be said
//! there is no row, a note says why, and an objective is undecided.

use sojourn_stats::Estimate;

use crate::answer::{Answers, VariantAnswers};
use crate::objective::RECOVERY;
use crate::spec::Engine;

/// What stands in the place of a recovery time where not every replication recovered, of which so many did.
pub fn unrecovered(recovered: u64) -> &'static str {
    if recovered == 0 { "never" } else { "not always" }
}

/// What the cells of the recovery time that have no number mean, each once; `none` is what stands in an empty one.
pub fn legend_of_recovery(report: &Answers, none: &str) -> Vec<String> {
    let has = |engine: &Engine| report.variants.iter().any(|of| of.measure(*engine, RECOVERY).is_some());
    let engines: Vec<Engine> = Engine::ALL.into_iter().filter(has).collect();
    let cells = |variant: &'_ VariantAnswers| -> Vec<Option<Estimate>> {
        engines.iter().map(|engine| variant.estimate(*engine, RECOVERY).cloned()).collect()
    };
    let cells: Vec<Option<Estimate>> = report.variants.iter().flat_map(cells).collect();
    let has_cell = |wanted: &dyn Fn(u64) -> bool| {
        cells.iter().flatten().any(|cell| matches!(cell, Estimate::TooFew { samples } if wanted(*samples)))
    };
    let mut legend = Vec::new();
    if has_cell(&|recovered| recovered == 0) {
        legend.push(format!("{}: it had not recovered when the run ended", unrecovered(0)));
    }
    if has_cell(&|recovered| recovered > 0) {
        legend.push(format!("{}: in some replications it had not recovered when the run ended", unrecovered(1)));
    }
    if cells.contains(&None) {
        legend.push(format!(
            "{none} as a recovery: whether it recovered cannot be said, or that was not asked; where it was, a note says why"
        ));
    }
    legend
}

#[cfg(test)]
mod tests {
    use sojourn_stats::Measure;

    use super::*;
    use crate::answer::Answer;

    /// A variant whose recovery time is so known by sim, and another that has a number.
    fn legend(estimate: Option<Estimate>) -> Vec<String> {
        let variant = |estimate: Option<Estimate>| {
            let measures = estimate.map(|estimate| Measure::new(RECOVERY, "s", estimate)).into_iter().collect();
            VariantAnswers {
                answers: vec![Answer { measures, ..Answer::new(Engine::Sim) }],
                ..VariantAnswers::default()
            }
        };
        let variants = vec![variant(estimate), variant(Some(Estimate::Exact { value: 3.0 }))];
        legend_of_recovery(&Answers { variants, ..Answers::default() }, "-")
    }

    /// Each cell without a number is explained, and no other is.
    #[test]
    fn a_cell_without_a_number_is_explained() {
        let few = |samples: u64| Some(Estimate::TooFew { samples });
        assert_eq!(legend(few(0)), ["never: it had not recovered when the run ended"]);
        assert_eq!(legend(few(3)), ["not always: in some replications it had not recovered when the run ended"]);
        let [none] = &legend(None)[..] else { panic!("one line") };
        assert!(none.starts_with("- as a recovery: whether it recovered cannot be said"), "{none}");
        assert_eq!(legend(Some(Estimate::Exact { value: 2.0 })), [""; 0]);
        assert_eq!(legend_of_recovery(&Answers::default(), "-"), [""; 0], "nothing breaks");
    }
}
