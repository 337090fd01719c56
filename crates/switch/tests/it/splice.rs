//! Content switching by TCP splicing: paths of real requests to real nginx, links that lose, clients and servers that end
//! connections in every way, attacks.
//!
//! As for [`crate::switch`], this test binary is run again inside namespaces.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use socket2::{SockRef, Socket};
use sojourn_bed::{Host, Topology};
use sojourn_dispatch::record::replay;
use sojourn_model::LossLaw;
use sojourn_part::settings::switch::{Mode, SwitchServerSettings, SwitchSettings};
use sojourn_stats::{Dimension, Law};
use sojourn_switch::{ServerHalf, SpliceCounts, Switch};

use crate::support::{PATIENCE, inside, ms, until};
use crate::switch::{ACK, Cluster, Frames, RST, SERVICE, SYN, config, key_file_of, packet, raw};

const MODES: [(Mode, bool); 2] = [(Mode::Splice, false), (Mode::SpliceAsymmetric, true)];

#[test]
fn the_path_decides_and_replies_bypass_an_asymmetric_switch() {
    inside("splice::as_paths", &["nginx", "curl"]);
}

#[test]
#[ignore = "runs inside namespaces, for the test above"]
fn as_paths() {
    let cluster = Cluster::new();
    let folder = Path::new("/run/pages");
    let large = ".".repeat(100_000);
    for (host, name) in cluster.servers() {
        let own = folder.join(name);
        fs::create_dir_all(own.join("img")).unwrap();
        for page in 0..8 {
            fs::write(own.join(format!("img/{page}")), name).unwrap();
        }
        fs::write(own.join("large"), &large).unwrap();
        cluster.nginx(host, &own);
    }
    let mut homes = BTreeMap::new();
    for (mode, is_bypassed) in MODES {
        let halves = cluster.halves(mode);
        let record = folder.join("record");
        let config = SwitchSettings { record: Some(record.clone()), ..spliced(mode, "path-hash") };
        let switch = cluster.switch(config).expect("a switch");
        let data = Data::seen(&cluster);
        for page in 0..8 {
            // The query, and who asks, do not matter; nor does the way that replies take.
            for query in ["", "?size=2"] {
                let name = cluster.fetch(&format!("img/{page}{query}"));
                assert_eq!(homes.entry(page).or_insert_with(|| name.clone()), &name, "{mode} {page}{query}");
            }
        }
        assert!(cluster.fetch("large") == large, "{mode}");
        let (of_clients, of_servers) = data.counted();
        assert!(of_clients >= 17, "{mode}: {of_clients} segments with data of clients");
        assert_eq!(of_servers == 0, is_bypassed, "{mode}: {of_servers} segments with data of servers pass the switch");
        // A connection keeps its server, whatever its next request is for.
        let both = format!("http://{SERVICE}/img/{{{},{}}}", of(&homes, "web-1"), of(&homes, "web-2"));
        let kept = cluster.curl(&["-w", "%{num_connects} ", &both]);
        assert_eq!(kept, "web-11 web-10 ", "{mode}");
        until("all have ended", || switch.with(Switch::counts).closed == 18);
        let counts = switch.take(Switch::stop);
        assert_eq!(
            (counts.connections, counts.closed, counts.refused, counts.strays),
            (18, 18, 0, 0),
            "{mode}: {counts:?}"
        );
        assert!(counts.backends.iter().all(|server| server.open == 0 && server.connections > 0), "{mode}: {counts:?}");
        assert_eq!(counts.spliced, Some(SpliceCounts::default()), "{mode}");
        let replayed = replay(fs::read(&record).unwrap().as_slice()).expect("a record");
        assert_eq!((replayed.choices, replayed.first_difference), (18, None), "{mode}");
        let told = halves.iter().filter_map(|half| half.with(ServerHalf::counts)).collect::<Vec<_>>();
        assert_eq!(told.len(), if is_bypassed { 2 } else { 0 }, "{mode}");
        assert!(told.iter().all(|half| half.translated > 0 && half.forged == 0), "{mode}: {told:?}");
        drop(halves);
        cluster.nothing_is_left("0");
    }
    // Halves with another key translate nothing: all replies pass the switch, and are right.
    let folder = tempfile::tempdir().expect("a folder");
    let other = folder.path().join("key");
    fs::write(&other, "another key of some bytes").expect("it is ours");
    let config = SwitchServerSettings {
        service: SERVICE,
        mode: Mode::SpliceAsymmetric,
        front: Some(Ipv4Addr::new(10, 0, 1, 1)),
        key_file: Some(other),
        also: Vec::new(),
    };
    let start = || ServerHalf::start(config.clone()).expect("a server's half");
    let halves = cluster.servers().map(|(host, _)| cluster.at(host, cluster.on(host, start)));
    let switch = cluster.switch(spliced(Mode::SpliceAsymmetric, "path-hash")).expect("a switch");
    assert_eq!(cluster.fetch("img/0"), homes[&0]);
    assert!(switch.take(Switch::stop).spliced.is_some_and(|counts| counts.detours > 0));
    let told = halves.map(|half| half.with(ServerHalf::counts).expect("it translates"));
    assert!(told.iter().any(|half| half.forged > 0) && told.iter().all(|half| half.translated == 0), "{told:?}");
    let names: Vec<&String> = homes.values().collect();
    assert!(names.iter().any(|name| **name == "web-1") && names.iter().any(|name| **name == "web-2"), "{homes:?}");
}

