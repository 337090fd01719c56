//! A connection: a non-blocking socket, the exchange under way on it, and how far that is.

use std::io;
use std::net::{SocketAddr, TcpStream};

use nix::errno::Errno;
use socket2::{Domain, Protocol, Socket, Type};
use sojourn_stats::Time;

use crate::outcome::Outcome;
use crate::reply::Reply;
use crate::schedule::Job;

/// A place for a connection; reused when its connection is gone.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    pub(crate) stream: Option<TcpStream>,
    pub(crate) phase: Phase,
    /// Counts the connections that this place has held: an event that was meant for an earlier one is ignored.
    pub(crate) generation: u32,
    pub(crate) exchange: Option<Exchange>,
    pub(crate) reply: Reply,
    /// What a full socket buffer left of the request.
    pub(crate) unsent: Vec<u8>,
    /// Whether it has carried a reply: only then can it be stale.
    pub(crate) used: bool,
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    #[default]
    Closed,
    Connecting,
    Sending,
    Receiving,
    Idle,
}

/// A request under way. A redirect or a retry keeps the first `begun` and has the last of all other instants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    pub(crate) job: Job,
    /// When the generator acted: wrote to a free connection or began to open one.
    pub(crate) begun: Time,
    /// When the name had its address, where one had to be asked for.
    pub(crate) resolved: Option<Time>,
    /// When the connection stood, where it was opened for this request.
    pub(crate) connected: Option<Time>,
    /// When its TLS handshake was done.
    pub(crate) secured: Option<Time>,
    /// When the request was written, for the last time.
    pub(crate) sent: Option<Time>,
    pub(crate) first_byte: Option<Time>,
    pub(crate) retried: bool,
}

impl Exchange {
    /// `job`, on which the generator acts at `begun`.
    pub(crate) fn new(job: Job, begun: Time) -> Exchange {
        Exchange {
            job,
            begun,
            resolved: None,
            connected: None,
            secured: None,
            sent: None,
            first_byte: None,
            retried: false,
        }
    }
}

/// Begins to connect.
pub(crate) fn connect(target: SocketAddr) -> io::Result<TcpStream> {
    let kind = Type::STREAM.nonblocking().cloexec();
    let socket = Socket::new(Domain::for_address(target), kind, Some(Protocol::TCP))?;
    socket.set_tcp_nodelay(true)?;
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
