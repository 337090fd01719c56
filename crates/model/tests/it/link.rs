//! A wire carries whole messages one after another.

use sojourn_model::{Link, Wire};
use sojourn_stats::{Span, Time};

#[test]
fn messages_wait_for_the_wire_then_for_the_distance() {
    // 8 Mbit/s is a byte per microsecond.
    let mut wire = Wire::new(Link { delay: Span(500), rate: Some(8e6) });
    let first = wire.send(Time(0), 10);
    assert_eq!((first.starts, first.first_byte, first.arrives), (Time(0), Time(500), Time(10_500)));
    let second = wire.send(Time(4_000), 1);
    assert_eq!((second.starts, second.first_byte, second.arrives), (Time(10_000), Time(10_500), Time(11_500)));
    let idle = wire.send(Time(50_000), 1);
    assert_eq!((idle.starts, idle.arrives), (Time(50_000), Time(51_500)));
}

#[test]
fn without_a_rate_only_the_distance_counts() {
    let mut wire = Wire::new(Link { delay: Span(7), rate: None });
    for at in [3, 3, 4] {
        assert_eq!(wire.send(Time(at), 1_000_000).arrives, Time(at + 7));
    }
    assert!(Link { delay: Span::ZERO, rate: None }.is_instant());
}
