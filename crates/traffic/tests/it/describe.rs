//! Descriptions of logs and of numbers.

use sojourn_stats::hurst::Finding;
use sojourn_stats::{Dimension, Law, Stream};
use sojourn_traffic::describe::{
    self as described, Covered, Description, Numbers, Rate, Value, counts, covered, describe, read_column,
};

use sojourn_traffic::log::Log;

use crate::support::{line, number, read, value};

/// Of numbers of which it is not known what they were rounded to.
fn describe_numbers(numbers: &[f64], dimension: Dimension) -> Description {
    described::describe_numbers(&Numbers { values: numbers.to_vec(), ..Numbers::default() }, dimension)
}

#[test]
fn a_log() {
    // 100 requests of 1 to 100 bytes, one a second but for ten in second 200; path /0 takes 60 of them.
    let lines = (0..100u32).map(|n| {
        let path = if n < 60 { "/0".to_owned() } else { format!("/{}", n % 20 + 1) };
        line(if n < 90 { n } else { 200 }, &path, u64::from(n) + 1)
    });
    let text = lines.collect::<String>() + "bad line\n" + &line(199, "/0", 0).replace(" 200 ", " 404 ");
    let facts = describe(&read(&text).unwrap());
    assert_eq!(value(&facts, "requests"), &Value::Count(101));
    assert_eq!(value(&facts, "hosts"), &Value::Count(1));
    assert_eq!(value(&facts, "paths"), &Value::Count(21));
    assert_eq!(number(&facts, "duration"), 201.0);
    // Without the first second, which has one, and the last, which has ten.
    assert_eq!(number(&facts, "arrival_rate"), 90.0 / 199.0);
    assert_eq!(value(&facts, "busiest_second"), &Value::Text("1995-08-01 00:03:20 -0400".into()));
    assert_eq!(value(&facts, "busiest_second_requests"), &Value::Count(10));
    assert_eq!(value(&facts, "busiest_minute"), &Value::Text("1995-08-01 00:00:00 -0400".into()));
    assert_eq!(value(&facts, "busiest_minute_requests"), &Value::Count(60));
    assert_eq!(value(&facts, "busiest_hour_requests"), &Value::Count(101));
    assert_eq!(value(&facts, "bytes"), &Value::Count(5050));
    assert_eq!(number(&facts, "size_mean"), 50.0);
    assert_eq!(number(&facts, "size_p50"), 50.0);
    assert_eq!(number(&facts, "size_p90"), 90.0);
    assert_eq!(number(&facts, "size_p99"), 99.0);
    assert_eq!(number(&facts, "size_max"), 100.0);
    // Three of 21 paths: /0 has 61, the next two have 2 each.
    assert_eq!(number(&facts, "top_tenth_of_paths_share"), 65.0 / 101.0);
    assert_eq!(value(&facts, "status_2xx"), &Value::Count(100));
    assert_eq!(value(&facts, "status_4xx"), &Value::Count(1));
    assert_eq!(value(&facts, "bad_lines"), &Value::Count(1));
    assert_eq!(value(&facts, "bad_lines: no [dd/Mon/yyyy:hh:mm:ss +zzzz]"), &Value::Count(1));
    assert_eq!(value(&facts, "unsorted"), &Value::Count(1));
    assert_eq!(number(&facts, "largest_step_back"), 1.0);
    // Without them too: 89 gaps, 88 of 1 s and one of 110 s.
    let (mean, second_moment) = (198.0 / 89.0, f64::from(88 + 110 * 110) / 89.0);
    assert!((number(&facts, "gap_mean") - mean).abs() < 1e-12);
    assert!((number(&facts, "gap_scv") - (second_moment / (mean * mean) - 1.0)).abs() < 1e-12);
}

#[test]
fn a_log_of_one_line_has_no_percentiles() {
    let facts = describe(&read(line(0, "/a", 7)).unwrap());
    assert_eq!(value(&facts, "size_p99"), &Value::Text("too few (1)".into()));
    assert_eq!(number(&facts, "size_mean"), 7.0);
    assert!(facts.facts.iter().all(|fact| fact.name != "gap_scv"));
}

