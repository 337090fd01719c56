//! Texts of a DNS's file: names, addresses, and ranges of addresses.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// Bytes of the longest name as a text (RFC 1035, section 2.3.4).
const NAME_MAX: usize = 253;

/// A range of addresses, as 194.0.0.0/7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Range {
    /// The first of them.
    pub network: IpAddr,
    /// How many leading bits all have in common.
    pub bits: u8,
}

/// Reads a name: lower case, without a dot at its end.
pub(super) fn name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    plain(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// Reads names.
pub(super) fn names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    texts.iter().map(|text| plain(text).map_err(D::Error::custom)).collect()
}

/// Reads one address, or several in a list.
pub(super) fn addresses<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<IpAddr>, D::Error> {
    #[derive(Clone, Copy)]
    struct OneOrSeveral;

    impl<'de> Visitor<'de> for OneOrSeveral {
        type Value = Vec<IpAddr>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an IP address, or several in a list")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Vec<IpAddr>, E> {
            let address = text.parse().map_err(|_| E::custom(format!("`{text}` is no IP address")))?;
            Ok(vec![address])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut texts: A) -> Result<Vec<IpAddr>, A::Error> {
            let mut addresses = Vec::new();
            while let Some(text) = texts.next_element::<String>()? {
                addresses.extend(self.visit_str::<A::Error>(&text)?);
            }
            Ok(addresses)
        }
    }

    deserializer.deserialize_any(OneOrSeveral)
}

/// The whole name of a label under a zone: `@` is the zone itself, and one with a dot at its end is whole already.
///
/// # Errors
/// In words, where it is no name, or not in the zone.
pub(super) fn under(label: &str, zone: &str) -> Result<String, String> {
    let whole = match label {
        "@" => zone.to_owned(),
        _ if label.ends_with('.') => plain(label)?,
        _ => plain(&format!("{label}.{zone}"))?,
    };
    let is_within = whole == zone || whole.strip_suffix(zone).is_some_and(|rest| rest.ends_with('.'));
    match is_within {
        true => Ok(whole),
        false => Err(format!("`{whole}` is not in the zone `{zone}`; give it a zone of its own")),
    }
}

/// A name in lower case, without a dot at its end.
fn plain(text: &str) -> Result<String, String> {
    let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    let is_label = |label: &str| {
        let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        (1..=63).contains(&label.len()) && label.bytes().all(is_sign)
    };
    match name.len() <= NAME_MAX && name.split('.').all(is_label) {
        true => Ok(name),
        false => Err(format!("`{text}` is no name, as www.example.org")),
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

    /// Whether an address is in it.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.network.is_ipv4() == address.is_ipv4() && Range::around(address, self.bits).network == self.network
    }
}

impl FromStr for Range {
    type Err = String;

    /// Bits of the host must be zero.
    fn from_str(text: &str) -> Result<Range, String> {
        let read = || {
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
