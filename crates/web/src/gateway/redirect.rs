//! A central redirector: the client is told which backend to ask, and asks it itself (RFC 9110, section 15.4).
//!
//! The redirector sees the request and its own answer, and nothing after that: not the reply's first byte, not its
//! bytes, not its end. So a policy that counts requests in flight needs reports of the backends, and one that measures
//! replies cannot be followed; both are refused before the start, by name. Price: a further round trip per request, and
//! one more connection where the client has none to that backend.

use hyper::body::Incoming;
use hyper::header::LOCATION;
use hyper::{Request, Response, StatusCode};
use sojourn_dispatch::Action;

use super::asked::asked;
use super::refusal::{refusal, rejection};
use super::reply::Reply;
use super::worker::{Peer, Worker};
use crate::redirection::{RedirectStatus, leave_body, location};

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
    let Ok(location) = location(&worker.version().target(backend).url, request.uri()) else {
        return rejection(worker, StatusCode::BAD_REQUEST, "this path cannot stand in a header");
    };
    let count = board.count(backend);
    count.requests.add(1);
    count.completed.add(1);
    drop(count);
    let mut reply = Response::new(Reply::Empty);
    *reply.status_mut() = status.code();
    leave_body(request, reply.headers_mut(), worker.version().settings.timeouts.idle.as_std());
    reply.headers_mut().insert(LOCATION, location);
    worker.annotate(reply.headers_mut(), choice, backend, asked.cookie);
    reply
}
