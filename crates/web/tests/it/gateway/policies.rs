//! Policies in a gateway: records replay identically, clients are told apart, cookies stick, polled counts are used.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use sojourn_dispatch::policies::{Entry, POLICIES};
use sojourn_dispatch::{Catalogue, Signals, record};
use sojourn_model::Discipline;
use sojourn_part::settings::gateway::GatewaySettings;
use sojourn_web::Node;

use crate::support::{Client, backends, gateway, get, ms, node, polled, until};

fn nodes() -> Vec<Node> {
    ["s1", "s2", "s3", "s4"].iter().map(|name| node(name, Discipline::Ps)).collect()
}

/// Whether a gateway sees what it reads.
fn at_a_gateway(policy: &Entry) -> bool {
    Signals::GATEWAY.contains(Catalogue::default().build(policy.name).expect(policy.name).requires())
}

fn addresses(nodes: &[Node]) -> Vec<std::net::SocketAddr> {
    nodes.iter().map(|node| node.address()).collect()
}

/// 4 clients, 40 requests each, to a gateway of these settings; every record it leaves must replay.
fn replays(config: GatewaySettings, folder: &std::path::Path) {
    // A record that is there already would be kept.
    let folder = tempfile::tempdir_in(folder).expect("a folder");
    let path = folder.path().join("record");
    let (policy, threads, shared) = (config.policy().to_owned(), config.threads, config.shared);
    let gateway = gateway(GatewaySettings { record: Some(path.clone()), ..config });
    let address = gateway.address();
    let clients: Vec<_> = (0..4)
        .map(|client| {
            std::thread::spawn(move || {
                let mut connection = Client::new(address);
                for request in 0..40 {
                    let who = format!("x-sojourn-client: {client}\r\n");
                    let path = format!("/work?demand={}us&bytes={}", 100 + 10 * request, 100 * request);
                    assert_eq!(connection.ask("GET", &path, &who).status, 200);
                }
            })
        })
        .collect();
    for client in clients {
        client.join().expect("no client fails");
    }
    assert_eq!(gateway.stop().requests, 160);
    let files = if shared { 1 } else { threads };
    let mut choices = 0;
    for index in 0..files {
        let path = if index == 0 { path.clone() } else { PathBuf::from(format!("{}.{index}", path.display())) };
        let replay = record::replay(BufReader::new(File::open(path).expect("a record"))).expect("a whole record");
        assert_eq!((replay.first_difference, replay.truncated_line), (None, None), "{policy}");
        choices += replay.choices;
    }
    assert_eq!(choices, 160, "{policy}");
}

#[test]
fn policies_are_told_the_class_of_a_request() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = node("s1", Discipline::Ps);
    let path = folder.path().join("record");
    let config = GatewaySettings::new("random", backends(&[node.address()]));
    let gateway = gateway(GatewaySettings { record: Some(path.clone()), ..config });
    let mut client = Client::new(gateway.address());
    for class in ["", "static", "dynamic", "secure", "unheard-of"] {
        assert_eq!(client.ask("GET", "/bytes/1", &format!("x-sojourn-class: {class}\r\n")).status, 200);
    }
    assert_eq!(client.get("/bytes/1").status, 200);
    gateway.stop();
    let record = std::fs::read_to_string(path).expect("a record");
    let lines = record.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    let classes: Vec<_> = lines.filter_map(|line| line["choose"]["request"]["class"].as_u64()).collect();
    assert_eq!(classes, [0, 0, 1, 2, 0, 0]);
}

#[test]
fn recorded_decisions_replay_identically_for_every_policy() {
    let folder = tempfile::tempdir().expect("a folder");
    let nodes = nodes();
    assert!(POLICIES.len() >= 10);
    for policy in POLICIES.iter().filter(|policy| at_a_gateway(policy)) {
        replays(GatewaySettings::new(policy.name, backends(&addresses(&nodes))), folder.path());
    }
}

