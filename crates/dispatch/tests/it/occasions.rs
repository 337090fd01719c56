//! When a backend reports: a considerable change, a heartbeat, an overload that begins or ends.

use sojourn_dispatch::reports::Occasion;
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
