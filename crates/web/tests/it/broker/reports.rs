//! What nodes believe of each other.

use std::net::{SocketAddr, UdpSocket};

use sojourn_bed::Events;
use sojourn_report::{Heard, Key, Load, Metric, Metrics, Sender};
use sojourn_stats::Span;
use sojourn_web::Node;

use super::{Cluster, EVERY, cluster, file_with, key, node_of, peers};
use crate::support::{Lines, free, ms, until};

/// A peer that a test plays: it reports, and serves nothing.
pub(super) struct Played {
    socket: UdpSocket,
    sender: Sender,
    /// How often it says that it reports.
    pub(super) every: Span,
}

impl Played {
    pub(super) fn new(name: &str, key: Key, to: SocketAddr) -> Played {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        socket.connect(to).expect("an address");
        socket.set_read_timeout(Some(ms(20).as_std())).expect("a timeout");
        Played { socket, sender: Sender::new(key, name, 1, 1).expect("a name"), every: EVERY }
    }

    /// Reports these numbers, and once more where it is asked to prove itself.
    pub(super) fn tell(&mut self, metrics: &[(Metric, f64)]) {
        let mut load = Load { every: self.every, heartbeat: self.every, ..Load::default() };
        let mut all = Metrics::default();
        metrics.iter().for_each(|(metric, value)| all.set(*metric, *value));
        load.metrics = all;
        let measured = sojourn_part::now().0;
        let datagram = self.sender.load(0, measured, load.clone());
        self.socket.send(&datagram).expect("it is sent");
        let mut buffer = [0; 2000];
        if let Ok(length) = self.socket.recv(&mut buffer)
            && self.sender.hear(0, &buffer[..length]) == Heard::Challenge
        {
            let datagram = self.sender.load(0, measured, load);
            self.socket.send(&datagram).expect("it is sent");
        }
    }
}

fn counts(node: &Node) -> sojourn_web::ClusterCounts {
    node.counts().cluster.expect("a cluster")
}

#[test]
fn nodes_with_another_key_do_not_know_each_other() {
    let other_key = file_with("another secret of tests");
    let nodes = Cluster::<2>::unacquainted(|index, config| {
        if index == 1 {
            cluster(config).key_file = Some(other_key.path().into());
        }
    });
    until("each has heard what it cannot believe", || nodes.nodes.iter().all(|node| counts(node).dropped.forged > 3));
    assert!(nodes.nodes.iter().all(|node| peers(node).iter().all(|(_, is_up)| !is_up)));
    assert!(nodes.events.iter().all(|events| !events.text().contains("peer_up")));
    // Alone, each serves what it gets, however busy it is.
    let own = nodes.addresses[0].to_string();
    let mut busy = crate::support::Client::new(nodes.addresses[0]);
    busy.send(&format!("GET /work?demand=1h HTTP/1.1\r\nhost: {own}\r\n\r\n"));
    until("it is there", || nodes.nodes[0].counts().in_flight == 1);
    nodes.await_reports();
    assert_eq!(nodes.ask(0, "/work?demand=10ms").status, 200);
}

#[test]
fn a_peer_is_in_when_heard_and_out_when_silent_or_when_it_leaves() {
    let nodes = Cluster::<3>::start(|_, _| {});
    let [a, b, c] = nodes.nodes;
    let said = |events: &Lines, wanted: &str| events.text().contains(wanted);
    assert!(
        said(&nodes.events[0], r#"{"event":"peer_up","peer":"b","why":"it reports"}"#),
        "{}",
        nodes.events[0].text()
    );
    // What leaves says so: at once, not after three periods.
    b.stop();
    let left = r#"{"event":"peer_down","peer":"b","why":"it says that it leaves"}"#;
    for events in [&nodes.events[0], &nodes.events[2]] {
        until("it is heard", || said(events, left));
        assert!(!said(events, "have ceased"));
    }
    assert_eq!(peers(&a), [("b".into(), false), ("c".into(), true)]);
    assert_eq!(peers(&c), [("a".into(), true), ("b".into(), false)]);
    // It comes back under its name.
    let again = Node::start(node_of(&nodes.addresses, 1)).expect("its port is free");
    until("it is in again", || peers(&a)[0].1 && peers(&c)[1].1 && peers(&again).iter().all(|(_, is_up)| *is_up));
}

#[test]
fn a_peer_that_lies_is_not_believed_and_falls_silent() {
    let address = free::<2>()[0];
    let config = node_of(&[address, free::<1>()[0]], 0);
    let events = Lines::default();
    let node = Node::start_with(config, Events::to(events.clone())).expect("a node starts");
    let mut b = Played::new("b", key(), address);
    let honest = [(Metric::Cpu, 0.5), (Metric::Arrived, 10.0), (Metric::Completed, 10.0)];
    until("it is believed", || {
        b.tell(&honest);
        peers(&node)[0].1
    });
    // More answered than came; a busy share below 0; a load that is infinite cannot even be said.
    let lies = [[(Metric::Completed, 12.0), (Metric::Arrived, 11.0)], [(Metric::Cpu, -1.0), (Metric::Disk, 0.0)]];
    let before = counts(&node).dropped.impossible;
    until("its lies are as good as silence", || {
        lies.iter().for_each(|lie| b.tell(lie));
        !peers(&node)[0].1
    });
    assert!(counts(&node).dropped.impossible >= before + 2);
    assert!(events.text().contains(r#""peer":"b","why":"its reports have ceased""#), "{}", events.text());
    // Another node under this one's own name is told of, and changes nothing.
    let mut double = Played::new("a", key(), address);
    until("it is noticed", || {
        double.tell(&honest);
        events.text().contains("name_taken")
    });
    assert!(!peers(&node)[0].1);
}

/// Silence lasts three periods: what missed one report, or two, is in.
#[test]
fn a_peer_is_out_after_three_periods_of_silence_not_sooner() {
    let [address, other] = free();
    let mut config = node_of(&[address, other], 0);
    cluster(&mut config).every = EVERY;
    let node = Node::start(config).expect("a node starts");
    let mut b = Played::new("b", key(), address);
    until("it is believed", || {
        b.tell(&[(Metric::Cpu, 0.1)]);
        peers(&node)[0].1
    });
    let told = sojourn_part::now();
    b.tell(&[(Metric::Cpu, 0.1)]);
    until("it is out", || !peers(&node)[0].1);
    let silence = sojourn_part::now() - told;
    assert!(silence >= EVERY * 3, "it was out after {silence}");
}
