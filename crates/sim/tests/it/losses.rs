//! Denied and abandoned requests.

use sojourn_stats::{Dimension, Law};
use sojourn_traffic::Workload;

use crate::support::{cluster, covers, estimate, queue, run};

/// M/M/c/c is Erlang's B: B(5, 5) = 0.284868, for every law of work.
#[test]
fn a_full_server_denies_as_erlang_said() {
    for demand in ["exponential(mean = 1 s)", "constant(1 s)", "hyperexponential(mean = 1 s, cv = 2)"] {
        let server = format!("discipline = \"fcfs\"\ncores = 5\nlimits = {{ jobs = 5 }}\ndemand = \"{demand}\"");
        let report = run(&queue("exponential(rate = 5 /s)", &server), 2_000_000);
        covers(&report, "error_ratio", 0.284_868, 0.05, demand);
        covers(&report, "abandoned_ratio", 0.0, 0.0, demand);
        covers(&report, "throughput", 5.0 * (1.0 - 0.284_868), 0.02, demand);
        assert!(report.notes.iter().any(|note| note.contains("offered load")), "{:?}", report.notes);
    }
}

/// M/G/1/K-PS (Cao, Andersson, Nyberg and Kihl, ICT 2003): rho 0.8, K = 10 loses 0.02349286 and takes 3.797098.
#[test]
fn a_limited_sharing_server_denies_as_computed() {
    let server = "discipline = \"ps\"\nlimits = { jobs = 10 }\ndemand = \"erlang(k = 2, mean = 1 s)\"";
    let report = run(&queue("exponential(rate = 0.8 /s)", server), 6_000_000);
    covers(&report, "error_ratio", 0.023_492_86, 0.1, "M/G/1/10-PS");
    covers(&report, "response_time_mean", 3.797_098, 0.03, "M/G/1/10-PS");
}

/// M/M/1 with impatience that also ends service (M/M/1+M): a birth-death process with death rate mu + n theta in state n,
/// of which n theta is abandonment, also of the one in service.
#[test]
fn impatient_clients_leave_as_computed() {
    let (arrivals, service, impatience) = (0.9, 1.0, 0.2);
    let (mut term, mut sum, mut number) = (1.0, 1.0, 0.0);
    for n in 1..200 {
        term *= arrivals / (service + f64::from(n) * impatience);
        sum += term;
        number += f64::from(n) * term;
    }
    let abandoned = impatience * (number / sum) / arrivals;
    for discipline in ["fcfs", "ps"] {
        let server = format!("discipline = \"{discipline}\"\ndemand = \"exponential(mean = 1 s)\"");
        let mut scenario = queue("exponential(rate = 0.9 /s)", &server);
        be_impatient(&mut scenario.workload, "exponential(mean = 5 s)");
        let report = run(&scenario, 2_000_000);
        covers(&report, "abandoned_ratio", abandoned, 0.05, discipline);
        assert_eq!(estimate(&report, "error_ratio").value(), Some(0.0), "giving up is no error");
    }
}

/// Behind a balancer, an abandoned request ends in the dispatcher's books too: or least connections would shun its
/// server for ever.
#[test]
fn abandoned_requests_are_not_in_flight() {
    let server = "discipline = \"fcfs\"\nlimits = { jobs = 3 }\ndemand = \"exponential(mean = 1 s)\"";
    let mut scenario = cluster("exponential(rate = 8 /s)", "least-connections", 4, server);
    be_impatient(&mut scenario.workload, "constant(2 s)");
    let report = run(&scenario, 1_000_000);
    for server in 1..=4 {
        covers(&report, &format!("share_{server}"), 0.25, 0.05, "impatient");
    }
    let errors = estimate(&report, "error_ratio").value().unwrap();
    let abandoned = estimate(&report, "abandoned_ratio").value().unwrap();
    assert!(abandoned > 0.0 && errors > 0.0, "errors {errors}, abandoned {abandoned}");
    // No request waits longer than the patience, to the nanosecond.
    assert!(report.response_time_cdf.iter().all(|(seconds, _)| *seconds <= 2.0 * 1.004));
}

fn be_impatient(workload: &mut Workload, law: &str) {
    let Workload::Open(open) = workload else { unreachable!() };
    open.patience = Some(Law::parse(law, Dimension::Time).unwrap());
}
