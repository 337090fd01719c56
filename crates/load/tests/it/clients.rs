//! Closed users, saturation, cookies and cancellation.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sojourn_load::{Load, Method, Proof, Schedule, Stop, Targets};
use sojourn_stats::Span;
use sojourn_traffic::Step;

use crate::run::{MS, open, request, run, saturate, steady};
use crate::server::{Act, Server, ok, reply};

/// So many users who think for so long before each request.
pub(crate) fn users(count: u32, think: Span) -> Schedule {
    let script = |client| Box::new(move || Step { think, request: request(client) }) as Box<dyn FnMut() -> Step + Send>;
    Schedule::Users((0..count).map(script).collect())
}

#[test]
fn a_user_thinks_asks_and_waits_on_its_own_connection() {
    let server = Server::start(|_| vec![ok("x")]);
    let mut load = Load::new(server.address, "test", users(3, Span(5 * MS)), Targets::Work);
    load.threads = 2;
    load.stop = Stop::Requests(30);
    load.keep_records = true;
    let report = run(load);
    assert_eq!(report.counts.ok, 30);
    assert_eq!(server.connections(), 3);
    let records = report.records.unwrap();
    for client in 0..3 {
        let mut last_done = None;
        let mut own: Vec<_> = records.iter().filter(|record| record.client == client).collect();
        own.sort_by_key(|record| record.planned);
        assert!(!own.is_empty());
        for record in own {
            // The think time counts from the last reply, to the nanosecond.
            if let Some(done) = last_done {
                assert_eq!(record.planned, done + Span(5 * MS));
            }
            last_done = Some(record.done);
        }
    }
}

#[test]
fn users_stop_asking_at_the_end() {
    let server = Server::start(|_| vec![ok("x")]);
    let mut load = Load::new(server.address, "test", users(4, Span(MS)), Targets::Work);
    load.stop = Stop::After(Span(60 * MS));
    load.keep_records = true;
    let report = run(load);
    assert!(report.counts.ok > 0 && report.counts.unfinished == 0, "{:?}", report.counts);
    assert!(report.records.unwrap().iter().all(|record| record.planned.0 < 60 * MS));
}

#[test]
fn saturation_keeps_every_connection_busy() {
    let server = Server::start(|_| vec![ok("x")]);
    for threads in [1, 2] {
        let before = server.connections();
        let mut load = saturate(server.address, 4, 1001);
        load.threads = threads;
        let report = run(load);
        assert_eq!((report.counts.ok, report.counts.retried), (1001, 0));
        assert_eq!(server.connections() - before, 4);
        assert_eq!(report.bytes, 1001);
    }
    assert_eq!(server.heads()[0], "GET / HTTP/1.1\r\nhost: test\r\n\r\n");
}

#[test]
fn large_replies_are_read_to_their_end() {
    let body = "x".repeat(1_000_000);
    let server = Server::start(move |_| vec![ok(&body)]);
    let report = run(saturate(server.address, 2, 10));
    assert_eq!((report.counts.ok, report.bytes), (10, 10_000_000));
}

#[test]
fn chunked_and_close_delimited_replies_come_over_the_wire() {
    let server = Server::start(|asked| match asked.number % 2 {
        0 => vec![Act::Send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n".to_vec())],
        _ => vec![Act::Send(b"HTTP/1.1 200 OK\r\n\r\nabcd".to_vec()), Act::Close],
    });
    let report = run(saturate(server.address, 1, 10));
    assert_eq!((report.counts.ok, report.bytes), (10, 5 * 3 + 5 * 4));
}

#[test]
fn replies_to_head_have_no_body() {
    let server = Server::start(|_| vec![Act::Send(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n".to_vec())]);
    let mut load = saturate(server.address, 1, 5);
    load.method = Method::Head;
    assert_eq!(run(load).counts.ok, 5);
    assert_eq!(server.connections(), 1);
    assert!(server.heads()[0].starts_with("HEAD / "));
}

#[test]
fn a_cookie_is_its_client_s_on_any_number_of_threads() {
    let server = Server::start(|asked| {
        let client = asked.head.split("x-sojourn-client: ").nth(1).unwrap().split("\r\n").next().unwrap();
        vec![reply("200 OK", &format!("set-cookie: other=1\r\nset-cookie: SOJOURN=of-{client}; Path=/\r\n"), "x")]
    });
    let mut load = open(server.address, steady(50, Span(MS)));
    load.cookies = true;
    load.threads = 2;
    // One connection per thread: a client's next request goes out when the reply to its last is there.
    load.connections_max = 2;
    assert_eq!(run(load).counts.ok, 50);
    let heads = server.heads();
    let with = heads.iter().filter(|head| head.contains("cookie: SOJOURN=")).count();
    assert_eq!(with, 45, "all but each client's first");
    for head in heads {
        for client in 0..5 {
            if head.contains(&format!("cookie: SOJOURN=of-{client}")) {
                assert!(head.contains(&format!("x-sojourn-client: {client}\r\n")), "{head}");
            }
        }
    }
}

#[test]
fn cancelling_keeps_what_was_measured() {
    let server = Server::start(|_| vec![ok("x")]);
    let cancel = Arc::new(AtomicBool::new(false));
    let mut load = Load::new(server.address, "test", Schedule::saturate(2), Targets::Fixed("/".into()));
    load.stop = Stop::After(Span(600_000 * MS));
    let report = sojourn_load::run(load, &cancel, &|progress| {
        if progress.ok > 0 {
            cancel.store(true, Ordering::Relaxed);
        }
    })
    .unwrap();
    assert!(report.counts.ok > 0);
    assert!(matches!(report.verdict, Proof::Incomplete(_)), "{:?}", report.verdict);
    assert!(report.response.count() > 0 && !report.response_time_cdf.is_empty());
}
