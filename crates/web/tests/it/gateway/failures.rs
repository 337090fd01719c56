//! What fails, and that every path out of a failure leaves the books balanced: each attempt ends once, nothing stays
//! in flight, and the dispatcher's own table agrees.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use sojourn_bed::Events;
use sojourn_dispatch::{Ask, Catalogue, Decision, FrontSettings, Policy, Signals};
use sojourn_model::Discipline;
use sojourn_part::Probe;
use sojourn_part::settings::Checks;
use sojourn_part::settings::gateway::{GatewaySettings, Timeouts};
use sojourn_stats::Stream;
use sojourn_web::{Gateway, GatewayCounts};

use crate::support::{
    Client, Got, Lines, Origin, Reply, address_of, backends, gateway, get, ms, node, ok, retrying, silent_port, until,
};

fn config(addresses: &[std::net::SocketAddr]) -> GatewaySettings {
    let health = Checks { probe: Probe::Off, every: ms(5), timeout: ms(1000) };
    GatewaySettings { health, ..GatewaySettings::new("round-robin", backends(addresses)) }
}

/// Stops the gateway and checks its books.
#[track_caller]
fn settle(gateway: Gateway) -> GatewayCounts {
    until("nothing is in flight", || gateway.counts().backends.iter().all(|backend| backend.in_flight == 0));
    let counts = gateway.stop();
    for backend in &counts.backends {
        assert_eq!(backend.requests, backend.completed + backend.failed + backend.cancelled, "{counts:?}");
        assert_eq!((backend.in_flight, backend.in_flight_table, backend.connections), (0, 0, 0), "{counts:?}");
    }
    let attempts: u64 = counts.backends.iter().map(|backend| backend.requests).sum();
    assert_eq!(attempts, counts.requests - counts.refused + counts.retried, "{counts:?}");
    let failures: u64 = counts.backends.iter().map(|backend| backend.failed).sum();
    assert_eq!(failures, counts.connect_failed + counts.broken + counts.truncated + counts.timed_out, "{counts:?}");
    counts
}

/// One request through a gateway to one backend that answers so.
#[track_caller]
fn one(
    method: &str,
    retries: u32,
    answer: impl Fn(&Got, &mut TcpStream) -> bool + Send + Sync + 'static,
) -> (Reply, GatewayCounts, usize) {
    let origin = Origin::new(answer);
    let timeouts = Timeouts { connect: ms(1000), reply: ms(100), idle: ms(100) };
    let gateway = gateway(GatewaySettings { face: retrying(retries), timeouts, ..config(&[origin.address]) });
    let reply =
        Client::new(gateway.address()).ask(method, "/", if method == "POST" { "content-length: 0\r\n" } else { "" });
    (reply, settle(gateway), origin.requests())
}

/// Waits until the other side has closed.
fn hang(stream: &mut TcpStream) -> bool {
    let _ = stream.read(&mut [0; 1]);
    false
}

#[test]
fn a_backend_that_closes_before_it_replies() {
    for method in ["GET", "POST"] {
        let (reply, counts, requests) = one(method, 3, |_, _| false);
        assert_eq!((reply.status, reply.backend()), (502, "s1"), "{method}");
        // There is no other backend to try.
        assert_eq!((counts.broken, counts.retried, counts.failed, requests), (1, 0, 1, 1), "{method}");
    }
}

#[test]
fn a_backend_that_speaks_something_else() {
    let (reply, counts, _) = one("POST", 0, |_, stream| stream.write_all(b"220 smtp ready\r\n\r\n").is_ok());
    assert_eq!((reply.status, counts.broken), (502, 1));
}

