//! Nearest: the backend with the shortest round trip to the client where one is known, else the one nearest by address;
//! ties are drawn. No look at load.
//!
//! Parameters: `bits`, how many leading bits of the addresses are compared at most, default 32 (with 7, which were the
//! regions of Agarwal 2001, section 4.5, all backends of the client's region tie); `probes`, default `true`: whether
//! round trips are measured, to the nearest backends by address, anew after the refresh interval of the face. The first
//! answer to a client is by address. Reads where clients and backends are, and round trips; counts nothing. A choice by
//! address is two binary searches and a look at each of the nearest.

use sojourn_stats::{Stream, Time};

use super::Entry;
use crate::nearness::Nearness;
use crate::probing::Probing;
use crate::{Ask, BackendId, Code, Command, Decision, Explanation, Policy, Reason, Signals, Table, Terms};

pub(super) const ENTRY: Entry = Entry {
    name: "nearest",
    summary: "shortest round trip to the client, else most leading bits in common with its address",
    build: |params| {
        let nearness = Nearness::of(params)?;
        let probes = params.choice("probes", &[("true", true), ("false", false)])?.unwrap_or(true);
        Ok(Box::new(Nearest { nearness, probing: probes.then(Probing::default) }))
    },
};

/// See the module.
#[derive(Debug)]
pub struct Nearest {
    nearness: Nearness,
    probing: Option<Probing>,
}

impl Policy for Nearest {
    fn requires(&self) -> Signals {
        if self.probing.is_some() { Signals::ORIGIN | Signals::ROUND_TRIPS } else { Signals::ORIGIN }
    }

    fn listens(&self) -> bool {
        false
    }

    fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision {
        self.nearness.update(ask.table);
        let client = ask.request.client;
        if let Some(probing) = &mut self.probing {
            if ask.clients.probes_are_due(client, ask.now) {
                probing.order(ask, &self.nearness, draw, |id| ask.table.is_eligible(id));
            }
            let mut known = ask.clients.round_trips(client).filter(|(id, _)| ask.may_choose(*id));
            if let Some((id, round_trip)) = known.next() {
                let value = round_trip.span.as_secs_f64();
                return Decision::forward(id, Reason { code: Code::LeastDistance, ties: 1, value });
            }
        }
        let mut groups = self.nearness.groups(ask.request.origin);
        Decision::forward_or_refuse(groups.find_map(|group| group.draw(draw, |id| ask.may_choose(id))))
    }

    fn answer(&self, ask: &Ask<'_>, _: BackendId, list: &mut Vec<BackendId>) {
        self.nearness.order(ask, list, |id| ask.may_choose(id));
    }

    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        Explanation::of(ask.candidates(), |id| distance(ask, &self.nearness, id))
    }

    fn poll(&mut self, _: &Table, _: Time) -> Vec<Command> {
        self.probing.as_mut().map_or_else(Vec::new, Probing::commands)
    }

    fn next_deadline(&self) -> Option<Time> {
        self.probing.as_ref().and_then(Probing::deadline)
    }
}

/// How far a backend is: the bits that it shares with the client's address, and the round trip where it is known.
pub(super) fn distance(ask: &Ask<'_>, nearness: &Nearness, id: BackendId) -> Terms {
    let bits = nearness.bits_in_common(ask.request.origin, ask.table.origin(id));
    let round_trip = ask.clients.round_trip(ask.request.client, id);
    let round_trip = round_trip.map(|known| ("round_trip_s".into(), known.span.as_secs_f64()));
    [("shared_bits".into(), bits.into())].into_iter().chain(round_trip).collect()
}
