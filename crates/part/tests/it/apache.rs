//! A real Apache serves as it was told to.

use std::path::Path;

use sojourn_part::now;
use sojourn_part::program::{Kind, Program, Workers};

use crate::support::{Client, ms, site, start, until};

/// Zhang's Apache, which logs.
fn apache(site: &Path, workers: Workers) -> Program {
    Program { access_log: true, ..Program::new(Kind::ApachePrefork(workers), site) }
}

#[test]
fn it_serves_a_folder_and_closes_idle_connections() {
    let site = site();
    let keep_alive = ms(300);
    let server = Program { keep_alive, keep_alive_requests: 3, ..apache(site.path(), Workers::EXPERIMENT_II) };
    let Some(running) = start(&server) else { return };
    let mut client = Client::new(running.address());
    let reply = client.get("/");
    assert_eq!((reply.status, reply.text().as_str(), reply.header("content-type")), (200, "<p>", Some("text/html")));
    let asked = now();
    assert_eq!(client.get("/none.html").status, 404);
    assert!(client.reply(true).is_none(), "an idle connection is closed");
    assert!(now() - asked >= keep_alive, "and not before its time: {}", now() - asked);

    let mut client = Client::new(running.address());
    assert_eq!([(); 3].map(|()| client.get("/").header("connection") == Some("close")), [false; 3]);
    assert_eq!(client.get("/").header("connection"), Some("close"), "three after the first");
    until("each request is logged", || running.access_log().matches("GET / HTTP/1.1").count() == 5);
    assert!(running.error_log().contains("resuming normal operations"));
}

#[test]
fn without_keep_alive_a_connection_carries_one_request() {
    let site = site();
    let server = Program {
        keep_alive: ms(0),
        access_log: false,
        ..apache(site.path(), Workers { most: 3, start: 1, spare_min: 1, spare_max: 2 })
    };
    let Some(running) = start(&server) else { return };
    let mut client = Client::new(running.address());
    assert_eq!(client.get("/index.html").header("connection"), Some("close"));
    assert!(client.reply(true).is_none());
    assert_eq!(running.access_log(), "");
}

#[test]
fn a_connection_more_than_workers_waits() {
    let site = site();
    let workers = Workers { most: 2, start: 2, spare_min: 1, spare_max: 2 };
    let Some(running) = start(&apache(site.path(), workers)) else { return };
    let mut crowd = [Client::new(running.address()), Client::new(running.address())];
    for client in &mut crowd {
        assert_eq!(client.get("/").status, 200);
    }
    let mut waiting = Client::new(running.address());
    waiting.send("GET / HTTP/1.1\r\nhost: t\r\n\r\n");
    until("it says that it is full", || running.error_log().contains("server reached MaxRequestWorkers"));
    assert_eq!(running.access_log().matches("\"GET").count(), 2, "the third waits");
    drop(crowd);
    assert_eq!(waiting.reply(true).expect("its turn comes").status, 200);
}

#[test]
fn few_processes_become_more_as_connections_come() {
    let site = site();
    let workers = Workers { most: 6, start: 1, spare_min: 1, spare_max: 2 };
    let Some(running) = start(&apache(site.path(), workers)) else { return };
    let mut crowd: Vec<Client> = (0..4).map(|_| Client::new(running.address())).collect();
    for client in &mut crowd {
        assert_eq!(client.get("/").status, 200);
    }
    assert!(running.pids().len() > 4, "a process for each: {:?}", running.pids());
}
