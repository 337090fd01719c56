//! The packet switch over real Ethernet segments: pages of real nginx, captures, restarts, attacks.
//!
//! This test binary is run again inside namespaces that `unshare` (util-linux) makes and that end with it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use nix::mount::{MsFlags, mount};
use nix::sys::socket::{AddressFamily, MsgFlags, Shutdown, SockFlag, SockProtocol, SockType, recv, shutdown, socket};
use serde_json::Value;
use socket2::{Domain, Protocol, Socket, Type};
use sojourn_bed::{Child, Events, Ground, Host, Namespaces, Topology};
use sojourn_dispatch::Limit;
use sojourn_part::settings::switch::{Accepted, Mode, SwitchServer, SwitchServerSettings, SwitchSettings};
use sojourn_part::{ServeError, now};
use sojourn_stats::Span;
use sojourn_switch::{ServerHalf, Switch, child};

mod drained;
mod idle;
mod killed;
mod limits;
mod processors;
mod redirects;
mod restart;
mod tunnels;

use crate::clusters::key_file;
use crate::support::{PATIENCE, command, inside, ms, until};

pub(crate) const SERVICE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 1, 100), 80);

#[test]
fn pages_come_through_and_replies_bypass_the_switch() {
    inside("switch::as_pages", &["nginx", "curl"]);
}

#[test]
#[ignore = "runs inside namespaces, for the test above"]
fn as_pages() {
    let cluster = Cluster::new();
    let page = ".".repeat(100_000);
    let folder = Path::new("/run/pages");
    for (host, name) in cluster.servers() {
        let own = folder.join(name);
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("name"), name).unwrap();
        fs::write(own.join("page"), &page).unwrap();
        cluster.nginx(host, &own);
    }
    // Replies bypass the switch, or come back through it.
    for (mode, is_bypassed) in [(Mode::Mac, true), (Mode::Rewrite, true), (Mode::Nat, false), (Mode::Tunnel, true)] {
        let halves = cluster.halves(mode);
        let record = folder.join("record");
        let switch = cluster
            .switch(SwitchSettings { mode, record: Some(record.clone()), ..config("round-robin") })
            .expect("a switch");
        let frames = Frames::seen(&cluster, cluster.front);
        assert_eq!([1, 2, 3, 4].map(|_| cluster.fetch("name")), ["web-1", "web-2", "web-1", "web-2"], "{mode}");
        assert!(cluster.fetch("page") == page, "{mode}");
        let (of_clients, of_servers) = frames.with_port_80();
        assert!(of_clients >= 5 * 4, "{mode}: {of_clients} packets of clients");
        assert_eq!(of_servers == 0, is_bypassed, "{mode}: {of_servers} packets of servers pass the switch");
        until("the last end is heard", || switch.with(Switch::counts).closed == 5);
        let counts = switch.take(Switch::stop);
        assert_eq!((counts.connections, counts.closed, counts.refused), (5, 5, 0), "{mode}: {counts:?}");
        assert!(counts.backends.iter().all(|server| server.open == 0), "{mode}: {counts:?}");
        let replayed = sojourn_dispatch::record::replay(BufReader::new(fs::File::open(&record).unwrap()));
        let replayed = replayed.expect("a record");
        assert_eq!((replayed.choices, replayed.first_difference), (5, None), "{mode}");
        drop(halves);
        cluster.nothing_is_left("0");
    }
}

#[test]
fn connections_count_servers_fail_and_attacks_end_nothing() {
    inside("switch::as_connections", &[]);
}

