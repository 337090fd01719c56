//! The server over real sockets: datagrams, connections, floods, reloads.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::rdata::opt::EdnsOption;
use socket2::{Domain, Protocol, Socket, Type};
use sojourn_dns::{Chooser, DnsLimits, Done, Server, ServerConfig, Zone, Zones};
use sojourn_part::ServeError;
use sojourn_stats::Time;

use super::{Bench, Sites, bytes, open, query, read, services, shown, with_edns, zones};
use crate::support::{ms, until};

const PATIENCE: Duration = Duration::from_secs(20);

pub(super) fn server_on(listen: &str, threads: usize, limits: DnsLimits) -> Server {
    let listen = vec![listen.parse().expect("an address")];
    let config = ServerConfig { listen, threads, limits, cookie_secret: None };
    Server::start(config, Arc::new(zones()), Arc::new(Sites::default())).expect("a server")
}

pub(super) fn server(limits: DnsLimits) -> Server {
    server_on("127.0.0.1:0", 2, limits)
}

fn udp(from: &str, to: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind(from).expect("a socket");
    socket.connect(to).expect("connected");
    socket.set_read_timeout(Some(PATIENCE)).expect("a time-out");
    socket
}

fn tcp(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).expect("connected");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
    stream.set_write_timeout(Some(PATIENCE)).expect("a time-out");
    stream.set_nodelay(true).expect("no delay");
    stream
}

fn exchange(socket: &UdpSocket, asked: &[u8]) -> Vec<u8> {
    socket.send(asked).expect("sent");
    let mut reply = vec![0; 65_536];
    let length = socket.recv(&mut reply).expect("a reply");
    reply.truncate(length);
    reply
}

fn framed(asked: &[u8]) -> Vec<u8> {
    [&(asked.len() as u16).to_be_bytes(), asked].concat()
}

fn next(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    let mut reply = vec![0; usize::from(u16::from_be_bytes(length))];
    stream.read_exact(&mut reply)?;
    Ok(reply)
}

