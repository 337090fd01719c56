//! Where a message ends and for which host it is: what the gateway passes on has one reading (RFC 9112).

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use sojourn_serve::{Gateway, GatewayConfig, Node, NodeConfig};

use crate::support::{Client, Got, Origin, Reply, backends, gateway, ok};

fn before(origin: &Origin) -> Gateway {
    gateway(GatewayConfig::new("round-robin", backends(&[origin.address])))
}

/// The reply to these bytes.
#[track_caller]
fn say(gateway: &Gateway, bytes: &str) -> Reply {
    let mut client = Client::new(gateway.address());
    client.send(bytes);
    client.reply(!bytes.starts_with("HEAD ")).unwrap_or_else(|| panic!("no reply to {bytes:?}"))
}

/// The statuses of all replies to these bytes, until the gateway closes the connection.
fn statuses(gateway: &Gateway, bytes: &str) -> Vec<u16> {
    let mut stream = TcpStream::connect(gateway.address()).expect("it accepts");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    // It may close before it has read all.
    let _ = stream.write_all(bytes.as_bytes());
    let mut said = Vec::new();
    if let Err(error) = stream.read_to_end(&mut said) {
        assert_ne!(error.kind(), ErrorKind::WouldBlock, "the connection stays open: {bytes:?}");
    }
    let text = String::from_utf8_lossy(&said).into_owned();
    text.split("HTTP/1.1 ").skip(1).map(|head| head[..3].parse().expect("a status")).collect()
}

#[test]
fn a_request_is_for_one_host() {
    let origin = Origin::new(|_, stream| ok(stream, "ok"));
    let gateway = before(&origin);
    for wrong in [
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: a\r\nhost: a\r\n\r\n",
        "GET / HTTP/1.0\r\nhost: a\r\nhost: b\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: a/b\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: user@a\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: a b\r\n\r\n",
        "GET http://user@a/ HTTP/1.1\r\nhost: a\r\n\r\n",
        "GET ftp://a/ HTTP/1.1\r\nhost: a\r\n\r\n",
        "GET a:80 HTTP/1.1\r\nhost: a\r\n\r\n",
        "GET * HTTP/1.1\r\nhost: a\r\n\r\n",
        "GET http://b/ HTTP/1.1\r\n\r\n",
    ] {
        let reply = say(&gateway, wrong);
        assert_eq!(reply.status, 400, "{wrong:?}: {}", reply.text());
    }
    assert_eq!(origin.requests(), 0);
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
    assert_eq!((counts.requests, counts.refused, counts.backends[0].completed), (23, 12, 11), "{counts:?}");
}

