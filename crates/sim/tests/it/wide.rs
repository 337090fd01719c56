//! What needs no event list has the answer that it has with one, on any number of threads.

use sojourn_sim::{Control, Precision, WarmUp, needs_events};
use sojourn_stats::{Law, Span};
use sojourn_traffic::Workload;

use crate::support::{Scenario, closed, cluster, queue, simulate};

const FCFS: &str = "discipline = \"fcfs\"\ndemand = \"exponential(mean = 10 ms)\"";

#[test]
fn answers_are_those_of_the_event_loop_on_any_number_of_threads() {
    let four = |policy: &str| cluster("exponential(rate = 320 /s)", policy, 4, FCFS);
    let scenarios = [
        queue("exponential(rate = 80 /s)", FCFS),
        four("random"),
        four("weighted-round-robin"),
        four("least-connections"),
        cluster("erlang(k = 2, rate = 1600 /s)", "power-of-d(d = 3)", 20, FCFS),
        queue("exponential(rate = 80 /s)", &FCFS.replace("fcfs", "ps")),
        cluster("exponential(rate = 320 /s)", "round-robin", 4, &FCFS.replace("fcfs", "ps")),
        cluster("exponential(rate = 640 /s)", "least-connections", 4, &format!("{FCFS}\ncores = 2")),
    ];
    let endless = Control {
        precision: Some(Precision { relative: 0.05, confidence: 0.95 }),
        max_jobs: 2_000_000,
        ..Control::default()
    };
    let finite = Control {
        warm_up: WarmUp::Fixed(Span(2_000_000_000)),
        horizon: Some(Span(30_000_000_000)),
        max_jobs: 100_000,
        replications: 3,
        ..Control::default()
    };
    for (number, scenario) in scenarios.iter().enumerate() {
        for control in [&endless, &finite] {
            let played = |events: bool, threads: usize| {
                let control = Control { events, threads, ..control.clone() };
                let why = needs_events(&scenario.system, &scenario.workload, &control);
                assert_eq!(why.is_some(), events, "scenario {number}: {why:?}");
                simulate(scenario, &control).unwrap()
            };
            let listed = played(true, 2);
            assert!(listed.jobs > 10_000, "scenario {number}: {} requests", listed.jobs);
            assert_eq!(played(false, 1), listed, "scenario {number}");
            assert_eq!(played(false, 3), listed, "scenario {number}");
        }
    }
}

#[test]
fn what_needs_an_event_list_says_why() {
    let control = Control::default();
    let four = |policy: &str| cluster("exponential(rate = 320 /s)", policy, 4, FCFS);
    let with = |change: &dyn Fn(&mut Scenario)| {
        let mut scenario = four("random");
        change(&mut scenario);
        scenario
    };
    let open = |scenario: &mut Scenario, change: &dyn Fn(&mut sojourn_traffic::Open)| match &mut scenario.workload {
        Workload::Open(open) => change(open),
        _ => unreachable!("it is open"),
    };
    let cases = [
        (four("round-trip(window = 1 s)"), "`round-trip(window = 1 s)` reads more"),
        (cluster("batches(n = 3, every = 10 ms)", "random", 4, FCFS), "independent draws"),
        (with(&|of| of.tier().polled = Some(Span(1_000_000))), "several dispatchers choose, or do not know at once"),
        (with(&|of| of.tier().dispatchers = 2), "several dispatchers"),
        (with(&|of| of.system.network.rtt = Span(1_000_000)), "links"),
        (with(&|of| of.system.hosts[1].server.capacity = Some(9)), "limited room"),
        (with(&|of| open(of, &|open| open.patience = Some(Law::constant(1.0)))), "give up"),
        (with(&|of| of.system.rules.timeout = Some(Span(1_000_000_000))), "wait only so long"),
        (with(&|of| of.workload = closed(3, "1 s")), "not open"),
    ];
    for (number, (scenario, why)) in cases.iter().enumerate() {
        let told = needs_events(&scenario.system, &scenario.workload, &control);
        assert!(told.as_ref().is_some_and(|told| told.contains(why)), "case {number}: {told:?}, not {why}");
    }
    assert_eq!(needs_events(&four("random").system, &four("random").workload, &control), None);
}