#[test]
#[ignore = "runs inside namespaces, for the test above"]
fn as_connections() {
    let cluster = Cluster::new();
    let _halves = cluster.halves(Mode::Mac);
    let (_first, second) = (cluster.echo(cluster.web_1, "web-1"), cluster.echo(cluster.web_2, "web-2"));
    let mut config = config("least-connections");
    config.health.every = ms(20);
    config.connections = 64;
    config.opening = ms(500);
    let switch = cluster.switch(config).expect("a switch");
    let counts = || switch.with(Switch::counts);
    let open = || counts().backends.iter().map(|server| server.open).collect::<Vec<_>>();

    // Two each; those that end make room where they were.
    let mut held: Vec<Caller> = (0..4).map(|_| cluster.call()).collect();
    assert_eq!(open(), [2, 2]);
    held.retain(|caller| caller.server != "web-2");
    until("the ends are heard", || open() == [2, 0]);
    held.extend([cluster.call(), cluster.call()]);
    assert_eq!(held.iter().filter(|caller| caller.server == "web-2").count(), 2);

    // An attacker resets a connection that is not its own, sends pieces of packets, and a packet of no connection.
    let victim = held[0].stream.get_ref().local_addr().unwrap().port();
    let attacker = Ipv4Addr::new(10, 0, 0, 77);
    let sender = cluster.on(cluster.client, raw);
    let send = |packet: &[u8]| {
        let to = SocketAddr::from((*SERVICE.ip(), 0)).into();
        sender.send_to(packet, &to).expect("it is sent");
    };
    send(&packet(attacker, victim, RST, 0, &[]));
    send(&packet(attacker, 5000, ACK, 0, &[]));
    const MORE: u16 = 0x2000;
    send(&packet(attacker, 5001, SYN, MORE, &[]));
    send(&packet(attacker, 5002, SYN, 3, &[]));
    until("they are dropped", || (counts().fragments, counts().strays) == (2, 2));
    // A packet with options (here: no operation) is one as well.
    send(&packet(attacker, 5003, SYN, 0, &[1, 1, 1, 0]));
    until("it is decided", || counts().connections == 7);
    held.iter_mut().for_each(Caller::exchange);

    // A flood of first packets: the memory is bounded, and those that are open live on.
    for port in 10_000..12_000 {
        send(&packet(Ipv4Addr::new(10, 0, 3, (port % 200) as u8 + 1), port, SYN, 0, &[]));
    }
    until("the flood is over", || counts().full > 1_000);
    assert!(open().iter().sum::<u64>() <= 64, "{:?}", open());
    held.iter_mut().for_each(Caller::exchange);
    until("the flood is forgotten", || open().iter().sum::<u64>() <= 4);
    held.iter_mut().for_each(Caller::exchange);

    // A server that does not listen any more gets nothing new, and ends what it has; when it is back it is chosen.
    drop(second);
    until("it is out", || !counts().backends[1].up);
    let further: Vec<Caller> = (0..3).map(|_| cluster.call()).collect();
    assert!(further.iter().all(|caller| caller.server == "web-1"));
    held.iter_mut().for_each(Caller::exchange);
    let _second = cluster.echo(cluster.web_2, "web-2");
    until("it is back", || counts().backends[1].up);
    assert_eq!(cluster.call().server, "web-2");
    drop(switch);

    // Where no server may be chosen, clients are refused.
    let drain = vec!["web-1".into(), "web-2".into()];
    let switch = cluster.switch(SwitchSettings { drain, ..self::config("round-robin") }).expect("a switch");
    let refused = cluster.on(cluster.client, || TcpStream::connect_timeout(&SERVICE.into(), PATIENCE));
    assert_eq!(refused.map(drop).map_err(|error| error.kind()), Err(std::io::ErrorKind::ConnectionRefused));
    assert_eq!(switch.take(Switch::stop).refused, 1);
}

#[test]
fn a_restart_loses_no_byte_and_a_second_switch_is_refused() {
    inside("switch::as_restart", &[]);
}

