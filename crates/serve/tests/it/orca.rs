//! Load in the forms of ORCA: text, protocol buffers, and the stream of gRPC that a load daemon serves.

use std::net::UdpSocket;

use sojourn_model::Discipline;
use sojourn_serve::loadd::{Loadd, LoaddConfig, Sources, Times};
use sojourn_serve::orca::{Load, stream};
use sojourn_serve::report::Key;
use sojourn_serve::{Events, ProbeRules, orca};
use sojourn_stats::Stream;

use crate::support::{Client, ms, node, until};

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
    assert_eq!(orca::Load::parse("JSON {}"), None);
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
    let config = LoaddConfig {
        name: "a".into(),
        receivers: vec![front.local_addr().expect("an address")],
        key: Key::new(b"a secret of tests"),
        sources: Sources {
            ask: Some(format!("http://{}/load", node.address()).parse().expect("a URL")),
            ..Sources::default()
        },
        times: Times { every: ms(20), watch: ms(20), ..Times::default() },
        probes: ProbeRules::default(),
        orca: Some(([127, 0, 0, 1], 0).into()),
    };
    let loadd = Loadd::start(config, Events::nowhere()).expect("it starts");
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
