//! What scheduling costs, by phase: what a client waits longer where a node decides, and where it is redirected, and what
//! processor time decisions and reports take.
//!
//! Figures come from `overhead.csv` beside the page, which the benchmark of nodes writes: a page of 1 kB from nodes that are
//! idle, one client, all on one core; and a file of 1.5 MB while four other clients keep that core busy.

use std::fmt::Write;
use std::path::Path;

use serde::Deserialize;

use super::Published;
use crate::ReproduceError;
use crate::finding::{self, Finding};
use crate::kept;
use crate::number::{Number, interval, known, scaled};
use crate::verdict::below;

/// The file beside the page.
const FILE: &str = "overhead.csv";

/// The share of theirs below which ours is judged to be much less.
const LESS: f64 = 0.1;

/// The share of a client's time that is insignificant (reading 23).
const INSIGNIFICANT: f64 = 0.05;

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Row {
    what: String,
    unit: String,
    value: f64,
    low: Option<f64>,
    high: Option<f64>,
}

/// The section, of what was kept beside the page; nothing where nothing was.
pub(super) fn text(kept: &Path, published: &Published) -> Result<String, ReproduceError> {
    let rows: Vec<Row> = kept::read(&kept.join(FILE))?;
    Ok(if rows.is_empty() { String::new() } else { section(&rows, published) })
}

fn section(rows: &[Row], published: &Published) -> String {
    let mut text = format!(
        "{HEAD}| phase | printed | here | processor time here |\n|---|---|---|---|\n\
         | estimating what each node would take | {} to {} ms | {} us | {} us |\n\
         | a redirection, until its client has the page | {} ms, to make it | {} us | {} us |\n",
        published.of("estimate_low"),
        published.of("estimate_high"),
        interval(number(rows, "decide"), 1),
        alone(rows, "decide_cpu", 1),
        published.of("redirection"),
        interval(number(rows, "redirect"), 1),
        alone(rows, "redirect_cpu", 1),
    );
    let _ = writeln!(
        text,
        "\nReports of load, five a second to four others, take {} % of a core of each node.\n",
        alone(rows, "reports_cpu", 3)
    );
    text += &loaded(rows);
    text + &finding::table(&findings(rows, published), "they found")
}

/// Under the conditions of their table 5.
fn loaded(rows: &[Row]) -> String {
    let Some(own) = number(rows, "loaded") else { return String::new() };
    let part = |phase: &str, what: &str| {
        let added = number(rows, what);
        let share = interval(scaled(share_of(added, own), 100.0), 2);
        format!("| {phase} | {} | {share} |\n", interval(added, 1))
    };
    format!(
        "{LOADED_HEAD}| phase | us | of the client's {} ms (%) |\n|---|---|---|\n{}{}\n",
        interval(Some(own), 2),
        part("estimating what each node would take", "loaded_decide"),
        part("a redirection, until its client has the file", "loaded_redirect"),
    )
}

/// A time (us) as a share of another (ms).
fn share_of(us: Option<Number>, ms: Number) -> Option<Number> {
    // Differences may be below 0, so that the interval of a quotient does not serve; that of the whole is narrow beside theirs.
    scaled(us, 1e-3 / ms.value)
}

fn findings(rows: &[Row], published: &Published) -> Vec<Finding> {
    let less = |what: &str, theirs_ms: f64| below(number(rows, what), known(LESS * theirs_ms * 1e3));
    let shares = number(rows, "loaded")
        .map(|own| ["loaded_decide", "loaded_redirect"].map(|what| share_of(number(rows, what), own)));
    let under_load = shares.map(|shares| Finding {
        place: "4.3, table 5",
        claim: "A file of 1.5 MB, heavy load: the overhead is insignificant (here: less than 5 % of the client's time)",
        comparisons: shares.iter().map(|share| below(*share, known(INSIGNIFICANT))).collect(),
        ours: shares.map(|share| format!("{} %", interval(scaled(share, 100.0), 2))).join(" and "),
        why: "a redirection is a second request, which waits for the busy core as any other.",
    });
    let direct = Finding {
        place: "4.3, table 5",
        claim: "Estimating takes 1 to 4 ms, making a redirection 4 ms (here: less than a tenth of the least)",
        comparisons: vec![less("decide", published.of("estimate_low")), less("redirect", published.of("redirection"))],
        ours: format!("{} and {} us", interval(number(rows, "decide"), 1), interval(number(rows, "redirect"), 1)),
        why: "what is left is the second request that a redirection costs its client, whatever the processor.",
    };
    [direct].into_iter().chain(under_load).collect()
}

