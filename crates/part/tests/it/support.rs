//! What the tests of several crates share: a raw HTTP client, scripted origins, waiting for a condition, free ports, real
//! programs and namespaces.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use sojourn_bed::{Child, Host, Namespaces};
use sojourn_part::now;
use sojourn_part::program::{Program, Running, text_page};
use sojourn_stats::Span;

use crate::skip::skipped;

/// Longer than anything here takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Waits until `condition` holds.
#[track_caller]
pub(crate) fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = now();
    while !condition() {
        assert!((now() - start).as_std() < PATIENCE, "waited in vain until {what}");
        std::thread::park_timeout(Duration::from_micros(200));
    }
}

pub(crate) fn ms(milliseconds: u64) -> Span {
    Span(milliseconds * 1_000_000)
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
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
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

/// This binary, run as one ignored test.
pub(crate) fn command(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command.args([test, "--exact", "--ignored", "--nocapture"]);
    command
}

pub(crate) fn address(child: &Child) -> std::net::SocketAddr {
    ([127, 0, 0, 1], child.port()).into()
}

/// Addresses with ports that are free for TCP and UDP, below those that the kernel deals to whoever asks for any port: no other
/// test is given them meanwhile.
pub(crate) fn free<const N: usize>() -> [SocketAddr; N] {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    let ports = std::iter::repeat_with(|| {
        let number = std::process::id().wrapping_mul(131).wrapping_add(ASKED.fetch_add(1, Ordering::Relaxed));
        SocketAddr::from(([127, 0, 0, 1], 10_000 + (number % 20_000) as u16))
    });
    let is_free = |address: &SocketAddr| TcpListener::bind(address).is_ok() && UdpSocket::bind(address).is_ok();
    let mut free = ports.filter(is_free);
    std::array::from_fn(|_| free.next().expect("they never end"))
}

/// Runs a test of this binary inside namespaces, where it is root.
#[track_caller]
pub(crate) fn inside(test: &str, programs: &[&str]) {
    for program in ["nft", "iptables", "ip", "unshare"].iter().chain(programs) {
        let folders = ["/usr/bin", "/usr/sbin", "/bin", "/sbin"];
        if !folders.iter().any(|folder| Path::new(folder).join(program).exists()) {
            return skipped(format!("no {program}"));
        }
    }
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    let can = Command::new("unshare").args(["--user", "--map-root-user", "--net", "true"]).output();
    if !can.is_ok_and(|output| output.status.success()) || fs::File::open("/dev/net/tun").is_err() {
        return skipped("no network namespaces, or no TUN device, for an ordinary user");
    }
    let test = command(test);
    let output = unshare.arg(test.get_program()).args(test.get_args()).output().expect("it was there");
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", said(&output.stdout), said(&output.stderr));
    assert!(said(&output.stdout).contains("1 passed"), "{}", said(&output.stdout));
}

/// Runs a command of the shell on a host of the bed.
pub(crate) fn run(bed: &Namespaces, host: Host, command: &str) {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    let output = bed.on(host, || shell.output()).expect("a host").expect("a shell");
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A folder with a file of three bytes and one of 100,000 that all may read.
pub(crate) fn site() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("it is ours");
    fs::write(folder.path().join("index.html"), "<p>").expect("a file");
    fs::write(folder.path().join("page.txt"), text_page(100_000)).expect("a file");
    folder
}

/// None where it is not installed.
pub(crate) fn start(program: &Program) -> Option<Running> {
    if let Err(missing) = program.kind.installed() {
        skipped(missing);
        return None;
    }
    Some(program.start().expect("it starts"))
}
