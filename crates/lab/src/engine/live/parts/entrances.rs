//! Where the clients of a live run go.

use std::net::SocketAddr;

use sojourn_load::Rotation;

/// Where clients go.
pub(in crate::engine::live) enum Entrances {
    /// To one address.
    One(SocketAddr),
    /// To a forward proxy, which is asked for what the web server at the other address has.
    Proxy {
        /// The proxy's address.
        proxy: SocketAddr,
        /// The web server's.
        origin: SocketAddr,
    },
    /// To these, which are dealt to them.
    Rotated(Vec<SocketAddr>, Rotation),
    /// Where the DNS at this address says.
    Named(SocketAddr),
}
