//! Ranges of addresses, and the client that an asker stands for.

use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr};

use sojourn_dispatch::key;

use super::chooser::Asker;

fn bits_of(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The client that an asker stands for: its network where the resolver tells it, else who asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Client {
    /// Its address, or the first of its network.
    pub(super) address: IpAddr,
    /// How many bits of it are known.
    pub(super) bits: u8,
    /// The key of its text.
    pub(super) key: u64,
    /// How many bits of a network that was told it stands for; 0: none was told.
    pub(super) scope: u8,
}

impl Client {
    /// The client of an asker.
    pub(super) fn of(asker: &Asker) -> Client {
        let (address, bits, scope) = match asker.subnet {
            Some((network, bits)) => (network, bits.min(bits_of(network)), bits),
            None => (asker.from, bits_of(asker.from), 0),
        };
        let mut client = Client { address, bits, key: 0, scope };
        let mut text = Text::default();
        match address {
            // Without the ways of formatters, since each query goes here: they take a tenth of all that it costs.
            IpAddr::V4(address) => text.v4(address, bits),
            IpAddr::V6(_) => write!(text, "{client}").expect("it is short enough"),
        }
        client.key = key(text.as_str());
        client
    }

    /// The client of an address as reports name it.
    pub(super) fn at(address: IpAddr) -> Client {
        Client::of(&Asker { from: address, subnet: None })
    }

    /// Its address, if it is one host, to which round trips can be measured.
    pub(super) fn host(self) -> Option<IpAddr> {
        (self.bits == bits_of(self.address)).then_some(self.address)
    }
}

impl std::fmt::Display for Client {
    /// As its address, or as a range: `10.0.0.17`, `10.0.0.0/24`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.host() {
            Some(address) => write!(f, "{address}"),
            None => write!(f, "{}/{}", self.address, self.bits),
        }
    }
}

/// A short text on the stack: each query makes one.
struct Text {
    bytes: [u8; 64],
    length: usize,
}

impl Default for Text {
    fn default() -> Text {
        Text { bytes: [0; 64], length: 0 }
    }
}

impl Text {
    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).expect("only whole texts are added")
    }

    /// Adds an address, or a range of so many bits.
    fn v4(&mut self, address: Ipv4Addr, bits: u8) {
        for (index, octet) in address.octets().into_iter().enumerate() {
            if index > 0 {
                self.push(b'.');
            }
            self.decimal(octet);
        }
        if bits < 32 {
            self.push(b'/');
            self.decimal(bits);
        }
    }

    fn decimal(&mut self, number: u8) {
        if number >= 100 {
            self.push(b'0' + number / 100);
        }
        if number >= 10 {
            self.push(b'0' + number / 10 % 10);
        }
        self.push(b'0' + number % 10);
    }

    fn push(&mut self, byte: u8) {
        self.bytes[self.length] = byte;
        self.length += 1;
    }
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.length + text.len();
        self.bytes.get_mut(self.length..end).ok_or(std::fmt::Error)?.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Servers name a client in their reports by its text, so both must be the same.
    #[test]
    fn a_client_has_the_key_of_its_text() {
        let told =
            |address: &str, bits| Asker { from: [192, 0, 2, 1].into(), subnet: Some((address.parse().unwrap(), bits)) };
        for (asker, text) in [
            (Asker { from: [10, 0, 99, 100].into(), subnet: None }, "10.0.99.100"),
            (told("255.9.10.0", 24), "255.9.10.0/24"),
            (told("128.0.0.0", 1), "128.0.0.0/1"),
            (told("198.51.100.109", 32), "198.51.100.109"),
            (told("198.51.100.109", 77), "198.51.100.109"),
            (told("2001:db8::", 56), "2001:db8::/56"),
            (told("2001:db8::9", 128), "2001:db8::9"),
        ] {
            let client = Client::of(&asker);
            assert_eq!((client.key, client.to_string().as_str()), (key(text), text));
        }
    }
}
