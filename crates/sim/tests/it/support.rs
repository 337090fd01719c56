//! Scenarios in a line, and the question whether an interval covers a number.

use sojourn_model::system::{Face, Tier};
use sojourn_model::{Server, System};
use sojourn_sim::{Control, Precision, Report, SimError, WarmUp};
use sojourn_stats::{Dimension, Estimate, Law, Span};
use sojourn_traffic::{Arrivals, Closed, Open, Sizes, Workload};

/// Each interval fails to cover the truth once in a hundred million runs: no test has a hundred of them, so none of them
/// raises a false alarm more than once in a million runs.
pub(crate) const CONFIDENCE: f64 = 1.0 - 1e-8;

/// Clients and the system that they ask.
#[derive(Clone)]
pub(crate) struct Scenario {
    pub(crate) workload: Workload,
    pub(crate) system: System,
}

impl Scenario {
    /// One server without a balancer.
    pub(crate) fn single(workload: Workload, server: Server) -> Scenario {
        Scenario { workload, system: System::single(server) }
    }

    /// The only tier.
    pub(crate) fn tier(&mut self) -> &mut Tier {
        &mut self.system.tiers[0]
    }
}

/// Poisson, or any other, arrivals at one server.
pub(crate) fn queue(arrivals: &str, server: &str) -> Scenario {
    Scenario::single(open(arrivals), Server::from_toml(server).unwrap())
}

/// `count` servers behind a balancer.
pub(crate) fn cluster(arrivals: &str, policy: &str, count: usize, server: &str) -> Scenario {
    let server = Server::from_toml(server).unwrap();
    let system = System::balanced(Tier::new(Face::Gateway, policy), vec![server; count]);
    Scenario { workload: open(arrivals), system }
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
    simulate(scenario, &control(jobs)).unwrap()
}

/// The answer to `scenario`, or why there is none.
pub(crate) fn simulate(scenario: &Scenario, control: &Control) -> Result<Report, SimError> {
    sojourn_sim::run(&scenario.system, &scenario.workload, control, &|_| {})
}

/// The run of one plan of `scenario`.
pub(crate) fn run_plan(scenario: &Scenario, seed: u64, horizon: Span, warm_up: Span) -> Result<Report, SimError> {
    let (horizon, warm_up) = (Some(horizon), WarmUp::Fixed(warm_up));
    let control = Control { seed, horizon, warm_up, ..Control::default() };
    sojourn_sim::run_plan(&scenario.system, &scenario.workload, &control)
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

/// A path of this round trip (s) that loses nothing, and has no rate of its own.
pub(crate) fn plain_path(rtt_s: f64) -> sojourn_model::system::Path {
    sojourn_model::system::Path {
        rtt: sojourn_stats::Law::constant(rtt_s),
        loss: Default::default(),
        loss_correlation: 0.0,
        loss_model: Default::default(),
        rate: Default::default(),
        medium: None,
        line: Default::default(),
    }
}
