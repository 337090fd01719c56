//! Lines that are JSON objects with named fields: what Caddy and Traefik write, Envoy with a `json_format` and nginx with
//! `escape=json`, and any other whose names tell what they are.
//!
//! A field is read only where its unit is known: by the product that writes it, or by its name (`latency_ms`). The lines are read
//! here and not by serde_json, since most of a line is passed over, which takes it more than twice as long; what has escapes is
//! given to it.

use std::borrow::Cow;

use memchr::{memchr, memchr2};
use serde_json::Value;

use super::super::ending::Ending;
use super::super::fault::Fault;
use super::super::record::{Fields, Record, Role, Unit};

/// Which fields are read, by their names; within objects too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Keys {
    fields: Vec<(Box<str>, Field)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Field {
    Role(Role),
    Within(Keys),
}

impl Keys {
    /// Of names, in which a point leads into an object, and their roles.
    pub(super) fn new<'n>(names: impl IntoIterator<Item = (&'n str, Role)>) -> Keys {
        let mut keys = Keys::default();
        names.into_iter().for_each(|(name, role)| keys.add(name, role));
        keys
    }

    fn add(&mut self, name: &str, role: Role) {
        let Some((outer, inner)) = name.split_once('.') else {
            self.fields.push((name.into(), Field::Role(role)));
            return;
        };
        let place = self.fields.iter().position(|(known, _)| **known == *outer).unwrap_or_else(|| {
            self.fields.push((outer.into(), Field::Within(Keys::default())));
            self.fields.len() - 1
        });
        if let Field::Within(keys) = &mut self.fields[place].1 {
            keys.add(inner, role);
        }
    }

    /// What a line says.
    #[inline]
    pub(super) fn read<'a>(&self, line: &'a [u8]) -> Result<Record<'a>, Fault> {
        let mut reading = Reading { text: Text { line, at: 0 }, fields: Fields::default() };
        reading.text.blanks();
        reading.object(self)?;
        reading.text.blanks();
        if reading.text.at < line.len() {
            return Err(Fault::Json);
        }
        reading.fields.finish()
    }
}

/// A line as it is read: the fields that are asked for are taken, all others passed over, each byte once.
struct Reading<'a> {
    text: Text<'a>,
    fields: Fields<'a>,
}

impl<'a> Reading<'a> {
    fn object(&mut self, keys: &Keys) -> Result<(), Fault> {
        self.text.expect(b'{')?;
        self.text.blanks();
        if self.text.next_is(b'}') {
            return Ok(());
        }
        loop {
            let name = self.text.string()?;
            self.text.blanks();
            self.text.expect(b':')?;
            self.text.blanks();
            match keys.fields.iter().find(|(known, _)| known.as_bytes() == name) {
                None => self.text.pass_over(DEEPEST)?,
                Some((_, Field::Role(role))) => self.value(*role)?,
                Some((_, Field::Within(inner))) if self.text.peek() == Some(b'{') => self.object(inner)?,
                Some((_, Field::Within(_))) => self.text.pass_over(DEEPEST)?,
            }
            self.text.blanks();
            if self.text.next_is(b'}') {
                return Ok(());
            }
            self.text.expect(b',')?;
            self.text.blanks();
        }
    }

    #[inline]
    fn value(&mut self, role: Role) -> Result<(), Fault> {
        let value = match self.text.peek() {
            Some(b'"') => unescaped(self.text.string()?)?,
            Some(b'{' | b'[' | b't' | b'f') => return Err(Fault::Shape),
            _ => match self.text.word()? {
                b"null" => return Ok(()),
                // Digits are taken as they are written, but for `.0`, by which many programs write whole numbers.
                number if memchr2(b'e', b'E', number).is_none() => {
                    Cow::Borrowed(number.strip_suffix(b".0").unwrap_or(number))
                }
                number => {
                    let number: f64 = serde_json::from_slice(number).map_err(|_| Fault::Json)?;
                    Cow::Owned(number.to_string().into_bytes())
                }
            },
        };
        let (role, value) = with_its_unit(role, value);
        self.fields.take(role, value)
    }
}

/// What a text in quotes says. Bytes that are no UTF-8 stay as they are: nginx writes them so.
#[inline]
fn unescaped(inside: &[u8]) -> Result<Cow<'_, [u8]>, Fault> {
    if memchr(b'\\', inside).is_none() {
        return Ok(Cow::Borrowed(inside));
    }
    let quoted = [b"\"", inside, b"\""].concat();
    let text: String = serde_json::from_slice(&quoted).map_err(|_| Fault::Json)?;
    Ok(Cow::Owned(text.into_bytes()))
}

