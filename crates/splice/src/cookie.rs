//! SYN cookies: what was agreed with a client is in the switch's own initial sequence number, so that a first packet leaves
//! nothing behind, and a flood of them costs no memory (Bernstein 1996; RFC 4987, section 3.6).
//!
//! | bits | |
//! |---|---|
//! | 24 | of an HMAC-SHA256 over the client's address, port and sequence number, the time, and the eight below |
//! | 1, 4, 3 | SACK permitted; window scale (15: none); which of eight segment sizes |
//!
//! Answered is thus only what is in there: the client's segment size, rounded down, its window scale and SACK. Timestamps are
//! not: their values would have to be translated too, and say nothing that a connection in one cluster needs. A cookie
//! holds for 32 to 64 s. The price: one in 8 million guesses opens a connection for an address that is not the guesser's.

use std::net::SocketAddrV4;

use ring::hmac;
use ring::rand::SystemRandom;
use sojourn_stats::Time;

use crate::segment::{MSS, SACK_PERMITTED, SCALE, Segment};

/// How long the time of a cookie stays the same (ns).
const AGE: u64 = 32_000_000_000;

/// Segment sizes that are told apart (bytes of data).
const SIZES: [u16; 8] = [536, 1_000, 1_220, 1_360, 1_400, 1_440, 1_452, 1_460];

/// The largest scale (RFC 7323, section 2.3).
const SCALE_MAX: u8 = 14;
const NO_SCALE: u8 = 15;

/// What both ends of a connection keep to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Agreed {
    /// Most bytes of data in a segment to the client.
    pub(crate) mss: u16,
    /// Whether the client understands selective acknowledgements.
    pub(crate) sack: bool,
    /// How far the client's window is scaled; none: neither end scales.
    pub(crate) scale: Option<u8>,
}

/// Makes cookies and knows its own.
pub(crate) struct Cookies(hmac::Key);

impl Cookies {
    pub(crate) fn new() -> Cookies {
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new());
        Cookies(key.expect("the system has random numbers"))
    }

    /// The initial sequence number for a client's first packet.
    pub(crate) fn make(&self, client: SocketAddrV4, client_isn: u32, agreed: Agreed, now: Time) -> u32 {
        self.cookie(client, client_isn, agreed.to_bits(), now.0 / AGE)
    }

    /// What was agreed, if the cookie is one for this client.
    pub(crate) fn read(&self, client: SocketAddrV4, client_isn: u32, cookie: u32, now: Time) -> Option<Agreed> {
        let (age, bits) = (now.0 / AGE, cookie as u8);
        let ages = [Some(age), age.checked_sub(1)];
        let is_own = ages.into_iter().flatten().any(|age| self.cookie(client, client_isn, bits, age) == cookie);
        is_own.then(|| Agreed::of_bits(bits))
    }

    fn cookie(&self, client: SocketAddrV4, client_isn: u32, bits: u8, age: u64) -> u32 {
        let mut text = client.ip().octets().to_vec();
        text.extend(client.port().to_be_bytes());
        text.extend(client_isn.to_be_bytes());
        text.extend(age.to_be_bytes());
        text.push(bits);
        let tag = hmac::sign(&self.0, &text);
        let tag = tag.as_ref();
        u32::from_be_bytes([tag[0], tag[1], tag[2], bits])
    }
}

impl Agreed {
    /// What a first packet offers, as far as a cookie can say it.
    pub(crate) fn offered(syn: &Segment<'_>) -> Agreed {
        let size = syn.option(MSS).and_then(|value| Some(u16::from_be_bytes(*value.first_chunk()?)));
        let largest = SIZES.into_iter().rev().find(|known| size.is_some_and(|size| *known <= size));
        Agreed { mss: largest.unwrap_or(SIZES[0]), sack: syn.option(SACK_PERMITTED).is_some(), scale: scale(syn) }
    }

    fn to_bits(self) -> u8 {
        let size = SIZES.iter().position(|known| *known == self.mss).expect("one of the sizes") as u8;
        u8::from(self.sack) << 7 | self.scale.unwrap_or(NO_SCALE) << 3 | size
    }

    fn of_bits(bits: u8) -> Agreed {
        let scale = Some(bits >> 3 & 15).filter(|scale| *scale != NO_SCALE);
        Agreed { mss: SIZES[usize::from(bits & 7)], sack: bits >> 7 == 1, scale }
    }
}

/// The window scale that a first packet offers.
pub(crate) fn scale(syn: &Segment<'_>) -> Option<u8> {
    syn.option(SCALE).and_then(|value| value.first()).map(|scale| (*scale).min(SCALE_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGREED: Agreed = Agreed { mss: 1_452, sack: true, scale: Some(9) };

    fn client(port: u16) -> SocketAddrV4 {
        SocketAddrV4::new([10, 0, 0, 1].into(), port)
    }

    #[test]
    fn a_cookie_says_what_was_agreed_to_its_client_for_a_while() {
        let cookies = Cookies::new();
        let made = Time(5 * AGE + 1);
        for agreed in [AGREED, Agreed { mss: 536, sack: false, scale: None }, Agreed { scale: Some(0), ..AGREED }] {
            let cookie = cookies.make(client(1), 77, agreed, made);
            assert_eq!(cookies.read(client(1), 77, cookie, made), Some(agreed));
            assert_eq!(cookies.read(client(1), 77, cookie, Time(7 * AGE - 1)), Some(agreed), "up to two ages");
            assert_eq!(cookies.read(client(1), 77, cookie, Time(7 * AGE)), None, "too old");
            assert_eq!(cookies.read(client(2), 77, cookie, made), None, "another port");
            assert_eq!(cookies.read(client(1), 78, cookie, made), None, "another sequence number");
            assert_eq!(cookies.read(client(1), 77, cookie ^ 1, made), None, "another segment size");
            assert_eq!(cookies.read(client(1), 77, cookie ^ 1 << 8, made), None, "another tag");
            assert_eq!(Cookies::new().read(client(1), 77, cookie, made), None, "another switch");
        }
    }
}
