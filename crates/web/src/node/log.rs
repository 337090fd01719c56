//! A node's access log, in Combined or Common Log Format, which load daemons read the rates of clients from.
//!
//! A line is added when the last byte of its reply has been taken by the kernel, or when the connection has ended before, with
//! the bytes of the body that were really sent and the instant at which the request came. A request whose client has left
//! before there was a reply has status 499, as in nginx's logs. Questions for the node's load and health are left out.
//! Lines are gathered, and a thread of its own writes them, so that a slow disk holds up no request. What a full disk does
//! not take is lost and counted. The price: who reads along sees a line a quarter of a second late.

mod line;
mod writer;

use std::net::IpAddr;
use std::sync::Arc;

use hyper::Request;
use hyper::header::{REFERER, USER_AGENT};
use sojourn_part::ServeError;
use sojourn_part::settings::node::{LogFormat, LogSettings};

use super::body::NodeBody;
use super::reply::Reply;
pub(super) use line::Line;
use line::head;
use writer::Writer;

/// A log that is written on.
pub(crate) struct AccessLog {
    format: LogFormat,
    writer: Writer,
}

impl AccessLog {
    /// The log that `settings` name.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn open(settings: &LogSettings) -> Result<AccessLog, ServeError> {
        Ok(AccessLog { format: settings.format, writer: Writer::start(&settings.file)? })
    }

    /// Writes what has been gathered to the file that is open, and goes on with the one that has its name now.
    ///
    /// # Errors
    /// When that cannot be written; the log goes on with the old one.
    pub(crate) fn reopen(&self) -> Result<(), ServeError> {
        self.writer.reopen()
    }

    /// Waits until what has been gathered is written, but for a second at most.
    pub(crate) fn flush(&self) {
        self.writer.flush();
    }

    /// Lines that were lost because the disk did not take them.
    pub(crate) fn lost(&self) -> u64 {
        self.writer.lost()
    }

    /// The line of a request that has come.
    pub(super) fn line<B>(self: &Arc<AccessLog>, client: IpAddr, request: &Request<B>) -> Line {
        let text = head(client, request);
        let who = match self.format {
            LogFormat::Combined => [REFERER, USER_AGENT].map(|name| request.headers().get(name).cloned()),
            LogFormat::Common => [None, None],
        };
        Line::new(Arc::clone(self), text, who)
    }

    /// The reply that `line` tells of.
    pub(super) fn attach(reply: Reply, line: Line) -> Reply {
        let line = Arc::new(line.replied(reply.status()));
        reply.map(|body: NodeBody| body.logged(line))
    }

    fn is_combined(&self) -> bool {
        self.format == LogFormat::Combined
    }
}
