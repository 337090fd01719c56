//! A load over several addresses of one host: each client keeps one, or each request takes the next.

use std::net::SocketAddr;

use sojourn_load::{Load, Method, Rotation, Schedule, Stop, Targets, Url, Version};
use sojourn_stats::Span;

use crate::clients::users;
use crate::run::{MS, open, run, saturate, steady, try_run};
use crate::server::{Server, ok};
use crate::web::{Speak, Web};

fn three() -> Vec<Server> {
    (0..3).map(|_| Server::start(|_| vec![ok("x")])).collect()
}

fn addresses(servers: &[Server]) -> Vec<SocketAddr> {
    servers.iter().map(|server| server.address).collect()
}

/// The clients that `server` heard of.
fn clients(server: &Server) -> Vec<u32> {
    let mark = "x-sojourn-client: ";
    let of = |head: &String| head.lines().find_map(|line| line.strip_prefix(mark)?.parse().ok()).unwrap();
    server.heads().iter().map(of).collect()
}

#[test]
fn a_client_of_a_plan_keeps_its_address() {
    for threads in [1, 2] {
        let servers = three();
        let load = Load { threads, ..open(servers[1].address, steady(60, Span(MS))) };
        let report = run(load.rotated(&addresses(&servers), Rotation::Client));
        assert_eq!(report.counts.ok, 60);
        for (number, server) in servers.iter().enumerate() {
            let clients = clients(server);
            assert!(!clients.is_empty() && clients.iter().all(|client| client % 3 == number as u32), "{clients:?}");
            assert!(server.heads().iter().all(|head| head.contains("\r\nhost: test\r\n")));
        }
        for record in report.records.unwrap() {
            assert_eq!(u32::from(record.endpoint), record.client % 3);
        }
    }
}

#[test]
fn a_user_has_one_connection_and_that_to_its_address() {
    let servers = three();
    let mut load = Load::new(servers[0].address, "test", users(7, Span(MS)), Targets::Work);
    (load.stop, load.keep_records, load.threads) = (Stop::Requests(70), true, 2);
    let report = run(load.rotated(&addresses(&servers), Rotation::Client));
    assert_eq!((report.counts.ok, report.connections.opened), (70, 7));
    for (number, server) in servers.iter().enumerate() {
        assert!(clients(server).iter().all(|client| client % 3 == number as u32));
    }
    // Clients that never think are told apart by their numbers.
    let servers = three();
    let report = run(saturate(servers[0].address, 6, 300).rotated(&addresses(&servers), Rotation::Client));
    assert_eq!((report.counts.ok, report.connections.opened), (300, 6));
    assert!(servers.iter().all(|server| server.connections() == 2));
}

#[test]
fn requests_take_turns_where_that_is_asked_for() {
    let servers = three();
    let report = run(open(servers[0].address, steady(31, Span(MS))).rotated(&addresses(&servers), Rotation::Request));
    assert_eq!(report.counts.ok, 31);
    assert!(report.records.unwrap().iter().all(|record| u64::from(record.endpoint) == record.k % 3));
    assert_eq!(servers.iter().map(|server| server.heads().len()).collect::<Vec<_>>(), [11, 10, 10]);
    let servers = three();
    let mut load = Load::new(servers[0].address, "test", users(2, Span(MS)), Targets::Work);
    load.stop = Stop::Requests(30);
    assert_eq!(run(load.rotated(&addresses(&servers), Rotation::Request)).counts.ok, 30);
    assert!(servers.iter().all(|server| server.heads().len() == 10));
}

#[test]
fn http_2_keeps_a_connection_for_each_address() {
    let servers: Vec<Web> = (0..2).map(|_| Web::start(Speak::Http2, None)).collect();
    let all: Vec<SocketAddr> = servers.iter().map(|server| server.address).collect();
    let load = Load { http: Version::Http2, streams: 4, ..open(all[0], steady(40, Span(MS))) };
    let report = run(Load { targets: Targets::Fixed("/9".into()), ..load }.rotated(&all, Rotation::Client));
    assert_eq!(report.counts.ok, 40);
    assert!(report.records.unwrap().iter().all(|record| u32::from(record.endpoint) == record.client % 2));
}

#[test]
fn a_name_keeps_its_name_at_every_address() {
    let servers = three();
    let url = Url::parse("http://www.example/a").unwrap();
    let schedule = Schedule::open(steady(9, Span(MS)));
    let load = Load { method: Method::Get, ..Load::to(&[url], schedule, Targets::Own) };
    let report = run(load.rotated(&addresses(&servers), Rotation::Client));
    assert_eq!(report.counts.ok, 9);
    for server in &servers {
        let heads = server.heads();
        assert!(!heads.is_empty() && heads.iter().all(|head| head.contains("\r\nhost: www.example\r\n")), "{heads:?}");
    }
    let none = open(servers[0].address, steady(1, Span(MS))).rotated(&[], Rotation::Client);
    assert!(try_run(none).unwrap_err().to_string().contains("at least one"));
}
