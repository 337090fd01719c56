//! The load daemon as a program: beside servers of a gateway that reads its reports, and what its user types wrong.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use sojourn_bed::Child;

use crate::skip::skipped;
use crate::sojourn::{PROGRAM, await_that, file, sojourn, stderr, stdout};

fn child(arguments: &[&str]) -> Child {
    Child::spawn(Path::new(PROGRAM), arguments, Duration::from_secs(20)).expect("a child is ready")
}

fn has_said(child: &Child, event: &str) -> bool {
    child.events().iter().any(|said| said["event"] == event)
}

/// Two emulated servers, a daemon beside each, and a gateway that follows their reports: it learns from them that each is good
/// for 500 requests of 2 ms per second. A daemon with another key is not believed, and one that ends is missed.
#[test]
fn a_gateway_follows_the_reports_of_daemons() {
    let folder = tempfile::tempdir().expect("a folder");
    let key = file(folder.path(), "key", "0123456789abcdef\n");
    let other = file(folder.path(), "other", "fedcba9876543210\n");
    let node =
        |name: &str| child(&["node", "--child", "--name", name, "--model", "discipline = \"ps\"\ndemand = \"1 ms\""]);
    let (a, b) = (node("a"), node("b"));
    let url = |node: &Child| format!("http://127.0.0.1:{}", node.port());
    let backend = |name: &str, node: &Child| format!("{name}=127.0.0.1:{}", node.port());
    let (to_a, to_b) = (backend("a", &a), backend("b", &b));
    let policy = ["--explain", "--policy", "least-load", "--reports", "127.0.0.1:0", "--key", &key];
    let gateway = child(&[&["gateway", "--child", "--backend", &to_a, "--backend", &to_b], &policy[..]].concat());
    let reports = gateway.events()[0]["reports"].as_str().expect("it says where").to_owned();
    let times = ["--every", "20 ms", "--heartbeat", "500 ms", "--watch", "5 ms"];
    let daemon = |name: &str, key: &str, node: &Child| {
        let ask = format!("{}/load", url(node));
        let who = ["loadd", "--child", "--name", name, "--key", key, "--to", &reports, "--ask", &ask];
        child(&[&who[..], &times].concat())
    };
    let daemons = [daemon("a", &key, &a), daemon("b", &key, &b)];
    let forger = daemon("b", &other, &a);
    let ask = || {
        let target = format!("http://127.0.0.1:{}/work?demand=2ms", gateway.port());
        let output = Command::new("curl").args(["-s", "-o", "/dev/null", "-D", "-", &target]).output();
        output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    if let Err(error) = ask() {
        return skipped(error);
    }
    let capacities = |head: &str| -> Vec<f64> {
        let parts = head.split("capacity_per_s ").skip(1).map(|part| part.split([',', ';']).next().unwrap_or_default());
        parts.filter_map(|number| number.trim().parse().ok()).collect()
    };
    await_that("the capacities of both are learned", || {
        let head = ask().expect("curl ran before");
        let learned = capacities(&head);
        learned.len() == 2 && learned.iter().all(|capacity| (400.0..600.0).contains(capacity))
    });
    let [told_a, told_b] = daemons;
    // One challenge, and one more after each silence that a busy machine made.
    let challenges = |told: &Value| told["challenges"].as_u64().expect("a count");
    assert!(challenges(&told_a.stop().pop().expect("it says that it stops")) >= 1);
    await_that("the silence of a is seen", || has_said(&gateway, "reports_silent"));
    let told_b = told_b.stop().pop().expect("it says that it stops");
    assert!(told_b["cpu_s"].as_f64().is_some_and(|cpu_s| cpu_s > 0.0), "{told_b}");
    assert_eq!(challenges(&forger.stop().pop().expect("it says that it stops")), 0);
    let told = gateway.stop().pop().expect("it says that it stops");
    let dropped = &told["reports_dropped"];
    let count = |cause: &str| dropped[cause].as_u64().expect("a count");
    assert!(count("challenged") >= 2 && count("forged") > 0, "{told}");
    assert_eq!(count("replayed") + count("impossible") + count("malformed"), 0, "{told}");
}

/// A gateway takes the load from there, with no key and no reports.
#[test]
fn a_daemon_serves_its_load_as_orca_where_it_is_told_to() {
    let folder = tempfile::tempdir().expect("a folder");
    let key = file(folder.path(), "key", "0123456789abcdef\n");
    let node = child(&["node", "--child", "--name", "a", "--model", "discipline = \"ps\"\ndemand = \"1 ms\""]);
    let ask = format!("http://127.0.0.1:{}/load", node.port());
    let who = ["loadd", "--child", "--name", "a", "--key", &key, "--to", "127.0.0.1:9", "--ask", &ask];
    let daemon = child(&[&who[..], &["--orca", "127.0.0.1:0"]].concat());
    let address = daemon.events()[0]["orca"].as_str().expect("it says where").to_owned();
    let (backend, stream) = (format!("a=127.0.0.1:{}", node.port()), format!("a={address}"));
    let gateway = child(&["gateway", "--child", "--backend", &backend, "--orca", &stream, "--orca-every", "20 ms"]);
    // A stream that cannot be had is said at once.
    std::thread::park_timeout(Duration::from_millis(300));
    assert!(!has_said(&gateway, "reports_silent"), "{:?}", gateway.events());
    daemon.stop();
    await_that("the end of the stream is said", || has_said(&gateway, "reports_silent"));
}

#[test]
fn a_sample_is_printed() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = file(folder.path(), "access.log", "");
    let output = sojourn(&["loadd", "--once", "--json", "--every", "20 ms", "--log", &log]);
    let sample: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!((&sample["completed"], &sample["requests_per_s"]), (&0.0.into(), &0.0.into()), "{sample}");
    assert!(
        sample["cpu_user"].is_number() && sample["swap"].is_number() && sample.get("workers").is_none(),
        "{sample}"
    );
    let output = sojourn(&["loadd", "--once", "--every", "20 ms"]);
    assert!(stdout(&output).lines().any(|line| line.starts_with("load_average ")), "{}", stdout(&output));
    let output = sojourn(&["loadd", "--once", "--every", "20 ms", "--workers", "no-such-server"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("the server is not there"), "{}", stderr(&output));
}

/// On a full disk a server cannot log what it serves: requests are then not known, and not 0.
#[test]
fn a_log_on_a_full_disk_tells_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = format!(
        "mount -t tmpfs -o size=16k small {0} && echo > {0}/access.log && (head -c 100000 /dev/zero > {0}/full || :) \
         && exec {PROGRAM} loadd --once --json --every '20 ms' --log {0}/access.log",
        folder.path().display()
    );
    let mut command = Command::new("unshare");
    let output = command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]).output();
    let output = match output {
        Ok(output) if output.status.success() => output,
        Ok(output) => return skipped(stderr(&output)),
        Err(error) => return skipped(error),
    };
    let sample: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert!(sample.get("completed").is_none() && sample.get("requests_per_s").is_none(), "{sample}");
    assert!(sample["memory"].is_number(), "and what else is known is told: {sample}");
}

