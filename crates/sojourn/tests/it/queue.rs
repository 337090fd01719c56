//! `sojourn queue`: the rows that other tools may rely on, and what is refused in one line.

use serde_json::Value;

use crate::sojourn::{sojourn, stderr, stdout};

fn rows(arguments: &[&str]) -> Vec<Value> {
    let output = sojourn(&[&["queue"], arguments, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    serde_json::from_str(&stdout(&output)).expect("the answer is JSON")
}

fn row<'a>(rows: &'a [Value], metric: &str) -> &'a Value {
    rows.iter().find(|row| row["metric"] == metric).unwrap_or_else(|| panic!("no {metric}: {rows:?}"))
}

#[test]
fn limited_ps_as_json() {
    let service = "hyperexponential(mean = 1 s, cv = 2)";
    let rows = rows(&["M/G/1-LPS(8)", "--arrivals", "exponential(rate = 0.8 /s)", "--service", service]);
    // Exact M/H2/1-LPS(8), C2 = 4, utilisation 0.8: 6.135297 mean services.
    let response = row(&rows, "response_time_mean");
    assert!((response["estimate"].as_f64().unwrap() - 6.135297).abs() < 5e-7, "{response}");
    assert_eq!((&response["method"], &response["unit"]), (&Value::from("exact"), &Value::from("s")));
    assert!((row(&rows, "utilization")["estimate"].as_f64().unwrap() - 0.8).abs() < 1e-12);
    assert!(row(&rows, "waiting_time_mean")["estimate"].as_f64().unwrap() > 0.0);
    let other = "lognormal(mean = 1 s, cv = 2)";
    let rows = self::rows(&["M/G/1-LPS(8)", "--arrivals", "exponential(utilization = 0.8)", "--service", other]);
    assert_eq!(row(&rows, "response_time_mean")["method"], "approximate");
}

/// Who reads the rows need not know how many engines were asked.
#[test]
fn each_row_names_its_engine() {
    let law = ["M/M/1", "--arrivals", "exponential(rate = 0.5 /s)", "--service", "exponential(mean = 1 s)"];
    for (by, engines) in [
        (&["--jobs", "20000"][..], &["theory"][..]),
        (&["--by", "theory"], &["theory"]),
        (&["--by", "sim", "--jobs", "20000"], &["sim"]),
        (&["--by", "both", "--jobs", "20000"], &["sim", "theory"]),
    ] {
        let rows = rows(&[&law[..], by].concat());
        let mut named: Vec<&str> = rows.iter().map(|row| row["engine"].as_str().expect("an engine")).collect();
        named.sort_unstable();
        named.dedup();
        assert_eq!(named, engines, "{by:?}");
    }
}

#[test]
fn sizes_classes_and_all() {
    let law = ["--arrivals", "exponential(rate = 0.8 /s)", "--service", "1 s"];
    let shared = rows(&[&["M/D/1-PS"], &law[..], &["--size", "500 ms, 10 s"]].concat());
    assert!((row(&shared, "response_time_mean_at_0.5s")["estimate"].as_f64().unwrap() - 2.5).abs() < 1e-12);
    assert!((row(&shared, "response_time_mean_at_10s")["estimate"].as_f64().unwrap() - 50.0).abs() < 1e-9);
    let all = rows(&[&["M/D/1"], &law[..], &["--all"]].concat());
    assert_eq!(row(&all, "waiting_time_mean_marchal")["method"], "approximate");
    let gold = "gold:exponential(rate = 0.2 /s):mix(0.5: 1 s, 0.5: 3 s)";
    let others = "others:exponential(utilization = 0.3):exponential(mean = 1 s)";
    let classes = rows(&["M/G/1-PRIO", "--class", gold, "--class", others]);
    // W_0 = (0.2 x 5 + 0.3 x 2) / 2 = 0.8; gold waits W_0 / (1-0.4).
    assert!((row(&classes, "waiting_time_mean_gold")["estimate"].as_f64().unwrap() - 0.8 / 0.6).abs() < 1e-12);
    assert!((row(&classes, "waiting_time_mean_others")["estimate"].as_f64().unwrap() - 0.8 / 0.6 / 0.3).abs() < 1e-12);
}

