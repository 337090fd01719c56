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
fn a_span_is_written_exactly_and_shown_with_few_digits() {
    let cases = [
        (7, "7 ns", "7 ns"),
        (1_500, "1.5 us", "1.5 us"),
        (20_000_000, "20 ms", "20 ms"),
        (123_400_000, "123.4 ms", "123 ms"),
        (1_500_000_000, "1.5 s", "1.5 s"),
        (90_000_000_000, "90 s", "90 s"),
        (100_000_000_000, "100 s", "100 s"),
        (1_000_000_007, "1.000000007 s", "1 s"),
        (12_345_678, "12.345678 ms", "12.3 ms"),
        (0, "0 s", "0 s"),
    ];
    for (span, exact, short) in cases {
        assert_eq!(Span(span).to_string(), exact);
        assert_eq!(format!("{:.3}", Span(span)), short);
    }
}

#[test]
fn a_span_reads_back_what_it_wrote() {
    let mut span: u64 = 1;
    while span < 13 * 86_400 * 1_000_000_000 {
        for near in [span - 1, span, span + 1] {
            assert_eq!(Span(near).to_string().parse(), Ok(Span(near)), "{near}");
        }
        span += span / 7 + 1;
    }
    assert_eq!(Span::FOREVER.to_string().parse(), Ok(Span::FOREVER));
    assert_eq!("2 min".parse(), Ok(Span(120_000_000_000)));
    let error = "250".parse::<Span>().expect_err("no unit").to_string();
    assert!(error.starts_with("`250` has no unit: write e.g. `250 s` or `250 ms`"), "{error}");
}
