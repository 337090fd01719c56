//! A node with TLS: versions, certificates by name, what is refused, and handshakes that fail.

mod http2;

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;
use sojourn_part::certificate::CertificateFiles;
use sojourn_part::now;
use sojourn_part::settings::node::{NodeLimits, NodeSettings};
use sojourn_web::Node;

use crate::secure::{DAY_S, Http2, certificate, connect, get_secure, secure_node, trusting, valid, with_versions};
use crate::support::{Lines, get, ms, until};

#[test]
fn both_versions_of_tls_and_both_of_http() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = valid(folder.path(), "a", &["a.test"]);
    let node = Node::start(secure_node(vec![files.clone()])).expect("a node starts");
    let secure = node.tls_addresses()[0];
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let old = with_versions(&[&files], &["http/1.1"], &[version]);
        let reply = get_secure(secure, &old, "a.test", "/bytes/5").expect("a reply");
        assert!(reply.starts_with("HTTP/1.1 200 OK\r\n") && reply.ends_with("\r\n\r\nxxxxx"), "{reply}");
        let new = with_versions(&[&files], &["h2", "http/1.1"], &[version]);
        let mut client = Http2::connect(secure, &new);
        for size in [0, 1, 100_000] {
            let reply = client.get(&format!("/bytes/{size}")).expect("a reply");
            assert_eq!((reply.status, reply.body.len()), (200, size));
        }
    }
    // A client that offers nothing speaks HTTP/1.1.
    let reply = get_secure(secure, &trusting(&[&files], &[]), "a.test", "/bytes/1").expect("a reply");
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    // The other address goes on without TLS.
    assert_eq!(get(node.address(), "/bytes/7").body.len(), 7);
    assert_eq!(node.counts().connections.handshakes, 5);
}

#[test]
fn a_certificate_is_chosen_by_the_name_that_is_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let all = [
        valid(folder.path(), "first", &["first.test"]),
        valid(folder.path(), "second", &["second.test", "Third.test"]),
        valid(folder.path(), "wild", &["*.many.test"]),
    ];
    let node = Node::start(secure_node(all.to_vec())).expect("a node starts");
    let secure = node.tls_addresses()[0];
    // Who trusts one certificate only, and its name, sees whether it is that one.
    for (name, of) in [("first.test", 0), ("second.test", 1), ("third.test", 1), ("a.many.test", 2), ("b.many.test", 2)]
    {
        for (index, files) in all.iter().enumerate() {
            let reply = get_secure(secure, &trusting(&[files], &[]), name, "/bytes/1");
            assert_eq!(reply.is_ok(), index == of, "{name} with certificate {index}: {reply:?}");
        }
    }
    // A name of none gets the first one, which the client then refuses: it is for first.test.
    let error = get_secure(secure, &trusting(&[&all[0]], &[]), "none.test", "/").expect_err("it is for another");
    assert!(error.to_string().contains("first.test"), "{error}");
    // A wildcard stands for one label.
    assert!(get_secure(secure, &trusting(&[&all[2]], &[]), "a.b.many.test", "/").is_err());
}

fn refusal(certificates: Vec<CertificateFiles>) -> String {
    Node::start(secure_node(certificates)).err().expect("it cannot start").to_string()
}

