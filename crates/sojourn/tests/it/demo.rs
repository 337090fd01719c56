//! The main job: one experiment, three answers.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::sojourn::{estimates, experiment, root, sojourn, stderr, stdout};

/// The experiment of `make demo` with live runs of a second.
fn run(out: &str, more: &[&str]) -> std::process::Output {
    let path = experiment("four-servers.toml").display().to_string();
    let short = ["--set", "run.live.duration=1 s", "--set", "run.precision=20% at 95%", "--out", out];
    sojourn(&[&["run", path.as_str()], &short[..], more].concat())
}

#[test]
fn every_engine_answers_every_variant() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let output = run(&out.display().to_string(), &[]);
    // A live run on a busy machine may be SUSPECT: that is an answer too.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
    let csv = fs::read_to_string(out.join("outcomes.csv")).unwrap();
    let header = csv.lines().next().unwrap();
    assert_eq!(header, "policy,discipline,engine,metric,unit,estimate,ci_low,ci_high,samples");
    check_guide(&csv, &fs::read_to_string(out.join("seconds.csv")).unwrap());
    try_python(&out, &csv);
    for engine in ["sim", "live", "twin"] {
        assert_eq!(estimates(&out, engine, "response_time_mean").len(), 6, "{engine}: one mean per variant\n{csv}");
    }
    // Theory has the mean of round robin and random, and of random over PS servers exactly.
    assert!(estimates(&out, "theory", "response_time_mean").len() >= 3, "{csv}");
    assert!(csv.contains("random,ps,theory,response_time_mean,s,") && csv.contains(",,,exact"), "{csv}");
    // Live and its twin dealt the very same requests to the same servers wherever the policy does not look at the load.
    for variant in 0..2 {
        for server in 1..=4 {
            let share = |engine| estimates(&out, engine, &format!("share_{server}"))[variant];
            // On a busy machine requests a fraction of a millisecond apart may change places: a handful of some 350.
            assert!((share("live") - share("twin")).abs() < 0.015, "variant {variant}, server {server}\n{csv}");
        }
    }
    let told = stdout(&output);
    assert!(told.contains("live - twin") && told.contains("report.html"), "{told}");
    let run: Value = serde_json::from_str(&fs::read_to_string(out.join("run.json")).unwrap()).unwrap();
    assert_eq!(run["variants"].as_array().unwrap().len(), 6);
    assert!(["VALID", "SUSPECT"].contains(&run["verdict"].as_str().unwrap()));
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert_eq!(page.matches("id=\"plot-rate-").count(), 6, "each live run second by second");
    for file in ["curves.csv", "events.jsonl", "report.html"] {
        assert!(fs::metadata(out.join(file)).unwrap().len() > 0, "{file}");
    }
    // The report can be written anew from the folder alone.
    let before = fs::read_to_string(out.join("report.html")).unwrap();
    let again = sojourn(&["report", &out.display().to_string()]);
    assert!(matches!(again.status.code(), Some(0 | 1)), "{}", stderr(&again));
    assert_eq!(fs::read_to_string(out.join("report.html")).unwrap(), before);
}

/// Whether what the guide says of these files, and its lines of Python, name the columns that they have.
fn check_guide(outcomes: &str, seconds: &str) {
    let guide = fs::read_to_string(root().join("docs/run-folder.md")).unwrap();
    let header = |csv: &str| csv.lines().next().unwrap().to_owned();
    assert!(guide.contains(&format!("`{}`", header(seconds))), "{}", header(seconds));
    let outcomes = header(outcomes);
    let columns: Vec<&str> = outcomes.split(',').collect();
    let section = guide.split("## outcomes.csv").nth(1).unwrap();
    let table =
        section.lines().filter(|line| line.starts_with("| `")).take_while(|line| !line.starts_with("| `response"));
    let named = table.flat_map(|line| line.split('|').nth(1).unwrap().split('`').skip(1).step_by(2));
    let named: Vec<&str> = named.take(7).collect();
    assert!(columns.ends_with(&named), "{named:?}");
    let python = guide.split("```python").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let index = python.split("index=[").nth(1).and_then(|rest| rest.split(']').next()).unwrap();
    let index: Vec<&str> = index.split(", ").map(|name| name.trim_matches('"')).collect();
    assert_eq!(index, columns[..columns.len() - 7], "all settings that vary");
    for name in ["metric", "engine", "estimate"] {
        assert!(python.contains(name) && columns.contains(&name), "{name}");
    }
}

