//! Systems of several tiers, live and simulated: every request reaches a server, over the tiers that the file says.

use std::fs;

use crate::sojourn::{estimates, experiment, sojourn, stderr};

/// Runs an experiment of `experiments/tiers` by sim and live for two seconds, and gives its folder.
fn run(name: &str, set: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out").display().to_string();
    let path = experiment(&format!("tiers/{name}.toml")).display().to_string();
    let mut arguments = vec!["run", path.as_str(), "--out", &out, "--set", "run.precision=20% at 95%"];
    arguments.extend(["--set", "run.live.duration=2 s"]);
    set.iter().for_each(|set| arguments.extend(["--set", *set]));
    let output = sojourn(&arguments);
    // A live run on a busy machine may be SUSPECT: that is an answer too.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{name}: {}", stderr(&output));
    folder
}

/// By live and its twin, all servers have a share of the requests, and none fails.
fn answered(name: &str, servers: usize, set: &[&str]) {
    let folder = run(name, set);
    let out = folder.path().join("out");
    let csv = fs::read_to_string(out.join("outcomes.csv")).unwrap();
    for engine in ["sim", "live", "twin"] {
        let means = estimates(&out, engine, "response_time_mean");
        assert!(!means.is_empty() && means.iter().all(|mean| *mean > 0.0), "{name}, {engine}\n{csv}");
        for server in 1..=servers {
            let shares = estimates(&out, engine, &format!("share_{server}"));
            assert_eq!(shares.len(), means.len(), "{name}, {engine}, {server}\n{csv}");
            assert!(shares.iter().all(|share| (0.1..0.5).contains(share)), "{name}, {engine}, {server}\n{csv}");
        }
    }
    let errors = estimates(&out, "live", "error_ratio");
    assert!(!errors.is_empty() && errors.iter().all(|ratio| *ratio == 0.0), "{name}: {errors:?}");
}

#[test]
fn two_gateways_share_their_servers() {
    answered("two-gateways", 4, &["system.tier.1.policy=round-robin"]);
}

#[test]
fn a_redirector_sends_clients_to_servers() {
    answered("central-redirector", 4, &["policy=round-robin"]);
}

#[test]
fn clients_rotate_over_two_balancers() {
    answered("hybrid", 4, &[]);
}

/// A gateway whose backends are gateways: the shares are those of the innermost servers.
#[test]
fn gateways_stand_in_front_of_gateways() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("chain.toml");
    let mut text = fs::read_to_string(experiment("tiers/hybrid.toml")).unwrap();
    for (of_dns, instead) in [("ttl = \"1 h\"\n", ""), ("resolves = \"ttl\"\n", ""), ("\"dns\"", "\"gateway\"")] {
        text = text.replace(of_dns, instead);
    }
    text = text.replacen("name = \"gateway\"", "name = \"front\"", 1);
    fs::write(&file, text).unwrap();
    let out = folder.path().join("out");
    let (file, to) = (file.display().to_string(), out.display().to_string());
    let arguments = ["run", &file, "--out", &to, "--set", "run.precision=20% at 95%", "--set", "run.live.duration=2 s"];
    let output = sojourn(&arguments);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
    for server in 1..=4 {
        let shares = estimates(&out, "live", &format!("share_{server}"));
        assert!((0.1..0.5).contains(&shares[0]), "{server}: {shares:?}");
    }
}

/// A policy that reads the path sees the same paths in live and in its twin: their shares are the same, but for requests
/// at the edge of the warm-up.
#[test]
fn paths_have_the_same_keys_in_sim_and_live() {
    let set = ["system.tier.1.policy=path-hash", "workload.size=webstone"];
    for (name, set) in [("two-gateways", &set[..]), ("central-redirector", &["policy=path-hash", set[1]])] {
        let folder = run(name, set);
        let out = folder.path().join("out");
        for server in 1..=4 {
            let share = |engine| estimates(&out, engine, &format!("share_{server}"))[0];
            assert!(
                (share("live") - share("twin")).abs() < 0.02,
                "{name}, {server}: {} {}",
                share("live"),
                share("twin")
            );
        }
    }
}

/// What live does not have yet is refused before anything starts, in one line.
#[test]
fn what_live_does_not_have_yet_is_refused() {
    for (name, set, needle) in [
        ("hybrid", "system.tier.1.face=switch", "packet switch but on an Ethernet of a bed"),
        ("hybrid", "system.tier.0.ttl=1 s", "longer ttl"),
        ("pools", "seed=1", "pools"),
    ] {
        let path = experiment(&format!("tiers/{name}.toml")).display().to_string();
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out").display().to_string();
        let output = sojourn(&["run", path.as_str(), "--by", "live", "--set", set, "--out", &out]);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{name}: {message}");
        assert!(message.contains(needle) && message.trim().lines().count() == 1, "{name}: {message}");
        assert!(!folder.path().join("out").exists(), "nothing half-written is left");
    }
}
