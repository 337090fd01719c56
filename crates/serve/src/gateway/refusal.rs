//! The replies of the gateway itself, where no backend could serve.

use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use sojourn_dispatch::{Action, BackendId, Decision};

use super::flight::Failure;
use super::reply::Reply;
use super::worker::Worker;
use crate::headers;

/// Says why no backend has served: none could be chosen, or the last one tried failed.
pub(super) fn refusal(worker: &Worker, decision: &Decision, failure: Option<(BackendId, Failure)>) -> Response<Reply> {
    let counts = &worker.board.counts;
    let Some((backend, failure)) = failure else {
        counts.refused.add(1);
        let words = match decision.action {
            Action::Refuse => {
                let (down, all) = (worker.board.down(), counts.backends.len());
                format!("no backend can take this request: {down} of {all} are down")
            }
            _ => "the policy asks for something that a gateway cannot do".into(),
        };
        return text(StatusCode::SERVICE_UNAVAILABLE, words);
    };
    counts.failed.add(1);
    let status = if failure == Failure::TimedOut { StatusCode::GATEWAY_TIMEOUT } else { StatusCode::BAD_GATEWAY };
    let words = failure.words(worker.config.timeouts.reply);
    let mut reply = text(status, format!("backend {} {words}", worker.board.name(backend)));
    reply.headers_mut().insert(headers::BACKEND, worker.name(backend).clone());
    reply
}

/// A reply of the gateway itself.
pub(super) fn text(status: StatusCode, words: String) -> Response<Reply> {
    let mut reply = Response::new(Reply::Text(format!("gateway: {words}\n").into()));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    reply
}
