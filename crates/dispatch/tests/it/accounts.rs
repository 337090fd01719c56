//! What the receiver of reports makes of them, by hand: one backend's capacity and room, several backends as one.

use sojourn_dispatch::Report;
use sojourn_dispatch::reports::{Account, AsOne, Totals, earliest, phase};
use sojourn_stats::{Span, Time};

const fn ms(count: u64) -> u64 {
    count * 1_000_000
}

fn as_one(reports: &[Option<Report>]) -> AsOne {
    let served = |n: usize| Totals { completed: 10 + n as u64, bytes: 1000, ..Totals::default() };
    AsOne::of(reports.iter().map(Option::as_ref), (0..3).map(served), Time(7))
}

fn assert_near(what: &str, found: f32, due: f64) {
    assert!((f64::from(found) - due).abs() < 1e-6 * due.abs().max(1.0), "{what}: {found}, due {due}");
}

/// Backends of 100 and 300 requests per second, and one that has not reported or of which nothing is known, which counts as
/// their mean: 600 together, with 90 to spare. The larger one is three quarters of what is known, and so is its busy share; a
/// mean response time is over requests.
#[test]
fn several_backends_are_one_of_all_their_capacity() {
    let small =
        Report { in_flight: 3, cpu: 0.4, disk: 0.2, net: 0.0, room: 60.0, capacity: 100.0, ..Report::default() };
    let small = Report { requests: 40, latency: Some(Span(ms(10))), ..small };
    let large = Report { in_flight: 9, cpu: 1.0, disk: 0.6, net: 0.4, capacity: 300.0, ..Report::default() };
    let large = Report { requests: 10, latency: Some(Span(ms(110))), ..large };
    let unknown = Report { in_flight: 1, ..Report::default() };
    for (third, in_flight) in [(None, 12), (Some(unknown), 13)] {
        let AsOne { report, totals, is_empty } = as_one(&[Some(small.clone()), Some(large.clone()), third]);
        assert_near("capacity", report.capacity, 600.0);
        assert_near("room", report.room, 90.0);
        for (name, share, due) in [("cpu", report.cpu, 0.85), ("disk", report.disk, 0.5), ("net", report.net, 0.3)] {
            assert_near(name, share, due);
        }
        assert_eq!((report.in_flight, report.measured, report.latency), (in_flight, Time(7), Some(Span(ms(30)))));
        assert_eq!((totals.completed, totals.bytes, is_empty), (33, 3000, false));
    }
}

#[test]
fn where_no_capacity_is_known_all_backends_count_alike() {
    let busy = |cpu: f32| Some(Report { cpu, ..Report::default() });
    let one = as_one(&[busy(0.2), None, busy(0.8)]);
    assert_near("cpu", one.report.cpu, 0.5);
    assert_eq!((one.report.capacity, one.report.room, one.report.latency, one.is_empty), (0.0, 0.0, None, false));
    // Those that are up may all be silent yet; where none is up, what was done still counts.
    assert!(!as_one(&[None, None]).is_empty);
    let none = as_one(&[]);
    assert_eq!((none.is_empty, none.report, none.totals.completed), (true, Report::default(), 33));
}

/// 60 requests in 2 s by two cores that were half busy, 0.1 s each: 60 per second at most, and 30 to spare.
#[test]
fn an_account_knows_capacity_room_and_response_time() {
    let begun = Totals { arrived: 100, completed: 90, bytes: 5_000, stayed_ns: Some(1_000), busy_ns: Some((500, 900)) };
    let mut account = Account::new(Time(ms(1_000)), begun);
    let mut done = Totals { arrived: 161, completed: 150, bytes: 11_000, ..begun };
    done.stayed_ns = Some(1_000 + 60 * u128::from(ms(100)));
    done.busy_ns = Some((500 + u128::from(ms(2_000)), 900 + u128::from(ms(4_000))));
    let mut report = Report::of_in_flight(11, Time(ms(3_000)));
    account.understand(&mut report, &done, Span(ms(1_000)));
    assert_eq!((report.requests, report.bytes, report.latency), (60, 6_000, Some(Span(ms(100)))));
    assert_eq!((report.capacity, report.room, report.is_early), (60.0, 30.0, false));
    // What comes too early, or tells nothing of requests, repeats what was learned.
    let mut early = Report::of_in_flight(12, Time(ms(3_500)));
    account.understand(&mut early, &done, Span(ms(1_000)));
    assert_eq!((early.capacity, early.room, early.latency, early.is_early), (60.0, 30.0, report.latency, true));
    // Nothing comes out of a full backend: it can take no more, whatever it could once. Eight inside are no overload.
    for (second, inside, room) in [(5, 8, 60.0), (7, 9, 0.0), (9, 0, 60.0)] {
        let mut report = Report::of_in_flight(inside, Time(ms(1_000 * second)));
        account.understand(&mut report, &done, Span(ms(1_000)));
        assert_eq!((report.capacity, report.room), (60.0, room), "{inside} inside");
    }
    // After a restart its counters begin anew; what it can do stays known.
    account.restart(Time(ms(10_000)), Totals::default());
    let mut again = Report::of_in_flight(0, Time(ms(11_000)));
    let few = Totals { arrived: 20, completed: 20, bytes: 40, ..Totals::default() };
    account.understand(&mut again, &few, Span(ms(1_000)));
    assert_eq!((again.requests, again.bytes, again.capacity, again.room), (20, 40, 60.0, 40.0));
}

/// Of a backend that sums up others the numbers are differences; capacity and room are its own.
#[test]
fn what_a_front_node_did_is_the_difference_of_its_sums() {
    let done = |completed, bytes| Totals { completed, bytes, ..Totals::default() };
    let mut account = Account::new(Time::ZERO, done(100, 1_000));
    for (second, now, due) in [(1, done(130, 4_000), (30, 3_000)), (2, done(135, 4_100), (5, 100))] {
        let mut report = Report { measured: Time(ms(1_000 * second)), capacity: 70.0, room: 7.0, ..Report::default() };
        account.add_differences(&mut report, &now, Span(ms(1_000)));
        assert_eq!((report.requests, report.bytes, report.capacity, report.room), (due.0, due.1, 70.0, 7.0));
    }
}

#[test]
fn totals_add_up_reports() {
    let mut totals = Totals::default();
    let mut add = |requests, bytes| totals.add(&Report { requests, bytes, ..Report::default() });
    add(3, 30);
    add(4, 400);
    assert_eq!(totals, Totals { completed: 7, bytes: 430, ..Totals::default() });
}

/// Ticks of a real clock may seem a tenth early. Reporters of other names tell rates at other instants of each period: of a
/// hundred names ten tenths have some each (one is empty by chance once in 3,700 sets of names).
#[test]
fn reporters_are_spread_over_their_period() {
    assert_eq!(earliest(Span(ms(500))), Span(ms(450)));
    let tenths: Vec<u64> = (0..100).map(|n| phase(&format!("s{n}"), Span(ms(10_000))).0 / ms(1_000)).collect();
    assert!(tenths.iter().all(|tenth| *tenth < 10), "{tenths:?}");
    assert!((0..10).all(|tenth| tenths.contains(&tenth)), "{tenths:?}");
    assert_eq!(phase("s1", Span(ms(10_000))), phase("s1", Span(ms(10_000))));
}
