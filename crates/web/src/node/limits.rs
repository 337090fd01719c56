//! The bodies of requests to a node, within its limits.

use http_body_util::BodyExt;
use hyper::Request;
use hyper::body::{Body, Incoming};
use sojourn_part::settings::node::NodeLimits;

/// Why the body of a request was not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overrun {
    TooLarge,
    TooSlow,
    Malformed,
}

/// Whether a request says itself that its body is too large.
pub(super) fn is_too_large(limits: &NodeLimits, request: &Request<Incoming>) -> bool {
    request.body().size_hint().lower() > limits.body_size.0
}

/// Reads a body to its end and throws it away. Where the client has left, the whole request ends, and none hears that it
/// was malformed.
pub(super) async fn drain(limits: &NodeLimits, mut body: Incoming) -> Result<(), Overrun> {
    let read = async {
        let mut size = 0;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| Overrun::Malformed)?;
            size += frame.data_ref().map_or(0, |data| data.len() as u64);
            if size > limits.body_size.0 {
                return Err(Overrun::TooLarge);
            }
        }
        Ok(())
    };
    tokio::time::timeout(limits.body_timeout.as_std(), read).await.unwrap_or(Err(Overrun::TooSlow))
}
