//! What a gateway counts. One set per thread, written by that thread alone and read by all.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;
use sojourn_report::Dropped;
use sojourn_report::upstream::UpstreamCounts;

/// What a gateway has done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GatewayCounts {
    /// Requests that clients sent.
    pub requests: u64,
    /// Requests sent on again to another backend after one failed.
    pub retried: u64,
    /// Requests sent again on a new connection because a kept one turned out to be closed.
    pub reconnected: u64,
    /// Attempts that failed because no connection could be made.
    pub connect_failed: u64,
    /// Attempts that failed because the connection broke before the head of the reply, or the head was malformed.
    pub broken: u64,
    /// Attempts that failed because the connection broke within the reply.
    pub truncated: u64,
    /// Attempts that took too long.
    pub timed_out: u64,
    /// Requests answered 502 or 504 because they could not be tried again.
    pub failed: u64,
    /// Requests that no backend got: none was up (503), or the request was wrong or had been here before.
    pub refused: u64,
    /// Those of them that found every backend that is up full (`limit`).
    pub over_limit: u64,
    /// Attempts whose client went away first, or broke its upload.
    pub cancelled: u64,
    /// Connections that had to wait because as many as may be open were open.
    pub held: u64,
    /// Records of decisions that could not be written to their end.
    pub records_failed: u64,
    /// Reports that were not believed, by cause, where it takes any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reports_dropped: Option<Dropped>,
    /// What it has told of its backends as of one, where it tells that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream: Option<UpstreamCounts>,
    /// Per backend, in their order.
    pub backends: Vec<BackendCounts>,
}

/// What one backend has done: `requests = completed + failed + cancelled + in_flight`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BackendCounts {
    /// Its name.
    pub name: String,
    /// Attempts at it.
    pub requests: u64,
    /// Those with a complete reply.
    pub completed: u64,
    /// Those without.
    pub failed: u64,
    /// Those whose client went away first, or broke its upload.
    pub cancelled: u64,
    /// Those going on.
    pub in_flight: u64,
    /// Those going on as the dispatchers' tables have it.
    pub in_flight_table: u64,
    /// Connections to it, idle ones included.
    pub connections: u64,
    /// Bytes of replies.
    pub bytes: u64,
    /// Whether every decider takes it to be up.
    pub up: bool,
}

/// One number, without the price of an atomic addition: one thread at a time writes it.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub(super) fn add(&self, more: u64) {
        self.set(self.now() + more);
    }

    pub(super) fn less(&self) {
        self.set(self.now() - 1);
    }

    pub(super) fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    pub(super) fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// One thread's counts.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) requests: Count,
    pub(super) retried: Count,
    pub(super) reconnected: Count,
    pub(super) connect_failed: Count,
    pub(super) broken: Count,
    pub(super) truncated: Count,
    pub(super) timed_out: Count,
    pub(super) failed: Count,
    pub(super) refused: Count,
    pub(super) over_limit: Count,
    pub(super) records_failed: Count,
    pub(super) backends: Vec<PerBackend>,
}

#[derive(Debug, Default)]
pub(super) struct PerBackend {
    pub(super) requests: Count,
    pub(super) completed: Count,
    pub(super) failed: Count,
    pub(super) cancelled: Count,
    pub(super) in_flight: Count,
    pub(super) connections: Count,
    pub(super) bytes: Count,
}

/// What one decider knows of a backend, for those who look from outside. With one decider for all threads, several
/// write it, under its lock.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Requests in flight, as the table has it.
    pub(super) in_flight: Count,
    /// 1 when it is down or drained.
    pub(super) out: Count,
}

impl Counts {
    pub(super) fn new(backends: usize) -> Counts {
        Counts { backends: (0..backends).map(|_| PerBackend::default()).collect(), ..Counts::default() }
    }

    /// Requests at any backend.
    pub(super) fn in_flight(&self) -> u64 {
        self.backends.iter().map(|backend| backend.in_flight.now()).sum()
    }
}

/// All threads' counts together.
pub(super) fn total(names: &[String], threads: &[Arc<Counts>], deciders: &[Arc<[Seen]>], held: u64) -> GatewayCounts {
    let sum = |of: fn(&Counts) -> &Count| threads.iter().map(|thread| of(thread).now()).sum::<u64>();
    let backend = |(index, name): (usize, &String)| {
        let sum =
            |of: fn(&PerBackend) -> &Count| threads.iter().map(|thread| of(&thread.backends[index]).now()).sum::<u64>();
        BackendCounts {
            name: name.clone(),
            requests: sum(|backend| &backend.requests),
            completed: sum(|backend| &backend.completed),
            failed: sum(|backend| &backend.failed),
            cancelled: sum(|backend| &backend.cancelled),
            in_flight: sum(|backend| &backend.in_flight),
            in_flight_table: deciders.iter().map(|seen| seen[index].in_flight.now()).sum(),
            connections: sum(|backend| &backend.connections),
            bytes: sum(|backend| &backend.bytes),
            up: deciders.iter().all(|seen| seen[index].out.now() == 0),
        }
    };
    let backends: Vec<_> = names.iter().enumerate().map(backend).collect();
    GatewayCounts {
        requests: sum(|counts| &counts.requests),
        retried: sum(|counts| &counts.retried),
        reconnected: sum(|counts| &counts.reconnected),
        connect_failed: sum(|counts| &counts.connect_failed),
        broken: sum(|counts| &counts.broken),
        truncated: sum(|counts| &counts.truncated),
        timed_out: sum(|counts| &counts.timed_out),
        failed: sum(|counts| &counts.failed),
        refused: sum(|counts| &counts.refused),
        over_limit: sum(|counts| &counts.over_limit),
        cancelled: backends.iter().map(|backend| backend.cancelled).sum(),
        held,
        records_failed: sum(|counts| &counts.records_failed),
        reports_dropped: None,
        upstream: None,
        backends,
    }
}
