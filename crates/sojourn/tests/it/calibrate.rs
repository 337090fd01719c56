//! `sojourn calibrate` from the command line: a node that is emulated by the file that is found, and what is refused.

use std::fs;
use std::net::TcpListener;

use serde_json::Value;
use sojourn_model::{Discipline, Server};
use sojourn_part::settings::node::NodeSettings;
use sojourn_web::Node;

use crate::sojourn::{sojourn, stderr, stdout};

fn node() -> Node {
    let model = Some("discipline = \"fcfs\"\ndemand = \"6 ms + 0.5 us/B\"".into());
    Node::start(NodeSettings { model, ..NodeSettings::new("node") }).unwrap()
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
    assert!(stdout(&output).contains("\nNOT JUDGED\n"), "{}", stdout(&output));
    let model = Server::from_toml(&fs::read_to_string(&out).unwrap()).unwrap();
    assert_eq!(model.discipline, Discipline::Fcfs);
    let (mean_s, _) = model.demand("").moments(10_000.0, 0.0);
    assert!((mean_s / 11e-3 - 1.0).abs() < 0.05, "{mean_s}");
    let files: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(files, ["server.toml"]);
}

#[test]
fn a_path_becomes_a_law() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("path.toml").display().to_string();
    let to = listener.local_addr().unwrap().to_string();
    let output = sojourn(&["calibrate", "--path", &to, "--samples", "50", "--out", &out]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("law: erlang(k = "), "{}", stdout(&output));
    let text = fs::read_to_string(&out).unwrap();
    assert!(text.contains("\ndelay = \"erlang(k = ") && text.contains("[measured.path]"), "{text}");
}

