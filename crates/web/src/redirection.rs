//! Answers that tell a client where to ask itself (RFC 9110, section 15.4): those of a redirector, and of a node.

use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::header::{CONNECTION, EXPECT, HeaderMap, HeaderValue, InvalidHeaderValue};
use hyper::{Request, StatusCode, Uri};

/// Most bytes of a request's body that are read and thrown away, so that its connection can carry another request.
const DRAINED_MAX: usize = 256 * 1024;

/// The status of such answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RedirectStatus {
    /// 307: the client repeats the request as it is, a POST with its body too.
    #[default]
    TemporaryRedirect,
    /// 302: as 307, but most clients turn a POST into a GET. For clients from before 1999.
    Found,
}

impl RedirectStatus {
    pub(crate) fn code(self) -> StatusCode {
        match self {
            RedirectStatus::TemporaryRedirect => StatusCode::TEMPORARY_REDIRECT,
            RedirectStatus::Found => StatusCode::FOUND,
        }
    }
}

impl TryFrom<u16> for RedirectStatus {
    type Error = String;

    fn try_from(status: u16) -> Result<RedirectStatus, String> {
        match status {
            307 => Ok(RedirectStatus::TemporaryRedirect),
            302 => Ok(RedirectStatus::Found),
            other => Err(format!("{other}: a redirector answers 307 or 302")),
        }
    }
}

/// The URL of a server, without a slash at its end, with the path and the query that are asked for.
pub(crate) fn location(url: &str, asked: &Uri) -> Result<HeaderValue, InvalidHeaderValue> {
    let path = asked.path_and_query().map_or("/", |path| path.as_str());
    // `OPTIONS *` asks a server, not one of its pages.
    let path = if path.starts_with('/') { path } else { "/" };
    HeaderValue::from_bytes([url, path].concat().as_bytes())
}

/// Lets go of a request that is answered with `reply` before its body was read.
pub(crate) fn leave_body(request: Request<Incoming>, reply: &mut HeaderMap, patience: Duration) {
    if request.body().is_end_stream() {
        return;
    }
    if request.headers().contains_key(EXPECT) {
        // A client that waits to be asked for its body is not asked: it sends the body where it is told to.
        reply.insert(CONNECTION, HeaderValue::from_static("close"));
    } else {
        tokio::task::spawn_local(drain(request.into_body(), patience));
    }
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
