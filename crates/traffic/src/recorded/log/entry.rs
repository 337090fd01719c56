//! One request of a log.

use super::calendar::SECOND_US;
use super::ending::CLIENT_CLOSED;
use super::method::Method;

/// What says that a log does not say.
pub(super) const UNKNOWN: u64 = u64::MAX;
/// What says that no server is named.
pub(super) const NO_SERVER: u32 = u32::MAX;

/// One request of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When it came: microseconds since 1970-01-01 in UTC, the beginning of the step within which it did.
    pub time_us: i64,
    /// Bytes of the reply, of its body where the format says that alone; 0 where the log has `-`.
    pub bytes: u64,
    pub(super) response_us: u64,
    pub(super) at_server_us: u64,
    pub(super) to_header_us: u64,
    pub(super) queue_us: u64,
    /// Who asked: an index into [`Log::hosts`](super::Log::hosts).
    pub client: u32,
    /// What for: an index into [`Log::paths`](super::Log::paths).
    pub object: u32,
    pub(super) server: u32,
    /// Status of the reply; 0 where there was none.
    pub status: u16,
    /// What was to be done.
    pub method: Method,
    pub(super) is_abandoned: bool,
}

impl Entry {
    /// In which second it came: since 1970-01-01 in UTC.
    pub fn time_s(&self) -> i64 {
        self.time_us.div_euclid(SECOND_US)
    }

    /// When it ended (microseconds since 1970 in UTC); when it came, where the log does not say how long it took.
    pub(super) fn end_us(&self) -> i64 {
        let taken_us = if self.response_us == UNKNOWN { 0 } else { self.response_us };
        self.time_us.saturating_add_unsigned(taken_us)
    }

    /// Whether its client gave up before the reply was over: nginx's status 499, HAProxy's termination states `C...` and `c...`,
    /// Envoy's flags `DC` and `DR`, 460 of an Application Load Balancer.
    pub fn is_abandoned(&self) -> bool {
        self.is_abandoned
    }

    /// How long it took (s), by the log: of a proxy in all, waiting and transfer included. None where its client gave up,
    /// which is no answer: [`Entry::waited_s`].
    pub fn response_s(&self) -> Option<f64> {
        seconds(self.response_us).filter(|_| !self.is_abandoned)
    }

    /// How long its client waited (s) until it gave up; none of a request whose client did not.
    pub fn waited_s(&self) -> Option<f64> {
        seconds(self.response_us).filter(|_| self.is_abandoned)
    }

    /// How long it was at the server that served it (s), by the log. What this holds is the format's affair. None where its
    /// client gave up: the server may have needed longer.
    pub fn at_server_s(&self) -> Option<f64> {
        seconds(self.at_server_us).filter(|_| !self.is_abandoned)
    }

    /// How long it was there (s), whether or not its client gave up, for the number of requests that were there together: at its
    /// server, or else in all.
    pub fn there_s(&self, is_at_server: bool) -> Option<f64> {
        seconds(if is_at_server { self.at_server_us } else { self.response_us })
    }

    /// How long it was at the server until the head of the reply came (s), connecting included: without the transfer of the
    /// body, which may wait for a slow client. Of HAProxy Tc + Tr, of nginx `$upstream_header_time`. It is the server's time
    /// too where the client gave up later; under nginx's 499 it gave up before, and old versions write how long it waited.
    pub fn to_header_s(&self) -> Option<f64> {
        seconds(self.to_header_us).filter(|_| self.status != CLIENT_CLOSED)
    }

    /// How long it waited for a server in the proxy's queues (s), by the log.
    pub fn queue_s(&self) -> Option<f64> {
        seconds(self.queue_us)
    }

    /// Which server served it: an index into [`Log::servers`](super::Log::servers).
    pub fn server(&self) -> Option<u32> {
        (self.server != NO_SERVER).then_some(self.server)
    }
}

fn seconds(us: u64) -> Option<f64> {
    (us != UNKNOWN).then(|| us as f64 / 1e6)
}
