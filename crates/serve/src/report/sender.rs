//! The sending side: datagrams for several receivers, each of which has asked for a proof of its own.

use super::key::Key;
use super::wire::{self, Body, Challenge, Load, Message, NAME_MAX};
use crate::ServeError;

/// The most clients whose rates are sent; beyond them those that ask most.
pub const CLIENTS_MAX: usize = 4096;

/// What sends reports under one name.
#[derive(Debug)]
pub struct Sender {
    key: Key,
    name: String,
    epoch: u64,
    sequence: u64,
    /// The last challenge of each receiver.
    challenges: Vec<Challenge>,
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
        Ok(Sender { key, name: name.into(), epoch, sequence: 0, challenges: vec![Challenge::default(); receivers] })
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

    /// Hears a datagram from a receiver. True for a new challenge: what was said to it last was not believed, and is to be
    /// said again.
    pub fn hear(&mut self, receiver: usize, datagram: &[u8]) -> bool {
        match wire::decode(datagram, &self.key.0) {
            Ok(Message { name, epoch, challenge, body: Body::Challenge, .. })
                if name == self.name && epoch == self.epoch =>
            {
                std::mem::replace(&mut self.challenges[receiver], challenge) != challenge
            }
            _ => false,
        }
    }

    fn datagram(&mut self, receiver: usize, measured: u64, body: Body) -> Vec<u8> {
        self.sequence += 1;
        let (epoch, sequence, challenge) = (self.epoch, self.sequence, self.challenges[receiver]);
        let message = Message { name: self.name.clone(), epoch, challenge, sequence, measured, body };
        wire::encode(&message, &self.key.0)
    }
}
