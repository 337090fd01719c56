//! Numbers in Prometheus' text format over HTTP, at `/metrics`.
//!
//! Few connections are enough for those who ask, and any stranger could hold them all: where one comes too many, the oldest is
//! closed for it. The price: so many at once that ask slowly may have to ask again.

use std::convert::Infallible;
use std::fmt::Write;
use std::net::TcpListener;
use std::rc::Rc;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use sojourn_stats::Span;
use tokio::sync::watch;

use crate::caller::Caller;
use crate::listen::{Connections, HEAD_TIMEOUT, Interim, Rules, WhenFull};
use crate::network::Allow;

/// Connections of those who ask at once; a further one takes the place of the oldest.
const CONNECTIONS: usize = 16;

const SECOND: Span = Span(1_000_000_000);

/// Answers those who may ask with `text` until told to stop.
pub async fn serve(
    listener: TcpListener,
    allow: Allow,
    text: impl Fn() -> String + 'static,
    stop: watch::Receiver<bool>,
) {
    let when_full = WhenFull::Replace;
    let rules = Rules { patience: HEAD_TIMEOUT, grace: SECOND, when_full, ..Rules::new(CONNECTIONS) };
    let text = Rc::new(text);
    let service = |caller: Caller, _: &Interim| {
        let (text, is_allowed) = (Rc::clone(&text), allow.allows(caller.address.ip()));
        service_fn(move |request| {
            let reply = reply(&request, is_allowed, &*text);
            async move { Ok::<_, Infallible>(reply) }
        })
    };
    Connections::new(rules).accept(listener, None, stop, service).await;
}

/// What stands before the values of a metric.
pub fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

/// The value of a label as it stands between quotation marks: the format knows no other escapes than these three.
pub fn label(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}

fn reply(request: &Request<Incoming>, is_allowed: bool, text: &dyn Fn() -> String) -> Response<Full<Bytes>> {
    let (status, text) = match (request.method(), request.uri().path()) {
        _ if !is_allowed => (StatusCode::FORBIDDEN, "these numbers are not for this address\n".into()),
        (&Method::GET | &Method::HEAD, "/metrics") => (StatusCode::OK, text()),
        (_, "/metrics") => (StatusCode::METHOD_NOT_ALLOWED, "GET\n".into()),
        _ => (StatusCode::NOT_FOUND, "GET /metrics\n".into()),
    };
    let mut reply = Response::new(Full::new(Bytes::from(text)));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; version=0.0.4"));
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Rust's own escapes would make of a tab no reader of the format takes.
    #[test]
    fn a_label_has_the_escapes_of_the_format() {
        assert_eq!(label("a\tb \"c\" \\d\ne"), "a\tb \\\"c\\\" \\\\d\\ne");
    }
}
