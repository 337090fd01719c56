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

/// What a sweep has beside the rows of a run.
const DIFFERENCES: [&str; 2] = ["response_time_mean_difference", "response_time_mean_ratio"];

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
        let numbers = |of: &Answer| {
            let own = of.measures.iter().filter(|measure| !DIFFERENCES.contains(&measure.metric.as_str()));
            format!("{} {} {:?}", of.variant, of.engine, own.collect::<Vec<_>>())
        };
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

/// Differences are those of the replications of a run, pair by pair, and sharper than what two numbers apart would tell.
#[test]
fn points_that_differ_in_policy_are_compared_replication_by_replication() {
    let longer = experiment().set("run.max_jobs", "400000").unwrap();
    let sweep = Sweep::new(&longer, &[Engine::Theory, Engine::Sim], "").unwrap();
    let mut store = Store::memory();
    (0..6).for_each(|number| store.put(ask(&sweep, number)).unwrap());
    let answers = sweep.answers(store.records());
    let sim = |number: usize| answers.variants[number].answer(Engine::Sim).unwrap();
    let mean = |number: usize| sim(number).estimate("response_time_mean").unwrap();
    for (first, second) in [(0, 1), (2, 3)] {
        let pairs = sim(first).replications("response_time_mean").unwrap().iter();
        let pairs = pairs.zip(sim(second).replications("response_time_mean").unwrap());
        let each: Vec<f64> = pairs.map(|(a, b)| b.unwrap() - a.unwrap()).collect();
        let average = each.iter().sum::<f64>() / each.len() as f64;
        let found = sim(second).estimate(DIFFERENCES[0]).unwrap();
        assert!((found.value().unwrap() - average).abs() < 1e-12, "{found:?} {average}");
        let (low, high) = found.interval().unwrap();
        assert!(low < high && high < 0.0, "to the shortest queue is faster: {found:?}");
        let width = |number: usize| mean(number).interval().map(|(low, high)| high - low).unwrap();
        assert!(high - low < width(first).hypot(width(second)), "{found:?}");
        let ratio = sim(second).estimate(DIFFERENCES[1]).unwrap().value().unwrap();
        assert!((ratio - mean(second).value().unwrap() / mean(first).value().unwrap()).abs() < 0.02, "{ratio}");
        assert!(sim(first).estimate(DIFFERENCES[0]).is_none(), "the first is not compared with itself");
    }
    let table = String::from_utf8(sweep.table(store.records()).unwrap()).unwrap();
    assert_eq!(table.lines().filter(|line| line.contains("_difference,s,-")).count(), 2, "{table}");
    // With random numbers of their own there are no pairs.
    let apart = Sweep::new(&longer, &[Engine::Sim], "").unwrap().independent(&["policy".into()]).unwrap();
    assert_ne!(apart.points()[0].key, Sweep::new(&longer, &[Engine::Sim], "").unwrap().points()[0].key);
    let mut store = Store::memory();
    (0..2).for_each(|number| store.put(ask(&apart, number)).unwrap());
    let answers = apart.answers(store.records());
    assert!(answers.variants[1].answer(Engine::Sim).unwrap().estimate(DIFFERENCES[0]).is_none());
    let refused = Sweep::new(&experiment(), &[Engine::Sim], "").unwrap().independent(&["polcy".into()]).err().unwrap();
    assert!(refused.to_string().contains("`polcy` does not vary; what does is utilization, policy"), "{refused}");
}

