//! How often a request is tried again, and when it is not.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sojourn_part::Probe;
use sojourn_web::Gateway;

use crate::support::{Client, Origin, backends, gateway, ms, ok, retrying};
use sojourn_part::settings::Checks;
use sojourn_part::settings::gateway::{GatewaySettings, Timeouts};

/// As many backends as asked, which all fail the same way, and how many attempts there were at them.
fn failing(count: usize, retries: u32, hangs: bool) -> (Gateway, Vec<Origin>, Arc<AtomicUsize>) {
    let attempts = Arc::new(AtomicUsize::new(0));
    let origins: Vec<_> = (0..count)
        .map(|_| {
            let attempts = Arc::clone(&attempts);
            Origin::new(move |_, stream| {
                attempts.fetch_add(1, Ordering::SeqCst);
                if hangs {
                    let _ = stream.read(&mut [0; 1]);
                }
                false
            })
        })
        .collect();
    let addresses: Vec<_> = origins.iter().map(|origin| origin.address).collect();
    let health = Checks { probe: Probe::Off, every: ms(1000), timeout: ms(1000) };
    let timeouts = Timeouts { connect: ms(1000), reply: ms(if hangs { 100 } else { 20_000 }), idle: ms(20_000) };
    let config = GatewaySettings {
        face: retrying(retries),
        health,
        timeouts,
        ..GatewaySettings::new("round-robin", backends(&addresses))
    };
    (gateway(config), origins, attempts)
}

#[test]
fn a_request_is_tried_again_as_often_as_configured() {
    for retries in 0..=4 {
        let (gateway, _origins, attempts) = failing(5, retries, false);
        assert_eq!(Client::new(gateway.address()).get("/").status, 502);
        let counts = gateway.stop();
        assert_eq!(attempts.load(Ordering::SeqCst), retries as usize + 1, "{retries} retries");
        assert_eq!((counts.retried, counts.broken, counts.failed), (u64::from(retries), u64::from(retries) + 1, 1));
        let each: Vec<_> = counts.backends.iter().map(|backend| backend.requests).collect();
        assert!(each.iter().all(|requests| *requests <= 1), "never twice at one backend: {each:?}");
    }
    // No more backends than there are.
    let (gateway, _origins, attempts) = failing(2, 100, false);
    assert_eq!(Client::new(gateway.address()).get("/").status, 502);
    assert_eq!((attempts.load(Ordering::SeqCst), gateway.stop().retried), (2, 1));
}

#[test]
fn what_took_too_long_is_not_tried_again() {
    let (gateway, _origins, attempts) = failing(3, 2, true);
    assert_eq!(Client::new(gateway.address()).get("/").status, 504);
    let counts = gateway.stop();
    assert_eq!(attempts.load(Ordering::SeqCst), 1, "a backend may still be at it");
    assert_eq!((counts.retried, counts.timed_out, counts.failed), (0, 1, 1), "{counts:?}");
}

#[test]
fn what_is_not_idempotent_is_not_tried_again() {
    for (request, attempted) in [
        ("POST / HTTP/1.1\r\nhost: t\r\ncontent-length: 0\r\n\r\n", 1),
        ("PATCH / HTTP/1.1\r\nhost: t\r\ncontent-length: 0\r\n\r\n", 1),
        ("PUT / HTTP/1.1\r\nhost: t\r\ncontent-length: 1\r\n\r\nx", 1),
        ("GET / HTTP/1.1\r\nhost: t\r\ncontent-length: 1\r\n\r\nx", 1),
        ("PUT / HTTP/1.1\r\nhost: t\r\ncontent-length: 0\r\n\r\n", 3),
        ("DELETE / HTTP/1.1\r\nhost: t\r\n\r\n", 3),
    ] {
        let (gateway, _origins, attempts) = failing(3, 2, false);
        let mut client = Client::new(gateway.address());
        client.send(request);
        assert_eq!(client.reply(true).expect("a reply").status, 502, "{request:?}");
        assert_eq!(attempts.load(Ordering::SeqCst), attempted, "{request:?}");
    }
}

#[test]
fn a_retry_that_is_served_is_a_reply_like_any_other() {
    let (breaking, alive) = (Origin::new(|_, _| false), Origin::new(|_, stream| ok(stream, "ok")));
    let health = Checks { probe: Probe::Off, every: ms(1000), timeout: ms(1000) };
    let addresses = [breaking.address, alive.address];
    let config = GatewaySettings { health, ..GatewaySettings::new("round-robin", backends(&addresses)) };
    let gateway = gateway(config);
    for _ in 0..10 {
        let reply = Client::new(gateway.address()).get("/");
        assert_eq!((reply.status, reply.backend()), (200, "s2"));
    }
    let counts = gateway.stop();
    assert_eq!((counts.failed, counts.retried, counts.broken), (0, counts.broken, counts.retried));
}
