//! What goes out: where to, from where, in which method, with what in it.

use std::net::IpAddr;

use sojourn_load::{Body, Load, Method, Schedule, Stop, Targets, Template, Url, UrlList, Version};
use sojourn_stats::Span;

use crate::run::{MS, open, run, saturate, steady, try_run};
use crate::server::{Act, Server, ok};
use crate::web::{Speak, Web};

fn url_of(server: &Server, path: &str) -> Url {
    Url::parse(&format!("http://{}{path}", server.address)).unwrap()
}

/// What the heads ask for, in order.
fn paths(server: &Server) -> Vec<String> {
    server.heads().iter().map(|head| head.split(' ').nth(1).unwrap().to_owned()).collect()
}

#[test]
fn endpoints_take_turns() {
    let servers: Vec<Server> = (0..3).map(|_| Server::start(|_| vec![ok("x")])).collect();
    let urls: Vec<Url> = servers.iter().enumerate().map(|(k, server)| url_of(server, &format!("/of/{k}"))).collect();
    let mut load = Load::to(&urls, Schedule::open(steady(30, Span(2 * MS))), Targets::Own);
    load.connections_max = 2;
    load.keep_records = true;
    let report = run(load);
    assert_eq!(report.counts.ok, 30);
    for (k, server) in servers.iter().enumerate() {
        assert_eq!(paths(server), vec![format!("/of/{k}"); 10], "by the request's number");
    }
    // Users keep to one.
    let mut load = Load::to(&urls, Schedule::saturate(6), Targets::Own);
    load.stop = Stop::Requests(60);
    load.threads = 2;
    let report = run(load);
    assert_eq!((report.counts.ok, report.connections.opened), (60, 6));
    assert_eq!(servers.iter().map(Server::connections).filter(|count| *count >= 2).count(), 3);
}

#[test]
fn clients_come_from_their_addresses() {
    let server = Server::start(|asked| vec![ok(&asked.from.to_string())]);
    let mut load = saturate(server.address, 4, 40);
    load.local = vec![IpAddr::from([127, 0, 0, 2]), IpAddr::from([127, 0, 0, 3])];
    assert_eq!(run(load).counts.ok, 40);
    let mut from = server.peers();
    from.sort();
    assert_eq!(from, [[127, 0, 0, 2], [127, 0, 0, 2], [127, 0, 0, 3], [127, 0, 0, 3]].map(IpAddr::from));
}

#[test]
fn what_is_drawn_follows_from_the_seed_and_the_number_alone() {
    let asked = |threads: usize, seed: u64| {
        let server = Server::start(|_| vec![ok("x")]);
        let template = "/work?iter={erlang(k = 2, mean = 40000)}&x={uniform(low = 0, high = 1) as real}&k={k}";
        let mut load = open(server.address, steady(40, Span(MS)));
        load.targets = Targets::Weighted(vec![
            (3.0, Template::parse(template).unwrap()),
            (1.0, Template::parse("/other?k={k}").unwrap()),
        ]);
        load.headers = vec![("x-drawn".into(), "{zipf(n = 9, s = 1)}; {client}".into())];
        (load.threads, load.seed) = (threads, seed);
        assert_eq!(run(load).counts.ok, 40);
        let mut heads = server.heads();
        heads.sort_by_key(|head| {
            let k = head.split("k=").last().unwrap();
            k[..k.find(' ').unwrap()].parse::<u32>().unwrap()
        });
        heads
    };
    let one = asked(1, 7);
    let port = |head: &String| head.lines().filter(|line| !line.starts_with("host")).collect::<Vec<_>>().join("\n");
    let without_host = |heads: &[String]| heads.iter().map(port).collect::<Vec<_>>();
    assert_eq!(without_host(&one), without_host(&asked(3, 7)));
    assert_ne!(without_host(&one), without_host(&asked(1, 8)));
    // 40 draws at 3 to 1 from a fixed seed: at least one of each, surely.
    let others = one.iter().filter(|head| head.starts_with("GET /other?")).count();
    assert!((1..40).contains(&others), "{others}");
    let work = one.iter().find(|head| head.contains("/work?")).unwrap();
    let value = |key: &str| work.split(key).nth(1).unwrap().split(['&', ' ']).next().unwrap().to_owned();
    assert!(value("iter=").parse::<u64>().unwrap() > 0, "whole: {work}");
    assert!((0.0..1.0).contains(&value("x=").parse::<f64>().unwrap()), "{work}");
    assert!(work.contains("x-drawn: ") && work.contains("; "), "{work}");
}

