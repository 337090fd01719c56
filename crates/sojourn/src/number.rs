//! Numbers and times on the command line.

use std::str::FromStr;

use sojourn_stats::{Dimension, Span, quantity};

use crate::exit::{Failure, bad_input};

/// Reads how many: nothing is done with none.
pub(crate) fn count<N: FromStr + Default + PartialOrd>(text: &str) -> Result<N, String> {
    let number = text.parse().ok().filter(|number| *number > N::default());
    number.ok_or_else(|| "it is a whole number of at least 1".into())
}

/// Reads a time, which may be zero.
pub(crate) fn time(flag: &str, text: &str) -> Result<Span, Failure> {
    let seconds = quantity::parse(text, Dimension::Time).map_err(|e| bad_input(format!("{flag}: {e}")))?;
    Ok(Span::from_secs_f64(seconds))
}
