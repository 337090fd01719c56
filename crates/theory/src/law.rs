//! Laws of gaps and services, as the formulas read them: moments and shapes, renewal streams of arrivals, and the
//! stages of phase-type laws.

mod gaps;
mod moments;
mod phase_type;

pub use gaps::Gaps;
pub use moments::{Moments, Shape, balanced_means};
pub use phase_type::{Phase, PhaseType};
