//! Descriptions of logs and of numbers.

use sojourn_traffic::describe::{Fact, Value, describe, describe_numbers, read_column};

use crate::support::{line, read};

fn value<'a>(facts: &'a [Fact], name: &str) -> &'a Value {
    let found = facts.iter().find(|fact| fact.name == name);
    &found.unwrap_or_else(|| panic!("no {name} in {facts:?}")).value
}

fn number(facts: &[Fact], name: &str) -> f64 {
    match value(facts, name) {
        Value::Number(number) => *number,
        other => panic!("{name} is {other:?}"),
    }
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
    assert_eq!(number(&facts, "arrival_rate"), 101.0 / 201.0);
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
    // 100 gaps with sum 200: 89 of 1 s, 110 s, 1 s, nine of 0 s.
    let second_moment = f64::from(89 + 110 * 110 + 1) / 100.0;
    assert!((number(&facts, "gap_scv") - (second_moment - 4.0) / 4.0).abs() < 1e-12);
}

#[test]
fn a_log_of_one_line_has_no_percentiles() {
    let facts = describe(&read(line(0, "/a", 7)).unwrap());
    assert_eq!(value(&facts, "size_p99"), &Value::Text("too few (1)".into()));
    assert_eq!(number(&facts, "size_mean"), 7.0);
    assert!(facts.iter().all(|fact| fact.name != "gap_scv"));
}

#[test]
fn numbers() {
    let numbers: Vec<f64> = (1..=1000).rev().map(f64::from).collect();
    let facts = describe_numbers(&numbers, "s");
    assert_eq!(value(&facts, "count"), &Value::Count(1000));
    assert_eq!(number(&facts, "mean"), 500.5);
    // The discrete uniform law on 1..n has variance (n^2 - 1) / 12.
    assert!((number(&facts, "standard_deviation") - (999_999.0f64 / 12.0).sqrt()).abs() < 1e-9);
    assert!(number(&facts, "skewness").abs() < 1e-9);
    assert_eq!((number(&facts, "min"), number(&facts, "max")), (1.0, 1000.0));
    assert_eq!((number(&facts, "p10"), number(&facts, "p50"), number(&facts, "p99_9")), (100.0, 500.0, 999.0));
    assert_eq!(value(&describe_numbers(&numbers[..100], "s"), "p99_9"), &Value::Text("too few (100)".into()));
    assert_eq!(describe_numbers(&[], "s").len(), 1);
}

#[test]
fn columns() {
    assert_eq!(read_column("1\n\n# no\n2.5e3\n", None, "c").unwrap(), [1.0, 2500.0]);
    assert_eq!(read_column("size\n1\n", None, "c").unwrap(), [1.0]);
    assert_eq!(read_column("at_s,size_bytes\n0.1,20\n0.2,30\n", Some("size_bytes"), "c").unwrap(), [20.0, 30.0]);
    for (text, column, says) in [
        ("1\ntwo\n", None, "c:2: `two` is not a number"),
        ("1\nNaN\n", None, "c:2: `NaN` is not a number"),
        ("", None, "c: there is no number in it"),
        ("a,b\n1,2\n", Some("size"), "c: no column `size` among a, b"),
        ("at_s,size\n1,2\n", Some("sizes"), "c: no column `sizes` among at_s, size; did you mean `size`?"),
        ("a,b\n1\n", Some("b"), "c:2: `` is not a number"),
    ] {
        assert_eq!(read_column(text, column, "c").unwrap_err().to_string(), says);
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