#[test]
fn templates_say_what_is_wrong_with_them() {
    for (text, why) in [
        ("/a{erlang(k = 2)}", "mean"),
        ("/a{k", "`{` without `}`"),
        ("/a}", "`}` without `{`"),
        ("/a{nonsense}", "client, k, object, size or demand"),
    ] {
        let error = Template::parse(text).expect_err(text).to_string();
        assert!(error.contains(why) && error.contains(text) && !error.contains('\n'), "{error}");
    }
}

#[test]
fn lists_of_urls_are_read() {
    let base = Url::parse("http://127.0.0.1:81/").unwrap();
    let text = "# weights are shares\n3 http://127.0.0.1:80/a\n\n/b?n={uniform(low = 1, high = 9)}\n0.5 /c\n";
    let list = UrlList::parse(text, "urls.txt", Some(&base)).unwrap();
    assert_eq!(list.endpoints.iter().map(|endpoint| endpoint.port).collect::<Vec<_>>(), [80, 81]);
    let Targets::Weighted(weighted) = list.targets else { panic!("{:?}", list.targets) };
    assert_eq!(weighted.iter().map(|(weight, _)| *weight).collect::<Vec<_>>(), [3.0, 1.0, 0.5]);
    for (text, why) in [
        ("", "no URL in it"),
        ("http://h/\nten http://h/", "urls.txt:2: `ten` is no weight"),
        ("-1 http://h/", "urls.txt:1: `-1` is no weight"),
        ("/a", "without a host"),
        ("http://h/{", "urls.txt:1: "),
        ("ftp://h/", "`ftp` is not a scheme"),
    ] {
        let error = UrlList::parse(text, "urls.txt", None).expect_err(text).to_string();
        assert!(error.contains(why) && !error.contains('\n'), "{text}: {error}");
    }
}

#[test]
fn a_list_of_urls_of_several_hosts_is_asked_of_each() {
    let servers: Vec<Server> = (0..2).map(|_| Server::start(|_| vec![ok("x")])).collect();
    let text = format!("9 http://{}/a\n1 http://{}/b\n", servers[0].address, servers[1].address);
    let list = UrlList::parse(&text, "urls", None).unwrap();
    let mut load = saturate(servers[0].address, 2, 400);
    (load.endpoints, load.targets) = (list.endpoints, list.targets);
    assert_eq!(run(load).counts.ok, 400);
    let (a, b) = (paths(&servers[0]), paths(&servers[1]));
    assert!(a.iter().all(|path| path == "/a") && b.iter().all(|path| path == "/b"));
    // Binomial(400, 0.1): 5 standard deviations are 30 (two-sided 6e-7).
    assert!((10..=70).contains(&b.len()), "{}", b.len());
}

#[test]
fn bodies_have_their_length() {
    for (method, body, head, sent) in [
        (Method::Post, Body::Bytes(b"abc".to_vec()), "content-length: 3", "abc"),
        (Method::Put, Body::Template(Template::parse("n={k};").unwrap()), "content-length: 4", "n=0;"),
        (Method::Delete, Body::None, "DELETE / HTTP/1.1", ""),
        (Method::Post, Body::None, "content-length: 0", ""),
    ] {
        let server = Server::start(|_| vec![ok("x")]);
        let mut load = saturate(server.address, 1, 2);
        (load.method, load.body) = (method, body);
        assert_eq!(run(load).counts.ok, 2);
        let heads = server.heads();
        assert!(heads[0].starts_with(method.name()) && heads[0].contains(head), "{}", heads[0]);
        assert_eq!(server.bodies()[0], sent);
    }
}

#[test]
fn what_is_not_idempotent_is_not_sent_twice() {
    for (method, retried, failed) in [(Method::Post, 0, 4), (Method::Put, 4, 0)] {
        // Closes each connection when the second request on it has come, without a reply.
        let server = Server::start(|asked| if asked.on_connection == 0 { vec![ok("x")] } else { vec![Act::Close] });
        let mut load = saturate(server.address, 1, if method == Method::Post { 8 } else { 5 });
        load.method = method;
        let counts = run(load).counts;
        assert_eq!((counts.retried, counts.closed_early), (retried, failed), "{method:?}");
    }
}