/// The first page of a server.
fn of(homes: &BTreeMap<i32, String>, server: &str) -> i32 {
    *homes.iter().find(|(_, name)| *name == server).expect("it has one").0
}

fn spliced(mode: Mode, policy: &str) -> SwitchSettings {
    SwitchSettings { mode, key_file: key_file_of(mode), ..config(policy) }
}

/// Segments that carry data, as the front node's device sees them.
struct Data<'a>(Frames<'a>);

impl Data<'_> {
    fn seen(cluster: &Cluster) -> Data<'_> {
        Data(Frames::seen(cluster, cluster.front))
    }

    /// How many go to port 80, and how many come from there.
    fn counted(self) -> (u32, u32) {
        self.0.counted(|frame| {
            let packet = &frame[14..];
            let bytes = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
            bytes > 20 + usize::from(packet[32] >> 4) * 4
        })
    }
}

#[test]
fn ten_megabytes_come_over_links_that_lose_and_reorder_and_one_goes_back() {
    inside("splice::as_losses", &["nginx", "curl"]);
}

#[test]
#[ignore = "runs inside namespaces, for the test above"]
fn as_losses() {
    let mut topology = Topology::preset("cluster").expect("it is listed");
    for link in &mut topology.links {
        link.loss = LossLaw::independent(0.02);
        (link.delay, link.reorders) = (Law::parse("uniform(0.5 ms, 2 ms)", Dimension::Time).expect("a law"), true);
    }
    let cluster = Cluster::of(topology);
    let noise = |bytes: u32| (0..bytes).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect::<Vec<u8>>();
    let (large, upload) = (noise(10_000_000), noise(1_000_000));
    let folder = Path::new("/run/pages");
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("large"), &large).unwrap();
    fs::write("/run/upload", &upload).unwrap();
    cluster.nginx(cluster.web_1, folder);
    for (mode, _) in MODES {
        let mut config = spliced(mode, "round-robin");
        config.backends.truncate(1);
        let _halves = cluster.halves(mode);
        let switch = cluster.switch(config).expect("a switch");
        cluster.curl(&["-o", "/run/got", &format!("http://{SERVICE}/large")]);
        assert!(fs::read("/run/got").unwrap() == large, "{mode}");
        cluster.curl(&["--data-binary", "@/run/upload", &format!("http://{SERVICE}/upload")]);
        let stored = || fs::read_dir(folder.join("b")).unwrap().map(|entry| entry.unwrap().path());
        assert!(stored().any(|path| fs::read(path).unwrap() == upload), "{mode}");
        stored().for_each(|path| fs::remove_file(path).unwrap());
        // Heads of several segments, of which the switch has acknowledged all but the last; of each connection the first
        // packet does not reach the server, and the first with data.
        let loses_first = "table ip lossy { set first { type inet_service; flags dynamic; size 1000; }; \
             set data { type inet_service; flags dynamic; size 1000; }; \
             chain c { type filter hook prerouting priority -300; ip saddr != 10.0.0.1 return; \
             tcp flags syn tcp sport != @first add @first { tcp sport } drop; \
             tcp flags psh tcp sport != @data add @data { tcp sport } drop; }; }";
        nft(&cluster, loses_first);
        let long = "x".repeat(6_000);
        for _ in 0..20 {
            cluster.curl(&[
                "-o",
                "/dev/null",
                "-H",
                &format!("X-Long: {long}"),
                &format!("http://{SERVICE}/large"),
                "-r",
                "0-9",
            ]);
        }
        nft(&cluster, "delete table ip lossy");
        let counts = switch.take(Switch::stop);
        assert_eq!((counts.connections, counts.refused), (22, 0), "{mode}: {counts:?}");
    }
}

