//! What was measured as an HDR log is what was measured.

use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use sojourn_load::Report;
use sojourn_stats::{Histogram, Span};

use crate::run::{MS, open, run, saturate, steady};
use crate::server::{Server, ok};

type Read = (Option<String>, f64, f64, hdrhistogram::Histogram<u64>);

/// The lines of a log: tag, start and length (s), histogram.
fn parsed(log: &str) -> Vec<Read> {
    let mut lines = Vec::new();
    for entry in IntervalLogIterator::new(log.as_bytes()) {
        let LogEntry::Interval(line) = entry.expect("a log that can be parsed") else { continue };
        let bytes = base64(line.encoded_histogram());
        let histogram = Deserializer::new().deserialize(&mut bytes.as_slice()).expect("a histogram");
        let tag = line.tag().map(|tag| tag.as_str().to_owned());
        lines.push((tag, line.start_timestamp().as_secs_f64(), line.duration().as_secs_f64(), histogram));
    }
    lines
}

fn base64(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::new();
    let (mut bits, mut held) = (0u32, 0);
    for digit in text.bytes().filter_map(|byte| ALPHABET.iter().position(|other| *other == byte)) {
        (bits, held) = (bits << 6 | digit as u32, held + 6);
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
            bits &= (1 << held) - 1;
        }
    }
    bytes
}

fn agree(ours: &Histogram, theirs: &hdrhistogram::Histogram<u64>) {
    assert_eq!(ours.count(), theirs.len());
    for q in [0.1, 0.5, 0.9, 0.99, 1.0] {
        let (one, other) = (ours.quantile(q).unwrap_or(0) as f64, theirs.value_at_quantile(q) as f64);
        // Half of our bucket and of theirs, and the exact extremes that we keep.
        assert!((one - other).abs() <= 0.01 * one + 1.0, "{q}: {one} and {other}");
    }
}

fn holds(report: &Report) {
    let log = report.hdr_log();
    let lines = parsed(&log);
    let whole = |tag: &str| &lines.iter().find(|line| line.0.as_deref() == Some(tag)).expect("a line for each").3;
    agree(&report.response, whole("response"));
    agree(&report.service, whole("service"));
    agree(&report.lateness, whole("lateness"));
    let seconds: Vec<&Read> = lines.iter().filter(|line| line.0.is_none()).collect();
    assert_eq!(seconds.iter().map(|line| line.3.len()).sum::<u64>(), report.counts.ok);
    for line in &seconds {
        let second = &report.seconds[line.1.round() as usize];
        assert_eq!((line.2, line.3.len()), (1.0, second.ok));
        let (told, p50) = (second.ok >= 20, second.response_time_p50_s);
        assert_eq!(p50.is_some(), told);
        let theirs = line.3.value_at_quantile(0.5) as f64 * 1e-9;
        assert!(p50.is_none_or(|p50| (p50 - theirs).abs() <= 0.01 * p50));
        assert_eq!(second.response_time_p99_s.is_some(), second.ok >= 1000);
    }
}

#[test]
fn a_log_holds_the_run_and_its_seconds() {
    let server = Server::start(|_| vec![ok("x")]);
    let mut load = saturate(server.address, 4, 3000);
    load.threads = 2;
    holds(&run(load));
    // Two seconds, with too few requests in each for a high quantile.
    let mut load = open(server.address, steady(110, Span(10 * MS)));
    load.warm_up = Span(300 * MS);
    let report = run(load);
    assert!(report.seconds.len() >= 2);
    let log = report.hdr_log();
    assert!(log.starts_with("#") && log.contains("#[StartTime: "));
    let lines = parsed(&log);
    let response = lines.iter().find(|line| line.0.as_deref() == Some("response")).unwrap();
    assert_eq!((response.1, response.3.len()), (0.3, report.measured.ok));
    let seconds: u64 = lines.iter().filter(|line| line.0.is_none()).map(|line| line.3.len()).sum();
    assert_eq!(seconds, 110);
    assert!(report.seconds.iter().all(|second| second.response_time_p99_s.is_none()));
}

#[test]
fn a_run_without_replies_is_a_log() {
    let server = Server::start(|_| vec![]);
    let mut load = open(server.address, steady(3, Span(MS)));
    (load.timeout, load.grace) = (Span(10 * MS), Span(20 * MS));
    let report = run(load);
    assert_eq!(report.counts.timeout, 3);
    let lines = parsed(&report.hdr_log());
    assert!(lines.iter().all(|line| line.3.is_empty() || line.0.as_deref() == Some("lateness")));
}

#[test]
fn the_steps_to_a_reply_are_measured() {
    let server = Server::start(|_| vec![ok("x")]);
    let mut load = open(server.address, steady(300, Span(MS / 2)));
    // So that the first requests wait for their connections.
    load.open_ahead = Span::ZERO;
    let report = run(load);
    assert!(report.value("first_byte_time_mean").unwrap() <= report.value("response_time_mean").unwrap());
    assert!(report.measures.iter().any(|measure| measure.metric == "first_byte_time_p90"));
    assert!(report.measures.iter().any(|measure| measure.metric == "connect_time_mean"));
    assert!(report.measures.iter().all(|measure| !measure.metric.starts_with("tls_")));
}