#[test]
fn numbers() {
    let numbers: Vec<f64> = (1..=1000).rev().map(f64::from).collect();
    let facts = describe_numbers(&numbers, Dimension::Time);
    assert_eq!(value(&facts, "count"), &Value::Count(1000));
    assert_eq!(number(&facts, "mean"), 500.5);
    // The discrete uniform law on 1..n has variance (n^2 - 1) / 12.
    assert!((number(&facts, "standard_deviation") - (999_999.0f64 / 12.0).sqrt()).abs() < 1e-9);
    assert!(number(&facts, "skewness").abs() < 1e-9);
    assert_eq!((number(&facts, "min"), number(&facts, "max")), (1.0, 1000.0));
    assert_eq!((number(&facts, "p10"), number(&facts, "p50"), number(&facts, "p99_9")), (100.0, 500.0, 999.0));
    assert_eq!(
        value(&describe_numbers(&numbers[..100], Dimension::Time), "p99_9"),
        &Value::Text("too few (100)".into())
    );
    assert_eq!(describe_numbers(&[], Dimension::Time).facts.len(), 1);
}

#[test]
fn columns() {
    let of = |text: &str, column| read_column(text.as_bytes(), column, "c").unwrap();
    assert_eq!(of("1\n\n# no\n2.5e3\n", None).values, [1.0, 2500.0]);
    assert_eq!(of("size\n1\n", None).values, [1.0]);
    let table = "at_s,size_bytes\n0.1,20\n0.2,30\n";
    assert_eq!(of(table, Some("size_bytes")).values, [20.0, 30.0]);
    // The digits that are written tell the step, whatever the values are; those of a program that does not round do not.
    let steps = [
        ("0.000\n0.000\n", Some(1e-3)),
        ("0\n12\n", Some(1.0)),
        ("0.5\n0.25\n1\n", Some(0.01)),
        ("0\n0.0123456789\n", None),
        ("0.5\n2.5e3\n0.25\n", None),
    ];
    for (text, step) in steps {
        assert_eq!(of(text, None).step, step, "{text}");
    }
    let both = of("0.5\n", None).with(of("0.25\n", None)).scaled(1e-3);
    assert_eq!((both.values, both.step), (vec![0.5e-3, 0.25e-3], Some(1e-5)));
    assert_eq!(of("0.5\n", None).with(of("1e3\n", None)).step, None);
    for (text, column, says) in [
        ("1\ntwo\n", None, "c:2: `two` is not a number"),
        ("1\nNaN\n", None, "c:2: `NaN` is not a number"),
        ("", None, "c: there is no number in it"),
        ("a,b\n1,2\n", Some("size"), "c: no column `size` among a, b"),
        ("at_s,size\n1,2\n", Some("sizes"), "c: no column `sizes` among at_s, size; did you mean `size`?"),
        ("a,b\n1\n", Some("b"), "c:2: `` is not a number"),
        ("a,b\n1,2\n", None, "c:2: `1,2` is not a number; of a CSV file name a column: --column NAME"),
    ] {
        assert_eq!(read_column(text.as_bytes(), column, "c").unwrap_err().to_string(), says);
    }
}

#[test]
fn values_show_four_digits() {
    for (number, text) in [
        (0.0, "0.000"),
        (0.12345, "0.1235"),
        (12.3456, "12.35"),
        (123_456.7, "123457"),
        (0.000_012_345, "1.234e-5"),
        (-1.5, "-1.500"),
    ] {
        assert_eq!(Value::Number(number).to_string(), text);
    }
}

/// Sessions and caching of a log that one can follow by hand: two clients, two objects.
#[test]
fn sessions_and_caching() {
    let by = |host: &str, second: u32, path: &str| line(second, path, 100).replace("host.example", host);
    let text = [
        by("a", 0, "/x"),
        by("b", 1, "/x"),
        by("a", 10, "/y"),
        by("a", 1810, "/x"),
        // Half an hour and a second later: another session.
        by("a", 3611, "/z"),
        by("b", 3612, "/x").replace(" 200 ", " 304 "),
    ];
    let facts = describe(&read(text.concat()).unwrap());
    assert_eq!(value(&facts, "sessions"), &Value::Count(4));
    assert_eq!(number(&facts, "sessions_of_one_request_share"), 0.75);
    assert_eq!(number(&facts, "session_requests_mean"), 1.5);
    assert_eq!(number(&facts, "session_duration_mean"), 1810.0);
    assert_eq!(number(&facts, "think_time_mean"), 905.0);
    // x, x, y, x, z, x: three hits without end. LRU of one object hits the second x; of two, the x after y and after z.
    assert_eq!(number(&facts, "hit_ratio_of_endless_cache"), 0.5);
    let ratios: Vec<f64> = facts.cache.iter().map(|point| (point.hit_ratio * 6.0).round()).collect();
    assert_eq!(ratios, [1.0, 3.0, 3.0]);
    // A hundredth and a tenth of three objects are one object: one size of cache, told once.
    let told = facts.facts.iter().filter(|fact| fact.name.starts_with("hit_ratio_of_lru_with_"));
    assert_eq!(told.map(|fact| fact.name.as_str()).collect::<Vec<_>>(), ["hit_ratio_of_lru_with_1_objects"]);
    assert_eq!(number(&facts, "paths_asked_once_share"), 2.0 / 3.0);
    assert_eq!(value(&facts, "status_304"), &Value::Count(1));
    assert_eq!(value(&facts, "method_get"), &Value::Count(6));
}

