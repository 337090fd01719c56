//! Sweeps: the same bytes in whatever order and however often they were interrupted, points that fail, one sweep to a store.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sha2::{Digest, Sha256};
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
    sweep.point(number, None).unwrap().ask(sweep.by(), &Progress::none()).unwrap()
}

fn key_at(sweep: &Sweep, number: usize) -> String {
    sweep.point(number, None).unwrap().key
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
        key_at(&Sweep::new(&experiment, by, beside).unwrap(), 0)
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

/// What a key is made of, once more: stores that were written before are taken up.
fn key_of_parts(settings: &[(&str, &str)], text: &str) -> String {
    let mut hash = Sha256::new();
    let own = concat!("sojourn sweep 2 ", env!("CARGO_PKG_VERSION")).to_owned();
    let settings = settings.iter().map(|(key, value)| format!("{key} = {value}"));
    let head = [own, "theory".into(), "sim".into()].into_iter();
    for part in head.chain(settings).chain([text.to_owned(), "code".into()]) {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A point is made when it is asked, out of its settings alone: it is the file without what varies, in which they are set.
#[test]
fn a_point_is_the_file_with_its_settings_and_its_key_is_that_of_before() {
    let bare =
        FILE.replace("[vary]\nutilization = [0.5, 0.7, 1.5]\npolicy = [\"random\", \"least-connections\"]\n", "");
    assert!(!bare.contains("[vary]"));
    let load = "[{ utilization = 0.3, \"run.max_jobs\" = 7000 }, { utilization = 0.4, \"run.max_jobs\" = 9000 }]";
    let single = "[[variant]]\npolicy = \"least-connections\"\nutilization = 0.6\n";
    let varied = format!("[vary]\nload = {load}\ndiscipline = [\"fcfs\", \"ps\"]\n{single}");
    let alone = |changes: &[(&str, &str)]| {
        let file = Experiment::new(Path::new("two.toml"), bare.clone(), &[]).unwrap();
        changes.iter().fold(file, |file, (key, value)| file.set(key, value).unwrap())
    };
    let check = |text: String, number: usize, settings: &[(&str, &str)], changes: &[(&str, &str)]| {
        let experiment = Experiment::new(Path::new("two.toml"), text, &[]).unwrap();
        let sweep = Sweep::new(&experiment, &[Engine::Theory, Engine::Sim], "code").unwrap();
        let point = sweep.point(number, None).unwrap();
        let of: Vec<(&str, &str)> = point.settings.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(of, settings);
        assert_eq!(point.key, key_of_parts(settings, &alone(changes).text()), "{settings:?}");
        // And it answers as that file does.
        let record = point.ask(&[Engine::Theory], &Progress::none()).unwrap();
        let asked = alone(changes).ask([Engine::Theory], &Progress::none()).unwrap();
        let mean = asked.variants[0].answers[0].metric(Metric::RESPONSE_TIME_MEAN).map(|mean| mean.value());
        assert_eq!(mean.is_ok(), record.rows.contains("response_time_mean,"));
        assert!(
            mean.is_err() || record.rows.contains(&format!(",response_time_mean,s,{:?},", mean.unwrap())),
            "{}",
            record.rows
        );
    };
    let product = [("utilization", "0.7"), ("policy", "random")];
    check(FILE.into(), 2, &product, &product);
    let other = format!("{bare}{varied}");
    let of_table = [("utilization", "0.4"), ("run.max_jobs", "9000"), ("discipline", "fcfs")];
    let settings = [&of_table[..], &[("policy", "random")]].concat();
    check(other.clone(), 2, &settings, &of_table);
    // A variant of its own sets some of the keys, in its own order; of the others the file's values hold.
    let own = [("policy", "least-connections"), ("utilization", "0.6")];
    let settings =
        [("utilization", "0.6"), ("run.max_jobs", "60_000"), ("discipline", "ps"), ("policy", "least-connections")];
    check(other, 4, &settings, &own);
}

/// What has nowhere to go is told as it is in a run, point by point.
#[test]
fn a_setting_without_a_place_is_told_at_every_point() {
    let experiment = experiment().vary("system.tier.3.policy", &["random", "round-robin"]).unwrap();
    let sweep = Sweep::new(&experiment, &[Engine::Theory], "").unwrap();
    let why = ask(&sweep, 0).failed.unwrap();
    assert!(
        why.contains("--set system.tier.3.policy=random") && why.contains("the last `[[system.tier]]` is number 0"),
        "{why}"
    );
    assert_ne!(key_at(&sweep, 0), key_at(&sweep, 1));
}

/// Keys hang on files as they are when a point is asked, also where they change while a sweep goes on.
#[test]
fn a_file_that_changes_while_a_sweep_goes_on_makes_other_keys() {
    let folder = tempfile::tempdir().unwrap();
    let gaps = folder.path().join("gaps.txt");
    fs::write(&gaps, "1\n2\n3\n").unwrap();
    let text = FILE.replace("exponential(utilization = 0.7)", "empirical(file = \\\"gaps.txt\\\", unit = ms)");
    let experiment = Experiment::new(&folder.path().join("two.toml"), text, &[]).unwrap();
    let sweep = Sweep::new(&experiment, &[Engine::Theory], "").unwrap();
    let before = key_at(&sweep, 0);
    assert_eq!(sweep.due(Store::memory().records()).len(), 6);
    fs::write(&gaps, "1\n2\n4\n5\n").unwrap();
    assert_ne!(key_at(&sweep, 0), before);
    // A record of what is not asked any more is no answer to what was.
    let mut store = Store::memory();
    store.put(ask(&sweep, 0)).unwrap();
    assert_eq!(sweep.due(store.records()).len(), 6);
    assert_eq!(sweep.answers(store.records()).reasons, ["0 of 6 points have answers"]);
}

#[test]
fn what_is_interrupted_has_no_record() {
    let cancel = Arc::new(AtomicBool::new(false));
    let sweep = sweep();
    let stop = |_: sojourn_lab::Step<'_>| cancel.store(true, Ordering::Relaxed);
    let refused = sweep.point(0, None).unwrap().ask(&[Engine::Sim], &Progress::new(&cancel, &stop)).unwrap_err();
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
    assert_ne!(key_at(&apart, 0), key_at(&Sweep::new(&longer, &[Engine::Sim], "").unwrap(), 0));
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
            let whole: Vec<(usize, u64)> = due.iter().map(|(number, requests)| (*number, requests.unwrap())).collect();
            rounds.push(whole);
            if backwards {
                due.reverse();
            }
            let many = due.len();
            for (at, (number, requests)) in due.into_iter().enumerate() {
                let point = sweep.point(number, requests).unwrap();
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
    for (number, requests) in sweep.due(half.records()) {
        let point = sweep.point(number, requests).unwrap();
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
