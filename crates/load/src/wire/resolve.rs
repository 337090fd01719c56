//! A stub resolver of our own: getaddrinfo tells no TTL and blocks.
//!
//! Every user asks for itself, keeps an answer for as long as its TTL says and not longer, and asks again with the next
//! connection that it opens then; a server that is chosen by DNS gets the load that it would get. Literal addresses and
//! `/etc/hosts` come first, and `localhost` needs neither. A and AAAA are asked for at once, IPv4 addresses are tried
//! first (the price: the IPv6 way of a host that has both is loaded only where IPv4 fails), in the order in which the
//! server named them. A query goes out up to four times. Names are taken as absolute: no search list is applied.
//! Queries go by UDP with room for 4096 bytes (EDNS0, RFC 6891); of an answer that is cut all the same, what it holds is
//! used. A negative answer is not kept. Packets are hickory-proto's (RFC 1035).

use std::collections::HashMap;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use hickory_proto::op::{Edns, Message, MessageType, Query, ResponseCode};
use hickory_proto::rr::{Name, RData, RecordType};
use sojourn_stats::{Span, Time};

const ATTEMPTS: u32 = 4;
const PACKET_MAX: usize = 4096;

/// What is known without asking, and the name server to ask; shared by all threads.
#[derive(Debug)]
pub(crate) struct Names {
    hosts: HashMap<String, Vec<IpAddr>>,
    /// The name server to ask.
    pub(crate) server: SocketAddr,
    /// How long to wait for an answer before asking again.
    retry: Span,
}

/// Why a name has no address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unresolved {
    /// It cannot be a name.
    NoName,
    /// There is no such name, or it has no address.
    Unknown(&'static str),
    /// The server could not say; its response code.
    Failed(ResponseCode),
    /// The server does not answer.
    NoAnswer,
}

