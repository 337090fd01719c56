//! A cluster is killed under load, its front node and its servers: live in a bed, in the twin and by the simulator. That is what
//! was asked for, and no doubt; its clients leave it, at the next address at once or within a TTL.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

use serde_json::Value;
use sojourn_dispatch::record;

use crate::skip::skipped;
use crate::sojourn::{command, experiment, file, sojourn, stderr};

/// When the cluster dies and is back, for how long users keep an answer, and how often the others report at least (s).
const DIES_S: f64 = 6.0;
const BACK_S: f64 = 16.0;
const TTL_S: f64 = 2.0;
const HEARTBEAT_S: f64 = 1.0;

/// What a busy machine may need besides (s).
const SLACK_S: f64 = 3.0;

/// Users of each region.
const USERS: f64 = 8.0;

#[test]
fn clients_leave_a_cluster_that_dies_and_nothing_else_fails() {
    let bed = sojourn(&["bed", "run", "cluster", "client", "--", "true"]);
    if !bed.status.success() || !["/usr/sbin/nft", "/usr/sbin/iptables"].iter().all(|tool| fs::exists(tool).unwrap()) {
        return skipped(format!("no bed, nftables or iptables: {}", stderr(&bed)));
    }
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(experiment("agarwal-2001/site-dies.toml")).unwrap();
    let live = "[run.live]\nduration = \"22 s\"\nwarm_up = \"2 s\"\ntimeout = \"25 s\"\nrecord = true\n";
    let (text, _) = text.split_once("[run.live]").expect("the experiment says how live is run");
    let quick = [
        ("processes = 40, machines = 4", format!("processes = {USERS}, machines = 2")),
        ("ttl = \"10 s\"", format!("ttl = \"{TTL_S} s\"")),
        (
            "heartbeat = \"4 s\", client_rates = \"8 s\"",
            format!("heartbeat = \"{HEARTBEAT_S} s\", client_rates = \"1 s\""),
        ),
        ("exponential(mean = 1 s)", "exponential(mean = 100 ms)".into()),
        ("exponential(mean = 30 ms)", "exponential(mean = 10 ms)".into()),
        ("at = \"40 s\"", format!("at = \"{DIES_S} s\"")),
        ("until = \"90 s\"", format!("until = \"{BACK_S} s\"")),
        ("duration = \"120 s\"", "duration = \"22 s\"".into()),
        ("warm_up = \"20 s\"", "warm_up = \"2 s\"".into()),
    ];
    let text = quick.iter().fold(text.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    });
    // With and without the next address; the spill is no matter of faults.
    let spill = "[[variant]]\n\"system.tier.dns.policy\" = \"nearest-with-room(spill = free-capacity)\"\n";
    assert!(text.contains(spill), "{text}");
    file(folder.path(), "dies.toml", text.replace(spill, "") + live);
    let run = ["run", "dies.toml", "--out", "out", "--by", "sim,live"];
    let output = command(&run).current_dir(folder.path()).output().unwrap();
    // A live run on a busy machine may be SUSPECT: that is an answer too.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
    let out = folder.path().join("out");
    let run: Value = serde_json::from_slice(&fs::read(out.join("run.json")).unwrap()).unwrap();
    let reasons = run["reasons"].to_string();
    for part in ["front-node", "server-", "dns", "failed", "refused"] {
        assert!(!reasons.contains(part), "what was planned is no doubt: {reasons}");
    }
    for variant in [0, 1] {
        let down_s = the_dns_sees_it(&out, variant);
        let [at_once, within_a_ttl] = [variant == 1, variant == 0];
        for engine in ["sim", "live", "twin"] {
            let asked = |place: &str, from: f64, until: f64| asked(&out, (variant, engine, place), from, until);
            let told = format!("variant {variant}, {engine}\n{}", fs::read_to_string(out.join("places.csv")).unwrap());
            // Down: seen after two heartbeats and a look, and an answer that is held for a TTL then.
            let left_s = DIES_S + 2.0 * HEARTBEAT_S + 0.5 + TTL_S + SLACK_S;
            assert_eq!(asked("failed", left_s, BACK_S), 0.0, "{told}");
            assert_eq!(asked("c1", left_s, BACK_S - 1.0), 0.0, "{told}");
            let elsewhere = asked("c2", left_s, BACK_S) + asked("c3", left_s, BACK_S);
            assert!(elsewhere > 3.0 * USERS * (BACK_S - left_s), "{elsewhere} asked elsewhere: {told}");
            // Nothing fails before, and when it is back nothing again; that takes a moment live.
            assert_eq!(asked("failed", 0.0, DIES_S - 1.0), 0.0, "{told}");
            assert_eq!(asked("failed", BACK_S + SLACK_S, 22.0), 0.0, "{told}");
            let failed = asked("failed", 0.0, 22.0);
            if within_a_ttl {
                // Its users are refused again and again until their answers end.
                assert!(failed > USERS, "{failed} failed: {told}");
            }
            if at_once {
                // Those that were inside are lost, at most one of each user.
                assert!(failed <= USERS, "{failed} failed: {told}");
            }
        }
        assert!(down_s <= 2.0 * HEARTBEAT_S + 0.5 + SLACK_S, "named for {down_s} s");
        no_choice_while_down(&out, variant);
    }
}