#[test]
fn a_proxy_is_measured_against_its_hit_ratio() {
    let node = node();
    let url = format!("http://{}", node.address());
    let (hit, miss) = ("/work?bytes={size}&demand=1ms", "/work?bytes={size}&demand=3ms");
    let documents = ["--hit", hit, "--miss", miss, "--x", "100,30000"];
    let short = ["--time", "5 s", "--rounds", "3", "--clients", "3", "--ratios", "0.3,0.7,1", "--json"];
    let output = sojourn(&[&["calibrate", "--proxy", &url], &documents[..], &short[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let told: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let work = |of: &str| told["documents"][0][of]["value"].as_f64().unwrap();
    assert!(work("miss_work") > work("hit_work"), "{told}");
    let model = Server::from_toml(told["model"].as_str().unwrap()).unwrap();
    assert_eq!(model.discipline, Discipline::Ps);
    assert!(told["below"]["kept_out"]["error"]["value"].is_f64() && told["above"].is_object(), "{told}");
}

#[test]
fn flags_of_one_kind_of_calibration_are_refused_by_the_others() {
    let proxy = ["--proxy", "http://127.0.0.1:1", "--hit", "/a", "--miss", "/b"];
    let cases: [(&[&str], &str); 14] = [
        (&[&proxy[..], &["--curve", "1,2"]].concat(), "--curve"),
        (&["http://127.0.0.1:1/", "--think", "1 s"], "--curve"),
        (&[], "required"),
        (&["--proxy", "http://127.0.0.1:1"], "--hit"),
        (&[&proxy[..], &["--judge", "0.5"]].concat(), "--judge"),
        (&[&proxy[..], &["http://127.0.0.1:1/"]].concat(), "--proxy"),
        (&[&proxy[..], &["--path", "127.0.0.1:1"]].concat(), "--path"),
        (&["--path", "127.0.0.1:1", "--x", "1,2"], "--x"),
        (&["http://127.0.0.1:1/", "--samples", "50"], "--samples"),
        (&["http://127.0.0.1:1/", "--clients", "3"], "--clients"),
        (&["--path", "127.0.0.1:1", "--clients", "3"], "--clients"),
        (&["--hardware", "/tmp", "http://127.0.0.1:1/"], "--hardware"),
        (&["--hardware", "/tmp", "--curve", "1,2"], "--hardware"),
        (&["http://127.0.0.1:1/", "--like", "a.toml"], "--like"),
    ];
    for (arguments, words) in cases {
        let output = sojourn(&[&["calibrate"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(words), "{arguments:?}: {}", stderr(&output));
    }
}

/// What this machine is made of goes into a file, and the file into a node's cluster.
#[test]
fn a_node_takes_the_hardware_file_that_was_measured() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let out = folder.path().join("a.toml").display().to_string();
    let at = folder.path().display().to_string();
    let output = sojourn(&["calibrate", "--hardware", &at, "--out", &out]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("speed    1.000 of this machine's own"), "{}", stdout(&output));
    let json = sojourn(&["calibrate", "--hardware", &at, "--like", &out, "--json"]);
    let told: Value = serde_json::from_str(&stdout(&json)).unwrap();
    let [speed, rounds, of] = ["/speed", "/rounds_per_s/value", "/reference_rounds_per_s"]
        .map(|key| told.pointer(key).and_then(Value::as_f64).unwrap_or_else(|| panic!("{key}: {told}")));
    assert!((speed * of / rounds - 1.0).abs() < 1e-9, "{told}");
    let config = folder.path().join("node.toml");
    let cluster = "[cluster]\nurl = \"http://a.example.org\"\n\
                   service = \"www.example.org\"\nkey_file = \"key\"\nhardware = \"a.toml\"\n";
    fs::write(folder.path().join("key"), "k".repeat(32)).unwrap();
    fs::write(&config, format!("listen = [\"127.0.0.1:0\"]\n{cluster}")).unwrap();
    let check = sojourn(&["node", "--config", config.to_str().unwrap(), "--check"]);
    assert!(check.status.success(), "{}", stderr(&check));
}

#[test]
fn a_delay_curve_is_written_whole_and_read_again() {
    let node = node();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("server.toml").display().to_string();
    let work = format!("http://{}/work?bytes=10000", node.address());
    let output = sojourn(&["calibrate", &work, "--out", &out, "--curve", "1,2,4,6,8,10", "--time", "5 s"]);
    // A busy machine may disturb it: then it says so everywhere.
    let (told, text) = (stdout(&output), fs::read_to_string(&out).unwrap());
    let (code, word) = if told.contains("\nSUSPECT\n") { (1, "SUSPECT") } else { (0, "VALID") };
    assert_eq!(output.status.code(), Some(code), "{told}{}", stderr(&output));
    assert!(told.contains("not used in the fit") && told.contains(&format!("\n{word}\n")), "{told}");
    assert!(text.contains(&format!("verdict = \"{word}\"")) && text.contains("# SUSPECT: ") == (code == 1), "{text}");
    let model = Server::from_toml(&fs::read_to_string(&out).unwrap()).unwrap();
    let Discipline::DelayCurve(curve) = model.discipline else { panic!("a curve") };
    // First come, first served: with n users inside a request waits for all of them.
    for users in [1, 4, 10] {
        let delay_s = curve.stay(users).as_secs_f64();
        assert!((delay_s / (11e-3 * f64::from(users)) - 1.0).abs() < 0.2, "{users}: {delay_s}");
    }
}

#[test]
fn what_is_refused_is_said_in_a_line_and_writes_nothing() {
    let node = node();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("server.toml").display().to_string();
    let work = format!("http://{}/work", node.address());
    let missing = format!("http://{}/missing", node.address());
    let cases: [(&[&str], i32, &str); 12] = [
        (&[&work, "--curve", "1,2,3"], 2, "at least 6"),
        (&[&work, "--curve", "1,2,3,4,5,6", "--think", "often"], 2, "--think"),
        (&[&work, "--x", "1,2"], 2, "no place for it"),
        (&[&work, "--time", "1 s"], 2, "--time"),
        (&[&work, "--judge", "1.5"], 2, "--judge"),
        (&["http://192.0.2.1/"], 2, "--yes-i-may"),
        (&["--path", "192.0.2.1:80"], 2, "--yes-i-may"),
        (&["--proxy", &work, "--hit", "/a", "--miss", "/b"], 2, "without a path"),
        (&["--hardware", "/nowhere"], 2, "/nowhere: No such file"),
        (&["--hardware", "/tmp", "--like", "/etc/hostname"], 2, "/etc/hostname: it is no hardware file"),
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
