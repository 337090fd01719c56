//! How fast is the simulator? Requests per second and core, through the public entry point with its assertions on,
//! beside loops written by hand for just that model (same generator, same laws, same histogram).
//!
//! `cargo bench --profile dev -p sojourn-sim [-- REQUESTS]`

use std::collections::{BinaryHeap, VecDeque};
use std::hint::black_box;

use sojourn_model::system::{Face, Tier};
use sojourn_model::{Server, System};
use sojourn_sim::{Control, WarmUp};
use sojourn_stats::{Dimension, Histogram, Law, Span, Stream};
use sojourn_traffic::{Arrivals, Closed, Open, Sizes, Workload};

const ROUNDS: usize = 5;
const EXPONENTIAL: &str = "exponential(mean = 1 ms)";

#[allow(clippy::print_stdout, reason = "a bench answers on the terminal")]
fn main() {
    let requests = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(2_000_000);
    let row = |name: &str, rate: f64, beside: f64| println!("{name:<52}{:>8.2} M/s{:>8.2}", rate / 1e6, rate / beside);

    println!("{:<52}{:>12}{:>8}", "model, utilisation 0.8", "requests", "ratio");
    let by_hand = best(requests, mm1_by_hand);
    let lindley = best(requests, lindley);
    row("M/M/1 FCFS: heap loop by hand", by_hand, by_hand);
    row("M/M/1 FCFS: Lindley's recursion", lindley, by_hand);
    let fcfs = format!("discipline = \"fcfs\"\ndemand = \"{EXPONENTIAL}\"");
    row("M/M/1 FCFS: sim", best(requests, |n| simulate(&single(&fcfs, 0.8), n)), by_hand);
    let ps = format!("discipline = \"ps\"\ndemand = \"{EXPONENTIAL}\"");
    row("M/M/1 PS: sim", best(requests, |n| simulate(&single(&ps, 0.8), n)), by_hand);

    let by_hand = best(requests, least_connections_by_hand);
    row("4 servers, least connections: heap loop by hand", by_hand, by_hand);
    let cluster = |policy, servers| scenario(&fcfs, 0.8, Some(policy), servers);
    row(
        "4 servers, least connections: sim",
        best(requests, |n| simulate(&cluster("least-connections", 4), n)),
        by_hand,
    );

    // 110 users who never think: always 100 jobs share, and 10 wait.
    let lps = Server::from_toml(&format!("discipline = \"limited-ps\"\nhelpers = 100\ndemand = \"{EXPONENTIAL}\""));
    let users = Closed { users: 110, think: Law::constant(0.0), sizes: sizes(), patience: None };
    let lps = (System::single(lps.expect("a server model")), Workload::Closed(users));
    println!("{:<52}{:>8.2} M/s", "limited PS, 100 jobs share: sim", best(requests, |n| simulate(&lps, n)) / 1e6);

    println!("{:<52}{:>12}{:>8}", "10,000 servers against 4", "requests", "cost");
    // Windows as long as a service: in longer ones all go to the server that was best once, and what is timed is a queue
    // of millions of requests there.
    for policy in
        ["round-robin", "random", "least-connections", "round-trip(window = 1 ms)", "transmitted-size(window = 1 ms)"]
    {
        let [few, many] = [4, 10_000].map(|servers| best(requests, |n| simulate(&cluster(policy, servers), n)));
        println!("{policy:<52}{:>8.2} M/s{:>8.2}", many / 1e6, few / many);
    }
}

/// Requests per second in the best of some rounds: what disturbs a round only ever slows it down.
#[allow(clippy::disallowed_methods, reason = "a bench reads the clock")]
fn best(requests: u64, simulate: impl Fn(u64)) -> f64 {
    let time_s = |_| {
        let start = std::time::Instant::now();
        simulate(requests);
        start.elapsed().as_secs_f64()
    };
    requests as f64 / (0..ROUNDS).map(time_s).fold(f64::INFINITY, f64::min)
}

fn single(server: &str, utilization: f64) -> (System, Workload) {
    scenario(server, utilization, None, 1)
}

fn scenario(server: &str, utilization: f64, policy: Option<&str>, servers: usize) -> (System, Workload) {
    let server = Server::from_toml(server).expect("a server model");
    let arrivals = format!("exponential(rate = {} /s)", utilization * 1000.0 * servers as f64);
    let arrivals = Arrivals::parse(&arrivals).expect("arrivals");
    let workload = Workload::Open(Open { arrivals, clients: 1, sizes: sizes(), patience: None });
    let system = match policy {
        None => System::single(server),
        Some(policy) => System::balanced(Tier::new(Face::Gateway, policy), vec![server; servers]),
    };
    (system, workload)
}

