//! Format strings of nginx (`log_format`), Apache (`LogFormat`) and Envoy, as fields and the texts between them.
//!
//! nginx's variables are documented at the modules `ngx_http_core_module`, `ngx_http_log_module` and
//! `ngx_http_upstream_module`, Apache's directives at `mod_log_config`, Envoy's operators at "Access logging". nginx stamps a
//! line when the request ends, Apache and Envoy when it began. A format string of nginx may also have names that are ours, for
//! a log that no product writes: `$begin`, `$end`, `$client`, `$client_port`, `$path`, `$bytes`, `$server`, `$skip`, and
//! `$response`, `$server_time` and `$queue` with a unit behind them (`$response_ms`).

use super::super::ending::Ending;
use super::super::record::{Role, Unit};
use super::template::{Part, Template};

/// A format string, compiled, and whether it stamps a line at the request's end.
pub(super) struct Compiled {
    pub(super) template: Template,
    pub(super) at_end: bool,
}

/// A format string of one of the three, told by its fields.
///
/// # Errors
/// What is wrong with it, and what would be right.
pub(super) fn compile(text: &str) -> Result<Compiled, String> {
    let text = &unquoted(text.trim());
    let (parts, at_end) = match () {
        () if text.contains('$') => nginx(text)?,
        () if is_envoy(text) => (envoy(text)?, false),
        () if ["%ci", "%cp", "%ft", "%ST", "%Ta", "%TR"].iter().any(|field| text.contains(field)) => {
            return Err("format strings of HAProxy are not read: use --format haproxy, for `option httplog`".into());
        }
        () => (apache(text)?, false),
    };
    let template = Template::new(parts).map_err(String::from)?;
    Ok(Compiled { template, at_end })
}

/// A text as it stands in a configuration of nginx, without the quotes about it; of several one after the other, as one.
fn unquoted(text: &str) -> String {
    let Some(inside) = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) else { return text.to_owned() };
    let mut parts = inside.split('\'');
    let first = parts.next().unwrap_or_default().to_owned();
    // Between two texts are blanks; else a quote is a part of the text.
    parts
        .fold((first, false), |(all, is_between), part| match (is_between, part.trim().is_empty()) {
            (false, true) => (all, true),
            (false, false) => (all + "'" + part, false),
            (true, _) => (all + part, false),
        })
        .0
}

fn nginx(text: &str) -> Result<(Vec<Part>, bool), String> {
    let (mut parts, mut at_end, mut rest) = (Vec::new(), true, text);
    while let Some(dollar) = rest.find('$') {
        parts.push(Part::Text(rest[..dollar].into()));
        rest = &rest[dollar + 1..];
        let is_braced = rest.starts_with('{');
        rest = rest.strip_prefix('{').unwrap_or(rest);
        let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (name, behind) = rest.split_at(length);
        rest = behind;
        if is_braced {
            rest = rest.strip_prefix('}').ok_or_else(|| format!("`${{{name}` has no closing brace"))?;
        }
        at_end &= name != "begin";
        let role = variable(name);
        if let Some(meant) = misspelt(name, VARIABLES).filter(|_| matches!(role, Role::Skip | Role::SkipList)) {
            return Err(format!("`${name}`: did you mean `${meant}`? A field that is not to be read is `$skip`"));
        }
        parts.push(Part::Field(role));
    }
    parts.push(Part::Text(rest.into()));
    Ok((parts, at_end))
}

/// Variables that are read, by names long enough to be misspelt.
const VARIABLES: &[&str] = &[
    "remote_addr",
    "realip_remote_addr",
    "time_local",
    "time_iso8601",
    "request",
    "request_method",
    "request_uri",
    "request_time",
    "status",
    "body_bytes_sent",
    "bytes_sent",
    "upstream_addr",
    "upstream_response_time",
    "upstream_header_time",
    "query_string",
];

/// Operators of Envoy that are read.
const OPERATORS: &[&str] = &[
    "START_TIME",
    "DOWNSTREAM_REMOTE_ADDRESS",
    "RESPONSE_CODE",
    "RESPONSE_FLAGS",
    "BYTES_SENT",
    "DURATION",
    "UPSTREAM_HOST",
    "UPSTREAM_REMOTE_ADDRESS",
];

/// The name that is read and is this one but for a letter that is missing, too many, another one, or in its neighbour's place.
fn misspelt(name: &str, read: &'static [&'static str]) -> Option<&'static str> {
    read.iter().copied().find(|other| *other != name && is_one_letter_off(name.as_bytes(), other.as_bytes()))
}

