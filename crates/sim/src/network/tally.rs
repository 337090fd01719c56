//! What one replication has counted since measuring began.

use sojourn_stats::{Histogram, Span, Time};

use super::jobs::Job;
use super::layout::{Chain, Layout};

/// Counts and sums of one replication, from the instant [`Tally::since`] on.
pub(super) struct Tally {
    /// When measuring began.
    pub(super) since: Time,
    /// When the window of throughputs and utilisations closed; [`Time::NEVER`] while it is open.
    pub(super) until: Time,
    /// Response times are of the jobs that came since (a run with an end: all of them go out), instead of those that went
    /// out since (a section of an endless one).
    by_coming: bool,
    pub(super) chains: Vec<ChainTally>,
    pub(super) stations: Vec<StationTally>,
    /// What the stations had spent at `since`, and at `until` once that is known.
    pub(super) before: Vec<Spent>,
    pub(super) after: Vec<Spent>,
}

/// The jobs of one chain.
#[derive(Default)]
pub(super) struct ChainTally {
    /// Response times (ns).
    pub(super) response: Histogram,
    /// Jobs that went out while the window was open.
    pub(super) completions: u64,
    /// Number and sum (ns) of the response times by branch.
    pub(super) branches: Vec<(u64, u128)>,
    /// The same by class of sizes.
    pub(super) sizes: Vec<(u64, u128)>,
    /// Jobs that came, and those of them that took the first branch: the hits, where there is a cache.
    pub(super) came: u64,
    pub(super) first_branch: u64,
}

/// The visits to one station that ended while the window was open.
#[derive(Clone, Copy, Default)]
pub(super) struct StationTally {
    pub(super) visits: u64,
    /// Time spent in them (ns).
    pub(super) spent_ns: u128,
}

/// What a station has spent since the start.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent {
    /// Work done; of a delay, none.
    pub(super) done: Span,
    /// Integral of the number there (ns).
    pub(super) integral: u128,
}

impl Tally {
    /// Nothing yet.
    pub(super) fn new(layout: &Layout, by_coming: bool) -> Tally {
        let chain = |chain: &Chain| ChainTally {
            branches: vec![(0, 0); chain.branches.len()],
            sizes: vec![(0, 0); chain.size_classes()],
            ..ChainTally::default()
        };
        let stations = layout.stations.len();
        Tally {
            since: Time::ZERO,
            until: Time::NEVER,
            by_coming,
            chains: layout.chains.iter().map(chain).collect(),
            stations: vec![StationTally::default(); stations],
            before: vec![Spent::default(); stations],
            after: Vec::new(),
        }
    }

    /// Begins anew at `now`.
    pub(super) fn restart(&mut self, now: Time, spent: Vec<Spent>) {
        for chain in &mut self.chains {
            chain.response.clear();
            chain.branches.fill((0, 0));
            chain.sizes.fill((0, 0));
            (chain.completions, chain.came, chain.first_branch) = (0, 0, 0);
        }
        self.stations.fill(StationTally::default());
        self.since = now;
        self.before = spent;
    }

    /// Closes the window at `now`.
    pub(super) fn close(&mut self, now: Time, spent: Vec<Spent>) {
        self.until = now;
        self.after = spent;
    }

    /// A job comes, and takes this branch.
    #[inline]
    pub(super) fn came(&mut self, chain: u32, branch: usize) {
        let chain = &mut self.chains[chain as usize];
        chain.came += 1;
        chain.first_branch += u64::from(branch == 0);
    }

    /// A job has been at `station` since `came`, and goes.
    #[inline]
    pub(super) fn visited(&mut self, station: usize, came: Time, now: Time) {
        if self.until == Time::NEVER {
            let station = &mut self.stations[station];
            station.visits += 1;
            station.spent_ns += u128::from((now - came).0);
        }
    }

    /// `job` goes out.
    #[inline]
    pub(super) fn completed(&mut self, job: &Job, now: Time) {
        let (open, counts) = (self.until == Time::NEVER, !self.by_coming || job.asked >= self.since);
        let chain = &mut self.chains[job.chain as usize];
        chain.completions += u64::from(open);
        if counts {
            let Span(ns) = now - job.asked;
            chain.response.record(ns);
            let size = chain.sizes.get_mut(job.size_class as usize);
            for of in [Some(&mut chain.branches[job.branch as usize]), size].into_iter().flatten() {
                of.0 += 1;
                of.1 += u128::from(ns);
            }
        }
    }

    /// Jobs measured.
    pub(super) fn ended(&self) -> u64 {
        self.chains.iter().map(|chain| chain.response.count()).sum()
    }
}
