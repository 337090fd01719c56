//! Open loads: one to choose the discipline, and others to judge the chosen model.

use serde::Serialize;
use sojourn_load::Proof;
use sojourn_model::{Demand, Server};
use sojourn_sim::{Control, Precision, WarmUp, demand_of};
use sojourn_stats::{Law, Span, Time};
use sojourn_theory::system::{ArrivalKind, System};
use sojourn_traffic::{Arrivals, Open, Plan, Planned, Sizes, Workload};

use crate::client::{Client, Reply, request};
use crate::model;
use crate::others;
use crate::settings::CalibrateError;
use crate::target::Axis;

/// Share of a run that is left out at its start.
const WARM_UP: f64 = 0.1;
/// Fewest requests of a run.
const REQUESTS_MIN: f64 = 200.0;

/// Mean and 90th percentile of the response time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Predicted {
    /// Mean (s).
    pub mean_s: f64,
    /// 90th percentile (s).
    pub p90_s: f64,
}

/// A load that no fit has used, measured and predicted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Utilisation, as a share of the capacity.
    pub utilization: f64,
    /// Each run.
    pub runs: Vec<Judged>,
    /// Why the load generator doubts a run, once each.
    pub doubts: Vec<String>,
    /// The share of a run that each core of this machine was busy: the most of all runs.
    pub cores_busy: Vec<f64>,
    /// Cores of this machine that were busy with neither the server nor the client, at least: the most of all runs.
    pub others: f64,
}

/// One run of such a load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// Requests per second.
    pub rate: f64,
    /// Speed of the saturated server just before and after the run, relative to the speed when the model was made.
    pub speed: f64,
    /// The measurement.
    pub measured: Predicted,
    /// Theory at that speed, if it has a formula.
    pub theory: Option<Predicted>,
    /// The simulator's long run at that speed.
    pub sim: Predicted,
    /// The simulation of the very requests that were sent, at that speed. Short runs differ from the long one.
    pub replayed: Predicted,
    /// The simulator's long run at the speed when the model was made.
    pub sim_as_made: Predicted,
}

