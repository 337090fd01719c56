//! Where a message ends and for which host it is: what the gateway passes on has one reading (RFC 9112).

use std::io::Write;

use sojourn_web::Gateway;

use crate::http_cases::{Case, cases, shown, statuses};
use crate::support::{Client, Got, Origin, Reply, backends, gateway, ok};
use sojourn_part::settings::gateway::{Forward, GatewaySettings};

fn before(origin: &Origin) -> Gateway {
    gateway(GatewaySettings::new("round-robin", backends(&[origin.address])))
}

/// The reply to these bytes.
#[track_caller]
fn say(gateway: &Gateway, bytes: &str) -> Reply {
    let mut client = Client::new(gateway.address());
    client.send(bytes);
    client.reply(!bytes.starts_with("HEAD ")).unwrap_or_else(|| panic!("no reply to {bytes:?}"))
}

#[test]
fn a_request_is_for_one_host() {
    let origin = Origin::new(|_, stream| ok(stream, "ok"));
    let gateway = before(&origin);
    for (right, host, line) in [
        ("GET /x HTTP/1.1\r\nhost: a:81\r\n\r\n", "a:81", "GET /x HTTP/1.1"),
        ("GET /x HTTP/1.1\r\nhost: [::1]:80\r\n\r\n", "[::1]:80", "GET /x HTTP/1.1"),
        ("GET /x HTTP/1.1\r\nhost:\r\n\r\n", "", "GET /x HTTP/1.1"),
        // Another connection's header it may be, but not what says where the request goes.
        ("GET /x HTTP/1.1\r\nconnection: host\r\nhost: a\r\n\r\n", "a", "GET /x HTTP/1.1"),
        // The target overrules the line, for the backend too.
        ("GET http://b/x?y HTTP/1.1\r\nhost: a\r\n\r\n", "b", "GET /x?y HTTP/1.1"),
        ("GET http://b:82 HTTP/1.1\r\nhost: b:82\r\n\r\n", "b:82", "GET / HTTP/1.1"),
        ("GET http://b?y HTTP/1.1\r\nhost: b\r\n\r\n", "b", "GET /?y HTTP/1.1"),
        ("OPTIONS * HTTP/1.1\r\nhost: a\r\n\r\n", "a", "OPTIONS * HTTP/1.1"),
        ("OPTIONS http://b:82/x HTTP/1.1\r\nhost: a\r\n\r\n", "b:82", "OPTIONS /x HTTP/1.1"),
        ("OPTIONS http://b/ HTTP/1.1\r\nhost: a\r\n\r\n", "b", "OPTIONS / HTTP/1.1"),
        ("OPTIONS http://b?y HTTP/1.1\r\nhost: a\r\n\r\n", "b", "OPTIONS /?y HTTP/1.1"),
    ] {
        assert_eq!(say(&gateway, right).status, 200, "{right:?}");
        let got = origin.last();
        let hosts: Vec<_> = got.headers.iter().filter(|(name, _)| name == "host").collect();
        assert_eq!((hosts.len(), got.header("host"), got.line.as_str()), (1, Some(host), line), "{right:?}");
    }
    let counts = gateway.stop();
    assert_eq!((counts.requests, counts.refused, counts.backends[0].completed), (11, 0, 11), "{counts:?}");
}

#[test]
fn all_lines_of_forwarded_for_are_kept_in_order() {
    let origin = Origin::new(|_, stream| ok(stream, "ok"));
    let gateway = before(&origin);
    let lines = "x-forwarded-for: 10.0.0.1\r\nx-forwarded-for: 10.0.0.2, 10.0.0.3\r\nx-forwarded-for: 10.0.0.4\r\n";
    assert_eq!(Client::new(gateway.address()).ask("GET", "/", lines).status, 200);
    let got = origin.last();
    let chain: Vec<_> = got.headers.iter().filter(|(name, _)| name == "x-forwarded-for").collect();
    assert_eq!(chain.len(), 1);
    assert_eq!(chain[0].1, "10.0.0.1, 10.0.0.2, 10.0.0.3, 10.0.0.4, 127.0.0.1");
}

