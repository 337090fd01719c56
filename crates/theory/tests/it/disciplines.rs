//! Every discipline against jobs played one by one, and against numbers that are known. The intervals of the plays are
//! such that a right formula fails with a chance below 1e-6 in all.

use sojourn_stats::{Estimate, Stream};
use sojourn_theory::Answer;
use sojourn_theory::formula::general::busy_period::BusyPeriod;
use sojourn_theory::formula::markovian::mm1;
use sojourn_theory::formula::order::las;
use sojourn_theory::formula::order::mg1_order::{self, Order};
use sojourn_theory::formula::order::priority::{self, Class};
use sojourn_theory::queue::{self, Question, Queue};

use crate::naive::{Rule, drawn, is_mean_of, law, play};
use crate::{agree, printed};

fn ask(queue: &str, gaps: &str, service: &str, sizes_s: &[f64]) -> Answer {
    let (gaps, service) = (law(gaps), law(service));
    let question = Question { gaps: &gaps, service: &service, sizes_s, all: false, means_only: false };
    Queue::parse(queue).unwrap().answer_to(&question).unwrap_or_else(|error| panic!("{queue}: {error}"))
}

fn value(answer: &Answer, metric: &str) -> f64 {
    answer.estimate(metric).and_then(Estimate::value).unwrap_or_else(|| panic!("no {metric}: {answer:?}"))
}

const TWO_SIZES: &str = "mix(0.75: 0.4 s, 0.25: 2.8 s)";

#[test]
fn means_spreads_and_sizes_as_played() {
    // Queue, rule, service; the utilisation is 0.6.
    for (number, (queue, rule, service)) in [
        ("M/G/1", Rule::First, TWO_SIZES),
        ("M/G/1-PS", Rule::Shared, TWO_SIZES),
        ("M/G/1-LAS", Rule::LeastAttained, TWO_SIZES),
        ("M/G/1-LCFS", Rule::Last, TWO_SIZES),
        ("M/G/1-LCFS-PR", Rule::LastPreempts, TWO_SIZES),
        ("M/G/1-SIRO", Rule::Random, TWO_SIZES),
        ("M/G/1-LAS", Rule::LeastAttained, "erlang(k = 3, mean = 1 s)"),
        ("M/G/1-LAS", Rule::LeastAttained, "lognormal(mean = 1 s, cv = 1.5)"),
        ("M/M/1-PS", Rule::Shared, "exponential(mean = 1 s)"),
        ("M/M/1-SIRO", Rule::Random, "exponential(mean = 1 s)"),
        ("M/M/1-LCFS-PR", Rule::LastPreempts, "exponential(mean = 1 s)"),
        ("M/G/1-LPS(3)", Rule::Limited(3), "erlang(k = 2, mean = 1 s)"),
        ("M/G/1-LPS(2)", Rule::Limited(2), "mix(0.9: exponential(mean = 0.5 s), 0.1: erlang(k = 2, mean = 5.5 s))"),
    ]
    .into_iter()
    .enumerate()
    {
        let gaps = "exponential(rate = 0.6 /s)";
        let sizes = if service == TWO_SIZES { &[0.4, 2.8][..] } else { &[] };
        let answer = ask(queue, gaps, service, sizes);
        let jobs = drawn(400_000, gaps, service, number as u64);
        let mut stream = Stream::new(number as u64, "naive", "choice");
        let served = play(rule, usize::MAX, &jobs, &mut stream);
        let series =
            |of: &dyn Fn(f64, f64) -> f64| served.iter().map(|job| of(job.wait, job.response)).collect::<Vec<_>>();
        let response = value(&answer, "response_time_mean");
        assert!(matches!(answer.estimate("response_time_mean"), Some(Estimate::Exact { .. })), "{queue} {service}");
        is_mean_of(response, &series(&|_, response| response), 0.2, &format!("{queue} {service}"));
        let waiting = value(&answer, "waiting_time_mean");
        if waiting == 0.0 {
            assert!(served.iter().all(|job| job.wait == 0.0));
        } else {
            is_mean_of(waiting, &series(&|wait, _| wait), 0.3, &format!("{queue} {service}: wait"));
        }
        let delayed = value(&answer, "delay_probability");
        let late = series(&|wait, _| f64::from(u8::from(wait > 0.0)));
        is_mean_of(delayed, &late, 0.15, &format!("{queue} {service}: delayed"));
        if let Some(std) = answer.estimate("response_time_std").and_then(Estimate::value) {
            let squares = series(&|_, response| response * response);
            is_mean_of(std * std + response * response, &squares, 0.4, &format!("{queue} {service}: squares"));
        } else {
            assert!(["LAS", "LPS"].iter().any(|name| queue.contains(name)), "{queue}: no spread");
        }
        for &size in sizes {
            let of_size = served.iter().filter(|job| job.size == size).map(|job| job.response).collect::<Vec<_>>();
            let wanted = value(&answer, &format!("response_time_mean_at_{size}s"));
            is_mean_of(wanted, &of_size, 0.2, &format!("{queue} at {size} s"));
        }
    }
}

