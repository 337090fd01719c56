//! Why an experiment, or a part of one, is refused.

use sojourn_stats::config::one_line;
use thiserror::Error;

/// One line: what is wrong, where, and what would be right.
#[derive(Clone, Debug, Error)]
#[error("{}", one_line(.0))]
pub struct SpecError(pub String);
