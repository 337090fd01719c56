//! How packets reach a server, by name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sojourn_stats::meant_aside;

/// How packets reach a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Unchanged, in a frame for the server's MAC address. The server has the service's address, silently, and replies to
    /// the client directly. Switch and servers are on one Ethernet.
    #[default]
    Mac,
    /// With the server's address as the destination. The server sets it back to the service's, and replies to the client
    /// directly (single rewriting). Servers may be anywhere.
    Rewrite,
    /// With the server's address in the place of the service's; replies come back through the switch, which puts the
    /// service's address in again (double rewriting).
    Nat,
    /// As with NAT, by a server that the path of the connection's first request chooses: the switch opens the connection,
    /// reads that request, and translates the numbers of all further packets (TCP splicing).
    Splice,
    /// The same, and the server's half translates the replies, which go straight to the client.
    SpliceAsymmetric,
    /// Unchanged, inside datagrams of UDP that this process sends and the server's half takes out (see the module `tunnel`).
    /// The server has the service's address, silently, and replies to the client directly. Servers may be anywhere.
    Tunnel,
}

impl Mode {
    /// The modes, by name.
    pub const ALL: [(&str, Mode); 6] = [
        ("mac", Mode::Mac),
        ("rewrite", Mode::Rewrite),
        ("nat", Mode::Nat),
        ("tunnel", Mode::Tunnel),
        ("splice", Mode::Splice),
        ("splice-asymmetric", Mode::SpliceAsymmetric),
    ];

    /// Whether each packet passes the process, which reads the first request of a connection.
    pub fn is_spliced(self) -> bool {
        matches!(self, Mode::Splice | Mode::SpliceAsymmetric)
    }

    /// Whether addresses are rewritten, so that it can be only one service's.
    pub fn has_one_service(self) -> bool {
        !matches!(self, Mode::Mac | Mode::Tunnel)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Mode::ALL.iter().find(|(_, mode)| mode == self).map(|(name, _)| *name);
        f.write_str(name.expect("every mode has a name"))
    }
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(text: &str) -> Result<Mode, String> {
        let known = Mode::ALL.map(|(name, _)| name);
        let mode = Mode::ALL.iter().find(|(name, _)| *name == text).map(|(_, mode)| *mode);
        mode.ok_or_else(|| format!("mode {text}{}: the modes are {}", meant_aside(text, known), known.join(", ")))
    }
}
