//! A tournament tree: the smallest key and how many hold it.
//!
//! Every node carries the smaller of its children's keys and the number of leaves below that hold it, so that one
//! tie, drawn uniformly, or the one with the lowest id, is found on one way down. Price: 32 to 64 bytes per member.

use super::room_for;

/// What is compared: first this, then that.
pub(crate) type Key = (u64, u32);

#[derive(Debug, Default)]
pub(crate) struct Tournament {
    /// Node 1 is the root, the children of node i are 2i and 2i + 1, the leaves are the second half.
    nodes: Vec<Node>,
    members: usize,
    visits: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Node {
    first: u64,
    second: u32,
    /// 0: no member is below.
    ties: u32,
}

const NO_MEMBER: Node = Node { first: u64::MAX, second: u32::MAX, ties: 0 };

impl Tournament {
    /// The smallest key and how many members hold it.
    #[inline]
    pub(crate) fn least(&self) -> Option<(Key, u32)> {
        let root = self.nodes.get(1)?;
        (root.ties > 0).then_some(((root.first, root.second), root.ties))
    }

    /// The `rank`-th of the members that hold the smallest key, in the order of their numbers.
    #[inline]
    pub(crate) fn tied(&self, mut rank: u32) -> u32 {
        let leaves = self.nodes.len() / 2;
        let best = self.nodes[1];
        let mut at = 1;
        while at < leaves {
            at *= 2;
            let left = self.nodes[at];
            let ties = if left.first == best.first && left.second == best.second { left.ties } else { 0 };
            if rank >= ties {
                rank -= ties;
                at += 1;
            }
        }
        (at - leaves) as u32
    }

    /// How many members there are.
    pub(crate) fn len(&self) -> usize {
        self.members
    }

    /// Sets a member's key, and makes it one if it is not.
    #[inline]
    pub(crate) fn set(&mut self, member: u32, (first, second): Key) {
        self.put(member, Node { first, second, ties: 1 });
    }

    /// Removes a member, if it is one.
    pub(crate) fn remove(&mut self, member: u32) {
        if (member as usize) < self.nodes.len() / 2 {
            self.put(member, NO_MEMBER);
        }
    }

    pub(crate) fn visits(&self) -> u64 {
        self.visits
    }

    pub(crate) fn memory(&self) -> usize {
        size_of::<Node>() * self.nodes.capacity()
    }

    fn put(&mut self, member: u32, node: Node) {
        let leaves = self.nodes.len() / 2;
        if member as usize >= leaves {
            self.grow(room_for(member as usize, leaves));
        }
        let mut at = self.nodes.len() / 2 + member as usize;
        self.members = self.members + node.ties as usize - self.nodes[at].ties as usize;
        self.nodes[at] = node;
        while at > 1 {
            self.visits += 1;
            let winner = match_of(self.nodes[at & !1], self.nodes[at | 1]);
            at /= 2;
            if self.nodes[at] == winner {
                break;
            }
            self.nodes[at] = winner;
        }
    }

    fn grow(&mut self, leaves: usize) {
        let before = self.nodes.len() / 2;
        let mut nodes = vec![NO_MEMBER; 2 * leaves];
        nodes[leaves..leaves + before].copy_from_slice(&self.nodes[before..]);
        for at in (1..leaves).rev() {
            nodes[at] = match_of(nodes[2 * at], nodes[2 * at + 1]);
        }
        self.nodes = nodes;
    }
}

#[inline]
fn match_of(left: Node, right: Node) -> Node {
    match (left.first, left.second).cmp(&(right.first, right.second)) {
        std::cmp::Ordering::Less => left,
        std::cmp::Ordering::Greater => right,
        std::cmp::Ordering::Equal => Node { ties: left.ties + right.ties, ..left },
    }
}