/// Changes what the first server takes.
fn nft(cluster: &Cluster, script: &str) {
    let mut nft = Command::new("/usr/sbin/nft");
    assert!(cluster.on(cluster.web_1, || nft.arg(script).status()).expect("nft runs").success(), "{script}");
}

#[test]
fn a_smaller_way_to_the_client_is_told_to_the_server() {
    inside("splice::as_small_packets", &["nginx", "curl"]);
}

#[test]
#[ignore = "runs inside namespaces, for the test above"]
fn as_small_packets() {
    let cluster = Cluster::new();
    let folder = Path::new("/run/pages");
    let large = ".".repeat(300_000);
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("large"), &large).unwrap();
    cluster.nginx(cluster.web_1, folder);
    let mut narrow = Command::new("sh");
    narrow.args(["-c", "ip link set mtu 1300 dev $(ip route get 10.0.0.1 | sed -n 's/.* dev \\([^ ]*\\).*/\\1/p')"]);
    assert!(cluster.on(cluster.router, || narrow.status()).expect("a shell").success());
    for (mode, _) in MODES {
        let mut config = spliced(mode, "round-robin");
        config.backends.truncate(1);
        let _halves = cluster.halves(mode);
        let _switch = cluster.switch(config).expect("a switch");
        assert!(cluster.fetch("large") == large, "{mode}");
        let mut forget = Command::new("ip");
        forget.args(["route", "flush", "cache"]);
        assert!(cluster.on(cluster.web_1, || forget.status()).expect("ip runs").success());
    }
}

#[test]
fn connections_are_ended_in_every_way_and_attacks_end_none() {
    inside("splice::as_ends", &[]);
}