/// Objects and lists within one another that are passed over; more are no log's.
const DEEPEST: u32 = 64;

/// The text of a line, and how far it is read.
struct Text<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Text<'a> {
    #[inline]
    fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    #[inline]
    fn blanks(&mut self) {
        while let Some(b' ' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    #[inline]
    fn next_is(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    #[inline]
    fn expect(&mut self, byte: u8) -> Result<(), Fault> {
        if self.next_is(byte) { Ok(()) } else { Err(Fault::Json) }
    }

    /// What stands between two quotes, its escapes as they are.
    #[inline]
    fn string(&mut self) -> Result<&'a [u8], Fault> {
        self.expect(b'"')?;
        let begin = self.at;
        loop {
            let length = memchr2(b'"', b'\\', &self.line[self.at..]).ok_or(Fault::Json)?;
            self.at += length + 1;
            if self.line[self.at - 1] == b'"' {
                return Ok(&self.line[begin..self.at - 1]);
            }
            self.at += 1;
            if self.at > self.line.len() {
                return Err(Fault::Json);
            }
        }
    }

    /// A number or a name.
    #[inline]
    fn word(&mut self) -> Result<&'a [u8], Fault> {
        let rest = &self.line[self.at..];
        let is_of_word = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+');
        let length = rest.iter().take_while(is_of_word).count();
        let word = &rest[..length];
        let is_value = word.first().is_some_and(|first| first.is_ascii_digit() || *first == b'-');
        if !is_value && !matches!(word, b"true" | b"false" | b"null") {
            return Err(Fault::Json);
        }
        self.at += length;
        Ok(word)
    }

    /// Passes over a value.
    fn pass_over(&mut self, deepest: u32) -> Result<(), Fault> {
        let close = match self.peek() {
            Some(b'"') => return self.string().map(drop),
            Some(b'{') => b'}',
            Some(b'[') => b']',
            _ => return self.word().map(drop),
        };
        if deepest == 0 {
            return Err(Fault::Json);
        }
        self.at += 1;
        self.blanks();
        if self.next_is(close) {
            return Ok(());
        }
        loop {
            if close == b'}' {
                self.string()?;
                self.blanks();
                self.expect(b':')?;
                self.blanks();
            }
            self.pass_over(deepest - 1)?;
            self.blanks();
            if self.next_is(close) {
                return Ok(());
            }
            self.expect(b',')?;
            self.blanks();
        }
    }
}

/// A duration with a unit behind it, `12ms`, by that unit.
#[inline]
fn with_its_unit(role: Role, value: Cow<'_, [u8]>) -> (Role, Cow<'_, [u8]>) {
    let of: fn(Unit) -> Role = match role {
        Role::Response(_) => Role::Response,
        Role::AtServer(_) => Role::AtServer,
        Role::ToHeader(_) => Role::ToHeader,
        Role::Queue(_) => Role::Queue,
        _ => return (role, value),
    };
    let number = value.iter().take_while(|byte| !byte.is_ascii_alphabetic() && byte.is_ascii()).count();
    let unit = std::str::from_utf8(&value[number..]).ok().map(|unit| if unit == "\u{b5}s" { "us" } else { unit });
    match unit.and_then(Unit::named) {
        Some(unit) => (of(unit), Cow::Owned(value[..number].to_vec())),
        None => (role, value),
    }
}

/// What the names of a line's fields say of it.
pub(super) struct Known {
    /// Who writes such lines.
    pub(super) name: &'static str,
    pub(super) keys: Keys,
    /// Whether the instant is that of the end; none where this is not known.
    pub(super) at_end: Option<bool>,
    /// Fields that look like durations, and have no unit.
    pub(super) without_unit: Vec<String>,
}

/// Caddy's access log, encoder `json`: `ts` is when the line was written, `duration` seconds.
const CADDY: [(&str, Role); 7] = [
    ("ts", Role::Instant),
    ("request.remote_ip", Role::Client),
    ("request.method", Role::Method),
    ("request.uri", Role::Path),
    ("status", Role::Status),
    ("size", Role::Bytes),
    ("duration", Role::Response(Unit::Seconds)),
];

/// Traefik's: durations are whole nanoseconds.
const TRAEFIK: [(&str, Role); 9] = [
    ("StartUTC", Role::Instant),
    ("ClientHost", Role::Client),
    ("RequestMethod", Role::Method),
    ("RequestPath", Role::Path),
    ("DownstreamStatus", Role::Status),
    ("DownstreamContentSize", Role::Bytes),
    ("Duration", Role::Response(Unit::Nanoseconds)),
    ("ServiceAddr", Role::Server),
    ("OriginDuration", Role::AtServer(Unit::Nanoseconds)),
];

