//! The tables of a comparison, and its JSON: a row for each metric, with the interval that its verdict follows from.

use serde_json::{Value, json};
use sojourn_lab::compare::{Between, Comparison, legend_of_alone, legend_of_failures};
use sojourn_lab::outcome::ratio;
use sojourn_lab::{Engine, FAILURES};

use crate::table;

const HEADER: [&str; 7] = ["metric", "A", "B", "B / A", "effect", "from", SEEN];

/// A variant's name, and what is told of it: by whom, and the comparison.
pub(super) type Group<'a> = (&'a str, Vec<(Engine, &'a Comparison)>);

/// Every metric of one variant, where so many comparisons are judged in all.
pub(super) fn table_of(comparisons: &[Comparison], among: usize) -> String {
    table_in(comparisons, among, table::width())
}

/// The rows of a table so wide at most, each a line where there is room for one. Where there is none for the own numbers of A and
/// B beside what tells of both, they stand above it in a table of their own.
fn table_in(comparisons: &[Comparison], among: usize, width: usize) -> String {
    let cells: Vec<[String; 7]> = comparisons.iter().map(|of| cells(of, among)).collect();
    // In one line a ratio stands with its interval; where that is too wide, the interval may stand below it.
    let of = |columns: &[usize], spare: &[usize], in_a_line: bool| {
        let header: Vec<&str> = columns.iter().map(|column| HEADER[*column]).collect();
        let place = |column: &usize| columns.iter().position(|of| of == column);
        let spare: Vec<usize> = spare.iter().filter_map(place).collect();
        let text: Vec<usize> = place(&6).into_iter().collect();
        let cell = |row: &[String; 7], column: usize| match in_a_line && column == 3 {
            true => together(&row[column]),
            false => row[column].clone(),
        };
        let mut grid = table::Grid::new(&header).text(&text).spare(&spare);
        cells.iter().for_each(|row| grid.add_row(columns.iter().map(|column| cell(row, *column))));
        grid
    };
    let drawn = match of(&[0, 1, 2, 3, 6], &[], true).fits(width) {
        true => of(&[0, 1, 2, 3, 4, 5, 6], &[4, 5], true).at_most(width),
        false => {
            let in_a_line = of(&[0, 3, 6], &[], true).fits(width);
            let (sides, both) = (of(&[0, 1, 2], &[1], false), of(&[0, 3, 4, 5, 6], &[4, 5], in_a_line));
            [sides.at_most(width), both.at_most(width)].join("\n")
        }
    };
    drawn.replace(TOGETHER, " ")
}

/// A space at which no line breaks, as long as a table is drawn.
const TOGETHER: char = '\u{a0}';
/// A verdict of up to so many letters, such as "none in either", stays on its line.
const SHORT_VERDICT: usize = 14;

/// The same text, which no line breaks.
fn together(text: &str) -> String {
    text.replace(' ', &TOGETHER.to_string())
}

/// What is seen, below a heading that says so. What it takes to see more stands below the table, once for all rows.
fn seen(c: &Comparison, among: usize) -> String {
    c.short_verdict(among).replace(&format!(" {SEEN}"), "")
}

/// The cells of a row.
fn cells(c: &Comparison, among: usize) -> [String; 7] {
    let verdict = match seen(c, among) {
        short if short.chars().count() <= SHORT_VERDICT => together(&short),
        long => long,
    };
    [
        c.metric.clone(),
        table::number_of(&c.metric, c.a, &c.unit),
        table::number_of(&c.metric, c.b, &c.unit),
        interval(c),
        c.effect_size.map_or(String::new(), |size| format!("{size:.1}")),
        together(&c.how.to_string()),
        verdict,
    ]
}

/// The interval that decides, with its number: the ratio, or the difference, which says that it is one; or that nothing is known.
fn interval(c: &Comparison) -> String {
    let difference = || {
        let Between { value, low, high } = c.difference;
        format!("B - A {}", table::difference(&c.metric, (value, low, high), &c.unit))
    };
    let told = || c.told_ratio().map_or_else(difference, |of| ratio(of.value, (of.low, of.high)));
    c.not_known().unwrap_or_else(told)
}

/// What is told of many variants, in one table, where so many comparisons are judged in all.
pub(super) fn brief(groups: &[Group<'_>], among: usize) -> String {
    brief_in(groups, among, table::width())
}

fn brief_in(groups: &[Group<'_>], among: usize, width: usize) -> String {
    let mut grid = table::Grid::new(&["of", "A", "B", "B / A", SEEN]).text(&[4]).spare(&[1, 2]);
    for (label, lines) in groups {
        grid.add_heading(label);
        for (engine, of) in lines {
            let [a, b] = [of.a, of.b].map(|value| table::number_of(&of.metric, value, &of.unit));
            grid.add_row([format!("  {} {engine}", words(&of.metric)), a, b, interval(of), seen(of, among)]);
        }
    }
    grid.at_most(width).replace(TOGETHER, " ")
}

/// The heading of what is seen, which the cells below it need not say again.
const SEEN: &str = "seen";

/// What a metric is called in a narrow column.
fn words(metric: &str) -> &str {
    let failure = FAILURES.iter().find(|(of, _)| *of == metric).map(|(_, words)| *words);
    failure.unwrap_or_else(|| metric.strip_prefix("response_time_").unwrap_or(metric))
}

/// What the marks of these comparisons mean; none where none has one.
pub(super) fn legend<'a>(told: impl IntoIterator<Item = &'a Comparison>, among: usize) -> Vec<String> {
    let told: Vec<&Comparison> = told.into_iter().collect();
    let alone = told.iter().any(|of| of.has_mark(among)).then(|| legend_of_alone(among));
    alone.into_iter().chain(legend_of_failures(&told)).collect()
}

/// A comparison, of so many that are judged in all.
pub(super) fn to_json(c: &Comparison, among: usize) -> Value {
    let ends = |between: &Between| json!({"estimate": between.value, "ci_low": between.low, "ci_high": between.high});
    json!({
        "metric": c.metric,
        "unit": c.unit,
        "a": c.a,
        "b": c.b,
        "failed_a": c.failed[0],
        "failed_b": c.failed[1],
        "difference": ends(&c.difference),
        "ratio": c.ratio.as_ref().map(ends),
        "effect_size": c.effect_size,
        "could_have_seen": c.could_have_seen,
        "more": c.more,
        "step": c.step,
        "differs": c.differs(),
        "differs_among_all": c.differs_among(among),
        "from": c.how.to_string(),
        "verdict": c.verdict(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a usual terminal each side has its own number, and each verdict its interval.
    #[test]
    fn both_sides_are_told_at_any_usual_width() {
        let of = |metric: &str, a: f64, b: f64| {
            let pairs: Vec<(f64, f64)> = (0..5).map(|at| (a, b * (1.0 + 0.3 * f64::from(at)))).collect();
            Comparison::of_pairs(metric, "s", &pairs).unwrap()
        };
        let compared = [of("response_time_mean", 198.5e-6, 0.8), of("response_time_from_sent_mean", 0.0831, 0.5)];
        for width in [72, 80, 100, 200] {
            let told = table_in(&compared, 2, width);
            assert!(told.lines().all(|line| line.chars().count() <= width), "{width}:\n{told}");
            // 1.28 s is the mean of B.
            for part in ["198.5 us", "1.28 s", "83.10 ms", "B / A", "B is slower"] {
                assert!(told.contains(part), "{width}: {part}:\n{told}");
            }
        }
        let narrow = table_in(&compared, 2, 72);
        assert_eq!(narrow.matches("response_time_from_sent_mean").count(), 2, "two tables:\n{narrow}");
    }

    /// On a usual terminal a row is a line, also where no difference is seen or nothing is known, and what it takes is not in it.
    #[test]
    fn a_row_is_a_line() {
        let noisy = [(0.1, 0.13), (0.1, 0.08), (0.1, 0.11), (0.1, 0.09), (0.1, 0.105)];
        let of = |metric: &str, pairs: &[(f64, f64)]| Comparison::of_pairs(metric, "s", pairs).unwrap();
        let names = ["response_time_mean", "response_time_p99.9", "response_time_from_sent_mean"];
        let mut compared: Vec<Comparison> = names.iter().map(|name| of(name, &noisy)).collect();
        compared.push(of("response_time_p95", &[(0.1, 1.0), (0.1, 0.1)]));
        let told = table_in(&compared, 4, 80);
        assert!(told.lines().all(|line| line.chars().count() <= 80), "{told}");
        let rows = told.lines().filter(|line| line.starts_with('\u{2502}'));
        // Two tables: names and rows of both sides, and of B over A.
        assert_eq!(rows.count(), 2 * (1 + compared.len()), "{told}");
        for (part, times) in [("no difference ", 4), ("not known (2 pairs)", 1), ("takes", 0), (" seen ", 1)] {
            assert_eq!(told.matches(part).count(), times, "{part}:\n{told}");
        }
        // With short names there is one table.
        let told = table_in(&[of("throughput", &noisy)], 1, 80);
        assert_eq!(told.lines().filter(|line| line.starts_with('\u{2502}')).count(), 2, "{told}");
    }

    /// Where the ratio's interval alone would see a difference, the row has the difference, which does not.
    #[test]
    fn a_row_has_the_interval_that_decides() {
        let of = |pairs: &[(f64, f64)]| Comparison::of_pairs("response_time_mean", "s", pairs).unwrap();
        let told = table_in(&[of(&[(10.0, 11.0), (20.0, 23.0), (30.0, 32.0)])], 1, 200);
        assert!(told.contains("B - A 2.00 s (-0.485 to 4.49 s)") && !told.contains("1.105"), "{told}");
        assert!(told.contains(" seen ") && told.contains("no difference "), "{told}");
        let told = table_in(&[of(&[(10.0, 12.0), (20.0, 24.0), (30.0, 36.1), (10.0, 12.1)])], 1, 200);
        assert!(told.contains("B is slower") && !told.contains("B - A"), "{told}");
        // Of shares it is in per cent, as A and B are.
        let shares = Comparison::of_pairs("error_ratio", "1", &[(0.0, 0.01), (0.0, 0.02), (0.01, 0.03)]).unwrap();
        let told = table_in(&[shares], 1, 200);
        assert!(told.contains(" 0.333 %") && told.contains(" 2.00 %") && told.contains("B - A 1.67 % ("), "{told}");
    }

    /// Of many variants each has its name once and a line for each number, and no line is broken on a usual terminal.
    #[test]
    fn many_variants_are_one_table() {
        let pairs = [(0.1, 0.11), (0.1, 0.12), (0.1, 0.105), (0.1, 0.115), (0.1, 0.102)];
        let of = |metric: &str| Comparison::of_pairs(metric, "s", &pairs).unwrap();
        let (mean, p99) = (of("response_time_mean"), of("response_time_p99"));
        let unseen = Comparison::of_pairs("abandoned_ratio", "1", &[(0.1, 0.11), (0.1, 0.09), (0.1, 0.105)]).unwrap();
        let labels: Vec<String> = (0..40).map(|n| format!("round-trip(window = 100 ms), servers {n}")).collect();
        let lines = vec![(Engine::Sim, &mean), (Engine::Live, &p99), (Engine::Sim, &unseen)];
        let groups: Vec<Group<'_>> = labels.iter().map(|label| (label.as_str(), lines.clone())).collect();
        let told = brief_in(&groups, 600, 80);
        assert_eq!(told.lines().count(), 3 + 4 * 40 + 1, "{told}");
        assert!(told.lines().all(|line| line.chars().count() <= 80), "{told}");
        for part in [
            "round-trip(window = 100 ms), servers 39 ",
            "  mean sim ",
            "  p99 live ",
            "100.0 ms",
            "  given up sim   10.00 %   10.17 %",
            "B is slower \u{2020}",
        ] {
            assert!(told.contains(part), "{part}:\n{told}");
        }
        let meaning = legend([&mean], 600).concat();
        assert!(meaning.starts_with("\u{2020}: seen by this interval alone; where all 600 are judged"), "{meaning}");
        assert!(legend([&mean], 1).is_empty());
    }

    /// A time of the answered requests is marked, or not judged, in words and for a program.
    #[test]
    fn failures_are_told_with_times() {
        let pairs = [(1.0, 0.8), (1.2, 0.97), (1.4, 1.13)];
        let with = |failed: [Option<f64>; 2]| Comparison {
            failed,
            ..Comparison::of_pairs("response_time_mean", "s", &pairs).unwrap()
        };
        let unjudged = with([Some(0.48), Some(0.6)]);
        let json = to_json(&unjudged, 1);
        assert_eq!((json["failed_a"].as_f64(), json["failed_b"].as_f64()), (Some(0.48), Some(0.6)));
        assert_eq!(json["verdict"], "not judged: more of B's requests failed");
        assert!(table_in(std::slice::from_ref(&unjudged), 1, 120).contains("not judged"));
        assert!(legend([&unjudged], 1).concat().starts_with("not judged: "));
        let few = with([Some(0.6), Some(0.48)]);
        assert!(table_in(std::slice::from_ref(&few), 1, 120).contains("B is faster *"));
        assert!(legend([&few], 1).concat().starts_with("*: more than 1 %"));
        assert!(to_json(&with([None; 2]), 1)["failed_a"].is_null());
    }

    /// The numbers and names of the JSON are those that scripts know, and what holds among all is told beside.
    #[test]
    fn json_tells_what_holds_among_all() {
        let pairs = [(1.0, 1.1), (1.0, 1.2), (1.0, 1.05), (1.0, 1.15), (1.0, 1.02)];
        let of = Comparison::of_pairs("response_time_mean", "s", &pairs).unwrap();
        let (alone, among) = (to_json(&of, 1), to_json(&of, 40));
        assert_eq!((&alone["differs"], &alone["differs_among_all"]), (&true.into(), &true.into()));
        assert_eq!((&among["differs"], &among["differs_among_all"]), (&true.into(), &false.into()));
        assert_eq!((&alone["verdict"], &among["verdict"]), (&"B is slower".into(), &"B is slower".into()));
    }
}