#[test]
#[ignore = "runs inside namespaces, for the test above"]
fn as_ends() {
    let cluster = Cluster::new();
    for (mode, _) in MODES {
        let _halves = cluster.halves(mode);
        let (first, second) =
            (Web::start(&cluster, cluster.web_1, "web-1"), Web::start(&cluster, cluster.web_2, "web-2"));
        let mut config = spliced(mode, "round-robin");
        // Probes say nothing until they are asked to.
        config.health.every = ms(60_000);
        let switch = cluster.switch(config).expect("a switch");
        let counts = || switch.with(Switch::counts);
        let spliced = || counts().spliced.expect("it splices");
        let open = || counts().backends.iter().map(|server| server.open).collect::<Vec<_>>();

        // Side by side, each head in two pieces, and a second request on each.
        let mut held: Vec<TcpStream> = (0..200).map(|_| connect(&cluster)).collect();
        held.iter_mut().for_each(|stream| stream.write_all(b"GET /name HTTP/1.1\r\nHo").unwrap());
        held.iter_mut().for_each(|stream| stream.write_all(b"st: a\r\n\r\n").unwrap());
        let names: Vec<String> = held.iter_mut().map(answer).collect();
        assert_eq!(names.iter().filter(|name| *name == "web-1").count(), 100, "{mode}");
        assert_eq!(open(), [100, 100], "{mode}");
        for (stream, name) in held.iter_mut().zip(&names) {
            stream.write_all(b"GET /name HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
            assert_eq!(&answer(stream), name, "{mode}: the same connection, another server");
        }
        held.truncate(10);
        until("the ends are heard", || open().iter().sum::<u64>() == 10);

        // The client ends first, and still hears what was asked for.
        let mut stream = connect(&cluster);
        stream.write_all(b"GET /count HTTP/1.0\r\n\r\n").unwrap();
        stream.write_all(&vec![7; 200_000]).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        assert_eq!(answer(&mut stream), "200000", "{mode}");
        // With the end in the head's own segment.
        let mut stream = connect(&cluster);
        SockRef::from(&stream).set_tcp_nodelay(true).unwrap();
        stream.write_all(b"GET /count HTTP/1.0\r\n\r\nabc").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        assert_eq!(answer(&mut stream), "3", "{mode}");
        // Ended before there is a request.
        let mut stream = connect(&cluster);
        stream.write_all(b"GET /count HTT").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        assert_eq!(end_of(&mut stream), Err(ErrorKind::ConnectionReset), "{mode}");

        // Reset by the server; by the client.
        let mut stream = connect(&cluster);
        stream.write_all(b"GET /reset HTTP/1.0\r\n\r\n").unwrap();
        assert_eq!(end_of(&mut stream), Err(ErrorKind::ConnectionReset), "{mode}");
        let mut stream = connect(&cluster);
        stream.write_all(b"GET /wait HTTP/1.0\r\n\r\n").unwrap();
        until("the request is there", || first.waiting() + second.waiting() == 1);
        SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
        drop(stream);
        until("the reset is there", || first.resets() + second.resets() == 1);
        until("nothing of them counts", || open().iter().sum::<u64>() == 10);

        // A client's port is used again at once.
        let from = SocketAddr::from(([10, 0, 0, 1], 41_000));
        for _ in 0..5 {
            let mut stream = connect_from(&cluster, from);
            stream.write_all(b"GET /name HTTP/1.0\r\n\r\n").unwrap();
            assert!(answer(&mut stream).starts_with("web-"), "{mode}");
            assert_eq!(end_of(&mut stream), Ok(0), "{mode}");
        }

        // What is no request, or does not come to an end, is refused.
        let refused = |text: &[u8]| {
            let mut stream = connect(&cluster);
            stream.write_all(text).unwrap();
            let mut said = String::new();
            let end = stream.read_to_string(&mut said).map_err(|error| error.kind());
            end.map(|_| said.split("\r\n").next().unwrap_or("").to_owned())
        };
        let said = |text: &str| Ok(format!("HTTP/1.1 {text}"));
        assert_eq!(refused(b"EHLO a\r\n"), said("400 Bad Request"), "{mode}");
        let long = ["GET / HTTP/1.1\r\nX: ", &"x".repeat(20_000)].concat();
        assert_eq!(refused(long.as_bytes()), said("431 Request Header Fields Too Large"), "{mode}");
        assert_eq!(refused(&[22, 3, 1, 0, 9]), Err(ErrorKind::ConnectionReset), "{mode}");
        let SpliceCounts { malformed, long, encrypted, .. } = spliced();
        assert_eq!((malformed, long, encrypted), (1, 1, 1), "{mode}");

        // An attacker resets connections that are not its own, without their numbers; floods; sends packets of none.
        let sender = cluster.on(cluster.client, raw);
        let send = |packet: &[u8]| send(&sender, packet);
        let victim = held[0].local_addr().unwrap();
        let before = (spliced().strange, spliced().strays);
        send(&packet(Ipv4Addr::new(10, 0, 0, 1), victim.port(), RST, 0, &[]));
        until("it is not heeded", || spliced().strange > before.0);
        const STRANGERS: u32 = 20_000;
        let memory = resident();
        for number in 0..STRANGERS {
            let [.., third, last] = number.to_be_bytes();
            send(&packet(Ipv4Addr::new(10, 0, 64 + third, last), 5_000, SYN, 0, &[]));
        }
        let stray = packet(Ipv4Addr::new(10, 0, 0, 77), 5_000, ACK, 0, &[]);
        let is_over = || {
            // A flood has no room for others.
            send(&stray);
            spliced().strays > before.1
        };
        until("the flood is over", is_over);
        assert!(resident() - memory < 16 << 20, "{mode}: {} bytes more", resident() - memory);
        assert_eq!(open().iter().sum::<u64>(), 10, "{mode}");
        for stream in &mut held {
            stream.write_all(b"GET /name HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
            assert!(answer(stream).starts_with("web-"), "{mode}");
        }

        // A server that does not accept is followed by the other one, as long as there is one.
        drop(second);
        for _ in 0..2 {
            let mut stream = connect(&cluster);
            stream.write_all(b"GET /name HTTP/1.0\r\n\r\n").unwrap();
            assert_eq!(answer(&mut stream), "web-1", "{mode}");
        }
        assert_eq!(spliced().retried, 1, "{mode}");
        drop(first);
        let mut stream = connect(&cluster);
        stream.write_all(b"GET /name HTTP/1.0\r\n\r\n").unwrap();
        assert_eq!(end_of(&mut stream), Err(ErrorKind::ConnectionReset), "{mode}");
        assert_eq!((spliced().retried, counts().refused), (2, 1), "{mode}");

        // Stopped, the switch ends what it splices.
        assert_eq!(spliced().detours, 0, "{mode}");
        let counts = switch.take(Switch::stop);
        assert!(counts.backends.iter().all(|server| server.open == 0), "{mode}: {counts:?}");
        for stream in &mut held {
            assert_eq!(end_of(stream), Err(ErrorKind::ConnectionReset), "{mode}");
        }
    }
}

#[test]
fn connections_are_bounded() {
    inside("splice::as_many", &[]);
}

#[test]
#[ignore = "runs inside namespaces, for the test above"]
fn as_many() {
    let cluster = Cluster::new();
    let _halves = cluster.halves(Mode::Splice);
    let _web = Web::start(&cluster, cluster.web_1, "web-1");
    let mut config = spliced(Mode::Splice, "round-robin");
    config.backends.truncate(1);
    // Heads that do not come to an end.
    let mut hurried = config.clone();
    hurried.opening = ms(2_000);
    let switch = cluster.switch(hurried).expect("a switch");
    let (mut slow, mut silent) = (connect(&cluster), connect(&cluster));
    slow.write_all(b"GET / HTTP/1.1\r\nX").unwrap();
    assert!(head(&mut slow).expect("a head").starts_with("HTTP/1.1 408 Request Timeout\r\n"));
    assert_eq!(end_of(&mut slow), Ok(0));
    assert_eq!(end_of(&mut silent), Err(ErrorKind::ConnectionReset));
    let refused = switch.take(Switch::stop).spliced.expect("it splices");
    assert_eq!((refused.slow, refused.silent), (1, 1));
    config.connections = 20;
    config.closing = ms(200);
    let switch = cluster.switch(config).expect("a switch");
    let counts = || switch.with(Switch::counts);
    let mut held: Vec<TcpStream> = (0..20).map(|_| connect(&cluster)).collect();
    let ask = |stream: &mut TcpStream| {
        stream.write_all(b"GET /name HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        answer(stream)
    };
    assert!(held.iter_mut().all(|stream| ask(stream) == "web-1"));
    // The handshake takes no room; the connection does, and comes to be when there is some.
    let mut late = connect(&cluster);
    until("there is no room", || counts().full > 0);
    assert_eq!(counts().connections, 20);
    SockRef::from(&held[0]).set_linger(Some(Duration::ZERO)).unwrap();
    held.remove(0);
    drop(held);
    std::thread::scope(|scope| scope.spawn(|| ask(&mut late)).join()).expect("an answer");
}

/// A server that answers as the path says: `/name`, `/count` (bytes until the client's end), `/reset`, `/wait`.
struct Web {
    listener: TcpListener,
    seen: std::sync::Arc<Seen>,
}

/// What a server has seen of clients that were to wait.
#[derive(Default)]
struct Seen {
    waiting: std::sync::atomic::AtomicU32,
    resets: std::sync::atomic::AtomicU32,
}

impl Web {
    fn start(cluster: &Cluster, host: Host, name: &'static str) -> Web {
        let listener = cluster.on(host, || TcpListener::bind("0.0.0.0:80")).expect("a port");
        let seen = std::sync::Arc::new(Seen::default());
        let web = Web { listener: listener.try_clone().expect("a descriptor"), seen: seen.clone() };
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let seen = seen.clone();
                std::thread::spawn(move || serve(stream, name, &seen));
            }
        });
        web
    }

    fn waiting(&self) -> u32 {
        self.seen.waiting.load(std::sync::atomic::Ordering::SeqCst)
    }

    fn resets(&self) -> u32 {
        self.seen.resets.load(std::sync::atomic::Ordering::SeqCst)
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        SockRef::from(&self.listener).shutdown(Shutdown::Both).expect("it listens");
    }
}

