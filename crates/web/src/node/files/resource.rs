//! A file with all that a reply says of it, made once and kept.

use std::fs::File;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use hyper::body::Bytes;
use hyper::header::HeaderValue;
use rustix::fs::{Stat, fstat};

use super::super::section::in_memory;
use super::root::Opened;

/// Files up to this size are kept with their contents (bytes): a thread keeps some hundred.
const KEPT_WHOLE: u64 = 16 * 1024;

/// What a path stands for: a file, and the same in other codings.
pub(super) struct Resource {
    pub(super) plain: Representation,
    /// In the order in which they are preferred.
    pub(super) variants: Vec<Representation>,
    pub(super) media_type: HeaderValue,
    pub(super) cache_control: Option<HeaderValue>,
}

/// A coding of contents, as `gzip`.
pub(super) type Coding = &'static str;

/// One form of a resource (RFC 9110, section 3.2).
pub(super) struct Representation {
    pub(super) file: Arc<File>,
    pub(super) size: u64,
    /// Strong: inode, size and time of the last change, in nanoseconds.
    pub(super) etag: HeaderValue,
    pub(super) last_modified: HeaderValue,
    /// The same, in seconds since 1970.
    pub(super) modified_s: u64,
    pub(super) coding: Option<Coding>,
    stat: Stat,
    /// All bytes of a short file, once they have been read.
    contents: OnceLock<Bytes>,
}

impl Resource {
    pub(super) fn new(
        file: Opened,
        variants: Vec<Representation>,
        media_type: HeaderValue,
        cache_control: Option<HeaderValue>,
    ) -> Resource {
        Resource { plain: Representation::new(file, None), variants, media_type, cache_control }
    }

    /// How many descriptors it holds.
    pub(super) fn descriptors(&self) -> usize {
        1 + self.variants.len()
    }
}

impl Representation {
    pub(super) fn new(opened: Opened, coding: Option<Coding>) -> Representation {
        let Opened { file, stat } = opened;
        let size = stat.st_size as u64;
        // A file from the future is taken as from 1970: it must not be younger than the reply (section 8.8.2.1).
        let modified_s = u64::try_from(stat.st_mtime).ok().filter(|time_s| *time_s <= now_s()).unwrap_or(0);
        let etag = format!("\"{:x}-{size:x}-{:x}{:08x}\"", stat.st_ino, stat.st_mtime, stat.st_mtime_nsec);
        let date = httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(modified_s));
        let value = |text: String| HeaderValue::from_str(&text).expect("digits and letters are plain text");
        let (etag, last_modified) = (value(etag), value(date));
        Representation {
            file: Arc::new(file),
            size,
            etag,
            last_modified,
            modified_s,
            coding,
            stat,
            contents: OnceLock::new(),
        }
    }

    /// Whether the file is still as it was when it was opened.
    pub(super) fn is_current(&self) -> bool {
        fstat(&self.file).is_ok_and(|now| {
            let is = |stat: &Stat| (stat.st_size, stat.st_mtime, stat.st_mtime_nsec);
            is(&now) == is(&self.stat)
        })
    }

    /// These bytes of it, where all can be had without waiting for a disk. A short file is read once: its bytes are kept with
    /// what is known of it.
    ///
    /// # Errors
    /// When they are not there any more.
    pub(super) fn section(&self, at: u64, size: u64) -> io::Result<Option<Bytes>> {
        let whole = |at: u64, size: u64| {
            let found = in_memory(&self.file, at, size)?;
            Ok::<_, io::Error>(found.filter(|bytes| bytes.len() as u64 == size))
        };
        if self.size > KEPT_WHOLE {
            return whole(at, size);
        }
        let contents = match self.contents.get() {
            Some(contents) => contents,
            None => match whole(0, self.size)? {
                Some(contents) => self.contents.get_or_init(|| contents),
                None => return Ok(None),
            },
        };
        Ok(Some(contents.slice(at as usize..(at + size) as usize)))
    }
}

fn now_s() -> u64 {
    sojourn_part::clock::wall() / 1_000_000_000
}
