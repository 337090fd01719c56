//! Arrivals with long memory: what they do to a queue, and what is said of them.

use sojourn_sim::Control;
use sojourn_stats::{Estimate, Span};

use crate::support::{control, estimate, queue, run, run_plan, simulate};

const SERVER: &str = "discipline = \"fcfs\"\ndemand = \"exponential(mean = 1 ms)\"";

/// At equal mean and variance of the gaps requests wait longer with memory; without, it is M/M/1. False alarm: the
/// intervals at 1 - 1e-8 would have to miss.
#[test]
fn memory_makes_queues() {
    let mean = |h: f64| {
        let scenario = queue(&format!("fgn(h = {h}, rate = 400 /s, length = 16384)"), SERVER);
        let control = Control { replications: 60, ..control(3_000_000) };
        let report = simulate(&scenario, &control).unwrap();
        estimate(&report, "response_time_mean").interval().unwrap()
    };
    let (none, long) = (mean(0.5), mean(0.8));
    let exact_s = 1e-3 / 0.6;
    assert!(none.0 < exact_s && exact_s < none.1, "{none:?} for {exact_s}");
    assert!(none.1 < long.0, "{none:?}, {long:?}");
}

#[test]
fn the_hurst_parameter_is_reported_at_any_number_of_threads() {
    let scenario = queue("fgn(h = 0.8, rate = 700 /s, length = 8192)", SERVER);
    let report = |threads| {
        let control = Control { threads, ..control(200_000) };
        simulate(&scenario, &control).unwrap()
    };
    let (one, four) = (report(1), report(4));
    assert_eq!(one, four);
    let Estimate::Sampled { value, ci_low, ci_high, samples } = *estimate(&one, "arrivals_hurst") else {
        panic!("{:?}", estimate(&one, "arrivals_hurst"))
    };
    assert!(ci_low < value && value < ci_high && (0.65..0.8).contains(&value), "{value} ({ci_low} to {ci_high})");
    assert!(samples >= 200_000, "{samples}");
    assert!(one.notes.iter().any(|note| note.contains("8192 requests at a time")), "{:?}", one.notes);
    assert!(one.replications_values.iter().any(|(metric, parts)| metric == "arrivals_hurst" && parts.len() == 20));

    // The one run of a plan has the estimator's own interval.
    let plan = run_plan(&scenario, 1, Span(20_000_000_000), Span::ZERO).unwrap();
    assert!(estimate(&plan, "arrivals_hurst").interval().is_some());
    let poisson = run(&queue("exponential(rate = 700 /s)", SERVER), 50_000);
    assert!(!poisson.measures.iter().any(|measure| measure.metric == "arrivals_hurst"));
}

/// Sources on and off: the simulator's throughput is their rate. False alarm: 1e-8.
#[test]
fn sources_load_a_server_by_their_rate() {
    let text =
        "on-off(sources = 100, on = exponential(mean = 100 ms), off = exponential(mean = 300 ms), utilization = 0.5)";
    let mut scenario = queue(text, SERVER);
    if let sojourn_traffic::Workload::Open(open) = &mut scenario.workload {
        open.arrivals.settle(1000.0);
    }
    let report = run(&scenario, 400_000);
    crate::support::covers(&report, "throughput", 500.0, 0.05, "on-off");
    assert!(report.measures.iter().any(|measure| measure.metric == "arrivals_hurst"));
}