/// What a packet said.
#[derive(Clone, Debug, Default)]
struct Answer {
    addresses: Vec<IpAddr>,
    /// Seconds; of an answer without addresses 0.
    ttl_s: u32,
    code: ResponseCode,
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
                Some(mut answer) => {
                    addresses.append(&mut answer.addresses);
                    failure = answer.failure();
                }
                None if addresses.is_empty() => return Err(Unresolved::NoAnswer),
                None => {}
            }
        }
        if addresses.is_empty() { Err(failure) } else { Ok(addresses) }
    }

    fn ask_and_wait(&self, socket: &UdpSocket, id: u16, name: &Name, kind: RecordType) -> Option<Answer> {
        socket.set_nonblocking(false).ok()?;
        socket.set_read_timeout(Some(Duration::from_nanos(self.retry.0))).ok()?;
        let mut buffer = [0; PACKET_MAX];
        for _ in 0..ATTEMPTS {
            if socket.send(&packet(id, name, kind)).is_err() {
                continue;
            }
            // What does not fit the question (an answer to an earlier attempt does) is passed over.
            while let Ok(read) = socket.recv(&mut buffer) {
                if let Some((_, answer)) = read_answer(&buffer[..read]).filter(|(to, _)| *to == id) {
                    return Some(answer);
                }
            }
        }
        None
    }

    /// A socket that receives from the server only.
    fn socket(&self) -> io::Result<UdpSocket> {
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

/// One thread's resolver: the caches of its users, and the questions under way.
#[derive(Debug)]
pub(crate) struct Resolver {
    names: Arc<Names>,
    socket: Option<UdpSocket>,
    /// By user and origin.
    cache: HashMap<(u32, u32), Cached>,
    /// By the place of the connection that needs it.
    lookups: HashMap<u32, Lookup>,
    /// Question number to place.
    questions: HashMap<u16, u32>,
    next_id: u16,
}

#[derive(Debug)]
struct Cached {
    addresses: Vec<IpAddr>,
    until: Time,
}

#[derive(Debug)]
struct Lookup {
    key: (u32, u32),
    name: Name,
    /// A and AAAA: their numbers, and what came.
    halves: [(u16, Option<Answer>); 2],
    asked_at: Time,
    attempts: u32,
}

/// What [`Resolver::look_up`] found.
pub(crate) enum Found {
    /// These addresses, without asking.
    Known(Vec<IpAddr>),
    /// The server is being asked.
    Asked,
    /// Nothing to be found.
    Never,
}

/// The place that asked, and what came.
pub(crate) type Resolved = (u32, Result<Vec<IpAddr>, Unresolved>);

impl Resolver {
    pub(crate) fn new(names: Arc<Names>) -> Resolver {
        Resolver {
            names,
            socket: None,
            cache: HashMap::new(),
            lookups: HashMap::new(),
            questions: HashMap::new(),
            next_id: 0,
        }
    }

    /// Finds addresses of `host` for the connection at `place`, which belongs to `user`. A new socket for the answers
    /// is handed to `register`.
    pub(crate) fn look_up(
        &mut self,
        place: u32,
        (user, origin): (u32, u32),
        host: &str,
        now: Time,
        register: impl FnOnce(&UdpSocket) -> bool,
    ) -> Found {
        if let Some(cached) = self.cache.get(&(user, origin))
            && cached.until > now
        {
            return Found::Known(cached.addresses.clone());
        }
        if let Some(known) = self.names.known(host) {
            self.cache.insert((user, origin), Cached { addresses: known.clone(), until: Time::NEVER });
            return Found::Known(known);
        }
        let Ok(name) = name_of(host) else { return Found::Never };
        if self.socket.is_none() {
            let Ok(socket) = self.names.socket() else { return Found::Never };
            if !register(&socket) {
                return Found::Never;
            }
            self.socket = Some(socket);
        }
        self.forget(place);
        let (Some(a), Some(aaaa)) = (self.number(place), self.number(place)) else { return Found::Never };
        let halves = [(a, None), (aaaa, None)];
        let lookup = Lookup { key: (user, origin), name, halves, asked_at: now, attempts: 1 };
        self.ask(&lookup);
        self.lookups.insert(place, lookup);
        Found::Asked
    }

    /// `place` waits no more.
    pub(crate) fn forget(&mut self, place: u32) {
        if let Some(lookup) = self.lookups.remove(&place) {
            for (id, _) in lookup.halves {
                self.questions.remove(&id);
            }
        }
    }

    /// The first of the cached addresses of `user` did not answer: the next goes first from now on.
    pub(crate) fn demote(&mut self, user: u32, origin: u32, address: IpAddr) {
        if let Some(cached) = self.cache.get_mut(&(user, origin))
            && cached.addresses.first() == Some(&address)
        {
            cached.addresses.rotate_left(1);
        }
    }

    /// Takes in the answers that are there; a name that has both of its own is put into `resolved`.
    pub(crate) fn receive(&mut self, now: Time, resolved: &mut Vec<Resolved>) {
        let mut buffer = [0; PACKET_MAX];
        loop {
            let Some(socket) = &self.socket else { return };
            let read = match socket.recv(&mut buffer) {
                Ok(read) => read,
                // An ICMP message that no server listens there: said once per query, and asked again all the same.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => continue,
                Err(_) => return,
            };
            let Some((id, answer)) = read_answer(&buffer[..read]) else { continue };
            let Some(&place) = self.questions.get(&id) else { continue };
            let lookup = self.lookups.get_mut(&place).expect("a question has its lookup");
            for half in &mut lookup.halves {
                if half.0 == id {
                    half.1.get_or_insert(answer.clone());
                }
            }
            if lookup.halves.iter().all(|(_, answer)| answer.is_some()) {
                resolved.push((place, self.settle(place, now)));
            }
        }
    }

    /// Asks again where an answer is overdue, and gives up where it was asked for often enough.
    pub(crate) fn sweep(&mut self, now: Time, resolved: &mut Vec<Resolved>) {
        let mut over = Vec::new();
        let mut again = Vec::new();
        for (&place, lookup) in &mut self.lookups {
            if now.saturating_since(lookup.asked_at) < self.names.retry {
                continue;
            }
            if lookup.attempts == ATTEMPTS {
                over.push(place);
            } else {
                lookup.attempts += 1;
                lookup.asked_at = now;
                again.push(place);
            }
        }
        for place in again {
            self.ask(&self.lookups[&place]);
        }
        over.sort_unstable();
        for place in over {
            resolved.push((place, self.settle(place, now)));
        }
    }

    /// What the answers of `place` come to, kept for as long as they say.
    fn settle(&mut self, place: u32, now: Time) -> Result<Vec<IpAddr>, Unresolved> {
        let lookup = self.lookups.get(&place).expect("only a lookup is settled");
        let answers: Vec<Answer> = lookup.halves.iter().filter_map(|(_, answer)| answer.clone()).collect();
        let key = lookup.key;
        self.forget(place);
        let good: Vec<&Answer> = answers.iter().filter(|answer| !answer.addresses.is_empty()).collect();
        let Some(ttl_s) = good.iter().map(|answer| answer.ttl_s).min() else {
            return Err(answers.first().map_or(Unresolved::NoAnswer, Answer::failure));
        };
        let addresses: Vec<IpAddr> = good.iter().flat_map(|answer| answer.addresses.clone()).collect();
        let until = now + Span(u64::from(ttl_s) * 1_000_000_000);
        self.cache.insert(key, Cached { addresses: addresses.clone(), until });
        Ok(addresses)
    }

    /// Sends what is not answered yet. What cannot be sent now is sent again when it is overdue.
    fn ask(&self, lookup: &Lookup) {
        let Some(socket) = &self.socket else { return };
        for ((id, answer), kind) in lookup.halves.iter().zip([RecordType::A, RecordType::AAAA]) {
            if answer.is_none() {
                let _ = socket.send(&packet(*id, &lookup.name, kind));
            }
        }
    }

    /// A free question number; none when all are taken.
    fn number(&mut self, place: u32) -> Option<u16> {
        for _ in 0..=u16::MAX {
            self.next_id = self.next_id.wrapping_add(1);
            if !self.questions.contains_key(&self.next_id) {
                self.questions.insert(self.next_id, place);
                return Some(self.next_id);
            }
        }
        None
    }
}

impl Answer {
    fn failure(&self) -> Unresolved {
        match self.code {
            ResponseCode::NoError => Unresolved::Unknown("the name is known but has no address"),
            ResponseCode::NXDomain => Unresolved::Unknown("there is no such name"),
            code => Unresolved::Failed(code),
        }
    }
}

impl std::fmt::Display for Unresolved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unresolved::NoName => f.write_str("it cannot be a host's name"),
            Unresolved::Unknown(why) => f.write_str(why),
            Unresolved::Failed(code) => write!(f, "the name server says `{code}`"),
            Unresolved::NoAnswer => f.write_str("the name server does not answer"),
        }
    }
}

