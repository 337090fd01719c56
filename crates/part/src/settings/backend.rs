//! Backends in a file and on the command line: `ADDRESS`, `NAME=ADDRESS` or `NAME=ADDRESS*WEIGHT`; in a file also a table.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Backend;

/// Reads `NAME=ADDRESS*WEIGHT`, with the address by `address`; where that is wrong, says so as `wrong` does. A backend without
/// a name has an empty one until [`backends`] names it.
///
/// # Errors
/// What is wrong, and `example`.
pub fn read_backend(
    text: &str,
    (wrong, example): (&str, &str),
    address: impl FnOnce(&str) -> Option<SocketAddr>,
) -> Result<Backend, String> {
    let (name, rest) = text.split_once('=').unwrap_or(("", text));
    let (place, weight) = rest.split_once('*').unwrap_or((rest, "1"));
    let refuse = |what: &str| format!("{text}: {what}; write e.g. `{example}`");
    let address = address(place).ok_or_else(|| refuse(wrong))?;
    let weight = weight.parse().ok().filter(|weight: &f64| *weight > 0.0 && weight.is_finite());
    Ok(Backend { weight: weight.ok_or_else(|| refuse("the weight is not above 0"))?, ..Backend::new(name, address) })
}

/// These backends; one without a name is called `server-N` by its place.
pub fn backends(given: &[Backend]) -> Vec<Backend> {
    let mut all = given.to_vec();
    for (index, backend) in all.iter_mut().enumerate().filter(|(_, backend)| backend.name.is_empty()) {
        backend.name = format!("server-{}", index + 1);
    }
    all
}

impl FromStr for Backend {
    type Err = String;

    fn from_str(text: &str) -> Result<Backend, String> {
        read_backend(text, ("the address is not IP:PORT", "a=127.0.0.1:8080*2"), |text| text.parse().ok())
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.name.is_empty() { String::new() } else { format!("{}=", self.name) };
        let weight = if self.weight == 1.0 { String::new() } else { format!("*{}", self.weight) };
        write!(f, "{name}{}{weight}", self.address)
    }
}

/// The same as a table.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, remote = "Backend")]
struct Table {
    #[serde(default)]
    name: String,
    address: SocketAddr,
    #[serde(default = "one")]
    weight: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    public: Option<String>,
}

fn one() -> f64 {
    1.0
}

impl Serialize for Backend {
    /// As text, where that says all.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.public.is_some() || self.name.contains('=') {
            true => Table::serialize(self, serializer),
            false => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Backend {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Backend, D::Error> {
        struct Either;

        impl<'de> serde::de::Visitor<'de> for Either {
            type Value = Backend;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, e.g. \"a=127.0.0.1:8080*2\", or a table with `address`, `name` and `weight`")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Backend, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Backend, A::Error> {
                Table::deserialize(serde::de::value::MapAccessDeserializer::new(map))
            }
        }
        deserializer.deserialize_any(Either)
    }
}
