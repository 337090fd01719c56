//! Bad input: exit code 2, one line that says what, where and what would be right, and nothing left behind.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;

use crate::sojourn::{experiment, file, sojourn, stderr, stdout};

/// The complaint about these arguments.
fn refused(arguments: &[&str]) -> String {
    let output = sojourn(arguments);
    let complaint = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {complaint}");
    assert_eq!(complaint.trim_end().lines().count(), 1, "{arguments:?}: more than one line: {complaint}");
    complaint
}

fn four_servers_but(folder: &Path, good: &str, bad: &str) -> String {
    let text = fs::read_to_string(experiment("four-servers.toml")).expect("the experiment is there");
    assert!(text.contains(good), "{good}");
    file(folder, "x.toml", text.replacen(good, bad, 1))
}

#[test]
fn mistakes_in_an_experiment() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        ("helpers = 16", "helprs = 16", &["x.toml:", "helpers"][..]),
        ("utilization = 0.7", "utilization = 1.3", &["x.toml:", "1.3", "stable below"]),
        ("utilization = 0.7", "rate = -5 /s", &["x.toml:", "arrivals"]),
        ("utilization = 0.7", "rate = 5", &["x.toml:", "unit"]),
        ("duration = \"12 s\"", "duration = \"12 sec\"", &["x.toml:", "sec"]),
        ("1 ms + 1 us/B", "1 ms + 1 us", &["x.toml:"]),
        ("\"5% at 95%\"", "\"5%\"", &["x.toml:", "5% at 95%"]),
    ];
    for (good, bad, expected) in cases {
        let path = four_servers_but(folder.path(), good, bad);
        let out = folder.path().join("out");
        let complaint = refused(&["run", &path, "--by", "theory", "--out", &out.display().to_string()]);
        for part in expected {
            assert!(complaint.contains(part), "`{bad}`: no `{part}` in {complaint}");
        }
        assert!(!out.exists(), "`{bad}`: something was left behind");
    }
}

