//! What becomes of what waits for time-outs, or for others.

use sojourn_stats::Span;

/// What becomes of a set-up or a transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step<T> {
    /// It goes on so long after its start: at the end of a time-out, or of a round over a link that others use too.
    Waits(Span),
    /// It ends.
    Ends(T),
}