/// What a server is to blame for is a share of the whole log: a client's mistakes are answers, with a share of their own. What is
/// counted is said, and of none seen what may have come unseen.
#[test]
fn a_log_says_how_much_of_it_failed() {
    let with = |status: &str| line(0, "/x", 100).replace(" 200 ", status);
    let text = [with(" 200 "), with(" 404 "), with(" 503 "), with(" 500 "), with(" 304 ")];
    let facts = describe(&read(text.concat()).unwrap());
    assert_eq!((number(&facts, "error_ratio"), number(&facts, "client_error_ratio")), (0.4, 0.2));
    let Value::Text(what) = value(&facts, "errors_are") else { panic!() };
    assert!(what.starts_with("status 500 and above, or no reply"), "{what}");
    // Who gave up made no mistake, though nginx has 499 for it, and it stands in the table among 4xx.
    let text = [with(" 200 "), with(" 404 "), with(" 499 "), with(" 200 ")];
    let given_up = describe(&read(text.concat()).unwrap());
    let shares = ["client_error_ratio", "abandoned_ratio", "error_ratio"].map(|name| number(&given_up, name));
    assert_eq!((shares, value(&given_up, "status_4xx")), ([0.25, 0.25, 0.0], &Value::Count(2)));
    let Value::Text(what) = value(&given_up, "client_errors_are") else { panic!() };
    assert!(what.starts_with("status 4xx; ") && what.ends_with("499"), "{what}");
    assert_eq!(number(&describe(&read(line(0, "/x", 1)).unwrap()), "error_ratio"), 0.0);
    // Every tenth of a hundred is a 404: as many as 1 - 0.05^(1/100) of them may have been errors of the server.
    let text: String = (0..100).map(|n| if n % 10 == 3 { with(" 404 ") } else { with(" 200 ") }).collect();
    let description = describe(&read(text).unwrap());
    assert_eq!(value(&description, "error_ratio_interval"), &Value::Text("0.000 to 0.02951".into()));
    let table = description.by_status();
    assert_eq!(table.header, ["status", "requests", "share", "interval (95 %)"]);
    let rows: Vec<String> =
        table.rows.iter().map(|row| row.iter().flatten().map(|(of, _)| format!("{of} ")).collect::<String>()).collect();
    assert!(rows[0].starts_with("2xx 90 0.9000 ") && rows[1].starts_with("4xx 10 0.1000 "), "{rows:?}");
    assert_eq!((rows.len(), &*rows[2]), (3, "5xx 0 0.000 0.000 to 0.02951 "));
    // Ten of a hundred as Clopper and Pearson have it, and no narrower.
    let of_clients = &description.replies[1];
    assert!(of_clients.ci_low < 0.0491 && (0.1762..0.25).contains(&of_clients.ci_high), "{of_clients:?}");
    let shares: f64 = description.replies.iter().map(|replies| replies.share).sum();
    assert!((shares - 1.0).abs() < 1e-12, "every request is in a class");
}

