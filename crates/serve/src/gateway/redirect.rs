//! A central redirector: the client is told which backend to ask, and asks it itself (RFC 9110, section 15.4).
//!
//! The redirector sees the request and its own answer, and nothing after that: not the reply's first byte, not its
//! bytes, not its end. So a policy that counts requests in flight needs reports of the backends, and one that measures
//! replies cannot be followed; both are refused before the start, by name. Price: a further round trip per request, and
//! one more connection where the client has none to that backend.

use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::header::{CONNECTION, EXPECT, HeaderValue, LOCATION};
use hyper::{Request, Response, StatusCode};
use sojourn_dispatch::{Action, BackendId};

use super::RedirectStatus;
use super::asked::asked;
use super::refusal::{refusal, rejection};
use super::reply::Reply;
use super::worker::{Peer, Worker};

/// Most bytes of a request's body that are read and thrown away, so that its connection can carry another request.
const DRAINED_MAX: usize = 256 * 1024;

/// Answers with the place of the backend that is chosen.
pub(super) fn redirect(
    worker: &Worker,
    peer: &Peer,
    request: Request<Incoming>,
    status: RedirectStatus,
) -> Response<Reply> {
    let board = &worker.board;
    let asked = asked(worker, peer, &request);
    let choice = board.choose(&asked, &[]);
    let (Action::Forward(backend) | Action::Redirect(backend)) = choice.decision.action else {
        return refusal(worker, &choice.decision, None);
    };
    let Ok(location) = location(worker, backend, &request) else {
        return rejection(worker, StatusCode::BAD_REQUEST, "this path cannot stand in a header");
    };
    let count = board.count(backend);
    count.requests.add(1);
    count.completed.add(1);
    let mut reply = Response::new(Reply::Empty);
    *reply.status_mut() = status.code();
    if !request.body().is_end_stream() {
        if request.headers().contains_key(EXPECT) {
            // A client that waits to be asked for its body is not asked: it sends the body where it is told to.
            reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        } else {
            tokio::task::spawn_local(drain(request.into_body(), worker.config.timeouts.idle.as_std()));
        }
    }
    reply.headers_mut().insert(LOCATION, location);
    worker.annotate(reply.headers_mut(), choice, backend, asked.cookie);
    reply
}

/// The backend's own URL with the path and the query that were asked for.
fn location(
    worker: &Worker,
    backend: BackendId,
    request: &Request<Incoming>,
) -> Result<HeaderValue, hyper::header::InvalidHeaderValue> {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    // `OPTIONS *` asks a server, not one of its pages.
    let path = if path.starts_with('/') { path } else { "/" };
    HeaderValue::from_bytes([worker.url(backend), path].concat().as_bytes())
}

/// Reads a body to its end while the answer is already on its way. One that is too long or too slow is left, and then
/// the connection is closed after the answer.
async fn drain(mut body: Incoming, patience: Duration) {
    let all = async {
        let mut left = DRAINED_MAX;
        while let Some(Ok(frame)) = body.frame().await {
            match left.checked_sub(frame.data_ref().map_or(0, |data| data.len())) {
                Some(less) => left = less,
                None => return,
            }
        }
    };
    let _ = tokio::time::timeout(patience, all).await;
}
