//! Stamps of whole seconds that say when requests ended, with how long these took: in which second each came.

use std::fmt::Write as _;

use sojourn_stats::{Dimension, Law, Stream};
use sojourn_traffic::describe::{Description, Value, covered, describe};
use sojourn_traffic::fit;
use sojourn_traffic::log::{Log, LogFormat};

use crate::support::{first, line, number, read, replay, value};

/// What nginx writes by `$time_local` and `$request_time` of requests that ended so many milliseconds after 10:00, and took so
/// many.
fn in_seconds(mut ended: Vec<(u64, u64)>) -> String {
    ended.sort_unstable();
    ended.into_iter().fold(String::new(), |mut text, (end_ms, taken_ms)| {
        let (taken_s, taken_ms) = (taken_ms / 1000, taken_ms % 1000);
        let line = line(36_000 + (end_ms / 1000) as u32, "/a", 612);
        let _ = writeln!(text, "{} \"-\" \"-\" {taken_s}.{taken_ms:03}", line.trim_end());
        text
    })
}

/// The same with `$msec`, of ends since 10:00 on the same day in UTC.
fn in_milliseconds(ended: &[(u64, u64)]) -> Log {
    let format = LogFormat::parse("$remote_addr [$msec] \"$request\" $status $body_bytes_sent $request_time").unwrap();
    let text = ended.iter().fold(String::new(), |mut text, (end_ms, taken_ms)| {
        let (end_s, end_ms) = (807_271_200 + end_ms / 1000, end_ms % 1000);
        let (taken_s, taken_ms) = (taken_ms / 1000, taken_ms % 1000);
        let _ = writeln!(text, "10.0.0.1 [{end_s}.{end_ms:03}] \"GET /a HTTP/1.1\" 200 612 {taken_s}.{taken_ms:03}");
        text
    });
    Log::read_from(text.as_bytes(), "access.log", Some(&format)).unwrap()
}

/// Ends of a Poisson process of 150 requests a second over two minutes (ms).
fn poisson() -> Vec<u64> {
    let mut stream = Stream::new(1, "describe", "stamps");
    let gap = Law::exponential(1.0 / 150.0);
    let mut at_s = 0.3;
    std::iter::repeat_with(|| {
        at_s += gap.sample(&mut stream);
        (at_s * 1e3) as u64
    })
    .take_while(|at_ms| *at_ms < 120_700)
    .collect()
}

fn described(text: &str) -> Description {
    describe(&read(text).unwrap())
}

/// What `fit` writes of the arrivals.
fn arrivals(text: &str) -> Law {
    let workload = fit::of_log(&read(text).unwrap(), "access.log").unwrap();
    assert!(!workload.contains("profile ="), "{workload}");
    let law = workload.lines().find_map(|line| line.strip_prefix("arrivals = \"")).expect(&workload);
    Law::parse(law.trim_end_matches('"'), Dimension::Time).unwrap()
}

fn dispersion(text: &str) -> f64 {
    number(&described(text), "dispersion_per_second")
}

/// Requests that are short beside the second came in the one in which they ended, as those of no time at all.
///
/// The dispersion of 119 counts of a Poisson process is more than 7 standard errors of sqrt(2/119) off less than once in 10^7,
/// and that of neighbours, by which `fit` goes, more than 7 of sqrt(3/119) less than once in 10^6 (both as chi-squared).
#[test]
fn short_requests_came_in_the_second_in_which_they_ended() {
    let ends = poisson();
    let all_of = |taken_ms: u64| in_seconds(ends.iter().map(|end_ms| (*end_ms, taken_ms)).collect());
    let (none, four) = (all_of(0), all_of(4));
    let (plain, description) = (described(&none), described(&four));
    for name in ["arrival_rate", "gap_mean", "dispersion_per_second", "duration"] {
        assert_eq!(number(&description, name), number(&plain, name), "{name}");
    }
    for name in ["first", "last", "busiest_second", "busiest_second_requests", "busiest_hour_requests"] {
        assert_eq!(value(&description, name), value(&plain, name), "{name}");
    }
    assert_eq!(value(&description, "first"), &Value::Text("1995-08-01 10:00:00 -0400".into()));
    assert_eq!(arrivals(&four).to_string(), arrivals(&none).to_string());
    let planned = |text: &str| -> Vec<u64> {
        first(&replay(text, 1.0), 1, ends.len()).iter().map(|planned| planned.at.0).collect()
    };
    assert_eq!(planned(&four), planned(&none), "replayed alike");
    // Of a time of their own each, 7 ms in the mean.
    let (mut stream, taken) = (Stream::new(1, "describe", "taken"), Law::exponential(7.0));
    let taken_ms = |at_ms: &u64| (*at_ms, taken.sample(&mut stream) as u64);
    let each = in_seconds(ends.iter().map(taken_ms).map(|(at_ms, taken_ms)| (at_ms + taken_ms, taken_ms)).collect());
    for text in [&none, &four, &each] {
        let (per_second, law) = (dispersion(text), arrivals(text));
        assert!((per_second - 1.0).abs() < 7.0 * (2.0_f64 / 119.0).sqrt(), "{per_second}");
        let (scv, rate) = (law.variance() / law.mean().powi(2), 1.0 / law.mean());
        assert!((scv - 1.0).abs() < 7.0 * (3.0_f64 / 119.0).sqrt(), "{law}");
        assert!((rate - 150.0).abs() < 7.0 * (150.0_f64 / 119.0).sqrt(), "{law}");
    }
}

