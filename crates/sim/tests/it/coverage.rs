//! The simulator's intervals cover the truth as often as they say and not more often, and a run stops where it was asked to.

use std::sync::Mutex;

use sojourn_sim::single::{self, Arrival, Drawn, Queue};
use sojourn_sim::{Control, Precision, Report, WarmUp};
use sojourn_stats::{Law, Span, Stream, Time};
use sojourn_traffic::Arrivals;

use crate::support::{estimate, queue, simulate};

const FCFS: &str = "discipline = \"fcfs\"\ndemand = \"exponential(mean = 1 s)\"";
/// Of 400 intervals at 95 % fewer than 3 miss, or more than 44, once in a million sets on either side.
const SETS: u64 = 400;
const MISSES: std::ops::RangeInclusive<u32> = 3..=44;

/// M/M/1 at utilisation 0.5: mean 2 s, 90th percentile 2 ln 10 s.
fn missed(report: &Report, misses: &mut [u32; 3]) {
    let truths =
        [("response_time_mean", 2.0), ("response_time_p90", 2.0 * std::f64::consts::LN_10), ("utilization", 0.5)];
    for ((metric, truth), misses) in truths.into_iter().zip(misses) {
        let (low, high) = estimate(report, metric).interval().unwrap();
        *misses += u32::from(truth < low || high < truth);
    }
}

#[test]
fn intervals_over_replications_cover_as_often_as_they_say() {
    let scenario = queue("exponential(rate = 0.5 /s)", FCFS);
    let mut misses = [0; 3];
    for seed in 1..=SETS {
        let warm_up = WarmUp::Fixed(Span(100_000_000_000));
        let control = Control { seed, warm_up, precision: None, max_jobs: 20_000, ..Control::default() };
        missed(&simulate(&scenario, &control).unwrap(), &mut misses);
    }
    assert!(misses.iter().all(|misses| MISSES.contains(misses)), "{misses:?} of {SETS} miss");
}

#[test]
fn intervals_over_sections_cover_as_often_as_they_say() {
    let queue = Queue { discipline: sojourn_model::Discipline::Fcfs, cores: 1, capacity: None };
    let (gap, service) = (Law::exponential(2.0), Law::exponential(1.0));
    let mut misses = [0; 3];
    for seed in 1..=SETS {
        let (mut gaps, mut services) = (Stream::new(seed, "queue", "gaps"), Stream::new(seed, "queue", "services"));
        let mut at = Time::ZERO;
        let jobs = std::iter::repeat_with(|| {
            at += Span::from_secs_f64(gap.sample(&mut gaps));
            Arrival { at, demand: Span::from_secs_f64(service.sample(&mut services)), class: 0 }
        });
        let control = single::Control { warm_up: 100, ..single::Control::default() };
        missed(&single::run(&queue, jobs.take(20_580), &control).unwrap(), &mut misses);
    }
    assert!(misses.iter().all(|misses| MISSES.contains(misses)), "{misses:?} of {SETS} miss");
}

/// Of so many intervals that cover 93 % of the time more than these miss less than once in ten million sets, and of all that are
/// looked at here less than once in a million.
const MOST: [(u64, u32); 2] = [(200, 36), (400, 58)];

fn most(sets: u64) -> u32 {
    MOST.iter().find(|(of, _)| *of == sets).expect("it is in the table").1
}

