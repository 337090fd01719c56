//! Policies that read free capacity and capacity from reports, and no place.

use sojourn_dispatch::{BackendId, Code, Dispatcher, Event, Information, Report, Request, Signals};
use sojourn_stats::{Span, Stream, Time};

use crate::common::{AT_DNS, OF_SITES, REQUEST, assert_fits, dispatcher, equal, letters, weighted};

const DRAWS: u64 = 100_000;

fn told(policy: &str, backends: &[(String, f64)]) -> Dispatcher {
    let made = Dispatcher::new(policy, backends, Information::Immediate, AT_DNS | Signals::IN_FLIGHT, 1, "rooms");
    made.unwrap_or_else(|error| panic!("{error}"))
}

/// Each backend reports room and capacity; none where it reports nothing.
fn report(dispatcher: &mut Dispatcher, said: &[Option<(f32, f32)>], now: Time) {
    for (id, said) in said.iter().enumerate() {
        if let Some((room, capacity)) = *said {
            let report = Report { measured: now, room, capacity, ..Report::default() };
            assert!(dispatcher.report(BackendId(id as u32), &report, now));
        }
    }
}

/// Asserts that backends are drawn with these chances.
fn assert_drawn(dispatcher: &mut Dispatcher, tried: &[BackendId], chances: &[f64]) {
    let total: f64 = chances.iter().sum();
    let mut counts = vec![0_u64; chances.len()];
    for _ in 0..DRAWS {
        let decision = dispatcher.choose(&REQUEST, tried, Time(9));
        let chosen = decision.forwarded_to().expect("some can be chosen").0 as usize;
        assert!((decision.reason.value - chances[chosen] / total).abs() < 1e-9, "{chosen}: {:?}", decision.reason);
        counts[chosen] += 1;
    }
    let possible: Vec<usize> = (0..chances.len()).filter(|at| chances[*at] > 0.0).collect();
    let cells = possible.iter().map(|at| (counts[*at], DRAWS as f64 * chances[*at] / total));
    assert_fits("weighted", cells, (possible.len() - 1).max(1) as f64);
}

#[test]
fn weighted_draws_by_weight() {
    let mut by_weight = dispatcher("weighted", &weighted(&[3.0, 0.0, 1.0, 0.5, 2.0]));
    assert_drawn(&mut by_weight, &[], &[3.0, 0.0, 1.0, 0.5, 2.0]);
    assert_drawn(&mut by_weight, &[BackendId(0)], &[0.0, 0.0, 1.0, 0.5, 2.0]);
    by_weight.observe(Event::Down { backend: BackendId(4) }, Time(10));
    assert_drawn(&mut by_weight, &[], &[3.0, 0.0, 1.0, 0.5, 0.0]);
    let nothing = dispatcher("weighted", &weighted(&[0.0, 0.0])).choose(&REQUEST, &[], Time(1));
    assert_eq!(nothing.reason.code, Code::NoBackend);
}

#[test]
fn weighted_draws_by_free_capacity() {
    for policy in ["weighted(by = free-capacity)", "remaining-capacity", "busiest-to-largest"] {
        let mut drawn = told(policy, &weighted(&[1.0, 3.0, 0.0, 1.0]));
        assert_drawn(&mut drawn, &[], &[1.0, 3.0, 0.0, 1.0]); // nothing reported: weights
        let known = [Some((30.0, 90.0)), Some((0.0, 50.0)), Some((60.0, 70.0)), None];
        report(&mut drawn, &known, Time(1));
        assert_drawn(&mut drawn, &[], &[30.0, 0.0, 60.0, 30.0]); // the last one as the mean of the others
        assert_drawn(&mut drawn, &[BackendId(2)], &[30.0, 0.0, 0.0, 15.0]);
        let full = [Some((0.0, 90.0)), Some((0.0, 50.0)), Some((0.0, 10.0)), None];
        report(&mut drawn, &full, Time(2));
        assert_drawn(&mut drawn, &[], &[0.0, 0.0, 0.0, 1.0]); // only it may have room
        assert_drawn(&mut drawn, &[BackendId(3)], &[90.0, 50.0, 10.0, 0.0]);
        report(&mut drawn, &[None, None, None, Some((0.0, 150.0))], Time(3));
        assert_drawn(&mut drawn, &[], &[90.0, 50.0, 10.0, 150.0]);
        drawn.observe(Event::Down { backend: BackendId(0) }, Time(10));
        assert_drawn(&mut drawn, &[], &[0.0, 50.0, 10.0, 150.0]);
    }
}

