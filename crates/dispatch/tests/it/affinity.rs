//! The same client to the same backend.

use sojourn_dispatch::{BackendId, Code, Dispatcher, Event, Information, Origin, Report, Request, Signals, key};
use sojourn_stats::Time;

use crate::common::{AT_DNS, assert_fits, dispatcher, equal, weighted};

const CLIENTS: u64 = 20_000;

fn homes(dispatcher: &mut Dispatcher) -> Vec<BackendId> {
    let mut home = |client: u64| {
        let request = Request { client: key(&client.to_string()), ..Request::default() };
        dispatcher.choose(&request, &[], Time::ZERO).forwarded_to().expect("some are up")
    };
    (0..CLIENTS).map(&mut home).collect()
}

#[test]
fn the_keys_are_pinned() {
    // FNV-1a, 64 bits: the published test vectors of its authors (Fowler, Noll, Vo) for "", "a" and "foobar".
    assert_eq!(key(""), 0xcbf2_9ce4_8422_2325);
    assert_eq!(key("a"), 0xaf63_dc4c_8601_ec8c);
    assert_eq!(key("foobar"), 0x8594_4171_f739_67e8);
}

#[test]
fn a_client_stays() {
    let mut dispatcher = dispatcher("address-hash", &equal(5));
    assert_eq!(homes(&mut dispatcher), homes(&mut dispatcher));
}

#[test]
fn only_the_clients_of_a_backend_that_goes_move() {
    for backends in [equal(6), weighted(&[1.0, 2.0, 3.0, 1.0, 2.0, 3.0])] {
        let mut dispatcher = dispatcher("address-hash", &backends);
        let gone = BackendId(2);
        let before = homes(&mut dispatcher);
        dispatcher.observe(Event::Down { backend: gone }, Time::ZERO);
        let during = homes(&mut dispatcher);
        for (was, is) in before.iter().zip(&during) {
            assert!(if *was == gone { *is != gone } else { is == was }, "{was:?} moved to {is:?}");
        }
        dispatcher.observe(Event::Joined { backend: gone }, Time::ZERO);
        assert_eq!(homes(&mut dispatcher), before);
        let new = dispatcher.join("new", 2.0, Time::ZERO).expect("a good weight");
        assert!(before.iter().zip(homes(&mut dispatcher)).all(|(&was, is)| is == was || is == new));
    }
}

#[test]
fn where_a_client_belongs_does_not_depend_on_the_order_of_the_list() {
    let names = |dispatcher: &mut Dispatcher| {
        let homes = homes(dispatcher);
        homes.into_iter().map(|id| dispatcher.table().name(id).to_owned()).collect::<Vec<_>>()
    };
    let (forth, mut back) = (weighted(&[1.0, 2.0, 3.0]), weighted(&[1.0, 2.0, 3.0]));
    back.reverse();
    assert_eq!(names(&mut dispatcher("address-hash", &forth)), names(&mut dispatcher("address-hash", &back)));
}

#[test]
fn shares_follow_the_weights() {
    for weights in [[1.0, 1.0, 1.0, 1.0], [1.0, 2.0, 3.0, 4.0]] {
        let mut counts = [0_u64; 4];
        for home in homes(&mut dispatcher("address-hash", &weighted(&weights))) {
            counts[home.0 as usize] += 1;
        }
        let total: f64 = weights.iter().sum();
        let cells = counts.into_iter().zip(weights).map(|(seen, weight)| (seen, CLIENTS as f64 * weight / total));
        assert_fits("address-hash", cells, 3.0);
    }
}

/// Who has no cookie is sent where the policy inside would send it alone, which is told of all that happens meanwhile.
#[test]
fn without_a_cookie_the_policy_inside_decides() {
    for inside in ["free-capacity", "busiest-to-largest", "nearest-with-room", "least-load", "round-robin"] {
        let signals = AT_DNS | Signals::COOKIE;
        let made = |policy: &str| {
            Dispatcher::new(policy, &equal(4), Information::Immediate, signals, 1, "test").expect("a known policy")
        };
        let mut both = [made(inside), made(&format!("cookie(policy = {inside})"))];
        for step in 0..400_u64 {
            let now = Time(step * 1_000_000);
            // Some order without a pattern.
            let draw = |of: u64| (step * 7919 + 13) % of;
            let room = [0.0, 10.0, 40.0, 90.0, 20.0][draw(5) as usize];
            let report = Report { measured: now, room, capacity: 100.0, ..Report::default() };
            let chosen = both.each_mut().map(|dispatcher| {
                dispatcher.report(BackendId(draw(4) as u32), &report, now);
                dispatcher.tell_rate(draw(9), Origin::default(), 1.0 + draw(11) as f64, now);
                let request = Request { client: draw(9), ..Request::default() };
                dispatcher.choose(&request, &[], now).chosen()
            });
            assert_eq!(chosen[0], chosen[1], "{inside} in step {step}");
        }
    }
}

#[test]
fn a_cookie_is_obeyed_while_its_backend_can_be_chosen() {
    let mut dispatcher = dispatcher("cookie(policy = round-robin)", &equal(4));
    let named = |cookie| Request { cookie: Some(BackendId(cookie)), ..Request::default() };
    for _ in 0..3 {
        let decision = dispatcher.choose(&named(2), &[], Time::ZERO);
        assert_eq!((decision.forwarded_to(), decision.reason.code), (Some(BackendId(2)), Code::Cookie));
    }
    let elsewhere = [
        dispatcher.choose(&named(99), &[], Time::ZERO), // no such backend: a cookie may say anything
        dispatcher.choose(&named(2), &[BackendId(2)], Time::ZERO), // tried already
    ];
    assert_eq!(elsewhere.map(|decision| decision.forwarded_to()), [Some(BackendId(0)), Some(BackendId(1))]);
    dispatcher.observe(Event::Draining { backend: BackendId(2) }, Time::ZERO);
    assert_eq!(dispatcher.choose(&named(2), &[], Time::ZERO).forwarded_to(), Some(BackendId(3)));
}
