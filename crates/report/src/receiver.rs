//! The receiving side: what of the datagrams that come can be believed, what a dispatcher is told then, and orders.
//!
//! A datagram is believed if it was made with the key, is of a sender that is waited for, and is new. New means: a receiver
//! that has not heard of this start of the sender ([`Message::epoch`]), or has taken it for down, answers with a challenge,
//! and believes what comes with that challenge in it; from then on each sequence number counts once. So nothing need be
//! kept on disk: what was recorded before a receiver or a sender started anew has another challenge. The price is one round
//! trip at the start and after each silence.
//!
//! Clocks may be an hour apart, so the age of a report is judged by the receiver's: the least time from measuring to arrival
//! that was seen lately stands for no age, and what took longer is older by that. It rises by a thousandth of the time that
//! passes, so that clocks may drift. The price: an age is short by the time that the fastest datagram took.
//!
//! A server that lies can be caught where its numbers contradict one another: a share above 1, totals that fall, more core
//! time spent than it had, more requests answered than came. Capacity is never claimed by a server but learned from its
//! totals. One that says that it did less than it did, and was busy for less, is believed; what the face counts itself, as
//! requests in flight, it cannot change.

use std::collections::HashMap;

use ring::hmac;
use ring::rand::SystemRandom;
use sojourn_dispatch::capacity::Rule;
use sojourn_dispatch::reports::{Account, Rates, SILENT_HEARTBEATS, Totals, earliest};
use sojourn_dispatch::{BackendId, Report, RoundTrip, Signals};
use sojourn_stats::{Span, Time};

use super::dropped::{Cause, Dropped};
use super::exchanged::Exchanged;
use super::key::Key;
use super::metric::Metric;
use super::named::Named;
use super::numbers::Numbers;
use super::told::{Probed, Told};
use super::wire::{self, Body, Challenge, Echoes, Load, Message, NAME_MAX, Outcome};

/// What reports tell a dispatcher.
pub const SIGNALS: Signals =
    Signals::REPORTS.union(Signals::UTILIZATION).union(Signals::ROOM).union(Signals::CLIENT_RATES);

/// The heartbeat of a sender that has not been heard yet.
const HEARTBEAT: Span = Span(4_000_000_000);

/// The tick of such a sender.
const TICK: Span = Span(500_000_000);

/// How long an order waits for its answer: three echoes by ICMP, three by TCP, and the ways there and back.
const ORDER_WAITS: Span = Span(15_000_000_000);

/// Most orders to one sender that wait.
const ORDERS_MAX: usize = 1024;

/// Most senders of a receiver that takes reports of any.
const SENDERS_MAX: usize = 1024;

/// The least transit rises by this part of the time that passes.
const DRIFT: i128 = 1000;

/// What receives the reports of known senders. It reads no clock and opens no socket.
pub struct Receiver {
    key: Key,
    /// Challenges are made with it; drawn at the start, so that those of before mean nothing.
    own: hmac::Key,
    senders: Vec<Sender>,
    by_name: HashMap<String, usize>,
    rates: Rates<Named>,
    dropped: Dropped,
    exchanged: Exchanged,
    /// It takes reports of any sender that has the key.
    admits: bool,
    /// What counts as capacity.
    capacity: Rule,
}

/// What became of a datagram.
#[derive(Debug, Default)]
pub struct Received {
    /// What the dispatcher is to be told, in this order.
    pub told: Vec<Told>,
    /// Whose datagram it is, if it is believed.
    pub of: Option<BackendId>,
    /// What is to be sent back to where the datagram came from.
    pub answer: Option<Vec<u8>>,
}

/// What is known of one sender.
struct Sender {
    session: Option<Session>,
    /// How many sessions it has had, so that an old challenge opens no new one.
    sessions: u64,
    heard: Time,
    is_lost: bool,
    every: Span,
    heartbeat: Span,
    account: Option<Account>,
}

/// A start of a sender that has proved itself.
#[derive(Default)]
struct Session {
    epoch: u64,
    challenge: Challenge,
    came: Numbers,
    /// The least transit, by two clocks that may be far apart (ns), and when that was so.
    least: Option<(i128, Time)>,
    /// When the last load was measured, what it said was done, and whether it did not know that.
    measured: Option<u64>,
    totals: Option<Totals>,
    is_interrupted: bool,
    rates_of: Option<u64>,
    /// Orders so far, and those that wait for an answer, with when they were given.
    orders: u64,
    waiting: HashMap<u64, (String, Time)>,
}