/// Whether the server has closed the connection.
fn is_closed(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0; 1024]) {
        Ok(length) => length == 0,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

#[test]
fn dig_reads_what_it_asks_for() {
    let server = server(open());
    let port = server.addresses()[0].port().to_string();
    let dig = |flags: &[&str]| {
        let output = Command::new("dig").args(["@127.0.0.1", "-p", &port, "+tries=1"]).args(flags).output();
        String::from_utf8(output.expect("dig runs").stdout).expect("text")
    };
    for tcp in [&[][..], &["+tcp"]] {
        let short = |name: &str, kind: &str| dig(&[&["+short", name, kind], tcp].concat());
        assert_eq!(short("www.example.org", "A"), "198.51.100.2\n198.51.100.1\n");
        assert_eq!(short("alias.example.org", "A").lines().next(), Some("mail.example.org."));
        assert_eq!(short("example.org", "CAA"), "0 issue \"ca.example.net\"\n");
        assert_eq!(short("example.org", "SOA"), "ns1.example.org. hostmaster.example.org. 7 3600 900 1209600 60\n");
        assert_eq!(short("_sip._tcp.example.org", "SRV"), "0 5 5060 mail.example.org.\n");
        assert!(short("_why.www.example.org", "TXT").starts_with("\"service 1 for 127.0.0.1\""));
        // dig asks again over TCP where that is told.
        assert_eq!(dig(&[&["+short", "+noedns", "big.example.org", "TXT"], tcp].concat()).lines().count(), 5);
        let refused = dig(&[&["version.bind", "TXT", "CH"], tcp].concat());
        assert!(refused.contains("status: REFUSED"), "{refused}");
        let whole = dig(&[&["+subnet=203.0.113.0/24", "www.example.org", "A"], tcp].concat());
        assert!(whole.contains("CLIENT-SUBNET: 203.0.113.0/24/20"), "{whole}");
        // dig checks the echo of its own cookie.
        assert!(whole.contains("(good)") && whole.contains("flags: qr aa rd;"), "{whole}");
        assert!(!whole.contains("WARNING: Message parser") && !whole.contains("malformed"), "{whole}");
    }
    let version = dig(&["+edns=1", "+noednsnegotiation", "www.example.org", "A"]);
    assert!(version.contains("status: BADVERS"), "{version}");
}

#[test]
fn messages_come_in_pieces_and_several_at_once() {
    let mut server = server(DnsLimits { tcp_idle: ms(100_000), ..open() });
    let mut stream = tcp(server.addresses()[0]);
    let names = ["www.example.org.", "mail.example.org.", "nowhere.example.org.", "big.example.org."];
    let asked: Vec<Message> = names.iter().map(|name| query(name, "TXT")).collect();
    let all: Vec<u8> = asked.iter().flat_map(|asked| framed(&bytes(asked))).collect();
    let expect_all = |stream: &mut TcpStream| {
        for asked in &asked {
            let reply = read(&next(stream).expect("a reply"));
            assert_eq!((reply.metadata.id, &reply.queries), (asked.metadata.id, &asked.queries));
        }
    };
    stream.write_all(&all).expect("sent");
    expect_all(&mut stream);
    for byte in &all {
        stream.write_all(&[*byte]).expect("sent");
    }
    expect_all(&mut stream);
    // The longest message that can be, filled up with an option, in pieces.
    let mut long = with_edns("www.example.org.", "A");
    let room = 65_535 - bytes(&long).len() - 4;
    long.edns.as_mut().expect("it has EDNS").options_mut().insert(EdnsOption::Unknown(12, vec![0; room]));
    let long = framed(&bytes(&long));
    assert_eq!(long.len(), 2 + 65_535);
    for piece in long.chunks(1000) {
        stream.write_all(piece).expect("sent");
    }
    assert_eq!(read(&next(&mut stream).expect("a reply")).answers.len(), 2);
    // Many at once: more replies than are sent at once.
    let one = framed(&bytes(&query("big.example.org.", "TXT")));
    let mut writer = stream.try_clone().expect("a clone");
    let sender = std::thread::spawn(move || writer.write_all(&one.repeat(2000)));
    for _ in 0..2000 {
        assert_eq!(read(&next(&mut stream).expect("a reply")).answers.len(), 5);
    }
    sender.join().expect("it ends").expect("sent");
    // What is no query ends the connection.
    stream.write_all(&framed(&[1, 2, 3])).expect("sent");
    assert!(is_closed(&mut stream));
    server.stop();
    let counts = server.counts();
    assert_eq!((counts.connections, counts.malformed, counts.tcp["A"], counts.tcp["TXT"]), (1, 1, 1, 2008));
}

#[test]
fn a_reply_may_have_all_that_a_message_can() {
    let server = server(open());
    let text: String = (0..240).map(|i| format!("@ TXT \"{i:0>250}\"\n")).collect();
    let zone = format!("$TTL 60\n@ SOA ns.x. root.x. 1 1 1 1 1\n@ NS ns.x.\n{text}");
    server.set_zones(Arc::new(Zones::new(vec![Zone::parse("long.test", &zone, &[]).expect("a zone")]).expect("zones")));
    let mut stream = tcp(server.addresses()[0]);
    stream.write_all(&framed(&bytes(&query("long.test.", "TXT")))).expect("sent");
    let reply = next(&mut stream).expect("a reply");
    assert!(reply.len() > 60_000);
    assert_eq!(read(&reply).answers.len(), 240);
    // One more byte than a message can have is said to be too much even there.
    let zone = format!("{zone}{}", text.replace("0 TXT", "1 TXT").replace("TXT \"0", "TXT \"1"));
    server.set_zones(Arc::new(Zones::new(vec![Zone::parse("long.test", &zone, &[]).expect("a zone")]).expect("zones")));
    stream.write_all(&framed(&bytes(&query("long.test.", "TXT")))).expect("sent");
    assert_eq!(shown(&read(&next(&mut stream).expect("a reply"))), "NoError aa tc");
}

#[test]
fn slow_clients_are_cut_off_and_disturb_none() {
    let server = server(DnsLimits { tcp_idle: ms(300), ..open() });
    let to = server.addresses()[0];
    let asked = framed(&bytes(&query("big.example.org.", "TXT")));
    let mut idle = tcp(to);
    let mut trickle = tcp(to);
    let deaf = tcp(to);
    let stop = Arc::new(AtomicBool::new(false));
    let (mut of_trickle, mut of_deaf) = (trickle.try_clone().expect("a clone"), deaf.try_clone().expect("a clone"));
    let (asked_slowly, asked_often, stopped) = (asked.clone(), asked.clone(), Arc::clone(&stop));
    let slow = std::thread::spawn(move || {
        for byte in asked_slowly.iter().cycle() {
            std::thread::park_timeout(Duration::from_millis(50));
            if stopped.load(Ordering::Relaxed) || of_trickle.write_all(&[*byte]).is_err() {
                break;
            }
        }
    });
    let often = std::thread::spawn(move || while of_deaf.write_all(&asked_often.repeat(100)).is_ok() {});
    // Who asks in time is answered all the while.
    let mut honest = tcp(to);
    until("three are cut off", || {
        honest.write_all(&asked).expect("sent");
        assert_eq!(read(&next(&mut honest).expect("a reply")).answers.len(), 5);
        server.counts().connections_cut == 3
    });
    assert!(is_closed(&mut idle) && is_closed(&mut trickle));
    stop.store(true, Ordering::Relaxed);
    slow.join().expect("it ends");
    // What is not taken is thrown away: it is told so before its own patience ends.
    let start = sojourn_part::now();
    often.join().expect("it ends");
    assert!(sojourn_part::now() - start < ms(10_000));
}

#[test]
fn connections_are_limited_in_all_and_by_network() {
    let server = server(DnsLimits { tcp_connections: 4, tcp_per_prefix: 2, ..open() });
    let to = server.addresses()[0];
    let from = |ip: [u8; 4]| {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP)).expect("a socket");
        socket.bind(&SocketAddr::new(Ipv4Addr::from(ip).into(), 0).into()).expect("bound");
        socket.connect(&to.into()).expect("connected");
        let stream: TcpStream = socket.into();
        stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        stream
    };
    let asked = framed(&bytes(&query("www.example.org.", "A")));
    let is_served = |stream: &mut TcpStream| stream.write_all(&asked).is_ok() && next(stream).is_ok();
    let mut first = from([127, 0, 1, 1]);
    let mut second = from([127, 0, 1, 2]);
    assert!(is_served(&mut first) && is_served(&mut second));
    assert!(!is_served(&mut from([127, 0, 1, 3])), "its network has its share");
    let mut others = [from([127, 0, 2, 1]), from([127, 0, 3, 1])];
    assert!(others.iter_mut().all(is_served));
    assert!(!is_served(&mut from([127, 0, 4, 1])), "all have theirs");
    drop(first);
    until("a place is free", || is_served(&mut from([127, 0, 4, 1])));
    assert!(server.counts().connections_refused >= 2);
}

