//! Numbers on the command line.

use std::str::FromStr;

/// Reads how many: nothing is done with none.
pub(crate) fn count<N: FromStr + Default + PartialOrd>(text: &str) -> Result<N, String> {
    let number = text.parse().ok().filter(|number| *number > N::default());
    number.ok_or_else(|| "it is a whole number of at least 1".into())
}
