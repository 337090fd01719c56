//! What was seen in no request, in few, or in all: how much of it there may be all the same.

use sojourn_model::system::{Fault, Subject, Trouble};
use sojourn_sim::Control;
use sojourn_stats::{Dimension, Law, Span, Time};
use sojourn_traffic::Workload;

use crate::support::{Scenario, cluster, estimate, queue, simulate};

/// M/M/1-PS at utilisation 0.4, whose clients wait for so long; of those who wait for 300 ms, of 60 million
/// simulated requests 0.165 % were given up.
fn impatient(patience: &str) -> Scenario {
    let mut scenario =
        queue("exponential(rate = 20 /s)", "discipline = \"ps\"\ndemand = \"exponential(mean = 20 ms)\"");
    let Workload::Open(open) = &mut scenario.workload else { unreachable!("it is open") };
    open.patience = Some(Law::parse(patience, Dimension::Time).unwrap());
    scenario
}

const GIVEN_UP: f64 = 0.00165;

fn two_short_runs(seed: u64) -> Control {
    let horizon = Some(Span::from_secs_f64(5.0));
    Control { seed, horizon, replications: 2, precision: None, ..Control::default() }
}

/// Two runs of 5 s see none of it in three cases of four.
#[test]
fn what_was_not_seen_may_be_there() {
    let scenario = impatient("constant(300 ms)");
    let mut unseen = 0;
    for seed in 1..=40 {
        let report = simulate(&scenario, &two_short_runs(seed)).unwrap();
        let given_up = estimate(&report, "abandoned_ratio");
        let (low, high) = given_up.interval().unwrap();
        assert!(low <= GIVEN_UP && GIVEN_UP <= high, "seed {seed}: {low} to {high}");
        assert!(!given_up.is_sharp(), "seed {seed}: {given_up:?}");
        if given_up.value() == Some(0.0) {
            unseen += 1;
            let independent = 3.0 / given_up.samples().unwrap() as f64;
            assert!(high > 0.99 * independent && high < 10.0 * independent, "seed {seed}: up to {high}");
        }
    }
    assert!(unseen > 20, "{unseen} of 40");
}

/// No room and no patience ends: that no request failed is no matter of chance.
#[test]
fn what_cannot_happen_is_exactly_none() {
    let scenario = queue("exponential(rate = 20 /s)", "discipline = \"fcfs\"\ndemand = \"exponential(mean = 20 ms)\"");
    let report = simulate(&scenario, &two_short_runs(1)).unwrap();
    for metric in ["error_ratio", "abandoned_ratio"] {
        assert_eq!(estimate(&report, metric).interval(), Some((0.0, 0.0)), "{metric}");
    }
    // A room of 50 may fill.
    let limited = "discipline = \"fcfs\"\ndemand = \"exponential(mean = 20 ms)\"\nlimits = { jobs = 50 }";
    let report = simulate(&queue("exponential(rate = 20 /s)", limited), &two_short_runs(1)).unwrap();
    assert!(estimate(&report, "error_ratio").interval().unwrap().1 > 0.01);
}

/// Round robin sends each just so many: that is known, as exactly as it is seen.
#[test]
fn a_share_that_the_policy_fixes_is_exact() {
    let server = "discipline = \"fcfs\"\ndemand = \"exponential(mean = 20 ms)\"";
    let control = Control { precision: None, max_jobs: 40_000, replications: 2, ..Control::default() };
    let report = simulate(&cluster("exponential(rate = 60 /s)", "round-robin", 4, server), &control).unwrap();
    let share = estimate(&report, "share_1");
    let (low, high) = share.interval().unwrap();
    assert!((share.value().unwrap() - 0.25).abs() < 1e-3 && high - low < 1e-2, "{share:?}");
}

/// A server that is down for 50 ms of each run refuses 2.5 of 1,000 requests, and loses the 5.7 that are inside (0.85 /
/// 0.15): what is known of them is what ten runs tell, however alike response times are. That there are fewer than 18 or more
/// than 240 in all of them (Poisson, and ten times geometric) happens less than once in a million.
#[test]
fn a_fault_that_comes_once_in_each_run_is_known_by_its_count() {
    let mut scenario =
        queue("exponential(rate = 50 /s)", "discipline = \"fcfs\"\ndemand = \"exponential(mean = 17 ms)\"");
    let at = |s: f64| Time::ZERO + Span::from_secs_f64(s);
    let fault = Fault { at: at(10.0), until: Some(at(10.05)), subject: Subject::Host(0), trouble: Trouble::Down };
    scenario.system.faults = vec![fault];
    let horizon = Some(Span::from_secs_f64(20.0));
    let control = Control { horizon, replications: 10, precision: None, ..Control::default() };
    let report = simulate(&scenario, &control).unwrap();
    let failed = estimate(&report, "error_ratio");
    let (value, (low, high)) = (failed.value().unwrap(), failed.interval().unwrap());
    assert!((1.7e-3..2.4e-2).contains(&value), "{failed:?}");
    assert!(low > 0.4 * value && high < 2.0 * value, "{failed:?}");
}

