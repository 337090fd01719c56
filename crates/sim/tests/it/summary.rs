//! From replications to numbers: each by hand, from what the replications say.

use sojourn_sim::{Control, Precision, Report, WarmUp};
use sojourn_stats::interval::t_quantile;
use sojourn_stats::measure::NoInterval;
use sojourn_stats::{Estimate, Span};

use crate::support::{Scenario, cluster, estimate, queue, simulate};

const FCFS: &str = "discipline = \"fcfs\"\ndemand = \"exponential(mean = 1 s)\"";

/// Twenty replications of so many requests each.
fn run(scenario: &Scenario, each: u64) -> Report {
    let control =
        Control { precision: None, max_jobs: 20 * each, warm_up: WarmUp::Fixed(Span(0)), ..Control::default() };
    simulate(scenario, &control).unwrap()
}

fn parts(report: &Report, metric: &str) -> Vec<Option<f64>> {
    let found = report.replications_values.iter().find(|(name, _)| name == metric);
    found.unwrap_or_else(|| panic!("no {metric}")).1.clone()
}

/// Student's t of 19 degrees on the spread of twenty replications around the whole, or of ten pairs of them if that is larger, at
/// the confidence that was asked for. Percentiles are told by shares, which lie about them.
#[test]
fn intervals_are_students_around_the_whole() {
    let precision = Some(Precision { relative: 100.0, confidence: 0.99 });
    let report =
        simulate(&queue("exponential(rate = 0.5 /s)", FCFS), &Control { precision, ..Control::default() }).unwrap();
    let mut seen = 0;
    for measure in &report.measures {
        let Estimate::Sampled { value, ci_low, ci_high, .. } = measure.estimate else { panic!("{measure:?}") };
        if measure.metric.starts_with("response_time_p") {
            assert!(ci_low < value && value < ci_high, "{measure:?}");
            continue;
        }
        let parts: Vec<f64> = parts(&report, &measure.metric).into_iter().flatten().collect();
        let squares: f64 = parts.iter().map(|part| (part - value).powi(2)).sum();
        let pairs: f64 = parts.chunks(2).map(|pair| ((pair[0] + pair[1]) / 2.0 - value).powi(2)).sum();
        let half = t_quantile(0.995, 19) * (squares / 19.0 / 20.0).max(pairs / 9.0 / 10.0).sqrt();
        let near = |end: f64, by_hand: f64| (end - by_hand).abs() <= 1e-9 * value.abs();
        assert_eq!(parts.len(), 20);
        assert!(near(ci_low, value - half) && near(ci_high, value + half), "{measure:?}, not {half}");
        seen += usize::from(half > 0.0);
    }
    assert!(seen >= 5, "{seen}");
    // The whole is of all requests: with as many in each replication it is the mean of means.
    let means = parts(&report, "response_time_mean");
    let mean = means.iter().flatten().sum::<f64>() / 20.0;
    let whole = estimate(&report, "response_time_mean").value().unwrap();
    assert!((mean / whole - 1.0).abs() < 1e-2, "{mean}, {whole}");
}

/// Five samples beyond a quantile in each replication, and in all of them as many as tell as much as twenty, or there is no
/// interval; one in all of them, or there is no number.
#[test]
fn a_quantile_needs_samples_beyond_it() {
    let scenario = queue("exponential(rate = 0.5 /s)", FCFS);
    let (enough, few) = (run(&scenario, 500), run(&scenario, 499));
    assert!(parts(&enough, "response_time_p99").iter().all(Option::is_some));
    assert!(parts(&few, "response_time_p99").iter().all(Option::is_none));
    assert!(matches!(
        estimate(&enough, "response_time_p99"),
        Estimate::WithoutInterval { why: NoInterval::TooShort, .. }
    ));
    assert!(estimate(&run(&scenario, 2_000), "response_time_p99").interval().is_some());
    assert!(matches!(estimate(&few, "response_time_p99"), Estimate::WithoutInterval { why: NoInterval::TooFew, .. }));
    let (one, none) = (run(&scenario, 50), run(&scenario, 49));
    assert!(estimate(&one, "response_time_p99.9").value().is_some());
    assert_eq!(*estimate(&none, "response_time_p99.9"), Estimate::TooFew { samples: 980 });
}