/// A check is of all that the run would be given.
#[test]
fn a_check_is_of_the_engines_too() {
    let path = experiment("four-servers.toml").display().to_string();
    let complaint = refused(&["run", &path, "--by", "theroy", "--check"]);
    assert!(complaint.contains("did you mean `theory`?"), "{complaint}");
    let complaint = refused(&["run", &path, "--set", "run.by=simulation", "--check"]);
    assert!(complaint.contains("did you mean `sim`?"), "{complaint}");
    let output = sojourn(&["run", &path, "--by", "theory", "--set", "run.max_jobs=1e6", "--check"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

/// What a file says reaches a terminal as text, and not as orders to it.
#[test]
fn control_characters_of_an_input_are_written_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = four_servers_but(folder.path(), "\"least-connections\"", "\"\\u001b[2J\\u0007least\"");
    let complaint = refused(&["run", &path, "--check"]);
    assert!(complaint.contains("\\u{1b}[2J\\u{7}least") && !complaint.contains(['\u{1b}', '\u{7}']), "{complaint:?}");
    let text = fs::read_to_string(experiment("four-servers.toml")).expect("the experiment is there");
    let named = text.replacen("name = \"", "name = \"\\u001b[31m", 1);
    let path = file(folder.path(), "named.toml", named);
    let out = folder.path().join("out").display().to_string();
    let output = sojourn(&["run", &path, "--by", "theory", "--out", &out]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(!stdout(&output).contains('\u{1b}') && !stderr(&output).contains('\u{1b}'), "{}", stdout(&output));
}

#[test]
fn a_folder_is_read_whole_before_it_is_run() {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(experiment("four-servers.toml")).expect("the experiment is there");
    let text = text.replace("\"theory\", \"sim\", \"live\"", "\"theory\"");
    let needs_a_log = fs::read_to_string(experiment("replay-a-day.toml")).expect("the experiment is there");
    file(folder.path(), "needs-a-log.toml", needs_a_log);
    file(folder.path(), "right.toml", &text);
    let path = folder.path().display().to_string();
    let out = folder.path().join("out");
    let arguments = ["run", &path, "--by", "theory", "--out", &out.display().to_string()];
    let output = sojourn(&arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("needs-a-log.toml: left out"), "{}", stderr(&output));
    assert!(stderr(&output).contains("--set workload.log=FILE"), "{}", stderr(&output));
    assert!(out.join("right").join("outcomes.csv").exists() && !out.join("needs-a-log").exists());

    file(folder.path(), "wrong.toml", text.replace("seed = 1", "sed = 1"));
    file(folder.path(), "wrong-too.toml", text.replace("policy", "polcy"));
    fs::remove_dir_all(&out).unwrap();
    let output = sojourn(&arguments);
    let complaint = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{complaint}");
    assert!(complaint.contains("wrong.toml") && complaint.contains("wrong-too.toml"), "{complaint}");
    assert!(!out.exists(), "nothing was run");
}

/// A mistake in the file and an engine that lacks what it says are both bad input, seen before anything runs.
#[test]
fn systems_of_several_tiers() {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(experiment("tiers/two-gateways.toml")).expect("the experiment is there");
    let path = file(folder.path(), "x.toml", text.replacen("tiers = [\"gateway\"]", "tiers = [\"gatway\"]", 1));
    let complaint = refused(&["run", &path, "--by", "sim"]);
    assert!(complaint.contains("x.toml:19: tiers") && complaint.contains("did you mean `gateway`"), "{complaint}");
    let path = experiment("tiers/pools.toml").display().to_string();
    let out = folder.path().join("out");
    let complaint = refused(&["run", &path, "--by", "sim", "--out", &out.display().to_string()]);
    assert!(complaint.contains("not there yet: sim has no pools"), "{complaint}");
    assert!(!out.exists(), "something was left behind");
}

#[test]
fn live_refuses_what_only_the_simulator_can_do() {
    // It would say VALID of another system.
    let path = experiment("browsing.toml").display().to_string();
    for (set, expected) in [
        ("system.network.timeouts=0.1", "TCP but this kernel's"),
        ("system.tier.0.balancer={ per_packet = \"1 us\" }", "balancer"),
        ("system.tier.0.poll_cost=1 ms", "poll_cost"),
        ("face=switch", "switch"),
        ("level=connection", "level"),
    ] {
        let complaint = refused(&["run", &path, "--by", "live", "--set", set]);
        assert!(complaint.contains(expected), "{set}: {complaint}");
    }
}

#[test]
fn an_output_folder_that_exists_or_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = experiment("four-servers.toml").display().to_string();
    file(folder.path(), "mine.txt", "precious");
    let complaint = refused(&["run", &path, "--by", "theory", "--out", &folder.path().display().to_string()]);
    assert!(complaint.contains("not empty") && complaint.contains("--out"), "{complaint}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing was added");
    // Below a file there can be no folder, for any user (root may write anywhere else).
    let below = folder.path().join("mine.txt/out").display().to_string();
    let complaint = refused(&["run", &path, "--by", "theory", "--out", &below]);
    assert!(complaint.contains("cannot write"), "{complaint}");
}

/// Said before the work, which may take minutes, and in words that say what would be right.
#[test]
fn values_of_flags() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = folder.path().join("nowhere/out");
    let nowhere = nowhere.to_str().unwrap();
    let numbers = file(folder.path(), "numbers.txt", "1\n2\n3\n");
    let url = "http://127.0.0.1:1/";
    for (arguments, expected) in [
        (
            &["loadd", "--to", "there", "--key", "k"][..],
            "'there' for '--to <IP:PORT>': it is an address and a port, such as",
        ),
        (&["load", url, "--local", "1.2.3"], "it is an address, such as 127.0.0.1"),
        (&["load", url, "--seed", "1.5"], "'1.5' for '--seed <SEED>': it is a whole number"),
        (&["load", url, "--seed", "99999999999999999999"], "too large"),
        (&["queue", "M/M/1", "--speed", "fast"], "it is a number, such as 0.5"),
        (&["load", url, "--report", nowhere], "'--report <FILE.html>': there is no folder"),
        (&["load", url, "--hdr", nowhere], "there is no folder"),
        (&["load", url, "--rate", "5 /s", "--scan", "rate=1..2", "--plot", nowhere], "there is no folder"),
        (&["calibrate", url, "--out", nowhere], "there is no folder"),
        (&["report", "runs", "--out", nowhere], "there is no folder"),
        (&["traffic", "fit", &numbers, "--out", nowhere], "there is no folder"),
        (&["traffic", "describe", &numbers, "--report", nowhere], "there is no folder"),
        (&["traffic", "describe", &numbers, "--connections", nowhere], "there is no folder"),
        (&["traffic", "describe", &numbers, "--counts", nowhere], "there is no folder"),
        (&["traffic", "hurst", &numbers, "--plot", nowhere], "there is no folder"),
        (&["run", "x.toml", "--plot", nowhere], "there is no folder"),
        (
            &["run", "x.toml", "--plot", "x.png"],
            "'x.png' for '--plot <FILE.svg>': a plot is an SVG file; name it FILE.svg",
        ),
        (&["sweep", "x.toml", "--plot", "x"], "a plot is an SVG file"),
        (&["load", url, "--rate", "5 /s", "--scan", "rate=1..2", "--plot", "x.pdf"], "a plot is an SVG file"),
        (&["traffic", "hurst", &numbers, "--plot", "x.svg.gz"], "a plot is an SVG file"),
        (
            &["report", "runs", "--plot", "x.svg", "--metric", "throughput"],
            "'throughput' for '--metric <TIME>': a plot is of a time: mean, p50, p90",
        ),
    ] {
        let output = sojourn(arguments);
        let complaint = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {complaint}");
        assert!(
            complaint.starts_with("error: invalid value") && complaint.contains(expected),
            "{arguments:?}: {complaint}"
        );
    }
}

#[test]
fn logs_that_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let line = "host - - [01/Aug/1995:02:00:00 -0400] \"GET /a.html HTTP/1.0\" 200 1713\n";
    let earlier = line.replace("02:00:00", "00:30:00");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(line.repeat(5000).as_bytes()).unwrap();
    let mut gzip = gzip.finish().unwrap();
    gzip.truncate(gzip.len() - 10);
    let cases: [(&str, Vec<u8>, &str); 5] = [
        ("empty.log", Vec::new(), "empty"),
        ("binary.log", b"\x7fELF\0\0\0\x01\0\0binary\0\n".repeat(20), "binary"),
        ("truncated.log.gz", gzip, "truncated"),
        ("unsorted.log", [line, &earlier].concat().into_bytes(), "order of time"),
        ("prose.log", b"It was a dark and stormy night.\n".to_vec(), "log format that is known"),
    ];
    for (name, bytes, expected) in cases {
        let path = file(folder.path(), name, bytes);
        let complaint = refused(&["traffic", "describe", &path]);
        assert!(complaint.contains(name) && complaint.contains(expected), "{name}: {complaint}");
        let replay = experiment("replay-a-day.toml").display().to_string();
        let complaint = refused(&["run", &replay, "--by", "sim", "--set", &format!("workload.log={path}")]);
        assert!(complaint.contains(expected), "{name}: {complaint}");
    }
}

