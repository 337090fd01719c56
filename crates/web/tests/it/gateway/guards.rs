//! Guards over real sockets: what waits at a gateway, outliers, breakers and limits that follow. Their rules are tested
//! without.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use sojourn_bed::Events;
use sojourn_dispatch::{Breakers, Concurrency, Ejection, Limit, LimitRule, Queue, SlowStart};
use sojourn_part::Probe;
use sojourn_part::settings::gateway::{GatewaySettings, RedirectorSettings};
use sojourn_part::settings::{Checks, Settings};
use sojourn_stats::Span;
use sojourn_web::Gateway;

use crate::support::{Client, Lines, Origin, backends, get, ms, ok, until};

const SLOW: &str = "GET /slow HTTP/1.1\r\nhost: t\r\n\r\n";

/// A server that answers `/slow` once it may, and everything else at once.
struct Held {
    origin: Origin,
    inside: Arc<AtomicUsize>,
    goes_on: Arc<AtomicBool>,
}

fn held() -> Held {
    let (inside, goes_on) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let (count, may) = (Arc::clone(&inside), Arc::clone(&goes_on));
    let origin = Origin::new(move |got, stream| {
        if got.line.contains("/slow") {
            count.fetch_add(1, Ordering::SeqCst);
            until("it may answer", || may.load(Ordering::SeqCst));
        }
        ok(stream, "page")
    });
    Held { origin, inside, goes_on }
}

/// In front of a server that takes one request at a time.
fn queued(held: &Held, wait: Option<Span>, threads: usize) -> GatewaySettings {
    let mut config = GatewaySettings::new("least-connections", backends(&[held.origin.address]));
    config.decider.limit = Limit::new(1, 0).ok();
    config.decider.queue = Some(Queue { most: 2, wait });
    GatewaySettings { threads, shared: threads > 1, ..config }
}

#[test]
fn what_finds_all_full_waits_and_is_served() {
    for threads in [1, 2] {
        let held = held();
        let gateway = Gateway::start(queued(&held, None, threads), Events::nowhere()).expect("a gateway");
        let mut clients: Vec<Client> = (0..3).map(|_| Client::new(gateway.address())).collect();
        clients.iter_mut().for_each(|client| client.send(SLOW));
        until("two wait", || gateway.counts().waited == 2 && held.inside.load(Ordering::SeqCst) == 1);
        let refused = get(gateway.address(), "/");
        assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "two places are all");
        assert!(refused.text().contains("2 are there already"), "{}", refused.text());
        held.goes_on.store(true, Ordering::SeqCst);
        for client in &mut clients {
            assert_eq!(client.reply(true).expect("a reply").status, 200);
        }
        let counts = gateway.stop();
        let served = &counts.backends[0];
        assert_eq!((served.completed, served.in_flight, served.in_flight_table), (3, 0, 0), "{counts:?}");
        assert_eq!((counts.waited, counts.over_limit, counts.refused), (2, 1, 1), "{counts:?}");
    }
}

#[test]
fn what_waits_too_long_is_refused_and_what_leaves_takes_no_place() {
    let held = held();
    let config = queued(&held, Some(Span(300_000_000)), 1);
    let gateway = Gateway::start(config, Events::nowhere()).expect("a gateway");
    let mut first = Client::new(gateway.address());
    first.send(SLOW);
    until("one is inside", || held.inside.load(Ordering::SeqCst) == 1);
    // It stands still until it is turned away.
    let refused = get(gateway.address(), "/");
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    assert!(refused.text().contains("1 of 1 are full"), "{}", refused.text());
    for waited in 2..6 {
        let mut leaves = Client::new(gateway.address());
        leaves.send(SLOW);
        until("it waits", || gateway.counts().waited == waited);
        drop(leaves);
    }
    held.goes_on.store(true, Ordering::SeqCst);
    assert_eq!(first.reply(true).expect("a reply").status, 200);
    until("it serves again", || get(gateway.address(), "/").status == 200);
    until("all is over", || gateway.counts().backends[0].in_flight_table == 0);
    assert_eq!(held.inside.load(Ordering::SeqCst), 1, "those that left were sent nowhere");
}

#[test]
fn other_settings_keep_what_waits() {
    let held = held();
    let gateway = Gateway::start(queued(&held, None, 1), Events::nowhere()).expect("a gateway");
    let mut clients: Vec<Client> = (0..2).map(|_| Client::new(gateway.address())).collect();
    clients.iter_mut().for_each(|client| client.send(SLOW));
    until("one waits", || gateway.counts().waited == 1);
    let mut next = queued(&held, None, 1);
    next.decider.policy = Some("round-robin".into());
    gateway.take(next).expect("they can change");
    held.goes_on.store(true, Ordering::SeqCst);
    for client in &mut clients {
        assert_eq!(client.reply(true).expect("a reply").status, 200);
    }
}

