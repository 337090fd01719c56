//! A request on its way to another node of the cluster, and what becomes of it where that node has just died.
//!
//! What can safely be served twice, and what no byte was sent of, is then served here, or by another owner of its file; a node
//! that takes no connections gets no requests until it reports again. What took too long is not tried again: it may still be
//! worked on. The price: the head of each request that is sent on is kept until its reply comes.

use std::net::IpAddr;

use http_body_util::BodyExt;
use hyper::Request;
use hyper::body::{Body, Incoming};
use tokio::sync::mpsc;

use super::body::NodeBody;
use super::broker::{Broker, Place};
use super::files::Files;
use super::reply::Reply;
use crate::gateway::{self, Forwarder, Unserved};

/// What became of it.
pub(super) enum Passed {
    /// It is answered, by another node or because none could.
    Answered(Reply),
    /// It is to be served here.
    Back(Request<Incoming>),
}

/// Sends a request of `client` on to the peer of this number, and where that fails to another that has its file.
pub(super) async fn pass_on(
    broker: &Broker,
    forwarder: &Forwarder,
    client: IpAddr,
    mut peer: u32,
    mut request: Request<Incoming>,
    files: Option<&Files>,
) -> Passed {
    let mut tried = Vec::new();
    loop {
        let (head, body) = request.into_parts();
        let mut sent = Request::from_parts(head.clone(), body);
        broker.name_peer(peer, sent.headers_mut());
        let unserved = match forwarder.forward(client, peer, sent).await {
            Ok(reply) => return Passed::Answered(reply.map(forwarded)),
            Err(unserved) => *unserved,
        };
        let Unserved { reply, body, is_unreachable } = unserved;
        broker.not_served(peer, is_unreachable);
        let Some(body) = body else { return Passed::Answered(reply.map(forwarded)) };
        request = Request::from_parts(head, body);
        tried.push(peer);
        match broker.instead(&request, files, &tried) {
            Place::Here => return Passed::Back(request),
            Place::Through(other) => peer = other,
            Place::Elsewhere(..) | Place::Fetches(_) | Place::Nowhere => return Passed::Answered(reply.map(forwarded)),
        }
    }
}

/// The body of a reply that comes from a peer; it ends with the client's patience.
fn forwarded(mut reply: gateway::Reply) -> NodeBody {
    if reply.is_end_stream() {
        return NodeBody::whole("");
    }
    let size = reply.size_hint().exact();
    let (sender, frames) = mpsc::channel(1);
    tokio::task::spawn_local(async move {
        while let Some(frame) = reply.frame().await {
            let bytes = frame.map_err(std::io::Error::other).map(|frame| frame.into_data().unwrap_or_default());
            // A client that has left ends the peer's reply too.
            if sender.send(bytes).await.is_err() {
                return;
            }
        }
    });
    NodeBody::stream(frames, size)
}