/// Gaps, sizes, bursts and caching of five requests that one can follow by hand.
#[test]
fn a_log_of_five_lines_by_hand() {
    let text = [
        line(0, "/x", 100),
        line(0, "/x", 100),
        line(2, "/y", 400),
        line(2, "/x", 100).replace("GET", "POST"),
        line(3, "/y", 300).replace(" 200 ", " 206 "),
    ];
    let facts = describe(&read(text.concat()).unwrap());
    assert_eq!(value(&facts, "first"), &Value::Text("1995-08-01 00:00:00 -0400".into()));
    assert_eq!(value(&facts, "last"), &Value::Text("1995-08-01 00:00:03 -0400".into()));
    for (name, wanted) in [
        ("duration", 4.0),
        ("arrival_rate", 1.25),
        // Gaps are shorter than a second, by which 0, 2, 0 and 1 are known: five requests in four seconds.
        ("gap_mean", 0.8),
        // 2, 0, 2, 1 in a second: mean square 9/4.
        ("dispersion_per_second", (2.25 - 1.5625) / 1.25),
        ("size_mean", 200.0),
        // Squares of 1, 1, 4, 1, 3 hundreds: 28/5 of a mean of 2.
        ("size_scv", (5.6 - 4.0) / 4.0),
        // Three GETs that succeeded, of which the second was for what the first had.
        ("hit_ratio_of_endless_cache", 1.0 / 3.0),
        ("byte_hit_ratio_of_endless_cache", 100.0 / 600.0),
        ("think_time_mean", 2.0),
        ("session_gap_mean", 0.75),
        ("session_duration_mean", 3.0),
    ] {
        assert!((number(&facts, name) - wanted).abs() < 1e-12, "{name}: {} is not {wanted}", number(&facts, name));
    }
    for (name, wanted) in [("status_200", 4), ("status_206", 1), ("method_post", 1), ("method_get", 4), ("lines", 5)] {
        assert_eq!(value(&facts, name), &Value::Count(wanted), "{name}");
    }
    // Gaps of 0, 2, 0 and 1 s, of which whole seconds do not tell how they vary.
    let untold = ["largest_step_back", "method_head", "gap_scv"];
    assert!(facts.facts.iter().all(|fact| !untold.contains(&fact.name.as_str())));
    let rate = facts.rate.as_ref().unwrap();
    assert_eq!((rate.bin_s, rate.counts.iter().sum::<u64>(), rate.start_of_day_s), (0.01, 5, Some(0.0)));
    assert_eq!(rate.counts.len(), 400);
}

/// A rate that is the same from half a second before the first whole second to half a second after the last: what is counted of
/// two halves is no sign of bursts, and no lower rate.
#[test]
fn a_constant_rate_is_constant_whatever_part_of_its_ends_a_log_has() {
    let text: String = (0..16_u32)
        .flat_map(|second| std::iter::repeat_n(second, if second == 0 || second == 15 { 50 } else { 100 }))
        .map(|second| line(second, "/a", 1))
        .collect();
    let log = read(&text).unwrap();
    let facts = describe(&log);
    assert_eq!((number(&facts, "arrival_rate"), number(&facts, "dispersion_per_second")), (100.0, 0.0));
    let from_s = log.entries()[0].time_s();
    let seconds = |log: &Log| {
        let (from_us, to_us) = log.covered();
        assert_eq!((from_us % 1_000_000, to_us % 1_000_000), (0, 0));
        (from_us / 1_000_000 - from_s, to_us / 1_000_000 - from_s)
    };
    assert_eq!(seconds(&log), (1, 15));
    // A part that is cut from it has whole seconds where it was cut.
    assert_eq!(seconds(&log.between(from_s + 2, i64::MAX)), (2, 15));
    assert_eq!(seconds(&log.between(i64::MIN, from_s + 13)), (1, 13));
    assert_eq!(seconds(&log.between(from_s + 2, from_s + 14).between(from_s + 3, i64::MAX)), (3, 14));
    // Two whole seconds are enough; of a single one none is left out.
    assert_eq!(seconds(&log.between(from_s + 6, i64::MAX)), (6, 15));
    assert_eq!(seconds(&log.between(from_s + 13, i64::MAX)), (13, 15));
    assert_eq!(seconds(&log.between(from_s + 14, i64::MAX)), (14, 16));
    assert_eq!(log.between(i64::MIN, from_s).covered(), (0, 0));
    let whole = covered(&log.between(from_s + 2, from_s + 14));
    assert!(whole.instants_s[0] < 0.1 && (11.9..12.0).contains(whole.instants_s.last().unwrap()));
    assert_eq!((whole.range, whole.span_s), (0..1200, 12.0));
}

