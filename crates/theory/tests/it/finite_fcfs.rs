//! Response times where no more than so many are found: against the tagged job followed step by step, and what the
//! chain of all jobs says it finds.

use sojourn_stats::Estimate;
use sojourn_theory::Answer;
use sojourn_theory::formula::markovian::finite_fcfs::FiniteFcfs;
use sojourn_theory::formula::markovian::{mmc, mmck, repairman};
use sojourn_theory::queue::Queue;

use crate::agree;
use crate::chain::Chain;
use crate::naive::law;

/// P(T > t) of a job that finds n with chance `found[n]`, service 1: the chain of its own way out, uniformised.
fn tail_by_steps(found: &[f64], cores: usize, t: f64) -> f64 {
    let rate = cores as f64;
    let mut served: f64 = found.iter().take(cores).sum();
    // By the departures that it still waits for.
    let mut waiting: Vec<f64> = found.iter().skip(cores).copied().collect();
    let (mut tail, mut weight, mut steps) = (0.0, (-rate * t).exp(), 0.0);
    loop {
        tail += weight * (served + waiting.iter().sum::<f64>());
        let first = if waiting.is_empty() { 0.0 } else { waiting.remove(0) };
        served = served * (1.0 - 1.0 / rate) + first;
        steps += 1.0;
        weight *= rate * t / steps;
        if steps > rate * t && weight < 1e-18 {
            return tail;
        }
    }
}

/// What jobs that are let in find: the number inside as a chain, weighted by how many come then.
fn found(room: usize, cores: usize, coming: impl Fn(usize) -> f64) -> Vec<f64> {
    let chain = Chain::explore(0usize, |&n| {
        let mut steps = vec![(n.saturating_sub(1), if n == 0 { 0.0 } else { n.min(cores) as f64 })];
        steps.push((n + 1, if n < room { coming(n) } else { 0.0 }));
        steps
    });
    let p = chain.stationary();
    let weights: Vec<f64> =
        (0..room).map(|n| chain.mean(&p, |&inside| if inside == n { coming(n) } else { 0.0 })).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}

fn holds(law: &FiniteFcfs, found: &[f64], cores: usize, mean_s: f64) {
    for t in [1e-6, 0.3, 1.0, 2.5, 7.0, 20.0] {
        let wanted = tail_by_steps(found, cores, t);
        assert!((law.tail(t) - wanted).abs() < 1e-11, "at {t}: {} is not {wanted}", law.tail(t));
    }
    agree(law.mean_s(), mean_s, 1e-9);
    // Simpson's rule over a tail that has ended by then.
    let (steps, width) = (40_000, 0.005);
    let integral = |of: &dyn Fn(f64) -> f64| {
        let weight = |k: u32| if k == 0 || k == steps { 1.0 } else { 2.0 + 2.0 * f64::from(k % 2) };
        (0..=steps).map(|k| weight(k) * of(f64::from(k) * width)).sum::<f64>() * width / 3.0
    };
    agree(law.std_s().powi(2), integral(&|t| 2.0 * t * law.tail(t)) - mean_s * mean_s, 1e-6);
    for p in [0.1, 0.5, 0.99, 0.999] {
        agree(law.tail(law.quantile(p)), 1.0 - p, 1e-8);
    }
}

#[test]
fn limited_room() {
    for (cores, room, rate) in [(1, 1, 3.0), (1, 5, 0.8), (1, 12, 4.0), (2, 9, 1.9), (4, 4, 2.0), (4, 12, 7.0)] {
        let law = FiniteFcfs::with_room(cores, room, rate, 1.0);
        let found = found(room as usize, cores as usize, |_| rate);
        holds(&law, &found, cores as usize, mmck::solve(cores, room, cores, rate, 1.0).response_time_mean_s);
    }
    // So much room that it is none, and so many cores that e^(-c mu t) is no number.
    for (cores, rate) in [(1, 0.9), (3, 2.0), (50, 45.0), (1000, 980.0)] {
        let law = FiniteFcfs::with_room(cores, cores + 3000, rate, 1.0);
        for p in [0.5, 0.9, 0.99, 0.999] {
            agree(law.quantile(p), mmc::response_time_quantile(p, cores, rate, 1.0), 1e-7);
        }
    }
    assert_eq!(FiniteFcfs::with_room(2, 5, 1.0, 1.0).tail(0.0), 1.0);
}

#[test]
fn populations() {
    for (users, room, away, cores) in
        [(1, 1, 3.0, 1), (12, 12, 20.0, 3), (7, 7, 0.5, 2), (9, 4, 2.0, 1), (9, 5, 2.0, 3)]
    {
        let law = FiniteFcfs::of_population(users, room, away, cores, 1.0);
        let found = found(room as usize, cores as usize, |n| (users as usize - n) as f64 / away);
        let mean_s = repairman::solve_with_room(users, room, away, cores, cores, 1.0).response_time_mean_s;
        holds(&law, &found, cores as usize, mean_s);
    }
    // A user that never stays away finds all others there: five exponential services, one after the other.
    let thoughtless = FiniteFcfs::of_population(5, 5, 0.0, 1, 1.0);
    let erlang = |t: f64| (-t).exp() * (1.0 + t + t * t / 2.0 + t.powi(3) / 6.0 + t.powi(4) / 24.0);
    for t in [0.5, 4.0, 11.0] {
        agree(thoughtless.tail(t), erlang(t), 1e-12);
    }
}