#[test]
fn what_is_wrong_is_said_in_a_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let key = file(folder.path(), "key", "0123456789abcdef");
    let short = file(folder.path(), "short", "0123456789\n");
    let missing = folder.path().join("missing").display().to_string();
    let usual = ["loadd", "--to", "127.0.0.1:9", "--key", &key];
    let gateway = ["gateway", "--backend", "a=127.0.0.1:9", "--reports", "127.0.0.1:0", "--key", &key];
    let wrong: [(&[&str], &[&str], &str); 9] = [
        (&["loadd", "--to", "127.0.0.1:9", "--key", &short], &[], "10 bytes are too few; at least 16 are needed"),
        (&["loadd", "--to", "127.0.0.1:9", "--key", &missing], &[], "make one by `head -c 32 /dev/urandom"),
        (&usual, &["--log", &missing], "cannot read the access log"),
        (&usual, &["--every", "0 s"], "at most every 10 ms"),
        (&usual, &["--heartbeat", "100 ms"], "it is told at looks, so no more often than those"),
        (&usual, &["--ask", "ftp://x"], "write e.g. http://127.0.0.1:8080/load"),
        (&usual, &["--name", ""], "has 1 to 64 bytes"),
        (&gateway, &["--threads", "2"], "with 2 deciders"),
        (&["gateway", "--backend", "a=127.0.0.1:9", "--policy", "least-load"], &[], "reports"),
    ];
    for (arguments, further, right) in wrong {
        let output = sojourn(&[arguments, further].concat());
        let complaint = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?} {further:?}: {complaint}");
        assert_eq!(complaint.trim_end().lines().count(), 1, "{complaint}");
        assert!(complaint.contains(right), "{complaint}");
    }
    assert!(!fs::exists(&missing).expect("the folder can be read"));
}