impl Receiver {
    /// A receiver of reports from senders of these names, which are the backends 0, 1, ...
    pub fn new(key: Key, names: &[String], now: Time) -> Receiver {
        let own = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new());
        Receiver {
            key,
            own: own.expect("the system has random numbers"),
            senders: names.iter().map(|_| Sender::new(now)).collect(),
            by_name: names.iter().enumerate().map(|(index, name)| (name.clone(), index)).collect(),
            rates: Rates::new(names.len()),
            dropped: Dropped::default(),
            exchanged: Exchanged::default(),
            admits: false,
            capacity: Rule::default(),
        }
    }

    /// A receiver of reports from all that have the key: the first that is heard is backend 0.
    pub fn of_any(key: Key, now: Time) -> Receiver {
        Receiver { admits: true, ..Receiver::new(key, &[], now) }
    }

    /// The same with this rule of capacity.
    #[must_use]
    pub fn learning(self, capacity: Rule) -> Receiver {
        Receiver { capacity, ..self }
    }

    /// Waits for reports of a sender of this name from now on, if it does not already; gives the number of its backend.
    pub fn expect(&mut self, name: &str, now: Time) -> BackendId {
        let index = match self.by_name.get(name) {
            Some(index) => *index,
            None => self.add(name, now),
        };
        BackendId(index as u32)
    }

    /// The names of the senders, in the order of the backends.
    pub fn names(&self) -> Vec<&str> {
        let mut names = vec![""; self.senders.len()];
        self.by_name.iter().for_each(|(name, index)| names[*index] = name);
        names
    }

    /// Takes a datagram that comes now.
    pub fn receive(&mut self, datagram: &[u8], now: Time) -> Received {
        let mut received = Received::default();
        match self.believe(datagram, now, &mut received) {
            Ok(()) => {}
            Err(cause) => *cause(&mut self.dropped) += 1,
        }
        received
    }

    /// Takes those backends for down that have been silent for too long.
    pub fn fall_silent(&mut self, now: Time) -> Vec<Told> {
        let mut told = Vec::new();
        for (index, sender) in self.senders.iter_mut().enumerate() {
            if !sender.is_lost && sender.silent_at() <= now {
                sender.is_lost = true;
                // It proves itself anew: what was held back meanwhile is not believed later.
                sender.session = None;
                told.push(Told::Lost { backend: BackendId(index as u32), is_empty: false });
                told.extend(Told::rates(self.rates.forget(index)));
            }
        }
        told
    }

    /// The order to a sender to measure the round trip to a client, of the address `client`: its number, and the datagram.
    /// None where the sender has not been heard, or has as many orders to obey as it may.
    pub fn order(&mut self, backend: BackendId, client: &str, now: Time) -> Option<(u64, Vec<u8>)> {
        let sender = self.senders.get_mut(backend.0 as usize)?;
        let session = sender.session.as_mut().filter(|_| client.len() <= NAME_MAX)?;
        session.waiting.retain(|_, (_, since)| now.saturating_since(*since) < ORDER_WAITS);
        if session.waiting.len() >= ORDERS_MAX {
            return None;
        }
        session.orders += 1;
        session.waiting.insert(session.orders, (client.into(), now));
        let index = backend.0 as usize;
        let name = self.by_name.iter().find(|(_, known)| **known == index).map(|(name, _)| name.clone())?;
        let message = Message {
            name,
            epoch: session.epoch,
            challenge: session.challenge,
            sequence: session.orders,
            measured: now.0,
            body: Body::Order(client.into()),
        };
        let datagram = wire::encode(&message, &self.key.0);
        self.exchanged.add(&message.body, &datagram);
        Some((session.orders, datagram))
    }

    /// When [`Receiver::fall_silent`] is next due, if nothing comes.
    pub fn next_deadline(&self) -> Option<Time> {
        self.senders.iter().filter(|sender| !sender.is_lost).map(Sender::silent_at).min()
    }

    /// How many datagrams were not believed, and why.
    pub fn dropped(&self) -> &Dropped {
        &self.dropped
    }

    /// What it and its senders have sent each other.
    pub fn exchanged(&self) -> &Exchanged {
        &self.exchanged
    }

    /// The rates of all clients by their names, summed over the backends.
    pub fn rates(&self) -> Vec<(String, f64)> {
        self.rates.all().into_iter().map(|(client, rate)| (client.to_string(), rate)).collect()
    }

    fn believe(&mut self, datagram: &[u8], now: Time, received: &mut Received) -> Result<(), Cause> {
        let message = wire::decode(datagram, &self.key.0).map_err(Dropped::cause)?;
        self.exchanged.add(&message.body, datagram);
        let index = self.index(&message.name, now)?;
        let sender = &mut self.senders[index];
        if sender.session.as_ref().is_none_or(|session| session.epoch != message.epoch) {
            let challenge = challenge(&self.own, &message, sender.sessions);
            if message.challenge != challenge {
                let question = Message { challenge, body: Body::Challenge, ..message };
                let answer = wire::encode(&question, &self.key.0);
                self.exchanged.add(&question.body, &answer);
                received.answer = Some(answer);
                return Err(|dropped| &mut dropped.challenged);
            }
            sender.open(message.epoch, challenge);
        }
        let patience = sender.patience();
        let session = sender.session.as_mut().expect("it was opened");
        if !session.came.is_new(message.sequence) {
            return Err(|dropped| &mut dropped.replayed);
        }
        let age = session.age(message.measured, now);
        if age > patience {
            return Err(|dropped| &mut dropped.stale);
        }
        let backend = BackendId(index as u32);
        received.of = Some(backend);
        match message.body {
            Body::Challenge | Body::Order(_) => Err(|dropped| &mut dropped.malformed),
            Body::Echoes(echoes) => {
                received.told.push(session.answered(backend, echoes, Time(now.0.saturating_sub(age.0)))?);
                Ok(())
            }
            Body::Rates(rates) => {
                let rates = rates.into_iter().map(|(client, rate)| (Named::from(client), f64::from(rate)));
                let is_same = session.rates_of.replace(message.measured) == Some(message.measured);
                let sums = if is_same { self.rates.extend(index, rates) } else { self.rates.replace(index, rates) };
                received.told.extend(Told::rates(sums));
                Ok(())
            }
            Body::Load(load) => {
                let report = sender.take(&load, message.measured, Time(now.0.saturating_sub(age.0)), self.capacity)?;
                sender.heard = now;
                if load.is_empty != sender.is_lost {
                    sender.is_lost = load.is_empty;
                    if load.is_empty {
                        received.told.push(Told::Lost { backend, is_empty: true });
                        received.told.extend(Told::rates(self.rates.forget(index)));
                    } else {
                        received.told.push(Told::Found { backend });
                    }
                }
                if !load.is_empty {
                    let is_overloaded = load.is_overloaded;
                    received.told.push(Told::Report { backend, report: Box::new(report), is_overloaded });
                }
                Ok(())
            }
        }
    }

    /// The sender of this name, which may be a new one.
    fn index(&mut self, name: &str, now: Time) -> Result<usize, Cause> {
        if let Some(index) = self.by_name.get(name) {
            return Ok(*index);
        }
        if !self.admits || self.senders.len() >= SENDERS_MAX {
            return Err(|dropped| &mut dropped.unknown);
        }
        Ok(self.add(name, now))
    }

    fn add(&mut self, name: &str, now: Time) -> usize {
        self.senders.push(Sender::new(now));
        self.rates.add_backend();
        self.by_name.insert(name.into(), self.senders.len() - 1);
        self.senders.len() - 1
    }
}

