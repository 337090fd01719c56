//! An access log that is being written: what is new in it since the last look.
//!
//! It is read from its end at the start on. A log that was moved away is read for one look more, and then the new one from its
//! beginning; one that was cut to nothing is read anew. A line counts once it is whole. While the disk of the log is full, or
//! what has its name now is no file or cannot be read, what is told of requests would be too low: then nothing is told. The
//! price: a log that is cut and grows beyond its old length between two looks is read from there on.

use std::collections::HashMap;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use nix::sys::statvfs::fstatvfs;
use sojourn_part::ServeError;
use sojourn_traffic::log;

/// More than this is no line of a log; what is longer is passed over.
const LINE_MAX: usize = 64 * 1024;

/// The most clients that are counted apart.
const CLIENTS_MAX: usize = 65_536;

/// An access log in Common or Combined Log Format.
#[derive(Debug)]
pub struct AccessLog {
    path: PathBuf,
    file: File,
    /// How far it has been read.
    offset: u64,
    /// The beginning of a line that is not whole yet.
    partial: Vec<u8>,
    /// It was moved away at the last look, and another one is there.
    is_moved: bool,
    /// The rest of the present line belongs to one that is too long.
    is_passing: bool,
    trouble: Option<&'static str>,
    counts: Counts,
    clients: HashMap<Box<str>, u64>,
}

/// What a log has said since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests.
    pub requests: u64,
    /// Bytes of replies.
    pub bytes: u64,
    /// Replies with status 429 or from 500 up.
    pub errors: u64,
    /// Lines that are in neither format.
    pub bad: u64,
}

impl AccessLog {
    /// The log at `path`, from its end on.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open(path: &Path) -> Result<AccessLog, ServeError> {
        let wrong = |why: String| ServeError::Config(format!("cannot read the access log {}: {why}", path.display()));
        let mut file = open(path).map_err(|error| wrong(error.to_string()))?.ok_or_else(|| {
            wrong("it is no file; name the file that the server writes, as in /var/log/nginx/access.log".into())
        })?;
        let offset = file.seek(SeekFrom::End(0)).map_err(|error| wrong(error.to_string()))?;
        Ok(AccessLog {
            path: path.into(),
            file,
            offset,
            partial: Vec::new(),
            is_moved: false,
            is_passing: false,
            trouble: None,
            counts: Counts::default(),
            clients: HashMap::new(),
        })
    }

    /// What it has said since the start.
    ///
    /// # Errors
    /// Why that is not known at present.
    pub fn look(&mut self) -> Result<Counts, &'static str> {
        self.trouble = self.follow().err();
        match self.trouble {
            Some(why) => Err(why),
            None => Ok(self.counts),
        }
    }

    /// Why the last look told nothing.
    pub fn trouble(&self) -> Option<&'static str> {
        self.trouble
    }

    /// How many requests each client has sent since this was last asked.
    pub fn take_clients(&mut self) -> Vec<(String, u64)> {
        self.clients.drain().map(|(client, requests)| (client.into(), requests)).collect()
    }

    fn follow(&mut self) -> Result<(), &'static str> {
        self.read_on();
        // It is there again under its name, or still, or not yet.
        let is_moved = std::fs::metadata(&self.path)
            .is_ok_and(|there| self.file.metadata().is_ok_and(|open| !is_same(&open, &there)));
        // Processes of a server turn to the new log one after the other, so the old one has time until the next look.
        if std::mem::replace(&mut self.is_moved, is_moved) && is_moved {
            let next = open(&self.path).map_err(|_| "it cannot be read any more")?;
            self.file = next.ok_or("what has its name now is no file")?;
            self.is_moved = false;
            self.begin_anew();
            self.read_on();
        }
        let is_full = fstatvfs(&self.file).is_ok_and(|disk| disk.blocks_available() == 0 && disk.blocks() > 0);
        if is_full { Err("its disk is full") } else { Ok(()) }
    }

    fn read_on(&mut self) {
        if self.file.metadata().is_ok_and(|open| open.len() < self.offset) && self.file.rewind().is_ok() {
            self.begin_anew();
        }
        let mut block = [0; 64 * 1024];
        // What cannot be read now may be readable at the next look.
        while let Ok(read @ 1..) = self.file.read(&mut block) {
            self.offset += read as u64;
            self.take(&block[..read]);
        }
    }

    fn begin_anew(&mut self) {
        (self.offset, self.is_passing) = (0, false);
        self.partial.clear();
    }

    fn take(&mut self, block: &[u8]) {
        let parts = block.split_inclusive(|byte| *byte == b'\n');
        for part in parts {
            if !self.is_passing {
                self.partial.extend(part);
            }
            if self.partial.len() > LINE_MAX {
                self.is_passing = true;
                self.partial.clear();
                self.counts.bad += 1;
            }
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.partial);
                if !std::mem::take(&mut self.is_passing) {
                    self.count(line.trim_ascii_end());
                }
                self.partial = line;
                self.partial.clear();
            }
        }
    }

    fn count(&mut self, line: &[u8]) {
        let Ok(line) = log::parse(line) else {
            self.counts.bad += 1;
            return;
        };
        self.counts.requests += 1;
        self.counts.bytes += line.bytes;
        self.counts.errors += u64::from(line.status >= 500 || line.status == 429);
        let Ok(client) = std::str::from_utf8(line.host) else { return };
        if let Some(requests) = self.clients.get_mut(client) {
            *requests += 1;
        } else if self.clients.len() < CLIENTS_MAX {
            self.clients.insert(client.into(), 1);
        }
    }
}

/// The file at `path`; none where that is something else, as a FIFO, whose other end would be waited for.
fn open(path: &Path) -> std::io::Result<Option<File>> {
    let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    Ok(file.metadata()?.is_file().then_some(file))
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}
