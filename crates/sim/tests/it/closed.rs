//! Closed users against M/M/1//N.

use sojourn_model::Server;

use crate::support::{Scenario, closed, covers, run};

/// The machine repairman: N users think for 1/lambda, one server of rate mu (Kleinrock 1975, vol. 1, section 3.8):
/// p_n = p_0 N!/(N - n)! (lambda/mu)^n, throughput mu (1 - p_0), response time N/X - Z.
#[test]
fn users_cover_the_machine_repairman() {
    for (users, think_s) in [(1, 1.0), (5, 4.0), (30, 20.0)] {
        let mut term = 1.0;
        let mut sum = 1.0;
        for n in 0..users {
            term *= f64::from(users - n) / think_s;
            sum += term;
        }
        let throughput = 1.0 - 1.0 / sum;
        for discipline in ["fcfs", "ps"] {
            let server = format!("discipline = \"{discipline}\"\ndemand = \"exponential(mean = 1 s)\"");
            let workload = closed(users, &format!("exponential(mean = {think_s} s)"));
            let report = run(&Scenario::single(workload, Server::from_toml(&server).unwrap()), 2_000_000);
            let label = format!("{users} users that think {think_s} s, {discipline}");
            covers(&report, "throughput", throughput, 0.02, &label);
            covers(&report, "utilization", throughput, 0.02, &label);
            covers(&report, "response_time_mean", f64::from(users) / throughput - think_s, 0.03, &label);
        }
    }
}