#[test]
fn records_replay_with_polls_and_with_several_threads() {
    let folder = tempfile::tempdir().expect("a folder");
    let nodes = nodes();
    let config = GatewaySettings::new("least-connections", backends(&addresses(&nodes)));
    replays(polled(ms(2), config.clone()), folder.path());
    replays(GatewaySettings { threads: 3, ..config.clone() }, folder.path());
    replays(GatewaySettings { threads: 3, shared: true, ..config }, folder.path());
}

#[test]
fn one_shared_round_robin_takes_exact_turns() {
    let nodes = nodes();
    let config = GatewaySettings::new("round-robin", backends(&addresses(&nodes)));
    let gateway = gateway(GatewaySettings { threads: 2, shared: true, ..config });
    for turn in 0..16 {
        assert_eq!(get(gateway.address(), "/bytes/1").backend(), format!("s{}", turn % 4 + 1));
    }
}

#[test]
fn a_cookie_keeps_a_client_at_its_backend() {
    let nodes = nodes();
    let gateway = gateway(GatewaySettings::new("cookie", backends(&addresses(&nodes))));
    let first = get(gateway.address(), "/bytes/1");
    let cookie = first.header("set-cookie").expect("a cookie").to_owned();
    assert_eq!(cookie, format!("SOJOURN={}; Path=/; HttpOnly", first.backend()));
    let name = first.backend().to_owned();
    let header = format!("cookie: theme=dark; SOJOURN={name}; lang=en\r\n");
    for _ in 0..10 {
        let reply = Client::new(gateway.address()).ask("GET", "/bytes/1", &header);
        assert_eq!((reply.backend(), reply.header("set-cookie")), (name.as_str(), None));
    }
    let stranger = Client::new(gateway.address()).ask("GET", "/bytes/1", "cookie: SOJOURN=s99\r\n");
    assert!(stranger.status == 200 && stranger.header("set-cookie").is_some(), "a cookie of no backend is replaced");
}

#[test]
fn a_trusted_header_tells_clients_apart() {
    let nodes = nodes();
    let config = GatewaySettings::new("address-hash", backends(&addresses(&nodes)));
    let ask = |address, who: u32| {
        let reply = Client::new(address).ask("GET", "/bytes/1", &format!("x-sojourn-client: {who}\r\n"));
        reply.backend().to_owned()
    };
    let trusting = gateway(GatewaySettings { client_header: Some("x-sojourn-client".into()), ..config.clone() });
    let of: Vec<_> = (0..32).map(|who| ask(trusting.address(), who)).collect();
    assert!(of.iter().any(|backend| *backend != of[0]), "32 clients at one of four backends: 1 in 4^31");
    assert_eq!(of, (0..32).map(|who| ask(trusting.address(), who)).collect::<Vec<_>>());
    let wary = gateway(config);
    let of: Vec<_> = (0..8).map(|who| ask(wary.address(), who)).collect();
    assert!(of.iter().all(|backend| *backend == of[0]), "one address is one client");
}

#[test]
fn polled_counts_are_what_the_nodes_say() {
    let nodes = nodes();
    // Three of four are busy with work that this gateway knows nothing of.
    let mut others: Vec<_> = nodes[..3].iter().map(|node| Client::new(node.address())).collect();
    for other in &mut others {
        other.send("GET /work?demand=1h HTTP/1.1\r\nhost: t\r\n\r\n");
    }
    until("they are busy", || nodes[..3].iter().all(|node| node.counts().in_flight == 1));
    let config = GatewaySettings::new("least-connections", backends(&addresses(&nodes)));
    let gateway = gateway(polled(ms(1), config));
    let mut client = Client::new(gateway.address());
    // Until every node has been heard, the choice is a guess.
    let mut row = 0;
    until("only the idle one is chosen", || {
        row = if client.get("/bytes/1").backend() == "s4" { row + 1 } else { 0 };
        row == 40
    });
}
