//! A forward proxy: all connections go to it, and each request names the host that it is for ("absolute form", RFC 9112,
//! section 3.2.2).
//!
//! The proxy resolves the names of those hosts and opens the connections to them, so what says how to connect has no
//! meaning here and is refused. TLS through a proxy takes a tunnel (CONNECT), which is not there.

use std::net::IpAddr;

use crate::error::LoadError;
use crate::request::endpoint::Endpoint;
use crate::request::url::{Scheme, Url};
use crate::setting::Version;
use crate::wire::allowed::Allowed;
use crate::wire::resolve::Names;

/// The endpoint of the proxy at `url`, and whether requests for `endpoints` can go through it.
///
/// # Errors
/// What cannot be asked of a proxy, in one line.
pub(crate) fn check(url: &Url, endpoints: &[Endpoint], version: Version) -> Result<Endpoint, LoadError> {
    let invalid = |why: String| Err(LoadError::Invalid(format!("proxy: {why}")));
    if url.scheme == Scheme::Https {
        return invalid("a proxy is asked in plain text here: write `http://HOST:PORT`".to_owned());
    }
    if url.path != "/" {
        return invalid(format!("`{}` is a path, and a proxy has none: write `http://HOST:PORT`", url.path));
    }
    if version == Version::Http2 {
        return invalid("it is asked by HTTP/1.0 or 1.1; leave HTTP/2 out".to_owned());
    }
    if let Some(secure) = endpoints.iter().find(|endpoint| endpoint.scheme == Scheme::Https) {
        let why = "TLS through a proxy takes a tunnel (CONNECT), which is not there: load http, or leave the proxy out";
        return invalid(format!("`https://{}`: {why}", secure.authority));
    }
    Ok(Endpoint::from(url))
}

/// Why what `endpoint` is called leads to no address on which load may be put, as far as is known here: the proxy
/// resolves its name.
///
/// # Errors
/// When it has an address that is not allowed, or no address that is known here.
pub(crate) fn may_be_asked_for(endpoint: &Endpoint, names: &Names, allowed: Allowed) -> Result<(), LoadError> {
    if allowed == Allowed::Anywhere {
        return Ok(());
    }
    let addresses = names.wait_for(&endpoint.host).map_err(|why| LoadError::NotResolved {
        host: endpoint.host.clone(),
        reason: format!("{why}, here; if the proxy has one and you may put load on it, say --yes-i-may"),
    })?;
    match addresses.iter().find(|address| !allowed.allows(**address)) {
        Some(&address) => Err(LoadError::NotAllowed { target: (address, endpoint.port).into() }),
        None => Ok(()),
    }
}

/// Whether a redirect to `url` may be followed through a proxy: one of the hosts that are loaded, or one that is known to be
/// allowed without a question to a name server.
pub(crate) fn may_be_redirected(url: &Url, loaded: &[Endpoint], names: &Names, allowed: Allowed) -> bool {
    let is_known = || {
        let addresses: Vec<IpAddr> = names.known(&url.host).unwrap_or_default();
        !addresses.is_empty() && addresses.iter().all(|address| allowed.allows(*address))
    };
    let is_loaded = || loaded.iter().any(|endpoint| endpoint.is_origin_of(url));
    url.scheme == Scheme::Http && (allowed == Allowed::Anywhere || is_loaded() || is_known())
}