/// Evenly spaced requests vary not at all from second to second, however long they take; a log that begins and ends within a
/// second has the rate of the whole ones.
#[test]
fn evenly_spaced_requests_stay_evenly_spaced() {
    // 20 a second for 300 s.
    let of = |taken_ms: u64| in_seconds((0..6_000).map(|n| (n * 50 + taken_ms, taken_ms)).collect());
    for taken_ms in [0, 1, 4, 49] {
        let description = described(&of(taken_ms));
        assert!(number(&description, "dispersion_per_second").abs() < 1e-12, "{taken_ms} ms");
        assert_eq!(value(&description, "first"), &Value::Text("1995-08-01 10:00:00 -0400".into()), "{taken_ms} ms");
        assert_eq!(value(&description, "busiest_hour_requests"), &Value::Count(6_000), "{taken_ms} ms");
        assert_eq!(value(&description, "busiest_second_requests"), &Value::Count(20), "{taken_ms} ms");
    }
    // Long ones move by how long they took, to the second.
    for (taken_ms, came) in
        [(499, "10:00:00"), (500, "10:00:00"), (501, "09:59:59"), (2_400, "09:59:58"), (3_000, "09:59:57")]
    {
        let description = described(&in_seconds((0..6_000).map(|n| (n * 50, taken_ms)).collect()));
        let first = Value::Text(format!("1995-08-01 {came} -0400"));
        assert_eq!(value(&description, "first"), &first, "{taken_ms} ms");
    }
    for taken_ms in [501, 2_400, 3_000] {
        assert!(dispersion(&of(taken_ms)).abs() < 1e-12, "{taken_ms} ms");
    }
    // 100 a second from 10:00:00.7 to 10:02:00.1: 30 of the first second and 10 of the last are no whole ones.
    for taken_ms in [0, 4] {
        let text = in_seconds((70..12_010).map(|n| (n * 10, taken_ms)).collect());
        let (description, covered) = (described(&text), covered(&read(&text).unwrap()));
        assert_eq!(number(&description, "arrival_rate"), 100.0, "{taken_ms} ms");
        assert_eq!((covered.range, covered.span_s), (30..11_930, 119.0), "{taken_ms} ms");
    }
}

/// Finer stamps stay as they are; beside a log of whole seconds they are known to the second, all of it.
#[test]
fn finer_stamps_are_used_to_their_last_digit() {
    let log = in_milliseconds(&[(1_125, 250), (1_500, 1), (2_000, 1_000)]);
    let came: Vec<i64> = log.entries().iter().map(|entry| entry.time_us - 807_271_200_000_000).collect();
    assert_eq!(came, [875_000, 1_000_000, 1_499_000]);
    // 20 a second in each of two files, 80 s long.
    let ended: Vec<(u64, u64)> = (0..1_600).map(|n| (n * 50 + 30, 4)).collect();
    let coarse = in_seconds(ended.clone()).replace(" -0400]", " +0000]");
    let both = Log::joined([in_milliseconds(&ended), read(&coarse).unwrap()]);
    let description = describe(&both);
    assert_eq!(value(&description, "first"), &Value::Text("1995-08-01 10:00:00 +0000".into()));
    assert!(number(&description, "dispersion_per_second").abs() < 1e-12);
    assert_eq!((number(&description, "arrival_rate"), covered(&both).span_s), (40.0, 78.0));
}

/// Where durations are finer than stamps, a step may begin before the time that is covered and end in it: what counts is where a
/// request is put in its step.
#[test]
fn what_is_counted_is_within_the_time_that_is_covered() {
    let format = LogFormat::parse("$remote_addr [$msec] \"$request\" $status $body_bytes_sent $response_us").unwrap();
    // 5,000 a second for 12 s, each of 100 us, with stamps of milliseconds.
    let text = (0..60_000_u64).fold(String::new(), |mut text, n| {
        let end_ms = (n * 200 + 100) / 1000;
        let (end_s, end_ms) = (807_271_200 + end_ms / 1000, end_ms % 1000);
        let _ = writeln!(text, "10.0.0.1 [{end_s}.{end_ms:03}] \"GET /a HTTP/1.1\" 200 612 100");
        text
    });
    let log = Log::read_from(text.as_bytes(), "access.log", Some(&format)).unwrap();
    let covered = covered(&log);
    assert_eq!(covered.range.len(), covered.instants_s.len());
    assert!(covered.instants_s.iter().all(|at_s| (0.0..covered.span_s).contains(at_s)), "{}", covered.span_s);
}