fn is_one_letter_off(one: &[u8], other: &[u8]) -> bool {
    let same = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let (one, other) = (&one[same..], &other[same..]);
    let behind = one.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count();
    match (&one[..one.len() - behind], &other[..other.len() - behind]) {
        ([_], [] | [_]) | ([], [_]) => true,
        ([a, b], [c, d]) => a == d && b == c,
        _ => false,
    }
}

/// What nginx's variable is; of most nothing is read.
fn variable(name: &str) -> Role {
    match name {
        "remote_addr" | "realip_remote_addr" | "client" | "remote_host" => Role::Client,
        "client_port" => Role::ClientAndPort,
        "http_x_forwarded_for" | "proxy_add_x_forwarded_for" => Role::Skip,
        "time_local" | "time_iso8601" | "msec" | "begin" | "end" => Role::Instant,
        "request" => Role::Request,
        "request_url" => Role::RequestOfUrl,
        "request_method" | "method" => Role::Method,
        "request_uri" | "uri" | "path" => Role::Path,
        "args" | "query_string" => Role::Query,
        "status" => Role::Status,
        "body_bytes_sent" | "bytes_sent" | "bytes" => Role::Bytes,
        "request_time" => Role::Response(Unit::Seconds),
        "upstream_addr" | "server" => Role::Server,
        "upstream_response_time" => Role::AtServer(Unit::Seconds),
        "upstream_header_time" => Role::ToHeader(Unit::Seconds),
        "squid_code" => Role::Ending(Ending::Squid),
        _ => {
            let unit = name.rsplit_once('_').and_then(|(what, unit)| Some((what, Unit::named(unit)?)));
            match unit {
                Some(("response", unit)) => Role::Response(unit),
                Some(("part", unit)) => Role::Part(unit),
                Some(("server_time", unit)) => Role::AtServer(unit),
                Some(("queue", unit)) => Role::Queue(unit),
                _ if name.starts_with("upstream_") => Role::SkipList,
                _ => Role::Skip,
            }
        }
    }
}

fn apache(text: &str) -> Result<Vec<Part>, String> {
    let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text).replace("\\\"", "\"");
    let (mut parts, mut rest) = (Vec::new(), text.as_str());
    while let Some(percent) = rest.find('%') {
        parts.push(Part::Text(rest[..percent].into()));
        let directive = &rest[percent..];
        rest = &rest[percent + 1..];
        if let Some(behind) = rest.strip_prefix('%') {
            parts.push(Part::Text(b"%".to_vec()));
            rest = behind;
            continue;
        }
        // `>` and `<` say of which request, a list of statuses for which replies: in the others there is a `-`.
        rest = rest.trim_start_matches(|c: char| c == '!' || c == ',' || c.is_ascii_digit());
        rest = rest.trim_start_matches(['>', '<']);
        let argument = match rest.strip_prefix('{') {
            Some(inside) => {
                let end = inside.find('}').ok_or_else(|| format!("`{directive}` has no closing brace"))?;
                rest = &inside[end + 1..];
                Some(&inside[..end])
            }
            None => None,
        };
        let length = if rest.starts_with('^') { 3 } else { 1 };
        let letter = rest.get(..length).ok_or_else(|| format!("`{directive}` ends before its letter"))?;
        rest = &rest[length..];
        // The time stands in brackets where no form is given.
        match (letter, argument) {
            ("t", None) => {
                parts.extend([Part::Text(b"[".to_vec()), Part::Field(Role::Instant), Part::Text(b"]".to_vec())]);
            }
            _ => parts.push(Part::Field(directive_role(letter, argument)?)),
        }
    }
    parts.push(Part::Text(rest.into()));
    Ok(parts)
}

