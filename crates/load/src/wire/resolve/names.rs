//! What is known of names without asking, and the name server to ask.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use hickory_proto::rr::{Name, RecordType};
use sojourn_stats::Span;

use super::message::{Answer, PACKET_MAX, name_of, packet, read_answer};
use super::{ATTEMPTS, Unresolved, stream};

/// What is known without asking, and the name server to ask; shared by all threads.
#[derive(Debug)]
pub(crate) struct Names {
    hosts: HashMap<String, Vec<IpAddr>>,
    /// The name server to ask.
    pub(crate) server: SocketAddr,
    /// How long to wait for an answer before asking again.
    pub(super) retry: Span,
}

impl Names {
    /// The name server of `resolver` or `/etc/resolv.conf` is asked; one on this host where neither names any.
    pub(crate) fn new(resolver: Option<SocketAddr>, timeout: Span) -> Names {
        let configured = || {
            let text = fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
            let words = text.lines().filter_map(|line| line.trim().strip_prefix("nameserver"));
            words.filter_map(|word| word.trim().parse::<IpAddr>().ok()).next().map(|ip| SocketAddr::new(ip, 53))
        };
        let local = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 53);
        let mut hosts: HashMap<String, Vec<IpAddr>> = HashMap::new();
        for line in fs::read_to_string("/etc/hosts").unwrap_or_default().lines() {
            let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
            let Some(address) = words.next().and_then(|word| word.parse().ok()) else { continue };
            for name in words {
                hosts.entry(name.to_ascii_lowercase()).or_default().push(address);
            }
        }
        let localhost = vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        hosts.entry("localhost".to_owned()).or_insert(localhost);
        Names {
            hosts,
            server: resolver.or_else(configured).unwrap_or(local),
            retry: Span((timeout.0 / 8).clamp(20_000_000, 1_000_000_000)),
        }
    }

    /// The addresses of `host`, where they are known without asking.
    pub(crate) fn known(&self, host: &str) -> Option<Vec<IpAddr>> {
        match host.parse() {
            Ok(literal) => Some(vec![literal]),
            Err(_) => self.hosts.get(&host.to_ascii_lowercase()).cloned(),
        }
    }

    /// The addresses of `host`, waited for; for before the start.
    pub(crate) fn wait_for(&self, host: &str) -> Result<Vec<IpAddr>, Unresolved> {
        if let Some(known) = self.known(host) {
            return Ok(known);
        }
        let name = name_of(host)?;
        let socket = self.socket().map_err(|_| Unresolved::NoAnswer)?;
        let mut addresses = Vec::new();
        let mut failure = Unresolved::NoAnswer;
        for (id, kind) in [(1, RecordType::A), (2, RecordType::AAAA)] {
            match self.ask_and_wait(&socket, id, &name, kind) {
                Ok(mut answer) => {
                    addresses.append(&mut answer.addresses);
                    failure = answer.failure();
                }
                Err(why) if addresses.is_empty() => return Err(why),
                Err(_) => {}
            }
        }
        if addresses.is_empty() { Err(failure) } else { Ok(addresses) }
    }

    fn ask_and_wait(&self, socket: &UdpSocket, id: u16, name: &Name, kind: RecordType) -> Result<Answer, Unresolved> {
        let no_answer = |_| Unresolved::NoAnswer;
        socket.set_nonblocking(false).map_err(no_answer)?;
        socket.set_read_timeout(Some(Duration::from_nanos(self.retry.0))).map_err(no_answer)?;
        let (question, timeout) = (packet(id, name, kind), Duration::from_nanos(self.retry.0));
        let mut buffer = [0; PACKET_MAX];
        let mut failure = Unresolved::NoAnswer;
        for _ in 0..ATTEMPTS {
            if socket.send(&question).is_err() {
                continue;
            }
            // What does not fit the question (an answer to an earlier attempt does) is passed over.
            while let Ok(read) = socket.recv(&mut buffer) {
                let Some((_, answer)) = read_answer(&buffer[..read]).filter(|(to, _)| *to == id) else { continue };
                if !answer.is_cut {
                    return Ok(answer);
                }
                failure = Unresolved::Cut;
                let whole = stream::ask_and_wait(self.server, &question, timeout).ok();
                let whole = whole.as_deref().and_then(read_answer).filter(|(to, answer)| *to == id && !answer.is_cut);
                match whole {
                    Some((_, answer)) => return Ok(answer),
                    None => break,
                }
            }
        }
        Err(failure)
    }

    /// A socket that receives from the server only.
    pub(super) fn socket(&self) -> io::Result<UdpSocket> {
        let any = match self.server {
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let socket = UdpSocket::bind(SocketAddr::new(any, 0))?;
        socket.connect(self.server)?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    }
}
