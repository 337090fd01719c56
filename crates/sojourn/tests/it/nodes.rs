//! Three nodes that schedule, as three real processes: a client of any kind is spread and sent on as their brokers say; one
//! that is frozen, killed or stopped gets no clients any more.

use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use sojourn_bed::Child;

use crate::bed::has;
use crate::sojourn::{PROGRAM, await_that, file, sojourn, stderr, stdout};

/// Nodes `a`, `b` and `c` of the service `localhost`.
struct Nodes {
    addresses: [SocketAddr; 3],
    nodes: [Child; 3],
    folder: tempfile::TempDir,
    more: Vec<String>,
}

const NAMES: [&str; 3] = ["a", "b", "c"];

impl Nodes {
    /// They serve a folder with two files, follow these flags too, and have heard of each other.
    fn start(more: &[&str]) -> Nodes {
        let folder = tempfile::tempdir().unwrap();
        file(folder.path(), "key", "0123456789abcdef");
        std::fs::create_dir_all(folder.path().join("site/b")).unwrap();
        file(folder.path(), "site/index.html", "<html><body><p>anywhere</p><img src=\"/b/dot.svg\"></body></html>");
        file(folder.path(), "site/b/page.html", "<html><body><p>at b</p></body></html>");
        let addresses = free();
        let more: Vec<String> = more.iter().map(|flag| (*flag).into()).collect();
        let nodes = std::array::from_fn(|index| start(folder.path(), addresses, index, &more));
        let nodes = Nodes { addresses, nodes, folder, more };
        for (node, own) in nodes.nodes.iter().zip(NAMES) {
            await_that("all are heard", || NAMES.iter().all(|peer| *peer == own || is_up(node, peer)));
        }
        nodes
    }

    /// The URL of a path of the service, asked of this node.
    fn url(&self, node: usize, path: &str) -> String {
        format!("http://localhost:{}{path}", self.addresses[node].port())
    }

    /// Asks a node so often for a path of the service; gives where its clients were sent: to `a`, `b` and `c`.
    fn asked(&self, node: usize, times: usize) -> [usize; 3] {
        let mut sent = [0; 3];
        for _ in 0..times {
            let head = head(self.addresses[node], "/index.html");
            let place = NAMES
                .iter()
                .zip(self.addresses)
                .position(|(_, address)| head.contains(&format!("location: http://{address}/index.html")));
            assert_eq!(head.starts_with("HTTP/1.1 200"), place.is_none(), "{head}");
            sent[place.unwrap_or(node)] += 1;
        }
        sent
    }

    fn signal(&self, node: usize, signal: Signal) {
        kill(Pid::from_raw(self.nodes[node].pid() as i32), signal).unwrap();
    }

    fn again(&mut self, node: usize) {
        let new = start(self.folder.path(), self.addresses, node, &self.more);
        let old = std::mem::replace(&mut self.nodes[node], new);
        drop(old);
    }
}

fn start(folder: &Path, addresses: [SocketAddr; 3], index: usize, more: &[String]) -> Child {
    let path = |name: &str| folder.join(name).display().to_string();
    let mut order = Command::new(PROGRAM);
    order.args(["node", "--child", "--name", NAMES[index], "--service", "localhost", "--report-every", "500 ms"]);
    order.args(["--listen", &addresses[index].to_string(), "--files", &path("site"), "--key", &path("key")]);
    for (name, address) in NAMES.iter().zip(addresses).filter(|(name, _)| **name != NAMES[index]) {
        order.args(["--peer", &format!("{name}=http://{address}")]);
    }
    order.args(more);
    Child::start(order, Duration::from_secs(20)).expect("a node is ready")
}

/// Addresses with ports that are free for TCP and UDP, below those that the kernel deals to whoever asks for any port: no other
/// test is given them meanwhile.
pub(crate) fn free<const N: usize>() -> [SocketAddr; N] {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    let ports = std::iter::repeat_with(|| {
        let number = std::process::id().wrapping_mul(131).wrapping_add(ASKED.fetch_add(1, Ordering::Relaxed));
        SocketAddr::from(([127, 0, 0, 1], 10_000 + (number % 20_000) as u16))
    });
    let is_free = |address: &SocketAddr| TcpListener::bind(address).is_ok() && UdpSocket::bind(address).is_ok();
    let mut free = ports.filter(is_free);
    std::array::from_fn(|_| free.next().expect("they never end"))
}

