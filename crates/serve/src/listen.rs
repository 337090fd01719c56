//! Listening sockets, the loop that accepts on them until told to stop, and how connections are spoken on.

use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::TokioTimer;
use socket2::{Domain, Protocol, Socket, Type};
use sojourn_stats::{Span, Time};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::{ServeError, clock};

/// Connections that may wait to be accepted; the kernel caps it at `net.core.somaxconn`.
const BACKLOG: i32 = 4096;

/// One listening socket per thread, all on one port; the kernel spreads the connections over them.
pub(crate) fn listeners(address: SocketAddr, threads: usize) -> Result<Vec<StdListener>, ServeError> {
    let refused = |source: io::Error| match source.kind() {
        io::ErrorKind::AddrInUse => ServeError::InUse(address),
        _ => ServeError::Listen { address, source },
    };
    let shared = threads > 1;
    if shared && address.port() != 0 {
        // SO_REUSEPORT would join another program that listens with it; a socket without it is told that the port is taken.
        bind(address, false).map_err(refused)?;
    }
    let first = bind(address, shared).map_err(refused)?;
    let bound = first.local_addr().map_err(refused)?;
    let mut all = vec![first];
    for _ in 1..threads {
        all.push(bind(bound, true).map_err(refused)?);
    }
    Ok(all)
}

fn bind(address: SocketAddr, shared: bool) -> io::Result<StdListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(shared)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// HTTP/1 on connections that are closed when they are idle for `keep_alive`: counted from the end of the reply before,
/// or from the connection's beginning, and a request's head must be complete by then. Zero: a connection per request.
pub(crate) fn http(keep_alive: Option<Span>) -> http1::Builder {
    let mut http = http1::Builder::new();
    match keep_alive {
        None => {}
        Some(Span::ZERO) => drop(http.keep_alive(false)),
        Some(idle) => drop(http.timer(TokioTimer::new()).header_read_timeout(idle.as_std())),
    }
    http
}

/// Accepts until `stop` says so, a task per connection; then waits at most `grace` for `idle` and drops what is left.
pub(crate) async fn accept<F>(
    listener: StdListener,
    mut stop: watch::Receiver<bool>,
    grace: Span,
    idle: impl Fn() -> bool,
    mut serve: impl FnMut(TcpStream, SocketAddr) -> F,
) where
    F: Future<Output = ()> + 'static,
{
    let listener = TcpListener::from_std(listener).expect("the listener is non-blocking and this is its runtime");
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    // Replies leave whole; waiting for more to send would only add delay.
                    let _ = stream.set_nodelay(true);
                    connections.spawn_local(serve(stream, peer));
                }
                // The client left while it waited: only that connection is lost.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                // Out of descriptors or memory: it stays in the backlog until some are free again.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            },
            Some(_) = connections.join_next() => {}
            _ = stop.wait_for(|stop| *stop) => break,
        }
    }
    drop(listener);
    let deadline: Time = clock::now() + grace;
    while !idle() && clock::now() < deadline {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    connections.shutdown().await;
}
