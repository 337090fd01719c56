//! Members in queues by key: of those with the smallest key, the one that has had it for longest.
//!
//! It is the order of HAProxy's tree of servers (`eb32_insert` of ebtree: equal keys in the order in which they were
//! put in), where a server moves to the end of its new key whenever its key changes, and stays where it is when the key
//! stays. The keys that are in use stand in a B-tree, the members of one key in a list through the nodes, so that a
//! move costs two ways down a tree of as many entries as there are different keys. The price against
//! [`super::Tournament`]: many different keys cost more.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

const NONE: u32 = u32::MAX;

#[derive(Debug, Default)]
pub(crate) struct Queues {
    nodes: Vec<Node>,
    queues: BTreeMap<u64, Queue>,
    visits: u64,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    key: u64,
    before: u32,
    after: u32,
    is_member: bool,
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    first: u32,
    last: u32,
    count: u32,
}

const NO_MEMBER: Node = Node { key: 0, before: NONE, after: NONE, is_member: false };

impl Queues {
    /// The smallest key, how many members have it, and which has had it for longest.
    #[inline]
    pub(crate) fn first(&self) -> Option<(u64, u32, u32)> {
        let (key, queue) = self.queues.first_key_value()?;
        Some((*key, queue.count, queue.first))
    }

    /// A member's key.
    #[inline]
    pub(crate) fn key(&self, member: u32) -> Option<u64> {
        self.nodes.get(member as usize).filter(|node| node.is_member).map(|node| node.key)
    }

    /// The members of `key`, the one that has had it for longest first.
    pub(crate) fn of(&self, key: u64) -> impl Iterator<Item = u32> + Clone + '_ {
        self.walk(self.queues.get(&key).map_or(NONE, |queue| queue.first))
    }

    /// All members, by key and then by age.
    pub(crate) fn members(&self) -> impl Iterator<Item = u32> + '_ {
        self.queues.values().flat_map(|queue| self.walk(queue.first))
    }

    /// The smallest key in use that is at least `from`.
    #[inline]
    pub(crate) fn next_key(&self, from: u64) -> Option<u64> {
        self.queues.range(from..).next().map(|(key, _)| *key)
    }

    /// Sets a member's key, and makes it one if it is not: it is then the youngest of that key, unless it had the key
    /// already.
    #[inline]
    pub(crate) fn set(&mut self, member: u32, key: u64) {
        if self.nodes.len() <= member as usize {
            self.nodes.resize(member as usize + 1, NO_MEMBER);
        }
        let node = self.nodes[member as usize];
        if node.is_member {
            if node.key == key {
                return;
            }
            self.take_out(member);
        }
        self.visits += 1;
        let before = match self.queues.entry(key) {
            Entry::Vacant(vacant) => {
                vacant.insert(Queue { first: member, last: member, count: 1 });
                NONE
            }
            Entry::Occupied(occupied) => {
                let queue = occupied.into_mut();
                queue.count += 1;
                std::mem::replace(&mut queue.last, member)
            }
        };
        if before != NONE {
            self.nodes[before as usize].after = member;
        }
        self.nodes[member as usize] = Node { key, before, after: NONE, is_member: true };
    }

    /// Removes a member, if it is one.
    pub(crate) fn remove(&mut self, member: u32) {
        if self.nodes.get(member as usize).is_some_and(|node| node.is_member) {
            self.take_out(member);
            self.nodes[member as usize].is_member = false;
        }
    }

    pub(crate) fn visits(&self) -> u64 {
        self.visits
    }

    pub(crate) fn memory(&self) -> usize {
        // A B-tree is at least half full.
        size_of::<Node>() * self.nodes.capacity() + 2 * size_of::<(u64, Queue)>() * self.queues.len()
    }

    fn take_out(&mut self, member: u32) {
        let Node { key, before, after, .. } = self.nodes[member as usize];
        self.visits += 1;
        if before != NONE {
            self.nodes[before as usize].after = after;
        }
        if after != NONE {
            self.nodes[after as usize].before = before;
        }
        let Entry::Occupied(mut occupied) = self.queues.entry(key) else { unreachable!("a member's key is in use") };
        let queue = occupied.get_mut();
        queue.count -= 1;
        if queue.count == 0 {
            occupied.remove();
            return;
        }
        if before == NONE {
            queue.first = after;
        }
        if after == NONE {
            queue.last = before;
        }
    }

    fn walk(&self, first: u32) -> impl Iterator<Item = u32> + Clone + '_ {
        let follow = |at: u32| (at != NONE).then_some(at);
        std::iter::successors(follow(first), move |at| follow(self.nodes[*at as usize].after))
    }
}
