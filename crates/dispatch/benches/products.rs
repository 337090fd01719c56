//! What does a rule of a product cost beside the policy that it refines? A choice and the end of a request among 1,000
//! backends with three in flight at each. The bars: 1.5 times the other (draws on a ring have no such peer), and 1 us
//! for a choice and its end.
//!
//! `cargo bench --profile dev -p sojourn-dispatch --bench products`

use std::hint::black_box;
use std::time::Instant;

use sojourn_dispatch::{Dispatcher, Event, Information, Origin, Request, Signals};
use sojourn_stats::{Span, Stream, Time};

const BACKENDS: usize = 1_000;
const REQUESTS: usize = 5_000;
const ROUNDS: usize = 60;
/// Seconds for one choice and its end at most.
const MOST: f64 = 1e-6;
/// At most so many times the policy that it refines.
const RATIO: f64 = 1.5;

const EVEN: [f64; 4] = [1.0, 1.0, 1.0, 1.0];
const UNEVEN: [f64; 4] = [1.0, 2.0, 3.0, 5.0];
/// 16,000 points on a ring.
const SIXTEEN: [f64; 4] = [1.0, 1.0, 1.0, 1.0];

/// Rule, weights, and what it refines.
const RULES: [(&str, [f64; 4], Option<&str>); 19] = [
    ("haproxy(2.6, leastconn)", EVEN, Some("weighted-least-connections")),
    ("haproxy(2.6, leastconn)", UNEVEN, Some("weighted-least-connections")),
    ("haproxy(3.2, leastconn)", UNEVEN, Some("weighted-least-connections")),
    ("haproxy(2.6, roundrobin)", UNEVEN, Some("weighted-round-robin")),
    ("haproxy(2.6, first)", EVEN, Some("round-robin")),
    ("haproxy(2.6, random(2))", SIXTEEN, None),
    ("haproxy(2.6, uri)", EVEN, Some("path-hash(points = 16)")),
    ("nginx(round-robin)", UNEVEN, Some("weighted-round-robin")),
    ("nginx(least_conn)", EVEN, Some("weighted-least-connections")),
    ("nginx(least_conn)", UNEVEN, Some("weighted-least-connections")),
    ("nginx(random two)", EVEN, Some("power-of-d")),
    ("nginx(ip_hash)", EVEN, Some("address-hash")),
    ("nginx(hash consistent)", EVEN, Some("path-hash(points = 160)")),
    ("envoy(round-robin)", EVEN, Some("round-robin")),
    ("envoy(round-robin)", UNEVEN, Some("weighted-round-robin")),
    ("envoy(least-request)", EVEN, Some("power-of-d")),
    ("envoy(least-request)", UNEVEN, Some("weighted-least-connections")),
    ("envoy(ring-hash)", EVEN, Some("path-hash")),
    ("envoy(maglev)", EVEN, Some("path-hash")),
];

#[allow(clippy::print_stdout, reason = "a bench answers on the terminal")]
fn main() {
    println!("{:<40}{:>10}{:>12}{:>10}   beside", "a choice and its end, 1,000 backends", "weights", "us", "ratio");
    let mut missed = Vec::new();
    for (rule, weights, refined) in RULES {
        let mut worlds: Vec<World> =
            [Some(rule), refined].into_iter().flatten().map(|p| World::of(p, weights)).collect();
        let mut best = [f64::INFINITY; 2];
        for _ in 0..ROUNDS {
            for (world, best) in worlds.iter_mut().zip(&mut best) {
                *best = best.min(world.round());
            }
        }
        let ratio = refined.map(|_| best[0] / best[1]);
        let shown = ratio.map_or("-".to_string(), |ratio| format!("{ratio:.2}"));
        let kind = if weights == UNEVEN { "unequal" } else { "equal" };
        println!("{rule:<40}{kind:>10}{:>12.3}{shown:>10}   {}", best[0] * 1e6, refined.unwrap_or("-"));
        if best[0] > MOST || ratio.is_some_and(|ratio| ratio > RATIO) {
            missed.push(rule);
        }
    }
    println!("bars: {RATIO} times the policy beside it, and {:.0} us", MOST * 1e6);
    assert!(missed.is_empty(), "the bars are missed by {missed:?}");
}

/// A dispatcher in its steady state.
struct World {
    dispatcher: Dispatcher,
    requests: Vec<Request>,
    /// Where the requests in flight are, and which ends next.
    held: Vec<sojourn_dispatch::BackendId>,
    ends: Vec<usize>,
}

impl World {
    fn of(policy: &str, weights: [f64; 4]) -> World {
        let backends: Vec<_> = (0..BACKENDS).map(|number| (format!("s{number}"), weights[number % 4])).collect();
        let made = Dispatcher::new(policy, &backends, Information::Immediate, Signals::all(), 1, "bench");
        let mut dispatcher = made.expect("a built-in policy");
        let mut stream = Stream::new(1, "bench", "requests");
        let request = |stream: &mut Stream| {
            let address = Some(std::net::Ipv4Addr::from(stream.bits() as u32));
            let origin = Origin { address, ..Origin::default() };
            Request { client: stream.bits(), key: stream.bits(), origin, ..Request::default() }
        };
        let requests: Vec<Request> = (0..REQUESTS).map(|_| request(&mut stream)).collect();
        let first = requests.iter().cycle().take(3 * BACKENDS);
        let held: Vec<_> =
            first.map(|request| dispatcher.choose(request, &[], Time(1)).forwarded_to().expect("all are up")).collect();
        let ends = (0..REQUESTS).map(|_| stream.below(held.len())).collect();
        World { dispatcher, requests, held, ends }
    }

    /// Seconds for one choice and one end.
    #[allow(clippy::disallowed_methods, reason = "a bench reads the clock")]
    fn round(&mut self) -> f64 {
        let World { dispatcher, requests, held, ends } = self;
        let start = Instant::now();
        for (request, end) in requests.iter().zip(ends.iter()) {
            let chosen = dispatcher.choose(request, &[], Time(2)).forwarded_to().expect("all are up");
            let backend = std::mem::replace(&mut held[*end], chosen);
            dispatcher.observe(Event::Completed { backend, status: 200, bytes: 1, latency: Span(1) }, Time(2));
        }
        black_box(start.elapsed().as_secs_f64() / REQUESTS as f64)
    }
}
