//! A node's access log in Common Log Format, which load daemons read the rates of clients from.
//!
//! A line is written when the reply begins, in one piece and at once, so that who reads along sees whole lines. Questions for
//! the node's load and health are left out, as everywhere. The price: one system call a request, and the bytes of a reply are
//! those that it will have.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::net::IpAddr;
use std::path::Path;

use hyper::body::Incoming;
use hyper::{Request, StatusCode};
use sojourn_traffic::log::date;

use super::{HEALTH, LOAD};
use crate::{ServeError, clock};

/// A log that is written on.
pub(super) struct AccessLog(File);

impl AccessLog {
    /// The log at `path`, at whose end lines are added.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn open(path: &Path) -> Result<AccessLog, ServeError> {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let wrong = |e| ServeError::Config(format!("cannot write the access log {}: {e}", path.display()));
        file.map(AccessLog).map_err(wrong)
    }

    /// The line of a request that has come, but for what is answered; none of one that is not logged.
    pub(super) fn line(&self, client: IpAddr, request: &Request<Incoming>) -> Option<String> {
        let (method, uri) = (request.method(), request.uri());
        if matches!(uri.path(), LOAD | HEALTH) {
            return None;
        }
        let date = date((clock::wall() / 1_000_000_000) as i64);
        // A quotation mark would end the request's part of the line.
        let target = uri.to_string().replace('"', "%22");
        Some(format!("{client} - - {date} \"{method} {target} {:?}\"", request.version()))
    }

    /// Writes a line with what was answered. A disk that is full takes none, and the daemon that reads says so.
    pub(super) fn write(&self, line: String, status: StatusCode, bytes: Option<u64>) {
        let bytes = bytes.map_or_else(|| "-".into(), |bytes| bytes.to_string());
        let _ = (&self.0).write_all(format!("{line} {} {bytes}\n", status.as_u16()).as_bytes());
    }
}
