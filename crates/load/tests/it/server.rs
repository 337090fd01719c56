//! A raw TCP server that does to each request what a test tells it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
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
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
    connections: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
}

impl Server {
    pub(crate) fn start(answer: impl Fn(&Asked) -> Vec<Act> + Send + Sync + 'static) -> Server {
        Server::keeping(None, answer)
    }

    /// A server that closes a connection on which nobody asked for so long, once somebody did.
    pub(crate) fn keeping(
        keep_alive: Option<Duration>,
        answer: impl Fn(&Asked) -> Vec<Act> + Send + Sync + 'static,
    ) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = Server { address, heads: Arc::default(), connections: Arc::default(), stop: Arc::default() };
        let (heads, connections, stop) = (server.heads.clone(), server.connections.clone(), server.stop.clone());
        let answer = Arc::new(answer);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                let (heads, connections, answer) = (heads.clone(), connections.clone(), answer.clone());
                let stream = stream.unwrap();
                std::thread::spawn(move || serve(stream, &heads, &connections, keep_alive, &*answer));
            }
        });
        server
    }

    /// Heads of the requests so far, in the order they came.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    /// Connections that carried at least one request.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(
    mut stream: TcpStream,
    heads: &Mutex<Vec<String>>,
    connections: &AtomicUsize,
    keep_alive: Option<Duration>,
    answer: &dyn Fn(&Asked) -> Vec<Act>,
) {
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
        if on_connection == 0 {
            connections.fetch_add(1, Ordering::SeqCst);
        }
        let number = {
            let mut heads = heads.lock().unwrap();
            heads.push(head.clone());
            heads.len() - 1
        };
        for act in answer(&Asked { on_connection, number, head }) {
            match act {
                Act::Send(bytes) => {
                    if stream.write_all(&bytes).is_err() {
                        return;
                    }
                }
                Act::Stall(time) => {
                    // Nobody ever sends: the wait always runs its time.
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
