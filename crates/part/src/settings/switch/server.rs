//! Servers of a switch, and services of other sites, as texts: `a=10.0.1.11*2`, `10.0.2.100=10.0.2.1`.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Backend;
use crate::settings::read_backend;

/// A server behind a switch, or what connections overflow to. Its port is that of the service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SwitchServer {
    /// Its name; empty: as [`super::SwitchSettings::whole`] names it.
    pub name: String,
    /// Its own address.
    pub address: Ipv4Addr,
    /// Its share, for policies that read weights.
    pub weight: f64,
}

/// A service of another site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Accepted {
    /// The address that clients connected to; the port is this switch's own service's.
    pub service: Ipv4Addr,
    /// The front node there, from which its packets come.
    pub front: Ipv4Addr,
}

impl SwitchServer {
    /// A server of weight 1.
    pub fn new(name: impl Into<String>, address: Ipv4Addr) -> SwitchServer {
        SwitchServer { name: name.into(), address, weight: 1.0 }
    }
}

impl FromStr for SwitchServer {
    type Err = String;

    fn from_str(text: &str) -> Result<SwitchServer, String> {
        let mut address = Ipv4Addr::UNSPECIFIED;
        let read = |text: &str| {
            address = text.parse().ok()?;
            Some(SocketAddr::from((address, 0)))
        };
        let Backend { name, weight, .. } =
            read_backend(text, ("the address is not an IPv4 address", "a=10.0.1.11*2"), read)?;
        Ok(SwitchServer { name, address, weight })
    }
}

impl fmt::Display for SwitchServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.name.is_empty() { String::new() } else { format!("{}=", self.name) };
        let weight = if self.weight == 1.0 { String::new() } else { format!("*{}", self.weight) };
        write!(f, "{name}{}{weight}", self.address)
    }
}

impl FromStr for Accepted {
    type Err = String;

    fn from_str(text: &str) -> Result<Accepted, String> {
        let right =
            "two IPv4 addresses, of another site's service and of its front node; write e.g. `10.0.2.100=10.0.2.1`";
        let read = text.split_once('=').and_then(|(service, front)| Some((service.parse().ok()?, front.parse().ok()?)));
        let (service, front) = read.ok_or_else(|| format!("{text}: {right}"))?;
        Ok(Accepted { service, front })
    }
}

impl fmt::Display for Accepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.service, self.front)
    }
}

impl TryFrom<String> for SwitchServer {
    type Error = String;

    fn try_from(text: String) -> Result<SwitchServer, String> {
        text.parse()
    }
}

impl From<SwitchServer> for String {
    fn from(server: SwitchServer) -> String {
        server.to_string()
    }
}

impl TryFrom<String> for Accepted {
    type Error = String;

    fn try_from(text: String) -> Result<Accepted, String> {
        text.parse()
    }
}

impl From<Accepted> for String {
    fn from(accepted: Accepted) -> String {
        accepted.to_string()
    }
}
