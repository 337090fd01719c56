//! What do the numbers say?
//!
//! Probability laws written as text with units ([`Law`]), the pinned random streams they are drawn from
//! ([`Stream`]), integer time ([`Time`], [`Span`]), and the way from samples to a number with an interval
//! ([`Measure`]). This crate knows nothing of the web, draws no ambient randomness and reads no clock.

mod batches;
pub mod fgn;
pub mod fit;
pub mod goodness;
pub mod histogram;
pub mod hurst;
pub mod interval;
pub mod law;
mod line;
pub mod measure;
mod moments;
mod nearest;
pub mod quadrature;
pub mod quantity;
pub mod regression;
pub mod renewal;
pub mod root;
mod stream;
mod time;
pub mod warm_up;

pub use batches::Batches;
pub use fgn::Fgn;
pub use histogram::Histogram;
pub use law::{Law, LawError};
pub use line::Line;
pub use measure::{Estimate, Measure};
pub use moments::Moments;
pub use nearest::nearest;
pub use quantity::Dimension;
pub use stream::Stream;
pub use time::{Span, Time};