fn name_of(host: &str) -> Result<Name, Unresolved> {
    let mut name = Name::from_ascii(host).map_err(|_| Unresolved::NoName)?;
    name.set_fqdn(true);
    Ok(name)
}

fn packet(id: u16, name: &Name, kind: RecordType) -> Vec<u8> {
    let mut message = Message::query();
    message.metadata.id = id;
    message.metadata.recursion_desired = true;
    message.add_query(Query::query(name.clone(), kind));
    let mut edns = Edns::new();
    edns.set_max_payload(PACKET_MAX as u16);
    message.set_edns(edns);
    message.to_vec().expect("a question with a valid name is a packet")
}

/// The number and the content of an answer; nothing where it is none. A name may lead to another one (CNAME), so the
/// addresses are all that the answer holds, for as long as its shortest TTL says.
fn read_answer(packet: &[u8]) -> Option<(u16, Answer)> {
    let message = Message::from_vec(packet).ok()?;
    if message.metadata.message_type != MessageType::Response {
        return None;
    }
    let mut answer = Answer { code: message.metadata.response_code, ..Answer::default() };
    let mut ttl_s = u32::MAX;
    for record in &message.answers {
        match &record.data {
            RData::A(a) => answer.addresses.push(IpAddr::V4(a.0)),
            RData::AAAA(aaaa) => answer.addresses.push(IpAddr::V6(aaaa.0)),
            RData::CNAME(_) => {}
            _ => continue,
        }
        ttl_s = ttl_s.min(record.ttl);
    }
    answer.ttl_s = if answer.addresses.is_empty() { 0 } else { ttl_s };
    Some((message.metadata.id, answer))
}
