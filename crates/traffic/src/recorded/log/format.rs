//! The formats that are read, by name, by a format string, or told from the first lines of a log.
//!
//! A format is told from what its lines say: that one which most of the first lines follow to the last byte, of equals the most
//! particular. A line that does not follow the format is bad: it is never read as of another.

mod haproxy;
mod json;
mod strings;
mod template;
mod w3c;

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memchr_iter;
use sojourn_stats::{input, nearest};
use thiserror::Error;

use self::json::Keys;
use self::strings::Compiled;
use self::template::Template;
use self::w3c::Extended;
use super::calendar::{SECOND_US, Stamp};
use super::ending::{CLIENT_CLOSED, CLIENT_CLOSED_OF_ALB};
use super::fault::Fault;
use super::line;
use super::record::{Record, Taken};

/// Which format the lines of a log have, and what is known of it so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFormat {
    name: Cow<'static, str>,
    reader: Reader,
    stamped: Stamped,
    /// Fields that look like durations and have no unit.
    without_unit: Vec<String>,
}

/// Of what instant of a request a log has the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamped {
    /// When it came.
    Begin,
    /// When it was over: it came so much earlier as its response time says.
    End,
    /// When it was over, of lines that end with nginx's `$request_time`; of the others it is not known.
    EndIfTimed,
    /// One of both: it is taken for the arrival.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Reader {
    Common,
    Template(Template),
    /// A template whose lines begin with one of these words: that of an Application Load Balancer.
    Beginning(&'static [&'static str], Template),
    HaProxy,
    Json(Keys),
    Extended(Extended),
}

/// Why a text names no format; the message says what would be right.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct LogFormatError(String);

/// Names that a user may give.
const NAMES: [&str; 14] = [
    "common",
    "combined",
    "vhost_combined",
    "haproxy",
    "envoy",
    "istio",
    "traefik",
    "caddy",
    "alb",
    "ingress-nginx",
    "squid",
    "w3c",
    "iis",
    "json",
];

/// Lines from which the format is told.
const FIRST_LINES: usize = 200;
/// Objects of which the names of fields are gathered.
const FIRST_OBJECTS: usize = 50;

/// What an access log of an Application Load Balancer may begin with.
const ALB_TYPES: &[&str] = &["http ", "https ", "h2 ", "grpcs ", "ws ", "wss "];

/// Formats with a fixed text, the most particular first: the name, the format string, and what its lines begin with.
static FIXED: LazyLock<Vec<LogFormat>> = LazyLock::new(|| {
    let of = |name: &'static str, text: &str| {
        let Compiled { template, at_end } = strings::compile(text).expect("a format of our own");
        let stamped = if at_end { Stamped::End } else { Stamped::Begin };
        LogFormat { name: name.into(), reader: Reader::Template(template), stamped, without_unit: Vec::new() }
    };
    // Fields behind the request's creation may become more, "access log entries" of Elastic Load Balancing says.
    let mut alb = of(
        "alb",
        "$type $time_sent $elb $client_port $server $part_s $part_s $part_s $status $target_status $received $bytes \
         \"$request_url\" \"$agent\" $cipher $protocol $group \"$trace\" \"$domain\" \"$certificate\" $rule $begin",
    );
    if let Reader::Template(template) = alb.reader {
        alb.reader = Reader::Beginning(ALB_TYPES, template.open());
    }
    let envoy = "[%START_TIME%] \"%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%\" %RESPONSE_CODE% \
                 %RESPONSE_FLAGS% %BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% \
                 \"%REQ(X-FORWARDED-FOR)%\" \"%REQ(USER-AGENT)%\" \"%REQ(X-REQUEST-ID)%\" \"%REQ(:AUTHORITY)%\" \
                 \"%UPSTREAM_HOST%\"";
    let istio = "[%START_TIME%] \"%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%\" %RESPONSE_CODE% \
                 %RESPONSE_FLAGS% %RESPONSE_CODE_DETAILS% %CONNECTION_TERMINATION_DETAILS% \
                 \"%UPSTREAM_TRANSPORT_FAILURE_REASON%\" %BYTES_RECEIVED% %BYTES_SENT% %DURATION% \
                 %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% \"%REQ(X-FORWARDED-FOR)%\" \"%REQ(USER-AGENT)%\" \
                 \"%REQ(X-REQUEST-ID)%\" \"%REQ(:AUTHORITY)%\" \"%UPSTREAM_HOST%\" %UPSTREAM_CLUSTER_RAW% \
                 %UPSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_REMOTE_ADDRESS% \
                 %REQUESTED_SERVER_NAME% %ROUTE_NAME%";
    vec![
        alb,
        of("envoy", envoy),
        of("istio", istio),
        of(
            "traefik",
            "$client - $user [$begin] \"$request\" $status $bytes \"$referer\" \"$agent\" $count \"$router\" \"$server\" \
             ${response_ms}ms",
        ),
        of(
            "ingress-nginx",
            "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \"$http_referer\" \
             \"$http_user_agent\" $request_length $request_time [$proxy_upstream_name] [$proxy_alternative_upstream_name] \
             $upstream_addr $upstream_response_length $upstream_response_time $upstream_status $req_id",
        ),
        of(
            "squid",
            "$end $response_ms $client $squid_code/$status $bytes $method $path $user $hierarchy/$server $type",
        ),
    ]
});