#[test]
fn a_backend_that_breaks_its_reply_off() {
    for head in ["content-length: 100", "transfer-encoding: chunked"] {
        let origin = Origin::new(move |_, stream| {
            let _ = write!(stream, "HTTP/1.1 200 OK\r\n{head}\r\n\r\n5\r\nhello\r\n");
            false
        });
        let gateway = gateway(GatewaySettings { face: retrying(3), ..config(&[origin.address]) });
        let mut client = Client::new(gateway.address());
        client.send("GET / HTTP/1.1\r\nhost: t\r\n\r\n");
        // What had not left the gateway yet when the reply broke off never does: then the client sees no reply at all.
        if let Some(reply) = client.reply(true) {
            assert!(reply.status == 200 && !reply.whole, "the client must see that it is not whole: {reply:?}");
        }
        let counts = settle(gateway);
        assert_eq!((counts.truncated, counts.retried), (1, 0), "half a reply cannot be taken back");
    }
}

/// A client of HTTP/1.0 reads to the end of the connection, so that must not look like an end.
#[test]
fn a_reply_that_breaks_off_is_not_whole_to_an_old_client_either() {
    let origin = Origin::new(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n");
        false
    });
    let gateway = gateway(config(&[origin.address]));
    let mut client = TcpStream::connect(gateway.address()).expect("it accepts");
    client.set_read_timeout(Some(ms(20_000).as_std())).expect("a timeout");
    client.write_all(b"GET / HTTP/1.0\r\n\r\n").expect("it reads");
    let ended = client.read_to_end(&mut Vec::new()).map_err(|error| error.kind());
    assert_eq!(ended, Err(std::io::ErrorKind::ConnectionReset));
    assert_eq!(settle(gateway).truncated, 1);
}

#[test]
fn a_backend_that_hangs() {
    let (reply, counts, _) = one("GET", 3, |_, stream| hang(stream));
    assert_eq!((reply.status, counts.timed_out, counts.failed, counts.retried), (504, 1, 1, 0));
    assert!(reply.text().contains("100 ms"), "{}", reply.text());
    // The first part reaches the client before the rest is given up.
    let (reply, counts, _) = one("GET", 3, |_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello");
        hang(stream)
    });
    assert!(!reply.whole && counts.timed_out == 1);
}

#[test]
fn errors_of_a_backend_are_its_replies() {
    let (reply, counts, _) =
        one("GET", 3, |_, stream| stream.write_all(b"HTTP/1.1 503 Full\r\ncontent-length: 4\r\n\r\nfull").is_ok());
    assert_eq!((reply.status, reply.text().as_str(), counts.backends[0].completed), (503, "full", 1));
    for status in ["204 No Content", "304 Not Modified"] {
        let (_, counts, _) = one("HEAD", 3, move |_, stream| write!(stream, "HTTP/1.1 {status}\r\n\r\n").is_ok());
        assert_eq!(counts.backends[0].completed, 1, "{status}");
    }
}

#[test]
fn a_client_that_leaves_while_it_waits() {
    let origin = Origin::new(|_, stream| hang(stream));
    let gateway = gateway(config(&[origin.address]));
    let mut client = Client::new(gateway.address());
    client.send("GET / HTTP/1.1\r\nhost: t\r\n\r\n");
    until("the request is there", || origin.requests() == 1);
    assert_eq!(gateway.counts().backends[0].in_flight, 1);
    drop(client);
    until("it is cancelled", || gateway.counts().cancelled == 1);
    let counts = settle(gateway);
    assert_eq!((counts.backends[0].cancelled, counts.failed), (1, 0));
}

#[test]
fn a_client_that_leaves_within_a_reply() {
    let node = node("n", Discipline::Ps);
    let gateway = gateway(config(&[node.address()]));
    let mut client = Client::new(gateway.address());
    client.send("GET /bytes/1000000000000 HTTP/1.1\r\nhost: t\r\n\r\n");
    assert_eq!(client.head().expect("a head").0, 200);
    drop(client);
    until("it is cancelled", || gateway.counts().cancelled == 1);
    until("the node has heard", || node.counts().in_flight == 0);
    settle(gateway);
}

