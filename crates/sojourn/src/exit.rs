//! Exit codes, and the one line that goes with a failure.

use std::process::ExitCode;

/// How the program ends, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// All is well.
    Ok = 0,
    /// An objective was missed, the run is SUSPECT, or a replay chose otherwise.
    Missed = 1,
    /// The input is wrong.
    BadInput = 2,
    /// It failed while running.
    Failed = 3,
    /// Interrupted; what was measured is kept.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// A failure: what to say, and how to end.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) message: String,
}

/// What is wrong with the input.
pub(crate) fn bad_input(message: impl ToString) -> Failure {
    Failure { exit: Exit::BadInput, message: message.to_string() }
}

/// What went wrong while running.
pub(crate) fn failed(message: impl ToString) -> Failure {
    Failure { exit: Exit::Failed, message: message.to_string() }
}
