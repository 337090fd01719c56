//! Why an experiment, or a part of one, is refused.

use thiserror::Error;

/// One line: what is wrong, where, and what would be right.
#[derive(Clone, Debug, Error)]
#[error("{0}")]
pub struct SpecError(pub String);
