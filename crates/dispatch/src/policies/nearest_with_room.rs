//! Nearest with room: the nearest backend that has room for what the client asks for.
//!
//! `resolve_ip` of Agarwal 2001, section 3.5.1. Of a client whose request rate is told: the backends whose round trip to
//! it was measured, the shortest first; the first whose room is above the rate is chosen, and the rate is taken off its
//! room. Of any other client: the backends by the leading bits that their addresses have in common with the client's,
//! ties drawn; the first with room for the mean rate of all clients known. Where none is found: drawn in proportion to
//! free capacity, which takes nothing off; where there is none, in proportion to capacity. A backend that has not
//! reported yet has room.
//!
//! Round trips are ordered for clients whose rate is told, to at most three of the nearest backends by address with room
//! for them: when a rate is told or a client asks whose round trips are unknown or older than the refresh interval, and
//! when all that were measured are full.
//!
//! Parameters; the first value is the default.
//! - `unprobed = address | free-capacity`: what becomes of a client whose rate is told and whose round trips are not
//!   known yet. His text (sections 3.3 and 4.3.3) answers by address; his procedure finds no candidate and draws.
//! - `holds = report | lease`: until when a rate is taken off the room: until the next report of that backend, or until
//!   the answer's lease ends. A report comes long before the client's requests show in it, so many clients are told the
//!   same in between; a lease counts those twice whose requests the report shows already.
//! - `spill = next-nearest | free-capacity`: where a client goes whose nearest backend is full or does not answer. The
//!   next nearest gets all such clients, and may be full next. Drawn in proportion to free capacity, every backend gets a
//!   part of them, at the price of longer ways; their rate is taken off its room too. The second is not in the source.
//! - `bits = 32`: how many leading bits of the addresses are compared at most; his regions have 7 in common.
//! - `probes = true`: with `false` neither rates nor round trips are read, and all clients are placed by address.
//!
//! Reads reports, where clients and backends are, rates and round trips. A choice is two binary searches and a look at
//! the backends of each group that is equally near, up to the first with room; where no one has room, none.

use sojourn_stats::{Stream, Time};

use super::Entry;
use super::nearest::distance;
use crate::nearness::Nearness;
use crate::probing::Probing;
use crate::{Ask, BackendId, Code, Command, Decision, Explanation, Hold, Index, Policy, Reason, Signals, State, Table};

pub(super) const ENTRY: Entry = Entry {
    name: "nearest-with-room",
    summary: "nearest by round trip, else by address, that has room for the client's rate",
    build: |params| {
        let unprobed = params.choice("unprobed", &[("address", true), ("free-capacity", false)])?;
        let holds = params.choice("holds", &[("report", false), ("lease", true)])?;
        let spill = params.choice("spill", &[("next-nearest", false), ("free-capacity", true)])?;
        let probes = params.choice("probes", &[("true", true), ("false", false)])?.unwrap_or(true);
        Ok(Box::new(NearestWithRoom {
            nearness: Nearness::of(params)?,
            probing: probes.then(Probing::default),
            unprobed_by_address: unprobed.unwrap_or(true),
            holds_for_lease: holds.unwrap_or(false),
            spills: spill.unwrap_or(false),
        }))
    },
};

/// See the module.
#[derive(Debug)]
pub struct NearestWithRoom {
    nearness: Nearness,
    probing: Option<Probing>,
    unprobed_by_address: bool,
    holds_for_lease: bool,
    /// What the nearest cannot take is spread by free capacity.
    spills: bool,
}

impl Policy for NearestWithRoom {
    fn requires(&self) -> Signals {
        let probes =
            if self.probing.is_some() { Signals::CLIENT_RATES | Signals::ROUND_TRIPS } else { Signals::empty() };
        let leases = if self.holds_for_lease { Signals::LEASES } else { Signals::empty() };
        Signals::ORIGIN | Signals::REPORTS | Signals::ROOM | probes | leases
    }

    fn index(&self) -> Index {
        Index::Room
    }

    fn listens(&self) -> bool {
        self.probing.is_some()
    }

    fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision {
        self.nearness.update(ask.table);
        let told = self.told_rate(ask);
        let rate = told.or_else(|| self.mean_rate(ask)).unwrap_or(0.0);
        if told.is_some() && ask.clients.probes_are_due(ask.request.client, ask.now) {
            self.order(ask, rate, draw);
        }
        let unprobed = ask.clients.round_trips(ask.request.client).len() == 0;
        let by_address = told.is_none() || (unprobed && self.unprobed_by_address);
        let found = match ask.table.any_has_room(rate) {
            false => None,
            true if by_address => self.nearest_by_address(ask, rate, draw),
            true => self.nearest_by_round_trip(ask, rate),
        };
        if found.is_none() && !by_address {
            self.order(ask, rate, draw);
        }
        match found {
            Some((id, reason)) => Decision::forward(id, reason).held(self.hold(ask, rate)),
            None => {
                let drawn = Decision::forward_or_refuse(ask.table.draw_by_room(ask.tried, draw));
                if self.spills { drawn.held(self.hold(ask, rate)) } else { drawn }
            }
        }
    }

    /// The nearest with room, and then the nearest of the others.
    fn answer(&self, ask: &Ask<'_>, _: BackendId, list: &mut Vec<BackendId>) {
        let rate = self.told_rate(ask).or_else(|| self.mean_rate(ask)).unwrap_or(0.0);
        self.nearness.order(ask, list, |id| fits(ask, id, rate));
        self.nearness.order(ask, list, |id| ask.may_choose(id));
    }

    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        let rate = self.told_rate(ask).or_else(|| self.mean_rate(ask)).unwrap_or(0.0);
        Explanation::of(ask.candidates(), |id| {
            let terms = ask.table.terms(id).into_iter().chain([("rate_per_s".into(), rate)]);
            terms.chain(distance(ask, &self.nearness, id)).collect()
        })
    }

    fn rated(&mut self, ask: &Ask<'_>, draw: &mut Stream) {
        self.nearness.update(ask.table);
        let client = ask.request.client;
        if let Some(rate) = self.told_rate(ask)
            && (ask.clients.round_trips(client).len() == 0 || ask.clients.probes_are_due(client, ask.now))
        {
            self.order(ask, rate, draw);
        }
    }

    fn poll(&mut self, _: &Table, _: Time) -> Vec<Command> {
        self.probing.as_mut().map_or_else(Vec::new, Probing::commands)
    }

    fn next_deadline(&self) -> Option<Time> {
        self.probing.as_ref().and_then(Probing::deadline)
    }
}

impl NearestWithRoom {
    fn told_rate(&self, ask: &Ask<'_>) -> Option<f64> {
        self.probing.as_ref().and_then(|_| ask.clients.rate(ask.request.client))
    }

    fn mean_rate(&self, ask: &Ask<'_>) -> Option<f64> {
        self.probing.as_ref().and_then(|_| ask.clients.mean_rate())
    }

    /// Orders the round trips of the client to the nearest with room for it.
    fn order(&mut self, ask: &Ask<'_>, rate: f64, draw: &mut Stream) {
        if let Some(probing) = &mut self.probing
            && ask.table.any_has_room(rate)
        {
            probing.order(ask, &self.nearness, draw, |id| ask.table.has_room(id, rate));
        }
    }

    fn nearest_by_round_trip(&self, ask: &Ask<'_>, rate: f64) -> Option<(BackendId, Reason)> {
        let looked_at = if self.spills { 1 } else { usize::MAX };
        let mut known = ask.clients.round_trips(ask.request.client).take(looked_at);
        let (id, round_trip) = known.find(|(id, _)| fits(ask, *id, rate))?;
        Some((id, Reason { code: Code::LeastDistance, ties: 1, value: round_trip.span.as_secs_f64() }))
    }

    fn nearest_by_address(&self, ask: &Ask<'_>, rate: f64, draw: &mut Stream) -> Option<(BackendId, Reason)> {
        let mut groups = self.nearness.groups(ask.request.origin);
        if self.spills {
            let there = |id: BackendId| ask.table.state(id) != State::Left;
            return groups.find(|group| group.members().any(there))?.draw(draw, |id| fits(ask, id, rate));
        }
        groups.find_map(|group| group.draw(draw, |id| fits(ask, id, rate)))
    }

    /// Until when the rate is taken off the room of what is chosen.
    fn hold(&self, ask: &Ask<'_>, rate: f64) -> Hold {
        let room = rate as f32;
        match ask.request.lease.filter(|_| self.holds_for_lease) {
            Some(lease) => Hold::Reserved { until: ask.now + lease, room },
            None => Hold::UntilReport { cpu: 0.0, room },
        }
    }
}

fn fits(ask: &Ask<'_>, id: BackendId, rate: f64) -> bool {
    ask.table.has_room(id, rate) && !ask.tried.contains(&id)
}
