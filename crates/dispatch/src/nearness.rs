//! Backends by their nearness to a client, judged by address or by region.
//!
//! The nearer of two backends is the one whose address has more leading bits in common with the client's (Agarwal 2001,
//! sections 3.3 and 5.1.4, after RFC 1466, which gave regions their ranges of addresses). Backends that share the same
//! number of bits are equally near. A client whose address is not known is near to the backends of its region, and as
//! near to all others as they are to each other; so are backends without an address to any client.
//!
//! Backends seldom move, so they are kept in the order of their addresses: those that share a number of bits with an
//! address, and no more, stand side by side. The nearest are found by one binary search, and each next group by another,
//! so that a walk from the nearest looks at no backend that is farther than where it stops. Those that are down keep
//! their places: it is the caller that asks whether one can be chosen.

use std::iter;

use sojourn_stats::Stream;

use crate::{Ask, BackendId, Code, DispatchError, Origin, Params, Reason, Table};

/// Backends in the order of their addresses and of their regions.
#[derive(Debug)]
pub(crate) struct Nearness {
    /// So many leading bits are compared at most.
    bits: u32,
    by_address: Vec<(u32, BackendId)>,
    /// Those without an address.
    elsewhere: Vec<(u32, BackendId)>,
    /// All of them; those without a region at the end.
    by_region: Vec<(u32, BackendId)>,
    membership: u64,
}

/// Backends that are equally near.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group<'a> {
    pub(crate) by: Nearby,
    members: &'a [(u32, BackendId)],
}

/// What makes the backends of a group near.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nearby {
    /// They have so many leading bits in common with the client's address.
    Bits(u32),
    /// They are in its region.
    Region,
    /// Nothing is known.
    Nothing,
}

/// In the place of a region that is not known.
const NO_REGION: u32 = u32::MAX;

impl Nearness {
    /// No backends yet; compares so many leading bits at most, 1 to 32.
    fn new(bits: u32) -> Nearness {
        Nearness { bits, by_address: Vec::new(), elsewhere: Vec::new(), by_region: Vec::new(), membership: 0 }
    }

    /// The same, as the parameter `bits` of a policy says; 32 where it says nothing.
    pub(crate) fn of(params: &mut Params<'_>) -> Result<Nearness, DispatchError> {
        match params.text("bits").unwrap_or("32").parse() {
            Ok(bits @ 1..=32) => Ok(Nearness::new(bits)),
            _ => Err(params.wrong("bits is a whole number from 1 to 32, as in `bits = 7`")),
        }
    }

    /// Learns where the backends are, if that has changed.
    #[inline]
    pub(crate) fn update(&mut self, table: &Table) {
        if self.membership != table.membership() {
            self.membership = table.membership();
            self.rebuild(table);
        }
    }

