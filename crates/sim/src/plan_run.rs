//! The run that live ran: one replication whose plan, demands and policy stream are exactly those of the seed.
//!
//! One run has no replications to take intervals from: response times are a series in the order of the plan, judged by
//! batches as a live run's are; everything else is judged by sections of equal time.

use sojourn_stats::{Histogram, Measure, Span, Time, measure};
use sojourn_traffic::Workload;

use crate::course::Course;
use crate::engine::Engine;
use crate::scenario::{Report, Scenario, SimError};
use crate::study::Replication;
use crate::summary::{self, QUANTILES};

/// Sections of equal time.
const SECTIONS: u64 = 20;

/// Simulates the plan of `seed` up to `horizon` and drains it; what is planned before `warm_up` is left out.
///
/// # Errors
/// When the scenario makes no sense, or nothing is left to measure.
pub fn run_plan(scenario: &Scenario, seed: u64, horizon: Span, warm_up: Span) -> Result<Report, SimError> {
    scenario.check()?;
    if warm_up >= horizon {
        return Err(SimError::Invalid(format!("the warm-up of {warm_up} is not shorter than the run of {horizon}")));
    }
    let course = Course::of_plan(warm_up, horizon);
    let mut engine = Engine::new(scenario, seed, &course)?;
    let at = |section: u64| Time(warm_up.0 + (horizon.0 - warm_up.0) / SECTIONS * section);
    engine.run_before(at(0));
    engine.start_measuring(at(0));
    let mut sections = Vec::new();
    let mut before = engine.part_at(at(0));
    for section in 1..=SECTIONS {
        engine.run_before(at(section));
        let now = engine.part_at(at(section));
        sections.push(now.since(&before));
        before = now;
    }
    while !engine.run_until(u64::MAX) {}
    let whole = engine.part();
    let series: Vec<f64> = engine.tally.series.iter().flatten().copied().filter(|value| !value.is_nan()).collect();
    let mut measures = vec![Measure::new("response_time_mean", "s", measure::mean_of_series(&series))];
    for (metric, p) in QUANTILES {
        measures.push(Measure::new(metric, "s", measure::quantile_of_series(&series, p)));
    }
    measures.extend(summary::measures(&summary::others(&whole, &sections), measure::CONFIDENCE));
    if let Workload::Open(open) = &scenario.workload {
        measures.extend(open.arrivals.hurst_of(seed, engine.arrived()));
    }
    let response: &Histogram = &engine.tally.response;
    Ok(Report {
        measures,
        replications_values: Vec::new(),
        connections: Vec::new(),
        attached: Vec::new(),
        response_time_cdf: summary::cdf(response),
        jobs: engine.measured(),
        replications: 1,
        converged: true,
        notes: Vec::new(),
    })
}

/// The response time (s) of every request that is planned before `horizon`, in the order of the plan; NaN of one that did
/// not complete.
///
/// # Errors
/// When the scenario makes no sense.
pub fn response_times(scenario: &Scenario, seed: u64, horizon: Span) -> Result<Vec<f64>, SimError> {
    scenario.check()?;
    let mut engine = Engine::new(scenario, seed, &Course::of_plan(Span::ZERO, horizon))?;
    while !engine.run_until(u64::MAX) {}
    Ok(engine.tally.series.take().unwrap_or_default())
}
