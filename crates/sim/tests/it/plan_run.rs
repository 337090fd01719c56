//! The run that live ran.

use sojourn_stats::{Estimate, Span, Time};
use sojourn_traffic::{Plan, Workload};

use crate::support::{Scenario, closed, cluster, covers, estimate, queue, run_plan};

/// The requests of the run are those of the plan, no more and no fewer: planned between warm-up and horizon.
#[test]
fn it_measures_exactly_the_plan() {
    let server = "discipline = \"ps\"\ndemand = \"exponential(mean = 1 ms)\"";
    let scenario = cluster("exponential(rate = 700 /s)", "round-trip(window = 500 ms)", 4, server);
    let (horizon, warm_up) = (Span(15_000_000_000), Span(1_500_000_000));
    let report = run_plan(&scenario, 3, horizon, warm_up).unwrap();
    let plan = Plan::new(&scenario.workload, 3, sojourn_sim::demand_of(&scenario.system.hosts[0].server)).unwrap();
    let planned = plan.collect_until(Time(horizon.0));
    let measured: Vec<_> = planned.iter().filter(|planned| planned.at >= Time(warm_up.0)).collect();
    assert_eq!(report.jobs, measured.len() as u64);
    // Core time is the demand of the plan.
    let mean_s =
        measured.iter().map(|planned| planned.request.demand.as_secs_f64()).sum::<f64>() / measured.len() as f64;
    let service = estimate(&report, "service_time_mean").value().unwrap();
    assert!((service - mean_s).abs() < 1e-12, "{service} against {mean_s}");
    for measure in &report.measures {
        let sampled = matches!(measure.estimate, Estimate::Sampled { .. });
        assert!(sampled || measure.metric == "response_time_p99.9", "{measure:?}");
    }
    assert_eq!(report, run_plan(&scenario, 3, horizon, warm_up).unwrap());
}

/// A deterministic queue by hand: arrivals each second, work of 0.6 s, so that no job waits.
#[test]
fn a_deterministic_queue_is_as_computed_by_hand() {
    let scenario = queue("constant(1 s)", "discipline = \"fcfs\"\ndemand = \"600 ms\"");
    let report = run_plan(&scenario, 1, Span(1_000_500_000_000), Span(500_000_000)).unwrap();
    assert_eq!(report.jobs, 1000);
    let mean_s = estimate(&report, "response_time_mean").value().unwrap();
    assert!((mean_s - 0.6).abs() < 1e-12, "{mean_s}");
    covers(&report, "waiting_time_mean", 0.0, 0.0, "D/D/1");
    covers(&report, "utilization", 0.6, 1e-2, "D/D/1");
    covers(&report, "throughput", 1.0, 1e-2, "D/D/1");
    assert_eq!(report.response_time_cdf.last().unwrap().1, 1.0);
}

/// What is inside at the horizon ends, and counts.
#[test]
fn requests_inside_at_the_horizon_are_drained() {
    let scenario = queue("constant(1 s)", "discipline = \"fcfs\"\ndemand = \"2 s\"");
    let report = run_plan(&scenario, 1, Span(100_500_000_000), Span(0)).unwrap();
    assert_eq!(report.jobs, 100);
    // The k-th waits k - 1 s: the mean response time is 2 + 49.5 s.
    let mean_s = estimate(&report, "response_time_mean").value().unwrap();
    assert!((mean_s - 51.5).abs() < 1e-9, "{mean_s}");
    // Half of the capacity's worth were complete at the horizon.
    let throughput = estimate(&report, "throughput").value().unwrap();
    assert!((throughput - 49.0 / 100.5).abs() < 0.02, "{throughput}");
}

#[test]
fn closed_users_stop_asking_at_the_horizon() {
    let server = sojourn_model::Server::from_toml("discipline = \"fcfs\"\ndemand = \"500 ms\"").unwrap();
    let scenario = Scenario::single(closed(1, "constant(500 ms)"), server);
    assert!(matches!(scenario.workload, Workload::Closed(_)));
    let report = run_plan(&scenario, 1, Span(20_000_000_000), Span(0)).unwrap();
    // Asks at 0.5, 1.5, ..., 19.5 s.
    assert_eq!(report.jobs, 20);
}
