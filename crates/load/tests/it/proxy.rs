//! Requests through a forward proxy say for which host they are, and all connections go to the proxy.

use sojourn_load::{Allowed, Load, LoadError, Schedule, Stop, Targets, Url, Version};
use sojourn_stats::Span;

use crate::clients::users;
use crate::run::{MS, run, steady, try_run};
use crate::server::{Act, Asked, Server, ok, reply};

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

/// A load on these URLs, through `proxy`.
fn through(proxy: &Server, urls: &[&str], schedule: Schedule) -> Load {
    let urls: Vec<Url> = urls.iter().map(|text| url(text)).collect();
    let mut load = Load::to(&urls, schedule, Targets::Own);
    load.proxy = Some(url(&format!("http://{}", proxy.address)));
    load.keep_records = true;
    load
}

fn asked_for(asked: &Asked) -> String {
    asked.head.split(' ').nth(1).unwrap().to_owned()
}

/// Nothing listens at any of these: only the proxy is connected to.
const HERE: &str = "http://127.0.0.1:1/a?b=1";
const THERE: &str = "http://10.255.255.1/c";

#[test]
fn the_request_target_is_a_whole_url() {
    for (http, version) in [(Version::Http11, "HTTP/1.1"), (Version::Http10, "HTTP/1.0")] {
        let proxy = Server::start(|_| vec![ok("x")]);
        let mut load = through(&proxy, &[HERE], Schedule::saturate(2));
        (load.http, load.stop) = (http, Stop::Requests(20));
        assert_eq!(run(load).counts.ok, 20);
        let whole = format!("GET {HERE} {version}\r\nhost: 127.0.0.1:1\r\n\r\n");
        assert!(proxy.heads().iter().all(|head| *head == whole), "{:?}", proxy.heads()[0]);
    }
}

#[test]
fn planned_requests_of_every_kind_of_target_say_their_host() {
    let proxy = Server::start(|_| vec![ok("x")]);
    let targets = [Targets::Work, Targets::Fixed("/f".into()), Targets::Paths(vec!["/0".into()]), Targets::Own];
    for targets in targets {
        let mut load = through(&proxy, &[HERE], users_of_two());
        (load.targets, load.stop) = (targets, Stop::Requests(4));
        assert_eq!(run(load).counts.ok, 4);
    }
    let targets: Vec<String> = proxy.heads().iter().map(|head| head.split(' ').nth(1).unwrap().into()).collect();
    let of = |end: &str| targets.iter().filter(|target| **target == format!("http://127.0.0.1:1{end}")).count();
    assert_eq!([of("/work/0?bytes=100"), of("/f"), of("/0"), of("/a?b=1")], [4; 4], "{targets:?}");
}

fn users_of_two() -> Schedule {
    users(2, Span(MS))
}

#[test]
fn a_connection_to_the_proxy_serves_every_host() {
    let open = || Schedule::open(steady(30, Span(MS)));
    for schedule in [open as fn() -> Schedule, users_of_two] {
        let proxy = Server::start(|_| vec![ok("x")]);
        let mut load = through(&proxy, &[HERE, THERE], schedule());
        (load.rotation, load.connections_max) = (sojourn_load::Rotation::Request, 2);
        load.stop = Stop::Requests(30);
        let report = run(load);
        assert_eq!((report.counts.ok, report.connections.opened), (30, 2));
        let heads = proxy.heads();
        let of = |host: &str| heads.iter().filter(|head| head.contains(&format!("host: {host}\r\n"))).count();
        assert_eq!((of("127.0.0.1:1"), of("10.255.255.1")), (15, 15));
        assert!(heads.iter().all(|head| head.contains(HERE) != head.contains(THERE)));
    }
}

#[test]
fn redirects_are_followed_through_the_proxy() {
    let proxy = Server::start(|asked| match asked_for(asked).as_str() {
        HERE => vec![reply("302 Found", &format!("location: {THERE}\r\n"), "moved")],
        THERE => vec![reply("307 Temporary Redirect", "location: /d\r\n", "moved")],
        "http://10.255.255.1/d" => vec![ok("end")],
        other => panic!("{other}"),
    });
    let mut load = through(&proxy, &[HERE], Schedule::saturate(1));
    (load.redirects, load.stop) = (2, Stop::Requests(5));
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    load.headers = vec![header("authorization", "of the server"), header("Proxy-Authorization", "of the proxy")];
    let report = run(load);
    assert_eq!((report.counts.ok, report.counts.redirected, report.connections.opened), (5, 10, 1));
    for head in proxy.heads() {
        assert_eq!(head.contains("authorization: of the server"), head.contains(HERE), "{head}");
        assert!(head.contains("Proxy-Authorization: of the proxy"), "it is told at every step: {head}");
    }
}

