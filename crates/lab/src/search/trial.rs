//! A trial: a rate that was tried, and what came of it.

use sojourn_load::{Doubt, Effect};

use super::measured::{Finding, Measured};
use crate::objective::{Judgement, Objective};

/// A rate that was tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The rate (1/s).
    pub rate: f64,
    /// How many times as long as asked the run was.
    pub stretch: u32,
    /// What it measured.
    pub measured: Measured,
    /// What that says about the objective, doubts aside.
    pub judgement: Judgement,
    /// And what with them.
    pub finding: Finding,
}

impl Trial {
    pub(super) fn of(objective: &Objective, rate: f64, stretch: u32, measured: Measured) -> Trial {
        let (judgement, finding) = measured.judge(objective);
        Trial { rate, stretch, measured, judgement, finding }
    }

    /// Whether the objective was seen to hold.
    pub fn holds(&self) -> bool {
        self.finding == Finding::Holds
    }

    /// What came of it, in words.
    pub fn words(&self) -> String {
        match &self.finding {
            Finding::Holds => "holds".into(),
            Finding::Fails => "does not hold".into(),
            Finding::Open(why) => format!("cannot be decided: {why}"),
        }
    }

    /// Whether a longer run may decide it. One of a load that was not the one asked for would not either.
    pub(super) fn may_be_longer(&self) -> bool {
        let other = |doubt: &Doubt| doubt.cause.effect() == Effect::OtherLoad && self.measured.is_open_to(doubt);
        matches!(self.judgement, Judgement::Undecided | Judgement::NoInterval | Judgement::TooFew)
            && !self.measured.doubts.iter().any(other)
    }
}
