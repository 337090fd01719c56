//! What every format gives: one record for a line, put together from the fields that the line has.

use std::borrow::Cow;

use memchr::{memchr, memrchr};

use super::calendar::{self, SECOND_US, Stamp, digits};
use super::ending::{CLIENT_CLOSED, Ending};
use super::fault::Fault;
use super::method::{Method, request};

/// A longer duration, of more than a year, is none: a clock was set, or the number is something else.
const LONGEST_US: u64 = 366 * 86_400 * 1_000_000;

/// What a line says, still in the line.
#[derive(Debug)]
pub(super) struct Record<'a> {
    pub(super) client: Cow<'a, [u8]>,
    pub(super) stamp: Stamp,
    pub(super) method: Method,
    pub(super) path: Cow<'a, [u8]>,
    /// 0 where there was no reply.
    pub(super) status: u16,
    pub(super) bytes: u64,
    pub(super) response: Option<Taken>,
    pub(super) server: Option<Cow<'a, [u8]>>,
    pub(super) at_server_us: Option<u64>,
    /// From connecting to the head of the server's reply.
    pub(super) to_header_us: Option<u64>,
    pub(super) queue_us: Option<u64>,
    /// Whether servers were tried that did not answer it.
    pub(super) is_retried: bool,
    /// Whether its client gave it up.
    pub(super) is_abandoned: bool,
    /// What the line has beyond its format.
    pub(super) beyond: &'a [u8],
}

/// A duration as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) us: u64,
    /// The step to which it is written (us).
    pub(super) step_us: u32,
}

/// The unit of a duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Seconds,
    Milliseconds,
    Microseconds,
    Nanoseconds,
}

impl Unit {
    /// The unit that is called so.
    pub(super) fn named(name: &str) -> Option<Unit> {
        match name {
            "s" => Some(Unit::Seconds),
            "ms" => Some(Unit::Milliseconds),
            "us" => Some(Unit::Microseconds),
            "ns" => Some(Unit::Nanoseconds),
            _ => None,
        }
    }

    /// Digits of one of it in microseconds.
    const fn digits(self) -> usize {
        match self {
            Unit::Seconds => 6,
            Unit::Milliseconds => 3,
            Unit::Microseconds | Unit::Nanoseconds => 0,
        }
    }
}

/// What a field of a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Not read.
    Skip,
    /// The same, where it may be a list.
    SkipList,
    /// Who asked.
    Client,
    /// Who connected, with a port: the client where nothing else says who asked.
    ClientAndPort,
    /// Who asked, before the proxies that passed it on.
    Forwarded,
    /// An instant in any form.
    Instant,
    /// The day of it.
    Day,
    /// The time of that day.
    TimeOfDay,
    /// `METHOD path HTTP/1.1`.
    Request,
    /// The same with a whole URL, of which the path is kept.
    RequestOfUrl,
    Method,
    Path,
    /// What stands behind the `?`.
    Query,
    Status,
    Bytes,
    Response(Unit),
    /// One of several durations that make the response time together.
    Part(Unit),
    Server,
    AtServer(Unit),
    /// Of the time at the server that until the head of its reply.
    ToHeader(Unit),
    Queue(Unit),
    /// How it ended.
    Ending(Ending),
}

impl Role {
    /// Whether it may be a list of those that were tried, `10.0.0.1:80, 10.0.0.2:80 : 10.0.0.3:80` (nginx).
    pub(super) fn is_list(self) -> bool {
        matches!(self, Role::Server | Role::AtServer(_) | Role::ToHeader(_) | Role::SkipList)
    }

    /// Whether blanks before it are no part of it: a number that is written in columns.
    pub(super) fn is_padded(self) -> bool {
        matches!(self, Role::Response(_) | Role::Bytes | Role::Part(_))
    }
}

/// What is known of a line so far.
#[derive(Default)]
pub(super) struct Fields<'a> {
    client: Option<Cow<'a, [u8]>>,
    stamp: Option<Stamp>,
    day: Option<i64>,
    time_of_day: Option<(i64, u32)>,
    method: Option<Method>,
    path: Option<Cow<'a, [u8]>>,
    query: Option<Cow<'a, [u8]>>,
    status: u16,
    bytes: u64,
    response: Option<Taken>,
    parts: Option<Option<Taken>>,
    server: Option<Cow<'a, [u8]>>,
    at_server_us: Option<u64>,
    to_header_us: Option<u64>,
    queue_us: Option<u64>,
    is_retried: bool,
    is_abandoned: bool,
}

