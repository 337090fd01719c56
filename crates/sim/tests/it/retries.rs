//! Clients that try again: how often, after how long, and within which budget.

use sojourn_model::system::{Abandoned, Backoff, Budget, Face, Fault, Hedge, Retries, Rules, Subject, Tier, Trouble};
use sojourn_model::{Server, System};
use sojourn_sim::Report;
use sojourn_stats::{Law, Span, Time};
use sojourn_traffic::{Open, Workload};

use crate::support::{Scenario, estimate, open, run_plan};

const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
const REQUESTS: f64 = 599.0;

fn value(report: &Report, metric: &str) -> f64 {
    estimate(report, metric).value().unwrap_or_else(|| panic!("{metric}"))
}

/// A server that takes 10 ms for a request, and has this trouble from 20.05 s on.
fn troubled(until_ms: u64, trouble: Trouble, retries: Option<Retries>) -> System {
    let mut system = System::single(Server::from_toml("discipline = \"fcfs\"\ndemand = \"10 ms\"").unwrap());
    let (at, until) = (Time(20_050 * MS), Some(Time(until_ms * MS)));
    system.faults = vec![Fault { at, until, subject: Subject::Host(0), trouble }];
    system.rules.retries = retries;
    system
}

/// One request comes each tenth of a second of a minute.
fn run(system: System) -> (u64, Report) {
    let scenario = Scenario { workload: open("constant(100 ms)"), system };
    let report = run_plan(&scenario, 1, Span(60 * SECOND), Span::ZERO).unwrap();
    ((value(&report, "error_ratio") * REQUESTS).round() as u64, report)
}

fn retries(at_most: u32, backoff_s: Option<f64>, budget: Option<f64>) -> Option<Retries> {
    Some(Retries {
        at_most,
        backoff: backoff_s.map(|s| Backoff::Law(Law::constant(s))),
        budget: budget.map(Budget::Share),
    })
}

/// Requests that are refused for 20 s come back after 30 s, each with another one that then waits for it or lets it wait.
#[test]
fn a_refused_request_comes_again_after_a_while() {
    let down = |retries| run(troubled(40_050, Trouble::Down, retries));
    assert_eq!(down(None).0, 200);
    assert_eq!(down(retries(3, None, None)).0, 200, "at once it is refused again");
    let (none, report) = down(retries(1, Some(30.0), None));
    assert_eq!(none, 0);
    let exact = (REQUESTS * 0.01 + 200.0 * 30.0 + 99.0 * 0.01) / REQUESTS;
    let found = value(&report, "response_time_mean");
    // The new ones of 50.1 s to 59.9 s wait for one that is back.
    assert!((found - exact).abs() < 1e-9, "{found} s, exactly {exact} s");
    // A retry that fails may be repeated: after 12 s and 24 s.
    assert_eq!(down(retries(1, Some(12.0), None)).0, 80);
    assert_eq!(down(retries(2, Some(12.0), None)).0, 0);
}

/// Of 100 requests in ten seconds, a tenth may be repeated.
#[test]
fn a_budget_limits_retries() {
    let (failed, _) = run(troubled(40_050, Trouble::Down, retries(1, Some(30.0), Some(0.1))));
    assert!((178..=180).contains(&failed), "{failed} of 200");
}

/// The time-out begins anew with each attempt; what comes of an attempt that was given up is nothing to the next one.
#[test]
fn each_attempt_has_its_time_out() {
    let frozen = |retries| {
        let mut system = troubled(21_250, Trouble::Frozen, retries);
        system.rules.timeout = Some(Span(500 * MS));
        run(system)
    };
    // Without a retry those of 20.1 s to 20.7 s give up; with two the first of them waits again at 21.1 s.
    assert_eq!(frozen(None).0, 7);
    let (none, report) = frozen(retries(2, None, None));
    assert_eq!(none, 0);
    // All that came from 20.1 s on are served from 21.25 s on.
    assert!(value(&report, "response_time_mean") < 0.04, "{}", value(&report, "response_time_mean"));
}

/// Errors are drawn for each attempt: three in a row are a share of 0.3^3. Of 599 requests 16.2 with a standard deviation of
/// 4; five of them (false alarm below 1e-6).
#[test]
fn an_error_is_asked_for_again() {
    let mut system = troubled(3_600_000, Trouble::Errors(0.3), retries(2, None, None));
    system.faults[0].at = Time(0);
    let (failed, report) = run(system);
    assert!((1..=36).contains(&failed), "{failed}");
    assert!((value(&report, "response_time_mean") - 0.01).abs() < 1e-9, "an error takes no time");
    let served = value(&report, "utilization") * 60.0 / 0.01;
    assert!((served - (REQUESTS - failed as f64)).abs() < 1.5, "{served} served");
}

