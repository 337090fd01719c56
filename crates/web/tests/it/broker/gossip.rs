//! Nodes that find each other by gossip.

use sojourn_bed::Events;
use sojourn_part::settings::node::{HardwareSettings, NodeSettings, Numbers};
use sojourn_web::Node;

use super::{SERVICE, ask, cluster, file_with, node_of, peers};
use crate::support::{Lines, free, until};

/// The configuration of one of the nodes at these addresses, which is told of the first one only.
pub(super) fn gossiping(config: &mut NodeSettings, seed: std::net::SocketAddr) {
    cluster(config).peers.clear();
    cluster(config).seeds = vec![seed.to_string()];
}

/// Those that a node may send clients to.
pub(super) fn up(node: &Node) -> Vec<String> {
    let mut names: Vec<String> = peers(node).into_iter().filter(|(_, is_up)| *is_up).map(|(name, _)| name).collect();
    names.sort_unstable();
    names
}

#[test]
fn nodes_find_each_other_come_and_go() {
    let addresses = free::<4>();
    let start = |index: usize| {
        let mut config = node_of(&addresses, index);
        gossiping(&mut config, addresses[0]);
        cluster(&mut config).forward = true;
        let numbers = Numbers { speed: 1.0 + index as f64, disk: None, net: None };
        cluster(&mut config).hardware = Some(HardwareSettings::Numbers(numbers));
        cluster(&mut config).explain = true;
        let events = Lines::default();
        (Node::start_with(config, Events::to(events.clone())).expect("a node starts"), events)
    };
    let (a, events) = start(0);
    // Alone it serves what comes.
    assert_eq!(ask(addresses[0], "GET", SERVICE, "/work?demand=1ms", "").backend(), "a");
    let (b, b_events) = start(1);
    let (c, c_events) = start(2);
    until("all know of each other", || up(&a) == ["b", "c"] && up(&b) == ["a", "c"] && up(&c) == ["a", "b"]);
    assert!(events.text().contains(r#"{"event":"peer_up","peer":"b","why":"it reports"}"#), "{}", events.text());
    // Each has told what it is made of: the fastest takes a long service, through the node that was asked.
    let reply = ask(addresses[0], "GET", SERVICE, "/work?demand=200ms", "");
    assert_eq!((reply.status, reply.backend()), (200, "c"), "{:?}", reply.headers);
    // A node comes while they serve, and is the fastest.
    let (d, _) = start(3);
    until("all know of it", || [&a, &b, &c].iter().all(|node| up(node).contains(&"d".into())) && up(&d).len() == 3);
    let reply = ask(addresses[1], "GET", SERVICE, "/work?demand=200ms", "");
    assert_eq!((reply.status, reply.backend()), (200, "d"), "{:?}", reply.headers);
    // What leaves says so.
    d.stop();
    until("all know that it has left", || [&a, &b, &c].iter().all(|node| !up(node).contains(&"d".into())));
    // One that has no time for a while may miss the word, and sees the silence.
    let said = [&events, &b_events, &c_events].map(Lines::text);
    assert!(said.iter().any(|text| text.contains(r#""peer":"d","why":"it says that it leaves""#)), "{said:?}");
    // It comes back under its name and number.
    let (d, _) = start(3);
    until("it is in again", || [&a, &b, &c].iter().all(|node| up(node).contains(&"d".into())) && up(&d).len() == 3);
    assert_eq!(peers(&a).len(), 3);
    let counts = a.counts().cluster.expect("a cluster");
    assert!(counts.datagrams > 10 && counts.bytes > 1000 && counts.reports > 3, "{counts:?}");
}

#[test]
fn who_has_another_key_or_another_service_is_no_member() {
    let addresses = free::<3>();
    let other_key = file_with("another secret of tests");
    let nodes: [(Node, Lines); 3] = std::array::from_fn(|index| {
        let mut config = node_of(&addresses, index);
        gossiping(&mut config, addresses[0]);
        match index {
            1 => cluster(&mut config).key_file = Some(other_key.path().into()),
            2 => cluster(&mut config).service = "other.test".into(),
            _ => {}
        }
        let events = Lines::default();
        (Node::start_with(config, Events::to(events.clone())).expect("a node starts"), events)
    });
    let dropped = |index: usize| nodes[index].0.counts().cluster.expect("a cluster").dropped;
    until("each has heard what it cannot believe", || dropped(0).forged > 3);
    assert!(nodes.iter().all(|(node, _)| up(node).is_empty()), "{:?}", nodes.each_ref().map(|(node, _)| up(node)));
}

/// A central dispatcher finds the nodes, and they send no clients to it.
#[test]
fn who_only_dispatches_is_known_to_none() {
    let addresses = free::<3>();
    let nodes: [Node; 3] = std::array::from_fn(|index| {
        let mut config = node_of(&addresses, index);
        gossiping(&mut config, addresses[0]);
        cluster(&mut config).policy = "round-robin".into();
        cluster(&mut config).dispatch_only = index == 2;
        Node::start(config).expect("a node starts")
    });
    let [a, b, front] = &nodes;
    until("all know the nodes", || up(front) == ["a", "b"] && up(a) == ["b"] && up(b) == ["a"]);
    assert!((0..6).all(|_| ask(addresses[2], "GET", SERVICE, "/bytes/1", "").status == 307));
    let to = |node: usize| format!("http://{}/bytes/1", addresses[node]);
    for _ in 0..6 {
        let reply = ask(addresses[0], "GET", SERVICE, "/bytes/1", "");
        assert!(reply.status == 200 || reply.header("location") == Some(to(1).as_str()), "{:?}", reply.headers);
    }
    assert_eq!(front.counts().cluster.expect("a cluster").stayed, 0);
}

#[test]
fn what_cannot_be_gossiped_is_refused() {
    let wrong = |change: &dyn Fn(&mut NodeSettings)| {
        let addresses = free::<2>();
        let mut config = node_of(&addresses, 0);
        change(&mut config);
        Node::start(config).err().expect("it is refused").to_string()
    };
    let both = wrong(&|config| cluster(config).seeds = vec!["127.0.0.1:9".into()]);
    assert!(both.contains("gossip finds the other nodes"), "{both}");
    let nowhere = wrong(&|config| {
        let address = config.listen[0];
        gossiping(config, address);
        cluster(config).url = Some("http://a.test".into());
        cluster(config).reports = Some("0.0.0.0:0".parse().expect("an address"));
    });
    assert!(nowhere.contains("others cannot reach a node at 0.0.0.0:0"), "{nowhere}");
}
