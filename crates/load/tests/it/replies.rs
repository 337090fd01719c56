//! Replies in every form that HTTP/1.1 has, cut at every byte.

use sojourn_load::reply::{Ended, Fed, Garbage, Reply};

/// What a reply should be read as.
struct Case {
    text: &'static str,
    head_request: bool,
    status: u16,
    bytes: u64,
    keep_alive: bool,
    /// Ends with the connection.
    until_close: bool,
}

const fn case(text: &'static str, status: u16, bytes: u64, keep_alive: bool) -> Case {
    Case { text, head_request: false, status, bytes, keep_alive, until_close: false }
}

fn cases() -> Vec<Case> {
    vec![
        case("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello", 200, 5, true),
        case("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, 0, true),
        case("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi", 200, 2, false),
        case("HTTP/1.1 200 OK\r\nconnection: Upgrade, Close\r\ncontent-length: 2\r\n\r\nhi", 200, 2, false),
        case("HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nhi", 200, 2, false),
        case("HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nhi", 200, 2, true),
        case("HTTP/1.1 204 No Content\r\n\r\n", 204, 0, true),
        case("HTTP/1.1 304 Not Modified\r\ncontent-length: 77\r\n\r\n", 304, 0, true),
        case("HTTP/1.1 503 Busy\r\ncontent-length: 4\r\n\r\nbusy", 503, 4, true),
        case("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx", 200, 1, true),
        case(
            "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n",
            404,
            0,
            true,
        ),
        case("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", 200, 0, true),
        case(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\nA;name=value\r\n0123456789\r\n0\r\n\r\n",
            200,
            15,
            true,
        ),
        case(
            "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n1 \r\n\n\r\n00\r\nsum: 1\r\nmore: 2\r\n\r\n",
            200,
            1,
            true,
        ),
        // Chunked wins over a length (RFC 9112, section 6.3).
        case(
            "HTTP/1.1 200 OK\r\ncontent-length: 9\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
            200,
            1,
            true,
        ),
        case("HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 3\r\n\r\nabc", 200, 3, true),
        Case { head_request: true, ..case("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n", 200, 0, true) },
        Case { until_close: true, ..case("HTTP/1.1 200 OK\r\n\r\nuntil the end", 200, 13, false) },
        Case { until_close: true, ..case("HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\nzip", 200, 3, false) },
    ]
}

fn check(case: &Case, pieces: &[&[u8]], how: &str) {
    let mut reply = Reply::default();
    // A second time on the same connection: nothing of the first may be left.
    for _ in 0..2 {
        reply.expect(case.head_request, false);
        for (number, piece) in pieces.iter().enumerate() {
            let fed = reply.feed(piece).unwrap_or_else(|Garbage| panic!("{how}: garbage in {:?}", case.text));
            let last = number + 1 == pieces.len() && !case.until_close;
            assert_eq!(fed, if last { Fed::Done(piece.len()) } else { Fed::More }, "{how}: {:?}", case.text);
        }
        if case.until_close {
            assert_eq!(reply.end(), Ended::Done, "{how}: {:?}", case.text);
        }
        let found = (reply.status, reply.bytes, reply.keep_alive);
        assert_eq!(found, (case.status, case.bytes, case.keep_alive), "{how}: {:?}", case.text);
    }
}

#[test]
fn every_form_is_read_whole() {
    for case in cases() {
        check(&case, &[case.text.as_bytes()], "whole");
    }
}

#[test]
fn every_form_is_read_when_cut_at_any_byte() {
    for case in cases() {
        let text = case.text.as_bytes();
        for cut in 1..text.len() {
            check(&case, &[&text[..cut], &text[cut..]], &format!("cut at {cut}"));
        }
        let single: Vec<&[u8]> = text.chunks(1).collect();
        check(&case, &single, "byte by byte");
    }
}

#[test]
fn what_follows_a_reply_is_left() {
    let mut reply = Reply::default();
    reply.expect(false, false);
    let text = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";
    assert_eq!(reply.feed(format!("{text}HTTP/1.1").as_bytes()), Ok(Fed::Done(text.len())));
}

#[test]
fn garbage_is_garbage_however_it_is_cut() {
    let garbage = [
        "SSH-2.0-OpenSSH_9.2\r\n",
        "HTTP/1.1 abc OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: five\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nhello\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nxy\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
    ];
    for text in garbage {
        for size in [1, 2, 7, text.len()] {
            let mut reply = Reply::default();
            reply.expect(false, false);
            let found = text.as_bytes().chunks(size).any(|piece| reply.feed(piece).is_err());
            assert!(found, "{text:?} in pieces of {size} was taken for a reply");
        }
    }
}

#[test]
fn a_head_without_end_is_garbage() {
    let mut reply = Reply::default();
    reply.expect(false, false);
    assert_eq!(reply.feed(b"HTTP/1.1 200 OK\r\nx: "), Ok(Fed::More));
    let found = (0..100).any(|_| reply.feed(&[b'a'; 1000]).is_err());
    assert!(found, "a head of 100 kB was held");
}

#[test]
fn an_early_end_is_told_from_none_at_all() {
    let mut reply = Reply::default();
    reply.expect(false, false);
    assert_eq!(reply.end(), Ended::Untouched);
    assert_eq!(reply.feed(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhel"), Ok(Fed::More));
    assert_eq!(reply.end(), Ended::Early);
}