/// The lines of Python of the guide to run folders. Where there is no pandas (it is large, and nothing else needs it)
/// what it would refuse is looked for by hand: two rows of one variant and engine.
fn try_python(out: &Path, outcomes: &str) {
    let of = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    let columns = of(outcomes.lines().next().unwrap());
    let place = |name: &str| columns.iter().position(|column| column == name).unwrap();
    let rows = outcomes.lines().map(of).filter(|row| row[place("metric")] == "response_time_mean");
    let mut seen = BTreeSet::new();
    for row in rows {
        assert!(seen.insert(row[..=place("engine")].to_vec()), "twice: {row:?}");
        assert!(row[place("estimate")].parse::<f64>().is_ok(), "{row:?}");
    }
    assert!(seen.len() >= 6 * 3, "{} means", seen.len());
    let python = |script: &str| Command::new("python3").args(["-c", script]).output();
    if !python("import pandas").is_ok_and(|output| output.status.success()) {
        return;
    }
    let guide = fs::read_to_string(root().join("docs/run-folder.md")).unwrap();
    let script = guide.split("```python").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let output = python(&script.replace("runs/demo", &out.display().to_string())).unwrap();
    assert!(output.status.success() && stdout(&output).contains("least-connections"), "{}", stderr(&output));
}

#[test]
fn the_same_seed_gives_the_same_bytes_at_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let outcomes = |name: &str, more: &[&str]| {
        let out = folder.path().join(name);
        let output = run(&out.display().to_string(), &[&["--by", "theory,sim"], more].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        fs::read_to_string(out.join("outcomes.csv")).unwrap()
    };
    let one = outcomes("one", &["--jobs", "1"]);
    assert_eq!(one, outcomes("three", &["--jobs", "3"]));
    assert_ne!(one, outcomes("other", &["--seed", "2"]));
}

#[test]
fn json_is_the_outcome_rows() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(&folder.path().join("out").display().to_string(), &["--by", "theory", "--json"]);
    let rows: Vec<Value> = serde_json::from_str(&stdout(&output)).unwrap();
    let exact = rows.iter().find(|row| row["discipline"] == "ps" && row["metric"] == "response_time_mean").unwrap();
    assert_eq!((exact["engine"].as_str(), exact["method"].as_str()), (Some("theory"), Some("exact")));
    assert!(exact["estimate"].as_f64().unwrap() > 0.0);
}

#[test]
fn json_of_a_folder_says_of_each_row_whose_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let experiments = folder.path().join("experiments");
    fs::create_dir(&experiments).unwrap();
    for name in ["a.toml", "b.toml"] {
        fs::copy(experiment("four-servers.toml"), experiments.join(name)).unwrap();
    }
    let (experiments, out) = (experiments.display().to_string(), folder.path().join("out").display().to_string());
    let output = sojourn(&["run", &experiments, "--by", "theory", "--json", "--out", &out]);
    let rows: Vec<Value> =
        serde_json::from_str(&stdout(&output)).unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)));
    let of = |name: &str| {
        let mut rows: Vec<Value> = rows.iter().filter(|row| row["experiment"] == name).cloned().collect();
        rows.iter_mut().for_each(|row| row["experiment"] = Value::Null);
        rows
    };
    assert!(!of("a").is_empty() && of("a").len() + of("b").len() == rows.len(), "{rows:?}");
    assert_eq!(of("a"), of("b"), "the same experiment twice");
}
