//! What a packet asks.

use super::edns::Edns;
use super::name;
use super::tsig::Signature;
use super::{Code, HEAD, kind, u16_at};

/// One question with all that belongs to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Query<'a> {
    pub(crate) packet: &'a [u8],
    /// Where the question ends.
    pub(crate) end: usize,
    pub(crate) kind: u16,
    pub(crate) class: u16,
    pub(crate) edns: Option<Edns<'a>>,
    /// Where the record of its signature begins.
    pub(crate) signature: Option<usize>,
    /// The serial number of the zone that a secondary has, if it asks for what has changed since.
    pub(crate) serial: Option<u32>,
}

/// A packet that asks nothing that could be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// A reply, or no message at all: an answer could go round in circles.
    Silent,
    /// So it is answered, with the question that ends at `end` (with none where that is the head's end).
    Code(Code, usize),
}

impl<'a> Query<'a> {
    /// Reads a packet: every count, length and option; nothing may follow what it says. It asks one question, or none where it
    /// asks for a cookie alone (RFC 7873, 5.4).
    pub(crate) fn parse(packet: &'a [u8]) -> Result<Query<'a>, Unfit> {
        let mut query = Query::begin(packet)?;
        let is_read = query.records().is_some();
        let has_cookie = query.edns.is_some_and(|edns| edns.cookie.is_some());
        match is_read && (query.has_question() || has_cookie) {
            true => Ok(query),
            false => Err(Unfit::Code(Code::FormErr, query.end)),
        }
    }

    /// Reads a packet up to the end of its question, of which there is one at most.
    pub(crate) fn begin(packet: &'a [u8]) -> Result<Query<'a>, Unfit> {
        let (Some(flags), Some(questions)) = (u16_at(packet, 2), u16_at(packet, 4)) else { return Err(Unfit::Silent) };
        let is_reply = flags & 0x8000 != 0;
        if is_reply || packet.len() < HEAD {
            return Err(Unfit::Silent);
        }
        let opcode = flags >> 11;
        if opcode != 0 {
            return Err(Unfit::Code(Code::NotImp, HEAD));
        }
        let malformed = Unfit::Code(Code::FormErr, HEAD);
        let mut query = Query { packet, end: HEAD, kind: 0, class: 0, edns: None, signature: None, serial: None };
        if questions == 0 {
            return Ok(query);
        }
        if questions != 1 {
            return Err(malformed);
        }
        let name = name::end(packet, HEAD).ok_or(malformed)?;
        query.kind = u16_at(packet, name).ok_or(malformed)?;
        query.class = u16_at(packet, name + 2).ok_or(malformed)?;
        query.end = name + 4;
        Ok(query)
    }

    /// Whether it asks for more than a cookie.
    pub(crate) fn has_question(&self) -> bool {
        self.end > HEAD
    }

    /// The name asked for, in the asker's own case. Only what has a question has one.
    pub(crate) fn name(&self) -> &'a [u8] {
        &self.packet[HEAD..self.end - 4]
    }

    /// Reads the records after the question.
    fn records(&mut self) -> Option<()> {
        let packet = self.packet;
        let count = |at| u16_at(packet, at).map(u32::from);
        let before = count(6)? + count(8)?;
        let mut at = self.end;
        for index in 0..before + count(10)? {
            let owner = at;
            at = name::skip(packet, at)?;
            let kind = u16_at(packet, at)?;
            let data = at + 10;
            let end = data + usize::from(u16_at(packet, at + 8)?);
            packet.get(data..end)?;
            match kind {
                // A signature is the last of all.
                _ if self.signature.is_some() => return None,
                kind::TSIG if index >= before => {
                    Signature::parse(packet, owner)?;
                    self.signature = Some(owner);
                }
                // The serial number and four times are its last 20 bytes (RFC 1995, 3).
                kind::SOA if index < before => {
                    let last = packet[data..end].last_chunk::<20>()?;
                    self.serial = Some(u32::from_be_bytes([last[0], last[1], last[2], last[3]]));
                }
                // There is one at most, among the additional records, of the root.
                kind::OPT if index >= before && self.edns.is_none() && packet[owner] == 0 => {
                    self.edns = Some(Edns::parse(&packet[at..end]));
                }
                kind::OPT | kind::TSIG => return None,
                _ => {}
            }
            at = end;
        }
        (at == packet.len()).then_some(())
    }
}
