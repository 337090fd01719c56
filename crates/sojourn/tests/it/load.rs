//! `sojourn load` beyond a single run: objectives, search and scan, against a node whose service is known.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use sojourn_bed::Child;

use crate::sojourn::{PROGRAM, await_that, command, file, sojourn, stderr, stdout};

/// A node whose every job takes `demand` alone, under processor sharing.
fn node(demand: &str) -> Child {
    let model = format!("discipline = \"ps\"\ndemand = \"{demand}\"");
    let arguments = ["node", "--child", "--model", &model];
    Child::spawn(Path::new(PROGRAM), arguments, Duration::from_secs(20)).unwrap_or_else(|e| panic!("{e}"))
}

fn json(arguments: &[&str]) -> (Option<i32>, Value) {
    let output = sojourn(&[arguments, &["--json"]].concat());
    let told = serde_json::from_str(&stdout(&output)).unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)));
    (output.status.code(), told)
}

#[test]
fn objectives_are_judged_and_decide_the_exit_code() {
    let node = node("1 ms");
    let url = format!("http://127.0.0.1:{}/work", node.port());
    let load = ["load", &url, "--rate", "100 /s", "--requests", "200"];
    let objectives = ["--objective", "mean < 10 s", "--objective", "p50 < 1 us", "--objective", "p99.9 < 10 s"];
    let (code, told) = json(&[&load[..], &objectives].concat());
    assert_eq!(code, Some(1));
    let met = |index: usize| told["objectives"][index]["met"].as_bool().unwrap();
    assert_eq!((met(0), met(1), met(2)), (true, false, false), "{told}");
    let why = told["objectives"][2]["why"].as_str().unwrap();
    assert!(why.contains("too few samples"), "200 samples have no p99.9: {why}");
    // Of a run that a busy machine spoilt a longer one is not said to be enough.
    if told["verdict"] == "VALID" {
        assert!(why.contains("an interval from about 10000 requests on ("), "{why}");
    }
    // The same in words; whatever the machine makes of the verdict, the objective alone is met.
    let output = sojourn(&[&load[..], &["--objective", "error_ratio < 10%"]].concat());
    assert!(stdout(&output).contains(" met "), "{}", stdout(&output));
}

/// Those who left got no answer: where more left than may be slower, the time of the others decides nothing, as in a run. Of 100
/// requests for 20 ms each half leave; that one or none does is seen less than once in 10^28.
#[test]
fn a_time_that_most_did_not_wait_for_meets_nothing() {
    let node = node("20 ms");
    let url = format!("http://127.0.0.1:{}/work", node.port());
    let patience = "exponential(mean = 29 ms)";
    let (_, told) =
        json(&["load", &url, "--rate", "20 /s", "-n", "100", "--patience", patience, "--objective", "mean < 10 s"]);
    let (met, why) = (&told["objectives"][0]["met"], told["objectives"][0]["why"].as_str().unwrap());
    assert!(*met == false && why.contains("failed or were given up, and the time is that of the others"), "{told}");
}

/// Three times what a server can do for two seconds: the generator did its part, and no time of it is one of a steady state. A
/// limit that they are below already may be missed later; one that they are above is missed.
#[test]
fn times_of_a_queue_that_grows_to_the_end_meet_nothing() {
    let node = node("20 ms");
    let url = format!("http://127.0.0.1:{}/work", node.port());
    let page = tempfile::tempdir().unwrap();
    let page = page.path().join("page.html").display().to_string();
    let load = ["load", &url, "--rate", "150 /s", "-d", "2 s", "--report", &page];
    let objectives = ["--objective", "mean < 100 s", "--objective", "mean < 10 ms"];
    let (code, told) = json(&[&load[..], &objectives].concat());
    assert_eq!(code, Some(1));
    let grew = "the queue grew to the end, so that times hang on how long the load lasts";
    assert!(told["remarks"][0].as_str().is_some_and(|remark| remark.contains(grew)), "{told}");
    let why = |index: usize| told["objectives"][index]["why"].as_str().unwrap();
    assert!(why(0).starts_with("UNDECIDED: requests came at ") && why(0).contains(grew), "{told}");
    assert!(told["verdict"] != "VALID" || why(1) == "MISSED", "{told}");
    let mut rows = told["outcomes"].as_array().unwrap().iter();
    let mean = rows.find(|row| row["metric"] == "response_time_mean").unwrap();
    assert!(mean["estimate"].as_f64().is_some() && mean["ci_low"].as_f64().is_none(), "{mean}");
    assert!(std::fs::read_to_string(&page).unwrap().contains(grew));
    let output = sojourn(&load);
    let text = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.find(grew).is_some_and(|at| at < text.find("generator lateness").unwrap()), "{text}");
    // What it can do leaves no such word.
    let (_, told) = json(&["load", &url, "--rate", "20 /s", "-d", "2 s"]);
    assert_eq!(told["remarks"], serde_json::json!([]), "{told}");
}

