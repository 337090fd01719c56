//! Packets to and from a name server: hickory-proto's (RFC 1035).

use std::net::IpAddr;

use hickory_proto::op::{Edns, Message, MessageType, Query, ResponseCode};
use hickory_proto::rr::{Name, RData, RecordType};

use super::Unresolved;

/// The longest packet that is read, and the server is told so (EDNS0, RFC 6891).
pub(super) const PACKET_MAX: usize = 4096;

/// What a packet said.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    pub(super) addresses: Vec<IpAddr>,
    /// Seconds; of an answer without addresses 0.
    pub(super) ttl_s: u32,
    pub(super) code: ResponseCode,
    /// It was too long for its packet: what it holds is not all (RFC 1035, 4.1.1, TC).
    pub(super) is_cut: bool,
}

impl Answer {
    pub(super) fn failure(&self) -> Unresolved {
        match self.code {
            ResponseCode::NoError => Unresolved::Unknown("the name is known but has no address"),
            ResponseCode::NXDomain => Unresolved::Unknown("there is no such name"),
            code => Unresolved::Failed(code),
        }
    }
}

pub(super) fn name_of(host: &str) -> Result<Name, Unresolved> {
    let mut name = Name::from_ascii(host).map_err(|_| Unresolved::NoName)?;
    name.set_fqdn(true);
    Ok(name)
}

pub(super) fn packet(id: u16, name: &Name, kind: RecordType) -> Vec<u8> {
    let mut message = Message::query();
    message.metadata.id = id;
    message.metadata.recursion_desired = true;
    message.add_query(Query::query(name.clone(), kind));
    let mut edns = Edns::new();
    edns.set_max_payload(PACKET_MAX as u16);
    message.set_edns(edns);
    message.to_vec().expect("a question with a valid name is a packet")
}

/// The number and the content of an answer; nothing where it is none. A name may lead to another one (CNAME), so the
/// addresses are all that the answer holds, for as long as its shortest TTL says.
pub(super) fn read_answer(packet: &[u8]) -> Option<(u16, Answer)> {
    // What a server has cut may end within a record.
    if let [n0, n1, flags, _, ..] = *packet
        && packet.len() >= 12
        && flags & 0x82 == 0x82
    {
        return Some((u16::from_be_bytes([n0, n1]), Answer { is_cut: true, ..Answer::default() }));
    }
    let message = Message::from_vec(packet).ok()?;
    if message.metadata.message_type != MessageType::Response {
        return None;
    }
    let mut answer = Answer { code: message.metadata.response_code, ..Answer::default() };
    let mut ttl_s = u32::MAX;
    for record in &message.answers {
        match &record.data {
            RData::A(a) => answer.addresses.push(IpAddr::V4(a.0)),
            RData::AAAA(aaaa) => answer.addresses.push(IpAddr::V6(aaaa.0)),
            RData::CNAME(_) => {}
            _ => continue,
        }
        ttl_s = ttl_s.min(record.ttl);
    }
    answer.ttl_s = if answer.addresses.is_empty() { 0 } else { ttl_s };
    Some((message.metadata.id, answer))
}
