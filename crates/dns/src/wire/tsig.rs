//! Signatures of messages (TSIG, RFC 8945): they show who asks for a whole zone, and that the reply is ours.
//!
//! HMAC by ring; what it covers is written here, for the same reason as all of the wire: errors are told apart, and nothing is
//! copied that is not signed. MD5 and SHA-1 are not taken, and neither is a code that was cut short.

use std::collections::HashMap;
use std::path::Path;

use data_encoding::BASE64;
use ring::hmac;
use sojourn_part::settings::dns::ALGORITHMS as ALGORITHM_NAMES;
use sojourn_stats::{input, meant_aside};

use super::name::{self, Name};
use super::{kind, u16_at};

/// Seconds by which clocks may differ (RFC 8945, 10).
const FUDGE: u16 = 300;
/// The class ANY, and a time to live of 0.
const CLASS_AND_TTL: [u8; 6] = [0, 255, 0, 0, 0, 0];
/// Bytes of the shortest secret: fewer could be guessed.
const SECRET_MIN: usize = 16;

/// What is wrong with a signature.
const BAD_SIGNATURE: u16 = 16;
const BAD_KEY: u16 = 17;
const BAD_TIME: u16 = 18;
const BAD_TRUNCATION: u16 = 22;

#[derive(Debug)]
struct Algorithm {
    name: &'static str,
    wire: &'static [u8],
    hmac: &'static hmac::Algorithm,
}

static ALGORITHMS: [Algorithm; 3] = [
    Algorithm { name: ALGORITHM_NAMES[0], wire: b"\x0bhmac-sha256\x00", hmac: &hmac::HMAC_SHA256 },
    Algorithm { name: ALGORITHM_NAMES[1], wire: b"\x0bhmac-sha384\x00", hmac: &hmac::HMAC_SHA384 },
    Algorithm { name: ALGORITHM_NAMES[2], wire: b"\x0bhmac-sha512\x00", hmac: &hmac::HMAC_SHA512 },
];

/// A key that this server and a secondary share.
#[derive(Clone, Debug)]
pub struct TransferKey {
    name: Name,
    algorithm: &'static Algorithm,
    secret: hmac::Key,
}

/// The signature of a query.
#[derive(Debug)]
pub(crate) struct Signature<'a> {
    packet: &'a [u8],
    /// Where its record begins.
    at: usize,
    /// Whole and in lower case, as all names here.
    key: Name,
    algorithm: Name,
    /// Seconds since 1970.
    time: u64,
    fudge: u16,
    code: &'a [u8],
    /// The number that the query had before it was forwarded.
    id: [u8; 2],
    error: u16,
    other: &'a [u8],
}

/// How the messages of a reply are signed, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Signing<'k> {
    name: Name,
    algorithm: Name,
    /// None: a signature would say nothing, since that of the query is not right.
    key: Option<&'k TransferKey>,
    error: u16,
    asked_at: u64,
    /// The code that the next one covers too: that of the query, then that of the message before.
    before: Option<Vec<u8>>,
    is_first: bool,
}

impl TransferKey {
    /// The key `name` of this algorithm (`hmac-sha256`, `hmac-sha384` or `hmac-sha512`).
    ///
    /// # Errors
    /// In words: what is wrong, and what would be right.
    pub fn new(name: &str, algorithm: &str, secret: &[u8]) -> Result<TransferKey, String> {
        let name = Name::parse(&format!("{}.", name.trim_end_matches('.')), None)?;
        let known = ALGORITHMS.iter().find(|of| of.name.eq_ignore_ascii_case(algorithm));
        let algorithm = known.ok_or_else(|| {
            let meant = meant_aside(algorithm, ALGORITHM_NAMES);
            format!("`{algorithm}` is not known{meant}; known are {}", ALGORITHM_NAMES.join(", "))
        })?;
        if secret.len() < SECRET_MIN {
            return Err(format!("a secret of {} bytes is too short; at least {SECRET_MIN} are needed", secret.len()));
        }
        Ok(TransferKey { name, algorithm, secret: hmac::Key::new(*algorithm.hmac, secret) })
    }

