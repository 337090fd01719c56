//! Two clusters with a packet switch each, in a bed: what a listener far away is told of them, and the round trips that they
//! measure on its order.
//!
//! This test binary is run again inside namespaces, as for the switch.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener};

use sojourn_bed::link::LinkSpec;
use sojourn_bed::{Events, Ground, Host, Namespaces, Segment, Topology};
use sojourn_dispatch::BackendId;
use sojourn_model::Discipline;
use sojourn_part::settings::loadd::LoaddSettings;
use sojourn_part::settings::node::NodeSettings;
use sojourn_part::settings::switch::{SwitchServer, SwitchServerSettings, SwitchSettings};
use sojourn_part::settings::{Echoes, Reports, Upstream};
use sojourn_report::loadd::Loadd;
use sojourn_stats::Span;
use sojourn_switch::{ServerHalf, Switch};
use sojourn_web::Node;

use crate::clusters::{Front, HOUR, key, key_file, upstream};
use crate::support::{get, inside, ms, run, server, until};

#[test]
fn two_clusters_report_and_measure() {
    inside("clusters_bed::as_clusters", &[]);
}

/// The listener is 5 ms from both clusters; the client is 10 ms from the first, 40 ms from the second.
const ONE_WAY_MS: [u64; 2] = [10, 40];

#[test]
#[ignore = "runs inside namespaces, for the test above"]
fn as_clusters() {
    let mut bed = Namespaces::new(topology(), 1).expect("a bed");
    let [dns, client] = ["dns", "client"].map(|name| bed.host(name).expect("a host"));
    let front = bed.on(dns, || Front::new("10.9.0.1:7400", &["paris", "rome"])).expect("a host");
    // The second one has nothing to tell but at once.
    let often = Upstream { every: ms(50), heartbeat: ms(400), ..upstream("paris", &front.listener) };
    let rarely = Upstream { every: HOUR, heartbeat: HOUR, client_rates: HOUR, ..upstream("rome", &front.listener) };
    let mut clusters = vec![Cluster::new(&mut bed, 0, often), Cluster::new(&mut bed, 1, rarely)];
    // The service is an address of the segment: the client reaches a server through the switch.
    for (place, cluster) in clusters.iter().enumerate() {
        let service = SocketAddr::V4(cluster.service);
        let reply = bed.on(client, || get(service, "/work?demand=1ms")).expect("a host");
        assert_eq!(reply.status, 200, "cluster {place}");
    }
    until("both servers are in the sum", || front.last("report", Some("paris"))["cores"] == 2.0);
    until("the other cluster is heard", || !front.events("report", Some("rome")).is_empty());

    // A client that answers: its round trip is that of the links, from each cluster.
    let address = "10.8.0.1";
    let probed = |name: &str, order: u64| {
        let told = front.events("echoes", Some(name));
        told.into_iter().find(|told| told["order"] == order)
    };
    let probe = |clients: [&str; 2]| {
        let mut orders = Vec::new();
        for (place, client) in clients.into_iter().enumerate() {
            orders.push(front.listener.order(BackendId(place as u32), client).expect("the cluster was heard"));
        }
        let names = ["paris", "rome"];
        until("both have answered", || (0..2).all(|place| probed(names[place], orders[place]).is_some()));
        [0, 1].map(|place| probed(names[place], orders[place]).expect("it is there"))
    };
    // A busy machine makes an answer late, but not each time, and none early.
    let is_right = |by: &str, answers: u32| {
        let rights = ONE_WAY_MS.map(|one_way_ms| 2e-3 * one_way_ms as f64);
        until("both measure what the links are", || {
            probe([address; 2]).into_iter().zip(rights).all(|(told, right)| {
                assert_eq!((&told["by"], &told["answers"]), (&by.into(), &answers.into()), "{told}");
                let s = told["round_trip_s"].as_f64().expect("it is known");
                assert!(s >= right, "{s} s is less than {right} s");
                s - right <= (0.1 * right).max(2e-3)
            })
        });
    };
    is_right("icmp", 3);
    // Any user may send echo requests: the sockets for that do as well as the raw ones of root.
    for cluster in &clusters {
        run(&bed, cluster.front, "echo 0 0 > /proc/sys/net/ipv4/ping_group_range");
    }
    is_right("icmp", 3);
    // The second echo is lost.
    run(
        &bed,
        client,
        "nft 'add table ip t; add chain ip t c { type filter hook input priority 0; }; \
         add rule ip t c icmp type echo-request icmp sequence 1 drop'",
    );
    is_right("icmp", 2);
    // It answers no echo at all: TCP says how far it is, whether a program listens or not.
    run(&bed, client, "nft flush ruleset; echo 1 > /proc/sys/net/ipv4/icmp_echo_ignore_all");
    is_right("tcp", 3);
    let web = bed.on(client, || TcpListener::bind("0.0.0.0:80")).expect("a host").expect("a free port");
    is_right("tcp", 3);
    drop(web);
    // It drops everything.
    run(&bed, client, "nft 'add table ip t; add chain ip t c { type filter hook input priority 0; policy drop; }'");
    for told in probe([address; 2]) {
        assert_eq!((&told["answers"], told.get("round_trip_s")), (&0.into(), None), "{told}");
    }

    // A server of the first cluster is killed, and then all of them; the second one is not concerned.
    clusters[0].kill(&bed, 0);
    until("the sum falls", || front.last("report", Some("paris"))["cores"] == 1.0);
    clusters[0].kill(&bed, 1);
    until("it is empty", || front.events("reports_empty", Some("paris")).len() == 1);
    assert!(front.events("reports_empty", Some("rome")).is_empty());
    [0, 1].into_iter().for_each(|place| clusters[1].kill(&bed, place));
    until("it says so at once", || front.events("reports_empty", Some("rome")).len() == 1);
    for cluster in clusters {
        cluster.end(&bed);
    }
}

