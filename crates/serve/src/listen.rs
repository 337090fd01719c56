//! Listening sockets, and the connections that they take in until told to stop.

mod head;

use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hyper::body::{Body, Incoming};
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper::{Request, Response};
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use sojourn_stats::Span;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;

use crate::ServeError;
use crate::caller::Caller;
use head::{TOO_LATE, timed};

/// How long a connection stays open without a request where nothing else is said; nginx has the same.
pub(crate) const KEEP_ALIVE: Span = Span(75_000_000_000);

/// How long the head of a request may take, as in nginx.
pub(crate) const HEAD_TIMEOUT: Span = Span(60_000_000_000);

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

/// The connections of clients to all threads: how each is kept, and how many may be open.
#[derive(Clone)]
pub(crate) struct Connections {
    http: http1::Builder,
    /// How long the head of a request may take from its first byte.
    head_timeout: Duration,
    /// How long a client may take nothing of what is sent to it.
    patience: Duration,
    /// How long requests in flight may take once told to stop.
    grace: Duration,
    free: Arc<Semaphore>,
    held: Arc<AtomicU64>,
}

impl Connections {
    /// At most `limit` at once; further ones wait. One that is idle for `keep_alive` is closed: counted from the end of
    /// the reply before, or from the connection's beginning. Zero: a connection per request. A head that is not complete
    /// `head_timeout` after its first byte is answered with status 408.
    pub(crate) fn new(limit: usize, keep_alive: Span, head_timeout: Span, patience: Span, grace: Span) -> Connections {
        let mut http = http1::Builder::new();
        let idle = if keep_alive == Span::ZERO { KEEP_ALIVE } else { keep_alive };
        http.keep_alive(keep_alive > Span::ZERO).header_read_timeout(idle.as_std());
        let free = Arc::new(Semaphore::new(limit));
        let [head_timeout, patience, grace] = [head_timeout, patience, grace].map(Span::as_std);
        Connections { http, head_timeout, patience, grace, free, held: Arc::default() }
    }

    /// How many had to wait because too many were open.
    pub(crate) fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// Takes in what connects to `listener` until `stop` says so, and lets `service` answer each connection's requests.
    /// Then the socket is closed, requests in flight are answered, and what is left after the grace is dropped.
    pub(crate) async fn accept<S, B>(
        &self,
        listener: StdListener,
        mut stop: watch::Receiver<bool>,
        service: impl Fn(Caller) -> S,
    ) where
        S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + 'static,
        B: Body + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let listener = TcpListener::from_std(listener).expect("the listener is non-blocking and this is its runtime");
        let mut open = JoinSet::new();
        let conversation =
            |stream: TcpStream, peer, permit: Option<OwnedSemaphorePermit>, stop: &watch::Receiver<bool>| {
                let caller = Caller::of(&stream, peer);
                let speaking = self.clone().speak(stream, service(caller), stop.clone());
                async move {
                    speaking.await;
                    drop(permit);
                }
            };
        loop {
            let (stream, peer) = tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok(accepted) => accepted,
                    // The client left while it waited: only that connection is lost.
                    Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                    // Out of descriptors or memory: it stays in the backlog until some are free again.
                    Err(_) => {
                        tokio::time::sleep(Duration::from_millis(20)).await;
                        continue;
                    }
                },
                Some(_) = open.join_next() => continue,
                _ = stop.wait_for(|stop| *stop) => break,
            };
            let permit = tokio::select! {
                permit = self.permit() => Some(permit),
                // It has connected before the stop.
                _ = stop.wait_for(|stop| *stop) => None,
            };
            open.spawn_local(conversation(stream, peer, permit, &stop));
        }
        // What has connected before is served too. From then on connections are refused.
        if let Ok(listener) = listener.into_std() {
            while let Ok((stream, peer)) = listener.accept() {
                if let Ok(stream) = TcpStream::from_std(stream) {
                    open.spawn_local(conversation(stream, peer, None, &stop));
                }
            }
        }
        let all = async { while open.join_next().await.is_some() {} };
        // What takes longer than the grace is dropped with the set.
        let _ = tokio::time::timeout(self.grace, all).await;
        open.shutdown().await;
    }

    async fn permit(&self) -> OwnedSemaphorePermit {
        let free = Arc::clone(&self.free);
        if let Ok(permit) = Arc::clone(&free).try_acquire_owned() {
            return permit;
        }
        self.held.fetch_add(1, Ordering::Relaxed);
        free.acquire_owned().await.expect("the semaphore is never closed")
    }

    /// Speaks HTTP/1 on one connection until it ends; once told to stop, until what has arrived is answered.
    async fn speak<S, B>(mut self, stream: TcpStream, service: S, mut stop: watch::Receiver<bool>)
    where
        S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible>,
        B: Body + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        // Replies leave whole; waiting for more to send would only add delay.
        let _ = stream.set_nodelay(true);
        // A client that takes nothing of its reply blocks the write; only the kernel sees for how long.
        let _ = SockRef::from(&stream).set_tcp_user_timeout(Some(self.patience));
        let (stream, timer) = timed(stream, self.head_timeout);
        // A reply that ends after the stop says that its connection ends with it, even where this task has not heard yet.
        let stopping = stop.clone();
        let last = service_fn(|request| {
            let reply = service.call(request);
            let stopping = stopping.clone();
            async move {
                let mut reply = reply.await?;
                if *stopping.borrow() {
                    reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                }
                Ok::<_, Infallible>(reply)
            }
        });
        let mut connection = self.http.timer(timer).serve_connection(stream, last);
        let told = async {
            let _ = stop.wait_for(|stop| *stop).await;
            // What has arrived meanwhile is read before the connection may count as idle.
            tokio::task::yield_now().await;
        };
        let ended = tokio::select! {
            biased;
            ended = &mut connection => ended,
            () = told => {
                std::pin::Pin::new(&mut connection).graceful_shutdown();
                (&mut connection).await
            }
        };
        // An error is mostly the client's: it left, or was idle for too long; its requests clean up by themselves. But a
        // reply that broke off must not look whole, even to a client of HTTP/1.0, which reads to the connection's end.
        let Err(error) = ended else { return };
        let parts = connection.into_parts();
        let stream = parts.io.stream();
        if error.is_user() {
            let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
        } else if error.is_timeout() && !parts.read_buf.is_empty() {
            // It fits into the socket's buffer, or the client reads nothing.
            let _ = stream.try_write(TOO_LATE);
        }
    }
}
