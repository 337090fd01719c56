//! Requests that their clients gave up: what each product writes where the client was gone before the reply was over.
//!
//! Of such a request the log has how long the client waited, which is no response time and says nothing of what the server
//! needs. nginx closes its connection to the server then (`proxy_ignore_client_abort off`); whether the server stops is not
//! known.

/// nginx's status of a request whose client closed the connection before the head of the reply
/// (`NGX_HTTP_CLIENT_CLOSED_REQUEST`); Traefik and Caddy have it from nginx.
pub(super) const CLIENT_CLOSED: u16 = 499;
/// The same of Amazon's Application Load Balancer ("HTTP 460").
pub(super) const CLIENT_CLOSED_OF_ALB: u16 = 460;

/// A field that says how a request ended, by the product that writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// HAProxy's termination state: first `C`, the client went away, or `c`, it neither sent nor took anything for `timeout
    /// client` (configuration manual, section 8.5).
    HaProxy,
    /// Envoy's response flags, `DC` and `DR` among several: the client's connection ended, or it reset the stream.
    Envoy,
    /// Apache's `%X`: `X`, aborted before the response completed.
    Apache,
    /// Squid's result code: `TCP_MISS_ABORTED`.
    Squid,
}

impl Ending {
    /// Whether it says that the client gave up.
    #[inline]
    pub(super) fn is_abandoned(self, text: &[u8]) -> bool {
        match self {
            Ending::HaProxy => matches!(text.first(), Some(b'C' | b'c')),
            Ending::Envoy => text.split(|byte| *byte == b',').any(|flag| {
                matches!(flag, b"DC" | b"DR" | b"DownstreamConnectionTermination" | b"DownstreamRemoteReset")
            }),
            Ending::Apache => text == b"X",
            Ending::Squid => text.ends_with(b"_ABORTED"),
        }
    }
}
