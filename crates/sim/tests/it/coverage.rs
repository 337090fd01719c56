//! The simulator's intervals cover the truth as often as they say and not more often, and a run stops where it was asked to.

use std::sync::Mutex;

use sojourn_sim::single::{self, Arrival, Queue};
use sojourn_sim::{Control, Precision, Report, WarmUp};
use sojourn_stats::{Law, Span, Stream, Time};

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