fn serve(mut stream: TcpStream, name: &str, seen: &Seen) {
    use std::sync::atomic::Ordering::SeqCst;
    while let Some(head) = head(&mut stream) {
        let reply = |said: &str| format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{said}", said.len());
        let said = match head.split(' ').nth(1).expect("a path") {
            "/count" => reply(&stream.read_to_end(&mut Vec::new()).expect("an end").to_string()),
            "/reset" => return SockRef::from(&stream).set_linger(Some(Duration::ZERO)).expect("a socket"),
            "/wait" => {
                seen.waiting.fetch_add(1, SeqCst);
                let end = stream.read(&mut [0]).map_err(|error| error.kind());
                seen.resets.fetch_add(u32::from(end == Err(ErrorKind::ConnectionReset)), SeqCst);
                return;
            }
            _ => reply(name),
        };
        if stream.write_all(said.as_bytes()).is_err() || head.contains("HTTP/1.0") {
            return;
        }
    }
}

/// The head of a message.
fn head(stream: &mut TcpStream) -> Option<String> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    String::from_utf8(head).ok()
}

/// The body of a reply.
fn answer(stream: &mut TcpStream) -> String {
    let head = head(stream).expect("a head");
    let length = head.split("Content-Length: ").nth(1).and_then(|rest| rest.split("\r\n").next()).expect("a length");
    let mut body = vec![0; length.parse().expect("a number")];
    stream.read_exact(&mut body).expect("a body");
    String::from_utf8(body).expect("text")
}