#[test]
#[ignore = "runs inside namespaces, for the test above"]
fn as_restart() {
    const OPEN: usize = 200;
    let cluster = Cluster::new();
    let halves = cluster.halves(Mode::Mac);
    let _echoes = cluster.servers().map(|(host, name)| cluster.echo(host, name));
    let mut first = cluster.child();
    let mut held: Vec<Caller> = (0..OPEN).map(|_| cluster.call()).collect();
    held.iter_mut().for_each(Caller::exchange);

    let refused = |host| {
        let started = cluster.on(host, || Switch::start(config("random"), Events::nowhere()).map(drop));
        started.expect_err("there is one").to_string()
    };
    let same = refused(cluster.front);
    assert!(same.contains("a switch runs on this host already"), "{same}");
    let elsewhere = refused(cluster.router);
    assert!(elsewhere.contains("another host has the address 10.0.1.100"), "{elsewhere}");

    first.kill();
    held.iter_mut().for_each(Caller::exchange);
    // One that is opened meanwhile waits for its SYN to be sent again.
    let second = one_waits(&cluster, &mut held, || cluster.child());
    assert_eq!(second.events()[0]["inherited"], OPEN);
    held.iter_mut().for_each(Caller::exchange);
    held.clear();
    until("the ends are heard", || cluster.elements("closing") > OPEN);
    let told = second.stop();
    let told = told.last().expect("it has stopped");
    assert_eq!((&told["connections"], &told["closed"]), (&1.into(), &(OPEN + 1).into()), "{told}");
    drop(halves);
    cluster.nothing_is_left("0");
}

/// A connection that is opened while there is no switch: the first SYN that one finds there is decided, and TCP sends them
/// a second after the first one, and then more rarely.
fn one_waits(cluster: &Cluster, held: &mut Vec<Caller>, start: impl FnOnce() -> Child) -> Child {
    const SENT_AGAIN: Span = Span(1_000_000_000);
    let (before, begun, sent) = (cluster.undecided(), now(), Frames::seen(cluster, cluster.front));
    let (switch, ready, answered) = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| (cluster.call(), now()));
        until("its first SYN is lost", || cluster.undecided() > before);
        let (switch, ready) = (start(), now());
        let (caller, answered) = waiting.join().expect("it is answered");
        held.push(caller);
        (switch, ready, answered)
    });
    let lost = cluster.undecided() - before;
    let is_first = |packet: &[u8]| packet[47] & (SYN | ACK) == SYN && packet[30..34] == SERVICE.ip().octets();
    let (seen, _) = sent.counted(is_first);
    // Each comes once, and the one that was decided leaves once.
    let first = u64::from(seen) - 1;
    assert_eq!(first, lost + 1, "a switch that is there decides the first SYN that comes");
    // A machine that is too busy to start one within a second lets a second SYN be lost.
    if ready - begun < SENT_AGAIN {
        assert_eq!(first, 2, "one SYN is sent again");
        assert!(answered - begun < SENT_AGAIN * 2, "it waited for {}", answered - begun);
    }
    switch
}

