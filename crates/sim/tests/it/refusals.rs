//! What is refused, in one line that says what would be right.

use sojourn_sim::{Control, SimError};
use sojourn_stats::measure::NoInterval;
use sojourn_stats::{Estimate, Span};

use crate::support::{Scenario, cluster, estimate, queue, run_plan, simulate};

const FCFS: &str = "discipline = \"fcfs\"\ndemand = \"exponential(mean = 1 s)\"";

#[test]
fn an_open_system_that_never_settles_is_refused_with_the_rate_that_would() {
    let scenario = cluster("exponential(rate = 4 /s)", "random", 4, FCFS);
    let error = simulate(&scenario, &Control::default()).unwrap_err();
    assert!(matches!(error, SimError::Unstable { .. }));
    let message = error.to_string();
    assert!(message.contains("1.000") && message.contains("4.0000 /s") && !message.contains('\n'), "{message}");
    // With a horizon it is a fair question.
    let control =
        Control { horizon: Some(Span(1_000_000_000_000)), replications: 2, precision: None, ..Control::default() };
    let report = simulate(&scenario, &control).unwrap();
    assert!(report.notes.iter().any(|note| note.contains("overloaded")), "{:?}", report.notes);
}

#[test]
fn scenarios_that_make_no_sense_are_refused() {
    let mut scenario = cluster("exponential(rate = 1 /s)", "random", 4, FCFS);
    let mut none = scenario.clone();
    none.system.tiers.clear();
    let mut refused = vec![(none, "policy")];
    scenario.tier().policy = "rondom".into();
    refused.push((scenario.clone(), "random"));
    scenario.tier().policy = "random".into();
    scenario.tier().dispatchers = 0;
    refused.push((scenario.clone(), "dispatchers"));
    scenario.tier().dispatchers = 1;
    scenario.tier().weights = vec![1.0];
    refused.push((scenario.clone(), "weight"));
    scenario.tier().weights.clear();
    scenario.tier().seats[0].targets.clear();
    scenario.system.hosts.clear();
    refused.push((scenario, "servers"));
    for (scenario, needle) in refused {
        let message = simulate(&scenario, &Control::default()).unwrap_err().to_string();
        assert!(message.contains(needle) && !message.contains('\n'), "{message:?} does not say {needle:?}");
    }
    let scenario = queue("exponential(rate = 0.5 /s)", FCFS);
    assert!(run_plan(&scenario, 1, Span(10), Span(10)).is_err());
}

/// A percentile that the samples do not bear has no interval, and one that is their maximum no number either.
#[test]
fn too_few_samples_are_said() {
    let scenario = queue("exponential(rate = 0.5 /s)", FCFS);
    let report = run_plan(&scenario, 1, Span(100_000_000_000), Span(0)).unwrap();
    let (p90, p99) = (estimate(&report, "response_time_p90"), estimate(&report, "response_time_p99"));
    assert!(matches!(p90, Estimate::WithoutInterval { samples: 10..100, why: NoInterval::TooFew, .. }), "{p90:?}");
    assert!(matches!(p99, Estimate::TooFew { samples: 1.. }), "{p99:?}");
    let one = simulate(&scenario, &Control { max_jobs: 1, precision: None, ..Control::default() }).unwrap();
    assert!(one.jobs <= 10 && !one.measures.is_empty());
}

#[test]
fn a_run_can_be_stopped_from_outside() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    let cancel = Arc::new(AtomicBool::new(false));
    let control = Control {
        precision: None,
        max_jobs: u64::MAX / 2,
        replications: 2,
        cancel: Some(Arc::clone(&cancel)),
        ..Control::default()
    };
    let Scenario { system, workload } = queue("exponential(rate = 0.5 /s)", FCFS);
    let report = sojourn_sim::run(&system, &workload, &control, &|progress| {
        cancel.store(progress.jobs > 100_000, Ordering::Relaxed);
    });
    let report = report.unwrap();
    assert!(!report.converged && report.notes.iter().any(|note| note.contains("stopped early")), "{:?}", report.notes);
}
