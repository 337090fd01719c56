//! The fast way through one queue against the general simulator, job by job, and against what is known exactly.

use std::fmt::Write;
use std::sync::Arc;

use sojourn_model::{Demand, Discipline, Knowledge, Server, System};
use sojourn_sim::Report;
use sojourn_sim::single::{self, Arrival, Control, Drawn, Predict, Queue};
use sojourn_stats::{Dimension, Histogram, Law, Span, Stream, Time};
use sojourn_traffic::{Arrivals, Clock, Open, Plan, Sizes, Trace, Traced, Workload};

use crate::support::{CONFIDENCE, covers, estimate};

fn queue(discipline: Discipline, cores: u32) -> Queue {
    Queue { discipline, cores, capacity: None }
}

fn every_discipline() -> Vec<(Discipline, u32)> {
    vec![
        (Discipline::Fcfs, 1),
        (Discipline::Fcfs, 3),
        (Discipline::Ps, 1),
        (Discipline::Ps, 2),
        (Discipline::LimitedPs { helpers: 4 }, 1),
        (Discipline::LeastAttained, 1),
        (Discipline::RoundRobin { quantum: Span(200_000) }, 1),
        (Discipline::Lcfs { preemptive: false }, 2),
        (Discipline::Lcfs { preemptive: true }, 1),
        (Discipline::Priority { preemptive: false }, 1),
        (Discipline::Priority { preemptive: true }, 2),
    ]
}

/// Bursts, so that queues grow and simultaneous arrivals are common; some jobs have no work.
fn pairs(cores: u32) -> Vec<(u64, u64)> {
    let mut stream = Stream::new(7, "single", "pairs");
    let mut pair = |_| {
        let gap = if stream.below(3) == 0 { 0 } else { stream.below(1_900_000 / cores as usize) as u64 };
        (gap, stream.below(1_000_000) as u64 / 7 * 7)
    };
    (0..20_000).map(&mut pair).collect()
}

#[test]
fn every_job_is_as_in_the_general_simulator() {
    for (discipline, cores) in every_discipline() {
        for capacity in [None, Some(9)] {
            let pairs = pairs(cores);
            let mut text = "gap_ns,demand_ns\n".to_owned();
            pairs.iter().for_each(|(gap, demand)| writeln!(text, "{gap},{demand}").unwrap());
            let trace = Arc::new(Trace::read_from(text.as_bytes(), "t.csv").unwrap());
            let sizes = Sizes::Law(Law::constant(1000.0));
            let (path, patience) = ("t.csv".into(), None);
            let traced = Traced { trace, path, speed: 1.0, repeat: false, clients: 1, sizes, patience };
            let demand = vec![(String::new(), Demand::parse("1 s").unwrap())];
            let server = Server {
                discipline: discipline.clone(),
                cores,
                speed: 1.0,
                demand,
                capacity,
                drops_overflow: false,
                machine: None,
            };
            let (system, workload) = (System::single(server), Workload::Trace(traced));
            let general = sojourn_sim::response_times(&system, &workload, 1, Span(u64::MAX / 2)).unwrap();

            let mut at = Time::ZERO;
            let arrivals = pairs.iter().map(|(gap, demand)| {
                at += Span(*gap);
                Arrival { at, demand: Span(*demand), class: 0 }
            });
            let mut single = vec![f64::NAN; pairs.len()];
            single::play(&Queue { discipline: discipline.clone(), cores, capacity }, arrivals, |job| {
                if !job.denied {
                    single[job.number as usize] = (job.left - job.arrival.at).as_secs_f64();
                }
            });
            let denied = single.iter().filter(|response| response.is_nan()).count();
            assert_eq!(denied > 0, capacity.is_some(), "{discipline:?}: {denied} denied");
            for (number, response) in single.iter().enumerate() {
                // A denied one at the end has no place in the series.
                let other = general.get(number).copied().unwrap_or(f64::NAN);
                assert!(
                    other == *response || (other.is_nan() && response.is_nan()),
                    "{discipline:?}, {cores} cores, {capacity:?}: job {number} takes {response}, not {other}"
                );
            }
        }
    }
}

/// So many jobs of Poisson arrivals and this service law, of class `class`.
fn poisson(rate: f64, service: &str, class: u8, jobs: usize) -> impl Iterator<Item = Arrival> {
    let gap = Law::exponential(1.0 / rate);
    let service = Law::parse(service, Dimension::Time).unwrap();
    let name = format!("class {class}");
    let (mut gaps, mut works) = (Stream::new(11, &name, "gaps"), Stream::new(11, &name, "works"));
    let mut at = Time::ZERO;
    (0..jobs).map(move |_| {
        at += Span::from_secs_f64(gap.sample(&mut gaps));
        Arrival { at, demand: Span::from_secs_f64(service.sample(&mut works)), class }
    })
}