/// Patience is counted from the planned instant, over all attempts; that is not there yet.
#[test]
fn impatient_clients_do_not_retry() {
    let Workload::Open(plan) = open("constant(100 ms)") else { unreachable!() };
    let workload = Workload::Open(Open { patience: Some(Law::constant(1.0)), ..plan });
    let mut system = System::balanced(
        Tier::new(Face::Gateway, "random"),
        vec![Server::from_toml("discipline = \"ps\"\ndemand = \"1 s\"").unwrap()],
    );
    system.rules.retries = retries(1, None, None);
    let error = sojourn_sim::check(&system, &workload).unwrap_err().to_string();
    assert!(error.contains("lose patience"), "{error}");
}

/// A server that is slow for a while: the second request goes to the other one, and the first reply that comes counts.
#[test]
fn a_hedge_overtakes_a_slow_attempt() {
    let hedged = |abandoned: Abandoned| {
        let server = Server::from_toml("discipline = \"ps\"\ndemand = \"10 ms\"").unwrap();
        let mut system = System::balanced(Tier::new(Face::Gateway, "round-robin"), vec![server; 2]);
        let (at, until, trouble) = (Time(20_050 * MS), Some(Time(40_050 * MS)), Trouble::Slow(0.2));
        system.faults = vec![Fault { at, until, subject: Subject::Host(0), trouble }];
        system.rules = Rules { hedge: Some(Hedge::After(Span(20 * MS))), abandoned, ..Rules::default() };
        run(system).1
    };
    let of = hedged(Abandoned::Cancelled);
    // Each hedge takes a turn, so that all requests come to the slow server once one has.
    let hedges = (value(&of, "attempts_ratio") - 1.0) * REQUESTS;
    assert!([199.0, 200.0].iter().any(|exact| (hedges - exact).abs() < 1e-6), "{hedges} hedges");
    let exact = ((REQUESTS - hedges) * 0.01 + hedges * 0.03) / REQUESTS;
    assert!((value(&of, "response_time_mean") - exact).abs() < 1e-9, "{}", value(&of, "response_time_mean"));
    assert_eq!(value(&of, "error_ratio"), 0.0);
    // What its client has left goes on at the slow server for 20 ms more.
    let served = hedged(Abandoned::Served);
    assert_eq!(value(&served, "response_time_mean"), value(&of, "response_time_mean"));
    let more_s = (value(&served, "utilization") - value(&of, "utilization")) * 2.0 * 60.0;
    assert!((more_s - hedges * 0.02).abs() < 1e-6, "{more_s} s");
}

/// The time for a request in all ends it, whatever its attempts do; what could not begin before is not tried.
#[test]
fn a_deadline_is_for_all_attempts() {
    let deadline = |deadline_ms: u64, backoff_s: f64| {
        let mut system = troubled(40_050, Trouble::Frozen, retries(9, Some(backoff_s), None));
        (system.rules.timeout, system.rules.deadline) = (Some(Span(500 * MS)), Some(Span(deadline_ms * MS)));
        run(system)
    };
    // Attempts at 0, 0.6, 1.2 and 1.8 s, the last of which is given up after 0.2 s.
    let (failed, report) = deadline(2000, 0.1);
    assert_eq!(failed, 181, "all that come from 20.1 s to 38.1 s");
    let attempts = (value(&report, "attempts_ratio") - 1.0) * REQUESTS;
    // Of those that failed three more each; of the others those whose first attempts end before 40.05 s.
    let more: f64 = (0..19).map(|tenth| ((1.85 - 0.1 * f64::from(tenth) - 0.5) / 0.6 + 1.0).floor().max(0.0)).sum();
    assert!((attempts - (3.0 * 181.0 + more)).abs() < 1e-6, "{attempts}, {more}");
    // A wait that ends after the deadline is no wait: the request fails at its first time-out.
    let (failed, report) = deadline(2000, 1.5);
    assert_eq!(failed, 195, "all that come from 20.1 s to 39.5 s");
    assert!((value(&report, "attempts_ratio") - 1.0).abs() < 1e-9);
}