/// A connection that carried requests for one host is asked for another's, and a relative location is that host's.
#[test]
fn a_relative_redirect_stays_with_the_host_that_was_asked_for() {
    let proxy = Server::start(|asked| match asked_for(asked).as_str() {
        HERE | THERE => vec![reply("302 Found", "location: /end\r\n", "moved")],
        "http://127.0.0.1:1/end" | "http://10.255.255.1/end" => vec![ok("end")],
        other => panic!("{other}"),
    });
    let mut load = through(&proxy, &[HERE, THERE], Schedule::open(steady(20, Span(MS))));
    (load.redirects, load.connections_max, load.stop) = (1, 1, Stop::Requests(20));
    let report = run(load);
    assert_eq!((report.counts.ok, report.connections.opened), (20, 1));
    let heads = proxy.heads();
    let ends = |host: &str| heads.iter().filter(|head| head.starts_with(&format!("GET http://{host}/end "))).count();
    assert_eq!((ends("127.0.0.1:1"), ends("10.255.255.1")), (10, 10));
}

/// The proxy connects to whatever it is asked for: what may be loaded without a proxy may be loaded through one, and no more.
#[test]
fn hosts_that_may_not_be_loaded_are_not_asked_for() {
    let proxy = Server::start(|asked| match asked_for(asked).as_str() {
        "http://127.0.0.1:1/public" => vec![reply("302 Found", "location: http://192.0.2.1/\r\n", "")],
        "http://127.0.0.1:1/name" => vec![reply("302 Found", "location: http://elsewhere.invalid/\r\n", "")],
        "http://127.0.0.1:1/tls" => vec![reply("302 Found", "location: https://127.0.0.1:1/\r\n", "")],
        _ => vec![ok("x")],
    });
    let load = |text: &str, allowed: Allowed| {
        let mut load = through(&proxy, &[text], Schedule::saturate(1));
        (load.redirects, load.stop, load.allowed) = (2, Stop::Requests(1), allowed);
        load
    };
    let refused = try_run(load("http://192.0.2.1/", Allowed::Private));
    assert!(matches!(refused, Err(LoadError::NotAllowed { .. })), "{refused:?}");
    assert!(proxy.heads().is_empty());
    assert_eq!(run(load("http://192.0.2.1/", Allowed::Anywhere)).counts.ok, 1);
    assert_eq!(run(load("http://elsewhere.invalid/", Allowed::Anywhere)).counts.ok, 1, "the proxy resolves it");
    for path in ["public", "name", "tls"] {
        let text = format!("http://127.0.0.1:1/{path}");
        assert_eq!(run(load(&text, Allowed::Private)).counts.redirects, 1, "{path}");
    }
    assert_eq!(run(load("http://127.0.0.1:1/public", Allowed::Anywhere)).counts.ok, 1);
    assert_eq!(run(load("http://127.0.0.1:1/tls", Allowed::Anywhere)).counts.redirects, 1, "that takes a tunnel");
}

#[test]
fn what_cannot_go_through_a_proxy_is_refused_by_name() {
    let proxy = Server::start(|_| vec![Act::Close]);
    let at = |end: &str| Some(url(&format!("{end}127.0.0.1:9/")));
    type Change = Box<dyn Fn(&mut Load)>;
    let cases: [(&str, Change, &str); 6] = [
        ("https://127.0.0.1:1/", Box::new(|_| {}), "CONNECT"),
        (HERE, Box::new(move |load| load.proxy = at("https://")), "write `http://HOST:PORT`"),
        (HERE, Box::new(|load| load.proxy = Some(url("http://127.0.0.1:9/p"))), "`/p` is a path"),
        (HERE, Box::new(|load| load.http = Version::Http2), "HTTP/1.0 or 1.1"),
        (HERE, Box::new(|load| (load.redirects, load.returns) = (1, true)), "returns"),
        (HERE, Box::new(|load| load.headers = vec![("Host".into(), "a".into())]), "header `host`"),
    ];
    for (text, change, expected) in cases {
        let mut load = through(&proxy, &[text], Schedule::saturate(1));
        change(&mut load);
        let complaint = try_run(load).unwrap_err().to_string();
        assert!(complaint.contains(expected), "{expected}: {complaint}");
    }
    assert!(proxy.heads().is_empty());
    // A proxy that is not there is said before the run.
    let mut load = through(&proxy, &[HERE], Schedule::saturate(1));
    load.proxy = Some(url("http://127.0.0.1:1"));
    assert!(matches!(try_run(load), Err(LoadError::Refused { .. })));
}
