//! Files of `/proc`, kept open and read anew: opening costs more than reading.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A file of `/proc`.
#[derive(Debug)]
pub(super) struct ProcFile {
    file: Option<File>,
    text: Vec<u8>,
}

impl ProcFile {
    /// The file at `path`; one that is not there has no text.
    pub(super) fn open(path: impl AsRef<Path>) -> ProcFile {
        ProcFile { file: File::open(path).ok(), text: vec![0; 4096] }
    }

    /// What it says now; none where it cannot be read, as of a process that has ended.
    pub(super) fn read(&mut self) -> Option<&str> {
        let file = self.file.as_ref()?;
        let mut length = 0;
        loop {
            if length == self.text.len() {
                self.text.resize(2 * length, 0);
            }
            match file.read_at(&mut self.text[length..], length as u64).ok()? {
                0 => return std::str::from_utf8(&self.text[..length]).ok(),
                read => length += read,
            }
        }
    }
}

/// The number of a process that a name in `/proc` stands for.
pub(super) fn pids() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}
