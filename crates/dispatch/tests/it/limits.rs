//! The limit of each backend: no policy sends it more, and one that was full is chosen again at the lower mark.

use sojourn_dispatch::record::{Detail, replay};
use sojourn_dispatch::{BackendId, Code, Dispatcher, Event, Hold, Information, Limit, Report, Request, Signals, State};
use sojourn_stats::{Span, Stream, Time};

use crate::common::{OF_SITES, REQUEST, Walk, dispatcher, equal, every_policy, letters, weighted};
use crate::record::Shared;

fn limited(policy: &str, backends: &[(String, f64)], connections: u32, returns: u32) -> Dispatcher {
    let signals = Signals::all();
    let made = Dispatcher::new(policy, backends, Information::Immediate, signals, 7, "front");
    let mut dispatcher = made.expect(policy);
    dispatcher.limit(Limit::new(connections, returns).unwrap()).unwrap();
    dispatcher
}

fn complete(dispatcher: &mut Dispatcher, id: u32) {
    let backend = BackendId(id);
    dispatcher.observe(Event::Completed { backend, status: 200, bytes: 1, latency: Span(1) }, Time::ZERO);
}

/// What the marks say, counted by hand, over a walk through all that can happen.
#[test]
fn no_policy_sends_a_backend_more_than_its_limit() {
    let backends = weighted(&[1.0, 2.0, 1.0, 3.0, 1.0]);
    for policy in every_policy().chain(OF_SITES) {
        let mut dispatcher = limited(policy, &backends, 3, 1);
        let mut walk = Walk::new(5, &backends);
        let mut full = [false; 5];
        let mut times_full = 0;
        for step in 0..20_000 {
            walk.take(&mut dispatcher);
            let table = dispatcher.table();
            for (id, full) in (0..).map(BackendId).zip(&mut full) {
                let leased = table.leases(id) as usize;
                let inside = walk.in_flight.iter().filter(|at| **at == id).count().max(leased);
                assert!(inside <= 3, "{policy}: {inside} requests at one backend after step {step}");
                let was = *full;
                *full = if was { inside > 1 } else { inside >= 3 };
                times_full += u32::from(*full && !was);
                assert_eq!(table.is_full(id), *full, "{policy}: {inside} inside after step {step}, full before: {was}");
                assert_eq!(table.is_eligible(id), table.state(id) == State::Up && !*full, "{policy}");
            }
        }
        let holds = dispatcher.choose(&REQUEST, &[], walk.now).hold;
        // What is held until a report is in flight as well; what is leased ends by itself.
        let is_told = !matches!(holds, Hold::Until(_) | Hold::Reserved { .. });
        assert!(times_full > 100 || !is_told, "{policy}: the walk fills backends only {times_full} times");
    }
}

#[test]
fn it_is_refused_only_where_all_are_full() {
    for policy in ["round-robin", "random", "least-connections", "power-of-d", "path-hash", "address-hash"] {
        let mut dispatcher = limited(policy, &equal(3), 2, 0);
        for number in 0..6 {
            let to = dispatcher.choose(&REQUEST, &[], Time::ZERO).forwarded_to();
            assert!(to.is_some(), "{policy}: {number} requests in the place of 6");
        }
        let refusal = dispatcher.choose(&REQUEST, &[], Time::ZERO);
        assert_eq!((refusal.forwarded_to(), refusal.reason.code), (None, Code::Full), "{policy}");
        assert_eq!(refusal.reason.to_string(), "no backend can take it, 3 are full");
        complete(&mut dispatcher, 1);
        assert_eq!(dispatcher.choose(&REQUEST, &[], Time::ZERO).forwarded_to(), None, "{policy}: above the mark");
        complete(&mut dispatcher, 1);
        assert_eq!(dispatcher.choose(&REQUEST, &[], Time::ZERO).forwarded_to(), Some(BackendId(1)), "{policy}");
    }
    // None is full where none is up.
    let mut dispatcher = limited("random", &equal(1), 2, 0);
    dispatcher.observe(Event::Down { backend: BackendId(0) }, Time::ZERO);
    assert_eq!(dispatcher.choose(&REQUEST, &[], Time::ZERO).reason.code, Code::NoBackend);
}

