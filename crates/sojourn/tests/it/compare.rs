//! `sojourn compare`: servers in turns, and run folders.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use sojourn_bed::Child;

use crate::sojourn::{PROGRAM, experiment, file, sojourn, stderr, stdout};

fn node(demand: &str) -> Child {
    let model = format!("discipline = \"ps\"\ndemand = \"{demand}\"");
    let arguments = ["node", "--child", "--model", &model];
    Child::spawn(Path::new(PROGRAM), arguments, Duration::from_secs(20)).unwrap_or_else(|e| panic!("{e}"))
}

fn metric<'a>(metrics: &'a Value, name: &str) -> &'a Value {
    metrics.as_array().unwrap().iter().find(|metric| metric["metric"] == name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn a_slower_server_is_found_slower() {
    let (a, b) = (node("2 ms"), node("20 ms"));
    let [a, b] = [&a, &b].map(|node| format!("http://127.0.0.1:{}/work", node.port()));
    let output =
        sojourn(&["compare", &a, &b, "--connections", "1", "-n", "40", "--rounds", "3", "--pause", "1 ms", "--json"]);
    let told: Value = serde_json::from_str(&stdout(&output)).unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)));
    let mean = metric(&told["metrics"], "response_time_mean");
    // A job of 20 ms against one of 2 ms on however busy a machine: its paired interval may be wide, not wrong.
    assert!(mean["ratio"]["estimate"].as_f64().unwrap() > 2.0, "{mean}");
    assert_eq!((&mean["from"], &told["rounds"]), (&"3 pairs".into(), &3.into()), "{told}");
    assert_eq!(told["order"].as_str().unwrap().len(), 6);
    // No percentile is known so far from so few requests, and that is said.
    let left_out: Vec<&str> = told["not_compared"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(left_out.contains(&"response_time_p99.9") || left_out.contains(&"response_time_p99"), "{told}");
    assert!(!left_out.contains(&"response_time_mean"), "{told}");
    assert_eq!(told["runs"]["a"].as_array().unwrap().len(), 3);
    let suspect = !told["suspect"].as_array().unwrap().is_empty();
    assert_eq!(output.status.code(), Some(i32::from(suspect)), "{told}");
}

/// A server that is too slow for two connections: that too few requests were begun is not all that is said, but why too.
#[test]
fn each_cause_of_a_doubt_is_said() {
    let node = node("40 ms");
    let url = format!("http://127.0.0.1:{}/work", node.port());
    let load = ["--rate", "100 /s", "-n", "60", "-c", "2", "--rounds", "2", "--pause", "1 ms", "--json"];
    let output = sojourn(&[&["compare", url.as_str(), url.as_str()][..], &load[..]].concat());
    let told: Value = serde_json::from_str(&stdout(&output)).unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)));
    let suspect: Vec<&str> = told["suspect"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    for side in ["A", "B"] {
        for what in ["requests/s were begun of ", "had to wait for one of the 2 connections"] {
            let of_all = |line: &&&str| line.starts_with(&format!("{side}: 2 of 2 runs, e.g. ")) && line.contains(what);
            assert_eq!(suspect.iter().filter(of_all).count(), 1, "{side}, {what}: {suspect:?}");
        }
    }
}

