//! One line of a log in Common Log Format, or in Combined, which adds two fields at its end that are not read:
//! `host ident user [01/Aug/1995:02:00:00 -0400] "GET /path HTTP/1.0" 200 1713`.
//!
//! Two usual additions are read too: `name:port ` before the host (Apache's `vhost_combined`, which Debian writes), and how long
//! the server took, alone behind everything or by name ([`beyond`](super::beyond)). What else stands before the host, of a
//! container or a collector of logs, makes the line bad: it is never taken for the host.

use core::net::IpAddr;

use memchr::{memchr, memchr_iter, memrchr};

use super::beyond::{Behind, behind};
use super::calendar::{self, SECOND_US, digits};
use super::fault::Fault;
use super::method::{Method, request};

/// A good line's fields, still in the line.
pub struct Line<'a> {
    /// Who asked.
    pub host: &'a [u8],
    /// Seconds since 1970 in UTC.
    pub time_s: i64,
    /// How far the zone is ahead of it (s).
    pub zone_s: i32,
    /// What was to be done.
    pub method: Method,
    /// What for.
    pub path: &'a [u8],
    /// Status of the reply.
    pub status: u16,
    /// Bytes of its body; 0 where the log has `-`.
    pub bytes: u64,
    /// How long the server took (ms), where the line ends as nginx writes it.
    pub response_ms: Option<u32>,
    /// Whether referrer and agent stand behind it.
    pub is_combined: bool,
    /// Fields behind all these that are not known.
    pub beyond: &'a [u8],
}

const TIME_LENGTH: usize = "[01/Aug/1995:02:00:00 -0400]".len();

/// Reads a line without its end.
///
/// # Errors
/// When it is in neither format; the fault says what it lacks.
#[inline]
pub fn parse(line: &[u8]) -> Result<Line<'_>, Fault> {
    if memchr(0, line).is_some() {
        return Err(Fault::Nul);
    }
    let first = memchr(b' ', line).filter(|end| *end > 0).ok_or(Fault::Host)?;
    // User names may hold anything, a `[` included: the time is the first `[` that begins one.
    let rest = &line[first..];
    let (at, time_s, zone_s) = memchr_iter(b'[', rest)
        .find_map(|at| time(&rest[at..]).map(|(time_s, zone_s)| (at, time_s, zone_s)))
        .ok_or(Fault::Time)?;
    let host = host(&line[..first], &rest[1..at.max(1)]).ok_or(Fault::Before)?;
    let rest = rest[at + TIME_LENGTH..].strip_prefix(b" \"").ok_or(Fault::Request)?;
    let (text, Reply { status, bytes, rest }) = quoted(rest)?;
    let (method, path) = request(text).ok_or(Fault::Request)?;
    let Behind { is_combined, response_ms, beyond } = behind(rest);
    Ok(Line { host, time_s, zone_s, method, path, status, bytes, response_ms, is_combined, beyond })
}

/// The client, of the first word and what stands between it and the time: `ident user`, of which only the user may hold
/// spaces; or, behind `name:port`, the client and these.
#[inline]
fn host<'a>(first: &'a [u8], between: &'a [u8]) -> Option<&'a [u8]> {
    let between = between.trim_ascii_end();
    // What nearly all lines have.
    if between == b"- -" || between == b"-" {
        return (!is_fraction(first)).then_some(first);
    }
    let word = |text: &'a [u8]| memchr(b' ', text).map_or((text, &b""[..]), |end| (&text[..end], &text[end + 1..]));
    let is_address = |text: &[u8]| std::str::from_utf8(text).is_ok_and(|text| text.parse::<IpAddr>().is_ok());
    let (second, user) = word(between);
    let no_address = |text: &[u8]| !text.split(|byte| *byte == b' ').any(is_address);
    if !is_fraction(first) && no_address(between) && (second == b"-" || memchr(b' ', user).is_none()) {
        return Some(first);
    }
    let port = memrchr(b':', first).map(|colon| &first[colon + 1..]);
    let has_port = port.is_some_and(|port| !port.is_empty() && port.iter().all(u8::is_ascii_digit));
    let (ident, user) = word(user);
    let is_virtual_host = has_port && !is_address(first) && ident == b"-" && !user.is_empty() && no_address(user);
    (is_virtual_host && second != b"-").then_some(second)
}

/// Whether it is a number with a fraction, as a duration is and no host.
#[inline]
fn is_fraction(word: &[u8]) -> bool {
    word.iter().filter(|byte| **byte == b'.').count() == 1
        && word.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
}

/// The request up to its closing quote, and the status and size behind it. Old servers do not escape quotes inside a
/// request, so the closing one is the first that a status and a size follow, escaped ones only if no other does.
#[inline]
fn quoted(text: &[u8]) -> Result<(&[u8], Reply<'_>), Fault> {
    let mut fault = Fault::Request;
    for escaped in [false, true] {
        for end in memchr_iter(b'"', text) {
            if (end > 0 && text[end - 1] == b'\\') != escaped {
                continue;
            }
            if let Some(reply) = reply(&text[end + 1..]) {
                return Ok((&text[..end], reply));
            }
            fault = Fault::Reply;
        }
    }
    Err(fault)
}

/// What stands behind the request.
struct Reply<'a> {
    status: u16,
    bytes: u64,
    /// Behind the size.
    rest: &'a [u8],
}

/// ` 200 1713` or ` 304 -`, at the end of the line or before a space.
#[inline]
fn reply(text: &[u8]) -> Option<Reply<'_>> {
    let &[b' ', hundreds @ b'1'..=b'9', tens @ b'0'..=b'9', ones @ b'0'..=b'9', b' ', ref size @ ..] = text else {
        return None;
    };
    let status = u16::from(hundreds - b'0') * 100 + u16::from(tens - b'0') * 10 + u16::from(ones - b'0');
    let (size, rest) = size.split_at(memchr(b' ', size).unwrap_or(size.len()));
    let bytes = match size {
        b"-" => 0,
        number => digits(number)?,
    };
    Some(Reply { status, bytes, rest })
}

/// `[01/Aug/1995:02:00:00 -0400]` as seconds since 1970, and the zone's seconds ahead of UTC.
#[inline]
fn time(text: &[u8]) -> Option<(i64, i32)> {
    let [b'[', inner @ .., b']'] = text.first_chunk::<TIME_LENGTH>()? else { return None };
    let stamp = calendar::common(inner)?;
    Some((stamp.time_us.div_euclid(SECOND_US), stamp.zone_s?))
}