#[test]
fn turns_pass_over_one_that_is_full() {
    let mut dispatcher = limited("round-robin", &equal(3), 2, 0);
    assert_eq!(letters(&mut dispatcher, 4), "ABCA");
    complete(&mut dispatcher, 2);
    // A has two: the turns are B's and C's, until A is empty.
    assert_eq!(letters(&mut dispatcher, 2), "BC");
    complete(&mut dispatcher, 0);
    assert_eq!(letters(&mut dispatcher, 1), "C");
    complete(&mut dispatcher, 0);
    assert_eq!(letters(&mut dispatcher, 3), "AA-");
}

/// A client whose backend is full goes elsewhere, and back to it; no other client moves.
#[test]
fn a_hash_leads_back_to_a_backend_that_was_full() {
    for policy in ["address-hash", "path-hash"] {
        let mut free = dispatcher(policy, &equal(4));
        let mut dispatcher = limited(policy, &equal(4), 1, 0);
        let (mut request, now) = (REQUEST, Time::ZERO);
        for client in 0..200 {
            (request.client, request.key) = (client, client);
            let home = free.choose(&request, &[], now).forwarded_to();
            let first = dispatcher.choose(&request, &[], now).forwarded_to();
            let second = dispatcher.choose(&request, &[], now).forwarded_to();
            assert_eq!(home, first, "{policy}");
            assert!(second.is_some() && second != first, "{policy}");
            // Where it goes if its own one is not there.
            let elsewhere = free.choose(&request, &[first.unwrap()], now).forwarded_to();
            assert_eq!(second, elsewhere, "{policy}");
            [first, second].into_iter().flatten().for_each(|id| complete(&mut dispatcher, id.0));
        }
    }
}

#[test]
fn a_limit_replays() {
    for policy in every_policy() {
        let backends = weighted(&[1.0, 2.0, 3.0]);
        let made = Dispatcher::new(policy, &backends, Information::Immediate, Signals::GATEWAY, 7, "front");
        let mut dispatcher = made.expect(policy);
        let file = Shared::default();
        dispatcher.record_to(Box::new(file.clone()), Detail::Decisions).expect("memory takes it");
        dispatcher.limit(Limit::new(2, 1).unwrap()).unwrap();
        let mut walk = Walk::new(11, &backends);
        (0..3_000).for_each(|_| walk.take(&mut dispatcher));
        dispatcher.finish_record().expect("memory takes it");
        let text = String::from_utf8(file.taken()).unwrap();
        let replayed = replay(text.as_bytes()).unwrap();
        assert_eq!(replayed.first_difference, None, "{policy}");
        assert!(replayed.choices > 1_000, "{policy}");
        // Without its limit the same record is another one.
        let without: String = text.split_inclusive('\n').filter(|line| !line.starts_with("{\"limit\"")).collect();
        assert_ne!(replay(without.as_bytes()).unwrap().first_difference, None, "{policy}");
        let impossible = text.replacen("\"limit\":[2,1]", "\"limit\":[0,0]", 1);
        assert!(replay(impossible.as_bytes()).unwrap_err().to_string().contains("at least 1"), "{policy}");
    }
}

#[test]
fn a_choice_that_is_leased_counts_until_its_lease_ends() {
    let mut dispatcher = limited("nearest-with-room(holds = lease)", &equal(1), 1, 0);
    let report = Report { room: 50.0, capacity: 100.0, ..Report::default() };
    assert!(dispatcher.report(BackendId(0), &report, Time(1)));
    let request = Request { lease: Some(Span(100)), ..REQUEST };
    let mut at = |now| dispatcher.choose(&request, &[], Time(now)).forwarded_to();
    assert_eq!([at(1), at(2), at(100), at(101)], [Some(BackendId(0)), None, None, Some(BackendId(0))]);
}