impl<'a> Fields<'a> {
    /// Takes the value of a field.
    #[inline]
    pub(super) fn take(&mut self, role: Role, value: Cow<'a, [u8]>) -> Result<(), Fault> {
        match role {
            Role::Skip | Role::SkipList => {}
            Role::Client => self.client = Some(value),
            Role::ClientAndPort if self.client.is_some() => {}
            Role::ClientAndPort => self.client = Some(map(value, without_port)),
            Role::Forwarded if *value == *b"-" => {}
            Role::Forwarded => self.client = Some(map(value, |text| &text[..memchr(b',', text).unwrap_or(text.len())])),
            Role::Instant => {
                let stamp = calendar::stamp(&value).ok_or(Fault::Instant)?;
                // Of several the finest.
                self.stamp = Some(self.stamp.filter(|other| other.step_us < stamp.step_us).unwrap_or(stamp));
            }
            Role::Day => self.day = Some(calendar::day(&value).ok_or(Fault::Instant)?),
            Role::TimeOfDay => self.time_of_day = Some(calendar::time_of_day(&value).ok_or(Fault::Instant)?),
            Role::Request | Role::RequestOfUrl => {
                let (method, path) = match &value {
                    Cow::Borrowed(text) => request(text).map(|(method, path)| (method, Cow::Borrowed(path))),
                    Cow::Owned(text) => request(text).map(|(method, path)| (method, Cow::Owned(path.to_vec()))),
                }
                .ok_or(Fault::Request)?;
                self.method = Some(method);
                self.path = Some(if role == Role::Request { path } else { map(path, path_of_url) });
            }
            Role::Method => self.method = Some(Method::parse(&value).ok_or(Fault::Request)?),
            Role::Path => self.path = Some(value).filter(|path| !path.is_empty() && **path != *b"-"),
            Role::Query => self.query = Some(value).filter(|query| !query.is_empty() && **query != *b"-"),
            Role::Status => self.status = status(&value).ok_or(Fault::Reply)?,
            Role::Bytes => self.bytes = bytes(&value).ok_or(Fault::Number)?,
            Role::Response(unit) => self.response = taken(&value, unit).ok_or(Fault::Number)?,
            Role::Part(unit) => {
                let part = taken(&value, unit).ok_or(Fault::Number)?;
                let sum = self.parts.unwrap_or(Some(Taken { us: 0, step_us: u32::MAX }));
                self.parts = Some(sum.zip(part).map(|(sum, part)| Taken {
                    us: sum.us.saturating_add(part.us),
                    step_us: sum.step_us.min(part.step_us),
                }));
            }
            Role::Server => {
                let last = map(value, |list| self.last(list));
                self.server = Some(last).filter(|server| !server.is_empty() && **server != *b"-");
            }
            Role::AtServer(unit) => {
                let last = self.last(&value);
                self.at_server_us = taken(last, unit).ok_or(Fault::Number)?.map(|taken| taken.us);
            }
            Role::ToHeader(unit) => {
                let last = self.last(&value);
                self.to_header_us = taken(last, unit).ok_or(Fault::Number)?.map(|taken| taken.us);
            }
            Role::Queue(unit) => self.queue_us = taken(&value, unit).ok_or(Fault::Number)?.map(|taken| taken.us),
            Role::Ending(ending) => self.is_abandoned = ending.is_abandoned(&value),
        }
        Ok(())
    }

    /// Takes durations that were put together elsewhere: in all, at the server, there until the head of the reply, and in queues.
    #[inline]
    pub(super) fn durations(&mut self, [response, at_server, to_header, queue]: [Option<Taken>; 4]) {
        self.response = response;
        self.at_server_us = at_server.map(|taken| taken.us);
        self.to_header_us = to_header.map(|taken| taken.us);
        self.queue_us = queue.map(|taken| taken.us);
    }

