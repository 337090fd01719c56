//! Hosts on the loopback interface.

use std::net::{IpAddr, TcpListener, TcpStream};

use sojourn_bed::{Ground, Loopback};

use crate::support::{PATIENCE, command};

#[test]
fn hosts_have_addresses_of_their_own() {
    let mut ground = Loopback::new();
    let hosts: Vec<_> = ["a", "b", "c"].iter().map(|name| ground.host(name).expect("a host")).collect();
    let addresses: Vec<IpAddr> = hosts.iter().map(|host| ground.address(*host)).collect();
    let texts: Vec<String> = addresses.iter().map(IpAddr::to_string).collect();
    assert_eq!(texts, ["127.0.0.1", "127.0.0.2", "127.0.0.3"]);
    // Several may listen on one port, and each is reached at its own address.
    let first = TcpListener::bind((addresses[0], 0)).expect("a free port");
    let port = first.local_addr().expect("an address").port();
    if let Ok(second) = TcpListener::bind((addresses[1], port)) {
        let _client = TcpStream::connect((addresses[1], port)).expect("it listens");
        let (_, from) = second.accept().expect("the client");
        assert!(from.ip().is_loopback());
    }
    // 256 hosts need a further byte of the address.
    for index in 3..300 {
        ground.host(&format!("h{index}")).expect("a host");
    }
    let last = ground.host("last").expect("a host");
    assert_eq!(ground.address(last).to_string(), "127.0.1.45");
}

#[test]
fn a_host_is_named_once() {
    let mut ground = Loopback::new();
    ground.host("web").expect("a host");
    let error = ground.host("web").expect_err("it is named twice").to_string();
    assert!(error.contains("web") && error.contains("name of its own"), "{error}");
}

#[test]
fn children_run_on_hosts() {
    // What uses a ground need not know which one.
    let mut ground: Box<dyn Ground> = Box::new(Loopback::new());
    let host = ground.host("web").expect("a host");
    let child = ground.spawn(host, command("child::as_child"), PATIENCE).expect("a child");
    assert!(TcpStream::connect((ground.address(host), child.port())).is_ok());
    assert_eq!(child.stop().last().expect("events")["event"], "stopped");
}
