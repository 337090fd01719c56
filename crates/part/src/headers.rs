//! The headers that the live parts speak among themselves, and those that end at a proxy.

use hyper::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderName, HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE,
    TRANSFER_ENCODING, UPGRADE,
};
use hyper::{HeaderMap, Response, StatusCode};

use crate::ServeError;

/// On a reply: the server that made it. A gateway leaves it as it is, so behind several gateways it is the innermost.
pub const BACKEND: HeaderName = HeaderName::from_static("x-sojourn-backend");
/// On a request for `/work`: its demand in nanoseconds on a server of speed 1.
pub const DEMAND: HeaderName = HeaderName::from_static("x-sojourn-demand");
/// When the client gives the request up (ns since 1970): an instant and no time left, so that what waits unread runs out too. The
/// price: clocks of different machines must agree.
pub const DEADLINE: HeaderName = HeaderName::from_static("x-sojourn-deadline");
/// On a request: the name of its class.
pub const CLASS: HeaderName = HeaderName::from_static("x-sojourn-class");
/// On a request: the client that asks, where the gateway is told to trust it.
pub const CLIENT: HeaderName = HeaderName::from_static("x-sojourn-client");
/// On a reply of an emulated service: `waited=NS stayed=NS`, its times on the virtual processor.
pub const SERVICE: HeaderName = HeaderName::from_static("x-sojourn-service");
/// On a reply of a gateway that explains itself: why that backend; once per gateway, the one nearest the server first.
pub const REASON: HeaderName = HeaderName::from_static("x-sojourn-reason");
/// On the same reply: what each backend that could have been chosen had to offer.
pub const CANDIDATES: HeaderName = HeaderName::from_static("x-sojourn-candidates");
/// On a request for `/health` or `/load`: it asks the gateway that gets it, and not a server behind it.
pub const PROBE: HeaderName = HeaderName::from_static("x-sojourn-probe");
/// The proxies' list of the addresses that a request came through.
pub const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The host that a client asked for, where a proxy asks another.
pub const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// A backend's name as a header value; it must also be fit for a cookie.
pub fn name_value(name: &str) -> Result<HeaderValue, ServeError> {
    let fit = |byte: u8| byte.is_ascii_graphic() && !b"\",;\\".contains(&byte);
    match HeaderValue::from_str(name) {
        Ok(value) if !name.is_empty() && name.bytes().all(fit) => Ok(value),
        _ => Err(ServeError::Config(format!(
            "name {name:?}: a server's name is letters, digits and signs without spaces, quotes, commas or semicolons"
        ))),
    }
}

/// The longest list of candidates in a reply (bytes).
const CANDIDATES_LIMIT: usize = 2048;

/// Says in a reply why its server was chosen, and what each candidate had to offer.
pub fn explain(headers: &mut HeaderMap, reason: &str, mut candidates: String) {
    // Many servers would make a header that clients refuse, so it is cut.
    if candidates.len() > CANDIDATES_LIMIT {
        candidates.truncate(candidates[..CANDIDATES_LIMIT].rfind("; ").unwrap_or(0));
        candidates.push_str("; ...");
    }
    for (name, text) in [(REASON, reason), (CANDIDATES, candidates.as_str())] {
        if let Ok(value) = HeaderValue::from_str(text)
            && !value.is_empty()
        {
            headers.append(name, value);
        }
    }
}

/// Whether a message's transfer coding, if any, is chunks alone, which the connection takes off and puts on again.
pub fn is_plain_or_chunked(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let first = codings.next();
    first.is_none_or(|coding| coding.as_bytes().eq_ignore_ascii_case(b"chunked")) && codings.next().is_none()
}

/// Makes the head of a backend's reply fit to be passed on: without what concerns its connection only, and with one
/// length at most, the one that its body has (RFC 9112, section 6.3). False where it cannot be made fit.
pub fn settle_reply<B>(reply: &mut Response<B>) -> bool {
    // An upgrade was not asked for, and a coding other than chunks would be lost with its name.
    if reply.status() == StatusCode::SWITCHING_PROTOCOLS || !is_plain_or_chunked(reply.headers()) {
        return false;
    }
    let is_chunked = reply.headers().contains_key(TRANSFER_ENCODING);
    let headers = reply.headers_mut();
    strip_hop_by_hop(headers);
    if is_chunked {
        headers.remove(CONTENT_LENGTH);
        return true;
    }
    let mut lines = headers.get_all(CONTENT_LENGTH).iter();
    let is_plain = lines.next().is_none_or(|line| line.as_bytes().iter().all(u8::is_ascii_digit));
    if !(is_plain && lines.next().is_none()) {
        let Some(length) = only_length(headers) else { return false };
        headers.insert(CONTENT_LENGTH, length);
    }
    true
}

/// The one length that all lines and all items of a list name.
fn only_length(headers: &HeaderMap) -> Option<HeaderValue> {
    let lines = headers.get_all(CONTENT_LENGTH).iter().map(|line| line.to_str().unwrap_or(""));
    let mut lengths = lines.flat_map(|line| line.split(',').map(str::trim));
    let first = lengths.next().filter(|first| !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit()))?;
    if lengths.all(|other| other == first) { HeaderValue::from_str(first).ok() } else { None }
}

/// Removes what concerns one connection only (RFC 9110, section 7.6.1), and whatever the connection header names except
/// what says where a message goes and where it ends.
pub fn strip_hop_by_hop(headers: &mut HeaderMap) {
    const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
    const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");
    if headers.contains_key(CONNECTION) {
        let named: Vec<HeaderName> = headers
            .get_all(CONNECTION)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .filter_map(|name| name.trim().parse().ok())
            .filter(|name| ![HOST, CONTENT_LENGTH].contains(name))
            .collect();
        headers.remove(CONNECTION);
        headers.remove(KEEP_ALIVE);
        for name in named {
            headers.remove(name);
        }
    }
    // Most messages carry none of these; a look-up in a small map is cheaper than a removal.
    for name in [PROXY_CONNECTION, TE, TRANSFER_ENCODING, UPGRADE, EXPECT, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION] {
        if headers.contains_key(&name) {
            headers.remove(name);
        }
    }
}
