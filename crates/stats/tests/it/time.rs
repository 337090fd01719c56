//! Integer time: rounding, saturation, display.

use std::time::Duration;

use sojourn_stats::{Span, Time};

#[test]
fn seconds_round_to_the_nanosecond() {
    assert_eq!(Span::from_secs_f64(1.5e-9), Span(2));
    assert_eq!(Span::from_secs_f64(0.1), Span(100_000_000));
    assert_eq!(Span::from_secs_f64(-1.0), Span::ZERO);
    assert_eq!(Span::from_secs_f64(f64::NAN), Span::ZERO);
    assert_eq!(Span::from_secs_f64(1e12), Span::FOREVER);
    assert_eq!(Time::from_secs_f64(2.0).as_secs_f64(), 2.0);
    assert_eq!(Span::from(Duration::from_millis(3)).as_std(), Duration::from_millis(3));
}

#[test]
fn arithmetic_saturates_upwards_and_never_runs_backwards() {
    assert_eq!(Time(5) + Span(7), Time(12));
    assert_eq!(Time::NEVER + Span(1), Time::NEVER);
    assert_eq!(Time(12) - Time(5), Span(7));
    assert_eq!(Time(5).saturating_since(Time(12)), Span::ZERO);
    assert_eq!(Span(3) * 4, Span(12));
    assert_eq!(Span::FOREVER * 2, Span::FOREVER);
    assert_eq!([Span(1), Span(2)].into_iter().sum::<Span>(), Span(3));
}

#[test]
#[should_panic(expected = "time never runs backwards")]
fn an_earlier_instant_minus_a_later_one_is_a_bug() {
    let _ = Time(5) - Time(12);
}

#[test]
fn spans_are_shown_with_three_digits() {
    let cases = [
        (7, "7 ns"),
        (1_500, "1.5 us"),
        (20_000_000, "20 ms"),
        (123_400_000, "123 ms"),
        (1_500_000_000, "1.5 s"),
        (0, "0 ns"),
    ];
    for (span, shown) in cases {
        assert_eq!(Span(span).to_string(), shown);
    }
}
