//! What a decision adds to a request at a node of a cluster, and what each way of handing a request over costs its client.
//!
//! The decision: a page of 1 kB that an idle node serves itself, asked for under the service's name, so that its broker decides,
//! beside the same page under the node's own name, where nothing is decided. The limit is 50 us more. Hand-over: the same page at
//! a busy node, until its client has it from an idle one: by a redirection that the client follows, through the busy node, and by
//! two central dispatchers that redirect, a node that only dispatches and a redirector that follows what nodes report; and of
//! each the processor time of all servers. One client asks for all in turns, over connections that are kept; medians. All run
//! on one core: to be woken on another one takes longer than all else.
//!
//! Then the same of a file of 1.5 MB while four other clients fetch it from the two idle nodes without a pause, so that the core
//! is busy all the time: what deciding and redirecting add to the time of a client, with intervals over rounds (SWEB 1996,
//! section 4.3, table 5: such a file "over a fairly heavily loaded system").
//!
//! `cargo bench --profile dev -p sojourn-cli --bench nodes`. With `-- --keep FILE` what scheduling costs is written there too, as
//! SWEB's page shows it.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use sojourn_bed::Child;
use sojourn_stats::{Moments, measure};

const NODES: [&str; 3] = ["a", "b", "c"];
const ROUNDS: usize = 10;
/// Of each way in each round.
const REQUESTS: usize = 400;
const LIMIT_US: f64 = 50.0;
const REPORTS: &str = "200 ms";
/// How long nodes are looked at that only report.
const IDLE: Duration = Duration::from_secs(4);
const PAGE: &str = "/page.html";
const FILE: &str = "/file.bin";
const FILE_BYTES: usize = 1_500_000;
/// Of the file, of each way in each round.
const FILE_REQUESTS: usize = 200;
/// That fetch the file from each of the two idle nodes all the time.
const OTHERS: usize = 2;

#[allow(clippy::print_stdout, reason = "a bench answers on the terminal")]
fn main() {
    let mut first = CpuSet::new();
    first.set(0).expect("there is a first core");
    sched_setaffinity(Pid::from_raw(0), &first).expect("what is started from here on stays there too");
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("there is room");
    fs::create_dir(folder.path().join("site")).expect("there is room");
    write("site/page.html", &"x".repeat(1000));
    write("key", "0123456789abcdef");
    write("site/file.bin", &"x".repeat(FILE_BYTES));
    let rule = |path: &str| format!("[[rule]]\npath = \"{path}\"\noperations = 0.1\n");
    write("oracle.toml", &(rule(PAGE) + &rule(FILE)));
    let [front, through, addresses @ ..]: [SocketAddr; 5] = free();
    let redirector = redirector(folder.path(), addresses);
    let reports = redirector.events()[0]["reports"].as_str().expect("it says where").to_owned();
    let report_to = ["--report-to".into(), format!("{reports},{front},{through}")];
    let nodes: Vec<Child> = (0..NODES.len())
        .map(|index| node(folder.path(), addresses[index], addresses, NODES[index], &report_to))
        .collect();
    let front_node = node(folder.path(), front, addresses, "front", &["--dispatch-only".into()]);
    let forwarder = node(folder.path(), through, addresses, "through", &["--forward".into()]);
    let heard = |node: &Child| node.events().iter().filter(|event| event["event"] == "peer_up").count();
    while nodes.iter().any(|node| heard(node) < 2) || [&front_node, &forwarder].iter().any(|node| heard(node) < 3) {
        std::thread::park_timeout(Duration::from_millis(10));
    }
    // What keeps two nodes busy costs them no processor time: it is emulated.
    let _busy: Vec<TcpStream> = [addresses[0], through].into_iter().flat_map(keep_busy).collect();
    let central = SocketAddr::from(([127, 0, 0, 1], redirector.port()));
    let idle = addresses[1];
    let ways = [
        ("no decision: an idle node under its own name", idle, idle.to_string()),
        ("decided to serve it: the same under the service's name", idle, "service.test".to_owned()),
        ("handed over by a redirection", addresses[0], "service.test".to_owned()),
        ("handed over through the busy node", through, "service.test".to_owned()),
        ("handed over by a node that only dispatches", front, "service.test".to_owned()),
        ("handed over by a redirector (least-load, no oracle)", central, "any.test".to_owned()),
    ];
    let mut clients = ways.each_ref().map(|(_, address, host)| Client::new(*address, host, PAGE));
    let is_ready = |reply: &Reply, way: usize| (reply.redirected == matches!(way, 2 | 4 | 5)) && reply.status == 200;
    for (way, client) in clients.iter_mut().enumerate() {
        while !is_ready(&client.fetch(), way) {
            std::thread::park_timeout(Duration::from_millis(10));
        }
    }
    let servers: Vec<u32> = nodes.iter().chain([&front_node, &forwarder, &redirector]).map(Child::pid).collect();
    let spent_s = || servers.iter().map(|pid| cpu_s(*pid)).sum::<f64>();
    // Nodes that nothing is asked of report all the same.
    let before: Vec<f64> = nodes.iter().map(|node| cpu_s(node.pid())).collect();
    pause();
    let reporting = nodes.iter().zip(before).map(|(node, before)| cpu_s(node.pid()) - before).sum::<f64>()
        / (nodes.len() as f64 * IDLE.as_secs_f64());
    let mut times_us: [Vec<f64>; 6] = Default::default();
    let mut costs_s = [0.0; 6];
    let mut added: [Moments; 2] = Default::default();
    for _ in 0..ROUNDS {
        for (way, client) in clients.iter_mut().enumerate() {
            let before = spent_s();
            for _ in 0..REQUESTS {
                let reply = client.fetch();
                assert!(is_ready(&reply, way), "{}: {reply:?}", ways[way].0);
                times_us[way].push(reply.time_us);
            }
            costs_s[way] += spent_s() - before;
        }
        let [own, decided, redirected] = [0, 1, 2].map(|way| median(&times_us[way][times_us[way].len() - REQUESTS..]));
        added[0].push(decided - own);
        added[1].push(redirected - decided);
    }
    println!("{} requests each, sweb, an oracle's table, a page of 1 kB until its client has it", ROUNDS * REQUESTS);
    println!("{:56} {:>9} {:>9}", "", "time (us)", "CPU (us)");
    let medians = times_us.map(|times| median(&times));
    for ((way, median), cost_s) in ways.iter().zip(medians).zip(costs_s) {
        println!("{:56} {median:9.1} {:9.1}", way.0, cost_s * 1e6 / (ROUNDS * REQUESTS) as f64);
    }
    println!("reports each {REPORTS}: {:.3} % of a core, each node", 100.0 * reporting);
    let loaded = Loaded::measure(addresses);
    println!("a file of 1.5 MB, {} other clients: {}", 2 * OTHERS, loaded.words());
    if let Some(file) = kept() {
        fs::write(&file, table(&added, costs_s, reporting) + &loaded.rows()).expect("the file can be written");
    }
    let added = medians[1] - medians[0];
    println!("a decision adds {added:+.1} us (limit {LIMIT_US} us)");
    assert!(added < LIMIT_US, "MISSED: a decision adds {added:.1} us");
}

