//! What a coordinator and its agents say to each other: one JSON value per line over TCP.
//!
//! The agent speaks first, with a nonce; the coordinator proves with it that it knows the shared secret.

use std::io::{self, BufRead, BufReader, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sojourn_stats::config::of_json;

use crate::generator::progress::Progress;
use crate::report::measured::ShareReport;
use crate::share::Share;

/// From the coordinator, with an order of type `O`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ToAgent<O> {
    /// Its version, and the proof that it knows the secret.
    Hello { version: String, proof: String },
    /// What does your clock say?
    Ping { number: u32 },
    /// Get ready for a share of a load.
    Prepare {
        order: Box<O>,
        #[serde(rename = "part")]
        share: Share,
        watched: bool,
    },
    /// Begin when your clock says this (ns since 1970).
    Start { at_ns: u64 },
    /// Stop, and report what was measured.
    Stop,
    /// The coordinator is still there.
    Alive,
}

/// From an agent.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum FromAgent {
    /// Its version, and a number that it never used before.
    Hello { version: String, nonce: String },
    /// The coordinator has proved that it knows the secret.
    Welcome,
    /// What the clock says (ns since 1970).
    Pong { number: u32, at_ns: u64 },
    /// Ready to start.
    Prepared,
    /// How far it is.
    Progress(Box<Progress>),
    /// What it measured.
    Report(Box<ShareReport>),
    /// It cannot, or can no longer.
    Failed { message: String },
}

/// The longest line (bytes) before the secret has been proved.
pub(super) const UNPROVED_MAX: usize = 4096;
/// The longest line afterwards: a report of hours.
pub(super) const PROVED_MAX: usize = 1 << 30;

/// Sends one message.
pub(super) fn send(mut to: impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line)
}

/// Messages as they come.
pub(super) struct Messages<R> {
    from: BufReader<R>,
    line: Vec<u8>,
}

impl<R: Read> Messages<R> {
    pub(super) fn new(from: R) -> Messages<R> {
        Messages { from: BufReader::new(from), line: Vec::new() }
    }

    /// The next message, at most `limit` bytes long; none at the end. After a timeout it may be asked again.
    pub(super) fn next<T: DeserializeOwned>(&mut self, limit: usize) -> io::Result<Option<T>> {
        loop {
            match self.hear(limit)? {
                Heard::Message(message) => return Ok(Some(message)),
                Heard::Part => {}
                Heard::End => return Ok(None),
            }
        }
    }

    /// The same after one read at most: who sends byte by byte cannot hold the caller.
    pub(super) fn hear<T: DeserializeOwned>(&mut self, limit: usize) -> io::Result<Heard<T>> {
        let bytes = self.from.fill_buf()?;
        if bytes.is_empty() {
            return if self.line.is_empty() { Ok(Heard::End) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let read = end.map_or(bytes.len(), |at| at + 1);
        self.line.extend_from_slice(&bytes[..read]);
        self.from.consume(read);
        if self.line.len() > limit {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a line too long"));
        }
        if end.is_none() {
            return Ok(Heard::Part);
        }
        let message = serde_json::from_slice(&self.line);
        self.line.clear();
        message.map(Heard::Message).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, of_json(error)))
    }
}

/// What one read has brought.
pub(super) enum Heard<T> {
    /// A whole message.
    Message(T),
    /// A part of one.
    Part,
    /// Nothing: the other side is gone.
    End,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_lines_and_short_before_the_proof() {
        let mut sent = Vec::new();
        send(&mut sent, &ToAgent::<()>::Ping { number: 7 }).unwrap();
        send(&mut sent, &ToAgent::<()>::Stop).unwrap();
        let mut messages = Messages::new(&sent[..]);
        assert!(matches!(messages.next(UNPROVED_MAX).unwrap(), Some(ToAgent::<()>::Ping { number: 7 })));
        assert!(matches!(messages.next(UNPROVED_MAX).unwrap(), Some(ToAgent::<()>::Stop)));
        assert!(messages.next::<ToAgent<()>>(UNPROVED_MAX).unwrap().is_none());
        let long = vec![b'x'; 2 * UNPROVED_MAX];
        assert!(Messages::new(&long[..]).next::<ToAgent<()>>(UNPROVED_MAX).is_err());
        assert!(Messages::new(&b"{\"Ping\""[..]).next::<ToAgent<()>>(UNPROVED_MAX).is_err(), "cut off");
    }
}
