//! Networks of clients, and which of them may ask.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A range of addresses, as 194.0.0.0/7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Range {
    /// The first of them.
    pub network: IpAddr,
    /// How many leading bits all have in common.
    pub bits: u8,
}

/// Which clients may ask: `all`, `none`, or those of some ranges of addresses, as `127.0.0.0/8,::1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allow {
    /// Every client.
    All,
    /// No client.
    None,
    /// Clients of these ranges.
    From(Vec<Range>),
}

/// The network of an address: this many bits of IPv4 and of IPv6. An IPv4 address that is mapped into IPv6 counts as IPv4.
pub fn prefix(of: IpAddr, [v4, v6]: [u8; 2]) -> u128 {
    match of.to_canonical() {
        IpAddr::V4(ip) => {
            let kept = u32::MAX.checked_shl(32 - u32::from(v4.min(32))).unwrap_or(0);
            // As an IPv4-mapped address, no IPv6 network is the same.
            0xffff << 32 | u128::from(u32::from(ip) & kept)
        }
        IpAddr::V6(ip) => u128::from(ip) & u128::MAX.checked_shl(128 - u32::from(v6.min(128))).unwrap_or(0),
    }
}

impl Range {
    /// The range of so many leading bits in which an address is.
    pub fn around(address: IpAddr, bits: u8) -> Range {
        let network = match address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(bits.min(32))).unwrap_or(0);
                Ipv4Addr::from_bits(address.to_bits() & mask).into()
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(bits.min(128))).unwrap_or(0);
                Ipv6Addr::from_bits(address.to_bits() & mask).into()
            }
        };
        Range { network, bits }
    }

    /// One address.
    pub fn one(address: IpAddr) -> Range {
        Range { network: address, bits: if address.is_ipv4() { 32 } else { 128 } }
    }

    /// Whether an address is in it.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.network.is_ipv4() == address.is_ipv4() && Range::around(address, self.bits).network == self.network
    }
}

impl FromStr for Range {
    type Err = String;

    /// Bits of the host must be zero. An address alone is a range of one.
    fn from_str(text: &str) -> Result<Range, String> {
        let read = || {
            if let Ok(address) = text.parse() {
                return Some(Range::one(address));
            }
            let (network, bits) = text.split_once('/')?;
            let range = Range { network: network.parse().ok()?, bits: bits.parse().ok()? };
            let most = if range.network.is_ipv4() { 32 } else { 128 };
            (range.bits <= most && range == Range::around(range.network, range.bits)).then_some(range)
        };
        read().ok_or_else(|| format!("`{text}` is no range of addresses, as 194.0.0.0/7"))
    }
}

impl TryFrom<String> for Range {
    type Error = String;

    fn try_from(text: String) -> Result<Range, String> {
        text.parse()
    }
}

impl From<Range> for String {
    fn from(range: Range) -> String {
        format!("{}/{}", range.network, range.bits)
    }
}

impl Allow {
    /// This machine alone.
    pub fn loopback() -> Allow {
        Allow::From(vec![Range::around(Ipv4Addr::LOCALHOST.into(), 8), Range::one(Ipv6Addr::LOCALHOST.into())])
    }

    /// Whether a client of this address may. An IPv4 address that is mapped into IPv6 counts as IPv4.
    pub fn allows(&self, client: IpAddr) -> bool {
        match self {
            Allow::All => true,
            Allow::None => false,
            Allow::From(ranges) => ranges.iter().any(|range| range.contains(client.to_canonical())),
        }
    }
}

impl FromStr for Allow {
    type Err = String;

    fn from_str(text: &str) -> Result<Allow, String> {
        match text {
            "all" => Ok(Allow::All),
            "none" => Ok(Allow::None),
            ranges => ranges.split(',').map(|range| range.trim().parse()).collect::<Result<_, _>>().map(Allow::From),
        }
        .map_err(|why| format!("{why}; or `all`, or `none`"))
    }
}

impl fmt::Display for Allow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Allow::All => f.write_str("all"),
            Allow::None => f.write_str("none"),
            Allow::From(ranges) => {
                let ranges: Vec<String> = ranges.iter().copied().map(String::from).collect();
                f.write_str(&ranges.join(","))
            }
        }
    }
}

impl Serialize for Allow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Allow {
    /// From a text, or from a list of ranges.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Allow, D::Error> {
        struct TextOrList;

        impl<'de> Visitor<'de> for TextOrList {
            type Value = Allow;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`all`, `none`, or ranges of addresses, as [\"127.0.0.0/8\", \"::1\"]")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Allow, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, ranges: A) -> Result<Allow, A::Error> {
                let ranges = Vec::<Range>::deserialize(SeqAccessDeserializer::new(ranges))?;
                Ok(if ranges.is_empty() { Allow::None } else { Allow::From(ranges) })
            }
        }

        deserializer.deserialize_any(TextOrList)
    }
}
