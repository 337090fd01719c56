//! Clients in one block of memory, each in a place of 56 bytes, found by a table of 32-bit numbers of places.
//!
//! A place is never given up: of a client that is forgotten the next one gets it. Two orders run through the places, by their
//! last use and by when their rate was told, as lists of neighbours within them. Round trips stand in a block of their own, so
//! many for each place as any client has had (doubled where one gets more). So a client costs 56 bytes, 24 for each round trip
//! and 5 to 11 in the table; a map of its own for each of both orders, and a list of its own for each client's round trips,
//! took twice that. The price: a client without round trips has room for them too.
//!
//! A choice asks for the same client several times: the place that was looked for last is tried first, without the table.

use hashbrown::HashTable;
use sojourn_stats::{Span, Time};

use super::RoundTrip;
use crate::BackendId;

/// In the place of a place: none.
const NONE: u32 = u32::MAX;

/// Places that there is room for from the beginning.
const FIRST: usize = 16;

/// Clients that are known, at most so many.
#[derive(Debug)]
pub(super) struct Slab {
    table: HashTable<u32>,
    places: Vec<Place>,
    trips: Vec<Trip>,
    /// Round trips of each place that there is room for.
    width: usize,
    /// First and last of each order.
    ends: [Links; 2],
    /// The place that was looked for last.
    recent: u32,
    at_most: usize,
}

/// One client.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) client: u64,
    /// Requests per second; not a number where it was not told.
    rate: f64,
    /// When the rate was told.
    told: Time,
    /// When its round trips were last asked for; [`Time::NEVER`] where they were not.
    probed: Time,
    links: [Links; 2],
    trips: u32,
}

/// A round trip of a client.
#[derive(Clone, Copy, Debug)]
struct Trip {
    span: Span,
    measured: Time,
    from: BackendId,
    answers: u32,
}

/// The first and the last of a list, or one's neighbours towards them.
#[derive(Clone, Copy, Debug)]
struct Links {
    first: u32,
    last: u32,
}

const APART: Links = Links { first: NONE, last: NONE };

// The promise is 200 bytes per client with three round trips, table and names of rates included.
const _: () = assert!(size_of::<Place>() == 56 && size_of::<Trip>() == 24);

/// An order of clients, the latest first.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    /// All, by their last use.
    Used,
    /// Those with a rate, by when it was told.
    Told,
}

impl Place {
    /// Its rate (1/s) and when that was told.
    #[inline]
    pub(super) fn rate(&self) -> Option<(f64, Time)> {
        (!self.rate.is_nan()).then_some((self.rate, self.told))
    }

    /// When its round trips were last asked for.
    #[inline]
    pub(super) fn probed(&self) -> Option<Time> {
        (self.probed != Time::NEVER).then_some(self.probed)
    }

    pub(super) fn set_probed(&mut self, at: Time) {
        self.probed = at;
    }
}

