//! Files of an emulated disk that one node of several owns: `/stored/N?bytes=B`, which the others ask of the owner.
//!
//! A node that does not own the file of `/work/N` computes for the request itself and has the owner's disk read the file; the
//! bytes really cross the network between the two, and the file is whole before the first of them goes on to the client, as in
//! the simulator. The owner is asked under its own name, for nothing but its disk, so that no request goes round. The price:
//! bytes that mean nothing, and a file that is held by no memory but in name.

use std::net::IpAddr;

use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::http::request::Parts;
use hyper::{Method, Request, StatusCode, Uri};
use sojourn_part::headers;
use sojourn_stats::Span;

use super::broker::Broker;
use super::emulation::NotServed;
use crate::gateway::Forwarder;

/// The path of such a file is this and its number.
pub(super) const STORED: &str = "/stored/";

/// Where the bytes of an emulated file are that this node does not own.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) broker: &'a Broker,
    pub(super) forwarder: &'a Forwarder,
    /// The number of the peer that owns it.
    pub(super) peer: u32,
    /// Who has asked for it.
    pub(super) client: IpAddr,
}

impl Source<'_> {
    /// Has `size` bytes of a file read at its owner and brought here; `parts` and `body` are those of the request for it.
    /// Gives how long it waited for the owner's disk.
    pub(super) async fn fetch(
        self,
        mut parts: Parts,
        body: Incoming,
        object: u32,
        size: u64,
    ) -> Result<Span, NotServed> {
        self.broker.count_fetched();
        let path = format!("{STORED}{object}?bytes={size}");
        parts.uri = Uri::try_from(path).expect("digits are plain text");
        parts.method = Method::GET;
        self.broker.name_peer(self.peer, &mut parts.headers);
        let failed = |what: String| NotServed::NotFetched(format!("{} {what}", self.broker.peer_name(self.peer)));
        let forwarded = self.forwarder.forward(self.client, self.peer, Request::from_parts(parts, body)).await;
        let mut reply = forwarded.unwrap_or_else(|unserved| {
            self.broker.not_served(self.peer, unserved.is_unreachable);
            unserved.reply
        });
        if reply.status() != StatusCode::OK {
            return Err(failed(format!("answers {}", reply.status().as_u16())));
        }
        let waited = reply.headers().get(headers::SERVICE).and_then(|times| waited(times.to_str().ok()?));
        let mut came = 0;
        while !reply.body().is_end_stream() {
            match reply.frame().await {
                Some(Ok(frame)) => came += frame.data_ref().map_or(0, |data| data.len() as u64),
                Some(Err(error)) => return Err(failed(format!("breaks off: {error}"))),
                None => break,
            }
        }
        if came == size { Ok(waited.unwrap_or_default()) } else { Err(failed(format!("gives {came} bytes"))) }
    }
}

/// The time waited, of `waited=NS stayed=NS`.
fn waited(times: &str) -> Option<Span> {
    let ns = times.split(' ').find_map(|time| time.strip_prefix("waited="))?;
    ns.parse().ok().map(Span)
}
