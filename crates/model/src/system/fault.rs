//! Faults: what breaks, when, and how.

use sojourn_stats::Time;

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
}

/// What happens to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trouble {
    /// It is gone: what is in it is lost, and what comes is refused at once.
    Down,
    /// It stands still: what is in it waits, and what comes gets no answer.
    Frozen,
    /// It works at this part of its speed.
    Slow(f64),
    /// It answers this share of the requests with an error.
    Errors(f64),
    /// No packet passes.
    Cut,
    /// This share of the packets is lost.
    Loss(f64),
    /// It ends what it has and takes nothing new.
    Drained,
    /// It ends and is started again.
    Restarted,
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
        }
    }
}
