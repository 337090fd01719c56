//! Why a text that describes traffic cannot be read: the same two ways for all of them (sites, traces, file lists, lists
//! of sessions). Access logs have [`crate::log::LogError`], since most of what is wrong with them is counted instead.

use thiserror::Error;

/// Why a text is not what it should be; the message begins with its name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TextError {
    /// One line of it cannot be read.
    #[error("{name}:{line}: {fault}")]
    Line {
        /// What was read.
        name: String,
        /// Line number, from 1.
        line: u64,
        /// What is wrong, and what would be right.
        fault: String,
    },
    /// It could not be read, or nothing of use is in it.
    #[error("{name}: {fault}")]
    Whole {
        /// What was read.
        name: String,
        /// What is wrong, and what would be right.
        fault: String,
    },
}
