//! Near saturation a queue forgets its state slowly: a run is long against that time, or has no intervals, or is refused
//! with the number of requests it takes. The time is data: 4 E[S] / (1 - rho)^2 for M/M/1, in requests.

use sojourn_sim::{Control, Precision, SimError, WarmUp};
use sojourn_stats::measure::NoInterval;
use sojourn_stats::{Estimate, Law, Span, Stream, Time};

use crate::support::{Scenario, closed, cluster, estimate, queue, simulate};

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
    assert!(refused.to_string().contains(&format!("max_jobs = {needed}")), "{refused}");
    // Twenty replications of ten relaxation times of 4e8 requests each, after a warm-up of three.
    assert!((1.03e11..1.05e11).contains(&(needed as f64)), "{needed}");
    // What is left out is what was asked for, where it was.
    let fixed = Control { warm_up: WarmUp::Fixed(Span::ZERO), ..Control::default() };
    let Err(SimError::TooSlow { needed, .. }) = busy(0.9999, fixed) else { panic!("not refused") };
    assert!((7.9e10..8.1e10).contains(&(needed as f64)), "{needed}");
    // With so many it is no longer refused; the budget of a short one is spent at once.
    let enough = Control { max_jobs: 10_400_000, ..Control::default() };
    assert!(matches!(busy(0.99, enough), Ok(report) if report.jobs > 0));
}

