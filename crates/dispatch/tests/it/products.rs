//! Rules of products: each held to its definition, written here a second time and plainly.

mod envoy;
mod haproxy;
mod nginx;
mod texts;

use sojourn_dispatch::{BackendId, Dispatcher, Event};
use sojourn_stats::{Span, Stream, Time};

use crate::common::{REQUEST, dispatcher, weighted};

/// Whole weights drawn from 1 to `most`.
fn weights(stream: &mut Stream, count: usize, most: usize) -> Vec<u32> {
    (0..count).map(|_| 1 + stream.below(most) as u32).collect()
}

/// A dispatcher of `policy` over servers of these weights.
fn of(policy: &str, weights: &[u32]) -> Dispatcher {
    dispatcher(policy, &weighted(&weights.iter().map(|weight| f64::from(*weight)).collect::<Vec<_>>()))
}

/// One request more, and where it went.
fn open(dispatcher: &mut Dispatcher) -> usize {
    let decision = dispatcher.choose(&REQUEST, &[], Time::ZERO);
    decision.forwarded_to().expect("all are up").0 as usize
}

fn close(dispatcher: &mut Dispatcher, server: usize) {
    dispatcher.observe(Event::Cancelled { backend: BackendId(server as u32), after: Span::ZERO }, Time::ZERO);
}

/// So many requests at each server, whatever the policy would do.
fn hold(dispatcher: &mut Dispatcher, held: &[u32]) {
    for (server, count) in held.iter().enumerate() {
        for _ in 0..*count {
            dispatcher.observe(Event::Inherited { backend: BackendId(server as u32) }, Time::ZERO);
        }
    }
}

/// How often each of `count` requests that end at once goes to each server.
fn counts(dispatcher: &mut Dispatcher, servers: usize, count: u64) -> Vec<u64> {
    let mut counts = vec![0; servers];
    for _ in 0..count {
        let server = open(dispatcher);
        counts[server] += 1;
        close(dispatcher, server);
    }
    counts
}

/// Random opens and closes, at most `most` at a time; each choice must be the one that `expected` names, which is told
/// the number of requests at each server, and hears of each open and close.
fn walk(policy: &str, weights: &[u32], seed: u64, most: usize, twin: &mut dyn Twin) {
    let mut dispatcher = of(policy, weights);
    let mut stream = Stream::new(seed, "walk", "steps");
    let (mut held, mut in_flight) = (Vec::new(), vec![0; weights.len()]);
    for step in 0..3_000 {
        if held.len() < most && (held.is_empty() || stream.below(100) < 55) {
            let expected = twin.choose(&in_flight);
            let server = open(&mut dispatcher);
            assert_eq!(server, expected, "{policy}, weights {weights:?}, step {step}, in flight {in_flight:?}");
            in_flight[server] += 1;
            held.push(server);
            twin.moved(server, &in_flight);
        } else {
            let server = held.swap_remove(stream.below(held.len()));
            close(&mut dispatcher, server);
            in_flight[server] -= 1;
            twin.moved(server, &in_flight);
        }
    }
}

/// A rule said plainly.
trait Twin {
    fn choose(&mut self, in_flight: &[u32]) -> usize;
    /// The number in flight at `server` has changed.
    fn moved(&mut self, server: usize, in_flight: &[u32]) {
        let _ = (server, in_flight);
    }
}