/// A prediction: its name in the file, and its value in a run.
pub type Prediction = (&'static str, fn(&Judged) -> Option<Predicted>);

/// All predictions of a run.
pub const PREDICTIONS: [Prediction; 4] = [
    ("theory", |run| run.theory),
    ("sim", |run| Some(run.sim)),
    ("sim_of_the_plans", |run| Some(run.replayed)),
    ("sim_as_made", |run| Some(run.sim_as_made)),
];

/// A measured open load.
pub(crate) struct Run {
    pub(crate) measured: Predicted,
    pub(crate) doubts: Vec<String>,
    pub(crate) cores_busy: Vec<f64>,
    pub(crate) others: f64,
    workload: Workload,
    rate: f64,
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
    // From when the client acted, as the idle replies that the model is made of; a wait for a connection is a doubt.
    let measured = Predicted::of(replies.iter().filter(|reply| reply.planned.0 >= warm_up.0).map(Reply::taken_s));
    let doubts = match report.verdict {
        Proof::Suspect(_) => report.verdict.reasons(),
        _ => Vec::new(),
    };
    // What the server takes of cores is the work of what it was asked for, however long requests wait in it.
    let work_s = server.demand("").moments(size, 0.0).0 / server.speed;
    let others = others::of_others(&report.cores_busy, &report.client_busy, rate * work_s);
    let others = others.max(client.machine.borrow().others);
    Ok(Run { measured, doubts, cores_busy: report.cores_busy, others, workload, rate, seed, duration })
}

fn warm_up(duration: Span) -> Span {
    Span((duration.0 as f64 * WARM_UP) as u64)
}

impl Run {
    /// The predictions of theory and simulator for it, with a server `speed` times as fast as when the model was made.
    pub(crate) fn judged(&self, server: &Server, speed: f64, overhead_s: f64) -> Result<Judged, CalibrateError> {
        let now = at(server, speed);
        Ok(Judged {
            rate: self.rate,
            speed,
            measured: self.measured,
            theory: self.theory(&now, overhead_s),
            sim: self.long_run(&now, overhead_s)?,
            replayed: self.replayed(&now, overhead_s)?,
            // A server that has become faster is given more than the one that was measured could settle under.
            sim_as_made: self.long_run(server, overhead_s).unwrap_or(Predicted::NOTHING),
        })
    }

    /// The simulation of exactly this plan, with this time on the path.
    pub(crate) fn replayed(&self, server: &Server, overhead_s: f64) -> Result<Predicted, CalibrateError> {
        let system = sojourn_model::System::single(server.clone());
        let control = Control {
            seed: self.seed,
            horizon: Some(self.duration),
            warm_up: WarmUp::Fixed(warm_up(self.duration)),
            ..Control::default()
        };
        let report = sojourn_sim::run_plan(&system, &self.workload, &control)?;
        Ok(Predicted::from(|metric| value(&report.measures, metric), overhead_s).unwrap_or(Predicted::NOTHING))
    }

    fn long_run(&self, server: &Server, overhead_s: f64) -> Result<Predicted, CalibrateError> {
        let system = sojourn_model::System::single(server.clone());
        let control = Control {
            seed: self.seed,
            precision: Some(Precision { relative: 0.02, confidence: 0.95 }),
            max_jobs: 5_000_000,
            ..Control::default()
        };
        let report = sojourn_sim::run(&system, &self.workload, &control, &|_| {})?;
        Ok(Predicted::from(|metric| value(&report.measures, metric), overhead_s).unwrap_or(Predicted::NOTHING))
    }

    fn theory(&self, server: &Server, overhead_s: f64) -> Option<Predicted> {
        let Workload::Open(open) = &self.workload else { return None };
        let Sizes::Law(sizes) = &open.sizes else { return None };
        let gaps = open.arrivals.law()?;
        let demand = server.demand("");
        let server = &model::for_theory(server);
        let (demand_mean_s, demand_variance_s2) = demand.moments(sizes.mean(), sizes.variance());
        let law = work(demand, sizes.mean());
        let answer = sojourn_theory::system::answer(&System {
            arrivals: ArrivalKind::Open { gaps },
            servers: std::slice::from_ref(server),
            demand_mean_s,
            demand_variance_s2,
            demand_is_exponential: law.as_ref().is_some_and(Law::is_exponential),
            demand_is_constant: demand_variance_s2 == 0.0,
            demand_law: law.as_ref(),
            policy: None,
            dispatchers: 1,
            weights: &[],
            has_immediate_information: true,
            has_links: false,
            path_s: overhead_s,
            patience: None,
        })
        .ok()?;
        Predicted::from(|metric| value(&answer.measures, metric), 0.0)
    }
}

/// The law of the work of replies that all have `size` bytes; none if the cost per byte would shift a law.
fn work(demand: &Demand, size: f64) -> Option<Law> {
    let by_size_s = demand.per_byte * size;
    match (by_size_s == 0.0, demand.fixed.variance() == 0.0) {
        (true, _) => Some(demand.fixed.clone()),
        (false, true) => Some(Law::constant(demand.fixed.mean() + by_size_s)),
        (false, false) => None,
    }
}

/// `server`, `speed` times as fast.
pub(crate) fn at(server: &Server, speed: f64) -> Server {
    Server { speed: server.speed * speed, ..server.clone() }
}

fn value(measures: &[sojourn_stats::Measure], metric: &str) -> Option<f64> {
    measures.iter().find(|measure| measure.metric == metric)?.estimate.value()
}

impl Point {
    /// A load of this utilisation without a run.
    pub(crate) fn new(utilization: f64) -> Point {
        Point { utilization, runs: Vec::new(), doubts: Vec::new(), cores_busy: Vec::new(), others: 0.0 }
    }

    /// Takes in what disturbed a run.
    pub(crate) fn disturbed(&mut self, run: Run) {
        for doubt in run.doubts {
            if !self.doubts.contains(&doubt) {
                self.doubts.push(doubt);
            }
        }
        self.others = self.others.max(run.others);
        self.cores_busy.resize(run.cores_busy.len(), 0.0);
        self.cores_busy.iter_mut().zip(run.cores_busy).for_each(|(most, busy)| *most = most.max(busy));
    }

    /// How busy the cores of this machine were.
    pub(crate) fn cores(&self) -> String {
        others::cores(&self.cores_busy)
    }

    /// The median over the runs.
    pub fn measured(&self) -> Predicted {
        self.median(|run| Some(run.measured)).unwrap_or(Predicted::NOTHING)
    }

    /// The median of `of` over the runs, if every run has it.
    pub fn median(&self, of: impl Fn(&Judged) -> Option<Predicted>) -> Option<Predicted> {
        let values: Vec<Predicted> = self.runs.iter().map(of).collect::<Option<_>>()?;
        Some(Predicted {
            mean_s: median(values.iter().map(|value| value.mean_s))?,
            p90_s: median(values.iter().map(|value| value.p90_s))?,
        })
    }

    /// The median over the runs of the relative error of `of`: mean and 90th percentile. It is taken run by run, since
    /// each run has its own speed of the machine.
    pub fn error(&self, of: impl Fn(&Judged) -> Option<Predicted>) -> Option<(f64, f64)> {
        let errors: Vec<(f64, f64)> =
            self.runs.iter().map(|run| Some(of(run)?.error(&run.measured))).collect::<Option<_>>()?;
        Some((median(errors.iter().map(|error| error.0))?, median(errors.iter().map(|error| error.1))?))
    }

    /// The median of the server's speeds.
    pub fn speed(&self) -> f64 {
        median(self.runs.iter().map(|run| run.speed)).unwrap_or(f64::NAN)
    }
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let (low, high) = (*values.get(values.len().checked_sub(1)? / 2)?, values[values.len() / 2]);
    Some(0.5 * (low + high))
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

    /// Its relative error against `measured`: mean and 90th percentile.
    pub fn error(&self, measured: &Predicted) -> (f64, f64) {
        (self.mean_s / measured.mean_s - 1.0, self.p90_s / measured.p90_s - 1.0)
    }

    /// The larger of both errors, without sign; of the mean alone if there is no percentile.
    pub(crate) fn distance(&self, measured: &Predicted) -> f64 {
        let (mean, p90) = self.error(measured);
        if p90.is_nan() { mean.abs() } else { mean.abs().max(p90.abs()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Percentiles depend on the whole law of the work: theory gets it, and agrees with the simulator.
    #[test]
    fn theory_knows_the_law_of_the_work() {
        let server = Server::from_toml("discipline = \"fcfs\"\ndemand = \"erlang(k = 2, mean = 1 ms)\"").unwrap();
        let workload = Workload::Open(Open {
            arrivals: Arrivals::of(Law::exponential(1.0 / 600.0)),
            clients: 1,
            sizes: Sizes::Law(Law::constant(0.0)),
            patience: None,
        });
        let run = Run {
            measured: Predicted::NOTHING,
            doubts: Vec::new(),
            cores_busy: Vec::new(),
            others: 0.0,
            workload,
            rate: 600.0,
            seed: 1,
            duration: Span::from_secs_f64(1.0),
        };
        let (theory, sim) = (run.theory(&server, 0.0).unwrap(), run.long_run(&server, 0.0).unwrap());
        // The simulator's intervals are 2 %; the formula's percentile is approximate.
        let (mean, p90) = theory.error(&sim);
        assert!(mean.abs() < 0.06 && p90.abs() < 0.1, "{theory:?}, {sim:?}");
    }
}