#[test]
fn a_node_reads_hosts_as_the_gateway_does() {
    let node = Node::start(NodeConfig::new("n")).expect("a node starts");
    for (request, status) in [
        ("GET /bytes/1 HTTP/1.1\r\n\r\n", 400),
        ("GET /bytes/1 HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n", 400),
        ("GET http://b/bytes/1 HTTP/1.1\r\nhost: a\r\n\r\n", 200),
        ("GET /bytes/1 HTTP/1.0\r\n\r\n", 200),
    ] {
        let mut client = Client::new(node.address());
        client.send(request);
        assert_eq!(client.head().expect("a reply").0, status, "{request:?}");
    }
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

/// Each has a request hidden in it that one side might see and the other not. The backend gets whole messages, and what
/// it gets is what was answered.
#[test]
fn no_request_hides_in_another() {
    let origin = Origin::new(|_, stream| ok(stream, "ok"));
    let gateway = before(&origin);
    let hidden = "GET /hidden HTTP/1.1\r\nhost: t\r\n\r\n";
    let length = hidden.len();
    let data = format!("{length:x}\r\n{hidden}\r\n0\r\n\r\n");
    // The framing that the first request's head names; what follows it; the statuses that are right; and the requests
    // that are there for all to see. The last request asks for the end of the connection.
    let (first, all) = (&["/first"][..], &["/first", "/hidden", "/last"][..]);
    let (first_and_last, last) = (&["/first", "/last"][..], &["/last"][..]);
    let none = &[][..];
    let cases: &[(&str, &str, &[u16], &[&str])] = &[
        ("content-length: 0", hidden, &[200, 200, 200], all),
        ("content-length: 0\r\ncontent-length: 0", hidden, &[200, 200, 200], all),
        ("transfer-encoding: chunked", &format!("0\r\n\r\n{hidden}"), &[200, 200, 200], all),
        ("transfer-encoding: chunked", &format!("0\r\nx: y\r\n\r\n{hidden}"), &[200, 200, 200], all),
        (&format!("content-length: {length}"), hidden, &[200, 200], first_and_last),
        ("transfer-encoding: chunked", &data, &[200, 200], first_and_last),
        (
            "transfer-encoding: chunked",
            &format!("{length:x};a=b\r\n{hidden}\r\n0\r\n\r\n"),
            &[200, 200],
            first_and_last,
        ),
        // Both framings: chunks win, and the connection ends.
        ("content-length: 0\r\ntransfer-encoding: chunked", &data, &[200], first),
        ("transfer-encoding: chunked\r\ncontent-length: 0", &data, &[200], first),
        ("transfer-encoding: chunked\r\ncontent-length: 5", &format!("0\r\n\r\n{hidden}"), &[200], first),
        ("content-length: 5\r\ntransfer-encoding: chunked", &format!("0\r\n\r\n{hidden}"), &[200], first),
        // Codings that the gateway does not know, or knows only once.
        ("transfer-encoding: chunked\r\ntransfer-encoding: chunked", &data, &[501, 200], last),
        ("transfer-encoding: chunked, chunked", &data, &[501, 200], last),
        ("transfer-encoding: gzip, chunked", &data, &[501, 200], last),
        ("transfer-encoding: identity, chunked", &data, &[501, 200], last),
        ("transfer-encoding: chunked, identity", &data, &[400], none),
        ("transfer-encoding: xchunked", &data, &[400], none),
        ("transfer-encoding: chunked;q=1", &data, &[400], none),
        ("transfer-encoding: \u{b}chunked", &data, &[400], none),
        ("transfer-encoding : chunked", &data, &[400], none),
        ("transfer-encoding:\r\n chunked", &data, &[400], none),
        ("x: y\r\n transfer-encoding: chunked", &data, &[400], none),
        // Lengths that are none.
        ("content-length: 0\r\ncontent-length: 9", hidden, &[400], none),
        ("content-length: 0, 9", hidden, &[400], none),
        ("content-length: +0", hidden, &[400], none),
        ("content-length: -1", hidden, &[400], none),
        ("content-length: 0x0", hidden, &[400], none),
        ("content-length: 18446744073709551616", hidden, &[400], none),
        ("content-length: ", hidden, &[400], none),
        ("content-length : 0", hidden, &[400], none),
        ("content-length: 0\rx: y", hidden, &[400], none),
        // Chunks that are none: the head has gone on by then, but the backend never gets a whole request.
        ("transfer-encoding: chunked", &format!("{length:x}\n{hidden}\n0\n\n"), &[400], none),
        ("transfer-encoding: chunked", &format!("-1\r\n{hidden}\r\n0\r\n\r\n"), &[400], none),
        ("transfer-encoding: chunked", &format!("10000000000000000\r\n{hidden}\r\n0\r\n\r\n"), &[400], none),
        ("transfer-encoding: chunked", &format!("1\r\nab\r\n0\r\n\r\n{hidden}"), &[400], none),
        ("transfer-encoding: chunked", &format!("1\r\na0\r\n\r\n{hidden}"), &[400], none),
    ];
    for (framing, rest, right, whole) in cases {
        let seen = origin.requests();
        let bytes = format!(
            "POST /first HTTP/1.1\r\nhost: t\r\n{framing}\r\n\r\n{rest}\
             GET /last HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n"
        );
        assert_eq!(statuses(&gateway, &bytes), *right, "{framing:?} {rest:?}");
        let got = origin.got.lock().expect("no panic");
        let paths: Vec<_> = got[seen..].iter().map(|got| got.line.split(' ').nth(1).unwrap_or("")).collect();
        assert_eq!(paths, *whole, "{framing:?} {rest:?}");
    }
    // None of them has spoilt what came after, on whatever connection to the backend.
    for _ in 0..20 {
        assert_eq!(Client::new(gateway.address()).get("/after").text(), "ok");
        assert_eq!(origin.last().line, "GET /after HTTP/1.1");
    }
    let counts = gateway.stop();
    assert!(counts.backends[0].up && counts.backends[0].failed == 0, "{counts:?}");
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
