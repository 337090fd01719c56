//! What a switch tells those in front of it where its servers report nothing: the connections that it has given them.

use std::sync::{Arc, Mutex};

use sojourn_dispatch::Front;
use sojourn_part::clock;
use sojourn_report::upstream::FrontNode;
use sojourn_report::{Metric, Metrics};

use super::decider::{Decider, lock};

/// The decider of a switch, as what is told in front of it sees it.
pub(super) struct Telling(pub(super) Arc<Mutex<Decider>>);

impl FrontNode for Telling {
    fn look<R>(&self, look: impl FnOnce(&Front) -> R) -> R {
        let mut decider = lock(&self.0);
        decider.hear_ends(clock::now());
        look(decider.front())
    }

    fn own(&self) -> Metrics {
        let mut metrics = Metrics::default();
        metrics.set(Metric::Connections, lock(&self.0).open_now() as f64);
        metrics
    }
}
