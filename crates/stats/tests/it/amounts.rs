//! Amounts: what they print reads back, in text and in files.

use serde::{Deserialize, Serialize};
use sojourn_stats::{Bandwidth, Bytes, PerSecond, Span};

#[test]
fn amounts_print_the_shortest_text_that_reads_back() {
    let sizes = [
        (0, "0 B"),
        (999, "999 B"),
        (1024, "1 KiB"),
        (10_000, "10 kB"),
        (1_048_576, "1 MiB"),
        (1_500_000, "1.5 MB"),
        (1_536_000, "1.536 MB"),
        (6 << 30, "6 GiB"),
        (12_345_678_901, "12.345678901 GB"),
    ];
    for (bytes, text) in sizes {
        assert_eq!(Bytes(bytes).to_string(), text);
        assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
    }
    assert_eq!("2.5 kB".parse(), Ok(Bytes(2500)));
    assert_eq!(PerSecond(374.0).to_string(), "374 /s");
    assert_eq!("374/s".parse(), Ok(PerSecond(374.0)));
    assert_eq!(Bandwidth(1e7).to_string(), "10 Mbit/s");
    assert_eq!("1.5 Gbit/s".parse(), Ok(Bandwidth(1.5e9)));
    let error = "5 kb".parse::<Bytes>().expect_err("unit").to_string();
    assert!(error.contains("did you mean `5 kB`?"), "{error}");
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Settings {
    every: Span,
    wait: Option<Span>,
    body: Bytes,
    rate: PerSecond,
    link: Bandwidth,
}

#[test]
fn files_have_amounts_as_text() {
    let settings = Settings {
        every: Span(250_000_000),
        wait: None,
        body: Bytes(1 << 20),
        rate: PerSecond(374.0),
        link: Bandwidth(1e7),
    };
    let text = toml::to_string(&settings).expect("it is written");
    assert_eq!(text, "every = \"250 ms\"\nbody = \"1 MiB\"\nrate = \"374 /s\"\nlink = \"10 Mbit/s\"\n");
    assert_eq!(toml::from_str::<Settings>(&text).expect("it is read"), settings);
    for bare in ["250", "250.0"] {
        let error = toml::from_str::<Settings>(&text.replace("\"250 ms\"", bare)).expect_err("no unit").to_string();
        assert!(error.contains("` has no unit: write e.g. `250"), "{error}");
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Recorded {
    #[serde(with = "sojourn_stats::nanoseconds")]
    took: Span,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "sojourn_stats::nanoseconds")]
    lease: Option<Span>,
}

#[test]
fn records_have_spans_as_numbers() {
    let cases = [
        (Recorded { took: Span(7), lease: None }, "{\"took\":7}"),
        (Recorded { took: Span(u64::MAX), lease: Some(Span(9)) }, "{\"took\":18446744073709551615,\"lease\":9}"),
    ];
    for (recorded, text) in cases {
        assert_eq!(serde_json::to_string(&recorded).expect("it is written"), text);
        assert_eq!(serde_json::from_str::<Recorded>(text).expect("it is read"), recorded);
    }
    assert!(serde_json::from_str::<Recorded>("{\"took\":\"7 ns\"}").is_err());
}
