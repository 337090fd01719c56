//! Two run folders beside each other, variant by variant.
//!
//! Of a few variants every metric is a row of a table. Of many these would be too many to read: each has the lines that matter,
//! in one table for all, and notes stand once.

use serde_json::{Value, json};
use sojourn_lab::compare::{self, Comparison, How, VariantComparison};
use sojourn_lab::{Answers, Engine, FAILURES, Verdict};

use super::Arguments;
use super::rows::{Group, brief, legend, table_of, to_json};
use crate::exit::{Exit, Failure, bad_input};
use crate::table;

/// More rows than this are not read: of each variant only those that matter are shown, unless all are asked for.
const ROWS_MOST: usize = 40;

pub(super) fn compare(arguments: &Arguments) -> Result<Exit, Failure> {
    let open = |path: &str| Answers::open(path).map_err(bad_input);
    let (a, b) = (open(&arguments.a)?, open(&arguments.b)?);
    let compared = compare::runs(&a, &b).map_err(bad_input)?;
    let verdict = a.verdict.max(b.verdict);
    let count = compare::judged_together(&compared);
    if arguments.json {
        let row = |of: &VariantComparison| {
            let metrics: Vec<Value> = of.metrics.iter().map(|of| to_json(of, count)).collect();
            let left_out: Vec<&str> = of.left_out.iter().map(|of| of.metric.as_str()).collect();
            json!({"variant": of.label, "engine": of.engine, "metrics": metrics, "left_out": left_out,
                   "replications": {"a": of.replications.0, "b": of.replications.1}})
        };
        let rows: Vec<Value> = compared.iter().map(row).collect();
        let differ = differing(&a, &b);
        let differ: Vec<Value> = differ.iter().map(|(key, a, b)| json!({"setting": key, "a": a, "b": b})).collect();
        let told = json!({"a": arguments.a, "b": arguments.b, "verdict": verdict, "differ": differ, "variants": rows,
                          "not_compared": alone(&a, &b)});
        table::outln(&serde_json::to_string_pretty(&told).expect("plain JSON"));
    } else {
        table::outln(&format!("A  {} ({})\nB  {} ({})", arguments.a, a.name, arguments.b, b.name));
        in_what(&differing(&a, &b)).iter().for_each(|line| table::outln(line));
        tables(&compared, arguments.all, count).iter().for_each(|told| table::outln(told));
        for (name, label) in alone(&a, &b) {
            table::outln(&table::hanging("  ", "    ", &format!("only {name} has the variant {label}")));
        }
        // As below servers measured in turns; what has no live run needs no word where it is good.
        if verdict != Verdict::Valid {
            table::outln(verdict.word());
        }
        let reasons = [("A", &a), ("B", &b)].map(|(name, answers)| answers.reasons.iter().map(move |r| (name, r)));
        for (name, reason) in reasons.into_iter().flatten() {
            table::outln(&table::hanging("  ", "    ", &format!("{name}: {reason}")));
        }
    }
    Ok(if verdict == Verdict::Valid { Exit::Ok } else { Exit::Missed })
}

/// The comparisons of what was measured or simulated: formulas have no intervals to be judged by.
fn sampled(compared: &[VariantComparison]) -> impl Iterator<Item = &Comparison> {
    compared.iter().filter(|of| of.engine != Engine::Theory).flat_map(|of| &of.metrics)
}