/// How long (s) after the fault had begun the DNS saw the site down in the live run of a variant; its events say so.
fn the_dns_sees_it(out: &Path, variant: usize) -> f64 {
    let text = fs::read_to_string(out.join("events.jsonl")).unwrap();
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of_live =
        |event: &Value, is: &str| event["event"] == is && event["engine"] == "live" && event["variant"] == variant;
    let ends = ["asked", "answered"].map(|is| events.iter().position(|event| of_live(event, is)).expect("an event"));
    let own = &events[ends[0]..ends[1]];
    let at = |is: &str, holds: &dyn Fn(&Value) -> bool| {
        let found = own.iter().find(|event| event["event"] == is && holds(event));
        found.unwrap_or_else(|| panic!("no {is}: {own:?}"))["at_s"].as_f64().expect("an instant")
    };
    let [began, over] = ["begun", "over"].map(|is| at("fault", &|event| event["is"] == is));
    assert!((DIES_S..DIES_S + SLACK_S).contains(&began) && over >= BACK_S, "{own:?}");
    let down = at("site_down", &|event| event["part"] == "dns" && event["site"] == "front-node-1");
    let up = at("site_up", &|event| event["part"] == "dns" && event["site"] == "front-node-1");
    assert!(down > began && up > down, "{own:?}");
    down - began
}

/// Requests of an engine that were planned between two instants (s) and went to a place.
fn asked(out: &Path, (variant, engine, place): (usize, &str, &str), from: f64, until: f64) -> f64 {
    let text = fs::read_to_string(out.join("places.csv")).unwrap();
    let head = format!("{variant},{engine},{place},");
    let rows = text.lines().filter_map(|line| line.strip_prefix(&head));
    let numbers = rows.map(|row| row.split_once(',').map(|(at, rate)| (at.parse().unwrap(), rate.parse().unwrap())));
    let points: Vec<(f64, f64)> = numbers.flatten().collect();
    assert!(points.len() >= 22, "{head} in {text}");
    // Intervals are of a second.
    points.iter().filter(|(at, _)| from <= *at && *at + 1.0 <= until).map(|(_, rate)| rate).sum()
}

/// The record of the DNS replays, and from when a site is down until it is up no answer names it.
fn no_choice_while_down(out: &Path, variant: usize) {
    let kept = out.join(format!("decisions-{}.jsonl", variant + 1));
    let replay = record::replay(BufReader::new(File::open(&kept).unwrap())).unwrap();
    assert!(replay.first_difference.is_none(), "{replay:?}");
    let text = fs::read_to_string(&kept).unwrap();
    let (mut is_down, mut downs, mut choices) = (false, 0, 0);
    for line in text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let event = &line["observe"]["event"];
        if event["down"]["backend"] == 0 {
            (is_down, downs) = (true, downs + 1);
        }
        is_down &= event["joined"]["backend"] != 0;
        if is_down && line.get("choose").is_some() {
            choices += 1;
            assert_ne!(line["choose"]["decision"]["action"]["forward"], 0, "{line}");
        }
    }
    assert!(downs >= 1 && choices as f64 > USERS, "{downs} times down, {choices} choices meanwhile");
    let front = out.join(format!("decisions-{}-front-node-1.jsonl", variant + 1));
    assert!(!front.exists(), "what breaks keeps no record");
    assert!(out.join(format!("decisions-{}-front-node-2.jsonl", variant + 1)).exists());
}

/// What would be something else live than in the simulator is refused before anything starts, in one line.
#[test]
fn faults_that_a_packet_switch_does_not_have_are_refused() {
    let text = fs::read_to_string(experiment("agarwal-2001/site-dies.toml")).unwrap();
    let site = "site = \"c1\"\nwhat = \"down\"";
    for (from, to, needle) in [
        (site, "tier = \"front node\"\nwhat = \"frozen\"", "no packet switch that is frozen alone"),
        (
            site,
            "server = 1\nwhat = \"cut\"\n[client]\ntimeout = \"5 s\"",
            "no server that is cut off behind a packet switch",
        ),
        (site, "tier = \"dns\"\nwhat = \"down\"", "no DNS that can break"),
        (
            "policy = \"nearest-with-room\"\nttl = \"10 s\"",
            "policy = \"nearest-with-room\"\nttl = \"1500 ms\"",
            "whole seconds",
        ),
    ] {
        assert!(text.contains(from), "{from}");
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), "wrong.toml", text.replacen(from, to, 1));
        let out = folder.path().join("out");
        let output = sojourn(&["run", &path, "--by", "live", "--out", out.to_str().unwrap()]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{to}: {said}");
        assert!(said.contains(needle) && said.trim_end().lines().count() == 1, "{to}: {said}");
        assert!(!out.exists(), "nothing half-written is left");
    }
}
