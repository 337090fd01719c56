//! What clients that an asker only claims to stand for take of a backend's room.

use sojourn_dispatch::record::{Detail, replay};
use sojourn_dispatch::{BackendId, Dispatcher, Information, Origin, Report, Request};
use sojourn_stats::{Span, Time};

use crate::common::{AT_DNS, REQUEST, equal};
use crate::record::Shared;

const A: BackendId = BackendId(0);
const LEASE: Span = Span(60);

/// One site of 1000 requests per second, of which these are free, and a hundred clients that ask for ten each.
fn site(policy: &str, room: f32) -> Dispatcher {
    let made = Dispatcher::new(policy, &equal(1), Information::Immediate, AT_DNS, 1, "claims");
    let mut dispatcher = made.expect(policy);
    let origin = Origin { address: Some([10, 0, 0, 1].into()), ..Origin::default() };
    dispatcher.set_origin(A, origin);
    report(&mut dispatcher, room, Time(1));
    for client in 0..100 {
        assert!(dispatcher.tell_rate(client, origin, 10.0, Time(1)));
    }
    dispatcher
}

fn report(dispatcher: &mut Dispatcher, room: f32, now: Time) {
    let report = Report { measured: now, room, capacity: 1000.0, ..Report::default() };
    assert!(dispatcher.report(A, &report, now));
}

/// The room that is left once `asker` has claimed to stand for these.
fn claim(dispatcher: &mut Dispatcher, asker: u64, clients: impl IntoIterator<Item = u64>, now: u64) -> f32 {
    for client in clients {
        let origin = Origin { address: Some([10, 0, 0, 2].into()), ..Origin::default() };
        let request = Request { client, origin, lease: Some(LEASE), claimed_by: Some(asker), ..REQUEST };
        assert_eq!(dispatcher.choose(&request, &[], Time(now)).chosen(), Some(A));
    }
    dispatcher.table().believed_room(A).expect("it has reported")
}

#[test]
fn a_client_that_is_claimed_again_counts_once_until_the_next_report() {
    for policy in ["nearest-with-room", "nearest-with-room(spill = free-capacity)", "busiest-to-largest"] {
        let mut dispatcher = site(policy, 500.0);
        assert!(dispatcher.tell_rate(7, Origin::default(), 30.0, Time(1)));
        assert_eq!(claim(&mut dispatcher, 1, [7; 200], 2), 470.0, "{policy}");
        assert_eq!(claim(&mut dispatcher, 2, [7; 200], 2), 470.0, "{policy}: whoever says so");
        report(&mut dispatcher, 400.0, Time(3));
        assert_eq!(claim(&mut dispatcher, 1, [7; 200], 4), 370.0, "{policy}: after a report it counts anew");
    }
    // One whose rate was told anew takes what it asks for more.
    let mut dispatcher = site("nearest-with-room", 500.0);
    assert_eq!(claim(&mut dispatcher, 1, [7], 2), 490.0);
    assert!(dispatcher.tell_rate(7, Origin::default(), 25.0, Time(3)));
    assert_eq!(claim(&mut dispatcher, 1, [7; 9], 4), 475.0);
    // A client that asks by itself was seen: each of its answers counts.
    let request =
        Request { client: 7, origin: Origin { address: Some([10, 0, 0, 2].into()), ..Origin::default() }, ..REQUEST };
    for _ in 0..3 {
        dispatcher.choose(&request, &[], Time(5));
    }
    assert_eq!(dispatcher.table().believed_room(A), Some(400.0));
}

#[test]
fn one_asker_takes_half_of_the_room_at_most() {
    for known in [true, false] {
        // Unknown clients count as the mean of those known.
        let clients = if known { 0..100 } else { 1_000..1_100 };
        let mut dispatcher = site("nearest-with-room", 200.0);
        assert_eq!(claim(&mut dispatcher, 1, clients.clone(), 2), 100.0);
        assert_eq!(claim(&mut dispatcher, 1, clients.clone().rev(), 3), 100.0);
        let of_another = if known { 100..101 } else { 2_000..2_001 };
        assert_eq!(claim(&mut dispatcher, 2, of_another, 3), 90.0, "another asker has a half of its own");
        report(&mut dispatcher, 100.0, Time(4));
        assert_eq!(claim(&mut dispatcher, 1, clients, 5), 50.0);
    }
}

#[test]
fn within_a_lease_a_client_counts_once_and_an_asker_takes_a_quarter() {
    let mut dispatcher = site("nearest-with-room(holds = lease)", 400.0);
    assert_eq!(claim(&mut dispatcher, 1, [7; 100], 10), 390.0);
    report(&mut dispatcher, 400.0, Time(20));
    assert_eq!(claim(&mut dispatcher, 1, [7; 100], 69), 390.0, "a report ends no lease");
    assert_eq!(claim(&mut dispatcher, 1, [7; 100], 70), 390.0, "the first has ended, and one more counts");
    assert_eq!(claim(&mut dispatcher, 1, 0..100, 75), 300.0);
    dispatcher.poll(Time(200));
    assert_eq!(dispatcher.table().believed_room(A), Some(400.0), "what was not taken is not given back");
}

#[test]
fn claims_are_recorded_and_replay() {
    let made = Dispatcher::new("nearest-with-room", &equal(1), Information::Immediate, AT_DNS, 1, "claims");
    let (mut dispatcher, lines) = (made.expect("a policy"), Shared::default());
    dispatcher.record_to(Box::new(lines.clone()), Detail::Decisions).expect("it records");
    report(&mut dispatcher, 100.0, Time(1));
    assert!(dispatcher.tell_rate(7, Origin::default(), 10.0, Time(1)));
    claim(&mut dispatcher, 1, [7, 7, 8, 9, 10, 11, 12, 13, 14], 2);
    dispatcher.finish_record().expect("it was written");
    let replayed = replay(&lines.taken()[..]).expect("a record");
    assert_eq!((replayed.choices, replayed.first_difference), (9, None));
}
