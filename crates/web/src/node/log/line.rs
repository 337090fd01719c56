//! One line of an access log.

use std::cell::RefCell;
use std::fmt::Write;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hyper::header::HeaderValue;
use hyper::{Request, StatusCode, Version};
use sojourn_part::clock;
use sojourn_traffic::log::date;

use super::AccessLog;

/// What nginx writes where the client left before there was a reply.
const CLIENT_LEFT: u16 = 499;

/// The line of a request; it is written when this is dropped.
pub(in super::super) struct Line {
    log: Arc<AccessLog>,
    /// Up to the status.
    head: String,
    /// Referrer and user agent, where they are written.
    who: [Option<HeaderValue>; 2],
    status: u16,
    sent: AtomicU64,
}

impl Line {
    pub(super) fn new(log: Arc<AccessLog>, head: String, who: [Option<HeaderValue>; 2]) -> Line {
        Line { log, head, who, status: CLIENT_LEFT, sent: AtomicU64::new(0) }
    }

    /// The same, with what was answered.
    pub(super) fn replied(mut self, status: StatusCode) -> Line {
        self.status = status.as_u16();
        self
    }

    /// So many more bytes of the body were sent.
    pub(in super::super) fn count(&self, bytes: u64) {
        self.sent.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.log.writer.add(|text| {
            text.extend(self.head.as_bytes());
            let mut number = itoa::Buffer::new();
            text.extend(number.format(self.status).as_bytes());
            text.push(b' ');
            text.extend(number.format(self.sent.load(Ordering::Relaxed)).as_bytes());
            if self.log.is_combined() {
                for value in &self.who {
                    text.extend(b" \"");
                    escape(value.as_ref().map_or(b"-", HeaderValue::as_bytes), text);
                    text.push(b'"');
                }
            }
            text.push(b'\n');
        });
    }
}

/// `127.0.0.1 - - [date] "GET /x HTTP/1.1" `.
pub(super) fn head<B>(client: IpAddr, request: &Request<B>) -> String {
    let (method, uri) = (request.method(), request.uri());
    let mut head = String::with_capacity(96 + uri.path().len() + uri.query().map_or(0, str::len));
    write!(head, "{client} - - ").expect("a string takes all");
    push_date(&mut head);
    head.push_str(" \"");
    head.push_str(method.as_str());
    head.push(' ');
    // Over HTTP/2 the host is not a part of what is asked for.
    if uri.authority().is_some() && request.version() < Version::HTTP_2 {
        push_target(&uri.to_string(), &mut head);
    } else {
        push_target(uri.path_and_query().map_or("/", |target| target.as_str()), &mut head);
    }
    head.push_str(match request.version() {
        Version::HTTP_10 => " HTTP/1.0\" ",
        Version::HTTP_2 => " HTTP/2.0\" ",
        _ => " HTTP/1.1\" ",
    });
    head
}

/// The date of now; it is made once a second.
fn push_date(head: &mut String) {
    thread_local! {
        static DATE: RefCell<(u64, String)> = const { RefCell::new((u64::MAX, String::new())) };
    }
    let now_s = clock::wall() / 1_000_000_000;
    DATE.with_borrow_mut(|(of, text)| {
        if *of != now_s {
            (*of, *text) = (now_s, date(now_s as i64));
        }
        head.push_str(text);
    });
}

/// A quotation mark would end the request's part of the line.
fn push_target(target: &str, head: &mut String) {
    if target.bytes().all(is_plain) {
        head.push_str(target);
        return;
    }
    let mut escaped = Vec::with_capacity(target.len() + 16);
    for (index, part) in target.split('"').enumerate() {
        escaped.extend(if index > 0 { &b"%22"[..] } else { b"" });
        escape(part.as_bytes(), &mut escaped);
    }
    head.push_str(&String::from_utf8_lossy(&escaped));
}

/// As nginx: quotation marks, backslashes, control characters and what is no ASCII as `\x22`.
fn escape(value: &[u8], text: &mut Vec<u8>) {
    for &byte in value {
        if is_plain(byte) {
            text.push(byte);
        } else {
            const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
            text.extend([b'\\', b'x', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
    }
}

fn is_plain(byte: u8) -> bool {
    (b' '..0x7f).contains(&byte) && !matches!(byte, b'"' | b'\\')
}