    /// The last of the servers that were tried, parted by `, ` and, where nginx has passed the request on within itself, ` : `.
    #[inline]
    fn last<'b>(&mut self, list: &'b [u8]) -> &'b [u8] {
        let Some(space) = memrchr(b' ', list) else { return list };
        let is_list = matches!(&list[..space], [.., b','] | [.., b' ', b':']);
        if !is_list {
            return list;
        }
        self.is_retried = true;
        &list[space + 1..]
    }

    /// The record, where nothing that it needs is missing.
    #[inline]
    pub(super) fn finish(self) -> Result<Record<'a>, Fault> {
        let stamp = match (self.stamp, self.day, self.time_of_day) {
            (Some(stamp), ..) => stamp,
            (None, Some(day), Some((time_us, step_us))) => {
                Stamp { time_us: day * 86_400 * SECOND_US + time_us, zone_s: Some(0), step_us }
            }
            _ => return Err(Fault::Instant),
        };
        let path = match (self.path, self.query) {
            (None, _) => return Err(Fault::Request),
            (Some(path), None) => path,
            (Some(path), Some(query)) => Cow::Owned([&path, &b"?"[..], &query].concat()),
        };
        Ok(Record {
            client: self.client.unwrap_or(Cow::Borrowed(b"-")),
            stamp,
            method: self.method.ok_or(Fault::Request)?,
            path,
            status: self.status,
            bytes: self.bytes,
            response: self.response.or(self.parts.flatten()),
            server: self.server,
            at_server_us: self.at_server_us,
            to_header_us: self.to_header_us,
            queue_us: self.queue_us,
            is_retried: self.is_retried,
            is_abandoned: self.is_abandoned || self.status == CLIENT_CLOSED,
            beyond: b"",
        })
    }
}

/// The same function of what is borrowed and of what is owned.
#[inline]
fn map<'a>(value: Cow<'a, [u8]>, part: impl FnOnce(&[u8]) -> &[u8]) -> Cow<'a, [u8]> {
    match value {
        Cow::Borrowed(text) => {
            // The part is within the text: its place there gives it the text's lifetime.
            let part = part(text);
            let start = part.as_ptr() as usize - text.as_ptr() as usize;
            Cow::Borrowed(&text[start..start + part.len()])
        }
        Cow::Owned(text) => Cow::Owned(part(&text).to_vec()),
    }
}

/// `192.168.131.39:2817`, `[2001:db8::1]:2817`, `2001:db8::1:2817` (HAProxy) without the port.
#[inline]
pub(super) fn without_port(text: &[u8]) -> &[u8] {
    let host = match memrchr(b':', text) {
        Some(colon) if !text[colon + 1..].is_empty() && digits(&text[colon + 1..]).is_some() => &text[..colon],
        _ => text,
    };
    host.strip_prefix(b"[").and_then(|host| host.strip_suffix(b"]")).unwrap_or(host)
}

/// `http://www.example.com:80/x` from the third slash on; what is no such URL as it is.
#[inline]
fn path_of_url(url: &[u8]) -> &[u8] {
    let Some(colon) = memchr(b':', url).filter(|colon| url[*colon..].starts_with(b"://")) else { return url };
    memchr(b'/', &url[colon + 3..]).map_or(url, |slash| &url[colon + 3 + slash..])
}

/// `200`; 0 of what says that there was no reply: `-`, `0`, `000`, `-1`.
#[inline]
fn status(text: &[u8]) -> Option<u16> {
    match text {
        [hundreds @ b'1'..=b'9', tens @ b'0'..=b'9', ones @ b'0'..=b'9'] => {
            Some(u16::from(hundreds - b'0') * 100 + u16::from(tens - b'0') * 10 + u16::from(ones - b'0'))
        }
        b"-" | b"0" | b"000" | b"-1" => Some(0),
        _ => None,
    }
}

/// `2750`; 0 of `-`. A `+` before it (HAProxy's `option logasap`) says that more was to come.
#[inline]
fn bytes(text: &[u8]) -> Option<u64> {
    match text {
        b"-" => Some(0),
        [b'+', more @ ..] => digits(more),
        text => digits(text),
    }
}

/// A duration; none of `-` and of what is negative, by which ALB and HAProxy say that it came to nothing.
#[inline]
pub(super) fn taken(text: &[u8], unit: Unit) -> Option<Option<Taken>> {
    let (text, is_negative) = match text {
        b"-" | b"" => return Some(None),
        [b'-', text @ ..] => (text, true),
        text => (text, false),
    };
    let point = memchr(b'.', text).unwrap_or(text.len());
    let whole = digits(&text[..point])?;
    let behind = text.get(point + 1..).unwrap_or_default();
    if point < text.len() && digits(&behind[..behind.len().min(18)]).is_none() {
        return None;
    }
    let kept = &behind[..behind.len().min(unit.digits())];
    let step_us = 10_u32.pow((unit.digits() - kept.len()) as u32);
    let whole = whole.checked_mul(10_u64.pow(unit.digits() as u32))?;
    let us = whole.checked_add(digits(kept).unwrap_or(0) * u64::from(step_us))?;
    let us = if unit == Unit::Nanoseconds { us / 1_000 } else { us };
    if us > LONGEST_US {
        return None;
    }
    Some((!is_negative).then_some(Taken { us, step_us }))
}
