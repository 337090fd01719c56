//! Several servers behind a policy, against exact values. Times in units of the mean service, 1 s.

use sojourn_stats::Span;

use crate::support::{cluster, covers, estimate, run};

const FCFS: &str = "discipline = \"fcfs\"\ndemand = \"exponential(mean = 1 s)\"";

/// Poisson arrivals dealt round to N servers are Erlang-N at each: E_N/M/1, 3.843980 at rho 0.8 with N = 2.
#[test]
fn round_robin_is_erlang_arrivals() {
    let report = run(&cluster("exponential(rate = 1.6 /s)", "round-robin", 2, FCFS), 4_000_000);
    covers(&report, "response_time_mean", 3.843_980, 0.05, "E2/M/1");
    covers(&report, "share_1", 0.5, 1e-3, "E2/M/1");
    covers(&report, "imbalance_index", 1.0, 1e-3, "E2/M/1");
    // The same under PS, whose mean is that of FCFS when work is exponential.
    let ps = "discipline = \"ps\"\ndemand = \"exponential(mean = 1 s)\"";
    let report = run(&cluster("exponential(rate = 1.6 /s)", "round-robin", 2, ps), 4_000_000);
    covers(&report, "response_time_mean", 3.843_980, 0.05, "E2/M/1-PS");
}

/// Poisson arrivals split at random stay Poisson: M/M/1 at each server.
#[test]
fn random_is_poisson_at_each_server() {
    let report = run(&cluster("exponential(rate = 2.8 /s)", "random", 4, FCFS), 4_000_000);
    covers(&report, "response_time_mean", 1.0 / 0.3, 0.05, "random, 4 servers");
    covers(&report, "utilization", 0.7, 0.01, "random, 4 servers");
    covers(&report, "share_3", 0.25, 0.02, "random, 4 servers");
}

/// Join the shortest queue, 2 servers, ties at random, rho 0.5: 1.426321 by the exact chain.
#[test]
fn least_connections_is_join_the_shortest_queue() {
    let report = run(&cluster("exponential(rate = 1 /s)", "least-connections", 2, FCFS), 4_000_000);
    covers(&report, "response_time_mean", 1.426_321, 0.02, "JSQ");
}

/// Each of many dispatchers deals round on its own, and a server gets a little of each: nearly Poisson again, so much
/// worse than one dispatcher.
#[test]
fn many_dispatchers_know_less_than_one() {
    let mean_s = |dispatchers| {
        let mut scenario = cluster("exponential(rate = 1.6 /s)", "round-robin", 2, FCFS);
        scenario.tier().dispatchers = dispatchers;
        estimate(&run(&scenario, 4_000_000), "response_time_mean").interval().unwrap()
    };
    let (one, many) = (mean_s(1), mean_s(200));
    assert!(one.1 < many.0, "one dispatcher {one:?}, 200 {many:?}");
    assert!(many.0 < 5.0, "200 dispatchers {many:?}, random 5");
}

/// Old news is worse than fresh: least connections by polls every 5 s against its own counts.
#[test]
fn polled_counts_are_worse_than_own_counts() {
    let interval = |polled| {
        let mut scenario = cluster("exponential(rate = 2.8 /s)", "least-connections", 4, FCFS);
        scenario.tier().polled = polled;
        estimate(&run(&scenario, 2_000_000), "response_time_mean").interval().unwrap()
    };
    let fresh = interval(None);
    let stale = interval(Some(Span(5_000_000_000)));
    assert!(fresh.1 < stale.0, "fresh {fresh:?}, stale {stale:?}");
}

/// Every policy that a gateway offers runs, deals to all servers and keeps the books.
#[test]
fn every_policy_runs() {
    let server = "discipline = \"limited-ps\"\nhelpers = 4\ndemand = \"exponential(mean = 1 ms)\"";
    for policy in [
        "round-robin",
        "random",
        "least-connections",
        "probabilistic-least-connections",
        "round-trip",
        "transmitted-size",
        "weighted-round-robin",
        "weighted-least-connections",
        "address-hash",
        "cookie",
    ] {
        let mut scenario = cluster("exponential(rate = 2000 /s)", policy, 4, server);
        let sojourn_traffic::Workload::Open(open) = &mut scenario.workload else { unreachable!() };
        open.clients = 1000;
        let report = run(&scenario, 400_000);
        covers(&report, "throughput", 2000.0, 0.1, policy);
        let shares: f64 = (1..=4).map(|k| estimate(&report, &format!("share_{k}")).value().unwrap()).sum();
        assert!((shares - 1.0).abs() < 1e-9, "{policy}: shares sum to {shares}");
    }
}

/// Policies are compared under common random numbers: the plan does not depend on the policy.
#[test]
fn unequal_servers_get_what_their_weights_say() {
    let mut scenario = cluster("exponential(rate = 1 /s)", "weighted-round-robin", 3, FCFS);
    scenario.tier().weights = vec![4.0, 3.0, 2.0];
    let report = run(&scenario, 800_000);
    for (metric, share) in [("share_1", 4.0 / 9.0), ("share_2", 3.0 / 9.0), ("share_3", 2.0 / 9.0)] {
        covers(&report, metric, share, 1e-2, "weights 4, 3, 2");
    }
}