/// Zones are replaced thousands of times while queries come: each is answered, from the old or the new ones.
#[test]
fn no_query_is_lost_by_a_reload() {
    let mut server = server(open());
    let to = server.addresses()[0];
    let made = |number: u32| {
        let text = format!("@ 60 SOA a.x. b.x. {number} 1 1 1 1\n@ 60 NS a.x.\n@ 60 TXT \"{number}\"\n");
        Arc::new(Zones::new(vec![Zone::parse("example.org", &text, &services()).expect("a zone")]).expect("zones"))
    };
    server.set_zones(made(0));
    let stop = AtomicBool::new(false);
    let asked = bytes(&query("example.org.", "TXT"));
    let (answered, last) = std::thread::scope(|scope| {
        let askers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let socket = udp("127.0.0.1:0", to);
                    let (mut count, mut seen) = (0_u64, 0_u32);
                    while !stop.load(Ordering::Relaxed) {
                        let reply = shown(&read(&exchange(&socket, &asked)));
                        let number: u32 = reply.split('"').nth(1).expect("a text").parse().expect("a number");
                        assert!(number >= seen, "{number} after {seen}");
                        (count, seen) = (count + 1, number);
                    }
                    count
                })
            })
            .collect();
        for number in 1..=2000 {
            server.set_zones(made(number));
        }
        let socket = udp("127.0.0.1:0", to);
        let last = shown(&read(&exchange(&socket, &asked)));
        stop.store(true, Ordering::Relaxed);
        (askers.into_iter().map(|asker| asker.join().expect("every query is answered")).sum::<u64>(), last)
    });
    assert!(last.ends_with("\"2000\""), "what is asked after a reload is answered from it: {last}");
    server.stop();
    assert_eq!(server.counts().udp["TXT"], answered + 1);
    assert_eq!(server.counts().replies["NOERROR"], answered + 1);
}

