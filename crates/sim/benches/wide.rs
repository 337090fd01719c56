//! How fast are replications without an event list? Requests per second on one core, beside loops written by hand for just that
//! model (same generator and laws, same histogram).
//!
//! `cargo bench --profile dev -p sojourn-sim --bench wide [-- REQUESTS]`

use std::collections::VecDeque;
use std::hint::black_box;

use sojourn_model::system::{Face, Tier};
use sojourn_model::{Server, System};
use sojourn_sim::{Control, WarmUp, needs_events};
use sojourn_stats::ziggurat::exponential;
use sojourn_stats::{Histogram, Law, Span, Stream};
use sojourn_traffic::{Arrivals, Open, Sizes, Workload};

const ROUNDS: usize = 40;

#[allow(clippy::print_stdout, reason = "a bench answers on the terminal")]
fn main() {
    let requests = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(4_000_000);
    let single = scenario("fcfs", None, 1);
    let four = |policy| scenario("fcfs", Some(policy), 4);
    let [random, turns, least, two] =
        ["random", "round-robin", "least-connections", "power-of-d"].map(|policy| four(policy));
    let rates = best(
        requests,
        &[
            &|n| lindley(n),
            &|n| simulate(&single, n, false),
            &|n| simulate(&random, n, false),
            &|n| simulate(&turns, n, false),
            &|n| least_connections_by_hand(n, false),
            &|n| simulate(&least, n, false),
            &|n| least_connections_by_hand(n, true),
            &|n| simulate(&two, n, false),
            &|n| simulate(&single, n, true),
            &|n| simulate(&random, n, true),
            &|n| simulate(&least, n, true),
        ],
    );
    let names = [
        "lindley by hand",
        "single",
        "random",
        "round robin",
        "least by hand",
        "least",
        "two by hand",
        "two",
        "events single",
        "events random",
        "events least",
    ];
    names
        .iter()
        .zip(&rates)
        .for_each(|(name, rate)| println!("{name:<30}{:>8.2} M/s {:.2}", rate / 1e6, rate / rates[0]));
}

/// Requests per second of each side in its best round. The sides take turns.
#[allow(clippy::disallowed_methods, reason = "a bench reads the clock")]
fn best(requests: u64, sides: &[&dyn Fn(u64)]) -> Vec<f64> {
    let mut best_s = vec![f64::INFINITY; sides.len()];
    for _ in 0..ROUNDS {
        for (side, best_s) in sides.iter().zip(&mut best_s) {
            let start = std::time::Instant::now();
            side(requests);
            *best_s = start.elapsed().as_secs_f64().min(*best_s);
        }
    }
    best_s.iter().map(|best_s| requests as f64 / best_s).collect()
}

fn scenario(discipline: &str, policy: Option<&str>, servers: usize) -> (System, Workload) {
    let server = Server::from_toml(&format!("discipline = \"{discipline}\"\ndemand = \"exponential(mean = 1 ms)\""));
    let server = server.expect("a server model");
    let arrivals = Arrivals::parse(&format!("exponential(rate = {} /s)", 800 * servers)).expect("arrivals");
    let sizes = Sizes::Law(Law::constant(1000.0));
    let workload = Workload::Open(Open { arrivals, clients: 1, sizes, patience: None });
    let system = match policy {
        None => System::single(server),
        Some(policy) => System::balanced(Tier::new(Face::Gateway, policy), vec![server; servers]),
    };
    (system, workload)
}

fn simulate((system, workload): &(System, Workload), requests: u64, events: bool) {
    let control = Control {
        warm_up: WarmUp::Fixed(Span::ZERO),
        precision: None,
        max_jobs: requests,
        replications: 8,
        events,
        ..Control::default()
    };
    assert_eq!(needs_events(system, workload, &control).is_some(), events);
    black_box(sojourn_sim::run(system, workload, &control, &|_| {}).expect("a sound system"));
}

/// Lindley 1952: the next wait is the last one plus the service less the gap, if that is above 0.
fn lindley(requests: u64) {
    let mut gaps = Stream::new(1, "source", "arrivals");
    let mut works = Stream::new(1, "source", "demands");
    let mut histogram = Histogram::new();
    let mut wait = 0u64;
    for _ in 0..requests {
        let response = wait + Span::from_secs_f64(1e-3 * exponential(&mut works)).0;
        histogram.record(response);
        wait = response.saturating_sub(Span::from_secs_f64(1.25e-3 * exponential(&mut gaps)).0);
    }
    black_box(histogram);
}

/// Four FCFS servers, each request to the one with the fewest, ties at random; of all, or of two that are drawn.
fn least_connections_by_hand(requests: u64, of_two: bool) {
    const SERVERS: usize = 4;
    let mut gaps = Stream::new(1, "source", "arrivals");
    let mut works = Stream::new(1, "source", "demands");
    let mut draws = Stream::new(1, "dispatcher", "ties");
    let mut histogram = Histogram::new();
    let mut queues: [VecDeque<(u64, u64)>; SERVERS] = Default::default();
    let mut next = [u64::MAX; SERVERS];
    let mut comes = Span::from_secs_f64(1.25e-3 / SERVERS as f64 * exponential(&mut gaps)).0;
    while histogram.count() < requests {
        let (mut now, mut server) = (next[0], 0);
        for other in 1..SERVERS {
            if next[other] < now {
                (now, server) = (next[other], other);
            }
        }
        if comes < now {
            let server = if of_two {
                let one = draws.below(SERVERS);
                let mut other = draws.below(SERVERS);
                while other == one {
                    other = draws.below(SERVERS);
                }
                if queues[other].len() < queues[one].len() { other } else { one }
            } else {
                let least = queues.iter().map(VecDeque::len).min().expect("there are servers");
                let tied = queues.iter().filter(|queue| queue.len() == least).count();
                let nth = if tied == 1 { 0 } else { draws.below(tied) };
                (0..SERVERS).filter(|server| queues[*server].len() == least).nth(nth).expect("one of the tied")
            };
            let service = Span::from_secs_f64(1e-3 * exponential(&mut works)).0;
            queues[server].push_back((comes, service));
            if queues[server].len() == 1 {
                next[server] = comes + service;
            }
            comes += Span::from_secs_f64(1.25e-3 / SERVERS as f64 * exponential(&mut gaps)).0;
        } else {
            let (arrived, _) = queues[server].pop_front().expect("a job was served");
            histogram.record(now - arrived);
            next[server] = queues[server].front().map_or(u64::MAX, |(_, service)| now + service);
        }
    }
    black_box(histogram);
}
