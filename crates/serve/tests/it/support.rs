//! A raw HTTP client, scripted origins, and waiting for a condition.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use sojourn_model::{Demand, Discipline, Server};
use sojourn_serve::{Backend, Events, Gateway, GatewayConfig, Node, NodeConfig, now};
use sojourn_stats::Span;

/// Longer than anything here takes on a busy machine.
const PATIENCE: Span = Span(20_000_000_000);

/// Waits until `condition` holds.
#[track_caller]
pub(crate) fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = now();
    while !condition() {
        assert!(now() - start < PATIENCE, "waited in vain until {what}");
        std::thread::park_timeout(Duration::from_micros(200));
    }
}

pub(crate) fn ms(milliseconds: u64) -> Span {
    Span(milliseconds * 1_000_000)
}

pub(crate) fn server(discipline: Discipline, demand: &str, capacity: Option<u32>) -> Server {
    let demand = vec![(String::new(), Demand::parse(demand).expect("a demand"))];
    Server { discipline, cores: 1, speed: 1.0, demand, capacity, machine: None }
}

/// An emulated node with one core.
pub(crate) fn node(name: &str, discipline: Discipline) -> Node {
    let model = Some(server(discipline, "1 ms", None));
    Node::start(NodeConfig { model, grace: Span::ZERO, ..NodeConfig::new(name) }).expect("a node starts")
}

pub(crate) fn gateway(config: GatewayConfig) -> Gateway {
    Gateway::start(config, Events::nowhere()).expect("a gateway starts")
}

/// Backends `s1`, `s2`, ... at these addresses.
pub(crate) fn backends(addresses: &[SocketAddr]) -> Vec<Backend> {
    addresses.iter().enumerate().map(|(index, address)| Backend::new(format!("s{}", index + 1), *address)).collect()
}

/// A connection of a client.
pub(crate) struct Client {
    reader: BufReader<TcpStream>,
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// The body is as long as it was said to be.
    pub(crate) whole: bool,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn backend(&self) -> &str {
        self.header("x-sojourn-backend").unwrap_or("none")
    }

    /// Waited and stayed on the virtual processor (ns).
    pub(crate) fn service(&self) -> (u64, u64) {
        let value = self.header("x-sojourn-service").expect("an emulated service says its times");
        let number = |name: &str| {
            let part = value.split(' ').find_map(|part| part.strip_prefix(name)).expect("both times are there");
            part.parse().expect("a number")
        };
        (number("waited="), number("stayed="))
    }
}

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).expect("the server accepts");
        stream.set_read_timeout(Some(PATIENCE.as_std())).expect("a timeout");
        stream.set_nodelay(true).expect("no delay");
        Client { reader: BufReader::new(stream) }
    }

    pub(crate) fn send(&mut self, text: &str) {
        // A server may answer and close before it has read all; the reply tells.
        let _ = self.reader.get_mut().write_all(text.as_bytes());
    }

    pub(crate) fn get(&mut self, path: &str) -> Reply {
        self.ask("GET", path, "")
    }

    pub(crate) fn ask(&mut self, method: &str, path: &str, headers: &str) -> Reply {
        self.send(&format!("{method} {path} HTTP/1.1\r\nhost: test\r\n{headers}\r\n"));
        self.reply(method != "HEAD").expect("a reply")
    }

    /// None when the connection is closed instead.
    pub(crate) fn reply(&mut self, with_body: bool) -> Option<Reply> {
        let (status, headers) = self.head()?;
        let mut reply = Reply { status, headers, body: Vec::new(), whole: true };
        if !with_body {
            return Some(reply);
        }
        if reply.header("transfer-encoding") == Some("chunked") {
            reply.whole = self.chunks(&mut reply.body).is_some();
        } else if let Some(length) = reply.header("content-length") {
            let length: u64 = length.parse().expect("a length");
            let _ = (&mut self.reader).take(length).read_to_end(&mut reply.body);
            reply.whole = reply.body.len() as u64 == length;
        }
        Some(reply)
    }

    pub(crate) fn head(&mut self) -> Option<(u16, Vec<(String, String)>)> {
        let line = self.line()?;
        let status = line.split(' ').nth(1)?.parse().ok()?;
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                return Some((status, headers));
            }
            let (name, value) = line.split_once(':')?;
            headers.push((name.to_lowercase(), value.trim().to_owned()));
        }
    }

    /// How many bytes come until the connection ends.
    pub(crate) fn rest(&mut self) -> usize {
        let mut block = [0; 65_536];
        let mut all = 0;
        while let Ok(read @ 1..) = self.reader.read(&mut block) {
            all += read;
        }
        all
    }

    fn chunks(&mut self, body: &mut Vec<u8>) -> Option<()> {
        loop {
            let size = u64::from_str_radix(&self.line()?, 16).ok()?;
            let before = body.len() as u64;
            (&mut self.reader).take(size).read_to_end(body).ok()?;
            if body.len() as u64 - before != size || !self.line()?.is_empty() {
                return None;
            }
            if size == 0 {
                return Some(());
            }
        }
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.reader.read_line(&mut line) {
            Ok(size) if size > 0 => Some(line.trim_end().to_owned()),
            _ => None,
        }
    }
}

