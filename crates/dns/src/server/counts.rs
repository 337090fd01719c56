//! What a server has answered: counted by each thread for itself, and summed up when asked for.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use crate::answer::{Done, Transport};
use crate::wire::kind;

/// Types that are counted by name, and all others.
const KINDS: [(u16, &str); 13] = [
    (kind::A, "A"),
    (kind::AAAA, "AAAA"),
    (kind::NS, "NS"),
    (kind::SOA, "SOA"),
    (kind::TXT, "TXT"),
    (kind::CNAME, "CNAME"),
    (kind::MX, "MX"),
    (kind::SRV, "SRV"),
    (kind::CAA, "CAA"),
    (kind::ANY, "ANY"),
    (kind::AXFR, "AXFR"),
    (kind::IXFR, "IXFR"),
    (0, "other"),
];

/// Codes that are given.
const CODES: [(u16, &str); 9] = [
    (0, "NOERROR"),
    (1, "FORMERR"),
    (2, "SERVFAIL"),
    (3, "NXDOMAIN"),
    (4, "NOTIMP"),
    (5, "REFUSED"),
    (9, "NOTAUTH"),
    (16, "BADVERS"),
    (23, "BADCOOKIE"),
];

/// What a server has done so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ServerCounts {
    /// Queries answered over UDP, by type.
    pub udp: BTreeMap<&'static str, u64>,
    /// Queries answered over TCP, by type.
    pub tcp: BTreeMap<&'static str, u64>,
    /// Replies by their code.
    pub replies: BTreeMap<&'static str, u64>,
    /// Replies that tell to ask over TCP because all would not fit.
    pub truncated: u64,
    /// Queries over the limit of their network that got no answer.
    pub limited: u64,
    /// Queries over the limit that were told to ask over TCP, or with a cookie.
    pub slipped: u64,
    /// Packets dropped: replies, or no messages.
    pub malformed: u64,
    /// Packets dropped: from this very server, or from port 0.
    pub looped: u64,
    /// Replies that the system did not send.
    pub unsent: u64,
    /// Connections taken in.
    pub connections: u64,
    /// Connections closed at once because too many were open, in all or of their network.
    pub connections_refused: u64,
    /// Connections cut off: idle, slow, or with something else than queries.
    pub connections_cut: u64,
}

/// The counts of one thread, which alone writes them.
#[derive(Debug, Default)]
pub(super) struct Tally {
    udp: [AtomicU64; KINDS.len()],
    tcp: [AtomicU64; KINDS.len()],
    replies: [AtomicU64; CODES.len()],
    truncated: AtomicU64,
    limited: AtomicU64,
    slipped: AtomicU64,
    malformed: AtomicU64,
    pub(super) looped: AtomicU64,
    pub(super) unsent: AtomicU64,
    pub(super) connections: AtomicU64,
    pub(super) connections_refused: AtomicU64,
    pub(super) connections_cut: AtomicU64,
}

/// One more; only one thread may do so.
pub(super) fn bump(count: &AtomicU64) {
    count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

impl Tally {
    pub(super) fn add(&self, transport: Transport, done: Done) {
        match done {
            Done::Malformed => bump(&self.malformed),
            Done::Limited => bump(&self.limited),
            Done::Replied { kind, code, is_truncated, is_slipped } => {
                let by_kind = if transport == Transport::Udp { &self.udp } else { &self.tcp };
                bump(&by_kind[place(&KINDS, kind)]);
                bump(&self.replies[place(&CODES, code)]);
                if is_slipped {
                    bump(&self.slipped);
                } else if is_truncated {
                    bump(&self.truncated);
                }
            }
        }
    }

    pub(super) fn sum<'a>(all: impl IntoIterator<Item = &'a Tally>) -> ServerCounts {
        let mut sum = ServerCounts::default();
        for tally in all {
            for (to, from) in [(&mut sum.udp, &tally.udp), (&mut sum.tcp, &tally.tcp)] {
                add(to, &KINDS, from);
            }
            add(&mut sum.replies, &CODES, &tally.replies);
            for (to, from) in [
                (&mut sum.truncated, &tally.truncated),
                (&mut sum.limited, &tally.limited),
                (&mut sum.slipped, &tally.slipped),
                (&mut sum.malformed, &tally.malformed),
                (&mut sum.looped, &tally.looped),
                (&mut sum.unsent, &tally.unsent),
                (&mut sum.connections, &tally.connections),
                (&mut sum.connections_refused, &tally.connections_refused),
                (&mut sum.connections_cut, &tally.connections_cut),
            ] {
                *to += from.load(Ordering::Relaxed);
            }
        }
        sum
    }
}

/// Where a number is counted: the last place is that of all not named.
fn place(names: &[(u16, &str)], number: u16) -> usize {
    names.iter().position(|(of, _)| *of == number).unwrap_or(names.len() - 1)
}

fn add(sum: &mut BTreeMap<&'static str, u64>, names: &[(u16, &'static str)], counts: &[AtomicU64]) {
    for ((_, name), count) in names.iter().zip(counts) {
        let count = count.load(Ordering::Relaxed);
        if count > 0 {
            *sum.entry(name).or_default() += count;
        }
    }
}
