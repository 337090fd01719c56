//! How the health of backends is checked.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sojourn_stats::Span;

use super::Wrong;
use crate::Probe;

/// Health checks: what is tried, how often, and how long an answer may take.
///
/// A refused connection says that no program listens there, and takes the backend out at once. So do `fall` requests in
/// a row that failed there, and `fall` probes in a row; each is counted on its own, so that a backend is taken out that
/// answers probes and breaks its replies off, and also one that serves requests and calls itself unfit. What a client
/// breaks (it leaves, or its upload is malformed or too slow) and what this side lacks is no failure of a backend. A
/// backend that is out is probed until it has answered `rise` probes in a row, and is then chosen again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Checks {
    /// What is tried: `off`, `connect`, or the path of a GET, as `/health`.
    pub probe: Probe,
    /// How often.
    pub every: Span,
    /// How long an answer may take.
    pub timeout: Span,
}

impl Default for Checks {
    fn default() -> Checks {
        let second = Span(1_000_000_000);
        Checks { probe: Probe::Get("/health".into()), every: second, timeout: second }
    }
}

impl Checks {
    /// Whether they can be made.
    ///
    /// # Errors
    /// Where a time is zero, or the path is none.
    pub fn check(&self) -> Result<(), Wrong> {
        for (key, time) in [("every", self.every), ("timeout", self.timeout)] {
            if time == Span::ZERO {
                return Err(Wrong::new(key, "it takes some time, e.g. `1 s`"));
            }
        }
        match &self.probe {
            Probe::Get(path) if !path.starts_with('/') || path.bytes().any(|byte| !byte.is_ascii_graphic()) => {
                Err(Wrong::new("probe", format!("`{path}`: write `off`, `connect`, or a path, as `/health`")))
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Probe::Off => "off",
            Probe::Connect => "connect",
            Probe::Get(path) => path,
        })
    }
}

impl FromStr for Probe {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Probe, Infallible> {
        Ok(match text {
            "off" => Probe::Off,
            "connect" => Probe::Connect,
            path => Probe::Get(path.into()),
        })
    }
}

impl Serialize for Probe {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Probe {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Probe, D::Error> {
        let Ok(probe) = String::deserialize(deserializer)?.parse();
        Ok(probe)
    }
}
