//! The sockets on which reports go out, and on which orders come: of a load daemon, and of a front node.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::json;
use socket2::SockRef;
use sojourn_bed::Events;
use sojourn_part::{ServeError, clock};
use sojourn_stats::Time;
use tokio::net::UdpSocket;

use super::{DATAGRAM_MAX, Dropped, Echoes, Heard, Key, Load, Sender};

/// The sockets to the receivers, and what was last said to them.
pub struct Outbox {
    sockets: Vec<UdpSocket>,
    sender: RefCell<Sender>,
    said: RefCell<Option<(Time, Load)>>,
    /// One instant by the clocks of which the first may be set anew: what is measured is told by it and the second.
    begun: (u64, Time),
    unreachable: RefCell<Vec<bool>>,
    events: Events,
    traffic: Arc<Traffic>,
}

/// What went out, for those who look from another thread.
#[derive(Default)]
pub struct Traffic {
    /// Datagrams sent.
    pub datagrams: AtomicU64,
    /// Bytes sent.
    pub bytes: AtomicU64,
    /// Datagrams that could not be sent.
    pub unsent: AtomicU64,
    /// Challenges of receivers that were answered.
    pub challenges: AtomicU64,
}

impl Outbox {
    /// Sockets to these receivers, for a sender of this name that starts now.
    pub fn open(
        name: &str,
        key: &Key,
        receivers: &[SocketAddr],
        events: Events,
        traffic: Arc<Traffic>,
    ) -> Result<Outbox, ServeError> {
        let mut sockets = Vec::new();
        for receiver in receivers {
            let any = if receiver.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
            let socket = std::net::UdpSocket::bind(any)
                .and_then(|socket| socket.set_nonblocking(true).map(|()| socket))
                .and_then(|socket| socket.connect(receiver).map(|()| socket))
                .and_then(UdpSocket::from_std);
            sockets.push(socket.map_err(ServeError::system(format!("cannot send to {receiver}")))?);
        }
        let begun = (clock::wall(), clock::now());
        let sender = RefCell::new(Sender::new(key.clone(), name, begun.0, sockets.len())?);
        let unreachable = RefCell::new(vec![false; sockets.len()]);
        Ok(Outbox { sockets, sender, said: RefCell::default(), begun, unreachable, events, traffic })
    }

    /// The places of the receivers.
    pub fn receivers(&self) -> std::ops::Range<usize> {
        0..self.sockets.len()
    }

    /// Tells all of them the load, as measured then.
    pub fn tell(&self, measured: Time, load: Load) {
        *self.said.borrow_mut() = Some((measured, load));
        self.receivers().for_each(|receiver| self.say(receiver));
    }

    /// Tells all of them the rates of clients.
    pub fn tell_rates(&self, rates: &[(String, f64)]) {
        let measured = self.stamp(clock::now());
        for receiver in self.receivers() {
            let datagrams = self.sender.borrow_mut().rates(receiver, measured, rates.to_vec());
            datagrams.iter().for_each(|datagram| self.send(receiver, datagram));
        }
    }

    /// Tells one of them what became of its order.
    pub fn tell_echoes(&self, receiver: usize, echoes: Echoes) {
        let datagram = self.sender.borrow_mut().echoes(receiver, self.stamp(clock::now()), echoes);
        self.send(receiver, &datagram);
    }

    /// How many datagrams of receivers were not believed, and why.
    pub fn dropped(&self) -> Dropped {
        *self.sender.borrow().dropped()
    }

    /// Answers the challenges of a receiver for as long as it is polled, and hands on its orders: number and client.
    pub async fn hear(outbox: Rc<Outbox>, receiver: usize, mut order: impl FnMut(u64, String)) {
        // One byte more than any has: what is longer is seen to be.
        let mut buffer = [0; DATAGRAM_MAX + 1];
        loop {
            match outbox.sockets[receiver].recv(&mut buffer).await {
                Ok(length) => {
                    outbox.notice(receiver, Ok(()));
                    let heard = outbox.sender.borrow_mut().hear(receiver, &buffer[..length]);
                    match heard {
                        Heard::Nothing => {}
                        Heard::Challenge => {
                            outbox.traffic.challenges.fetch_add(1, Ordering::Relaxed);
                            outbox.say(receiver);
                        }
                        Heard::Order { order: number, client } => order(number, client),
                    }
                }
                // What was sent before has not arrived: no program listens there yet.
                Err(error) => outbox.notice(receiver, Err(error)),
            }
        }
    }

    /// An instant as it is told: by the clock at the start, and by time that passed since, which is never set.
    fn stamp(&self, at: Time) -> u64 {
        let (wall, begun) = self.begun;
        wall + at.saturating_since(begun).0
    }

    /// Says once more what was said last.
    fn say(&self, receiver: usize) {
        let Some((measured, load)) = self.said.borrow().clone() else { return };
        let datagram = self.sender.borrow_mut().load(receiver, self.stamp(measured), load);
        self.send(receiver, &datagram);
    }

    fn send(&self, receiver: usize, datagram: &[u8]) {
        // Not by the runtime, which takes a new socket for one that would block.
        match SockRef::from(&self.sockets[receiver]).send(datagram) {
            Ok(_) => {
                self.traffic.datagrams.fetch_add(1, Ordering::Relaxed);
                self.traffic.bytes.fetch_add(datagram.len() as u64, Ordering::Relaxed);
            }
            Err(error) => {
                self.traffic.unsent.fetch_add(1, Ordering::Relaxed);
                self.notice(receiver, Err(error));
            }
        }
    }

    /// Says that a receiver cannot be reached, once, and that it can again: only an answer of it shows that.
    fn notice(&self, receiver: usize, outcome: io::Result<()>) {
        let is_unreachable = outcome.is_err();
        if std::mem::replace(&mut self.unreachable.borrow_mut()[receiver], is_unreachable) == is_unreachable {
            return;
        }
        let address = self.sockets[receiver].peer_addr().map(|address| address.to_string()).unwrap_or_default();
        match outcome {
            Err(error) => {
                let why = error.to_string();
                self.events.emit(&json!({"event": "receiver_unreachable", "receiver": address, "why": why}));
            }
            Ok(()) => self.events.emit(&json!({"event": "receiver_reached", "receiver": address})),
        }
    }
}