const JOBS: usize = 2_000_000;

fn run(discipline: Discipline, arrivals: impl Iterator<Item = Arrival>) -> Report {
    let control = Control { warm_up: 100_000, confidence: CONFIDENCE, ..Control::default() };
    single::run(&queue(discipline, 1), arrivals, &control).unwrap()
}

/// An order that does not look at demands leaves the mean of exponential service as it is: 1 / (1 - 0.8).
#[test]
fn exponential_service_has_one_mean_under_every_blind_discipline() {
    for discipline in [
        Discipline::Fcfs,
        Discipline::Ps,
        Discipline::LimitedPs { helpers: 4 },
        Discipline::LeastAttained,
        Discipline::RoundRobin { quantum: Span(500_000_000) },
        Discipline::Lcfs { preemptive: false },
        Discipline::Lcfs { preemptive: true },
    ] {
        let label = format!("{discipline:?}");
        let report = run(discipline, poisson(0.8, "exponential(mean = 1 s)", 0, JOBS));
        covers(&report, "response_time_mean", 5.0, 0.12, &label);
        covers(&report, "utilization", 0.8, 0.02, &label);
        covers(&report, "throughput", 0.8, 0.02, &label);
        covers(&report, "service_time_mean", 1.0, 0.02, &label);
    }
}

/// The response time of a job of demand x under least attained service (Kleinrock, volume 2, section 4.6):
/// x / (1 - rho_x) + lambda E[min(S, x)^2] / (2 (1 - rho_x)^2), over the law of x by Simpson's rule.
fn least_attained_mean(rate: f64, service: &Law) -> f64 {
    let (end, steps) = (200.0, 400_000);
    let step = end / f64::from(steps);
    let survival = |x: f64| service.survival(x);
    let (mut mean, mut first, mut second) = (0.0, 0.0, 0.0);
    let conditional = |x: f64, first: f64, second: f64| {
        let left = 1.0 - rate * first;
        x / left + rate * second / (2.0 * left * left)
    };
    for k in 0..steps {
        let (a, b) = (f64::from(k) * step, f64::from(k + 1) * step);
        let middle = 0.5 * (a + b);
        // E[min(S, x)] and E[min(S, x)^2] grow by the integrals of P(S > x) and 2 x P(S > x).
        let half_first = first + step / 4.0 * (survival(a) + survival(middle));
        let half_second = second + step / 4.0 * 2.0 * (a * survival(a) + middle * survival(middle));
        let share = survival(a) - survival(b);
        mean += share * conditional(middle, half_first, half_second);
        first += step / 6.0 * (survival(a) + 4.0 * survival(middle) + survival(b));
        second += step / 6.0 * 2.0 * (a * survival(a) + 4.0 * middle * survival(middle) + b * survival(b));
    }
    mean
}

#[test]
fn least_attained_service_is_its_formula() {
    let law = |text: &str| Law::parse(text, Dimension::Time).unwrap();
    // Exponential service is the mean that every blind discipline has.
    assert!((least_attained_mean(0.8, &law("exponential(mean = 1 s)")) - 5.0).abs() < 1e-3);
    for service in ["hyperexponential(mean = 1 s, cv = 2)", "erlang(k = 3, mean = 1 s)"] {
        let exact = least_attained_mean(0.8, &law(service));
        let report = run(Discipline::LeastAttained, poisson(0.8, service, 0, JOBS));
        covers(&report, "response_time_mean", exact, 0.2, service);
    }
    // A constant: each job waits for all that come meanwhile, 1 / 0.2 + 0.8 / (2 x 0.04).
    let report = run(Discipline::LeastAttained, poisson(0.8, "constant(1 s)", 0, JOBS));
    covers(&report, "response_time_mean", 15.0, 0.2, "constant");
}

/// Last come, first served: non-preemptive as FCFS in the mean (Pollaczek and Khinchine), preemptive as PS.
#[test]
fn last_come_first_served_has_its_means() {
    let service = "hyperexponential(mean = 1 s, cv = 2)";
    let report = run(Discipline::Lcfs { preemptive: false }, poisson(0.8, service, 0, JOBS));
    covers(&report, "waiting_time_mean", 10.0, 0.35, "LCFS");
    let report = run(Discipline::Lcfs { preemptive: true }, poisson(0.8, service, 0, JOBS));
    covers(&report, "response_time_mean", 5.0, 0.2, "LCFS-PR");
}