#[test]
#[ignore = "runs as a child, for the test above"]
fn as_switch() {
    // The harness has begun a line.
    writeln!(std::io::stdout()).expect("it is read");
    child::switch(config("round-robin"), std::io::stdout(), Some(std::io::stdin())).expect("a switch");
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let refused = |config: SwitchSettings| {
        let started = Switch::start(config, Events::nowhere());
        started.map(drop).expect_err("it cannot be").to_string()
    };
    for (policy, what) in [
        ("round-trip", "the first byte of each reply"),
        ("transmitted-size", "the bytes of replies"),
        ("cookie", "the client's cookies"),
        ("path-hash", "the path asked for"),
        ("free-capacity", "which this face does not provide"),
    ] {
        let said = refused(config(policy));
        assert!(said.contains(what) && said.contains(policy), "{said}");
    }
    type Change = fn(&mut SwitchSettings);
    let cases: [(Change, &str); 14] = [
        (|config| config.backends.clear(), "a switch needs at least one"),
        (|config| config.backends[1].name = "web-1".into(), "backend web-1 is named twice"),
        (|config| config.backends[1].address = config.backends[0].address, "tells servers by address"),
        (|config| config.backends[0].address = *SERVICE.ip(), "name the server's own"),
        (|config| config.service.set_port(0), "service 10.0.1.100:0"),
        (|config| config.drain = vec!["web-9".into()], "drained server web-9: there is no such backend"),
        (|config| config.connections = 0, "0 connections"),
        (|config| config.overflow = vec![site(2, 1)], "site c2: overflow begins where servers are full"),
        (
            |config| config.overflow_limit = Limit::new(5, 4).ok(),
            "a limit of 5 connections to other sites: name a site",
        ),
        (
            |config| (config.overflow, config.decider.limit) = (vec![site(1, 11)], Limit::new(5, 4).ok()),
            "backend c1 has the address of another one",
        ),
        (
            |config| (config.overflow, config.decider.limit) = (vec![site(1, 100)], Limit::new(5, 4).ok()),
            "backend c1 has the service's address",
        ),
        (|config| config.accept = vec![accepted([10, 0, 1, 100], [10, 0, 2, 1])], "is this switch's own"),
        (|config| config.accept = vec![accepted([10, 0, 2, 1], [10, 0, 2, 1])], "name that of the front node there"),
        (
            |config| (config.accept, config.mode) = (vec![accepted([10, 0, 2, 100], [10, 0, 2, 1])], Mode::Rewrite),
            "mode rewrite has one service",
        ),
    ];
    for (change, what) in cases {
        let mut config = config("round-robin");
        change(&mut config);
        let said = refused(config);
        assert!(said.contains(what), "{said}");
    }
    assert_eq!(
        "dr".parse::<Mode>().unwrap_err(),
        "mode dr: the modes are mac, rewrite, nat, tunnel, splice, splice-asymmetric"
    );
}

/// A client, and behind a router a front node and two servers on an Ethernet.
pub(crate) struct Cluster {
    bed: Namespaces,
    pub(crate) client: Host,
    pub(crate) router: Host,
    pub(crate) front: Host,
    pub(crate) web_1: Host,
    pub(crate) web_2: Host,
}

/// Something of a host, used and dropped there.
pub(crate) struct At<'a, T: Send> {
    cluster: &'a Cluster,
    host: Host,
    held: Mutex<Option<T>>,
}

/// A server that is reached until this is dropped; connections that it has live on.
pub(crate) struct Echo(TcpListener);

/// A connection to such a server.
pub(crate) struct Caller {
    pub(crate) stream: BufReader<TcpStream>,
    pub(crate) server: String,
    exchanges: u8,
}

/// A socket that keeps all frames of a host from its making on.
pub(crate) struct Frames<'a>(At<'a, OwnedFd>);

impl Cluster {
    pub(crate) fn new() -> Cluster {
        Cluster::of(Topology::preset("cluster").expect("it is listed"))
    }

    /// Hosts of these names, which may be on several Ethernets.
    pub(crate) fn of(topology: Topology) -> Cluster {
        // What is written below /run is in memory, and gone with the namespaces.
        mount(Some("tmpfs"), "/run", Some("tmpfs"), MsFlags::empty(), None::<&str>).expect("a mount of its own");
        let mut bed = Namespaces::new(topology, 1).expect("a bed");
        let [client, router, front, web_1, web_2] =
            ["client", "router", "front", "web-1", "web-2"].map(|name| bed.host(name).expect("a host"));
        Cluster { bed, client, router, front, web_1, web_2 }
    }

    pub(crate) fn servers(&self) -> [(Host, &'static str); 2] {
        [(self.web_1, "web-1"), (self.web_2, "web-2")]
    }

    pub(crate) fn on<T: Send>(&self, host: Host, body: impl FnOnce() -> T + Send) -> T {
        self.bed.on(host, body).expect("a host")
    }

    pub(crate) fn at<T: Send>(&self, host: Host, held: T) -> At<'_, T> {
        At { cluster: self, host, held: Mutex::new(Some(held)) }
    }