/// A log with so many requests in each second.
fn log_of(counts: &[u32]) -> Log {
    let seconds = (0..).zip(counts).flat_map(|(second, count)| std::iter::repeat_n(second, *count as usize));
    read(seconds.map(|second| line(second, "/a", 1)).collect::<String>()).unwrap()
}

/// 300 requests a second for 4 s, logged from the middle of a second on: rate, gaps and dispersion are of the seconds between the
/// first and the last, and where these cannot be left out, it is said that they are in it.
#[test]
fn a_log_of_a_few_seconds_has_the_rate_of_its_whole_ones_or_says_that_it_has_not() {
    let told = |log: &Log| {
        let description = describe(log);
        let ends: Vec<String> =
            description.remarks.iter().filter(|remark| remark.contains("may have a part")).cloned().collect();
        (number(&description, "arrival_rate"), number(&description, "dispersion_per_second"), ends.join("; "))
    };
    let log = log_of(&[119, 300, 300, 300, 180]);
    let without = |which: &str, them: &str| {
        format!("of {which} the log may have a part, so rate, dispersion, gaps and counts are without {them}")
    };
    assert_eq!(told(&log), (300.0, 0.0, without("its first and its last second", "them")));
    assert!((number(&describe(&log), "gap_mean") - 1.0 / 300.0).abs() < 1e-12);
    // A part that is cut from it is whole where it was cut.
    let from_s = log.entries()[0].time_s();
    assert_eq!(told(&log.between(i64::MIN, from_s + 4)), (300.0, 0.0, without("its first second", "it")));
    assert_eq!(told(&log.between(from_s + 1, i64::MAX)), (300.0, 0.0, without("its last second", "it")));
    assert_eq!(told(&log.between(from_s + 1, from_s + 4)), (300.0, 0.0, String::new()));
    // A single whole second, and a few requests, are too little.
    for (counts, rate) in [(&[50, 100, 50][..], 200.0 / 3.0), (&[10, 9, 10, 10][..], 39.0 / 4.0)] {
        let (found, _, ends) = told(&log_of(counts));
        assert!((found - rate).abs() < 1e-12, "{found} for {rate}");
        let short = "the log is too short to leave out its first and its last second, of which it may have a part: ";
        assert!(ends.starts_with(short) && ends.contains("the rate may be too low"), "{ends}");
    }
    assert_eq!(told(&log_of(&[5, 10, 10, 5])).0, 10.0, "and twenty requests are enough");
}

/// That requests come more evenly than independent ones is seen in a few seconds if there are many in each, and said; what
/// independent arrivals do by chance is not.
#[test]
fn requests_that_come_too_evenly_are_said_to() {
    let is_told = |counts: &[u32]| {
        let told = |remark: &String| remark.starts_with("requests came too evenly for independent arrivals: ");
        describe(&log_of(counts)).remarks.iter().any(told)
    };
    assert!(is_told(&[119, 300, 300, 300, 180]) && is_told(&[20; 12]));
    assert!(!is_told(&[119, 317, 283, 310, 180]) && !is_told(&[50, 100, 100, 50]));
    assert!(!is_told(&[1; 600]), "these gaps are known, and have a law");
}

/// A part of time has those that came in it, the last one too what came at the very end; as many parts as a plot shows.
#[test]
fn counts_are_of_periods_and_the_last_may_be_short() {
    assert_eq!(counts(&[0.0, 0.9, 1.0, 2.4, 2.5], 2.5, 1.0), [2, 1, 2]);
    assert_eq!(counts(&[0.5], 3.0, 1.0), [1, 0, 0]);
    assert_eq!(counts(&[], 0.2, 1.0), [0]);
    for (span_s, bin_s) in [(3.0, 0.01), (5.0, 0.1), (400.0, 1.0), (401.0, 5.0), (86_400.0, 300.0), (4e8, 1e6)] {
        let rate = Rate::of(&[0.0, span_s / 2.0], span_s);
        assert_eq!((rate.bin_s, rate.counts.iter().sum::<u64>()), (bin_s, 2), "{span_s} s");
        assert!(rate.counts.len() <= 400 && rate.counts.len() as f64 * bin_s >= span_s, "{span_s} s");
    }
}

