//! Rates and delays.

use sojourn_model::Server;
use sojourn_stats::Span;

use crate::support::{Scenario, closed, cluster, covers, estimate, queue, run};

/// One user, constant work, both links: every part of the response time is known.
#[test]
fn one_request_alone_takes_the_sum_of_its_parts() {
    let server = Server::from_toml("discipline = \"ps\"\ndemand = \"2 ms\"").unwrap();
    let mut scenario = Scenario::single(closed(1, "constant(10 ms)"), server);
    (scenario.system.network.rtt, scenario.system.network.client_rate) = (Span(10_000_000), Some(1e6));
    (scenario.system.network.server_rtt, scenario.system.network.cluster_rate) = (Span(200_000), Some(100e6));
    let report = run(&scenario, 20_000);
    // 1000 bytes: 8 ms at 1 Mbit/s, 0.08 ms at 100 Mbit/s; each delay twice.
    let exact_s = 2.0 * (5e-3 + 0.1e-3) + 2e-3 + 0.08e-3 + 8e-3;
    covers(&report, "response_time_mean", exact_s, 1e-6, "alone");
    covers(&report, "throughput", 1.0 / (exact_s + 10e-3), 1e-3, "alone");
    covers(&report, "response_time_p99", exact_s, 0.005, "alone");
}

/// A shared link that replies cross one after another is a queue: M/M/1 at its input is Poisson at its output (Burke
/// 1956), so a link of constant transmission time behind it is M/D/1.
#[test]
fn a_shared_link_is_a_queue() {
    let mut scenario =
        queue("exponential(rate = 500 /s)", "discipline = \"fcfs\"\ndemand = \"exponential(mean = 1 ms)\"");
    // 1000 bytes in 1 ms.
    scenario.system.network.cluster_rate = Some(8e6);
    let report = run(&scenario, 2_000_000);
    // M/M/1: 2 ms. M/D/1 at 0.5: 1 ms of service and rho/(1 - rho)/2 = 0.5 ms of waiting.
    covers(&report, "response_time_mean", 3.5e-3, 0.03, "a link behind M/M/1");
}

/// Delays move the response time and nothing else, with a balancer and its first bytes too.
#[test]
fn delay_is_added_once_each_way() {
    let server = "discipline = \"ps\"\ndemand = \"exponential(mean = 1 ms)\"";
    for policy in ["random", "round-trip", "least-connections"] {
        let mut scenario = cluster("exponential(rate = 1000 /s)", policy, 4, server);
        let near = run(&scenario, 400_000);
        scenario.system.network.rtt = Span(40_000_000);
        let far = run(&scenario, 400_000);
        let mean_s = |report| estimate(report, "response_time_mean").value().unwrap();
        let added_s = mean_s(&far) - mean_s(&near);
        // The same plan, shifted by 20 ms: other windows and ties, but the same law.
        assert!((added_s - 0.04).abs() < 0.5e-3, "{policy}: {added_s}");
    }
}
