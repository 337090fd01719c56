//! A doubt about a run reaches everyone who is told of the run: exit code, table, JSON, page and run folder.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use sojourn_bed::Child;

use crate::sojourn::{PROGRAM, file, sojourn, stderr, stdout};

/// Limits that no run keeps: some lateness there always is.
const STRICT: [&str; 3] = ["late=0 s", "late_of_gap=0", "late_of_response=0"];
/// Limits that every run keeps, on whatever machine.
const WIDE: [&str; 9] = [
    "late=100 s",
    "unnoticed=2",
    "shortfall=1",
    "queued=1",
    "errors=1",
    "busy=9",
    "waiting=9",
    "cores_busy=9",
    "stolen=9",
];

fn node() -> Child {
    let arguments = ["node", "--child", "--model", "discipline = \"ps\"\ndemand = \"1 ms\""];
    Child::spawn(Path::new(PROGRAM), arguments, Duration::from_secs(20)).unwrap_or_else(|e| panic!("{e}"))
}

/// The flags, and the same as a file.
fn flags(limits: &[&str]) -> (Vec<String>, String) {
    let flags = limits.iter().flat_map(|limit| ["--limit".to_owned(), (*limit).to_owned()]).collect();
    let line = |limit: &&str| limit.split_once('=').map(|(name, value)| format!("{name} = \"{value}\"\n"));
    (flags, limits.iter().filter_map(line).collect())
}

#[test]
fn a_load_that_is_suspect_says_so_everywhere_and_a_valid_one_nowhere() {
    let node = node();
    let url = format!("http://127.0.0.1:{}/work", node.port());
    let folder = tempfile::tempdir().unwrap();
    for (limits, code, word) in [(&STRICT[..], 1, "SUSPECT"), (&WIDE[..], 0, "VALID")] {
        let page = folder.path().join("page.html");
        let (flags, text) = flags(limits);
        let by_file = ["--limits-file".to_owned(), file(folder.path(), "limits.toml", text)];
        let load = ["load", &url, "--rate", "200 /s", "-n", "100", "--catch-up", "100 s"];
        let load = [&load[..], &["--report", page.to_str().unwrap()]].concat();
        let with = |more: &[String]| {
            let arguments: Vec<&str> = load.iter().copied().chain(more.iter().map(String::as_str)).collect();
            sojourn(&arguments)
        };
        let output = with(&flags);
        assert_eq!(output.status.code(), Some(code), "{}{}", stdout(&output), stderr(&output));
        let (told, page) = (stdout(&output), fs::read_to_string(&page).unwrap());
        assert!(told.contains(&format!("\n{word}\n")), "{told}");
        assert!(page.contains(&format!("<strong>{word}</strong>")), "{page}");
        let doubt = "of the requests went out more than";
        assert_eq!((told.contains(doubt), page.contains(doubt)), (code == 1, code == 1), "{told}");

        let output = with(&[&by_file[..], &["--json".to_owned()]].concat());
        assert_eq!(output.status.code(), Some(code), "{}{}", stdout(&output), stderr(&output));
        let told: Value = serde_json::from_str(&stdout(&output)).unwrap();
        assert_eq!(told["verdict"], word, "{told}");
        assert_eq!(told["reasons"].as_array().unwrap().is_empty(), code == 0, "{told}");
    }
}

