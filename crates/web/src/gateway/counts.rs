//! What a gateway counts. One set per thread, written by that thread alone and read by all.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use serde::Serialize;
use sojourn_dispatch::Signals;
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
    /// Those of them that found every backend that is up full (`limit`), waited there in vain (`queue`), or met an open breaker.
    pub over_limit: u64,
    /// Requests that waited for a backend with room.
    pub waited: u64,
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
    /// Per backend, in the order in which they were named first; also of those that have left.
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
    /// Whether every decider takes it to be up; one that has left is not.
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
    pub(super) waited: Count,
    pub(super) records_failed: Count,
    /// By number; a reload adds some.
    backends: Mutex<Vec<Arc<PerBackend>>>,
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

/// What one decider tells those who look from outside. With one decider for all threads, several write it, under its lock.
#[derive(Debug, Default)]
pub(super) struct Facts {
    requires: AtomicU32,
    backends: RwLock<Vec<Seen>>,
}

/// What it knows of a backend.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) name: String,
    /// Requests in flight, as the table has it.
    pub(super) in_flight: Count,
    /// 1 when it is down, drained or gone.
    pub(super) out: Count,
    /// 1 when it has left.
    pub(super) gone: Count,
}

impl Counts {
    /// Those of the first so many backends.
    pub(super) fn of_backends(&self, many: usize) -> Vec<Arc<PerBackend>> {
        let mut backends = self.backends.lock().unwrap_or_else(PoisonError::into_inner);
        while backends.len() < many {
            backends.push(Arc::default());
        }
        backends.clone()
    }

    /// Requests at any backend.
    pub(super) fn in_flight(&self) -> u64 {
        self.of_backends(0).iter().map(|backend| backend.in_flight.now()).sum()
    }
}

impl Facts {
    /// What the policy must be told.
    #[inline]
    pub(super) fn requires(&self) -> Signals {
        Signals::from_bits_truncate(self.requires.load(Ordering::Relaxed))
    }

    pub(super) fn set_requires(&self, requires: Signals) {
        self.requires.store(requires.bits(), Ordering::Relaxed);
    }

    /// What it knows of each backend, by number.
    pub(super) fn seen(&self) -> RwLockReadGuard<'_, Vec<Seen>> {
        self.backends.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// A further backend has this name.
    pub(super) fn join(&self, name: &str) {
        let seen = Seen { name: name.to_owned(), ..Seen::default() };
        self.backends.write().unwrap_or_else(PoisonError::into_inner).push(seen);
    }

    /// How many backends are out, of how many that have not left.
    pub(super) fn down(&self) -> (usize, usize) {
        let seen = self.seen();
        let here = seen.iter().filter(|seen| seen.gone.now() == 0);
        (here.clone().filter(|seen| seen.out.now() == 1).count(), here.count())
    }
}

/// All threads' counts together.
pub(super) fn total(threads: &[Arc<Counts>], deciders: &[Arc<Facts>], held: u64) -> GatewayCounts {
    let deciders: Vec<_> = deciders.iter().map(|facts| facts.seen()).collect();
    let of_backends: Vec<_> = threads.iter().map(|thread| thread.of_backends(0)).collect();
    let sum = |of: fn(&Counts) -> &Count| threads.iter().map(|thread| of(thread).now()).sum::<u64>();
    let backend = |(index, Seen { name, .. }): (usize, &Seen)| {
        let threads = || of_backends.iter().filter_map(|backends| backends.get(index));
        let deciders = || deciders.iter().filter_map(|seen| seen.get(index));
        let sum = |of: fn(&PerBackend) -> &Count| threads().map(|backend| of(backend).now()).sum::<u64>();
        BackendCounts {
            name: name.clone(),
            requests: sum(|backend| &backend.requests),
            completed: sum(|backend| &backend.completed),
            failed: sum(|backend| &backend.failed),
            cancelled: sum(|backend| &backend.cancelled),
            in_flight: sum(|backend| &backend.in_flight),
            in_flight_table: deciders().map(|seen| seen.in_flight.now()).sum(),
            connections: sum(|backend| &backend.connections),
            bytes: sum(|backend| &backend.bytes),
            up: deciders().all(|seen| seen.out.now() == 0),
        }
    };
    let known = deciders.iter().max_by_key(|seen| seen.len()).into_iter().flat_map(|seen| seen.iter());
    let backends: Vec<_> = known.enumerate().map(backend).collect();
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
        waited: sum(|counts| &counts.waited),
        cancelled: backends.iter().map(|backend| backend.cancelled).sum(),
        held,
        records_failed: sum(|counts| &counts.records_failed),
        reports_dropped: None,
        upstream: None,
        backends,
    }
}
