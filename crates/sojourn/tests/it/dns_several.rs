//! Several DNS servers of one zone: the same reports reach each, and what differs between them is what the guide says.

use std::net::UdpSocket;
use std::time::Duration;

use sojourn_bed::Child;
use tempfile::TempDir;

use crate::dns::{child, config, ctl, site, start, state};
use crate::sojourn::{await_that, file};

/// A DNS in a folder of its own, and where it takes reports.
fn dns(key: &str) -> (TempDir, Child, String) {
    let folder = tempfile::tempdir().unwrap();
    let head = format!("[reports]\nlisten = \"127.0.0.1:0\"\nkey_file = \"{key}\"");
    let keys = "client_rates = \"1 s\"\nrecord = \"decisions.jsonl\"";
    let sites = site("c1", "127.0.0.7") + &site("c2", "10.0.0.2");
    let dns = start(&folder, &config(&head, "nearest-with-room", keys, &sites));
    let reports = dns.events()[0]["reports"].as_str().expect("it says where").to_owned();
    (folder, dns, reports)
}

/// Asks for the service's address once, in the name of 127.0.0.1.
fn ask(dns: &Child) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(("127.0.0.1", dns.port())).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket.send(&crate::dns::query(7)).unwrap();
    socket.recv(&mut [0; 512]).expect("an answer");
}

fn service(folder: &TempDir, key: &str) -> serde_json::Value {
    let state: serde_json::Value = serde_json::from_str(&ctl(folder, &["state", "--json"])).expect("JSON");
    state["services"][0][key].clone()
}

/// Two servers hear of both sites and of the rates of clients, by one daemon beside each site. What one has decided and what it
/// was told by hand is its own; so is what it believes of a site's room.
#[test]
fn servers_share_reports_and_nothing_else() {
    let keys = tempfile::tempdir().unwrap();
    let key = file(keys.path(), "key", "0123456789abcdef\n");
    let (first, second) = (dns(&key), dns(&key));
    let to = format!("{},{}", first.2, second.2);
    let log = file(keys.path(), "access.log", "");
    let node =
        |name: &str| child(&["node", "--child", "--name", name, "--model", "discipline = \"ps\"\ndemand = \"1 ms\""]);
    let nodes = ["c1", "c2"].map(|name| (name, node(name)));
    let daemons = nodes.each_ref().map(|(name, node)| {
        let load = format!("http://127.0.0.1:{}/load", node.port());
        let who = ["loadd", "--child", "--name", name, "--key", &key, "--to", &to, "--ask", &load, "--log", &log];
        let times = ["--every", "50 ms", "--heartbeat", "500 ms", "--client-rates", "200 ms", "--echo-refresh", "1 s"];
        child(&[&who[..], &times].concat())
    });
    let folders = [&first.0, &second.0];
    await_that("both know both sites and the client", || {
        for (_, node) in &nodes {
            let url = format!("http://127.0.0.1:{}/work?demand=2ms", node.port());
            let _ = std::process::Command::new("curl").args(["-s", "-o", "/dev/null", &url]).status();
        }
        let line = "127.0.0.1 - - [23/Nov/2026:12:00:00 +0000] \"GET / HTTP/1.1\" 200 100\n";
        std::fs::write(&log, std::fs::read_to_string(&log).unwrap() + line).unwrap();
        let knows = |folder: &TempDir, name: &str| state(folder, name)["capacity_per_s"].is_number();
        folders
            .iter()
            .all(|folder| ["c1", "c2"].iter().all(|name| knows(folder, name)) && service(folder, "clients") == 1)
    });
    // What one decides the other does not hear of.
    (0..3).for_each(|_| ask(&first.1));
    ask(&second.1);
    assert_eq!(folders.map(|folder| service(folder, "decisions").as_u64()), [Some(3), Some(1)]);
    let chosen = |folder: &TempDir| -> u64 {
        ["c1", "c2"].iter().map(|name| state(folder, name)["chosen"].as_u64().expect("a count")).sum()
    };
    assert_eq!(folders.map(chosen), [3, 1]);
    // What one is told by hand is for that one.
    ctl(&first.0, &["drain", "c2"]);
    assert_eq!(folders.map(|folder| state(folder, "c2")["state"].clone()), ["drained", "up"]);
    // A site that falls silent is missed by both.
    let [daemon, _other] = daemons;
    daemon.stop();
    await_that("both miss c1", || folders.iter().all(|folder| state(folder, "c1")["state"] == "down"));
}
