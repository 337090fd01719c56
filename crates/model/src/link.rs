//! Links as data.

use sojourn_stats::Span;

/// A link: a propagation delay and a rate at which messages are put on it, one after another (FIFO).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// One-way propagation delay.
    pub delay: Span,
    /// Bits per second; none: infinitely fast.
    pub rate: Option<f64>,
}
