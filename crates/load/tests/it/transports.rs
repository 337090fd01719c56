//! TLS and HTTP/2 under the same schedules, against hyper's server.

use std::sync::atomic::Ordering;

use hyper::Version as Spoken;
use sojourn_load::{
    Body, Browse, Load, LoadError, Method, Outcome, Schedule, Stop, Targets, Template, Tls, Url, Version,
};
use sojourn_stats::{Span, Time};
use sojourn_traffic::{Fetch, Http, Planned, Request, Visit};

use crate::run::{MS, request, run, steady, try_run};
use crate::skip::skipped;
use crate::web::{Certificate, Speak, Web};

const H1: &[&[u8]] = &[b"http/1.1"];
const H2: &[&[u8]] = &[b"h2"];

/// A load of 60 requests of users who never think for 50 000 bytes, secured where there is a certificate.
fn load(web: &Web, certificate: Option<&Certificate>, version: Version, users: u32) -> Load {
    let scheme = if certificate.is_some() { "https" } else { "http" };
    let url = Url::parse(&format!("{scheme}://localhost:{}/50000", web.address.port())).unwrap();
    let mut load = Load::to(&[url], Schedule::saturate(users), Targets::Own);
    load.stop = Stop::Requests(60);
    load.http = version;
    load.tls.ca = certificate.map(|certificate| certificate.pem.clone());
    load.keep_records = true;
    load
}

/// Requests of one class go over TLS, all others do not.
#[test]
fn a_class_of_requests_goes_over_tls() {
    let certificate = Certificate::of("localhost", false, H1);
    let [plain, secure] = [None, Some(&certificate)].map(|certificate| Web::start(Speak::Http1, certificate));
    let url = |scheme: &str, web: &Web| Url::parse(&format!("{scheme}://localhost:{}/5", web.address.port())).unwrap();
    let planned = |k: u32| {
        let request = Request { class: (k % 3) as u8, ..request(k) };
        Planned { at: Time(u64::from(k) * 2 * MS), request }
    };
    let plan: Vec<Planned> = (0..60).map(planned).collect();
    let urls = [url("http", &plain), url("https", &secure)];
    let load = |secure: Vec<u8>| Load {
        secure,
        tls: Tls { ca: Some(certificate.pem.clone()), ..Default::default() },
        stop: Stop::Requests(60),
        ..Load::to(&urls, Schedule::open(plan.clone().into_iter()), Targets::Own)
    };
    let report = run(load(vec![2]));
    assert_eq!(report.counts.ok, 60);
    assert_eq!((plain.requests().len(), secure.requests().len()), (40, 20));
    let plain_only = load(vec![]).endpoints[..1].to_vec();
    let refused = try_run(Load { endpoints: plain_only, ..load(vec![2]) });
    assert!(matches!(refused, Err(LoadError::Invalid(why)) if why.contains("an endpoint of https is needed")));
}