/// The tables of these variants, or where they have too many rows and not all are asked for, the one of what matters; and what a
/// reader must know of them, once. So many comparisons are judged.
fn tables(compared: &[VariantComparison], all: bool, count: usize) -> Vec<String> {
    let rows: usize = compared.iter().map(|of| of.metrics.len()).sum();
    let (mut told, about): (Vec<String>, Vec<String>) = match all || rows <= ROWS_MOST {
        true => {
            let whole = |of: &VariantComparison| {
                let name = table::paragraph("", &format!("{}, {}", of.label, of.engine));
                let advice = compare::advice(&of.metrics).into_iter().map(|told| table::paragraph("  ", &told));
                let table = format!("\n{name}\n{}", table_of(&of.metrics, count));
                std::iter::once(table).chain(advice).collect::<Vec<_>>().join("\n")
            };
            // What is all left out has notes below, and no table.
            let told = compared.iter().filter(|of| !of.metrics.is_empty());
            (told.map(whole).collect(), legend(sampled(compared), count))
        }
        false => {
            let groups = groups(compared);
            let shown: Vec<&Comparison> = groups.iter().flat_map(|(_, lines)| lines).map(|(_, of)| *of).collect();
            let about = legend(shown.iter().copied(), count)
                .into_iter()
                .chain([left_out(compared, rows, &shown)])
                .chain(compare::would_have_been_seen(&shown));
            (vec![format!("\n{}", brief(&groups, count))], about.chain(compare::hardest(compared)).collect())
        }
    };
    let notes = about.into_iter().chain(bases(compared)).chain(compare::notes(compared));
    told.push(String::new());
    told.extend(notes.map(|note| table::paragraph("", &note)));
    told
}

/// That not all comparisons are shown, and how many of the others see a difference.
fn left_out(compared: &[VariantComparison], rows: usize, shown: &[&Comparison]) -> String {
    let all = compared.iter().flat_map(|of| &of.metrics).filter(|of| of.differs()).count();
    let others = all - shown.iter().filter(|of| of.differs()).count();
    format!(
        "These are {} of {rows} comparisons: of each variant response times, and what goes wrong more or less often. Of the \
         others {others} see a difference; --all shows them.",
        shown.len()
    )
}

/// What is told of each variant, in their order.
fn groups(compared: &[VariantComparison]) -> Vec<Group<'_>> {
    // Two variants may be called alike; the engines of one have an order.
    let variants = compared.chunk_by(|one, next| one.label == next.label && one.engine < next.engine);
    let groups = variants.map(|of| (of[0].label.as_str(), lines(of)));
    groups.filter(|(_, lines)| !lines.is_empty()).collect()
}

/// Of these response times a variant has [`TIMES_MOST`], the means first.
const TIMES: [&str; 2] = ["response_time_mean", "response_time_p99"];
const TIMES_MOST: usize = 2;

/// What matters of a variant: two of its response times, by the engines that measured or simulated it, if any did, and the first
/// of what goes wrong that is seen to differ; where it has none of these, its first metric.
fn lines(of: &[VariantComparison]) -> Vec<(Engine, &Comparison)> {
    let measured: Vec<&VariantComparison> =
        of.iter().filter(|of| !matches!(of.engine, Engine::Theory | Engine::Twin)).collect();
    let by = if measured.is_empty() { of.iter().collect() } else { measured };
    let times = TIMES.into_iter().flat_map(|metric| of_metric(&by, metric)).take(TIMES_MOST);
    let wrong = FAILURES.into_iter().flat_map(|(metric, _)| of_metric(&by, metric)).find(|(_, of)| of.differs());
    let told: Vec<(Engine, &Comparison)> = times.chain(wrong).collect();
    if told.is_empty() {
        return by.iter().copied().filter_map(|of| Some((of.engine, of.metrics.first()?))).take(1).collect();
    }
    told
}

/// The comparisons of this metric, with who says it.
fn of_metric<'a>(by: &[&'a VariantComparison], metric: &str) -> Vec<(Engine, &'a Comparison)> {
    let one = |of: &'a VariantComparison| of.metrics.iter().find(|one| one.metric == metric);
    by.iter().copied().filter_map(|of| Some((of.engine, one(of)?))).collect()
}

/// On what A and B rest, and on what the interval beside them.
fn bases(compared: &[VariantComparison]) -> Option<String> {
    let is_of_replications = |of: &Comparison| of.how != How::Estimates;
    let of_replications = "A and B are of all requests; B / A and its interval are of replications, by their logarithms, and so \
                           not quite B over A.";
    let of_both = "the interval of B / A is that of A and of B together.";
    // A note tells why what is of whole runs is.
    let told = || sampled(compared).filter(|of| !of.is_of_whole_runs());
    match (told().any(is_of_replications), told().any(|of| !is_of_replications(of))) {
        (true, true) => Some(format!("{of_replications} Without replications {of_both}")),
        (true, false) => Some(of_replications.to_owned()),
        (false, true) => Some(format!("Without replications {of_both}")),
        (false, false) => None,
    }
}

