//! Where what programs write to standard error goes: into a file, or to that of the node.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use sojourn_part::ServeError;

/// See the module.
pub(super) struct Errors(Option<File>);

impl Errors {
    pub(super) fn open(section: &str, path: Option<&Path>) -> Result<Errors, ServeError> {
        let open = |path: &Path| {
            let file = OpenOptions::new().create(true).append(true).open(path);
            file.map_err(|e| ServeError::Config(format!("{section}: cannot write the errors {}: {e}", path.display())))
        };
        path.map(open).transpose().map(Errors)
    }

    /// For a process to write to.
    pub(super) fn for_process(&self) -> Stdio {
        match self.0.as_ref().map(File::try_clone) {
            Some(Ok(file)) => file.into(),
            _ => Stdio::inherit(),
        }
    }

    /// Writes what a program that is no process of ours has said.
    pub(super) fn write(&self, bytes: &[u8]) {
        // A disk that is full takes none.
        let _ = match self.0.as_ref() {
            Some(mut file) => file.write_all(bytes),
            None => std::io::stderr().write_all(bytes),
        };
    }
}
