//! What all connections of a splicing switch share, and what each does when a packet comes or a time is over.

use std::net::SocketAddrV4;

use sojourn_dispatch::BackendId;
use sojourn_stats::Time;

use crate::cookie::Agreed;
use crate::offset::Teller;
use crate::segment::{ACK, Draft, RST};
use crate::{Decider, Lifetimes};

/// What all connections share.
#[derive(Debug)]
pub struct Settings {
    /// Where clients connect to.
    pub service: SocketAddrV4,
    /// By backend.
    pub servers: Vec<SocketAddrV4>,
    /// Tells servers how to translate their replies; none: they come back through the switch, which does it.
    pub teller: Option<Teller>,
    /// The names of the classes of requests, by number.
    pub classes: Vec<String>,
    /// How long connections are remembered.
    pub lifetimes: Lifetimes,
    /// Most bytes of data in a segment from a client.
    pub mss: u16,
    /// Most connections at once.
    pub connections_max: usize,
}

/// The two ends of a client's connection, as they were agreed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    pub(crate) client: SocketAddrV4,
    pub(crate) client_isn: u32,
    /// The switch's own initial sequence number, which the client takes for the server's.
    pub(crate) own_isn: u32,
    pub(crate) agreed: Agreed,
}

/// Where a connection finds what it needs.
pub(crate) struct Cx<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) decider: &'a mut dyn Decider,
    /// Packets to be sent.
    pub(crate) out: &'a mut Vec<Vec<u8>>,
    /// Bytes that may still be held for clients whose server is not found yet.
    pub(crate) room: usize,
    pub(crate) now: Time,
}

impl Settings {
    /// Whether a segment can come from a backend.
    pub(crate) fn is_of(&self, backend: BackendId, from: SocketAddrV4) -> bool {
        // Those that reply directly do so as the service.
        from == if self.teller.is_some() { self.service } else { self.servers[backend.0 as usize] }
    }
}

impl Cx<'_> {
    /// Sends the client a segment of the switch's own; `seq` and `ack` count from the first byte of each direction.
    pub(crate) fn answer(&mut self, ends: &Ends, (seq, ack): (u32, u32), flags: u8, payload: &[u8], window: u16) {
        self.out.push(
            Draft {
                from: self.settings.service,
                to: ends.client,
                seq: ends.own_isn.wrapping_add(1).wrapping_add(seq),
                ack: ends.client_isn.wrapping_add(1).wrapping_add(ack),
                flags,
                window,
                options: &[],
                payload,
            }
            .packet(),
        );
    }

    /// Resets the client's side.
    pub(crate) fn reset_client(&mut self, ends: &Ends, (seq, ack): (u32, u32)) {
        self.answer(ends, (seq, ack), RST | ACK, &[], 0);
    }

    /// Resets a server's side; `seq` is as the server knows it.
    pub(crate) fn reset_server(&mut self, ends: &Ends, backend: BackendId, seq: u32) {
        let to = self.settings.servers[backend.0 as usize];
        let from = ends.client;
        self.out.push(Draft { from, to, seq, ack: 0, flags: RST, window: 0, options: &[], payload: &[] }.packet());
    }
}