#[test]
fn a_server_whose_replies_fail_is_put_aside() {
    let good = Origin::new(|_, stream| ok(stream, "good"));
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let bad = Origin::new(move |_, stream| {
        use std::io::Write;
        count.fetch_add(1, Ordering::SeqCst);
        stream.write_all(b"HTTP/1.1 500 Sorry\r\ncontent-length: 0\r\n\r\n").is_ok()
    });
    let health = Checks { probe: Probe::Off, ..Checks::default() };
    let mut config = GatewaySettings::new("round-robin", backends(&[good.address, bad.address]));
    config.decider.ejection =
        Some(Ejection { consecutive: 3, every: ms(50), base_time: ms(100), ..Ejection::default() });
    let lines = Lines::default();
    let gateway = Gateway::start(GatewaySettings { health, ..config }, Events::to(lines.clone())).expect("a gateway");
    let statuses = (0..12).map(|_| get(gateway.address(), "/").status);
    assert_eq!(statuses.filter(|status| *status == 500).count(), 3);
    assert_eq!(asked.load(Ordering::SeqCst), 3);
    until("it comes back", || get(gateway.address(), "/").status == 500);
    drop(gateway);
    let said = lines.text();
    assert!(said.contains("backend_aside") && said.contains("its requests fail, or take longer"), "{said}");
    assert!(said.contains("backend_up"), "{said}");
}

/// A gateway in front of two servers, one of which has failed, was put aside and is back; and how often that one was asked.
fn one_is_back(slow_start: SlowStart) -> (Gateway, Arc<AtomicUsize>, [Origin; 2]) {
    let good = Origin::new(|_, stream| ok(stream, "good"));
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let moody = Origin::new(move |_, stream| {
        use std::io::Write;
        match count.fetch_add(1, Ordering::SeqCst) {
            0..3 => stream.write_all(b"HTTP/1.1 500 Sorry\r\ncontent-length: 0\r\n\r\n").is_ok(),
            _ => ok(stream, "good again"),
        }
    });
    let health = Checks { probe: Probe::Off, ..Checks::default() };
    let mut config = GatewaySettings::new("weighted-round-robin", backends(&[good.address, moody.address]));
    config.decider.ejection =
        Some(Ejection { consecutive: 3, every: ms(50), base_time: ms(100), ..Ejection::default() });
    config.decider.slow_start = Some(slow_start);
    let lines = Lines::default();
    let gateway = Gateway::start(GatewaySettings { health, ..config }, Events::to(lines.clone())).expect("a gateway");
    until("it is aside", || {
        get(gateway.address(), "/");
        lines.text().contains("backend_aside")
    });
    until("it is back", || lines.text().contains("backend_up"));
    (gateway, asked, [good, moody])
}

/// What is back gets a tenth of its weight at first, so that of 22 requests 2 go there, or 3 where they take seconds; with
/// its whole weight it would be 11. After its time it has its own again, though nothing happens meanwhile that would tell
/// the gateway.
#[test]
fn a_server_that_is_back_starts_slowly() {
    let there = |gateway: &Gateway, asked: &AtomicUsize, requests: usize| {
        let before = asked.load(Ordering::SeqCst);
        (0..requests).for_each(|_| assert_eq!(get(gateway.address(), "/").status, 200));
        asked.load(Ordering::SeqCst) - before
    };
    let long = SlowStart { over: Span(20_000_000_000), ..SlowStart::default() };
    let (gateway, asked, _origins) = one_is_back(long);
    let few = there(&gateway, &asked, 22);
    assert!((1..=5).contains(&few), "{few}");
    let short = SlowStart { over: Span(2_000_000_000), least: 0.01, aggression: 0.1, ..SlowStart::default() };
    let (gateway, asked, _origins) = one_is_back(short);
    until("it has its own share", || there(&gateway, &asked, 20) == 10);
}

#[test]
fn breakers_refuse_what_is_too_much() {
    let held = held();
    let mut config = GatewaySettings::new("least-connections", backends(&[held.origin.address]));
    config.decider.breakers = Some(Breakers { requests: 2, retries: 0 });
    let gateway = Gateway::start(config, Events::nowhere()).expect("a gateway");
    let mut clients: Vec<Client> = (0..2).map(|_| Client::new(gateway.address())).collect();
    clients.iter_mut().for_each(|client| client.send(SLOW));
    until("two are inside", || held.inside.load(Ordering::SeqCst) == 2);
    let refused = get(gateway.address(), "/");
    assert_eq!((refused.status, gateway.counts().over_limit), (503, 1));
    held.goes_on.store(true, Ordering::SeqCst);
    clients.iter_mut().for_each(|client| assert_eq!(client.reply(true).expect("a reply").status, 200));
    until("it serves again", || get(gateway.address(), "/").status == 200);
}

