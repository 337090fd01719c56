//! Gossip on the wire: chitchat's messages, signed.
//!
//! | bytes | |
//! |---|---|
//! | 4 | `SJG` and the version, `1` |
//! | 18 | the address and port that it was sent from, as IPv6 |
//! | | the message |
//! | 32 | HMAC-SHA256 of all before it |
//!
//! The key is that of reports; the first bytes differ, so that neither is taken for the other. What was heard and is sent again
//! changes nothing: a value has a version, and only a higher one counts. The address keeps what was heard from being sent again
//! in another one's name, who would get the answer; so there must be no translation of addresses between members.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use chitchat::transport::{Socket, Transport};
use chitchat::{ChitchatMessage, Deserializable, Serializable};

use crate::{Dropped, Key, Traffic};

const MAGIC: &[u8; 4] = b"SJG1";
const FROM: usize = 18;
const HEAD: usize = MAGIC.len() + FROM;
const TAG: usize = 32;

/// The longest that UDP carries.
const DATAGRAM_MAX: usize = 65_507;

/// What makes the socket of a member.
pub(super) struct Signed {
    key: Key,
    /// Taken when it is opened.
    socket: Mutex<Option<UdpSocket>>,
    traffic: Arc<Traffic>,
    dropped: Arc<Mutex<Dropped>>,
}

struct SignedSocket {
    key: Key,
    socket: tokio::net::UdpSocket,
    own: SocketAddr,
    sent: Vec<u8>,
    came: Box<[u8]>,
    traffic: Arc<Traffic>,
    dropped: Arc<Mutex<Dropped>>,
}

impl Signed {
    pub(super) fn new(key: Key, socket: UdpSocket, traffic: Arc<Traffic>, dropped: Arc<Mutex<Dropped>>) -> Signed {
        Signed { key, socket: Mutex::new(Some(socket)), traffic, dropped }
    }
}

#[async_trait]
impl Transport for Signed {
    async fn open(&self, _: SocketAddr) -> anyhow::Result<Box<dyn Socket>> {
        let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner).take();
        let socket = socket.ok_or_else(|| io::Error::other("it is open already"))?;
        socket.set_nonblocking(true)?;
        let own = socket.local_addr()?;
        let socket = tokio::net::UdpSocket::from_std(socket)?;
        let (key, traffic, dropped) = (self.key.clone(), Arc::clone(&self.traffic), Arc::clone(&self.dropped));
        let came = vec![0; DATAGRAM_MAX].into_boxed_slice();
        Ok(Box::new(SignedSocket { key, socket, own, sent: Vec::new(), came, traffic, dropped }))
    }
}

#[async_trait]
impl Socket for SignedSocket {
    async fn send(&mut self, to: SocketAddr, message: ChitchatMessage) -> anyhow::Result<()> {
        self.sent.clear();
        self.sent.extend(MAGIC);
        self.sent.extend(from(self.own));
        message.serialize(&mut self.sent);
        let tag = self.key.sign(&self.sent);
        self.sent.extend(tag);
        // A node that cannot be reached now is asked again in a while.
        match self.socket.send_to(&self.sent, to).await {
            Ok(sent) => {
                self.traffic.datagrams.fetch_add(1, Ordering::Relaxed);
                self.traffic.bytes.fetch_add(sent as u64, Ordering::Relaxed);
            }
            Err(_) => drop(self.traffic.unsent.fetch_add(1, Ordering::Relaxed)),
        }
        Ok(())
    }

    async fn recv(&mut self) -> anyhow::Result<(SocketAddr, ChitchatMessage)> {
        loop {
            // An error belongs to an answer whose receiver has gone.
            let Ok((length, from)) = self.socket.recv_from(&mut self.came).await else { continue };
            match believed(&self.key, &self.came[..length], from) {
                Ok(message) => return Ok((from, message)),
                Err(cause) => *cause(&mut self.dropped.lock().unwrap_or_else(PoisonError::into_inner)) += 1,
            }
        }
    }
}

/// What a datagram says that was made with the key where it comes from.
fn believed(
    key: &Key,
    datagram: &[u8],
    from_addr: SocketAddr,
) -> Result<ChitchatMessage, fn(&mut Dropped) -> &mut u64> {
    if !datagram.starts_with(MAGIC) {
        return Err(|dropped| &mut dropped.foreign);
    }
    if datagram.len() < HEAD + TAG {
        return Err(|dropped| &mut dropped.truncated);
    }
    let (signed, tag) = datagram.split_at(datagram.len() - TAG);
    if !key.has_signed(signed, tag) {
        return Err(|dropped| &mut dropped.forged);
    }
    if signed[MAGIC.len()..HEAD] != from(from_addr) {
        return Err(|dropped| &mut dropped.replayed);
    }
    match ChitchatMessage::deserialize(&mut &signed[HEAD..]) {
        Ok(envelope) => Ok(envelope),
        Err(_) => Err(|dropped| &mut dropped.malformed),
    }
}

/// An address as it stands in a datagram.
fn from(address: SocketAddr) -> [u8; FROM] {
    let ip = match address.ip() {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    };
    let mut bytes = [0; FROM];
    bytes[..16].copy_from_slice(&ip.octets());
    bytes[16..].copy_from_slice(&address.port().to_be_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_made_with_the_key_where_it_comes_from_is_believed() {
        let (key, other) = (Key::new(b"a secret of tests"), Key::new(b"another secret of tests"));
        let own: SocketAddr = "10.0.0.1:7400".parse().expect("an address");
        let mut datagram = MAGIC.to_vec();
        datagram.extend(from(own));
        ChitchatMessage::BadCluster.serialize(&mut datagram);
        let tag = key.sign(&datagram);
        datagram.extend(tag);
        let count = |key: &Key, datagram: &[u8], from: &str| {
            let mut dropped = Dropped::default();
            match believed(key, datagram, from.parse().expect("an address")) {
                Ok(_) => 0,
                Err(cause) => {
                    *cause(&mut dropped) += 1;
                    1 + [dropped.foreign, dropped.truncated, dropped.forged, dropped.replayed, dropped.malformed]
                        .iter()
                        .position(|count| *count == 1)
                        .expect("one cause")
                }
            }
        };
        assert_eq!(count(&key, &datagram, "10.0.0.1:7400"), 0);
        assert_eq!(count(&key, b"SJL1", "10.0.0.1:7400"), 1, "a report is none");
        assert_eq!(count(&key, &datagram[..30], "10.0.0.1:7400"), 2);
        assert_eq!(count(&other, &datagram, "10.0.0.1:7400"), 3);
        let mut changed = datagram.clone();
        changed[HEAD] ^= 1;
        assert_eq!(count(&key, &changed, "10.0.0.1:7400"), 3);
        assert_eq!(count(&key, &datagram, "10.0.0.1:7401"), 4, "sent again by another one");
        assert_eq!(count(&key, &datagram, "10.0.0.2:7400"), 4);
        let mut senseless = [&MAGIC[..], &from(own), b"\xff\xff"].concat();
        let tag = key.sign(&senseless);
        senseless.extend(tag);
        assert_eq!(count(&key, &senseless, "10.0.0.1:7400"), 5);
    }
}