#[allow(clippy::disallowed_methods, reason = "a bench that looks at what idle nodes do lets them be idle")]
fn pause() {
    std::thread::sleep(IDLE);
}

/// Of a file of 1.5 MB on a core that is always busy, over rounds: its time (ms), and what deciding and redirecting add (us).
#[derive(Default)]
struct Loaded {
    own_ms: Moments,
    decided_us: Moments,
    redirected_us: Moments,
}

impl Loaded {
    /// The first node redirects, the other two serve.
    fn measure([busy, idle, other]: [SocketAddr; 3]) -> Loaded {
        let is_over = Arc::new(AtomicBool::new(false));
        let from = |node: SocketAddr| (0..OTHERS).map(move |_| node);
        let others: Vec<JoinHandle<()>> =
            from(idle).chain(from(other)).map(|node| fetching(node, is_over.clone())).collect();
        let name = idle.to_string();
        let ways = [(idle, name.as_str()), (idle, "service.test"), (busy, "service.test")];
        let mut clients = ways.map(|(address, host)| Client::new(address, host, FILE));
        let mut loaded = Loaded::default();
        for _ in 0..ROUNDS {
            let mut times_us = [Moments::default(); 3];
            for _ in 0..FILE_REQUESTS {
                for (way, client) in clients.iter_mut().enumerate() {
                    let reply = client.fetch();
                    // An idle node redirects too where its peer seems to be faster: that is not what is asked for here.
                    if reply.redirected == (way == 2) {
                        times_us[way].push(reply.time_us);
                    }
                }
            }
            let counts = times_us.map(|of| of.count());
            assert!(counts.iter().all(|count| 2 * count >= FILE_REQUESTS as u64), "of {FILE_REQUESTS}: {counts:?}");
            let [own, decided, redirected] = times_us.map(|of| of.mean());
            loaded.own_ms.push(own / 1e3);
            loaded.decided_us.push(decided - own);
            loaded.redirected_us.push(redirected - decided);
        }
        is_over.store(true, Ordering::Relaxed);
        others.into_iter().for_each(|other| other.join().expect("it fetches"));
        loaded
    }

    fn words(&self) -> String {
        let [own, decided, redirected] = [self.own_ms, self.decided_us, self.redirected_us].map(|of| of.mean());
        format!("{own:.2} ms, a decision adds {decided:+.1} us, a redirection {redirected:+.1} us")
    }

    /// For the file of [`kept`].
    fn rows(&self) -> String {
        row("loaded", "ms", &self.own_ms)
            + &row("loaded_decide", "us", &self.decided_us)
            + &row("loaded_redirect", "us", &self.redirected_us)
    }
}

/// A client that fetches the file from a node until all is over.
fn fetching(node: SocketAddr, is_over: Arc<AtomicBool>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut asking = Asking::new(node, &node.to_string(), FILE);
        while !is_over.load(Ordering::Relaxed) {
            asking.ask();
        }
    })
}

