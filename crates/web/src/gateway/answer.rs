//! What comes in at a gateway: a question to the gateway itself, or a request to forward or to redirect.

use std::convert::Infallible;
use std::rc::Rc;

use hyper::body::Incoming;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use sojourn_part::headers;
use sojourn_report::orca;

use super::asked::asked;
use super::refusal::{rejection, text};
use super::reply::Reply;
use super::worker::{Peer, Worker};
use super::{proxy, redirect};
use crate::target;

/// Answers one request. Dropped when the client goes away, and with it whatever is in flight for it.
pub(super) async fn answer(
    worker: Rc<Worker>,
    peer: Rc<Peer>,
    mut request: Request<Incoming>,
) -> Result<Response<Reply>, Infallible> {
    if let Some(reply) = probed(&worker, &request) {
        return Ok(reply);
    }
    worker.board.counts.requests.add(1);
    if request.method() == Method::CONNECT {
        return Ok(rejection(&worker, StatusCode::METHOD_NOT_ALLOWED, "this gateway makes no tunnels"));
    }
    if request.method() == Method::TRACE && !worker.version().settings.face.trace {
        let words = "TRACE shows a client what others have put into its request; it is not passed on here";
        return Ok(rejection(&worker, StatusCode::METHOD_NOT_ALLOWED, words));
    }
    if let Err((status, wrong)) = target::settle(&mut request) {
        return Ok(rejection(&worker, status, wrong));
    }
    let status = worker.version().redirect;
    Ok(match status {
        None => {
            let asked = asked(&worker, &peer, &request);
            proxy::forward(worker, peer, asked, request).await.unwrap_or_else(|unserved| unserved.reply)
        }
        Some(status) => redirect::redirect(&worker, &peer, request, status),
    })
}

/// The gateway's own health or load. A gateway in front asks for it; without the header that says so, these paths are
/// the servers' like all others, and a probe of one gateway would take turns among the servers behind it.
fn probed(worker: &Worker, request: &Request<Incoming>) -> Option<Response<Reply>> {
    let path = request.uri().path();
    if !matches!(path, "/health" | "/load") || !request.headers().contains_key(headers::PROBE) {
        return None;
    }
    let board = &worker.board;
    if path == "/load" {
        let report = orca::Load::of_in_flight(board.in_flight_of_all()).to_text();
        let value = HeaderValue::from_str(&report).expect("a load report is plain text");
        let mut reply = text(StatusCode::OK, report);
        reply.headers_mut().insert(HeaderName::from_static(orca::HEADER), value);
        return Some(reply);
    }
    let (down, all) = board.down();
    let status = if down < all { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    Some(text(status, format!("{down} of {all} backends are down")))
}