/// A flood in the name of one network: it gets its rate, and now and then a word to ask over TCP; its neighbours are served.
#[test]
fn a_flood_takes_the_replies_of_its_network_alone() {
    let mut server = server(DnsLimits { replies_per_second: 50, ..DnsLimits::default() });
    let to = server.addresses()[0];
    let asked = bytes(&query("www.example.org.", "A"));
    let start = sojourn_part::now();
    let flood: Vec<UdpSocket> = (1..=8).map(|host| udp(&format!("127.9.1.{host}:0"), to)).collect();
    for socket in flood.iter().cycle().take(4000) {
        socket.send(&asked).expect("sent");
    }
    let all = |server: &Server| {
        let counts = server.counts();
        counts.limited + counts.udp.get("A").copied().unwrap_or(0)
    };
    until("all are judged", || all(&server) == 4000);
    let seconds = (sojourn_part::now() - start).as_secs_f64();
    let counts = server.counts();
    let whole = counts.udp["A"] - counts.slipped;
    assert!(whole >= 50 && whole as f64 <= 50.0 * (1.0 + seconds) + 1.0, "{whole} in {seconds} s: {counts:?}");
    // Of those over the limit every second one: binomial, five standard deviations.
    let over = (counts.limited + counts.slipped) as f64;
    let deviation = (counts.slipped as f64 - over / 2.0).abs();
    assert!(deviation < 2.5 * over.sqrt(), "{counts:?}");
    // The neighbour, and the victim over TCP.
    let reply = read(&exchange(&udp("127.9.2.1:0", to), &asked));
    assert_eq!((reply.answers.len(), reply.metadata.truncation), (2, false));
    let mut stream = tcp(to);
    stream.write_all(&framed(&asked)).expect("sent");
    assert_eq!(read(&next(&mut stream).expect("a reply")).answers.len(), 2);
    server.stop();
}

#[test]
fn what_is_no_query_is_dropped_and_disturbs_none() {
    let mut server = server_on("127.0.0.1:0", 1, open());
    let socket = udp("127.0.0.1:0", server.addresses()[0]);
    let asked = bytes(&query("www.example.org.", "A"));
    let mut reply = asked.clone();
    reply[2] |= 0x80;
    let long_reply = [&reply[..], &[0; 60_000]].concat();
    for _ in 0..100 {
        for packet in [&[][..], &[0], &asked[..11], &reply, &long_reply] {
            socket.send(packet).expect("sent");
        }
    }
    assert_eq!(read(&exchange(&socket, &asked)).answers.len(), 2);
    server.stop();
    let counts = server.counts();
    assert_eq!((counts.malformed, counts.udp["A"], counts.unsent), (500, 1, 0));
}