/// Requests for bytes alone are said to ask for no work, which the node's own model would have.
#[test]
fn bytes_without_work_are_said_to_be_so() {
    let node = node("1 ms");
    let url = format!("http://127.0.0.1:{}/work", node.port());
    let note = |more: &[&str]| {
        let load = ["load", &url, "--rate", "100 /s", "--requests", "20", "--size", "1 kB", "-q"];
        stderr(&sojourn(&[&load[..], more].concat()))
    };
    let told = note(&[]);
    assert!(told.contains("note: --size without --demand: each request asks the node for no work (0 s)"), "{told}");
    let told = note(&["--demand", "1 ms"]);
    assert!(!told.contains("--size without"), "{told}");
}

/// No reply is good, so nothing was seen of a good one: an observed rate of 0 has an upper end, what cannot happen has none, and
/// a longer run is no remedy. Nor is it where more is asked for than is offered.
#[test]
fn what_a_longer_run_would_not_change_is_missed() {
    let node = node("1 ms");
    let bad = format!("http://127.0.0.1:{}/nothing-here", node.port());
    let load = |url: &str, objectives: &[&str]| {
        let flags = objectives.iter().flat_map(|objective| ["--objective", objective]);
        json(&[&["load", url, "--rate", "100 /s", "--requests", "200"], &flags.collect::<Vec<_>>()[..]].concat()).1
    };
    let why = |told: &Value, index: usize| told["objectives"][index]["why"].as_str().unwrap().to_owned();
    let told = load(&bad, &["p99 < 10 s", "throughput > 50 /s", "error_ratio < 1%", "abandoned_ratio < 1%"]);
    for (index, words) in [(0, "MISSED: not measurable"), (1, "MISSED"), (2, "MISSED")] {
        assert!(why(&told, index).starts_with(words), "{}", told["objectives"]);
    }
    let row = |metric: &str| {
        let rows = told["outcomes"].as_array().unwrap();
        let row = rows.iter().find(|row| row["metric"] == metric).unwrap_or_else(|| panic!("{metric}: {told}"));
        ["estimate", "ci_low", "ci_high"].map(|key| row[key].as_f64().unwrap())
    };
    let [value, low, high] = row("throughput");
    assert!(value == 0.0 && low == 0.0 && (1.4..2.0).contains(&high), "3.0 in 2 s: {high}");
    assert_eq!(row("abandoned_ratio"), [0.0; 3], "no client has a patience");
    let [value, low, high] = row("error_ratio");
    assert!(value == 1.0 && (0.98..0.99).contains(&low) && high == 1.0, "{low}: none of 200 was good");
    let good = format!("http://127.0.0.1:{}/work", node.port());
    let told = load(&good, &["throughput > 101 /s"]);
    assert_eq!(why(&told, 0), "MISSED: no more than 100 /s is offered");
}

/// Of 100 requests the p99 has no interval and the p50 has one: that half of them take longer than a limit on the p99 decides it,
/// as it does where an experiment asks.
#[test]
fn another_percentile_decides_where_the_one_asked_for_has_no_interval() {
    let node = node("5 ms");
    let url = format!("http://127.0.0.1:{}/work", node.port());
    let (_, told) = json(&["load", &url, "--rate", "50 /s", "--requests", "100", "--objective", "p99 < 1 us"]);
    let of = &told["objectives"][0];
    let [measured, why] = ["measured", "why"].map(|key| of[key].as_str().unwrap());
    assert!(measured.contains("(no interval: ") && measured.contains("; p50 "), "{of}");
    // On a busy machine the generator's own lateness may be the reason; too short a run is none.
    assert!(of["met"] == false && !why.contains("interval") && !why.contains("longer"), "{of}");
}

