//! What is said of a recovery.

/// How a system has recovered from the last fault, or why that is not told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Recovery {
    /// So long after the end of the last fault (s).
    After(f64),
    /// Not by the end of the run, the last interval of which was not as before.
    Never,
    /// Not by the end of the run, the last intervals of which were as before, but fewer than [`CALM`](crate::CALM) of them.
    NotYet,
    /// The run ended before [`CALM`](crate::CALM) intervals were over since the last fault.
    EndsEarly,
    /// Requests came in too few of the intervals after the last fault.
    SilentAfter,
    /// Before the first fault there are fewer than [`USUAL`](crate::USUAL) intervals.
    LittleBefore,
    /// Before the first fault requests ended in fewer than [`USUAL`](crate::USUAL) intervals.
    SilentBefore {
        /// In so many.
        spoke: usize,
        /// Of so many.
        of: usize,
    },
    /// Before the first fault more than [`FAILING`](crate::FAILING) of the requests failed.
    FailingBefore {
        /// So large a share of them (1).
        share: f64,
    },
}
