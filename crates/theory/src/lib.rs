//! What should happen? Queueing formulas, as plain functions and applied to a queue or to an experiment's system.
pub mod answer;
pub mod closed;
pub mod ek_m_1;
pub mod gig1;
pub mod lps;
pub mod mg1;
pub mod mg1_ps;
pub mod mm1;
pub mod mmc;
pub mod mmck;
pub mod moments;
mod numeric;
pub mod queue;
mod station;
pub mod system;