/// Two classes of exponential service, 0.4 of the core each (Cobham, Operations Research 2, 1954): waits of 4/3 and 20/3
/// without preemption; with it, response times of 5/3 and 25/3.
#[test]
fn priorities_have_their_means_by_class() {
    let classes = ["gold", "iron"];
    let control = Control { warm_up: 100_000, classes: &classes, confidence: CONFIDENCE, ..Control::default() };
    let ask = |preemptive| {
        let of = |class| poisson(0.4, "exponential(mean = 1 s)", class, JOBS / 2);
        let (mut gold, mut iron) = (of(0).peekable(), of(1).peekable());
        let merged = std::iter::from_fn(move || match (gold.peek(), iron.peek()) {
            (Some(one), Some(other)) if one.at <= other.at => gold.next(),
            (_, Some(_)) => iron.next(),
            (_, None) => gold.next(),
        });
        single::run(&queue(Discipline::Priority { preemptive }, 1), merged, &control).unwrap()
    };
    let waits = ask(false);
    covers(&waits, "waiting_time_mean_gold", 4.0 / 3.0, 0.1, "Cobham");
    covers(&waits, "waiting_time_mean_iron", 20.0 / 3.0, 0.2, "Cobham");
    let resumes = ask(true);
    covers(&resumes, "response_time_mean_gold", 5.0 / 3.0, 0.1, "preemptive resume");
    covers(&resumes, "response_time_mean_iron", 25.0 / 3.0, 0.2, "preemptive resume");
    let unnamed = Control { classes: &classes[..1], warm_up: 0, ..control };
    let both = [0, 1].map(|class| Arrival { at: Time::ZERO, demand: Span(1), class });
    assert!(single::run(&queue(Discipline::Ps, 1), both, &unnamed).is_ok(), "one name is that of all");
}

/// M/M/1/10-PS at 0.8 loses 0.02349286 of its jobs.
#[test]
fn a_full_room_denies() {
    let control = Control { warm_up: 100_000, confidence: CONFIDENCE, ..Control::default() };
    let full = Queue { discipline: Discipline::Ps, cores: 1, capacity: Some(10) };
    let report = single::run(&full, poisson(0.8, "exponential(mean = 1 s)", 0, JOBS), &control).unwrap();
    covers(&report, "error_ratio", 0.023_492_86, 0.12, "M/M/1/10");
    covers(&report, "response_time_mean", 3.797_098, 0.05, "M/M/1/10");
}

/// Under FCFS a predictor that knows demands is never wrong, and one that knows the number is right on average, as a job
/// finds 4 of mean 1 on average and brings one itself. Under PS half of what each of the 4 has left is done before a job
/// leaves, on average: it is predicted 3 where it takes 5. Under preemptive LCFS it is predicted its own demand.
#[test]
fn predictions_say_how_wrong_they_are() {
    let ask = |discipline, knows| {
        let predict = Some(Predict { knows, demand_mean: Span(1_000_000_000) });
        let control = Control { predict, warm_up: 10_000, confidence: CONFIDENCE, ..Control::default() };
        let jobs = poisson(0.8, "exponential(mean = 1 s)", 0, 400_000);
        single::run(&queue(discipline, 1), jobs, &control).unwrap()
    };
    let rows = ["prediction_error_mean", "prediction_error_absolute_mean", "prediction_error_relative_p90"];
    let exact = ask(Discipline::Fcfs, Knowledge::Demands);
    assert_eq!(rows.map(|metric| estimate(&exact, metric).value()), [Some(0.0); 3]);
    let number = ask(Discipline::Fcfs, Knowledge::Number);
    let (low, high) = estimate(&number, rows[0]).interval().unwrap();
    assert!(low < 0.0 && 0.0 < high && high - low < 0.2, "{low} to {high}");
    assert!(estimate(&number, rows[1]).value().unwrap() > 0.1);
    covers(&ask(Discipline::Ps, Knowledge::Demands), rows[0], -0.4, 0.2, "PS");
    covers(&ask(Discipline::Lcfs { preemptive: true }, Knowledge::Demands), rows[0], -0.8, 0.2, "LCFS-PR");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let job = Arrival { at: Time::ZERO, demand: Span(1), class: 0 };
    let refused = |queue: &Queue, control: &Control<'_>| {
        let error = single::run(queue, [job], control).unwrap_err();
        error.to_string()
    };
    let two = refused(&queue(Discipline::LeastAttained, 2), &Control::default());
    assert!(two.contains("1 core only"), "{two}");
    let late = refused(&queue(Discipline::Fcfs, 1), &Control { warm_up: 5, ..Control::default() });
    assert!(late.contains("after the 5 jobs"), "{late}");
}