#[test]
fn run_folders_are_compared_in_pairs_where_they_share_seeds() {
    let folder = tempfile::tempdir().unwrap();
    // Without its odd variant, so that --set leaves a single one.
    let text = std::fs::read_to_string(experiment("four-servers.toml")).unwrap();
    let (before, rest) = text.split_once("[[variant]]").unwrap();
    let after = &rest[rest.find("[run]").unwrap()..];
    let path = file(folder.path(), "x.toml", format!("{before}{after}"));
    let run = |name: &str, policy: &str, seed: &str| {
        let out = folder.path().join(name).display().to_string();
        let quick = ["--by", "sim", "--set", "run.precision=20% at 95%", "--seed", seed, "--out", &out];
        let output = sojourn(&[&["run", &path, "--set", policy], &quick[..]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        out
    };
    let a = run("a", "policy=random", "7");
    let b = run("b", "policy=least-connections", "7");
    let compared = |a: &str, b: &str| {
        let output = sojourn(&["compare", a, b, "--json"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        serde_json::from_str::<Value>(&stdout(&output)).unwrap()
    };
    let told = compared(&a, &b);
    let mean = metric(&told["variants"][0]["metrics"], "response_time_mean");
    assert_eq!(mean["verdict"], "B is faster", "{mean}");
    let same = compared(&a, &a);
    let mean = metric(&same["variants"][0]["metrics"], "response_time_mean");
    assert_eq!(mean["difference"]["estimate"], 0.0, "{mean}");
    let differ = &told["differ"];
    assert_eq!(differ.as_array().map(Vec::len), Some(1), "{differ}");
    assert_eq!((&differ[0]["a"], &differ[0]["b"]), (&"random".into(), &"least-connections".into()), "{differ}");
    assert_eq!(same["differ"].as_array().map(Vec::len), Some(0), "{same}");
    let output = sojourn(&["compare", &a, &b]);
    let said = stdout(&output);
    assert!(said.contains("B is faster"), "{said}");
    assert!(
        said.contains("Their experiments differ in\n") && said.contains("random in A, least-connections in B"),
        "{said}"
    );
    let output = sojourn(&["compare", &a, &a]);
    assert!(stdout(&output).contains("Their experiments are the same."), "{}", stdout(&output));
    assert!(!stdout(&output).contains("VALID"), "no live run is no proof: {}", stdout(&output));
    // Where one of them may have measured something else, the word stands above why.
    let json = Path::new(&b).join("run.json");
    let text = std::fs::read_to_string(&json).unwrap();
    let doubted = text
        .replace("\"verdict\": \"VALID\"", "\"verdict\": \"SUSPECT\"")
        .replace("\"reasons\": []", "\"reasons\": [\"the generator was late\"]");
    std::fs::write(&json, doubted).unwrap();
    let output = sojourn(&["compare", &a, &b]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stdout(&output).ends_with("\nSUSPECT\n  B: the generator was late\n"), "{}", stdout(&output));
}

/// Whose turn it is shows at the server: each path it is asked for is noted once when another had been asked for before.
#[test]
fn servers_are_asked_in_the_order_that_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let turns = Arc::new(Mutex::new(String::new()));
    let seen = Arc::clone(&turns);
    // It ends with the test's process.
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let seen = Arc::clone(&seen);
            std::thread::spawn(move || {
                let mut writer = stream.try_clone().unwrap();
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    match line.split(' ').nth(1) {
                        Some(path @ ("/A" | "/B")) => {
                            let mut turns = seen.lock().unwrap();
                            if !turns.ends_with(&path[1..]) {
                                turns.push_str(&path[1..]);
                            }
                        }
                        _ if line.is_empty() => {
                            let _ = writer.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
                        }
                        _ => {}
                    }
                }
            });
        }
    });
    let [a, b] = ["A", "B"].map(|path| format!("http://127.0.0.1:{port}/{path}"));
    let mut first_of_all = String::new();
    for seed in ["1", "2", "3", "4", "5", "6", "7", "8"] {
        turns.lock().unwrap().clear();
        let quick = ["--connections", "1", "-n", "20", "--rounds", "2", "--pause", "1 ms", "--json", "--seed", seed];
        let output = sojourn(&[&["compare", &a, &b], &quick[..]].concat());
        let told: Value = serde_json::from_str(&stdout(&output)).unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)));
        // Two turns of the same server one after the other are noted as one.
        let order = told["order"].as_str().unwrap().replace("AA", "A").replace("BB", "B");
        assert_eq!(*turns.lock().unwrap(), order, "seed {seed}");
        first_of_all.push_str(&order[..1]);
    }
    assert!(first_of_all.contains('A') && first_of_all.contains('B'), "{first_of_all}: it is drawn which goes first");
}