/// One GET on a connection of its own.
pub(crate) fn get(address: SocketAddr, path: &str) -> Reply {
    Client::new(address).get(path)
}

/// What an origin got.
#[derive(Clone, Debug)]
pub(crate) struct Got {
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Got {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A server that answers as it is told to; connections for which `answer` says false are closed.
pub(crate) struct Origin {
    pub(crate) address: SocketAddr,
    pub(crate) got: Arc<Mutex<Vec<Got>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Origin {
    pub(crate) fn new(answer: impl Fn(&Got, &mut TcpStream) -> bool + Send + Sync + 'static) -> Origin {
        Origin::on(TcpListener::bind("127.0.0.1:0").expect("a free port"), answer)
    }

    pub(crate) fn on(
        listener: TcpListener,
        answer: impl Fn(&Got, &mut TcpStream) -> bool + Send + Sync + 'static,
    ) -> Origin {
        let address = listener.local_addr().expect("an address");
        let (got, stop) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (seen, stopped, answer) = (Arc::clone(&got), Arc::clone(&stop), Arc::new(answer));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                std::thread::spawn(move || {
                    let mut client = Client { reader: BufReader::new(stream) };
                    while let Some(got) = receive(&mut client) {
                        // A health check is no request of a test's.
                        if got.line.starts_with("GET /health ") {
                            ok(client.reader.get_mut(), "ok");
                            return;
                        }
                        seen.lock().expect("no panic").push(got.clone());
                        if !answer(&got, client.reader.get_mut()) {
                            return;
                        }
                    }
                });
            }
        });
        Origin { address, got, stop, thread: Some(thread) }
    }

    pub(crate) fn requests(&self) -> usize {
        self.got.lock().expect("no panic").len()
    }

    pub(crate) fn last(&self) -> Got {
        self.got.lock().expect("no panic").last().expect("a request").clone()
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn receive(client: &mut Client) -> Option<Got> {
    let line = client.line()?;
    let mut got = Got { line, headers: Vec::new(), body: Vec::new() };
    loop {
        let line = client.line()?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        got.headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    if got.header("transfer-encoding") == Some("chunked") {
        client.chunks(&mut got.body)?;
    } else if let Some(length) = got.header("content-length") {
        let length: u64 = length.parse().ok()?;
        (&mut client.reader).take(length).read_to_end(&mut got.body).ok()?;
        if (got.body.len() as u64) < length {
            return None;
        }
    }
    Some(got)
}

/// A plain reply.
pub(crate) fn ok(stream: &mut TcpStream, body: &str) -> bool {
    let text = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(text.as_bytes()).is_ok()
}

/// Where events go for a test to read.
#[derive(Clone, Default)]
pub(crate) struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().expect("no panic").clone()).expect("text")
    }
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A port that refuses connections until a test listens on it: bound, so that no other program gets it.
pub(crate) fn silent_port() -> socket2::Socket {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("a socket");
    socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).expect("a free port");
    socket
}

pub(crate) fn address_of(socket: &socket2::Socket) -> SocketAddr {
    socket.local_addr().ok().and_then(|address| address.as_socket()).expect("an address")
}
