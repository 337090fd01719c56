//! Every registered policy runs by sim and live, and its live decisions replay to the same choices.

use std::fs::{self, File};
use std::io::BufReader;

use sojourn_dispatch::policies::POLICIES;
use sojourn_dispatch::{Catalogue, Signals, record};

use crate::sojourn::{estimates, experiment, file, root, sojourn, stderr};

#[test]
fn every_policy_runs_by_sim_and_live_and_replays() {
    let folder = tempfile::tempdir().unwrap();
    // What only a simulator can tell is refused live, by name.
    let seen = |name: &str| Signals::GATEWAY.contains(Catalogue::default().build(name).expect(name).requires());
    let known: Vec<_> = POLICIES.iter().filter(|entry| seen(entry.name)).collect();
    let names: Vec<_> = known.iter().map(|entry| format!("\"{}\"", entry.name)).collect();
    let text = fs::read_to_string(experiment("four-servers.toml")).unwrap();
    let (head, _) = text.split_once("[vary]").expect("the experiment varies something");
    let text = format!(
        "{head}[vary]\npolicy = [{}]\n[run]\nby = [\"sim\", \"live\"]\nprecision = \"20% at 95%\"\n\
         live = {{ duration = \"500 ms\", record = true }}\n",
        names.join(", ")
    );
    let path = file(folder.path(), "policies.toml", text);
    let out = folder.path().join("out");
    let output = sojourn(&["run", &path, "--out", &out.display().to_string()]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
    assert_eq!(estimates(&out, "sim", "response_time_mean").len(), known.len());
    assert_eq!(estimates(&out, "live", "response_time_mean").len(), known.len());
    for (index, entry) in known.iter().enumerate() {
        let record = File::open(out.join(format!("decisions-{}.jsonl", index + 1))).unwrap();
        let replay = record::replay(BufReader::new(record)).unwrap_or_else(|e| panic!("{}: {e}", entry.name));
        // About 187 requests are planned in half a second; each is one choice.
        assert!(replay.choices > 100, "{}: {} choices", entry.name, replay.choices);
        assert!(replay.first_difference.is_none(), "{}: {:?}", entry.name, replay.first_difference);
    }
}

#[test]
fn contributing_shows_a_policy_as_it_is_in_the_tree() {
    let shown = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let file = fs::read_to_string(root().join("crates/dispatch/src/policies/power_of_d.rs")).unwrap();
    assert!(shown.contains(&format!("```rust\n{file}```")), "CONTRIBUTING.md shows another power_of_d.rs");
    let registry = fs::read_to_string(root().join("crates/dispatch/src/policies.rs")).unwrap();
    assert!(registry.contains("    power_of_d,\n") && shown.contains("    power_of_d,\n"));
}

const HOW: &str = r#"name = "how"
seed = 1
[workload]
kind = "open"
arrivals = "exponential(rate = 320 /s)"
size = "constant(1 kB)"
[[system.tier]]
face = "gateway"
policy = "random"
targets = { servers = 4 }
[system.server]
discipline = "fcfs"
demand = "exponential(mean = 10 ms)"
[vary]
policy = ["random", "round-trip"]
[run]
by = ["sim"]
precision = "20% at 95%"
engine = "auto"
"#;

/// What the simulator did without an event list, and why with one.
#[test]
fn a_run_says_how_each_variant_was_simulated() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "how.toml", HOW);
    let run = |out: &str, more: &[&str]| {
        let out = folder.path().join(out);
        let output = sojourn(&[&["run", &path, "--out", &out.display().to_string()], more].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        (stderr(&output), fs::read_to_string(out.join("outcomes.csv")).unwrap())
    };
    let (told, rows) = run("auto", &["-v"]);
    assert!(told.contains("random: simulated without an event list\n"), "{told}");
    assert!(told.contains("round-trip: simulated event by event: `round-trip` reads more"), "{told}");
    let (told, listed) = run("events", &["-v", "--set", "run.engine=events"]);
    assert_eq!(told.matches("event by event: it was asked for").count(), 2, "{told}");
    assert_eq!(rows, listed);
    assert_eq!(run("silent", &[]).0, "");
}

/// Every policy with its signals, those of products with how they are known; a wrong word is bad input.
#[test]
fn the_list_of_policies_says_what_each_must_be_told() {
    let list = |words: &[&str]| {
        let output = sojourn(&[&["policies", "--json"], words].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        serde_json::from_slice::<Vec<serde_json::Value>>(&output.stdout).unwrap()
    };
    let all = list(&[]);
    let bundles = sojourn_dispatch::policies::PRODUCTS.iter().map(|product| product.bundles.len()).sum::<usize>();
    assert_eq!(all.len(), POLICIES.len() + bundles);
    assert!(all.iter().all(|line| line["does"] != "" && line["needs"] != ""));
    let one = |text: &str| all.iter().find(|line| line["policy"] == text).unwrap_or_else(|| panic!("no {text}"));
    assert_eq!(one("round-robin")["needs"], "nothing");
    assert_eq!(one("haproxy(3.2, leastconn)")["needs"], "in-flight");
    assert_eq!(one("haproxy(3.2, leastconn)")["known"], "from source, not measured");
    let named = list(&["nginx"]);
    assert!(named.len() > 5 && named.iter().all(|line| line.to_string().contains("nginx")), "{named:?}");
    assert_eq!(list(&["envoy(least-request, choices = 5)"])[0]["needs"], "in-flight");
    let output = sojourn(&["policies", "round-robbin"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("unknown policy `round-robbin`; did you mean `round-robin`?"),
        "{}",
        stderr(&output)
    );
    let printed = String::from_utf8(sojourn(&["policies"]).stdout).unwrap();
    assert!(printed.contains("haproxy(2.6, leastconn)") && printed.contains("same choices"), "{printed}");
}