/// With none of it, nothing would be done, or something else than was asked for.
#[test]
fn counts_of_zero() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out").display().to_string();
    for (set, expected) in [
        ("run.max_jobs=0", "max_jobs: at least 1 request"),
        ("run.replications=0", "replications: at least 2"),
        ("run.replications=1", "replications: at least 2"),
        ("run.live.threads=0", "threads: at least 1 thread"),
        ("run.live.connections=0", "connections: at least 1 connection"),
    ] {
        let path = experiment("four-servers.toml").display().to_string();
        let complaint = refused(&["run", &path, "--by", "theory", "--out", &out, "--set", set]);
        assert!(complaint.contains(expected), "{set}: {complaint}");
    }
    let path = experiment("four-servers.toml").display().to_string();
    let gateway = ["gateway", "--backend", "a=127.0.0.1:9"];
    for (arguments, flag) in [
        (&["run", &path, "--out", &out, "--jobs", "0"][..], "--jobs"),
        (&["plan", &path, "--jobs", "0"], "--jobs"),
        (&["queue", "M/M/1", "--by", "sim", "--jobs", "0"], "--jobs"),
        (&["traffic", "generate", "--arrivals", "exponential(rate = 9 /s)", "--requests", "0"], "--requests"),
        (&["node", "--threads", "0"], "--threads"),
        (&["node", "--connections", "0"], "--connections"),
        (&[&gateway[..], &["--threads", "0"]].concat(), "--threads"),
        (&[&gateway[..], &["--connections", "0"]].concat(), "--connections"),
        (&[&gateway[..], &["--fall", "0"]].concat(), "--fall"),
        (&["redirect", "--backend", "a=127.0.0.1:9", "--connections", "0"], "--connections"),
    ] {
        let output = sojourn(arguments);
        let complaint = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {complaint}");
        let first = complaint.lines().next().unwrap_or("");
        assert!(first.contains(flag) && first.contains("at least 1"), "{arguments:?}: {complaint}");
    }
    for (arguments, expected) in [
        (&["node", "--grace", "-1 s"][..], "'--grace <TIME>': `-1 s` is negative"),
        (&["node", "--keep-alive", "soon"], "'--keep-alive <TIME>': `soon` is not a time"),
        (&["node", "--connections", "1000000000"], "file descriptors"),
    ] {
        let complaint = refused(arguments);
        assert!(complaint.contains(expected), "{arguments:?}: {complaint}");
    }
    assert!(!folder.path().join("out").exists(), "something was left behind");
}

