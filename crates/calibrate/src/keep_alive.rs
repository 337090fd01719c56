//! Whether an idle connection that is kept alive holds a helper.
//!
//! Connections are opened one after another; each carries one request and then stays idle. If an idle connection holds
//! a helper (a process per connection), the next request waits once there are as many connections as helpers, until one
//! of them closes. Otherwise all are answered at once. Every connection is the probe of those before it, so n requests
//! are enough; bisection would take many times as many.
//!
//! An order of events shows that a request waits, and goes on when an idle connection closes. That it *would have*
//! waited longer is concluded from a time-out far above the reply time of an idle server. The price: a busy machine
//! that delays a request by a second could look the same, so the finding is believed only when it is seen twice.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use sojourn_load::LoadError;
use sojourn_load::reply::{Ended, Fed, Reply};
use sojourn_stats::Span;

use crate::settings::{CalibrateError, Settings};
use crate::target::Target;

/// Longest time to wait for a connection, and for a reply after an idle connection is closed.
const PATIENCE: Span = Span(10_000_000_000);
/// A request that is not answered within this, or within [`LONGER`] idle replies, is waiting.
const AT_ONCE: Span = Span(1_000_000_000);
const LONGER: f64 = 5.0;

/// The cost of an idle connection that is kept alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KeepAlive {
    /// No connection is kept: the server closes each after its reply.
    Closed,
    /// A helper: with this many of them idle no other request is served.
    HoldsHelper(u32),
    /// None seen: with this many of them idle another request was served at once.
    Free(u32),
}

/// Opens up to `most` connections to `target`; an idle server answers its request for `level` within `idle`.
///
/// # Errors
/// When a connection cannot be opened, or gets no reply or an error although the server has no other load.
pub fn keep_alive(
    target: &Target,
    settings: &Settings,
    level: usize,
    idle: Span,
    most: u32,
    cancel: &AtomicBool,
) -> Result<KeepAlive, CalibrateError> {
    if !settings.allowed.allows(target.address.ip()) {
        return Err(LoadError::NotAllowed { target: target.address }.into());
    }
    let at_once = AT_ONCE.max(Span::from_secs_f64(LONGER * idle.as_secs_f64()));
    let prober = Prober { address: target.address, request: request(target, level), at_once, cancel };
    if !prober.is_kept()? {
        return Ok(KeepAlive::Closed);
    }
    let most = most.max(1);
    let first = prober.pass(most)?;
    if matches!(first, KeepAlive::Free(_)) {
        return Ok(first);
    }
    let second = prober.pass(most)?;
    if first == second { Ok(first) } else { prober.pass(most) }
}

fn request(target: &Target, level: usize) -> Vec<u8> {
    // A request has one host: the given one, where one is given.
    let (hosts, others): (Vec<_>, Vec<_>) =
        target.headers.iter().partition(|(name, _)| name.eq_ignore_ascii_case("host"));
    let host = hosts.first().map_or(&target.host, |(_, host)| host);
    let mut text = format!("GET {} HTTP/1.1\r\nhost: {host}\r\n", target.levels[level].path);
    for (name, value) in others {
        text += &format!("{name}: {value}\r\n");
    }
    text += "\r\n";
    text.into_bytes()
}

struct Prober<'a> {
    address: SocketAddr,
    request: Vec<u8>,
    at_once: Span,
    cancel: &'a AtomicBool,
}

/// The state of a request.
enum Answer {
    /// A whole reply; whether the connection is kept.
    Whole { kept: bool },
    /// No byte of a reply yet.
    Waits,
}