impl Slab {
    pub(super) fn new(at_most: usize) -> Slab {
        Slab {
            table: HashTable::new(),
            places: Vec::new(),
            trips: Vec::new(),
            width: 0,
            ends: [APART; 2],
            recent: NONE,
            at_most: at_most.min(NONE as usize),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// The place of a client, if it is known.
    #[inline]
    pub(super) fn find(&self, client: u64) -> Option<u32> {
        if self.places.get(self.recent as usize).is_some_and(|place| place.client == client) {
            return Some(self.recent);
        }
        self.table.find(spread(client), |place| self.places[*place as usize].client == client).copied()
    }

    /// The client at a place.
    #[inline]
    pub(super) fn at(&self, place: u32) -> &Place {
        &self.places[place as usize]
    }

    pub(super) fn at_mut(&mut self, place: u32) -> &mut Place {
        &mut self.places[place as usize]
    }

    /// What is known of a client.
    #[inline]
    pub(super) fn known(&self, client: u64) -> Option<&Place> {
        self.find(client).map(|place| self.at(place))
    }

    /// Counts as the last use of a client, if it is known.
    #[inline]
    pub(super) fn promote(&mut self, client: u64) {
        if let Some(place) = self.find(client) {
            self.recent = place;
            self.move_to_front(Order::Used, place);
        }
    }

    /// The place of a client, which is used: of one that is not known a new one, or that of the one that was used longest ago,
    /// which is forgotten then. `forget` is given the rate that goes with it.
    pub(super) fn place_of(&mut self, client: u64, forget: impl FnOnce(f64)) -> u32 {
        let place = match self.find(client) {
            Some(place) => {
                self.move_to_front(Order::Used, place);
                place
            }
            None if self.places.len() < self.at_most => self.add(client),
            None => self.replace(client, forget),
        };
        self.recent = place;
        place
    }

    /// The rate of a place is told; gives the one before.
    pub(super) fn set_rate(&mut self, place: u32, per_s: f64, told: Time) -> Option<f64> {
        let before = self.at(place).rate();
        match before {
            Some(_) => self.move_to_front(Order::Told, place),
            None => self.push_front(Order::Told, place),
        }
        let known = self.at_mut(place);
        (known.rate, known.told) = (per_s, told);
        before.map(|(rate, _)| rate)
    }

    /// Forgets the rate of a place; gives it.
    pub(super) fn take_rate(&mut self, place: u32) -> Option<f64> {
        let (rate, _) = self.at(place).rate()?;
        self.unlink(Order::Told, place);
        self.at_mut(place).rate = f64::NAN;
        Some(rate)
    }

    /// The one whose rate was told longest ago.
    #[inline]
    pub(super) fn oldest_told(&self) -> Option<u32> {
        Some(self.ends[Order::Told as usize].last).filter(|place| *place != NONE)
    }

    /// All clients, the one that was used longest ago first.
    pub(super) fn by_use(&self) -> impl Iterator<Item = (u32, &Place)> {
        let mut next = self.ends[Order::Used as usize].last;
        std::iter::from_fn(move || {
            let place = self.places.get(next as usize)?;
            Some((std::mem::replace(&mut next, place.links[Order::Used as usize].first), place))
        })
    }

    /// The round trips of a place, as they were put there.
    #[inline]
    pub(super) fn trips(&self, place: u32) -> impl ExactSizeIterator<Item = (BackendId, RoundTrip)> + Clone + '_ {
        self.slice(place).iter().map(Trip::told)
    }

    /// The round trips of a client; none of one that is not known.
    #[inline]
    pub(super) fn trips_of(&self, client: u64) -> impl ExactSizeIterator<Item = (BackendId, RoundTrip)> + Clone + '_ {
        self.find(client).map_or(&[][..], |place| self.slice(place)).iter().map(Trip::told)
    }

    /// Puts a round trip before the one at `index`; those beyond `at_most` are forgotten.
    pub(super) fn insert_trip(&mut self, place: u32, index: usize, from: BackendId, of: RoundTrip, at_most: usize) {
        let count = self.at(place).trips as usize;
        if index >= at_most {
            return;
        }
        let kept = (count + 1).min(at_most);
        if kept > self.width {
            self.widen(kept.max((2 * self.width).min(at_most)));
        }
        let start = place as usize * self.width;
        self.trips.copy_within(start + index..start + kept - 1, start + index + 1);
        let RoundTrip { span, measured, answers } = of;
        self.trips[start + index] = Trip { span, measured, from, answers };
        self.at_mut(place).trips = kept as u32;
    }

    /// Takes a round trip away.
    pub(super) fn remove_trip(&mut self, place: u32, index: usize) {
        let (start, count) = (place as usize * self.width, self.at(place).trips as usize);
        self.trips.copy_within(start + index + 1..start + count, start + index);
        self.at_mut(place).trips -= 1;
    }