    pub(crate) fn switch(&self, config: SwitchSettings) -> Result<At<'_, Switch>, ServeError> {
        let started = self.on(self.front, || Switch::start(config, Events::nowhere()));
        started.map(|switch| self.at(self.front, switch))
    }

    /// The switch as a process of its own.
    fn child(&self) -> Child {
        self.bed.spawn(self.front, command("switch::as_switch"), PATIENCE).expect("a switch")
    }

    pub(crate) fn halves(&self, mode: Mode) -> Vec<At<'_, ServerHalf>> {
        let front = Some(Ipv4Addr::new(10, 0, 1, 1));
        let config =
            SwitchServerSettings { service: SERVICE, mode, front, key_file: Some(key_file()), also: Vec::new() };
        let half = |(host, _)| {
            let started = self.on(host, || ServerHalf::start(config.clone()));
            self.at(host, started.expect("a server's half"))
        };
        self.servers().map(half).into()
    }

    /// A real nginx on a server, as an ordinary user, which ends with the namespaces.
    pub(crate) fn nginx(&self, host: Host, folder: &Path) {
        let at = folder.display();
        let text = format!(
            "daemon off; pid {at}/pid; events {{ }}\nhttp {{ access_log off; client_body_temp_path {at}/b; \
             proxy_temp_path {at}/p; fastcgi_temp_path {at}/f; uwsgi_temp_path {at}/u; scgi_temp_path {at}/s;\n\
             server {{ listen 80; root {at}; location /upload {{ client_body_in_file_only on; \
             proxy_pass http://127.0.0.1/done; }} location /done {{ return 200; }} }} }}\n"
        );
        let conf = folder.join("nginx.conf");
        fs::write(&conf, text).unwrap();
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-user=1000", "/usr/sbin/nginx", "-p"]).arg(folder).arg("-c").arg(&conf);
        command.arg("-e").arg(folder.join("errors")).stdin(Stdio::null());
        drop(self.on(host, || command.spawn()).expect("nginx runs"));
        until("nginx listens", || self.on(host, || TcpStream::connect(("127.0.0.1", 80)).is_ok()));
    }

    /// What a client gets, by a connection of its own.
    pub(crate) fn fetch(&self, path: &str) -> String {
        self.curl(&[&format!("http://{SERVICE}/{path}")])
    }

    /// What curl says at the client.
    pub(crate) fn curl(&self, arguments: &[&str]) -> String {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--show-error", "--fail", "--max-time", "20"]).args(arguments);
        let output = self.on(self.client, || curl.output()).expect("curl runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }

    /// A server that says its name and then repeats what it is told.
    pub(crate) fn echo(&self, host: Host, name: &'static str) -> Echo {
        let listener = self.on(host, || TcpListener::bind("0.0.0.0:80")).expect("a port");
        let echo = Echo(listener.try_clone().expect("a descriptor"));
        let serve = move |mut stream: TcpStream| {
            let _ = writeln!(stream, "{name}");
            let _ = std::io::copy(&mut stream.try_clone().expect("a descriptor"), &mut stream);
        };
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                std::thread::spawn(move || serve(stream));
            }
        });
        echo
    }

    /// A connection of the client.
    pub(crate) fn call(&self) -> Caller {
        self.call_at(SERVICE)
    }

    fn call_at(&self, service: SocketAddrV4) -> Caller {
        let stream = self.on(self.client, || TcpStream::connect_timeout(&service.into(), PATIENCE)).expect("an answer");
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut caller = Caller { stream: BufReader::new(stream), server: String::new(), exchanges: 0 };
        caller.stream.read_line(&mut caller.server).expect("a name");
        caller.server = caller.server.trim().to_owned();
        caller
    }

    /// First packets that no switch has decided.
    fn undecided(&self) -> u64 {
        let listed = self.nft(&["list", "counter", "ip", "sojourn_switch", "undecided"]);
        listed["nftables"][1]["counter"]["packets"].as_u64().expect("a count")
    }

    /// The elements of a set of the rules.
    fn elements(&self, set: &str) -> usize {
        let listed = self.nft(&["list", "set", "ip", "sojourn_switch", set]);
        listed["nftables"][1]["set"]["elem"].as_array().map_or(0, Vec::len)
    }

    fn nft(&self, question: &[&str]) -> Value {
        let output = self.on(self.front, || Command::new("/usr/sbin/nft").arg("--json").args(question).output());
        serde_json::from_slice(&output.expect("nft runs").stdout).expect("JSON")
    }

    /// The switch and the servers' halves have put back all that they changed.
    #[track_caller]
    pub(crate) fn nothing_is_left(&self, forwards: &str) {
        let run = |host, command: &str| {
            let output = self.on(host, || Command::new("/bin/sh").args(["-c", command]).output()).expect("a shell");
            String::from_utf8(output.stdout).expect("text")
        };
        let rules = run(self.front, " /usr/sbin/iptables -t mangle -S | grep NFQ");
        assert_eq!(rules, "");
        for host in [self.front, self.web_1, self.web_2] {
            assert_eq!(run(host, "/usr/sbin/nft list tables | grep sojourn"), "");
            let rules = run(host, "ip rule show");
            assert_eq!(rules.lines().count(), 3, "{rules}");
            assert!(rules.starts_with("0:\tfrom all lookup local"), "{rules}");
            let addresses = run(host, "ip address show dev lo");
            assert!(!addresses.contains("10.0.1.100"), "{addresses}");
            let silence = run(host, "cd /proc/sys/net/ipv4/conf/all; cat arp_ignore arp_announce");
            assert_eq!(silence, "0\n0\n");
            let devices = run(host, "ip link show type tun");
            assert!(!devices.contains("sojourn"), "{devices}");
        }
        assert_eq!(run(self.front, "cat /proc/sys/net/ipv4/ip_forward").trim(), forwards);
    }
}

