//! The replies of the gateway itself, where no backend could serve.

use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use sojourn_dispatch::{Action, BackendId, Code, Decision};
use sojourn_part::headers;

use super::flight::Failure;
use super::reply::Reply;
use super::worker::Worker;

/// When a client may ask again that has found all backends full (RFC 9110, section 10.2.3), in whole seconds, of which this
/// is the least.
const SOON: &str = "1";

/// Says why no backend has served: none could be chosen, or the last one tried failed.
pub(super) fn refusal(worker: &Worker, decision: &Decision, failure: Option<(BackendId, Failure)>) -> Response<Reply> {
    let counts = &worker.board.counts;
    let Some((backend, failure)) = failure else {
        counts.refused.add(1);
        let (down, all) = worker.board.down();
        let (is_full, is_open) = (decision.reason.code == Code::Full, decision.reason.code == Code::Breaker);
        let words = match decision.action {
            Action::Refuse if is_full => {
                format!("no backend can take this request: {} of {all} are full", decision.reason.value)
            }
            Action::Refuse if is_open => {
                format!(
                    "no backend can take this request: {} are there already, and no more may be",
                    decision.reason.value
                )
            }
            Action::Refuse => format!("no backend can take this request: {down} of {all} are down"),
            _ => "the policy asks for something that a gateway cannot do".into(),
        };
        let mut reply = text(StatusCode::SERVICE_UNAVAILABLE, words);
        if is_full || is_open {
            counts.over_limit.add(1);
            reply.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static(SOON));
        }
        return reply;
    };
    let name = worker.board.name(backend);
    let (status, words) = match failure {
        Failure::Connect => (StatusCode::BAD_GATEWAY, format!("backend {name} cannot be reached")),
        Failure::Broken => (StatusCode::BAD_GATEWAY, format!("backend {name} broke the connection before it replied")),
        Failure::Malformed => (StatusCode::BAD_GATEWAY, format!("the reply of backend {name} is malformed")),
        Failure::Truncated => (StatusCode::BAD_GATEWAY, format!("backend {name} broke its reply off")),
        Failure::TimedOut => {
            let patience = worker.version().settings.timeouts.reply;
            (StatusCode::GATEWAY_TIMEOUT, format!("backend {name} did not reply within {patience}"))
        }
        Failure::Spoiled => (StatusCode::BAD_REQUEST, "the body of the request is malformed or was broken off".into()),
        Failure::Stalled => (StatusCode::REQUEST_TIMEOUT, "the body of the request came too slowly".into()),
    };
    let mut reply = text(status, words);
    if failure.is_the_clients() {
        // The rest of the body may still come, and would be taken for a request.
        reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    } else {
        counts.failed.add(1);
        reply.headers_mut().insert(headers::BACKEND, worker.name(backend));
    }
    reply
}

/// Says what is wrong with a request that no backend gets. What else comes from such a client is not read.
pub(super) fn rejection(worker: &Worker, status: StatusCode, words: &str) -> Response<Reply> {
    worker.board.counts.refused.add(1);
    let mut reply = text(status, words.into());
    reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    reply
}

/// A reply of the gateway itself.
pub(super) fn text(status: StatusCode, words: String) -> Response<Reply> {
    let mut reply = Response::new(Reply::Text(format!("gateway: {words}\n").into()));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    reply
}
