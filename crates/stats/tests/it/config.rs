//! Files of settings: each mistake has its line, its key, and what would be right.

use std::net::SocketAddr;

use serde::Deserialize;
use sojourn_stats::Span;
use sojourn_stats::config::{ConfigFile, Wrong, of_json};

const TEXT: &str = r#"listen = "127.0.0.1:80"
timeout = "10 s"

[limits]
body = 1
"p99.9" = 2

[[backends]]
name = "one"

[[backends]]
name = "two"
weights = [
    1,
    2,
]
"#;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)] // they are read only
struct Settings {
    listen: SocketAddr,
    timeout: Span,
    #[serde(default)]
    limits: Limits,
    #[serde(default)]
    backends: Vec<Backend>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
struct Limits {
    #[serde(default)]
    body: u64,
    #[serde(default, rename = "p99.9")]
    tail: u64,
    #[serde(default)]
    order: Option<Order>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Order {
    First,
    Last,
    Random,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
struct Backend {
    name: String,
    #[serde(default)]
    weights: Vec<u32>,
}

fn refusal(text: &str) -> String {
    ConfigFile::new("site.toml", text).read::<Settings>().expect_err(text).to_string()
}

#[test]
fn a_mistake_is_told_in_one_line_with_its_place() {
    ConfigFile::new("site.toml", TEXT).read::<Settings>().expect("it is right");
    let cases = [
        ("timeout", "time_out", "site.toml:2: unknown key `time_out`; did you mean `timeout`?"),
        ("body", "zebra", "site.toml:5: unknown key `zebra`; known are body, p99.9, order"),
        (
            "\"10 s\"",
            "10",
            "site.toml:2: timeout: `10` has no unit: write e.g. `10 s` or `10 ms` (known: ns, us, ms, s, min, h)",
        ),
        (
            "\"10 s\"",
            "[1]",
            "site.toml:2: timeout: invalid type: a list: it is a time with its unit, as `10 s` or `10 ms`",
        ),
        (
            "body = 1",
            "body = \"1\"",
            "site.toml:5: limits.body: invalid type: string \"1\": it is a whole number, without quotes",
        ),
        ("body = 1", "order = \"lats\"", "site.toml:5: limits.order: unknown value `lats`; did you mean `last`?"),
        ("    2,", "    -2,", "site.toml:15: backends[1].weights[1]: invalid value: integer `-2`: it is not negative"),
        ("name = \"two\"\n", "", "site.toml:11: backends[1]: missing field `name`"),
        ("listen = \"127.0.0.1:80\"\n", "", "site.toml:1: missing field `listen`"),
        (
            "\"127.0.0.1:80\"",
            "\"localhost\"",
            "site.toml:1: listen: invalid socket address syntax: it is an address and a \
          port, e.g. 127.0.0.1:8080",
        ),
        ("[limits]", "[limits", "site.toml:4: unclosed table, expected `]`"),
        ("body = 1", "body = 1\nbody = 1", "site.toml:6: duplicate key"),
    ];
    for (right, wrong, line) in cases {
        assert_eq!(refusal(&TEXT.replacen(right, wrong, 1)), line);
    }
}

/// Types of Rust have no name in what is said of JSON, and where a mistake is stands behind it.
#[test]
fn a_mistake_in_json_is_told_without_types() {
    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Header {
        format: u32,
        share: f64,
        hosts: Vec<Host>,
    }
    #[derive(Debug, Deserialize)]
    #[allow(dead_code)]
    struct Host {
        name: String,
    }
    let told = |text: &str| of_json(serde_json::from_str::<Header>(text).expect_err(text));
    for (text, expected) in [
        ("5", "invalid type: integer `5`, expected an object (column "),
        ("{\"format\": {}}", "invalid type: an object, expected a whole number that is not negative (column "),
        ("{\n\"share\": \"a\"}", "invalid type: string \"a\", expected a number (line 2, column "),
        ("{\"hosts\": 1}", "invalid type: integer `1`, expected a list (column "),
        ("{\"hosts\": [1]}", "invalid type: integer `1`, expected an object (column "),
        ("{\"host\": [1]}", "unknown key `host`; did you mean `hosts`? (column "),
        ("{\"format\": 1", "EOF while parsing an object (column "),
    ] {
        let told = told(text);
        let place = told.strip_prefix(expected).and_then(|place| place.strip_suffix(')'));
        assert!(place.is_some_and(|column| column.parse::<u32>().is_ok()), "{text}: {told}");
    }
}

#[test]
fn a_key_is_found_by_its_path() {
    let file = ConfigFile::new("site.toml", TEXT);
    let lines = [
        ("listen", Some(1)),
        ("limits", Some(4)),
        ("limits.body", Some(5)),
        ("limits.p99.9", Some(6)),
        ("limits.order", Some(4)),
        ("backends[0]", Some(8)),
        ("backends[0].name", Some(9)),
        ("backends[1].name", Some(12)),
        ("backends[1].weights", Some(13)),
        ("backends[1].weights[1]", Some(15)),
        ("backends[1].port", Some(11)),
        ("backends[7].port", Some(8)),
        ("metrics.listen", None),
    ];
    for (key, line) in lines {
        assert_eq!(file.line(key), line, "{key}");
    }
    assert_eq!(file.path("zones/a".as_ref()), std::path::Path::new("zones/a"));
}

#[test]
fn what_a_check_finds_is_told_where_the_value_came_from() {
    let file = ConfigFile::new("site.toml", TEXT);
    let cases = [
        (Wrong::new("name", "it is `two`"), "site.toml:12: backends[1].name: it is `two`"),
        (Wrong::new("port", "there is none"), "site.toml:11: backends[1].port: there is none"),
    ];
    for (wrong, line) in cases {
        assert_eq!(wrong.inside("backends[1]").explain(Some(&file), &["body"]).to_string(), line);
    }
    let body = Wrong::new("limits.max_body", "more than 0");
    assert_eq!(body.explain(Some(&file), &[]).to_string(), "site.toml:4: limits.max_body: more than 0");
    assert_eq!(body.explain(Some(&file), &["max-body"]).to_string(), "--max-body: more than 0");
    assert_eq!(body.explain(Some(&file), &["limits-max-body"]).to_string(), "--limits-max-body: more than 0");
    assert_eq!(body.explain(None, &["max-body"]).to_string(), "--max-body: more than 0");
    assert_eq!(Wrong::new("metrics", "a\nb").explain(Some(&file), &[]).to_string(), "site.toml: metrics: a b");
}