#[test]
fn the_notation_answers_them() {
    let percentile = |queue: &str, away: &str| {
        let answer = Queue::parse(queue).unwrap().answer(&law(away), &law("exponential(mean = 1 s)")).unwrap();
        answer.estimate("response_time_p99").map(|p99| (matches!(p99, Estimate::Exact { .. }), p99.value().unwrap()))
    };
    let (exact, p99) = percentile("M/M/2/9", "exponential(rate = 1.9 /s)").unwrap();
    assert!(exact);
    agree(p99, FiniteFcfs::with_room(2, 9, 1.9, 1.0).quantile(0.99), 1e-12);
    let (exact, p99) = percentile("GI/M/3//12", "lognormal(mean = 20 s, cv = 3)").unwrap();
    assert!(exact);
    agree(p99, FiniteFcfs::of_population(12, 12, 20.0, 3, 1.0).quantile(0.99), 1e-12);
    // What does not matter in the mean matters here.
    for other in ["M/M/2/9-SIRO", "M/M/2/9-LCFS", "M/M/2/9-PS", "M/M/2/9-LPS(3)"] {
        assert_eq!(percentile(other, "exponential(rate = 1.9 /s)"), None, "{other}");
        let service = law("exponential(mean = 1 s)");
        let answer = Queue::parse(other).unwrap().answer(&law("exponential(rate = 1.9 /s)"), &service).unwrap();
        assert!(answer.estimate("response_time_std").is_none(), "{other}: the spread is another than in order");
    }
    for other in ["M/M/2//9-SIRO", "M/M/2//9-PS", "M/M/2//9-LPS(3)"] {
        assert_eq!(percentile(other, "exponential(mean = 3 s)"), None, "{other}");
    }
}

/// Of the jobs that are let in those are delayed that find all places taken; the cores that no helper uses are idle.
#[test]
fn who_is_let_in_and_waits() {
    let value = |answer: &Answer, metric: &str| answer.estimate(metric).and_then(Estimate::value).expect("it is known");
    for (queue, usable, cores, room, places) in [
        ("M/M/1/3", 1, 1, 3, 1),
        ("M/M/2/9", 2, 2, 9, 2),
        ("M/M/2/9-SIRO", 2, 2, 9, 2),
        ("M/M/2/9-LPS(4)", 2, 2, 9, 4),
        ("M/M/3/6-LPS(2)", 2, 3, 6, 2),
        ("M/M/2/9-PS", 2, 2, 9, 9),
        ("M/M/4/4", 4, 4, 4, 4),
    ] {
        let rate = 1.9;
        let answer = Queue::parse(queue).unwrap();
        let answer = answer.answer(&law("exponential(rate = 1.9 /s)"), &law("exponential(mean = 1 s)")).unwrap();
        let found = found(room, usable, |_| rate);
        let delayed: f64 = found[places.min(room)..].iter().sum();
        let close = |metric: &str, wanted: f64| {
            let got = value(&answer, metric);
            assert!((got - wanted).abs() < 1e-9, "{queue}: {metric} is {got}, not {wanted}");
        };
        close("delay_probability", delayed);
        // Little's law of those that wait: n - places in front of the next, each as long as the places need.
        let waiting: f64 = (places..room).map(|n| found[n] * (n + 1 - places) as f64 / usable as f64).sum();
        close("waiting_time_mean", waiting);
        close("utilization", value(&answer, "throughput") / cores as f64);
        close("throughput", rate * (1.0 - value(&answer, "error_ratio")));
    }
}

/// The same where a service has two stages: by the chain of jobs inside and stages left.
#[test]
fn who_is_let_in_and_waits_for_services_of_two_stages() {
    let (rate, room) = (0.8, 4usize);
    let chain = Chain::explore((0usize, 0usize), |&(n, left)| {
        let more = if n == room { 0.0 } else { rate };
        let next = match (n, left) {
            (0, _) => ((0, 0), 0.0),
            (_, 2) => ((n, 1), 2.0),
            (1, _) => ((0, 0), 2.0),
            _ => ((n - 1, 2), 2.0),
        };
        vec![((n + 1, if n == 0 { 2 } else { left }), more), next]
    });
    let p = chain.stationary();
    let share = |of: &dyn Fn(usize) -> bool| chain.mean(&p, |&(n, _)| f64::from(u8::from(of(n))));
    let queue = Queue::parse("M/E2/1/4").unwrap();
    let answer = queue.answer(&law("exponential(rate = 0.8 /s)"), &law("erlang(k = 2, mean = 1 s)")).unwrap();
    let value = |metric: &str| answer.estimate(metric).and_then(Estimate::value).expect("it is known");
    agree(value("error_ratio"), share(&|n| n == room), 1e-9);
    agree(value("delay_probability"), share(&|n| n > 0 && n < room) / share(&|n| n < room), 1e-9);
    let inside = chain.mean(&p, |&(n, _)| n as f64);
    agree(value("response_time_mean"), inside / (rate * share(&|n| n < room)), 1e-9);
}
