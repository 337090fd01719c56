//! The head of a connection's first request, as far as a policy reads it (RFC 9112).
//!
//! What the switch cannot read it refuses, and does not guess: a server that reads it in another way than the switch would be
//! chosen by one path and serve another.

use hyper::Uri;
use hyper::http::uri::Authority;
use sojourn_dispatch::{Request, key};
use sojourn_part::headers;

/// Most bytes of a head.
pub(crate) const HEAD_MAX: usize = 16_384;

/// Most lines of a head.
const LINES_MAX: usize = 100;

/// What the bytes that have come so far are.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Head {
    /// The beginning of one.
    Partial,
    /// A whole one.
    Whole(Asked),
    /// None, or none that is served.
    Refused(Refusal),
}

/// What a policy can be told of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Asked {
    /// The key of the path, without its query.
    path: u64,
    /// Index of the class that it names.
    class: u8,
}

/// Why a head is not passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It is none of HTTP/1.0 or 1.1, or says two things at once.
    Malformed,
    /// It was begun, and did not end in time.
    Slow,
    /// It is longer than [`HEAD_MAX`].
    Long,
    /// It is TLS, in which no reply could be read.
    Encrypted,
}

/// A whole reply without a body.
macro_rules! reply {
    ($status:literal) => {
        concat!("HTTP/1.1 ", $status, "\r\nconnection: close\r\ncontent-length: 0\r\n\r\n").as_bytes()
    };
}

impl Refusal {
    /// The reply to it; none: the connection is reset.
    pub(crate) fn reply(self) -> Option<&'static [u8]> {
        match self {
            Refusal::Malformed => Some(reply!("400 Bad Request")),
            Refusal::Slow => Some(reply!("408 Request Timeout")),
            Refusal::Long => Some(reply!("431 Request Header Fields Too Large")),
            Refusal::Encrypted => None,
        }
    }
}

impl Asked {
    /// What a policy is asked for a client of this key.
    pub(crate) fn request(&self, client: u64) -> Request {
        Request { client, key: self.path, class: self.class, ..Request::default() }
    }
}

/// Reads what has come of a head; classes are those of the requests, by number.
pub(crate) fn read(bytes: &[u8], classes: &[String]) -> Head {
    const HANDSHAKE: u8 = 22;
    if bytes.first() == Some(&HANDSHAKE) {
        return Head::Refused(Refusal::Encrypted);
    }
    let mut lines = [httparse::EMPTY_HEADER; LINES_MAX];
    let mut request = httparse::Request::new(&mut lines);
    match request.parse(bytes) {
        Ok(httparse::Status::Complete(_)) => {
            asked(&request, classes).map_or(Head::Refused(Refusal::Malformed), Head::Whole)
        }
        Err(httparse::Error::TooManyHeaders) => Head::Refused(Refusal::Long),
        Err(_) => Head::Refused(Refusal::Malformed),
        Ok(httparse::Status::Partial) if bytes.len() >= HEAD_MAX => Head::Refused(Refusal::Long),
        Ok(httparse::Status::Partial) => Head::Partial,
    }
}

/// What it asks for, if it is for one host and one path (section 3.2).
fn asked(request: &httparse::Request<'_, '_>, classes: &[String]) -> Option<Asked> {
    let class = headers::CLASS;
    let values =
        |name| request.headers.iter().filter(move |line| line.name.eq_ignore_ascii_case(name)).map(|line| line.value);
    let mut hosts = values("host");
    let host = hosts.next();
    let is_host = |host: &[u8]| host.is_empty() || Authority::try_from(host).is_ok();
    if hosts.next().is_some() || host.is_some_and(|host| !is_host(host)) || host.is_none() && request.version? > 0 {
        return None;
    }
    let target: Uri = request.path?.parse().ok()?;
    let is_path = target.path().starts_with('/') || target.path() == "*" && request.method? == "OPTIONS";
    let class = values(class.as_str()).next();
    let class = classes.iter().position(|known| class.is_some_and(|class| known.as_bytes() == class));
    is_path.then(|| Asked { path: key(target.path()), class: class.map_or(0, |number| number as u8) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path_of(text: &str) -> Option<u64> {
        match read(text.as_bytes(), &[]) {
            Head::Whole(asked) => Some(asked.path),
            _ => None,
        }
    }

    #[test]
    fn the_path_is_that_of_every_face() {
        for target in ["/img/a.png", "/img/a.png?size=2", "http://example.org/img/a.png?x"] {
            let text = format!("GET {target} HTTP/1.1\r\nHost: example.org:80\r\n\r\nbody");
            assert_eq!(path_of(&text), Some(key("/img/a.png")), "{target}");
        }
        assert_eq!(path_of("GET /a HTTP/1.0\r\n\r\n"), Some(key("/a")), "a client of 1.0 names no host");
        let classes = ["static".to_owned(), "dynamic".to_owned()];
        for (value, class) in [("dynamic", 1), ("static", 0), ("other", 0)] {
            let text = format!("GET / HTTP/1.1\r\nhost: a\r\nX-Sojourn-Class: {value}\r\n\r\n");
            assert_eq!(read(text.as_bytes(), &classes), Head::Whole(Asked { path: key("/"), class }), "{value}");
        }
    }

    #[test]
    fn a_beginning_is_partial_and_what_cannot_be_read_is_refused() {
        let text = "POST /img/a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n";
        for bytes in 0..text.len() {
            assert_eq!(read(&text.as_bytes()[..bytes], &[]), Head::Partial, "{bytes}");
        }
        let refusal = |bytes: &[u8]| match read(bytes, &[]) {
            Head::Refused(refusal) => refusal,
            other => panic!("{other:?}"),
        };
        for wrong in [
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
            "CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET a HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
            "EHLO a\r\n\r\n",
        ] {
            assert_eq!(refusal(wrong.as_bytes()), Refusal::Malformed, "{wrong:?}");
        }
        assert_eq!(refusal(&[22, 3, 1, 2, 0]), Refusal::Encrypted);
        let long = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}", "x".repeat(HEAD_MAX));
        assert_eq!(refusal(long.as_bytes()), Refusal::Long);
        let many = format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: x\r\n".repeat(LINES_MAX));
        assert_eq!(refusal(many.as_bytes()), Refusal::Long);
    }
}
