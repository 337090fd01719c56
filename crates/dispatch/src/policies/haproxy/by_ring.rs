//! `source` and `uri` with `hash-type consistent`: the nearest point of the ring to a hash.
//!
//! `hash-type consistent` alone hashes once more what it has (`src/cfgparse-listen.c`: "the avalanche modifier is also
//! applied"). With a function and without `avalanche`, as in `hash-type consistent sdbm`, it does not: `avalanche = false`.
//!
//! `source`: the hash is the client's IPv4 address (`src/backend.c`: `get_server_sh`). Without avalanche it is taken as it
//! stands, and addresses near each other go to the same server. A face that does not tell addresses refuses it.
//!
//! `uri`, with avalanche only: a face tells a path's key and not its letters, and the key stands for them. So paths spread
//! as HAProxy's do, but which path goes where is not HAProxy's.
//!
//! If the server is full, the request is refused, where HAProxy would put it into the server's queue.

use std::ops::RangeInclusive;

use sojourn_stats::Stream;

use super::WEIGHTS;
use super::ring::{Ring, full_hash};
use crate::policies::hashed::Layout;
use crate::{Ask, Code, Decision, Explanation, Reason, Request, Signals, Table};

/// See the module.
#[derive(Debug)]
pub(super) struct ByRing {
    by: By,
    ring: Ring,
}

#[derive(Clone, Copy, Debug)]
enum By {
    Source { avalanche: bool },
    Uri,
}

impl ByRing {
    pub(super) fn by_source(avalanche: bool) -> ByRing {
        ByRing { by: By::Source { avalanche }, ring: Ring::default() }
    }

    pub(super) fn by_uri() -> ByRing {
        ByRing { by: By::Uri, ring: Ring::default() }
    }

    fn hash(&self, request: &Request) -> u32 {
        match self.by {
            By::Uri => full_hash((request.key ^ (request.key >> 32)) as u32),
            By::Source { avalanche } => {
                let address = request.origin.address.map_or(0, u32::from);
                if avalanche { full_hash(address) } else { address }
            }
        }
    }
}

impl Layout for ByRing {
    const WEIGHTS: RangeInclusive<f64> = WEIGHTS;

    fn hashes(&self) -> Signals {
        match self.by {
            By::Source { .. } => Signals::ORIGIN,
            By::Uri => Signals::PATH,
        }
    }

    fn lay_out(&mut self, table: &Table) {
        self.ring.lay_out(table);
    }

    fn choose(&mut self, ask: &Ask<'_>, _: &mut Stream) -> Decision {
        let code = if matches!(self.by, By::Uri) { Code::PathHash } else { Code::Hash };
        let found = self.ring.nearest(self.hash(ask.request), |id| ask.tried.contains(&id));
        let found = found.filter(|id| ask.table.is_eligible(*id));
        Decision::forward_or_refuse(found.map(|id| (id, Reason { code, ties: 1, value: 0.0 })))
    }

    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        Explanation::of(ask.candidates(), |id| vec![("share_of_the_ring".into(), self.ring.share(id))])
    }
}
