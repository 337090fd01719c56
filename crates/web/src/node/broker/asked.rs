//! What the policy is told of a request: what the simulator tells its nodes.

use hyper::Request;
use hyper::body::Incoming;
use sojourn_dispatch::{Signals, key};
use sojourn_part::caller::Caller;
use sojourn_part::headers;

use super::{Broker, OWN, object_of, plain};
use crate::node::files::Files;
use crate::node::work::Asked;

/// What is known of a reply before it is made.
#[derive(Default)]
struct Known {
    size: Option<u64>,
    /// Operations that the request itself names.
    operations: Option<f64>,
}

impl Broker {
    /// The policy's view of a request under the service's name.
    pub(super) fn asked(
        &self,
        caller: &Caller,
        request: &Request<Incoming>,
        files: Option<&Files>,
    ) -> sojourn_dispatch::Request {
        let reads = |signals| self.requires.intersects(signals);
        let written = request.uri().path();
        let plain = plain(written);
        let path = &*plain;
        let known = if reads(Signals::SIZE | Signals::WORK) { self.known(request, files) } else { Known::default() };
        let copy = self.copy_of(request);
        let oracle = self.oracle.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        let media_type = mime_guess::from_path(path).first_raw().unwrap_or("application/octet-stream");
        let foreseen = oracle.foresee(path, media_type);
        let named = request.headers().get(headers::CLASS).and_then(|name| name.to_str().ok());
        let class = named.or(foreseen.and_then(|of| of.class.as_deref()));
        let class = class.and_then(|class| self.classes.iter().position(|known| known == class));
        let object = match object_of(&self.resolved.owners, path) {
            // What is copied here is of this node too.
            owned @ 1.. if copy.is_some() => owned + self.config.owners.len() as u32,
            object => object,
        };
        sojourn_dispatch::Request {
            client: if reads(Signals::ADDRESS) { key(&caller.address.ip().to_canonical().to_string()) } else { 0 },
            class: class.and_then(|class| u8::try_from(class).ok()).unwrap_or(0),
            // As at the other faces: of the path as it is written.
            key: if reads(Signals::PATH) { key(written) } else { 0 },
            object,
            size: known.size.or(copy.map(|(copy, _)| copy.file.size())).or(foreseen.and_then(|of| of.bytes)),
            work: known.operations.or(foreseen.and_then(|of| of.operations)),
            round_trip: caller.round_trip,
            here: Some(OWN),
            ..Default::default()
        }
    }

    /// What the request says itself, and what its file says.
    fn known(&self, request: &Request<Incoming>, files: Option<&Files>) -> Known {
        let path = request.uri().path();
        if let Some(size) = path.strip_prefix("/bytes/") {
            return Known { size: size.parse().ok(), ..Known::default() };
        }
        if path == "/work" || path.starts_with("/work/") {
            let Ok(asked) = Asked::parse(request) else { return Known::default() };
            let operations = asked.demand.map(|demand| demand.as_secs_f64());
            return Known { size: Some(asked.size), operations };
        }
        Known { size: files.and_then(|files| files.size(path)), ..Known::default() }
    }
}
