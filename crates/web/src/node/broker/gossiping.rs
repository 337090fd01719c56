//! Load between nodes that find each other by gossip ([`sojourn_report::membership`]).
//!
//! A node says its word once a period, and what it has heard of others is looked at four times as often. A member is in with its
//! first word and with each that is new; it is out when it says that it leaves, or when no new word of it has come for three
//! periods, and one more for each further round that words need to come round a large cluster. The price is that a dead node
//! is known later than by reports that all send to all.

use std::collections::HashMap;
use std::net::UdpSocket;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use serde_json::json;
use sojourn_dispatch::reports::{Account, Totals, earliest};
use sojourn_dispatch::{BackendId, Front, Hardware, News};
use sojourn_part::clock;
use sojourn_part::settings::node::Peer;
use sojourn_report::membership::{Card, Gossip, Member, Settings};
use sojourn_stats::{Span, Time};
use tokio::sync::watch;

use super::Broker;
use super::members::Member as Known;
use super::peers::is_reached_at;
use super::teller::Teller;

/// Members at most; more are not listened to.
const MEMBERS_MAX: usize = 1024;

/// Looks in a period.
const LOOKS: u64 = 4;

/// How long the last word may take to get about.
const FAREWELL: Duration = Duration::from_millis(60);

/// What was last heard of a member.
#[derive(Default)]
struct Heard {
    generation: u64,
    count: u64,
    at: Time,
    period: Span,
    is_in: bool,
    card: Option<Card>,
    account: Option<Account>,
    totals: Option<Totals>,
}

/// Gossips until told to stop; then says that the node leaves.
pub(super) async fn run(broker: Arc<Broker>, socket: UdpSocket, mut teller: Teller, mut stop: watch::Receiver<bool>) {
    let begun = match begin(&broker, socket).await {
        Ok(begun) => begun,
        Err(why) => {
            broker.events.emit(&json!({"event": "reports_not_heard", "why": why}));
            return drop(stop.wait_for(|stop| *stop).await);
        }
    };
    let (mut gossip, started) = begun;
    let mut heard: HashMap<String, Heard> = HashMap::new();
    let every = broker.config.every;
    let mut looks = 0;
    loop {
        if looks % LOOKS == 0 {
            let metrics = teller.tell(&broker);
            gossip.say(metrics).await;
        }
        looks += 1;
        let members = gossip.members().await;
        broker.hear_members(&mut heard, members, started);
        tokio::select! {
            () = tokio::time::sleep(Span(every.0 / LOOKS).as_std()) => {}
            _ = stop.wait_for(|stop| *stop) => break,
        }
    }
    gossip.leave(FAREWELL).await;
    teller.leave(&broker).await;
}

async fn begin(broker: &Broker, socket: UdpSocket) -> Result<(Gossip, u64), String> {
    let own = broker.members.get(super::OWN);
    let (config, Hardware { speed, disk_rate, net_rate }) = (&broker.config, broker.resolved.hardware);
    let inside = is_reached_at(&Peer::new(own.name.clone(), own.url.clone())).map_err(|error| error.to_string())?;
    let serves = !config.dispatch_only;
    let every_ms = config.every.0 / 1_000_000;
    let card = Card {
        url: own.url.clone(),
        tls_url: own.tls_url.clone(),
        inside,
        speed,
        disk_rate,
        net_rate,
        serves,
        every_ms,
    };
    let settings = Settings {
        name: own.name.clone(),
        key: broker.resolved.key.clone(),
        cluster: config.service.clone(),
        seeds: config.seeds.clone(),
        every: config.every,
    };
    let counters = &broker.counters;
    let (traffic, dropped) = (Arc::clone(&counters.traffic), Arc::clone(&counters.dropped));
    let started = clock::wall();
    let gossip = Gossip::begin(settings, socket, &card, traffic, dropped).await.map_err(|error| error.to_string())?;
    Ok((gossip, started))
}

