//! A report as a datagram, a challenge to its sender, and an order to it with its answer.
//!
//! | bytes | |
//! |---|---|
//! | 4 | `SJL` and the version, `1` |
//! | 2 | length of the whole datagram |
//! | 1 | what it is: load, rates of clients, challenge, order to probe a client, echoes of one |
//! | 1 + n | the sender's name |
//! | 8 | its epoch: when it started, by its clock (ns since 1970) |
//! | 16 | the challenge, or the answer to the last one |
//! | 8, 8 | sequence number; when it was measured, by the sender's clock (ns since 1970) |
//! | | load: tick and heartbeat (ms, 4 each), marks (1), which numbers follow (4), and these (8 each) |
//! | | rates: name (1 + n) and rate (4) of each client; what was measured at one instant belongs together |
//! | | order: name of the client (1 + n); the sequence number is that of the order |
//! | | echoes: number of the order (8), name (1 + n), what became of it (1), mean round trip (ns, 8), answers (1) |
//! | 32 | HMAC-SHA256 of all before it |
//!
//! Integers are big-endian, numbers IEEE 754. Numbers of later versions of the program follow those of this one and are
//! passed over. A datagram has at most [`DATAGRAM_MAX`] bytes, so that it passes every path whole: fragments are lost
//! together. The price is that rates of many clients take several.

use ring::hmac;
use sojourn_dispatch::reports::ECHOES;
use sojourn_stats::Span;

use super::metric::{Metric, Metrics};

/// Bytes of the longest datagram (as QUIC's, RFC 9000, section 14).
pub const DATAGRAM_MAX: usize = 1200;

/// The longest name of a sender or client (bytes).
pub use sojourn_part::settings::REPORTER_MAX as NAME_MAX;

const MAGIC: &[u8; 3] = b"SJL";
const VERSION: u8 = b'1';
const TAG: usize = 32;

/// Sixteen bytes that a receiver drew, or made of what it drew.
pub(super) type Challenge = [u8; 16];

/// What a datagram says.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Message {
    /// The sender of the report, which a challenge names too.
    pub(super) name: String,
    /// When the sender started (ns since 1970 by its clock).
    pub(super) epoch: u64,
    /// The challenge, or what the sender last heard as one.
    pub(super) challenge: Challenge,
    /// Counts what the sender sends.
    pub(super) sequence: u64,
    /// When it was measured (ns since 1970 by the sender's clock).
    pub(super) measured: u64,
    /// What it is.
    pub(super) body: Body,
}

/// What a datagram can be.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Body {
    /// The load of a server.
    Load(Box<Load>),
    /// Request rates of its clients.
    ///
    /// They are requests per second of each client, by its address or name.
    Rates(Vec<(String, f32)>),
    /// A receiver wants to know whether the sender is alive.
    Challenge,
    /// A receiver wants the round trip to this client.
    Order(String),
    /// What a sender found.
    Echoes(Echoes),
}

/// What became of an order to probe a client.
#[derive(Clone, Debug, PartialEq)]
pub struct Echoes {
    /// The number of the order.
    pub order: u64,
    /// The client, as the order names it.
    pub client: String,
    /// What was done.
    pub outcome: Outcome,
    /// The mean round trip of those echoes that came back; zero where none did.
    pub mean: Span,
    /// How many came back.
    pub answers: u32,
}

/// What was done about an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// ICMP echo requests were sent.
    Icmp,
    /// Connections of TCP were attempted.
    Tcp,
    /// Nothing: the client was measured a short while ago.
    TooSoon,
    /// Nothing: there are too many orders.
    TooMany,
    /// Nothing: its name is no address of one host.
    NoAddress,
}

impl Outcome {
    /// All of them, in the order of the wire, with their names.
    const ALL: [(Outcome, &str); 5] = [
        (Outcome::Icmp, "icmp"),
        (Outcome::Tcp, "tcp"),
        (Outcome::TooSoon, "too-soon"),
        (Outcome::TooMany, "too-many"),
        (Outcome::NoAddress, "no-address"),
    ];

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        Outcome::ALL[self as usize].1
    }
}

/// The load of a server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Load {
    /// How often it looks at its load.
    pub every: Span,
    /// The longest time between two reports.
    pub heartbeat: Span,
    /// It is overloaded.
    pub is_overloaded: bool,
    /// It adds up reports, and none of those that report to it is left.
    pub is_empty: bool,
    /// The numbers.
    pub metrics: Metrics,
}

/// Why a datagram is none of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It does not begin as ours do.
    Foreign,
    /// A version that is not known.
    Version,
    /// It is shorter or longer than it says.
    Truncated,
    /// It was not made with the key.
    Forged,
    /// It was made with the key, and makes no sense.
    Malformed,
}

