//! Following connections by the flags and sequence numbers of their segments.

use core::net::SocketAddr;
use std::collections::HashMap;

use super::packet::Segment;
use super::{Begin, Connection, End};

/// Holes in what was sent that are remembered for one direction; more of them are not told from data sent again.
const HOLES_MOST: usize = 64;

/// The connections seen so far.
#[derive(Default)]
pub(super) struct Follower {
    /// The latest connection between two ends, the lower one first.
    latest: HashMap<(SocketAddr, SocketAddr), usize>,
    all: Vec<Followed>,
}

/// A connection while it is followed.
struct Followed {
    row: Connection,
    /// Sequence number of the SYN.
    syn: Option<u32>,
    answered: bool,
    last_ns: u64,
    to_server: Direction,
    to_client: Direction,
}

/// What one side has sent.
#[derive(Default)]
struct Direction {
    /// The sequence number of the first byte, once one was seen.
    base: Option<u32>,
    /// Up to here from the base.
    reached: u64,
    holes: Vec<(u64, u64)>,
    fin: bool,
}

impl Follower {
    pub(super) fn take(&mut self, segment: &Segment<'_>, now_ns: u64) {
        let (from, to) = (segment.from, segment.to);
        let key = if from <= to { (from, to) } else { (to, from) };
        let known = self.latest.get(&key).copied();
        let opens = segment.syn && !segment.ack;
        let index = match known {
            // A SYN with another number than before opens another connection between the same ends.
            Some(index) if !(opens && self.all[index].syn != Some(segment.sequence)) => index,
            _ => {
                self.all.push(Followed::new(segment, now_ns));
                self.latest.insert(key, self.all.len() - 1);
                self.all.len() - 1
            }
        };
        self.all[index].take(segment, now_ns, opens && known == Some(index));
    }

    /// The connections in the order of their first packets.
    pub(super) fn finish(self) -> Vec<Connection> {
        let mut rows: Vec<Connection> = self.all.into_iter().map(Followed::finish).collect();
        rows.sort_by_key(|row| row.start_ns);
        rows
    }
}

impl Followed {
    fn new(first: &Segment<'_>, now_ns: u64) -> Followed {
        let opens = first.syn && !first.ack;
        // An answer to a SYN comes from the server; of other segments the lower port is taken for the server's.
        let from_client = opens || (!first.syn && first.from.port() >= first.to.port());
        let (client, server) = if from_client { (first.from, first.to) } else { (first.to, first.from) };
        Followed {
            row: Connection {
                start_ns: now_ns,
                client,
                server,
                duration_ns: 0,
                handshake_ns: None,
                bytes_to_server: 0,
                bytes_to_client: 0,
                packets: 0,
                requests: 0,
                replies: 0,
                status: None,
                syn_retransmissions: 0,
                retransmissions: 0,
                begin: if opens { Begin::Syn } else { Begin::Before },
                end: End::Open,
            },
            syn: opens.then_some(first.sequence),
            answered: false,
            last_ns: now_ns,
            to_server: Direction::default(),
            to_client: Direction::default(),
        }
    }

    fn take(&mut self, segment: &Segment<'_>, now_ns: u64, syn_again: bool) {
        let row = &mut self.row;
        row.packets += 1;
        row.syn_retransmissions += u32::from(syn_again);
        row.start_ns = row.start_ns.min(now_ns);
        self.last_ns = self.last_ns.max(now_ns);
        let from_client = segment.from == row.client;
        if !from_client {
            if segment.syn && !self.answered && row.begin == Begin::Syn {
                row.handshake_ns = Some(now_ns.saturating_sub(row.start_ns));
            }
            self.answered = true;
        }
        if segment.rst && row.end != End::Closed {
            row.end = End::Reset;
        }
        let direction = if from_client { &mut self.to_server } else { &mut self.to_client };
        let again = direction.take(segment);
        row.retransmissions += u32::from(again);
        if !again && !segment.data.is_empty() {
            if from_client {
                row.requests += u32::from(is_request(segment.data));
            } else if let Some(status) = status(segment.data) {
                row.replies += 1;
                row.status = row.status.or(Some(status));
            }
        }
        if self.to_server.fin && self.to_client.fin && row.end != End::Reset {
            row.end = End::Closed;
        }
    }

    fn finish(mut self) -> Connection {
        self.row.duration_ns = self.last_ns - self.row.start_ns;
        self.row.bytes_to_server = self.to_server.reached;
        self.row.bytes_to_client = self.to_client.reached;
        if self.row.begin == Begin::Syn && !self.answered {
            self.row.end = End::Unanswered;
        }
        self.row
    }
}

impl Direction {
    /// Takes a segment in, and says whether its data was sent before.
    fn take(&mut self, segment: &Segment<'_>) -> bool {
        self.fin |= segment.fin;
        // A SYN takes a number of its own, before the first byte.
        let first = segment.sequence.wrapping_add(u32::from(segment.syn));
        let base = *self.base.get_or_insert(first);
        let length = u64::from(segment.length);
        if length == 0 {
            return false;
        }
        // Where it begins, counted from the base: the place nearest to what was reached, since numbers wrap.
        let ahead = first.wrapping_sub(base.wrapping_add(self.reached as u32)) as i32;
        let Some(start) = self.reached.checked_add_signed(i64::from(ahead)) else { return true };
        let end = start + length;
        if start >= self.reached {
            if start > self.reached && self.holes.len() < HOLES_MOST {
                self.holes.push((self.reached, start));
            }
            self.reached = end;
            return false;
        }
        let fills = self.holes.iter().position(|(from, to)| start < *to && end > *from);
        if let Some(index) = fills {
            let (from, to) = self.holes.swap_remove(index);
            let left = [(from, start), (end, to)];
            self.holes.extend(left.into_iter().filter(|(from, to)| from < to));
        }
        self.reached = self.reached.max(end);
        // A probe that the other side is there sends the last byte again.
        fills.is_none() && length > 1
    }
}

fn is_request(data: &[u8]) -> bool {
    const METHODS: [&[u8]; 9] =
        [b"GET ", b"POST ", b"HEAD ", b"PUT ", b"DELETE ", b"OPTIONS ", b"PATCH ", b"CONNECT ", b"TRACE "];
    METHODS.iter().any(|method| data.starts_with(method))
}

/// The status of a reply that begins here: `HTTP/1.1 200 ...`.
fn status(data: &[u8]) -> Option<u16> {
    let digits = data.strip_prefix(b"HTTP/1.").and_then(|rest| rest.get(1..5))?;
    let &[b' ', hundreds @ b'1'..=b'5', tens @ b'0'..=b'9', ones @ b'0'..=b'9'] = digits else { return None };
    Some(u16::from(hundreds - b'0') * 100 + u16::from(tens - b'0') * 10 + u16::from(ones - b'0'))
}
