//! A backend that fails fast must not draw traffic to itself.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use sojourn_dispatch::{BackendId, Event};
use sojourn_stats::{Span, Stream, Time};

use crate::common::{REQUEST, dispatcher, equal};

#[derive(Clone, Copy)]
enum Fault {
    /// No reply, after 0.2 ms.
    Breaks,
    /// Status 503, after 0.2 ms.
    Errors,
    /// Never a reply; given up after 5 s.
    Hangs,
}

/// The share of requests that the one faulty backend of four gets in 20 s of 500 requests/s; the others answer after 10
/// to 30 ms.
fn share_of_faulty(policy: &str, fault: Fault) -> f64 {
    const FAULTY: BackendId = BackendId(2);
    let mut dispatcher = dispatcher(policy, &equal(4));
    let mut stream = Stream::new(1, "failures", "service");
    let mut due: BinaryHeap<Reverse<(Time, u64, BackendId, Span)>> = BinaryHeap::new();
    let mut faulty = 0;
    const REQUESTS: u64 = 10_000;
    for number in 0..REQUESTS {
        let now = Time(number * 2_000_000);
        while let Some(&Reverse((at, _, backend, took))) = due.peek().filter(|end| end.0.0 <= now) {
            due.pop();
            match fault {
                Fault::Breaks | Fault::Hangs if backend == FAULTY => {
                    dispatcher.observe(Event::Failed { backend, after: took }, at);
                    continue;
                }
                _ => dispatcher.observe(Event::FirstByte { backend, round_trip: took }, at),
            }
            let (status, bytes) = if backend == FAULTY { (503, 0) } else { (200, 500 + stream.below(1000) as u64) };
            dispatcher.observe(Event::Completed { backend, status, bytes, latency: took }, at);
        }
        let chosen = dispatcher.choose(&REQUEST, &[], now).forwarded_to().expect("all are thought to be up");
        let took = match fault {
            _ if chosen != FAULTY => Span(10_000_000 + stream.below(20_000_000) as u64),
            Fault::Breaks | Fault::Errors => Span(200_000),
            Fault::Hangs => Span(5_000_000_000),
        };
        due.push(Reverse((now + took, number, chosen, took)));
        faulty += u64::from(chosen == FAULTY);
    }
    faulty as f64 / REQUESTS as f64
}

#[test]
fn failing_fast_draws_no_traffic_to_the_window_policies() {
    for fault in [Fault::Breaks, Fault::Errors] {
        let tempted = share_of_faulty("least-connections", fault);
        assert!(tempted > 0.5, "this world must be one in which fast failures do look good: {tempted}");
        for policy in
            ["round-trip", "round-trip(window = 0.1 s)", "transmitted-size", "transmitted-size(window = 0.1 s)"]
        {
            let share = share_of_faulty(policy, fault);
            assert!(share < 0.25, "{policy} gives {share} to the backend that fails, more than its even share");
        }
        for policy in ["round-trip", "round-trip(unseen = zero)", "transmitted-size"] {
            let share = share_of_faulty(policy, fault);
            assert!(share < 0.05, "{policy} gives {share} to the backend that fails");
        }
    }
}

#[test]
fn hanging_draws_no_traffic_to_round_trip() {
    for policy in ["round-trip", "round-trip(window = 0.1 s)"] {
        let share = share_of_faulty(policy, Fault::Hangs);
        assert!(share < 0.05, "{policy} gives {share} to the backend that hangs");
    }
}

#[test]
fn hanging_draws_traffic_when_the_unseen_count_as_zero() {
    // The documented price: everything for 5 s, until the first give up, then little while they do: about half.
    let share = share_of_faulty("round-trip(unseen = zero)", Fault::Hangs);
    assert!(share > 0.25, "{share} to the backend that hangs, no more than its even share");
}

#[test]
fn failing_fast_draws_traffic_in_every_other_window_when_the_last_one_decides() {
    // The documented price: shunned in the window after the one in which it failed, unknown again in the next.
    for fault in [Fault::Breaks, Fault::Errors] {
        for policy in ["round-trip(reads = last)", "transmitted-size(reads = last)"] {
            let share = share_of_faulty(policy, fault);
            assert!((0.25..0.6).contains(&share), "{policy} gives {share} to the backend that fails");
        }
    }
}
