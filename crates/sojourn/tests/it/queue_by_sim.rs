//! `sojourn queue` by simulation: beside theory, from a trace, and what it refuses.

use std::fs;

use serde_json::Value;

use crate::sojourn::{file, sojourn, stderr};

fn rows(arguments: &[&str]) -> Vec<Value> {
    let output = sojourn(&[&["queue"], arguments, &["--json"]].concat());
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn estimate(rows: &[Value], engine: &str, metric: &str) -> f64 {
    let found = rows.iter().find(|row| row["engine"] == engine && row["metric"] == metric);
    found.and_then(|row| row["estimate"].as_f64()).unwrap_or_else(|| panic!("no {metric} by {engine}"))
}

/// Both engines answer in one list, and the simulation's interval (95 %, here widened fivefold: false alarms 1e-12 for a
/// normal mean) holds theory's number.
#[test]
fn theory_and_simulation_stand_beside_each_other() {
    let laws = ["--arrivals", "exponential(rate = 0.6 /s)", "--service", "erlang(k = 2, mean = 1 s)"];
    let more = ["--by", "theory,sim", "--jobs", "3e5", "--seed", "3"];
    for queue in ["M/G/1", "M/G/1-PS", "M/G/2", "M/G/1-LCFS-PR"] {
        let rows = rows(&[&[queue], &laws[..], &more].concat());
        let exact = estimate(&rows, "theory", "response_time_mean");
        let row = rows.iter().find(|row| row["engine"] == "sim" && row["metric"] == "response_time_mean").unwrap();
        let [value, low, high] = ["estimate", "ci_low", "ci_high"].map(|key| row[key].as_f64().unwrap());
        let slack = if queue == "M/G/2" { 0.05 * exact } else { 0.0 };
        assert!((value - exact).abs() <= 2.5 * (high - low) + slack, "{queue}: {value} for {exact}");
    }
    let output = sojourn(&[&["queue", "M/G/1-PS"], &laws[..], &more].concat());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("theory") && text.contains("sim") && text.contains(" ± "), "{text}");
}

/// What no formula knows is simulated all the same, and the note says why theory has no column.
#[test]
fn what_theory_refuses_is_simulated() {
    let queue = ["queue", "G/G/1-RR(100 ms)", "--service", "lognormal(mean = 1 s, cv = 2)", "--jobs", "2e4"];
    let output = sojourn(&[&queue[..], &["--arrivals", "batches(n = 3, every = 5 s)", "--by", "theory,sim"]].concat());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("theory: --arrivals: no formula"), "{text}{}", stderr(&output));
}

/// Classes, the first the most urgent.
#[test]
fn classes_are_simulated_with_their_names() {
    let rows = rows(&[
        "M/M/1-PRIO-PR",
        "--class",
        "gold:exponential(rate = 0.3 /s):exponential(mean = 1 s)",
        "--class",
        "iron:exponential(rate = 0.3 /s):exponential(mean = 1 s)",
        "--by",
        "theory,sim",
        "--jobs",
        "2e5",
    ]);
    for class in ["gold", "iron"] {
        let metric = format!("response_time_mean_{class}");
        let (exact, simulated) = (estimate(&rows, "theory", &metric), estimate(&rows, "sim", &metric));
        assert!((simulated / exact - 1.0).abs() < 0.2, "{class}: {simulated} for {exact}");
    }
}

/// Gaps 1, 1, 1, ... and demands 0.5, 1.5, 0.5, ...: waits 0, 0, 0.5, 0, 0.5, ... by hand.
#[test]
fn a_trace_is_played_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let pairs = "1,0.5\n1,1.5\n".repeat(2000);
    let path = file(folder.path(), "pairs.csv", format!("gap_s,demand_s\n{pairs}"));
    let fcfs = rows(&["G/G/1", "--trace", &path]);
    assert!((estimate(&fcfs, "sim", "waiting_time_mean") - 0.5 * 1999.0 / 4000.0).abs() < 1e-9);
    assert!((estimate(&fcfs, "sim", "response_time_mean") - 1.0 - 0.5 * 1999.0 / 4000.0).abs() < 1e-9);
    let predicted = rows(&["G/G/1", "--trace", &path, "--predict", "demands"]);
    assert_eq!(estimate(&predicted, "sim", "prediction_error_mean"), 0.0);
    // Twice as fast it is too much, which is said and not refused: a trace ends.
    let output = sojourn(&["queue", "G/G/1-PS", "--trace", &path, "--speed", "2"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("asks for 2.000 of what"), "{text}");
    let plan = folder.path().join("plan.csv").display().to_string();
    let law = ["--arrivals", "exponential(rate = 8 /s)", "--demand", "exponential(mean = 0.1 s)"];
    let made = sojourn(&[&["traffic", "generate", "--requests", "5000", "--out", &plan], &law[..]].concat());
    assert!(made.status.success(), "{}", stderr(&made));
    assert!(estimate(&rows(&["G/G/1-LAS", "--trace", &plan]), "sim", "response_time_mean") > 0.1);
}