/// No more is simulated than it takes to know on which side of its limit a share is, but that much is: more runs, where each has
/// its end.
#[test]
fn replications_are_added_until_a_share_is_decided() {
    let asked = |limit: f64| {
        let limits = vec![("abandoned_ratio".to_owned(), limit)];
        let metrics = vec!["abandoned_ratio".to_owned()];
        let control = Control {
            limits,
            metrics,
            max_jobs: 3_000_000,
            horizon: Some(Span::from_secs_f64(50.0)),
            ..Control::default()
        };
        let report = simulate(&impatient("constant(300 ms)"), &Control { replications: 2, ..control }).unwrap();
        (estimate(&report, "abandoned_ratio").interval().unwrap(), report.replications)
    };
    let ((_, high), few) = asked(0.02);
    assert!(high < 0.02, "{high}");
    let ((low, high), many) = asked(0.0025);
    assert!(many > few && high < 0.0025 && low <= GIVEN_UP && GIVEN_UP <= high, "{few} and {many}: {low} to {high}");
}

/// A share of which nothing was seen is looked at until it is known on which side of its limit it is.
#[test]
fn a_run_goes_on_until_a_limit_is_decided() {
    let asked = |patience: &str, limit: f64, max_jobs: u64| {
        let limits = vec![("abandoned_ratio".to_owned(), limit)];
        let control = Control { limits, max_jobs, horizon: Some(Span::from_secs_f64(5.0)), ..Control::default() };
        let report = simulate(&impatient(patience), &Control { replications: 2, ..control }).unwrap();
        (estimate(&report, "abandoned_ratio").interval().unwrap(), report.jobs, report.converged)
    };
    let ((low, high), _, converged) = asked("constant(300 ms)", 0.1, 1_000_000);
    assert!(converged && high < 0.1, "{low} to {high}");
    let ((_, high), jobs, converged) = asked("constant(60 s)", 1e-9, 20_000);
    assert!(!converged && high > 1e-9 && jobs > 10_000, "{jobs} requests: up to {high}");
}

/// A share near 0 that is far from its limit needs no interval of a few percent of itself; one near its limit does.
#[test]
fn a_run_ends_where_a_share_is_far_from_its_limit() {
    let asked = |limit: f64| {
        let metric = "abandoned_ratio".to_owned();
        let control = Control { metrics: vec![metric.clone()], limits: vec![(metric, limit)], ..Control::default() };
        let report = simulate(&impatient("constant(300 ms)"), &Control { max_jobs: 3_000_000, ..control }).unwrap();
        (estimate(&report, "abandoned_ratio").clone(), report.jobs)
    };
    let (far, few) = asked(0.1);
    let (near, many) = asked(0.0017);
    let (low, high) = near.interval().unwrap();
    assert!(few < 1_000_000 && 2 * few < many, "{few} and {many} requests");
    assert!(far.interval().unwrap().1 < 0.01 && low < GIVEN_UP && GIVEN_UP < high, "{far:?}, {near:?}");
}

/// An atom, and any other percentile, is known no better than the histogram's bucket; where all took the same, exactly.
#[test]
fn a_percentile_is_not_known_better_than_its_bucket() {
    let server = "discipline = \"lcfs\"\npreemptive = true\ndemand = \"constant(1 s)\"";
    let report = simulate(&queue("exponential(rate = 0.1 /s)", server), &Control::default()).unwrap();
    // Of the busy periods of M/D/1 at 0.1 (Borel) 98.4 % are at most two services, and 99.6 % at most three.
    let p99 = estimate(&report, "response_time_p99");
    let (low, high) = p99.interval().unwrap();
    assert!(low <= 3.0 && 3.0 <= high && !p99.is_sharp(), "{p99:?}");
    let report =
        simulate(&queue("constant(2 s)", "discipline = \"fcfs\"\ndemand = \"constant(1 s)\""), &Control::default())
            .unwrap();
    assert_eq!(estimate(&report, "response_time_p90").interval(), Some((1.0, 1.0)));
}
