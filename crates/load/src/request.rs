//! Requests as bytes.
//!
//! What never changes (host, extra headers) is built once per endpoint; a request whose bytes are always the same is
//! built once whole and written from where it stands.

pub(crate) mod endpoint;
pub(crate) mod proxy;
pub(crate) mod scenario;
pub(crate) mod template;
pub(crate) mod url;
pub(crate) mod url_list;

use std::io::Write;

use sojourn_stats::{Span, Time};
use sojourn_traffic::Request;

use crate::error::LoadError;
use crate::request::endpoint::Endpoint;
use crate::request::template::{Template, stream_of};
use crate::schedule::job::{ANYWHERE, Job};
use crate::setting::Version;
use crate::wire::reply::Keeping;

/// What the requests' target is made of.
#[derive(Clone, Debug, PartialEq)]
pub enum Targets {
    /// `/work?bytes={size}`: emulated work of the request's demand with a reply of its size.
    Work,
    /// The path of the request's object.
    Paths(Vec<String>),
    /// Always this path; braces are braces.
    Fixed(String),
    /// The path of the endpoint that the request goes to, a template.
    Own,
    /// One of these, drawn by weight.
    Weighted(Vec<(f64, Template)>),
}

/// The requests' method (RFC 9110, section 9.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// GET.
    #[default]
    Get,
    /// HEAD: replies have no body.
    Head,
    /// POST: not sent a second time when a stale connection may have taken it.
    Post,
    /// PUT.
    Put,
    /// DELETE.
    Delete,
    /// PATCH (RFC 5789): not sent a second time either.
    Patch,
}

/// The requests' body.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Body {
    /// None.
    #[default]
    None,
    /// Always these bytes.
    Bytes(Vec<u8>),
    /// A text of its own for every request.
    Template(Template),
}

impl Method {
    /// All of them.
    pub const ALL: [Method; 6] = [Method::Get, Method::Head, Method::Post, Method::Put, Method::Delete, Method::Patch];

    /// The method of this name, in any case.
    pub fn named(name: &str) -> Option<Method> {
        Method::ALL.into_iter().find(|method| method.name().eq_ignore_ascii_case(name))
    }

    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Head => "HEAD",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Delete => "DELETE",
            Method::Patch => "PATCH",
        }
    }

    /// Whether asking twice is as good as once (RFC 9110, section 9.2.2).
    pub(crate) fn is_idempotent(self) -> bool {
        !matches!(self, Method::Post | Method::Patch)
    }
}

/// What the requests of a run have in common.
pub(crate) struct Asked<'a> {
    pub(crate) method: Method,
    pub(crate) targets: Targets,
    pub(crate) headers: &'a [(String, String)],
    pub(crate) classes: Vec<String>,
    pub(crate) body: Body,
    /// Requests carry the client of a plan or script as `x-sojourn-client`, their class by name, where it has one, as
    /// `x-sojourn-class`, and emulated work its demand as `x-sojourn-demand` (nanoseconds).
    pub(crate) planned: bool,
    pub(crate) cookies: bool,
    pub(crate) version: Version,
    /// They go to a forward proxy, which has to be told of each for which host it is.
    pub(crate) is_proxied: bool,
    pub(crate) seed: u64,
}

/// What one request asks for in place of what all ask for: where a redirect led, or a step of a scenario.
#[derive(Clone, Debug)]
pub(crate) struct Special {
    /// How many redirects led there.
    pub(crate) hops: u32,
    pub(crate) method: Method,
    /// The host, where it is not the endpoint's.
    pub(crate) authority: Option<String>,
    pub(crate) path: String,
    /// A redirect changed the method: the body is gone, and with it what is said of it.
    pub(crate) bare: bool,
    /// A redirect led to another host, which must not learn what proves to the first one who asks.
    pub(crate) away: bool,
    pub(crate) step: Option<StepParts>,
}

/// What the request of a step has besides method and path.
#[derive(Clone, Debug)]
pub(crate) struct StepParts {
    /// Its own headers, besides those of all requests.
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Option<Vec<u8>>,
    /// What is kept of the reply.
    pub(crate) keeping: Option<Keeping>,
}