#[test]
fn what_cannot_be_simulated_is_refused_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let gaps = folder.path().join("gaps.csv");
    fs::write(&gaps, "0.1\n0.2\n0.3\n").unwrap();
    let gaps = gaps.display().to_string();
    let laws = ["--arrivals", "exponential(rate = 0.8 /s)", "--service", "exponential(mean = 1 s)", "--by", "sim"];
    let with = |queue, more: &[&'static str]| [&["queue", queue], &laws[..], more].concat();
    let cases: [(Vec<&str>, &str); 10] = [
        (with("M/M/1-SIRO", &[]), "no simulation of SIRO"),
        (with("M/M/1//5", &[]), "population"),
        (with("M/M/2-LAS", &[]), "1 core only"),
        (with("M/M/1", &["--jobs", "many"]), "1e6"),
        (with("M/M/1", &["--jobs", "-5"]), "'-5' for '--jobs <N>': a whole number"),
        (with("M/M/1", &["--predict", "luck"]), "`number` or `demands`"),
        (with("M/M/1", &["--by", "magic"]), "by theory, sim or both"),
        (vec!["queue", "G/G/1", "--trace", &gaps], "the demand of every request"),
        (vec!["queue", "G/G/1", "--trace", &gaps, "--by", "theory"], "formulas need laws"),
        (vec!["queue", "G/G/1", "--trace", &gaps, "--speed", "0"], "above 0"),
    ];
    for (arguments, expected) in cases {
        let output = sojourn(&arguments);
        let said = stderr(&output);
        assert!(output.status.code() == Some(2) && said.contains(expected), "{arguments:?}: {said}");
    }
    let heavy = ["--arrivals", "exponential(rate = 1.1 /s)", "--service", "exponential(mean = 1 s)", "--by", "sim"];
    let output = sojourn(&[&["queue", "M/M/1"], &heavy[..]].concat());
    assert!(stderr(&output).contains("is not below 1, so the queue never settles"), "{}", stderr(&output));
    // With the largest rate that settles, as theory says it, of queues side by side too.
    for (queue, largest) in
        [("M/M/1", "stable below 1 /s (now 1.1 /s)"), ("M/M/2-JSQ", "stable below 2 /s (now 2.2 /s)")]
    {
        let rate = if queue == "M/M/1" { "exponential(rate = 1.1 /s)" } else { "exponential(rate = 2.2 /s)" };
        let output =
            sojourn(&["queue", queue, "--arrivals", rate, "--service", "exponential(mean = 1 s)", "--by", "sim"]);
        assert!(output.status.code() == Some(2) && stderr(&output).contains(largest), "{}", stderr(&output));
    }
}

