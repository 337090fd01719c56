//! Distributed packet rewriting: every server is a front node too, and keeps a connection or passes its packets on.
//!
//! As for [`crate::switch`], this test binary is run again inside namespaces.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::process::Command;

use sojourn_bed::{Events, Host, Topology};
use sojourn_part::settings::switch::{Mode, SwitchServer, SwitchServerSettings, SwitchSettings};
use sojourn_switch::{ServerHalf, Switch};

use crate::support::{PATIENCE, inside, until};
use crate::switch::{At, Cluster, Frames};

/// Each server's own address and the one under which it is known; a DNS would answer with one of the latter.
const SERVERS: [(&str, u8, u8); 2] = [("web-1", 11, 100), ("web-2", 12, 101)];

#[test]
fn every_server_keeps_a_connection_or_passes_it_on() {
    inside("servers_forward::as_servers", &[]);
}

#[test]
#[ignore = "runs inside namespaces, for the test above"]
fn as_servers() {
    let mut topology = Topology::preset("cluster").expect("it is listed");
    topology.segments[0].services.push(Ipv4Addr::new(10, 0, 1, 101));
    let cluster = Cluster::of(topology);
    let hosts = [cluster.web_1, cluster.web_2];
    let _echoes = cluster.servers().map(|(host, name)| cluster.echo(host, name));
    // A server takes what the others pass on.
    let halves = [(hosts[0], SERVERS[1]), (hosts[1], SERVERS[0])].map(|(host, (_, _, other))| {
        let config = SwitchServerSettings {
            service: service(other),
            mode: Mode::Mac,
            front: None,
            key_file: None,
            also: Vec::new(),
        };
        cluster.at(host, cluster.on(host, || ServerHalf::start(config)).expect("a server's half"))
    });
    let fronts = [0, 1].map(|index| front(&cluster, hosts[index], SERVERS[index].2));
    for (_, _, known) in SERVERS {
        let mut held: Vec<(BufReader<TcpStream>, String)> = (0..6).map(|_| call(&cluster, service(known))).collect();
        let names: Vec<&str> = held.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(names, ["web-1", "web-2", "web-1", "web-2", "web-1", "web-2"], "at {known}");
        // What the other one answers does not pass the first.
        let (own, other) = if known == SERVERS[0].2 { (0, "web-2") } else { (1, "web-1") };
        let frames = Frames::seen(&cluster, hosts[own]);
        held.iter_mut().filter(|(_, name)| name == other).for_each(|(stream, _)| exchange(stream));
        let (of_clients, of_servers) = frames.counted(is_data_of_the_client);
        assert!(of_clients >= 3, "at {known}: {of_clients}");
        assert_eq!(of_servers, 0, "at {known}");
        held.iter_mut().for_each(|(stream, _)| exchange(stream));
    }
    for front in fronts {
        until("the ends are heard", || front.with(Switch::counts).closed == 6);
        let counts = front.take(Switch::stop);
        assert_eq!((counts.connections, counts.refused, counts.strays), (6, 0, 0), "{counts:?}");
        assert!(counts.backends.iter().all(|server| server.connections == 3), "{counts:?}");
    }
    drop(halves);
    cluster.nothing_is_left("0");
    for host in hosts {
        let mut addresses = Command::new("ip");
        let listed = cluster.on(host, || addresses.args(["address", "show"]).output()).expect("ip runs").stdout;
        let listed = String::from_utf8(listed).expect("text");
        assert!(listed.contains("10.0.1.1") && !listed.contains("10.0.1.10"), "{listed}");
    }
}

/// Whether a frame has data for the client or of it: servers probe each other too, and earlier connections are ending.
fn is_data_of_the_client(frame: &[u8]) -> bool {
    const CLIENT: [u8; 4] = [10, 0, 0, 1];
    let bytes = usize::from(u16::from_be_bytes([frame[16], frame[17]]));
    let has_data = bytes > 20 + usize::from(frame[46] >> 4) * 4;
    has_data && (frame[26..30] == CLIENT || frame[30..34] == CLIENT)
}

fn service(last: u8) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::new(10, 0, 1, last), 80)
}

/// The front node on a server.
fn front(cluster: &Cluster, host: Host, known: u8) -> At<'_, Switch> {
    let backends = SERVERS.map(|(name, own, _)| SwitchServer::new(name, *service(own).ip()));
    let config = SwitchSettings::new(service(known), "round-robin", backends.into());
    cluster.at(host, cluster.on(host, || Switch::start(config, Events::nowhere())).expect("a switch"))
}

/// A connection of the client, and the server that it has.
fn call(cluster: &Cluster, to: SocketAddrV4) -> (BufReader<TcpStream>, String) {
    let stream = cluster.on(cluster.client, || TcpStream::connect_timeout(&to.into(), PATIENCE)).expect("an answer");
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let (mut stream, mut name) = (BufReader::new(stream), String::new());
    stream.read_line(&mut name).expect("a name");
    (stream, name.trim().to_owned())
}

fn exchange(stream: &mut BufReader<TcpStream>) {
    stream.get_mut().write_all(&[7; 3_000]).expect("it is sent");
    let mut heard = [0; 3_000];
    stream.read_exact(&mut heard).expect("it is repeated");
    assert_eq!(heard, [7; 3_000]);
}