    /// The same, of the secret that a file has in base64.
    ///
    /// # Errors
    /// As [`TransferKey::new`], or where the file cannot be read.
    pub fn read(name: &str, algorithm: &str, path: &Path) -> Result<TransferKey, String> {
        let wrong = |what: String| {
            format!("{}: {what}; make one by `head -c 32 /dev/urandom | base64 > {}`", path.display(), path.display())
        };
        let mut text = input::text(path).map_err(|error| wrong(error.to_string()))?;
        text.retain(|c| !c.is_ascii_whitespace());
        let secret = BASE64.decode(text.as_bytes()).map_err(|error| wrong(format!("it is not base64 ({error})")))?;
        TransferKey::new(name, algorithm, &secret)
    }

    /// Its name, in lower case.
    pub(crate) fn name(&self) -> &Name {
        &self.name
    }

    /// Signs a message that is no reply.
    pub(crate) fn sign(&self, message: &mut Vec<u8>, wall: u64) {
        let mut signing = Signing {
            name: self.name.clone(),
            algorithm: Name::from_wire(self.algorithm.wire),
            key: Some(self),
            error: 0,
            asked_at: wall,
            before: None,
            is_first: true,
        };
        signing.sign(message, wall);
    }
}

impl<'a> Signature<'a> {
    /// Reads the record at `at` of a packet.
    pub(crate) fn parse(packet: &'a [u8], at: usize) -> Option<Signature<'a>> {
        let mut key = Vec::new();
        let fixed = name::expand(packet, at, &mut key)?;
        let data = fixed + 10;
        if packet.get(fixed + 2..fixed + 8)? != CLASS_AND_TTL {
            return None;
        }
        let data = packet.get(data..data + usize::from(u16_at(packet, fixed + 8)?))?;
        let (algorithm, rest) = data.split_at(name::end(data, 0)?);
        let (fixed, rest) = rest.split_first_chunk::<10>()?;
        let [t0, t1, t2, t3, t4, t5, f0, f1, l0, l1] = *fixed;
        let (code, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes([l0, l1])))?;
        let ([i0, i1, e0, e1, o0, o1], other) = rest.split_first_chunk::<6>()?;
        (other.len() == usize::from(u16::from_be_bytes([*o0, *o1]))).then(|| Signature {
            packet,
            at,
            key: Name::from_wire(&key),
            algorithm: Name::from_wire(algorithm),
            time: u64::from_be_bytes([0, 0, t0, t1, t2, t3, t4, t5]),
            fudge: u16::from_be_bytes([f0, f1]),
            code,
            id: [*i0, *i1],
            error: u16::from_be_bytes([*e0, *e1]),
            other,
        })
    }

    /// Judges it at `wall` (s since 1970): key, code, then time (RFC 8945, 5.2).
    pub(crate) fn judge<'k>(&self, keys: &'k HashMap<Name, TransferKey>, wall: u64) -> Signing<'k> {
        let named = keys.get(&self.key).filter(|key| key.algorithm.wire == self.algorithm.wire());
        let (key, error) = match named {
            None => (None, BAD_KEY),
            Some(key) if self.code.len() < key.algorithm.hmac.digest_algorithm().output_len() => (None, BAD_TRUNCATION),
            Some(key) if hmac::verify(&key.secret, &self.covered(), self.code).is_err() => (None, BAD_SIGNATURE),
            // Of who cannot be told apart from one that repeats what it has heard.
            Some(key) if wall.abs_diff(self.time) > u64::from(self.fudge) => (Some(key), BAD_TIME),
            Some(key) => (Some(key), 0),
        };
        Signing {
            name: self.key.clone(),
            algorithm: self.algorithm.clone(),
            key,
            error,
            asked_at: self.time,
            before: Some(self.code.to_vec()),
            is_first: true,
        }
    }

    /// What its code covers: the query as it was before it was signed, and what the record says (RFC 8945, 4.3.3).
    fn covered(&self) -> Vec<u8> {
        let mut text = self.packet[..self.at].to_vec();
        text[..2].copy_from_slice(&self.id);
        let records = u16::from_be_bytes([text[10], text[11]]) - 1;
        text[10..12].copy_from_slice(&records.to_be_bytes());
        variables(&mut text, (&self.key, &self.algorithm), (self.time, self.fudge), (self.error, self.other));
        text
    }
}

