//! Redirects are followed within one response time, so often and not more.

use std::net::SocketAddr;
use std::time::Duration;

use socket2::{Domain, Socket, Type};
use sojourn_load::{Load, Method, Rotation, Schedule, Stop, Targets, Url, Version};
use sojourn_stats::Span;

use crate::clients::users;
use crate::run::{MS, open, run, saturate, steady};
use crate::server::{Act, Asked, Server, ok, reply};

fn to(status: &str, location: &str) -> Act {
    reply(status, &format!("location: {location}\r\n"), "moved")
}

fn path(asked: &Asked) -> String {
    asked.head.split(' ').nth(1).unwrap().to_owned()
}

/// A load of 6 requests for `/start` by 2 users that follow 3 redirects.
fn follow(address: SocketAddr) -> Load {
    let mut load = saturate(address, 2, 6);
    load.targets = Targets::Fixed("/a/start".into());
    load.redirects = 3;
    load
}

#[test]
fn they_lead_to_the_reply_over_the_same_connection() {
    let server = Server::start(|asked| match path(asked).as_str() {
        "/a/start" => vec![to("302 Found", "next?x=1")],
        "/a/next?x=1" => vec![to("307 Temporary Redirect", "../end#part")],
        "/end" => vec![ok("four")],
        other => panic!("{other}"),
    });
    let report = run(follow(server.address));
    assert_eq!((report.counts.ok, report.connections.opened, report.bytes), (6, 2, 24));
    assert_eq!(server.heads().len(), 18);
    for record in report.records.unwrap() {
        assert_eq!(record.status, 200);
        assert!(record.begun.unwrap() <= record.sent.unwrap());
    }
    // Not followed unless asked for: then it is a reply like others.
    let mut load = follow(server.address);
    load.redirects = 0;
    let report = run(load);
    assert_eq!((report.counts.ok, report.records.unwrap()[0].status), (6, 302));
}

#[test]
fn they_lead_to_other_hosts() {
    let target = Server::start(|_| vec![ok("there")]);
    let there = target.address;
    let server = Server::start(move |_| vec![to("301 Moved Permanently", &format!("http://{there}/x"))]);
    for http in [Version::Http11, Version::Http10] {
        let mut load = follow(server.address);
        load.http = http;
        assert_eq!(run(load).counts.ok, 6);
        let mut load = open(server.address, steady(10, Span(MS)));
        (load.redirects, load.http, load.connections_max) = (1, http, 2);
        let report = run(load);
        assert_eq!(report.counts.ok, 10, "{http:?} {:?} {:?}", report.counts, report.records);
    }
    assert!(target.heads().iter().all(|head| head.contains(&format!("host: {there}\r\n"))));
}

#[test]
fn a_redirected_request_has_one_response_time_and_says_again_what_it_is() {
    const STALL: Duration = Duration::from_millis(10);
    for status in ["302 Found", "307 Temporary Redirect"] {
        for closed in [false, true] {
            let last = Server::start(|_| vec![Act::Stall(STALL), ok("done")]);
            let there = format!("http://{}/last", last.address);
            let middle = Server::start(move |_| vec![Act::Stall(STALL), to(status, &there)]);
            let there = format!("http://{}/middle", middle.address);
            let first = Server::start(move |_| vec![Act::Stall(STALL), to(status, &there)]);
            let mut load = match closed {
                false => open(first.address, steady(12, Span(3 * MS))),
                true => Load::new(first.address, "test", users(3, Span(MS)), Targets::Work),
            };
            (load.redirects, load.keep_records, load.stop) = (2, true, Stop::Requests(12));
            load.headers = vec![("x-sojourn-class".into(), "gold".into())];
            let report = run(load);
            assert_eq!((report.counts.ok, report.counts.redirected, report.bytes), (12, 24, 48));
            for record in report.records.unwrap() {
                assert_eq!((record.status, record.hops), (200, 2));
                assert!(record.done >= record.planned + Span(30 * MS), "all three stalls count: {record:?}");
                assert!(record.sent.unwrap() >= record.begun.unwrap() + Span(20 * MS), "sent last to the last one");
            }
            for server in [&first, &middle, &last] {
                let heads = server.heads();
                assert_eq!(heads.len(), 12);
                for header in ["x-sojourn-client: ", "x-sojourn-demand: 7\r\n", "x-sojourn-class: gold\r\n"] {
                    assert!(heads.iter().all(|head| head.contains(header)), "{header}");
                }
            }
        }
    }
}