/// Whether a node may send clients to this peer, as it last said.
pub(crate) fn is_up(node: &Child, peer: &str) -> bool {
    let told = node.events().into_iter().rfind(|told| told["peer"] == peer);
    told.is_some_and(|told| told["event"] == "peer_up")
}

/// The head of the answer to a request of the service.
pub(crate) fn head(address: SocketAddr, path: &str) -> String {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply.split("\r\n\r\n").next().unwrap_or_default().to_owned()
}

#[test]
fn curl_a_browser_and_a_load_are_sent_to_the_node_that_owns_the_file() {
    let nodes = Nodes::start(&["--policy", "file-locality", "--owners", "/b/*=b", "--explain"]);
    if has("curl") {
        let tell = "%{num_redirects} %{url_effective}";
        let ask =
            |path: &str| Command::new("curl").args(["-s", "-L", "-w", tell]).arg(nodes.url(0, path)).output().unwrap();
        let told = stdout(&ask("/b/page.html"));
        assert!(told.ends_with(&format!("1 http://{}/b/page.html", nodes.addresses[1])), "{told}");
        assert!(told.contains("at b"), "{told}");
        assert!(stdout(&ask("/index.html")).ends_with(&format!("0 {}", nodes.url(0, "/index.html"))));
    }
    if has("chromium") {
        let profile = nodes.folder.path().join("profile").display().to_string();
        let output = Command::new("chromium")
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--disable-dev-shm-usage", "--timeout=60000", &format!("--user-data-dir={profile}"), "--dump-dom"])
            .arg(nodes.url(2, "/b/page.html"))
            .output()
            .unwrap();
        assert!(stdout(&output).contains("at b"), "{}{}", stdout(&output), stderr(&output));
    }
    let output = sojourn(&["load", &nodes.url(0, "/b/page.html"), "--requests", "100", "--redirects", "3", "--json"]);
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)));
    assert_eq!((&report["counts"]["ok"], &report["counts"]["planned"]), (&100.into(), &100.into()), "{report}");
    let [a, b, _] = nodes.nodes.map(|node| node.stop().pop().expect("it says that it stops"));
    assert!(a["cluster"]["redirected"].as_u64() >= Some(100), "{a}");
    assert!(b["requests"].as_u64() >= Some(100) && b["cluster"]["redirected"] == 0, "{b}");
}

#[test]
fn a_node_that_is_frozen_killed_or_stopped_gets_no_clients() {
    let mut nodes = Nodes::start(&["--policy", "round-robin"]);
    // On a busy machine one that is well may be out for a moment.
    await_that("all get clients", || nodes.asked(0, 30) == [10, 10, 10]);

    nodes.signal(1, Signal::SIGSTOP);
    let frozen = sojourn_part::now();
    for other in [0, 2] {
        await_that("it is out", || !is_up(&nodes.nodes[other], "b"));
    }
    // Three periods of 500 ms; on a busy machine it is seen later.
    assert!((sojourn_part::now() - frozen).as_secs_f64() < 1.5 + 10.0);
    assert_eq!(nodes.asked(0, 30)[1], 0);
    assert_eq!(nodes.asked(2, 30)[1], 0);
    nodes.signal(1, Signal::SIGCONT);
    await_that("it is in again", || is_up(&nodes.nodes[0], "b"));
    await_that("it gets clients again", || nodes.asked(0, 30) == [10, 10, 10]);

    nodes.signal(2, Signal::SIGKILL);
    await_that("it is out", || !is_up(&nodes.nodes[0], "c"));
    await_that("the others get all", || nodes.asked(0, 30) == [15, 15, 0]);
    nodes.again(2);
    await_that("it is in again", || is_up(&nodes.nodes[0], "c"));

    nodes.signal(1, Signal::SIGTERM);
    await_that("it is out", || !is_up(&nodes.nodes[0], "b"));
    assert_eq!(nodes.asked(0, 30)[1], 0);
}

