//! Occupancy: how many users or connections are at each server, over time.

use sojourn_stats::{Span, Time};

/// The number at each server, and for how long it had each value.
#[derive(Clone, Default)]
pub(crate) struct Occupancy {
    counts: Vec<u32>,
    since: Vec<Time>,
    /// Time (ns) at each number, over all servers.
    spent: Vec<u64>,
}

impl Occupancy {
    /// `servers` without any.
    pub(crate) fn new(servers: usize) -> Occupancy {
        Occupancy { counts: vec![0; servers], since: vec![Time::ZERO; servers], spent: vec![0] }
    }

    /// How many are at `server`.
    #[inline]
    pub(crate) fn at(&self, server: u32) -> u32 {
        self.counts[server as usize]
    }

    /// One more.
    #[inline]
    pub(crate) fn enter(&mut self, server: u32, now: Time) {
        self.pass(server as usize, now);
        self.counts[server as usize] += 1;
    }

    /// One less.
    #[inline]
    pub(crate) fn leave(&mut self, server: u32, now: Time) {
        self.pass(server as usize, now);
        let count = &mut self.counts[server as usize];
        *count = count.checked_sub(1).expect("what leaves a server was there");
    }

    /// Forgets the past.
    pub(crate) fn restart(&mut self, now: Time) {
        self.since.fill(now);
        self.spent.fill(0);
    }

    /// Time (ns) at each number up to `now`, over all servers.
    pub(crate) fn spent(&self, now: Time) -> Vec<u64> {
        let mut all = self.clone();
        (0..self.counts.len()).for_each(|server| all.pass(server, now));
        all.spent
    }

    #[inline]
    fn pass(&mut self, server: usize, now: Time) {
        let Span(elapsed) = now - self.since[server];
        self.since[server] = now;
        let count = self.counts[server] as usize;
        if self.spent.len() <= count {
            self.spent.resize(count + 1, 0);
        }
        self.spent[count] += elapsed;
    }
}
