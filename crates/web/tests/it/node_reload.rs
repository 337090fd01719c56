//! A node that reads its file anew while it serves: nothing is lost, what is wrong changes nothing, and what cannot change says
//! so.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::Value;
use sojourn_bed::Events;
use sojourn_part::settings::Given;
use sojourn_part::settings::node::NodeSettings;
use sojourn_web::Node;
use tempfile::TempDir;

use crate::secure::{DAY_S, Http2, certificate, get_secure, trusting, valid};
use crate::support::{Client, Lines, get, until};

struct Running {
    folder: TempDir,
    node: Node,
    given: Given<NodeSettings>,
    lines: Lines,
}

/// The head of each file.
const HEAD: &str = "listen = [\"127.0.0.1:0\"]\nmetrics = { listen = \"127.0.0.1:0\" }\n";

impl Running {
    /// A node of a file with this text below the head.
    fn start(text: &str) -> Running {
        let folder = tempfile::tempdir().expect("a folder");
        for root in ["one", "two"] {
            fs::create_dir(folder.path().join(root)).expect("a folder");
            fs::write(folder.path().join(root).join("index.html"), root.repeat(20_000)).expect("a file");
        }
        valid(folder.path(), "a", &["a.test"]);
        let file = folder.path().join("node.toml");
        fs::write(&file, format!("{HEAD}{text}")).expect("a file");
        let lines = Lines::default();
        let given = Given::from_file(&file);
        let config = given.read_and(sojourn_web::node::check).expect("the file is right");
        let node = Node::start_with(config, Events::to(lines.clone())).expect("a node starts");
        Running { folder, node, given, lines }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn reload(&self, text: &str) -> Result<(), String> {
        fs::write(self.path().join("node.toml"), text).expect("a file");
        self.node.reload(Some(&self.given))
    }

    fn take(&self, text: &str) {
        self.reload(&format!("{HEAD}{text}")).expect("the file is right");
    }

    fn said(&self, event: &str) -> Vec<Value> {
        let all = self.lines.text();
        let all = all.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        all.filter(|said| said["event"] == event).collect()
    }
}

fn files(root: &str) -> String {
    format!("[files]\nroot = \"{root}\"\n")
}

/// Clients ask on connections that stay open, over HTTP/1.1 and HTTP/2 with TLS, while the file is read anew again and again.
#[test]
fn no_request_is_lost_while_the_file_is_read_anew() {
    let tls = "[tls]\nlisten = [\"127.0.0.1:0\"]\n[[tls.certificate]]\nchain = \"a.pem\"\nkey = \"a.key\"\n";
    let running = Running::start(&(files("one") + tls));
    let (address, secure) = (running.node.address(), running.node.tls_addresses()[0]);
    let (stop, answered, lost) = (AtomicBool::new(false), AtomicU64::new(0), Mutex::new(Vec::new()));
    let seen = [AtomicBool::new(false), AtomicBool::new(false)];
    let take = |status: u16, body: &[u8]| {
        let is_whole = body == "one".repeat(20_000).as_bytes() || body == "two".repeat(20_000).as_bytes();
        if status == 200 && is_whole {
            answered.fetch_add(1, Ordering::Relaxed);
            seen[usize::from(body.starts_with(b"two"))].store(true, Ordering::Relaxed);
        } else {
            lost.lock().expect("no panic").push((status, body.len()));
        }
    };
    let files_of = sojourn_part::certificate::CertificateFiles {
        chain: running.path().join("a.pem"),
        key: running.path().join("a.key"),
    };
    let client = trusting(&[&files_of], &["h2"]);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut client = Client::new(address);
                while !stop.load(Ordering::Relaxed) {
                    let reply = client.get("/");
                    take(reply.status, &reply.body);
                }
            });
        }
        scope.spawn(|| {
            let mut client = Http2::connect(secure, &client);
            while !stop.load(Ordering::Relaxed) {
                let reply = client.get("/").expect("a reply");
                take(reply.status, &reply.body);
            }
        });
        for round in 0..40 {
            let before = answered.load(Ordering::Relaxed);
            running.take(&(files(if round % 2 == 0 { "two" } else { "one" }) + tls));
            until("some were answered", || answered.load(Ordering::Relaxed) >= before + 3);
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(*lost.lock().expect("no panic"), vec![]);
    assert_eq!(running.said("reloaded").len(), 40);
    assert!(seen.iter().all(|seen| seen.load(Ordering::Relaxed)), "both roots were served");
    assert_eq!(running.node.counts().requests, answered.load(Ordering::Relaxed));
}