impl<'k> Signing<'k> {
    /// The key by which the query was signed; none where its signature is not right.
    pub(crate) fn signer(&self) -> Option<&'k Name> {
        self.key.filter(|_| self.error == 0).map(TransferKey::name)
    }

    /// Bytes of the longest record of a signature.
    pub(crate) fn length(&self) -> usize {
        let code = self.key.map_or(0, |key| key.algorithm.hmac.digest_algorithm().output_len());
        self.name.wire().len() + 10 + self.algorithm.wire().len() + 16 + code + 6
    }

    /// Signs the next message, at `wall` (s since 1970).
    pub(crate) fn sign(&mut self, message: &mut Vec<u8>, wall: u64) {
        let now = wall.to_be_bytes();
        // Who asks compares this with its own clock, and learns the other one's (RFC 8945, 5.2.3).
        let (time, other) = match self.error {
            0 => (wall, &[][..]),
            BAD_TIME => (self.asked_at, &now[2..]),
            _ => (self.asked_at, &[][..]),
        };
        let code = self.key.map(|key| {
            let mut text = Vec::with_capacity(message.len() + 512);
            if let Some(before) = &self.before {
                text.extend_from_slice(&(before.len() as u16).to_be_bytes());
                text.extend_from_slice(before);
            }
            text.extend_from_slice(message);
            match self.is_first {
                true => variables(&mut text, (&self.name, &self.algorithm), (time, FUDGE), (self.error, other)),
                false => timers(&mut text, time, FUDGE),
            }
            hmac::sign(&key.secret, &text).as_ref().to_vec()
        });
        let code = code.unwrap_or_default();
        let id = [message[0], message[1]];
        let algorithm = self.algorithm.wire();
        message.extend_from_slice(self.name.wire());
        message.extend_from_slice(&kind::TSIG.to_be_bytes());
        message.extend_from_slice(&CLASS_AND_TTL);
        message.extend_from_slice(&((algorithm.len() + 16 + code.len() + other.len()) as u16).to_be_bytes());
        message.extend_from_slice(algorithm);
        timers(message, time, FUDGE);
        message.extend_from_slice(&(code.len() as u16).to_be_bytes());
        message.extend_from_slice(&code);
        message.extend_from_slice(&id);
        message.extend_from_slice(&self.error.to_be_bytes());
        message.extend_from_slice(&(other.len() as u16).to_be_bytes());
        message.extend_from_slice(other);
        let records = u16::from_be_bytes([message[10], message[11]]) + 1;
        message[10..12].copy_from_slice(&records.to_be_bytes());
        (self.before, self.is_first) = (Some(code), false);
    }
}

fn variables(
    text: &mut Vec<u8>,
    (key, algorithm): (&Name, &Name),
    (time, fudge): (u64, u16),
    (error, other): (u16, &[u8]),
) {
    text.extend_from_slice(key.wire());
    text.extend_from_slice(&CLASS_AND_TTL);
    text.extend_from_slice(algorithm.wire());
    timers(text, time, fudge);
    text.extend_from_slice(&error.to_be_bytes());
    text.extend_from_slice(&(other.len() as u16).to_be_bytes());
    text.extend_from_slice(other);
}

fn timers(text: &mut Vec<u8>, time: u64, fudge: u16) {
    text.extend_from_slice(&time.to_be_bytes()[2..]);
    text.extend_from_slice(&fudge.to_be_bytes());
}
