//! What is known, how old it is, and what a face must provide.

use sojourn_dispatch::{BackendId, Command, DispatchError, Dispatcher, Event, Information, Report, Signals};
use sojourn_stats::{Span, Time};

use crate::common::{REQUEST, equal, every_policy};

const EVERY: Span = Span(1_000_000_000);
const POLLING_GATEWAY: Signals = Signals::GATEWAY.union(Signals::REPORTS);

fn polled(policy: &str, signals: Signals) -> Result<Dispatcher, DispatchError> {
    Dispatcher::new(policy, &equal(3), Information::Polled { every: EVERY }, signals, 1, "test")
}

fn report(dispatcher: &mut Dispatcher, loads: [u32; 3], at: Time) {
    for (id, in_flight) in loads.into_iter().enumerate() {
        assert!(dispatcher.report(BackendId(id as u32), &Report::of_in_flight(in_flight, at), at));
    }
}

#[test]
fn polled_counts_are_frozen_between_polls() {
    for policy in ["least-connections", "weighted-least-connections", "round-trip", "transmitted-size"] {
        let mut dispatcher = polled(policy, POLLING_GATEWAY).expect(policy);
        assert_eq!(dispatcher.next_deadline(), Some(Time::ZERO));
        assert_eq!(dispatcher.poll(Time::ZERO), [0, 1, 2].map(|id| Command::Poll(BackendId(id))));
        assert_eq!(dispatcher.next_deadline(), Some(Time::ZERO + EVERY));
        report(&mut dispatcher, [4, 1, 6], Time(5));
        for step in 0..20 {
            // Herding is the point: however many it sends there, what it sees does not move.
            let now = Time(10 + step);
            assert_eq!(dispatcher.choose(&REQUEST, &[], now).forwarded_to(), Some(BackendId(1)), "{policy}");
            assert_eq!(dispatcher.poll(now), []);
        }
        assert_eq!((dispatcher.table().load(BackendId(1)), dispatcher.table().in_flight(BackendId(1))), (1, 20));
        assert_eq!(dispatcher.table().report_age(BackendId(1), Time(105)), Some(Span(100)));
        let late = Time(1_300_000_000);
        assert_eq!(dispatcher.poll(late).len(), 3);
        assert_eq!(dispatcher.next_deadline().map(|next| next.min(Time(2_000_000_000))), Some(Time(2_000_000_000)));
        report(&mut dispatcher, [4, 21, 3], late);
        assert_eq!(dispatcher.choose(&REQUEST, &[], late).forwarded_to(), Some(BackendId(2)), "{policy}");
    }
}

#[test]
fn an_older_report_does_not_overwrite_a_newer_one() {
    let mut dispatcher = polled("least-connections", POLLING_GATEWAY).expect("a known policy");
    report(&mut dispatcher, [1, 1, 0], Time(200));
    let stale = Report::of_in_flight(9, Time(100));
    assert!(!dispatcher.report(BackendId(2), &stale, Time(300)));
    assert_eq!(dispatcher.table().report(BackendId(2)), Some(&Report::of_in_flight(0, Time(200))));
    let absurd = Report::of_in_flight(u32::MAX, Time(300));
    assert!(dispatcher.report(BackendId(2), &absurd, Time(300)));
    assert_ne!(dispatcher.choose(&REQUEST, &[], Time(300)).forwarded_to(), Some(BackendId(2)));
}

#[test]
fn backends_that_are_down_are_not_polled_nor_is_what_is_not_read() {
    let mut dispatcher = polled("least-connections", POLLING_GATEWAY).expect("a known policy");
    dispatcher.observe(Event::Down { backend: BackendId(0) }, Time::ZERO);
    dispatcher.observe(Event::Draining { backend: BackendId(1) }, Time::ZERO);
    assert_eq!(dispatcher.poll(Time::ZERO), [1, 2].map(|id| Command::Poll(BackendId(id))));
    let round_robin = polled("round-robin", Signals::empty()).expect("it needs nothing");
    assert_eq!((round_robin.next_deadline(), round_robin.requires()), (None, Signals::empty()));
}

#[test]
fn a_missing_signal_is_named() {
    const FIRST_BYTE: &str =
        "the first byte of each reply (first-byte, or in a simulator the client's own: client-first-byte)";
    let refusal = |policy: &str, information, signals| {
        let made = Dispatcher::new(policy, &equal(2), information, signals, 1, "test");
        made.expect_err(policy).to_string()
    };
    let cases = [
        ("least-connections", Signals::ADDRESS, "the end of each request (in-flight)"),
        ("round-trip", Signals::IN_FLIGHT | Signals::BYTES, FIRST_BYTE),
        ("round-trip", Signals::SWITCH, FIRST_BYTE),
        ("transmitted-size", Signals::SWITCH, "the bytes of replies (bytes)"),
        ("cookie", Signals::SWITCH, "the client's cookies (cookie)"),
        ("transmitted-size", Signals::IN_FLIGHT, "the bytes of replies (bytes)"),
        ("address-hash", Signals::IN_FLIGHT, "the client's address (address)"),
        ("cookie(policy = random)", Signals::IN_FLIGHT, "the client's cookies (cookie)"),
        ("path-hash", Signals::SWITCH, "the path asked for (path)"),
        ("lard", Signals::SWITCH, "the path asked for (path)"),
        ("cookie(policy = address-hash)", Signals::COOKIE, "the client's address (address)"),
    ];
    for (policy, signals, words) in cases {
        let expected = format!("policy `{policy}` needs {words}, which this face does not provide");
        assert_eq!(refusal(policy, Information::Immediate, signals), expected);
    }
    let no_reports = refusal("least-connections", Information::Polled { every: EVERY }, Signals::IN_FLIGHT);
    assert!(no_reports.contains("(reports) when its information is polled"), "{no_reports}");
    let at_once = refusal("random", Information::Polled { every: Span::ZERO }, Signals::GATEWAY);
    assert!(at_once.contains("above zero"), "{at_once}");
}

