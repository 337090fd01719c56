//! Replies as the parts of a node make them.

use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};

use super::body::NodeBody;

/// What a node answers.
pub(crate) type Reply = Response<NodeBody>;

/// Marks words of the node's own that a page of the site may stand in for.
#[derive(Clone, Copy)]
pub(super) struct OwnWords;

/// A reply of this media type.
pub(super) fn of(body: NodeBody, media_type: &'static str) -> Reply {
    let mut reply = Response::new(body);
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    reply
}

/// Words of the node's own.
pub(super) fn text(status: StatusCode, words: impl Into<Bytes>) -> Reply {
    let mut reply = of(NodeBody::whole(words), "text/plain; charset=utf-8");
    *reply.status_mut() = status;
    if status.is_client_error() || status.is_server_error() {
        reply.extensions_mut().insert(OwnWords);
    }
    reply
}