/// Under PS a job takes in proportion to its size, in order its size and the wait of all, whatever the mean service is; with
/// room for some too.
#[test]
fn the_mean_by_size_is_in_proportion_or_a_wait_and_the_size() {
    for (queue, service, is_shared) in [
        ("M/M/1", "exponential(mean = 250 ms)", false),
        ("M/G/1", "erlang(k = 2, mean = 250 ms)", false),
        ("M/M/1/5", "exponential(mean = 250 ms)", false),
        ("M/M/1-PS", "exponential(mean = 250 ms)", true),
        ("M/M/2-PS", "exponential(mean = 250 ms)", true),
        ("M/G/1-PS", "erlang(k = 2, mean = 250 ms)", true),
        ("M/G/1/5-PS", "erlang(k = 2, mean = 250 ms)", true),
        ("M/G/2/5-PS", "0.25 s", true),
        ("M/M/1-LCFS-PR", "exponential(mean = 250 ms)", true),
    ] {
        let answer = ask(queue, "exponential(rate = 3 /s)", service, &[0.1, 2.0]);
        let (response, waiting) = (value(&answer, "response_time_mean"), value(&answer, "waiting_time_mean"));
        for size in [0.1, 2.0] {
            let wanted = if is_shared { size * response / 0.25 } else { size + waiting };
            agree(value(&answer, &format!("response_time_mean_at_{size}s")), wanted, 1e-9);
        }
    }
    // Alone and without limit: 0.1 s at a utilisation of 3/4.
    let alone = ask("M/M/1-PS", "exponential(rate = 3 /s)", "exponential(mean = 250 ms)", &[0.1]);
    agree(value(&alone, "response_time_mean_at_0.1s"), 0.4, 1e-9);
}

/// A job that interrupts all others stays for a busy period: the square of the time is E[S^2]/(1 - rho)^3 (Takagi 1991). Who
/// serves in turns does not start each job at once, nor says how long it waits.
#[test]
fn a_job_that_interrupts_stays_for_a_busy_period() {
    for (service, second) in [("exponential(mean = 1 s)", 2.0), ("1 s", 1.0), ("erlang(k = 2, mean = 1 s)", 1.5)] {
        let answer = ask("M/G/1-LCFS-PR", "exponential(rate = 0.6 /s)", service, &[]);
        agree(value(&answer, "response_time_mean"), 2.5, 1e-12);
        agree(value(&answer, "response_time_std").powi(2), second / 0.4f64.powi(3) - 6.25, 1e-9);
    }
    let turns = ask("M/M/1-RR(10 ms)", "exponential(rate = 0.6 /s)", "exponential(mean = 1 s)", &[]);
    agree(value(&turns, "response_time_mean"), 2.5, 1e-12);
    for metric in ["waiting_time_mean", "delay_probability", "response_time_std", "response_time_p50"] {
        assert!(turns.estimate(metric).is_none(), "{metric}");
    }
}

/// The law of the response time under LCFS with preemption, by the share of jobs above its own quantiles.
#[test]
fn busy_periods_as_played() {
    for (number, service) in
        ["1 s", "erlang(k = 3, mean = 1 s)", "hyperexponential(mean = 1 s, cv = 2)"].into_iter().enumerate()
    {
        let gaps = "exponential(rate = 0.6 /s)";
        let jobs = drawn(400_000, gaps, service, 100 + number as u64);
        let served = play(Rule::LastPreempts, usize::MAX, &jobs, &mut Stream::new(7, "naive", "choice"));
        let period = BusyPeriod::new(0.6, &law(service)).unwrap();
        let answer = ask("M/G/1-LCFS-PR", gaps, service, &[]);
        for (p, name) in [(0.5, "p50"), (0.9, "p90"), (0.99, "p99")] {
            let quantile = period.quantile(p);
            agree(value(&answer, &format!("response_time_{name}")), quantile, 1e-12);
            // Constant services end together; half a service on, none does.
            let at = if number == 0 { quantile + 0.5 } else { quantile };
            let above: Vec<f64> = served.iter().map(|job| f64::from(u8::from(job.response > at))).collect();
            is_mean_of(period.tail(at), &above, 0.4, &format!("{service} at {name}"));
        }
    }
    assert!(BusyPeriod::new(1.0, &law("1 s")).is_none());
    assert!(BusyPeriod::new(0.5, &law("lognormal(mean = 1 s, cv = 1)")).is_none());
}

