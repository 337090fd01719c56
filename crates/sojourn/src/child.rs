//! How a live part fails.

use sojourn_part::ServeError;

use crate::exit::{Failure, bad_input, failed};

pub(crate) fn failure(error: ServeError) -> Failure {
    match error {
        ServeError::System { .. } | ServeError::Record => failed(error),
        other => bad_input(other),
    }
}
