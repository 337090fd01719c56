//! Scenarios in a line, and the question whether an interval covers a number.

use sojourn_dispatch::{Catalogue, Information, Signals};
use sojourn_model::Server;
use sojourn_sim::{Control, Precision, Report, Scenario, demand_of};
use sojourn_stats::{Dimension, Estimate, Law};
use sojourn_traffic::{Arrivals, Closed, Open, Sizes, Workload};

/// Each interval fails to cover the truth once in a hundred million runs: no test has a hundred of them, so none of them
/// raises a false alarm more than once in a million runs.
pub(crate) const CONFIDENCE: f64 = 1.0 - 1e-8;

/// Poisson, or any other, arrivals at one server.
pub(crate) fn queue(arrivals: &str, server: &str) -> Scenario {
    Scenario::single(open(arrivals), Server::from_toml(server).unwrap())
}

/// `count` servers behind a balancer.
pub(crate) fn cluster(arrivals: &str, policy: &str, count: usize, server: &str) -> Scenario {
    let server = Server::from_toml(server).unwrap();
    Scenario {
        workload: open(arrivals),
        demand: demand_of(&server),
        policy: Some(policy.into()),
        catalogue: Catalogue::default(),
        information: Information::Immediate,
        dispatchers: 1,
        servers: vec![server; count],
        weights: Vec::new(),
        client_link: None,
        cluster_link: None,
        signals: Signals::GATEWAY,
    }
}

pub(crate) fn open(arrivals: &str) -> Workload {
    let arrivals = Arrivals::parse(arrivals).unwrap();
    Workload::Open(Open { arrivals, clients: 1, sizes: Sizes::Law(Law::constant(1000.0)), patience: None })
}

pub(crate) fn closed(users: u32, think: &str) -> Workload {
    let think = Law::parse(think, Dimension::Time).unwrap();
    Workload::Closed(Closed { users, think, sizes: Sizes::Law(Law::constant(1000.0)), patience: None })
}

/// A run of about `jobs` requests on one thread, with intervals at [`CONFIDENCE`].
pub(crate) fn run(scenario: &Scenario, jobs: u64) -> Report {
    sojourn_sim::run(scenario, &control(jobs), &|_| {}).unwrap()
}

pub(crate) fn control(jobs: u64) -> Control {
    // A precision of 0 is never reached: the run spends its budget.
    let precision = Some(Precision { relative: 0.0, confidence: CONFIDENCE });
    Control { precision, max_jobs: jobs, replications: 20, ..Control::default() }
}

pub(crate) fn estimate<'a>(report: &'a Report, metric: &str) -> &'a Estimate {
    let measure = report.measures.iter().find(|measure| measure.metric == metric);
    &measure.unwrap_or_else(|| panic!("no {metric}")).estimate
}

/// Asserts that the interval of `metric` covers `exact` and is no wider than `relative` of it (a test that can fail).
pub(crate) fn covers(report: &Report, metric: &str, exact: f64, relative: f64, label: &str) {
    let estimate = estimate(report, metric);
    let Estimate::Sampled { value, ci_low, ci_high, .. } = *estimate else {
        panic!("{label}: {metric} is {estimate:?}")
    };
    // Where nothing is random the interval has no width, and only the last bits may differ.
    let hair = 1e-12 * exact.abs();
    assert!(
        ci_low <= exact + hair && exact - hair <= ci_high,
        "{label}: {metric} is {value} ({ci_low} to {ci_high}), exactly {exact}"
    );
    let half = 0.5 * (ci_high - ci_low);
    assert!(half <= relative * exact.abs(), "{label}: {metric} is {value} +- {half}, too wide to tell anything");
}
