//! Requests as bytes.
//!
//! What never changes (host, extra headers) is built once; a request whose bytes are always the same is built once
//! whole and written from where it stands.

use std::io::Write;

use sojourn_stats::Span;
use sojourn_traffic::Request;

use crate::setting::LoadError;

/// What the requests' target is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Targets {
    /// `/work?bytes={size}`: emulated work of the request's demand with a reply of its size.
    Work,
    /// The path of the request's object.
    Paths(Vec<String>),
    /// Always this path.
    Fixed(String),
}

/// The requests' method; only the idempotent ones, so that a retry is safe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// GET.
    #[default]
    Get,
    /// HEAD: replies have no body.
    Head,
}

/// Writes requests.
#[derive(Clone, Debug)]
pub(crate) struct Renderer {
    method: &'static str,
    targets: Targets,
    /// From the version to the last header that is the same for all.
    common: Vec<u8>,
    planned: bool,
    /// The whole request, where all are the same.
    constant: Option<Vec<u8>>,
}

impl Renderer {
    /// `planned`: requests carry the client of a plan or script as `x-sojourn-client`, and emulated work its demand as
    /// `x-sojourn-demand` (nanoseconds). `persistent`: HTTP/1.1, and HTTP/1.0 otherwise.
    pub(crate) fn new(
        method: Method,
        targets: Targets,
        host: &str,
        headers: &[(String, String)],
        planned: bool,
        cookies: bool,
        persistent: bool,
    ) -> Result<Renderer, LoadError> {
        let invalid = |what: String| Err(LoadError::Invalid(what));
        let paths: &[String] = match &targets {
            Targets::Work => &[],
            Targets::Paths(paths) if paths.is_empty() => return invalid("targets: the list of paths is empty".into()),
            Targets::Paths(paths) => paths,
            Targets::Fixed(path) => std::slice::from_ref(path),
        };
        for path in paths {
            if !path.starts_with('/') || path.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
                return invalid(format!("path `{path}`: it starts with `/` and has no blank or control character"));
            }
        }
        if host.is_empty() || host.bytes().any(|byte| byte <= b' ' || byte >= 0x7f) {
            return invalid(format!("host `{host}`: expected a host name, e.g. `localhost:8080`"));
        }
        let mut common = format!(" HTTP/1.{}\r\nhost: {host}\r\n", u8::from(persistent)).into_bytes();
        for (name, value) in headers {
            let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
            if name.is_empty() || !name.bytes().all(token) {
                return invalid(format!("header `{name}`: not a header name, e.g. `accept`"));
            }
            if value.bytes().any(|byte| byte == 0x7f || (byte < b' ' && byte != b'\t')) {
                return invalid(format!("header `{name}`: its value has a control character"));
            }
            common.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        let method = match method {
            Method::Get => "GET ",
            Method::Head => "HEAD ",
        };
        let mut renderer = Renderer { method, targets, common, planned, constant: None };
        if !planned && !cookies && !matches!(renderer.targets, Targets::Paths(_)) {
            renderer.constant = match renderer.targets {
                Targets::Fixed(_) => {
                    let mut whole = Vec::new();
                    renderer.render(&any_request(), None, &mut whole);
                    Some(whole)
                }
                _ => None,
            };
        }
        Ok(renderer)
    }

    /// The bytes of every request, where they are all the same.
    #[inline]
    pub(crate) fn constant(&self) -> Option<&[u8]> {
        self.constant.as_deref()
    }

    /// Whether there is a path for `request`.
    #[inline]
    pub(crate) fn knows(&self, request: &Request) -> bool {
        match &self.targets {
            Targets::Paths(paths) => (request.object as usize) < paths.len(),
            Targets::Work | Targets::Fixed(_) => true,
        }
    }

    /// Writes `request`, one that [`Renderer::knows`], to `out`, replacing what was there.
    pub(crate) fn render(&self, request: &Request, cookie: Option<&[u8]>, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(self.method.as_bytes());
        match &self.targets {
            Targets::Work => write!(out, "/work?bytes={}", request.size).expect("a Vec takes all"),
            Targets::Paths(paths) => out.extend_from_slice(paths[request.object as usize].as_bytes()),
            Targets::Fixed(path) => out.extend_from_slice(path.as_bytes()),
        }
        out.extend_from_slice(&self.common);
        if self.planned {
            write!(out, "x-sojourn-client: {}\r\n", request.client).expect("a Vec takes all");
        }
        if self.planned && self.targets == Targets::Work {
            write!(out, "x-sojourn-demand: {}\r\n", request.demand.0).expect("a Vec takes all");
        }
        if let Some(cookie) = cookie {
            out.extend_from_slice(b"cookie: ");
            out.extend_from_slice(cookie);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"\r\n");
    }
}

fn any_request() -> Request {
    Request { client: 0, class: 0, object: 0, size: 0, demand: Span::ZERO, patience: Span::FOREVER }
}
