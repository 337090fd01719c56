//! What all connections of a splicing switch share, and what each does when a packet comes or a time is over.

use std::net::SocketAddrV4;

use sojourn_dispatch::BackendId;
use sojourn_stats::Time;

use super::super::config::Lifetimes;
use super::super::decider::Decider;
use super::cookie::Agreed;
use super::offset::Teller;
use super::segment::{ACK, Draft, RST};

/// What all connections share.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) service: SocketAddrV4,
    /// By backend.
    pub(super) servers: Vec<SocketAddrV4>,
    /// Tells servers how to translate their replies; none: they come back through the switch, which does it.
    pub(super) teller: Option<Teller>,
    /// The names of the classes of requests, by number.
    pub(super) classes: Vec<String>,
    pub(super) lifetimes: Lifetimes,
    /// Most bytes of data in a segment from a client.
    pub(super) mss: u16,
    pub(super) connections_max: usize,
}

/// The two ends of a client's connection, as they were agreed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    pub(super) client: SocketAddrV4,
    pub(super) client_isn: u32,
    /// The switch's own initial sequence number, which the client takes for the server's.
    pub(super) own_isn: u32,
    pub(super) agreed: Agreed,
}

/// Where a connection finds what it needs.
pub(super) struct Cx<'a> {
    pub(super) settings: &'a Settings,
    pub(super) decider: &'a mut Decider,
    /// Packets to be sent.
    pub(super) out: &'a mut Vec<Vec<u8>>,
    /// Bytes that may still be held for clients whose server is not found yet.
    pub(super) room: usize,
    pub(super) now: Time,
}

impl Settings {
    /// Whether a segment can come from a backend.
    pub(super) fn is_of(&self, backend: BackendId, from: SocketAddrV4) -> bool {
        // Those that reply directly do so as the service.
        from == if self.teller.is_some() { self.service } else { self.servers[backend.0 as usize] }
    }
}

impl Cx<'_> {
    /// Sends the client a segment of the switch's own; `seq` and `ack` count from the first byte of each direction.
    pub(super) fn answer(&mut self, ends: &Ends, (seq, ack): (u32, u32), flags: u8, payload: &[u8], window: u16) {
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
    pub(super) fn reset_client(&mut self, ends: &Ends, (seq, ack): (u32, u32)) {
        self.answer(ends, (seq, ack), RST | ACK, &[], 0);
    }

    /// Resets a server's side; `seq` is as the server knows it.
    pub(super) fn reset_server(&mut self, ends: &Ends, backend: BackendId, seq: u32) {
        let to = self.settings.servers[backend.0 as usize];
        let from = ends.client;
        self.out.push(Draft { from, to, seq, ack: 0, flags: RST, window: 0, options: &[], payload: &[] }.packet());
    }
}
