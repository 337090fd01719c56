//! Requests that are meant to deceive or to exhaust a server, and what is right to answer to each. The gateway and the node
//! answer all of them alike: what one lets pass and the other does not is a way around the one in front.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use sojourn_part::settings::node::NodeSettings;
use sojourn_web::Node;

/// What a client sends on one connection, and what is right.
pub(crate) struct Case {
    pub(crate) bytes: Vec<u8>,
    /// The statuses of all replies until the connection is closed.
    pub(crate) statuses: &'static [u16],
    /// The paths of the requests that are there for all to see.
    pub(crate) whole: &'static [&'static str],
}

const FIRST: &str = "/work/first?iter=1";
const HIDDEN: &str = "/work/hidden?iter=1";
const LAST: &str = "/work/last?iter=1";

const ALL: &[&str] = &[FIRST, HIDDEN, LAST];
const FIRST_AND_LAST: &[&str] = &[FIRST, LAST];
const ONLY_FIRST: &[&str] = &[FIRST];
const NONE: &[&str] = &[];

/// All cases.
pub(crate) fn cases() -> Vec<Case> {
    let mut all = framings();
    all.extend(heads());
    all.extend(hosts());
    all.extend(bombs());
    assert!(all.len() >= 80, "{} cases", all.len());
    all
}

/// The statuses of all replies to these bytes, until the connection is closed.
pub(crate) fn statuses(address: SocketAddr, bytes: &[u8]) -> Vec<u16> {
    let mut stream = TcpStream::connect(address).expect("it accepts");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    // It may close before it has read all.
    let _ = stream.write_all(bytes);
    let mut said = Vec::new();
    if let Err(error) = stream.read_to_end(&mut said) {
        assert_ne!(error.kind(), ErrorKind::WouldBlock, "the connection stays open: {:?}", shown(bytes));
    }
    let text = String::from_utf8_lossy(&said).into_owned();
    // The words of a reply may name the version too.
    text.split("HTTP/1.").skip(1).filter_map(|head| head.get(2..5)?.parse().ok()).collect()
}

/// The beginning of what a client sent.
pub(crate) fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(300)]).into_owned()
}

