//! What a coordinator and its agents say to each other: one JSON value per line over TCP.
//!
//! The agent speaks first, with a nonce; the coordinator proves with it that it knows the shared secret (HMAC-SHA256,
//! RFC 2104), so that the secret itself is never sent. What follows is neither encrypted nor signed: over a network that
//! others can write to, agents belong behind a tunnel.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use sojourn_load::{Progress, Share, ShareReport};

use super::order::Order;

/// From the coordinator.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToAgent {
    /// Its version, and the proof that it knows the secret.
    Hello { version: String, proof: String },
    /// What does your clock say?
    Ping { number: u32 },
    /// Get ready for a part of a load.
    Prepare { order: Box<Order>, part: Share, watched: bool },
    /// Begin when your clock says this (ns since 1970).
    Start { at_ns: u64 },
    /// Stop, and report what was measured.
    Stop,
    /// The coordinator is still there.
    Alive,
}

/// From an agent.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum FromAgent {
    /// Its version, and a number that it never used before.
    Hello { version: String, nonce: String },
    /// The coordinator is who it says.
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

/// The longest line of somebody who has not shown who they are.
pub(crate) const STRANGER: usize = 4096;
/// The longest line of a friend: a report of hours.
pub(crate) const FRIEND: usize = 1 << 30;

/// Sends one message.
pub(crate) fn send(mut to: impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line)
}

/// Messages as they come.
pub(crate) struct Messages<R> {
    from: BufReader<R>,
    line: Vec<u8>,
}

impl<R: Read> Messages<R> {
    pub(crate) fn new(from: R) -> Messages<R> {
        Messages { from: BufReader::new(from), line: Vec::new() }
    }

    /// The next message, at most `limit` bytes long; none at the end. After a timeout it may be asked again.
    pub(crate) fn next<T: DeserializeOwned>(&mut self, limit: usize) -> io::Result<Option<T>> {
        let left = limit.saturating_sub(self.line.len()) as u64;
        self.from.by_ref().take(left).read_until(b'\n', &mut self.line)?;
        match self.line.last() {
            None => Ok(None),
            Some(b'\n') => {
                let message = serde_json::from_slice(&self.line);
                self.line.clear();
                message.map(Some).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))
            }
            Some(_) if self.line.len() >= limit => Err(io::Error::new(io::ErrorKind::InvalidData, "a line too long")),
            Some(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// A number that nobody can guess, as text.
pub(crate) fn nonce() -> io::Result<String> {
    let mut bytes = [0; 32];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(hex(&bytes))
}

/// The proof that one knows `secret`, for this nonce only.
pub(crate) fn proof(secret: &[u8], nonce: &str) -> String {
    hex(&hmac(secret, nonce.as_bytes()))
}

/// Whether two texts are the same, in a time that does not tell where they differ.
pub(crate) fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    const BLOCK: usize = 64;
    let mut padded = [0_u8; BLOCK];
    if key.len() > BLOCK {
        padded[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        padded[..key.len()].copy_from_slice(key);
    }
    let with = |mask: u8, message: &[u8]| {
        let mut hash = Sha256::new();
        hash.update(padded.map(|byte| byte ^ mask));
        hash.update(message);
        <[u8; 32]>::from(hash.finalize())
    };
    with(0x5c, &with(0x36, message))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a String takes all");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hmac_is_that_of_rfc_4231() {
        let of = |key: &[u8], message: &[u8]| hex(&hmac(key, message));
        // Test cases 2 and 6 (a key longer than a block).
        let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(of(b"Jefe", b"what do ya want for nothing?"), expected);
        let expected = "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54";
        assert_eq!(of(&[0xaa; 131], b"Test Using Larger Than Block-Size Key - Hash Key First"), expected);
    }

    #[test]
    fn messages_are_lines_and_strangers_are_brief() {
        let mut wire = Vec::new();
        send(&mut wire, &ToAgent::Ping { number: 7 }).unwrap();
        send(&mut wire, &ToAgent::Stop).unwrap();
        let mut messages = Messages::new(&wire[..]);
        assert!(matches!(messages.next(STRANGER).unwrap(), Some(ToAgent::Ping { number: 7 })));
        assert!(matches!(messages.next(STRANGER).unwrap(), Some(ToAgent::Stop)));
        assert!(messages.next::<ToAgent>(STRANGER).unwrap().is_none());
        let long = vec![b'x'; 2 * STRANGER];
        assert!(Messages::new(&long[..]).next::<ToAgent>(STRANGER).is_err());
        assert!(Messages::new(&b"{\"Ping\""[..]).next::<ToAgent>(STRANGER).is_err(), "cut off");
        assert!(same("abc", "abc") && !same("abc", "abd") && !same("abc", "ab"));
    }
}
