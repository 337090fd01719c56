//! Reports that load daemons send: taken by the thread that acts, and told to the one decider; and what this one tells of its
//! backends where they report nothing.
//!
//! A gateway that probes its backends knows better than their silence whether they are up, so silence is only said then;
//! without probes it takes a backend out until it is heard again.

use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;
use sojourn_dispatch::Table;

use super::Face;
use super::worker::Worker;
use crate::report::{Dropped, Inbox, Metric, Metrics};
use crate::upstream::Front;

/// Takes reports for as long as it is polled; `dropped` counts those that were not believed.
pub(super) async fn hear(inbox: Inbox, worker: Rc<Worker>, dropped: Arc<Mutex<Dropped>>) {
    let Err(error) = inbox
        .hear(|told, count, _| {
            for told in told {
                if let Some((event, backend)) = told.news() {
                    worker.board.emit(&json!({"event": event, "backend": worker.board.name(backend)}));
                }
            }
            worker.board.take(told);
            *dropped.lock().unwrap_or_else(PoisonError::into_inner) = count;
        })
        .await;
    worker.board.emit(&json!({"event": "reports_not_heard", "why": error.to_string()}));
}

impl Front for Rc<Worker> {
    fn look<R>(&self, look: impl FnOnce(&Table) -> R) -> R {
        self.board.look(look)
    }

    /// Requests inside; a redirector does not know what becomes of those that it sends on.
    fn own(&self) -> Metrics {
        let mut metrics = Metrics::default();
        if self.config.face == Face::Proxy {
            metrics.set(Metric::InFlight, self.board.in_flight_of_all() as f64);
        }
        metrics
    }
}
