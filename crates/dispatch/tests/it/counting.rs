//! The books: what counts as in flight, and for how long.

use sojourn_dispatch::{BackendId, Dispatcher, Event, State, WindowTotals};
use sojourn_stats::{Span, Time};

use crate::common::{REQUEST, Walk, dispatcher, equal, every_policy};

const A: BackendId = BackendId(0);
const B: BackendId = BackendId(1);

#[test]
fn a_request_is_in_flight_before_it_is_sent() {
    // A backend that is slow to connect to must not look idle (envoy issue 44989).
    let mut dispatcher = dispatcher("least-connections", &equal(2));
    let first = dispatcher.choose(&REQUEST, &[], Time::ZERO).forwarded_to().expect("both are up");
    assert_eq!((dispatcher.table().in_flight(first), dispatcher.table().waiting(first)), (1, 1));
    let second = dispatcher.choose(&REQUEST, &[], Time::ZERO).forwarded_to().expect("both are up");
    assert_ne!(first, second);
    dispatcher.observe(Event::Sent { backend: first }, Time::ZERO);
    assert_eq!((dispatcher.table().in_flight(first), dispatcher.table().waiting(first)), (1, 0));
}

#[test]
fn each_way_to_end_ends_one_request() {
    let mut dispatcher = dispatcher("round-robin", &equal(1));
    for _ in 0..3 {
        dispatcher.choose(&REQUEST, &[], Time::ZERO);
    }
    let ends = [
        Event::Completed { backend: A, status: 200, bytes: 10, latency: Span(5) },
        Event::Failed { backend: A, after: Span(5) },
        Event::Cancelled { backend: A, after: Span::ZERO },
    ];
    for (ended, end) in ends.into_iter().enumerate() {
        dispatcher.observe(end, Time(9));
        assert_eq!(dispatcher.table().in_flight(A) as usize, 2 - ended);
    }
    let totals = dispatcher.table().totals(A);
    assert_eq!((totals.forwarded, totals.completed, totals.failed, totals.cancelled), (3, 1, 1, 1));
}

#[test]
fn what_an_earlier_dispatcher_forwarded_counts_until_it_ends() {
    let mut dispatcher = dispatcher("least-connections", &equal(2));
    dispatcher.observe(Event::Inherited { backend: A }, Time::ZERO);
    dispatcher.observe(Event::Inherited { backend: A }, Time::ZERO);
    let next = [(); 2].map(|()| dispatcher.choose(&REQUEST, &[], Time::ZERO).forwarded_to());
    assert_eq!(next, [Some(B), Some(B)], "it has two fewer");
    dispatcher.observe(Event::Cancelled { backend: A, after: Span::ZERO }, Time::ZERO);
    assert_eq!(dispatcher.table().in_flight(A), 1);
    assert_eq!(dispatcher.choose(&REQUEST, &[], Time::ZERO).forwarded_to(), Some(A));
    assert_eq!(dispatcher.table().totals(A).forwarded, 1, "only what this one forwarded");
}

#[test]
fn counters_survive_leaving_and_joining_again() {
    let mut dispatcher = dispatcher("least-connections", &equal(2));
    for _ in 0..6 {
        dispatcher.choose(&REQUEST, &[], Time::ZERO);
    }
    dispatcher.observe(Event::Left { backend: A }, Time::ZERO);
    assert_eq!(dispatcher.table().state(A), State::Left);
    dispatcher.observe(Event::Cancelled { backend: A, after: Span::ZERO }, Time::ZERO); // requests of one that left still end
    assert_eq!(dispatcher.join("s1", 1.0, Time::ZERO), Ok(A), "its number is kept");
    assert_eq!((dispatcher.table().in_flight(A), dispatcher.table().in_flight(B)), (2, 3));
    assert_eq!(dispatcher.table().totals(A).forwarded, 3);
    assert_eq!(dispatcher.choose(&REQUEST, &[], Time::ZERO).forwarded_to(), Some(A));
}

#[test]
fn idle_connections_count_as_connections_and_not_as_load() {
    let mut dispatcher = dispatcher("least-connections", &equal(2));
    for _ in 0..3 {
        dispatcher.observe(Event::Opened { backend: A }, Time::ZERO);
    }
    dispatcher.observe(Event::Closed { backend: A }, Time::ZERO);
    assert_eq!((dispatcher.table().connections(A), dispatcher.table().load(A)), (2, 0));
}

#[test]
fn bytes_are_counted_once_however_they_are_told() {
    let done = |bytes| Event::Completed { backend: A, status: 200, bytes, latency: Span(1) };
    let told = |bytes| Event::Transmitted { backend: A, bytes };
    for events in [vec![told(300), told(700), done(1000)], vec![done(1000)], vec![told(400), done(1000)]] {
        let mut dispatcher = dispatcher("transmitted-size", &equal(1));
        dispatcher.choose(&REQUEST, &[], Time::ZERO);
        for event in &events {
            dispatcher.observe(*event, Time(1));
        }
        assert_eq!(dispatcher.table().window(A).bytes, 1000, "{events:?}");
        assert_eq!(dispatcher.table().totals(A).bytes, 1000, "{events:?}");
    }
}

