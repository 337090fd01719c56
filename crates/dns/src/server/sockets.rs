//! The sockets of one address: TCP and UDP on the same port.

use std::io;
use std::net::{SocketAddr, TcpListener};

use nix::sys::socket::{setsockopt, sockopt};
use socket2::{Domain, Protocol, Socket, Type};
use sojourn_part::ServeError;
use sojourn_part::listen::listeners;

/// Bytes of queries that may wait, with what the system needs for each; it may allow less.
const BUFFER: usize = 4 << 20;
/// How often a free port is looked for that is free for both.
const TRIES: usize = 16;

/// The sockets of one address.
pub(super) struct Sockets {
    pub(super) address: SocketAddr,
    pub(super) listeners: Vec<TcpListener>,
    pub(super) datagrams: Vec<Socket>,
}

/// Opens them, with a UDP socket for each of so many threads.
pub(super) fn open(asked: SocketAddr, threads: usize) -> Result<Sockets, ServeError> {
    for _ in 1..TRIES {
        match try_open(asked, threads) {
            // Another program has it for UDP alone.
            Err(ServeError::InUse(_)) if asked.port() == 0 => {}
            other => return other,
        }
    }
    try_open(asked, threads)
}

fn try_open(asked: SocketAddr, threads: usize) -> Result<Sockets, ServeError> {
    let listeners = listeners(asked, 1)?;
    let refused = |address| {
        move |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => ServeError::InUse(address),
            _ => ServeError::Listen { address, source },
        }
    };
    let address = listeners[0].local_addr().map_err(refused(asked))?;
    // Sockets that share a port would join those of another program; one that does not is told that the port is taken.
    let first = bind(address, false).map_err(refused(address))?;
    let datagrams = if threads == 1 {
        vec![first]
    } else {
        drop(first);
        (0..threads).map(|_| bind(address, true).map_err(refused(address))).collect::<Result<_, _>>()?
    };
    Ok(Sockets { address, listeners, datagrams })
}

fn bind(address: SocketAddr, shared: bool) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_reuse_port(shared)?;
    // Beyond the usual most only for root; less than asked for is no failure.
    if setsockopt(&socket, sockopt::RcvBufForce, &BUFFER).is_err() {
        let _ = setsockopt(&socket, sockopt::RcvBuf, &BUFFER);
    }
    if address.ip().is_unspecified() {
        match address {
            SocketAddr::V4(_) => setsockopt(&socket, sockopt::Ipv4PacketInfo, &true)?,
            SocketAddr::V6(_) => setsockopt(&socket, sockopt::Ipv6RecvPacketInfo, &true)?,
        }
    }
    socket.bind(&address.into())?;
    Ok(socket)
}
