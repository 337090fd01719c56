//! When a backend reports: a considerable change, a heartbeat, an overload that begins or ends.

use sojourn_dispatch::Report;
use sojourn_dispatch::reports::{Account, Occasion, Totals};
use sojourn_stats::{Span, Time};

#[test]
fn an_overload_begins_above_eight_for_each_core_and_ends_at_two() {
    for cores in [1, 4] {
        let mut occasion = Occasion::default();
        let mut turns = |inside: u32| occasion.has_turned(inside, cores);
        assert!(!turns(8 * cores), "{cores}: eight for each core are none");
        assert!(turns(8 * cores + 1), "{cores}: one more is");
        assert!(!turns(8 * cores + 9) && !turns(8 * cores) && !turns(2 * cores + 1), "{cores}: it lasts");
        assert!(turns(2 * cores), "{cores}: it is over");
        assert!(!turns(2 * cores + 1) && !turns(8 * cores), "{cores}: and comes again only above eight");
        assert!(turns(8 * cores + 1) && occasion.is_overloaded());
    }
}

#[test]
fn a_report_is_due_when_the_busy_share_has_changed_or_a_heartbeat_has_passed() {
    let (heartbeat, second) = (Span(4_000_000_000), |number: u64| Time(number * 1_000_000_000));
    let mut occasion = Occasion::default();
    assert!(occasion.is_due(0.0, heartbeat, second(0)), "the first one");
    occasion.told(0.5, second(1));
    assert!(!occasion.is_due(0.55, heartbeat, second(4)) && !occasion.is_due(0.45, heartbeat, second(4)));
    assert!(occasion.is_due(0.625, heartbeat, second(2)) && occasion.is_due(0.375, heartbeat, second(2)));
    assert!(occasion.is_due(0.5, heartbeat, second(5)));
}

#[test]
fn the_last_backend_is_lost_once() {
    let mut occasion = Occasion::default();
    assert_eq!([false, true, true, false].map(|is_empty| occasion.has_emptied(is_empty)), [false, true, false, true]);
}

/// An alarm comes between two ticks: too soon to tell a rate, and so no news of the room.
#[test]
fn what_comes_between_two_ticks_tells_no_new_room() {
    let second = |seconds: f64| Time((seconds * 1e9) as u64);
    let done = |completed| Totals { arrived: completed, completed, ..Totals::default() };
    let every = Span(1_000_000_000);
    let (mut server, mut front) = (Account::new(Time::ZERO, done(0)), Account::new(Time::ZERO, done(0)));
    for (at, is_early) in [(1.0, false), (1.3, true), (1.9, true), (2.0, false), (2.2, true), (3.5, false)] {
        let report = || Report { measured: second(at), in_flight: 5, ..Report::default() };
        let (mut of_server, mut of_front) = (report(), report());
        server.understand(&mut of_server, &done((at * 100.0) as u64), every);
        front.add_differences(&mut of_front, &done((at * 100.0) as u64), every);
        assert_eq!((of_server.is_early, of_front.is_early), (is_early, is_early), "{at} s");
        // What was done is told at once, by those who add up.
        assert!(of_front.requests > 0, "{at} s");
    }
}
