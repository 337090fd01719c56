//! What a decision adds to a request at a node of a cluster: a page of 1 kB asked for under the node's own name, which is served
//! without a question, beside the same page under the service's name, whose client is sent to a peer. One client asks for both in
//! turns, over one connection each; medians of the times from request to reply. The limit is 50 us more. Beside them the same
//! page asked of two central dispatchers: a node that only dispatches, and a redirector that follows what nodes report.
//!
//! `cargo bench --profile dev -p sojourn-cli --bench nodes`.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::time::Duration;

use sojourn_bed::Child;

const NODES: [&str; 3] = ["a", "b", "c"];
const REQUESTS: usize = 4000;
const LIMIT_US: f64 = 50.0;

#[allow(clippy::print_stdout, reason = "a bench answers on the terminal")]
fn main() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("there is room");
    fs::create_dir(folder.path().join("site")).expect("there is room");
    write("site/page.html", &"x".repeat(1000));
    write("key", "0123456789abcdef");
    write("oracle.toml", "[[rule]]\npath = \"/page.html\"\noperations = 0.1\n");
    let [front, addresses @ ..]: [SocketAddr; 4] = free();
    let redirector = redirector(folder.path(), addresses);
    let reports = redirector.events()[0]["reports"].as_str().expect("it says where").to_owned();
    let report_to = ["--report-to".into(), format!("{reports},{front}")];
    let nodes: Vec<Child> = (0..NODES.len())
        .map(|index| node(folder.path(), addresses[index], addresses, NODES[index], &report_to))
        .collect();
    let front_node = node(folder.path(), front, addresses, "front", &["--dispatch-only".into()]);
    let heard = |node: &Child| node.events().iter().filter(|event| event["event"] == "peer_up").count();
    while nodes.iter().any(|node| heard(node) < 2) || heard(&front_node) < 3 {
        std::thread::park_timeout(Duration::from_millis(10));
    }
    // What keeps the first node busy costs it no processor time: it is emulated.
    let own = addresses[0].to_string();
    let _busy: Vec<TcpStream> = (0..20)
        .map(|_| {
            let mut stream = TcpStream::connect(addresses[0]).expect("it listens");
            write!(stream, "GET /work?demand=1h HTTP/1.1\r\nhost: {own}\r\n\r\n").expect("it is sent");
            stream
        })
        .collect();
    let central = SocketAddr::from(([127, 0, 0, 1], redirector.port()));
    let who =
        [(addresses[0], own.as_str()), (addresses[0], "service.test"), (front, "service.test"), (central, "any.test")];
    let mut asking = who.map(|(address, host)| Asking::new(address, host));
    while asking[1..].iter_mut().any(|asking| asking.ask().0 != 307) {
        std::thread::park_timeout(Duration::from_millis(10));
    }
    let mut times_us: [Vec<f64>; 4] = Default::default();
    for _ in 0..REQUESTS {
        for ((asking, times), wanted) in asking.iter_mut().zip(&mut times_us).zip([200, 307, 307, 307]) {
            let (status, time_us) = asking.ask();
            assert_eq!(status, wanted);
            times.push(time_us);
        }
    }
    let [served, sent, by_node, by_redirector] = times_us.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    println!("{REQUESTS} requests each, 3 nodes, sweb, an oracle's table, a page of 1 kB");
    println!("served under the node's own name   {served:7.1} us");
    println!("sent on under the service's name   {sent:7.1} us   {:+.1} us (limit {LIMIT_US} us)", sent - served);
    println!("sent on by a node that dispatches  {by_node:7.1} us");
    println!("sent on by a redirector            {by_redirector:7.1} us   (least-load, no oracle)");
    assert!(sent - served < LIMIT_US, "MISSED: a decision adds {:.1} us", sent - served);
}

/// A connection on which a page is asked for under one name.
struct Asking {
    stream: TcpStream,
    request: String,
}

impl Asking {
    fn new(address: SocketAddr, host: &str) -> Asking {
        let stream = TcpStream::connect(address).expect("it listens");
        stream.set_nodelay(true).expect("a socket option");
        Asking { stream, request: format!("GET /page.html HTTP/1.1\r\nhost: {host}\r\n\r\n") }
    }

    /// The status of the reply, and the time that it took (us).
    fn ask(&mut self) -> (u16, f64) {
        let start = sojourn_serve::now();
        self.stream.write_all(self.request.as_bytes()).expect("it is sent");
        let (mut reply, mut length) = ([0; 8192], 0);
        loop {
            length += self.stream.read(&mut reply[length..]).expect("it answers");
            let text = std::str::from_utf8(&reply[..length]).expect("it is text");
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let size = head.lines().find_map(|line| line.strip_prefix("content-length: ")).expect("a length");
            if body.len() == size.parse::<usize>().expect("a number") {
                let time_us = (sojourn_serve::now() - start).as_secs_f64() * 1e6;
                return (head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status"), time_us);
            }
        }
    }
}

/// A node of this name at an address, with those at the other addresses as its peers.
fn node(folder: &Path, own: SocketAddr, addresses: [SocketAddr; 3], name: &str, more: &[String]) -> Child {
    let path = |name: &str| folder.join(name).display().to_string();
    let mut order: Vec<String> =
        ["node", "--child", "--name", name, "--service", "service.test"].map(Into::into).into();
    let given = [
        ("--listen", own.to_string()),
        ("--files", path("site")),
        ("--key", path("key")),
        ("--oracle", path("oracle.toml")),
        // Each choice would raise what is believed of a peer's load, and soon one would stay.
        ("--policy", "sweb(rise = 0)".into()),
        ("--report-every", "200 ms".into()),
        ("--model", "demand = \"1 ms\"\ndiscipline = \"ps\"".into()),
    ];
    order.extend(given.into_iter().flat_map(|(flag, value)| [flag.into(), value]));
    for (name, address) in NODES.iter().zip(addresses).filter(|(_, address)| *address != own) {
        order.extend(["--peer".into(), format!("{name}=http://{address}")]);
    }
    order.extend_from_slice(more);
    Child::spawn(Path::new(env!("CARGO_BIN_EXE_sojourn")), order, Duration::from_secs(20)).expect("a node starts")
}

/// A redirector to the nodes that follows what they report.
fn redirector(folder: &Path, addresses: [SocketAddr; 3]) -> Child {
    let key = folder.join("key").display().to_string();
    let mut order: Vec<String> =
        ["redirect", "--child", "--policy", "least-load", "--reports", "127.0.0.1:0", "--key", &key]
            .map(Into::into)
            .into();
    for (name, address) in NODES.iter().zip(addresses) {
        order.extend(["--backend".into(), format!("{name}={address}")]);
    }
    Child::spawn(Path::new(env!("CARGO_BIN_EXE_sojourn")), order, Duration::from_secs(20)).expect("a redirector starts")
}

/// Addresses whose ports were free for TCP and UDP a moment ago.
fn free<const N: usize>() -> [SocketAddr; N] {
    let taken: [(TcpListener, UdpSocket); N] = std::array::from_fn(|_| {
        let mut tried = std::iter::repeat_with(|| TcpListener::bind("127.0.0.1:0").expect("a free port"));
        let udp = |tcp: TcpListener| UdpSocket::bind(tcp.local_addr().ok()?).ok().map(|udp| (tcp, udp));
        tried.find_map(udp).expect("they never end")
    });
    taken.map(|(tcp, _)| tcp.local_addr().expect("an address"))
}