/// Calm and busy parts of time by turns: the parts of a profile are as short as a hundred requests in each allow, and at most 48.
#[test]
fn the_parts_of_a_profile_are_named_in_hours_minutes_or_seconds() {
    for (part_s, counts, words) in [
        (3600, vec![10, 20, 180, 200], "1 h"),
        (300, [20, 200].repeat(24), "5 min"),
        (10, [20, 220].repeat(23), "10 s"),
    ] {
        let in_part = |(part, count): (u32, u32)| (0..count).map(move |n| part * part_s + n * part_s / count);
        let seconds = (0..).zip(counts).flat_map(in_part);
        let description = describe(&read(seconds.map(|second| line(second, "/a", 1)).collect::<String>()).unwrap());
        let remark = format!("its level over each {words} is taken out");
        assert!(description.remarks[0].ends_with(&remark), "{words}: {:?}", description.remarks);
    }
}

/// The distribution of five values: the share that is above each, whatever stands twice.
#[test]
fn a_distribution_is_the_share_above_each_value() {
    let of = |values: &[f64]| describe_numbers(values, Dimension::Number).variables.remove(0);
    let variable = of(&[4.0, 1.0, 2.0, 2.0, 8.0, 0.0]);
    assert_eq!(variable.ccdf, [(1.0, 0.8), (2.0, 0.4), (4.0, 0.2), (8.0, 0.0)]);
    assert_eq!((variable.count, variable.not_positive, variable.distinct, variable.mean), (5, 1, 4, 3.4));
    let facts = describe_numbers(&[1.0, 2.0, 4.0, 3.0], Dimension::Number);
    // Deviations -1.5, -0.5, 1.5, 0.5: products of neighbours 0.75, -0.75, 0.75, of squares 5 in all.
    assert!((number(&facts, "autocorrelation_lag_1") - 0.15).abs() < 1e-12);
    assert!((number(&facts, "scv") - 1.25 / 6.25).abs() < 1e-12);
    // Third powers of one that is far: 0, 0, 0, 4 about a mean of 1.
    let skewed = describe_numbers(&[0.0, 0.0, 0.0, 4.0], Dimension::Number);
    assert!((number(&skewed, "skewness") - 6.0 / 3.0f64.powf(1.5)).abs() < 1e-12);
}

/// LRU at every size by its one pass, against an LRU list that is kept for each size.
#[test]
fn one_pass_says_what_a_cache_of_any_size_hits() {
    let mut stream = Stream::new(1, "describe", "cache");
    let law = Law::parse("zipf(n = 60, s = 0.8)", Dimension::Number).unwrap();
    let objects: Vec<u32> = (0..3000).map(|_| law.sample(&mut stream) as u32).collect();
    let text: String =
        objects.iter().enumerate().map(|(at, object)| line(at as u32, &format!("/{object}"), 1)).collect();
    let facts = describe(&read(text).unwrap());
    assert!(facts.cache.len() > 20);
    for point in &facts.cache {
        let mut list: Vec<u32> = Vec::new();
        let mut hits = 0;
        for object in &objects {
            if let Some(place) = list.iter().position(|held| held == object) {
                list.remove(place);
                hits += 1;
            }
            list.insert(0, *object);
            list.truncate(point.objects as usize);
        }
        assert_eq!(point.hit_ratio, f64::from(hits) / 3000.0, "{} objects", point.objects);
    }
}

#[test]
fn laws_that_were_not_fitted_are_named_with_the_reason() {
    let law = Law::parse("gamma(shape = 4, scale = 1)", Dimension::Number).unwrap();
    let mut stream = Stream::new(1, "describe", "left out");
    let mut numbers: Vec<f64> = (0..3000).map(|_| law.sample(&mut stream)).collect();
    let about = |numbers: &[f64]| describe_numbers(numbers, Dimension::Number).variables[0].about_the_laws();
    // Numbers less spread than one exponential are no two.
    let many = about(&numbers);
    assert!(many.iter().any(|line| line.starts_with("No hyperexponential (two): ")), "{many:?}");
    assert!(!many.iter().any(|line| line.starts_with("p is")), "{many:?}");
    numbers.truncate(500);
    let few = about(&numbers);
    assert!(few.iter().any(|line| line == "p is computed for the likeliest 3."), "{few:?}");
}

