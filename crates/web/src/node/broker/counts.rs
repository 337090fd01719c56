//! What a broker counts.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use sojourn_dispatch::State;
use sojourn_report::{Dropped, Traffic};

use super::Broker;

/// What a broker has done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClusterCounts {
    /// Requests under the service's name that the policy was asked about.
    pub decisions: u64,
    /// Those of them that were served here.
    pub stayed: u64,
    /// Those whose clients were sent elsewhere.
    pub redirected: u64,
    /// Those that were sent on to another node.
    pub forwarded: u64,
    /// Files that were fetched of the nodes that own them.
    pub fetched: u64,
    /// Files of others that were copied here.
    pub copied: u64,
    /// Requests that were served from copies.
    pub from_copies: u64,
    /// Attempts to send a request on, or to fetch a file, that came to nothing: the node could not be reached or gave no reply.
    pub failed: u64,
    /// Requests that had failed so and were served here, or fetched of another owner.
    pub saved: u64,
    /// Those that no node could take: none was up, or none that has the file.
    pub refused: u64,
    /// Requests that stayed without a question: asked for under another name, or not to be served elsewhere.
    pub unasked: u64,
    /// Reports to the peers.
    pub reports: u64,
    /// Datagrams sent.
    pub datagrams: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Datagrams of peers that were not believed, by cause.
    pub dropped: Dropped,
    /// Records of decisions that could not be written to their end.
    pub records_failed: u64,
    /// Per peer, in their order.
    pub peers: Vec<PeerCounts>,
}

/// What became of a peer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PeerCounts {
    /// Its name.
    pub name: String,
    /// Clients that were sent there.
    pub redirected: u64,
    /// It may be chosen now.
    pub is_up: bool,
}

/// The same, as it is counted.
#[derive(Default)]
pub(super) struct Counters {
    pub(super) decisions: AtomicU64,
    pub(super) stayed: AtomicU64,
    pub(super) forwarded: AtomicU64,
    pub(super) fetched: AtomicU64,
    pub(super) copied: AtomicU64,
    pub(super) from_copies: AtomicU64,
    pub(super) failed: AtomicU64,
    pub(super) saved: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) unasked: AtomicU64,
    pub(super) reports: AtomicU64,
    pub(super) records_failed: AtomicU64,
    pub(super) traffic: Arc<Traffic>,
    pub(super) dropped: Arc<Mutex<Dropped>>,
}

impl Broker {
    /// What it has done so far.
    pub(crate) fn counts(&self) -> ClusterCounts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let traffic = &self.counters.traffic;
        let front = self.lock();
        let peers = self.members.others().into_iter().map(|(id, peer)| PeerCounts {
            name: peer.name.clone(),
            redirected: of(&peer.redirected),
            is_up: front.table().state(id) == State::Up,
        });
        let peers: Vec<PeerCounts> = peers.collect();
        ClusterCounts {
            decisions: of(&self.counters.decisions),
            stayed: of(&self.counters.stayed),
            redirected: peers.iter().map(|peer| peer.redirected).sum(),
            forwarded: of(&self.counters.forwarded),
            fetched: of(&self.counters.fetched),
            copied: of(&self.counters.copied),
            from_copies: of(&self.counters.from_copies),
            failed: of(&self.counters.failed),
            saved: of(&self.counters.saved),
            refused: of(&self.counters.refused),
            unasked: of(&self.counters.unasked),
            reports: of(&self.counters.reports),
            datagrams: of(&traffic.datagrams),
            bytes: of(&traffic.bytes),
            dropped: *self.counters.dropped.lock().unwrap_or_else(PoisonError::into_inner),
            records_failed: of(&self.counters.records_failed),
            peers,
        }
    }
}