#[test]
fn every_method_keeps_its_body() {
    let origin = Origin::new(|_, stream| ok(stream, "ok"));
    let gateway = before(&origin);
    let mut client = Client::new(gateway.address());
    for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"] {
        for framing in [
            "transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n",
            "transfer-encoding: Chunked\r\n\r\n7\r\nabcdefg\r\n0\r\n\r\n",
            "content-length: 7\r\n\r\nabcdefg",
            "connection: content-length\r\ncontent-length: 7\r\n\r\nabcdefg",
        ] {
            client.send(&format!("{method} /x HTTP/1.1\r\nhost: t\r\n{framing}"));
            let reply = client.reply(method != "HEAD").expect("a reply");
            let Got { line, body, .. } = origin.last();
            assert_eq!((reply.status, line), (200, format!("{method} /x HTTP/1.1")), "{framing:?}");
            assert_eq!(String::from_utf8_lossy(&body), "abcdefg", "{method} {framing:?}");
        }
    }
    // Nothing of a body was taken for a request.
    assert_eq!((origin.requests(), gateway.stop().requests), (28, 28));
}

/// The backend gets whole requests, and what it gets is what was answered.
#[test]
fn a_gateway_answers_hostile_requests_as_is_right() {
    let origin = Origin::new(|_, stream| ok(stream, "ok"));
    let gateway = before(&origin);
    let mut wrong = Vec::new();
    for Case { bytes, statuses: right, whole } in cases() {
        let seen = origin.requests();
        let said = statuses(gateway.address(), &bytes);
        let got = origin.got.lock().expect("no panic");
        let paths: Vec<_> = got[seen..].iter().map(|got| got.line.split(' ').nth(1).unwrap_or("")).collect();
        if said != right || paths != *whole {
            wrong.push(format!("{said:?} {paths:?} in place of {right:?} {whole:?}: {:?}", shown(&bytes)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // None of them has spoilt what came after, on whatever connection to the backend.
    for _ in 0..20 {
        assert_eq!(Client::new(gateway.address()).get("/after").text(), "ok");
        assert_eq!(origin.last().line, "GET /after HTTP/1.1");
    }
    let counts = gateway.stop();
    assert!(counts.backends[0].up && counts.backends[0].failed == 0, "{counts:?}");
    assert!(counts.refused >= 17, "what hyper lets pass is refused and counted: {counts:?}");
}

#[test]
fn a_reply_ends_where_its_backend_says_and_is_said_once() {
    // The reply to GET and to HEAD: status, body, the length that is said.
    let cases: &[(&str, u16, &str)] = &[
        ("content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n8\r\n12345678\r\n0\r\n\r\n", 200, "12345678"),
        ("transfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n8\r\n12345678\r\n0\r\n\r\n", 200, "12345678"),
        ("transfer-encoding: chunked\r\ncontent-length: 30\r\n\r\n8\r\n12345678\r\n0\r\n\r\n", 200, "12345678"),
        ("content-length: 8\r\ncontent-length: 8\r\n\r\n12345678", 200, "12345678"),
        ("content-length: 8, 8\r\n\r\n12345678", 200, "12345678"),
        ("content-length: 8\r\ncontent-length: 3\r\n\r\n12345678", 502, ""),
        ("content-length: 8, 3\r\n\r\n12345678", 502, ""),
        ("content-length: eight\r\n\r\n12345678", 502, ""),
        ("transfer-encoding: gzip, chunked\r\n\r\n8\r\n12345678\r\n0\r\n\r\n", 502, ""),
        ("transfer-encoding: gzip\r\n\r\n12345678", 502, ""),
        ("transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n8\r\n12345678\r\n0\r\n\r\n", 502, ""),
    ];
    for (reply, status, body) in cases {
        let origin = Origin::new(move |_, stream| {
            let _ = stream.write_all(format!("HTTP/1.1 200 OK\r\n{reply}").as_bytes());
            false
        });
        let gateway = before(&origin);
        let mut client = Client::new(gateway.address());
        let got = client.get("/");
        assert_eq!((got.status, got.whole), (*status, true), "{reply:?}: {}", got.text());
        if *status == 200 {
            assert_eq!(got.text(), *body, "{reply:?}");
            let lengths = got.headers.iter().filter(|(name, _)| name == "content-length").count();
            let codings = got.headers.iter().filter(|(name, _)| name == "transfer-encoding").count();
            assert_eq!(lengths + codings, 1, "{reply:?}: {:?}", got.headers);
        } else {
            assert_eq!(got.backend(), "s1", "{reply:?}");
        }
        let failed = gateway.stop().backends[0].failed;
        assert_eq!(failed > 0, *status == 502, "{reply:?}");
    }
}

#[test]
fn an_upgrade_that_was_not_asked_for_is_no_reply() {
    let origin = Origin::new(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n");
        true
    });
    let gateway = before(&origin);
    let asked = Client::new(gateway.address()).ask("GET", "/", "upgrade: x\r\nconnection: upgrade\r\n");
    assert_eq!((asked.status, gateway.stop().broken), (502, 1));
}

/// RFC 9110, 15.2: what comes before the reply is passed on at once, to a client that knows of it, without what concerns the
/// backend's connection. Whether a client may send its body the gateway says itself.
#[test]
fn interim_replies_come_before_the_reply() {
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let origin = Origin::new(move |_, stream| {
        let hints = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a.css>; rel=preload\r\n\
                     connection: x-hop\r\nx-hop: 1\r\ntransfer-encoding: chunked\r\n\r\n";
        let _ = stream.write_all(hints.as_bytes());
        let _ = wait.lock().expect("no panic").recv();
        let _ = stream.write_all(b"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </b.css>\r\n\r\n");
        ok(stream, "whole")
    });
    let gateway = before(&origin);
    let mut client = Client::new(gateway.address());
    for _ in 0..3 {
        client.send("GET / HTTP/1.1\r\nhost: t\r\n\r\n");
        let link = |text: &str| vec![("link".to_owned(), text.to_owned())];
        assert_eq!(client.head(), Some((103, link("</a.css>; rel=preload"))), "while the reply is still being made");
        go.send(()).expect("the origin waits");
        assert_eq!(client.head(), Some((102, Vec::new())));
        assert_eq!(client.head(), Some((103, link("</b.css>"))));
        let reply = client.reply(true).expect("a reply");
        assert_eq!((reply.status, reply.text().as_str(), reply.whole), (200, "whole", true));
    }
    // A client that does not know of interim replies gets the reply alone, one that asks whether to send is told so once.
    (0..2).for_each(|_| go.send(()).expect("the origin is there"));
    let mut old = Client::new(gateway.address());
    old.send("GET /old HTTP/1.0\r\n\r\n");
    assert_eq!(old.head().expect("a reply").0, 200);
    client.send("POST / HTTP/1.1\r\nhost: t\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n");
    let mut statuses = vec![client.head().expect("an interim reply").0];
    client.send("hi");
    while *statuses.last().expect("there is one") != 200 {
        statuses.push(client.head().expect("a reply").0);
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [100, 102, 103, 103, 200]);
    assert_eq!(gateway.stop().failed, 0);
}

/// What others put into a request on its way, such as a proxy's password, TRACE would show its client.
#[test]
fn trace_is_passed_on_only_where_that_is_asked_for() {
    let origin = Origin::new(|_, stream| ok(stream, "seen"));
    let trace = |gateway: &Gateway| Client::new(gateway.address()).ask("TRACE", "/", "").status;
    let usual = before(&origin);
    assert_eq!((trace(&usual), origin.requests(), usual.counts().refused), (405, 0, 1));
    let face = Forward { trace: true, ..Forward::default() };
    let asked = gateway(GatewaySettings { face, ..GatewaySettings::new("round-robin", backends(&[origin.address])) });
    assert_eq!((trace(&asked), origin.last().line.as_str()), (200, "TRACE / HTTP/1.1"));
}