/// They are told of one of them; one that is killed is out, and in again when it is there.
#[test]
fn nodes_that_gossip_are_found_and_missed() {
    let folder = tempfile::tempdir().unwrap();
    let key = file(folder.path(), "key", "0123456789abcdef");
    let addresses: [SocketAddr; 3] = free();
    let start = |index: usize| {
        let (listen, seed) = (addresses[index].to_string(), addresses[0].to_string());
        let mut order = Command::new(PROGRAM);
        order.args(["node", "--child", "--name", NAMES[index], "--service", "localhost", "--report-every", "400 ms"]);
        order.args(["--listen", &listen, "--key", &key, "--gossip", &seed, "--policy", "round-robin"]);
        Child::start(order, Duration::from_secs(20)).expect("a node is ready")
    };
    let mut nodes = [0, 1, 2].map(start);
    let knows_all = |node: &Child, own: &str| NAMES.iter().all(|peer| *peer == own || is_up(node, peer));
    nodes.iter().zip(NAMES).for_each(|(node, own)| await_that("all are heard", || knows_all(node, own)));
    assert!(head(addresses[0], "/bytes/1").starts_with("HTTP/1.1 "));
    nodes[2].kill();
    for other in [0, 1] {
        await_that("it is out", || !is_up(&nodes[other], "c"));
    }
    nodes[2] = start(2);
    for other in [0, 1] {
        await_that("it is in again", || is_up(&nodes[other], "c"));
    }
    await_that("it knows them", || knows_all(&nodes[2], "c"));
}

#[test]
fn what_is_typed_wrong_gets_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let key = file(folder.path(), "key", "0123456789abcdef");
    let table = file(folder.path(), "oracle.toml", "[[rule]]\npath = \"/a\"\noperation = 1\n");
    let cluster = file(folder.path(), "node.toml", "[cluster]\nservice = \"localhost\"\nkey_file = \"none\"\n");
    let whole = ["--service", "localhost", "--key", &key, "--peer", "b=http://127.0.0.1:9"];
    let with = |more: &[&str]| [&["node"], &whole[..], more].concat().iter().map(|flag| (*flag).into()).collect();
    let cases: Vec<(Vec<String>, &str)> = vec![
        (with(&["--peer", "http://127.0.0.1:9"]), "http://127.0.0.1:9: it names no node; write e.g. `b=http://b"),
        (with(&["--gossip", "127.0.0.1:9"]), "'--peer <PEER>' cannot be used with '--gossip <HOST:PORT>'"),
        (with(&["--peer", "b=http://127.0.0.1:10"]), "two nodes are called `b`"),
        (with(&["--peer", "c=http://localhost:10"]), "is the service's name localhost"),
        (with(&["--policy", "least-connections"]), "policy `least-connections` needs the end of each request"),
        (with(&["--status", "303"]), "--status: 303: a redirector answers 307 or 302"),
        (with(&["--owners", "/v/*"]), "/v/*: write a pattern and nodes"),
        (with(&["--owners", "/v/*=d"]), "owners of /v/*: there is no node `d`"),
        (with(&["--local", "v"]), "--local: `v` is no pattern of paths"),
        (with(&["--oracle", &table]), "oracle.toml:3: unknown key `operation`; did you mean `operations`?"),
        (with(&["--hardware", "d=x.toml"]), "--hardware: d=x.toml: there is no node `d`"),
        (with(&["--report-every", "1 us"]), "nodes report at most every 10 ms"),
        (["node", "--cluster", &cluster].map(Into::into).into(), "node.toml:3: cluster.key_file: "),
        (["node", "--service", "localhost"].map(Into::into).into(), "--key: "),
        (["node", "--peer", "b=http://127.0.0.1:9"].map(Into::into).into(), "--service: write the host that clients"),
    ];
    for (arguments, wanted) in cases {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let output = sojourn(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(wanted), "{arguments:?}: {}", stderr(&output));
    }
}

/// `sojourn replay` understands what a node has recorded.
#[test]
fn what_a_node_records_replays() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("decisions").display().to_string();
    let key = file(folder.path(), "key", "0123456789abcdef");
    let [own] = free();
    let order = ["node", "--child", "--name", "a", "--service", "localhost", "--key", &key, "--record", &record];
    let listen = own.to_string();
    let order = [&order[..], &["--listen", &listen, "--peer", "b=http://127.0.0.1:9"]].concat();
    let node = Child::spawn(Path::new(PROGRAM), order, Duration::from_secs(20)).expect("a node");
    (0..20).for_each(|_| drop(head(own, "/bytes/3")));
    let told = node.stop().pop().expect("it says that it stops");
    assert_eq!(told["cluster"]["decisions"], 20, "{told}");
    let output = sojourn(&["replay", &record]);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    assert!(stdout(&output).contains("20"), "{}", stdout(&output));
}
