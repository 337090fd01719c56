//! Requests that pass through one node to another: to a better one, and for files that another owns.

use std::fs;
use std::io::Read;
use std::net::{SocketAddr, TcpListener};

use socket2::{Domain, Socket, Type};
use sojourn_bed::Events;
use sojourn_part::settings::node::{FileSettings, Peer};
use sojourn_report::Metric;
use sojourn_stats::Span;
use sojourn_web::Node;

use super::reports::Played;
use super::{Cluster, SERVICE, ask, cluster, key, node_of, peers};
use crate::support::{Client, Lines, free, until};

/// So long that a peer that reports so often never falls silent.
const HOUR: Span = Span(3_600_000_000_000);

/// A port that is taken, and where nothing listens yet.
fn deaf() -> (SocketAddr, Socket) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).expect("a free port");
    (socket.local_addr().expect("it is bound").as_socket().expect("IPv4"), socket)
}

/// Something at that port that takes so many requests, and breaks off before it answers them.
fn breaking(taken: Socket, requests: usize) -> std::thread::JoinHandle<()> {
    taken.listen(8).expect("it is bound");
    let listener = TcpListener::from(taken);
    std::thread::spawn(move || {
        for _ in 0..requests {
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut text = Vec::new();
            let is_whole =
                |text: &[u8]| text.ends_with(b"hello") || text.starts_with(b"GET") && text.ends_with(b"\r\n\r\n");
            while !is_whole(&text) {
                let mut byte = [0];
                stream.read_exact(&mut byte).expect("a request");
                text.push(byte[0]);
            }
        }
    })
}

#[test]
fn a_request_passes_through_to_the_idle_node() {
    let nodes = Cluster::<2>::start(|_, config| {
        cluster(config).forward = true;
        cluster(config).post = true;
        cluster(config).explain = true;
    });
    let _busy = nodes.burden(0, 20);
    let reply = nodes.ask(0, "/work?demand=100ms&bytes=200000");
    assert_eq!((reply.status, reply.backend(), reply.body.len(), reply.whole), (200, "b", 200_000, true));
    assert_eq!(reply.header("content-length"), Some("200000"));
    // Both say why, the one nearest the reply's maker first.
    let reasons: Vec<&str> =
        reply.headers.iter().filter(|(name, _)| name == "x-sojourn-reason").map(|(_, value)| value.as_str()).collect();
    let [of_b, of_a] = reasons[..] else { panic!("{reasons:?}") };
    assert_eq!(of_b, "it was asked for under this node's own name");
    assert!(of_a.starts_with("shortest estimate"), "{of_a}");
    let reply = ask(nodes.addresses[0], "HEAD", SERVICE, "/work?demand=100ms&bytes=200000", "");
    assert_eq!((reply.status, reply.backend(), reply.header("content-length")), (200, "b", Some("200000")));
    let reply = ask(nodes.addresses[0], "POST", SERVICE, "/work?demand=100ms", "content-length: 0\r\n");
    assert_eq!((reply.status, reply.backend()), (200, "b"));
    let counts = |node: usize| nodes.nodes[node].counts().cluster.expect("a cluster");
    assert_eq!((counts(0).forwarded, counts(0).redirected, counts(0).stayed), (3, 0, 0));
    // There it is asked for under the node's own name: nothing is decided twice.
    assert_eq!((counts(1).unasked, counts(1).decisions), (3, 0));
}

#[test]
fn a_file_of_another_node_is_fetched_from_it_whoever_is_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    let film: Vec<u8> = (0..2_000_000u32).map(|place| (place * 7 % 251) as u8).collect();
    for (node, files) in [("a", 0), ("b", 1), ("c", 0)] {
        fs::create_dir_all(folder.path().join(node).join("v")).expect("a folder");
        fs::write(folder.path().join(node).join("here.txt"), node).expect("a file");
        if files == 1 {
            fs::write(folder.path().join(node).join("v/film.mpg"), &film).expect("a file");
        }
    }
    fs::write(folder.path().join("c/v/copy.mpg"), "a copy").expect("a file");
    let nodes = Cluster::<3>::start(|_, config| {
        config.files = FileSettings::new(folder.path().join(&config.name)).into();
        cluster(config).policy = "stay".into();
        cluster(config).owners = vec!["/v/*=b".parse().expect("owners")];
    });
    for host in [SERVICE.to_string(), nodes.addresses[0].to_string()] {
        let reply = nodes.ask_for(0, &host, "/v/film.mpg");
        assert_eq!((reply.status, reply.backend(), reply.header("content-type")), (200, "b", Some("video/mpeg")));
        assert!(reply.body == film && reply.whole, "every byte of it");
    }
    let reply = ask(nodes.addresses[0], "HEAD", SERVICE, "/%76/film.mpg", "");
    assert_eq!((reply.status, reply.header("content-length")), (200, Some("2000000")));
    // The owner serves it itself, and does not ask for what it does not have.
    assert_eq!(nodes.ask(1, "/v/film.mpg").backend(), "b");
    assert_eq!((nodes.ask(1, "/v/none.mpg").status, nodes.ask(0, "/v/none.mpg").status), (404, 404));
    // What is there is served from there, and what all nodes have too.
    assert_eq!(
        (nodes.ask(2, "/v/copy.mpg").text(), nodes.ask(2, "/v/copy.mpg").backend().to_owned()),
        ("a copy".into(), "c".into())
    );
    assert_eq!(nodes.ask(0, "/here.txt").text(), "a");
    let counts = nodes.nodes[0].counts().cluster.expect("a cluster");
    assert_eq!((counts.fetched, counts.forwarded), (4, 0), "{counts:?}");
    // An owner that is out cannot be asked.
    let [a, b, c] = nodes.nodes;
    b.stop();
    until("it is out", || !peers(&a)[0].1 && !peers(&c)[1].1);
    assert_eq!(ask(nodes.addresses[0], "GET", SERVICE, "/v/film.mpg", "").status, 503);
}