#[test]
fn what_is_new_is_in_force_on_open_connections_too() {
    let running = Running::start(&files("one"));
    let mut client = Client::new(running.node.address());
    assert!(client.get("/").text().starts_with("one"));
    running.take(&(files("two") + "[log]\nfile = \"access.log\"\n[limits]\nbody_size = \"10 B\"\nper_address = 2\n"));
    assert!(client.get("/").text().starts_with("two"));
    until("it is logged", || {
        fs::read_to_string(running.path().join("access.log")).is_ok_and(|log| log.contains("GET / "))
    });
    let reply = client.ask("GET", "/", "content-length: 11\r\n");
    assert_eq!(reply.status, 413);
    // Limits of connections hold for those that come in from now on.
    let served = || {
        let mut client = Client::new(running.node.address());
        client.send("GET / HTTP/1.1\r\nhost: t\r\n\r\n");
        client.reply(true).map(|_| client)
    };
    let mut open = Vec::new();
    until("there is room for two", || {
        open.extend(served());
        open.len() == 2
    });
    assert!(served().is_none(), "and for no third");
    running.take(&files("one"));
    assert!(get(running.node.address(), "/").text().starts_with("one"), "and are let go again");
}

#[test]
fn what_is_wrong_changes_nothing() {
    let running = Running::start(&files("one"));
    for (text, needle) in [
        (format!("{HEAD}{}", files("three")), "node.toml:4: files.root: "),
        (format!("{HEAD}[fils]\n"), "unknown key `fils`; did you mean `files`?"),
        ("listen = [\"127.0.0.1:9\"]\n".into(), "node.toml:1: listen: it cannot change"),
        (format!("threads = 2\n{HEAD}"), "node.toml:1: threads: it cannot change"),
        (format!("seed = 2\n{HEAD}"), "seed: it cannot change"),
        (format!("name = \"m\"\n{HEAD}"), "name: it cannot change"),
        (format!("classes = [\"a\"]\n{HEAD}"), "classes: it cannot change"),
        ("listen = [\"127.0.0.1:0\"]\n".into(), "metrics: it cannot change"),
        (
            format!(
                "{HEAD}[tls]\nlisten = [\"127.0.0.1:0\"]\n[[tls.certificate]]\nchain = \"a.pem\"\nkey = \"a.key\"\n"
            ),
            "tls.listen: it cannot change",
        ),
    ] {
        let why = running.reload(&text).expect_err("it is wrong");
        assert!(why.contains(needle) && why.contains("node.toml") && why.lines().count() == 1, "{needle}: {why}");
        assert_eq!(running.said("reload_failed").pop().expect("it is said")["why"], why);
        assert!(get(running.node.address(), "/").text().starts_with("one"));
    }
    assert_eq!(running.said("reloaded").len(), 0);
    running.take(&files("two"));
    assert!(get(running.node.address(), "/").text().starts_with("two"), "a right one is taken after them");
    let numbers = get(running.node.metrics_address().expect("it tells"), "/metrics").text();
    assert!(numbers.contains("reloads_total{outcome=\"done\"} 1\n"), "{numbers}");
    assert!(numbers.contains("reloads_total{outcome=\"failed\"} 9\n"), "{numbers}");
}

#[test]
fn certificates_are_replaced_and_bad_ones_are_not() {
    let tls = "[tls]\nlisten = [\"127.0.0.1:0\"]\n[[tls.certificate]]\nchain = \"a.pem\"\nkey = \"a.key\"\n";
    let running = Running::start(tls);
    let secure = running.node.tls_addresses()[0];
    let pem = |name: &str| sojourn_part::certificate::CertificateFiles {
        chain: running.path().join(format!("{name}.pem")),
        key: running.path().join(format!("{name}.key")),
    };
    let old = trusting(&[&pem("a")], &[]);
    assert!(get_secure(secure, &old, "a.test", "/bytes/1").is_ok());
    // One that is open goes on through it all.
    let mut open = Http2::connect(secure, &trusting(&[&pem("a")], &["h2"]));
    assert_eq!(open.get("/bytes/1").expect("a reply").status, 200);

    certificate(running.path(), "a", &["a.test"], (-9 * DAY_S, -1));
    let why = running.node.reload(Some(&running.given)).expect_err("it has run out");
    assert!(why.contains("it ended at") && why.lines().count() == 1, "{why}");
    assert!(get_secure(secure, &old, "a.test", "/bytes/1").is_ok(), "the old one stays");
    assert_eq!(running.said("reload_failed").len(), 1);

    let new = certificate(running.path(), "a", &["a.test"], (-DAY_S, 2 * DAY_S + 60));
    running.node.reload(Some(&running.given)).expect("it is right");
    assert!(get_secure(secure, &old, "a.test", "/bytes/1").is_err(), "the old one is gone");
    assert!(get_secure(secure, &trusting(&[&new], &[]), "a.test", "/bytes/1").is_ok());
    assert_eq!(running.said("certificate_ends_soon").pop().expect("it is said")["days"], 2);
    assert_eq!(open.get("/bytes/1").expect("a reply").status, 200);
}
