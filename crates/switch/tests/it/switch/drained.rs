//! Draining: a server ends the connections that it has and gets no new ones, from the start of a switch or told while it runs.

use std::os::unix::net::UnixStream;

use super::*;
use crate::support::inside;

#[test]
fn a_drained_server_keeps_what_it_has_and_gets_nothing_new() {
    inside("switch::drained::as_drained", &[]);
}

#[test]
#[ignore = "runs inside namespaces, for the test above"]
fn as_drained() {
    let cluster = Cluster::new();
    let _halves = cluster.halves(Mode::Mac);
    let echoes = cluster.servers().map(|(host, name)| Some(cluster.echo(host, name)));
    let [mut first, _second] = echoes;
    let socket = Path::new("/run/switch.sock");
    let mut config = SwitchSettings { control: Some(socket.into()), keep: true, ..config("least-connections") };
    config.health.every = ms(20);
    let switch = cluster.switch(config.clone()).expect("a switch");
    let ask = |line: &str| {
        let mut stream = UnixStream::connect(socket).expect("it listens");
        writeln!(stream, "{line}").unwrap();
        let mut said = String::new();
        BufReader::new(stream).read_line(&mut said).expect("it answers");
        serde_json::from_str::<Value>(&said).expect("JSON")
    };
    let counts = || switch.with(Switch::counts);
    let of = |held: &[Caller]| held.iter().map(|caller| caller.server.clone()).collect::<Vec<_>>();

    let mut held: Vec<Caller> = (0..4).map(|_| cluster.call()).collect();
    assert_eq!(held.iter().filter(|caller| caller.server == "web-1").count(), 2);
    let said = ask(r#"{"ask": "drain", "server": "web-9"}"#);
    assert_eq!(said["refused"], "server web-9: there is no such backend; they are web-1, web-2");
    assert!(ask("drain")["refused"].is_string());
    assert_eq!(ask(r#"{"ask": "drain", "server": "web-1"}"#)["done"], true);
    let drained: Vec<Caller> = (0..4).map(|_| cluster.call()).collect();
    assert_eq!(of(&drained), ["web-2"; 4], "although it has more than the other one");
    held.iter_mut().for_each(Caller::exchange);
    let told = ask(r#"{"ask": "counts"}"#);
    assert_eq!((&told["backends"][0]["open"], &told["backends"][0]["up"]), (&2.into(), &false.into()), "{told}");
    assert_eq!((&told["backends"][1]["open"], &told["backends"][1]["up"]), (&6.into(), &true.into()), "{told}");

    // One that was down meanwhile is still drained.
    drop(first.take());
    until("it is down", || cluster.elements("down") == 1);
    first = Some(cluster.echo(cluster.web_1, "web-1"));
    until("it is back", || cluster.elements("down") == 0);
    assert_eq!(cluster.call().server, "web-2");
    held.iter_mut().for_each(Caller::exchange);

    assert_eq!(ask(r#"{"ask": "undrain", "server": "web-1"}"#)["done"], true);
    until("it is up", || counts().backends[0].up);
    let further: Vec<Caller> = (0..2).map(|_| cluster.call()).collect();
    assert_eq!(of(&further), ["web-1"; 2], "it has fewer");
    held.extend(further);
    held.extend(drained);
    held.iter_mut().for_each(Caller::exchange);
    drop(switch);
    assert!(!socket.exists());

    // A switch that begins so goes on with what the drained server has.
    let switch =
        cluster.switch(SwitchSettings { drain: vec!["web-1".into()], keep: false, ..config }).expect("a switch");
    assert_eq!(switch.with(Switch::inherited), held.len());
    held.iter_mut().for_each(Caller::exchange);
    let further: Vec<Caller> = (0..3).map(|_| cluster.call()).collect();
    assert_eq!(of(&further), ["web-2"; 3]);
    assert_eq!(switch.take(Switch::stop).backends[0].open, 4);
    drop(first);
}
