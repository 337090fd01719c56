//! Open schedules: one plan whatever carries it, and response times that count from it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use sojourn_load::{Outcome, Pacing, Proof, Stop, Targets};
use sojourn_stats::{Span, Time};
use sojourn_traffic::Planned;

use crate::run::{MS, open, request, run, steady};
use crate::server::{Act, Asked, Server, ok, reply};

#[test]
fn the_plan_does_not_depend_on_the_threads() {
    let server = Server::start(|_| vec![ok("x")]);
    for threads in [1, 2, 3] {
        for pacing in [Pacing::Timer, Pacing::Spin] {
            let mut load = open(server.address, steady(60, Span(MS)));
            load.threads = threads;
            load.pacing = pacing;
            let report = run(load);
            assert_eq!(report.counts.ok, 60);
            let records = report.records.unwrap();
            for (record, planned) in records.iter().zip(steady(60, Span(MS))) {
                assert_eq!((record.planned, record.client), (planned.at, planned.request.client));
            }
            assert_eq!(records.iter().map(|record| record.k).collect::<Vec<_>>(), (0..60).collect::<Vec<_>>());
            assert_eq!((report.pacing, report.threads), (pacing, threads));
        }
    }
}

#[test]
fn a_stalled_server_is_seen_by_all_who_wait_behind_it() {
    // One stall of 300 ms while a request is planned each 2 ms on one connection: the one that is stalled and the
    // 149 planned behind it wait 300, 298, 296... ms. A client that counts from sending would see one of 300 ms.
    let server = Server::start(|asked| match asked.number {
        20 => vec![Act::Stall(Duration::from_millis(300)), ok("x")],
        _ => vec![ok("x")],
    });
    let mut load = open(server.address, steady(200, Span(2 * MS)));
    load.connections_max = 1;
    let report = run(load);
    assert_eq!(report.counts.ok, 200);
    let records = report.records.as_ref().unwrap();
    for waited in 0..140 {
        let record = &records[20 + waited];
        let response = record.done - record.planned;
        assert!(response.0 >= (300 - 2 * waited as u64) * MS, "request {}: {response}", record.k);
    }
    let p90_ns = report.response.quantile(0.9).unwrap();
    assert!(p90_ns > 200 * MS, "p90 {p90_ns} ns");
    // The service times of all but the stalled one know nothing of it, and the report says that requests queued.
    assert!(report.counts.queued > 100, "{:?}", report.counts);
    let Proof::Suspect(doubts) = &report.verdict else { panic!("{:?}", report.verdict) };
    assert!(doubts.iter().any(|doubt| doubt.text.contains("had to wait for one of the 1 connections")), "{doubts:?}");
}

#[test]
fn a_free_connection_is_used_again_and_a_missing_one_opened() {
    let server = Server::start(|_| vec![ok("x")]);
    // Far apart: each reply is there before the next request.
    assert_eq!(run(open(server.address, steady(20, Span(100 * MS)))).counts.ok, 20);
    let far_apart = server.connections();
    assert!(far_apart < 20, "{far_apart} connections for 20 requests far apart");
    // All at once: each needs its own.
    let report = run(open(server.address, steady(20, Span::ZERO)));
    assert_eq!((report.counts.ok, report.counts.queued), (20, 0));
    assert_eq!(server.connections() - far_apart, 20);
}

#[test]
fn what_is_due_first_finds_its_connections_open() {
    let server = Server::start(|_| vec![ok("x")]);
    for (ahead, opened_by_requests) in [(Span(1_000 * MS), 0), (Span::ZERO, 20)] {
        // All at once: each needs its own.
        let at_once = steady(20, Span::ZERO).map(|planned| Planned { at: Time(1_000 * MS), ..planned });
        let mut load = open(server.address, at_once);
        load.open_ahead = ahead;
        let report = run(load);
        assert_eq!((report.counts.ok, report.connections.opened), (20, 20));
        assert_eq!(report.connections.reused, 20 - opened_by_requests);
        let connected = report.records.iter().flatten().filter(|record| record.connected.is_some()).count() as u64;
        assert_eq!(connected, opened_by_requests, "opened ahead: {ahead}");
    }
    // Never more than are allowed, and none for what is due later.
    let mut load = open(server.address, steady(20, Span(MS)));
    (load.connections_max, load.open_ahead) = (3, Span(5 * MS));
    let report = run(load);
    assert_eq!((report.counts.ok, report.connections.opened), (20, 3));
}

