//! Queues under processor sharing (PS) and limited processor sharing (LPS).

pub mod fujita;
pub mod lps;
pub mod md1_ps;
pub mod mg1_ps;
pub mod mmc_lps;
pub mod phase_lps;
pub mod phase_ps;
