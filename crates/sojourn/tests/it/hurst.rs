//! `sojourn traffic hurst` on files, standard input and bad input.

use std::io::Write;
use std::process::Stdio;

use serde_json::Value;
use sojourn_stats::Stream;

use crate::sojourn::{command, file, sojourn, stderr, stdout};

/// Independent numbers, one per line.
fn column(n: usize) -> String {
    let mut stream = Stream::new(1, "column", "numbers");
    (0..n).map(|_| format!("{}\n", stream.uniform())).collect()
}

#[test]
fn a_column_gets_ten_estimates_a_verdict_and_a_drawing() {
    let folder = tempfile::tempdir().unwrap();
    let numbers = file(folder.path(), "gaps.txt", column(2000));
    let svg = folder.path().join("hurst.svg").display().to_string();
    let output = sojourn(&["traffic", "hurst", &numbers, "--json", "--plot", &svg]);
    assert!(output.status.success(), "{}", stderr(&output));
    let json: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let whittle = &json["whittle_fgn"];
    let [low, h, high] = ["ci_low", "h", "ci_high"].map(|key| whittle[key].as_f64().unwrap());
    // The interval is 0.03 wide to either side: independent numbers are further off one time in a million.
    assert!(low < h && h < high && (h - 0.5).abs() < 0.085, "{whittle}");
    assert!(json["aggregated_variance"]["ci_low"].is_null() && json["aggregated_variance"]["known_bias"].is_string());
    assert!(
        json["verdict"].as_str().is_some_and(|verdict| !verdict.starts_with("Self-similar")),
        "{}",
        json["verdict"]
    );
    assert!(std::fs::read_to_string(&svg).unwrap().starts_with("<svg"));

    let table = stdout(&sojourn(&["traffic", "hurst", &numbers]));
    assert!(table.contains("whittle fgn") && table.contains("averaged over"), "{table}");
    assert!(table.contains(json["verdict"].as_str().unwrap()), "{table}");
}

#[test]
fn a_column_of_a_csv_file_and_standard_input_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = column(300).lines().map(|number| format!("x,{number}\n")).collect();
    let csv = file(folder.path(), "rows.csv", format!("name,gap_s\n{rows}"));
    let from_csv = stdout(&sojourn(&["traffic", "hurst", &csv, "--column", "gap_s", "--json"]));
    let mut child =
        command(&["traffic", "hurst", "-", "--json"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(column(300).as_bytes()).unwrap();
    assert_eq!(stdout(&child.wait_with_output().unwrap()), from_csv);
    assert!(from_csv.contains("whittle_fgn"));
}

#[test]
fn bad_columns_are_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        ("short", column(255), "a series of 255 numbers is too short: at least 256 are needed"),
        ("constant", "4.5\n".repeat(1000), "every number of the series is 4.5"),
        ("nan", format!("{}NaN\n", column(300)), ":301: `NaN` is not a number"),
        ("infinite", format!("gaps\n1\ninf\n{}", column(300)), ":3: `inf` is not a number"),
        ("empty", String::new(), "there is no number in it"),
    ];
    for (name, text, says) in cases {
        let path = file(folder.path(), name, text);
        let svg = folder.path().join("never.svg");
        let output = sojourn(&["traffic", "hurst", &path, "--plot", &svg.display().to_string()]);
        assert_eq!(output.status.code(), Some(2), "{name}");
        let complaint = stderr(&output);
        assert!(complaint.contains(says) && complaint.trim().lines().count() == 1, "{name}: {complaint}");
        assert!(!svg.exists() && output.stdout.is_empty(), "{name}");
    }
    let output = sojourn(&["traffic", "hurst", "/nowhere/gaps.txt"]);
    assert!(output.status.code() == Some(2) && stderr(&output).contains("cannot read /nowhere/gaps.txt"));
}