#[test]
fn a_connection_that_is_closed_before_it_was_used_is_no_request_s_failure() {
    let server = Server::start(|_| vec![ok("x")]);
    let behind = server.address;
    // In front of it one that closes the first 21 connections at once: the look before the start, and what is opened ahead.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let front = std::thread::spawn(move || {
        for number in 0..41 {
            let (mut client, _) = listener.accept().unwrap();
            if number < 21 {
                continue;
            }
            let mut request = [0; 1024];
            let length = client.read(&mut request).unwrap();
            let mut server = TcpStream::connect(behind).unwrap();
            server.write_all(&request[..length]).unwrap();
            let mut reply = [0; 1024];
            let length = server.read(&mut reply).unwrap();
            client.write_all(&reply[..length]).unwrap();
        }
    });
    let mut load = open(address, steady(20, Span(20 * MS)));
    load.open_ahead = Span(400 * MS);
    let report = run(load);
    assert_eq!((report.counts.ok, report.counts.failed()), (20, 0));
    assert_eq!(report.connections.opened, 40);
    front.join().unwrap();
}

#[test]
fn a_reply_that_closes_is_followed_by_a_new_connection() {
    let server = Server::start(|_| vec![reply("200 OK", "connection: close\r\n", "x"), Act::Close]);
    let report = run(open(server.address, steady(20, Span(MS))));
    assert_eq!((report.counts.ok, report.counts.retried), (20, 0));
    assert_eq!(server.connections(), 20);
}

#[test]
fn what_is_planned_in_the_warm_up_is_sent_and_left_out() {
    let server = Server::start(|asked| {
        vec![if asked.number < 3 {
            reply("500 Warming", "", "")
        } else {
            reply("200 OK", "x-sojourn-backend: b\r\n", "")
        }]
    });
    let mut load = open(server.address, steady(40, Span(5 * MS)));
    load.warm_up = Span(100 * MS);
    // One after the other, so that the server's first three are the plan's.
    load.connections_max = 1;
    let report = run(load);
    assert_eq!((report.counts.planned, report.counts.server_error), (40, 3));
    assert_eq!((report.measured.planned, report.measured.ok, report.measured.failed()), (20, 20, 0));
    assert_eq!(report.backends, [("b".to_owned(), 20)]);
    assert_eq!((report.response.count(), report.service.count()), (20, 20));
    assert_eq!(report.value("error_ratio"), Some(0.0));
}

#[test]
fn the_plan_is_cut_at_the_duration_or_the_count() {
    let server = Server::start(|_| vec![ok("x")]);
    let mut load = open(server.address, steady(1000, Span(MS)));
    load.stop = Stop::After(Span(50 * MS));
    assert_eq!(run(load).counts.planned, 50);
    let mut load = open(server.address, steady(1000, Span(MS)));
    load.stop = Stop::Requests(30);
    assert_eq!(run(load).counts.planned, 30);
}

#[test]
fn what_does_not_end_in_the_grace_period_is_unfinished() {
    let server = Server::start(|asked| if asked.number == 4 { vec![Act::Hang] } else { vec![ok("x")] });
    let mut load = open(server.address, steady(10, Span(MS)));
    load.grace = Span(500 * MS);
    let report = run(load);
    assert_eq!((report.counts.ok, report.counts.unfinished), (9, 1));
    assert!(matches!(report.verdict, Proof::Suspect(_)), "{:?}", report.verdict);
}

