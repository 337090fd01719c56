//! A central dispatcher in front of nodes: a node that serves nothing itself, by any policy of nodes, or a redirector, by what
//! nodes report to it.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use sojourn_bed::Child;

use crate::nodes::{free, head, is_up};
use crate::sojourn::{PROGRAM, await_that, file, sojourn, stderr, stdout};

const NAMES: [&str; 3] = ["a", "b", "c"];

fn child(arguments: &[&str]) -> Child {
    Child::spawn(Path::new(PROGRAM), arguments, Duration::from_secs(30)).expect("a child is ready")
}

/// Nodes `a`, `b` and `c`, which know of no other one, and report to this address.
fn nodes(addresses: [SocketAddr; 3], key: &str, reports: &str) -> [Child; 3] {
    std::array::from_fn(|index| {
        let listen = addresses[index].to_string();
        let who = ["node", "--child", "--name", NAMES[index], "--listen", &listen, "--service", "localhost"];
        let model = ["--key", key, "--model", "discipline = \"ps\"\ndemand = \"1 ms\"", "--report-every", "500 ms"];
        child(&[&who[..], &model, &["--report-to", reports]].concat())
    })
}

/// Gives a node services that do not end for as long as this is kept.
fn burden(node: SocketAddr) -> Vec<TcpStream> {
    let busy = |_| {
        let mut stream = TcpStream::connect(node).unwrap();
        write!(stream, "GET /work?demand=1h HTTP/1.1\r\nhost: {node}\r\n\r\n").unwrap();
        stream
    };
    (0..20).map(busy).collect()
}

/// Where a dispatcher sends so many clients: how many to each of these.
fn sent(dispatcher: SocketAddr, addresses: [SocketAddr; 3], times: usize) -> [usize; 3] {
    let mut sent = [0; 3];
    for _ in 0..times {
        let head = head(dispatcher, "/work?demand=50ms");
        let to = |address: &SocketAddr| head.contains(&format!("location: http://{address}/work?demand=50ms"));
        assert!(head.starts_with("HTTP/1.1 307"), "{head}");
        sent[addresses.iter().position(to).expect("one of the nodes")] += 1;
    }
    sent
}

/// All of a load reaches the nodes.
fn load(dispatcher: SocketAddr) {
    let url = format!("http://localhost:{}/work?demand=1ms", dispatcher.port());
    let output = sojourn(&["load", &url, "--requests", "100", "-c", "4", "--redirects", "1", "--json"]);
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)));
    assert_eq!((&report["counts"]["ok"], &report["counts"]["redirected"]), (&100.into(), &100.into()), "{report}");
}

#[test]
fn a_node_that_only_dispatches_sends_every_client_to_the_best_node() {
    let folder = tempfile::tempdir().unwrap();
    let key = file(folder.path(), "key", "0123456789abcdef");
    let [own, a, b, c] = free();
    let addresses = [a, b, c];
    let (listen, peers) =
        (own.to_string(), [0, 1, 2].map(|index| format!("{}=http://{}", NAMES[index], addresses[index])));
    let who = ["node", "--child", "--name", "front", "--listen", &listen, "--service", "localhost", "--key", &key];
    let peers = ["--peer", &peers[0], "--peer", &peers[1], "--peer", &peers[2], "--dispatch-only"];
    let front = child(&[&who[..], &peers].concat());
    assert!(head(own, "/work?demand=50ms").starts_with("HTTP/1.1 503"), "no node is there yet");
    let nodes = nodes(addresses, &key, &listen);
    await_that("all have been heard", || NAMES.iter().all(|name| is_up(&front, name)));
    load(own);
    assert!(head(own, "/health").starts_with("HTTP/1.1 200"));
    // 21 would share the processor of `a`.
    let _busy = burden(a);
    await_that("it is known that one is busy", || sent(own, addresses, 10)[0] == 0);

    let [node_a, mut node_b, node_c] = nodes;
    node_b.kill();
    await_that("it is out", || !is_up(&front, "b"));
    assert_eq!(sent(own, addresses, 20)[1], 0);
    let told = node_c.stop().pop().expect("it says that it stops");
    assert_eq!(told["cluster"]["decisions"], 0, "{told}");
    await_that("it says that it leaves", || !is_up(&front, "c"));
    drop(node_a);
    await_that("the last one is out", || !is_up(&front, "a"));
    assert!(head(own, "/work?demand=50ms").starts_with("HTTP/1.1 503"), "it serves nothing itself");
    let told = front.stop().pop().expect("it says that it stops");
    assert_eq!((&told["cluster"]["stayed"], &told["cluster"]["reports"].is_u64()), (&0.into(), &true), "{told}");
}

#[test]
fn a_redirector_follows_what_nodes_report_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let key = file(folder.path(), "key", "0123456789abcdef");
    let addresses: [SocketAddr; 3] = free();
    let backends = [0, 1, 2].map(|index| format!("{}={}", NAMES[index], addresses[index]));
    let who = ["redirect", "--child", "--policy", "least-load", "--reports", "127.0.0.1:0", "--key", &key, "--explain"];
    let backends = ["--backend", &backends[0], "--backend", &backends[1], "--backend", &backends[2]];
    let redirector = child(&[&who[..], &backends].concat());
    let own = SocketAddr::from(([127, 0, 0, 1], redirector.port()));
    let reports = redirector.events()[0]["reports"].as_str().expect("it says where").to_owned();
    let _nodes = nodes(addresses, &key, &reports);
    let knows_all = || head(own, "/bytes/1").matches("capacity_per_s ").count() == 3;
    await_that("the capacity of each is learned from what it serves", || {
        for address in addresses {
            let _ = head(address, "/work?demand=20ms");
        }
        knows_all()
    });
    load(own);
    let _busy = burden(addresses[1]);
    await_that("it is known that one is busy", || sent(own, addresses, 10)[1] == 0);
}

#[test]
fn a_dispatcher_without_nodes_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let key = file(folder.path(), "key", "0123456789abcdef");
    let output = sojourn(&["node", "--service", "localhost", "--key", &key, "--dispatch-only"]);
    assert_eq!(output.status.code(), Some(2));
    let wrong = stderr(&output);
    assert!(wrong.contains("a node that only dispatches has peers that serve; name them"), "{wrong}");
}