/// Each says that the other owns the file: the first sees its own mark, and the circle ends.
#[test]
fn two_nodes_that_name_each_other_as_owners_end_their_circle() {
    let nodes = Cluster::<2>::start(|index, config| {
        let other = if index == 0 { "b" } else { "a" };
        cluster(config).owners = vec![format!("/v/*={other}").parse().expect("owners")];
    });
    assert_eq!(nodes.ask(0, "/v/film.mpg").status, 508);
    assert_eq!(nodes.nodes[0].counts().cluster.expect("a cluster").fetched, 2);
}

/// It is out at once, not after three periods; and in again with its next report.
#[test]
fn what_is_sent_on_to_a_node_that_has_just_died_is_served_here() {
    let ([address], (other, taken)) = (free(), deaf());
    let mut config = node_of(&[address, other], 0);
    cluster(&mut config).forward = true;
    cluster(&mut config).post = true;
    cluster(&mut config).policy = "round-robin".into();
    let events = Lines::default();
    let node = Node::start_with(config, Events::to(events.clone())).expect("a node starts");
    let mut dead = Played::new("b", key(), address);
    dead.every = HOUR;
    let mut report = || {
        until("it is in", || {
            dead.tell(&[(Metric::Cpu, 0.1)]);
            peers(&node)[0].1
        });
    };
    let counts = || {
        let counts = node.counts().cluster.expect("a cluster");
        (counts.forwarded, counts.failed, counts.saved)
    };
    // In turns: one of two goes to `b`.
    let served = || {
        for _ in 0..2 {
            let reply = ask(address, "GET", SERVICE, "/work?demand=1ms&bytes=9", "");
            assert_eq!((reply.status, reply.backend(), reply.body.len()), (200, "a", 9), "{}", reply.text());
        }
    };
    report();
    served();
    assert_eq!((counts(), peers(&node)[0].1), ((1, 1, 1), false));
    assert!(events.text().contains(r#""peer":"b","why":"it cannot be reached""#), "{}", events.text());
    served();
    assert_eq!(counts(), (1, 1, 1), "nothing is sent to what is out");
    report();
    served();
    assert_eq!((counts(), peers(&node)[0].1), ((2, 2, 2), false));

    // One that takes a request and breaks off may have worked on it: what may be repeated is served here, a POST is not.
    let breaks = breaking(taken, 2);
    report();
    served();
    assert_eq!((counts(), peers(&node)[0].1), ((3, 3, 3), true), "it may be the request's own doing");
    let mut statuses = [0, 1].map(|_| {
        let mut client = Client::new(address);
        let head = "POST /work?demand=1ms HTTP/1.1\r\ncontent-type: text/plain\r\ncontent-length: 5\r\n";
        client.send(&format!("{head}host: {SERVICE}\r\n\r\nhello"));
        client.reply(true).expect("a reply").status
    });
    statuses.sort_unstable();
    assert_eq!((statuses, counts()), ([200, 502], (4, 4, 3)));
    breaks.join().expect("it was asked twice");
}

#[test]
fn a_file_whose_owner_has_just_died_is_fetched_from_another() {
    let folder = tempfile::tempdir().expect("a folder");
    for node in ["a", "b"] {
        fs::create_dir_all(folder.path().join(node).join("v")).expect("a folder");
    }
    fs::write(folder.path().join("b/v/film.mpg"), "a film").expect("a file");
    let (nowhere, taken) = deaf();
    let nodes = Cluster::<2>::unacquainted(|index, config| {
        config.files = FileSettings::new(folder.path().join(&config.name)).into();
        if index == 0 {
            cluster(config).policy = "stay".into();
            cluster(config).peers.insert(0, Peer::new("dead", format!("http://{nowhere}")));
            cluster(config).owners = vec!["/v/*=dead,b".parse().expect("owners")];
        }
    });
    let mut dead = Played::new("dead", key(), nodes.addresses[0]);
    dead.every = HOUR;
    let Cluster { addresses: [address, _], nodes: [a, b], .. } = nodes;
    let mut report = |is_b_up: bool| {
        until("who lives is in", || {
            dead.tell(&[(Metric::Cpu, 0.1)]);
            peers(&a) == [("dead".into(), true), ("b".into(), is_b_up)]
        });
    };
    let film = || ask(address, "GET", SERVICE, "/v/film.mpg", "");
    report(true);
    let reply = film();
    assert_eq!((reply.status, reply.backend(), reply.text()), (200, "b", "a film".into()));
    let counts = a.counts().cluster.expect("a cluster");
    assert_eq!((counts.fetched, counts.failed, counts.saved), (2, 1, 1));
    assert_eq!(peers(&a), [("dead".into(), false), ("b".into(), true)]);
    // Where no other owner is left, its client is told what has failed; then, that no node can serve it.
    b.stop();
    report(false);
    let reply = film();
    assert_eq!((reply.status, reply.text()), (502, "gateway: backend dead cannot be reached\n".into()));
    assert_eq!((film().status, ask(address, "GET", SERVICE, "/bytes/1", "").status), (503, 200));
    // One that breaks off is asked once.
    let breaks = breaking(taken, 1);
    report(false);
    let reply = film();
    let broken = "gateway: backend dead broke the connection before it replied\n";
    assert_eq!((reply.status, reply.text()), (502, broken.into()));
    breaks.join().expect("it was asked once");
}