/// What Apache's directive is; of most nothing is read.
fn directive_role(letter: &str, argument: Option<&str>) -> Result<Role, String> {
    let times = ["sec", "msec", "usec", "begin:sec", "begin:msec", "begin:usec", "%Y-%m-%dT%H:%M:%S%z", "%FT%T%z"];
    Ok(match (letter, argument) {
        ("h" | "a", _) => Role::Client,
        ("t", Some(form)) if times.contains(&form) => Role::Instant,
        ("t", Some(form)) => {
            let (these, like) = (times.map(|form| format!("%{{{form}}}t")).join(", "), "%t");
            return Err(format!("`%{{{form}}}t` is a form of time that is not read; read are {like}, {these}"));
        }
        ("r", _) => Role::Request,
        ("m", _) => Role::Method,
        ("U", _) => Role::Path,
        // With its `?`.
        ("q", _) => return Err("`%q` has nothing between it and `%U`: write `%r` in place of `%m %U%q`".into()),
        ("s", _) => Role::Status,
        ("B" | "b" | "O", _) => Role::Bytes,
        ("D", _) => Role::Response(Unit::Microseconds),
        ("T", None) => Role::Response(Unit::Seconds),
        ("T", Some(unit)) => {
            Unit::named(unit).map(Role::Response).ok_or_else(|| format!("`%{{{unit}}}T`: its unit is s, ms or us"))?
        }
        ("X", _) => Role::Ending(Ending::Apache),
        ("e", Some("BALANCER_WORKER_NAME" | "BALANCER_WORKER_ROUTE")) => Role::Server,
        _ => Role::Skip,
    })
}

/// Whether there is an operator of Envoy: `%START_TIME%`, `%REQ(:METHOD)%`.
fn is_envoy(text: &str) -> bool {
    let mut places = text.match_indices('%').map(|(at, _)| at);
    places.any(|at| {
        let name = &text[at + 1..];
        let length = name.bytes().take_while(|c| c.is_ascii_uppercase() || *c == b'_').count();
        length > 2 && matches!(name.as_bytes().get(length), Some(b'%' | b'(' | b':'))
    })
}

fn envoy(text: &str) -> Result<Vec<Part>, String> {
    let (mut parts, mut rest) = (Vec::new(), text.strip_suffix("\\n").unwrap_or(text));
    while let Some(percent) = rest.find('%') {
        parts.push(Part::Text(rest[..percent].into()));
        rest = &rest[percent + 1..];
        let mut is_inside = false;
        let end = rest.find(|c| {
            is_inside = c == '(' || is_inside && c != ')';
            c == '%' && !is_inside
        });
        let end = end.ok_or_else(|| format!("`%{rest}` has no closing `%`"))?;
        let operator = &rest[..end];
        rest = &rest[end + 1..];
        let role = operator_role(operator)?;
        let name = operator.split(['(', ':']).next().unwrap_or_default();
        if let Some(meant) = misspelt(name, OPERATORS).filter(|_| role == Role::Skip) {
            return Err(format!("`%{name}%`: did you mean `%{meant}%`?"));
        }
        parts.push(Part::Field(role));
    }
    parts.push(Part::Text(rest.into()));
    Ok(parts)
}

/// What Envoy's operator is; of most nothing is read.
fn operator_role(operator: &str) -> Result<Role, String> {
    // A length at its end cuts it: `%REQ(X-FORWARDED-FOR):20%`.
    let operator = operator.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches(':');
    let (name, argument) = match operator.split_once('(') {
        Some((name, rest)) => (name, rest.trim_end_matches(')')),
        None => (operator, ""),
    };
    let argument = argument.to_ascii_uppercase();
    Ok(match (name, argument.as_str()) {
        ("START_TIME", "" | "%S" | "%S.%3F" | "%S.%6F") => Role::Instant,
        ("START_TIME", form) => {
            return Err(format!("`%START_TIME({form})%` is a form of time that is not read; `%START_TIME%` is"));
        }
        ("REQ", ":METHOD") | ("REQUEST_HEADER", ":METHOD") => Role::Method,
        ("REQ" | "REQUEST_HEADER" | "PATH", path) if name == "PATH" || path.contains(":PATH") => Role::Path,
        ("REQ" | "REQUEST_HEADER", "X-FORWARDED-FOR") => Role::Forwarded,
        ("DOWNSTREAM_REMOTE_ADDRESS", _) => Role::ClientAndPort,
        ("RESPONSE_CODE", _) => Role::Status,
        ("BYTES_SENT", _) => Role::Bytes,
        ("DURATION", _) => Role::Response(Unit::Milliseconds),
        ("RESP" | "RESPONSE_HEADER", "X-ENVOY-UPSTREAM-SERVICE-TIME") => Role::AtServer(Unit::Milliseconds),
        ("UPSTREAM_HOST" | "UPSTREAM_REMOTE_ADDRESS", _) => Role::Server,
        ("RESPONSE_FLAGS" | "RESPONSE_FLAGS_LONG", _) => Role::Ending(Ending::Envoy),
        _ => Role::Skip,
    })
}
