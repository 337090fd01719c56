//! `sojourn load --scenario` against an nginx: what users do step by step, and how a run tells what did not come out.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use sojourn_part::program::{Program, Running};

use crate::sojourn::{file, sojourn, stderr, stdout};

/// An nginx with a list of items, and one item; none where it is not installed.
fn nginx(folder: &tempfile::TempDir) -> Option<Running> {
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    file(folder.path(), "list.json", r#"{"items": [{"id": 7, "name": "pen"}]}"#);
    file(folder.path(), "item-7.txt", "a pen, name=pen;");
    let program = Program::parse("nginx", folder.path()).unwrap_or_else(|error| panic!("{error}"));
    if let Err(missing) = program.kind.installed() {
        assert!(std::env::var("CI").is_err(), "in CI: {missing}; `make test` installs it");
        eprintln!("SKIPPED: {missing}; `make test` installs it");
        return None;
    }
    Some(program.start().expect("it starts"))
}

const LOOK: &str = r#"
name = "look"
think = "1 ms"

[data]
file = "users.csv"

[[step]]
name = "list"
path = "/list.json?user={user}"
[[step.take]]
name = "id"
json = "/items/0/id"
[[step.take]]
name = "tag"
header = "etag"

[[step]]
name = "item"
path = "/item-{id}.txt"
[step.check]
body_contains = "pen"

[[step]]
name = "list again"
path = "/list.json"
headers = { if-none-match = "{tag}" }
[step.check]
status = 304
"#;

#[test]
fn a_real_server_is_looked_at_step_by_step() {
    let folder = tempfile::tempdir().unwrap();
    let Some(nginx) = nginx(&folder) else { return };
    let url = format!("http://{}", nginx.address());
    let scenario = file(folder.path(), "look.toml", LOOK);
    file(folder.path(), "users.csv", "user\nann\nbob\n");
    for comes in [&["--users", "3"][..], &["--rate", "300 /s"], &["-c", "2", "--processes", "2"]] {
        let output = sojourn(&[&["load", &url, "--scenario", &scenario, "-n", "60", "--json"], comes].concat());
        let told: Value = serde_json::from_str(&stdout(&output)).unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)));
        assert_eq!((&told["counts"]["ok"], &told["counts"]["planned"]), (&180.into(), &180.into()), "{told}");
        assert_eq!(told["passes"]["whole"], 60, "{comes:?}: {}", told["passes"]);
        let names: Vec<&str> =
            told["passes"]["steps"].as_array().unwrap().iter().map(|step| step["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["list", "item", "list again"]);
    }
}

#[test]
fn what_does_not_come_out_reaches_table_json_page_and_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let Some(nginx) = nginx(&folder) else { return };
    // The address may have a path of its own: all steps are below it.
    let url = format!("http://{}/.", nginx.address());
    file(folder.path(), "users.csv", "user\nann\n");
    let scenario = file(folder.path(), "look.toml", LOOK.replace("contains = \"pen\"", "contains = \"<ink>\""));
    let page = folder.path().join("page.html").display().to_string();
    let load = ["load", &url, "--scenario", &scenario, "--users", "1", "-n", "20", "--report", &page];
    let output = sojourn(&[&load[..], &["--objective", "error_ratio < 1%"]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let words = stdout(&output);
    for part in [
        "20 of 40 requests failed: 20 check failed",
        "passes: 0 whole, 20 failed, 0 cut short",
        "item, 20 times failed: body contains `<ink>`",
        "SUSPECT",
    ] {
        assert!(words.contains(part), "no `{part}` in {words}");
    }
    // Requests that go out late on a busy machine leave it undecided whether the server is to blame.
    assert!(words.contains("MISSED") || words.contains("UNDECIDED"), "{words}");
    let written = fs::read_to_string(&page).unwrap();
    assert!(
        written.contains("20 times failed: body contains `&lt;ink&gt;`")
            && written.contains("Passes: 0 whole, 20 failed")
    );
    let output = sojourn(&[&load[..8], &["--json"]].concat());
    let told: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!((output.status.code(), &told["verdict"]), (Some(1), &"SUSPECT".into()));
    assert_eq!((&told["counts"]["check"], &told["counts"]["ok"]), (&20.into(), &20.into()));
    assert_eq!(told["passes"]["steps"][1]["faults"][0][0], "body contains `<ink>`", "{told}");
    assert_eq!(told["passes"]["steps"][1]["faults"][0][1], 20);
}

#[test]
fn a_scenario_that_is_none_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let step = file(folder.path(), "step.toml", "[[step]]\npath = \"/\"\n");
    let early = file(folder.path(), "early.toml", "[[step]]\npath = \"/{id}\"\n");
    let none = folder.path().join("none.toml").display().to_string();
    let out = folder.path().join("records.csv");
    for (scenario, flags, parts) in [
        (&early, &[][..], &["early.toml:2: path", "`id` is not known"][..]),
        (&none, &[], &["none.toml: cannot read it"]),
        (&step, &["--scenario", &step], &["step.toml: name", "two scenarios `step`"]),
        (&step, &["--rate", "-5 /s"], &["--rate"]),
    ] {
        let load = ["load", "http://127.0.0.1:1", "--scenario", scenario, "--record", &out.display().to_string()];
        let output = sojourn(&[&load[..], flags].concat());
        let complaint = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{complaint}");
        assert_eq!(complaint.trim_end().lines().count(), 1, "{complaint}");
        parts.iter().for_each(|part| assert!(complaint.contains(part), "no `{part}` in {complaint}"));
        assert!(!out.exists(), "nothing half-written is left");
    }
    // What a step says itself cannot be said for all.
    for flag in [&["--think", "1 s"][..], &["-X", "POST"], &["--body", "x"], &["--size", "1 kB"], &["--trace", "x"]] {
        let load = ["load", "http://127.0.0.1:1", "--scenario", &step];
        let output = sojourn(&[&load[..], flag].concat());
        assert_eq!(output.status.code(), Some(2), "{flag:?}");
        assert!(stderr(&output).contains("--scenario"), "{flag:?}: {}", stderr(&output));
    }
}
