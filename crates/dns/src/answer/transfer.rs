//! Whole zones for secondaries (AXFR, RFC 5936): to who signs with a key that the zone names, and to no other.
//!
//! A transfer is made whole, in as many messages as it takes, before the first is sent: it is of one zone at one time, also
//! where the zone is replaced meanwhile. The price is its size in memory for as long as it is being taken. What has changed since
//! a serial number (IXFR, RFC 1995) is answered with the whole zone too, as a server may.
//!
//! A secondary knows no policy. For a service it gets the addresses of all sites that are not drained.

use std::net::IpAddr;

use super::super::chooser::{Choices, Family};
use super::super::wire::edns::Told;
use super::super::wire::name::Name;
use super::super::wire::query::Query;
use super::super::wire::reply::{Data, Owner, Reply, Section};
use super::super::wire::tsig::Signing;
use super::super::wire::{Code, IN, kind};
use super::super::zone::Zones;
use super::{Replies, Transport, seconds};

/// What a transfer is written with.
pub(super) struct Page<'a> {
    pub(super) told: Told,
    /// Bytes of the longest message, without its signature.
    pub(super) limit: usize,
    /// Time of day, s since 1970.
    pub(super) wall: u64,
    pub(super) query: &'a Query<'a>,
}

/// One record.
struct Row<'z> {
    owner: Owner<'z>,
    kind: u16,
    ttl: u32,
    data: Content<'z>,
}

enum Content<'z> {
    Static(Data<'z>),
    Address(IpAddr),
}

/// The number of the zone that a query asks for as a whole, signed by `key`; else what it is answered.
pub(super) fn asked(zones: &Zones, query: &Query<'_>, key: Option<&Name>, transport: Transport) -> Result<usize, Code> {
    // Who may have no zone learns nothing of which there are.
    let key = key.filter(|_| query.class == IN && query.has_question()).ok_or(Code::Refused)?;
    let zone = zones.zone(&Name::from_wire(query.name())).ok_or(Code::NotAuth)?;
    if !zones.authority(zone).secondaries.keys.contains(key) {
        return Err(Code::Refused);
    }
    match (query.kind, transport) {
        (kind::AXFR, Transport::Udp) => Err(Code::FormErr),
        (kind::IXFR, _) if query.serial.is_none() => Err(Code::FormErr),
        _ => Ok(zone),
    }
}

impl Replies<'_> {
    /// Writes a whole zone, or its SOA alone where that says enough: it is as the asker has it, or is to be asked for over TCP.
    pub(super) fn transfer(
        &mut self,
        zones: &Zones,
        zone: usize,
        page: &Page<'_>,
        transport: Transport,
        signing: &mut Signing<'_>,
        reply: &mut Vec<u8>,
    ) -> Code {
        let is_current = page.query.kind == kind::IXFR && is_current(zones, zone, page.query.serial);
        let is_short = is_current || transport == Transport::Udp;
        let first = signing.clone();
        let (choices, further) = (&mut *self.choices, &mut self.own.further);
        if write((zones, zone), choices, page, is_short, signing, reply, further).is_some() {
            return Code::NoError;
        }
        // No message has gone out; the next one is the first again.
        further.clear();
        Reply::new(page.query, page.told, page.limit, reply).finish(Code::ServFail);
        *signing = first;
        signing.sign(reply, page.wall);
        Code::ServFail
    }
}

/// Writes the first message to `reply`, and all others to `further`, each with its length before it; none where a record fits
/// into no message.
fn write(
    (zones, zone): (&Zones, usize),
    choices: &mut dyn Choices,
    page: &Page<'_>,
    is_short: bool,
    signing: &mut Signing<'_>,
    reply: &mut Vec<u8>,
    further: &mut Vec<u8>,
) -> Option<()> {
    let rows = if is_short { vec![soa(zones, zone)] } else { rows(zones, zone, choices) };
    let (mut rest, mut message) = (&rows[..], Vec::new());
    loop {
        let is_first = rest.len() == rows.len();
        let out = if is_first { &mut *reply } else { &mut message };
        let mut written = Reply::new(page.query, page.told, page.limit, out);
        written.speak_for(zones.authority(zone).length);
        written.set_authoritative();
        let count = rest.iter().take_while(|row| row.write(&mut written)).count();
        written.finish(Code::NoError);
        signing.sign(out, page.wall);
        if !is_first {
            further.extend_from_slice(&(message.len() as u16).to_be_bytes());
            further.extend_from_slice(&message);
        }
        rest = &rest[count..];
        match (rest.is_empty(), count) {
            (true, _) => return Some(()),
            (false, 0) => return None,
            (false, _) => {}
        }
    }
}

/// Whether who has the zone as of `serial` has it as it is (by the arithmetic of serial numbers, RFC 1982).
fn is_current(zones: &Zones, zone: usize, serial: Option<u32>) -> bool {
    serial.is_some_and(|has| zones.authority(zone).serial.wrapping_sub(has) as i32 <= 0)
}

impl Row<'_> {
    fn write(&self, reply: &mut Reply<'_>) -> bool {
        let mut add = |data| reply.record(Section::Answer, self.owner, self.kind, self.ttl, data).is_ok();
        match self.data {
            Content::Static(data) => add(data),
            Content::Address(IpAddr::V4(ip)) => add(Data::Plain(&ip.octets())),
            Content::Address(IpAddr::V6(ip)) => add(Data::Plain(&ip.octets())),
        }
    }
}

fn soa(zones: &Zones, zone: usize) -> Row<'_> {
    let zone = zones.authority(zone);
    Row { owner: Owner::Apex, kind: kind::SOA, ttl: zone.soa_ttl, data: Content::Static(Data::Encoded(&zone.soa)) }
}

/// All records of a zone, its SOA first and last.
fn rows<'z>(zones: &'z Zones, zone: usize, choices: &mut dyn Choices) -> Vec<Row<'z>> {
    let mut rows = vec![soa(zones, zone)];
    let mut addresses = Vec::new();
    for node in zones.nodes(zone) {
        let owner = Owner::Name(&node.name);
        for set in node.sets.iter().filter(|set| set.kind != kind::SOA) {
            rows.extend(set.data.iter().map(|data| {
                let data = Content::Static(Data::Encoded(data));
                Row { owner, kind: set.kind, ttl: set.ttl, data }
            }));
        }
        let Some(service) = node.service else { continue };
        for (family, kind) in [(Family::V4, kind::A), (Family::V6, kind::AAAA)] {
            addresses.clear();
            let ttl = seconds(choices.all(service, family, &mut addresses));
            rows.extend(addresses.iter().map(|ip| Row { owner, kind, ttl, data: Content::Address(*ip) }));
        }
    }
    rows.push(soa(zones, zone));
    rows
}