/// What is drawn, played and counted some thousand at a time is what a plan gives one by one, and that is what every job by
/// itself gives.
#[test]
fn blocks_of_jobs_are_those_one_by_one() {
    let laws = [
        ("exponential(rate = 800 /s)", "exponential(mean = 1 ms)"),
        ("lognormal(mean = 1.25 ms, cv = 2)", "bounded-pareto(alpha = 1.5, min = 0.344 ms, max = 1 s)"),
        ("batches(n = 3, every = 4 ms)", "erlang(k = 2, mean = 1 ms)"),
        ("fgn(h = 0.7, mean = 1.25 ms, cv = 1, marginal = exponential)", "weibull(shape = 0.7, mean = 1 ms)"),
        (
            "on-off(sources = 20, on = pareto(alpha = 1.5, mean = 1 s), off = pareto(alpha = 1.5, mean = 1 s), rate = 800 /s)",
            "pareto(alpha = 2.5, mean = 1 ms)",
        ),
    ];
    for ((gaps, service), seed) in laws.into_iter().zip(1..) {
        let (arrivals, law) = (Arrivals::parse(gaps).unwrap(), Law::parse(service, Dimension::Time).unwrap());
        let sizes = Sizes::Law(Law::constant(0.0));
        let open = Open { arrivals: arrivals.clone(), clients: 1, sizes, patience: None };
        for (discipline, cores, jobs, warm_up) in [
            (Discipline::Fcfs, 1, 30_000, 3_000),
            (Discipline::Fcfs, 1, 2_048, 0),
            (Discipline::Fcfs, 3, 10_001, 1_025),
            (Discipline::Fcfs, 1 << 30, 5_000, 0),
            (Discipline::Ps, 1, 5_000, 77),
        ] {
            let law = law.clone();
            let demand = {
                let law = law.clone();
                move |_: u8, _: u64, stream: &mut Stream| Span::from_secs_f64(law.sample(stream))
            };
            let plan = || {
                let plan = Plan::new(&Workload::Open(open.clone()), seed, Arc::new(demand.clone())).unwrap();
                plan.map(|p| Arrival { at: p.at, demand: p.request.demand, class: 0 }).take(jobs as usize)
            };
            let label = format!("{gaps}, {service}, {discipline:?}, {cores} cores, {jobs} jobs");
            let queue = Queue { discipline, cores, capacity: None };
            let control = Control { warm_up, ..Control::default() };
            let drawn = Drawn { arrivals: &arrivals, service: &law, seed, jobs };
            let at_once = single::run_drawn(&queue, &drawn, &control).unwrap();
            let one_by_one = single::run(&queue, plan(), &control).unwrap();
            assert_eq!(at_once.measures, one_by_one.measures, "{label}");
            assert_eq!(at_once.response_time_cdf, one_by_one.response_time_cdf, "{label}");
            // One class with a name counts each job by itself.
            let names = Control { classes: &["a", "b"], ..control };
            let by_job = single::run(&queue, plan(), &names).unwrap();
            assert_eq!(at_once.measures[..], by_job.measures[..at_once.measures.len()], "{label}");

            let mut responses = Histogram::new();
            let (mut waiting, mut service_s) = (0u64, 0u64);
            single::play(&queue, plan(), |job| {
                if job.number >= warm_up {
                    responses.record((job.left - job.arrival.at).0);
                    waiting += (job.started - job.arrival.at).0;
                    service_s += job.arrival.demand.0;
                }
            });
            assert_eq!(at_once.jobs, responses.count(), "{label}");
            let count = responses.count() as f64;
            for (metric, sum) in [
                ("response_time_mean", responses.sum() as f64),
                ("waiting_time_mean", waiting as f64),
                ("service_time_mean", service_s as f64),
            ] {
                let (told, right) = (estimate(&at_once, metric).value().unwrap(), sum / count * 1e-9);
                assert!((told - right).abs() <= 1e-12 * right, "{label}: {metric} {told}, not {right}");
            }
        }
    }
}