/// A lognormal body and a heavy tail that gets lighter where one value in twenty-five is: a law of body and one tail goes by the
/// many, the tail index by the few.
#[test]
fn a_law_and_a_tail_index_that_disagree_are_said_to() {
    let text = "mix(0.6: lognormal(mu = 0, sigma = 1), 0.36: bounded-pareto(alpha = 0.7, min = 3, max = 60), 0.04: \
                pareto(alpha = 3, min = 60))";
    let law = Law::parse(text, Dimension::Number).unwrap();
    let mut stream = Stream::new(1, "describe", "tail against law");
    let numbers: Vec<f64> = (0..30_000).map(|_| law.sample(&mut stream)).collect();
    let description = describe_numbers(&numbers, Dimension::Number);
    let told = description.remarks.iter().find(|remark| remark.starts_with("law and tail index of number disagree"));
    let told = told.unwrap_or_else(|| panic!("{:?}", description.variables[0].fits[0].law));
    assert!(told.contains("too frequent"), "{told}");
    // Where the law is the one that was drawn from, there is nothing to say.
    let exponential: Vec<f64> = (0..30_000).map(|_| -stream.uniform().ln()).collect();
    let plain = describe_numbers(&exponential, Dimension::Number);
    assert!(!plain.remarks.iter().any(|remark| remark.contains("disagree")), "{:?}", plain.remarks);
}

/// The counts of a log that gets busier, as `describe` and as the estimators see them.
#[test]
fn the_hurst_parameter_of_counts_comes_with_its_verdict() {
    let mut stream = Stream::new(1, "describe", "counts");
    let gap = Law::exponential(1.0);
    let (mut text, mut at_s) = (String::new(), 0.0f64);
    while at_s < 7200.0 {
        text += &line(at_s as u32, "/a", 1);
        at_s += gap.sample(&mut stream) / if at_s < 3600.0 { 1.0 } else { 3.0 };
    }
    let log = read(text).unwrap();
    let description = describe(&log);
    let [as_they_are, level] = &description.memory[..] else { panic!("{:?}", description.memory) };
    let Covered { instants_s, span_s, .. } = covered(&log);
    assert_eq!(span_s, log.span().as_secs_f64() - 2.0);
    let counts: Vec<f64> = counts(&instants_s, span_s, 1.0).into_iter().map(|count| count as f64).collect();
    let hurst = sojourn_stats::hurst::estimate(&counts).unwrap();
    assert_eq!((as_they_are.every_s, &as_they_are.hurst.verdict), (1.0, &hurst.verdict));
    assert!(!hurst.warnings.is_empty() && as_they_are.hurst.warnings == hurst.warnings && level.undoubted().is_none());
    let Value::Text(finding) = value(&description, "hurst_of_counts_finding") else { panic!() };
    assert!(finding.ends_with("doubted, see the verdict"), "{finding}");
    assert_eq!(number(&description, "hurst_of_counts"), hurst.whittle_fgn.h);
}

/// Within a second a log's instants are made up, and so would be their counts in halves of it.
#[test]
fn a_short_log_is_counted_in_seconds() {
    let mut stream = Stream::new(1, "describe", "short log");
    let text: String = (0..300u32).flat_map(|s| (0..5 + stream.below(10)).map(move |_| line(s, "/a", 1))).collect();
    let description = describe(&read(&text).unwrap());
    assert_eq!(number(&description, "hurst_period"), 1.0);
    assert_eq!(description.memory[0].hurst.points, 298, "without the first and the last second");
}

#[test]
fn numbers_that_no_law_fits_are_counted() {
    let numbers: Vec<f64> = (-10..90).map(f64::from).collect();
    let facts = describe_numbers(&numbers, Dimension::Number);
    assert_eq!((value(&facts, "zeros"), value(&facts, "negative")), (&Value::Count(1), &Value::Count(10)));
    assert_eq!((facts.variables[0].count, facts.variables[0].not_positive), (89, 11));
    assert!(facts.remarks[0].starts_with("11 of 100 values of number are not above 0"), "{:?}", facts.remarks);
    // All the same: no law, no tail, and why.
    let same = describe_numbers(&[7.0; 100], Dimension::Number);
    assert!(same.variables[0].verdict().contains("all 100 numbers are 7"), "{}", same.variables[0].verdict());
    assert!(serde_json::to_string(&same).is_ok());
}