impl Special {
    /// Whether a header of this name goes with it.
    fn has(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        let of_body = name.starts_with("content-");
        let of_client = ["authorization", "cookie", "proxy-authorization"].contains(&name.as_str());
        !(self.bare && of_body || self.away && of_client)
    }

    /// The step's headers.
    fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let headers = self.step.iter().flat_map(|step| &step.headers);
        headers.map(|(name, value)| (name.as_str(), value.as_slice())).filter(|(name, _)| self.has(name))
    }
}

/// Writes requests.
#[derive(Clone, Debug)]
pub(crate) struct Renderer {
    method: Method,
    targets: Targets,
    body: Body,
    planned: bool,
    /// The names of the classes; empty where requests do not say theirs.
    classes: Vec<String>,
    seed: u64,
    /// From the version to the last header that is the same for all, by endpoint.
    commons: Vec<Vec<u8>>,
    /// What stands before the path where a proxy is asked, by endpoint; empty where it is not.
    before_path: Vec<String>,
    version: &'static str,
    /// The headers that are the same for all, as lines.
    plain: Vec<u8>,
    /// The others.
    drawn: Vec<(String, Template)>,
    /// The paths of the endpoints, where those are asked for.
    own: Vec<Template>,
    /// Weights summed up.
    weights: Vec<f64>,
    /// The whole request, where all are the same, by endpoint.
    constant: Option<Vec<Vec<u8>>>,
    /// What `CLOCK_REALTIME` says (ns since 1970) at the run's time zero.
    started_at_ns: u64,
}

impl Renderer {
    pub(crate) fn new(asked: Asked<'_>, endpoints: &[Endpoint]) -> Result<Renderer, LoadError> {
        let invalid = |what: String| Err(LoadError::Invalid(what));
        let mut own = Vec::new();
        let mut weights = Vec::new();
        match &asked.targets {
            Targets::Work => {}
            Targets::Paths(paths) if paths.is_empty() => return invalid("targets: the list of paths is empty".into()),
            Targets::Paths(paths) => paths.iter().try_for_each(|path| check_path(path, path))?,
            Targets::Fixed(path) => check_path(path, path)?,
            Targets::Own => {
                for Endpoint { path, .. } in endpoints {
                    let template = Template::parse(path).map_err(|error| LoadError::Invalid(error.to_string()))?;
                    check_template(&template)?;
                    own.push(template);
                }
            }
            Targets::Weighted(list) if list.is_empty() => return invalid("targets: the list of URLs is empty".into()),
            Targets::Weighted(list) => {
                let mut sum = 0.0;
                for (weight, template) in list {
                    if !(*weight > 0.0 && weight.is_finite()) {
                        return invalid(format!("targets: a weight of {weight}; expected a number above 0"));
                    }
                    if template.endpoint.is_some_and(|endpoint| endpoint >= endpoints.len()) {
                        return invalid("targets: a URL is of an endpoint that there is not".into());
                    }
                    check_template(template)?;
                    sum += weight;
                    weights.push(sum);
                }
            }
        }
        let mut plain = Vec::new();
        let mut drawn = Vec::new();
        for (name, value) in asked.headers {
            check_header(name, value)?;
            let template =
                Template::parse(value).map_err(|error| LoadError::Invalid(format!("header `{name}`: {error}")))?;
            match template.plain() {
                Some(value) => plain.extend_from_slice(format!("{name}: {value}\r\n").as_bytes()),
                None => drawn.push((name.clone(), template)),
            }
        }
        if let Body::Bytes(bytes) = &asked.body {
            plain.extend_from_slice(format!("content-length: {}\r\n", bytes.len()).as_bytes());
        } else if asked.body == Body::None && matches!(asked.method, Method::Post | Method::Put) {
            plain.extend_from_slice(b"content-length: 0\r\n");
        }
        let version = if asked.version == Version::Http10 { " HTTP/1.0\r\nhost: " } else { " HTTP/1.1\r\nhost: " };
        let mut commons = Vec::new();
        for Endpoint { authority, .. } in endpoints {
            if authority.is_empty() || authority.bytes().any(|byte| byte <= b' ' || byte >= 0x7f) {
                return invalid(format!("host `{authority}`: expected a host name, e.g. `localhost:8080`"));
            }
            commons.push([version.as_bytes(), authority.as_bytes(), b"\r\n", &plain].concat());
        }
        let of_proxied = endpoints.iter().filter(|_| asked.is_proxied);
        let before_path = of_proxied.map(|endpoint| format!("http://{}", endpoint.authority)).collect();
        let Asked { method, targets, body, planned, classes, seed, cookies, .. } = asked;
        let mut renderer = Renderer {
            method,
            targets,
            body,
            planned,
            classes,
            seed,
            commons,
            before_path,
            version,
            plain,
            drawn,
            own,
            weights,
            constant: None,
            started_at_ns: 0,
        };
        let fixed = match &renderer.targets {
            Targets::Fixed(_) => true,
            Targets::Own => renderer.own.iter().all(|path| path.plain().is_some()),
            _ => false,
        };
        if fixed && !planned && !cookies && renderer.drawn.is_empty() && !matches!(renderer.body, Body::Template(_)) {
            let mut whole = vec![Vec::new(); endpoints.len()];
            for (endpoint, out) in whole.iter_mut().enumerate() {
                let job = Job { endpoint: endpoint as u32, ..any_job() };
                renderer.render(&job, None, None, out);
            }
            renderer.constant = Some(whole);
        }
        Ok(renderer)
    }