#[test]
fn every_schedule_runs_over_every_transport() {
    for (version, speak, secure) in [
        (Version::Http11, Speak::Http1, true),
        (Version::Http2, Speak::Http2, false),
        (Version::Http2, Speak::Http2, true),
        (Version::Http11, Speak::Http1, false),
    ] {
        let alpn = if version == Version::Http2 { H2 } else { H1 };
        let certificate = secure.then(|| Certificate::of("localhost", false, alpn));
        let web = Web::start(speak, certificate.as_ref());
        let spoken = if version == Version::Http2 { Spoken::HTTP_2 } else { Spoken::HTTP_11 };
        let what = format!("{version:?}, secure: {secure}");

        let report = run(load(&web, certificate.as_ref(), version, 3));
        assert_eq!((report.counts.ok, report.bytes), (60, 3_000_000), "{what}");
        assert_eq!((report.connections.opened, report.connections.lost), (3, 0), "{what}");
        let handshakes = report.connections.secured + report.connections.resumed;
        assert_eq!(handshakes, if secure { 3 } else { 0 }, "{what}");
        let records = report.records.unwrap();
        assert_eq!(records.iter().filter(|record| record.connected.is_some()).count(), 3, "{what}");
        for record in &records {
            assert_eq!((record.status, record.bytes), (200, 50_000), "{what}");
            assert_eq!(record.secured.is_some(), secure && record.connected.is_some(), "{what}");
            assert!(record.secured.is_none_or(|at| at >= record.connected.unwrap() && at <= record.sent.unwrap()));
        }
        assert!(web.requests().iter().all(|(version, _, _)| *version == spoken), "{what}");

        let mut open = load(&web, certificate.as_ref(), version, 1);
        open.schedule = Schedule::open(steady(40, Span(2 * MS)));
        (open.connections_max, open.threads) = (4, 2);
        open.stop = Stop::Requests(40);
        let report = run(open);
        assert_eq!((report.counts.ok, report.counts.failed()), (40, 0), "{what}");

        let mut post = load(&web, certificate.as_ref(), version, 2);
        (post.method, post.body) = (Method::Post, Body::Bytes(vec![b'y'; 200_000]));
        assert_eq!(run(post).counts.ok, 60, "{what}");
        assert_eq!(web.requests().last().unwrap().2, 200_000, "{what}");

        let mut redirected = load(&web, certificate.as_ref(), version, 2);
        redirected.targets = Targets::Fixed("/to/7".into());
        redirected.redirects = 1;
        let report = run(redirected);
        assert_eq!((report.counts.ok, report.bytes, report.connections.opened), (60, 420, 2), "{what}");

        let mut missing = load(&web, certificate.as_ref(), version, 2);
        missing.targets = Targets::Fixed("/none".into());
        assert_eq!(run(missing).counts.client_error, 60, "{what}");
    }
}

#[test]
fn streams_share_a_connection() {
    let web = Web::start(Speak::Http2, None);
    let mut shared = load(&web, None, Version::Http2, 2);
    (shared.streams, shared.stop) = (8, Stop::Requests(320));
    let report = run(shared);
    assert_eq!((report.counts.ok, report.connections.opened), (320, 2));
    // Each request is there for 2 ms: 16 users keep more than 2 of them there.
    assert!(web.seen.together.load(Ordering::SeqCst) > 2);
    let mut open = load(&web, None, Version::Http2, 1);
    open.schedule = Schedule::open(steady(50, Span(MS)));
    (open.streams, open.connections_max, open.stop) = (16, 1, Stop::Requests(50));
    let report = run(open);
    assert_eq!((report.counts.ok, report.connections.opened), (50, 1));
    let mut too_many = load(&web, None, Version::Http2, 1);
    too_many.streams = 0;
    assert!(matches!(try_run(too_many), Err(LoadError::Invalid(_))));
}

#[test]
fn a_connection_that_the_server_ends_is_replaced() {
    let web = Web::start(Speak::Briefly(20), None);
    let mut brief = load(&web, None, Version::Http2, 2);
    (brief.streams, brief.stop) = (2, Stop::Requests(200));
    let report = run(brief);
    // What the server has taken in it answers before it closes, and what it has not goes to the next connection.
    assert_eq!(report.counts.ok, 200, "{:?}", report.counts);
    assert!(report.connections.opened > 2 && report.connections.closed_by_server > 0, "{:?}", report.connections);
}

#[test]
fn a_request_that_takes_too_long_is_given_up_and_its_stream_alone() {
    let web = Web::start(Speak::Http2, None);
    let mut slow = load(&web, None, Version::Http2, 1);
    let template = |path: &str| Template::parse(path).unwrap();
    slow.targets = Targets::Weighted(vec![(1.0, template("/never")), (4.0, template("/9"))]);
    (slow.streams, slow.timeout, slow.stop) = (4, Span(500 * MS), Stop::Requests(24));
    let report = run(slow);
    // Of 24 draws at 1 to 4 from a fixed seed.
    assert!(report.counts.timeout > 0 && report.counts.timeout + report.counts.ok == 24, "{:?}", report.counts);
    assert_eq!((report.connections.opened, report.connections.lost), (1, 0));
}

