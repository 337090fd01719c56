//! A tree of sums of integer weights: a member is drawn in proportion to its weight on one way down. Integers, so
//! that no rounding piles up over a thousand million updates.

use super::room_for;

#[derive(Debug, Default)]
pub(crate) struct Sums {
    /// Node 1 is the total, the children of node i are 2i and 2i + 1, the leaves are the second half.
    nodes: Vec<u64>,
    visits: u64,
}

impl Sums {
    /// The sum of all weights.
    #[inline]
    pub(crate) fn total(&self) -> u64 {
        self.nodes.get(1).copied().unwrap_or(0)
    }

    /// The weight of `member`.
    #[inline]
    pub(crate) fn of(&self, member: u32) -> u64 {
        self.nodes.get(self.nodes.len() / 2 + member as usize).copied().unwrap_or(0)
    }

    /// The weights of all members by their numbers, and zeros.
    #[inline]
    pub(crate) fn weights(&self) -> &[u64] {
        &self.nodes[self.nodes.len() / 2..]
    }

    /// The member whose share of the sum covers `point`, which is below the total; and its weight.
    #[inline]
    pub(crate) fn at(&self, mut point: u64) -> (u32, u64) {
        let leaves = self.nodes.len() / 2;
        let mut at = 1;
        while at < leaves {
            at *= 2;
            if point >= self.nodes[at] {
                point -= self.nodes[at];
                at += 1;
            }
        }
        ((at - leaves) as u32, self.nodes[at])
    }

    /// Sets a member's weight; 0 removes it.
    #[inline]
    pub(crate) fn set(&mut self, member: u32, weight: u64) {
        let leaves = self.nodes.len() / 2;
        if member as usize >= leaves {
            self.grow(room_for(member as usize, leaves));
        }
        let mut at = self.nodes.len() / 2 + member as usize;
        let before = self.nodes[at];
        if before == weight {
            return;
        }
        while at > 0 {
            self.visits += 1;
            self.nodes[at] = self.nodes[at] - before + weight;
            at /= 2;
        }
    }

    pub(crate) fn visits(&self) -> u64 {
        self.visits
    }

    pub(crate) fn memory(&self) -> usize {
        size_of::<u64>() * self.nodes.capacity()
    }

    fn grow(&mut self, leaves: usize) {
        let before = self.nodes.len() / 2;
        let mut nodes = vec![0; 2 * leaves];
        nodes[leaves..leaves + before].copy_from_slice(&self.nodes[before..]);
        for at in (1..leaves).rev() {
            nodes[at] = nodes[2 * at] + nodes[2 * at + 1];
        }
        self.nodes = nodes;
    }
}