#[test]
fn reports_stand_in_for_requests_in_flight() {
    // A switch whose replies bypass it sees no request end, and so need not tell.
    let mut switch = polled("least-connections", Signals::REPORTS | Signals::ADDRESS).expect("reports suffice");
    report(&mut switch, [2, 2, 0], Time(1));
    assert_eq!(switch.choose(&REQUEST, &[], Time(2)).forwarded_to(), Some(BackendId(2)));
    assert_eq!(switch.table().in_flight(BackendId(2)), 0, "what will never be said to end is not counted");
}

#[test]
fn the_clients_first_byte_stands_in_where_the_balancer_sees_none() {
    let requires = |signals| {
        let made =
            Dispatcher::new("cookie(policy = round-trip)", &equal(2), Information::Immediate, signals, 1, "test");
        made.expect("one of the two is there").requires()
    };
    let (switch, both) = (Signals::SWITCH | Signals::CLIENT_FIRST_BYTE, Signals::all());
    let common = Signals::IN_FLIGHT | Signals::COOKIE;
    assert_eq!(requires(switch | Signals::COOKIE), common | Signals::CLIENT_FIRST_BYTE);
    assert_eq!(requires(both), common | Signals::FIRST_BYTE, "the balancer's own goes first");
    assert_eq!(requires(Signals::GATEWAY), common | Signals::FIRST_BYTE);
    assert!(!Signals::GATEWAY.contains(Signals::CLIENT_FIRST_BYTE), "no gateway sees what its clients have");
    let mut dispatcher =
        Dispatcher::new("round-trip", &equal(2), Information::Immediate, switch, 1, "test").expect("it stands in");
    for (id, round_trip) in [(0, 9), (1, 5)] {
        dispatcher.observe(Event::FirstByte { backend: BackendId(id), round_trip: Span(round_trip) }, Time(10));
    }
    assert_eq!(dispatcher.choose(&REQUEST, &[], Time(11)).forwarded_to(), Some(BackendId(1)));
}

#[test]
fn a_switch_serves_those_that_read_counts_or_nothing_and_one_that_splices_more() {
    for policy in every_policy() {
        let is_refused = |signals| {
            let made = Dispatcher::new(policy, &equal(2), Information::Immediate, signals, 1, "test");
            made.is_err()
        };
        let by_path = ["haproxy(2.6, uri)", "nginx(hash consistent)", "envoy(ring-hash)", "envoy(maglev)"];
        let sees_more =
            ["round-trip", "peak-ewma", "transmitted-size", "cookie", "path-hash", "lard"].contains(&policy);
        let sees_more = sees_more || by_path.contains(&policy);
        assert_eq!(is_refused(Signals::SWITCH), sees_more, "{policy}");
        // The path, and where replies pass, what they tell; a cookie could be read but not set.
        let sees_replies = ["round-trip", "peak-ewma", "transmitted-size", "cookie"].contains(&policy);
        assert_eq!(is_refused(Signals::SPLICE_ASYMMETRIC), sees_replies, "{policy}");
        assert_eq!(is_refused(Signals::SPLICE), policy == "cookie", "{policy}");
    }
}

#[test]
fn a_gateway_provides_all_that_any_policy_requires() {
    for policy in every_policy() {
        let made = polled(policy, POLLING_GATEWAY).expect(policy);
        assert!(POLLING_GATEWAY.contains(made.requires()), "{policy}");
    }
}

/// Only a simulator predicts; told before the choice, the shortest is chosen, and who was tried is left out.
#[test]
fn predictions_are_a_simulators_signal() {
    let made =
        |signals| Dispatcher::new("shortest-predicted-response", &equal(3), Information::Immediate, signals, 1, "test");
    let refused = made(Signals::GATEWAY).expect_err("no gateway knows demands").to_string();
    assert!(refused.contains("(predicted-response)"), "{refused}");
    let mut dispatcher = made(Signals::GATEWAY | Signals::PREDICTED_RESPONSE).expect("it is told");
    for (backend, response) in [(0, 9), (1, 5), (2, 7)] {
        dispatcher.observe(Event::Predicted { backend: BackendId(backend), response: Span(response) }, Time(1));
    }
    let decision = dispatcher.choose(&REQUEST, &[], Time(1));
    assert_eq!((decision.forwarded_to(), decision.reason.value), (Some(BackendId(1)), 5e-9));
    assert_eq!(dispatcher.choose(&REQUEST, &[BackendId(1)], Time(1)).forwarded_to(), Some(BackendId(2)));
}
