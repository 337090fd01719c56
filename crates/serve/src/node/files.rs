//! Static files below a root.
//!
//! Plain `std::fs` on the serving thread: on a page-cache hit a read is a copy, while `tokio::fs` pays a hand-over to a
//! thread pool each time (79k against 126k requests/s). The price: a file that is not in the page cache holds the
//! thread.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

use nix::fcntl::OFlag;

use crate::ServeError;

use super::body::NodeBody;

/// Files up to this size are read whole (bytes).
const SMALL: u64 = 256 * 1024;

/// The root of the files.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    root: PathBuf,
}

impl Files {
    /// Files below `root`.
    pub(crate) fn new(root: &Path) -> Result<Files, ServeError> {
        let root = root.canonicalize().map_err(ServeError::system(format!("files below {}", root.display())))?;
        if !root.is_dir() {
            return Err(ServeError::Config(format!("files below {}: not a directory", root.display())));
        }
        Ok(Files { root })
    }

    /// The file that the path of a URL names, with its media type; a directory stands for its `index.html`. None when
    /// there is none, when it cannot be read, and when the path or a link in it leads out of the root.
    pub(crate) fn open(&self, url_path: &str) -> Option<(NodeBody, &'static str)> {
        let path = self.find(url_path)?;
        // A device is not even opened, since that may do something. Opening a FIFO would wait for its other end and
        // hold the thread. Where one has just taken the file's place, O_NONBLOCK does not wait, and it is seen then.
        if !path.metadata().ok()?.is_file() {
            return None;
        }
        let file = File::options().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(&path).ok()?;
        let about = file.metadata().ok()?;
        if !about.is_file() {
            return None;
        }
        let body = if about.len() <= SMALL {
            let mut bytes = Vec::with_capacity(about.len() as usize + 1);
            file.take(about.len()).read_to_end(&mut bytes).ok()?;
            NodeBody::whole(bytes)
        } else {
            NodeBody::file(file, about.len())
        };
        Some((body, media_type(&path)))
    }

    /// How long the file is that the path of a URL names (bytes); none where there is none.
    pub(crate) fn size(&self, url_path: &str) -> Option<u64> {
        let about = self.find(url_path)?.metadata().ok()?;
        about.is_file().then(|| about.len())
    }

    /// Where the file is that the path of a URL names, if it is below the root.
    fn find(&self, url_path: &str) -> Option<PathBuf> {
        let decoded = percent_decoded(url_path)?;
        let relative = Path::new(decoded.trim_start_matches('/'));
        if relative.components().any(|part| !matches!(part, Component::Normal(_) | Component::CurDir)) {
            return None;
        }
        let mut path = self.root.join(relative).canonicalize().ok()?;
        if path.is_dir() {
            path = path.join("index.html").canonicalize().ok()?;
        }
        path.starts_with(&self.root).then_some(path)
    }
}

/// `%2F` and the like resolved; none when that is no text or has a NUL in it.
pub(crate) fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let decoded = match byte {
            b'%' => {
                let high = (rest.next()? as char).to_digit(16)?;
                let low = (rest.next()? as char).to_digit(16)?;
                (high * 16 + low) as u8
            }
            other => other,
        };
        if decoded == 0 {
            return None;
        }
        bytes.push(decoded);
    }
    String::from_utf8(bytes).ok()
}

/// The media type of a file, by its extension.
pub(super) fn media_type(path: &Path) -> &'static str {
    match path.extension().and_then(|extension| extension.to_str()).unwrap_or("") {
        "html" | "htm" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "json" => "application/json",
        "txt" | "md" | "log" => "text/plain; charset=utf-8",
        "csv" => "text/csv; charset=utf-8",
        "xml" => "application/xml",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "ico" => "image/x-icon",
        "pdf" => "application/pdf",
        "wasm" => "application/wasm",
        "woff2" => "font/woff2",
        "gz" => "application/gzip",
        "zip" => "application/zip",
        "mp4" => "video/mp4",
        "mpg" | "mpeg" => "video/mpeg",
        _ => "application/octet-stream",
    }
}