impl Broker {
    /// Hears what is known of the members of a cluster; this node has `started` then (ns since 1970).
    fn hear_members(&self, heard: &mut HashMap<String, Heard>, members: Vec<Member>, started: u64) {
        let mut front = self.lock();
        let now = clock::now();
        for member in members {
            if member.name == self.members.get(super::OWN).name {
                // Its own earlier starts are still told of.
                if member.generation > started && heard.insert(member.name.clone(), Heard::default()).is_none() {
                    let why = "another node gossips under it";
                    self.events.emit(&json!({"event": "name_taken", "name": member.name, "why": why}));
                }
                continue;
            }
            if heard.len() >= MEMBERS_MAX && !heard.contains_key(&member.name) {
                continue;
            }
            let known = heard.entry(member.name.clone()).or_default();
            if member.generation > known.generation {
                *known = Heard { generation: member.generation, is_in: known.is_in, ..Heard::default() };
            }
            if member.generation == known.generation && member.word.count > known.count {
                self.hear_word(&mut front, known, member, now);
            }
        }
        // Words come round n members in log4(n) rounds; the first is among those that silence may last.
        let rounds = (heard.len().max(1) as f64).log(4.0).ceil() as u64;
        let patience = 3 + rounds.saturating_sub(1);
        for (name, known) in heard.iter_mut().filter(|(_, known)| known.is_in) {
            if now.saturating_since(known.at) > known.period * patience {
                known.is_in = false;
                if let Some(id) = self.members.find(name) {
                    self.learn(&mut front, id, News::Silent, "its words have ceased", now);
                }
            }
        }
        let failure = front.record_failure();
        self.record_failed(failure);
    }

    /// Hears a new word of a member.
    fn hear_word(&self, front: &mut Front, known: &mut Heard, member: Member, now: Time) {
        let Member { name, card, word, .. } = member;
        known.count = word.count;
        let totals = word.metrics.totals();
        let follows =
            totals.zip(known.totals).is_none_or(|(after, before)| sojourn_report::can_follow(&before, &after));
        if word.metrics.impossible().is_some() || !follows {
            let mut dropped = self.counters.dropped.lock().unwrap_or_else(PoisonError::into_inner);
            dropped.impossible += 1;
            return;
        }
        (known.at, known.period, known.totals) = (now, Span(card.every_ms.max(10) * 1_000_000), totals);
        if known.card.as_ref() != Some(&card) {
            if let Err(why) = self.admit(front, &name, &card, now) {
                self.events.emit(&json!({"event": "peer_refused", "peer": name, "why": why}));
            }
            known.card = Some(card.clone());
        }
        let Some(id) = self.members.find(&name).filter(|_| card.serves) else { return };
        if self.members.get(id).inside.is_none() {
            return;
        }
        known.is_in = !word.leaves;
        if word.leaves {
            return self.learn(front, id, News::Empty, "it says that it leaves", now);
        }
        let mut report = word.metrics.report(now);
        if let Some(totals) = totals {
            let account = known.account.get_or_insert_with(|| Account::new(now, totals));
            account.understand(&mut report, &totals, earliest(known.period));
        }
        self.learn(front, id, News::Reported(&report), "it reports", now);
    }

    /// Makes a member known by its card, or known anew.
    fn admit(&self, front: &mut Front, name: &str, card: &Card, now: Time) -> Result<(), String> {
        if !card.serves {
            return Ok(());
        }
        let (inside, tls_url) = (Some(card.inside), card.tls_url.clone());
        let peer = Peer { inside, tls_url, ..Peer::new(name, card.url.clone()) };
        self.hosts.check(&peer)?;
        let member = Known::of(&peer).map_err(|error| error.to_string())?;
        let rates = [card.speed, card.disk_rate, card.net_rate];
        if rates.iter().any(|rate| !(rate.is_finite() && *rate >= 0.0)) || card.speed <= 0.0 {
            return Err(format!("no hardware has speed {}, disk {} and net {}", rates[0], rates[1], rates[2]));
        }
        let id = match self.members.find(name) {
            Some(id) => id,
            None => self.join(front, name, now).map_err(|error| error.to_string())?,
        };
        self.members.put(id, member);
        let hardware = Hardware { speed: card.speed, disk_rate: card.disk_rate, net_rate: card.net_rate };
        front.set_hardware(id, hardware);
        Ok(())
    }

    /// A number for a node of this name, which is out.
    fn join(&self, front: &mut Front, name: &str, now: Time) -> Result<BackendId, sojourn_dispatch::DispatchError> {
        let id = front.join(name, 1.0, now)?;
        front.watch(id, false, true, now);
        front.learn(id, News::Silent, now);
        Ok(id)
    }
}