/// The law of the response time where those that wait are served last come first or at random, or all share, likewise.
#[test]
fn orders_and_sharing_as_played() {
    let gaps = "exponential(rate = 0.5 /s)";
    let exponential = "exponential(mean = 1 s)";
    for (queue, rule, service) in [
        ("M/M/1-LCFS", Rule::Last, exponential),
        ("M/M/1-SIRO", Rule::Random, exponential),
        ("M/G/1-PS", Rule::Shared, "hyperexponential(mean = 1 s, cv = 2)"),
        ("M/G/1-PS", Rule::Shared, "mix(0.7: erlang(k = 4, mean = 0.4 s), 0.3: erlang(k = 2, mean = 2.4 s))"),
    ] {
        let served =
            play(rule, usize::MAX, &drawn(400_000, gaps, service, 200), &mut Stream::new(8, "naive", "choice"));
        let answer = ask(queue, gaps, service, &[]);
        for (metric, share) in [("response_time_p50", 0.5), ("response_time_p90", 0.1), ("response_time_p99", 0.01)] {
            let quantile = value(&answer, metric);
            let above: Vec<f64> = served.iter().map(|job| f64::from(u8::from(job.response > quantile))).collect();
            is_mean_of(share, &above, 0.4, &format!("{queue}: {metric}"));
        }
    }
    for queue in ["M/G/1-LCFS", "M/G/1-SIRO", "M/G/1-PS"] {
        assert!(ask(queue, gaps, TWO_SIZES, &[]).estimate("response_time_p99").is_none(), "{queue}");
    }
}

#[test]
fn random_and_last_in_closed_form() {
    // M/M/1: E[W^2] = 2 rho / (1-rho)^2 in order, 4 rho / ((2-rho) (1-rho)^2) at random, 2 rho / (1-rho)^3 last first.
    for rho in [0.1, 0.5, 0.9f64] {
        let second = |next| mg1_order::waiting_time_second_moment(next, rho, [1.0, 2.0, 6.0]);
        agree(second(Order::Fcfs), 2.0 * rho / (1.0 - rho).powi(2), 1e-12);
        agree(second(Order::Siro), 4.0 * rho / ((2.0 - rho) * (1.0 - rho).powi(2)), 1e-12);
        agree(second(Order::Lcfs), 2.0 * rho / (1.0 - rho).powi(3), 1e-12);
    }
    assert_eq!(mg1_order::waiting_time_second_moment(Order::Fcfs, 1.0, [1.0, 2.0, 6.0]), f64::INFINITY);
    assert_eq!(mg1_order::waiting_time_second_moment(Order::Fcfs, 0.5, [1.0, 2.0, f64::INFINITY]), f64::INFINITY);
    // The busy period's density is e^(-(1+rho)t) I1(2 t sqrt rho) / (t sqrt rho); its tail at 1 by 200,000 steps.
    let rho: f64 = 0.5;
    let density = |t: f64| {
        let (half, mut term, mut bessel) = (t * rho.sqrt(), 1.0, 0.0);
        for k in 0..60 {
            term = if k == 0 { half } else { term * half * half / f64::from(k * (k + 1)) };
            bessel += term;
        }
        (-(1.0 + rho) * t).exp() * bessel / (t * rho.sqrt())
    };
    let steps = 200_000;
    let below: f64 = (0..steps).map(|k| density((f64::from(k) + 0.5) / f64::from(steps)) / f64::from(steps)).sum();
    let period = BusyPeriod::new(rho, &law("exponential(mean = 1 s)")).unwrap();
    agree(period.tail(1.0), 1.0 - below, 1e-6);
    agree(period.tail(period.quantile(0.5)), 0.5, 1e-8);
}

