//! Near saturation a queue forgets its state slowly: a run is long against that time, or has no intervals, or is refused
//! with the number of requests it takes. The time is data: 4 E[S] / (1 - rho)^2 for M/M/1, in requests.

use sojourn_sim::{Control, SimError};
use sojourn_stats::measure::NoInterval;
use sojourn_stats::{Estimate, Law, Span, Stream, Time};

use crate::support::{cluster, estimate, queue, simulate};

const FCFS: &str = "discipline = \"fcfs\"\ndemand = \"exponential(mean = 1 s)\"";

fn relaxation(utilization: f64) -> u64 {
    (4.0 * utilization / (1.0 - utilization).powi(2)).ceil() as u64
}

fn busy(utilization: f64, control: Control) -> Result<sojourn_sim::Report, SimError> {
    let control = Control { relaxation: Some(relaxation(utilization)), ..control };
    simulate(&queue(&format!("exponential(rate = {utilization} /s)"), FCFS), &control)
}

#[test]
fn what_takes_more_requests_than_allowed_is_refused_with_their_number() {
    let refused = busy(0.9999, Control::default()).unwrap_err();
    let SimError::TooSlow { needed, max_jobs, .. } = refused else { panic!("{refused}") };
    assert_eq!(max_jobs, Control::default().max_jobs);
    // Twenty replications of ten relaxation times of 4e8 requests each.
    assert!((7.9e10..8.1e10).contains(&(needed as f64)), "{needed}");
    assert!(refused.to_string().contains(&format!("max_jobs = {needed}")), "{refused}");
    // With so many it is no longer refused; the budget of a short one is spent at once.
    assert!(matches!(busy(0.99, Control { max_jobs: 8_200_000, ..Control::default() }), Ok(report) if report.jobs > 0));
}

/// Stopped where it was first sharp and confirmed, it would have measured 20,000 requests per replication.
#[test]
fn a_run_goes_on_until_it_is_long_against_the_relaxation_time() {
    let precision = Some(sojourn_sim::Precision { relative: 1.0, confidence: 0.95 });
    let report = busy(0.97, Control { precision, ..Control::default() }).unwrap();
    assert!(report.converged && report.jobs >= 20 * 10 * relaxation(0.97), "{} requests", report.jobs);
    assert!(estimate(&report, "response_time_mean").interval().is_some());
}

#[test]
fn a_run_that_was_cut_short_has_numbers_without_intervals() {
    let control = Control { precision: None, max_jobs: 40_000, ..Control::default() };
    let report = busy(0.9, control).unwrap();
    for measure in &report.measures {
        let bare = matches!(measure.estimate, Estimate::WithoutInterval { why: NoInterval::TooShort, .. });
        assert!(bare || measure.estimate.interval().is_none(), "{measure:?}");
    }
    assert!(estimate(&report, "response_time_mean").value().is_some() && !report.converged);
    assert!(report.notes.iter().any(|note| note.contains("too short for intervals")), "{:?}", report.notes);
}

/// One queue at memory speed: the same by its sections.
#[test]
fn a_single_run_says_how_many_jobs_an_interval_takes() {
    use sojourn_sim::single::{self, Arrival, Control, Queue};
    let (mut gaps, mut services) = (Stream::new(1, "queue", "gaps"), Stream::new(1, "queue", "services"));
    let (gap, service, mut at) = (Law::exponential(1.0 / 0.9), Law::exponential(1.0), Time::ZERO);
    let jobs = std::iter::repeat_with(move || {
        at += sojourn_stats::Span::from_secs_f64(gap.sample(&mut gaps));
        let demand = sojourn_stats::Span::from_secs_f64(service.sample(&mut services));
        Arrival { at, demand, class: 0 }
    });
    let queue = Queue { discipline: sojourn_model::Discipline::Fcfs, cores: 1, capacity: None };
    let run = |jobs: &mut dyn Iterator<Item = Arrival>| {
        let control = Control { relaxation: Some(relaxation(0.9)), ..Control::default() };
        single::run(&queue, jobs, &control).unwrap()
    };
    let all: Vec<Arrival> = jobs.take(81_920).collect();
    let short = run(&mut all.iter().copied().take(81_919));
    assert!(short.measures.iter().all(|measure| measure.estimate.interval().is_none()));
    // 3,600 jobs in each of twenty sections, whose sizes are powers of two.
    assert!(short.notes.iter().any(|note| note.contains("takes 81920 after")), "{:?}", short.notes);
    assert!(estimate(&run(&mut all.iter().copied()), "response_time_mean").interval().is_some());
}

/// A hundred queues of M/M/1 at utilisation 0.8 that share the requests: one bound for each of them would ask for more requests
/// than are allowed, and all together have forgotten long before.
#[test]
fn many_servers_are_judged_by_what_is_measured() {
    let control = Control { relaxation: Some(100 * relaxation(0.8)), max_jobs: 1_900_000, ..Control::default() };
    let many = cluster("exponential(rate = 80 /s)", "random", 100, FCFS);
    let report = simulate(&many, &Control { precision: None, ..control.clone() }).unwrap();
    assert!(estimate(&report, "response_time_mean").interval().is_some(), "{:?}", report.notes);
    let (low, high) = estimate(&report, "response_time_mean").interval().unwrap();
    assert!(low < 5.0 && 5.0 < high && high - low < 0.2, "{low} to {high}, not 5 s");
    // So few requests have not settled.
    let few = Control { precision: None, max_jobs: 60_000, warm_up: sojourn_sim::WarmUp::Fixed(Span::ZERO), ..control };
    let report = simulate(&many, &few).unwrap();
    assert!(estimate(&report, "response_time_mean").interval().is_none(), "{:?}", report.measures);
    assert!(report.notes.iter().any(|note| note.contains("too short for intervals")), "{:?}", report.notes);
}

/// So many servers leave so little noise that the beginning, when all were empty, would be more than an interval.
#[test]
fn of_many_servers_the_beginning_is_left_out() {
    let control = Control { relaxation: Some(300 * relaxation(0.8) / 4), ..Control::default() };
    let report = simulate(&cluster("exponential(rate = 240 /s)", "random", 300, FCFS), &control).unwrap();
    let mean = estimate(&report, "response_time_mean").value().unwrap();
    assert!((mean / 5.0 - 1.0).abs() < 0.01, "{mean} of M/M/1, whose mean is 5 s");
}
