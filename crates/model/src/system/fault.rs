//! Faults: what breaks, when, and how.

use sojourn_stats::{Stream, Time};

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
    /// The servers that it happens to, as indices. Which ones a share has is drawn; `number` is the fault's own among those of
    /// the system.
    pub fn hosts(&self, number: usize, system: &System, seed: u64) -> Vec<usize> {
        let all = 0..system.hosts.len();
        match self.subject {
            Subject::Host(host) => vec![host],
            Subject::Site(site) => all.filter(|host| system.hosts[*host].site == Some(site)).collect(),
            Subject::Share(share) => {
                let mut left: Vec<usize> = all.collect();
                let count = ((share * left.len() as f64).round() as usize).max(1);
                let mut draws = Stream::new(seed, &format!("fault {number}"), "servers");
                (0..count).map(|_| left.swap_remove(draws.below(left.len()))).collect()
            }
            Subject::Tier(_) | Subject::Resolver(_) | Subject::Path(..) | Subject::Requests => Vec::new(),
        }
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
