//! Load in the forms of ORCA: text, protocol buffers, and the stream of gRPC that a load daemon serves.

use std::io::Write;
use std::net::{SocketAddr, UdpSocket};

use sojourn_bed::Events;
use sojourn_model::Discipline;
use sojourn_part::Backend;
use sojourn_part::settings::gateway::{Forward, GatewaySettings, Named};
use sojourn_part::settings::loadd::LoaddSettings;
use sojourn_report::loadd::Loadd;
use sojourn_report::orca::{Load, stream};
use sojourn_report::{Key, orca};
use sojourn_stats::{Span, Stream};
use sojourn_web::{Gateway, Node};

use crate::support::{Client, Lines, Origin, backends, gateway, ms, node, polled, until};

/// The example of the standard's own documentation (`BIN CZqZmZmZmbk/MQAA...`): cpu_utilization 0.1, rps_fractional 2, and
/// named metrics foo 0.1 and bar 0.2.
const EXAMPLE: [u8; 50] = [
    0x09, 0x9a, 0x99, 0x99, 0x99, 0x99, 0x99, 0xb9, 0x3f, 0x31, 0, 0, 0, 0, 0, 0, 0, 0x40, 0x42, 0x0e, 0x0a, 0x03,
    b'f', b'o', b'o', 0x11, 0x9a, 0x99, 0x99, 0x99, 0x99, 0x99, 0xb9, 0x3f, 0x42, 0x0e, 0x0a, 0x03, b'b', b'a', b'r',
    0x11, 0x9a, 0x99, 0x99, 0x99, 0x99, 0x99, 0xc9, 0x3f,
];

fn example() -> Load {
    Load {
        cpu_utilization: Some(0.1),
        rps_fractional: Some(2.0),
        named_metrics: [("foo".into(), 0.1), ("bar".into(), 0.2)].into(),
        ..Load::default()
    }
}

#[test]
fn the_forms_say_the_same() {
    assert_eq!(Load::from_protobuf(&EXAMPLE), Some(example()));
    let whole = Load {
        mem_utilization: Some(0.25),
        application_utilization: Some(1.5),
        eps: Some(0.125),
        utilization: [("disk".into(), 0.75)].into(),
        ..example()
    };
    for load in [example(), whole, Load::default()] {
        assert_eq!(Load::from_protobuf(&load.to_protobuf()), Some(load.clone()));
        if load != Load::default() {
            assert_eq!(Load::parse(&load.to_text()), Some(load.clone()), "{}", load.to_text());
        }
    }
    assert_eq!(example().busy_share(), Some(0.1));
    assert_eq!(
        Load::parse("TEXT cpu_utilization=0.5, new_metric=x"),
        Some(Load { cpu_utilization: Some(0.5), ..Load::default() })
    );
    assert_eq!(Load::parse("TEXT cpu_utilization=x"), None);
    assert_eq!(orca::Load::parse("XML <load/>"), None);
    for json in [
        r#"JSON {"cpu_utilization": 0.1, "rps_fractional": 2, "named_metrics": {"foo": 0.1, "bar": 0.2}, "later": [1]}"#,
        r#"JSON {"cpuUtilization": 0.1, "rpsFractional": 2.0, "namedMetrics": {"foo": 0.1, "bar": 0.2}}"#,
    ] {
        assert_eq!(Load::parse(json), Some(example()), "{json}");
    }
    assert_eq!(Load::parse("JSON {}"), Some(Load::default()));
    assert_eq!(Load::parse("JSON {"), None);
}

/// Two servers that are busy for shares of their own, of which the replies tell in the two forms; who asks for a report gets one.
#[test]
fn a_gateway_goes_by_what_replies_bear() {
    let origin = |said: &'static str| {
        Origin::new(move |got, stream| {
            let is_asked = got.header(orca::WANTED) == Some("TEXT");
            let said = if is_asked { format!("{}: {said}\r\n", orca::HEADER) } else { String::new() };
            let text = format!("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n{said}\r\nok");
            stream.write_all(text.as_bytes()).is_ok()
        })
    };
    let busy = origin("TEXT cpu_utilization=0.9, rps_fractional=90");
    let idle = origin(r#"JSON {"cpu_utilization": 0.1, "rps_fractional": 90}"#);
    let config = GatewaySettings::new("least-load", backends(&[busy.address, idle.address]));
    let refused = Gateway::start(config.clone(), Events::nowhere()).map(drop).expect_err("nothing reports");
    assert!(refused.to_string().contains("the load that backends report"), "{refused}");
    let face = Forward { orca_headers: true, ..Forward::default() };
    let gateway = gateway(GatewaySettings { face, ..config });
    let mut client = Client::new(gateway.address());
    // One that has told nothing counts as idle.
    until("both have told", || {
        client.get("/");
        busy.requests() > 0 && idle.requests() > 0
    });
    let told = busy.requests();
    for _ in 0..20 {
        let reply = client.get("/");
        assert_eq!(reply.backend(), "s2");
        assert!(reply.header(orca::HEADER).is_some_and(|said| said.starts_with("JSON")), "clients may read it too");
    }
    assert_eq!(busy.requests(), told);
}

/// A daemon that asks this node, and serves a stream.
fn daemon(name: &str, to: SocketAddr, node: &Node) -> LoaddSettings {
    LoaddSettings {
        name: name.into(),
        to: vec![to],
        ask: Some(format!("http://{}/load", node.address())),
        orca: Some(([127, 0, 0, 1], 0).into()),
        every: ms(20),
        watch: ms(20),
        ..LoaddSettings::default()
    }
}