/// How a connection ends, of which nothing more is to come.
fn end_of(stream: &mut TcpStream) -> Result<usize, ErrorKind> {
    stream.read(&mut [0]).map_err(|error| error.kind())
}

fn connect(cluster: &Cluster) -> TcpStream {
    connect_from(cluster, SocketAddr::from(([0, 0, 0, 0], 0)))
}

fn connect_from(cluster: &Cluster, from: SocketAddr) -> TcpStream {
    cluster.on(cluster.client, || {
        let socket = Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("a socket");
        socket.set_reuse_address(true).unwrap();
        socket.bind(&from.into()).expect("a port");
        // The last connection of a port ends with an answer to its end.
        let is_free = || match socket.connect_timeout(&SERVICE.into(), PATIENCE) {
            Err(error) if error.kind() == ErrorKind::AddrNotAvailable => false,
            connected => connected.map(|()| true).expect("an answer"),
        };
        until("the port is free", is_free);
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.into()
    })
}

fn send(sender: &Socket, packet: &[u8]) {
    let to = SocketAddr::from((*SERVICE.ip(), 0)).into();
    // A buffer that is full is soon emptied.
    while sender.send_to(packet, &to).is_err_and(|error| error.kind() == ErrorKind::WouldBlock) {}
}

/// Bytes of memory that this process uses.
fn resident() -> i64 {
    const PAGE: i64 = 4_096;
    let text = fs::read_to_string("/proc/self/statm").expect("the system counts");
    text.split(' ').nth(1).and_then(|pages| pages.parse::<i64>().ok()).expect("a number") * PAGE
}