    /// Its run's time zero is at `started_at_ns` (ns since 1970).
    pub(crate) fn starts_at(&mut self, started_at_ns: u64) {
        self.started_at_ns = started_at_ns;
    }

    /// The bytes of every request to this endpoint, where they are all the same.
    #[inline]
    pub(crate) fn constant(&self, endpoint: u32) -> Option<&[u8]> {
        self.constant.as_ref().map(|whole| whole[endpoint as usize].as_slice())
    }

    /// Whether there is a path for `request`.
    #[inline]
    pub(crate) fn knows(&self, request: &Request) -> bool {
        match &self.targets {
            Targets::Paths(paths) => (request.object as usize) < paths.len(),
            _ => true,
        }
    }

    /// Whether there are several targets.
    pub(crate) fn is_weighted(&self) -> bool {
        matches!(self.targets, Targets::Weighted(_))
    }

    /// Which of several targets request `k` asks for, and the endpoint that this one is of; none where there is one.
    #[inline]
    pub(crate) fn choose(&self, k: u64) -> Option<(u32, Option<usize>)> {
        let Targets::Weighted(list) = &self.targets else { return None };
        let mut choice = 0;
        if let (Some(all), true) = (self.weights.last(), list.len() > 1) {
            let point = stream_of(self.seed, k, "target").uniform() * all;
            choice = self.weights.partition_point(|&sum| sum <= point).min(list.len() - 1);
        }
        Some((choice as u32, list[choice].1.endpoint))
    }

    /// The method, of all or its own.
    pub(crate) fn method(&self, special: Option<&Special>) -> Method {
        special.map_or(self.method, |special| special.method)
    }

