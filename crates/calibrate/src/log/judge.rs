//! Whether the model gives what it was not fitted to: the second half of the log, simulated as its servers were
//! given it.
//!
//! Every server gets its own requests at their own instants, with demands drawn from the fitted law, several times,
//! each time with another mean demand within what is known of it. So chance is known: a miss counts where what
//! happened lies further from the prediction than three standard deviations of the runs. Load is the work that came
//! to a server just before a request, and the same for the log and for every run, so that in each bin the same
//! requests are compared.

use serde::Serialize;
use sojourn_model::Server;
use sojourn_sim::single::{Arrival, Queue, play};
use sojourn_stats::{Dimension, Law, Moments, Span, Stream, Time};
use sojourn_traffic::log::{Log, PathClasses};

use super::visits::{Halves, Visit};
use crate::model::time_text;
use crate::settings::CalibrateError;

/// A miss of more is a reason against the model, and one of much more is the end of it.
const MISS_MAX: f64 = 0.15;
const MISS_REFUSED: f64 = 0.30;
/// Where chance alone moves the mean by as much (two standard deviations), nothing is judged.
const CHANCE_MOST: f64 = 0.25;
/// Standard deviations that are chance: with ten comparisons one in forty sound models gets a reason that is none.
const CHANCE: f64 = 3.0;
/// Requests that are judged by at most.
const JUDGED_MOST: usize = 100_000;
/// Simulated runs, of few requests and of many.
const RUNS: (usize, usize) = (40, 20);
const FEW: usize = 20_000;
/// Mean demands over which load is taken, and bins of it.
const RECENT: f64 = 20.0;
const BINS: usize = 4;
/// Fewest requests of a bin.
const BIN_LEAST: usize = 100;

/// Mean and 90th percentile of times at the server (s).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Seen {
    /// The mean (s).
    pub mean_s: f64,
    /// The 90th percentile (s).
    pub p90_s: f64,
}

/// Requests of a range of load, as they were and as the model has them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoadBin {
    /// The work that came in the time just before, as a share of what the cores can do: from, to. None: all of them.
    pub load: Option<(f64, f64)>,
    /// How many.
    pub requests: usize,
    /// As it was.
    pub seen: Seen,
    /// The model's, the mean over the simulated runs.
    pub predicted: Seen,
    /// Standard deviation over the simulated runs.
    pub deviation: Seen,
}

impl LoadBin {
    /// The relative error of what is predicted: of the mean and of the 90th percentile.
    pub fn errors(&self) -> [f64; 2] {
        [self.predicted.mean_s / self.seen.mean_s - 1.0, self.predicted.p90_s / self.seen.p90_s - 1.0]
    }

    /// Whether chance explains them.
    pub fn is_chance(&self) -> [bool; 2] {
        let is_near =
            |of: fn(&Seen) -> f64| (of(&self.seen) - of(&self.predicted)).abs() <= CHANCE * of(&self.deviation);
        [is_near(|seen| seen.mean_s), is_near(|seen| seen.p90_s)]
    }

    /// How far chance alone moves the mean, relative to it.
    fn chance(&self) -> f64 {
        2.0 * self.deviation.mean_s / self.predicted.mean_s
    }

    /// Which requests they are.
    pub fn name(&self) -> String {
        match self.load {
            None => "all".into(),
            Some((low, high)) => format!("load {low:.2} to {high:.2}"),
        }
    }
}

/// A range of load, or none for all requests, and who is in it.
type Members = (Option<(f64, f64)>, Vec<bool>);

