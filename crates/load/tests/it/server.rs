//! A raw TCP server that does to each request what a test tells it.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use socket2::SockRef;

/// What to do.
pub(crate) enum Act {
    Send(Vec<u8>),
    /// Do nothing for so long.
    Stall(Duration),
    /// Wait for the client to go away.
    Hang,
    Close,
    Reset,
}

/// A request as it came.
pub(crate) struct Asked {
    /// Number of the request on its connection.
    pub(crate) on_connection: usize,
    /// Number of the request on the server.
    pub(crate) number: usize,
    pub(crate) head: String,
    /// The client's address.
    pub(crate) from: IpAddr,
}

/// What came, in order.
#[derive(Default)]
struct Log {
    heads: Vec<String>,
    bodies: Vec<String>,
    /// The client's address of each connection that carried a request.
    peers: Vec<IpAddr>,
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    log: Arc<Mutex<Log>>,
    stop: Arc<AtomicBool>,
}

impl Server {
    pub(crate) fn start(answer: impl Fn(&Asked) -> Vec<Act> + Send + Sync + 'static) -> Server {
        Server::keeping(None, answer)
    }

    /// A server that closes a connection that has been idle for so long after its first request.
    pub(crate) fn keeping(
        keep_alive: Option<Duration>,
        answer: impl Fn(&Asked) -> Vec<Act> + Send + Sync + 'static,
    ) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = Server { address, log: Arc::default(), stop: Arc::default() };
        let (log, stop) = (server.log.clone(), server.stop.clone());
        let answer = Arc::new(answer);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                let (log, answer) = (log.clone(), answer.clone());
                let stream = stream.unwrap();
                std::thread::spawn(move || serve(stream, &log, keep_alive, &*answer));
            }
        });
        server
    }

    /// Heads of the requests so far, in the order they came.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.log.lock().unwrap().heads.clone()
    }

    /// Bodies of the requests so far, in the order they came.
    pub(crate) fn bodies(&self) -> Vec<String> {
        self.log.lock().unwrap().bodies.clone()
    }

    /// Where the connections came from that carried at least one request.
    pub(crate) fn peers(&self) -> Vec<IpAddr> {
        self.log.lock().unwrap().peers.clone()
    }

    /// Connections that carried at least one request.
    pub(crate) fn connections(&self) -> usize {
        self.peers().len()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(mut stream: TcpStream, log: &Mutex<Log>, keep_alive: Option<Duration>, answer: &dyn Fn(&Asked) -> Vec<Act>) {
    let _ = stream.set_nodelay(true);
    let mut on_connection = 0;
    let mut held = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let end = loop {
            if let Some(at) = held.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            match stream.read(&mut buffer) {
                Ok(0) | Err(_) => return,
                Ok(read) => held.extend_from_slice(&buffer[..read]),
            }
        };
        let head = String::from_utf8(held.drain(..end).collect()).unwrap();
        let length =
            head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0usize);
        while held.len() < length {
            match stream.read(&mut buffer) {
                Ok(0) | Err(_) => return,
                Ok(read) => held.extend_from_slice(&buffer[..read]),
            }
        }
        let body = String::from_utf8(held.drain(..length).collect()).unwrap();
        let from = stream.peer_addr().map_or(IpAddr::from([0, 0, 0, 0]), |peer| peer.ip());
        let number = {
            let mut log = log.lock().unwrap();
            if on_connection == 0 {
                log.peers.push(from);
            }
            log.heads.push(head.clone());
            log.bodies.push(body);
            log.heads.len() - 1
        };
        for act in answer(&Asked { on_connection, number, head, from }) {
            match act {
                Act::Send(bytes) => {
                    if stream.write_all(&bytes).is_err() {
                        return;
                    }
                }
                Act::Stall(time) => {
                    // Nothing is ever sent: the wait always runs its time.
                    let (_keep, never) = channel::<()>();
                    let _ = never.recv_timeout(time);
                }
                Act::Hang => while matches!(stream.read(&mut buffer), Ok(read) if read > 0) {},
                Act::Close => return,
                Act::Reset => {
                    SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
                    return;
                }
            }
        }
        on_connection += 1;
        stream.set_read_timeout(keep_alive).unwrap();
    }
}

/// A reply with `body` and a content-length.
pub(crate) fn ok(body: &str) -> Act {
    reply("200 OK", "", body)
}

/// A reply with this status line and these extra header lines (each with its line end).
pub(crate) fn reply(status: &str, headers: &str, body: &str) -> Act {
    Act::Send(format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len()).into_bytes())
}
