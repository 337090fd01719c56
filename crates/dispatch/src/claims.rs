//! What clients that an asker only claims to stand for may take of a backend's room.
//!
//! A resolver may tell for which network it asks (EDNS client subnet), and may lie: each answer takes the client's rate off
//! the room of the backend that is named, so a few packets that name a busy client again and again would leave that backend
//! without room until its next report. So for as long as what was taken is held, a client that is claimed again takes nothing
//! more of that backend, and all clients that one asker claims take at most half of the room that it reported. Requests
//! without [`Request::claimed_by`] are not touched: what they say of their client was seen.
//!
//! Where a choice is held for a lease there is no report that ends it: then an asker may take a quarter within the time of a
//! lease, so that two such times that overlap have the half.
//!
//! Both are kept in tables of fixed size, found by hashes: a flood of lies takes no memory, and a choice two looks. The price:
//! clients that share a place push each other out of it and may be counted again, and askers that share one share its half. An
//! honest resolver that brings more than half of a backend's room between two of its reports is believed for that half alone.

use sojourn_stats::Time;

use crate::{BackendId, Hold, Request, Table};

/// Places for clients, and as many for askers, of 24 bytes each.
const PLACES: usize = 4096;
/// Of the room reported, what one asker may take until the next report.
const OF_REPORT: f32 = 0.5;
/// The same, within the time of a lease.
const OF_LEASE: f32 = 0.25;

/// What was taken of the room of each backend; nothing is kept before the first claim.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    clients: Vec<Taken>,
    askers: Vec<Taken>,
}

/// What one client or asker has taken of one backend's room.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    /// The hash of both.
    of: u64,
    /// Until when that counts: the number of the report after which it was taken, or when its lease ends.
    period: u64,
    /// Requests per second.
    room: f32,
}

impl Claims {
    /// How a choice of `backend` for what `asker` claims is held: as `hold` says, but for the room that it may not take.
    pub(crate) fn within(
        &mut self,
        hold: Hold,
        (request, asker): (&Request, u64),
        (backend, table): (BackendId, &Table),
        now: Time,
    ) -> Hold {
        let (room, period, part) = match hold {
            Hold::UntilTold | Hold::Until(_) => return hold,
            Hold::UntilReport { room, .. } => (room, table.reports(backend), OF_REPORT),
            Hold::Reserved { until, room } => (room, until.0, OF_LEASE),
        };
        let counts = |taken: &Taken| match hold {
            Hold::Reserved { .. } => now.0 < taken.period,
            _ => taken.period == period,
        };
        let own =
            place(&mut self.clients, request.client, backend, |taken, of| taken.of == of && counts(taken), period);
        let all = place(&mut self.askers, asker, backend, |taken, _| counts(taken), period);
        let most = table.report(backend).map_or(0.0, |report| report.room * part);
        let room = (room - own.room).min(most - all.room).max(0.0);
        own.room += room;
        all.room += room;
        match hold {
            Hold::UntilReport { cpu, .. } => Hold::UntilReport { cpu, room },
            Hold::Reserved { until, .. } => Hold::Reserved { until, room },
            other => other,
        }
    }
}

/// The place of `who` at `backend`, where nothing stands that does not count any more.
fn place(
    all: &mut Vec<Taken>,
    who: u64,
    backend: BackendId,
    counts: impl FnOnce(&Taken, u64) -> bool,
    period: u64,
) -> &mut Taken {
    if all.is_empty() {
        *all = vec![Taken::default(); PLACES];
    }
    let of = (who ^ u64::from(backend.0).rotate_right(8)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let taken = &mut all[(of >> 40) as usize % PLACES];
    if !counts(taken, of) {
        *taken = Taken { of, period, room: 0.0 };
    }
    taken
}