#[test]
fn a_limit_counts_what_is_there_already() {
    let mut dispatcher = dispatcher("least-connections", &equal(2));
    assert_eq!(letters(&mut dispatcher, 6).len(), 6);
    dispatcher.limit(Limit::new(3, 2).unwrap()).unwrap();
    assert_eq!(letters(&mut dispatcher, 1), "-");
    for id in 0..2 {
        let backend = BackendId(id);
        dispatcher.observe(Event::Inherited { backend }, Time::ZERO);
    }
    (0..2).for_each(|_| complete(&mut dispatcher, 0));
    assert_eq!(letters(&mut dispatcher, 2), "A-");
}

/// With ten thousand backends that become full and come down all the time, a choice visits as many entries as with four.
#[test]
fn a_limit_among_ten_thousand_does_not_scan() {
    let visits = |policy: &str, backends: usize| {
        let mut dispatcher = limited(policy, &equal(backends), 4, 2);
        let mut stream = Stream::new(1, "cost", "ends");
        let (mut in_flight, mut refused) = (Vec::new(), 0);
        let before = dispatcher.table().visits();
        let requests = 8 * backends;
        for number in 0..requests as u64 {
            let now = Time(number * 1_000);
            match dispatcher.choose(&REQUEST, &[], now).forwarded_to() {
                Some(backend) => in_flight.push(backend),
                None => refused += 1,
            }
            if in_flight.len() > 3 * backends {
                let backend = in_flight.swap_remove(stream.below(in_flight.len()));
                dispatcher.observe(Event::Completed { backend, status: 200, bytes: 1, latency: Span(1) }, now);
            }
        }
        assert_eq!(refused, 0, "{policy}: there is room all the time");
        (dispatcher.table().visits() - before) as f64 / requests as f64
    };
    for policy in ["least-connections", "weighted-least-connections", "probabilistic-least-connections"] {
        assert!(visits(policy, 10_000) <= 100.0, "{policy}");
    }
}

#[test]
fn a_limit_that_no_one_can_keep_is_refused() {
    let right = |connections, returns| Limit::new(connections, returns).unwrap_err().to_string();
    assert_eq!(right(0, 0), "a limit of 0 connections: at least 1, or nothing would ever be served");
    assert_eq!(right(20, 20), "a limit of 20 with a return at 20: the lower mark is below the limit, at most 19");
    assert!(right(20, 30).contains("at most 19"));
    let blind = Signals::ADDRESS;
    let made = Dispatcher::new("round-robin", &equal(2), Information::Immediate, blind, 1, "dns");
    let refused = made.unwrap().limit(Limit::new(2, 1).unwrap()).unwrap_err().to_string();
    assert_eq!(
        refused,
        "a limit of 2 connections needs the end of each request (in-flight), which this face does not provide"
    );
}

/// Backends with limits of their own, one without any: none has more than it may have, and a replay makes the same choices.
#[test]
fn backends_may_have_limits_of_their_own() {
    let backends = equal(3);
    let limits = [Some(2), Some(5), None];
    for policy in ["round-robin", "haproxy(2.6, leastconn)", "power-of-d"] {
        let mut dispatcher =
            Dispatcher::new(policy, &backends, Information::Immediate, Signals::all(), 7, "front").expect(policy);
        for (id, most) in (0..).zip(limits) {
            let limit = most.map(|most| Limit::new(most, most - 1).unwrap());
            dispatcher.limit_of(BackendId(id), limit).unwrap();
        }
        let out = Shared::default();
        dispatcher.record_to(Box::new(out.clone()), Detail::Decisions).unwrap();
        let mut inside = [0_u32; 3];
        for _ in 0..60 {
            let to = dispatcher.choose(&REQUEST, &[], Time::ZERO).forwarded_to().expect("one takes any number");
            inside[to.0 as usize] += 1;
        }
        assert_eq!(inside, [2, 5, 53], "{policy}");
        complete(&mut dispatcher, 0);
        assert!(!dispatcher.table().is_full(BackendId(0)) && dispatcher.table().is_full(BackendId(1)), "{policy}");
        dispatcher.limit_of(BackendId(1), None).unwrap();
        assert!(!dispatcher.table().is_full(BackendId(1)), "{policy}");
        dispatcher.choose(&REQUEST, &[], Time::ZERO);
        dispatcher.finish_record().unwrap();
        assert_eq!(replay(&out.taken()[..]).unwrap().first_difference, None, "{policy}");
    }
}