#[test]
fn a_user_who_browses_has_one_connection() {
    let web = Web::start(Speak::Http2, None);
    let user = |client: u32| -> Browse {
        let mut page = 0;
        Box::new(move |fetches: &mut Vec<Fetch>| {
            for object in 0..4 {
                fetches.push(Fetch { request: Request { object, ..request(client) }, gap: Span::ZERO });
            }
            page += 1;
            Visit { think: Span(MS), page, first: page % 3 == 1, last: page % 3 == 0 }
        })
    };
    let http = Http::V11 { keep_alive: Span(600_000 * MS) };
    let mut browsing = load(&web, None, Version::Http2, 1);
    browsing.schedule = Schedule::Sessions { users: (0..3).map(user).collect(), parallel: 4, http };
    browsing.targets = Targets::Paths((0..4).map(|object| format!("/{object}")).collect());
    browsing.stop = Stop::Requests(18);
    let report = run(browsing);
    let objects = report.objects.unwrap();
    assert_eq!((objects.counts.ok, report.counts.ok), (18, 72));
    // Each session has one of its own, closed at its end. How the 18 pages fall to the three users is theirs.
    assert_eq!(report.connections.opened, web.seen.connections.load(Ordering::SeqCst) as u64 - 1, "but for the probe");
    assert!((6..=9).contains(&report.connections.opened), "{:?}", report.connections);
    assert!(report.connections.closed_when_done >= 5, "{:?}", report.connections);
}

#[test]
fn what_is_no_http2_is_not_taken_for_it() {
    let web = Web::start(Speak::Http1, None);
    let error = try_run(load(&web, None, Version::Http2, 1)).expect_err("it speaks HTTP/1.1");
    assert!(matches!(error, LoadError::NoHttp2 { .. }) && !error.to_string().contains('\n'), "{error}");
    let certificate = Certificate::of("localhost", false, H1);
    let web = Web::start(Speak::Http1, Some(&certificate));
    let error = try_run(load(&web, Some(&certificate), Version::Http2, 1)).expect_err("it speaks HTTP/1.1");
    assert!(matches!(error, LoadError::Tls { .. }) && !error.to_string().contains('\n'), "{error}");
}

#[test]
fn a_certificate_that_does_not_verify_is_said_before_the_run() {
    let good = Certificate::of("localhost", false, H1);
    for (name, expired, trusted, why) in [
        ("localhost", false, false, "issuer not trusted here"),
        ("localhost", true, true, "expired"),
        ("elsewhere.test", false, true, "another name"),
    ] {
        let certificate = Certificate::of(name, expired, H1);
        let web = Web::start(Speak::Http1, Some(&certificate));
        let mut load = load(&web, Some(&certificate), Version::Http11, 1);
        if !trusted {
            load.tls.ca = Some(good.pem.clone());
        }
        let error = try_run(load).expect_err(why).to_string();
        assert!(error.contains(why) && error.contains("--insecure") && !error.contains('\n'), "{error}");
        assert!(web.requests().is_empty());
    }
    let certificate = Certificate::of("elsewhere.test", true, H1);
    let web = Web::start(Speak::Http1, Some(&certificate));
    let mut trusting = load(&web, Some(&good), Version::Http11, 1);
    trusting.tls.insecure = true;
    assert_eq!(run(trusting).counts.ok, 60);
    // Plain text where TLS was asked for.
    let web = Web::start(Speak::Http1, None);
    let error = try_run(load(&web, Some(&good), Version::Http11, 1)).expect_err("no TLS there").to_string();
    assert!(error.contains("does it speak TLS"), "{error}");
}

/// What the guide makes with `openssl` vouches for itself, and may sign others besides.
#[test]
fn a_server_that_vouches_for_itself_is_trusted_by_its_own_certificate() {
    for (name, expired, why) in
        [("localhost", false, ""), ("localhost", true, "expired"), ("elsewhere.test", false, "name")]
    {
        let certificate = Certificate::of_openssl(name, expired);
        let web = Web::start(Speak::Http1, Some(&certificate));
        match try_run(load(&web, Some(&certificate), Version::Http11, 1)) {
            Ok(report) => assert!(why.is_empty() && report.counts.ok == 60, "{name}, expired: {expired}"),
            Err(error) => assert!(!why.is_empty() && error.to_string().contains(why), "{error}"),
        }
    }
    let (shown, named) = (Certificate::of_openssl("localhost", false), Certificate::of_openssl("localhost", false));
    let web = Web::start(Speak::Http1, Some(&shown));
    let error = try_run(load(&web, Some(&named), Version::Http11, 1)).expect_err("it is another").to_string();
    assert!(error.contains("may sign others") && error.contains("`--ca FILE`"), "{error}");
    assert!(!error.contains("Entity") && !error.contains("Other"), "{error}");
}

