//! Queries over TCP (RFC 7766): several on a connection, in pieces or at once, answered in their order.
//!
//! One thread for all connections: they are few, since what fits goes over UDP. Who opens connections and asks nothing, or
//! sends byte by byte, or takes no answers, is cut off `tcp_idle` after the last whole query; and no network has more
//! than its share of them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use socket2::SockRef;
use sojourn_part::clock::now;
use sojourn_part::current::View;
use sojourn_part::network::prefix;
use sojourn_part::settings::dns::DnsLimits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::counts::{Tally, bump};
use super::udp::seconds;
use crate::answer::{Done, Responder, Transport};
use crate::zone::Zones;

/// Bytes of replies that are sent at once.
const BURST: usize = 1 << 16;

/// What the thread serves with.
pub(super) struct Half {
    pub(super) listeners: Vec<StdListener>,
    pub(super) responder: Responder,
    pub(super) view: View<Zones>,
    pub(super) tally: Arc<Tally>,
    pub(super) limits: DnsLimits,
}

/// What its connections share.
struct Shared {
    answering: RefCell<(Responder, View<Zones>)>,
    tally: Arc<Tally>,
    limits: DnsLimits,
    /// Open connections by their network.
    open: RefCell<HashMap<u128, usize>>,
}

/// A connection's place among those that may be open.
struct Place {
    shared: Rc<Shared>,
    network: u128,
}

impl Half {
    /// Serves until told to stop.
    pub(super) async fn serve(self, stop: watch::Receiver<bool>) {
        let shared = Rc::new(Shared {
            answering: RefCell::new((self.responder, self.view)),
            tally: self.tally,
            limits: self.limits,
            open: RefCell::default(),
        });
        let mut all = JoinSet::new();
        for listener in self.listeners {
            let listener = TcpListener::from_std(listener).expect("it is non-blocking and this is its runtime");
            all.spawn_local(accept(listener, Rc::clone(&shared), stop.clone()));
        }
        while all.join_next().await.is_some() {}
    }
}

async fn accept(listener: TcpListener, shared: Rc<Shared>, mut stop: watch::Receiver<bool>) {
    let mut open = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = open.join_next() => continue,
            _ = stop.wait_for(|stop| *stop) => break,
        };
        match accepted {
            Ok((stream, from)) => match Place::take(&shared, from) {
                Some(place) => {
                    bump(&shared.tally.connections);
                    open.spawn_local(converse(stream, from, place, stop.clone()));
                }
                None => bump(&shared.tally.connections_refused),
            },
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionAborted => {}
            // Out of descriptors or memory: it stays in the backlog until some are free again.
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
    while open.join_next().await.is_some() {}
}

/// Answers what comes on one connection.
async fn converse(stream: TcpStream, from: SocketAddr, place: Place, mut stop: watch::Receiver<bool>) {
    let cut = tokio::select! {
        cut = answer(stream, from, &place.shared) => cut,
        _ = stop.wait_for(|stop| *stop) => false,
    };
    if cut {
        bump(&place.shared.tally.connections_cut);
    }
}

/// True where the client is cut off, false where it has left.
async fn answer(mut stream: TcpStream, from: SocketAddr, shared: &Shared) -> bool {
    // Replies leave whole.
    let _ = stream.set_nodelay(true);
    let idle = shared.limits.tcp_idle.as_std();
    // What a client leaves untaken, the system keeps for minutes else.
    let _ = SockRef::from(&stream).set_tcp_user_timeout(Some(2 * idle));
    let from = from.ip().to_canonical();
    let (mut heard, mut reply, mut out) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        let whole = async {
            while message(&heard).is_none() {
                if matches!(stream.read_buf(&mut heard).await, Ok(0) | Err(_)) {
                    return false;
                }
            }
            true
        };
        match timeout(idle, whole).await {
            Ok(true) => {}
            Ok(false) => return false,
            Err(_) => return true,
        }
        let mut taken = 0;
        while let Some(packet) = message(&heard[taken..]).filter(|_| out.len() < BURST) {
            taken += 2 + packet.len();
            let (responder, view) = &mut *shared.answering.borrow_mut();
            let now = (now(), seconds());
            let done = responder.reply(view.now(), packet, from, Transport::Tcp, now, &mut reply);
            shared.tally.add(Transport::Tcp, done);
            if !matches!(done, Done::Replied { .. }) {
                return true;
            }
            out.extend_from_slice(&(reply.len() as u16).to_be_bytes());
            out.extend_from_slice(&reply);
            out.extend_from_slice(responder.further());
        }
        heard.drain(..taken);
        // A whole zone may take longer; so much of it may not.
        for part in out.chunks(BURST) {
            match timeout(idle, stream.write_all(part)).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return false,
                Err(_) => {
                    // What it does not take is thrown away.
                    let _ = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
                    return true;
                }
            }
        }
        out.clear();
        out.shrink_to(2 * BURST);
    }
}

/// The first message of what has come, if it is whole.
fn message(heard: &[u8]) -> Option<&[u8]> {
    let (length, rest) = heard.split_first_chunk()?;
    rest.get(..usize::from(u16::from_be_bytes(*length)))
}

impl Place {
    fn take(shared: &Rc<Shared>, from: SocketAddr) -> Option<Place> {
        let limits = &shared.limits;
        let network = prefix(from.ip(), [limits.prefix_v4, limits.prefix_v6]);
        let mut open = shared.open.borrow_mut();
        let (all, own) = (open.values().sum::<usize>(), open.get(&network).copied().unwrap_or(0));
        if all >= limits.tcp_connections || own >= limits.tcp_per_prefix {
            return None;
        }
        open.insert(network, own + 1);
        Some(Place { shared: Rc::clone(shared), network })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.shared.open.borrow_mut();
        if let Some(own) = open.get_mut(&self.network) {
            *own -= 1;
            if *own == 0 {
                open.remove(&self.network);
            }
        }
    }
}
