//! What reports and orders take of the network: datagrams and bytes, by what they are.

use serde::Serialize;

use super::wire::Body;

/// Bytes of the heads of IPv4 and UDP.
const HEADS: u64 = 28;

/// Datagrams of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Volume {
    /// How many.
    pub datagrams: u64,
    /// Their bytes, with the heads of IPv4 and UDP.
    pub bytes: u64,
}

/// All datagrams between a receiver and its senders that were made with the key, also those that were not believed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Exchanged {
    /// Reports of load.
    pub loads: Volume,
    /// Reports of the rates of clients.
    pub rates: Volume,
    /// Answers to orders.
    pub echoes: Volume,
    /// Orders to measure a round trip.
    pub orders: Volume,
    /// Challenges.
    pub challenges: Volume,
}

impl Exchanged {
    pub(super) fn add(&mut self, body: &Body, datagram: &[u8]) {
        let volume = match body {
            Body::Load(_) => &mut self.loads,
            Body::Rates(_) => &mut self.rates,
            Body::Echoes(_) => &mut self.echoes,
            Body::Order(_) => &mut self.orders,
            Body::Challenge => &mut self.challenges,
        };
        volume.datagrams += 1;
        volume.bytes += HEADS + datagram.len() as u64;
    }
}
