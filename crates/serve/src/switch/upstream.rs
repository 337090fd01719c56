//! What a switch tells those in front of it where its servers report nothing: the connections that it has given them.

use std::sync::{Arc, Mutex};

use sojourn_dispatch::Table;

use super::decider::{Decider, lock};
use crate::clock;
use crate::report::{Metric, Metrics};
use crate::upstream::Front;

impl Front for Arc<Mutex<Decider>> {
    fn look<R>(&self, look: impl FnOnce(&Table) -> R) -> R {
        let mut decider = lock(self);
        decider.hear_ends(clock::now());
        look(decider.table())
    }

    fn own(&self) -> Metrics {
        let mut metrics = Metrics::default();
        metrics.set(Metric::Connections, lock(self).open_now() as f64);
        metrics
    }
}