/// Stopped where it was first sharp and confirmed, it would have measured 20,000 requests per replication.
#[test]
fn a_run_goes_on_until_it_is_long_against_the_relaxation_time() {
    let precision = Some(Precision { relative: 1.0, confidence: 0.95 });
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

/// The number that a short run names, given back to it, is enough: whatever was left out, and whether how long it was is known or
/// seen in what was measured.
#[test]
fn a_short_run_names_a_number_of_requests_that_is_enough() {
    let hundred = seconds(100);
    let shared = cluster("exponential(rate = 3.8 /s)", "least-connections", 4, FCFS);
    let one = queue("exponential(rate = 0.9 /s)", FCFS);
    for (scenario, relaxation, warm_up) in [
        (&one, relaxation(0.9), WarmUp::Auto),
        (&one, relaxation(0.9), hundred),
        (&one, relaxation(0.9), WarmUp::Requests(1000)),
        (&shared, relaxation(0.95), WarmUp::Auto),
        (&shared, relaxation(0.95), hundred),
        (&shared, relaxation(0.95), WarmUp::Requests(300)),
    ] {
        let base = Control { precision: None, relaxation: Some(relaxation), warm_up, ..Control::default() };
        let short = |max_jobs: u64| {
            let report = simulate(scenario, &Control { max_jobs, ..base.clone() }).unwrap();
            report.notes.into_iter().find(|note| note.contains("too short for intervals"))
        };
        let told = short(24_000).unwrap_or_else(|| panic!("{warm_up:?} is not short"));
        let enough = told.split_once("`max_jobs = ").and_then(|(_, rest)| rest.split_once("` would do (now 24000)"));
        let enough: u64 = enough.unwrap_or_else(|| panic!("{told}")).0.parse().unwrap();
        assert_eq!(short(enough), None, "{warm_up:?}: {enough} requests");
    }
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
    let few = Control { precision: None, max_jobs: 60_000, warm_up: WarmUp::Fixed(Span::ZERO), ..control };
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

/// Each of many servers takes as long to forget its beginning as one alone, whatever they are together: the warm-up is as long in
/// time, and not in requests. Of 250 queues of M/M/1 at 0.85 that are asked at random the mean was 1.1 % too low after 5,000
/// requests, by the birth and death equations from empty; it is 0.01 % too low after three relaxation times.
///
/// 160 replications of 1,544 requests to each server: the variance of one server's mean in one replication is 0.1 of its square
/// at most (Daley 1968, of M/M/1), and that of all 40,000 has a standard deviation of 0.158 %. So less than one run in two
/// million is off by more than 0.8 %.
#[test]
fn many_servers_warm_up_as_long_as_one() {
    let control = Control { precision: None, max_jobs: 80_000_000, replications: 160, ..Control::default() };
    let control = Control { relaxation: Some(250 * relaxation(0.85)), threads: 2, ..control };
    let many = cluster("exponential(rate = 212.5 /s)", "random", 250, FCFS);
    let report = simulate(&many, &control).unwrap();
    let off = estimate(&report, "response_time_mean").value().unwrap() * 0.15 - 1.0;
    assert!(off.abs() < 0.008, "{:.3} % off the mean of M/M/1", 100.0 * off);
}

/// How long that is: three relaxation times of a server, as many requests as come to all of them meanwhile; and of users who
/// all begin by thinking, five rounds.
#[test]
fn a_warm_up_is_some_relaxation_times_and_some_rounds_of_the_users() {
    let control = |each: u64| Control { precision: None, max_jobs: 20 * each, ..Control::default() };
    let hundred = cluster("exponential(rate = 80 /s)", "random", 100, FCFS);
    let relaxation = 100 * relaxation(0.8);
    let report = simulate(&hundred, &Control { relaxation: Some(relaxation), ..control(110_000) }).unwrap();
    let most = 20 * (110_000 - 3 * relaxation);
    assert!((most / 2..=most).contains(&report.jobs), "{} requests", report.jobs);
    // Of a run too short for ten such times it is as long, and at most half of the run: so many servers are as wrong as one,
    // and look surer. Where requests go to the server with the fewest, all forget sooner, and it is found in the run.
    let left = |policy: &str, each: u64| {
        let hundred = cluster("exponential(rate = 80 /s)", policy, 100, FCFS);
        simulate(&hundred, &Control { relaxation: Some(relaxation), ..control(each) }).unwrap().jobs / 20
    };
    assert!((25_000..=26_000).contains(&left("random", 50_000)), "{}", left("random", 50_000));
    assert!((19_000..=20_000).contains(&left("random", 40_000)), "{}", left("random", 40_000));
    assert!(left("least-connections", 50_000) > 44_000, "{}", left("least-connections", 50_000));
    // Half a server's time for 4,000 users; those inside when measuring begins are not counted.
    let users = closed(4000, "exponential(mean = 8000 s)");
    let server = sojourn_model::Server::from_toml(FCFS).unwrap();
    let report = simulate(&Scenario::single(users, server), &control(60_000)).unwrap();
    assert!((20 * 39_000..=20 * 40_000).contains(&report.jobs), "{} requests", report.jobs);
}

/// Where it is not known how long that is, the run itself tells when it has passed, if there are more than 25 servers: counting
/// begins anew as long as response times grow. Of 250 at 0.95 the mean is 20 s, and 7.7 s of the eighty requests of each that
/// are counted where they are said to forget at once. By the same equations each look in the first 400 s sees them grow by more
/// than five standard deviations, and from then on the mean is 15 s and more, give or take 0.4 s: less than one run in a million
/// has less than 1.5 times 7.7 s.
#[test]
fn a_beginning_of_unknown_length_is_left_out() {
    let precision = Some(Precision { relative: 100.0, confidence: 0.95 });
    let many = cluster("exponential(rate = 237.5 /s)", "random", 250, FCFS);
    let mean = |relaxation: Option<u64>| {
        let report = simulate(&many, &Control { relaxation, precision, ..Control::default() }).unwrap();
        estimate(&report, "response_time_mean").value().unwrap()
    };
    let (unknown, at_once) = (mean(None), mean(Some(0)));
    assert!(unknown > 1.5 * at_once, "{unknown} s and {at_once} s");
}

/// A warm-up that was asked for is kept, and told to be short where it is, with one that would do; none of a run so long that
/// its beginning is nothing in it.
#[test]
fn a_warm_up_that_is_too_short_says_so() {
    let notes = |warm_up: WarmUp, each: u64| {
        let control = Control { precision: None, max_jobs: 20 * each, warm_up, ..Control::default() };
        busy(0.9, control).unwrap().notes.join("\n")
    };
    // Of 400 s each.
    let said = notes(seconds(100), 20_000);
    assert!(said.contains("the warm-up of 100 s is short") && said.contains("`run.warm_up = \"120"), "{said}");
    let (least, said) = (3 * relaxation(0.9), notes(WarmUp::Requests(100), 20_000));
    assert!(said.contains("the warm-up of 100 requests is short"), "{said}");
    assert!(said.contains(&format!("`warm_up = {least}` leaves the beginning out")), "{said}");
    let long = [notes(seconds(1210), 20_000), notes(WarmUp::Requests(least), 20_000)];
    for none in long.into_iter().chain([notes(seconds(100), 60_000), notes(WarmUp::Requests(100), 60_000)]) {
        assert!(!none.contains("is short"), "{none}");
    }
}

/// So many requests of each replication are left out as were asked for, and those inside then; what leaves nothing, or is asked
/// of a run with an end, is refused.
#[test]
fn a_warm_up_may_be_a_number_of_requests() {
    let run = |requests: u64, max_jobs: u64| {
        let warm_up = WarmUp::Requests(requests);
        simulate(
            &queue("exponential(rate = 0.5 /s)", FCFS),
            &Control { precision: None, max_jobs, warm_up, ..Control::default() },
        )
    };
    for (requests, left) in [(0, 10_000), (1000, 9000), (9900, 100)] {
        let jobs = run(requests, 200_000).unwrap().jobs;
        // More than 40 are inside once in 2^41 times.
        assert!((20 * (left - 40)..=20 * left).contains(&jobs), "{jobs} after {requests}");
    }
    assert_eq!(run(0, 200_000).unwrap().jobs, 200_000, "nothing is left out");
    let refused = run(10_000, 200_000).unwrap_err();
    let SimError::AllWarmUp { needed, .. } = refused else { panic!("{refused}") };
    assert_eq!(
        refused.to_string(),
        "a warm-up of 10000 requests leaves nothing to measure: each of 20 replications has 10000; set max_jobs = 400000 (now \
         200000), or a shorter warm-up"
    );
    assert!(run(10_000, needed).unwrap().jobs > 190_000);
    let end = Some(Span(100_000_000_000));
    let control = Control { horizon: end, warm_up: WarmUp::Requests(10), ..Control::default() };
    let refused = simulate(&queue("exponential(rate = 0.5 /s)", FCFS), &control).unwrap_err().to_string();
    assert!(refused.contains("a time, not a number of requests"), "{refused}");
}

/// A warm-up of this length.
fn seconds(seconds: u64) -> WarmUp {
    WarmUp::Fixed(Span(seconds * 1_000_000_000))
}
