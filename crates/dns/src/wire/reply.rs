//! Replies, written into a buffer that is used again.
//!
//! Names are compressed against the question alone: its name, and the zone's at its end. That is where all names of a
//! reply but foreign ones end, and takes no search.

use super::edns::{Edns, Told};
use super::query::Query;
use super::{Code, HEAD, IN};

const POINTER: u16 = 0xc000;

/// A name or the data of a record, in which two bytes stand for each place that has the zone's name at the end of a name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Encoded {
    pub(crate) bytes: Box<[u8]>,
    /// Where those bytes are.
    pub(crate) apexes: Box<[u16]>,
}

/// Whose record it is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Owner<'a> {
    /// The name asked for.
    Question,
    /// The zone.
    Apex,
    Name(&'a Encoded),
}

/// Where a record stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Answer,
    Authority,
    Additional,
}

/// The data of a record.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Data<'a> {
    Encoded(&'a Encoded),
    Plain(&'a [u8]),
}

/// A record does not fit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Full;

/// A reply that is being written.
#[derive(Debug)]
pub(crate) struct Reply<'a> {
    out: &'a mut Vec<u8>,
    /// Bytes that its records may reach to.
    limit: usize,
    /// Where the question ends.
    end: usize,
    /// Where the zone's name begins.
    apex: usize,
    counts: [u16; 3],
    is_authoritative: bool,
    is_truncated: bool,
    edns: Option<(Edns<'a>, Told)>,
    /// How many bits of the client's network the reply depends on.
    pub(crate) scope: u8,
}

impl<'a> Reply<'a> {
    /// Begins the reply to a query: at most `limit` bytes, or what head, question and OPT need.
    pub(crate) fn new(query: &Query<'a>, told: Told, limit: usize, out: &'a mut Vec<u8>) -> Reply<'a> {
        let edns = query.edns.map(|edns| (edns, told));
        let mut reply = Reply::head(query.packet, query.end, out);
        reply.limit = limit.saturating_sub(edns.map_or(0, |(edns, told)| edns.length(&told)));
        reply.edns = edns;
        reply
    }

    /// Begins the reply to a packet that could not be read further than to `end`.
    pub(crate) fn head(packet: &[u8], end: usize, out: &'a mut Vec<u8>) -> Reply<'a> {
        out.clear();
        out.extend_from_slice(&packet[..end]);
        let (counts, is_authoritative, is_truncated) = ([0; 3], false, false);
        Reply { out, limit: end, end, apex: end, counts, is_authoritative, is_truncated, edns: None, scope: 0 }
    }

    /// From now on it speaks for the zone whose name has `length` bytes, at the end of the name asked for.
    pub(crate) fn speak_for(&mut self, length: usize) {
        self.apex = self.end - 4 - length;
    }

    pub(crate) fn set_authoritative(&mut self) {
        self.is_authoritative = true;
    }

    /// Adds a record.
    pub(crate) fn record(
        &mut self,
        section: Section,
        owner: Owner<'_>,
        kind: u16,
        ttl: u32,
        data: Data<'_>,
    ) -> Result<(), Full> {
        let before = self.out.len();
        match owner {
            Owner::Question => self.out.extend_from_slice(&pointer(HEAD)),
            Owner::Apex => self.out.extend_from_slice(&pointer(self.apex)),
            Owner::Name(name) => self.encoded(name),
        }
        let [kind, class] = [kind, IN].map(u16::to_be_bytes);
        let ttl = ttl.to_be_bytes();
        let length = match data {
            Data::Encoded(encoded) => encoded.bytes.len(),
            Data::Plain(bytes) => bytes.len(),
        };
        let length = (length as u16).to_be_bytes();
        self.out.extend_from_slice(&[
            kind[0], kind[1], class[0], class[1], ttl[0], ttl[1], ttl[2], ttl[3], length[0], length[1],
        ]);
        match data {
            Data::Encoded(encoded) => self.encoded(encoded),
            Data::Plain(bytes) => self.out.extend_from_slice(bytes),
        }
        if self.out.len() > self.limit {
            self.out.truncate(before);
            return Err(Full);
        }
        self.counts[section as usize] += 1;
        Ok(())
    }

    /// Takes all records away, and tells the asker to ask over TCP.
    pub(crate) fn truncate(&mut self) {
        self.out.truncate(self.end);
        self.counts = [0; 3];
        self.is_truncated = true;
    }

    pub(crate) fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    /// Writes the head and the OPT record.
    pub(crate) fn finish(mut self, code: Code) {
        if let Some((edns, told)) = &self.edns {
            edns.write(told, code, self.scope, self.out);
            self.counts[Section::Additional as usize] += 1;
        }
        let has_question = self.end > HEAD;
        let bit = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        // Of the query's bits there remain the opcode and "recursion desired".
        self.out[2] = 0x80 | (self.out[2] & 0x79) | bit(self.is_authoritative, 4) | bit(self.is_truncated, 2);
        self.out[3] = (code as u16 & 0xf) as u8;
        let [answers, authorities, additional] = self.counts;
        for (index, count) in [u16::from(has_question), answers, authorities, additional].into_iter().enumerate() {
            self.out[4 + 2 * index..6 + 2 * index].copy_from_slice(&count.to_be_bytes());
        }
    }

    fn encoded(&mut self, encoded: &Encoded) {
        let start = self.out.len();
        self.out.extend_from_slice(&encoded.bytes);
        for at in &encoded.apexes {
            let at = start + usize::from(*at);
            self.out[at..at + 2].copy_from_slice(&pointer(self.apex));
        }
    }
}

fn pointer(to: usize) -> [u8; 2] {
    (POINTER | to as u16).to_be_bytes()
}