#[test]
fn least_load_uses_the_smallest_share_of_its_capacity() {
    let mut least = told("least-load", &equal(4));
    report(&mut least, &[Some((30.0, 90.0)), Some((10.0, 20.0)), Some((99.0, 200.0)), Some((0.0, 500.0))], Time(1));
    for _ in 0..20 {
        let decision = least.choose(&REQUEST, &[], Time(2));
        assert_eq!((decision.forwarded_to(), decision.reason.value), (Some(BackendId(1)), 0.5));
    }
    assert_eq!(least.choose(&REQUEST, &[BackendId(1)], Time(2)).forwarded_to(), Some(BackendId(2)));
    report(&mut least, &[Some((45.0, 90.0)), None, None, None], Time(3));
    let decision = least.choose(&REQUEST, &[], Time(4));
    assert!(decision.reason.ties == 2 && [BackendId(0), BackendId(1)].contains(&decision.chosen().expect("two tie")));
    let mut first = told("least-load(ties = first)", &equal(3));
    report(&mut first, &[Some((10.0, 90.0)), None, None], Time(1));
    assert_eq!(letters(&mut first, 3), "BBB", "one that has not reported counts as idle");
}

#[test]
fn free_capacity_takes_turns_by_what_is_free() {
    let mut turns = told("free-capacity", &weighted(&[2.0, 1.0, 1.0]));
    assert_eq!(letters(&mut turns, 8), "ABCAABCA", "weights before the first report");
    let mut turns = told("free-capacity", &equal(3));
    report(&mut turns, &[Some((50.0, 90.0)), Some((10.0, 90.0)), Some((10.0, 90.0))], Time(1));
    assert_eq!(letters(&mut turns, 7), "AABACAA", "nginx's order of weights 5, 1, 1");
    report(&mut turns, &[Some((0.0, 90.0)), Some((10.0, 90.0)), Some((10.0, 90.0))], Time(2));
    assert_eq!(letters(&mut turns, 4), "BCBC");
    report(&mut turns, &[None, Some((0.0, 90.0)), Some((0.0, 90.0))], Time(3));
    let none_free = letters(&mut turns, 300);
    assert!("ABC".chars().all(|one| none_free.matches(one).count() == 100), "all are full: by capacity");
    let mut turns = told("free-capacity", &equal(3));
    report(&mut turns, &[Some((30.0, 90.0)), Some((60.0, 90.0)), None], Time(1));
    let one_unknown = letters(&mut turns, 900);
    let counts = ["A", "B", "C"].map(|one| one_unknown.matches(one).count());
    assert_eq!(counts, [200, 400, 300], "one that has not reported counts as the mean of the others");
}