#[test]
fn impatient_clients_go_away_whether_served_or_waiting() {
    // One connection whose first request hangs: the first client gives up after 30 ms and closes it, the next two
    // gave up while waiting for it, the last one has the patience.
    let first = |asked: &Asked| asked.head.contains("client: 0\r\n");
    let server = Server::start(move |asked| if first(asked) { vec![Act::Hang] } else { vec![ok("x")] });
    let patience = [30, 10, 10, 10_000];
    let plan: Vec<_> = (0..4)
        .map(|k: u64| {
            let mut planned = Planned { at: Time(k * MS), request: request(k as u32) };
            planned.request.patience = Span(patience[k as usize] * MS);
            planned
        })
        .collect();
    let mut load = open(server.address, plan.into_iter());
    load.connections_max = 1;
    let report = run(load);
    assert_eq!((report.counts.abandoned, report.counts.ok), (3, 1));
    let records = report.records.unwrap();
    for (record, patience) in records.iter().zip(patience).take(3) {
        assert_eq!(record.outcome, Outcome::Abandoned);
        assert!((record.done - record.planned).0 >= patience * MS);
    }
    assert!(records[1].sent.is_none() && records[2].sent.is_none(), "who waits for a connection sends nothing");
}

/// Of a plan of which all hang in the warm-up and every fourth after it, a quarter gives up: nothing of the warm-up counts, and
/// what leaves after the last request was planned does.
#[test]
fn the_share_that_gives_up_is_of_all_that_came_after_the_warm_up() {
    let hangs = |k: u64| k < 20 || k % 4 == 3;
    let hanging: Vec<String> = (0..60).filter(|k| hangs(*k)).map(|k| format!("client: {k}\r\n")).collect();
    let is_hung = move |asked: &Asked| hanging.iter().any(|client| asked.head.contains(client.as_str()));
    let server = Server::start(move |asked| if is_hung(asked) { vec![Act::Hang] } else { vec![ok("x")] });
    let plan = (0..60).map(move |k: u64| {
        let mut planned = Planned { at: Time(5 * k * MS), request: request(k as u32) };
        planned.request.patience = Span(if hangs(k) { 150 * MS } else { 10_000 * MS });
        planned
    });
    let mut load = open(server.address, plan);
    load.warm_up = Span(100 * MS);
    load.stop = Stop::After(Span(300 * MS));
    let report = run(load);
    assert_eq!((report.counts.abandoned, report.counts.ok), (20 + 10, 30));
    assert_eq!((report.measured.planned, report.measured.abandoned), (40, 10));
    assert_eq!((report.value("abandoned_ratio"), report.value("error_ratio")), (Some(0.25), Some(0.0)));
    let last = report.records.as_ref().unwrap().last().unwrap();
    assert!(last.outcome == Outcome::Abandoned && last.done > Time(300 * MS), "{last:?}");
}

#[test]
fn requests_carry_what_the_plan_says() {
    let server = Server::start(|_| vec![ok("x")]);
    let mut load = open(server.address, steady(3, Span(MS)));
    load.connections_max = 1;
    load.headers.push(("Accept".into(), "text/html".into()));
    run(load);
    assert_eq!(
        server.heads()[1],
        "GET /work/0?bytes=100 HTTP/1.1\r\nhost: test\r\nAccept: text/html\r\nx-sojourn-client: 1\r\n\
         x-sojourn-demand: 7\r\n\r\n"
    );
    let mut load = open(server.address, steady(1, Span(MS)));
    load.targets = Targets::Paths(vec!["/file500.html".into()]);
    run(load);
    let head = &server.heads()[3];
    assert!(head.starts_with("GET /file500.html HTTP/1.1\r\n"), "{head}");
    assert!(!head.contains("x-sojourn-demand"), "only emulated work is told how much to do: {head}");
}

#[test]
fn backends_are_counted_across_threads() {
    let server = Server::start(|asked| {
        let backend = if asked.head.contains("client: 0\r\n") { "b" } else { "a" };
        vec![reply("200 OK", &format!("x-sojourn-backend: {backend}\r\n"), "x")]
    });
    let mut load = open(server.address, steady(50, Span(MS)));
    load.threads = 3;
    let report = run(load);
    assert_eq!(report.backends, [("a".to_owned(), 40), ("b".to_owned(), 10)]);
    for record in report.records.unwrap() {
        assert_eq!(record.backend, Some(u16::from(record.client == 0)));
    }
}
