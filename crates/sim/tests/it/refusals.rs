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

/// All servers together can do what is asked for, and one of them cannot do its share.
#[test]
fn a_server_that_is_asked_for_too_much_is_refused_under_a_policy_that_does_not_look() {
    // Six servers of 1 / 12 ms each: 500 /s. A server of weight 100 gets 100/425 of 380 /s, 1.073 of what it can do.
    let server = "discipline = \"ps\"\ndemand = \"exponential(mean = 12 ms)\"";
    let with = |policy: &str| {
        let mut scenario = cluster("exponential(rate = 380 /s)", policy, 6, server);
        scenario.tier().weights = vec![100.0, 100.0, 100.0, 50.0, 50.0, 25.0];
        scenario
    };
    for policy in ["haproxy(2.6, roundrobin)", "weighted-round-robin", "weighted"] {
        let error = simulate(&with(policy), &Control::default()).unwrap_err();
        assert!(matches!(error, SimError::ServerUnstable(_)), "{policy}: {error}");
        let message = error.to_string();
        let parts = ["server-1 gets 0.235", "1.073 of what it can do", "354.1667 /s"];
        assert!(parts.iter().all(|part| message.contains(part)), "{policy}: {message}");
    }
    assert!(simulate(&with("weighted-least-connections"), &Control::default()).is_ok());
    // With a horizon it is a fair question.
    let control =
        Control { horizon: Some(Span(20_000_000_000)), replications: 2, precision: None, ..Control::default() };
    let report = simulate(&with("haproxy(2.6, roundrobin)"), &control).unwrap();
    assert!(report.notes.iter().any(|note| note.contains("overloaded server")), "{:?}", report.notes);
}

/// Of a hash nothing is known beforehand: two of three clients go to one server of two.
#[test]
fn a_server_that_was_never_idle_is_refused() {
    let server = "discipline = \"fcfs\"\ndemand = \"exponential(mean = 1 s)\"";
    for (clients, rate, is_refused) in [(3, 1.8, true), (3, 0.9, false), (1, 1.1, true)] {
        let mut scenario = cluster(&format!("exponential(rate = {rate} /s)"), "address-hash", 2, server);
        let sojourn_traffic::Workload::Open(open) = &mut scenario.workload else { unreachable!() };
        open.clients = clients;
        let control = Control { max_jobs: 2_000_000, ..Control::default() };
        match simulate(&scenario, &control) {
            Err(error) => {
                assert!(is_refused && matches!(error, SimError::NeverIdle { .. }), "{clients} at {rate}: {error}");
                assert!(error.to_string().contains("was never idle while"), "{error}");
            }
            Ok(report) => assert!(!is_refused, "{clients} at {rate}: {:?}", estimate(&report, "response_time_mean")),
        }
    }
    // Fewer are served at once than there are cores: 1 /s, not 4.
    let server = "discipline = \"limited-ps\"\nhelpers = 1\ncores = 4\ndemand = \"exponential(mean = 1 s)\"";
    let error = simulate(&queue("exponential(rate = 2 /s)", server), &Control::default()).unwrap_err();
    assert!(matches!(error, SimError::Unstable { utilization: 2.0, .. }), "{error}");
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

/// Servers, users, replications and requests inside take memory: what finds no room is refused with how much it takes.
#[test]
fn what_finds_no_room_in_memory_is_refused() {
    let small = Control { memory: 64 << 20, max_jobs: 10_000_000, ..Control::default() };
    let needed = |scenario: &Scenario, control: &Control| match simulate(scenario, control).unwrap_err() {
        SimError::Memory { what, needed, memory } => {
            assert_eq!(memory, 64);
            (what, needed)
        }
        other => panic!("{other}"),
    };
    let servers = cluster("exponential(rate = 4 /s)", "random", 100_000, FCFS);
    let (what, megabytes) = needed(&servers, &small);
    assert!(what.contains("100000 servers") && (900..1100).contains(&megabytes), "{what}: {megabytes} MB");
    let users = Scenario::single(crate::support::closed(1_000_000, "1 s"), servers.system.hosts[0].server.clone());
    assert!(needed(&users, &small).0.contains("1000001 servers and users"));
    // A round trip of 30 years, from which no request has come back when the memory is full.
    let mut far = queue("exponential(rate = 0.5 /s)", FCFS);
    far.system.network.rtt = Span(1_000_000_000_000_000_000);
    let (what, megabytes) = needed(&far, &small);
    assert!(what.contains("requests inside at once") && (50..=64).contains(&megabytes), "{what}: {megabytes} MB");
    let far_plan = Control { horizon: Some(Span(600_000_000_000_000)), memory: 1 << 20, ..Control::default() };
    assert!(
        sojourn_sim::run_plan(&far.system, &far.workload, &far_plan)
            .unwrap_err()
            .to_string()
            .contains("inside at once")
    );
}

/// Runs of a second have too few requests for their slowest hundredth, however many runs there are: the mean gets its
/// interval from as many as it takes, and from no more than there is memory for.
#[test]
fn short_replications_end_where_no_more_of_them_help() {
    let scenario = queue("exponential(rate = 200 /s)", "discipline = \"fcfs\"\ndemand = \"exponential(mean = 2 ms)\"");
    let control = Control { horizon: Some(Span(1_000_000_000)), ..Control::default() };
    let report = simulate(&scenario, &control).unwrap();
    assert!(report.replications < 1000 && report.converged, "{} replications", report.replications);
    assert!(estimate(&report, "response_time_mean").relative_half_width() <= 0.05);
    assert!(matches!(estimate(&report, "response_time_p99"), Estimate::WithoutInterval { .. }));
    let exact = Some(sojourn_sim::Precision { relative: 1e-6, confidence: 0.95 });
    let report = simulate(&scenario, &Control { memory: 8 << 20, precision: exact, ..control }).unwrap();
    assert_eq!(report.replications, 63, "8 MB at 128.5 kB each");
    assert!(report.notes.iter().any(|note| note.contains("63 replications, for which there is memory (8 MB)")));
}