fn sizes() -> Sizes {
    Sizes::Law(Law::constant(1000.0))
}

/// Two replications on one thread.
fn simulate((system, workload): &(System, Workload), requests: u64) {
    let control = Control {
        warm_up: WarmUp::Fixed(Span::ZERO),
        precision: None,
        max_jobs: requests,
        replications: 2,
        ..Control::default()
    };
    black_box(sojourn_sim::run(system, workload, &control, &|_| {}).expect("a sound system"));
}

fn exponential(mean_ms: f64) -> Law {
    Law::parse(&format!("exponential(mean = {mean_ms} ms)"), Dimension::Time).expect("a law")
}

/// (time, class, server), earliest first.
type Event = std::cmp::Reverse<(u64, u8, usize)>;

/// M/M/1 FCFS: an event list, a queue of arrival instants, a histogram.
fn mm1_by_hand(requests: u64) {
    let (gap, work) = (exponential(1.25), exponential(1.0));
    let mut gaps = Stream::new(1, "source", "arrivals");
    let mut works = Stream::new(1, "source", "demands");
    let mut draw =
        |law: &Law, which: bool| Span::from_secs_f64(law.sample(if which { &mut gaps } else { &mut works })).0;
    let mut histogram = Histogram::new();
    let mut queue: VecDeque<(u64, u64)> = VecDeque::new();
    let mut events: BinaryHeap<Event> = BinaryHeap::new();
    events.push(std::cmp::Reverse((draw(&gap, true), 1, 0)));
    while histogram.count() < requests {
        let std::cmp::Reverse((now, class, _)) = events.pop().expect("there is always an arrival");
        if class == 1 {
            let service = draw(&work, false);
            queue.push_back((now, service));
            if queue.len() == 1 {
                events.push(std::cmp::Reverse((now + service, 0, 0)));
            }
            events.push(std::cmp::Reverse((now + draw(&gap, true), 1, 0)));
        } else {
            let (arrived, _) = queue.pop_front().expect("a job was served");
            histogram.record(now - arrived);
            if let Some((_, service)) = queue.front() {
                events.push(std::cmp::Reverse((now + service, 0, 0)));
            }
        }
    }
    black_box(histogram);
}

/// Lindley 1952: the next wait is the last one plus the service less the gap, if that is above 0.
fn lindley(requests: u64) {
    let (gap, work) = (exponential(1.25), exponential(1.0));
    let mut gaps = Stream::new(1, "source", "arrivals");
    let mut works = Stream::new(1, "source", "demands");
    let mut histogram = Histogram::new();
    let mut wait = 0u64;
    for _ in 0..requests {
        let response = wait + Span::from_secs_f64(work.sample(&mut works)).0;
        histogram.record(response);
        wait = response.saturating_sub(Span::from_secs_f64(gap.sample(&mut gaps)).0);
    }
    black_box(histogram);
}

/// Four FCFS servers, each request to the one with the fewest, ties at random.
fn least_connections_by_hand(requests: u64) {
    const SERVERS: usize = 4;
    let (gap, work) = (exponential(1.25 / SERVERS as f64), exponential(1.0));
    let mut gaps = Stream::new(1, "source", "arrivals");
    let mut works = Stream::new(1, "source", "demands");
    let mut ties = Stream::new(1, "dispatcher", "ties");
    let mut histogram = Histogram::new();
    let mut queues: [VecDeque<(u64, u64)>; SERVERS] = Default::default();
    let mut events: BinaryHeap<Event> = BinaryHeap::new();
    events.push(std::cmp::Reverse((Span::from_secs_f64(gap.sample(&mut gaps)).0, 1, 0)));
    while histogram.count() < requests {
        let std::cmp::Reverse((now, class, server)) = events.pop().expect("there is always an arrival");
        if class == 1 {
            let least = queues.iter().map(VecDeque::len).min().expect("there are servers");
            let tied = queues.iter().filter(|queue| queue.len() == least).count();
            let nth = if tied == 1 { 0 } else { ties.below(tied) };
            let mut among = (0..SERVERS).filter(|server| queues[*server].len() == least);
            let server = among.nth(nth).expect("one of the tied");
            let service = Span::from_secs_f64(work.sample(&mut works)).0;
            queues[server].push_back((now, service));
            if least == 0 {
                events.push(std::cmp::Reverse((now + service, 0, server)));
            }
            events.push(std::cmp::Reverse((now + Span::from_secs_f64(gap.sample(&mut gaps)).0, 1, 0)));
        } else {
            let (arrived, _) = queues[server].pop_front().expect("a job was served");
            histogram.record(now - arrived);
            if let Some((_, service)) = queues[server].front() {
                events.push(std::cmp::Reverse((now + service, 0, server)));
            }
        }
    }
    black_box(histogram);
}
