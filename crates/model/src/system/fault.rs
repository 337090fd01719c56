//! Faults: what breaks, when, and how.

use sojourn_stats::{Stream, Time};

use super::{Face, Target, Tier};
use crate::System;

/// A fault that is planned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault {
    /// When it begins.
    pub at: Time,
    /// When it ends; none: never.
    pub until: Option<Time>,
    /// What it happens to.
    pub subject: Subject,
    /// What happens.
    pub trouble: Trouble,
}

/// What a fault happens to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Subject {
    /// A host, an index into [`crate::System::hosts`].
    Host(usize),
    /// A site with all that is there, an index into [`crate::System::sites`].
    Site(usize),
    /// All seats of a tier, an index into [`crate::System::tiers`].
    Tier(usize),
    /// A resolver, an index into [`crate::System::resolvers`].
    Resolver(usize),
    /// The path between two regions.
    Path(usize, usize),
    /// This share of the hosts.
    Share(f64),
    /// One of such a share, to which the same happens one after another: the host of this place among them, in the order of their
    /// numbers. The faults of all places follow one another in the system's list.
    OneOf(f64, usize),
    /// What clients ask for.
    Requests,
}

/// What happens to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trouble {
    /// It is gone: what is in it is lost, and what comes is refused at once.
    Down,
    /// It stands still: what is in it waits, and what comes waits at its door.
    Frozen,
    /// It works at this part of its speed.
    Slow(f64),
    /// It answers this share of the requests with an error, at once and without work.
    Errors(f64),
    /// No packet passes that sets out meanwhile.
    Cut,
    /// This further share of the packets is lost, half of it each way.
    Loss(f64),
    /// It ends what it has and takes nothing new.
    Drained,
    /// It ends and is started again.
    Restarted,
    /// So many times as many requests come; the workload has them.
    Burst(f64),
}

impl Fault {
    /// Whether it is there from the beginning and never ends.
    pub fn lasts(&self) -> bool {
        self.at == Time::ZERO && self.until.is_none()
    }

    /// The servers that it happens to, as indices. Which ones a share has is drawn; `number` is the fault's own among those of
    /// the system.
    pub fn hosts(&self, number: usize, system: &System, seed: u64) -> Vec<usize> {
        let all = 0..system.hosts.len();
        match self.subject {
            Subject::Host(host) => vec![host],
            Subject::Site(site) => all.filter(|host| system.hosts[*host].site == Some(site)).collect(),
            Subject::Share(share) => drawn(share, number, system, seed),
            Subject::OneOf(share, place) => {
                // All places draw the same hosts: as the first of them does.
                let mut hosts = drawn(share, number.saturating_sub(place), system, seed);
                hosts.sort_unstable();
                vec![hosts[place]]
            }
            Subject::Tier(_) | Subject::Resolver(_) | Subject::Path(..) | Subject::Requests => Vec::new(),
        }
    }
}

/// The hosts of a share, as the fault of this number has them.
fn drawn(share: f64, number: usize, system: &System, seed: u64) -> Vec<usize> {
    let mut left: Vec<usize> = (0..system.hosts.len()).collect();
    let count = ((share * left.len() as f64).round() as usize).max(1);
    let mut draws = Stream::new(seed, &format!("fault {number}"), "servers");
    (0..count).map(|_| left.swap_remove(draws.below(left.len()))).collect()
}

impl System {
    /// What is left of a system that is broken from the beginning and stays so, as one in which nothing breaks: without the
    /// servers that are gone (`down`, `drained`), and with the `slow` ones at their part of the speed. Its decider knows who
    /// is gone, as it does in the long run. None where nothing lasts, where a fault begins later, ends or is of another
    /// kind, where servers differ and none is named, where no server is left, and where more than one decider stands in
    /// front of the servers, or a DNS or clients decide, which go on naming what is gone.
    pub fn left(&self) -> Option<System> {
        let parts = self.parts_left()?;
        let stays: Vec<usize> = (0..parts.len()).filter(|host| parts[*host] > 0.0).collect();
        let looks = |tier: &Tier| {
            let is_alone = tier.seats.len() == 1 && tier.seats[0].host.is_none() && tier.pools.is_empty();
            is_alone && matches!(tier.face, Face::Gateway | Face::Switch | Face::Redirect)
        };
        if stays.is_empty() || self.tiers.len() > 1 || !self.tiers.iter().all(looks) || !self.sites.is_empty() {
            return None;
        }
        let mut left = System { faults: Vec::new(), ..self.clone() };
        left.hosts = stays.iter().map(|host| self.hosts[*host].clone()).collect();
        left.hosts.iter_mut().zip(&stays).for_each(|(host, old)| host.server.speed *= parts[*old]);
        if let Some(tier) = left.tiers.first_mut() {
            tier.weights = stays.iter().filter_map(|host| tier.weights.get(*host).copied()).collect();
            tier.limits = stays.iter().filter_map(|host| tier.limits.get(*host).copied()).collect();
            tier.seats[0].targets = (0..stays.len()).map(Target::Host).collect();
        }
        Some(left)
    }

    /// Whether every server is gone from the beginning and stays so.
    pub fn loses_all(&self) -> bool {
        self.parts_left().is_some_and(|parts| parts.iter().all(|part| *part == 0.0))
    }

    /// The part of its speed that each host works at, 0 of one that is gone, where faults last; none where that cannot be said.
    fn parts_left(&self) -> Option<Vec<f64>> {
        if self.faults.is_empty() || !self.faults.iter().all(Fault::lasts) {
            return None;
        }
        let mut parts = vec![1.0; self.hosts.len()];
        let same = |tier: &Tier| {
            tier.weights.windows(2).all(|pair| pair[0] == pair[1])
                && tier.limits.windows(2).all(|pair| pair[0] == pair[1])
        };
        let are_alike =
            self.tiers.iter().all(same) && self.hosts.windows(2).all(|pair| pair[0].server == pair[1].server);
        for (number, fault) in self.faults.iter().enumerate() {
            let part = match fault.trouble {
                Trouble::Down | Trouble::Drained => 0.0,
                Trouble::Slow(part) => part,
                _ => return None,
            };
            let hosts = match fault.subject {
                Subject::Host(host) => vec![host],
                // Which ones are drawn does not matter then.
                Subject::Share(share) if are_alike || share == 1.0 => fault.hosts(number, self, 0),
                _ => return None,
            };
            hosts.into_iter().for_each(|host| parts[host] *= part);
        }
        Some(parts)
    }
}

impl Trouble {
    /// Its name in an experiment.
    pub fn name(self) -> &'static str {
        match self {
            Trouble::Down => "down",
            Trouble::Frozen => "frozen",
            Trouble::Slow(_) => "slow",
            Trouble::Errors(_) => "errors",
            Trouble::Cut => "cut",
            Trouble::Loss(_) => "loss",
            Trouble::Drained => "drained",
            Trouble::Restarted => "restarted",
            Trouble::Burst(_) => "burst",
        }
    }
}
