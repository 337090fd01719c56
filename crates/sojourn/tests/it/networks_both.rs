//! Networks of queues, by theory and by sim in one run.

use std::path::Path;

use crate::sojourn::{estimates, file, root, sojourn, stderr};

/// In product form: theory is exact for all of it.
const SHOP: &str = r#"
name = "shop"
[[station]]
name = "line"
rate = "1 Mbit/s"
[[station]]
name = "backbone"
discipline = "delay"
[[station]]
name = "server"
discipline = "ps"
[[chain]]
name = "users"
users = 6
think = "exponential(mean = 500 ms)"
size = "8 kB"
cache = { policy = "lfu", size = 20, objects = 200, popularity = 0.8 }
[[chain.branch]]
steps = [{ station = "line" }]
[[chain.branch]]
steps = [
    { station = "line" }, { station = "backbone", demand = "erlang(k = 4, mean = 195 ms)" },
    { station = "server", demand = "exponential(mean = 60 ms)" },
]
[[chain]]
name = "visitors"
arrivals = "exponential(rate = 2 /s)"
steps = [{ station = "server", demand = "exponential(mean = 60 ms)" }]
[run]
by = ["theory", "sim"]
precision = "2% at 95%"
"#;

#[test]
fn theory_and_sim_answer_in_one_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "shop.toml", SHOP);
    let out = folder.path().join("out").display().to_string();
    let output = sojourn(&["run", &path, "--out", &out]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let metrics = [
        "response_time_mean_users",
        "response_time_mean_visitors",
        "response_time_mean_line",
        "throughput",
        "throughput_users",
        "utilization_server",
        "queue_length_mean_backbone",
        "hit_ratio_users",
    ];
    for metric in metrics {
        let [theory, sim] = ["theory", "sim"].map(|engine| estimates(Path::new(&out), engine, metric)[0]);
        // The intervals of means are 2 % wide at 95 %: this is many times that.
        assert!((sim / theory - 1.0).abs() < 0.15, "{metric}: {theory} by theory, {sim} by sim");
    }
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("Chains and stations") && table.contains("visitors"), "{table}");
}

#[test]
fn the_whole_system_of_fujita_is_answered_by_both() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out").display().to_string();
    let system = root().join("experiments/fujita-2000/system.toml").display().to_string();
    let output = sojourn(&["run", &system, "--set", "run.precision=10% at 95%", "--out", &out]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for engine in ["theory", "sim"] {
        let times = estimates(Path::new(&out), engine, "response_time_mean_users");
        assert_eq!(times.len(), 2, "one at each rate of the line");
        assert!(times[1] < times[0], "{engine}: a faster line slows no user down: {times:?}");
    }
}
