//! Load between the nodes of a cluster: each tells each other, one datagram at a time, signed and proof against replay
//! ([`crate::report`]).
//!
//! What a node knows of itself is as old as what its peers know: its own report is told to its own policy when it is told to
//! them, so that all nodes judge alike. A peer is out when it has been silent for three periods, or says that it leaves; it is in
//! again when it is heard. The price is n - 1 datagrams a period and node.

use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use serde_json::json;
use sojourn_dispatch::reports::Account;
use sojourn_dispatch::{BackendId, Event, State};
use sojourn_stats::Time;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::{Broker, Decider, Numbers, OWN};
use crate::report::{Inbox, Load, Metrics, Outbox, ReportsConfig, Told};
use crate::{ServeError, clock};

/// How often a node says that it leaves, and the time between: a datagram may be lost.
const FAREWELLS: (u32, Duration) = (3, Duration::from_millis(20));

/// What tells and hears, on one thread of a node.
pub(in crate::node) struct Telling {
    broker: Arc<Broker>,
    inbox: Inbox,
    outbox: Rc<Outbox>,
    numbers: Numbers,
    account: Option<Account>,
}

impl Broker {
    /// The socket for reports of the peers, of a node that is at `address`.
    ///
    /// # Errors
    /// When the system refuses it.
    pub(in crate::node) fn inbox(&self, address: std::net::SocketAddr) -> Result<Inbox, ServeError> {
        let reports = ReportsConfig { listen: self.config.reports.unwrap_or(address), key: self.config.key.clone() };
        Inbox::open(&reports, Some(&self.names))
    }
}

impl Telling {
    /// On the current runtime.
    ///
    /// # Errors
    /// When a peer's address is not known, or the system refuses a socket.
    pub(in crate::node) fn open(broker: Arc<Broker>, inbox: Inbox, numbers: Numbers) -> Result<Telling, ServeError> {
        let peers = broker.config.peers.iter().map(|peer| peer.takes_reports_at());
        let peers: Vec<_> = peers.collect::<Result<_, _>>()?;
        let (name, key) = (&broker.names[0], &broker.config.key);
        let traffic = Arc::clone(&broker.counters.traffic);
        let outbox = Rc::new(Outbox::open(name, key, &peers, broker.events.clone(), traffic)?);
        Ok(Telling { broker, inbox, outbox, numbers, account: None })
    }

    /// Tells and hears until told to stop; then says that the node leaves.
    pub(in crate::node) async fn run(self, mut stop: watch::Receiver<bool>) {
        let Telling { broker, inbox, outbox, mut numbers, mut account } = self;
        let mut chores = JoinSet::new();
        for receiver in outbox.receivers() {
            chores.spawn_local(Outbox::hear(Rc::clone(&outbox), receiver, |_, _| {}));
        }
        chores.spawn_local(hear(inbox, Arc::clone(&broker)));
        let every = broker.config.every;
        let load = |metrics, is_empty| Load { every, heartbeat: every, is_overloaded: false, is_empty, metrics };
        loop {
            let now = clock::now();
            let metrics = numbers.look(now);
            broker.tell_itself(&metrics, &mut account, now);
            broker.counters.reports.fetch_add(1, Ordering::Relaxed);
            outbox.tell(now, load(metrics, false));
            tokio::select! {
                () = tokio::time::sleep(every.as_std()) => {}
                _ = stop.wait_for(|stop| *stop) => break,
            }
        }
        for _ in 0..FAREWELLS.0 {
            outbox.tell(clock::now(), load(Metrics::default(), true));
            tokio::time::sleep(FAREWELLS.1).await;
        }
        chores.shutdown().await;
    }
}

impl Broker {
    /// Hears what reports of peers tell.
    fn hear(&self, told: &[Told]) {
        let mut decider = self.lock();
        for told in told {
            let now = clock::now();
            match (told.backend(), told) {
                (Some(OWN), Told::Report { .. }) => {
                    let name = &self.names[0];
                    self.events
                        .emit(&json!({"event": "name_taken", "name": name, "why": "another node reports under it"}));
                }
                (Some(OWN) | None, _) => {}
                (Some(peer), Told::Report { .. }) => {
                    self.set(&mut decider, peer, true, "it reports", now);
                    told.tell(&mut decider.dispatcher, now);
                }
                (Some(peer), Told::Found { .. }) => self.set(&mut decider, peer, true, "it reports", now),
                (Some(peer), Told::Lost { is_empty, .. }) => {
                    let why = if *is_empty { "it says that it leaves" } else { "its reports have ceased" };
                    self.set(&mut decider, peer, false, why, now);
                }
                (Some(_), _) => {}
            }
        }
        let failed = decider.dispatcher.record_error().map(ToString::to_string);
        self.notice_record(&mut decider, failed);
    }

    /// A peer may be chosen from now on, or not.
    fn set(&self, decider: &mut Decider, peer: BackendId, is_up: bool, why: &str, now: Time) {
        if (decider.dispatcher.table().state(peer) == State::Up) == is_up {
            return;
        }
        let event = if is_up { Event::Joined { backend: peer } } else { Event::Down { backend: peer } };
        decider.dispatcher.observe(event, now);
        let event = if is_up { "peer_up" } else { "peer_down" };
        self.events.emit(&json!({"event": event, "peer": self.names[peer.0 as usize], "why": why}));
    }

    /// Tells the own policy what the peers are told.
    fn tell_itself(&self, metrics: &Metrics, account: &mut Option<Account>, now: Time) {
        let mut report = metrics.report(now);
        if let Some(totals) = metrics.totals() {
            let account = account.get_or_insert_with(|| Account::new(now, totals));
            account.understand(&mut report, &totals, self.config.every);
        }
        self.lock().dispatcher.report(OWN, &report, clock::now());
    }
}

/// Hears the peers for as long as it is polled.
async fn hear(inbox: Inbox, broker: Arc<Broker>) {
    let Err(error) = inbox
        .hear(|told, dropped, _| {
            broker.hear(told);
            *broker.counters.dropped.lock().unwrap_or_else(PoisonError::into_inner) = dropped;
        })
        .await;
    broker.events.emit(&json!({"event": "reports_not_heard", "why": error.to_string()}));
}