#[test]
fn least_attained_service() {
    for rho in [0.2, 0.8, 0.95] {
        // Exponential service does not mind which job is served.
        agree(las::response_time_mean(rho, &law("exponential(mean = 1 s)")), mm1::response_time_mean(rho, 1.0), 1e-8);
        // Jobs of one size: the last of a busy period's jobs all end together.
        let alone = rho / (2.0 * (1.0 - rho).powi(2)) + 1.0 / (1.0 - rho);
        agree(las::response_time_mean(rho, &law("1 s")), alone, 1e-12);
        // Of two sizes by hand: the mean over both of what a job of each takes.
        let two = law(TWO_SIZES);
        let by_size = |x| las::response_time_mean_of(x, rho, &two);
        agree(las::response_time_mean(rho, &two), 0.75 * by_size(0.4) + 0.25 * by_size(2.8), 1e-7);
    }
    // A service without a variance has a mean under it, and a large one has too.
    let heavy = las::response_time_mean(0.5, &law("pareto(alpha = 1.5, mean = 1 s)"));
    assert!((1.0..2.0).contains(&heavy), "{heavy}");
    assert_eq!(las::response_time_mean(1.0, &law("1 s")), f64::INFINITY);
    // Small jobs gain: Pareto sizes at the load of Bjornstad (2006, chapter 6), 0.95 of a server, 0.09 s each. The
    // wanted are integrals of the response time by size over 200,000 strata of ln x; sharing takes 1.8 s whatever the
    // index.
    for (alpha, wanted) in [(2.01, "0.91747"), (2.2, "1.07295"), (2.4, "1.24040"), (2.6, "1.40955")] {
        let pareto = law(&format!("pareto(alpha = {alpha}, mean = 0.09 s)"));
        printed(las::response_time_mean(0.95 / 0.09, &pareto), wanted);
    }
}

#[test]
fn priorities_as_played() {
    let classes = [(0.2, "1 s"), (0.3, "exponential(mean = 0.6 s)"), (0.1, "hyperexponential(mean = 2 s, cv = 2)")];
    let mut arrivals = Stream::new(7, "classes", "gaps");
    let mut sizes = Stream::new(7, "classes", "sizes");
    let gap = law("exponential(rate = 0.6 /s)");
    let laws = classes.map(|(_, service)| law(service));
    let jobs: Vec<(f64, f64, usize)> = (0..600_000)
        .map(|_| {
            let draw = 0.6 * sizes.uniform();
            let class = if draw < 0.2 {
                0
            } else if draw < 0.5 {
                1
            } else {
                2
            };
            (gap.sample(&mut arrivals), laws[class].sample(&mut sizes), class)
        })
        .collect();
    let asked = classes.map(|(rate, service)| queue::Class {
        name: format!("{rate}"),
        gaps: law(&format!("exponential(rate = {rate} /s)")),
        service: law(service),
    });
    for (queue, rule) in [("M/G/1-PRIO", Rule::Urgent), ("M/G/1-PRIO-PR", Rule::UrgentPreempts)] {
        let answer = Queue::parse(queue).unwrap().answer_classes(&asked).unwrap();
        let served = play(rule, usize::MAX, &jobs, &mut sizes);
        for (number, (rate, _)) in classes.iter().enumerate() {
            let of = |of: &dyn Fn(f64, f64) -> f64| {
                served
                    .iter()
                    .filter(|job| job.class == number)
                    .map(|job| of(job.wait, job.response))
                    .collect::<Vec<_>>()
            };
            let wanted = |metric: &str| value(&answer, &format!("{metric}_{rate}"));
            is_mean_of(wanted("response_time_mean"), &of(&|_, response| response), 0.25, &format!("{queue} {number}"));
            let wait = wanted("waiting_time_mean");
            is_mean_of(wait, &of(&|wait, _| wait), 0.3, &format!("{queue} {number}: wait"));
        }
        let all: Vec<f64> = served.iter().map(|job| job.response).collect();
        is_mean_of(value(&answer, "response_time_mean"), &all, 0.2, queue);
        agree(value(&answer, "utilization"), 0.58, 1e-12);
    }
}

#[test]
fn priorities_keep_what_is_known() {
    let class =
        |arrival_rate, service_second_moment_s2| Class { arrival_rate, service_mean_s: 1.0, service_second_moment_s2 };
    // One class is M/G/1, by either rule; two of the same service wait as long as one, weighted by their rates.
    for times in [priority::non_preemptive(&[class(0.8, 5.0)]), priority::preemptive_resume(&[class(0.8, 5.0)])] {
        agree(times[0].response_time_mean_s, 11.0, 1e-12);
    }
    let two = priority::non_preemptive(&[class(0.3, 5.0), class(0.5, 5.0)]);
    agree((0.3 * two[0].waiting_time_mean_s + 0.5 * two[1].waiting_time_mean_s) / 0.8, 10.0, 1e-12);
    let servers = priority::non_preemptive_servers(3, &[0.5, 1.5], 1.0);
    let conserved = (0.5 * servers[0].waiting_time_mean_s + 1.5 * servers[1].waiting_time_mean_s) / 2.0;
    printed(conserved, "0.4444");
    // Too much in all: the urgent are served nevertheless.
    let over = priority::preemptive_resume(&[class(0.5, 2.0), class(0.7, 2.0)]);
    agree(over[0].response_time_mean_s, 2.0, 1e-12);
    assert_eq!(over[1].response_time_mean_s, f64::INFINITY);
    // Another job is always in service then, for one second on average.
    let over = priority::non_preemptive(&[class(0.5, 2.0), class(0.7, 2.0)]);
    agree(over[0].waiting_time_mean_s, 1.0 / 0.5, 1e-12);
    assert_eq!(over[1].response_time_mean_s, f64::INFINITY);
}

