//! Quantities: read, refused, written.

use sojourn_stats::Dimension::{self, Bandwidth, Number, Rate, Size, Time, TimePerSize};
use sojourn_stats::quantity::{format, known_units, parse, parse_any, unit};

#[test]
fn units_are_read() {
    let cases = [
        (Time, "10 ns", 1e-8),
        (Time, "10us", 1e-5),
        (Time, " 1.1 ms ", 0.0011),
        (Time, ".5 s", 0.5),
        (Time, "2 min", 120.0),
        (Time, "1e-1 h", 360.0),
        (Time, "0 s", 0.0),
        (Size, "5 kB", 5000.0),
        (Size, "1.5 MB", 1.5e6),
        (Size, "1 GB", 1e9),
        (Size, "2 KiB", 2048.0),
        (Size, "1 MiB", 1048576.0),
        (Size, "1 GiB", 1073741824.0),
        (Rate, "374 /s", 374.0),
        (Rate, "374/s", 374.0),
        (Rate, "2 /ms", 2000.0),
        (Rate, "30 /min", 0.5),
        (Rate, "3600 /h", 1.0),
        (TimePerSize, "1 us/B", 1e-6),
        (TimePerSize, "80 ns/kB", 8e-11),
        (TimePerSize, "1 s/MB", 1e-6),
        (Bandwidth, "10 Mbit/s", 1e7),
        (Bandwidth, "1 Gbit/s", 1e9),
        (Number, "70%", 0.7),
        (Number, "-2.5e3", -2500.0),
        (Number, "+3", 3.0),
    ];
    for (dimension, text, value) in cases {
        assert_eq!(parse(text, dimension), Ok(value), "{text}");
        assert_eq!(parse_any(text), Ok((value, dimension)), "{text}");
    }
    assert_eq!(unit("ms", Time), Ok(1e-3));
}

#[test]
fn errors_say_what_would_be_right() {
    let times = "(known: ns, us, ms, s, min, h)";
    let sizes = "(known: B, kB, MB, GB, KiB, MiB, GiB)";
    let cases = [
        (Time, "10", format!("`10` has no unit: write e.g. `10 s` or `10 ms` {times}")),
        (Time, "250", format!("`250` has no unit: write e.g. `250 s` or `250 ms` {times}")),
        (Time, "10 sec", format!("`10 sec`: `sec` is not a unit of a time; did you mean `10 s`? {times}")),
        (Time, "10 Ms", format!("`10 Ms`: `Ms` is not a unit of a time; did you mean `10 ms`? {times}")),
        (Time, "10 fortnights", format!("`10 fortnights`: `fortnights` is not a unit of a time {times}")),
        (Time, "10 kB", format!("`10 kB` is a size where a time is expected: write e.g. `10 s` or `10 ms` {times}")),
        (Size, "5 kb", format!("`5 kb`: `kb` is not a unit of a size; did you mean `5 kB`? {sizes}")),
        (
            Bandwidth,
            "10 Mbps",
            "`10 Mbps`: `Mbps` is not a unit of a bandwidth; did you mean `10 Mbit/s`? \
          (known: bit/s, kbit/s, Mbit/s, Gbit/s)"
                .into(),
        ),
        (Rate, "374", "`374` has no unit: write e.g. `374 /s` (known: /s, /ms, /min, /h)".into()),
        (Number, "10 ms", "`10 ms` is a time where a bare number is expected: write `10`".into()),
        (Time, "ms", "`ms` is not a time: write e.g. `10 s` or `10 ms`".into()),
        (Time, "1e999 s", "`1e999 s` is not a time: write e.g. `10 s` or `10 ms`".into()),
        (Number, "inf", "`inf` is not a number: write e.g. `10`".into()),
        (Time, "-10 ms", "`-10 ms` is negative; a time is not".into()),
        (Number, "µ", "`µ` is not a number: write e.g. `10`".into()),
    ];
    for (dimension, text, message) in cases {
        assert_eq!(parse(text, dimension).expect_err(text).to_string(), message);
    }
    assert_eq!(parse_any("10 kBs").expect_err("unit").to_string(), "`10 kBs`: `kBs` is not a unit; did you mean `kB`?");
}

#[test]
fn what_is_written_reads_back() {
    assert_eq!(format(0.01, Time), "10 ms");
    assert_eq!(format(90.0, Time), "90 s");
    assert_eq!(format(0.0, Time), "0 s");
    assert_eq!(format(2500.0, Size), "2.5 kB");
    assert_eq!(format(1e7, Bandwidth), "10 Mbit/s");
    assert_eq!(format(0.7, Number), "0.7");
    let dimensions = [Time, Size, Rate, TimePerSize, Bandwidth, Number];
    for dimension in dimensions {
        let mut value: f64 = 1e-13;
        while value < 1e13 {
            let text = format(value, dimension);
            assert_eq!(parse(&text, dimension), Ok(value), "{text}");
            value *= 1.37;
        }
    }
    assert_eq!(known_units(Dimension::Time), ["ns", "us", "ms", "s", "min", "h"]);
    assert!(known_units(Number).is_empty());
}
