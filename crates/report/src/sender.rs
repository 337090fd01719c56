//! The sending side: datagrams for several receivers, each of which has asked for a proof of its own, and what receivers
//! order.
//!
//! An order is believed if it was made with the key, bears the receiver's last challenge, and is new. A challenge says
//! which datagram it answers, so that none from before can be played again, and no order with it.

use sojourn_part::ServeError;

use super::dropped::{Cause, Dropped};
use super::key::Key;
use super::numbers::Numbers;
use super::wire::{self, Body, Challenge, Echoes, Load, Message, NAME_MAX};

/// The most clients whose rates are sent; beyond them those that ask most.
pub const CLIENTS_MAX: usize = 4096;

/// What sends reports under one name.
#[derive(Debug)]
pub struct Sender {
    key: Key,
    name: String,
    epoch: u64,
    sequence: u64,
    receivers: Vec<Known>,
    dropped: Dropped,
}

/// What is known of a receiver.
#[derive(Clone, Debug, Default)]
struct Known {
    /// Its last challenge, and which datagram that answers.
    challenge: Challenge,
    answers: u64,
    /// Its orders since.
    orders: Numbers,
}

/// What a receiver has said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// Nothing new, or nothing that can be believed.
    Nothing,
    /// A new challenge: what was said to it last was not believed, and is to be said again.
    Challenge,
    /// It wants the round trip to a client, which is to be answered with the number of the order.
    Order {
        /// The number of the order.
        order: u64,
        /// The client's address, if its name is one.
        client: String,
    },
}

impl Sender {
    /// A sender of this name to so many receivers that starts now (`epoch`, ns since 1970): no two starts are the same.
    ///
    /// # Errors
    /// When the name is empty or too long.
    pub fn new(key: Key, name: &str, epoch: u64, receivers: usize) -> Result<Sender, ServeError> {
        if name.is_empty() || name.len() > NAME_MAX {
            return Err(ServeError::Config(format!("name `{name}`: a sender's name has 1 to {NAME_MAX} bytes")));
        }
        let receivers = vec![Known::default(); receivers];
        Ok(Sender { key, name: name.into(), epoch, sequence: 0, receivers, dropped: Dropped::default() })
    }

    /// The datagram that tells a receiver of the load.
    pub fn load(&mut self, receiver: usize, measured: u64, load: Load) -> Vec<u8> {
        self.datagram(receiver, measured, Body::Load(Box::new(load)))
    }

    /// The datagrams that tell a receiver of the rates of clients: of the busiest, where there are very many. A client
    /// whose name is longer than a name may be is left out.
    pub fn rates(&mut self, receiver: usize, measured: u64, mut rates: Vec<(String, f64)>) -> Vec<Vec<u8>> {
        rates.retain(|(client, _)| client.len() <= NAME_MAX);
        rates.sort_by(|one, other| other.1.total_cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        rates.truncate(CLIENTS_MAX);
        let room = wire::room_for_clients(&self.name);
        let (mut datagrams, mut part, mut length) = (Vec::new(), Vec::new(), 0);
        for (client, rate) in rates {
            if length + wire::length_of(&client) > room {
                datagrams.push(self.datagram(receiver, measured, Body::Rates(std::mem::take(&mut part))));
                length = 0;
            }
            length += wire::length_of(&client);
            part.push((client, rate as f32));
        }
        datagrams.push(self.datagram(receiver, measured, Body::Rates(part)));
        datagrams
    }

    /// The datagram that tells a receiver what became of its order.
    pub fn echoes(&mut self, receiver: usize, measured: u64, echoes: Echoes) -> Vec<u8> {
        self.datagram(receiver, measured, Body::Echoes(echoes))
    }

    /// Hears a datagram from a receiver.
    pub fn hear(&mut self, receiver: usize, datagram: &[u8]) -> Heard {
        self.believe(receiver, datagram).unwrap_or_else(|cause| {
            *cause(&mut self.dropped) += 1;
            Heard::Nothing
        })
    }

    /// How many datagrams of receivers were not believed, and why.
    pub fn dropped(&self) -> &Dropped {
        &self.dropped
    }

    fn believe(&mut self, receiver: usize, datagram: &[u8]) -> Result<Heard, Cause> {
        let Message { name, epoch, challenge, sequence, body, .. } =
            wire::decode(datagram, &self.key.0).map_err(Dropped::cause)?;
        if name != self.name || epoch != self.epoch {
            return Err(|dropped| &mut dropped.unknown);
        }
        let known = &mut self.receivers[receiver];
        match body {
            Body::Challenge if sequence <= known.answers => Err(|dropped| &mut dropped.replayed),
            Body::Challenge => {
                known.answers = sequence;
                if challenge == known.challenge {
                    return Ok(Heard::Nothing);
                }
                (known.challenge, known.orders) = (challenge, Numbers::default());
                Ok(Heard::Challenge)
            }
            Body::Order(_) if challenge != known.challenge => Err(|dropped| &mut dropped.challenged),
            Body::Order(_) if !known.orders.is_new(sequence) => Err(|dropped| &mut dropped.replayed),
            Body::Order(client) => Ok(Heard::Order { order: sequence, client }),
            Body::Load(_) | Body::Rates(_) | Body::Echoes(_) => Err(|dropped| &mut dropped.malformed),
        }
    }

    fn datagram(&mut self, receiver: usize, measured: u64, body: Body) -> Vec<u8> {
        self.sequence += 1;
        let (epoch, sequence, challenge) = (self.epoch, self.sequence, self.receivers[receiver].challenge);
        let message = Message { name: self.name.clone(), epoch, challenge, sequence, measured, body };
        wire::encode(&message, &self.key.0)
    }
}