/// The second half by the model and as it was: all, and by load.
pub(super) fn judge(
    log: &Log,
    by_server: &[Vec<Visit>],
    halves: &Halves,
    server: &Server,
    speeds: &[f64],
    (keys, error): (&[String], f64),
    seed: u64,
) -> Result<Vec<LoadBin>, CalibrateError> {
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let classes = PathClasses::new(&keys, log);
    let share = (JUDGED_MOST as f64 / halves.second_count as f64).min(1.0);
    // A tenth of the first half leaves the servers as full as they were when the second began.
    let from_s = halves.split_s - 0.1 * halves.first_span_s;
    let parts: Vec<Part<'_>> = by_server
        .iter()
        .zip(speeds)
        .map(|(visits, speed)| {
            let from = visits.partition_point(|visit| visit.begin_s < from_s);
            let split = visits.partition_point(|visit| visit.begin_s < halves.split_s);
            let to = split + ((visits.len() - split) as f64 * share) as usize;
            Part { visits: &visits[from..to], judged_from: split - from, speed: *speed }
        })
        .collect();
    let demand_mean_s = mean_demand(server, &parts, &classes);
    let loads: Vec<f64> = parts.iter().flat_map(|part| part.loads(demand_mean_s, server.cores)).collect();
    let seen: Vec<f64> = parts.iter().flat_map(|part| part.judged().iter().map(|visit| visit.taken_s)).collect();
    let count = if seen.len() <= FEW { RUNS.0 } else { RUNS.1 };
    let factors = Law::parse(&format!("normal(mean = 1, sd = {})", error.max(1e-9)), Dimension::Number);
    let factors = factors.map_err(|e| CalibrateError::Refused(e.to_string()))?;
    let simulated = |run: u64| {
        let factor = factors.sample(&mut Stream::new(seed, &format!("run {run}"), "mean demand"));
        let of = |(at, part): (usize, &Part<'_>)| part.simulated(server, &classes, factor, (seed, run, at));
        parts.iter().enumerate().flat_map(of).collect()
    };
    let runs: Vec<Vec<f64>> = (0..count as u64).map(simulated).collect();
    let bins = std::iter::once((None, vec![true; seen.len()])).chain(by_load(&loads));
    let bin = |(load, is_in): Members| {
        let of = |times: &[f64]| summed(times.iter().zip(&is_in).filter(|(_, is_in)| **is_in).map(|(time, _)| *time));
        let runs: Vec<Seen> = runs.iter().map(|times| of(times)).collect();
        let moments = |of: fn(&Seen) -> f64| runs.iter().map(of).collect::<Moments>();
        let (means, tails) = (moments(|run| run.mean_s), moments(|run| run.p90_s));
        LoadBin {
            load,
            requests: is_in.iter().filter(|is_in| **is_in).count(),
            seen: of(&seen),
            predicted: Seen { mean_s: means.mean(), p90_s: tails.mean() },
            deviation: Seen { mean_s: means.variance().sqrt(), p90_s: tails.variance().sqrt() },
        }
    };
    Ok(bins.map(bin).collect())
}

/// Why a model judged so is SUSPECT; empty when it is not.
///
/// # Errors
/// When it does not explain the log, with how far it is off everywhere.
pub(super) fn reasons(judged: &[LoadBin]) -> Result<Vec<String>, CalibrateError> {
    let mut reasons = Vec::new();
    let mut is_refused = false;
    for bin in judged {
        let pairs =
            [("mean", bin.seen.mean_s, bin.predicted.mean_s), ("90th percentile", bin.seen.p90_s, bin.predicted.p90_s)];
        for ((what, seen_s, predicted_s), (error, is_chance)) in
            pairs.into_iter().zip(bin.errors().into_iter().zip(bin.is_chance()))
        {
            if is_chance || error.abs() <= MISS_MAX {
                continue;
            }
            // A percentile of a part of the requests is no end of a model.
            is_refused |= (error.is_nan() || error.abs() > MISS_REFUSED) && (what == "mean" || bin.load.is_none());
            reasons.push(format!(
                "{}: it predicts a {what} of {} where {} was seen ({:+.0} %)",
                bin.name(),
                time_text(predicted_s),
                time_text(seen_s),
                100.0 * error
            ));
        }
    }
    if is_refused {
        return Err(CalibrateError::Refused(format!(
            "no model of the family explains the second half of the log ({})",
            reasons.join("; ")
        )));
    }
    if let Some(all) = judged.first().filter(|all| all.chance() > CHANCE_MOST) {
        reasons.push(format!(
            "the log is too short to judge the model by: chance alone moves the mean of its second half by {:.0} %",
            100.0 * all.chance()
        ));
    }
    Ok(reasons)
}

/// The requests of a server that are simulated.
struct Part<'a> {
    visits: &'a [Visit],
    /// Those before only fill the server.
    judged_from: usize,
    speed: f64,
}