/// The file after `--keep`.
fn kept() -> Option<String> {
    std::env::args().skip_while(|argument| argument != "--keep").nth(1)
}

/// What deciding and redirecting add, and what reports cost, as a table.
fn table(added: &[Moments; 2], costs_s: [f64; 6], reporting: f64) -> String {
    let mut text = "what,unit,value,low,high\n".to_owned();
    for (name, rounds) in ["decide", "redirect"].iter().zip(added) {
        text += &row(name, "us", rounds);
    }
    let us = |way: usize| costs_s[way] * 1e6 / (ROUNDS * REQUESTS) as f64;
    for (name, cost_us) in [("decide_cpu", us(1) - us(0)), ("redirect_cpu", us(2) - us(1))] {
        let _ = writeln!(text, "{name},us,{cost_us:.2},,");
    }
    let _ = writeln!(text, "reports_cpu,%,{:.4},,", 100.0 * reporting);
    text
}

/// The mean over rounds, with its interval.
fn row(name: &str, unit: &str, rounds: &Moments) -> String {
    let estimate = measure::mean_of_samples(rounds);
    let (low, high) = estimate.interval().expect("there are several rounds");
    format!("{name},{unit},{:.2},{low:.2},{high:.2}\n", estimate.value().expect("there are rounds"))
}

fn median(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Time on a core of all threads of a process (s): in nanoseconds, where `stat` has ticks (proc(5), `schedstat`).
fn cpu_s(pid: u32) -> f64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("the process lives").flatten();
    let of_thread = |path: std::path::PathBuf| fs::read_to_string(path.join("schedstat")).ok();
    let spent = |text: String| text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0);
    threads.filter_map(|thread| of_thread(thread.path())).map(spent).sum::<f64>() * 1e-9
}

/// Twenty requests that a node works on for an hour.
fn keep_busy(node: SocketAddr) -> Vec<TcpStream> {
    let ask = |_| {
        let mut stream = TcpStream::connect(node).expect("it listens");
        write!(stream, "GET /work?demand=1h HTTP/1.1\r\nhost: {node}\r\n\r\n").expect("it is sent");
        stream
    };
    (0..20).map(ask).collect()
}

/// What a client has of a page.
#[derive(Debug)]
struct Reply {
    status: u16,
    redirected: bool,
    time_us: f64,
}

/// A client that asks for a path under one name, and where a redirection leads it; its connections are kept.
struct Client {
    path: &'static str,
    first: Asking,
    /// By the address that a redirection names.
    others: Vec<(SocketAddr, Asking)>,
}

impl Client {
    fn new(address: SocketAddr, host: &str, path: &'static str) -> Client {
        Client { path, first: Asking::new(address, host, path), others: Vec::new() }
    }

    fn fetch(&mut self) -> Reply {
        let start = sojourn_part::now();
        let (mut status, location) = self.first.ask();
        if let Some(location) = &location {
            let address = location.split('/').nth(2).and_then(|host| host.parse().ok()).expect("an address in the URL");
            if !self.others.iter().any(|(known, _)| *known == address) {
                self.others.push((address, Asking::new(address, &address.to_string(), self.path)));
            }
            let (_, other) = self.others.iter_mut().find(|(known, _)| *known == address).expect("it is there now");
            (status, _) = other.ask();
        }
        let time_us = (sojourn_part::now() - start).as_secs_f64() * 1e6;
        Reply { status, redirected: location.is_some(), time_us }
    }
}

/// A connection on which a path is asked for under one name.
struct Asking {
    stream: TcpStream,
    request: String,
    reply: Vec<u8>,
}

impl Asking {
    fn new(address: SocketAddr, host: &str, path: &str) -> Asking {
        let stream = TcpStream::connect(address).expect("it listens");
        stream.set_nodelay(true).expect("a socket option");
        Asking { stream, request: format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n\r\n"), reply: vec![0; 1 << 16] }
    }

    /// The status of the reply, and where it leads; its body is read, and forgotten.
    fn ask(&mut self) -> (u16, Option<String>) {
        self.stream.write_all(self.request.as_bytes()).expect("it is sent");
        let mut length = 0;
        let (status, location, mut left) = loop {
            length += self.stream.read(&mut self.reply[length..]).expect("it answers");
            let Some(end) = self.reply[..length].windows(4).position(|four| four == b"\r\n\r\n") else { continue };
            let head = std::str::from_utf8(&self.reply[..end]).expect("it is text");
            let value = |name: &str| head.lines().find_map(|line| line.strip_prefix(name));
            let size = value("content-length: ").expect("a length").parse::<usize>().expect("a number");
            let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
            break (status, value("location: ").map(str::to_owned), size - (length - end - 4));
        };
        while left > 0 {
            let read = self.stream.read(&mut self.reply).expect("it goes on");
            assert!(read > 0, "the reply is cut");
            left -= read;
        }
        (status, location)
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
        ("--report-every", REPORTS.into()),
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
