//! What a request asks for, and of which host (RFC 9112, section 3.2).
//!
//! Two parties that read the host of one request differently can be played off against each other: one checks the
//! rights, the other serves. So a request has one host line, which is a host; a target that names its host overrules
//! the line; and all behind this side read the same.

use hyper::body::Incoming;
use hyper::header::{HOST, HeaderValue};
use hyper::http::uri::Authority;
use hyper::{Method, Request, StatusCode, Uri, Version};
use sojourn_part::headers::is_plain_or_chunked;

/// Makes the target a path and the host line the host that it is for, or says what is wrong. A client of HTTP/1.0 need
/// not name a host. What comes in a coding other than chunks could not be passed on as it is, and is refused as well.
pub(crate) fn settle(request: &mut Request<Incoming>) -> Result<(), (StatusCode, &'static str)> {
    let wrong = |why| Err((StatusCode::BAD_REQUEST, why));
    let mut lines = request.headers().get_all(HOST).iter();
    let line = lines.next();
    if lines.next().is_some() {
        return wrong("a request has one host line");
    }
    match line {
        Some(line) if !is_host(line.as_bytes()) => {
            return wrong("the host line holds a host, as in `example.org:8080`");
        }
        None if request.version() == Version::HTTP_11 => return wrong("an HTTP/1.1 request has a host line"),
        // HTTP/2 names it in the target; who names it twice means the same (RFC 9113, section 8.3.1).
        None if request.version() > Version::HTTP_11 && request.uri().authority().is_none() => {
            return wrong("a request names its host");
        }
        Some(line) if request.version() > Version::HTTP_11 && !is_same_host(line, request.uri()) => {
            return wrong("a request names one host");
        }
        _ => {}
    }
    if !is_plain_or_chunked(request.headers()) {
        return Err((StatusCode::NOT_IMPLEMENTED, "a body comes plain or in chunks, in no other transfer coding"));
    }
    let uri = request.uri();
    let Some(authority) = uri.authority() else {
        let path = uri.path();
        let is_path = path.starts_with('/') || path == "*" && request.method() == Method::OPTIONS;
        return if is_path { Ok(()) } else { wrong("a request asks for a path, as in `/a.html`") };
    };
    if !matches!(uri.scheme_str(), Some("http" | "https")) || authority.as_str().contains('@') {
        return wrong("a request asks for a path, or for a URL as in `http://example.org/a.html`");
    }
    let host = HeaderValue::from_str(authority.as_str()).expect("an authority is plain text");
    // Only a path is left (section 3.2.2). `OPTIONS http://a` should become `OPTIONS *` (3.2.4), but hyper does not tell
    // it from `OPTIONS http://a/`, so it asks for `/`.
    let query = uri.query().map_or(String::new(), |query| format!("?{query}"));
    let Ok(path) = format!("{}{query}", uri.path()).parse::<Uri>() else {
        return wrong("a URL has a path and a query, as in `http://example.org/a.html?b`");
    };
    request.headers_mut().insert(HOST, host);
    *request.uri_mut() = path;
    Ok(())
}

/// Whether a host line names what the target names, if that names one.
fn is_same_host(line: &HeaderValue, uri: &Uri) -> bool {
    uri.authority().is_none_or(|authority| authority.as_str().as_bytes().eq_ignore_ascii_case(line.as_bytes()))
}

/// A host with or without a port; none at all is allowed, for targets that have none.
fn is_host(line: &[u8]) -> bool {
    line.is_empty() || Authority::try_from(line).is_ok_and(|authority| !authority.as_str().contains('@'))
}