impl Prober<'_> {
    /// Whether a connection carries a second request.
    fn is_kept(&self) -> Result<bool, CalibrateError> {
        let mut stream = self.open()?;
        for _ in 0..2 {
            self.ask(&mut stream)?;
            match self.read(&mut stream, PATIENCE)? {
                Answer::Whole { kept: true } => {}
                Answer::Whole { kept: false } => return Ok(false),
                Answer::Waits => return Err(self.silent()),
            }
        }
        Ok(true)
    }

    /// One round of connections; the last one waits for the others, or does not.
    fn pass(&self, most: u32) -> Result<KeepAlive, CalibrateError> {
        let mut idle: Vec<TcpStream> = Vec::new();
        while idle.len() <= most as usize {
            if self.cancel.load(Ordering::Relaxed) {
                return Err(CalibrateError::Interrupted);
            }
            let mut stream = self.open()?;
            self.ask(&mut stream)?;
            let held = idle.len();
            let mut patience = if held == 0 { PATIENCE } else { self.at_once };
            while let Answer::Waits = self.read(&mut stream, patience)? {
                if idle.pop().is_none() {
                    return Err(self.silent());
                }
                patience = if idle.is_empty() { PATIENCE } else { self.at_once };
            }
            if idle.len() < held {
                return Ok(KeepAlive::HoldsHelper(held as u32));
            }
            idle.push(stream);
        }
        // Connections that the server has closed by now hold no helper; the last one has no probe after it.
        let open = idle.iter().take(most as usize).filter(|stream| is_open(stream)).count();
        Ok(KeepAlive::Free(open as u32))
    }

    fn open(&self) -> Result<TcpStream, CalibrateError> {
        let target = self.address;
        TcpStream::connect_timeout(&target, PATIENCE.as_std()).map_err(|source| {
            match source.kind() {
                ErrorKind::ConnectionRefused => LoadError::Refused { target },
                ErrorKind::TimedOut | ErrorKind::WouldBlock => LoadError::NoAnswer { target, within: PATIENCE },
                _ => LoadError::Unreachable { target, source },
            }
            .into()
        })
    }

    fn ask(&self, stream: &mut TcpStream) -> Result<(), CalibrateError> {
        stream.write_all(&self.request).map_err(|error| self.broken(&error))
    }

    /// The reply, if its first byte comes within `patience`.
    fn read(&self, stream: &mut TcpStream, patience: Span) -> Result<Answer, CalibrateError> {
        let mut reply = Reply::default();
        reply.expect(false, false);
        let mut piece = [0; 64 * 1024];
        loop {
            let patience = if reply.touched() { PATIENCE } else { patience };
            stream.set_read_timeout(Some(patience.as_std())).map_err(|error| self.broken(&error))?;
            let read = match stream.read(&mut piece) {
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    return if reply.touched() { Err(self.silent()) } else { Ok(Answer::Waits) };
                }
                Err(error) => return Err(self.broken(&error)),
            };
            if read == 0 {
                return match reply.end() {
                    Ended::Done => self.whole(&reply, false),
                    Ended::Untouched | Ended::Early => Err(self.refused("it closed a connection before its reply")),
                };
            }
            match reply.feed(&piece[..read]) {
                Ok(Fed::More) => {}
                Ok(Fed::Done(_)) => return self.whole(&reply, reply.keep_alive),
                Err(_) => return Err(self.refused("its reply is not HTTP")),
            }
        }
    }

    fn whole(&self, reply: &Reply, kept: bool) -> Result<Answer, CalibrateError> {
        match reply.status {
            status if status >= 400 => Err(self.refused(&format!("it answered with status {status}"))),
            _ => Ok(Answer::Whole { kept }),
        }
    }

    fn silent(&self) -> CalibrateError {
        self.refused("it does not answer")
    }

    fn broken(&self, error: &std::io::Error) -> CalibrateError {
        self.refused(&format!("a connection broke ({error})"))
    }

    fn refused(&self, what: &str) -> CalibrateError {
        CalibrateError::Refused(format!("{} with idle connections beside: {what}", self.address))
    }
}

/// Whether the server has not closed it.
fn is_open(stream: &TcpStream) -> bool {
    let waiting = stream.set_nonblocking(true).and_then(|()| stream.peek(&mut [0]));
    matches!(waiting, Err(error) if error.kind() == ErrorKind::WouldBlock)
}
