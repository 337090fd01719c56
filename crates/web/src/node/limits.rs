//! What a client of a node may take beside connections and their idle time.

use http_body_util::BodyExt;
use hyper::Request;
use hyper::body::{Body, Incoming};
use sojourn_part::listen::{HANDSHAKE_TIMEOUT, HEAD_TIMEOUT, STREAMS, WhenFull};
use sojourn_stats::Span;

/// How long a body may take where nothing else is said: 64 MB in this time are less than 2 Mbit/s.
const BODY_TIMEOUT: Span = Span(300_000_000_000);

/// What a client may take; sizes in bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// What becomes of a connection when as many as may be open are open.
    pub when_full: WhenFull,
    /// Most connections at once of an IPv4 address or an IPv6 network of 64 bits; further ones are closed at once.
    pub per_address: Option<usize>,
    /// Requests after which a connection ends.
    pub requests: Option<u64>,
    /// How long the head of a request may be; then the answer is 431.
    pub head_size: usize,
    /// How long the body of a request may be; then the answer is 413.
    pub body_size: u64,
    /// How long the body of a request may take; then the answer is 408.
    pub body_timeout: Span,
    /// How long a client may take nothing of a reply; then its connection is cut.
    pub send_timeout: Span,
    /// How long the handshake of TLS may take.
    pub handshake_timeout: Span,
    /// Requests at once on a connection of HTTP/2.
    pub streams: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            when_full: WhenFull::Wait,
            per_address: None,
            requests: None,
            head_size: 64_000,
            body_size: 64_000_000,
            body_timeout: BODY_TIMEOUT,
            send_timeout: HEAD_TIMEOUT,
            handshake_timeout: HANDSHAKE_TIMEOUT,
            streams: STREAMS,
        }
    }
}

/// Why the body of a request was not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overrun {
    TooLarge,
    TooSlow,
    Malformed,
}

impl Limits {
    /// Whether a request says itself that its body is too large.
    pub(super) fn is_too_large(&self, request: &Request<Incoming>) -> bool {
        request.body().size_hint().lower() > self.body_size
    }

    /// Reads a body to its end and throws it away. Where the client has left, the whole request ends, and none
    /// hears that it was malformed.
    pub(super) async fn drain(&self, mut body: Incoming) -> Result<(), Overrun> {
        let read = async {
            let mut size = 0;
            while let Some(frame) = body.frame().await {
                let frame = frame.map_err(|_| Overrun::Malformed)?;
                size += frame.data_ref().map_or(0, |data| data.len() as u64);
                if size > self.body_size {
                    return Err(Overrun::TooLarge);
                }
            }
            Ok(())
        };
        tokio::time::timeout(self.body_timeout.as_std(), read).await.unwrap_or(Err(Overrun::TooSlow))
    }
}
