//! Sweeps: the same bytes in whatever order and however often they were interrupted, points that fail, one sweep to a store.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sojourn_lab::RunError;
use sojourn_lab::prelude::*;
use sojourn_lab::sweep::{Store, Sweep};

const FILE: &str = r#"
name = "two servers"
[workload]
kind = "open"
arrivals = "exponential(utilization = 0.7)"
[[system.tier]]
face = "gateway"
policy = "random"
targets = { servers = 2 }
[system.server]
discipline = "ps"
demand = "exponential(mean = 10 ms)"
[vary]
utilization = [0.5, 0.7, 1.5]
policy = ["random", "least-connections"]
[run]
max_jobs = 60_000
"#;

fn experiment() -> Experiment {
    Experiment::new(Path::new("two.toml"), FILE.into(), &[]).unwrap()
}

fn sweep() -> Sweep {
    Sweep::new(&experiment(), &[Engine::Theory, Engine::Sim], "").unwrap()
}

fn ask(sweep: &Sweep, number: usize) -> sojourn_lab::sweep::Record {
    sweep.points()[number].ask(sweep.by(), &Progress::none()).unwrap()
}

/// The rows of a store in which these points were put, in this order.
fn table(sweep: &Sweep, order: &[usize]) -> String {
    let mut store = Store::memory();
    order.iter().for_each(|number| store.put(ask(sweep, *number)).unwrap());
    String::from_utf8(sweep.table(store.records()).unwrap()).unwrap()
}

#[test]
fn rows_are_in_the_order_of_the_grid_and_those_of_a_run() {
    let sweep = sweep();
    let whole = table(&sweep, &[0, 1, 2, 3, 4, 5]);
    assert_eq!(table(&sweep, &[5, 3, 1, 0, 2, 4]), whole);
    let run = experiment().vary("utilization", &["0.5", "0.7"]).unwrap();
    let run = run.vary("policy", &["random", "least-connections"]).unwrap();
    let run = run.ask([Engine::Theory, Engine::Sim], &Progress::none()).unwrap();
    let mut store = Store::memory();
    (0..6).for_each(|number| store.put(ask(&sweep, number)).unwrap());
    let answers = sweep.answers(store.records());
    let numbers = |answers: &Answers| -> Vec<String> {
        let numbers = |of: &Answer| format!("{} {} {:?}", of.variant, of.engine, of.measures);
        answers.iter().map(numbers).collect()
    };
    assert_eq!(numbers(&answers), numbers(&run), "the points that can be asked are the variants of a run");
    assert_eq!(answers.settings, ["utilization", "policy"]);
    // A formula is asked first, and refuses an overload as the simulator does.
    let failures = sweep.failures(store.records());
    assert_eq!(failures.iter().map(|(place, _)| *place).collect::<Vec<_>>(), [4, 5]);
    assert!(failures[0].1.contains("utilization"), "{failures:?}");
    assert_eq!(whole.lines().filter(|line| line.contains(",failed,")).count(), 2, "{whole}");
    assert!(whole.starts_with("utilization,policy,engine,metric,unit,estimate,ci_low,ci_high,samples\n"), "{whole}");
}

#[test]
fn a_store_is_taken_up_and_a_torn_line_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("below/points.jsonl");
    let sweep = sweep();
    let mut store = Store::open(&path).unwrap();
    [4, 0, 3].iter().for_each(|number| store.put(ask(&sweep, *number)).unwrap());
    let refused = Store::open(&path).err().unwrap().to_string();
    assert!(refused.contains("another sweep writes it"), "{refused}");
    let half = sweep.answers(store.records());
    assert_eq!((half.verdict, half.variants.len()), (sojourn_lab::Verdict::Incomplete, 3));
    drop(store);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.clone() + "{\"key\":\"abc").unwrap();
    let mut store = Store::open(&path).unwrap();
    assert_eq!(store.records().len(), 3);
    for point in sweep.points() {
        if !store.records().contains_key(&point.key) {
            store.put(point.ask(sweep.by(), &Progress::none()).unwrap()).unwrap();
        }
    }
    let resumed = String::from_utf8(sweep.table(store.records()).unwrap()).unwrap();
    assert_eq!(resumed, table(&sweep, &[0, 1, 2, 3, 4, 5]));
    drop(store);
    assert!(fs::read_to_string(&path).unwrap().starts_with(&text));
    fs::write(&path, text.replacen("theory", "thoery", 1)).unwrap();
    let refused = Store::open(&path).err().unwrap().to_string();
    assert!(refused.contains("points.jsonl: line "), "{refused}");
}

/// A key hangs on all that an answer hangs on, and on nothing else.
#[test]
fn keys_tell_points_apart() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("gaps.txt"), "1\n2\n3\n").unwrap();
    fs::write(
        folder.path().join("server.toml"),
        "discipline = \"ps\"\ndemand = \"empirical(file = \\\"demands.txt\\\")\"\n",
    )
    .unwrap();
    fs::write(folder.path().join("demands.txt"), "1\n").unwrap();
    let file = folder.path().join("two.toml");
    let key_of = |text: &str, by: &[Engine], beside: &str| {
        let experiment = Experiment::new(&file, text.into(), &[]).unwrap();
        Sweep::new(&experiment, by, beside).unwrap().points()[0].key.clone()
    };
    let both = [Engine::Theory, Engine::Sim];
    let text = FILE.replace("exponential(utilization = 0.7)", "empirical(file = \\\"gaps.txt\\\", unit = ms)");
    let text = text.replace("[system.server]\ndiscipline = \"ps\"\ndemand = \"exponential(mean = 10 ms)\"\n", "");
    let text = text.replace("[vary]", "[system]\nserver = \"server.toml\"\n[vary]");
    let first = key_of(&text, &both, "");
    assert_eq!(first, key_of(&text, &both, ""));
    let others = [
        key_of(&text, &[Engine::Sim], ""),
        key_of(&text, &both, "other code"),
        key_of(&format!("seed = 2{text}"), &both, ""),
        key_of(&text.replace("60_000", "70_000"), &both, ""),
    ];
    fs::write(folder.path().join("gaps.txt"), "1\n2\n4\n").unwrap();
    let other_gaps = key_of(&text, &both, "");
    fs::write(folder.path().join("demands.txt"), "2\n").unwrap();
    let other_demands = key_of(&text, &both, "");
    let mut all = vec![first, other_gaps, other_demands];
    all.extend(others);
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), count);
}

#[test]
fn what_is_interrupted_has_no_record() {
    let cancel = Arc::new(AtomicBool::new(false));
    let sweep = sweep();
    let stop = |_: sojourn_lab::Step<'_>| cancel.store(true, Ordering::Relaxed);
    let refused = sweep.points()[0].ask(&[Engine::Sim], &Progress::new(&cancel, &stop)).unwrap_err();
    assert!(matches!(refused, RunError::Interrupted(_)), "{refused}");
}

#[test]
fn live_is_refused_since_each_run_is_another_measurement() {
    let refused = Sweep::new(&experiment(), &[Engine::Live], "").err().unwrap().to_string();
    assert!(refused.starts_with("two.toml: a sweep asks theory and sim"), "{refused}");
}
