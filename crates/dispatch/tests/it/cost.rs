//! What a choice costs must not grow with the number of backends, counted in entries visited and in bytes.

use sojourn_dispatch::{BackendId, Catalogue, Dispatcher, Event, Index, Information, Report, Request, Signals};
use sojourn_stats::{Span, Stream, Time};

use crate::common::{AT_DNS, OF_SITES, REQUEST, dispatcher, equal, every_policy};

/// Index entries visited per request by updates, with this many backends and three requests in flight at each.
fn visits_per_request(policy: &str, backends: usize) -> f64 {
    let mut dispatcher = dispatcher(policy, &equal(backends));
    let mut stream = Stream::new(1, "cost", "ends");
    let mut in_flight = Vec::new();
    let requests = 4 * backends;
    let before = dispatcher.table().visits();
    for number in 0..requests as u64 {
        let now = Time(number * 1_000_000);
        in_flight.extend(dispatcher.choose(&REQUEST, &[], now).forwarded_to());
        if in_flight.len() > 3 * backends {
            let backend = in_flight.swap_remove(stream.below(in_flight.len()));
            let round_trip = Span(1 + stream.below(1_000_000) as u64);
            dispatcher.observe(Event::FirstByte { backend, round_trip }, now);
            dispatcher.observe(Event::Completed { backend, status: 200, bytes: 500, latency: round_trip }, now);
        }
    }
    (dispatcher.table().visits() - before) as f64 / requests as f64
}

/// Policies whose table keeps an order.
fn with_order() -> impl Iterator<Item = &'static str> {
    every_policy().filter(|name| Catalogue::default().build(name).expect(name).index() != Index::None)
}

const VARIANTS: [&str; 7] = [
    "round-trip(slide = true)",
    "round-trip(unseen = zero)",
    "round-trip(slide = true, unseen = zero)",
    "transmitted-size(slide = true, ties = first)",
    "round-trip(reads = last)",
    "round-trip(reads = last, unseen = zero)",
    "transmitted-size(reads = last)",
];

#[test]
fn a_choice_among_ten_thousand_does_not_scan() {
    for policy in with_order().chain(VARIANTS) {
        let visits = visits_per_request(policy, 10_000);
        // Three updates and what the window forgets, each one way up a tree of 14 levels in two indices at most.
        assert!(visits <= 100.0, "{policy} visits {visits} entries per request");
    }
    assert!(visits_per_request("least-connections", 10_000) <= 3.0, "a count that moves by one moves one entry");
}

#[test]
fn every_least_policy_asks_for_an_order() {
    // Table::least scans only for a policy without an order, and for retries; power-of-d and peak-ewma look at d backends
    // themselves. Rules of products keep orders of their own where they do not look at a few.
    for name in every_policy().filter(|name| !["power-of-d", "peak-ewma"].contains(name) && !name.contains('(')) {
        let policy = Catalogue::default().build(name).expect(name);
        assert_eq!(policy.index() != Index::None, policy.requires().contains(Signals::IN_FLIGHT), "{name}");
    }
}

#[test]
fn statistics_take_at_most_two_kilobytes_per_server() {
    for policy in every_policy().chain(VARIANTS) {
        let mut dispatcher = dispatcher(policy, &equal(10_000));
        for number in 0..20_000 {
            let now = Time(number * 100_000); // two seconds, twice a window
            if let Some(backend) = dispatcher.choose(&REQUEST, &[], now).forwarded_to() {
                dispatcher.observe(Event::FirstByte { backend, round_trip: Span(number) }, now);
            }
        }
        let each = dispatcher.table().memory() / 10_000;
        assert!((1..=2_000).contains(&each), "{policy}: {each} bytes");
    }
}

#[test]
fn an_answer_among_ten_thousand_sites_does_not_scan() {
    const SITES: u32 = 10_000;
    for policy in OF_SITES {
        let made = Dispatcher::new(policy, &equal(SITES as usize), Information::Immediate, AT_DNS, 1, "cost");
        let mut dispatcher = made.expect(policy);
        for id in 0..SITES {
            let report = Report { room: 50.0 + id as f32, capacity: 20_000.0, ..Report::default() };
            assert!(dispatcher.report(BackendId(id), &report, Time(1)));
        }
        let before = dispatcher.table().visits();
        for turn in 0..1_000 {
            let client = turn % 9;
            assert!(dispatcher.tell_rate(client, Default::default(), 0.5, Time(turn)));
            let request = Request { client, lease: Some(Span(100)), ..REQUEST };
            assert!(dispatcher.choose(&request, &[], Time(turn)).forwarded_to().is_some(), "{policy}");
        }
        // A choice and the end of its lease, each one way up two trees of 14 levels: what is free, and the most of it.
        let visits = (dispatcher.table().visits() - before) as f64 / 1_000.0;
        assert!(visits <= 60.0, "{policy} visits {visits} entries per answer");
        let each = dispatcher.table().memory() / SITES as usize;
        assert!((1..=2_000).contains(&each), "{policy}: {each} bytes");
    }
}

#[test]
fn absurd_counts_cost_nothing() {
    // Four thousand million requests reported by each of a thousand backends: levels exist only where occupied.
    let mut dispatcher = dispatcher("least-connections", &equal(1_000));
    for id in 0..1_000 {
        let report = Report::of_in_flight(u32::MAX - id, Time::ZERO);
        dispatcher.report(BackendId(id), &report, Time::ZERO);
    }
    assert!(dispatcher.table().memory() < 1_000_000);
}
