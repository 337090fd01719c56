//! What the clients of a load share when replies do not come: time-outs, retries, a budget, hedges.

use std::sync::{Arc, Mutex, MutexGuard};

use sojourn_model::Tries;
use sojourn_model::system::Rules;
use sojourn_stats::Stream;

/// The rules of clients that ask for a request more than once, and what they share: the state machine that the simulator runs too
/// ([`Tries`]). Copies share it, over threads and loads of a process. The price is a lock per attempt; a load without them takes
/// none.
#[derive(Clone, Debug)]
pub struct Attempts {
    tries: Arc<Mutex<Tries>>,
    has_hedge: bool,
    seed: u64,
}

impl Attempts {
    /// Those of clients with these rules; how long they wait before a retry is drawn from `seed`, and is what a simulated client
    /// with that seed would draw.
    pub fn new(rules: &Rules, seed: u64) -> Attempts {
        Attempts { tries: Arc::new(Mutex::new(Tries::new(rules))), has_hedge: rules.hedge.is_some(), seed }
    }

    /// Whether a request may have two attempts under way.
    pub(crate) fn has_hedge(&self) -> bool {
        self.has_hedge
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Tries> {
        self.tries.lock().expect("no thread panics while it holds the clients' rules")
    }

    /// The random numbers of a retry of request `k`.
    pub(crate) fn draws(&self, k: u64, retry: u32) -> Stream {
        Stream::new(self.seed, &format!("request {k}"), &format!("retry {retry}"))
    }
}