#[test]
fn http_1_0_has_a_connection_per_request() {
    let server = Server::start(|_| vec![Act::Send(b"HTTP/1.0 200 OK\r\n\r\nbody".to_vec()), Act::Close]);
    let mut load = saturate(server.address, 2, 10);
    load.http = Version::Http10;
    let report = run(load);
    assert_eq!((report.counts.ok, report.connections.opened, report.connections.reused), (10, 10, 0));
    assert_eq!(report.bytes, 40);
    assert!(server.heads().iter().all(|head| head.starts_with("GET / HTTP/1.0\r\nhost: ")));
    let server = Server::start(|_| vec![ok("x")]);
    let mut load = open(server.address, steady(5, Span(MS)));
    load.http = Version::Http10;
    let report = run(load);
    assert_eq!((report.counts.ok, report.connections.opened, report.connections.closed_when_done), (5, 5, 5));
}

#[test]
fn what_the_generator_is_too_late_for_is_not_sent_but_counted() {
    let server = Server::start(|_| vec![ok("x")]);
    // The plan lies in the past by the time that it is looked at: nothing can be noticed within a nanosecond.
    let mut load = open(server.address, steady(20, Span(MS)));
    load.catch_up = Span(1);
    let report = run(load);
    assert!(report.counts.missed > 0, "{:?}", report.counts);
    assert_eq!(report.counts.missed + report.counts.ok, 20);
    let sojourn_load::Proof::Suspect(doubts) = report.verdict else { panic!("{:?}", report.verdict) };
    assert!(doubts.iter().any(|doubt| doubt.text.contains("were not sent")), "{doubts:?}");
}

/// A request has one host: the given one, in HTTP/1.1 and HTTP/2 (autocannon report 222 is of this kind).
#[test]
fn a_host_that_is_given_is_the_only_one() {
    let server = Server::start(|_| vec![ok("x")]);
    let mut load = saturate(server.address, 1, 2);
    load.headers = vec![("x-a".into(), "1".into()), ("Host".into(), "shop.example:8080".into())];
    assert_eq!(run(load).counts.ok, 2);
    for head in server.heads() {
        let hosts: Vec<&str> = head.lines().filter(|line| line.to_ascii_lowercase().starts_with("host:")).collect();
        assert_eq!(hosts, ["host: shop.example:8080"], "{head}");
    }
    let web = Web::start(Speak::Http2, None);
    let mut load = saturate(web.address, 1, 2);
    load.headers = vec![("Host".into(), "shop.example".into())];
    (load.http, load.targets) = (Version::Http2, Targets::Fixed("/5".into()));
    assert_eq!(run(load).counts.ok, 2);
    assert!(web.authorities().iter().all(|authority| authority == "shop.example"), "{:?}", web.authorities());
}

/// What is said by the body, or is not for the server at all, is refused by its name.
#[test]
fn headers_and_fragments_that_cannot_go_out() {
    let server = Server::start(|_| vec![ok("x")]);
    let refused = |headers: &[(&str, &str)], path: &str| {
        let mut load = saturate(server.address, 1, 1);
        load.headers = headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        load.targets = Targets::Fixed(path.into());
        try_run(load).expect_err("it is refused").to_string()
    };
    for (headers, path, why) in [
        (&[("Content-Length", "7")][..], "/", "header `Content-Length`: it is said for you, by the body; leave it out"),
        (&[("transfer-encoding", "chunked")], "/", "header `transfer-encoding`: it is said for you"),
        (&[("host", "a"), ("Host", "b")], "/", "header `host`: it is given twice"),
        (&[("host", "{k}.example")], "/", "header `host`: it is the same for all requests"),
        (&[("host", "a b")], "/", "host `a b`: expected a host name"),
        (&[], "/a#b", "path `/a#b`: `#` begins a fragment, which is never sent"),
    ] {
        let error = refused(headers, path);
        assert!(error.contains(why) && !error.contains('\n'), "{error}");
    }
    // A list of URLs is what a browser has: its fragments are left out.
    let base = url_of(&server, "/");
    let list = format!("/len#frag\nhttp://{}/other?a=1#frag\n", server.address);
    let list = UrlList::parse(&list, "urls.txt", Some(&base)).unwrap();
    let mut load = saturate(server.address, 1, 8);
    (load.targets, load.endpoints) = (list.targets, list.endpoints);
    assert_eq!(run(load).counts.ok, 8);
    assert!(
        paths(&server).iter().all(|path| ["/len", "/other?a=1", "/"].contains(&path.as_str())),
        "{:?}",
        paths(&server)
    );
    assert!(server.heads().iter().all(|head| !head.contains('#')));
}
