//! What a node tells of its load, to its own policy as to others.

use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use sojourn_dispatch::reports::{Account, earliest};
use sojourn_part::clock;
use sojourn_report::{Load, Metrics, Outbox};

use super::{Broker, Numbers, OWN};

/// How often a node says that it leaves, and the time between: a datagram may be lost.
const FAREWELLS: (u32, Duration) = (3, Duration::from_millis(20));

/// Tells of one node.
pub(super) struct Teller {
    outbox: Rc<Outbox>,
    numbers: Numbers,
    account: Option<Account>,
}

impl Teller {
    pub(super) fn new(outbox: Rc<Outbox>, numbers: Numbers) -> Teller {
        Teller { outbox, numbers, account: None }
    }

    /// The sockets to those that take reports.
    pub(super) fn outbox(&self) -> &Rc<Outbox> {
        &self.outbox
    }

    /// Tells what the node is doing now.
    pub(super) fn tell(&mut self, broker: &Broker) -> Metrics {
        let (now, every) = (clock::now(), broker.config.every);
        let metrics = self.numbers.look(now);
        let mut report = metrics.report(now);
        if let Some(totals) = metrics.totals() {
            let account = self.account.get_or_insert_with(|| Account::new(now, totals));
            account.understand(&mut report, &totals, earliest(every));
        }
        broker.lock().report(OWN, &report, clock::now());
        broker.counters.reports.fetch_add(1, Ordering::Relaxed);
        let load = Load { every, heartbeat: every, metrics: metrics.clone(), ..Load::default() };
        self.outbox.tell(now, load);
        metrics
    }

    /// Says that the node leaves.
    pub(super) async fn leave(&self, broker: &Broker) {
        let every = broker.config.every;
        for _ in 0..FAREWELLS.0 {
            self.outbox.tell(clock::now(), Load { every, heartbeat: every, is_empty: true, ..Load::default() });
            tokio::time::sleep(FAREWELLS.1).await;
        }
    }
}