/// A gateway over a node with a daemon, and a listener in front: the operator sees the cluster as one server, the round trip to
/// a client, and what is not believed.
#[test]
fn an_operator_sees_what_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let key = file(folder.path(), "key", "0123456789abcdef\n");
    let listen = |rest: &[&str]| child(&[&["listen", "--child", "--on", "127.0.0.1:0", "--key", &key], rest].concat());
    let listener = listen(&["--probe", "127.0.0.1"]);
    let node = child(&["node", "--child", "--model", "discipline = \"ps\"\ndemand = \"1 ms\""]);
    let (to, backend) = (format!("127.0.0.1:{}", listener.port()), format!("a=127.0.0.1:{}", node.port()));
    let tells = ["--report-to", &to, "--name", "paris", "--report-every", "20 ms", "--report-heartbeat", "100 ms"];
    let takes = ["gateway", "--child", "--backend", &backend, "--reports", "127.0.0.1:0", "--key", &key];
    let gateway = child(&[&takes[..], &tells[..]].concat());
    assert_eq!(gateway.events()[0]["tells"]["name"], "paris");
    let reports = gateway.events()[0]["reports"].as_str().expect("it says where").to_owned();
    let ask = format!("http://127.0.0.1:{}/load", node.port());
    let who = ["loadd", "--child", "--name", "a", "--key", &key, "--to", &reports, "--ask", &ask];
    let daemon = child(&[&who[..], &["--every", "20 ms", "--heartbeat", "100 ms"]].concat());
    let said = |event: &str, holds: &dyn Fn(&Value) -> bool| {
        listener.events().iter().any(|said| said["event"] == event && said["name"] == "paris" && holds(said))
    };
    await_that("the cluster is seen", || said("report", &|said| said["cores"] == 1.0 && said["age_s"].is_number()));
    await_that("the client is measured", || {
        said("echoes", &|said| said["answers"] == 3 && said["round_trip_s"].is_number())
    });
    node.stop();
    await_that("it is empty", || said("reports_empty", &|_| true));
    let told = gateway.stop().pop().expect("it says that it stops");
    assert_eq!((&told["upstream"]["probes"], &told["upstream"]["unsent"]), (&1.into(), &0.into()), "{told}");
    daemon.stop();
    let told = listener.stop().pop().expect("it says that it stops");
    assert!(told["dropped"]["challenged"].as_u64() >= Some(1) && told["dropped"]["forged"] == 0, "{told}");
}

#[test]
fn what_a_front_node_cannot_tell_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let key = file(folder.path(), "key", "0123456789abcdef");
    let front = |rest: &[&'static str]| -> Vec<String> {
        let usual = ["gateway", "--backend", "a=127.0.0.1:9"].iter().chain(rest);
        usual.map(|text| text.replace("KEY", &key)).collect()
    };
    let tells = ["--report-to", "127.0.0.1:9", "--key", "KEY", "--name", "paris"];
    let with = |rest: &[&'static str]| front(&[&tells[..], rest].concat());
    let listen = |rest: &[&'static str]| -> Vec<String> {
        let usual = ["listen", "--on", "127.0.0.1:0", "--key", "KEY"].iter().chain(rest);
        usual.map(|text| text.replace("KEY", &key)).collect()
    };
    let wrong = [
        (front(&["--report-to", "127.0.0.1:9", "--key", "KEY"]), "--name CLUSTER"),
        (front(&["--report-to", "127.0.0.1:9", "--name", "paris"]), "--key FILE"),
        (front(&["--name", "paris", "--key", "KEY"]), "--report-to"),
        (front(&["--key", "KEY"]), "--report"),
        (with(&["--threads", "2"]), "one thread, or one decider for all (--shared)"),
        (with(&["--report-every", "0 s"]), "at most every 10 ms"),
        (with(&["--report-heartbeat", "1 ms"]), "no more often than those"),
        (with(&["--echoes", "1001"]), "at most 1000 are possible"),
        (with(&["--echo-port", "0"]), "a port above 0"),
        (front(&["--report-to", "paris", "--key", "KEY", "--name", "paris"]), "invalid"),
        (listen(&["--names", "a,b,a"]), "a is named twice"),
        (listen(&["--probe", "example.org"]), "it is an address, such as 127.0.0.1"),
    ];
    for (arguments, right) in wrong {
        let output = sojourn(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        let complaint = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {complaint}");
        assert!(complaint.contains(right), "{arguments:?}: {complaint}");
    }
}
