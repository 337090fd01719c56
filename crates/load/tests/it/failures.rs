//! Everything that can go wrong is counted by its cause, and nothing else is.

use std::net::SocketAddr;
use std::time::Duration;

use socket2::{Domain, Socket, Type};
use sojourn_load::{Counts, Load, LoadError, Outcome, Proof, Stop, Targets, Template, Version};
use sojourn_stats::Span;

use crate::run::{MS, open, run, saturate, steady, try_run};
use crate::server::{Act, Server, ok, reply};

/// The counts of ten requests, one after the other, of which those with an odd number are met with `act`.
fn half(act: fn() -> Vec<Act>) -> Counts {
    half_by(1, act)
}

/// The same by so many users.
fn half_by(users: u32, act: fn() -> Vec<Act>) -> Counts {
    let server = Server::start(move |asked| if asked.number % 2 == 1 { act() } else { vec![ok("x")] });
    // Longer than a busy machine holds up a thread.
    let mut load = saturate(server.address, users, 10);
    load.timeout = Span(3_000 * MS);
    let report = run(load);
    assert_eq!(report.response.count(), report.counts.ok, "failures are not in the sample");
    let Proof::Suspect(doubts) = &report.verdict else { panic!("{:?}", report.verdict) };
    assert!(doubts.iter().any(|doubt| doubt.text.contains("requests failed")), "{doubts:?}");
    assert_eq!(report.counts.ok, 5);
    report.counts
}

#[test]
fn statuses() {
    assert_eq!(half(|| vec![reply("404 Not Found", "", "no")]).client_error, 5);
    assert_eq!(half(|| vec![reply("503 Busy", "", "no")]).server_error, 5);
}