/// A gateway subscribes to the streams of two daemons, whose servers say how many requests they have.
#[test]
fn a_gateway_subscribes_to_streams() {
    let nodes = ["a", "b"].map(|name| node(name, Discipline::Ps));
    let nowhere = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let daemons = [("a", &nodes[0]), ("b", &nodes[1])].map(|(name, node)| {
        let settings = daemon(name, nowhere.local_addr().expect("an address"), node);
        Loadd::start(settings, Key::new(b"a secret of tests"), Events::nowhere()).expect("it starts")
    });
    let streams = ["a", "b"].iter().zip(&daemons);
    let streams = streams
        .map(|(name, loadd)| Named { name: (*name).into(), value: loadd.orca_address().expect("it serves ORCA") });
    let face = Forward { orca: streams.collect(), orca_every: ms(20), ..Forward::default() };
    let own: Vec<Backend> =
        ["a", "b"].iter().zip(&nodes).map(|(name, node)| Backend::new(*name, node.address())).collect();
    // Counts are those of the last report.
    let config = polled(Span(u64::MAX / 4), GatewaySettings { face, ..GatewaySettings::new("least-connections", own) });
    let orca = vec![Named { name: "c".into(), value: nodes[0].address() }];
    let unknown = GatewaySettings { face: Forward { orca, ..config.face.clone() }, ..config.clone() };
    let refused = Gateway::start(unknown, Events::nowhere()).map(drop).expect_err("no such backend").to_string();
    assert!(refused.contains("face.orca[0]: c=") && refused.contains("there is no such backend"), "{refused}");
    let events = Lines::default();
    let gateway = Gateway::start(config, Events::to(events.clone())).expect("a gateway");
    // One of them is busy with work that this gateway knows nothing of.
    let mut other = Client::new(nodes[0].address());
    other.send("GET /work?demand=1h HTTP/1.1\r\nhost: t\r\n\r\n");
    let mut client = Client::new(gateway.address());
    let mut row = 0;
    until("only the idle one is chosen", || {
        row = if client.get("/bytes/1").backend() == "b" { row + 1 } else { 0 };
        row == 40
    });
    // What was asked once, at the start, does not know that the other one is the busier now.
    let mut further = [(); 2].map(|()| Client::new(nodes[1].address()));
    further.iter_mut().for_each(|client| client.send("GET /work?demand=1h HTTP/1.1\r\nhost: t\r\n\r\n"));
    until("only the less busy one is chosen", || {
        row = if client.get("/bytes/1").backend() == "a" { row + 1 } else { 0 };
        row == 40
    });
    // A stream that ends is said.
    let [of_a, of_b] = daemons;
    of_a.stop();
    until("it is said", || events.text().contains("\"reports_silent\""));
    assert!(events.text().contains("\"backend\":\"a\""), "{}", events.text());
    of_b.stop();
}

/// A field of a later version is passed over; what is cut or changed does no harm.
#[test]
fn foreign_bytes_do_no_harm() {
    let later = [&EXAMPLE[..], &[0x50, 0x96, 0x01, 0x5d, 1, 2, 3, 4, 0x62, 2, b'x', b'y']].concat();
    assert_eq!(Load::from_protobuf(&later), Some(example()));
    let whole = [0, 9, 18, 34, 50];
    for length in 0..EXAMPLE.len() {
        assert_eq!(Load::from_protobuf(&EXAMPLE[..length]).is_some(), whole.contains(&length), "{length} bytes");
    }
    let mut draw = Stream::new(5, "foreign", "bytes");
    for _ in 0..20_000 {
        let mut bytes = EXAMPLE;
        (0..1 + draw.below(4)).for_each(|_| bytes[draw.below(EXAMPLE.len())] = draw.below(256) as u8);
        let _ = Load::from_protobuf(&bytes);
    }
}

/// A balancer subscribes to the stream of a daemon, and sees the server's load change.
#[test]
fn a_daemon_serves_a_stream() {
    let node = node("a", Discipline::Ps);
    let front = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let settings = daemon("a", front.local_addr().expect("an address"), &node);
    let loadd = Loadd::start(settings, Key::new(b"a secret of tests"), Events::nowhere()).expect("it starts");
    let address = loadd.orca_address().expect("it serves ORCA");
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build_local(tokio::runtime::LocalOptions::default()).expect("a runtime");
    let mut client = Client::new(node.address());
    let mut reports = Vec::new();
    runtime.block_on(async {
        let (done, mut is_done) = tokio::sync::mpsc::channel(1);
        let subscription = stream::subscribe(address, ms(20), |load| {
            if load.in_flight() == Some(0) && reports.is_empty() {
                client.send("GET /work?demand=1h HTTP/1.1\r\nhost: t\r\n\r\n");
            }
            if load.in_flight() == Some(1) {
                let _ = done.try_send(());
            }
            reports.push(load);
        });
        tokio::select! {
            ended = subscription => panic!("{ended:?}"),
            _ = is_done.recv() => {}
        }
    });
    let last = reports.last().expect("there was one");
    assert!(last.mem_utilization.is_some_and(|share| share > 0.0 && share < 1.0), "{last:?}");
    // What is no server of ORCA says so, or nothing.
    let refused = runtime.block_on(stream::subscribe(node.address(), ms(20), |_| {}));
    assert!(refused.is_err());
    until("it is stopped", || loadd.counts().looks > 0);
    loadd.stop();
    assert!(runtime.block_on(stream::subscribe(address, ms(20), |_| {})).is_err(), "nothing is left behind");
}