/// What was not tested is not said to be rejected, and what is small enough is tested.
#[test]
fn a_law_of_many_values_is_neither_rejected_nor_not() {
    let law = Law::exponential(1.0);
    let mut stream = Stream::new(1, "describe", "exponential");
    let numbers: Vec<f64> = (0..2001).map(|_| law.sample(&mut stream)).collect();
    let verdict = |numbers: &[f64]| describe_numbers(numbers, Dimension::Number).variables[0].verdict();
    let many = verdict(&numbers);
    assert!(!many.contains("rejected") && many.contains("is for at most 2000 values, and here are 2001"), "{many}");
    assert!(verdict(&numbers[..500]).contains("rejected (bootstrap p = "), "{}", verdict(&numbers[..500]));
}

/// Counts that remember some seconds: what is left of H in long blocks stands beside the finding, and is near 0.5 there.
#[test]
fn short_memory_is_told_with_what_is_left_of_it_in_long_blocks() {
    let mut stream = Stream::new(1, "describe", "short memory");
    let (mut text, mut level) = (String::new(), 0.0);
    for s in 0..20_000 {
        level = 0.8 * level + stream.uniform() - 0.5;
        for _ in 0..(3.0 + 4.0 * level).max(0.0) as u32 {
            text += &line(s, "/a", 1);
        }
    }
    let description = describe(&read(text).unwrap());
    let Value::Text(finding) = value(&description, "hurst_of_counts_finding") else { panic!() };
    let hurst = &description.memory[0].hurst;
    assert_eq!(hurst.finding, Finding::ShortRange, "{}", hurst.verdict);
    let longest = hurst.scales.last().unwrap();
    let (h, block) = (longest.estimate.h, longest.block);
    assert!(finding.contains(&format!("not self-similar: H is {h:.2} in blocks of {block} periods")), "{finding}");
    assert!(block > 1 && (h - 0.5).abs() < 0.2 && number(&description, "hurst_of_counts") > 0.8, "{finding}");
}

/// Three sizes have no tail, whatever an estimate would make of them; nor have any that are few.
#[test]
fn few_distinct_values_have_no_tail() {
    for (distinct, says) in [
        (1, "none: all values are the same"),
        (3, "none: 3 distinct values, and a tail index needs 10 in the tail"),
        (9, "none: 9 distinct values, and a tail index needs 10 in the tail"),
        (12, "none: the larger half has fewer than 10 distinct values, which a tail index needs"),
    ] {
        let text: String = (0..3000).map(|n| line(n, "/a", 1000 * (1 + u64::from(n) % distinct))).collect();
        let description = describe(&read(text).unwrap());
        let plural = if distinct == 1 { "" } else { "s" };
        let repeat = format!(
            "size has {distinct} different value{plural} among 3000: they repeat, so no continuous law can be exact"
        );
        assert!(description.remarks.contains(&repeat), "{:?}", description.remarks);
        assert_eq!(value(&description, "size_tail"), &Value::Text(says.into()));
        assert!(description.facts.iter().all(|fact| fact.name != "size_tail_index"), "{distinct}");
    }
    // Of few numbers nothing is said.
    let few = describe_numbers(&[1.0, 2.0].repeat(20), Dimension::Number);
    assert!(few.facts.iter().all(|fact| !fact.name.contains("tail")));
}

/// What is divided by a variance that is nothing but rounding is left out.
#[test]
fn equal_numbers_have_no_skewness() {
    let facts = describe_numbers(&[0.1; 3000], Dimension::Number);
    assert_eq!((number(&facts, "standard_deviation"), number(&facts, "scv")), (0.0, 0.0));
    assert!(facts.facts.iter().all(|fact| !["skewness", "autocorrelation_lag_1"].contains(&fact.name.as_str())));
}

/// That a tail is lighter than a power of x is understood by its two estimates of 1/alpha beside each other.
#[test]
fn both_estimates_of_a_tail_are_told() {
    let mut stream = Stream::new(1, "describe", "tail");
    let numbers: Vec<f64> = (0..30_000).map(|_| -stream.uniform().ln()).collect();
    let description = describe_numbers(&numbers, Dimension::Number);
    let tail = description.variables[0].tail.as_ref().unwrap();
    let Value::Text(told) = value(&description, "number_tail") else { panic!() };
    let both = format!("of 1/alpha is {:.2} (", tail.moment_gamma);
    assert!(told.contains(&both) && told.contains(&format!("Hill's {:.2}", 1.0 / tail.alpha)), "{told}");
}
