//! The node as its users meet it: its file, what is typed wrong, signals, and curl over TLS.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sojourn_bed::Child;
use tempfile::TempDir;

use crate::bed::has;
use crate::sojourn::{PROGRAM, await_that, file, sojourn, stderr, stdout};

/// A file of settings that are all there, and what it names.
const WHOLE: &str = "\
listen = [\"127.0.0.1:0\"]
name = \"a\"
threads = 2
workers = 1
seed = 7
classes = [\"static\", \"dynamic\"]
model = \"server.toml\"
grace = \"10 s\"
[files]
root = \"htdocs\"
[log]
file = \"access.log\"
[tls]
listen = [\"127.0.0.1:0\"]
[[tls.certificate]]
chain = \"site.pem\"
key = \"site.key\"
[limits]
connections = 100
when_full = \"close\"
per_address = 50
requests = 1000
keep_alive = \"30 s\"
head_timeout = \"10 s\"
head_size = \"16 kB\"
body_size = \"1 MB\"
body_timeout = \"30 s\"
send_timeout = \"20 s\"
handshake_timeout = \"5 s\"
streams = 64
[metrics]
listen = \"127.0.0.1:0\"
";

/// A folder with what the file names.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("htdocs")).unwrap();
    file(folder.path(), "htdocs/index.html", "<p>home");
    file(folder.path(), "server.toml", "discipline = \"ps\"\ndemand = \"1 ms\"\n");
    let order = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 90 -subj /CN=localhost \
                 -addext subjectAltName=DNS:localhost,DNS:www.example.org -keyout site.key -out site.pem";
    let made = Command::new("sh").args(["-c", order]).current_dir(folder.path()).output().unwrap();
    assert!(made.status.success(), "{}", stderr(&made));
    folder
}

fn start(folder: &TempDir, text: &str) -> Child {
    let config = file(folder.path(), "node.toml", text);
    Child::spawn(Path::new(PROGRAM), ["node", "--child", "--config", &config], Duration::from_secs(20)).unwrap()
}

fn tell(node: &Child, signal: Signal) {
    kill(Pid::from_raw(node.pid() as i32), signal).unwrap();
}

fn said(node: &Child, event: &str) -> usize {
    node.events().iter().filter(|said| said["event"] == event).count()
}

#[test]
fn a_file_says_all_that_a_node_is() {
    if !["openssl", "curl"].into_iter().all(has) {
        return;
    }
    let folder = folder();
    let path = file(folder.path(), "node.toml", WHOLE);
    let checked = sojourn(&["node", "--config", &path, "--check"]);
    let (code, text) = (checked.status.code(), stdout(&checked));
    assert_eq!(code, Some(0), "{text}{}", stderr(&checked));
    for part in [
        "node.toml: ok; http on 127.0.0.1:0; https on 127.0.0.1:0; files below ",
        "access.log",
        "http://127.0.0.1:0/metrics",
        "certificates for localhost, www.example.org\n",
        "when_full = \"close\"\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!folder.path().join("access.log").exists(), "nothing has begun");

    let node = start(&folder, WHOLE);
    let ready = node.events()[0].clone();
    let curl = |arguments: &[&str], url: &str| {
        let output =
            Command::new("curl").args(["-s", "-w", " %{http_code} %{http_version}"]).args(arguments).arg(url).output();
        stdout(&output.unwrap())
    };
    let address = |key: &str| ready[key].as_array().map_or(&ready[key], |all| &all[0]).as_str().unwrap().to_owned();
    assert_eq!(curl(&[], &format!("http://{}/", address("http"))), "<p>home 200 1.1");
    let port = address("https").rsplit(':').next().unwrap().to_owned();
    let trust = folder.path().join("site.pem").display().to_string();
    for (flag, version) in [("--http2", "2"), ("--http1.1", "1.1")] {
        for name in ["localhost", "www.example.org"] {
            let resolve = format!("{name}:{port}:127.0.0.1");
            let arguments = [flag, "--cacert", &trust, "--resolve", &resolve];
            let answer = curl(&arguments, &format!("https://{name}:{port}/"));
            assert_eq!(answer, format!("<p>home 200 {version}"), "{flag}");
        }
    }
    let numbers = curl(&[], &format!("http://{}/metrics", address("metrics")));
    assert!(numbers.contains("sojourn_node_requests_total{method=\"GET\",class=\"2xx\"} 5"), "{numbers}");
    assert!(numbers.contains("sojourn_node_certificate_ends_seconds"), "{numbers}");
    // What the command line says stands in place of what the file says, and a reload keeps it.
    let arguments = ["node", "--child", "--config", &path, "--name", "b", "--listen", "127.0.0.2:0"];
    let other = Child::spawn(Path::new(PROGRAM), arguments, Duration::from_secs(20)).unwrap();
    let ready = other.events()[0].clone();
    assert_eq!(ready["name"], "b");
    let address = ready["http"][0].as_str().unwrap().to_owned();
    assert!(address.starts_with("127.0.0.2:"), "{address}");
    tell(&other, Signal::SIGHUP);
    await_that("it has read the file anew", || said(&other, "reloaded") == 1);
    assert_eq!(curl(&[], &format!("http://{address}/")), "<p>home 200 1.1");
}

#[test]
fn what_is_wrong_in_the_file_is_said_in_a_line() {
    if !has("openssl") {
        return;
    }
    let folder = folder();
    file(folder.path(), "text", "hello\n");
    let with = |from: &str, to: &str| {
        assert!(WHOLE.contains(from), "{from}");
        WHOLE.replacen(from, to, 1)
    };
    for (text, needle) in [
        ("listen = 8080\n".into(), "node.toml:1: listen: invalid type"),
        ("listen = [\n".into(), "node.toml:1: "),
        (
            with("127.0.0.1:0", "localhost"),
            "node.toml:1: listen[0]: invalid socket address syntax: it is an address and a port, e.g. 127.0.0.1:8080",
        ),
        (with("name = \"a\"", "name = \"a b\""), "node.toml:2: name: "),
        (
            with("threads = 2", "threads = 0"),
            "node.toml:3: threads: 0: it is a whole number of at least 1, and of at most 1024",
        ),
        (with("threads = 2", "threads = \"2\""), "node.toml:3: threads: invalid type: string"),
        (with("workers", "worker"), "node.toml:4: unknown key `worker`; did you mean `workers`?"),
        (with("server.toml", "none.toml"), "node.toml:7: model: "),
        (with("server.toml", "text"), "node.toml:7: model: "),
        (with("\"10 s\"", "\"soon\""), "node.toml:8: grace: `soon` is not a time"),
        (with("htdocs", "none"), "node.toml:10: files.root: "),
        (with("htdocs", "text"), "not a directory"),
        (with("root", "rot"), "node.toml:10: unknown key `rot`"),
        (with("[tls]\nlisten = [\"127.0.0.1:0\"]", "[tls]\nlisten = []"), "node.toml:14: tls.listen: no address"),
        (
            with("[[tls.certificate]]\nchain = \"site.pem\"\nkey = \"site.key\"\n", ""),
            "node.toml:13: tls.certificate: no certificate",
        ),
        (with("site.pem", "none.pem"), "none.pem: it cannot be read"),
        (with("site.key", "text"), "no private key in it; it begins with -----BEGIN PRIVATE KEY-----"),
        (with("key = \"site.key\"", ""), "node.toml:15: tls.certificate[0]: missing field `key`"),
        (
            with("connections = 100", "connections = 0"),
            "node.toml:19: limits.connections: it is a whole number of at least 1",
        ),
        (with("connections = 100", "connections = 1000000000"), "file descriptors"),
        (with("\"close\"", "\"shut\""), "node.toml:20: limits.when_full: "),
        (
            with("per_address = 50", "per_address = 0"),
            "node.toml:21: limits.per_address: it is a whole number of at least 1",
        ),
        (with("requests = 1000", "requests = 0"), "node.toml:22: limits.requests: "),
        (with("\"10 s\"\nhead_size", "\"0 s\"\nhead_size"), "node.toml:24: limits.head_timeout: it is above 0"),
        (with("16 kB", "16"), "node.toml:25: limits.head_size: "),
        (with("16 kB", "1 GB"), "node.toml:25: limits.head_size: it is from `1 kB` to `1 MB`"),
        (with("1 MB", "-1 MB"), "node.toml:26: limits.body_size: "),
        (with("streams = 64", "streams = 0"), "node.toml:30: limits.streams: "),
        (with("[metrics]\nlisten = \"127.0.0.1:0\"", "[metrics]\nlisten = \"9154\""), "node.toml:32: metrics.listen: "),
        (with("[metrics]\nlisten = \"127.0.0.1:0\"", "[metrics]\n"), "missing field `listen`"),
        (format!("{WHOLE}{WHOLE}"), "duplicate key"),
    ] {
        let path = file(folder.path(), "node.toml", &text);
        for check in [&["--check"][..], &["--child"]] {
            let output = sojourn(&[&["node", "--config", &path], check].concat());
            let message = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{needle}: {message}");
            assert!(message.contains(needle) && message.lines().count() == 1, "{needle}: {message}");
            assert!(message.contains(&folder.path().display().to_string()), "it says the file: {message}");
            assert_eq!(stdout(&output), "", "nothing has begun");
        }
        assert!(!folder.path().join("access.log").exists());
    }
    let none = sojourn(&["node", "--config", "/none/node.toml", "--check"]);
    assert_eq!((none.status.code(), stderr(&none).lines().count()), (Some(2), 1), "{}", stderr(&none));
    // A flag wins over the file, and a mistake in one is told as that flag's.
    let path = file(folder.path(), "node.toml", WHOLE);
    let checked = sojourn(&["node", "--config", &path, "--check", "--threads", "3", "--log", "/other.log"]);
    let text = stdout(&checked);
    assert!(text.contains("threads = 3\n") && text.contains("file = \"/other.log\"\n"), "{text}{}", stderr(&checked));
    let wrong = sojourn(&["node", "--config", &path, "--check", "--threads", "0"]);
    assert!(stderr(&wrong).contains("--threads: 0: it is a whole number"), "{}", stderr(&wrong));
    let alone = sojourn(&["node", "--check", "--files", &folder.path().display().to_string()]);
    assert_eq!(alone.status.code(), Some(0), "{}", stderr(&alone));
}

/// What `openssl` makes without a subjectAltName no browser takes; what older recipes make (X.509 version 1) rustls does not
/// take either.
#[test]
fn a_certificate_for_no_name_is_told_of() {
    if !has("openssl") {
        return;
    }
    let folder = folder();
    let path = file(folder.path(), "node.toml", WHOLE);
    let checked = |order: &str| {
        let made = Command::new("sh").args(["-ec", order]).current_dir(folder.path()).output().unwrap();
        assert!(made.status.success(), "{}", stderr(&made));
        sojourn(&["node", "--config", &path, "--check"])
    };
    let bare = checked("openssl req -x509 -key site.key -days 90 -subj /CN=localhost -out site.pem");
    let text = stdout(&bare);
    assert_eq!(bare.status.code(), Some(0), "{text}{}", stderr(&bare));
    assert!(text.contains("site.pem has no subjectAltName that names a host"), "{text}");
    assert!(!text.contains("certificates for"), "{text}");
    let old = checked(
        "openssl req -new -key site.key -subj /CN=localhost -out site.csr
         openssl x509 -req -in site.csr -signkey site.key -days 90 -out site.pem",
    );
    let (code, text) = (old.status.code(), stderr(&old));
    assert_eq!((code, text.lines().count()), (Some(2), 1), "{text}");
    assert!(text.contains("site.pem: it is of X.509 version 1, and TLS here takes version 3"), "{text}");
}

/// HUP reads the file anew, USR1 opens the log anew, TERM answers what was asked, and none of them loses a request of a load.
#[test]
fn signals_lose_no_request() {
    let folder = tempfile::tempdir().unwrap();
    for root in ["one", "two"] {
        fs::create_dir(folder.path().join(root)).unwrap();
        file(folder.path(), &format!("{root}/index.html"), root);
    }
    let text = |root: &str| {
        format!("listen = [\"127.0.0.1:0\"]\nthreads = 2\n[files]\nroot = \"{root}\"\n[log]\nfile = \"access.log\"\n")
    };
    let node = start(&folder, &text("one"));
    let url = format!("http://127.0.0.1:{}/", node.port());
    let mut load = Command::new(PROGRAM);
    load.args(["load", &url, "-c", "8", "-d", "3s", "--json"]).stdout(std::process::Stdio::piped());
    let load = load.stderr(std::process::Stdio::null()).spawn().unwrap();
    let lines = |name: &str| fs::read_to_string(folder.path().join(name)).map_or(0, |log| log.lines().count());
    await_that("the load has begun", || lines("access.log") > 100);
    for round in 0..10 {
        file(folder.path(), "node.toml", text(if round % 2 == 0 { "two" } else { "one" }));
        tell(&node, Signal::SIGHUP);
        await_that("it has read the file anew", || said(&node, "reloaded") == round + 1);
    }
    fs::rename(folder.path().join("access.log"), folder.path().join("access.log.1")).unwrap();
    tell(&node, Signal::SIGUSR1);
    await_that("it has opened the log anew", || said(&node, "reopened") == 1);
    await_that("lines are in the new one", || lines("access.log") > 100);
    let output = load.wait_with_output().unwrap();
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let text = told.to_string();
    assert!(!text.contains("\"errors\":{\""), "{text}");
    let stopped = node.stop().pop().expect("it says that it stops");
    assert_eq!(stopped["requests"].as_u64(), Some((lines("access.log") + lines("access.log.1")) as u64), "{stopped}");
}

#[test]
fn a_node_without_a_file_or_a_log_serves_on() {
    let node = Child::spawn(Path::new(PROGRAM), ["node", "--child"], Duration::from_secs(20)).unwrap();
    tell(&node, Signal::SIGHUP);
    await_that("it says so", || said(&node, "hung_up") == 1);
    tell(&node, Signal::SIGUSR1);
    await_that("it says so", || said(&node, "reopened") == 1);
    let mut client = TcpStream::connect(("127.0.0.1", node.port())).unwrap();
    client.write_all(b"GET /bytes/1 HTTP/1.0\r\n\r\n").unwrap();
    let mut reply = String::new();
    std::io::Read::read_to_string(&mut client, &mut reply).unwrap();
    assert!(reply.starts_with("HTTP/1.0 200"), "{reply}");
}
