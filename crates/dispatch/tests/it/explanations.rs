//! What each candidate had to offer.

use sojourn_dispatch::record::{Detail, replay};
use sojourn_dispatch::{BackendId, Dispatcher, Event, Information, Signals};
use sojourn_stats::{Span, Time};

use crate::common::{REQUEST, Walk, dispatcher, equal, every_policy, weighted};
use crate::record::Shared;

#[test]
fn every_policy_explains_exactly_the_candidates_and_chooses_as_if_not_asked() {
    for policy in every_policy() {
        let backends = weighted(&[1.0, 2.0, 3.0, 4.0]);
        let (mut asked, mut unasked) = (dispatcher(policy, &backends), dispatcher(policy, &backends));
        for one in [&mut asked, &mut unasked] {
            one.observe(Event::Down { backend: BackendId(1) }, Time(0));
        }
        for turn in 0..50 {
            let explanation = asked.explain(&REQUEST, &[BackendId(2)], Time(turn));
            let ids: Vec<_> = explanation.candidates.iter().map(|candidate| candidate.backend.0).collect();
            assert_eq!(ids, [0, 3], "{policy}");
            assert!(explanation.candidates.iter().all(|candidate| !candidate.terms.is_empty()), "{policy}");
            let decisions = [&mut asked, &mut unasked].map(|one| one.choose(&REQUEST, &[], Time(turn)));
            assert_eq!(decisions[0], decisions[1], "{policy}");
        }
    }
}

#[test]
fn the_terms_decide() {
    // Of those policies that look for the least or the most of one term, the extreme of that term is chosen.
    for (policy, term, least) in [
        ("least-connections", "in_flight", true),
        ("weighted-least-connections", "in_flight_per_weight", true),
        ("round-trip", "round_trip_mean_s", true),
        ("transmitted-size", "bytes", true),
        ("round-robin", "turns_before", true),
        ("address-hash", "score", true),
        ("path-hash", "distance", true),
        ("lard", "in_flight", true),
    ] {
        let mut dispatcher = dispatcher(policy, &weighted(&[1.0, 2.0, 3.0, 1.5]));
        for id in 0..4 {
            let (backend, round_trip) = (BackendId(id), Span(u64::from(90 - 20 * id)));
            dispatcher.observe(Event::FirstByte { backend, round_trip }, Time(1));
            dispatcher.observe(Event::Transmitted { backend, bytes: u64::from(100 * (5 - id)) }, Time(1));
        }
        for client in 0..40 {
            let key = sojourn_dispatch::key(&client.to_string());
            let request = sojourn_dispatch::Request { client: key, key, ..REQUEST };
            let explanation = dispatcher.explain(&request, &[], Time(2));
            let value = |id: BackendId| {
                let candidate = explanation.candidates.iter().find(|candidate| candidate.backend == id);
                let terms = &candidate.expect("it is a candidate").terms;
                terms.iter().find(|(name, _)| name == term).expect(policy).1
            };
            let chosen = dispatcher.choose(&request, &[], Time(2)).forwarded_to().expect("all are up");
            let best = explanation.candidates.iter().map(|candidate| value(candidate.backend));
            let best = if least { best.fold(f64::INFINITY, f64::min) } else { best.fold(f64::NEG_INFINITY, f64::max) };
            assert_eq!(value(chosen), best, "{policy}: {}", explanation.in_words(dispatcher.table()));
        }
    }
}

#[test]
fn words_name_backends_and_terms() {
    let mut dispatcher = dispatcher("cookie(policy = least-connections(ties = first))", &equal(2));
    dispatcher.choose(&REQUEST, &[], Time(1));
    let request = sojourn_dispatch::Request { cookie: Some(BackendId(1)), ..REQUEST };
    let explanation = dispatcher.explain(&request, &[], Time(2));
    let words = explanation.in_words(dispatcher.table());
    assert_eq!(words, "s1: cookie 0, in_flight 1; s2: cookie 1, in_flight 0");
}

#[test]
fn a_record_explains_its_choices_where_it_is_asked_to() {
    for policy in every_policy() {
        let record = |detail| {
            let backends = weighted(&[1.0, 2.0, 3.0]);
            let made = Dispatcher::new(policy, &backends, Information::Immediate, Signals::GATEWAY, 7, "front");
            let mut dispatcher = made.expect(policy);
            let file = Shared::default();
            dispatcher.record_to(Box::new(file.clone()), detail).expect("memory takes it");
            let mut walk = Walk::new(11, &backends);
            for _ in 0..300 {
                walk.take(&mut dispatcher);
            }
            dispatcher.finish_record().expect("memory takes it");
            String::from_utf8(file.taken()).expect("JSON is text")
        };
        let (short, long) = (record(Detail::Decisions), record(Detail::Explained));
        assert!(!short.contains("explanation"), "{policy}");
        let choices = long.lines().filter(|line| line.starts_with("{\"choose\"")).count();
        assert_eq!(long.lines().filter(|line| line.contains("\"explanation\":{\"candidates\":[")).count(), choices);
        for text in [short, long] {
            let replayed = replay(text.as_bytes()).expect(policy);
            assert_eq!((replayed.first_difference, replayed.choices as usize), (None, choices), "{policy}");
        }
    }
}
