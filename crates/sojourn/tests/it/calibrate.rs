//! `sojourn calibrate` from the command line: a node that is emulated by the file that is found, and what is refused.

use std::fs;

use sojourn_model::{Discipline, Server};
use sojourn_serve::{Node, NodeConfig};

use crate::sojourn::{sojourn, stderr, stdout};

fn node() -> Node {
    let model = Server::from_toml("discipline = \"fcfs\"\ndemand = \"6 ms + 0.5 us/B\"").unwrap();
    Node::start(NodeConfig { model: Some(model), ..NodeConfig::new("node") }).unwrap()
}

#[test]
fn a_model_is_written_whole_and_read_again() {
    let node = node();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("server.toml").display().to_string();
    let url = format!("http://{}/work?bytes={{size}}", node.address());
    let short = ["--x", "0,10000,150000", "--time", "8 s", "--no-judge", "--seed", "3"];
    let output = sojourn(&[&["calibrate", &url, "--out", &out], &short[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("served at once: 1"), "{}", stdout(&output));
    let model = Server::from_toml(&fs::read_to_string(&out).unwrap()).unwrap();
    assert_eq!(model.discipline, Discipline::Fcfs);
    let (mean_s, _) = model.demand("").moments(10_000.0, 0.0);
    assert!((mean_s / 11e-3 - 1.0).abs() < 0.05, "{mean_s}");
    let files: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(files, ["server.toml"]);
}

#[test]
fn what_is_refused_is_said_in_a_line_and_writes_nothing() {
    let node = node();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("server.toml").display().to_string();
    let work = format!("http://{}/work", node.address());
    let missing = format!("http://{}/missing", node.address());
    let cases: [(&[&str], i32, &str); 6] = [
        (&[&work, "--x", "1,2"], 2, "no place for it"),
        (&[&work, "--time", "1 s"], 2, "--time"),
        (&[&work, "--judge", "1.5"], 2, "--judge"),
        (&["http://192.0.2.1/"], 2, "--yes-i-may"),
        (&[&missing, "--time", "8 s"], 3, "status 4xx"),
        (&[&work, "--time", "8 s", "--rate-max", "20 /s"], 3, "--rate-max"),
    ];
    for (arguments, code, words) in cases {
        let output = sojourn(&[&["calibrate", "--out", &out], arguments].concat());
        let complaint = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {complaint}");
        assert_eq!(complaint.trim_end().lines().count(), 1, "{arguments:?}: {complaint}");
        assert!(complaint.contains(words), "{arguments:?}: {complaint}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