#[test]
fn a_scan_has_its_steps_and_its_curve() {
    let node = node("1 ms");
    let url = format!("http://127.0.0.1:{}/work", node.port());
    let folder = tempfile::tempdir().unwrap();
    let plot = folder.path().join("curve.svg").display().to_string();
    let scan = ["load", &url, "--rate", "1 /s", "--requests", "60", "--scan", "100:400:x2", "--plot", &plot];
    let (_, told) = json(&scan);
    let steps = told["steps"].as_array().unwrap();
    let rates: Vec<f64> = steps.iter().map(|step| step["rate"].as_f64().unwrap()).collect();
    assert_eq!(rates, [100.0, 200.0, 400.0]);
    assert!(steps.iter().all(|step| step["counts"]["planned"] == 60), "{told}");
    let curve = std::fs::read_to_string(plot).unwrap();
    assert!(curve.starts_with("<svg") && curve.contains("p50"), "{curve}");
    let (_, told) = json(&["load", &url, "--requests", "50", "--scan", "connections=1:5:2"]);
    assert_eq!(told["steps"].as_array().unwrap().len(), 3, "{told}");
}

#[test]
fn a_scan_stops_when_most_requests_fail() {
    // Nothing is there below /: every reply is a 404.
    let node = node("1 ms");
    let url = format!("http://127.0.0.1:{}/nothing-here", node.port());
    let scan = ["load", &url, "--rate", "1 /s", "--requests", "60", "--scan", "100:300:100"];
    let (code, told) = json(&scan);
    assert_eq!((code, told["steps"].as_array().unwrap().len()), (Some(1), 1), "{told}");
    assert!(told["remark"].as_str().unwrap().contains("--keep-going"), "{told}");
    let (_, told) = json(&[&scan[..], &["--keep-going"]].concat());
    assert_eq!(told["steps"].as_array().unwrap().len(), 3, "{told}");
}

#[test]
fn a_search_gives_its_bracket_and_names_what_it_does_not_trust() {
    // Whatever a busy machine makes of single trials, the bracket is one, and its lower end was seen to hold.
    let node = node("10 ms");
    let url = format!("http://127.0.0.1:{}/work", node.port());
    let search = ["load", &url, "--rate", "40 /s", "--duration", "1 s", "--search", "mean < 20 ms", "--within", "50%"];
    let (code, told) = json(&search);
    let trials = told["trials"].as_array().unwrap();
    assert_eq!(trials[0]["rate"], 40.0, "it begins where it is told to: {told}");
    assert_eq!(told["complete"], true);
    match told["highest_rate_that_holds"].as_f64() {
        Some(low) => {
            assert_eq!(code, Some(0), "{told}");
            // An open load of 100 /s and more has no steady state here; within a second it may still look well.
            assert!(low < 200.0, "{told}");
            assert!(trials.iter().any(|trial| trial["rate"] == low && trial["holds"] == true), "{told}");
            // The upper end may be a rate that a busy machine could not decide: that is no rate that does not hold.
            let undecided = told["rates_undecided"].as_array().unwrap().iter().filter_map(Value::as_f64);
            let above = undecided.chain(told["lowest_rate_that_does_not"].as_f64()).filter(|rate| *rate > low);
            let high = above.fold(f64::INFINITY, f64::min);
            for trial in trials.iter().filter(|trial| trial["rate"] == told["lowest_rate_that_does_not"]) {
                assert_ne!(trial["why"], "holds", "{told}");
            }
            assert!(low < high && high <= 1.5 * low + 1e-9, "{told}");
        }
        None => {
            assert_eq!(code, Some(1), "{told}");
            assert!(trials.iter().all(|trial| trial["holds"] == false && trial["why"] != "holds"), "{told}");
        }
    }
}

