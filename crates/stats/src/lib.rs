//! What do the numbers say?
//!
//! Probability laws written as text with units ([`Law`]), the pinned random streams they are drawn from
//! ([`Stream`]), integer time ([`Time`], [`Span`]), and the way from samples to a number with an interval
//! ([`Measure`]). This crate knows nothing of the web, draws no ambient randomness and reads no clock.

pub mod law;
pub mod measure;
pub mod quantity;
mod stream;
mod time;

pub use law::Law;
pub use measure::{Estimate, Measure};
pub use quantity::Dimension;
pub use stream::Stream;
pub use time::{Span, Time};