/// nginx's smooth weighted round robin by its definition: every value grows by its weight, the first of the largest is chosen
/// and falls by the sum. Whole numbers, so that nothing is rounded.
#[test]
fn turns_by_what_is_free_are_those_of_the_definition() {
    const BACKENDS: usize = 37;
    let mut stream = Stream::new(1, "turns", "by definition");
    let mut turns = told("free-capacity", &equal(BACKENDS));
    let (mut values, mut up) = ([0.0; BACKENDS], [true; BACKENDS]);
    let mut rooms: Vec<f32> = (0..BACKENDS).map(|_| stream.below(50) as f32).collect();
    let all: Vec<_> = rooms.iter().map(|room| Some((*room, 50.0))).collect();
    report(&mut turns, &all, Time(1));
    for step in 2..20_000 {
        let (now, at) = (Time(step), stream.below(BACKENDS));
        match stream.below(20) {
            0 => {
                rooms[at] = stream.below(50) as f32;
                let report = Report { measured: now, room: rooms[at], capacity: 50.0, ..Report::default() };
                assert!(turns.report(BackendId(at as u32), &report, now));
            }
            1 if up.iter().filter(|up| **up).count() > 9 || !up[at] => {
                let backend = BackendId(at as u32);
                up[at] = !up[at];
                turns.observe(if up[at] { Event::Joined { backend } } else { Event::Down { backend } }, now);
            }
            _ => {}
        }
        let retries = stream.below(10) == 0;
        let tried: Vec<BackendId> = retries.then(|| BackendId(stream.below(BACKENDS) as u32)).into_iter().collect();
        let left: Vec<usize> = (0..BACKENDS).filter(|at| up[*at] && !tried.contains(&BackendId(*at as u32))).collect();
        let share = |at: &usize| f64::from(rooms[*at]);
        left.iter().for_each(|at| values[*at] += share(at));
        let larger = |one: usize, next: usize| if values[next] > values[one] { next } else { one };
        let best = left.iter().copied().filter(|at| share(at) > 0.0).reduce(larger).expect("some have room");
        values[best] -= left.iter().map(share).sum::<f64>();
        let chosen = turns.choose(&REQUEST, &tried, now).forwarded_to();
        assert_eq!(chosen, Some(BackendId(best as u32)), "step {step}, {tried:?} tried");
    }
}

/// A share that is off by d is off by d u / (1 - u) after the next report, on the other side: with exact reports two equal
/// backends come together below a utilisation of one half, and swing apart above.
#[test]
fn a_share_by_free_capacity_is_steady_below_one_half_only() {
    const CHOICES: u32 = 10_000; // between two reports
    let swing_after = |reports: u64, utilisation: f32| {
        let mut turns = told("free-capacity", &equal(2));
        let capacity = CHOICES as f32 / (2.0 * utilisation);
        let mut first = 0.51 * CHOICES as f32;
        for now in 1..=reports {
            let room = [first, CHOICES as f32 - first].map(|served| Some((capacity - served, capacity)));
            report(&mut turns, &room, Time(now));
            let chosen =
                (0..CHOICES).filter(|_| turns.choose(&REQUEST, &[], Time(now)).forwarded_to() == Some(BackendId(0)));
            first = chosen.count() as f32;
        }
        f64::from(first / CHOICES as f32 - 0.5)
    };
    for utilisation in [0.3, 0.45, 0.55, 0.6] {
        for reports in [1, 2, 5] {
            let gain = -f64::from(utilisation / (1.0 - utilisation));
            let expected = 0.01 * gain.powi(reports as i32);
            let found = swing_after(reports, utilisation);
            // Each round is off by a choice at most, which grows as the rest does.
            let rounding = (1.0 + gain.abs()).powi(reports as i32) / f64::from(CHOICES);
            assert!((found - expected).abs() < rounding, "{utilisation}, {reports}: {found}, expected {expected}");
        }
    }
}

#[test]
fn the_busiest_clients_get_the_largest_with_room() {
    let mut policy = told("busiest-to-largest", &equal(3));
    report(&mut policy, &[Some((30.0, 90.0)), Some((9.0, 200.0)), Some((50.0, 60.0))], Time(1));
    for (client, rate) in [(1, 1.0), (2, 8.0), (3, 8.5), (4, 2.5)] {
        assert!(policy.tell_rate(client, Default::default(), rate, Time(1)));
    }
    assert_eq!(policy.clients().mean_rate(), Some(5.0));
    let mut ask = |client| policy.choose(&Request { client, ..REQUEST }, &[], Time(2));
    assert_eq!(ask(2).forwarded_to(), Some(BackendId(1)), "the largest has room for 8 of 9");
    assert_eq!(ask(3).forwarded_to(), Some(BackendId(0)), "and 1 is left");
    assert_eq!(ask(4).reason.code, Code::Drawn, "not one of the busiest");
    assert_eq!(ask(77).reason.code, Code::Drawn, "unknown");
    policy.observe(Event::Cancelled { backend: BackendId(1), after: Span::ZERO }, Time(3));
    assert!(policy.tell_rate(3, Default::default(), 70.0, Time(3)));
    assert_eq!(policy.choose(&Request { client: 3, ..REQUEST }, &[], Time(4)).reason.code, Code::Drawn, "for 70");
}

