//! Peak-EWMA.

use sojourn_dispatch::{BackendId, Code, Dispatcher, Event};
use sojourn_stats::{Span, Time};

use crate::common::{REQUEST, dispatcher, equal};

const A: BackendId = BackendId(0);
const B: BackendId = BackendId(1);

fn at(ms: u64) -> Time {
    Time(ms * 1_000_000)
}

fn ms(ms: u64) -> Span {
    Span(ms * 1_000_000)
}

/// What a request more would cost at the only backend that is left, in seconds.
fn cost(policy: &mut Dispatcher, of: BackendId, now: Time) -> f64 {
    let other = if of == A { B } else { A };
    let decision = policy.choose(&REQUEST, &[other], now);
    assert_eq!((decision.forwarded_to(), decision.reason.code), (Some(of), Code::LeastExpected));
    policy.observe(Event::Cancelled { backend: of, after: Span::ZERO }, now);
    decision.reason.value
}

fn is_near(seen: f64, due: f64, what: &str) {
    assert!((seen - due).abs() < 1e-9 * due.max(1e-9), "{what}: {seen} instead of {due}");
}

/// By hand, with a decay of 10 s: 100 ms, then 200 ms, then 50 ms 10 s later, then nothing for 20 s.
#[test]
fn a_peak_replaces_the_estimate_and_what_is_lower_moves_it() {
    let mut policy = dispatcher("peak-ewma(decay = 10 s)", &equal(2));
    let e = |x: f64| (-x).exp();
    let first_byte = |policy: &mut Dispatcher, round_trip: Span, now: Time| {
        policy.choose(&REQUEST, &[B], now);
        policy.observe(Event::FirstByte { backend: A, round_trip }, now);
        policy.observe(Event::Completed { backend: A, status: 200, bytes: 0, latency: ms(999) }, now);
    };
    first_byte(&mut policy, ms(100), at(0));
    is_near(cost(&mut policy, A, at(0)), 0.1, "the first sample");
    is_near(cost(&mut policy, A, at(5_000)), 0.1 * e(0.5), "it decays");
    is_near(cost(&mut policy, A, at(5_000)), 0.1 * e(0.5), "and reading it changes nothing");
    first_byte(&mut policy, ms(200), at(5_000));
    is_near(cost(&mut policy, A, at(5_000)), 0.2, "a peak");
    first_byte(&mut policy, ms(50), at(15_000));
    let moved = 0.2 * e(1.0) + 0.05 * (1.0 - e(1.0));
    is_near(cost(&mut policy, A, at(15_000)), moved, "a lower sample after one decay");
    is_near(cost(&mut policy, A, at(35_000)), moved * e(2.0), "idle for two");
    // Three in flight: four times as much.
    (0..3).for_each(|_| assert_eq!(policy.choose(&REQUEST, &[B], at(35_000)).forwarded_to(), Some(A)));
    is_near(cost(&mut policy, A, at(35_000)), 4.0 * moved * e(2.0), "with three in flight");
}

#[test]
fn failures_and_clients_that_leave_never_make_a_backend_look_fast() {
    let end = |event: Event| {
        let mut policy = dispatcher("peak-ewma", &equal(2));
        policy.choose(&REQUEST, &[B], at(0));
        policy.observe(Event::FirstByte { backend: A, round_trip: ms(100) }, at(0));
        policy.observe(Event::Completed { backend: A, status: 200, bytes: 0, latency: ms(100) }, at(0));
        policy.choose(&REQUEST, &[B], at(0));
        policy.observe(event, at(0));
        cost(&mut policy, A, at(0))
    };
    let completed = |status| Event::Completed { backend: A, status, bytes: 0, latency: ms(1) };
    is_near(end(completed(503)), 5.0, "an error at once");
    is_near(end(completed(429)), 5.0, "too many requests");
    is_near(end(completed(404)), 0.1, "what is not there is no failure");
    is_near(end(Event::Failed { backend: A, after: ms(1) }), 5.0, "a connection that breaks");
    is_near(end(Event::Failed { backend: A, after: ms(7_000) }), 7.0, "after longer than that");
    is_near(end(Event::Cancelled { backend: A, after: ms(1_000) }), 1.0, "a client that left after a second");
    is_near(end(Event::Cancelled { backend: A, after: ms(10) }), 0.1, "one that left soon");
}

/// Of two it takes the cheaper one; a backend without history is first while idle, and last while it has something in flight.
#[test]
fn the_cheaper_of_two_is_chosen() {
    let mut policy = dispatcher("peak-ewma", &equal(2));
    let chosen = |policy: &mut Dispatcher| policy.choose(&REQUEST, &[], at(0)).forwarded_to().expect("both are up");
    let first = chosen(&mut policy);
    let second = chosen(&mut policy);
    assert_ne!(first, second, "the one that is idle");
    policy.observe(Event::FirstByte { backend: second, round_trip: ms(900) }, at(0));
    assert_eq!(chosen(&mut policy), second, "nothing has come back from the other one");
    policy.observe(Event::FirstByte { backend: first, round_trip: ms(500) }, at(0));
    // 2 x 500 ms against 3 x 900 ms; then 3 x 500, 4 x 500 and 5 x 500.
    assert!((0..4).all(|_| chosen(&mut policy) == first));
    // 6 x 500 ms against 3 x 900 ms.
    assert_eq!(chosen(&mut policy), second);
}
