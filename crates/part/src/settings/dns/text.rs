//! Texts of a DNS's file: names and addresses.

use std::fmt;
use std::net::IpAddr;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Bytes of the longest name as a text (RFC 1035, section 2.3.4).
const NAME_MAX: usize = 253;

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