#[test]
fn the_largest_with_room_is_that_of_the_definition() {
    const BACKENDS: usize = 37;
    let mut stream = Stream::new(1, "largest", "by definition");
    let mut policy = told("busiest-to-largest", &equal(BACKENDS));
    for (client, rate) in [(1, 0.0), (2, 20.0)] {
        assert!(policy.tell_rate(client, Default::default(), rate, Time(1)));
    }
    let (mut chosen_by_capacity, mut refusals) = (0, 0);
    for step in 2..5_000 {
        let said: Vec<(f32, f32)> =
            (0..BACKENDS).map(|_| (stream.below(28) as f32, 100.0 * stream.below(4) as f32)).collect();
        // Sometimes only three have room, or none of those that are known.
        let few = |at: usize| if step % 3 == 0 && at > 2 { (0.0, 1.0 + said[at].1) } else { said[at] };
        let said: Vec<_> = (0..BACKENDS).map(few).collect();
        report(&mut policy, &said.iter().copied().map(Some).collect::<Vec<_>>(), Time(step));
        let tried = if step % 5 == 0 { vec![BackendId(stream.below(BACKENDS) as u32)] } else { Vec::new() };
        let open =
            |at: &usize| !tried.contains(&BackendId(*at as u32)) && (said[*at].0 > 20.0 || said[*at] == (0.0, 0.0));
        let largest = (0..BACKENDS).filter(open).map(|at| said[at].1).reduce(f32::max);
        let tied: Vec<usize> = (0..BACKENDS).filter(open).filter(|at| Some(said[*at].1) == largest).collect();
        let decision = policy.choose(&Request { client: 2, ..REQUEST }, &tried, Time(step));
        if tied.is_empty() {
            assert_eq!(decision.reason.code, Code::Drawn, "step {step}");
            refusals += 1;
        } else {
            let chosen = decision.forwarded_to().expect("some has room").0 as usize;
            let reason = (decision.reason.code, decision.reason.ties as usize, decision.reason.value as f32);
            assert_eq!(reason, (Code::LargestCapacity, tied.len(), said[tied[0]].1), "step {step}");
            assert!(tied.contains(&chosen), "step {step}");
            chosen_by_capacity += 1;
        }
    }
    assert!(chosen_by_capacity > 1_000 && refusals > 100, "both were seen: {chosen_by_capacity}, {refusals}");
}

#[test]
fn room_that_is_overdrawn_is_none() {
    // Requests held until a report may take more than there is.
    let mut policy = told("nearest-with-room(probes = true)", &equal(1));
    report(&mut policy, &[Some((3.0, 10.0))], Time(1));
    assert!(policy.tell_rate(1, Default::default(), 2.0, Time(1)));
    let codes: Vec<Code> = (0..3).map(|_| policy.choose(&REQUEST, &[], Time(2)).reason.code).collect();
    assert_eq!(codes, [Code::Drawn; 3], "nothing is known of places");
    assert_eq!(policy.table().believed_room(BackendId(0)), Some(1.0), "only the first had room");
    let mut spilling = told("nearest-with-room(spill = free-capacity)", &equal(1));
    report(&mut spilling, &[Some((3.0, 10.0))], Time(1));
    assert!(spilling.tell_rate(1, Default::default(), 2.0, Time(1)));
    for _ in 0..3 {
        spilling.choose(&REQUEST, &[], Time(2));
    }
    assert_eq!(spilling.table().believed_room(BackendId(0)), Some(-3.0));
    report(&mut spilling, &[Some((5.0, 10.0))], Time(3));
    assert_eq!(spilling.table().believed_room(BackendId(0)), Some(5.0));
}