impl Part<'_> {
    fn judged(&self) -> &[Visit] {
        &self.visits[self.judged_from..]
    }

    /// The load at each that is judged.
    fn loads(&self, demand_mean_s: f64, cores: u32) -> Vec<f64> {
        let recent_s = RECENT * demand_mean_s / f64::from(cores);
        let mut from = 0;
        let load = |at: usize| {
            while self.visits[from].begin_s < self.visits[at].begin_s - recent_s {
                from += 1;
            }
            (at - from) as f64 / RECENT
        };
        (self.judged_from..self.visits.len()).map(load).collect()
    }

    /// The times of those that are judged (s), at this server with drawn demands.
    fn simulated(
        &self,
        server: &Server,
        classes: &PathClasses,
        factor: f64,
        (seed, run, at): (u64, u64, usize),
    ) -> Vec<f64> {
        let queue = Queue { discipline: server.discipline.clone(), cores: server.cores, capacity: None };
        let mut stream = Stream::new(seed, &format!("server {at} run {run}"), "demands");
        let arrivals = self.visits.iter().map(|visit| {
            let name = &classes.names()[usize::from(classes.of(visit.object))];
            let demand = server.demand(name).draw(visit.bytes, &mut stream);
            let demand = Span::from_secs_f64(demand.as_secs_f64() * factor.max(0.0) / self.speed);
            Arrival { at: Time::ZERO + Span::from_secs_f64(visit.begin_s), demand, class: 0 }
        });
        let mut times = vec![0.0; self.visits.len()];
        play(&queue, arrivals, |job| times[job.number as usize] = (job.left - job.arrival.at).as_secs_f64());
        times.split_off(self.judged_from)
    }
}

fn mean_demand(server: &Server, parts: &[Part<'_>], classes: &PathClasses) -> f64 {
    let (mut sum_s, mut count) = (0.0, 0.0_f64);
    for visit in parts.iter().flat_map(|part| part.visits) {
        let demand = server.demand(&classes.names()[usize::from(classes.of(visit.object))]);
        sum_s += demand.moments(visit.bytes as f64, 0.0).0;
        count += 1.0;
    }
    sum_s / count.max(1.0)
}

/// Bins with about as many requests each, and who is in them.
fn by_load(loads: &[f64]) -> Vec<Members> {
    let mut sorted = loads.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut ends: Vec<f64> = (1..BINS).map(|bin| sorted[bin * sorted.len() / BINS]).collect();
    ends.dedup();
    let bounds: Vec<f64> = std::iter::once(f64::NEG_INFINITY).chain(ends).chain([f64::INFINITY]).collect();
    let bin = |bounds: &[f64]| {
        let is_in: Vec<bool> = loads.iter().map(|load| bounds[0] <= *load && *load < bounds[1]).collect();
        let inside = || loads.iter().zip(&is_in).filter(|(_, is_in)| **is_in).map(|(load, _)| *load);
        let ends = (inside().fold(f64::INFINITY, f64::min), inside().fold(0.0, f64::max));
        (Some(ends), is_in)
    };
    let is_large = |(_, is_in): &Members| is_in.iter().filter(|is_in| **is_in).count() >= BIN_LEAST;
    bounds.windows(2).map(bin).filter(is_large).collect()
}

fn summed(times: impl Iterator<Item = f64>) -> Seen {
    let mut sorted: Vec<f64> = times.collect();
    sorted.sort_by(f64::total_cmp);
    let rank = ((0.9 * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len().max(1)) - 1;
    Seen {
        mean_s: sorted.iter().sum::<f64>() / sorted.len().max(1) as f64,
        p90_s: sorted.get(rank).copied().unwrap_or(f64::NAN),
    }
}