/// Queues side by side leave out as many jobs as are asked for, in each replication; without `--warm-up` the end is sought.
#[test]
fn queues_side_by_side_take_a_warm_up() {
    let laws = ["--arrivals", "exponential(rate = 1 /s)", "--service", "exponential(mean = 1 s)", "--by", "sim"];
    let ask = |more: &[&str]| sojourn(&[&["queue", "M/M/2-JSQ"], &laws[..], more].concat());
    let jobs = |more: &[&str]| {
        let output = ask(more);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{more:?}: {}", stderr(&output));
        let told = said.split_whitespace().zip(said.split_whitespace().skip(1)).find(|pair| pair.1 == "jobs");
        told.and_then(|(jobs, _)| jobs.parse::<u64>().ok()).unwrap_or_else(|| panic!("{more:?}: {said}"))
    };
    // Of 10,000 jobs in each of 20 replications, and those that were inside then: more than 100 once in 2^50 times.
    let left = jobs(&["--jobs", "2e5", "--warm-up", "1000"]);
    assert!((20 * 8900..=20 * 9000).contains(&left), "{left}");
    assert!(jobs(&["--jobs", "2e5"]) <= 20 * 5000, "5,000 are looked at for the end of the warm-up");
    let refused = stderr(&ask(&["--jobs", "2e5", "--warm-up", "1e5"]));
    let told = "a warm-up of 100000 requests leaves nothing to measure: each of 20 replications has 10000; set --jobs ";
    assert!(refused.contains(told) && refused.trim_end().lines().count() == 1, "{refused}");
    // Formulas begin nowhere.
    let output = sojourn(&[&["queue", "M/M/2-JSQ"], &laws[..4], &["--warm-up", "1000"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
}

/// Too few jobs are told with a number that is enough, on one line.
#[test]
fn too_few_jobs_are_told_with_how_many_would_do() {
    let laws = ["--arrivals", "exponential(utilization = 0.95)", "--service", "exponential(mean = 1 s)", "--by", "sim"];
    let (found, given): (&[&str], &[&str]) = (&[], &["--warm-up", "700"]);
    for (queue, more) in [
        ("M/M/4-JSQ", found),
        ("M/M/4-JSQ", given),
        ("M/M/4-JSQ(2)", found),
        ("M/M/4-JSQ(1)", found),
        ("M/M/1", found),
        ("M/M/1", given),
    ] {
        let said = |jobs: &str| {
            let output = sojourn(&[&["queue", queue], &laws[..], more, &["--jobs", jobs][..]].concat());
            assert!(output.status.success(), "{queue}: {}", stderr(&output));
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let short = said("20000");
        let line = short.lines().find(|line| line.contains("`--jobs ")).unwrap_or_else(|| panic!("{queue}: {short}"));
        let enough = line.split_once("`--jobs ").and_then(|(_, rest)| rest.split_once('`')).map(|(jobs, _)| jobs);
        let enough = said(enough.unwrap_or_else(|| panic!("{queue}: {line}")));
        assert!(!enough.contains("too short for intervals") && !enough.contains("would do"), "{queue}: {enough}");
    }
}

/// Little's law holds within a run, whatever the discipline: who shares a core is inside as long as who waits for it. And what is
/// inside is what formulas say, within 6 standard errors of as long a run.
#[test]
fn the_number_in_system_is_the_rate_times_the_response_time() {
    let law = ["--arrivals", "exponential(rate = 0.5 /s)", "--service", "exponential(mean = 1 s)"];
    // At 0.5 in one queue 1 is inside, with more cores or less room less.
    let cases = [
        ("M/M/1", Some(1.0)),
        ("M/M/1-PS", Some(1.0)),
        ("M/M/1-LPS(8)", Some(1.0)),
        ("M/M/1-LAS", Some(1.0)),
        ("M/M/1-LCFS-PR", Some(1.0)),
        ("M/M/1-RR(100 ms)", Some(1.0)),
        ("M/M/4-PS", None),
        ("M/M/1/3-PS", None),
        ("M/M/inf", Some(0.5)),
    ];
    for (queue, inside) in cases {
        let output = sojourn(&[&["queue", queue], &law[..], &["--by", "sim", "--jobs", "200000", "--json"]].concat());
        let rows: Vec<Value> = serde_json::from_slice(&output.stdout).expect("rows");
        let of = |metric: &str| {
            rows.iter().find(|row| row["metric"] == metric).unwrap_or_else(|| panic!("{queue}: {metric} in {rows:?}"))["estimate"]
                .as_f64()
                .unwrap()
        };
        let (number, product) = (of("number_in_system_mean"), of("throughput") * of("response_time_mean"));
        assert!((number / product - 1.0).abs() < 1e-6, "{queue}: {number} inside, {product} by Little's law");
        if let Some(inside) = inside {
            assert!((number / inside - 1.0).abs() < 0.06, "{queue}: {number} inside, {inside} by formula");
        }
    }
}

/// Queues that are drawn without a look at their length forget as slowly as one alone, so that it takes fifty times as many jobs
/// for fifty of them: 400,000 are less than a relaxation time in each replication, and no interval is believed.
#[test]
fn queues_drawn_without_a_look_forget_as_slowly_as_one() {
    let law = ["--arrivals", "exponential(utilization = 0.9)", "--service", "exponential(mean = 1 s)"];
    let rows = rows(&[&["M/M/50-JSQ(1)"], &law[..], &["--by", "sim", "--jobs", "400000"]].concat());
    let mean = rows.iter().find(|row| row["metric"] == "response_time_mean").unwrap_or_else(|| panic!("{rows:?}"));
    assert!(mean["note"].as_str().is_some_and(|note| note.starts_with("no interval")), "{mean}");
}