    #[inline]
    fn slice(&self, place: u32) -> &[Trip] {
        let start = place as usize * self.width;
        &self.trips[start..start + self.at(place).trips as usize]
    }

    fn add(&mut self, client: u64) -> u32 {
        let place = self.places.len();
        if place == self.places.capacity() {
            // Doubled, but not beyond what there may be.
            let further = place.max(FIRST).min(self.at_most - place);
            self.places.reserve_exact(further);
            self.trips.reserve_exact(further * self.width);
        }
        self.places.push(Place::new(client));
        self.trips.resize((place + 1) * self.width, Trip::NONE);
        self.enter(place as u32);
        place as u32
    }

    /// Gives the place of the one that was used longest ago to another client.
    fn replace(&mut self, client: u64, forget: impl FnOnce(f64)) -> u32 {
        let place = self.ends[Order::Used as usize].last;
        if let Some(rate) = self.take_rate(place) {
            forget(rate);
        }
        self.unlink(Order::Used, place);
        let gone = self.at(place).client;
        let entry = self.table.find_entry(spread(gone), |other| *other == place);
        entry.expect("what has a place is in the table").remove();
        *self.at_mut(place) = Place::new(client);
        self.enter(place);
        place
    }

    fn enter(&mut self, place: u32) {
        let places = &self.places;
        let hash = spread(places[place as usize].client);
        self.table.insert_unique(hash, place, |place| spread(places[*place as usize].client));
        assert!(self.table.len() == self.places.len(), "each place is in the table, and nothing else is");
        self.push_front(Order::Used, place);
    }

    #[inline]
    fn move_to_front(&mut self, order: Order, place: u32) {
        if self.ends[order as usize].first != place {
            self.unlink(order, place);
            self.push_front(order, place);
        }
    }

    fn push_front(&mut self, order: Order, place: u32) {
        let order = order as usize;
        let second = std::mem::replace(&mut self.ends[order].first, place);
        self.places[place as usize].links[order] = Links { first: NONE, last: second };
        match self.places.get_mut(second as usize) {
            Some(second) => second.links[order].first = place,
            None => self.ends[order].last = place,
        }
    }

    fn unlink(&mut self, order: Order, place: u32) {
        let order = order as usize;
        let Links { first, last } = self.places[place as usize].links[order];
        match self.places.get_mut(first as usize) {
            Some(before) => before.links[order].last = last,
            None => self.ends[order].first = last,
        }
        match self.places.get_mut(last as usize) {
            Some(after) => after.links[order].first = first,
            None => self.ends[order].last = first,
        }
    }

    /// Makes room for so many round trips of each.
    fn widen(&mut self, width: usize) {
        let before = std::mem::replace(&mut self.width, width);
        let mut trips = Vec::new();
        trips.reserve_exact(self.places.capacity() * width);
        for place in 0..self.places.len() {
            trips.extend_from_slice(&self.trips[place * before..(place + 1) * before]);
            trips.resize((place + 1) * width, Trip::NONE);
        }
        self.trips = trips;
    }
}

impl Place {
    fn new(client: u64) -> Place {
        Place { client, rate: f64::NAN, told: Time::ZERO, probed: Time::NEVER, links: [APART; 2], trips: 0 }
    }
}

impl Trip {
    /// Where there is none.
    const NONE: Trip = Trip { span: Span::ZERO, measured: Time::ZERO, from: BackendId(0), answers: 0 };

    fn told(&self) -> (BackendId, RoundTrip) {
        let Trip { span, measured, from, answers } = *self;
        (from, RoundTrip { span, measured, answers })
    }
}

/// Spreads the keys of clients over all bits, since those of a simulator follow each other: both halves of a product.
#[inline]
fn spread(client: u64) -> u64 {
    let product = u128::from(client) * 0x9e37_79b9_7f4a_7c15;
    product as u64 ^ (product >> 64) as u64
}