#[test]
fn the_window_ends_on_time_even_without_polls() {
    let mut dispatcher = dispatcher("round-trip(window = 100 ms)", &equal(2));
    let first_byte = Event::FirstByte { backend: A, round_trip: Span(7) };
    assert_eq!(dispatcher.next_deadline(), Some(Time(100_000_000)));
    dispatcher.observe(first_byte, Time(99_999_999));
    assert_eq!(dispatcher.table().window(A).mean_round_trip(), Some(Span(7)));
    dispatcher.choose(&REQUEST, &[], Time(100_000_000));
    assert_eq!(dispatcher.table().window(A).mean_round_trip(), None);
    dispatcher.observe(first_byte, Time(730_000_000));
    assert_eq!(dispatcher.next_deadline(), Some(Time(800_000_000)));
    assert_eq!(dispatcher.poll(Time(800_000_000)), []);
    assert_eq!(dispatcher.table().window(A).round_trips, 0);
}

#[test]
fn a_window_that_slides_forgets_a_tenth_at_a_time() {
    let mut dispatcher = dispatcher("round-trip(window = 1 s, slide = true)", &equal(2));
    let ms = |ms: u64| Time(ms * 1_000_000);
    let first_byte = |backend, ns| Event::FirstByte { backend, round_trip: Span(ns) };
    assert_eq!(dispatcher.next_deadline(), Some(ms(100)));
    // At 50, 150, ... 950 ms, each in a part of its own.
    for part in 0..10 {
        dispatcher.observe(first_byte(A, 10 + part), ms(50 + 100 * part));
    }
    let totals = dispatcher.table().window(A);
    assert_eq!((totals.round_trips, totals.round_trip_sum), (10, Span(145)));
    dispatcher.poll(ms(1000));
    let totals = dispatcher.table().window(A);
    assert_eq!((totals.round_trips, totals.round_trip_sum), (9, Span(135)), "the first part is gone");
    // Nothing happens for a while: three parts are forgotten at once.
    dispatcher.choose(&REQUEST, &[A], ms(1_310));
    dispatcher.observe(Event::Failed { backend: B, after: Span(1) }, ms(1_310));
    let (a, b) = (dispatcher.table().window(A), dispatcher.table().window(B));
    assert_eq!((a.round_trips, a.round_trip_sum), (6, Span(14 + 15 + 16 + 17 + 18 + 19)));
    assert_eq!((b.failures, b.round_trip_sum), (1, Span(2_000_000_000)), "twice the window, which is the longest here");
    dispatcher.choose(&REQUEST, &[], ms(2_299));
    assert_eq!((dispatcher.table().window(A).round_trips, dispatcher.table().window(B).failures), (0, 1));
    dispatcher.choose(&REQUEST, &[], ms(2_300));
    assert_eq!(dispatcher.table().window(B), WindowTotals::default());
    dispatcher.observe(first_byte(A, 7), ms(2_310));
    dispatcher.choose(&REQUEST, &[], ms(3_600_000));
    assert_eq!(dispatcher.table().window(A), WindowTotals::default(), "an hour is as good as a second");
    assert_eq!(dispatcher.next_deadline(), Some(ms(3_600_100)));
}

#[test]
fn the_last_complete_window_is_frozen_while_the_next_fills() {
    let mut dispatcher = dispatcher("round-trip(window = 1 s, reads = last)", &equal(2));
    let ms = |ms: u64| Time(ms * 1_000_000);
    let first_byte = |backend, ns| Event::FirstByte { backend, round_trip: Span(ns) };
    dispatcher.observe(first_byte(A, 10), ms(100));
    dispatcher.observe(Event::Transmitted { backend: A, bytes: 500 }, ms(100));
    dispatcher.observe(first_byte(A, 30), ms(999));
    assert_eq!(dispatcher.table().window(A), WindowTotals::default(), "during the first nothing is known");
    dispatcher.choose(&REQUEST, &[A], ms(1_000));
    dispatcher.observe(Event::Failed { backend: B, after: Span(1) }, ms(1_500));
    let first = dispatcher.table().window(A);
    assert_eq!((first.round_trips, first.mean_round_trip(), first.bytes), (2, Some(Span(20)), 500));
    assert_eq!(dispatcher.table().window(B), WindowTotals::default(), "a failure is felt in the next window");
    assert_eq!(dispatcher.next_deadline(), Some(ms(2_000)));
    // Nothing happened at the very end: what happens late still belongs to the window of its time.
    dispatcher.observe(first_byte(A, 7), ms(2_001));
    assert_eq!(dispatcher.table().window(A), WindowTotals::default());
    let charge = WindowTotals {
        round_trips: 1,
        failures: 1,
        round_trip_sum: Span(2_000_000_000),
        bytes: 500, // the most that any backend transmitted in the window before
        penalty_bytes: 500,
    };
    assert_eq!(dispatcher.table().window(B), charge, "twice the window, which is the longest here");
    dispatcher.poll(ms(3_999));
    assert_eq!(dispatcher.table().window(A).mean_round_trip(), Some(Span(7)));
    assert_eq!(dispatcher.table().window(B), WindowTotals::default());
    // The last complete window is one in which nothing happened, whatever the one before it held.
    dispatcher.observe(first_byte(B, 9), ms(4_500));
    assert_eq!(dispatcher.table().window(A), WindowTotals::default());
    dispatcher.poll(ms(6_000));
    assert_eq!([A, B].map(|id| dispatcher.table().window(id)), [WindowTotals::default(); 2]);
    dispatcher.poll(ms(7_000));
    assert_eq!([A, B].map(|id| dispatcher.table().window(id)), [WindowTotals::default(); 2]);
}

