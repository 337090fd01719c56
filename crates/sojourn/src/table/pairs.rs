//! Variants that are equal but for one setting, two by two.

use sojourn_lab::Answers;
use sojourn_lab::compare::{ALONE, Within, about_pairs, legend_of_alone, within, without_interval};
use sojourn_lab::outcome::ratio as told_ratio;

use super::Grid;
use super::text::paragraph;
use super::times::{MARK_OF_FEW, legend_of_few};

/// More pairs than this are left to the report.
const PAIRS_LINES: usize = 20;

/// Variants that are equal but for one setting, two by two, and which pairs are left out; none where there are neither. Of too
/// many to read, where they are.
pub(super) fn pairs_table(answers: &Answers) -> Option<String> {
    let all = within(answers, "response_time_mean");
    let left_out = without_interval(answers).join(" ");
    if all.is_empty() {
        let told = format!("Response time of B over A by sim: {left_out}");
        return (!left_out.is_empty()).then(|| format!("\n{}", paragraph("", &told)));
    }
    if all.len() > PAIRS_LINES {
        let told = format!(
            "Response time of B over A by sim: {} pairs of variants, in report.html and pairs.csv. {left_out}",
            all.len()
        );
        return Some(format!("\n{}", paragraph("", told.trim_end().trim_end_matches('.'))));
    }
    let p99 = within(answers, "response_time_p99");
    let has_others = all.iter().any(|of| !of.others.is_empty());
    let names = ["at", "B", "A", "mean B / A", "p99 B / A"];
    let header = &names[usize::from(!has_others)..names.len() - usize::from(p99.is_empty())];
    let mut table = Grid::new(header).elsewhere("report.html");
    let about = about_pairs(&[answers], &[&all[..], &p99[..]].concat());
    let count = all.len() + p99.len();
    let is_alone = |of: &Within| of.comparison.is_only_alone(count);
    let ratio = |of: Option<&Within>| {
        let few = if of.is_some_and(|of| of.is_of_few) { MARK_OF_FEW } else { "" };
        let alone = if of.is_some_and(is_alone) { format!(" {ALONE}") } else { String::new() };
        if let Some(not_known) = of.and_then(|of| of.comparison.not_known()) {
            return format!("{not_known}{few}");
        }
        let ratio = of.and_then(|of| of.comparison.ratio);
        ratio.map_or("-".into(), |of| format!("{}{few}{alone}", told_ratio(of.value, (of.low, of.high))))
    };
    // What a mark means is said where one stands in a row.
    let mut told: Vec<String> = Vec::new();
    for of in &all {
        let same = p99.iter().find(|other| (&other.others, &other.values) == (&of.others, &of.values));
        let ratios = [ratio(Some(of)), ratio(same)].into_iter().take(if p99.is_empty() { 1 } else { 2 });
        let ratios: Vec<String> = ratios.collect();
        told.extend_from_slice(&ratios);
        let others = has_others.then(|| of.others.clone());
        table.add_row(others.into_iter().chain([of.values.1.clone(), of.values.0.clone()]).chain(ratios));
    }
    let has = |mark: &str| told.iter().any(|cell| cell.contains(mark));
    let few = if has(MARK_OF_FEW) { legend_of_few() } else { String::new() };
    let alone = match has(ALONE) {
        true => format!("\n{}", paragraph("  ", &legend_of_alone(count))),
        false => String::new(),
    };
    let about = format!("{left_out} {about}");
    Some(format!("\nResponse time of B over A by sim\n{table}{few}{alone}\n{}", paragraph("", about.trim_start())))
}