#[test]
fn a_run_that_is_suspect_says_so_in_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    for (limits, code, word) in [(&STRICT[..], 1, "SUSPECT"), (&WIDE[..], 0, "VALID")] {
        // The server is far slower than the path to it, however busy the machine: that doubt has no limit.
        let limits = flags(limits).1.trim_end().replace('\n', ", ");
        let experiment = format!(
            "name = \"doubts\"\n[workload]\nkind = \"open\"\narrivals = \"exponential(rate = 2 /s)\"\n\
             [[system.tier]]\nface = \"gateway\"\npolicy = \"random\"\ntargets = {{ servers = 1 }}\n\
             [system.server]\ndiscipline = \"ps\"\ndemand = \"200 ms\"\n\
             [objective]\nerror_ratio = \"< 99%\"\n\
             [run]\nby = [\"live\"]\nlive = {{ duration = \"8 s\", limits = {{ {limits} }} }}\n"
        );
        let path = file(folder.path(), "doubts.toml", experiment);
        let out = folder.path().join(word);
        let output = sojourn(&["run", &path, "--out", out.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(code), "{}{}", stdout(&output), stderr(&output));
        assert!(stdout(&output).contains(&format!("\nLive: {word}\n")), "{}", stdout(&output));
        let told: Value = serde_json::from_str(&fs::read_to_string(out.join("run.json")).unwrap()).unwrap();
        assert_eq!(told["verdict"], word, "{told}");
        let doubt = "of the requests went out more than";
        assert_eq!(told["reasons"].to_string().contains(doubt), code == 1, "{told}");
        let page = fs::read_to_string(out.join("report.html")).unwrap();
        assert!(page.contains(&format!("<strong>{word}</strong>")) && page.contains(doubt) == (code == 1), "{page}");
        // What is in doubt meets nothing, whatever its number.
        let met = if code == 0 { Value::Bool(true) } else { Value::Null };
        assert_eq!(told["objectives"][0]["met"], met, "{told}");
        let text = stdout(&output);
        let of_live = text.lines().find(|line| line.contains("error_ratio < 99% by live: ")).expect("its objective");
        assert_eq!(of_live.contains("UNDECIDED: the live run is SUSPECT: "), code == 1, "{text}");
        assert_eq!(of_live.ends_with(", met"), code == 0, "{text}");
        // The twin's number is in no doubt.
        let met = page.matches("\u{2713} met").count();
        assert_eq!((page.contains("? undecided"), met), (code == 1, if code == 0 { 2 } else { 1 }), "{page}");
    }
}

/// One request of ten is for nothing: of the load asked for that says nothing, and of its errors all.
#[test]
fn a_doubt_that_may_be_the_reason_leaves_an_objective_undecided() {
    let node = node();
    let folder = tempfile::tempdir().unwrap();
    let list = file(folder.path(), "list.txt", "9 /bytes/10\n1 /nothing-here\n");
    let url = format!("http://127.0.0.1:{}/", node.port());
    let others: Vec<&str> = WIDE.into_iter().filter(|limit| !limit.starts_with("errors")).collect();
    let (flags, _) = flags(&others);
    let flags = flags.iter().map(String::as_str);
    let load = ["load", &url, "--urls", &list, "--rate", "1000 /s", "-n", "1000", "--catch-up", "100 s", "--json"];
    let objectives =
        ["mean < 100 s", "p50 > 100 s", "error_ratio < 1%", "error_ratio < 50%", "p50 < 100 s", "p95 < 100 s"];
    let objectives = objectives.into_iter().flat_map(|objective| ["--objective", objective]);
    let output = sojourn(&load.into_iter().chain(flags).chain(objectives).collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let told: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let [mean, p50, missed, met, half, most] =
        [0, 1, 2, 3, 4, 5].map(|at| told["objectives"][at]["why"].as_str().unwrap());
    for open in [mean, most] {
        assert!(open.starts_with("UNDECIDED: ") && open.contains("requests failed"), "{told}");
    }
    assert_eq!(half, "met", "half of all were answered in time, whatever one in ten would have taken: {told}");
    // Failures are not among the response times that are too short already.
    assert_eq!([p50, missed, met], ["MISSED", "MISSED", "met"], "{told}");
}

#[test]
fn what_failed_is_said_first_and_with_its_status() {
    let node = node();
    let url = format!("http://127.0.0.1:{}/nothing-here", node.port());
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let load = ["load", &url, "--rate", "200 /s", "-n", "60", "--catch-up", "100 s"];
    let output = sojourn(&[&load[..], &["--report", page.to_str().unwrap()]].concat());
    let told = stdout(&output);
    assert_eq!(output.status.code(), Some(1));
    let mut said = told.lines();
    let headline = said.next().unwrap();
    assert!(headline.starts_with("60 requests in ") && headline.ends_with(" 100 % of the requests failed."), "{told}");
    let why = "60 of 60 requests failed: 60 status 4xx (60 times status 404); they failed from the start";
    assert!(said.next().unwrap().starts_with(why), "{told}");
    assert!(told.contains("failed_response_time_mean"), "{told}");
    let page = fs::read_to_string(page).unwrap();
    assert!(page.replace('\u{a0}', " ").contains(&format!("<p class=\"finding\">{headline}</p>")), "{page}");
    assert!(page.contains("<li>status 404: 60</li>"), "{page}");
    for figure in ["Requests per second", "Response time", "Requests in flight", "Lateness of the generator"] {
        // Without a good reply nothing is known of their times.
        let drawn = page.contains(&format!("<summary>{figure}: the numbers</summary>"));
        assert_eq!(drawn, figure.starts_with("Requests"), "{figure}");
    }
    assert!(page.contains("<title>0 s: planned "), "the numbers of a second are told where one points at it: {page}");
}