#[test]
fn the_last_window_decides_the_next() {
    // A is the slower and has the fewer bytes; in the second window the other way round. Nothing stays in flight.
    for (policy, expected) in [("round-trip", [B, B, A]), ("transmitted-size", [A, A, B])] {
        let mut dispatcher = dispatcher(&format!("{policy}(window = 1 us, reads = last)"), &equal(2));
        let serve = |dispatcher: &mut Dispatcher, backend, other, now, round_trip, bytes| {
            assert_eq!(dispatcher.choose(&REQUEST, &[other], now).forwarded_to(), Some(backend));
            dispatcher.observe(Event::FirstByte { backend, round_trip }, now);
            dispatcher.observe(Event::Completed { backend, status: 200, bytes, latency: round_trip }, now);
        };
        let chosen = |dispatcher: &mut Dispatcher, now| {
            let decision = dispatcher.choose(&REQUEST, &[], now);
            let backend = decision.forwarded_to().expect("both are up");
            dispatcher.observe(Event::Cancelled { backend, after: Span::ZERO }, now);
            (backend, decision.reason.ties)
        };
        serve(&mut dispatcher, A, B, Time(10), Span(90), 100);
        serve(&mut dispatcher, B, A, Time(10), Span(20), 900);
        assert_eq!(chosen(&mut dispatcher, Time(999)).1, 2, "{policy}: in the first window both are the same");
        let second = chosen(&mut dispatcher, Time(1_000)).0;
        serve(&mut dispatcher, A, B, Time(1_100), Span(10), 900);
        serve(&mut dispatcher, B, A, Time(1_100), Span(80), 100);
        let later = [1_999, 2_000].map(|now| chosen(&mut dispatcher, Time(now)).0);
        assert_eq!([second, later[0], later[1]], expected, "{policy}");
        assert_eq!(chosen(&mut dispatcher, Time(3_000)).1, 2, "{policy}: nothing happened in the third window");
    }
}

#[test]
fn a_window_shorter_than_its_parts_still_slides() {
    let mut dispatcher = dispatcher("transmitted-size(window = 3 ns, slide = true)", &equal(1));
    for now in 0..3 {
        dispatcher.observe(Event::Transmitted { backend: A, bytes: 1 }, Time(now));
    }
    assert_eq!(dispatcher.table().window(A).bytes, 3);
    dispatcher.observe(Event::Transmitted { backend: A, bytes: 1 }, Time(4));
    assert_eq!(dispatcher.table().window(A).bytes, 2);
}

#[test]
fn absurd_bytes_do_not_break_the_books() {
    let mut dispatcher = dispatcher("transmitted-size(window = 10 ns, slide = true)", &equal(1));
    dispatcher.choose(&REQUEST, &[], Time(0));
    for now in 0..9 {
        dispatcher.observe(Event::Transmitted { backend: A, bytes: u64::MAX / 2 }, Time(now));
    }
    dispatcher.observe(Event::Failed { backend: A, after: Span(u64::MAX) }, Time(9));
    for now in 10..30 {
        dispatcher.observe(Event::Transmitted { backend: A, bytes: 1 }, Time(now));
    }
    assert!(dispatcher.table().window(A).bytes <= 10);
}

#[test]
fn requests_in_flight_are_conserved_in_every_policy() {
    for policy in every_policy() {
        let backends = equal(6);
        let mut dispatcher = dispatcher(policy, &backends);
        let mut walk = Walk::new(3, &backends);
        for _ in 0..3_000 {
            walk.take(&mut dispatcher);
        }
        let table = dispatcher.table();
        let counted: u32 = (0..6).map(|id| table.in_flight(BackendId(id))).sum();
        assert_eq!(counted as usize, walk.in_flight.len(), "{policy}");
    }
}

#[test]
#[should_panic(expected = "a request ended that was not in flight")]
fn an_end_without_a_beginning_is_a_broken_invariant() {
    let done = Event::Completed { backend: B, status: 200, bytes: 1, latency: Span(1) };
    dispatcher("round-robin", &equal(2)).observe(done, Time::ZERO);
}