    /// Writes `job`, one that [`Renderer::knows`], to `out`, replacing what was there. It goes to its endpoint, or to
    /// where a redirect led.
    pub(crate) fn render(&self, job: &Job, special: Option<&Special>, cookie: Option<&[u8]>, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(self.method(special).name().as_bytes());
        out.push(b' ');
        self.write_host(job, special, out);
        self.write_path(job, special, out);
        let bare = special.is_some_and(|special| special.bare);
        match special.and_then(|special| special.authority.as_ref()) {
            None => out.extend_from_slice(&self.commons[job.endpoint as usize]),
            Some(authority) => {
                for piece in [self.version.as_bytes(), authority.as_bytes(), b"\r\n"] {
                    out.extend_from_slice(piece);
                }
                for (name, value) in self.plain_headers(special) {
                    for piece in [name, ": ", value, "\r\n"] {
                        out.extend_from_slice(piece.as_bytes());
                    }
                }
            }
        }
        self.each_drawn_header(job, special, cookie, |name, value| {
            for piece in [name.as_bytes(), b": ", value, b"\r\n"] {
                out.extend_from_slice(piece);
            }
        });
        if let Some(StepParts { body, .. }) = special.and_then(|special| special.step.as_ref()) {
            let body = body.as_deref().filter(|_| !bare);
            let says_length = body.is_some() || matches!(self.method(special), Method::Post | Method::Put);
            if says_length {
                write!(out, "content-length: {}\r\n", body.map_or(0, <[u8]>::len)).expect("a Vec takes all");
            }
            out.extend_from_slice(b"\r\n");
            return out.extend_from_slice(body.unwrap_or_default());
        }
        match &self.body {
            _ if bare => out.extend_from_slice(b"\r\n"),
            Body::None => out.extend_from_slice(b"\r\n"),
            Body::Bytes(bytes) => {
                out.extend_from_slice(b"\r\n");
                out.extend_from_slice(bytes);
            }
            Body::Template(_) => {
                let body = self.body(job, special);
                write!(out, "content-length: {}\r\n\r\n", body.len()).expect("a Vec takes all");
                out.extend_from_slice(&body);
            }
        }
    }

    /// Appends for which host `job` asks, where it asks a proxy.
    fn write_host(&self, job: &Job, special: Option<&Special>, out: &mut Vec<u8>) {
        let Some(own) = self.before_path.get(job.endpoint as usize) else { return };
        match special.and_then(|special| special.authority.as_ref()) {
            None => out.extend_from_slice(own.as_bytes()),
            Some(authority) => write!(out, "http://{authority}").expect("a Vec takes all"),
        }
    }

    /// Appends the path that `job` asks for.
    pub(crate) fn write_path(&self, job: &Job, special: Option<&Special>, out: &mut Vec<u8>) {
        if let Some(special) = special {
            return out.extend_from_slice(special.path.as_bytes());
        }
        match &self.targets {
            Targets::Work => {
                let Request { object, size, .. } = job.request;
                write!(out, "/work/{object}?bytes={size}").expect("a Vec takes all");
            }
            Targets::Paths(paths) => out.extend_from_slice(paths[job.request.object as usize].as_bytes()),
            Targets::Fixed(path) => out.extend_from_slice(path.as_bytes()),
            Targets::Own => self.write_template(&self.own[job.endpoint as usize], job, "path", out),
            Targets::Weighted(list) => self.write_template(&list[job.target as usize].1, job, "path", out),
        }
    }

    /// Whether a header of this name, which all requests have, goes with one. What a proxy is told is for no other host.
    fn goes_out(&self, name: &str, special: Option<&Special>) -> bool {
        let is_of_proxy = !self.before_path.is_empty() && name.eq_ignore_ascii_case("proxy-authorization");
        is_of_proxy || special.is_none_or(|special| special.has(name))
    }

    /// The headers that are the same for all requests, but for the host.
    pub(crate) fn plain_headers(&self, special: Option<&Special>) -> impl Iterator<Item = (&str, &str)> {
        let text = std::str::from_utf8(&self.plain).expect("made of texts");
        let headers = text.lines().filter_map(|line| line.split_once(": "));
        headers.filter(move |(name, _)| self.goes_out(name, special))
    }