impl LogFormat {
    /// The format that `text` names, or that a format string of nginx, Apache or Envoy says.
    ///
    /// # Errors
    /// When it is neither, or says too little; the message says what would be right.
    pub fn parse(text: &str) -> Result<LogFormat, LogFormatError> {
        let text = text.trim();
        if let Some(fixed) = FIXED.iter().find(|format| format.name == text) {
            return Ok(fixed.clone());
        }
        let of =
            |reader, stamped| Ok(LogFormat { name: text.to_owned().into(), reader, stamped, without_unit: Vec::new() });
        match text {
            "common" | "combined" | "vhost_combined" => of(Reader::Common, Stamped::EndIfTimed),
            "haproxy" => of(Reader::HaProxy, Stamped::Begin),
            "w3c" | "iis" => of(Reader::Extended(Extended::default()), Stamped::End),
            "json" | "caddy" => Err(LogFormatError(format!(
                "`{text}`: which fields a log of JSON has is told from its first lines, so leave --format out; or name them, as \
                 `json time=ts@end client=ip method=verb path=url status=code response=took:ms server=backend`"
            ))),
            _ if text.starts_with("json ") => {
                let (keys, at_end) = json::named(&text[5..]).map_err(LogFormatError)?;
                let stamped =
                    at_end.map_or(Stamped::Unknown, |at_end| if at_end { Stamped::End } else { Stamped::Begin });
                of(Reader::Json(keys), stamped)
            }
            _ if text.contains(['$', '%']) => {
                let Compiled { template, at_end } =
                    strings::compile(text).map_err(|why| LogFormatError(format!("`{text}`: {why}")))?;
                of(Reader::Template(template), if at_end { Stamped::End } else { Stamped::Begin })
            }
            _ => {
                let meant = nearest(text, NAMES);
                let meant = meant.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
                Err(LogFormatError(format!(
                    "`{text}` is no format of a log: write one of {}, or a format string of nginx, Apache or Envoy{meant}",
                    NAMES.join(", ")
                )))
            }
        }
    }

    /// The format of a log that begins so; none where no line of it is in any.
    pub fn detect(head: &[u8]) -> Option<LogFormat> {
        let lines: Vec<&[u8]> = first_lines(head).collect();
        let mut best: Option<(usize, LogFormat)> = None;
        let haproxy = LogFormat {
            name: "haproxy".into(),
            reader: Reader::HaProxy,
            stamped: Stamped::Begin,
            without_unit: Vec::new(),
        };
        let extended = || LogFormat {
            name: "w3c".into(),
            reader: Reader::Extended(Extended::default()),
            stamped: Stamped::End,
            without_unit: Vec::new(),
        };
        let has_directives = lines.first().is_some_and(|line| line.starts_with(b"#"));
        let candidates = has_directives.then(extended).into_iter().chain(of_objects(&lines)).chain([haproxy]);
        for mut format in candidates.chain(FIXED.iter().cloned()).chain([LogFormat::common()]) {
            let fresh = format.clone();
            let good = lines.iter().filter(|line| matches!(format.read(line), Ok(Some(_)))).count();
            if good > best.as_ref().map_or(0, |(most, _)| *most) {
                best = Some((good, fresh));
            }
        }
        let (_, mut format) = best?;
        if matches!(format.reader, Reader::Common) {
            format.name = common_name(&lines).into();
        }
        Some(format)
    }

    /// Common or Combined Log Format.
    pub(super) fn common() -> LogFormat {
        let (reader, stamped) = (Reader::Common, Stamped::EndIfTimed);
        LogFormat { name: "common".into(), reader, stamped, without_unit: Vec::new() }
    }

    /// Its name, or the format string.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Of what instant of a request its lines have the time.
    pub fn stamped(&self) -> Stamped {
        self.stamped
    }

    /// Whether what writes it cuts durations to their step, so that they are half a step longer in the mean than written: HAProxy
    /// (`tv_ms_elapsed`), Envoy (`duration_cast` to milliseconds) and Traefik (`Duration / time.Millisecond`).
    pub(super) fn cuts(&self) -> bool {
        let begins = ["haproxy", "envoy", "istio", "traefik"].iter().any(|name| self.name.starts_with(name));
        begins || self.name.contains("%DURATION%")
    }

