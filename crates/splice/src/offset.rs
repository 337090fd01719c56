//! How the front node tells a server's half by what to shift the numbers of its replies: an option of TCP in the first
//! packets of a connection, so that it is there before a reply can be, and lost only together with what it is about.
//!
//! | bytes | |
//! |---|---|
//! | 1, 1, 2 | kind 253, length 21, `SJ` (RFC 6994) |
//! | 4 | when it was made: ms since 1970, by the front node's clock, the lower half |
//! | 4 | what is added to a reply's sequence number, modulo 2^32 |
//! | 1 | window scales: the server's (upper half), and the one that the client was told |
//! | 8 | of an HMAC-SHA256 over all that and the ends of the connection |
//!
//! The key is shared like that of reports. An older option than the one that is known is not believed, so that one which was
//! overheard moves no later connection. Programs that do not know the option pass over it (RFC 9293, section 3.1).

use std::net::SocketAddrV4;

use sojourn_report::Key;

use crate::segment::{EXPERIMENT, Segment};
use crate::window::Scales;

/// Bytes of the option, and of the ones that fill up its last word.
pub(crate) const OPTION: usize = 24;

const VALUE: usize = 19;
const TAG: usize = 8;
const NAME: [u8; 2] = *b"SJ";

/// What is done to the replies of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    /// When the front node said it (ms, modulo 2^32).
    pub stamp: u32,
    /// Added to their sequence numbers.
    pub seq: u32,
    /// How their windows are scaled.
    pub scales: Scales,
}

/// Writes and reads the option for one service.
#[derive(Clone, Debug)]
pub struct Teller {
    key: Key,
    service: SocketAddrV4,
}

impl Offset {
    /// Whether it was said after another one.
    pub fn is_newer_than(self, other: Offset) -> bool {
        (self.stamp.wrapping_sub(other.stamp) as i32) > 0
    }
}

impl Teller {
    /// For this service, with the key that front node and servers share.
    pub fn new(key: Key, service: SocketAddrV4) -> Teller {
        Teller { key, service }
    }

    /// The option for a client's connection.
    pub fn write(&self, client: SocketAddrV4, offset: Offset) -> [u8; OPTION] {
        let mut option = [1; OPTION];
        let (head, rest) = option.split_at_mut(4);
        head.copy_from_slice(&[EXPERIMENT, VALUE as u8 + 2, NAME[0], NAME[1]]);
        let said = said(offset);
        rest[..said.len()].copy_from_slice(&said);
        rest[said.len()..][..TAG].copy_from_slice(&self.tag(client, &said));
        option
    }

    /// What a segment of a client tells; an error where the option is there and not ours.
    pub fn read(&self, segment: &Segment<'_>) -> Option<Result<Offset, Forged>> {
        let value = segment.option(EXPERIMENT)?;
        let read = || {
            let said: [u8; 9] = *value.strip_prefix(&NAME)?.first_chunk()?;
            let tag = value.get(NAME.len() + said.len()..).filter(|_| value.len() == VALUE)?;
            let expected = self.tag(segment.from(), &said);
            // Whoever guesses learns nothing from the time that this takes: each guess costs a packet.
            (tag == expected).then(|| offset(said))
        };
        Some(read().ok_or(Forged))
    }

    fn tag(&self, client: SocketAddrV4, said: &[u8; 9]) -> [u8; TAG] {
        let mut text = b"sojourn splice 1".to_vec();
        for end in [client, self.service] {
            text.extend(end.ip().octets());
            text.extend(end.port().to_be_bytes());
        }
        text.extend(said);
        *self.key.sign(&text).first_chunk().expect("a tag is longer")
    }
}

/// An option that was not made with the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forged;

fn said(offset: Offset) -> [u8; 9] {
    let mut said = [0; 9];
    said[..4].copy_from_slice(&offset.stamp.to_be_bytes());
    said[4..8].copy_from_slice(&offset.seq.to_be_bytes());
    said[8] = offset.scales.from << 4 | offset.scales.to;
    said
}

fn offset(said: [u8; 9]) -> Offset {
    let number = |at: usize| u32::from_be_bytes(said[at..at + 4].try_into().expect("four bytes"));
    Offset { stamp: number(0), seq: number(4), scales: Scales { from: said[8] >> 4, to: said[8] & 15 } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::{ACK, Draft};

    #[test]
    fn what_was_told_is_heard_and_nothing_else() {
        let end = |last, port| SocketAddrV4::new([10, 0, 0, last].into(), port);
        let (service, client) = (end(100, 80), end(1, 4000));
        let teller = Teller::new(Key::new(b"a key of some bytes"), service);
        let offset = Offset { stamp: 1 << 31, seq: 0xfeed_beef, scales: Scales { from: 14, to: 7 } };
        let option = teller.write(client, offset);
        let heard = |teller: &Teller, from, options: &[u8]| {
            let made = Draft { from, to: end(11, 80), seq: 1, ack: 1, flags: ACK, window: 1, options, payload: b"GET" };
            teller.read(&Segment::read(&made.packet()).expect("a segment"))
        };
        assert_eq!(heard(&teller, client, &option), Some(Ok(offset)));
        assert_eq!(heard(&teller, end(1, 4001), &option), Some(Err(Forged)), "another connection");
        assert_eq!(heard(&Teller::new(Key::new(b"another key of some"), service), client, &option), Some(Err(Forged)));
        assert_eq!(
            heard(&Teller::new(Key::new(b"a key of some bytes"), end(100, 81)), client, &option),
            Some(Err(Forged))
        );
        for byte in 2..21 {
            let mut changed = option;
            changed[byte] ^= 1;
            assert_eq!(heard(&teller, client, &changed), Some(Err(Forged)), "byte {byte}");
        }
        assert_eq!(heard(&teller, client, &[253, 4, b'S', b'J']), Some(Err(Forged)));
        assert_eq!(heard(&teller, client, &[]), None);
        let later = Offset { stamp: offset.stamp.wrapping_add(1 << 30), ..offset };
        assert!(later.is_newer_than(offset) && !offset.is_newer_than(later) && !offset.is_newer_than(offset));
    }
}