#[test]
fn a_client_that_stops_reading() {
    let node = node("n", Discipline::Ps);
    let timeouts = Timeouts { connect: ms(1000), reply: ms(1000), idle: ms(200) };
    let gateway = gateway(GatewaySettings { timeouts, ..config(&[node.address()]) });
    let mut client = Client::new(gateway.address());
    client.send("GET /bytes/1000000000000 HTTP/1.1\r\nhost: t\r\n\r\n");
    assert_eq!(client.head().expect("a head").0, 200);
    until("it is cancelled", || gateway.counts().cancelled == 1);
    settle(gateway);
}

#[test]
fn a_client_that_leaves_within_its_request() {
    let origin = Origin::new(|_, stream| ok(stream, "ok"));
    let gateway = gateway(config(&[origin.address]));
    let mut client = Client::new(gateway.address());
    client.send("POST / HTTP/1.1\r\nhost: t\r\ncontent-length: 1000\r\n\r\nhalf");
    until("it is on its way", || gateway.counts().backends[0].in_flight == 1);
    drop(client);
    until("it is over", || gateway.counts().backends[0].in_flight == 0);
    assert_eq!(settle(gateway).backends[0].completed, 0);
}

#[test]
fn a_gateway_that_stops_with_requests_in_flight() {
    let origin = Origin::new(|_, stream| hang(stream));
    let gateway = gateway(GatewaySettings { grace: Some(ms(0)), ..config(&[origin.address]) });
    let mut client = Client::new(gateway.address());
    client.send("GET / HTTP/1.1\r\nhost: t\r\n\r\n");
    until("the request is there", || origin.requests() == 1);
    let counts = gateway.stop();
    assert_eq!((counts.cancelled, counts.backends[0].in_flight, counts.backends[0].in_flight_table), (1, 0, 0));
}

/// A policy of one's own, or a file system, may hang: the thread is lost, the process is not.
#[test]
fn a_gateway_stops_though_a_thread_hangs() {
    let (seen, hold) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(())));
    let (held, count, gate) = (hold.lock().expect("no panic"), Arc::clone(&seen), Arc::clone(&hold));
    let mut catalogue = Catalogue::default();
    let hanging = catalogue.add("hanging", "", move |_| Ok(Box::new(Hanging(Arc::clone(&count), Arc::clone(&gate)))));
    hanging.expect("the name is free");
    let origin = Origin::new(|_, stream| ok(stream, "ok"));
    let settings = config(&[origin.address]);
    let config = GatewaySettings { decider: FrontSettings::new("hanging"), grace: Some(ms(0)), ..settings };
    let gateway = Gateway::start_with(config, &catalogue, Events::nowhere()).expect("a gateway starts");
    let mut client = Client::new(gateway.address());
    client.send("GET / HTTP/1.1\r\nhost: t\r\n\r\n");
    until("the thread hangs", || seen.load(Ordering::SeqCst) == 1);
    assert_eq!(gateway.stop().requests, 1);
    drop(held);
}

/// Counts its choices and makes none before it may.
struct Hanging(Arc<AtomicUsize>, Arc<Mutex<()>>);

impl Policy for Hanging {
    fn requires(&self) -> Signals {
        Signals::empty()
    }

    fn choose(&mut self, _: &Ask<'_>, _: &mut Stream) -> Decision {
        self.0.fetch_add(1, Ordering::SeqCst);
        drop(self.1.lock());
        Decision::refuse()
    }
}

#[test]
fn a_dead_backend_costs_no_request() {
    let (dead, alive) = (silent_port(), node("n", Discipline::Ps));
    let health = Checks { probe: Probe::Connect, every: ms(60_000), timeout: ms(1000) };
    let gateway = gateway(GatewaySettings { health, ..config(&[address_of(&dead), alive.address()]) });
    let mut client = Client::new(gateway.address());
    for turn in 0..50 {
        // Nothing has been sent when a connection is refused, so a POST may go elsewhere too, body and all.
        let reply = if turn == 0 {
            client.send("POST /work HTTP/1.1\r\nhost: t\r\ncontent-length: 3\r\n\r\nabc");
            client.reply(true).expect("a reply")
        } else {
            client.get("/work")
        };
        assert_eq!((reply.status, reply.backend()), (200, "n"));
    }
    let counts = settle(gateway);
    assert!(!counts.backends[0].up && counts.backends[1].up);
    assert_eq!((counts.connect_failed, counts.retried), (1, 1), "it is out at the first refusal");
}

