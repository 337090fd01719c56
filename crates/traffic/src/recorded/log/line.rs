//! One line of a log in Common Log Format, or in Combined, which adds two fields at its end that are not read:
//! `host ident user [01/Aug/1995:02:00:00 -0400] "GET /path HTTP/1.0" 200 1713`.
//!
//! Two usual additions are read too: `name:port ` before the host (Apache's `vhost_combined`, which Debian writes), and how long
//! the server took behind everything (nginx's `$request_time`, seconds with three digits behind the point). What else
//! stands before the host, of a container or a collector of logs, makes the line bad: it is never taken for the host.

use core::net::IpAddr;
use std::fmt;

use memchr::{memchr, memchr_iter, memrchr};

/// What a request did, as far as replaying it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// `GET`.
    Get,
    /// `HEAD`: a reply without a body.
    Head,
    /// `POST`.
    Post,
    /// Any other.
    Other,
}

/// The months, as a line names them.
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Why a line is bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// Nothing before the first space.
    Host,
    /// Something else before the time than `host ident user`.
    Before,
    /// No `[dd/Mon/yyyy:hh:mm:ss +zzzz]`.
    Time,
    /// No `"METHOD path"` after the time (a connection without a request is logged as `"-"`).
    Request,
    /// No status and size after the request.
    Reply,
    /// A NUL byte: a crash of the machine leaves blocks of them.
    Nul,
    /// Longer than the longest line that is read.
    Long,
}

impl Fault {
    pub(super) const ALL: [Fault; 7] =
        [Fault::Host, Fault::Before, Fault::Time, Fault::Request, Fault::Reply, Fault::Nul, Fault::Long];
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::Host => "no host",
            Fault::Before => "something else than `host ident user` before the time",
            Fault::Time => "no [dd/Mon/yyyy:hh:mm:ss +zzzz]",
            Fault::Request => "no \"METHOD path\"",
            Fault::Reply => "no status and size",
            Fault::Nul => "a NUL byte",
            Fault::Long => "too long",
        })
    }
}

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
    let (text, status, bytes) = quoted(rest)?;
    let (method, path) = request(text).ok_or(Fault::Request)?;
    Ok(Line { host, time_s, zone_s, method, path, status, bytes, response_ms: response_ms(line) })
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

/// The first word behind the last quote that is seconds with three digits behind the point, as nginx writes
/// `$request_time`, alone or as `rt=0.012`.
#[inline]
fn response_ms(line: &[u8]) -> Option<u32> {
    if line.last() == Some(&b'"') {
        return None;
    }
    let behind = &line[memrchr(b'"', line)? + 1..];
    // Behind the request are its status and size first; behind the agent, only what was added.
    behind.split(|byte| *byte == b' ').find_map(|word| {
        let number = memchr(b'=', word).map_or(word, |equals| &word[equals + 1..]);
        let (seconds, [b'.', thousandths @ ..]) = number.split_at_checked(number.len().checked_sub(4)?)? else {
            return None;
        };
        let digits = [seconds, thousandths];
        if seconds.is_empty() || !digits.iter().all(|digits| digits.iter().all(u8::is_ascii_digit)) {
            return None;
        }
        digits.concat().iter().try_fold(0_u32, |ms, digit| ms.checked_mul(10)?.checked_add(u32::from(digit - b'0')))
    })
}

/// The request up to its closing quote, and the status and size behind it. Old servers do not escape quotes inside a
/// request, so the closing one is the first that a status and a size follow, escaped ones only if no other does.
#[inline]
fn quoted(text: &[u8]) -> Result<(&[u8], u16, u64), Fault> {
    let mut fault = Fault::Request;
    for escaped in [false, true] {
        for end in memchr_iter(b'"', text) {
            if (end > 0 && text[end - 1] == b'\\') != escaped {
                continue;
            }
            if let Some((status, bytes)) = reply(&text[end + 1..]) {
                return Ok((&text[..end], status, bytes));
            }
            fault = Fault::Reply;
        }
    }
    Err(fault)
}