    /// Groups of backends that are equally near to `origin`, the nearest first.
    pub(crate) fn groups(&self, origin: Origin) -> impl Iterator<Item = Group<'_>> {
        let address = origin.address.map(u32::from);
        let near = address.into_iter().flat_map(|address| self.by_prefix(address));
        let region = origin.region.filter(|_| address.is_none()).map(u32::from);
        let inside = region.map(|region| Group { by: Nearby::Region, members: self.of_region(region) });
        let rest = if address.is_some() { &self.elsewhere } else { &self.by_region };
        let rest = Group { by: Nearby::Nothing, members: rest };
        near.chain(inside).chain(iter::once(rest)).filter(|group| !group.members.is_empty())
    }

    /// Adds those that fit and are not on the list yet: by round trip where it is known, then by address.
    pub(crate) fn order(&self, ask: &Ask<'_>, list: &mut Vec<BackendId>, fits: impl Fn(BackendId) -> bool) {
        let measured = ask.clients.round_trips(ask.request.client).map(|(id, _)| id);
        let groups = self.groups(ask.request.origin);
        for id in measured.chain(groups.flat_map(|group| group.members.iter().map(|(_, id)| *id))) {
            if fits(id) && !list.contains(&id) {
                list.push(id);
            }
        }
    }

    /// How many leading bits the addresses have in common, as far as they are compared; 0 where one is not known.
    pub(crate) fn bits_in_common(&self, one: Origin, other: Origin) -> u32 {
        let addresses = one.address.zip(other.address);
        addresses.map_or(0, |(one, other)| self.shared_bits(one.into(), other.into()))
    }

    fn shared_bits(&self, one: u32, other: u32) -> u32 {
        (one ^ other).leading_zeros().min(self.bits)
    }

    /// Groups of those with an address. What is left of the order is what lies on both sides of the present range.
    fn by_prefix(&self, address: u32) -> impl Iterator<Item = Group<'_>> {
        let all = &self.by_address[..];
        let (first, last) = range(address, self.bits);
        let mut low = all.partition_point(|(other, _)| *other < first);
        let mut high = low + all[low..].partition_point(|(other, _)| *other <= last);
        let nearest = Group { by: Nearby::Bits(self.bits), members: &all[low..high] };
        let further = iter::from_fn(move || {
            let shared = |at: usize| all.get(at).map(|(other, _)| self.shared_bits(address, *other));
            let (below, above) = (low.checked_sub(1).and_then(shared), shared(high));
            let bits = below.max(above)?;
            let (first, last) = range(address, bits);
            // Those that share so many bits and no more differ in the next one, so they are all on the same side.
            let members = if below > above {
                let start = all[..low].partition_point(|(other, _)| *other < first);
                &all[start..std::mem::replace(&mut low, start)]
            } else {
                let end = high + all[high..].partition_point(|(other, _)| *other <= last);
                &all[std::mem::replace(&mut high, end)..end]
            };
            Some(Group { by: Nearby::Bits(bits), members })
        });
        iter::once(nearest).chain(further)
    }

    fn of_region(&self, region: u32) -> &[(u32, BackendId)] {
        let start = self.by_region.partition_point(|(other, _)| *other < region);
        let end = self.by_region.partition_point(|(other, _)| *other <= region);
        &self.by_region[start..end]
    }

    fn rebuild(&mut self, table: &Table) {
        let ids = || (0..table.len() as u32).map(BackendId);
        let address = |id| table.origin(id).address.map(u32::from);
        self.by_address = ids().filter_map(|id| Some((address(id)?, id))).collect();
        self.elsewhere = ids().filter(|id| address(*id).is_none()).map(|id| (0, id)).collect();
        self.by_region = ids().map(|id| (table.origin(id).region.map_or(NO_REGION, u32::from), id)).collect();
        self.by_address.sort_unstable();
        self.by_region.sort_unstable();
    }
}

impl Group<'_> {
    pub(crate) fn members(&self) -> impl Iterator<Item = BackendId> + Clone {
        self.members.iter().map(|(_, id)| *id)
    }

    /// One of those that fit, each equally likely.
    pub(crate) fn draw(&self, stream: &mut Stream, fits: impl Fn(BackendId) -> bool) -> Option<(BackendId, Reason)> {
        let mut fitting = self.members().filter(|id| fits(*id));
        let ties = fitting.clone().count();
        let rank = if ties > 1 { stream.below(ties) } else { 0 };
        let (code, value) = match self.by {
            Nearby::Bits(bits) => (Code::LongestPrefix, bits.into()),
            Nearby::Region => (Code::SameRegion, 0.0),
            Nearby::Nothing => (Code::Drawn, 0.0),
        };
        fitting.nth(rank).map(|id| (id, Reason { code, ties: ties as u32, value }))
    }
}

/// The first and the last address that shares so many leading bits with `address`.
fn range(address: u32, bits: u32) -> (u32, u32) {
    let rest = u32::MAX.checked_shr(bits).unwrap_or(0);
    (address & !rest, address | rest)
}