#[test]
fn a_port_in_use() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    assert!(refused(&["node", "--listen", &address]).contains("in use"));
    let gateway = ["gateway", "--listen", &address, "--backend", "127.0.0.1:9"];
    assert!(refused(&gateway).contains("in use"));
}

#[test]
fn a_server_that_refuses_or_hangs() {
    // A port that was free a moment ago refuses.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let complaint = refused(&["load", &format!("http://{free}/"), "--duration", "1s"]);
    assert!(complaint.contains("refuses"), "{complaint}");
    let complaint = refused(&["load", "http://no-such-host.invalid/", "--duration", "1s"]);
    assert!(complaint.contains("no-such-host.invalid"), "{complaint}");
    // One that accepts and never answers: every request fails, by its cause, and the run is not VALID.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    let output = sojourn(&["load", &url, "--duration", "1s", "--timeout", "300 ms", "--connections", "2"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(told.contains("SUSPECT") && told.contains("timeout"), "{told}");
}

#[test]
fn loads_that_cannot_be() {
    let url = "http://127.0.0.1:9/";
    let folder = tempfile::tempdir().unwrap();
    let posts = file(folder.path(), "posts.txt", "/a method=POST contents='x'\n");
    let list = file(folder.path(), "list.txt", "/a\nheavy /b\n");
    let limits = file(folder.path(), "limits.toml", "stolen = \"5%\"\nstollen = \"5%\"\n");
    let cases: [(&[&str], &str); 49] = [
        (
            &[url, "--arrivals", "500/s"],
            "`500/s` is a rate where a law of gaps is expected: write `exponential(rate = 500/s)`",
        ),
        (&[url, "-d", "-5s"], "--duration: `-5s` is negative"),
        (&[url, "--record", "out.json"], "name a .csv or .parquet file"),
        (&[url, "--threads", "0"], "--threads 0: at least 1"),
        (&[url, "--connections", "0"], "--connections 0: at least 1"),
        (&[url, "--users", "0"], "--users 0: at least 1"),
        (&[url, "--limit", "stollen=5%"], "unknown limit `stollen`; did you mean `stolen`?"),
        (&[url, "--limit", "stolen"], "NAME=VALUE"),
        (&[url, "--limits-file", "/nowhere/at/all"], "--limits-file: /nowhere/at/all"),
        (&[url, "--limits-file", &limits], "limits.toml:2: stollen: unknown limit `stollen`; did you mean `stolen`?"),
        (&[url, "--profile", "steps(1, 2, every = 1 s)"], "--rate"),
        (&[url, "--rate", "9 /s", "--profile", "stairs(1)"], "--profile"),
        (&[url, "--streams", "4"], "--http 2"),
        (&[url, "--http", "3"], "1.0, 1.1 or 2"),
        (&[url, "--method", "FETCH"], "DELETE"),
        (&[url, "--method", "GETT"], "(did you mean `GET`?)"),
        (&[url, "--body-file", "/nowhere/at/all"], "--body-file"),
        (&[url, url, "--address", "127.0.0.1:9"], "one URL"),
        (&[url, "--rotate", "server"], "client or request"),
        (&[url, "--resolver", "dns"], "127.0.0.1:5353"),
        (&[url, "--resolves", "daily"], "--resolves daily: `ttl`, `request`, or a time above zero, e.g. 60s"),
        (&[url, "--resolves", "0 s"], "--resolves 0 s: `ttl`, `request`, or a time above zero, e.g. 60s"),
        (&[url, "--proxy", "127.0.0.1:3128"], "--proxy: `127.0.0.1:3128`: an address starts with `http://`"),
        (&[url, "--proxy", "https://127.0.0.1:3128"], "write `http://HOST:PORT`"),
        (&["https://127.0.0.1:9/", "--proxy", "http://127.0.0.1:3128"], "CONNECT"),
        (&[url, "--proxy", "http://127.0.0.1:3128", "--address", "127.0.0.1:9"], "--address: with --proxy"),
        (&[url, "--trace", "/nowhere/at/all"], "/nowhere/at/all"),
        (&[url, "--wsess", "10,5,1"], "--rate"),
        (&[url, "--rate", "9 /s", "--sessions-file", &posts, "--sessions", "3"], "GET"),
        (&[url, "--urls", &list], "list.txt:2"),
        (&[url, "--search", "p99 < 5 ms", "--rate", "5 /s", "--record", "x.csv"], "--record"),
        (&[url, "--search", "p99 < 5 ms", "--rate", "5 /s", "--report", "x.html"], "are several: `--scan"),
        (&[url, "--scan", "1:9:1", "--rate", "1 /s", "--report", "x.html"], "takes --report"),
        (&[url, "--scan", "1:9:1", "--rate", "1 /s", "--hdr", "x.hdr"], "takes --hdr"),
        (&["http//127.0.0.1/"], "http://"),
        (&["http://127.0.0.1:99999/"], "99999"),
        (&["http://192.0.2.1/"], "--yes-i-may"),
        (&[url, "--objective", "p98 < 5 ms"], "p99.9"),
        (&[url, "--objective", "p99 < 5"], "ms"),
        (&[url, "--search", "p99 < 5 ms"], "--rate"),
        (&[url, "--search", "p99 < 5 ms", "--users", "3"], "--rate"),
        (&[url, "--search", "p99 < 5 ms", "--rate", "5 /s", "--within", "0%"], "--within"),
        (&[url, "--scan", "1:10:1"], "--rate"),
        (&[url, "--scan", "1:9:1", "--rate", "1 /s", "--objective", "p99 < 5 ms"], "a scan is several and judges none"),
        (&[url, "--search", "p99 < 5 ms", "--rate", "1 /s", "--objective", "p99 < 5 ms"], "a search is several, and"),
        (&[url, "--retries=-1"], "it is a whole number of 0 or more"),
        (&[url, "--retries", "5000000000"], "it is too large a number"),
        (&[url, "--scan", "users=1:10:1"], "--users"),
        (&[url, "--scan", "1:10:0", "--rate", "1 /s"], "FROM:TO:STEP"),
    ];
    for (arguments, expected) in cases {
        let complaint = refused(&[&["load"], arguments].concat());
        assert!(complaint.contains(expected), "{arguments:?}: {complaint}");
    }
}

