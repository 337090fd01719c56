//! What has become of connections.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

/// What has become of the connections of clients so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ConnectionCounts {
    /// Connections that had to wait because as many as may be open were open.
    pub held: u64,
    /// Connections closed at once because as many as may be open were open.
    pub refused_full: u64,
    /// Connections closed at once because as many of their address as may be open were open.
    pub refused_address: u64,
    /// Handshakes of TLS that were finished.
    pub handshakes: u64,
    /// Handshakes that failed.
    pub handshakes_failed: u64,
    /// Handshakes that took too long.
    pub handshakes_late: u64,
    /// Connections cut because their client took nothing of its replies for too long.
    pub too_slow: u64,
    /// Bytes of the bodies of replies.
    pub sent_bytes: u64,
}

/// The same while it is counted, by all threads.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) held: AtomicU64,
    pub(super) refused_full: AtomicU64,
    pub(super) refused_address: AtomicU64,
    pub(super) handshakes: AtomicU64,
    pub(super) handshakes_failed: AtomicU64,
    pub(super) handshakes_late: AtomicU64,
    pub(super) too_slow: AtomicU64,
    pub(super) sent_bytes: AtomicU64,
}

impl Counts {
    pub(super) fn now(&self) -> ConnectionCounts {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        ConnectionCounts {
            held: read(&self.held),
            refused_full: read(&self.refused_full),
            refused_address: read(&self.refused_address),
            handshakes: read(&self.handshakes),
            handshakes_failed: read(&self.handshakes_failed),
            handshakes_late: read(&self.handshakes_late),
            too_slow: read(&self.too_slow),
            sent_bytes: read(&self.sent_bytes),
        }
    }
}

/// Counts one more.
pub(super) fn bump(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
}
