//! A place: of a client, of its resolver or of a backend.

use core::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

/// Where a request comes from or where a backend is, as far as the face can tell. Both parts stand for themselves: a DNS
/// server may see only an address, a simulator may know only the region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Origin {
    /// Number of the region in the description of the system.
    pub region: Option<u16>,
    /// The address of the client, of its resolver or of the backend, for policies that judge nearness by address.
    pub address: Option<Ipv4Addr>,
}
