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

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use sojourn_lab::{Answer, Engine, VariantAnswers};
    use sojourn_stats::measure::NoInterval;
    use sojourn_stats::{Estimate, Measure};

    use super::*;
    use crate::table::rows;

    /// `random`, of which so many requests fail, and `jsq`, which is faster in each of eight replications.
    fn two_policies(failed: f64) -> Answers {
        let variant = |policy: &str, failed: f64| {
            let replications: Vec<Option<f64>> =
                (1..9).map(|of| Some(f64::from(of) * if policy == "jsq" { 1.0 } else { 1.1 })).collect();
            let sampled = |value: f64| {
                let (ci_low, ci_high) = (0.9 * value, 1.1 * value);
                Estimate::Sampled { value, ci_low, ci_high, samples: 9 }
            };
            let measures = vec![
                Measure::new("response_time_mean", "s", sampled(4.5)),
                Measure::new("error_ratio", "1", sampled(failed)),
            ];
            let replications = vec![("response_time_mean".to_owned(), replications)];
            VariantAnswers {
                label: policy.into(),
                settings: vec![("policy".into(), policy.into())],
                answers: vec![Answer { measures, replications, ..Answer::new(Engine::Sim) }],
            }
        };
        let variants = vec![variant("random", failed), variant("jsq", 0.0)];
        Answers { settings: vec!["policy".into()], variants, ..Answers::default() }
    }

    /// Whoever reads the rows finds the pairs behind the outcomes, in the same shape.
    #[test]
    fn pairs_stand_behind_the_outcomes_in_json() {
        let told = |row: &Value| format!("{} {} {}", row["policy"], row["metric"], row["variant_a"]).replace('"', "");
        let all = rows(&two_policies(0.0));
        let expected = [
            "random response_time_mean null",
            "random error_ratio null",
            "jsq response_time_mean null",
            "jsq error_ratio null",
            "jsq response_time_mean_difference random",
            "jsq response_time_mean_ratio random",
        ];
        assert_eq!(all.iter().map(told).collect::<Vec<String>>(), expected);
        let has_number =
            |row: &Value| ["estimate", "ci_low", "ci_high", "samples"].iter().all(|key| row[key].is_number());
        assert!(all.iter().all(has_number), "{all:?}");
    }

    /// A ratio of response times of which one is of some requests only has the same mark as its mean.
    #[test]
    fn ratios_of_few_are_marked() {
        let told = |failed: f64| pairs_table(&two_policies(failed)).unwrap();
        assert!(told(0.18).contains(") *") && told(0.18).contains("*: more than 1 %"), "{}", told(0.18));
        assert!(!told(0.005).contains('*'), "{}", told(0.005));
    }

    /// What a pair has no interval of is told, and a mark only where one stands in the table.
    #[test]
    fn pairs_do_not_vanish_without_a_word() {
        let words = |answers: &Answers| {
            let told = pairs_table(answers).unwrap();
            told.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let three = || {
            let mut answers = two_policies(0.0);
            let settings = vec![("policy".to_owned(), "sed".to_owned())];
            answers.variants.push(VariantAnswers { label: "sed".into(), settings, ..answers.variants[1].clone() });
            answers
        };
        let bare = |answers: &mut Answers, variant: usize| {
            let estimate = Estimate::WithoutInterval { value: 4.5, samples: 9, why: NoInterval::TooShort };
            answers.variants[variant].answers[0].measures[0].estimate = estimate;
        };
        let mut answers = three();
        assert!(!words(&answers).contains("not compared"), "{}", words(&answers));
        bare(&mut answers, 2);
        assert!(words(&answers).contains("2 pairs are not compared: a mean has no interval."), "{}", words(&answers));
        let page = sojourn_lab::report::render(&answers);
        assert!(page.contains("<p class=\"left-out\">2 pairs are not compared: a mean has no interval.</p>"), "{page}");
        bare(&mut answers, 1);
        let none = "Response time of B over A by sim: 3 pairs are not compared: a mean has no interval.";
        assert_eq!(words(&answers), none);
        // The p99 of `sed`, beside which no mean stands, differs from the others by its interval alone, and is in no row.
        let mut answers = three();
        for (variant, reach) in answers.variants.iter_mut().zip([0.0, 0.0, 0.0945]) {
            let answer = &mut variant.answers[0];
            let p99 = Measure { metric: "response_time_p99".into(), ..answer.measures[0].clone() };
            answer.measures.push(p99);
            let more = if reach > 0.0 { 0.1 } else { 0.0 };
            let values = (0..8).map(|of| Some(1.0 + more + if of % 2 == 0 { reach } else { -reach }));
            answer.replications.push(("response_time_p99".to_owned(), values.collect()));
        }
        assert!(words(&answers).contains("\u{2020}: seen by this interval alone"), "{}", words(&answers));
        bare(&mut answers, 2);
        let p99 = sojourn_lab::compare::within(&answers, "response_time_p99");
        assert!(p99.iter().any(|of| of.comparison.is_only_alone(4)), "{p99:?}");
        assert!(!words(&answers).contains('\u{2020}'), "{}", words(&answers));
    }
}