/// What is assigned is the same in whatever order a round was finished, and nothing before it is.
#[test]
fn a_budget_is_spent_in_rounds_where_the_intervals_are_widest() {
    let budget = 4_000_000;
    let made = || {
        let vary = |experiment: Experiment| experiment.vary("utilization", &["0.3", "0.9"]).unwrap();
        let sweep = Sweep::new(&vary(experiment()), &[Engine::Sim], "").unwrap();
        sweep.within_budget(budget).unwrap()
    };
    // Rounds as (point, requests), each asked backwards or not.
    let all = |backwards: bool| {
        let (sweep, mut store, mut rounds) = (made(), Store::memory(), Vec::new());
        loop {
            let mut due = sweep.due(store.records());
            if due.is_empty() {
                break (sweep.table(store.records()).unwrap(), rounds, sweep, store);
            }
            let whole: Vec<(usize, u64)> = due.iter().map(|(at, point)| (*at, point.requests.unwrap())).collect();
            rounds.push(whole);
            if backwards {
                due.reverse();
            }
            let many = due.len();
            for (at, (_, point)) in due.into_iter().enumerate() {
                store.put(point.ask(sweep.by(), &Progress::none()).unwrap()).unwrap();
                let left = sweep.due(store.records());
                let is_same = rounds.last().unwrap().len() == left.len() + at + 1;
                assert!(at + 1 == many || is_same, "before a round is finished there is no other");
            }
        }
    };
    let (table, rounds, sweep, store) = all(false);
    let backwards = all(true);
    assert_eq!((&backwards.0, &backwards.1), (&table, &rounds));
    assert_eq!(rounds[0], [0, 1, 2, 3].map(|number| (number, budget / 16)));
    let total: u64 = rounds.iter().flatten().map(|(_, requests)| requests).sum();
    assert!(total <= budget && total > budget / 2, "{total}: {rounds:?}");
    let most = |number: usize| rounds.iter().flatten().filter(|(at, _)| *at == number).map(|of| of.1).max().unwrap();
    assert!(most(1) > 2 * most(0), "the interval at 0.9 is the widest: {rounds:?}");
    let answers = sweep.answers(store.records());
    assert_eq!(answers.verdict, sojourn_lab::Verdict::Valid);
    // An answer is that of the last round: so long a run by itself.
    let last = sweep.point(1, Some(most(1))).unwrap().ask(sweep.by(), &Progress::none()).unwrap();
    assert_eq!(store.records()[&last.key], last);
    let of = answers.variants[1].answer(Engine::Sim).unwrap();
    assert!(last.rows.contains(&format!("{}", of.estimate("response_time_mean").unwrap().value().unwrap())));
    // Half of a round: numbers of the round before, and it says so.
    let mut half = Store::memory();
    for (_, point) in sweep.due(half.records()) {
        half.put(point.ask(sweep.by(), &Progress::none()).unwrap()).unwrap();
    }
    let answers = sweep.answers(half.records());
    assert!(answers.reasons[0].contains("the budget is not spent"), "{:?}", answers.reasons);
    let refuse = |by: &[Engine], text: String, requests| {
        let experiment = Experiment::new(Path::new("two.toml"), text, &[]).unwrap();
        Sweep::new(&experiment, by, "").unwrap().within_budget(requests).err().unwrap().to_string()
    };
    assert!(refuse(&[Engine::Theory], FILE.into(), 1000).contains("nothing is simulated"));
    assert!(refuse(&[Engine::Sim], format!("{FILE}duration = \"10 s\"\n"), 1000).contains("`duration` says"));
    assert!(refuse(&[Engine::Sim], FILE.into(), 3).contains("3 requests for 6 points"));
}

#[test]
fn objectives_are_judged_at_every_point() {
    let text = format!("{FILE}[objective]\nmean = \"< 25 ms\"\n").replace("60_000", "400_000");
    let experiment = Experiment::new(Path::new("two.toml"), text, &[]).unwrap();
    let sweep = Sweep::new(&experiment, &[Engine::Theory, Engine::Sim], "").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("points.jsonl")).unwrap();
    [2, 0].iter().for_each(|number| store.put(ask(&sweep, *number)).unwrap());
    drop(store);
    let store = Store::open(&folder.path().join("points.jsonl")).unwrap();
    let answers = sweep.answers(store.records());
    let met: Vec<(usize, Option<bool>)> = answers.objectives.iter().map(|one| (one.variant, one.met)).collect();
    // 20 ms at 0.5, 33.3 ms at 0.7, by both.
    assert_eq!(met, [(0, Some(true)), (0, Some(true)), (1, Some(false)), (1, Some(false))]);
    assert!(answers.objectives[0].text.contains("25 ms"), "{:?}", answers.objectives);
}
