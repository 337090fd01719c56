//! Limits of servers: no more connections reach one than its limit, further clients are refused at once, and a server that
//! was full is chosen again at the lower mark.

use std::io::ErrorKind;

use sojourn_part::now;
use sojourn_part::settings::node::{NodeLimits, NodeSettings};
use sojourn_web::{Node, NodeCounts};

use super::*;
use crate::support::inside;

#[test]
fn no_more_than_its_limit_reaches_a_server() {
    inside("switch::limits::as_limits", &[]);
}

#[test]
#[ignore = "runs inside namespaces, for the test above"]
fn as_limits() {
    let cluster = Cluster::new();
    let _halves = cluster.halves(Mode::Mac);
    marks_are_kept(&cluster);
    overload_is_refused(&cluster);
}

/// Connections that are held, one by one: four fit, and one more only when a server has come down to the mark.
fn marks_are_kept(cluster: &Cluster) {
    let echoes = cluster.servers().map(|(host, name)| cluster.echo(host, name));
    let mut config = config("round-robin");
    config.decider.limit = Some(Limit::new(2, 0).unwrap());
    let switch = cluster.switch(config).expect("a switch");
    let counts = || switch.with(Switch::counts);
    let mut held: Vec<Caller> = (0..4).map(|_| cluster.call()).collect();
    assert!(is_refused(cluster, SERVICE));
    let mut end_one = |of: &str| {
        let place = held.iter().position(|caller| caller.server == of).expect("there is one");
        drop(held.swap_remove(place));
    };
    end_one("web-1");
    until("its end is heard", || counts().closed == 1);
    assert!(is_refused(cluster, SERVICE), "one of two has ended, and the mark is none");
    end_one("web-1");
    until("its end is heard", || counts().closed == 2);
    held.extend([cluster.call(), cluster.call()]);
    assert!(is_refused(cluster, SERVICE));
    held.iter_mut().for_each(Caller::exchange);
    assert!(held[2..].iter().all(|caller| caller.server == "web-1"));
    let counts = switch.take(Switch::stop);
    assert_eq!((counts.connections, counts.refused), (6, 3), "{counts:?}");
    drop(echoes);
}

/// Many clients that ask again and again: each server says itself how many requests it had at most.
fn overload_is_refused(cluster: &Cluster) {
    const CLIENTS: usize = 24;
    const MOST: u32 = 3;
    let nodes = cluster.servers().map(|(host, name)| {
        let model = Some("discipline = \"ps\"\ndemand = \"10 ms\"".into());
        let listen = vec!["0.0.0.0:80".parse().unwrap()];
        let limits = NodeLimits { keep_alive: ms(0), ..NodeLimits::default() };
        let node = NodeSettings { listen, model, limits, ..NodeSettings::new(name) };
        cluster.at(host, cluster.on(host, || Node::start(node)).expect("a node"))
    });
    let mut config = config("least-connections");
    config.decider.limit = Some(Limit::new(MOST, 1).unwrap());
    let switch = cluster.switch(config).expect("a switch");
    let ends = now() + ms(2_000);
    let (mut served, mut refused, mut slow) = (0, 0, 0);
    let asks = || {
        let (mut served, mut refused, mut slow) = (0, 0, 0);
        while now() < ends {
            let since = now();
            if cluster.on(cluster.client, || get("/work/1")) {
                served += 1;
            } else {
                refused += 1;
                slow += u64::from(now() - since > ms(900));
                std::thread::park_timeout(Duration::from_millis(20));
            }
        }
        (served, refused, slow)
    };
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(asks)).collect();
        for client in clients {
            let of = client.join().expect("it is answered or refused");
            (served, refused, slow) = (served + of.0, refused + of.1, slow + of.2);
        }
    });
    let most: Vec<u64> =
        nodes.map(|node| node.take(Node::stop)).iter().map(|it: &NodeCounts| it.in_flight_max).collect();
    assert_eq!(most, [u64::from(MOST); 2], "requests at each server at most; {served} served, {refused} refused");
    let counts = switch.take(Switch::stop);
    assert_eq!(counts.connections, served, "{counts:?}");
    // A client waits for a second before its SYN is sent again. A busy machine may let some of them wait, and refuse both.
    assert!(slow * 10 <= refused, "{slow} of {refused} clients did not hear at once that they are refused");
    assert!((refused..=refused + slow).contains(&counts.refused), "{refused} refused, {slow} slowly: {counts:?}");
    assert!(served > 50 && refused > 50, "{served} served, {refused} refused");
}

/// Whether a page came over a connection of its own; not where that was refused.
fn get(path: &str) -> bool {
    let mut stream = match TcpStream::connect_timeout(&SERVICE.into(), PATIENCE) {
        Ok(stream) => stream,
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => return false,
        Err(error) => panic!("a connection is made or refused: {error}"),
    };
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").expect("it is sent");
    let mut reply = String::new();
    stream.read_to_string(&mut reply).expect("it is answered");
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    true
}