/// ` 200 1713` or ` 304 -`, at the end of the line or before a space.
#[inline]
fn reply(text: &[u8]) -> Option<(u16, u64)> {
    let &[b' ', hundreds @ b'1'..=b'9', tens @ b'0'..=b'9', ones @ b'0'..=b'9', b' ', ref size @ ..] = text else {
        return None;
    };
    let status = u16::from(hundreds - b'0') * 100 + u16::from(tens - b'0') * 10 + u16::from(ones - b'0');
    let size = &size[..memchr(b' ', size).unwrap_or(size.len())];
    let bytes = match size {
        b"-" => 0,
        b"" => return None,
        digits => digits.iter().try_fold(0u64, |value, digit| {
            let digit = digit.checked_sub(b'0').filter(|digit| *digit < 10)?;
            value.checked_mul(10)?.checked_add(u64::from(digit))
        })?,
    };
    Some((status, bytes))
}

/// `GET /path HTTP/1.0`, or `GET /path` of HTTP/0.9. Spaces inside the path belong to it.
#[inline]
fn request(text: &[u8]) -> Option<(Method, &[u8])> {
    let space = memchr(b' ', text)?;
    let method = match &text[..space] {
        b"GET" => Method::Get,
        b"HEAD" => Method::Head,
        b"POST" => Method::Post,
        other if !other.is_empty() && other.iter().all(|c| c.is_ascii_alphabetic() || *c == b'-') => Method::Other,
        _ => return None,
    };
    let target = text[space..].trim_ascii();
    let path = match memrchr(b' ', target) {
        Some(end) if target[end + 1..].starts_with(b"HTTP/") => target[..end].trim_ascii_end(),
        _ => target,
    };
    (!path.is_empty() && !path.starts_with(b"HTTP/")).then_some((method, path))
}

/// `[01/Aug/1995:02:00:00 -0400]` as seconds since 1970, and the zone's seconds ahead of UTC.
#[inline]
fn time(text: &[u8]) -> Option<(i64, i32)> {
    let text: &[u8; TIME_LENGTH] = text.first_chunk()?;
    let shape = [(0, b'['), (3, b'/'), (7, b'/'), (12, b':'), (15, b':'), (18, b':'), (21, b' '), (27, b']')];
    if shape.iter().any(|&(at, byte)| text[at] != byte) {
        return None;
    }
    let two = |at: usize| {
        let (tens, ones) = (text[at].wrapping_sub(b'0'), text[at + 1].wrapping_sub(b'0'));
        (tens < 10 && ones < 10).then(|| i64::from(tens) * 10 + i64::from(ones))
    };
    let month = MONTHS.iter().position(|month| month.as_bytes() == &text[4..7])? as i64 + 1;
    let (day, year) = (two(1)?, two(8)? * 100 + two(10)?);
    let (hour, minute, second) = (two(13)?, two(16)?, two(19)?);
    let (zone_hours, zone_minutes) = (two(23)?, two(25)?);
    // A second may be the 60th: a leap second.
    if day == 0 || day > days_in_month(year, month) || hour > 23 || minute > 59 || second > 60 || zone_minutes > 59 {
        return None;
    }
    let zone_s = (zone_hours * 60 + zone_minutes) * 60;
    let zone_s = match text[22] {
        b'+' => zone_s,
        b'-' => -zone_s,
        _ => return None,
    };
    let local_s = ((days_from_civil(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    Some((local_s - zone_s, zone_s as i32))
}

/// The date of a log's line, `[01/Aug/1995:06:00:00 +0000]`, of so many seconds since 1970 in UTC.
pub fn date(time_s: i64) -> String {
    let (days, second) = (time_s.div_euclid(86_400), time_s.rem_euclid(86_400));
    let (year, month, day) = civil_from_days(days);
    let (month, hour, minute, second) = (MONTHS[month as usize - 1], second / 3600, second / 60 % 60, second % 60);
    format!("[{day:02}/{month}/{year:04}:{hour:02}:{minute:02}:{second:02} +0000]")
}

/// The day that `1995-08-01` writes, in days since 1970-01-01.
pub(super) fn day(date: &str) -> Option<i64> {
    let parts: Option<Vec<i64>> = date.split('-').map(|part| part.parse().ok()).collect();
    let [year, month, day] = parts?[..] else { return None };
    let exists = (1..=12).contains(&month) && day >= 1 && day <= days_in_month(year, month);
    exists.then(|| days_from_civil(year, month, day))
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to this day of the Gregorian calendar (Hinnant, "chrono-compatible low-level date
/// algorithms": years begin in March, so that the leap day is the last).
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// The day of the Gregorian calendar that is so many days after 1970-01-01: year, month, day (Hinnant, as above).
pub(super) fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted_month + 2) / 5 + 1)
}
