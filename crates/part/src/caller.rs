//! Who is at the other end of a client's connection, as the kernel tells it.
//!
//! The round trip is TCP's own estimate when the connection is taken in: the time from the server's half of the handshake to
//! the client's answer, so no packet is sent for it. The price: what the path does later is not seen, and a client that waited
//! to be taken in has been measured no less well.

use std::net::SocketAddr;

use nix::libc;
use nix::sys::socket::{GetSockOpt, sockopt};
use nix::{getsockopt_impl, sockopt_impl};
use sojourn_stats::Span;
use tokio::net::TcpStream;

sockopt_impl!(
    /// The state of a connection of TCP (tcp(7), `TCP_INFO`).
    Info, GetOnly, libc::IPPROTO_TCP, libc::TCP_INFO, libc::tcp_info, sockopt::GetStruct<libc::tcp_info>
);

/// A client's end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Where it calls from.
    pub address: SocketAddr,
    /// The round trip to it, where the kernel has an estimate.
    pub round_trip: Option<Span>,
    /// Whether it speaks TLS.
    pub is_secure: bool,
}

impl Caller {
    /// The client at `address` that has connected, where TLS is spoken or not.
    pub fn of(stream: &TcpStream, address: SocketAddr, is_secure: bool) -> Caller {
        let round_trip = Info.get(stream).ok().map(|info| Span(u64::from(info.tcpi_rtt) * 1000));
        Caller { address, round_trip: round_trip.filter(|span| *span > Span::ZERO), is_secure }
    }
}
