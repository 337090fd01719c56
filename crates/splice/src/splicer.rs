//! All connections that a switch splices, as a state machine without I/O: packets in, packets out, and when to look again.
//!
//! A first packet is answered by a cookie and leaves nothing behind. Memory is bounded by the number of connections, and by
//! the bytes that are held for those without a server.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::net::SocketAddrV4;

use sojourn_stats::Time;

use crate::Decider;
use crate::complaint::Complaint;
use crate::connection::Connection;
use crate::cookie::{Agreed, Cookies};
use crate::opening;
use crate::segment::{ACK, Draft, FIN, MSS, RST, SACK_PERMITTED, SCALE, SYN, Segment};
use crate::settings::{Cx, Ends, Settings};
use crate::window::OWN_SCALE;

/// Most bytes that are held for connections without a server.
const HELD_MAX: usize = 64 << 20;

/// All connections of a switch.
pub struct Splicer {
    settings: Settings,
    cookies: Cookies,
    connections: HashMap<SocketAddrV4, Connection>,
    /// When to look at which; those that have been looked at since are passed over.
    looks: BinaryHeap<Reverse<(Time, SocketAddrV4)>>,
    held: usize,
    out: Vec<Vec<u8>>,
}

impl Splicer {
    /// One that knows no connection yet.
    pub fn new(settings: Settings) -> Splicer {
        let (connections, looks) = (HashMap::new(), BinaryHeap::new());
        Splicer { settings, cookies: Cookies::new(), connections, looks, held: 0, out: Vec::new() }
    }

    /// Takes a packet of a client or a server, or what a router says of one.
    pub fn receive(&mut self, packet: &[u8], decider: &mut dyn Decider, now: Time) {
        let Some(segment) = Segment::read(packet) else {
            return self.complain(packet);
        };
        if segment.to() == self.settings.service {
            self.of_client(&segment, decider, now);
        } else if self.connections.contains_key(&segment.to()) {
            self.within(segment.to(), decider, now, |connection, cx| connection.of_server(&segment, cx));
        } else {
            decider.counts().strays += 1;
        }
    }

    /// When something is to be done without a packet.
    pub fn next(&self) -> Option<Time> {
        self.looks.peek().map(|Reverse((at, _))| *at)
    }

    /// Does what is due.
    pub fn look(&mut self, decider: &mut dyn Decider, now: Time) {
        while let Some(&Reverse((at, client))) = self.looks.peek().filter(|Reverse((at, _))| *at <= now) {
            self.looks.pop();
            let is_current = self.connections.get(&client).is_some_and(|connection| connection.looked_at == at);
            if is_current {
                self.within(client, decider, now, |connection, cx| {
                    connection.looked_at = Time::NEVER;
                    if connection.due(cx) <= now {
                        connection.is_due(cx);
                    }
                });
            }
        }
    }

    /// Ends all connections.
    pub fn reset(&mut self, decider: &mut dyn Decider, now: Time) {
        let clients: Vec<_> = self.connections.keys().copied().collect();
        for client in clients {
            self.within(client, decider, now, |connection, cx| connection.reset(cx));
        }
    }

    /// What is to be sent since this was last asked.
    pub fn sent(&mut self) -> std::vec::Drain<'_, Vec<u8>> {
        self.out.drain(..)
    }

    fn of_client(&mut self, segment: &Segment<'_>, decider: &mut dyn Decider, now: Time) {
        let client = segment.from();
        if segment.is(SYN, ACK | RST | FIN) {
            if let Some(connection) = self.connections.get_mut(&client) {
                connection.is_knocked_at = true;
            }
            return self.greet(segment, now);
        }
        let known = self.connections.get(&client);
        let own_isn = segment.ack().wrapping_sub(1);
        if known.is_none_or(|connection| connection.may_be_followed(own_isn)) {
            let client_isn = segment.seq().wrapping_sub(1);
            let is_end = segment.is(ACK, SYN | RST);
            let agreed = is_end.then(|| self.cookies.read(client, client_isn, own_isn, now)).flatten();
            if let Some(agreed) = agreed {
                let ends = Ends { client, client_isn, own_isn, agreed };
                if !self.open(ends, segment.window(), decider, now) {
                    return;
                }
            } else if known.is_none() {
                decider.counts().strays += 1;
                return;
            }
        }
        self.within(client, decider, now, |connection, cx| connection.of_client(segment, cx));
    }

    /// Answers a first packet.
    fn greet(&mut self, syn: &Segment<'_>, now: Time) {
        let agreed = Agreed::offered(syn);
        let seq = self.cookies.make(syn.from(), syn.seq(), agreed, now);
        const NOTHING: u8 = 1;
        let mut options = vec![MSS, 4];
        options.extend(self.settings.mss.to_be_bytes());
        if agreed.sack {
            options.extend([SACK_PERMITTED, 2, NOTHING, NOTHING]);
        }
        if agreed.scale.is_some() {
            options.extend([SCALE, 3, OWN_SCALE, NOTHING]);
        }
        let (from, to, ack) = (self.settings.service, syn.from(), syn.seq().wrapping_add(1));
        let window = opening::WINDOW as u16;
        self.out.push(Draft { from, to, seq, ack, flags: SYN | ACK, window, options: &options, payload: &[] }.packet());
    }

    /// Makes room for a connection, in the place of an earlier one of its client's port; gives whether there is any.
    fn open(&mut self, ends: Ends, window: u16, decider: &mut dyn Decider, now: Time) -> bool {
        if self.connections.contains_key(&ends.client) {
            self.within(ends.client, decider, now, |connection, cx| connection.reset(cx));
        }
        if self.connections.len() >= self.settings.connections_max || self.held >= HELD_MAX {
            decider.counts().full += 1;
            return false;
        }
        let Splicer { settings, out, .. } = self;
        let connection = Connection::new(ends, window, &Cx { settings, decider, out, room: 0, now });
        self.connections.insert(ends.client, connection);
        true
    }

    /// Lets a connection do something, and keeps the books about it.
    fn within(
        &mut self,
        client: SocketAddrV4,
        decider: &mut dyn Decider,
        now: Time,
        act: impl FnOnce(&mut Connection, &mut Cx<'_>),
    ) {
        let Some(connection) = self.connections.get_mut(&client) else { return };
        let before = connection.held();
        let room = HELD_MAX - self.held.min(HELD_MAX);
        let mut cx = Cx { settings: &self.settings, decider, out: &mut self.out, room, now };
        act(connection, &mut cx);
        let due = connection.due(&cx);
        if connection.is_forgotten() {
            self.connections.remove(&client);
            self.held -= before;
            return;
        }
        self.held = self.held - before + connection.held();
        if due < connection.looked_at {
            connection.looked_at = due;
            self.looks.push(Reverse((due, client)));
        }
    }

    /// Tells a server what a router says of one of its packets, in its own numbers.
    fn complain(&mut self, packet: &[u8]) {
        let Some(complaint) = Complaint::read(packet, self.settings.service) else { return };
        let Some(joined) = self.connections.get(&complaint.client()).and_then(Connection::joined) else { return };
        let server = self.settings.servers[joined.backend.0 as usize];
        // A server that replies directly does so as the service.
        let own = if self.settings.teller.is_some() { self.settings.service } else { server };
        self.out.push(complaint.for_server(server, own, joined.to_server()));
    }
}