#[test]
fn a_post_is_not_sent_twice() {
    let sent = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&sent);
    let breaking = Origin::new(move |_, _| {
        count.fetch_add(1, Ordering::SeqCst);
        false
    });
    let alive = Origin::new(|_, stream| ok(stream, "ok"));
    let gateway = gateway(config(&[breaking.address, alive.address]));
    let post = || Client::new(gateway.address()).ask("POST", "/", "content-length: 0\r\n").status;
    let get = || Client::new(gateway.address()).get("/").status;
    // Round robin: the first goes to the breaking one, the second to the other.
    let statuses = [post(), post()];
    assert!(statuses.contains(&502) && statuses.contains(&200), "{statuses:?}");
    assert_eq!((get(), get()), (200, 200), "a GET is tried elsewhere");
    let counts = settle(gateway);
    assert!(counts.retried >= 1);
    assert_eq!(sent.load(Ordering::SeqCst) as u64, counts.broken);
}

#[test]
fn a_backend_goes_down_and_comes_back() {
    for (probe, shared) in [(Probe::Connect, false), (Probe::Get("/health".into()), true)] {
        let threads = if shared { 2 } else { 1 };
        let lines = Lines::default();
        let socket = silent_port();
        let health = Checks { probe, every: ms(5), timeout: ms(1000) };
        let config = GatewaySettings { health, threads, shared, ..config(&[address_of(&socket)]) };
        let gateway = Gateway::start(config, Events::to(lines.clone())).expect("a gateway starts");
        until("it is seen to be down", || !gateway.counts().backends[0].up);
        let reply = get(gateway.address(), "/");
        assert_eq!(reply.status, 503);
        assert!(reply.text().contains("1 of 1"), "{}", reply.text());
        socket.listen(16).expect("it can listen");
        let origin = Origin::on(socket.into(), |_, stream| ok(stream, "back"));
        until("it is seen to be up", || gateway.counts().backends[0].up);
        assert_eq!(get(gateway.address(), "/").text(), "back");
        drop(origin);
        assert_eq!(settle(gateway).refused, 1);
        let said = lines.text();
        let (down, up) = (said.find("backend_down").expect("it says so"), said.find("backend_up").expect("it says so"));
        assert!(down < up, "{said}");
    }
}

#[test]
fn killing_one_of_four_nodes_loses_no_request() {
    let nodes: Vec<_> = ["n1", "n2", "n3", "n4"].iter().map(|name| node(name, Discipline::Ps)).collect();
    let addresses: Vec<_> = nodes.iter().map(|node| node.address()).collect();
    let health = Checks { probe: Probe::Get("/health".into()), every: ms(20), timeout: ms(1000) };
    let gateway = gateway(GatewaySettings { health, ..config(&addresses) });
    let address = gateway.address();
    let done = Arc::new(AtomicUsize::new(0));
    let clients: Vec<_> = (0..8)
        .map(|_| {
            let done = Arc::clone(&done);
            std::thread::spawn(move || {
                let mut client = Client::new(address);
                for _ in 0..60 {
                    let reply = client.get("/work?demand=1ms&bytes=2000");
                    assert!(reply.status == 200 && reply.whole, "{reply:?}");
                    done.fetch_add(1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    until("load is on", || done.load(Ordering::SeqCst) >= 100);
    let mut nodes = nodes;
    let killed = nodes.remove(1).stop();
    assert!(killed.requests > 0, "it had its share before");
    for client in clients {
        client.join().expect("every request of every client is answered");
    }
    until("it is seen to be down", || !gateway.counts().backends[1].up);
    let counts = settle(gateway);
    assert_eq!((counts.requests, counts.failed, counts.truncated), (480, 0, 0), "{counts:?}");
}
