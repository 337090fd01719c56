//! A cluster behind a packet switch in an experiment: live in a bed, against its twin, and what live refuses.

use std::fs::{self, File};
use std::io::BufReader;

use serde_json::Value;
use sojourn_dispatch::record;

use crate::skip::skipped;
use crate::sojourn::{estimates, experiment, file, sojourn, stderr};

#[test]
fn a_switch_decides_live_as_its_record_says_and_as_its_twin_does() {
    let bed = sojourn(&["bed", "run", "cluster", "client", "--", "true"]);
    if !bed.status.success() || !["/usr/sbin/nft", "/usr/sbin/iptables"].iter().all(|tool| fs::exists(tool).unwrap()) {
        return skipped(format!("no bed, nftables or iptables: {}", stderr(&bed)));
    }
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(experiment("agarwal-2001/cluster.toml")).unwrap();
    let (head, tail) = text.split_once("[vary]").expect("the experiment varies its policy");
    let (_, tail) = tail.split_once("[run]").expect("the experiment says how it is run");
    let vary = "[vary]\n\"system.tier.front node.policy\" = [\"round-robin\", \"free-capacity\"]\n[run]";
    let path = file(folder.path(), "cluster.toml", format!("{head}{vary}{tail}"));
    let out = folder.path().join("out");
    let mut arguments = vec!["run", &path, "--out", out.to_str().unwrap(), "--by", "live"];
    arguments.extend(["--set", "run.live.duration=3 s", "--set", "run.live.warm_up=1 s"]);
    let output = sojourn(&arguments);
    // A live run on a busy machine may be SUSPECT: that is an answer too.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
    let csv = fs::read_to_string(out.join("outcomes.csv")).unwrap();
    for engine in ["live", "twin"] {
        for server in ["share_1", "share_2"] {
            let shares = estimates(&out, engine, server);
            // In turn means in turn: what is uneven is the warm-up's edge. Room was reported meanwhile.
            assert!((shares[0] - 0.5).abs() < 0.02 && (0.2..0.8).contains(&shares[1]), "{engine} {server}\n{csv}");
        }
    }
    assert_eq!(estimates(&out, "live", "error_ratio"), [0.0, 0.0], "{csv}");
    let run: Value = serde_json::from_slice(&fs::read(out.join("run.json")).unwrap()).unwrap();
    for variant in [1, 2] {
        let live = &run["variants"][variant - 1]["live"];
        let is_named = live["reasons"].as_array().is_some_and(|reasons| !reasons.is_empty());
        assert!(live["verdict"] == "VALID" || is_named, "{live}");
        let kept = out.join(format!("decisions-{variant}-front-node.jsonl"));
        let replay = record::replay(BufReader::new(File::open(&kept).unwrap())).unwrap();
        assert!(replay.choices > 200 && replay.first_difference.is_none(), "{variant}: {replay:?}");
        let has_reports = fs::read_to_string(kept).unwrap().lines().filter(|line| line.contains("\"report")).count();
        assert!(has_reports > 2, "{variant}: {has_reports} reports in its record");
    }
}

/// What live does not have yet is refused before anything starts, in one line.
#[test]
fn what_live_cannot_switch_is_refused() {
    let path = experiment("agarwal-2001/cluster.toml").display().to_string();
    for (set, needle) in [
        ("workload.http=\"1.1\"", "write `http = \"1.0\"`"),
        ("system.tier.front node.policy=address-hash", "addresses of clients"),
        ("system.tier.front node.reports.lossy=true", "leave out `cost` and `lossy`"),
        ("system.tier.front node.instances=2", "servers behind several packet switches"),
        ("system.tier.front node.dispatchers=2", "several dispatchers or polls"),
        ("system.tier.dns.reports={ every = \"1 s\", lossy = true }", "leave out `cost` and `lossy`"),
        ("system.tier.dns.reports={ every = \"1 s\", hidden_load = true, client_rates = \"8 s\" }", "hidden load"),
        ("system.tier.dns.ttl=1500 ms", "of whole seconds (RFC 1035)"),
        ("system.tcp.stack=linux-2.2", "live = { tcp = \"kernel\" }"),
        ("system.tier.front node.mode=direct", "mac, rewrite, nat"),
        ("system.tier.dns.mode=nat", "only a tier of face `switch` has one"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        let output = sojourn(&["run", &path, "--by", "live", "--set", set, "--out", out.to_str().unwrap()]);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{set}: {message}");
        assert!(message.contains(needle), "{set}: {message}");
        assert!(!out.exists(), "nothing half-written is left");
    }
}
