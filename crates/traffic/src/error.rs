//! Why a workload cannot be planned.

use sojourn_stats::LawError;
use thiserror::Error;

use crate::recorded::log::LogError;
use crate::text::TextError;

/// Why a workload cannot be planned.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// What it says.
    #[error("{0}")]
    Invalid(String),
    /// A law's text.
    #[error(transparent)]
    Law(#[from] LawError),
    /// A log.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A list of sessions or files, a trace, a site.
    #[error(transparent)]
    Text(#[from] TextError),
}