#[test]
fn what_the_flags_name_is_asked_for() {
    let (a, b) = (node("1 ms"), node("1 ms"));
    let [at_a, at_b] = [&a, &b].map(|node| format!("http://127.0.0.1:{}", node.port()));
    let folder = tempfile::tempdir().unwrap();
    let gaps = file(folder.path(), "gaps.txt", "5 ms\n".repeat(40));
    let list = file(folder.path(), "list.txt", "3 /bytes/10\n1 /bytes/30\n");
    let sessions = file(folder.path(), "sessions.txt", "/bytes/10 think=0.01\n    /bytes/20\n/bytes/30\n\n/bytes/40\n");
    let (drawn, ten) = (format!("{at_a}/bytes/{{uniform(low = 100, high = 900)}}"), format!("{at_a}/bytes/10"));
    let [at_root, other] = [&at_a, &at_b].map(|at| format!("{at}/bytes/100"));
    let cases: [(&[&str], &str, u64, std::ops::RangeInclusive<u64>); 8] = [
        (&[&at_root, &other, "-n", "100", "--rate", "500 /s"], "counts", 100, 10_000..=10_000),
        (&[&drawn, "-n", "50"], "counts", 50, 5_000..=45_000),
        (&[&at_a, "--urls", &list, "-n", "80"], "counts", 80, 800..=2_400),
        (&[&ten, "--trace", &gaps], "counts", 40, 400..=400),
        (&[&ten, "--trace", &gaps, "--speed", "2", "--repeat", "-n", "90"], "counts", 90, 900..=900),
        (&[&ten, "--wsess", "10,4,0.001", "--rate", "200 /s"], "objects", 40, 400..=400),
        (&[&at_a, "--sessions-file", &sessions, "--sessions", "6", "--rate", "99 /s"], "objects", 9, 300..=300),
        (&[&ten, "--rate", "200 /s", "--profile", "steps(1, 0, every = 200 ms)"], "counts", 40, 390..=410),
    ];
    for (arguments, what, planned, bytes) in cases {
        let (_, told) = json(&[&["load", "--duration", "2 s"], arguments].concat());
        let counts = &told[what];
        // Instants on the edge of a profile's step may round either way.
        let (all, ok) = (counts["planned"].as_u64().unwrap(), counts["ok"].as_u64().unwrap());
        assert!(all.abs_diff(planned) <= 1 && all == ok, "{arguments:?}: {counts} and not {planned}");
        assert!(bytes.contains(&told["bytes"].as_u64().unwrap()), "{arguments:?}: {}", told["bytes"]);
    }
    assert_eq!(b.stop().pop().unwrap()["requests"], 50, "every second request went to the second URL");
}

#[test]
fn records_and_logs_are_written_whole_by_every_process() {
    let node = node("1 ms");
    let url = format!("http://127.0.0.1:{}/work", node.port());
    let folder = tempfile::tempdir().unwrap();
    let [records, log] = ["records.csv", "log.hlog"].map(|name| folder.path().join(name).display().to_string());
    let load = ["load", &url, "--rate", "300 /s", "-n", "101", "--processes", "2", "--record", &records, "--hdr", &log];
    let (_, told) = json(&load);
    assert_eq!(told["records"].as_array().unwrap().len(), 2, "{told}");
    let parts = ["records-1.csv", "records-2.csv"].map(|name| {
        let read = sojourn_load::records::read(&folder.path().join(name)).unwrap_or_else(|e| panic!("{e}"));
        read.records.iter().map(|record| record.k).collect::<Vec<u64>>()
    });
    assert!(parts[0].iter().all(|k| k % 2 == 0) && parts[1].iter().all(|k| k % 2 == 1), "{parts:?}");
    let mut all = parts.concat();
    all.sort_unstable();
    assert_eq!(all, (0..101).collect::<Vec<u64>>(), "each request is in one file, once");
    assert!(std::fs::read_to_string(log).unwrap().contains("StartTime"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3, "nothing unfinished is left");
}

#[test]
fn one_host_at_two_addresses_has_clients_that_keep_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let records = folder.path().join("records.csv").display().to_string();
    for rotate in ["client", "request"] {
        let nodes = [node("1 ms"), node("1 ms")];
        let addresses = format!("127.0.0.1:{},127.0.0.1:{}", nodes[0].port(), nodes[1].port());
        let load = ["load", "http://www.example/work", "--address", &addresses, "--rate", "200 /s", "-n", "60"];
        let (_, told) = json(&[&load[..], &["--rotate", rotate, "--record", &records]].concat());
        assert_eq!(told["counts"]["ok"], 60, "{told}");
        let read = sojourn_load::records::read(Path::new(&records)).unwrap_or_else(|e| panic!("{e}"));
        let number = |k: u64, client: u32| if rotate == "client" { u64::from(client) } else { k };
        assert!(read.records.iter().all(|one| u64::from(one.endpoint) == number(one.k, one.client) % 2), "{rotate}");
        let served = nodes.map(|node| node.stop().pop().unwrap()["requests"].as_u64().unwrap());
        let first = read.records.iter().filter(|record| record.endpoint == 0).count() as u64;
        assert_eq!(served, [first, 60 - first], "{rotate}");
        assert!(first > 0 && first < 60);
    }
}