impl<T: Send> At<'_, T> {
    pub(crate) fn with<R: Send>(&self, body: impl FnOnce(&T) -> R + Send) -> R {
        let within =
            || body(self.held.lock().expect("no body panics").as_ref().expect("it is there until it is taken"));
        self.cluster.on(self.host, within)
    }

    pub(crate) fn take<R: Send>(mut self, body: impl FnOnce(T) -> R + Send) -> R {
        let held = self.held.get_mut().expect("no body panics").take().expect("it is there until it is taken");
        self.cluster.on(self.host, || body(held))
    }
}

impl<T: Send> Drop for At<'_, T> {
    fn drop(&mut self) {
        let held = self.held.get_mut().expect("no body panics").take();
        self.cluster.on(self.host, || drop(held));
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        shutdown(self.0.as_raw_fd(), Shutdown::Both).expect("it listens");
    }
}

impl Caller {
    /// Says something new and hears it again, whole.
    pub(crate) fn exchange(&mut self) {
        self.exchanges += 1;
        let said = [self.exchanges; 1000];
        self.stream.get_mut().write_all(&said).expect("it is sent");
        let mut heard = [0; 1000];
        self.stream.read_exact(&mut heard).expect("it is repeated");
        assert_eq!(said, heard);
    }
}

impl Frames<'_> {
    pub(crate) fn seen(cluster: &Cluster, host: Host) -> Frames<'_> {
        let flags = SockFlag::SOCK_NONBLOCK;
        let made = cluster.on(host, || socket(AddressFamily::Packet, SockType::Raw, flags, SockProtocol::EthAll));
        Frames(cluster.at(host, made.expect("root may")))
    }

    /// How many packets of TCP go to port 80, and how many come from there.
    pub(crate) fn with_port_80(self) -> (u32, u32) {
        self.counted(|_| true)
    }

    /// The same, of those frames that are `wanted`. A packet inside a tunnel's datagram counts as one that is not, and is looked
    /// at as if the frame were its own.
    pub(crate) fn counted(self, wanted: impl Fn(&[u8]) -> bool + Sync) -> (u32, u32) {
        /// Bytes of the heads of IP and UDP, and the port of tunnels.
        const OUTER: usize = 28;
        const TUNNEL: [u8; 2] = 6080_u16.to_be_bytes();
        let (mut to, mut from, mut frame) = (0, 0, [0; 2000]);
        self.0.with(|socket| {
            while let Ok(bytes) = recv(socket.as_raw_fd(), &mut frame, MsgFlags::empty()) {
                let is_ip = bytes > 54 - 1 && frame[12..15] == [8, 0, 0x45];
                let is_tunnelled = is_ip && frame[23] == 17 && (frame[34..36] == TUNNEL || frame[36..38] == TUNNEL);
                let frame = if is_tunnelled { &frame[OUTER..bytes.max(OUTER + 54)] } else { &frame[..bytes.max(54)] };
                let is_tcp = is_ip && frame[14] == 0x45 && frame[23] == 6 && wanted(frame);
                to += u32::from(is_tcp && frame[36..38] == [0, 80]);
                from += u32::from(is_tcp && frame[34..36] == [0, 80]);
            }
        });
        (to, from)
    }
}