/// As browsers and curl do: a token for one host is no other host's to see.
#[test]
fn credentials_stay_with_the_host_that_they_are_for() {
    let target = Server::start(|_| vec![ok("there")]);
    let there = target.address;
    let server = Server::start(move |asked| match path(asked).as_str() {
        "/a/start" => vec![to("302 Found", "/here")],
        _ => vec![to("307 Temporary Redirect", &format!("http://{there}/x"))],
    });
    let mut load = follow(server.address);
    load.headers = [("Authorization", "Bearer {client}"), ("cookie", "id=1"), ("x-trace", "2")]
        .map(|(name, value)| (name.into(), value.into()))
        .to_vec();
    assert_eq!(run(load).counts.ok, 6);
    let tells =
        |head: &String| [head.contains("Authorization: "), head.contains("cookie: "), head.contains("x-trace: ")];
    assert_eq!((server.heads().len(), target.heads().len()), (12, 6));
    assert!(server.heads().iter().all(|head| tells(head) == [true; 3]));
    assert!(target.heads().iter().all(|head| tells(head) == [false, false, true]), "{:?}", target.heads());
}

#[test]
fn a_client_that_keeps_an_address_is_not_taken_to_another_by_the_name() {
    // The name leads each client back to the address that it holds, from there and from elsewhere.
    let middle = Server::start(|_| vec![to("302 Found", "http://www.example/b")]);
    let there = format!("http://{}/", middle.address);
    let servers: Vec<Server> = (0..2)
        .map(|_| {
            let there = there.clone();
            Server::start(move |asked| match path(asked).as_str() {
                "/a" => vec![to("302 Found", &there)],
                "/b" => vec![to("302 Found", "http://www.example/c")],
                _ => vec![ok("x")],
            })
        })
        .collect();
    let addresses: Vec<SocketAddr> = servers.iter().map(|server| server.address).collect();
    let schedule = Schedule::open(steady(20, Span(MS)));
    let load = Load::to(&[Url::parse("http://www.example/a").unwrap()], schedule, Targets::Own);
    let report = run(Load { redirects: 3, keep_records: true, ..load }.rotated(&addresses, Rotation::Client));
    assert_eq!((report.counts.ok, report.counts.redirected), (20, 60));
    for (number, server) in servers.iter().enumerate() {
        let heads = server.heads();
        let own = |head: &String| {
            let client: usize =
                head.lines().find_map(|line| line.strip_prefix("x-sojourn-client: ")?.parse().ok()).unwrap();
            client % 2 == number
        };
        assert!(!heads.is_empty() && heads.iter().all(own));
    }
}

#[test]
fn an_address_that_is_written_out_leads_there_and_not_to_the_clients_own() {
    let first = Server::start(|_| vec![ok("x")]);
    let there = format!("http://{}/b", first.address);
    let second = Server::start(move |_| vec![to("302 Found", &there)]);
    let load = Load { redirects: 1, ..open(first.address, steady(20, Span(MS))) };
    let report = run(load.rotated(&[first.address, second.address], Rotation::Client));
    assert_eq!((report.counts.ok, first.heads().len()), (20, 20));
    let redirected = report.records.unwrap().iter().filter(|record| record.hops == 1).count();
    assert_eq!(redirected, second.heads().len());
    assert!(redirected > 0);
}

#[test]
fn what_leads_nowhere_or_on_and_on_has_failed() {
    let ring = Server::start(|_| vec![to("302 Found", "/again")]);
    let report = run(follow(ring.address));
    assert_eq!((report.counts.redirects, report.counts.ok, report.counts.redirected), (6, 0, 18));
    assert!(report.records.unwrap().iter().all(|record| record.hops == 3));
    assert_eq!(ring.heads().len(), 24, "the first and three more, each");
    for location in ["ftp://example.org/", "http://", "http://h h/"] {
        let server = Server::start(move |_| vec![to("302 Found", location)]);
        assert_eq!(run(follow(server.address)).counts.redirects, 6, "{location}");
    }
    // Where they were not allowed.
    let server = Server::start(|_| vec![to("302 Found", "http://192.0.2.1/")]);
    assert_eq!(run(follow(server.address)).counts.redirects, 6);
    let server = Server::start(|_| vec![reply("302 Found", "", "no location")]);
    assert_eq!(run(follow(server.address)).counts.ok, 6, "a reply like others");
}