/// The settings of the experiments in which two runs differ, and what else made them: name, value in A and in B.
fn differing(a: &Answers, b: &Answers) -> Vec<(String, String, String)> {
    let settings = compare::differing(&[a, b]);
    let mut all: Vec<(String, String, String)> = settings
        .into_iter()
        .filter_map(|(key, values)| Some((key, values.first()?.clone(), values.last()?.clone())))
        .collect();
    if a.version != b.version {
        all.push(("version".to_owned(), a.version.clone(), b.version.clone()));
    }
    all
}

/// More settings that differ are counted; a page of both runs has all (`sojourn report A B`).
const DIFFERENCES_MOST: usize = 12;

/// In what two runs differ, in lines.
fn in_what(differ: &[(String, String, String)]) -> Vec<String> {
    let line = |(key, a, b): &(String, String, String)| {
        table::hanging("  ", "    ", &format!("{key}: {} in A, {} in B", short(a), short(b)))
    };
    let mut lines = vec![match differ.is_empty() {
        true => "Their experiments are the same.".to_owned(),
        false => "Their experiments differ in".to_owned(),
    }];
    lines.extend(differ.iter().take(DIFFERENCES_MOST).map(line));
    let more = differ.len().saturating_sub(DIFFERENCES_MOST);
    if more > 0 {
        lines.push(format!("  and {more} more settings: `sojourn report A B` lists them"));
    }
    lines
}

/// A value as far as it fits in a line.
fn short(value: &str) -> String {
    const MOST: usize = 60;
    let line: String = value.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.chars().count() {
        0..=MOST => line,
        _ => line.chars().take(MOST).chain(['\u{2026}']).collect(),
    }
}

/// The variants that only one of two runs has, with its name.
fn alone<'a>(a: &'a Answers, b: &'a Answers) -> Vec<(&'static str, &'a str)> {
    let (of_a, of_b): (Vec<usize>, Vec<usize>) = compare::in_common(a, b).into_iter().unzip();
    let missing = |name, of: &'a Answers, common: &[usize]| -> Vec<(&'static str, &'a str)> {
        let rest = of.variants.iter().enumerate().filter(|(place, _)| !common.contains(place));
        rest.map(|(_, variant)| (name, variant.label.as_str())).collect()
    };
    [missing("A", a, &of_a), missing("B", b, &of_b)].concat()
}

#[cfg(test)]
mod tests {
    use sojourn_lab::compare::LeftOut;
    use sojourn_stats::Estimate;
    use sojourn_stats::measure::NoInterval;

    use super::*;

    /// A variant by an engine, of which each of these metrics is B / A times as much.
    fn variant(label: &str, engine: Engine, metrics: &[(&str, f64)]) -> VariantComparison {
        let estimate =
            |value: f64| Estimate::Sampled { value, ci_low: 0.95 * value, ci_high: 1.05 * value, samples: 99 };
        let of = |(metric, times): &(&str, f64)| {
            Comparison::of_estimates(metric, "s", &estimate(0.01), &estimate(0.01 * times)).unwrap()
        };
        let metrics = metrics.iter().map(of).collect();
        VariantComparison { label: label.into(), engine, metrics, left_out: vec![left_out()], replications: (0, 0) }
    }

    /// A metric of which both runs were too short.
    fn left_out() -> LeftOut {
        let short = Some(NoInterval::TooShort);
        LeftOut { metric: "waiting".into(), a: short, b: short, times: None, spent: compare::Spent::Unknown }
    }

