//! Three echoes: the round trip to a host by ICMP, or where that is not answered by TCP.
//!
//! They are sent a second apart, as the simulator sends them; the last one is waited for as long. By ICMP a host is asked to
//! send back what it gets: through a socket that any user may have (`net.ipv4.ping_group_range`), or else a raw one, for which
//! a switch has the rights. Many hosts are behind what drops ICMP, so one that answers none is tried by TCP: a SYN that is
//! accepted or refused is an answer. The price: times are those of this program, which is woken some 0.1 ms late, and where all
//! three were lost by chance three more are sent.

use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr};

use ring::rand::{SecureRandom, SystemRandom};
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use sojourn_dispatch::reports::{ECHOES, ECHOES_APART};
use sojourn_part::clock;
use sojourn_stats::{Span, Time};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::TcpStream;

use crate::Outcome;

/// What was measured.
pub(super) struct Measured {
    /// How the host was asked.
    pub(super) outcome: Outcome,
    /// The mean round trip of what came back, and how many did.
    pub(super) mean: Span,
    pub(super) answers: u32,
    /// Bytes of the packets there and back, with their heads.
    pub(super) bytes: u64,
}

/// Measures the round trip to a host.
pub(super) async fn measure(host: IpAddr, port: u16) -> Measured {
    let by_icmp = match Pings::open(host) {
        Ok(pings) => pings.send().await,
        Err(_) => Vec::new(),
    };
    let head = if host.is_ipv4() { 20 } else { 40 };
    let pinged = (u64::from(ECHOES) + by_icmp.len() as u64) * (head + (HEAD + MARK) as u64);
    let (outcome, round_trips, connected) = match by_icmp.is_empty() {
        true => {
            let (round_trips, packets) = connect(SocketAddr::new(host, port)).await;
            (Outcome::Tcp, round_trips, packets * (head + TCP_HEAD))
        }
        false => (Outcome::Icmp, by_icmp, 0),
    };
    let answers = round_trips.len() as u64;
    let sum: u64 = round_trips.iter().map(|round_trip| round_trip.0).sum();
    let mean = Span(sum.checked_div(answers).unwrap_or(0));
    Measured { outcome, mean, answers: answers as u32, bytes: pinged + connected }
}

/// The round trips of connections that were accepted or refused, and the packets that they took.
async fn connect(address: SocketAddr) -> (Vec<Span>, u64) {
    let (mut round_trips, mut packets) = (Vec::new(), 0);
    for number in 1..=ECHOES {
        let sent = clock::now();
        match tokio::time::timeout(ECHOES_APART.as_std(), TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                round_trips.push(clock::now() - sent);
                // It ends at once, and leaves nothing behind.
                let _ = SockRef::from(&stream).set_linger(Some(Span::ZERO.as_std()));
                // Both SYNs, the answer to the second, and the RST.
                packets += 4;
            }
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
                round_trips.push(clock::now() - sent);
                packets += 2;
            }
            Ok(Err(_)) | Err(_) => packets += 1,
        }
        if number < ECHOES {
            sleep_until(sent + ECHOES_APART).await;
        }
    }
    (round_trips, packets)
}

/// Echo requests to a host.
struct Pings {
    socket: AsyncFd<Socket>,
    is_ipv4: bool,
    is_raw: bool,
    /// By which their answers are known; it cannot be guessed.
    mark: [u8; MARK],
}

const MARK: usize = 16;

/// Bytes of the head of an ICMP message, and of TCP's with the options of a SYN.
const HEAD: usize = 8;
const TCP_HEAD: u64 = 40;

impl Pings {
    fn open(host: IpAddr) -> io::Result<Pings> {
        let is_ipv4 = host.is_ipv4();
        let (domain, protocol) =
            if is_ipv4 { (Domain::IPV4, Protocol::ICMPV4) } else { (Domain::IPV6, Protocol::ICMPV6) };
        let open = |kind| Socket::new(domain, kind, Some(protocol));
        let (socket, is_raw) = match open(Type::DGRAM) {
            Ok(socket) => (socket, false),
            Err(_) => (open(Type::RAW)?, true),
        };
        socket.set_nonblocking(true)?;
        socket.connect(&SocketAddr::new(host, 0).into())?;
        let mut mark = [0; MARK];
        SystemRandom::new().fill(&mut mark).map_err(|_| io::Error::other("the system has no random numbers"))?;
        #[expect(deprecated, reason = "its successor is unsafe; this descriptor is owned by what is registered")]
        let socket = AsyncFd::with_interest(socket, Interest::READABLE)?;
        Ok(Pings { socket, is_ipv4, is_raw, mark })
    }

    /// The round trips of those that come back.
    async fn send(self) -> Vec<Span> {
        let mut sent = Vec::new();
        let mut came = [None; ECHOES as usize];
        for number in 0..ECHOES as u16 {
            let now = clock::now();
            sent.push(now);
            // What cannot be sent does not come back.
            let _ = self.socket.get_ref().send(&self.request(number));
            let until = now + ECHOES_APART;
            while number + 1 < ECHOES as u16 || came.contains(&None) {
                tokio::select! {
                    () = sleep_until(until) => break,
                    number = self.answer() => {
                        if let Some((place, sent)) = number.and_then(|place| Some((place, *sent.get(place)?))) {
                            came[place].get_or_insert(clock::now() - sent);
                        }
                    }
                }
            }
        }
        came.into_iter().flatten().collect()
    }

    fn request(&self, number: u16) -> Vec<u8> {
        const REQUEST: [u8; 2] = [8, 128];
        let mut message = vec![REQUEST[usize::from(!self.is_ipv4)], 0, 0, 0];
        // A socket of any user gets a number of its own here.
        message.extend(&self.mark[..2]);
        message.extend(number.to_be_bytes());
        message.extend(self.mark);
        // Of ICMPv6 the kernel makes the sum.
        if self.is_ipv4 {
            let sum = checksum(&message);
            message[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        message
    }

    /// The number of the next answer; none for what is none, as a host that cannot be reached.
    async fn answer(&self) -> Option<usize> {
        const REPLY: [u8; 2] = [0, 129];
        let mut packet = [0; 256];
        let read = self.socket.async_io(Interest::READABLE, |mut socket| socket.read(&mut packet)).await;
        let packet = &packet[..read.ok()?];
        // Only a raw socket of IPv4 gets the head of the packet too.
        let head = if self.is_raw && self.is_ipv4 { usize::from(packet.first()? & 0xf) * 4 } else { 0 };
        let message = packet.get(head..)?;
        let is_ours = message.first()? == &REPLY[usize::from(!self.is_ipv4)] && message.get(HEAD..)? == self.mark;
        is_ours.then(|| usize::from(u16::from_be_bytes([message[6], message[7]])))
    }
}

/// The Internet checksum (RFC 1071) of a message of whole words.
fn checksum(message: &[u8]) -> u16 {
    let sum: u32 = message.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1])).sum();
    !((sum & 0xffff) + (sum >> 16)) as u16
}

async fn sleep_until(at: Time) {
    tokio::time::sleep(at.saturating_since(clock::now()).as_std()).await;
}