    /// The other headers of `job`, by name and value.
    pub(crate) fn each_drawn_header(
        &self,
        job: &Job,
        special: Option<&Special>,
        cookie: Option<&[u8]>,
        mut each: impl FnMut(&str, &[u8]),
    ) {
        let mut digits = itoa::Buffer::new();
        if self.planned {
            each("x-sojourn-client", digits.format(job.request.client).as_bytes());
        }
        if self.planned && self.targets == Targets::Work {
            each("x-sojourn-demand", digits.format(job.request.demand.0).as_bytes());
        }
        if self.planned && job.until != Time::NEVER {
            each("x-sojourn-deadline", digits.format(self.started_at_ns + job.until.0).as_bytes());
        }
        if let Some(class) = self.classes.get(usize::from(job.request.class)).filter(|_| self.planned) {
            each("x-sojourn-class", class.as_bytes());
        }
        for (name, template) in self.drawn.iter().filter(|(name, _)| self.goes_out(name, special)) {
            let mut value = Vec::new();
            self.write_template(template, job, name, &mut value);
            each(name, &value);
        }
        special.into_iter().flat_map(Special::headers).for_each(|(name, value)| each(name, value));
        if let Some(cookie) = cookie {
            each("cookie", cookie);
        }
    }

    /// The body of `job`; none where there is none.
    pub(crate) fn body(&self, job: &Job, special: Option<&Special>) -> Vec<u8> {
        let mut body = Vec::new();
        match (&self.body, special) {
            (_, Some(Special { bare: true, .. })) => {}
            (_, Some(Special { step: Some(step), .. })) => body.extend(step.body.iter().flatten()),
            (Body::None, _) => {}
            (Body::Bytes(bytes), _) => body.extend_from_slice(bytes),
            (Body::Template(template), _) => self.write_template(template, job, "body", &mut body),
        }
        body
    }

    fn write_template(&self, template: &Template, job: &Job, purpose: &str, out: &mut Vec<u8>) {
        match template.plain() {
            Some(text) => out.extend_from_slice(text.as_bytes()),
            None => template.write(job, &mut stream_of(self.seed, job.k, purpose), out),
        }
    }
}

fn check_path(path: &str, whole: &str) -> Result<(), LoadError> {
    if !whole.starts_with('/') || path.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
        return Err(LoadError::Invalid(format!(
            "path `{path}`: it starts with `/` and has no blank or control character"
        )));
    }
    if path.contains('#') {
        return Err(LoadError::Invalid(format!(
            "path `{path}`: `#` begins a fragment, which is never sent; leave it out, or write the character as %23"
        )));
    }
    Ok(())
}

/// Takes the host out of `headers`, for all endpoints to be called so: a request has one.
pub(crate) fn take_host(headers: &mut Vec<(String, String)>) -> Result<Option<String>, LoadError> {
    let mut hosts = headers.extract_if(.., |(name, _)| name.eq_ignore_ascii_case("host"));
    let Some((name, value)) = hosts.next() else { return Ok(None) };
    let wrong = |why: &str| LoadError::Invalid(format!("header `{name}`: {why}"));
    if hosts.next().is_some() {
        return Err(wrong("it is given twice, and a request has one; for several hosts give several URLs"));
    }
    let template = Template::parse(&value).map_err(|error| wrong(&error.to_string()))?;
    let plain =
        template.plain().ok_or_else(|| wrong("it is the same for all requests; for several hosts give several URLs"));
    plain.map(|host| Some(host.to_owned()))
}

/// Whether a header of this name may have this value.
pub(crate) fn check_header(name: &str, value: &str) -> Result<(), LoadError> {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(token) {
        return Err(LoadError::Invalid(format!("header `{name}`: not a header name, e.g. `accept`")));
    }
    if ["content-length", "transfer-encoding"].iter().any(|own| name.eq_ignore_ascii_case(own)) {
        return Err(LoadError::Invalid(format!("header `{name}`: it is said for you, by the body; leave it out")));
    }
    if value.bytes().any(|byte| byte == 0x7f || (byte < b' ' && byte != b'\t')) {
        return Err(LoadError::Invalid(format!("header `{name}`: its value has a control character")));
    }
    Ok(())
}

/// Whether what a template writes is a path.
pub(crate) fn check_template(template: &Template) -> Result<(), LoadError> {
    template.texts().try_for_each(|text| check_path(text, template.beginning()))
}

fn any_job() -> Job {
    let request = Request { client: 0, class: 0, object: 0, size: 0, demand: Span::ZERO, patience: Span::FOREVER };
    let zero = sojourn_stats::Time::ZERO;
    Job::new(0, ANYWHERE, zero, zero, request)
}
