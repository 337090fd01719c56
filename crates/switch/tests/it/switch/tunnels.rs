//! Tunnels in user space: servers on another Ethernet, restarts, and sites that pass on what they cannot take.

use nix::sys::socket::{getsockopt, sockopt};
use sojourn_bed::Segment;
use sojourn_bed::link::LinkSpec;
use sojourn_dispatch::FrontSettings;
use sojourn_part::Probe;
use sojourn_part::settings::switch::Attempts;

use super::*;
use crate::support::{command, inside};

/// The service of the second site, whose front node is 10.0.2.1.
const SECOND: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 2, 100), 80);

/// A client and two Ethernets: `front` and `web-1` on the first, `front-2` and `web-2` on the second, each behind a router.
fn two_sites() -> Cluster {
    let mut topology = Topology::default();
    let client = topology.host("client", Ipv4Addr::new(10, 0, 0, 1));
    let routers =
        [("router", 1), ("router-2", 2)].map(|(name, net)| topology.host(name, Ipv4Addr::new(10, 0, net, 254)));
    for (from, to) in [(client, routers[0]), (client, routers[1]), (routers[0], routers[1])] {
        for (from, to) in [(from, to), (to, from)] {
            let link = topology.link(LinkSpec::constant(format!("{from} to {to}"), Span(1_000_000)));
            topology.route(from, to, [link]);
        }
    }
    let sites = [(1, [("front", 1), ("web-1", 11)]), (2, [("front-2", 1), ("web-2", 11)])];
    for (router, (net, hosts)) in routers.into_iter().zip(sites) {
        let hosts = hosts.map(|(name, last)| topology.host(name, Ipv4Addr::new(10, 0, net, last)));
        let services = vec![Ipv4Addr::new(10, 0, net, 100)];
        topology.segments.push(Segment { router, hosts: hosts.into(), services });
    }
    Cluster::of(topology)
}

fn half<'a>(cluster: &'a Cluster, host: Host, config: SwitchServerSettings) -> At<'a, ServerHalf> {
    cluster.at(host, cluster.on(host, || ServerHalf::start(config)).expect("a server's half"))
}

/// One server beside the switch and one behind two routers.
fn tunnelled() -> SwitchSettings {
    let backend = |(name, net): (&str, u8)| SwitchServer::new(name, Ipv4Addr::new(10, 0, net, 11));
    let backends = [("web-1", 1), ("web-2", 2)].map(backend).into();
    let plain = SwitchSettings::new(SERVICE, "round-robin", backends);
    SwitchSettings { mode: Mode::Tunnel, health: unprobed(), ..plain }
}

/// Replies to probes would be packets of servers at the front node.
fn unprobed() -> Attempts {
    Attempts { probe: Probe::Off, ..Attempts::default() }
}

fn tunnel_ends(cluster: &Cluster) -> Vec<At<'_, ServerHalf>> {
    let front = Some(Ipv4Addr::new(10, 0, 1, 1));
    let config =
        || SwitchServerSettings { service: SERVICE, mode: Mode::Tunnel, front, also: Vec::new(), key_file: None };
    cluster.servers().map(|(host, _)| half(cluster, host, config())).into()
}

#[test]
fn servers_may_be_anywhere_and_connections_outlive_the_switch() {
    inside("switch::tunnels::as_tunnel", &[]);
}

#[test]
#[ignore = "runs inside namespaces, for the test above"]
fn as_tunnel() {
    let cluster = two_sites();
    let halves = tunnel_ends(&cluster);
    only_the_front_is_believed(&cluster);
    let _echoes = cluster.servers().map(|(host, name)| cluster.echo(host, name));
    let child = || cluster.bed.spawn(cluster.front, command("switch::tunnels::as_switch"), PATIENCE).expect("a switch");
    let mut first = child();
    let frames = Frames::seen(&cluster, cluster.front);
    let mut held: Vec<Caller> = (0..20).map(|_| cluster.call()).collect();
    assert_eq!(held.iter().filter(|caller| caller.server == "web-2").count(), 10);
    held.iter_mut().for_each(Caller::exchange);
    let (of_clients, of_servers) = frames.with_port_80();
    assert!(of_clients > 60, "{of_clients} packets of clients");
    assert_eq!(of_servers, 0, "packets of servers pass the switch");
    // What the client sends fits into a frame with what the tunnel adds.
    for caller in &held {
        let segment = getsockopt(caller.stream.get_ref(), sockopt::TcpMaxSeg).expect("it is connected");
        assert!(segment <= 1500 - 40 - 28, "segments of {segment} bytes");
    }
    let sent = vec![7; 200_000];
    let stream = held[1].stream.get_ref();
    let (mut there, mut back) = (stream.try_clone().unwrap(), vec![0; sent.len()]);
    std::thread::scope(|scope| {
        scope.spawn(|| there.write_all(&sent).expect("it is sent"));
        held[1].stream.read_exact(&mut back).expect("it is repeated");
    });
    assert!(sent == back, "an upload comes back whole");

    first.kill();
    // What is said meanwhile is lost, and said again by TCP once the next one has the devices.
    held.iter_mut().for_each(|caller| caller.stream.get_mut().write_all(b"meanwhile").expect("it is buffered"));
    let second = child();
    assert_eq!(second.events()[0]["inherited"], 20);
    for caller in &mut held {
        let mut heard = [0; 9];
        caller.stream.read_exact(&mut heard).expect("it is repeated");
        assert_eq!(&heard, b"meanwhile");
        caller.exchange();
    }
    assert_eq!(cluster.call().server, "web-1");
    drop(held);
    let told = second.stop();
    let told = told.last().expect("it has stopped");
    assert_eq!((&told["connections"], &told["refused"]), (&1.into(), &0.into()), "{told}");
    drop(halves);
    cluster.nothing_is_left("0");
}