/// What a start of a sender has to send back, if it is to be that of its next session.
fn challenge(own: &hmac::Key, message: &Message, sessions: u64) -> Challenge {
    let mut signed = message.epoch.to_be_bytes().to_vec();
    signed.extend(sessions.to_be_bytes());
    signed.extend(message.name.as_bytes());
    *hmac::sign(own, &signed).as_ref().first_chunk().expect("a tag has 32 bytes")
}

impl Sender {
    fn new(now: Time) -> Sender {
        Sender {
            session: None,
            sessions: 0,
            heard: now,
            is_lost: false,
            every: TICK,
            heartbeat: HEARTBEAT,
            account: None,
        }
    }

    /// How long it may be silent. The tick is for what is late: of two heartbeats one may be lost.
    fn patience(&self) -> Span {
        Span(self.heartbeat.0.saturating_mul(SILENT_HEARTBEATS).saturating_add(self.every.0))
    }

    fn silent_at(&self) -> Time {
        Time(self.heard.0.saturating_add(self.patience().0))
    }

    fn open(&mut self, epoch: u64, challenge: Challenge) {
        self.sessions += 1;
        self.session = Some(Session { epoch, challenge, ..Session::default() });
    }

    /// Makes a report of its numbers, or says that no server can have them.
    fn take(&mut self, load: &Load, measured: u64, at: Time, by: Rule) -> Result<Report, Cause> {
        let Load { every, heartbeat, metrics, .. } = load;
        let totals = metrics.totals();
        let session = self.session.as_mut().expect("it is open");
        if session.measured.is_some_and(|last| measured < last) {
            return Err(|dropped| &mut dropped.stale);
        }
        let follows = totals.zip(session.totals).is_none_or(|(after, before)| can_follow(&before, &after));
        let adds_up = totals.is_none_or(|totals| totals.completed <= totals.arrived) && every <= heartbeat;
        if metrics.impossible().is_some() || !follows || !adds_up {
            return Err(|dropped| &mut dropped.impossible);
        }
        // Differences are of the sender's clock; a policy reads the receiver's.
        let sent_at = Time(measured);
        let mut report = metrics.report(sent_at);
        session.measured = Some(measured);
        let goes_on = !std::mem::replace(&mut session.is_interrupted, totals.is_none());
        if let Some(totals) = totals {
            let knew = session.totals.replace(totals).is_some();
            let account = self.account.get_or_insert_with(|| Account::learning(sent_at, totals, by));
            // What was done at the start, or while requests were not known, is no difference.
            if !(knew && goes_on) {
                account.restart(sent_at, totals);
            }
            match metrics.value(Metric::Capacity) {
                Some(_) => account.add_differences(&mut report, &totals, earliest(*every)),
                None => account.understand(&mut report, &totals, earliest(*every)),
            }
        } else if let Some(account) = &self.account {
            account.recall(&mut report);
        }
        report.measured = at;
        (self.every, self.heartbeat) = (*every, *heartbeat);
        Ok(report)
    }
}

