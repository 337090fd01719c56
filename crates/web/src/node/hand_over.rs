//! A request on its way to another node of the cluster, and what becomes of it where that node has just died.
//!
//! What can safely be served twice, and what no byte was sent of, is then served here, or by another owner of its file; a node
//! that takes no connections gets no requests until it reports again. What took too long is not tried again: it may still be
//! worked on. Of files that are fetched of their owner often a copy may be kept ([`super::copies`]). The price: the
//! head of each request that is sent on is kept until its reply comes.

use std::net::IpAddr;
use std::sync::Arc;

use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, RANGE};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode};
use sojourn_part::clock;
use sojourn_stats::Time;
use tokio::sync::mpsc;

use super::body::NodeBody;
use super::broker::{Broker, Place};
use super::copies::{Coming, Copies, Copy};
use super::files::{Files, copyable};
use super::reply::{Reply, text};
use crate::{gateway, gateway::Forwarder, gateway::Unserved};

/// What became of it.
pub(super) enum Passed {
    /// It is answered, by another node or because none could.
    Answered(Reply),
    /// It is to be served here.
    Back(Request<Incoming>),
}

/// Sends a request of `client` on to the peer of this number, of which a file is fetched or not, and where that
/// fails to another that has its file.
pub(super) async fn pass_on(
    broker: &Arc<Broker>,
    forwarder: &Forwarder,
    client: IpAddr,
    (mut peer, mut is_fetched): (u32, bool),
    mut request: Request<Incoming>,
    files: Option<&Files>,
) -> Passed {
    let mut tried = Vec::new();
    loop {
        let (head, body) = request.into_parts();
        let mut sent = Request::from_parts(head.clone(), body);
        broker.name_peer(peer, sent.headers_mut());
        let asked = clock::now();
        let copy = if is_fetched { ask_whether_changed(broker, &mut sent) } else { None };
        let unserved = match forwarder.forward(client, peer, sent).await {
            Ok(reply) if is_fetched => return Passed::Answered(fetched(broker, head, copy, reply, asked)),
            Ok(reply) => return Passed::Answered(reply.map(|body| forwarded(body, None))),
            Err(unserved) => *unserved,
        };
        let Unserved { reply, body, is_unreachable } = unserved;
        broker.not_served(peer, is_unreachable);
        let told = |reply: Response<gateway::Reply>| Passed::Answered(reply.map(|body| forwarded(body, None)));
        let Some(body) = body else { return told(reply) };
        request = Request::from_parts(head, body);
        tried.push(peer);
        match broker.instead(&request, files, &tried) {
            Place::Here => return Passed::Back(request),
            Place::Copied(copy) => return Passed::Answered(from_copy(broker, &copy.0, &request)),
            Place::Through(other) => (peer, is_fetched) = (other, false),
            Place::Owned(other) => (peer, is_fetched) = (other, true),
            Place::Elsewhere(..) | Place::Fetches(_) | Place::Nowhere => return told(reply),
        }
    }
}

/// Makes a request one that asks whether the copy of its file is still so, where there is one; a condition of the client's own
/// that may fail is asked as it is.
fn ask_whether_changed(broker: &Broker, sent: &mut Request<Incoming>) -> Option<Arc<Copy>> {
    let (copy, _) = broker.copy_of(sent)?;
    let headers = sent.headers_mut();
    if headers.contains_key(IF_MATCH) || headers.contains_key(IF_UNMODIFIED_SINCE) {
        return None;
    }
    [IF_NONE_MATCH, IF_MODIFIED_SINCE, IF_RANGE, RANGE].iter().for_each(|name| drop(headers.remove(name)));
    headers.insert(IF_NONE_MATCH, copy.file.etag());
    Some(copy)
}

/// What an owner says: that the copy is still so, or the file, which is copied where it is fetched often.
fn fetched(
    broker: &Arc<Broker>,
    head: Parts,
    copy: Option<Arc<Copy>>,
    reply: Response<gateway::Reply>,
    asked: Time,
) -> Reply {
    let request = Request::from_parts(head, ());
    let key = Copies::key(&request);
    let (Some(copies), Some(key)) = (broker.copies(), key) else {
        return reply.map(|body| forwarded(body, None));
    };
    if let Some(copy) = copy {
        if reply.status() == StatusCode::NOT_MODIFIED {
            copy.is_said(asked);
            broker.count_from_copy();
            return from_copy(broker, &copy, &request);
        }
        copies.forget(&key);
    }
    let size = copyable(reply.status(), reply.headers()).filter(|_| request.method() == Method::GET);
    let coming = size.and_then(|size| copies.begin(key, size, reply.headers()));
    let keeping = coming.map(|coming| (coming, Arc::clone(broker), asked));
    reply.map(|body| forwarded(body, keeping))
}

/// The reply with a copy; one whose bytes are not as they were written is a copy no more.
pub(super) fn from_copy<B>(broker: &Broker, copy: &Copy, request: &Request<B>) -> Reply {
    copy.file.answer(request).unwrap_or_else(|| {
        if let Some((copies, key)) = broker.copies().zip(Copies::key(request)) {
            copies.forget(&key);
        }
        text(StatusCode::SERVICE_UNAVAILABLE, "the copy of this file was changed on its disk\n")
    })
}

/// The body of a reply that comes from a peer, and is copied where that is said; it ends with the client's patience.
fn forwarded(mut reply: gateway::Reply, mut keeping: Option<(Coming, Arc<Broker>, Time)>) -> NodeBody {
    if reply.is_end_stream() {
        return NodeBody::whole("");
    }
    let size = reply.size_hint().exact();
    let (sender, frames) = mpsc::channel(1);
    tokio::task::spawn_local(async move {
        while let Some(frame) = reply.frame().await {
            let bytes = frame.map_err(std::io::Error::other).map(|frame| frame.into_data().unwrap_or_default());
            keeping = match (keeping, &bytes) {
                (Some((coming, broker, asked)), Ok(bytes)) => {
                    written(coming, bytes.clone()).await.map(|coming| (coming, broker, asked))
                }
                _ => None,
            };
            // A client that has left ends the peer's reply too.
            if sender.send(bytes).await.is_err() {
                return;
            }
        }
        if let Some((coming, broker, asked)) = keeping
            && tokio::task::spawn_blocking(move || coming.finish(asked)).await.is_ok_and(|is_kept| is_kept)
        {
            broker.count_copied();
        }
    });
    NodeBody::stream(frames, size)
}

/// The copy with its next bytes, which another thread writes: this one waits for no disk. None where they cannot be written.
async fn written(mut coming: Coming, bytes: Bytes) -> Option<Coming> {
    tokio::task::spawn_blocking(move || coming.take(&bytes).ok().map(|()| coming)).await.ok().flatten()
}