    /// What a line says; none of a line that only says what others are.
    ///
    /// # Errors
    /// What keeps it from being of this format.
    #[inline]
    pub(super) fn read<'a>(&mut self, line: &'a [u8]) -> Result<Option<Record<'a>>, Fault> {
        if memchr::memchr(0, line).is_some() {
            return Err(Fault::Nul);
        }
        match &mut self.reader {
            Reader::Common => common(line).map(Some),
            Reader::Template(template) => template.read(line).map(Some),
            Reader::Beginning(words, template) => {
                let begins = words.iter().any(|word| line.starts_with(word.as_bytes()));
                if !begins {
                    return Err(Fault::Shape);
                }
                let record = template.read(line)?;
                let is_abandoned = record.is_abandoned || record.status == CLIENT_CLOSED_OF_ALB;
                Ok(Some(Record { is_abandoned, ..record }))
            }
            Reader::HaProxy => haproxy::read(line).map(Some),
            Reader::Json(keys) => keys.read(line).map(Some),
            Reader::Extended(extended) => extended.read(line),
        }
    }

    /// The format string of a line in Common Log Format with such fields behind it, `$skip` in place of what is not known.
    pub(super) fn format_string(line: &[u8], beyond: &[u8]) -> Option<String> {
        let read = line::parse(line).ok()?;
        Some(super::beyond::format_string(read.is_combined, !line.starts_with(read.host), beyond))
    }

    /// Durations that are in the lines and were not read, since their unit is not known; what to write so that they are.
    pub(super) fn without_unit(&self) -> Option<String> {
        match (&self.reader, &self.without_unit[..]) {
            (Reader::Extended(Extended { without_unit: 1.., .. }), _) => Some(
                "`time-taken` has whole numbers, and no `#Software:` says their unit: they are not read as response times".into(),
            ),
            (_, []) => None,
            (_, [name, ..]) => Some(format!(
                "the unit of {} is not known, so it is not read: name the fields, as --format 'json ... {}={name}:ms'",
                self.without_unit.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
                if name.starts_with("upstream") { "server_time" } else { "response" },
            )),
        }
    }
}

/// The lines of `head` from which its format is told; the last may be cut and is left out, if it is not the only one.
fn first_lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = memchr::memrchr(b'\n', head).map_or(head, |end| &head[..end]);
    let starts = std::iter::once(0).chain(memchr_iter(b'\n', whole).map(|end| end + 1));
    let ends = memchr_iter(b'\n', whole).chain(std::iter::once(whole.len()));
    let lines = starts.zip(ends).map(|(start, end)| input::without_mark(&whole[start..end]).trim_ascii());
    lines.filter(|line| !line.is_empty()).take(FIRST_LINES)
}

/// What the JSON objects among these lines are.
fn of_objects(lines: &[&[u8]]) -> Option<LogFormat> {
    let objects: Vec<_> = lines
        .iter()
        .filter(|line| line.starts_with(b"{"))
        .filter_map(|line| serde_json::from_slice(line).ok())
        .take(FIRST_OBJECTS)
        .collect();
    let json::Known { name, keys, at_end, without_unit } = json::recognize(&objects)?;
    let stamped = at_end.map_or(Stamped::Unknown, |at_end| if at_end { Stamped::End } else { Stamped::Begin });
    Some(LogFormat { name: name.into(), reader: Reader::Json(keys), stamped, without_unit })
}

/// Which of its kin a log in Common Log Format is: what most of its first good lines are.
fn common_name(lines: &[&[u8]]) -> &'static str {
    let name = |line: &&[u8]| {
        let read = line::parse(line).ok()?;
        let is_timed = read.response_ms.is_some() && read.beyond.is_empty();
        Some(match (line.starts_with(read.host), is_timed, read.is_combined) {
            (false, ..) => "vhost_combined",
            (true, true, true) => "combined with nginx's $request_time",
            (true, true, false) => "common with nginx's $request_time",
            (true, false, true) => "combined",
            (true, false, false) => "common",
        })
    };
    let names: Vec<&'static str> = lines.iter().filter_map(name).collect();
    let count = |name: &str| names.iter().filter(|other| **other == name).count();
    names.iter().rev().copied().max_by_key(|name| count(name)).unwrap_or("common")
}

#[inline]
fn common(line: &[u8]) -> Result<Record<'_>, Fault> {
    let line::Line { host, time_s, zone_s, method, path, status, bytes, response_ms, is_combined: _, beyond } =
        line::parse(line)?;
    let stamp = Stamp { time_us: time_s * SECOND_US, zone_s: Some(zone_s), step_us: SECOND_US as u32 };
    Ok(Record {
        client: Cow::Borrowed(host),
        stamp,
        method,
        path: Cow::Borrowed(path),
        status,
        bytes,
        response: response_ms.map(|ms| Taken { us: u64::from(ms) * 1_000, step_us: 1_000 }),
        server: None,
        at_server_us: None,
        to_header_us: None,
        queue_us: None,
        is_retried: false,
        is_abandoned: status == CLIENT_CLOSED,
        beyond,
    })
}
