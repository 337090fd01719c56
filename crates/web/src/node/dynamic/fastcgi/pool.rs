//! Connections to a FastCGI server that are kept between requests.
//!
//! All threads share them, as sockets that belong to no runtime: one that belonged to a thread would keep a process of the
//! server busy for that thread alone. What has been idle for some seconds is closed, so that the server's processes are free
//! for others. The price: a registration with the runtime per request.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};
use sojourn_part::clock;
use sojourn_stats::{Span, Time};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, ReadHalf, WriteHalf};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How long a connection may be idle.
const IDLE: Span = Span(5_000_000_000);

/// The connections to one server.
pub(super) struct Pool {
    place: Place,
    free: Arc<Semaphore>,
    idle: Mutex<Idle>,
}

#[derive(Default)]
struct Idle {
    sockets: Vec<(Time, Socket)>,
    /// A task closes those that are idle for too long.
    is_swept: bool,
}

enum Place {
    Unix(PathBuf),
    Tcp(SocketAddr),
}

/// A socket on no runtime.
enum Socket {
    Unix(std::os::unix::net::UnixStream),
    Tcp(std::net::TcpStream),
}

/// A connection in use.
pub(super) enum Connection {
    Unix(UnixStream),
    Tcp(TcpStream),
}

/// A connection that has been lent out, with its place among those that may be open.
pub(super) struct Lent {
    pool: Arc<Pool>,
    connection: Option<Connection>,
    _permit: OwnedSemaphorePermit,
    /// It has served before.
    pub(super) is_kept: bool,
}

impl Pool {
    /// Connections to `server`, a path or an address and a port, at most so many at once.
    pub(super) fn new(server: &str, most: usize) -> Pool {
        let place = server.parse().map_or_else(|_| Place::Unix(server.into()), Place::Tcp);
        Pool { place, free: Arc::new(Semaphore::new(most)), idle: Mutex::default() }
    }

    /// One that is idle, or else a new one; waits while as many are lent out as may be.
    pub(super) async fn lend(self: &Arc<Pool>) -> io::Result<Lent> {
        let permit = self.permit().await;
        let kept = loop {
            let Some((_, socket)) = self.lock().sockets.pop() else { break None };
            // A server that has closed it can be read to its end; one that says something unasked is not understood.
            if socket.is_quiet() {
                break Some(socket.connected()?);
            }
        };
        match kept {
            Some(connection) => Ok(self.lent(connection, permit, true)),
            None => Ok(self.lent(self.connect().await?, permit, false)),
        }
    }

    /// A new one.
    pub(super) async fn lend_new(self: &Arc<Pool>) -> io::Result<Lent> {
        let permit = self.permit().await;
        Ok(self.lent(self.connect().await?, permit, false))
    }

    fn lent(self: &Arc<Pool>, connection: Connection, permit: OwnedSemaphorePermit, is_kept: bool) -> Lent {
        Lent { pool: Arc::clone(self), connection: Some(connection), _permit: permit, is_kept }
    }

    async fn permit(&self) -> OwnedSemaphorePermit {
        Arc::clone(&self.free).acquire_owned().await.expect("the semaphore is never closed")
    }

    async fn connect(&self) -> io::Result<Connection> {
        match &self.place {
            Place::Unix(path) => UnixStream::connect(path).await.map(Connection::Unix),
            Place::Tcp(address) => {
                let stream = TcpStream::connect(address).await?;
                stream.set_nodelay(true)?;
                Ok(Connection::Tcp(stream))
            }
        }
    }

    fn keep(self: &Arc<Pool>, socket: Socket) {
        let mut idle = self.lock();
        idle.sockets.push((clock::now(), socket));
        if !std::mem::replace(&mut idle.is_swept, true) {
            tokio::task::spawn_local(Arc::clone(self).sweep());
        }
    }

    /// Closes what is idle for too long, until nothing is left.
    async fn sweep(self: Arc<Pool>) {
        /// Should the thread end before its task does, another one takes over.
        struct Over(Arc<Pool>);
        impl Drop for Over {
            fn drop(&mut self) {
                self.0.lock().is_swept = false;
            }
        }
        let over = Over(self);
        loop {
            tokio::time::sleep(IDLE.as_std()).await;
            let now = clock::now();
            let mut idle = over.0.lock();
            idle.sockets.retain(|(since, _)| now.saturating_since(*since) < IDLE);
            if idle.sockets.is_empty() {
                idle.is_swept = false;
                break;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().expect("nothing panics while it holds the connections")
    }
}

impl Lent {
    /// The connection, once.
    pub(super) fn take(&mut self) -> Connection {
        self.connection.take().expect("a connection is taken once")
    }

    /// Keeps the connection, whose two halves these are, for another request.
    pub(super) fn give_back(self, reader: ReadHalf<Connection>, writer: WriteHalf<Connection>) {
        if let Ok(socket) = reader.unsplit(writer).released() {
            self.pool.keep(socket);
        }
    }
}

impl Socket {
    fn is_quiet(&self) -> bool {
        let descriptor: BorrowedFd<'_> = match self {
            Socket::Unix(stream) => stream.as_fd(),
            Socket::Tcp(stream) => stream.as_fd(),
        };
        let flags = MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT;
        recv(descriptor.as_raw_fd(), &mut [0], flags) == Err(Errno::EAGAIN)
    }

    fn connected(self) -> io::Result<Connection> {
        match self {
            Socket::Unix(stream) => UnixStream::from_std(stream).map(Connection::Unix),
            Socket::Tcp(stream) => TcpStream::from_std(stream).map(Connection::Tcp),
        }
    }
}

impl Connection {
    fn released(self) -> io::Result<Socket> {
        match self {
            Connection::Unix(stream) => stream.into_std().map(Socket::Unix),
            Connection::Tcp(stream) => stream.into_std().map(Socket::Tcp),
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Connection::Unix(stream) => Pin::new(stream).poll_read(cx, buffer),
            Connection::Tcp(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Connection::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
            Connection::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Connection::Unix(stream) => Pin::new(stream).poll_flush(cx),
            Connection::Tcp(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Connection::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
            Connection::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