/// wrk's and k6's, which resemble flags of ours that mean something else.
#[test]
fn flags_of_other_load_generators_are_told_what_is_meant_here() {
    for (flag, tip) in [("--latency", "--report"), ("--stages", "--profile"), ("--vus", "--users N")] {
        let output = sojourn(&["load", "http://127.0.0.1:9/", flag]);
        let complaint = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{complaint}");
        assert!(complaint.contains(&format!("'{flag}'")) && complaint.contains(tip), "{complaint}");
        assert!(!complaint.contains("similar argument"), "{complaint}");
    }
    assert!(!stdout(&sojourn(&["load", "--help"])).contains("--latency"));
}

/// Other verbs write a page where `--report` says; that of a run is in its folder, and no plot.
#[test]
fn a_run_that_is_to_write_a_page_is_told_where_it_is() {
    let output = sojourn(&["run", "x.toml", "--report", "x.html"]);
    let complaint = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{complaint}");
    for part in ["'--report'", "`--out DIR` makes it DIR/report.html"] {
        assert!(complaint.contains(part), "{part}: {complaint}");
    }
    assert!(!complaint.contains("similar argument") && !complaint.contains("--plot"), "{complaint}");
    assert!(!stdout(&sojourn(&["run", "--help"])).contains("--report"));
}

