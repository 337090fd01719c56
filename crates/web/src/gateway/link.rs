//! Connections to backends, and the pool of idle ones.
//!
//! A connection is not a task of its own: it is polled by the request that uses it, so that a reply wakes one task and
//! not two. Idle ones are kept last in, first out: the ones used last are the least likely to have been closed.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Context;

use hyper::client::conn::http1::{self, Connection, SendRequest};
use hyper_util::rt::TokioIo;
use nix::errno::Errno;
use sojourn_dispatch::{BackendId, Event, News};
use sojourn_stats::Span;
use tokio::net::TcpStream;

use super::board::Board;
use super::upload::RequestBody;

/// Bytes of a reply that are read at once, and of a request that wait to be taken. What a client does not take of its reply stays
/// here and before the client. A head of a reply that is longer is malformed. Less costs more reads.
const BUFFER: usize = 32 << 10;

/// A connection to a backend.
pub(super) struct Link {
    board: Rc<Board>,
    backend: BackendId,
    address: SocketAddr,
    pub(super) sender: SendRequest<RequestBody>,
    connection: Connection<TokioIo<TcpStream>, RequestBody>,
    /// The connection has ended and must not be polled again.
    ended: bool,
    /// It has carried a reply before.
    pub(super) used: bool,
}

impl Link {
    /// Opens a connection; the backend is struck when that fails.
    pub(super) async fn open(
        board: &Rc<Board>,
        backend: BackendId,
        address: SocketAddr,
        timeout: Span,
    ) -> io::Result<Box<Link>> {
        let stream = match tokio::time::timeout(timeout.as_std(), TcpStream::connect(address)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => {
                if error.kind() == io::ErrorKind::ConnectionRefused {
                    board.refused(backend);
                } else if !is_own(&error) {
                    board.learn(backend, News::Struck, "it cannot be reached");
                }
                return Err(error);
            }
            Err(_) => {
                board.learn(backend, News::Struck, "it does not accept connections in time");
                return Err(io::ErrorKind::TimedOut.into());
            }
        };
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::Builder::new()
            .max_buf_size(BUFFER)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(io::Error::other)?;
        board.count(backend).connections.add(1);
        board.tell(|_| Event::Opened { backend });
        Ok(Box::new(Link { board: Rc::clone(board), backend, address, sender, connection, ended: false, used: false }))
    }

    /// Where it leads.
    pub(super) fn backend(&self) -> BackendId {
        self.backend
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Moves bytes both ways, as far as possible now.
    pub(super) fn drive(&mut self, context: &mut Context<'_>) {
        if !self.ended {
            // An error reaches what waits for the reply as well.
            self.ended = Pin::new(&mut self.connection).poll(context).is_ready();
        }
    }

    /// Whether another request can be sent on it.
    pub(super) fn is_idle(&self) -> bool {
        !self.ended && self.sender.is_ready()
    }
}

/// Whether a connection failed because this side lacks something: descriptors, memory, ports, or the right to connect.
pub(super) fn is_own(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw);
    let own = [
        Errno::EMFILE,
        Errno::ENFILE,
        Errno::ENOMEM,
        Errno::ENOBUFS,
        Errno::EADDRNOTAVAIL,
        Errno::EACCES,
        Errno::EPERM,
    ];
    errno.is_some_and(|errno| own.contains(&errno))
}

impl Drop for Link {
    fn drop(&mut self) {
        let backend = self.backend;
        self.board.count(backend).connections.less();
        self.board.tell(|_| Event::Closed { backend });
    }
}

/// The idle connections of one thread.
#[expect(clippy::vec_box, reason = "a link is large and wanders between the pool and its requests")]
pub(super) struct Pool {
    idle: RefCell<Vec<Vec<Box<Link>>>>,
}

impl Pool {
    pub(super) fn new(backends: usize) -> Pool {
        Pool { idle: RefCell::new((0..backends).map(|_| Vec::new()).collect()) }
    }

    /// Has room for so many backends, and closes what leads where it should not any more.
    pub(super) fn keep_only(&self, is_right: impl Fn(BackendId, SocketAddr) -> bool, backends: usize) {
        let mut closed = Vec::new();
        let mut idle = self.idle.borrow_mut();
        idle.resize_with(backends, Vec::new);
        for idle in idle.iter_mut() {
            closed.extend(idle.extract_if(.., |link| !is_right(link.backend, link.address)));
        }
    }

    /// A connection that was still open a moment ago.
    pub(super) fn take(&self, backend: BackendId, context: &mut Context<'_>) -> Option<Box<Link>> {
        loop {
            let mut link = self.idle.borrow_mut()[backend.0 as usize].pop()?;
            link.drive(context);
            if link.is_idle() {
                return Some(link);
            }
        }
    }

    /// Keeps a connection whose reply has been read, if it can carry another and fewer than `keep` are kept.
    pub(super) fn put(&self, mut link: Box<Link>, keep: usize, context: &mut Context<'_>) {
        if !link.is_idle() {
            link.drive(context);
        }
        let mut idle = self.idle.borrow_mut();
        let idle = &mut idle[link.backend.0 as usize];
        if link.is_idle() && idle.len() < keep {
            link.used = true;
            idle.push(link);
        }
    }

    /// Closes those that the other side has closed.
    pub(super) fn weed(&self, context: &mut Context<'_>) {
        for idle in self.idle.borrow_mut().iter_mut() {
            idle.retain_mut(|link| {
                link.drive(context);
                link.is_idle()
            });
        }
    }

    /// Closes all.
    pub(super) fn clear(&self) {
        for idle in self.idle.borrow_mut().iter_mut() {
            idle.clear();
        }
    }
}
