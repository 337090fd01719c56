//! What went wrong with requests, and what was while a fault lasted.

use sojourn_lab::report::{gone_wrong, legend_of_recovery, unrecovered};
use sojourn_lab::{Answers, Engine, OF_FAULTS, VariantAnswers};
use sojourn_stats::Estimate;

use super::scale::{Scale, in_scale};
use super::text::paragraph;
use super::{Grid, names};

/// What stands in a cell of [`metrics_table`] without a number.
const NONE: &str = "-";

/// What went wrong with requests, in the variants where something did; none where all went well.
pub(super) fn failure_table(answers: &Answers) -> Option<String> {
    let (rows, others) = gone_wrong(answers);
    let table = metrics_table("What went wrong", answers, &answers.failures(), &rows)?;
    let Some(others) = others else { return Some(table) };
    let others = paragraph("  ", &format!("{others}; outcomes.csv has each."));
    Some(format!("{table}\n{others}").trim_end().to_owned())
}

/// What was while a fault lasted, and how long the system took to be as before; none where no fault is planned.
pub(super) fn fault_table(answers: &Answers) -> Option<String> {
    let table = metrics_table("While a fault lasts", answers, &OF_FAULTS, &names::all_variants(answers))?;
    let legend =
        legend_of_recovery(answers, NONE).into_iter().map(|meaning| format!("\n{}", paragraph("  ", &meaning)));
    Some(std::iter::once(table.trim_end().to_owned()).chain(legend).collect())
}

/// A row for each of these variants, with a column for each of these metrics and engine that has one; none where none has.
fn metrics_table(title: &str, answers: &Answers, all: &[(&str, &str)], variants: &[&VariantAnswers]) -> Option<String> {
    let columns: Vec<(&str, &str, Engine)> = all
        .iter()
        .flat_map(|(metric, words)| Engine::ALL.map(|engine| (*metric, *words, engine)))
        .filter(|(metric, _, engine)| answers.variants.iter().any(|of| of.measure(*engine, metric).is_some()))
        .collect();
    if columns.is_empty() {
        return None;
    }
    let cell = |variant: &VariantAnswers, (metric, _, engine): &(&str, &str, Engine)| {
        variant.measure(*engine, metric).map_or(NONE.into(), |of| match &of.estimate {
            Estimate::TooFew { samples } if *metric == "recovery_time" => unrecovered(*samples).to_owned(),
            estimate => in_scale(estimate, &Scale::of_measure(of)),
        })
    };
    let header = columns.iter().map(|(_, words, engine)| format!("{words} {engine}"));
    let header: Vec<String> = std::iter::once("variant".to_owned()).chain(header).collect();
    let mut table = Grid::new(&header);
    names::add_rows(&mut table, variants, |variant| columns.iter().map(|column| cell(variant, column)).collect());
    Some(format!("\n{title}\n{}", table.continued()))
}