/// What is too long to be taken in whole is answered by its beginning: ask over TCP. Where that is no query, as any other.
#[test]
fn a_query_of_more_than_4096_bytes_is_to_be_asked_over_tcp() {
    for listen in ["127.0.0.1:0", "0.0.0.0:0"] {
        let mut server = server_on(listen, 1, open());
        let to = SocketAddr::from(([127, 0, 0, 1], server.addresses()[0].port()));
        let socket = udp("127.0.0.1:0", to);
        let mut padded = with_edns("www.example.org.", "A");
        let padding = EdnsOption::Unknown(12, vec![0; 4096]);
        padded.edns.as_mut().expect("it has EDNS").options_mut().insert(padding);
        let padded = bytes(&padded);
        let reply = read(&exchange(&socket, &padded));
        assert!(reply.metadata.truncation && reply.answers.is_empty(), "{reply:?}");
        assert_eq!(reply.queries[0].name().to_string(), "www.example.org.");
        let mut stream = tcp(to);
        stream.write_all(&framed(&padded)).expect("sent");
        assert_eq!(read(&next(&mut stream).expect("a reply")).answers.len(), 2, "over TCP it is answered whole");
        let mut update = padded.clone();
        update[2] |= 5 << 3;
        assert_eq!(read(&exchange(&socket, &update)).metadata.response_code, ResponseCode::NotImp);
        drop(stream);
        server.stop();
        assert_eq!((server.counts().malformed, server.counts().truncated), (0, 1));
    }
}

/// They count against a network's limit as others do.
#[test]
fn long_queries_have_the_same_limit() {
    let mut bench = Bench::new(DnsLimits { replies_per_second: 10, slip: 0, ..DnsLimits::default() });
    bench.now = Time(5_000_000_000);
    let asked = bytes(&query("www.example.org.", "A"));
    let answered = |bench: &mut Bench| matches!(bench.send_cut(&asked), Done::Replied { is_truncated: true, .. });
    assert_eq!((0..100).filter(|_| answered(&mut bench)).count(), 10);
}

/// Who listens on all addresses answers from the one that was asked; a connected socket hears no other.
#[test]
fn replies_come_from_the_address_that_was_asked() {
    let asked = bytes(&query("_why.www.example.org.", "TXT"));
    let server_v4 = server_on("0.0.0.0:0", 2, open());
    let port = server_v4.addresses()[0].port();
    for to in ["127.0.0.1", "127.8.7.6"] {
        let socket = udp("127.5.5.5:0", SocketAddr::new(to.parse().expect("an address"), port));
        assert!(shown(&read(&exchange(&socket, &asked))).contains("for 127.5.5.5"));
    }
    // Of both families; an address of IPv4 is told as such.
    let server_v6 = server_on("[::]:0", 2, open());
    let port = server_v6.addresses()[0].port();
    for (from, to, told) in [("[::1]:0", "::1", "for ::1"), ("127.0.0.1:0", "127.8.7.6", "for 127.0.0.1")] {
        let socket = udp(from, SocketAddr::new(to.parse().expect("an address"), port));
        let reply = shown(&read(&exchange(&socket, &asked)));
        assert!(reply.contains(told), "{reply}");
    }
    let server_v6 = server_on("[::1]:0", 1, open());
    let socket = udp("[::1]:0", server_v6.addresses()[0]);
    assert!(shown(&read(&exchange(&socket, &asked))).contains("for ::1"));
}

/// A packet in the server's own name would go round for ever if it were answered.
#[test]
fn a_packet_from_the_server_itself_is_dropped() {
    let asked = bytes(&query("www.example.org.", "A"));
    // Sockets on one port share what comes; once in 17 times it comes to the one that is not the server's.
    let is_dropped = |_| {
        let server = server_on("127.0.0.1:0", 16, open());
        let to = server.addresses()[0];
        let own = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP)).expect("a socket");
        own.set_reuse_port(true).expect("shared");
        own.bind(&to.into()).expect("bound");
        own.set_read_timeout(Some(Duration::from_millis(100))).expect("a time-out");
        let own: UdpSocket = own.into();
        own.send_to(&asked, to).expect("sent");
        if own.recv(&mut [0; 512]).is_ok() {
            return false;
        }
        until("it is dropped", || server.counts().looped == 1);
        true
    };
    assert!((0..6).any(is_dropped));
}

