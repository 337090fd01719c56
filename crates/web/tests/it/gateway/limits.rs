//! The limit of each backend: no more requests reach it, and further ones are answered 503 at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use sojourn_bed::Events;
use sojourn_dispatch::Limit;
use sojourn_part::Probe;
use sojourn_part::settings::Checks;
use sojourn_part::settings::gateway::{GatewaySettings, RedirectorSettings};
use sojourn_web::Gateway;

use crate::support::{Client, Origin, backends, falling, get, ms, ok, until};

fn config(origins: &[Origin], limit: Limit) -> GatewaySettings {
    let addresses: Vec<_> = origins.iter().map(|origin| origin.address).collect();
    let mut config = GatewaySettings::new("least-connections", backends(&addresses));
    config.decider.limit = Some(limit);
    config
}

#[test]
fn a_request_that_finds_all_full_is_answered_at_once() {
    let (inside, goes_on) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let origins: Vec<Origin> = (0..2)
        .map(|_| {
            let (inside, goes_on) = (Arc::clone(&inside), Arc::clone(&goes_on));
            Origin::new(move |got, stream| {
                if got.line.contains("/slow") {
                    inside.fetch_add(1, Ordering::SeqCst);
                    until("it may answer", || goes_on.load(Ordering::SeqCst));
                }
                ok(stream, "page")
            })
        })
        .collect();
    let gateway = Gateway::start(config(&origins, Limit::new(2, 0).unwrap()), Events::nowhere()).expect("a gateway");
    let mut waiting: Vec<Client> = (0..4).map(|_| Client::new(gateway.address())).collect();
    waiting.iter_mut().for_each(|client| client.send("GET /slow HTTP/1.1\r\nhost: t\r\n\r\n"));
    until("four are inside", || inside.load(Ordering::SeqCst) == 4);
    let refused = get(gateway.address(), "/");
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    assert!(refused.text().contains("2 of 2 are full"), "{}", refused.text());
    assert_eq!((gateway.counts().refused, inside.load(Ordering::SeqCst)), (1, 4));
    goes_on.store(true, Ordering::SeqCst);
    for client in &mut waiting {
        assert_eq!(client.reply(true).expect("a reply").status, 200);
    }
    until("it serves again", || get(gateway.address(), "/").status == 200);
}

/// Where no backend is up nothing is known of when one will be, with a limit or without.
#[test]
fn only_a_full_system_says_when_to_ask_again() {
    for limit in [None, Limit::new(2, 0).ok()] {
        let origin = Origin::new(|_, _| false);
        let health = Checks { probe: Probe::Connect, every: ms(600_000), timeout: ms(20_000) };
        let config = GatewaySettings { health, ..GatewaySettings::new("round-robin", backends(&[origin.address])) };
        let mut config = falling(1, config);
        config.decider.limit = limit;
        let gateway = Gateway::start(config, Events::nowhere()).expect("a gateway");
        assert_eq!(get(gateway.address(), "/").status, 502);
        assert!(!gateway.counts().backends[0].up, "it broke its connection off");
        let refused = get(gateway.address(), "/");
        assert_eq!((refused.status, refused.header("retry-after")), (503, None));
        assert!(refused.text().contains("1 of 1 are down"), "{}", refused.text());
        assert_eq!((gateway.counts().refused, gateway.counts().over_limit), (1, 0));
    }
}

#[test]
fn a_limit_that_no_one_would_keep_is_refused() {
    let origins = [Origin::new(|_, stream| ok(stream, "page"))];
    let limit = Limit::new(2, 0).unwrap();
    let apart = GatewaySettings { threads: 2, ..config(&origins, limit) };
    let apart = Gateway::start(apart, Events::nowhere()).map(drop).expect_err("it cannot be").to_string();
    assert!(apart.contains("limit: with 2 deciders, who count apart: one thread"), "{apart}");
    let mut blind = RedirectorSettings::new("round-robin", backends(&[origins[0].address]));
    blind.decider.limit = Some(limit);
    let blind = Gateway::start(blind, Events::nowhere()).map(drop).expect_err("it cannot be").to_string();
    assert!(blind.contains("needs the end of each request"), "{blind}");
}
