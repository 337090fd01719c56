//! What a client may take: connections, time and memory.

use std::time::Duration;

use hyper::server::conn::{http1, http2};
use hyper_util::rt::TokioTimer;
use serde::{Deserialize, Serialize};
use sojourn_stats::Span;

use super::head::HeadTimer;
use super::local::OnThisThread;

/// How long a connection stays open without a request where nothing else is said; nginx has the same.
pub const KEEP_ALIVE: Span = Span(75_000_000_000);

/// How long the head of a request may take, as in nginx.
pub const HEAD_TIMEOUT: Span = Span(60_000_000_000);

/// How long a client may take for the handshake of TLS where nothing else is said.
pub const HANDSHAKE_TIMEOUT: Span = Span(10_000_000_000);

/// Requests of a connection of HTTP/2 that may be in flight at once where nothing else is said, as in nginx.
pub const STREAMS: u32 = 128;

/// Bytes that a connection may hold of what its client has sent and of what it has not yet taken: a head longer than this is
/// refused unless `head_size` says more, as by nginx. hyper's own 400 kB would be taken by each client that takes nothing.
const BUFFER: usize = 32 << 10;

/// The same of a stream of HTTP/2, of what was not yet taken.
const STREAM_BUFFER: usize = 64 << 10;

/// Streams that a client may open and reset before they were looked at, and those that the server may have to reset: more is
/// an attack ("rapid reset", CVE-2023-44487, and "made you reset", CVE-2025-8671), and ends the connection.
const RESETS: [usize; 2] = [20, 256];

/// How often a connection of HTTP/2 is asked whether it is still there, and how long the answer may take.
const PING: [Span; 2] = [Span(30_000_000_000), Span(20_000_000_000)];

/// What becomes of a connection when as many as may be open are open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WhenFull {
    /// It waits until another one is closed.
    #[default]
    Wait,
    /// It is closed at once.
    Close,
    /// It is taken in, and the oldest of its listener is closed for it.
    #[serde(skip)]
    Replace,
}

/// How connections of clients are kept, and what each may take.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    /// Most connections at once.
    pub connections: usize,
    /// What becomes of one that comes when as many are open.
    pub when_full: WhenFull,
    /// Most connections at once of an IPv4 address or an IPv6 network of 64 bits; further ones are closed at once.
    pub per_address: Option<usize>,
    /// Requests after which a connection ends.
    pub requests: Option<u64>,
    /// How long it may be idle: from the end of the reply before, or from its beginning. Zero: a connection per request.
    pub keep_alive: Span,
    /// How long the head of a request may take from its first byte; then the answer is 408.
    pub head_timeout: Span,
    /// How long the head may be (bytes); then the answer is 431.
    pub head_size: Option<usize>,
    /// How long a client may take nothing of what is sent to it.
    pub patience: Span,
    /// How long the handshake of TLS may take.
    pub handshake_timeout: Span,
    /// Requests at once on a connection of HTTP/2.
    pub streams: u32,
    /// Whether a request goes on although its client has closed the connection, which is then not looked at (HTTP/1).
    pub serves_abandoned: bool,
    /// How long requests in flight may take once told to stop.
    pub grace: Span,
}

impl Rules {
    /// At most `connections` at once, else as usual.
    pub fn new(connections: usize) -> Rules {
        Rules {
            connections,
            when_full: WhenFull::Wait,
            per_address: None,
            requests: None,
            keep_alive: KEEP_ALIVE,
            head_timeout: HEAD_TIMEOUT,
            head_size: None,
            patience: HEAD_TIMEOUT,
            handshake_timeout: HANDSHAKE_TIMEOUT,
            streams: STREAMS,
            serves_abandoned: false,
            grace: Span(1_000_000_000),
        }
    }

    /// How long a connection may wait for a request to begin.
    pub(super) fn idle(&self) -> Duration {
        if self.keep_alive == Span::ZERO { KEEP_ALIVE } else { self.keep_alive }.as_std()
    }

    /// How a connection of HTTP/1 is served.
    pub(super) fn http1(&self, timer: HeadTimer) -> http1::Builder {
        let mut http = http1::Builder::new();
        http.keep_alive(self.keep_alive > Span::ZERO).timer(timer).header_read_timeout(self.idle());
        http.half_close(self.serves_abandoned);
        http.max_buf_size(self.head_size.unwrap_or(0).max(BUFFER));
        if let Some(most) = self.head_size {
            http.max_header_size(most);
        }
        http
    }

    /// How a connection of HTTP/2 is served.
    pub(super) fn http2(&self) -> http2::Builder<OnThisThread> {
        let mut http = http2::Builder::new(OnThisThread);
        let ([early, late], [every, patience]) = (RESETS, PING.map(Span::as_std));
        http.timer(TokioTimer::new())
            .max_concurrent_streams(self.streams)
            .max_pending_accept_reset_streams(early)
            .max_local_error_reset_streams(late)
            .max_send_buf_size(STREAM_BUFFER)
            .keep_alive_interval(every)
            .keep_alive_timeout(patience);
        if let Some(most) = self.head_size {
            http.max_header_list_size(u32::try_from(most).unwrap_or(u32::MAX));
        }
        http
    }
}
