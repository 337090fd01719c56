//! The programs that a benchmark compares with, or needs for its measurement.

use std::process::{Command, Stdio};

use crate::Result;

/// A benchmark without one of its peers compares nothing, so it fails and says which.
pub(crate) fn need(programs: &[&str]) -> Result<()> {
    let is_missing =
        |program: &&&str| Command::new(program).arg("-v").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err();
    let missing: Vec<&str> = programs.iter().filter(is_missing).copied().collect();
    match missing[..] {
        [] => Ok(()),
        _ => {
            Err(format!("not installed: {}; `make setup-bench` and benches/run install them", missing.join(", "))
                .into())
        }
    }
}