#[test]
fn timeouts() {
    // All at once, so that what hangs is waited for once.
    assert_eq!(half_by(10, || vec![Act::Hang]).timeout, 5);
    // Half a reply is none.
    assert_eq!(
        half_by(10, || vec![Act::Send(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhe".to_vec()), Act::Hang]).timeout,
        5
    );
}

#[test]
fn early_ends() {
    let cut = || vec![Act::Send(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhe".to_vec()), Act::Close];
    assert_eq!(half(cut).closed_early, 5);
    let cut_chunk =
        || vec![Act::Send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhe".to_vec()), Act::Close];
    assert_eq!(half(cut_chunk).closed_early, 5);
}

#[test]
fn garbage() {
    assert_eq!(half(|| vec![Act::Send(b"220 smtp.example.org ESMTP\r\n".to_vec())]).protocol, 5);
    // More than the reply said: where the next one begins cannot be known.
    assert_eq!(half(|| vec![Act::Send(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nxyz".to_vec())]).protocol, 5);
}

#[test]
fn bytes_that_nobody_asked_for_are_counted() {
    // More than the reply said, when the reply is over: its connection is of no use for the next one.
    // Long after it, and long before the next: read together they would be a reply of the wrong length.
    let more = || vec![ok("x"), Act::Stall(Duration::from_millis(500)), Act::Send(b"more".to_vec())];
    let server = Server::start(move |_| more());
    let report = run(open(server.address, steady(3, Span(2_000 * MS))));
    assert_eq!((report.counts.ok, report.connections.opened), (3, 3));
    // The last one may come after the end of the run.
    assert!((2..=3).contains(&report.connections.unasked), "{:?}", report.connections);
}

#[test]
fn resets() {
    // On a fresh connection each, so that it cannot be taken for a stale one.
    let server = Server::start(|_| vec![Act::Reset]);
    let counts = run(saturate(server.address, 1, 5)).counts;
    assert_eq!((counts.reset, counts.retried), (5, 0));
}

#[test]
fn a_stale_connection_is_replaced_once_and_counted() {
    // The server closes after each reply without saying so: the request that finds out goes out once more.
    let server = Server::start(|asked| match asked.on_connection {
        0 => vec![ok("x")],
        _ => vec![Act::Close],
    });
    let counts = run(saturate(server.address, 1, 10)).counts;
    assert_eq!((counts.ok, counts.failed(), counts.retried), (10, 0, 9));
    // Only once: where the fresh connection is closed as well, the request has failed.
    let server = Server::start(|asked| if asked.number == 0 { vec![ok("x")] } else { vec![Act::Close] });
    let counts = run(saturate(server.address, 1, 3)).counts;
    assert_eq!((counts.ok, counts.closed_early, counts.retried), (1, 2, 1));
}

#[test]
fn a_reset_kept_alive_connection_is_stale_too() {
    let server = Server::start(|asked| match asked.on_connection {
        0 => vec![ok("x")],
        _ => vec![Act::Reset],
    });
    let counts = run(saturate(server.address, 1, 10)).counts;
    assert_eq!((counts.ok, counts.failed(), counts.retried), (10, 0, 9));
}

#[test]
fn a_connection_closed_while_idle_is_replaced_unseen() {
    let server = Server::start(|_| vec![ok("x"), Act::Close]);
    let counts = run(open(server.address, steady(10, Span(10 * MS)))).counts;
    assert_eq!((counts.ok, counts.failed()), (10, 0));
    assert_eq!(server.connections(), 10);
}

#[test]
fn a_server_that_goes_away_refuses_what_comes_then() {
    let (_held, address) = hold_port();
    let listener = shared_socket(address);
    listener.listen(16).unwrap();
    // Takes the first connection, which only looks whether a server is there, and is gone.
    let gone = std::thread::spawn(move || drop(listener.accept()));
    let report = run(open(address, steady(50, Span(4 * MS))));
    gone.join().unwrap();
    assert_eq!(report.counts.ok, 0);
    assert!(report.counts.refused > 0, "{:?}", report.counts);
    assert_eq!(report.counts.refused + report.counts.reset + report.counts.closed_early, 50);
    assert!(report.records.unwrap().iter().any(|record| record.outcome == Outcome::Refused && record.sent.is_none()));
}

/// A port on which nothing listens and which no other test can be given meanwhile.
pub(crate) fn hold_port() -> (Socket, SocketAddr) {
    let held = shared_socket("127.0.0.1:0".parse().unwrap());
    let address = held.local_addr().unwrap().as_socket().unwrap();
    (held, address)
}

pub(crate) fn shared_socket(address: SocketAddr) -> Socket {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_reuse_port(true).unwrap();
    socket.bind(&address.into()).unwrap();
    socket
}

#[test]
fn nobody_there_is_said_before_the_run() {
    let (_held, address) = hold_port();
    let error = try_run(saturate(address, 1, 1)).expect_err("nothing listens");
    assert!(matches!(error, LoadError::Refused { .. }), "{error}");
    assert!(error.to_string().contains(&address.to_string()), "{error}");
}

#[test]
fn nobody_answering_is_said_before_the_run() {
    // A full backlog drops what comes next, as a host that is down does.
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&"127.0.0.1:0".parse::<SocketAddr>().unwrap().into()).unwrap();
    socket.listen(0).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    let fillers: Vec<Socket> = (0..4)
        .map(|_| {
            let filler = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
            filler.set_nonblocking(true).unwrap();
            let _ = filler.connect(&address.into());
            filler
        })
        .collect();
    let mut load = saturate(address, 1, 1);
    load.timeout = Span::from(Duration::from_millis(200));
    let error = try_run(load).expect_err("nothing answers");
    assert!(matches!(error, LoadError::NoAnswer { .. }), "{error}");
    drop(fillers);
}

#[test]
fn an_object_without_a_path_is_counted_here() {
    let server = Server::start(|_| vec![ok("x")]);
    let mut plan: Vec<_> = steady(4, Span(MS)).collect();
    plan[2].request.object = 9;
    let mut load = open(server.address, plan.into_iter());
    load.targets = Targets::Paths(vec!["/only".into()]);
    let counts = run(load).counts;
    assert_eq!((counts.ok, counts.local), (3, 1));
}

#[test]
fn impossible_settings_are_one_clear_line() {
    let server = Server::start(|_| vec![ok("x")]);
    let load = || saturate(server.address, 4, 10);
    type Spoil = fn(&mut Load);
    let spoiled: [(&str, Spoil); 14] = [
        ("threads", |load| load.threads = 0),
        ("at least one per thread", |load| load.threads = 5),
        ("timeout", |load| load.timeout = Span::ZERO),
        ("requests", |load| load.stop = Stop::Requests(0)),
        ("warm-up", |load| (load.stop, load.warm_up) = (Stop::After(Span(MS)), Span(MS))),
        ("path `x`", |load| load.targets = Targets::Fixed("x".into())),
        ("list of paths is empty", |load| load.targets = Targets::Paths(Vec::new())),
        ("host ``", |load| load.endpoints[0].authority.clear()),
        ("at least one", |load| load.endpoints.clear()),
        ("local address 192.0.2.1", |load| load.local = vec!["192.0.2.1".parse().unwrap()]),
        ("streams = 0", |load| (load.http, load.streams) = (Version::Http2, 0)),
        ("`{` without `}`", |load| load.headers.push(("x".into(), "{".into()))),
        ("weight of 0", |load| load.targets = Targets::Weighted(vec![(0.0, Template::parse("/").unwrap())])),
        ("header `a b`", |load| load.headers.push(("a b".into(), "c".into()))),
    ];
    for (what, spoil) in spoiled {
        let mut load = load();
        spoil(&mut load);
        let error = try_run(load).expect_err(what);
        assert!(matches!(error, LoadError::Invalid(_)), "{what}: {error}");
        let text = error.to_string();
        assert!(text.contains(what) && !text.contains('\n'), "{what}: {text}");
    }
    assert!(server.heads().is_empty(), "nothing was sent");
}