pub(crate) const SYN: u8 = 2;
pub(crate) const RST: u8 = 4;
pub(crate) const ACK: u8 = 16;

/// A socket that sends IPv4 packets as they are.
pub(crate) fn raw() -> Socket {
    const AS_IT_IS: i32 = 255;
    Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(AS_IT_IS))).expect("root may")
}

/// A packet of TCP to the service, with this fragment field and these options of IP.
pub(crate) fn packet(source: Ipv4Addr, port: u16, flags: u8, fragment: u16, options: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45 + (options.len() / 4) as u8, 0, 0, 0, 0, 1];
    packet.extend(fragment.to_be_bytes());
    packet.extend([64, 6, 0, 0]);
    packet.extend(source.octets());
    packet.extend(SERVICE.ip().octets());
    packet.extend(options);
    // The kernel fills in the length and the sum of the head.
    let mut body = port.to_be_bytes().to_vec();
    body.extend(SERVICE.port().to_be_bytes());
    body.extend([0, 0, 0, 1, 0, 0, 0, 1, 0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    let pseudo = [&source.octets()[..], &SERVICE.ip().octets(), &[0, 6, 0, body.len() as u8], &body].concat();
    let sum = pseudo.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum::<u32>();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    body[16..18].copy_from_slice(&sum.to_be_bytes());
    packet.extend(body);
    packet
}

/// The same, where a mode needs one.
pub(crate) fn key_file_of(mode: Mode) -> Option<PathBuf> {
    (mode == Mode::SpliceAsymmetric).then(key_file)
}

/// Whether a client's connection is refused.
fn is_refused(cluster: &Cluster, service: SocketAddrV4) -> bool {
    let called = cluster.on(cluster.client, || TcpStream::connect_timeout(&service.into(), PATIENCE));
    called.is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionRefused)
}

/// The front node of another site.
fn site(number: u8, last: u8) -> SwitchServer {
    SwitchServer::new(format!("c{number}"), Ipv4Addr::new(10, 0, number, last))
}

fn accepted(service: [u8; 4], front: [u8; 4]) -> Accepted {
    Accepted { service: service.into(), front: front.into() }
}

pub(crate) fn config(policy: &str) -> SwitchSettings {
    let backend = |(name, last)| SwitchServer::new(name, Ipv4Addr::new(10, 0, 1, last));
    SwitchSettings::new(SERVICE, policy, [("web-1", 11), ("web-2", 12)].map(backend).into())
}
