//! HAProxy's HTTP log (`option httplog`, and `option httpslog`, which adds two words), with or without what syslog puts before
//! it: `10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {}
//! "GET /index.html HTTP/1.1"` (configuration manual, section 8.2.3; the times, 8.4).
//!
//! The stamp is the beginning of the request, in the machine's zone, which is not written. Of TR/Tw/Tc/Tr/Ta the time at the
//! server is Ta - TR - Tw, from the first try to connect to the last byte, which holds the transfer to the client too; Tw is the
//! time in queues. Until the head of the reply it is Tc + Tr. A time of -1 was not reached; a total with a `+` (`option logasap`)
//! was not over. The first letter of the termination state says whether the client gave up (section 8.5).

use std::borrow::Cow;

use memchr::{memchr, memchr_iter, memrchr};

use super::super::calendar;
use super::super::ending::Ending;
use super::super::fault::Fault;
use super::super::record::{Fields, Record, Role, Taken, Unit, taken};

const STAMP_LENGTH: usize = "[06/Feb/2009:12:14:14.655]".len();

/// What a line says.
#[inline]
pub(super) fn read(line: &[u8]) -> Result<Record<'_>, Fault> {
    let is_stamp = |at: &usize| {
        let stamp = line[*at..].first_chunk::<STAMP_LENGTH>();
        stamp.is_some_and(|stamp| stamp[STAMP_LENGTH - 1] == b']' && calendar::common(&stamp[1..25]).is_some())
    };
    let at = memchr_iter(b'[', line).find(is_stamp).filter(|at| *at > 1).ok_or(Fault::Instant)?;
    let before = line[..at].strip_suffix(b" ").ok_or(Fault::Shape)?;
    let client_at = memrchr(b' ', before).map_or(0, |space| space + 1);
    if !is_of_syslog(&line[..client_at]) {
        return Err(Fault::Before);
    }
    let mut fields = Fields::default();
    fields.take(Role::ClientAndPort, Cow::Borrowed(&before[client_at..]))?;
    fields.take(Role::Instant, Cow::Borrowed(&line[at + 1..at + STAMP_LENGTH - 1]))?;
    let mut rest = line[at + STAMP_LENGTH..].strip_prefix(b" ").ok_or(Fault::Shape)?;
    let mut word = || {
        let end = memchr(b' ', rest).ok_or(Fault::Shape)?;
        let word = &rest[..end];
        rest = &rest[end + 1..];
        Ok(word)
    };
    let (_frontend, server, times, status, bytes) = (word()?, word()?, word()?, word()?, word()?);
    let (_request_cookie, _response_cookie, state, connections, queues) = (word()?, word()?, word()?, word()?, word()?);
    let are_counts = |text: &[u8], count| {
        let mut parts = text.split(|byte| *byte == b'/');
        parts.by_ref().take(count).all(|part| calendar::digits(part.strip_prefix(b"+").unwrap_or(part)).is_some())
            && text.iter().filter(|byte| **byte == b'/').count() + 1 == count
    };
    if !matches!(state.len(), 2 | 4) || !are_counts(connections, 5) || !are_counts(queues, 2) {
        return Err(Fault::Shape);
    }
    let slash = memchr(b'/', server).ok_or(Fault::Shape)?;
    if !matches!(&server[slash + 1..], b"<NOSRV>" | b"<STATS>" | b"") {
        fields.take(Role::Server, Cow::Borrowed(server))?;
    }
    let Times { response, at_server, to_header, queue } = Times::read(times).ok_or(Fault::Number)?;
    fields.durations([response, at_server, to_header, queue]);
    fields.take(Role::Status, Cow::Borrowed(status))?;
    fields.take(Role::Ending(Ending::HaProxy), Cow::Borrowed(state))?;
    fields.take(Role::Bytes, Cow::Borrowed(bytes))?;
    fields.take(Role::Request, Cow::Borrowed(request(rest)?))?;
    fields.finish()
}

/// What the five times come to.
struct Times {
    response: Option<Taken>,
    at_server: Option<Taken>,
    to_header: Option<Taken>,
    queue: Option<Taken>,
}

impl Times {
    #[inline]
    fn read(text: &[u8]) -> Option<Times> {
        let mut parts = text.split(|byte| *byte == b'/');
        let mut next = || taken(parts.next()?, Unit::Milliseconds);
        let (request, queue, connect, reply) = (next()?, next()?, next()?, next()?);
        let all = parts.next().filter(|_| parts.next().is_none())?;
        let (is_over, all) = all.strip_prefix(b"+").map_or((true, all), |all| (false, all));
        let response = taken(all, Unit::Milliseconds)?.filter(|_| is_over);
        let before = request.zip(queue).map(|(request, queue)| request.us + queue.us);
        let served = response.zip(before).filter(|_| connect.is_some() && reply.is_some());
        let at_server = served.map(|(all, before)| Taken { us: all.us.saturating_sub(before), ..all });
        let to_header = connect.zip(reply).map(|(connect, reply)| Taken { us: connect.us + reply.us, ..reply });
        Some(Times { response, at_server, to_header, queue })
    }
}

/// The request between its quotes. Where a line was cut at the longest that is logged, the last quote is missing; two words
/// of `option httpslog` may follow.
#[inline]
fn request(rest: &[u8]) -> Result<&[u8], Fault> {
    let begin = memchr(b'"', rest).ok_or(Fault::Request)? + 1;
    let headers = rest[..begin - 1].trim_ascii_end();
    let are_headers = headers.is_empty() || headers.starts_with(b"{") && headers.ends_with(b"}");
    if !are_headers {
        return Err(Fault::Shape);
    }
    let end = memchr(b'"', &rest[begin..]).map_or(rest.len(), |end| begin + end);
    let behind = rest.get(end + 1..).unwrap_or_default();
    let words = behind.split(|byte| *byte == b' ').skip(1);
    let is_known = behind.is_empty() || behind[0] == b' ' && words.clone().all(|word| memchr(b'/', word).is_some());
    match is_known && words.count() <= 2 {
        true => Ok(&rest[begin..end]),
        false => Err(Fault::Extra),
    }
}

/// Whether a text is what syslog puts before a line, up to its tag: `Feb  6 12:14:14 localhost haproxy[14389]: ` (RFC 3164), or
/// `<134>1 2009-02-06T12:14:14Z localhost haproxy 14389 - - ` (RFC 5424); or nothing.
fn is_of_syslog(before: &[u8]) -> bool {
    let is_newer = || before.starts_with(b"<") && before.windows(3).any(|three| three == b">1 ");
    before.is_empty() || before.ends_with(b": ") || is_newer()
}