/// What comes out of a server's tunnel: packets to the service, sent by the front node, and nothing else.
fn only_the_front_is_believed(cluster: &Cluster) {
    let end = SocketAddr::from(([10, 0, 1, 11], 6080));
    let sends = |host, packet: &[u8]| {
        let sent = cluster.on(host, || std::net::UdpSocket::bind("0.0.0.0:0")?.send_to(packet, end));
        sent.expect("it is sent");
    };
    let came_out = || {
        let asked = Command::new("ip").args(["-s", "-json", "link", "show", "sojourn-in"]).output();
        let said: Value = serde_json::from_slice(&asked.expect("ip runs").stdout).expect("JSON");
        said[0]["stats64"]["rx"]["packets"].as_u64().expect("a count")
    };
    // It asks for a connection that no client wants.
    let mut good = packet(Ipv4Addr::new(10, 0, 0, 77), 6000, SYN, 0, &[]);
    let length = good.len() as u16;
    good[2..4].copy_from_slice(&length.to_be_bytes());
    let mut elsewhere = good.clone();
    elsewhere[16..20].copy_from_slice(&[10, 0, 1, 254]);
    for (host, packet) in [(cluster.client, &good[..]), (cluster.front, &elsewhere), (cluster.front, &good[..10])] {
        sends(host, packet);
    }
    sends(cluster.front, &good);
    until("a packet of the front node comes out", || cluster.on(cluster.web_1, came_out) > 0);
    // Those before it took the same way, or a longer one that is no slower than this wait.
    std::thread::park_timeout(Duration::from_millis(200));
    assert_eq!(cluster.on(cluster.web_1, came_out), 1);
}

#[test]
#[ignore = "runs as a child, for the test above"]
fn as_switch() {
    // The harness has begun a line.
    writeln!(std::io::stdout()).expect("it is read");
    child::switch(tunnelled(), std::io::stdout(), Some(std::io::stdin())).expect("a switch");
}

#[test]
fn a_capture_sees_what_is_inside_a_tunnel() {
    inside("switch::tunnels::as_captured", &[]);
}

#[test]
#[ignore = "runs inside namespaces, for the test above"]
fn as_captured() {
    let cluster = Cluster::new();
    let frames = Frames::seen(&cluster, cluster.front);
    // A reply, and a packet of a client, as they would be inside.
    let mut of_client = packet(Ipv4Addr::new(10, 0, 0, 77), 6000, SYN, 0, &[]);
    let mut reply = of_client.clone();
    reply.splice(20..24, [0, 80, 0x17, 0x70]);
    let sends = |packet: &[u8], from: u16, to: u16| {
        let socket = std::net::UdpSocket::bind(("0.0.0.0", from)).expect("a port");
        socket.send_to(packet, SocketAddr::from(([10, 0, 1, 1], to))).expect("it is sent");
    };
    of_client.truncate(39);
    cluster.on(cluster.web_1, || {
        sends(&reply, 0, 6080);
        sends(&reply, 6080, 7);
        sends(&reply, 0, 6081);
        sends(&of_client, 0, 6080);
        TcpStream::connect(("10.0.1.1", 80)).expect_err("none listens there");
    });
    assert_eq!(frames.with_port_80(), (2, 3), "two replies and a part of a packet by tunnel, and a SYN with its RST");
}

