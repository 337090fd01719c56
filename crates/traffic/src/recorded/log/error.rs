//! Why a file is not a log.

use sojourn_stats::Span;
use thiserror::Error;

use super::fault::Fault;
use crate::words::count;

/// What is said where no format was asked for and none was found.
const NO_FORMAT: &str = "a log format that is known (docs/log-formats.md; `sojourn traffic` takes one by --format); as Common \
                         Log Format";

/// Why a file is not a log.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LogError {
    /// It cannot be read.
    #[error("{name}: {fault}")]
    Io {
        /// What was read.
        name: String,
        /// What the system said.
        fault: String,
    },
    /// There is nothing in it.
    #[error("{name}: the log is empty")]
    Empty {
        /// What was read.
        name: String,
    },
    /// There are NUL bytes at its start.
    #[error("{name}: a binary file, not an access log, plain or packed by gzip or zstd")]
    Binary {
        /// What was read.
        name: String,
    },
    /// It is packed, but neither by gzip nor by zstd.
    #[error("{name}: packed by {by}; unpack it first (plain, gzip and zstd are read)")]
    Packed {
        /// What was read.
        name: String,
        /// What packed it.
        by: &'static str,
    },
    /// The packed file ends too early.
    #[error(
        "{name}: the {by} file is cut off after {}; fetch it again, or unpack what there is",
        count(*good_lines, "good line")
    )]
    Truncated {
        /// What was read.
        name: String,
        /// What packed it.
        by: &'static str,
        /// Good lines before its end.
        good_lines: usize,
    },
    /// The packed file cannot be unpacked.
    #[error("{name}: the {by} file is damaged after {}: {fault}", count(*good_lines, "good line"))]
    Damaged {
        /// What was read.
        name: String,
        /// What packed it.
        by: &'static str,
        /// Good lines before the damage.
        good_lines: usize,
        /// What the unpacker said.
        fault: String,
    },
    /// No line of it is in the format.
    #[error(
        "{name}: none of {} is in {}; line {line} has {fault}: `{text}`",
        count(*bad_lines, "line"),
        if format.is_empty() || format == "common" { NO_FORMAT } else { format }
    )]
    NoGoodLine {
        /// What was read.
        name: String,
        /// How many lines were tried.
        bad_lines: u64,
        /// The first of them.
        line: u64,
        /// What is wrong with it.
        fault: Fault,
        /// Its beginning.
        text: String,
        /// The format that was asked for, or `common`.
        format: String,
    },
    /// It steps back in time by more than a slow request can explain.
    #[error(
        "{name}: line {line} is {:.3} earlier than line {than_line}: not in order of time; sort it, \
         or put its parts together oldest first",
        Span((*.back_s as u64).saturating_mul(1_000_000_000))
    )]
    Unsorted {
        /// What was read.
        name: String,
        /// The first line that steps back so far.
        line: u64,
        /// How far (seconds).
        back_s: i64,
        /// The latest line before it.
        than_line: u64,
    },
}
