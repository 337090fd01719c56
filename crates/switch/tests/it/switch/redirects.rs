//! Overflow by redirection: a server behind the switch tells the clients that no other one can take where to go.

use sojourn_dispatch::FrontSettings;
use sojourn_part::settings::node::NodeSettings;
use sojourn_part::settings::switch::Attempts;
use sojourn_part::{Backend, Probe};
use sojourn_web::{Gateway, Node};

use super::*;
use crate::support::inside;
use sojourn_part::settings::gateway::RedirectorSettings;

#[test]
fn clients_of_a_full_site_are_told_where_to_go() {
    inside("switch::redirects::as_redirector", &["curl"]);
}

#[test]
#[ignore = "runs inside namespaces, for the test above"]
fn as_redirector() {
    let cluster = Cluster::new();
    let _halves = cluster.halves(Mode::Mac);
    let _echo = cluster.echo(cluster.web_1, "web-1");
    // The other site is another port of the second server, which is reached past the switch.
    let elsewhere: SocketAddr = "10.0.1.12:8080".parse().unwrap();
    let node = NodeSettings { listen: vec![elsewhere], ..NodeSettings::new("c2") };
    let node = cluster.at(cluster.web_2, cluster.on(cluster.web_2, || Node::start(node)).expect("a node"));
    let redirector = RedirectorSettings {
        listen: "0.0.0.0:80".parse().unwrap(),
        ..RedirectorSettings::new("round-robin", vec![Backend::new("c2", elsewhere)])
    };
    let redirector = cluster.on(cluster.web_2, || Gateway::start(redirector, Events::nowhere()));
    let redirector = cluster.at(cluster.web_2, redirector.expect("a redirector"));
    let [web_1, to_c2] =
        [("web-1", 11), ("to-c2", 12)].map(|(name, last)| SwitchServer::new(name, Ipv4Addr::new(10, 0, 1, last)));
    let plain = SwitchSettings::new(SERVICE, "round-robin", vec![web_1]);
    let switch = SwitchSettings {
        // Replies to probes would be packets of servers at the front node.
        health: Attempts { probe: Probe::Off, ..Attempts::default() },
        decider: FrontSettings { limit: Limit::new(1, 0).ok(), ..plain.decider.clone() },
        redirector: vec![to_c2],
        overflow_limit: Limit::new(1, 0).ok(),
        ..plain
    };
    let switch = cluster.switch(switch).expect("a switch");
    let counts = || switch.with(Switch::counts);
    let frames = Frames::seen(&cluster, cluster.front);

    let held = cluster.call();
    assert_eq!((held.server.as_str(), counts().overflowed), ("web-1", 0));
    let url = format!("http://{SERVICE}/work?demand=0ms&bytes=7");
    let told = ["--location", "--max-redirs", "1", "--write-out", "%{url_effective} %{size_download}", "--output"];
    let seen = cluster.curl(&[&told[..], &["/dev/null", &url]].concat());
    assert_eq!(seen, format!("http://{elsewhere}/work?demand=0ms&bytes=7 7"));
    assert_eq!((redirector.with(Gateway::counts).requests, node.with(Node::counts).requests), (1, 1));
    until("the end is heard", || counts().sites[0].open == 0);
    assert_eq!((counts().overflowed, counts().refused, counts().sites[0].name.as_str()), (1, 0, "to-c2"));

    // It has a limit too: a further client is refused.
    let client = || cluster.on(cluster.client, || TcpStream::connect_timeout(&SERVICE.into(), PATIENCE));
    let waiting = client().expect("the redirector takes it");
    assert!(is_refused(&cluster, SERVICE));
    drop((waiting, held));
    until("both ends are heard", || counts().closed == 3);
    assert_eq!(cluster.call().server, "web-1", "it has room again");
    let (of_clients, of_servers) = frames.with_port_80();
    assert!(of_clients > 10, "{of_clients} packets of clients");
    // It refuses in the service's name.
    assert_eq!(u64::from(of_servers), counts().refused, "packets of servers pass the switch");
    drop((switch, redirector, node));
}