    const MANY: [(&str, f64); 6] = [
        ("response_time_mean", 1.5),
        ("response_time_p90", 1.5),
        ("response_time_p99", 1.0),
        ("error_ratio", 1.0),
        ("abandoned_ratio", 2.0),
        ("throughput", 1.0),
    ];

    /// 40 variants of simulation and theory: their names, three lines each, and every note once.
    #[test]
    fn many_variants_have_the_lines_that_matter() {
        let labels: Vec<String> = (0..40).map(|n| format!("random, servers {n}")).collect();
        let both = |label: &String| [Engine::Theory, Engine::Sim].map(|engine| variant(label, engine, &MANY));
        let compared: Vec<VariantComparison> = labels.iter().flat_map(both).collect();
        let count = sampled(&compared).count();
        assert_eq!(count, 240);
        let told = tables(&compared, false, count).join("\n");
        assert!(told.lines().count() < 4 * 40 + 25, "{} lines:\n{told}", told.lines().count());
        for (part, times) in [("mean sim", 40), ("p99 sim", 40), ("given up sim", 40), ("theory", 0)] {
            assert_eq!(told.matches(part).count(), times, "{part}:\n{told}");
        }
        let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
        // Of the others p90 by sim, and three by theory.
        for part in [
            "These are 120 of 480 comparisons",
            "Of the others 160 see a difference; --all shows them.",
            "Where no difference was seen, one of this size would have been seen four times in five: response_time_p99 ",
            "Without replications the interval of B / A is that of A and of B together.",
            "Not compared: waiting: A and B are too short runs for an interval; how long is enough is not known",
        ] {
            assert_eq!(words.matches(part).count(), 1, "{part}:\n{told}");
        }
        let all = tables(&compared, true, count).join("\n");
        // Once with the numbers of A and B, and once with what tells of both.
        assert_eq!(all.matches("response_time_p90").count(), 160, "{all}");
        assert_eq!(all.matches("Not compared").count(), 1, "{all}");
        assert!(!all.contains("--all"), "{all}");
    }

    /// Where nothing has an interval in both runs there is no table, and why is said.
    #[test]
    fn what_is_all_left_out_is_said() {
        let bare = VariantComparison { metrics: Vec::new(), ..variant("a", Engine::Live, &[]) };
        let told = tables(&[bare], false, 0).join("\n");
        assert!(told.trim_start().starts_with("Not compared: waiting: A and B are too short runs"), "{told}");
    }

    /// What two variants say is all read, and so has a table each.
    #[test]
    fn few_variants_have_all_metrics() {
        let compared = ["random", "jsq"].map(|label| variant(label, Engine::Sim, &MANY));
        let told = tables(&compared, false, 12).join("\n");
        assert!(told.contains("random, sim\n") && told.matches("abandoned_ratio").count() == 4, "{told}");
        assert!(!told.contains("--all"), "{told}");
    }

    /// Of live runs and their simulations the mean of both is told, and of formulas only where nothing else says it.
    #[test]
    fn lines_are_of_what_was_measured_or_simulated() {
        let of = |engines: &[Engine], metrics: &[(&str, f64)]| {
            let all: Vec<VariantComparison> = engines.iter().map(|engine| variant("a", *engine, metrics)).collect();
            let told = |(engine, of): &(Engine, &Comparison)| format!("{} {engine}", of.metric);
            lines(&all).iter().map(told).collect::<Vec<_>>().join(", ")
        };
        let all = [Engine::Theory, Engine::Sim, Engine::Live, Engine::Twin];
        let means = "response_time_mean sim, response_time_mean live";
        assert_eq!(of(&all, &MANY), format!("{means}, abandoned_ratio sim"));
        assert_eq!(of(&all, &MANY[..4]), means);
        assert_eq!(of(&all[..1], &MANY[..4]), "response_time_mean theory, response_time_p99 theory");
        assert_eq!(of(&all, &MANY[5..]), "throughput sim");
        let alike = ["a", "a"].map(|label| variant(label, Engine::Sim, &MANY));
        assert_eq!(groups(&alike).len(), 2, "two that are called alike are two");
    }
}
