//! Tells secondaries that a zone has changed (RFC 1996), so that they need not wait until they ask.
//!
//! A notice is sent when the DNS starts, and after a reload that has brought another serial number; it is sent again until it
//! is answered. What a secondary does about it is its own business: it asks for the SOA record, and then for the zone.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use ring::rand::{SecureRandom, SystemRandom};
use serde_json::json;
use sojourn_bed::Events;
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::wire::name::Name;
use super::wire::{HEAD, IN, kind};
use super::zone::Zones;

/// How long an answer is waited for: twice as long each time (RFC 1996, 3.6).
const FIRST_WAIT: Duration = Duration::from_secs(1);
const TRIES: u32 = 5;

/// In the third byte of a message: the bit of a reply, the operation, which is to notify, and "authoritative answer".
const REPLY: u8 = 0x80;
const OPERATION: u8 = 0x78;
const NOTIFY: u8 = 0x20;
const AUTHORITATIVE: u8 = 4;

/// One notice.
#[derive(Debug)]
pub(super) struct Notice {
    zone: Name,
    serial: u32,
    to: SocketAddr,
    message: Vec<u8>,
}

/// What is to be sent now that these zones are in force; `told` has the serial numbers that were told before.
pub(super) fn of(zones: &Zones, told: &mut HashMap<Name, u32>, wall: u64) -> Vec<Notice> {
    let mut notices = Vec::new();
    for zone in zones.authorities() {
        if told.insert(zone.name.clone(), zone.serial) == Some(zone.serial) {
            continue;
        }
        let key = zone.secondaries.keys.first().and_then(|key| zones.keys().get(key));
        for to in &zone.secondaries.notify {
            let mut message = Vec::with_capacity(512);
            let mut id = [0; 2];
            // Without random numbers it is as good as without a port of its own: the reply changes nothing.
            let _ = SystemRandom::new().fill(&mut id);
            message.extend_from_slice(&id);
            message.extend_from_slice(&[NOTIFY | AUTHORITATIVE, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
            message.extend_from_slice(zone.name.wire());
            message.extend_from_slice(&kind::SOA.to_be_bytes());
            message.extend_from_slice(&IN.to_be_bytes());
            if let Some(key) = key {
                key.sign(&mut message, wall);
            }
            notices.push(Notice { zone: zone.name.clone(), serial: zone.serial, to: *to, message });
        }
    }
    notices
}

/// Sends notices for as long as it is polled, each from the address among `own` at which the secondary knows this server.
pub(super) async fn run(mut notices: mpsc::UnboundedReceiver<Notice>, own: Vec<SocketAddr>, events: Events) {
    let mut open = JoinSet::new();
    while let Some(notice) = notices.recv().await {
        while open.try_join_next().is_some() {}
        let from = own.iter().map(SocketAddr::ip).find(|ip| ip.is_ipv4() == notice.to.is_ipv4());
        let (any_v4, any_v6) = (IpAddr::from(Ipv4Addr::UNSPECIFIED), IpAddr::from(Ipv6Addr::UNSPECIFIED));
        let from = from.unwrap_or(if notice.to.is_ipv4() { any_v4 } else { any_v6 });
        let events = events.clone();
        open.spawn_local(async move {
            let outcome = tell(&notice, from).await;
            let (zone, serial, to) = (notice.zone.to_string(), notice.serial, notice.to);
            events.emit(&match outcome {
                Ok(()) => json!({"event": "notified", "zone": zone, "serial": serial, "to": to}),
                Err(why) => {
                    json!({"event": "notify_failed", "zone": zone, "serial": serial, "to": to, "why": why})
                }
            });
        });
    }
}

async fn tell(notice: &Notice, from: IpAddr) -> Result<(), String> {
    let cannot = |error: std::io::Error| error.to_string();
    let socket = UdpSocket::bind((from, 0)).await.map_err(cannot)?;
    socket.connect(notice.to).await.map_err(cannot)?;
    for attempt in 0..TRIES {
        // It may not listen yet: then the system says so to the next call, and it is tried again.
        let _ = socket.send(&notice.message).await;
        if let Ok(code) = timeout(FIRST_WAIT * 2_u32.pow(attempt), answer(&socket, &notice.message)).await {
            return match code {
                0 => Ok(()),
                code => Err(format!("it answers with code {code}")),
            };
        }
    }
    Err("it does not answer".into())
}

/// The code of the answer to a notice.
async fn answer(socket: &UdpSocket, asked: &[u8]) -> u8 {
    let mut heard = [0; 512];
    loop {
        let Ok(length) = socket.recv(&mut heard).await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let is_answer = length >= HEAD && heard[..2] == asked[..2] && heard[2] & (REPLY | OPERATION) == REPLY | NOTIFY;
        if is_answer {
            return heard[3] & 0xf;
        }
    }
}
