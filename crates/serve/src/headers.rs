//! The headers that the live parts speak among themselves, and those that end at a proxy.

use hyper::HeaderMap;
use hyper::header::{
    CONNECTION, EXPECT, HeaderName, HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING,
    UPGRADE,
};

use crate::ServeError;

/// On a reply: the server that made it. A gateway leaves it as it is, so behind several gateways it is the innermost.
pub const BACKEND: HeaderName = HeaderName::from_static("x-sojourn-backend");
/// On a request for `/work`: its demand in nanoseconds on a server of speed 1.
pub const DEMAND: HeaderName = HeaderName::from_static("x-sojourn-demand");
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
pub(crate) const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// A backend's name as a header value; it must also be fit for a cookie.
pub(crate) fn name_value(name: &str) -> Result<HeaderValue, ServeError> {
    let fit = |byte: u8| byte.is_ascii_graphic() && !b"\",;\\".contains(&byte);
    match HeaderValue::from_str(name) {
        Ok(value) if !name.is_empty() && name.bytes().all(fit) => Ok(value),
        _ => Err(ServeError::Config(format!(
            "name {name:?}: a server's name is letters, digits and signs without spaces, quotes, commas or semicolons"
        ))),
    }
}

/// Removes what concerns one connection only (RFC 9110, section 7.6.1), and whatever the connection header names.
pub(crate) fn strip_hop_by_hop(headers: &mut HeaderMap) {
    const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
    const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");
    if headers.contains_key(CONNECTION) {
        let named: Vec<HeaderName> = headers
            .get_all(CONNECTION)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .filter_map(|name| name.trim().parse().ok())
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
