//! Address hash: a client's address always goes to the same backend, as long as that one is eligible.
//!
//! Weighted rendezvous hashing (Thaler and Ravishankar 1998): every backend draws a number from the hash of (client,
//! backend's name), and the best wins; with weights w the numbers are exponential with rate w, and the smallest wins, so
//! that shares are in proportion to weights. When a backend goes, only its own clients move; when one joins, clients
//! move only to it. The price is a scan, one hash per backend; a table such as Maglev's would be O(1) and move a few
//! clients more.
//!
//! Reads the client's key, names and weights; counts nothing. Weight 0 is never chosen. The hash is pinned: every
//! dispatcher, in every later version, agrees where a client belongs. Where weights differ, the scores pass through a
//! logarithm, whose last bit may differ between platforms.

use sojourn_stats::{Stream, math};

use super::Entry;
use crate::{Ask, BackendId, Code, Decision, Explanation, Policy, Reason, Signals, Table, key};

pub(super) const ENTRY: Entry = Entry {
    name: "address-hash",
    summary: "by the hash of the client's address (weighted rendezvous)",
    build: |_| Ok(Box::new(AddressHash::default())),
};

/// See the module.
#[derive(Debug, Default)]
pub struct AddressHash {
    members: Vec<Member>,
    /// All weights are the same: hashes alone decide.
    even: bool,
    membership: u64,
}

#[derive(Clone, Copy, Debug)]
struct Member {
    id: BackendId,
    key: u64,
    weight: f64,
}

impl Policy for AddressHash {
    fn requires(&self) -> Signals {
        Signals::ADDRESS
    }

    fn listens(&self) -> bool {
        false
    }

    fn choose(&mut self, ask: &Ask<'_>, _: &mut Stream) -> Decision {
        if self.membership != ask.table.membership() {
            self.membership = ask.table.membership();
            self.rebuild(ask.table);
        }
        let all_are_free = ask.tried.is_empty() && ask.table.full() == 0;
        let free = self.members.iter().filter(|member| all_are_free || ask.may_choose(member.id));
        let client = scramble(ask.request.client);
        let hashed = free.map(|member| (scramble(client.wrapping_add(member.key)), member));
        let best = if self.even {
            hashed.max_by_key(|&(hash, member)| (hash, member.id))
        } else {
            hashed.min_by(|a, b| score(*a).total_cmp(&score(*b)).then(a.1.id.cmp(&b.1.id)))
        };
        best.map_or_else(Decision::refuse, |(_, member)| {
            Decision::forward(member.id, Reason { code: Code::Hash, ties: 1, value: 0.0 })
        })
    }

    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        let client = scramble(ask.request.client);
        Explanation::of(ask.candidates(), |id| {
            let weight = ask.table.weight(id);
            let member = Member { id, key: key(ask.table.name(id)), weight };
            let hash = scramble(client.wrapping_add(member.key));
            vec![("weight".into(), weight), ("score".into(), score((hash, &member)))]
        })
    }
}

impl AddressHash {
    fn rebuild(&mut self, table: &Table) {
        let members = table.up().iter().filter(|&&id| table.weight(id) > 0.0);
        let member = |&id| Member { id, key: key(table.name(id)), weight: table.weight(id) };
        self.members = members.map(member).collect();
        self.even = self.members.windows(2).all(|pair| pair[0].weight == pair[1].weight);
    }
}

/// Exponential with the member's weight as its rate.
fn score((hash, member): (u64, &Member)) -> f64 {
    let uniform = ((hash >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    -math::ln(uniform) / member.weight
}

/// The finaliser of SplitMix64 (Stafford's variant 13 of MurmurHash3's).
#[inline]
pub(super) fn scramble(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