/// Writes and signs a datagram.
///
/// # Panics
/// When it does not fit into one: the sender sees to that.
pub(super) fn encode(message: &Message, key: &hmac::Key) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    out.extend(MAGIC);
    out.extend([VERSION, 0, 0]);
    out.push(match message.body {
        Body::Load(_) => 1,
        Body::Rates(_) => 2,
        Body::Challenge => 3,
        Body::Order(_) => 4,
        Body::Echoes(_) => 5,
    });
    text(&mut out, &message.name);
    out.extend(message.epoch.to_be_bytes());
    out.extend(message.challenge);
    out.extend(message.sequence.to_be_bytes());
    out.extend(message.measured.to_be_bytes());
    match &message.body {
        Body::Load(load) => {
            let ms = |span: Span| (span.0 / 1_000_000).min(u64::from(u32::MAX)) as u32;
            out.extend(ms(load.every).to_be_bytes());
            out.extend(ms(load.heartbeat).to_be_bytes());
            out.push(u8::from(load.is_overloaded) | u8::from(load.is_empty) << 1);
            let known = load.metrics.known().fold(0u32, |marks, (metric, _)| marks | 1 << metric as u32);
            out.extend(known.to_be_bytes());
            out.extend(load.metrics.known().flat_map(|(_, value)| value.to_be_bytes()));
        }
        Body::Rates(rates) => {
            for (client, rate) in rates {
                text(&mut out, client);
                out.extend(rate.to_be_bytes());
            }
        }
        Body::Challenge => {}
        Body::Order(client) => text(&mut out, client),
        Body::Echoes(Echoes { order, client, outcome, mean, answers }) => {
            out.extend(order.to_be_bytes());
            text(&mut out, client);
            out.push(*outcome as u8);
            out.extend(mean.0.to_be_bytes());
            out.push(*answers as u8);
        }
    }
    let length = out.len() + TAG;
    assert!(length <= DATAGRAM_MAX, "a datagram of {length} bytes");
    out[4..6].copy_from_slice(&(length as u16).to_be_bytes());
    let tag = hmac::sign(key, &out);
    out.extend(tag.as_ref());
    out
}

/// Reads a datagram that was made with the key.
///
/// # Errors
/// When it is none, or none that can be trusted.
pub(super) fn decode(datagram: &[u8], key: &hmac::Key) -> Result<Message, Fault> {
    let rest = datagram.strip_prefix(MAGIC).ok_or(Fault::Foreign)?;
    let (&version, rest) = rest.split_first().ok_or(Fault::Truncated)?;
    if version != VERSION {
        return Err(Fault::Version);
    }
    let length = rest.first_chunk().map(|length| usize::from(u16::from_be_bytes(*length)));
    if length != Some(datagram.len()) || datagram.len() < 6 + TAG {
        return Err(Fault::Truncated);
    }
    let (signed, tag) = datagram.split_at(datagram.len() - TAG);
    hmac::verify(key, signed, tag).map_err(|_| Fault::Forged)?;
    message(&signed[6..]).ok_or(Fault::Malformed)
}

/// Bytes that a client takes in a datagram.
pub(super) fn length_of(client: &str) -> usize {
    1 + client.len() + 4
}

/// Bytes of a datagram of this sender that are left for clients.
pub(super) fn room_for_clients(name: &str) -> usize {
    DATAGRAM_MAX - (7 + 1 + name.len() + 8 + 16 + 8 + 8 + TAG)
}

fn text(out: &mut Vec<u8>, text: &str) {
    assert!(text.len() <= NAME_MAX, "`{text}` is longer than {NAME_MAX} bytes");
    out.push(text.len() as u8);
    out.extend(text.as_bytes());
}

fn message(signed: &[u8]) -> Option<Message> {
    let mut rest = Rest(signed);
    let [kind] = rest.take()?;
    let name = rest.text()?;
    let epoch = u64::from_be_bytes(rest.take()?);
    let challenge = rest.take()?;
    let (sequence, measured) = (u64::from_be_bytes(rest.take()?), u64::from_be_bytes(rest.take()?));
    let body = match kind {
        1 => Body::Load(Box::new(rest.load()?)),
        2 => rest.rates()?,
        3 => Body::Challenge,
        4 => Body::Order(rest.text()?),
        5 => Body::Echoes(rest.echoes()?),
        _ => return None,
    };
    rest.0.is_empty().then_some(Message { name, epoch, challenge, sequence, measured, body })
}

/// What has not been read yet.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    fn text(&mut self) -> Option<String> {
        let [length] = self.take()?;
        let (text, rest) = self.0.split_at_checked(usize::from(length)).filter(|(text, _)| text.len() <= NAME_MAX)?;
        self.0 = rest;
        String::from_utf8(text.into()).ok()
    }

    fn load(&mut self) -> Option<Load> {
        let mut span = || Some(Span(u64::from(u32::from_be_bytes(self.take()?)) * 1_000_000));
        let (every, heartbeat) = (span()?, span()?);
        let [marks] = self.take()?;
        let known = u32::from_be_bytes(self.take()?);
        let mut metrics = Metrics::default();
        for place in (0..32).filter(|place| known & 1 << place != 0) {
            let value = f64::from_be_bytes(self.take()?);
            match Metric::ALL.get(place) {
                Some(_) if !value.is_finite() => return None,
                Some(metric) => metrics.set(*metric, value),
                None => {}
            }
        }
        Some(Load { every, heartbeat, is_overloaded: marks & 1 != 0, is_empty: marks & 2 != 0, metrics })
    }

    fn echoes(&mut self) -> Option<Echoes> {
        let (order, client) = (u64::from_be_bytes(self.take()?), self.text()?);
        let [outcome] = self.take()?;
        let (outcome, _) = *Outcome::ALL.get(usize::from(outcome))?;
        let mean = Span(u64::from_be_bytes(self.take()?));
        let [answers] = self.take()?;
        let answers = u32::from(answers);
        (answers <= ECHOES).then_some(Echoes { order, client, outcome, mean, answers })
    }

    fn rates(&mut self) -> Option<Body> {
        let mut rates = Vec::new();
        while !self.0.is_empty() {
            let client = self.text()?;
            let rate = f32::from_be_bytes(self.take()?);
            rates.push((client, Some(rate).filter(|rate| rate.is_finite() && *rate >= 0.0)?));
        }
        Some(Body::Rates(rates))
    }
}
