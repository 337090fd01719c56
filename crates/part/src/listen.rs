//! Listening sockets, and the connections that they take in until told to stop.

mod activity;
mod conversation;
mod counts;
mod gate;
mod head;
mod interim;
mod local;
mod rules;
mod stream;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body, Incoming};
use hyper::service::Service;
use hyper::{Request, Response};
use rustls::ServerConfig;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

use crate::ServeError;
use crate::caller::Caller;
use crate::current::Current;
use crate::memory::Crowd;
use conversation::Conversation;
pub use counts::ConnectionCounts;
use counts::{Counts, bump};
use gate::{Gate, Pass, Refusal};
pub use interim::Interim;
pub use rules::WhenFull;
pub use rules::{HANDSHAKE_TIMEOUT, HEAD_TIMEOUT, KEEP_ALIVE, Rules, STREAMS};
pub use stream::H2;

/// Connections that may wait to be accepted; the kernel caps it at `net.core.somaxconn`.
const BACKLOG: i32 = 4096;

/// One listening socket per thread, all on one port; the kernel spreads the connections over them.
pub fn listeners(address: SocketAddr, threads: usize) -> Result<Vec<StdListener>, ServeError> {
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

/// Lets the kernel hold no more than about so many bytes of a reply that its client has not taken yet.
pub fn hold_little(listener: &StdListener, bytes: usize) -> io::Result<()> {
    // What is taken in has the settings of the socket that it came by.
    SockRef::from(listener).set_send_buffer_size(bytes)
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
pub struct Connections {
    rules: Arc<Current<Rules>>,
    gate: Arc<Gate>,
    counts: Arc<Counts>,
    awake: Arc<Crowd>,
}

impl Connections {
    /// Connections that are kept by these rules.
    pub fn new(rules: Rules) -> Connections {
        let (gate, counts, awake) = Default::default();
        Connections { rules: Current::new(Arc::new(rules)), gate, counts, awake }
    }

    /// From now on these rules hold for connections that come in.
    pub fn set_rules(&self, rules: Rules) {
        self.rules.set(Arc::new(rules));
        self.gate.widen();
    }

    /// How many had to wait because too many were open.
    pub fn held(&self) -> u64 {
        self.counts().held
    }

    /// What has become of them.
    pub fn counts(&self) -> ConnectionCounts {
        self.counts.now()
    }

    /// How many are open.
    pub fn open(&self) -> usize {
        self.gate.open()
    }

    /// Takes in what connects to `listener` until `stop` says so, within TLS where that is given, and lets `service` answer
    /// each connection's requests; interim replies to those of HTTP/1.1 go where it is told. Then the socket is closed, requests
    /// in flight are answered, and what is left after the grace is dropped.
    pub async fn accept<S, B>(
        &self,
        listener: StdListener,
        tls: Option<Arc<Current<ServerConfig>>>,
        mut stop: watch::Receiver<bool>,
        service: impl Fn(Caller, &Interim) -> S,
    ) where
        S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + 'static,
        S::Future: 'static,
        B: Body + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let listener = TcpListener::from_std(listener).expect("the listener is non-blocking and this is its runtime");
        let mut open = JoinSet::new();
        // The oldest first, where one may have to go for another.
        let mut oldest: VecDeque<AbortHandle> = VecDeque::new();
        let conversation = |stream: TcpStream, peer, pass: Option<Pass>, stop: &watch::Receiver<bool>| {
            let (rules, counts, stop) = (self.rules.get(), Arc::clone(&self.counts), stop.clone());
            let caller = Caller::of(&stream, peer, tls.is_some());
            let tls = tls.as_ref().map(|tls| tls.get());
            let interim = Interim::default();
            let service = service(caller, &interim);
            let awake = Arc::clone(&self.awake);
            let speaking = Conversation { rules, counts, stop, interim, awake }.speak(stream, tls, service);
            async move {
                speaking.await;
                drop(pass);
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
            let pass = tokio::select! {
                entered = self.enter(peer.ip(), &mut oldest) => match entered {
                    Some(pass) => Some(pass),
                    None => continue,
                },
                // It has connected before the stop.
                _ = stop.wait_for(|stop| *stop) => None,
            };
            let handle = open.spawn_local(conversation(stream, peer, pass, &stop));
            if self.rules.get().when_full == WhenFull::Replace {
                oldest.retain(|handle| !handle.is_finished());
                oldest.push_back(handle);
            }
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
        let _ = tokio::time::timeout(self.rules.get().grace.as_std(), all).await;
        open.shutdown().await;
    }

    /// Lets a connection in, at once or when others are closed; none where it is to be closed.
    async fn enter(&self, from: IpAddr, oldest: &mut VecDeque<AbortHandle>) -> Option<Pass> {
        let mut is_held = false;
        loop {
            let rules = self.rules.get();
            match self.gate.enter(from, &rules) {
                Ok(pass) => return Some(pass),
                Err(Refusal::Address) => {
                    bump(&self.counts.refused_address);
                    return None;
                }
                Err(Refusal::Full) if rules.when_full == WhenFull::Close => {
                    bump(&self.counts.refused_full);
                    return None;
                }
                Err(Refusal::Full) => {
                    if rules.when_full == WhenFull::Replace {
                        oldest.retain(|handle| !handle.is_finished());
                        oldest.pop_front().inspect(AbortHandle::abort);
                    }
                    if !is_held {
                        bump(&self.counts.held);
                        is_held = true;
                    }
                    self.gate.freed().await;
                }
            }
        }
    }
}