#[test]
fn what_holds_for_every_policy_holds_for_those_of_sites() {
    for policy in OF_SITES {
        let ask = |dispatcher: &mut Dispatcher, tried: &[BackendId]| {
            dispatcher
                .choose(&Request { lease: Some(sojourn_stats::Span(5)), ..REQUEST }, tried, Time(1))
                .forwarded_to()
        };
        let fresh = || {
            let made = Dispatcher::new(policy, &equal(6), Information::Immediate, AT_DNS, 1, "rooms");
            let mut dispatcher = made.expect(policy);
            report(&mut dispatcher, &[Some((3.0, 9.0)), None, Some((0.0, 9.0)), Some((9.0, 9.0))], Time(1));
            dispatcher
        };
        let mut tried = Vec::new();
        let mut retried = fresh();
        while let Some(id) = ask(&mut retried, &tried) {
            assert!(!tried.contains(&id), "{policy} chose {id:?} again");
            tried.push(id);
        }
        assert_eq!(tried.len(), 6, "{policy} gave up early");
        let mut some_down = fresh();
        some_down.observe(Event::Draining { backend: BackendId(0) }, Time(1));
        some_down.observe(Event::Down { backend: BackendId(3) }, Time(1));
        some_down.observe(Event::Left { backend: BackendId(4) }, Time(1));
        for _ in 0..200 {
            let chosen = ask(&mut some_down, &[]).expect("three are up").0;
            assert!([1, 2, 5].contains(&chosen), "{policy} chose {chosen}");
        }
        let explanation = some_down.explain(&REQUEST, &[BackendId(2)], Time(1));
        let ids: Vec<_> = explanation.candidates.iter().map(|candidate| candidate.backend.0).collect();
        assert!(ids == [1, 5] && explanation.candidates.iter().all(|one| !one.terms.is_empty()), "{policy}");
        let (mut asked, mut unasked) = (fresh(), fresh());
        for turn in 0..50 {
            asked.explain(&REQUEST, &[], Time(turn));
            assert_eq!(ask(&mut asked, &[]), ask(&mut unasked, &[]), "{policy}: to be asked why changes nothing");
        }
        for backends in [0, 1] {
            let made = Dispatcher::new(policy, &equal(backends), Information::Immediate, AT_DNS, 1, "rooms");
            let mut empty = made.expect(policy);
            if backends == 1 {
                empty.observe(Event::Down { backend: BackendId(0) }, Time(1));
            }
            let decision = empty.choose(&REQUEST, &[], Time(1));
            assert_eq!((decision.forwarded_to(), decision.reason.code), (None, Code::NoBackend), "{policy}");
        }
    }
}

#[test]
fn a_face_that_tells_less_is_refused() {
    let refusal = |policy: &str, missing: Signals| {
        let made = Dispatcher::new(policy, &equal(2), Information::Immediate, AT_DNS.difference(missing), 1, "rooms");
        made.expect_err(policy).to_string()
    };
    for (policy, missing, words) in [
        ("weighted(by = free-capacity)", Signals::ROOM, "(room)"),
        ("nearest", Signals::ORIGIN, "where requests come from and where backends are (origin)"),
        ("nearest", Signals::ROUND_TRIPS, "(round-trips)"),
        ("nearest-with-room", Signals::CLIENT_RATES, "(client-rates)"),
        ("nearest-with-room", Signals::REPORTS, "(reports)"),
        ("nearest-with-room(probes = false, holds = lease)", Signals::LEASES, "how long each answer is kept (leases)"),
        ("least-load", Signals::ROOM, "(room)"),
        ("busiest-to-largest", Signals::CLIENT_RATES, "(client-rates)"),
        ("free-capacity", Signals::ROOM, "(room)"),
        ("remaining-capacity", Signals::REPORTS, "(reports)"),
    ] {
        assert!(refusal(policy, missing).contains(words), "{}", refusal(policy, missing));
    }
    let by_address = Signals::ORIGIN | Signals::REPORTS | Signals::ROOM;
    let made =
        Dispatcher::new("nearest-with-room(probes = false)", &equal(2), Information::Immediate, by_address, 1, "");
    assert_eq!(made.expect("no more is needed").requires(), by_address);
    assert!(refusal("nearest(bits = 0)", Signals::empty()).contains("bits is a whole number from 1 to 32"));
    assert!(refusal("nearest-with-room(spill = all)", Signals::empty()).contains("`next-nearest` or `free-capacity`"));
    assert!(refusal("weighted(by = load)", Signals::empty()).contains("it is `weight` or `free-capacity`"));
}