/// A port that is taken, and where nothing listens.
fn nowhere() -> (SocketAddr, Socket) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    (socket.local_addr().unwrap().as_socket().unwrap(), socket)
}

#[test]
fn who_is_sent_to_a_dead_server_comes_back_where_that_is_asked_for() {
    let (dead, _taken) = nowhere();
    for http in [Version::Http11, Version::Http10] {
        // Each client is sent there twice, and is served when it comes for the third time.
        let server = Server::start(move |asked| match asked.number % 3 {
            2 => vec![ok("here")],
            _ => vec![to("307 Temporary Redirect", &format!("http://{dead}/there"))],
        });
        let ask = |returns, requests| {
            let (schedule, stop) = (Schedule::saturate(1), Stop::Requests(requests));
            run(Load { http, method: Method::Post, returns, schedule, stop, ..follow(server.address) })
        };
        let refused = ask(false, 3);
        assert_eq!((refused.counts.refused, refused.counts.ok, refused.connections.returned), (2, 1, 0));
        let report = ask(true, 6);
        assert_eq!((report.counts.ok, report.counts.failed(), report.connections.returned), (6, 0, 12));
        for record in report.records.unwrap() {
            assert_eq!((record.status, record.hops), (200, 2));
            assert!(record.done >= record.begun.unwrap() + Span(100 * MS), "at once, then after a while");
        }
        assert!(server.heads().iter().all(|head| head.starts_with("POST /a/start ")), "what was first asked for");
        // Where it was first asked nothing listens: there is nothing to come back to.
        let load = Load { http, returns: true, tries_first: false, ..follow(dead) };
        assert_eq!((run(load).counts.refused, report.connections.lost > 0), (6, true));
    }
}

#[test]
fn the_method_goes_on_as_it_should() {
    for (status, method, then) in [
        ("301 Moved Permanently", Method::Post, "GET"),
        ("302 Found", Method::Put, "PUT"),
        ("303 See Other", Method::Put, "GET"),
        ("303 See Other", Method::Head, "HEAD"),
        ("307 Temporary Redirect", Method::Post, "POST"),
        ("308 Permanent Redirect", Method::Delete, "DELETE"),
    ] {
        let server = Server::start(move |asked| match path(asked).as_str() {
            "/end" if asked.head.starts_with("HEAD") => vec![Act::Send(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec())],
            "/end" => vec![ok("x")],
            _ if asked.head.starts_with("HEAD") => {
                vec![Act::Send(format!("HTTP/1.1 {status}\r\nlocation: /end\r\n\r\n").into_bytes())]
            }
            _ => vec![to(status, "/end")],
        });
        let mut load = follow(server.address);
        load.method = method;
        if method != Method::Head {
            load.body = sojourn_load::Body::Bytes(b"body".to_vec());
        }
        assert_eq!(run(load).counts.ok, 6, "{status} {method:?}");
        let heads = server.heads();
        let last: Vec<&String> = heads.iter().filter(|head| head.contains(" /end ")).collect();
        assert!(last.len() == 6 && last.iter().all(|head| head.starts_with(then)), "{status}: {}", last[0]);
        assert!(then != "GET" || last.iter().all(|head| !head.contains("content-length")));
    }
}

#[test]
fn locations_are_resolved_as_rfc_3986_says() {
    // Section 5.4.1, but for what http does not have.
    let base = Url::parse("http://a/b/c/d;p?q").unwrap();
    for (location, path) in [
        ("g", "/b/c/g"),
        ("./g", "/b/c/g"),
        ("g/", "/b/c/g/"),
        ("/g", "/g"),
        ("?y", "/b/c/d;p?y"),
        ("g?y", "/b/c/g?y"),
        ("#s", "/b/c/d;p?q"),
        ("g#s", "/b/c/g"),
        (";x", "/b/c/;x"),
        ("", "/b/c/d;p?q"),
        (".", "/b/c/"),
        ("..", "/b/"),
        ("../g", "/b/g"),
        ("../..", "/"),
        ("../../../g", "/g"),
        ("g?y/../x", "/b/c/g?y/../x"),
    ] {
        assert_eq!(base.join(location).unwrap().path, path, "{location}");
    }
    let other = base.join("//h:81/x").unwrap();
    assert_eq!((other.host.as_str(), other.port, other.path.as_str()), ("h", 81, "/x"));
    assert_eq!(base.join("https://h/x").unwrap().port, 443);
}