/// Two servers that break all connections: with one retry allowed at a time, one after the other is retried, and goes in vain.
#[test]
fn retries_count_while_they_last() {
    let broken = || Origin::new(|_, _| false);
    let origins = [broken(), broken()];
    let health = Checks { probe: Probe::Off, ..Checks::default() };
    let mut config = GatewaySettings::new("round-robin", backends(&origins.each_ref().map(|origin| origin.address)));
    config.decider.breakers = Some(Breakers { requests: 0, retries: 1 });
    let gateway = Gateway::start(GatewaySettings { health, ..config }, Events::nowhere()).expect("a gateway");
    for _ in 0..5 {
        assert_eq!(get(gateway.address(), "/").status, 502);
    }
    assert_eq!(gateway.counts().retried, 5, "each had its own when the one before was over");
}

/// One more with each by AIMD; by the gradient a headroom of one more, where all of a new limit is taken.
#[test]
fn a_limit_grows_with_replies_that_come_in_time() {
    let of = |by| Concurrency { by, first: 1, least: 1, smoothing: 1.0, headroom: 1, ..Concurrency::default() };
    for by in [LimitRule::Aimd, LimitRule::Gradient] {
        grows_by_one(of(by));
    }
}

fn grows_by_one(rule: Concurrency) {
    let held = held();
    let mut config = GatewaySettings::new("least-connections", backends(&[held.origin.address]));
    config.decider.concurrency = Some(rule);
    let gateway = Gateway::start(config, Events::nowhere()).expect("a gateway");
    let mut first = Client::new(gateway.address());
    first.send(SLOW);
    until("one is inside", || held.inside.load(Ordering::SeqCst) == 1);
    assert_eq!(get(gateway.address(), "/").status, 503, "one is all");
    held.goes_on.store(true, Ordering::SeqCst);
    assert_eq!(first.reply(true).expect("a reply").status, 200);
    held.goes_on.store(false, Ordering::SeqCst);
    until("it has ended", || gateway.counts().backends[0].in_flight_table == 0);
    let mut two: Vec<Client> = (0..2).map(|_| Client::new(gateway.address())).collect();
    two.iter_mut().for_each(|client| client.send(SLOW));
    until("two are inside", || held.inside.load(Ordering::SeqCst) == 3);
    assert_eq!(get(gateway.address(), "/").status, 503);
    held.goes_on.store(true, Ordering::SeqCst);
    two.iter_mut().for_each(|client| assert_eq!(client.reply(true).expect("a reply").status, 200));
}

/// Two at a time, and after a failure nine tenths of that: one.
#[test]
fn a_limit_shrinks_with_replies_that_fail() {
    let goes_on = Arc::new(AtomicBool::new(false));
    let inside = Arc::new(AtomicUsize::new(0));
    let (may, count) = (Arc::clone(&goes_on), Arc::clone(&inside));
    let origin = Origin::new(move |got, stream| {
        use std::io::Write;
        if !got.line.contains("/slow") {
            return stream.write_all(b"HTTP/1.1 500 Sorry\r\ncontent-length: 0\r\n\r\n").is_ok();
        }
        count.fetch_add(1, Ordering::SeqCst);
        until("it may answer", || may.load(Ordering::SeqCst));
        ok(stream, "page")
    });
    let health = Checks { probe: Probe::Off, ..Checks::default() };
    let mut config = GatewaySettings::new("least-connections", backends(&[origin.address]));
    config.decider.concurrency = Some(Concurrency { first: 2, least: 1, ..Concurrency::default() });
    let gateway = Gateway::start(GatewaySettings { health, ..config }, Events::nowhere()).expect("a gateway");
    let mut first = Client::new(gateway.address());
    first.send(SLOW);
    until("one is inside", || inside.load(Ordering::SeqCst) == 1);
    assert_eq!(get(gateway.address(), "/").status, 500, "a second one has room");
    until("it has ended", || gateway.counts().backends[0].in_flight_table == 1);
    assert_eq!(get(gateway.address(), "/").status, 503, "now one is all");
    goes_on.store(true, Ordering::SeqCst);
    assert_eq!(first.reply(true).expect("a reply").status, 200);
}

#[test]
fn guards_that_would_not_hold_are_refused_by_name() {
    let origin = Origin::new(|_, stream| ok(stream, "page"));
    let config = || GatewaySettings::new("round-robin", backends(&[origin.address]));
    let wrong = |config: GatewaySettings| config.check().unwrap_err().to_string();
    let mut one = config();
    one.decider.ejection = Some(Ejection { max_share: 2.0, ..Ejection::default() });
    assert!(wrong(one).starts_with("decider.ejection: max_share = 2"));
    let mut apart = GatewaySettings { threads: 2, ..config() };
    apart.decider.breakers = Some(Breakers::default());
    assert!(wrong(apart).starts_with("decider.breakers: with 2 deciders, who count apart"));
    let mut blind = RedirectorSettings::new("round-robin", backends(&[origin.address]));
    blind.decider.ejection = Some(Ejection::default());
    assert!(blind.check().unwrap_err().to_string().contains("a redirector sees no replies"));
}
