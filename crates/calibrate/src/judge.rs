//! Open loads: one that the discipline is chosen by, and others that the chosen model is judged on.

use serde::Serialize;
use sojourn_load::Verdict;
use sojourn_model::Server;
use sojourn_sim::{Control, Precision, Scenario, demand_of};
use sojourn_stats::{Law, Span, Time};
use sojourn_theory::system::{ArrivalKind, System};
use sojourn_traffic::{Arrivals, Open, Plan, Planned, Sizes, Workload};

use crate::client::{Client, Reply, request};
use crate::settings::CalibrateError;
use crate::target::Axis;

/// Share of a run that is left out at its start.
const WARM_UP: f64 = 0.1;
/// Requests that a run has at least.
const REQUESTS_MIN: f64 = 200.0;

/// Mean and 90th percentile of the response time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Predicted {
    /// Mean (s).
    pub mean_s: f64,
    /// 90th percentile (s).
    pub p90_s: f64,
}

/// A load that the model was not fitted to, measured and predicted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Of the capacity.
    pub utilization: f64,
    /// Requests per second.
    pub rate: f64,
    /// Medians of the runs.
    pub measured: Predicted,
    /// Every run by itself.
    pub runs: Vec<Predicted>,
    /// What theory says, where it has a formula.
    pub theory: Option<Predicted>,
    /// What the simulator says of the long run.
    pub sim: Predicted,
    /// What it says of exactly the plans that were run: medians, as measured. Short runs differ from the long one.
    pub replayed: Predicted,
    /// Why the load generator doubts a run, once each.
    pub doubts: Vec<String>,
}

/// An open load that was measured.
pub(crate) struct Run {
    pub(crate) measured: Predicted,
    pub(crate) doubts: Vec<String>,
    workload: Workload,
    seed: u64,
    duration: Span,
}

/// Poisson arrivals of `rate` at the reference level.
pub(crate) fn measure(
    client: &Client<'_>,
    server: &Server,
    rate: f64,
    budget_s: f64,
    seed: u64,
) -> Result<Run, CalibrateError> {
    let target = client.target;
    let level = &target.levels[target.reference];
    let size = if target.axis == Axis::Size { level.x } else { 0.0 };
    let workload = Workload::Open(Open {
        arrivals: Arrivals::of(Law::exponential(1.0 / rate)),
        clients: 1,
        sizes: Sizes::Law(Law::constant(size)),
        patience: None,
    });
    let duration = Span::from_secs_f64(budget_s.max(REQUESTS_MIN / rate));
    let plan = Plan::new(&workload, seed, demand_of(server)).map_err(|e| CalibrateError::Invalid(e.to_string()))?;
    let plan = plan
        .collect_until(Time(duration.0))
        .into_iter()
        .map(|planned| Planned { at: planned.at, request: request(target.reference, 0) })
        .collect();
    let (replies, report) = client.planned(plan, client.settings.connections_max, Span::ZERO)?;
    let warm_up = warm_up(duration);
    let measured = Predicted::of(replies.iter().filter(|reply| reply.planned.0 >= warm_up.0).map(Reply::response_s));
    let doubts = match report.verdict {
        Verdict::Suspect(doubts) => doubts,
        _ => Vec::new(),
    };
    Ok(Run { measured, doubts, workload, seed, duration })
}

fn warm_up(duration: Span) -> Span {
    Span((duration.0 as f64 * WARM_UP) as u64)
}

impl Run {
    /// What the simulator makes of exactly this plan, with this time on the way.
    pub(crate) fn replayed(&self, server: &Server, overhead_s: f64) -> Result<Predicted, CalibrateError> {
        let scenario = Scenario::single(self.workload.clone(), server.clone());
        let report = sojourn_sim::run_plan(&scenario, self.seed, self.duration, warm_up(self.duration))?;
        Ok(Predicted::from(|metric| value(&report.measures, metric), overhead_s).unwrap_or(Predicted::NOTHING))
    }

    /// What the simulator says of the long run.
    pub(crate) fn long_run(&self, server: &Server, overhead_s: f64) -> Result<Predicted, CalibrateError> {
        let scenario = Scenario::single(self.workload.clone(), server.clone());
        let control = Control {
            seed: self.seed,
            precision: Some(Precision { relative: 0.02, confidence: 0.95 }),
            max_jobs: 5_000_000,
            ..Control::default()
        };
        let report = sojourn_sim::run(&scenario, &control, &|_| {})?;
        Ok(Predicted::from(|metric| value(&report.measures, metric), overhead_s).unwrap_or(Predicted::NOTHING))
    }

    /// What theory says.
    pub(crate) fn theory(&self, server: &Server, overhead_s: f64) -> Option<Predicted> {
        let Workload::Open(open) = &self.workload else { return None };
        let Sizes::Law(sizes) = &open.sizes else { return None };
        let gaps = open.arrivals.law()?;
        let demand = server.demand("");
        let (demand_mean_s, demand_variance_s2) = demand.moments(sizes.mean(), sizes.variance());
        let answer = sojourn_theory::system::answer(&System {
            arrivals: ArrivalKind::Open { gaps },
            servers: std::slice::from_ref(server),
            demand_mean_s,
            demand_variance_s2,
            demand_is_exponential: false,
            demand_is_constant: demand_variance_s2 == 0.0,
            policy: None,
            has_immediate_information: true,
            has_links: false,
            path_s: overhead_s,
            has_patience: false,
        })
        .ok()?;
        Predicted::from(|metric| value(&answer.measures, metric), 0.0)
    }
}

fn value(measures: &[sojourn_stats::Measure], metric: &str) -> Option<f64> {
    measures.iter().find(|measure| measure.metric == metric)?.estimate.value()
}

impl Predicted {
    const NOTHING: Predicted = Predicted { mean_s: f64::NAN, p90_s: f64::NAN };

    fn from(value: impl Fn(&str) -> Option<f64>, overhead_s: f64) -> Option<Predicted> {
        let mean_s = value("response_time_mean")? + overhead_s;
        Some(Predicted { mean_s, p90_s: value("response_time_p90").map_or(f64::NAN, |p90| p90 + overhead_s) })
    }

    fn of(values: impl Iterator<Item = f64>) -> Predicted {
        let mut values: Vec<f64> = values.collect();
        if values.is_empty() {
            return Predicted::NOTHING;
        }
        values.sort_by(f64::total_cmp);
        let mean_s = values.iter().sum::<f64>() / values.len() as f64;
        Predicted { mean_s, p90_s: values[((values.len() as f64 * 0.9) as usize).min(values.len() - 1)] }
    }

    /// The median of each.
    pub(crate) fn median(runs: &[Predicted]) -> Predicted {
        let middle = |of: fn(&Predicted) -> f64| {
            let mut values: Vec<f64> = runs.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            let (low, high) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
            0.5 * (low + high)
        };
        Predicted { mean_s: middle(|run| run.mean_s), p90_s: middle(|run| run.p90_s) }
    }

    /// By how much this is above `measured`, as parts of it: mean and 90th percentile.
    pub fn error(&self, measured: &Predicted) -> (f64, f64) {
        (self.mean_s / measured.mean_s - 1.0, self.p90_s / measured.p90_s - 1.0)
    }

    /// The larger of both errors, without sign; of the mean alone where there is no percentile.
    pub(crate) fn distance(&self, measured: &Predicted) -> f64 {
        let (mean, p90) = self.error(measured);
        if p90.is_nan() { mean.abs() } else { mean.abs().max(p90.abs()) }
    }
}