/// Time ends after 584 years: what would come later is refused, not counted as if it came at once.
/// Segments that are walked at once, forget what was before them, or do not, count as those that are played in order.
#[test]
fn a_long_path_is_the_same_on_one_thread_as_on_many() {
    let segment = 1 << 20;
    for (cores, load, service, jobs, warm_up) in [
        (1, 0.8, "exponential(mean = 1 ms)", 7 * segment + 12_345, 700_001),
        (3, 0.9, "lognormal(mean = 1 ms, cv = 2)", 6 * segment, 2 * segment + 77),
        (1, 0.0, "exponential(mean = 1 ms)", 5 * segment - 1, 0),
        // Its queue is hardly ever empty.
        (1, 0.999, "exponential(mean = 1 ms)", 5 * segment, 5),
        // Some of its heads meet.
        (1, 0.985, "exponential(mean = 1 ms)", 9 * segment, 3 * segment),
    ] {
        let rate = if load == 0.0 { 1e-3 } else { load * 1e3 * f64::from(cores) };
        let (arrivals, service) =
            (Arrivals::of(Law::exponential(1.0 / rate)), Law::parse(service, Dimension::Time).unwrap());
        let drawn = Drawn { arrivals: &arrivals, service: &service, seed: 3, jobs };
        let by = |threads| {
            let control = Control { warm_up, threads, ..Control::default() };
            single::run_drawn(&queue(Discipline::Fcfs, cores), &drawn, &control).unwrap()
        };
        let alone = by(1);
        assert_eq!(alone.jobs, jobs - warm_up);
        for threads in [2, 3] {
            let shared = by(threads);
            let label = format!("{cores} cores at {load}, {threads} threads");
            assert_eq!(alone.measures, shared.measures, "{label}");
            assert_eq!(alone.response_time_cdf, shared.response_time_cdf, "{label}");
            assert_eq!(alone.jobs, shared.jobs, "{label}");
        }
    }
}

/// From the second segment on, jobs come from streams that have nothing in common with those before.
#[test]
fn segments_draw_from_streams_of_their_own() {
    let (arrivals, service) = (Arrivals::of(Law::exponential(1.0)), Law::exponential(0.5));
    let of = |jobs| {
        let drawn = Drawn { arrivals: &arrivals, service: &service, seed: 3, jobs };
        let control = Control { warm_up: jobs - (1 << 20), ..Control::default() };
        let report = single::run_drawn(&queue(Discipline::Fcfs, 1), &drawn, &control).unwrap();
        estimate(&report, "service_time_mean").value().unwrap()
    };
    let means = [of(1 << 20), of(2 << 20), of(3 << 20)];
    assert!(means[0] != means[1] && means[1] != means[2] && means[0] != means[2], "{means:?}");
    // The mean of 2^20 exponential draws, six standard errors to each side: false alarms 6e-9 for three.
    assert!(means.iter().all(|mean| (mean / 0.5 - 1.0).abs() < 6.0 / 1024.0), "{means:?}");
}

#[test]
fn the_end_of_time_is_refused() {
    let (arrivals, service) = (Arrivals::of(Law::constant(1e8)), Law::constant(1.0));
    let drawn = Drawn { arrivals: &arrivals, service: &service, seed: 1, jobs: 1_000 };
    let error = single::run_drawn(&queue(Discipline::Fcfs, 1), &drawn, &Control::default()).unwrap_err();
    assert!(error.to_string().contains("584 years"), "{error}");
    let long = Arrival { at: Time(1), demand: Span(u64::MAX), class: 0 };
    let error = single::run(&queue(Discipline::Fcfs, 1), [long], &Control::default()).unwrap_err();
    assert!(error.to_string().contains("584 years"), "{error}");
}

/// Instants are the sum of the gaps, rounded down, and what each loses by it goes into the next, written here as it is told.
#[test]
fn instants_carry_what_lies_between_nanoseconds() {
    for gaps in [
        "exponential(mean = 1.25 ms)",
        "exponential(mean = 1.3 ns)",
        "0.7 ns",
        "pareto(alpha = 0.4, min = 1 us)",
        "72 h",
    ] {
        let (arrivals, law) = (Arrivals::parse(gaps).unwrap(), Law::parse(gaps, Dimension::Time).unwrap());
        let mut at = vec![Time::ZERO; 20_000];
        assert_eq!(Clock::new(&arrivals, 9).unwrap().fill(&mut at), at.len());
        let mut stream = Stream::new(9, "source", "arrivals");
        let (mut now, mut rest_ns) = (Time::ZERO, 0.0);
        for at in at {
            let exact_ns = law.sample(&mut stream) * 1e9 + rest_ns;
            let whole_ns = exact_ns as u64;
            rest_ns = exact_ns - whole_ns as f64;
            now += Span(whole_ns);
            assert_eq!(at, now, "{gaps}");
        }
    }
}