/// Mean and percentiles of M/M/1 where some hundred busy periods are long: those that have an interval miss as rarely as it says,
/// the far percentiles too, most of which have none; and what can be known has one. Of M/M/1 at 0.8, 300,000 jobs, sections
/// of a percentile's own values cover the 99.9th in 80 % of the cases.
#[test]
fn percentiles_far_out_have_no_interval_that_is_too_narrow() {
    let queue = Queue { discipline: sojourn_model::Discipline::Fcfs, cores: 1, capacity: None };
    let (arrivals, service) = (Arrivals::parse("exponential(rate = 0.8 /s)").unwrap(), Law::exponential(1.0));
    let quantiles = [("p50", 0.5), ("p90", 0.1), ("p95", 0.05), ("p99", 0.01), ("p99.9", 0.001)];
    let truths = quantiles.map(|(name, beyond)| (name, -5.0 * f64::ln(beyond)));
    let (mut misses, mut given) = ([0u32; 6], [0u64; 6]);
    for seed in 1..=400 {
        let drawn = Drawn { arrivals: &arrivals, service: &service, seed, jobs: 300_000 };
        let control = single::Control { warm_up: 30_000, ..single::Control::default() };
        let report = single::run_drawn(&queue, &drawn, &control).unwrap();
        for (at, (name, truth)) in [("mean", 5.0)].into_iter().chain(truths).enumerate() {
            if let Some((low, high)) = estimate(&report, &format!("response_time_{name}")).interval() {
                given[at] += 1;
                misses[at] += u32::from(truth < low || high < truth);
            }
        }
    }
    assert!(misses.iter().all(|misses| *misses <= most(400)), "{misses:?} of {given:?} miss");
    assert!(given[..4] == [400; 4] && given[4] > 380 && given[5] < 40, "{given:?} have an interval");
}

/// The rule of precision looks several times, and stops where intervals are narrow, which some are by luck: what it stops at
/// covers all the same (4,000 seeds: `benches/coverage.rs`).
#[test]
fn intervals_of_runs_that_stop_by_themselves_cover_as_often_as_they_say() {
    let scenario = queue("exponential(rate = 0.5 /s)", FCFS);
    let mut misses = [0; 4];
    for seed in 1..=200 {
        let report = simulate(&scenario, &Control { seed, ..Control::default() }).unwrap();
        assert!(report.converged, "seed {seed}");
        for ((name, truth), misses) in
            [("mean", 2.0), ("p50", 2.0 * 2f64.ln()), ("p90", 2.0 * 10f64.ln()), ("p99", 2.0 * 100f64.ln())]
                .into_iter()
                .zip(&mut misses)
        {
            let (low, high) = estimate(&report, &format!("response_time_{name}")).interval().unwrap();
            *misses += u32::from(truth < low || high < truth);
        }
    }
    assert!(misses.iter().all(|misses| *misses <= most(200)), "{misses:?} of 200 miss");
}

/// What has converged is as narrow as was asked, and was so at the look before as well: the last stretch, which is as long
/// as all before, only confirms it.
#[test]
fn a_converged_run_is_as_narrow_as_asked_and_was_confirmed() {
    let scenario = queue("exponential(rate = 0.7 /s)", FCFS);
    for (seed, relative) in (1..=4).flat_map(|seed| [(seed, 0.05), (seed, 0.02)]) {
        let precision = Some(Precision { relative, confidence: 0.95 });
        let control = Control { seed, precision, ..Control::default() };
        // Requests and width as they were known at the last look before each progress.
        let looks: Mutex<Vec<(u64, f64)>> = Mutex::default();
        let report = sojourn_sim::run(&scenario.system, &scenario.workload, &control, &|progress| {
            if let Some(width) = progress.relative {
                let mut looks = looks.lock().unwrap();
                if looks.last().is_none_or(|(_, last)| *last != width) {
                    looks.push((progress.jobs, width));
                }
            }
        });
        let report = report.unwrap();
        assert!(report.converged, "seed {seed}");
        for metric in ["response_time_mean", "response_time_p90", "response_time_p99"] {
            let width = estimate(&report, metric).relative_half_width();
            assert!(width <= relative, "seed {seed}: {metric} is known to {width}, not {relative}");
        }
        let looks = looks.into_inner().unwrap();
        let (_, before_last) = *looks.last().expect("it looked before it ended");
        assert!(before_last <= relative, "seed {seed}: sharp at once and stopped, without a second look: {looks:?}");
    }
}