/// No host listens at port 0: a packet from there has a made-up source, and its reply would be an error of the system.
#[test]
fn a_packet_from_port_0_is_dropped() {
    crate::support::inside("wire::sockets::as_port_0", &[]);
}

#[test]
#[ignore = "runs inside namespaces, for the test above"]
fn as_port_0() {
    assert!(Command::new("ip").args(["link", "set", "lo", "up"]).status().expect("it runs").success());
    let asked = bytes(&query("www.example.org.", "A"));
    for listen in ["127.0.0.1:0", "0.0.0.0:0"] {
        let mut server = server_on(listen, 1, open());
        let to = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), server.addresses()[0].port());
        // Only root may say what port a packet is from.
        let raw = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::UDP)).expect("a raw socket");
        let [port, length] = [to.port(), 8 + asked.len() as u16].map(u16::to_be_bytes);
        let head = [0, 0, port[0], port[1], length[0], length[1], 0, 0];
        for _ in 0..3 {
            raw.send_to(&[&head[..], &asked].concat(), &to.into()).expect("sent");
        }
        assert_eq!(read(&exchange(&udp("127.0.0.1:0", to), &asked)).answers.len(), 2);
        raw.send_to(&[&head[..], &asked].concat(), &to.into()).expect("sent");
        // The last sender is what the thread sees again where the stop wakes it up.
        until("it is dropped", || server.counts().looped == 4);
        server.stop();
        let counts = server.counts();
        assert_eq!((counts.looped, counts.udp["A"], counts.unsent), (4, 1, 0), "{listen}");
    }
}

#[test]
fn a_port_that_is_taken_is_said_to_be() {
    let first = server(open());
    let address = first.addresses()[0];
    let start = |threads| {
        let config = ServerConfig { listen: vec![address], threads, limits: open(), cookie_secret: None };
        Server::start(config, Arc::new(zones()), Arc::new(Sites::default()) as Arc<dyn Chooser>)
    };
    for threads in [1, 2] {
        assert!(matches!(start(threads), Err(ServeError::InUse(of)) if of == address));
    }
    drop(first);
    // Taken for UDP alone, by what would share it.
    let mut other = None;
    // Other tests take ports too, for a moment.
    until("it is free again", || {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP)).expect("a socket");
        socket.set_reuse_port(true).expect("shared");
        let is_bound = socket.bind(&address.into()).is_ok();
        other = Some(socket);
        is_bound
    });
    assert!(matches!(start(2), Err(ServeError::InUse(of)) if of == address));
    drop(other);
    until("it is free again", || start(2).is_ok());
    for (limits, expected) in [
        (DnsLimits { udp_payload: 511, ..open() }, "udp_payload: 511"),
        (DnsLimits { prefix_v4: 33, ..open() }, "prefix_v4: 33"),
        (DnsLimits { prefix_v6: 129, ..open() }, "prefix_v6: 129"),
        (DnsLimits { tcp_connections: 0, ..open() }, "tcp_connections"),
        (DnsLimits { tcp_idle: ms(0), ..open() }, "tcp_idle"),
    ] {
        assert!(limits.check().expect_err(expected).to_string().contains(expected));
    }
}

/// What has come before the stop is answered; then nothing is left.
#[test]
fn it_stops_at_once_and_answers_what_has_come() {
    let asked = bytes(&query("www.example.org.", "A"));
    for _ in 0..20 {
        let mut server = server(open());
        let to = server.addresses()[0];
        let socket = udp("127.0.0.1:0", to);
        let _idle = tcp(to);
        for _ in 0..20 {
            socket.send(&asked).expect("sent");
        }
        let start = sojourn_part::now();
        server.stop();
        assert!(sojourn_part::now() - start < ms(900), "an idle connection is not waited for");
        assert_eq!(server.counts().udp["A"], 20);
        for _ in 0..20 {
            assert!(socket.recv(&mut [0; 512]).is_ok());
        }
    }
    let ip: IpAddr = Ipv4Addr::LOCALHOST.into();
    assert!(UdpSocket::bind(SocketAddr::new(ip, 0)).is_ok());
}
