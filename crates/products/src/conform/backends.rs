//! Servers that hold each request until they are told to answer it, and the client that asks.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use super::ConformError;

/// How long an answer may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);
/// The longest head of a request.
const HEAD: usize = 16_384;

/// Servers on free ports of the loopback address.
pub(super) struct Backends {
    addresses: Vec<SocketAddr>,
    arrived: Receiver<Arrived>,
    is_over: Arc<AtomicBool>,
}

/// A request that a server has.
struct Arrived {
    number: usize,
    server: usize,
    answer: Sender<()>,
}

/// A request in flight.
pub(super) struct Held {
    pub(super) server: usize,
    client: TcpStream,
    answer: Sender<()>,
}

impl Backends {
    pub(super) fn listen(count: usize) -> Result<Backends, ConformError> {
        let listeners: Result<Vec<TcpListener>, _> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0")).collect();
        let listeners = listeners.map_err(|error| ConformError::System("listen", error))?;
        let addresses: Result<Vec<SocketAddr>, _> = listeners.iter().map(TcpListener::local_addr).collect();
        let addresses = addresses.map_err(|error| ConformError::System("listen", error))?;
        let (tell, arrived) = channel();
        let is_over = Arc::new(AtomicBool::new(false));
        for (server, listener) in listeners.into_iter().enumerate() {
            let (tell, is_over) = (tell.clone(), Arc::clone(&is_over));
            std::thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    if is_over.load(Ordering::Relaxed) {
                        return;
                    }
                    let tell = tell.clone();
                    std::thread::spawn(move || _ = serve(stream, server, &tell));
                }
            });
        }
        Ok(Backends { addresses, arrived, is_over })
    }

    /// Where the servers are.
    pub(super) fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Opens a request from `client`, and waits until a server has it; none when none has within [`PATIENCE`].
    pub(super) fn open(&self, to: SocketAddr, client: Ipv4Addr, number: usize, key: &str) -> Option<Held> {
        let stream = ask(to, client, number, key).ok()?;
        loop {
            match self.arrived.recv_timeout(PATIENCE) {
                Ok(Arrived { number: arrived, server, answer }) if arrived == number => {
                    return Some(Held { server, client: stream, answer });
                }
                // What an earlier one has left behind.
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
            }
        }
    }
}

impl Drop for Backends {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.addresses.iter().for_each(|address| _ = TcpStream::connect(address));
    }
}

impl Held {
    /// Has it answered, and waits until the client has the answer; false when it has none.
    pub(super) fn end(mut self) -> bool {
        let mut reply = Vec::new();
        self.answer.send(()).is_ok()
            && self.client.read_to_end(&mut reply).is_ok()
            && reply.starts_with(b"HTTP/1.1 200")
    }
}

/// Sends a request; its path is its number and its key.
fn ask(to: SocketAddr, client: Ipv4Addr, number: usize, key: &str) -> std::io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    if client != Ipv4Addr::LOCALHOST {
        socket.bind(&SocketAddr::V4(SocketAddrV4::new(client, 0)).into())?;
    }
    socket.connect_timeout(&to.into(), PATIENCE)?;
    let mut stream = TcpStream::from(socket);
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET /{number}/{key} HTTP/1.1\r\nHost: conform\r\nX-Key: {key}\r\nConnection: close\r\n\r\n")?;
    Ok(stream)
}

/// Takes one request, says so, and answers when told.
fn serve(mut stream: TcpStream, server: usize, tell: &Sender<Arrived>) -> std::io::Result<()> {
    let (mut head, mut part) = (Vec::new(), [0; 2048]);
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = stream.read(&mut part)?;
        if read == 0 || head.len() > HEAD {
            return Ok(());
        }
        head.extend_from_slice(&part[..read]);
    }
    let text = String::from_utf8_lossy(&head);
    let path = text.split_whitespace().nth(1).unwrap_or_default();
    let Some(Ok(number)) = path.split('/').nth(1).map(str::parse) else { return Ok(()) };
    let (answer, told) = channel();
    if tell.send(Arrived { number, server, answer }).is_ok() && told.recv().is_ok() {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")?;
    }
    Ok(())
}
