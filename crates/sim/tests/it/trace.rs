//! Traces and changing rates against what can be computed by hand.

use std::sync::Arc;

use sojourn_model::Server;
use sojourn_sim::Control;
use sojourn_stats::{Law, Span};
use sojourn_traffic::{Arrivals, Open, Plan, Profile, Sizes, Trace, Traced, Workload};

use crate::support::{Scenario, estimate, open, queue, simulate};

fn trace(text: &str, repeat: bool) -> Workload {
    let trace = Arc::new(Trace::read_from(text.as_bytes(), "t.csv").unwrap());
    let sizes = Sizes::Law(Law::constant(1000.0));
    Workload::Trace(Traced { trace, path: "t.csv".into(), speed: 1.0, repeat, clients: 1, sizes, patience: None })
}

/// Gaps and demands of an M/M/1 queue at 0.8, as text.
fn pairs(requests: usize) -> String {
    let server = Server::from_toml("discipline = \"fcfs\"\ndemand = \"exponential(mean = 1 ms)\"").unwrap();
    let drawn = Plan::new(&open("exponential(rate = 800 /s)"), 5, sojourn_sim::demand_of(&server)).unwrap();
    let mut before = 0;
    let line = |planned: sojourn_traffic::Planned| {
        let gap = planned.at.0 - before;
        before = planned.at.0;
        format!("{gap},{}\n", planned.request.demand.0)
    };
    format!("gap_ns,demand_ns\n{}", drawn.take(requests).map(line).collect::<String>())
}

/// Lindley's recursion on the trace is the simulator's mean, to the nanosecond; the server's own demand plays no part.
#[test]
fn a_trace_with_demands_is_lindleys_recursion() {
    let text = pairs(5000);
    let (mut wait, mut sum, mut before) = (0u64, 0u64, 0u64);
    for line in text.lines().skip(1) {
        let (gap, demand) = line.split_once(',').unwrap();
        let (gap, demand): (u64, u64) = (gap.parse().unwrap(), demand.parse().unwrap());
        wait = (wait + before).saturating_sub(gap);
        before = demand;
        sum += wait + demand;
    }
    let exact_s = sum as f64 * 1e-9 / 5000.0;
    let server = Server::from_toml("discipline = \"fcfs\"\ndemand = \"7 s\"").unwrap();
    let scenario = Scenario::single(trace(&text, false), server);
    let report = simulate(&scenario, &Control::default()).unwrap();
    let mean_s = estimate(&report, "response_time_mean").value().unwrap();
    assert!((mean_s - exact_s).abs() < 1e-12, "{mean_s} for {exact_s}");
    assert_eq!((report.jobs, report.replications), (5000, 1));
    assert!(report.notes.iter().any(|note| note.contains("one run of the trace")), "{:?}", report.notes);

    // The same trace under another discipline: as much work, another mean.
    let shared = Server::from_toml("discipline = \"ps\"\ndemand = \"7 s\"").unwrap();
    let shared = simulate(&Scenario::single(trace(&text, false), shared), &Control::default()).unwrap();
    let work = |report: &sojourn_sim::Report| estimate(report, "service_time_mean").value().unwrap();
    assert!((work(&shared) - work(&report)).abs() < 1e-12);
    assert_ne!(estimate(&shared, "response_time_mean").value(), Some(mean_s));
}

#[test]
fn what_never_ends_needs_a_duration() {
    let server = "discipline = \"fcfs\"\ndemand = \"1 ms\"";
    let endless = Scenario::single(trace("1 ms\n3 ms\n", true), Server::from_toml(server).unwrap());
    let refused = simulate(&endless, &Control::default()).unwrap_err().to_string();
    assert!(refused.contains("no end") && refused.contains("duration"), "{refused}");
    let bounded = Control { horizon: Some(Span(2_000_000_000)), ..Control::default() };
    // 1, 4, 5, 8, ... ms: 1000 before 2 s, the last one at 2 s itself.
    assert_eq!(simulate(&endless, &bounded).unwrap().jobs, 999);

    let arrivals = Arrivals::parse("exponential(rate = 800 /s)").unwrap();
    let profile = Profile::parse("steps(0.5, 1.5, every = 10 s)").unwrap();
    let sizes = Sizes::Law(Law::constant(1000.0));
    let shaped = Open { arrivals: arrivals.with_profile(profile), clients: 1, sizes, patience: None };
    let shaped = Scenario { workload: Workload::Open(shaped), ..queue("exponential(rate = 1 /s)", server) };
    let refused = simulate(&shaped, &Control::default()).unwrap_err().to_string();
    assert!(refused.contains("changes with time") && refused.contains("duration"), "{refused}");
    let report = simulate(&shaped, &Control { horizon: Some(Span(20_000_000_000)), ..bounded }).unwrap();
    // 16,000 requests per replication on average; beyond capacity in the second half, and it says so.
    assert!(report.notes.iter().any(|note| note.contains("1.200 of the capacity at its peak")), "{:?}", report.notes);
}

/// Batches of n at an idle FCFS server with constant work s: the k-th waits (k - 1) s, on average (n - 1) s / 2.
#[test]
fn a_batch_queues_behind_itself() {
    let scenario = queue("batches(n = 50, every = 1 s)", "discipline = \"fcfs\"\ndemand = \"10 ms\"");
    let control = Control { max_jobs: 100_000, ..Control::default() };
    let report = simulate(&scenario, &control).unwrap();
    let waiting_s = estimate(&report, "waiting_time_mean").value().unwrap();
    assert!((waiting_s - 0.245).abs() < 1e-3, "{waiting_s}");
}