#[test]
fn refused_in_one_line() {
    let poisson = ["--arrivals", "exponential(rate = 0.8 /s)"];
    for (arguments, says) in [
        (
            &["M/G/1-SRPT", "--service", "1 s"][..],
            "`SRPT` (shortest remaining processing time) is none of FCFS, PS, LPS(8)",
        ),
        (&["M/G/2-LAS", "--service", "1 s"], "least attained service on several cores"),
        (&["M/G/1/9-LPS(3)", "--service", "lognormal(mean = 1 s, cv = 1)"], "no formula for a limited room"),
        (&["M/D/1", "--service", "1 s", "--size", "5"], "--size: `5` has no unit"),
        (&["M/D/1", "--service", "1 s", "--size", "0 s"], "a size of 0 s"),
        (&["M/D/1-PRIO", "--service", "1 s"], "give each of them"),
        (&["M/D/1", "--service", "1 s", "--by", "sim", "--jobs", "1e30"], "at least 1 and at most 1e12"),
        (&["M/D/1", "--service", "1 s", "--by", "sim", "--jobs", "1e17"], "at least 1 and at most 1e12"),
    ] {
        let output = sojourn(&[&["queue"], arguments, &poisson[..]].concat());
        let complaint = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {complaint}");
        assert!(complaint.contains(says) && complaint.trim_end().lines().count() == 1, "{arguments:?}: {complaint}");
    }
    for (arguments, says) in [
        (&["M/G/1-PRIO", "--class", "gold:1 s"][..], "write NAME:ARRIVALS:SERVICE"),
        (&["M/G/1", "--class", "gold:exponential(rate = 1 /s):0.5 s"], "only -PRIO and -PRIO-PR serve by class"),
        (
            &["M/M/1//5", "--arrivals", "exponential(utilization = 0.5)", "--service", "1 s"],
            "a population has no utilization",
        ),
        (
            &["M/G/1", "--arrivals", "exponential(utilization = 0.5)", "--service", "pareto(alpha = 0.9, min = 1 s)"],
            "a service with a mean",
        ),
        (&["M/G/1", "--arrivals", "batches(n = 3, every = 9 s)", "--service", "1 s"], "come in batches"),
    ] {
        let output = sojourn(&[&["queue"], arguments].concat());
        let complaint = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {complaint}");
        assert!(complaint.contains(says) && complaint.trim_end().lines().count() == 1, "{arguments:?}: {complaint}");
    }
}

/// A server for every job, and queues side by side of which the shortest is joined.
#[test]
fn servers_without_number_and_queues_side_by_side() {
    let law = ["--arrivals", "exponential(rate = 3 /s)", "--service", "exponential(mean = 1 s)"];
    let both = rows(&[&["M/M/inf"], &law[..], &["--by", "theory,sim", "--jobs", "100000"]].concat());
    let of = |engine: &str, metric: &str| {
        let found = both.iter().find(|row| row["engine"] == engine && row["metric"] == metric);
        found.unwrap_or_else(|| panic!("no {metric} by {engine}: {both:?}"))["estimate"].as_f64().unwrap()
    };
    assert_eq!((of("theory", "response_time_mean"), of("theory", "number_in_system_mean")), (1.0, 3.0));
    assert!((of("theory", "response_time_p90") - 10f64.ln()).abs() < 1e-12);
    assert!((of("sim", "response_time_mean") - 1.0).abs() < 0.03 && of("sim", "waiting_time_mean") == 0.0);
    let law = ["--arrivals", "exponential(rate = 1.8 /s)", "--service", "exponential(mean = 1 s)"];
    let two = rows(&[&["M/M/2-JSQ"], &law[..], &["--by", "theory,sim", "--jobs", "400000"]].concat());
    let of = |engine: &str, metric: &str| {
        let found = two.iter().find(|row| row["engine"] == engine && row["metric"] == metric);
        found.unwrap_or_else(|| panic!("{two:?}"))["estimate"].as_f64().unwrap()
    };
    let mean = |engine: &str| of(engine, "response_time_mean");
    // Of both queues together, by both: 1.8 come in a second.
    for engine in ["theory", "sim"] {
        let number = of(engine, "number_in_system_mean");
        assert!((number / (1.8 * mean(engine)) - 1.0).abs() < 1e-9, "{engine}: {number}");
    }
    // Between one queue for both, 5.26, and two apart, 10.
    assert!(mean("theory") > 5.26 && mean("theory") < 6.0, "{}", mean("theory"));
    assert!((mean("sim") / mean("theory") - 1.0).abs() < 0.15, "{} and {}", mean("sim"), mean("theory"));
    for (queue, said) in [
        ("M/M/inf/5", "write that number"),
        ("M/M/4/9-JSQ", "side by side"),
        ("M/M/4-JSQ(x)", "JSQ(2)"),
        ("M/M/4-JSQ(2.5)", "it takes a whole number of at least 1"),
    ] {
        let output = sojourn(&[&["queue", queue], &law[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{queue}");
        assert!(stderr(&output).contains(said), "{queue}: {}", stderr(&output));
    }
}