#[test]
fn a_site_that_is_full_passes_on_once_what_it_cannot_take() {
    inside("switch::tunnels::as_overflow", &[]);
}

#[test]
#[ignore = "runs inside namespaces, for the test above"]
fn as_overflow() {
    let cluster = two_sites();
    let front_2 = host(&cluster, "front-2");
    let services = [SERVICE, SECOND];
    // Each server has both services, since it may be given connections to either.
    let halves = cluster.servers().map(|(host, _)| {
        let own = usize::from(host == cluster.web_2);
        let also = vec![*services[1 - own].ip()];
        half(
            &cluster,
            host,
            SwitchServerSettings { service: services[own], mode: Mode::Mac, front: None, also, key_file: None },
        )
    });
    let _echoes = cluster.servers().map(|(host, name)| cluster.echo(host, name));
    // One server each; a place at the first, three at the second, and each lends the other two.
    let switch = |own: u8, limit: Limit| {
        let other = 3 - own;
        let web = SwitchServer::new(format!("web-{own}"), Ipv4Addr::new(10, 0, own, 11));
        let plain = SwitchSettings::new(services[usize::from(own) - 1], "round-robin", vec![web]);
        let config = SwitchSettings {
            health: unprobed(),
            decider: FrontSettings { limit: Some(limit), ..plain.decider.clone() },
            overflow: vec![site(other, 1)],
            overflow_limit: Limit::new(2, 1).ok(),
            accept: vec![accepted([10, 0, other, 100], [10, 0, other, 1])],
            ..plain
        };
        let on = if own == 1 { cluster.front } else { front_2 };
        cluster.at(on, cluster.on(on, || Switch::start(config, Events::nowhere())).expect("a switch"))
    };
    let (first, second) = (switch(1, Limit::new(1, 0).unwrap()), switch(2, Limit::new(3, 2).unwrap()));
    let counts = |switch: &At<'_, Switch>| switch.with(Switch::counts);
    let frames = [cluster.front, front_2].map(|host| Frames::seen(&cluster, host));

    let mut held: Vec<Caller> = (0..3).map(|_| cluster.call()).collect();
    assert_eq!(held.iter().map(|caller| &*caller.server).collect::<Vec<_>>(), ["web-1", "web-2", "web-2"]);
    assert!(is_refused(&cluster, SERVICE), "two are lent, and no more");
    assert_eq!((counts(&first).overflowed, counts(&first).refused, counts(&second).accepted), (2, 1, 2));
    // The second site's last place is for its own client; a further one finds both sites full.
    held.push(cluster.call_at(SECOND));
    assert_eq!(held[3].server, "web-2");
    assert!(is_refused(&cluster, SECOND), "the first site refuses what the second could not take");
    let (one, two) = (counts(&first), counts(&second));
    assert_eq!((two.overflowed, one.accepted, one.refused, one.overflowed), (1, 0, 2, 2), "never passed on twice");
    held.iter_mut().for_each(Caller::exchange);

    // A lent place is free again at the lower mark; then the second site is full, and refuses what the first passes on.
    held.remove(1);
    until("both have heard its end", || counts(&first).sites[0].open == 1 && counts(&second).backends[0].open == 2);
    held.push(cluster.call_at(SECOND));
    assert!(is_refused(&cluster, SERVICE), "the second site has no place left to lend");
    let (one, two) = (counts(&first), counts(&second));
    assert_eq!((one.overflowed, two.refused, two.overflowed), (3, 1, 1), "never passed back");
    held.iter_mut().for_each(Caller::exchange);

    // A site that was full serves again when it has come down.
    let place = held.iter().position(|caller| caller.server == "web-1").expect("there is one");
    held.remove(place);
    until("its end is heard", || counts(&first).backends[0].open == 0);
    assert_eq!(cluster.call().server, "web-1");
    for (frames, switch) in frames.into_iter().zip([&first, &second]) {
        let (of_clients, from_port_80) = frames.with_port_80();
        assert!(of_clients > 4, "{of_clients} packets of clients");
        // It refuses in the service's name.
        assert_eq!(u64::from(from_port_80), counts(switch).refused, "packets of servers pass a front node");
    }
    drop((held, first, second, halves));
    cluster.nothing_is_left("0");
    let left = cluster.on(front_2, || Command::new("ip").args(["link", "show", "type", "tun"]).output());
    assert!(!String::from_utf8_lossy(&left.expect("ip runs").stdout).contains("sojourn"));
}

fn host(cluster: &Cluster, name: &str) -> Host {
    let place = cluster.bed.links().expect("a bed has links").topology().find(name).expect("it is there");
    Host(place as u32)
}