/// Whether a server can have done this after that. Times are told by clocks with ticks of their own, of some 10 ms.
pub fn can_follow(before: &Totals, after: &Totals) -> bool {
    const SLACK_NS: u128 = 100_000_000;
    let times = before.busy_ns.zip(after.busy_ns).is_none_or(|(before, after)| {
        let had = after.1.checked_sub(before.1);
        let spent = after.0.checked_sub(before.0);
        had.zip(spent).is_some_and(|(had, spent)| spent <= had + had / 10 + SLACK_NS)
    });
    let stays = before.stayed_ns.zip(after.stayed_ns).is_none_or(|(before, after)| before <= after);
    let counts = before.arrived <= after.arrived && before.completed <= after.completed && before.bytes <= after.bytes;
    times && stays && counts
}

impl Session {
    /// What became of an order, which was measured at `at`.
    fn answered(&mut self, backend: BackendId, echoes: Echoes, at: Time) -> Result<Told, Cause> {
        let Echoes { order, client, outcome, mean, answers } = echoes;
        if self.waiting.get(&order).is_none_or(|(asked, _)| *asked != client) {
            return Err(|dropped| &mut dropped.unasked);
        }
        self.waiting.remove(&order);
        let probed = match outcome {
            Outcome::Icmp | Outcome::Tcp => {
                Probed::Measured { outcome, round_trip: RoundTrip { span: mean, measured: at, answers } }
            }
            refused => Probed::Refused(refused),
        };
        Ok(Told::Echoes { backend, order, client, probed })
    }

    /// How old is what was measured then, beyond what the fastest took.
    fn age(&mut self, measured: u64, now: Time) -> Span {
        let transit = i128::from(now.0) - i128::from(measured);
        let risen = self.least.map(|(least, at)| least + i128::from(now.saturating_since(at).0) / DRIFT);
        match risen {
            Some(least) if least < transit => Span((transit - least).min(i128::from(u64::MAX)) as u64),
            _ => {
                self.least = Some((transit, now));
                Span::ZERO
            }
        }
    }
}