#[test]
fn what_cannot_be_used_is_refused_in_a_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let good = valid(path, "good", &["a.test"]);
    let ended = certificate(path, "ended", &["a.test"], (-9 * DAY_S, -1));
    let later = certificate(path, "later", &["a.test"], (DAY_S, 9 * DAY_S));
    let other = valid(path, "other", &["a.test"]);
    std::fs::write(path.join("text"), "hello\n").expect("a file");
    std::fs::write(path.join("cut"), "-----BEGIN CERTIFICATE-----\nMIIB\n").expect("a file");
    let chain = |name: &str| CertificateFiles { chain: path.join(name), key: good.key.clone() };
    let key = |name: &str| CertificateFiles { chain: good.chain.clone(), key: path.join(name) };
    for (certificates, file, needle) in [
        (vec![ended], "ended.pem", "it ended at"),
        (vec![later], "later.pem", "not valid before"),
        (vec![key("other.key")], "other.key", "it is not the key of"),
        (vec![chain("none.pem")], "none.pem", "it cannot be read"),
        (vec![chain("text")], "text", "-----BEGIN CERTIFICATE-----"),
        (vec![chain("cut")], "cut", "not PEM"),
        (vec![chain("good.key")], "good.key", "no certificate in it"),
        (vec![key("none.key")], "none.key", "it cannot be read"),
        (vec![key("text")], "text", "no private key in it"),
        (vec![good.clone(), other], "other.pem", "it is for a.test, as"),
    ] {
        let said = refusal(certificates);
        assert!(said.contains(needle) && said.contains(file) && said.lines().count() == 1, "{needle}: {said}");
    }
    Node::start(secure_node(vec![good])).expect("a good one is taken");
}

#[test]
fn a_certificate_that_ends_soon_is_told_of() {
    let folder = tempfile::tempdir().expect("a folder");
    let warned = |days: i64| {
        let files = certificate(folder.path(), "a", &["a.test"], (-DAY_S, days * DAY_S + 3600));
        let lines = Lines::default();
        let node = Node::start_with(secure_node(vec![files]), sojourn_bed::Events::to(lines.clone()));
        let node = node.expect("a node starts");
        if days < 14 {
            until("it is told", || lines.text().lines().count() == 1);
        }
        drop(node);
        lines.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect::<Vec<Value>>()
    };
    let said = warned(13);
    assert_eq!((&said[0]["event"], &said[0]["days"]), (&"certificate_ends_soon".into(), &13.into()), "{said:?}");
    assert_eq!(said[0]["names"][0], "a.test");
    assert_eq!(warned(14), Vec::<Value>::new());
}

#[test]
fn a_handshake_that_fails_or_lasts_ends_its_connection_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = valid(folder.path(), "a", &["a.test"]);
    let limits = NodeLimits { handshake_timeout: ms(200), ..NodeLimits::default() };
    let node = Node::start(NodeSettings { limits, ..secure_node(vec![files.clone()]) }).expect("a node starts");
    let secure = node.tls_addresses()[0];
    let config = trusting(&[&files], &[]);
    let before = now();
    let mut silent = TcpStream::connect(secure).expect("it accepts");
    silent.set_read_timeout(Some(ms(10_000).as_std())).expect("a timeout");
    let mut plain = TcpStream::connect(secure).expect("it accepts");
    plain.write_all(b"GET / HTTP/1.1\r\nhost: a.test\r\n\r\n").expect("it is sent");
    let mut said = Vec::new();
    let _ = plain.read_to_end(&mut said);
    assert!(!said.starts_with(b"HTTP"), "no plain answer");
    assert!(get_secure(secure, &config, "a.test", "/bytes/1").is_ok(), "others are served meanwhile");
    assert!(matches!(silent.read(&mut [0; 64]), Ok(0)), "it is closed");
    assert!(now() - before >= ms(200), "and not before its time");
    until("all are counted", || {
        let of = node.counts().connections;
        (of.handshakes, of.handshakes_failed, of.handshakes_late) == (1, 1, 1)
    });
    // A client that has the handshake behind it may be idle for longer.
    let mut slow = connect(secure, &config, "a.test").expect("a handshake");
    let start = now();
    until("longer than a handshake may take", || now() - start > ms(300));
    write!(slow, "GET /bytes/3 HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\n\r\n").expect("it is sent");
    let mut reply = String::new();
    slow.read_to_string(&mut reply).expect("a reply");
    assert!(reply.ends_with("\r\n\r\nxxx"), "{reply}");
}