/// Envoy's, by the names that Istio gives, which are those of Envoy's operators.
const ENVOY: [(&str, Role); 12] = [
    ("start_time", Role::Instant),
    ("x_forwarded_for", Role::Forwarded),
    ("downstream_remote_address", Role::ClientAndPort),
    ("method", Role::Method),
    ("path", Role::Path),
    ("response_code", Role::Status),
    ("response_flags", Role::Ending(Ending::Envoy)),
    ("bytes_sent", Role::Bytes),
    ("duration", Role::Response(Unit::Milliseconds)),
    ("upstream_host", Role::Server),
    ("upstream_service_time", Role::AtServer(Unit::Milliseconds)),
    ("req_method", Role::Method),
];

/// Names that tell what a field is whoever writes it; of those with the same role the first that is there.
const NAMES: [(&[&str], Role); 22] = [
    (&["msec", "time_iso8601", "time_local", "@timestamp", "timestamp", "time", "ts", "datetime"], Role::Instant),
    (&["remote_addr", "client_ip", "clientip", "remote_ip", "client", "ip"], Role::Client),
    (&["request"], Role::Request),
    (&["request_method", "http_method", "method", "verb"], Role::Method),
    (&["request_uri", "request_path", "uri", "path", "url"], Role::Path),
    (&["status", "status_code", "statusCode", "response_code", "http_status"], Role::Status),
    (&["body_bytes_sent", "bytes_sent", "response_bytes", "response_size", "bytes", "size"], Role::Bytes),
    (&["request_time", "duration_s", "latency_s", "response_time_s", "elapsed_s"], Role::Response(Unit::Seconds)),
    (
        &["duration_ms", "latency_ms", "response_time_ms", "elapsed_ms", "took_ms", "responseTimeMs", "durationMs"],
        Role::Response(Unit::Milliseconds),
    ),
    (&["duration_us", "latency_us", "response_time_us", "elapsed_us"], Role::Response(Unit::Microseconds)),
    (&["duration_ns", "latency_ns", "response_time_ns", "elapsed_ns"], Role::Response(Unit::Nanoseconds)),
    (&["upstream_addr", "upstream_host", "upstream", "backend"], Role::Server),
    (&["upstream_response_time", "upstream_time_s"], Role::AtServer(Unit::Seconds)),
    (&["upstream_header_time"], Role::ToHeader(Unit::Seconds)),
    (&["upstream_time_ms", "upstream_response_time_ms", "backend_time_ms"], Role::AtServer(Unit::Milliseconds)),
    (&["upstream_time_us", "upstream_response_time_us"], Role::AtServer(Unit::Microseconds)),
    (&["upstream_time_ns", "upstream_response_time_ns"], Role::AtServer(Unit::Nanoseconds)),
    (&["queue_s", "queue_time_s"], Role::Queue(Unit::Seconds)),
    (&["queue_ms", "queue_time_ms"], Role::Queue(Unit::Milliseconds)),
    (&["queue_us", "queue_time_us"], Role::Queue(Unit::Microseconds)),
    (&["queue_ns", "queue_time_ns"], Role::Queue(Unit::Nanoseconds)),
    (&["args", "query_string"], Role::Query),
];

/// Names of durations that say no unit.
const WITHOUT_UNIT: [&str; 7] =
    ["duration", "latency", "response_time", "elapsed", "took", "responseTime", "upstream_time"];

/// nginx's variables with seconds, of which it writes three digits behind the point.
const SECONDS_OF_NGINX: [&str; 3] = ["request_time", "upstream_response_time", "upstream_header_time"];

/// Variables that say that nginx has written a line.
const OF_NGINX: [&str; 9] = [
    "remote_addr",
    "remote_user",
    "body_bytes_sent",
    "upstream_addr",
    "time_iso8601",
    "time_local",
    "msec",
    "request_uri",
    "http_user_agent",
];

/// Whether a number, or a text of numbers, is written with digits behind the point or with a unit; none of what has no number.
fn has_point(value: &Value) -> Option<bool> {
    match value {
        Value::Number(number) => Some(number.is_f64()),
        Value::String(text) if text.contains(|c: char| c.is_ascii_digit()) => {
            Some(text.contains(|c: char| c == '.' || c.is_ascii_alphabetic()))
        }
        _ => None,
    }
}