#[test]
fn what_is_not_known_is_refused_by_name() {
    let poisson = "exponential(rate = 0.5 /s)";
    for (queue, gaps, service, says) in [
        ("M/G/2-LAS", poisson, "lognormal(mean = 1 s, cv = 2)", "several cores"),
        ("G/G/1-LAS", "1 s", "erlang(k = 2, mean = 0.5 s)", "unless arrivals are Poisson"),
        ("G/G/1-LCFS-PR", "1 s", "erlang(k = 2, mean = 0.5 s)", "LCFS with preemption"),
        ("M/G/1-RR(1 s)", poisson, "erlang(k = 2, mean = 1 s)", "no formula for a quantum of 1 of the mean service"),
        ("M/G/1-PRIO", poisson, "1 s", "give each of them"),
        ("M/G/1/5-LAS", poisson, "1 s", "no formula for a limited room under LAS"),
        ("M/G/1//5-LAS", poisson, "1 s", "no formula for a population under this discipline"),
        ("M/G/1//5", poisson, "1 s", "unless service is exponential or always shared"),
        ("D/M/1/2/5", "1 s", "exponential(mean = 1 s)", "unless the time away is exponential"),
    ] {
        let error = Queue::parse(queue).unwrap().answer(&law(gaps), &law(service)).expect_err(queue).to_string();
        assert!(error.contains(says) && error.contains(queue) && !error.contains('\n'), "{queue}: {error}");
    }
    let class = |gaps: &str| queue::Class { name: "gold".into(), gaps: law(gaps), service: law("1 s") };
    let refused = |queue: &str, class| Queue::parse(queue).unwrap().answer_classes(&[class]).unwrap_err().to_string();
    assert!(refused("M/G/1", class(poisson)).contains("only -PRIO and -PRIO-PR serve by class"));
    assert!(refused("GI/G/1-PRIO", class("2 s")).contains("those of gold are not"));
    assert!(refused("M/G/2-PRIO", class(poisson)).contains("one exponential service"));
    let busy = "exponential(rate = 1.5 /s)";
    assert!(refused("M/G/1-PRIO", class(busy)).contains("no class has a mean response time"));
    let both = [class(poisson), class(poisson)];
    let error = Queue::parse("M/G/1-PRIO").unwrap().answer_classes(&both).unwrap_err().to_string();
    assert!(error.starts_with("class 2 is called `gold`: every class needs a name of its own"), "{error}");
    assert!(Queue::parse("M/M/2-PRIO").unwrap().answer_classes(&[]).is_err());
}

#[test]
fn disciplines_that_do_not_matter() {
    // Exponential service: any order and any sharing has the same mean.
    for queue in ["M/M/1", "M/M/1-PS", "M/M/1-LPS(3)", "M/M/1-LAS", "M/M/1-LCFS", "M/M/1-LCFS-PR", "M/M/1-SIRO"] {
        let answer = ask(queue, "exponential(rate = 0.8 /s)", "exponential(mean = 1 s)", &[]);
        agree(value(&answer, "response_time_mean"), 5.0, 1e-8);
    }
    for queue in ["GI/M/1", "GI/M/1-PS", "GI/M/1-LAS", "GI/M/1-LCFS", "GI/M/1-LCFS-PR", "GI/M/1-SIRO", "GI/M/1-RR(1 s)"]
    {
        let answer = ask(queue, "erlang(k = 2, rate = 0.8 /s)", "exponential(mean = 1 s)", &[]);
        printed(value(&answer, "response_time_mean"), "3.843980");
    }
    let small = ask("M/G/1-RR(10 ms)", "exponential(rate = 0.8 /s)", "1 s", &[]);
    assert_eq!(small.estimate("response_time_mean"), Some(&Estimate::Approximate { value: 5.000000000000001 }));
}
