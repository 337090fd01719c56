//! Cookies of the server (RFC 7873, as RFC 9018 makes them: SipHash-2-4 over the client's cookie, time and address).
//!
//! The secret is rolled each day without a word between threads or servers: a day's is made from the master and the
//! number of the day, and a cookie says when it was made. Servers that share a master accept each other's. A clock that
//! jumps makes cookies invalid, no more: they are as good as none, and a fresh one goes with the reply.

use std::hash::Hasher;
use std::net::IpAddr;

use ring::hmac;
use siphasher::sip::SipHasher24;

use super::edns::Cookie;

/// Seconds for which a cookie is good, and may be from the future (RFC 9018, 4.3).
const AGE: u32 = 3600;
const AHEAD: u32 = 300;
/// Seconds for which a secret is used.
const DAY: u32 = 86_400;

/// Version 1, and three bytes of nothing.
const HEAD: [u8; 4] = [1, 0, 0, 0];

type Secret = [u8; 16];

/// Makes and checks cookies; each thread has its own, from one master.
#[derive(Clone, Debug)]
pub(crate) struct Cookies {
    master: hmac::Key,
    /// Those of the last two days asked for, by the number of the day.
    secrets: [Option<(u32, Secret)>; 2],
}

impl Cookies {
    pub(crate) fn new(master: &[u8]) -> Cookies {
        Cookies { master: hmac::Key::new(hmac::HMAC_SHA256, master), secrets: [None; 2] }
    }

    /// A server cookie for this client at `wall` (s since 1970).
    pub(crate) fn make(&mut self, client: [u8; 8], from: IpAddr, wall: u32) -> [u8; 16] {
        let mut cookie = [0; 16];
        cookie[..4].copy_from_slice(&HEAD);
        cookie[4..8].copy_from_slice(&wall.to_be_bytes());
        let hash = hash(self.secret(wall / DAY), client, &cookie[..8], from);
        cookie[8..].copy_from_slice(&hash.to_le_bytes());
        cookie
    }

    /// Whether the query shows that its sender has heard an earlier reply: its source is not made up.
    pub(crate) fn is_valid(&mut self, cookie: &Cookie<'_>, from: IpAddr, wall: u32) -> bool {
        let Some((head, told)) = cookie.server.split_first_chunk::<8>() else { return false };
        let (Ok(told), [1, _, _, _, time @ ..]) = (<[u8; 8]>::try_from(told), *head) else { return false };
        let made = u32::from_be_bytes(time);
        // By the arithmetic of serial numbers, as the time is cut to 32 bits.
        let age = wall.wrapping_sub(made);
        if age > AGE && made.wrapping_sub(wall) > AHEAD {
            return false;
        }
        hash(self.secret(made / DAY), cookie.client, head, from) == u64::from_le_bytes(told)
    }

    fn secret(&mut self, day: u32) -> Secret {
        let place = (day % 2) as usize;
        match self.secrets[place] {
            Some((of, secret)) if of == day => secret,
            _ => {
                let tag = hmac::sign(&self.master, &day.to_be_bytes());
                let secret = *tag.as_ref().first_chunk().expect("SHA-256 has 32 bytes");
                self.secrets[place] = Some((day, secret));
                secret
            }
        }
    }
}

fn hash(secret: Secret, client: [u8; 8], head: &[u8], from: IpAddr) -> u64 {
    let mut hasher = SipHasher24::new_with_key(&secret);
    hasher.write(&client);
    hasher.write(head);
    match from.to_canonical() {
        IpAddr::V4(ip) => hasher.write(&ip.octets()),
        IpAddr::V6(ip) => hasher.write(&ip.octets()),
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<const N: usize>(hex: &str) -> [u8; N] {
        std::array::from_fn(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).expect("hex"))
    }

    /// RFC 9018, appendix A: a new cookie, one with reserved bytes that are not zero, and one of a client with IPv6.
    #[test]
    fn hashes_are_those_of_the_standard() {
        let old = bytes("e5e973e5a6b2a43f48e7dc849e37bfcf");
        let of = |secret, client, head: &str, ip: &str| {
            hash(secret, bytes(client), &bytes::<8>(head), ip.parse().expect("an address")).to_le_bytes()
        };
        let made = of(old, "2464c4abcf10c957", "010000005cf79f11", "198.51.100.100");
        assert_eq!(made, bytes("1f8130c3eee29480"));
        let renewed = of(old, "fc93fc62807ddb86", "01abcdef5cf78f71", "203.0.113.203");
        assert_eq!(renewed, bytes("a314227b6679ebf5"));
        let new = bytes("445536bcd2513298075a5d379663c962");
        let of_ipv6 = of(new, "22681ab97d52c298", "010000005cf7c609", "2001:db8:220:1:59de:d0f4:8769:82b8");
        assert_eq!(of_ipv6, bytes("a6bb79d16625507a"));
    }

    #[test]
    fn a_cookie_is_good_for_its_client_and_hour_alone() {
        let mut cookies = Cookies::new(b"a master");
        let from = "192.0.2.7".parse().expect("an address");
        let (client, start) = ([7; 8], 20_000 * DAY - 100);
        let server = cookies.make(client, from, start);
        let mut is_valid = |client, server: &[u8], from, wall| cookies.is_valid(&Cookie { client, server }, from, wall);
        // The secret has been rolled in between.
        for wall in [start - 300, start, start + 200, start + 3600] {
            assert!(is_valid(client, &server, from, wall), "{wall}");
        }
        for wall in [start - 301, start + 3601] {
            assert!(!is_valid(client, &server, from, wall), "{wall}");
        }
        assert!(!is_valid([8; 8], &server, from, start));
        assert!(!is_valid(client, &server, "192.0.2.8".parse().expect("an address"), start));
        assert!(!is_valid(client, &server[..15], from, start));
        for at in 0..16 {
            let mut changed = server;
            changed[at] ^= 1;
            assert!(!is_valid(client, &changed, from, start), "{at}");
        }
        assert!(!Cookies::new(b"another").is_valid(&Cookie { client, server: &server }, from, start));
    }
}