/// What a log is whose first objects are these; none where they have no instant or no request.
pub(super) fn recognize(objects: &[Value]) -> Option<Known> {
    let has = |name: &str| objects.iter().any(|object| object.get(name).is_some());
    let is_whole = |name: &str| {
        let numbers: Vec<bool> = objects.iter().filter_map(|object| has_point(object.get(name)?)).collect();
        !numbers.is_empty() && !numbers.contains(&true)
    };
    let of = |name, keys: &[(&str, Role)], at_end| {
        Some(Known { name, keys: Keys::new(keys.iter().copied()), at_end: Some(at_end), without_unit: Vec::new() })
    };
    if has("StartUTC") && has("RequestMethod") {
        return of("Traefik, JSON", &TRAEFIK, false);
    }
    if has("ts") && has("duration") && objects.iter().any(|object| object.pointer("/request/uri").is_some()) {
        // The encoder may be told to write nanoseconds, which are whole.
        let [fields @ .., _duration] = &CADDY;
        return match is_whole("duration") {
            false => of("Caddy, JSON", &CADDY, true),
            true => {
                of("Caddy, JSON", fields, true).map(|known| Known { without_unit: vec!["duration".into()], ..known })
            }
        };
    }
    if has("start_time") && has("response_code") && has("duration") && has("method") {
        return of("Envoy, JSON", &ENVOY, false);
    }
    let mut found: Vec<(&str, Role)> = Vec::new();
    for (names, role) in NAMES {
        let is_known = |known: &Role| std::mem::discriminant(known) == std::mem::discriminant(&role);
        if !found.iter().any(|(_, known)| is_known(known)) {
            found.extend(names.iter().find(|name| has(name)).map(|name| (*name, role)));
        }
    }
    let is = |role: Role| found.iter().any(|(_, known)| *known == role);
    if !is(Role::Instant) || !(is(Role::Request) || is(Role::Path) && is(Role::Method)) {
        return None;
    }
    let mut without_unit: Vec<String> = WITHOUT_UNIT.into_iter().filter(|name| has(name)).map(str::to_owned).collect();
    // Of another program such a name may have milliseconds.
    let is_nginx = OF_NGINX.into_iter().any(has);
    let doubtful = SECONDS_OF_NGINX.into_iter().filter(|name| has(name) && (!is_nginx || is_whole(name)));
    for name in doubtful {
        found.retain(|(known, _)| *known != name);
        without_unit.push(name.into());
    }
    // What nginx writes is stamped at its end, and its variables have such names.
    let at_end = (has("remote_addr") && has("request_time")).then_some(true);
    Some(Known { name: "JSON with named fields", keys: Keys::new(found), at_end, without_unit })
}

/// Fields as a user names them: `time=ts@end client=ip method=verb path=url status=code response=took:ms`.
///
/// # Errors
/// What is wrong, and what would be right.
pub(super) fn named(text: &str) -> Result<(Keys, Option<bool>), String> {
    let (mut keys, mut at_end, mut roles) = (Vec::new(), None, Vec::new());
    for word in text.split_ascii_whitespace() {
        let (what, name) = word
            .split_once('=')
            .ok_or_else(|| format!("`{word}`: write what a field is and its name, as `status=code`"))?;
        let (name, unit) = match name.rsplit_once(':').map(|(name, unit)| (name, Unit::named(unit))) {
            Some((name, Some(unit))) => (name, Some(unit)),
            Some((_, None)) => return Err(format!("`{word}`: a unit is s, ms, us or ns")),
            None => (name, None),
        };
        let name = match name.rsplit_once('@') {
            Some((name, when @ ("begin" | "end"))) if what == "time" => {
                at_end = Some(when == "end");
                name
            }
            _ => name,
        };
        let with_unit = |role: fn(Unit) -> Role| {
            unit.map(role).ok_or_else(|| format!("`{word}`: say its unit, as `{what}={name}:ms`"))
        };
        let role = match what {
            "time" => Role::Instant,
            "client" => Role::Client,
            "request" => Role::Request,
            "method" => Role::Method,
            "path" => Role::Path,
            "query" => Role::Query,
            "status" => Role::Status,
            "bytes" => Role::Bytes,
            "response" => with_unit(Role::Response)?,
            "server" => Role::Server,
            "server_time" => with_unit(Role::AtServer)?,
            "queue" => with_unit(Role::Queue)?,
            _ => {
                return Err(format!(
                    "`{word}`: a field is time, client, request, method, path, query, status, bytes, response, server, \
                     server_time or queue"
                ));
            }
        };
        keys.push((name, role));
        roles.push(role);
    }
    let is = |role: Role| roles.contains(&role);
    if !is(Role::Instant) || !(is(Role::Request) || is(Role::Path) && is(Role::Method)) {
        return Err("a time is needed, and a request or a method and a path".into());
    }
    Ok((Keys::new(keys), at_end))
}