/// Of four servers p90 is at rank 2.7 and p10 at rank 0.3, between which it is interpolated.
#[test]
fn shares_and_their_imbalance_are_of_the_requests_sent() {
    let report = run(&cluster("exponential(rate = 2 /s)", "random", 4, FCFS), 1000);
    let shares: Vec<Vec<Option<f64>>> = (1..=4).map(|server| parts(&report, &format!("share_{server}"))).collect();
    for (replication, imbalance) in parts(&report, "imbalance_index").into_iter().enumerate() {
        let mut sorted: Vec<f64> = shares.iter().map(|of| of[replication].unwrap()).collect();
        assert!((sorted.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        sorted.sort_unstable_by(f64::total_cmp);
        let p90 = sorted[2] + 0.7 * (sorted[3] - sorted[2]);
        let p10 = sorted[0] + 0.3 * (sorted[1] - sorted[0]);
        let by_hand = 1.0 + (p90 - p10) / (2.0 * 0.25);
        assert!((imbalance.unwrap() - by_hand).abs() < 1e-9, "{imbalance:?}, not {by_hand}");
    }
    let says = |report: &Report, metric: &str| report.measures.iter().any(|measure| measure.metric == metric);
    let one = run(&queue("exponential(rate = 0.5 /s)", FCFS), 100);
    assert!(!says(&one, "imbalance_index") && !says(&one, "share_1"));
    let sixteen = run(&cluster("exponential(rate = 8 /s)", "random", 16, FCFS), 100);
    assert!(says(&sixteen, "share_16"));
    let seventeen = run(&cluster("exponential(rate = 8 /s)", "random", 17, FCFS), 100);
    assert!(!says(&seventeen, "share_1") && says(&seventeen, "imbalance_index"));
}

/// What the books say of a queue without room: everything that came was served, and time adds up.
#[test]
fn times_and_rates_agree_with_each_other() {
    let report = run(&queue("exponential(rate = 0.5 /s)", FCFS), 10_000);
    let of = |metric: &str| parts(&report, metric).into_iter().map(Option::unwrap).collect::<Vec<f64>>();
    let (response, waiting, service) = (of("response_time_mean"), of("waiting_time_mean"), of("service_time_mean"));
    for at in 0..20 {
        assert!((waiting[at] + service[at] - response[at]).abs() < 1e-6 * response[at], "{at}");
        // Little's law of the server; its last requests are not out when counting ends.
        let busy = of("throughput")[at] * service[at];
        assert!((of("utilization")[at] - busy).abs() < 1e-3, "{at}: {busy}");
    }
    assert_eq!((of("error_ratio"), of("abandoned_ratio")), (vec![0.0; 20], vec![0.0; 20]));
}

/// One run: its intervals are Student's t on twenty sections of equal time between warm-up and horizon. No request waits here, so
/// that what each section completed is known from the plan.
#[test]
fn sections_of_one_run_are_of_equal_time() {
    let scenario = queue("exponential(rate = 5 /s)", "discipline = \"fcfs\"\ncores = 64\ndemand = \"1 us\"");
    let (horizon, warm_up) = (Span(70_000_000_000), Span(10_000_000_000));
    let report = crate::support::run_plan(&scenario, 1, horizon, warm_up).unwrap();
    let demand = sojourn_sim::demand_of(&scenario.system.hosts[0].server);
    let plan = sojourn_traffic::Plan::new(&scenario.workload, 1, demand)
        .unwrap()
        .collect_until(sojourn_stats::Time(horizon.0));
    let mut completed = [0.0; 20];
    for planned in plan.iter().filter(|planned| planned.at.0 >= warm_up.0) {
        completed[((planned.at.0 - warm_up.0) / 3_000_000_000) as usize] += 1.0;
    }
    let Estimate::Sampled { value, ci_low, ci_high, .. } = *estimate(&report, "throughput") else { panic!() };
    let squares: f64 = completed.iter().map(|count| (count / 3.0 - value).powi(2)).sum();
    let half = t_quantile(0.975, 19) * (squares / 19.0 / 20.0).sqrt();
    assert!(
        (value - half - ci_low).abs() < 1e-9 && (value + half - ci_high).abs() < 1e-9,
        "{ci_low} to {ci_high}: {half}"
    );
    assert!((value - completed.iter().sum::<f64>() / 60.0).abs() < 1e-2, "{value}");
}