#[test]
fn a_run_tells_its_numbers_while_it_goes_on() {
    let node = node("1 ms");
    let url = format!("http://127.0.0.1:{}/work", node.port());
    let load = ["load", &url, "--rate", "100 /s", "-d", "60 s", "--metrics", "127.0.0.1:0"];
    let mut run = command(&load).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(run.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("metrics: http://").and_then(|rest| rest.strip_suffix("/metrics")).unwrap();
    let ask = || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    };
    // A client that connects and says nothing does not keep others waiting for long.
    let _silent = TcpStream::connect(address).unwrap();
    await_that("a good reply among the numbers", || {
        let text = ask();
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
        let count = |line: &str| line.strip_prefix("sojourn_load_good_replies_total ")?.parse::<u64>().ok();
        text.lines().find_map(count).is_some_and(|count| count > 0)
    });
    kill(Pid::from_raw(run.id() as i32), Signal::SIGINT).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(130));
}

/// Clients that ask again: what they came to is told, and what cannot be meant is refused in one line before anything is sent.
#[test]
fn clients_that_ask_again() {
    let node = node("200 ms");
    let url = format!("http://127.0.0.1:{}/work", node.port());
    let load = ["load", &url, "--rate", "10 /s", "--requests", "5"];
    let (_, told) = json(&[&load[..], &["--timeout", "50 ms", "--retries", "2", "--backoff", "10 ms"]].concat());
    let counts = &told["counts"];
    assert_eq!((counts["timeout"].as_u64(), counts["tried_again"].as_u64()), (Some(5), Some(10)), "{counts}");
    for (flags, expected) in [
        (&["--retries", "0"][..], "--retries 0: at least 1"),
        (&["--retries", "2", "--timeout", "0 s"], "--timeout: longer than 0"),
        (&["--deadline", "0 s"], "--deadline: longer than 0"),
        (&["--deadline", "1 s", "--timeout", "2 s"], "--deadline: the time in all is not shorter than --timeout, 2 s"),
        (
            &["--retries", "2", "--retry-budget", "150 %"],
            "--retry-budget: retries per request are above 0 and at most 1",
        ),
        (&["--retry-budget", "10 %"], "--retry-budget: it limits --retries and --hedge"),
        (&["--retries", "2", "--backoff", "full-jitter(25 ms)"], "--backoff: full-jitter(25 ms, 250 ms)"),
        (&["--hedge", "p100"], "--hedge: a percentile is between 0 and 100"),
        (&["--hedge", "p99"], "--hedge: p99 is known after 512 replies, and this run has 5 requests"),
        (&["--hedge", "2 s", "--timeout", "1 s"], "--hedge: no attempt is under way so long: it is given up after 1 s"),
        (&["--retries", "2", "--patience", "1 s"], "--patience: clients that ask more than once have a --deadline"),
    ] {
        let output = sojourn(&[&load[..], flags].concat());
        let said = stderr(&output);
        assert!(output.status.code() == Some(2) && said.contains(expected), "{flags:?}: {said}");
        assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    }
}