/// Each has a request hidden in it that one side might see and the other not.
fn framings() -> Vec<Case> {
    let hidden = &format!("GET {HIDDEN} HTTP/1.1\r\nhost: t\r\n\r\n");
    let length = hidden.len();
    let data = format!("{length:x}\r\n{hidden}\r\n0\r\n\r\n");
    let data = data.as_str();
    // The framing that the first request's head names; what follows it; the statuses that are right; and the requests
    // that are there for all to see. The last request asks for the end of the connection.
    let cases: &[(&str, &str, &'static [u16], &'static [&'static str])] = &[
        ("content-length: 0", hidden, &[200, 200, 200], ALL),
        ("content-length: 0\r\ncontent-length: 0", hidden, &[200, 200, 200], ALL),
        ("transfer-encoding: chunked", &format!("0\r\n\r\n{hidden}"), &[200, 200, 200], ALL),
        ("transfer-encoding: chunked", &format!("0\r\nx: y\r\n\r\n{hidden}"), &[200, 200, 200], ALL),
        (&format!("content-length: {length}"), hidden, &[200, 200], FIRST_AND_LAST),
        ("transfer-encoding: chunked", data, &[200, 200], FIRST_AND_LAST),
        (
            "transfer-encoding: chunked",
            &format!("{length:x};a=b\r\n{hidden}\r\n0\r\n\r\n"),
            &[200, 200],
            FIRST_AND_LAST,
        ),
        (
            "transfer-encoding: chunked",
            &format!("000{length:x}\r\n{hidden}\r\n000\r\n\r\n"),
            &[200, 200],
            FIRST_AND_LAST,
        ),
        // Both framings: chunks win, and the connection ends.
        ("content-length: 0\r\ntransfer-encoding: chunked", data, &[200], ONLY_FIRST),
        ("transfer-encoding: chunked\r\ncontent-length: 0", data, &[200], ONLY_FIRST),
        ("transfer-encoding: chunked\r\ncontent-length: 5", &format!("0\r\n\r\n{hidden}"), &[200], ONLY_FIRST),
        ("content-length: 5\r\ntransfer-encoding: chunked", &format!("0\r\n\r\n{hidden}"), &[200], ONLY_FIRST),
        // Codings that are not known, or only once.
        ("transfer-encoding: chunked\r\ntransfer-encoding: chunked", data, &[501], NONE),
        ("transfer-encoding: chunked, chunked", data, &[501], NONE),
        ("transfer-encoding: gzip, chunked", data, &[501], NONE),
        ("transfer-encoding: identity, chunked", data, &[501], NONE),
        ("transfer-encoding: chunked, identity", data, &[400], NONE),
        ("transfer-encoding: identity", data, &[400], NONE),
        ("transfer-encoding: xchunked", data, &[400], NONE),
        ("transfer-encoding: chunked;q=1", data, &[400], NONE),
        ("transfer-encoding: \"chunked\"", data, &[400], NONE),
        ("transfer-encoding:", data, &[400], NONE),
        ("transfer-encoding: \u{b}chunked", data, &[400], NONE),
        ("transfer-encoding : chunked", data, &[400], NONE),
        ("transfer-encoding:\r\n chunked", data, &[400], NONE),
        ("x: y\r\n transfer-encoding: chunked", data, &[400], NONE),
        ("transfer-encoding\0: chunked", data, &[400], NONE),
        ("transfer\u{a0}encoding: chunked", data, &[400], NONE),
        // Lengths that are none.
        ("content-length: 0\r\ncontent-length: 9", hidden, &[400], NONE),
        ("content-length: 0, 9", hidden, &[400], NONE),
        ("content-length: +0", hidden, &[400], NONE),
        ("content-length: -1", hidden, &[400], NONE),
        ("content-length: 0x0", hidden, &[400], NONE),
        ("content-length: 0.0", hidden, &[400], NONE),
        ("content-length: 0 0", hidden, &[400], NONE),
        ("content-length: \u{0660}", hidden, &[400], NONE),
        ("content-length: 18446744073709551616", hidden, &[400], NONE),
        ("content-length: ", hidden, &[400], NONE),
        ("content-length : 0", hidden, &[400], NONE),
        ("content-length\t: 0", hidden, &[400], NONE),
        ("content-length: 0\rx: y", hidden, &[400], NONE),
        ("content-length: 0\0", hidden, &[400], NONE),
        // Chunks that are none: a gateway has sent the head on by then, but the backend never gets a whole request.
        ("transfer-encoding: chunked", &format!("{length:x}\n{hidden}\n0\n\n"), &[400], NONE),
        ("transfer-encoding: chunked", &format!("-1\r\n{hidden}\r\n0\r\n\r\n"), &[400], NONE),
        ("transfer-encoding: chunked", &format!("+{length:x}\r\n{hidden}\r\n0\r\n\r\n"), &[400], NONE),
        ("transfer-encoding: chunked", &format!("0x{length:x}\r\n{hidden}\r\n0\r\n\r\n"), &[400], NONE),
        ("transfer-encoding: chunked", &format!("{length:x} 1\r\n{hidden}\r\n0\r\n\r\n"), &[400], NONE),
        ("transfer-encoding: chunked", &format!("\r\n{hidden}\r\n0\r\n\r\n"), &[400], NONE),
        ("transfer-encoding: chunked", &format!("10000000000000000\r\n{hidden}\r\n0\r\n\r\n"), &[400], NONE),
        ("transfer-encoding: chunked", &format!("1\r\nab\r\n0\r\n\r\n{hidden}"), &[400], NONE),
        ("transfer-encoding: chunked", &format!("1\r\na0\r\n\r\n{hidden}"), &[400], NONE),
        ("transfer-encoding: chunked", &format!("1;a\nb\r\na\r\n0\r\n\r\n{hidden}"), &[400], NONE),
    ];
    let case = |&(framing, rest, statuses, whole): &(&str, &str, &'static [u16], &'static [&'static str])| Case {
        bytes: format!(
            "POST {FIRST} HTTP/1.1\r\nhost: t\r\n{framing}\r\n\r\n{rest}\
             GET {LAST} HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n"
        )
        .into_bytes(),
        statuses,
        whole,
    };
    cases.iter().map(case).collect()
}

/// Heads that are none.
fn heads() -> Vec<Case> {
    let target = FIRST;
    let refused = [
        "GET / HTTP/1.1\r\nhost: t\r\nno colon\r\n\r\n".to_string(),
        "GET / HTTP/1.1\r\nhost: t\r\n: no name\r\n\r\n".into(),
        "GET / HTTP/1.1\r\nhost: t\r\nspa ce: x\r\n\r\n".into(),
        "GET / HTTP/1.1\r\nhost: t\r\nname: a\0b\r\n\r\n".into(),
        "GET / HTTP/1.1\r\nhost: t\r\nname: a\rb\r\n\r\n".into(),
        "GET / HTTP/1.1\r\nhost: t\r\nname: a\u{1}b\r\n\r\n".into(),
        "GET / HTTP/1.1\r\nhost: t\r\nn\u{e4}me: a\r\n\r\n".into(),
        "GET / HTTP/1.1\r\nhost: t\r\nn(a)me: a\r\n\r\n".into(),
        "GET / HTTP/1.1\r\n host: t\r\n\r\n".into(),
        "GET / HTTP/1.1\r\n\thost: t\r\n\r\n".into(),
        "GET / HTTP/1.1\r\nhost: t\r\nname: a\r\n folded\r\n\r\n".into(),
        format!("GET {target}\r\nhost: t\r\n\r\n"),
        "GET\r\n\r\n".into(),
        format!("GET {target} HTTP/1.1 x\r\nhost: t\r\n\r\n"),
        format!("GET {target} HTTP/9.9\r\nhost: t\r\n\r\n"),
        format!("GET {target} HTTP/1.10\r\nhost: t\r\n\r\n"),
        format!("GET {target} http/1.1\r\nhost: t\r\n\r\n"),
        format!("GET {target} HTTP/0.9\r\nhost: t\r\n\r\n"),
        format!("GET {target} ICY\r\nhost: t\r\n\r\n"),
        format!("G\u{e4}T {target} HTTP/1.1\r\nhost: t\r\n\r\n"),
        format!("G(T) {target} HTTP/1.1\r\nhost: t\r\n\r\n"),
        format!(" GET {target} HTTP/1.1\r\nhost: t\r\n\r\n"),
        "GET /a b HTTP/1.1\r\nhost: t\r\n\r\n".into(),
        "GET /a\u{1}b HTTP/1.1\r\nhost: t\r\n\r\n".into(),
        "GET /a\0b HTTP/1.1\r\nhost: t\r\n\r\n".into(),
        "GET /a\tb HTTP/1.1\r\nhost: t\r\n\r\n".into(),
        "GET  HTTP/1.1\r\nhost: t\r\n\r\n".into(),
        "GET work HTTP/1.1\r\nhost: t\r\n\r\n".into(),
        "GET ?iter=1 HTTP/1.1\r\nhost: t\r\n\r\n".into(),
        "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}\u{fc}\u{3}\u{3}".into(),
        "SSH-2.0-OpenSSH_9.2\r\n\r\n".into(),
        "{\"json\": true}\r\n\r\n".into(),
    ];
    refused.into_iter().map(|text| refused_with(400, text)).collect()
}

/// Requests that are for no host, or for several.
fn hosts() -> Vec<Case> {
    let refused = [
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: a\r\nhost: a\r\n\r\n",
        "GET / HTTP/1.0\r\nhost: a\r\nhost: b\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: a/b\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: user@a\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: a b\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: a,b\r\nhost: c\r\n\r\n",
        "GET http://user@a/ HTTP/1.1\r\nhost: a\r\n\r\n",
        "GET ftp://a/ HTTP/1.1\r\nhost: a\r\n\r\n",
        "GET a:80 HTTP/1.1\r\nhost: a\r\n\r\n",
        "GET * HTTP/1.1\r\nhost: a\r\n\r\n",
        "GET http://b/ HTTP/1.1\r\n\r\n",
    ];
    refused.into_iter().map(|text| refused_with(400, text.into())).collect()
}

/// Heads that are too large.
fn bombs() -> Vec<Case> {
    let many = |count: usize| "a: b\r\n".repeat(count);
    let long = "x".repeat(1 << 20);
    let head = |lines: &str| format!("GET {FIRST} HTTP/1.1\r\nhost: t\r\n{lines}\r\n");
    vec![
        refused_with(431, head(&many(1000))),
        refused_with(431, head(&format!("cookie: {long}\r\n"))),
        refused_with(431, head(&format!("{long}: x\r\n"))),
        refused_with(431, head(&format!("x: {}\r\n", "y".repeat(60_000)).repeat(20))),
        // A target counts as a part of the head.
        refused_with(431, format!("GET /{} HTTP/1.1\r\nhost: t\r\n\r\n", "x".repeat(100_000))),
        refused_with(431, format!("GET /?{} HTTP/1.1\r\nhost: t\r\n\r\n", "x".repeat(100_000))),
    ]
}

fn refused_with(status: u16, text: String) -> Case {
    let statuses: &'static [u16] = match status {
        400 => &[400],
        _ => &[431],
    };
    Case { bytes: text.into_bytes(), statuses, whole: NONE }
}

#[test]
fn a_node_answers_them_as_is_right() {
    let node = Node::start(NodeSettings::new("n")).expect("a node starts");
    let mut wrong = Vec::new();
    for Case { bytes, statuses: right, .. } in cases() {
        let said = statuses(node.address(), &bytes);
        if said != right {
            wrong.push(format!("{said:?} in place of {right:?}: {:?}", shown(&bytes)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // None of them has spoilt what came after.
    assert_eq!(statuses(node.address(), b"GET /bytes/1 HTTP/1.0\r\n\r\n"), [200]);
    assert_eq!(node.stop().in_flight, 0);
}
