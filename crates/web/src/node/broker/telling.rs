//! Load between the nodes of a cluster: each tells each other, one datagram at a time, signed and proof against replay
//! ([`sojourn_report`]).
//!
//! It reports when it starts, and then at the multiples of the period by the wall clock, so that all nodes tell of one instant.
//! What a node knows of itself is as old as what its peers know: its own report is told to its own policy when it is told to
//! them, so that all nodes judge alike. A peer is out when it has been silent for three periods, or says that it leaves; it is in
//! again when it is heard. The price is n - 1 datagrams a period and node.

use std::net::{SocketAddr, UdpSocket};
use std::rc::Rc;
use std::sync::{Arc, PoisonError};

use serde_json::json;
use sojourn_dispatch::{BackendId, Front, News, Standing};
use sojourn_part::settings::node::ClusterSettings;
use sojourn_part::{ServeError, clock};
use sojourn_report::{Inbox, Outbox, ReportsConfig, Told};
use sojourn_stats::Time;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::peers::takes_reports_at;
use super::teller::Teller;
use super::{Broker, Numbers, OWN, gossiping};

/// What tells and hears, on one thread of a node.
pub(in crate::node) struct Telling {
    broker: Arc<Broker>,
    door: Door,
    teller: Teller,
}

/// Where it comes in what others tell.
pub(in crate::node) enum Door {
    /// Reports of peers.
    Reports(Inbox),
    /// Gossip of members.
    Gossip(UdpSocket),
}

impl Door {
    /// Where it is.
    pub(in crate::node) fn address(&self) -> Result<SocketAddr, ServeError> {
        match self {
            Door::Reports(inbox) => inbox.address(),
            Door::Gossip(socket) => {
                socket.local_addr().map_err(ServeError::system("the socket of the gossip has no address"))
            }
        }
    }
}

impl Broker {
    /// The socket for what other nodes tell, of a node that is at `address`.
    ///
    /// # Errors
    /// When the system refuses it.
    pub(in crate::node) fn door(&self, address: SocketAddr) -> Result<Door, ServeError> {
        let listen = self.config.reports.unwrap_or(address);
        if self.config.gossips() {
            if listen.ip().is_unspecified() {
                let right = "say at which it gossips (--reports), as IP:PORT";
                return Err(ServeError::Config(format!("others cannot reach a node at {listen}; {right}")));
            }
            let socket = UdpSocket::bind(listen).map_err(|source| ServeError::Listen { address: listen, source })?;
            return Ok(Door::Gossip(socket));
        }
        let reports = ReportsConfig::new(listen, self.resolved.key.clone());
        let names: Vec<String> = [self.members.get(OWN)]
            .into_iter()
            .chain(self.members.others().into_iter().map(|(_, member)| member))
            .map(|member| member.name.clone())
            .collect();
        Inbox::open(&reports, Some(&names)).map(Door::Reports)
    }
}

impl Telling {
    /// On the current runtime.
    ///
    /// # Errors
    /// When a peer's address is not known, or the system refuses a socket.
    pub(in crate::node) fn open(broker: Arc<Broker>, door: Door, numbers: Numbers) -> Result<Telling, ServeError> {
        let ClusterSettings { peers, report_to, dispatch_only, .. } = &broker.config;
        // One that serves nothing is no peer to those to which it sends clients.
        let peers = peers.iter().filter(|_| !dispatch_only).map(takes_reports_at);
        let told: Vec<_> = peers.chain(report_to.iter().copied().map(Ok)).collect::<Result<_, _>>()?;
        let traffic = Arc::clone(&broker.counters.traffic);
        let name = &broker.members.get(OWN).name;
        let outbox = Rc::new(Outbox::open(name, &broker.resolved.key, &told, broker.events.clone(), traffic)?);
        Ok(Telling { broker, door, teller: Teller::new(outbox, numbers) })
    }

    /// Tells and hears until told to stop; then says that the node leaves.
    pub(in crate::node) async fn run(self, mut stop: watch::Receiver<bool>) {
        let Telling { broker, door, mut teller } = self;
        let mut chores = JoinSet::new();
        let outbox = teller.outbox();
        for receiver in outbox.receivers() {
            chores.spawn_local(Outbox::hear(Rc::clone(outbox), receiver, |_, _| {}));
        }
        match door {
            Door::Gossip(socket) => gossiping::run(broker, socket, teller, stop).await,
            Door::Reports(inbox) => {
                chores.spawn_local(hear(inbox, Arc::clone(&broker)));
                loop {
                    teller.tell(&broker);
                    tokio::select! {
                        () = tokio::time::sleep(clock::until_multiple(broker.config.every).as_std()) => {}
                        _ = stop.wait_for(|stop| *stop) => break,
                    }
                }
                teller.leave(&broker).await;
            }
        }
        chores.shutdown().await;
    }
}

impl Broker {
    /// Hears what reports of peers tell.
    fn hear(&self, told: &[Told]) {
        let mut front = self.lock();
        for told in told {
            let now = clock::now();
            match (told.backend(), told) {
                (Some(OWN), Told::Report { .. }) => {
                    let name = &self.members.get(OWN).name;
                    self.events
                        .emit(&json!({"event": "name_taken", "name": name, "why": "another node reports under it"}));
                }
                (Some(OWN) | None, _) => {}
                (Some(peer), Told::Report { report, .. }) => {
                    self.learn(&mut front, peer, News::Reported(report), "it reports", now);
                }
                (Some(peer), Told::Lost { is_empty: true, .. }) => {
                    self.learn(&mut front, peer, News::Empty, "it says that it leaves", now);
                }
                (Some(peer), Told::Lost { is_empty: false, .. }) => {
                    self.learn(&mut front, peer, News::Silent, "its reports have ceased", now);
                }
                (Some(_), _) => {}
            }
        }
        let failure = front.record_failure();
        self.record_failed(failure);
    }

    /// Learns of a peer, and says so where it may be chosen from now on, or not any more.
    pub(super) fn learn(&self, front: &mut Front, peer: BackendId, news: News<'_>, why: &str, now: Time) {
        if let Some(change) = front.learn(peer, news, now) {
            let event = if change.is == Standing::Up { "peer_up" } else { "peer_down" };
            self.events.emit(&json!({"event": event, "peer": self.members.get(peer).name, "why": why}));
        }
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