#[test]
fn a_server_without_http2_is_said_before_the_run() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 1024]);
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").unwrap();
    });
    let complaint = refused(&["load", &url, "--http", "2", "--duration", "1s"]);
    assert!(complaint.contains("does not answer in HTTP/2"), "{complaint}");
    server.join().unwrap();
}

#[test]
fn agents_that_anybody_could_use() {
    let folder = tempfile::tempdir().unwrap();
    let short = file(folder.path(), "short", "secret");
    for (arguments, expected) in [
        (&["agent", "--listen", "0.0.0.0:0"][..], "--token-file"),
        (&["agent", "--token-file", &short], "16 characters"),
        (&["agent", "--token-file", "/nowhere/at/all"], "cannot read"),
        (&["load", "http://127.0.0.1:9/", "--agents", "nonsense"], "HOST:PORT"),
        (&["load", "http://127.0.0.1:9/", "--processes", "0"], "--processes"),
    ] {
        let complaint = refused(arguments);
        assert!(complaint.contains(expected), "{arguments:?}: {complaint}");
    }
}

#[test]
fn what_cannot_be_compared() {
    let folder = tempfile::tempdir().unwrap().path().display().to_string();
    let url = "http://127.0.0.1:9/";
    for (arguments, expected) in [
        (&[url, &folder][..], "not one of each"),
        (&[&folder, &folder], "not a run folder"),
        (&[url, url, "--rounds", "1"], "--rounds"),
        (&[url, "http://127.0.0.1:9/x y"], "%XX"),
    ] {
        let complaint = refused(&[&["compare"], arguments].concat());
        assert!(complaint.contains(expected), "{arguments:?}: {complaint}");
    }
}

#[test]
fn the_folder_of_a_plan_is_called_one() {
    let folder = tempfile::tempdir().unwrap();
    file(folder.path(), "plan.json", "{}");
    let path = folder.path().display().to_string();
    let complaint = refused(&["compare", &path, &path]);
    assert!(complaint.contains("is not a run folder (it is a plan's, with plan.json)"), "{complaint}");
}

#[test]
fn a_pareto_without_a_mean_has_no_theory() {
    let arguments = ["queue", "M/G/1", "--arrivals", "exponential(rate = 1 /s)"];
    let complaint = refused(&[&arguments[..], &["--service", "pareto(alpha = 0.9, min = 100 ms)"]].concat());
    assert!(complaint.contains("bounded-pareto"), "{complaint}");
    let complaint = refused(&[&arguments[..], &["--service", "exponential(mean = 2 s)"]].concat());
    assert!(complaint.contains('2') && complaint.contains("utili"), "{complaint}");
}

#[test]
fn a_queue_of_which_nothing_is_said() {
    for arguments in [&["queue", "M/G/1"][..], &["queue", "M/G/1", "--service", "exponential(mean = 1 s)"]] {
        let complaint = refused(arguments);
        assert!(complaint.contains("M/G/1: say how jobs come") && complaint.contains("--arrivals 'exp"), "{complaint}");
    }
}

#[test]
fn a_folder_that_is_no_run_folder() {
    let folder = tempfile::tempdir().unwrap();
    let complaint = refused(&["report", &folder.path().display().to_string()]);
    assert!(complaint.contains("not a run folder"), "{complaint}");
}
