//! Who is a node of a cluster, by gossip: nodes that nothing but a seed's address tells of each other.
//!
//! A member says two things, each a key and its value: a card (where it is, what it is made of) and, once a period, a word of its
//! load. Both reach all others by `chitchat`, which is Scuttlebutt: once a period each member compares what it knows with three
//! others. What goes out is signed (`transport`). Whether a member is there is not chitchat's to say but its word's age: one that
//! keeps no word coming is not there, whatever else it does.
//!
//! The price: a word comes over others, up to log4(n) periods late, and a datagram grows with the cluster, to some kB at 64
//! nodes, which no path takes whole. All that have the key are trusted to pass on what others said. Of chitchat it is the last
//! version that lets others write its messages: later ones could not be signed.
//!
//! van Renesse, Dumitriu, Gough, Thomas, Efficient reconciliation and flow control for anti-entropy protocols, LADIS 2008.

mod transport;

use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chitchat::{ChitchatConfig, ChitchatHandle, ChitchatId, FailureDetectorConfig, NodeState};
use serde::{Deserialize, Serialize};
use sojourn_part::{ServeError, clock};
use sojourn_stats::Span;

use crate::{Dropped, Key, Metrics, Traffic};
use transport::Signed;

/// The keys of what a member says.
const CARD: &str = "card";
const WORD: &str = "word";

/// What is known of a member that was not heard for so long is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(600);

/// What gossips, and with which members to begin with.
pub struct Settings {
    /// The name of this member.
    pub name: String,
    /// The key that members share.
    pub key: Key,
    /// Members of another cluster are not listened to.
    pub cluster: String,
    /// Addresses of members that are asked first (HOST:PORT).
    pub seeds: Vec<String>,
    /// Between two words.
    pub every: Span,
}

/// What a member says of itself once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// What clients ask it by.
    pub url: String,
    /// The same of those that speak TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_url: Option<String>,
    /// Where the other nodes reach it (HTTP).
    pub inside: SocketAddr,
    /// Its processor: 1 is the reference.
    pub speed: f64,
    /// Its disk (bytes per second); 0 where that is not known.
    pub disk_rate: f64,
    /// Its network (bytes per second); 0 where that is not known.
    pub net_rate: f64,
    /// Whether clients may be sent there.
    pub serves: bool,
    /// Between two of its words (ms).
    pub every_ms: u64,
}

/// What it says of its load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Word {
    /// Its words so far.
    pub count: u64,
    /// It is the last one.
    pub leaves: bool,
    /// Its load.
    pub metrics: Metrics,
}

/// What is known of another member.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// When it started (ns since 1970 by its clock): a later start is another one.
    pub generation: u64,
    /// What it said of itself once.
    pub card: Card,
    /// What it said of its load last.
    pub word: Word,
}

/// The gossip of one node, on the runtime on which it was begun.
pub struct Gossip {
    handle: ChitchatHandle,
    count: u64,
}

impl Gossip {
    /// Begins to gossip over this socket, whose address is the one that others are told.
    ///
    /// # Errors
    /// When the socket has no address, or the runtime refuses it.
    pub async fn begin(
        settings: Settings,
        socket: UdpSocket,
        card: &Card,
        traffic: Arc<Traffic>,
        dropped: Arc<Mutex<Dropped>>,
    ) -> Result<Gossip, ServeError> {
        let own = socket.local_addr().map_err(ServeError::system("the socket of the gossip has no address"))?;
        let interval = settings.every.as_std();
        let config = ChitchatConfig {
            chitchat_id: ChitchatId::new(settings.name, clock::wall(), own),
            cluster_id: settings.cluster,
            gossip_interval: interval,
            listen_addr: own,
            seed_nodes: settings.seeds,
            // Only the choice of members to gossip with hangs on this.
            failure_detector_config: FailureDetectorConfig {
                max_interval: interval * 10,
                initial_interval: interval * 2,
                dead_node_grace_period: FORGOTTEN,
                ..FailureDetectorConfig::default()
            },
            marked_for_deletion_grace_period: FORGOTTEN,
            catchup_callback: None,
            extra_liveness_predicate: None,
        };
        let said = vec![(CARD.to_owned(), text(card))];
        let transport = Signed::new(settings.key, socket, traffic, dropped);
        let handle = chitchat::spawn_chitchat(config, said, &transport).await;
        let handle = handle.map_err(|error| ServeError::Config(format!("cannot gossip: {error:#}")))?;
        Ok(Gossip { handle, count: 0 })
    }

    /// Says a word of its load.
    pub async fn say(&mut self, metrics: Metrics) {
        self.count += 1;
        let word = Word { count: self.count, leaves: false, metrics };
        self.handle.with_chitchat(|chitchat| chitchat.self_node_state().set(WORD, text(&word))).await;
    }

    /// The other members.
    pub async fn members(&self) -> Vec<Member> {
        self.handle
            .with_chitchat(|chitchat| {
                let own = chitchat.self_chitchat_id();
                let others = chitchat.node_states().iter().filter(|(id, _)| *id != own);
                others.filter_map(|(id, state)| member(id, state)).collect()
            })
            .await
    }

    /// Says its last word, to all that it knows at once.
    pub async fn leave(self, patience: Duration) {
        let word = Word { count: self.count + 1, leaves: true, metrics: Metrics::default() };
        let others: Vec<SocketAddr> = self
            .handle
            .with_chitchat(|chitchat| {
                chitchat.self_node_state().set(WORD, text(&word));
                let own = chitchat.self_chitchat_id();
                // Not to those only that chitchat holds for alive: a member that has just come holds none for that yet.
                let others = chitchat.node_states().keys().filter(|id| *id != own);
                others.map(|id| id.gossip_advertise_addr).collect()
            })
            .await;
        // What cannot be said now is seen by silence.
        others.into_iter().for_each(|other| drop(self.handle.gossip(other)));
        tokio::time::sleep(patience).await;
        drop(self.handle.shutdown().await);
    }
}

/// What a member says, where it makes sense and is whole.
fn member(id: &ChitchatId, state: &NodeState) -> Option<Member> {
    let card = serde_json::from_str(state.get(CARD)?).ok()?;
    let word = serde_json::from_str(state.get(WORD)?).ok()?;
    Some(Member { name: id.node_id.to_string(), generation: id.generation_id, card, word })
}

fn text(said: &impl Serialize) -> String {
    serde_json::to_string(said).expect("numbers and names are JSON")
}
