//! When a backend is taken out: after as many failures in a row as configured, of requests or of probes.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sojourn_bed::Events;
use sojourn_part::Probe;
use sojourn_part::settings::Checks;
use sojourn_part::settings::gateway::GatewaySettings;
use sojourn_web::Gateway;

use crate::support::{Client, Got, Lines, Origin, address_of, backends, falling, ms, ok, silent_port, until};

fn watched(origin: &Origin, probe: Probe, every_ms: u64) -> (Gateway, Lines) {
    let health = Checks { probe, every: ms(every_ms), timeout: ms(20_000) };
    let config = GatewaySettings { health, ..GatewaySettings::new("round-robin", backends(&[origin.address])) };
    let lines = Lines::default();
    (Gateway::start(config, Events::to(lines.clone())).expect("a gateway starts"), lines)
}

/// `/good` is served, `/cut` is broken off within the reply, and anything else before it. `/check` is no request.
fn moody(got: &Got, stream: &mut TcpStream) -> bool {
    match got.line.split(' ').nth(1) {
        Some("/good" | "/check") => ok(stream, "ok"),
        Some("/cut") => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhello");
            false
        }
        _ => false,
    }
}

#[test]
fn as_many_requests_as_configured_must_fail_in_a_row() {
    for bad in ["/broken", "/cut"] {
        let origin = Origin::new(moody);
        let (gateway, _) = watched(&origin, Probe::Connect, 600_000);
        let ask = |path: &str| {
            let mut client = Client::new(gateway.address());
            client.send(&format!("GET {path} HTTP/1.1\r\nhost: t\r\n\r\n"));
            let reply = client.reply(true);
            reply.is_some_and(|reply| reply.status == 200 && reply.whole)
        };
        for path in [bad, bad, "/good", bad, bad, "/good", bad, bad] {
            assert_eq!(ask(path), path == "/good", "{path}");
            assert!(gateway.counts().backends[0].up, "{path}: it had not failed three times in a row");
        }
        assert!(!ask(bad));
        assert!(!gateway.counts().backends[0].up, "{bad}: three in a row take it out");
        assert!(!ask("/good"), "and it gets nothing any more");
        let counts = gateway.stop();
        assert_eq!((counts.refused, counts.backends[0].failed, counts.backends[0].completed), (1, 7, 2), "{counts:?}");
    }
}

#[test]
fn as_many_probes_as_configured_must_fail_in_a_row() {
    let probes = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&probes);
    let origin = Origin::new(move |_, stream| {
        // Two of three fail, fifteen times long; then all do.
        let number = count.fetch_add(1, Ordering::SeqCst);
        if number < 15 && number % 3 == 2 {
            return ok(stream, "ok");
        }
        stream.write_all(b"HTTP/1.1 503 Unfit\r\ncontent-length: 0\r\n\r\n").is_ok()
    });
    let (gateway, lines) = watched(&origin, Probe::Get("/check".into()), 2);
    until("it is out", || !gateway.counts().backends[0].up);
    assert!(probes.load(Ordering::SeqCst) >= 18, "not before three in a row had failed");
    drop(gateway);
    assert_eq!(lines.text().matches("backend_down").count(), 1, "{}", lines.text());
}

/// What answers probes and breaks its replies off is no server, and neither is one that calls itself unfit under load.
#[test]
fn neither_probes_nor_requests_make_up_for_the_other() {
    let checks = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&checks);
    let origin = Origin::new(move |got, stream| {
        count.fetch_add(usize::from(got.line.starts_with("GET /check")), Ordering::SeqCst);
        moody(got, stream)
    });
    let (gateway, lines) = watched(&origin, Probe::Get("/check".into()), 2);
    for _ in 0..3 {
        let before = checks.load(Ordering::SeqCst);
        until("it has answered another probe", || checks.load(Ordering::SeqCst) >= before + 2);
        let mut client = Client::new(gateway.address());
        client.send("GET /cut HTTP/1.1\r\nhost: t\r\n\r\n");
        assert!(client.reply(true).is_none_or(|reply| !reply.whole));
    }
    until("it is taken out", || lines.text().contains("breaks replies off"));
    until("a probe brings it back", || gateway.counts().backends[0].up);
    drop(gateway);

    let (served, is_out) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (count, over) = (Arc::clone(&served), Arc::clone(&is_out));
    let origin = Origin::new(move |got, stream| {
        if !got.line.starts_with("GET /check") {
            count.fetch_add(1, Ordering::SeqCst);
            return ok(stream, "ok");
        }
        // Between two probes there is always a request that is served.
        let before = count.load(Ordering::SeqCst);
        until("requests are served", || count.load(Ordering::SeqCst) >= before + 2 || over.load(Ordering::SeqCst) > 0);
        stream.write_all(b"HTTP/1.1 503 Unfit\r\ncontent-length: 0\r\n\r\n").is_ok()
    });
    let (gateway, lines) = watched(&origin, Probe::Get("/check".into()), 2);
    let mut client = Client::new(gateway.address());
    until("it is taken out", || client.get("/good").status == 503);
    is_out.store(1, Ordering::SeqCst);
    assert!(served.load(Ordering::SeqCst) >= 4, "requests were served all the while");
    assert!(lines.text().contains("answers its health check with an error"), "{}", lines.text());
}

/// Where no program listens the backend is out at once; a program that breaks a probe off may have had its reasons.
#[test]
fn a_refused_probe_is_enough_and_a_broken_one_is_not() {
    let probes = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&probes);
    let origin = Origin::new(move |_, _| {
        count.fetch_add(1, Ordering::SeqCst);
        false
    });
    let (gateway, lines) = watched(&origin, Probe::Get("/check".into()), 2);
    until("it is out", || !gateway.counts().backends[0].up);
    drop(gateway);
    assert!(probes.load(Ordering::SeqCst) >= 3, "not before three in a row had failed");
    assert!(lines.text().contains("its health check fails"), "{}", lines.text());

    let port = silent_port();
    let health = Checks { probe: Probe::Connect, every: ms(2), timeout: ms(20_000) };
    let config = GatewaySettings { health, ..GatewaySettings::new("round-robin", backends(&[address_of(&port)])) };
    let config = falling(1_000_000, config);
    let lines = Lines::default();
    let gateway = Gateway::start(config, Events::to(lines.clone())).expect("a gateway starts");
    until("it is out", || !gateway.counts().backends[0].up);
    drop(gateway);
    assert!(lines.text().contains("no program listens there"), "{}", lines.text());
}
