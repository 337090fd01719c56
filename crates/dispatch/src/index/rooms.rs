//! Free capacity and capacity of the members, in whole millionths of a request per second: who is drawn in proportion to
//! either, and how much the one with the most has free. One
//! that has told neither is known as such. Price: four ways up a tree per change.

use super::{Sums, Tournament};

#[derive(Debug, Default)]
pub(crate) struct Rooms {
    free: Sums,
    capacity: Sums,
    /// Those that have told neither, each with weight 1.
    unknown: Sums,
    /// The one with the most has the smallest key.
    most: Tournament,
}

impl Rooms {
    /// What is free at each.
    #[inline]
    pub(crate) fn free(&self) -> &Sums {
        &self.free
    }

    /// The capacity of each.
    #[inline]
    pub(crate) fn capacity(&self) -> &Sums {
        &self.capacity
    }

    /// Those of which neither is known, each with weight 1.
    #[inline]
    pub(crate) fn unknown(&self) -> &Sums {
        &self.unknown
    }

    /// How much the member with the most has free.
    #[inline]
    pub(crate) fn most(&self) -> u64 {
        self.most.least().map_or(0, |((key, _), _)| u64::MAX - key)
    }

    /// Sets what a member has, and makes it one if it is not.
    pub(crate) fn set(&mut self, member: u32, free: u64, capacity: u64) {
        self.unknown.set(member, 0);
        self.free.set(member, free);
        self.capacity.set(member, capacity);
        self.most.set(member, (u64::MAX - free, 0));
    }

    /// Says that nothing is known of a member, and makes it one if it is not.
    pub(crate) fn set_unknown(&mut self, member: u32) {
        self.remove(member);
        self.unknown.set(member, 1);
    }

    /// Removes a member, if it is one.
    pub(crate) fn remove(&mut self, member: u32) {
        self.unknown.set(member, 0);
        self.free.set(member, 0);
        self.capacity.set(member, 0);
        self.most.remove(member);
    }

    pub(crate) fn visits(&self) -> u64 {
        self.free.visits() + self.capacity.visits() + self.unknown.visits() + self.most.visits()
    }

    pub(crate) fn memory(&self) -> usize {
        self.free.memory() + self.capacity.memory() + self.unknown.memory() + self.most.memory()
    }
}
