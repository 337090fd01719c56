//! Programs that are written to be run.

use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes a program with this text at `path`, which can be run at once.
///
/// Another process writes it: one that this process has open for writing cannot be run ("Text file busy"), nor one that a
/// child which is being started by another thread has inherited.
///
/// # Errors
/// When it cannot be written there.
pub fn install(path: &Path, text: &str) -> io::Result<()> {
    let mut install = Command::new("install");
    install.args(["-m", "755", "/dev/stdin"]).arg(path).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut install = install.spawn()?;
    // Taken so that it is closed before the end is waited for. Where it stopped reading, its end says why.
    let _ = install.stdin.take().expect("it was asked for").write_all(text.as_bytes());
    let output = install.wait_with_output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
    }
}