fn topology() -> Topology {
    let mut topology = Topology::default();
    let dns = topology.host("dns", Ipv4Addr::new(10, 9, 0, 1));
    let client = topology.host("client", Ipv4Addr::new(10, 8, 0, 1));
    let routers = [1, 2].map(|net| topology.host(format!("router-{net}"), Ipv4Addr::new(10, 0, net, 254)));
    let mut join = |one: usize, other: usize, one_way: Span| {
        for (from, to) in [(one, other), (other, one)] {
            let link = topology.link(LinkSpec::constant(format!("{from} to {to}"), one_way));
            topology.route(from, to, [link]);
        }
    };
    join(dns, client, ms(5));
    join(routers[0], routers[1], ms(5));
    for (router, one_way_ms) in routers.into_iter().zip(ONE_WAY_MS) {
        join(dns, router, ms(5));
        join(client, router, ms(one_way_ms));
    }
    for (net, router) in [1, 2].into_iter().zip(routers) {
        let on_it = [("front", 1), ("a", 11), ("b", 12)];
        let hosts = on_it.map(|(name, last)| topology.host(format!("{name}-{net}"), Ipv4Addr::new(10, 0, net, last)));
        let services = vec![Ipv4Addr::new(10, 0, net, 100)];
        topology.segments.push(Segment { router, hosts: hosts.into(), services });
    }
    topology
}

/// A server's host, the server and its daemon unless they were killed, and its half of the switch.
type Server = (Host, Option<(Node, Loadd)>, ServerHalf);

/// A switch and two servers.
struct Cluster {
    service: SocketAddrV4,
    front: Host,
    switch: Switch,
    servers: Vec<Server>,
}

impl Cluster {
    fn new(bed: &mut Namespaces, place: u8, told: Upstream) -> Cluster {
        let net = place + 1;
        let service = SocketAddrV4::new(Ipv4Addr::new(10, 0, net, 100), 80);
        let front = bed.host(&format!("front-{net}")).expect("a host");
        let backends =
            [("a", 11), ("b", 12)].map(|(name, last)| SwitchServer::new(name, Ipv4Addr::new(10, 0, net, last)));
        let half = SwitchServerSettings { service, ..SwitchServerSettings::default() };
        let mut servers = Vec::new();
        for (name, _) in [("a", 11), ("b", 12)] {
            let host = bed.host(&format!("{name}-{net}")).expect("a host");
            let held = bed.on(host, || {
                let model = Some(server(Discipline::Ps, "1 ms", None).to_toml());
                let listen = SocketAddr::from(([0, 0, 0, 0], service.port()));
                let node =
                    NodeSettings { model, listen: vec![listen], grace: Some(Span::ZERO), ..NodeSettings::new(name) };
                let node = Node::start(node).expect("a node starts");
                let ask = format!("http://127.0.0.1:{}/load", service.port());
                let settings = LoaddSettings {
                    name: name.into(),
                    to: vec![reports_to(net)],
                    ask: Some(ask),
                    every: ms(50),
                    heartbeat: ms(400),
                    client_rates: ms(2000),
                    watch: ms(10),
                    ..LoaddSettings::default()
                };
                let loadd = Loadd::start(settings, key(), Events::nowhere()).expect("a daemon starts");
                (host, Some((node, loadd)), ServerHalf::start(half.clone()).expect("a server's half"))
            });
            servers.push(held.expect("a host"));
        }
        let echoes = Echoes { refresh: Span::ZERO, ..Echoes::default() };
        let mut config = SwitchSettings {
            reports: Reports { listen: Some(reports_to(net)), ..Reports::default() },
            upstream: Upstream { echoes, ..told },
            key_file: Some(key_file()),
            ..SwitchSettings::new(service, "remaining-capacity", backends.into())
        };
        config.health.every = ms(50);
        let switch = bed.on(front, || Switch::start(config, Events::nowhere()).expect("a switch")).expect("a host");
        Cluster { service, front, switch, servers }
    }

    /// A server ends without a word, and its daemon with it.
    fn kill(&mut self, bed: &Namespaces, place: usize) {
        let (host, held, _) = &mut self.servers[place];
        let held = held.take();
        bed.on(*host, || drop(held)).expect("a host");
    }

    fn end(self, bed: &Namespaces) {
        let Cluster { front, switch, servers, .. } = self;
        let counts = bed.on(front, || switch.stop()).expect("a host");
        let told = counts.upstream.expect("it tells");
        assert!(told.probes >= 6 && (told.probes_refused, told.orders_dropped.total()) == (0, 0), "{told:?}");
        for (host, held, half) in servers {
            bed.on(host, || drop((held, half))).expect("a host");
        }
    }
}

/// Where the daemons of a cluster report to.
fn reports_to(net: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, net, 1], 7400))
}