fn row<'a>(rows: &'a [Row], what: &str) -> Option<&'a Row> {
    rows.iter().find(|row| row.what == what)
}

fn number(rows: &[Row], what: &str) -> Option<Number> {
    let row = row(rows, what)?;
    Some(Number { value: row.value, low: row.low?, high: row.high?, is_suspect: false })
}

fn alone(rows: &[Row], what: &str, digits: usize) -> String {
    row(rows, what).map_or("-".into(), |row| format!("{:.digits$}", row.value))
}

const HEAD: &str = "
## What scheduling costs

A page of 1 kB from an idle node: what its client waits longer where the node's broker decides, over the same page under the
node's own name, where nothing is decided; and where it is redirected, over that. By `make sweb-live`, medians over rounds.

";

const LOADED_HEAD: &str = "\
A file of 1.5 MB while four other clients fetch it without a pause, so that the one core that all share is busy all the time:

";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Verdict;

    /// What is added under load (us) to a client's 5 ms.
    fn loaded_world(decide_us: f64, redirect_us: f64) -> Vec<Row> {
        let of = |what: &str, unit: &str, value: f64| Row {
            what: what.into(),
            unit: unit.into(),
            value,
            low: Some(value - 20.0),
            high: Some(value + 20.0),
        };
        let own = Row { low: Some(4.9), high: Some(5.1), ..of("loaded", "ms", 5.0) };
        vec![own, of("loaded_decide", "us", decide_us), of("loaded_redirect", "us", redirect_us)]
    }

    fn world(decide_us: f64, redirect_us: f64) -> Vec<Row> {
        let of = |what: &str, value: f64, wide: Option<f64>| Row {
            what: what.into(),
            unit: "us".into(),
            value,
            low: wide.map(|wide| value - wide),
            high: wide.map(|wide| value + wide),
        };
        vec![
            of("decide", decide_us, Some(0.5)),
            of("redirect", redirect_us, Some(2.0)),
            of("decide_cpu", 0.4, None),
            of("redirect_cpu", 30.0, None),
            of("reports_cpu", 0.123, None),
        ]
    }

    #[test]
    fn each_phase_is_shown_and_judged() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../experiments/sweb-1996/published");
        let published = Published::read(&folder).unwrap();
        let verdict = |rows: &[Row]| findings(rows, &published)[0].verdict();
        assert_eq!(verdict(&world(0.7, 49.0)), Verdict::Holds);
        assert_eq!(verdict(&world(300.0, 49.0)), Verdict::InPart);
        assert_eq!(verdict(&world(300.0, 1000.0)), Verdict::Fails);
        assert_eq!(verdict(&[]), Verdict::Undecidable);
        assert_eq!(findings(&world(0.7, 49.0), &published).len(), 1, "nothing was measured under load");
        let under_load = |decide, redirect| {
            let rows = [world(0.7, 49.0), loaded_world(decide, redirect)].concat();
            (findings(&rows, &published)[1].verdict(), section(&rows, &published))
        };
        let (verdict, text) = under_load(-10.0, 120.0);
        assert_eq!(verdict, Verdict::Holds);
        assert!(text.contains("would take | -10.0 (-30.0 to 10.0) | -0.20 (-0.60 to 0.20) |"), "{text}");
        assert!(text.contains("| 120.0 (100.0 to 140.0) | 2.40 (2.00 to 2.80) |"), "{text}");
        assert_eq!(under_load(-10.0, 1000.0).0, Verdict::InPart);
        let text = section(&world(0.7, 49.0), &published);
        assert!(text.contains("| 1 to 4 ms | 0.7 (0.2 to 1.2) us | 0.4 us |"), "{text}");
        assert!(text.contains("| 4 ms, to make it | 49.0 (47.0 to 51.0) us | 30.0 us |"), "{text}");
        assert!(text.contains("0.123 % of a core"), "{text}");
        assert_eq!(super::text(Path::new("/nonexistent"), &published).unwrap(), "");
    }
}
