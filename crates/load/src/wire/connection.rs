//! A connection: a non-blocking socket, the exchange under way on it, and how far that is.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};

use nix::errno::Errno;
use nix::sys::socket::{setsockopt, sockopt::IpBindAddressNoPort};
use socket2::{Domain, Protocol, Socket, Type};

use crate::outcome::Outcome;
use crate::request::Special;
use crate::wire::channel::Channel;
use crate::wire::exchange::{Exchange, Opening};
use crate::wire::reply::Reply;
use crate::wire::tls::Session;

/// A place for a connection; reused when its connection is gone. With HTTP/2 a place is one stream at a time of a
/// connection that has a place of its own.
#[derive(Default)]
pub(crate) struct Connection {
    pub(crate) stream: Option<TcpStream>,
    /// Its TLS, where it has any.
    pub(crate) tls: Option<Box<Session>>,
    pub(crate) phase: Phase,
    /// Whether it has carried a reply or was opened ahead: only then can it be stale.
    pub(crate) used: bool,
    /// Counts the connections that this place has held: an event that was meant for an earlier one is ignored.
    pub(crate) generation: u32,
    /// The endpoint, or where a redirect led, by its number.
    pub(crate) origin: u32,
    pub(crate) exchange: Option<Exchange>,
    pub(crate) reply: Reply,
    /// What a full socket buffer left of the request.
    pub(crate) unsent: Vec<u8>,
    /// What the exchange asks for in place of what all ask for.
    pub(crate) special: Option<Box<Special>>,
    /// The same before its first redirect, where it may have to be asked for again.
    pub(crate) first: Option<Box<Special>>,
    pub(crate) opening: Opening,
    /// HTTP/2 for others: then nothing is exchanged at this place.
    pub(crate) channel: Option<Box<Channel>>,
    /// The stream, of one that is carried by such.
    pub(crate) ticket: u64,
}

impl Connection {
    /// Closes it. What is on its way to or from it is lost.
    pub(crate) fn shut(&mut self) {
        self.stream = None;
        self.opening.earlier.clear();
        self.tls = None;
        self.channel = None;
        self.phase = Phase::Closed;
        self.generation = self.generation.wrapping_add(1);
    }
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    #[default]
    Closed,
    Resolving,
    Connecting,
    Securing,
    /// For the connection that carries the stream (HTTP/2).
    Waiting,
    Sending,
    Receiving,
    Idle,
    /// For a while, before the request is asked for again where it first was.
    Returning,
}

/// Begins to connect, from `local` where that is given.
pub(crate) fn connect(target: SocketAddr, local: Option<IpAddr>) -> io::Result<TcpStream> {
    let kind = Type::STREAM.nonblocking().cloexec();
    let socket = Socket::new(Domain::for_address(target), kind, Some(Protocol::TCP))?;
    socket.set_tcp_nodelay(true)?;
    if let Some(local) = local {
        // The port is chosen when the target is known: else an address had ports for one target only.
        setsockopt(&socket, IpBindAddressNoPort, &true)?;
        socket.bind(&SocketAddr::new(local, 0).into())?;
    }
    match socket.connect(&target.into()) {
        Err(error) if error.raw_os_error() != Some(Errno::EINPROGRESS as i32) => Err(error),
        _ => Ok(socket.into()),
    }
}

/// The outcome that a socket error is.
pub(crate) fn outcome_of(error: &io::Error) -> Outcome {
    match error.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
            Outcome::Refused
        }
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionAborted => Outcome::Reset,
        io::ErrorKind::TimedOut => Outcome::Timeout,
        _ => Outcome::Local,
    }
}