/// The name of a server is in its certificate's subjectAltName and nowhere else. What many old recipes make has none, and no
/// other name to ask for helps: that is said, and how one with a name is made, which then is trusted.
#[test]
fn a_certificate_without_subject_alt_name_is_told_so() {
    const KEY: &str = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout site.key -subj /CN=localhost";
    let leaf = "-addext basicConstraints=critical,CA:FALSE";
    let names = "-addext subjectAltName=DNS:localhost,IP:127.0.0.1";
    let signed = |options: &str| format!("openssl req -x509 {KEY} -days 9 {options} -out site.pem");
    // Version 1 has no extensions at all.
    let old =
        format!("openssl req -new {KEY} -out site.csr; openssl x509 -req -in site.csr -signkey site.key -out site.pem");
    let none = "no subjectAltName that names a host";
    for (order, told) in [
        (signed(""), none),
        (signed(leaf), none),
        (signed(&format!("{leaf} -addext subjectAltName=email:host@example.org")), none),
        (signed("-addext subjectAltName=DNS:elsewhere.test"), "for another name (elsewhere.test), not for localhost"),
        (old, "of X.509 version 1, which has no subjectAltName"),
        (signed(names), ""),
        (signed(&format!("{leaf} {names}")), ""),
    ] {
        let Some(certificate) = Certificate::by_openssl(&order) else { return skipped("no openssl") };
        let web = Web::start(Speak::Http1, Some(&certificate));
        match try_run(load(&web, Some(&certificate), Version::Http11, 1)) {
            Ok(report) => assert!(told.is_empty() && report.counts.ok == 60, "{order}"),
            Err(error) => {
                let error = error.to_string();
                assert!(!told.is_empty() && error.contains(told) && error.contains("`--insecure`"), "{order}: {error}");
                let is_cured = error.contains("subjectAltName=DNS:") != told.contains("elsewhere");
                assert!(is_cured && !error.contains('\n') && web.requests().is_empty(), "{order}: {error}");
            }
        }
    }
}

#[test]
fn sessions_are_resumed() {
    let certificate = Certificate::of("localhost", false, &[]);
    let web = Web::start(Speak::Http1, Some(&certificate));
    let mut load = load(&web, Some(&certificate), Version::Http10, 1);
    load.stop = Stop::Requests(20);
    let report = run(load);
    assert_eq!(report.counts.ok, 20);
    let connections = report.connections;
    assert_eq!((connections.opened, connections.secured + connections.resumed), (20, 20));
    assert!(connections.resumed >= 10, "{connections:?}");
}

#[test]
fn a_handshake_that_fails_later_is_counted() {
    let certificate = Certificate::of("localhost", false, H1);
    let web = Web::start(Speak::Http1, Some(&certificate));
    let plain = Web::start(Speak::Http1, None);
    // A redirect to where no TLS is spoken.
    let listener = crate::server::Server::start(move |_| {
        let to = format!("location: https://localhost:{}/1\r\n", plain.address.port());
        vec![crate::server::reply("302 Found", &to, "")]
    });
    let mut astray = load(&web, Some(&certificate), Version::Http11, 1);
    astray.endpoints = vec![sojourn_load::Endpoint::at(listener.address, "localhost")];
    (astray.redirects, astray.stop) = (1, Stop::Requests(3));
    let report = run(astray);
    assert_eq!(report.counts.tls, 3, "{:?}", report.counts);
    assert!(report.records.unwrap().iter().all(|record| record.outcome == Outcome::Tls && record.secured.is_none()));
}
