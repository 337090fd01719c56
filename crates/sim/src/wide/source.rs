//! Where the requests come from: their instants and demands, in blocks.

use std::sync::Arc;

use sojourn_traffic::{Demand, Plan, Workload, WorkloadError};

use crate::course::Phases;

/// Requests in a block.
pub(super) const BLOCK: usize = 512;

/// Instants (ns) and demands (ns) of requests to come.
pub(super) struct Source {
    plan: Plan,
    at: Box<[u64; BLOCK]>,
    work: Box<[u64; BLOCK]>,
    /// Which of them is next, and how many there are.
    next: usize,
    filled: usize,
    /// No request is let in from here on.
    end: u64,
}

impl Source {
    pub(super) fn new(workload: &Workload, seed: u64, demand: Arc<dyn Demand>) -> Result<Source, WorkloadError> {
        let plan = Plan::new(workload, seed, demand)?;
        let (at, work) = (Box::new([0; BLOCK]), Box::new([0; BLOCK]));
        Ok(Source { plan, at, work, next: 0, filled: 0, end: u64::MAX })
    }

    /// The first requests are drawn; who is let in, `phases` says.
    pub(super) fn begin(&mut self, phases: &Phases) {
        self.end = phases.accepts_until().0;
        self.refill();
    }

    /// The requests that are there: instants and demands. None: no more come.
    #[inline]
    pub(super) fn here(&self) -> (&[u64], &[u64]) {
        (&self.at[self.next..self.filled], &self.work[self.next..self.filled])
    }

    /// When the next request comes; `u64::MAX` where none does.
    #[inline]
    pub(super) fn next_at(&self) -> u64 {
        if self.next < self.filled { self.at[self.next] } else { u64::MAX }
    }

    /// The demand of the next request.
    #[inline]
    pub(super) fn next_work(&self) -> u64 {
        self.work[self.next]
    }

    /// So many of those that are there have come.
    #[inline]
    pub(super) fn take(&mut self, requests: usize) {
        self.next += requests;
        if self.next == self.filled {
            self.refill();
        }
    }

    #[inline(never)]
    fn refill(&mut self) {
        (self.next, self.filled) = (0, 0);
        for (at, work) in self.at.iter_mut().zip(self.work.iter_mut()) {
            let Some(planned) = self.plan.next().filter(|planned| planned.at.0 < self.end) else {
                self.end = 0;
                break;
            };
            (*at, *work) = (planned.at.0, planned.request.demand.0);
            self.filled += 1;
        }
    }
}
