//! What the policy is told of a request.

use hyper::Request;
use hyper::body::Incoming;
use hyper::header::{COOKIE, HeaderMap};
use sojourn_dispatch::{BackendId, Signals, key};
use sojourn_part::headers;

use super::version::Version;
use super::worker::{Peer, Worker};

/// What the policy is told of a request.
pub(super) fn asked(worker: &Worker, peer: &Peer, request: &Request<Incoming>) -> sojourn_dispatch::Request {
    let headers = request.headers();
    let requires = worker.board.requires();
    let version = worker.version();
    let named = version.client_header.as_ref().and_then(|name| headers.get(name)).and_then(|name| name.to_str().ok());
    let client = named.map_or(peer.key, key);
    let cookie = if requires.contains(Signals::COOKIE) { cookie_of(&version, headers) } else { None };
    // Without the query: it says how the object is asked for, not which one it is.
    let key = if requires.contains(Signals::PATH) { key(request.uri().path()) } else { 0 };
    sojourn_dispatch::Request { client, class: class_of(&version, headers), cookie, key, ..Default::default() }
}

fn class_of(version: &Version, headers: &HeaderMap) -> u8 {
    let Some(name) = headers.get(headers::CLASS) else { return 0 };
    let number = version.settings.classes.iter().position(|known| known.as_bytes() == name.as_bytes());
    number.and_then(|number| u8::try_from(number).ok()).unwrap_or(0)
}

fn cookie_of(version: &Version, headers: &HeaderMap) -> Option<BackendId> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(';')).find_map(|cookie| {
        let (name, value) = cookie.split_once('=')?;
        if name.trim() == version.settings.cookie { version.id(value.trim()) } else { None }
    })
}
