//! `sojourn report`: a page of one run, or of several beside each other.

use std::fs;

use serde_json::Value;
use sojourn_lab::prelude::*;

use crate::sojourn::{experiment, sojourn, stderr, stdout};

#[test]
fn several_runs_make_one_page() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (a, b, page) = (path("a"), path("b"), path("both.html"));
    let four = experiment("four-servers.toml").display().to_string();
    for (out, seed) in [(&a, "1"), (&b, "2")] {
        let run = sojourn(&["run", &four, "--by", "theory", "--seed", seed, "--out", out]);
        assert_eq!(run.status.code(), Some(0), "{}", stderr(&run));
    }
    let before = fs::read(folder.path().join("a/report.html")).unwrap();
    let drawn = sojourn(&["report", &a, &b, "--out", &page]);
    assert_eq!(drawn.status.code(), Some(0), "{}", stderr(&drawn));
    assert_eq!(stdout(&drawn).lines().count(), 2, "a line for each run: {}", stdout(&drawn));
    let html = fs::read_to_string(&page).unwrap();
    for name in ["a", "b"] {
        assert!(html.contains(&format!("random, ps \u{b7} {name}")), "each variant of each run");
    }
    assert_eq!(fs::read(folder.path().join("a/report.html")).unwrap(), before, "the runs' own pages stay");

    // The rows of all, each with its run; as many as they have alone.
    let rows = |dirs: &[&str]| -> Vec<Value> {
        let told = sojourn(&[&["report"], dirs, &["--out", &page, "--json"]].concat());
        assert_eq!(told.status.code(), Some(0), "{}", stderr(&told));
        serde_json::from_str(&stdout(&told)).unwrap()
    };
    let (both, alone) = (rows(&[&a, &b]), rows(&[&a]));
    let of = |run: &str| both.iter().filter(|row| row["run"] == run).cloned().collect::<Vec<Value>>();
    assert_eq!((of(&a).len(), of(&b).len(), both.len()), (alone.len(), alone.len(), 2 * alone.len()));
    assert_eq!(of(&a)[0]["estimate"], alone[0]["estimate"]);

    let wrong: [(&[&str], &str); 4] = [
        (&["report", &a, &four, "--out", "x.html"], "is not a run folder"),
        (&["report", &a, &b], "--out runs.html"),
        (&["report", &a, &a, "--out", "x.html"], "is named twice"),
        (
            &["report", &a, &b, "--out", "no/such/folder/x.html"],
            "x.html' for '--out <FILE.html>': there is no folder no/such/folder",
        ),
    ];
    for (arguments, says) in wrong {
        let output = sojourn(arguments);
        assert!(matches!(output.status.code(), Some(2 | 3)), "{arguments:?}");
        let complaint = stderr(&output);
        let complaint = complaint.trim_end_matches("\n\nFor more information, try '--help'.\n");
        assert!(complaint.contains(says) && complaint.lines().count() == 1, "{complaint}");
    }
}

/// The program asks by the same call as a library does, and what it writes opens into what that hands over.
#[test]
fn a_run_folder_is_what_the_library_answers() {
    let folder = tempfile::tempdir().unwrap();
    let [mine, theirs] = ["mine", "theirs"].map(|name| folder.path().join(name).display().to_string());
    let file = experiment("four-servers.toml");
    let set = ["--set", "policy=least-connections", "--set", "run.max_jobs=20000"];
    let ran =
        sojourn(&[&["run", &file.display().to_string(), "--by", "theory,sim", "--out", &theirs], &set[..]].concat());
    assert!(ran.status.success(), "{}", stderr(&ran));
    let asked = Experiment::read(&file).unwrap().set("policy", "least-connections").unwrap();
    let asked = asked.set("run.max_jobs", "20000").unwrap();
    asked.ask([Engine::Theory, Engine::Sim], &Progress::none()).unwrap().write(&mine).unwrap();
    for name in ["outcomes.csv", "curves.csv"] {
        let [mine, theirs] = [&mine, &theirs].map(|path| fs::read(format!("{path}/{name}")).unwrap());
        assert!(!mine.is_empty() && mine == theirs, "{name}");
    }
}
