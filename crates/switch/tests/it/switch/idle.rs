//! Connections that are idle are forgotten, and what they counted for is free again.

use std::io::ErrorKind;

use super::*;
use crate::support::inside;

#[test]
fn an_idle_connection_is_forgotten_and_a_busy_one_is_not() {
    inside("switch::idle::as_idle", &[]);
}

#[test]
#[ignore = "runs inside namespaces, for the test above"]
fn as_idle() {
    let cluster = Cluster::new();
    let _halves = cluster.halves(Mode::Mac);
    let _echoes = cluster.servers().map(|(host, name)| cluster.echo(host, name));
    let mut config = config("least-connections");
    config.idle = ms(2_000);
    let switch = cluster.switch(config).expect("a switch");
    let counts = || switch.with(Switch::counts);
    let open = || counts().backends.iter().map(|server| server.open).collect::<Vec<_>>();
    let begun = now();
    let (mut idle, mut busy) = (cluster.call(), cluster.call());
    assert_eq!((idle.server.as_str(), busy.server.as_str(), open()), ("web-1", "web-2", vec![1, 1]));
    until("one is forgotten", || {
        busy.exchange();
        counts().forgotten == 1
    });
    assert!(now() - begun >= ms(2_000), "{}", now() - begun);
    assert_eq!(open(), [0, 1]);
    busy.exchange();
    // What it says now is of no connection.
    idle.stream.get_mut().write_all(b"too late").expect("it is buffered");
    until("it is dropped", || counts().strays > 0);
    idle.stream.get_ref().set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let heard = idle.stream.read(&mut [0; 8]).expect_err("nothing comes back").kind();
    assert!(matches!(heard, ErrorKind::WouldBlock | ErrorKind::TimedOut), "{heard:?}");
    assert_eq!(cluster.call().server, "web-1", "it has fewer");
    busy.exchange();
    let counts = switch.take(Switch::stop);
    assert_eq!((counts.connections, counts.forgotten, counts.refused), (3, 1, 0), "{counts:?}");
}
