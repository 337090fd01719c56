//! A folder that goes with its owner.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::ServeError;

/// Where a program has its configuration, logs and process id.
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    /// A new folder that only its owner may list; others may reach what is in it, by name, if that lets them.
    pub(super) fn new(kind: &str) -> Result<Folder, ServeError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("sojourn-{kind}-{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o711).create(&path) {
                Ok(()) => return Ok(Folder(path)),
                // Of an earlier process of this number that was killed together with its guard.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => {
                    return Err(ServeError::System { what: format!("cannot make {}", path.display()), source });
                }
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // The guard has removed it already, unless it was never started or was killed.
        let _ = fs::remove_dir_all(&self.0);
    }
}
