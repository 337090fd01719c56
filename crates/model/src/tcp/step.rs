//! What becomes of what waits for time-outs.

use sojourn_stats::Span;

/// What becomes of a set-up or a transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step<T> {
    /// It waits for a time-out, which ends so long after its start.
    Waits(Span),
    /// It ends.
    Ends(T),
}
