//! A stub resolver of our own: getaddrinfo tells no TTL and blocks.
//!
//! Every user asks for itself, keeps an answer for as long as its TTL says and not longer (or as long as [`Resolves`] says), and
//! asks again with the next connection that it opens then; a server that is chosen by DNS gets the load that it would get.
//! Literal addresses and `/etc/hosts` come first, and `localhost` needs neither. A and AAAA are asked for at once, IPv4
//! addresses are tried first (the price: the IPv6 way of a host that has both is loaded only where IPv4 fails), in the
//! order in which the server named them; one that took a connection goes first from then on. A query goes out up to four
//! times. Names are taken as absolute: no search list is applied. Queries go by UDP with room for 4096 bytes (EDNS0, RFC
//! 6891); for an answer that is cut all the same, the server is asked again over TCP (RFC 7766), and what was cut is not used. A
//! negative answer is not kept. Packets are hickory-proto's (RFC 1035).

mod message;
mod names;
mod stream;

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, TcpStream, UdpSocket};
use std::sync::Arc;

use hickory_proto::op::ResponseCode;
use hickory_proto::rr::{Name, RecordType};
use sojourn_stats::{Span, Time};

use self::message::{Answer, PACKET_MAX, name_of, packet, read_answer};
pub(crate) use self::names::Names;
use self::stream::Stream;
use crate::setting::Resolves;

const ATTEMPTS: u32 = 4;

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
    /// Its answer is cut, and over TCP it gives none.
    Cut,
}

/// One thread's resolver: the caches of its users, and the questions under way.
#[derive(Debug)]
pub(crate) struct Resolver {
    names: Arc<Names>,
    resolves: Resolves,
    socket: Option<UdpSocket>,
    cache: HashMap<Whose, Cached>,
    /// Questions under way: of a user one for each origin, however many of its connections wait for the answer.
    lookups: HashMap<Whose, Lookup>,
    /// What the connection at each place waits for.
    waits: HashMap<u32, Whose>,
    /// By the numbers of the packets.
    questions: HashMap<u16, Whose>,
    /// The same of those that are asked over TCP.
    streams: HashMap<u16, Stream>,
    next_id: u16,
}

/// A user and an origin.
type Whose = (u32, u32);

#[derive(Debug)]
struct Cached {
    addresses: Vec<IpAddr>,
    until: Time,
}

#[derive(Debug)]
struct Lookup {
    /// Those that wait for it, by the places of their connections.
    places: Vec<u32>,
    name: Name,
    /// A and AAAA: their numbers, and what came.
    halves: [(u16, Option<Answer>); 2],
    asked_at: Time,
    attempts: u32,
    /// An answer was cut.
    is_cut: bool,
}

/// What [`Resolver::look_up`] found.
pub(crate) enum Found {
    /// These addresses, without asking.
    Known(Vec<IpAddr>),
    /// The server is being asked from now on.
    Asked,
    /// The server is being asked already.
    Awaited,
    /// Nothing to be found.
    Never,
}

/// The place that asked, and what came.
pub(crate) type Resolved = (u32, Result<Vec<IpAddr>, Unresolved>);

impl Resolver {
    pub(crate) fn new(names: Arc<Names>, resolves: Resolves) -> Resolver {
        Resolver {
            names,
            resolves,
            socket: None,
            cache: HashMap::new(),
            lookups: HashMap::new(),
            waits: HashMap::new(),
            questions: HashMap::new(),
            streams: HashMap::new(),
            next_id: 0,
        }
    }

    /// Finds addresses of `host`, an origin of a user, for the connection at `place`. A new socket for the answers
    /// is handed to `register`.
    pub(crate) fn look_up(
        &mut self,
        place: u32,
        whose: Whose,
        host: &str,
        now: Time,
        register: impl FnOnce(&UdpSocket) -> bool,
    ) -> Found {
        if let Some(cached) = self.cache.get(&whose)
            && cached.until > now
        {
            return Found::Known(cached.addresses.clone());
        }
        if let Some(known) = self.names.known(host) {
            self.cache.insert(whose, Cached { addresses: known.clone(), until: Time::NEVER });
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
        self.waits.insert(place, whose);
        if let Some(lookup) = self.lookups.get_mut(&whose) {
            lookup.places.push(place);
            return Found::Awaited;
        }
        let (Some(a), Some(aaaa)) = (self.number(whose), self.number(whose)) else { return Found::Never };
        let halves = [(a, None), (aaaa, None)];
        let lookup = Lookup { places: vec![place], name, halves, asked_at: now, attempts: 1, is_cut: false };
        self.ask(&lookup);
        self.lookups.insert(whose, lookup);
        Found::Asked
    }

    /// `place` waits no more. What nothing waits for is asked no more.
    pub(crate) fn forget(&mut self, place: u32) {
        let Some(whose) = self.waits.remove(&place) else { return };
        let Some(lookup) = self.lookups.get_mut(&whose) else { return };
        lookup.places.retain(|other| *other != place);
        if lookup.places.is_empty() {
            self.end(whose);
        }
    }

    /// Ends a question, with whatever has come of it.
    fn end(&mut self, whose: Whose) -> Lookup {
        let lookup = self.lookups.remove(&whose).expect("only a question under way ends");
        for (id, _) in &lookup.halves {
            self.questions.remove(id);
            self.streams.remove(id);
        }
        for place in &lookup.places {
            self.waits.remove(place);
        }
        lookup
    }

    /// `address` took the connection of `user`: it goes first until the answer ends, and those that were tried before it go last.
    pub(crate) fn prefer(&mut self, user: u32, origin: u32, address: IpAddr) {
        let Some(cached) = self.cache.get_mut(&(user, origin)) else { return };
        if let Some(at) = cached.addresses.iter().position(|known| *known == address) {
            cached.addresses.rotate_left(at);
        }
    }

    /// Takes in the answers that are there; a name that has both of its own is put into `resolved`. A new stream for an
    /// answer that was cut is handed to `register`.
    pub(crate) fn receive(&mut self, now: Time, register: impl Fn(&TcpStream) -> bool, resolved: &mut Vec<Resolved>) {
        let mut buffer = [0; PACKET_MAX];
        loop {
            let Some(socket) = &self.socket else { return };
            let read = match socket.recv(&mut buffer) {
                Ok(read) => read,
                // An ICMP message that no server listens there: said once per query, and asked again all the same.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => continue,
                Err(_) => break,
            };
            match read_answer(&buffer[..read]) {
                Some((id, answer)) if answer.is_cut => self.ask_over_tcp(id, &register),
                Some((id, answer)) => self.take(id, answer, now, resolved),
                None => {}
            }
        }
        let mut over: Vec<(u16, Option<Vec<u8>>)> = Vec::new();
        for (id, stream) in &mut self.streams {
            match stream.go_on() {
                Ok(None) => {}
                Ok(Some(message)) => over.push((*id, Some(message))),
                // It is asked again when it is overdue.
                Err(_) => over.push((*id, None)),
            }
        }
        over.sort_unstable();
        for (id, message) in over {
            self.streams.remove(&id);
            let answer = message.as_deref().and_then(read_answer);
            if let Some((_, answer)) = answer.filter(|(to, answer)| *to == id && !answer.is_cut) {
                self.take(id, answer, now, resolved);
            }
        }
    }

    /// Asks the question of a cut answer over TCP, unless that is done already.
    fn ask_over_tcp(&mut self, id: u16, register: &impl Fn(&TcpStream) -> bool) {
        let Some(lookup) = self.questions.get(&id).and_then(|whose| self.lookups.get_mut(whose)) else { return };
        lookup.is_cut = true;
        let kind = if lookup.halves[0].0 == id { RecordType::A } else { RecordType::AAAA };
        if !self.streams.contains_key(&id)
            && let Ok(stream) = Stream::open(self.names.server, &packet(id, &lookup.name, kind))
            && register(stream.socket())
        {
            self.streams.insert(id, stream);
        }
    }

    /// Takes in an answer.
    fn take(&mut self, id: u16, answer: Answer, now: Time, resolved: &mut Vec<Resolved>) {
        let Some(&whose) = self.questions.get(&id) else { return };
        let lookup = self.lookups.get_mut(&whose).expect("a question has its lookup");
        for half in &mut lookup.halves {
            if half.0 == id {
                half.1.get_or_insert(answer.clone());
            }
        }
        if lookup.halves.iter().all(|(_, answer)| answer.is_some()) {
            self.settle(whose, now, resolved);
        }
    }

    /// Asks again where an answer is overdue, and gives up where it was asked for often enough.
    pub(crate) fn sweep(&mut self, now: Time, resolved: &mut Vec<Resolved>) {
        let mut over = Vec::new();
        let mut again = Vec::new();
        for (&whose, lookup) in &mut self.lookups {
            if now.saturating_since(lookup.asked_at) < self.names.retry {
                continue;
            }
            if lookup.attempts == ATTEMPTS {
                over.push(whose);
            } else {
                lookup.attempts += 1;
                lookup.asked_at = now;
                again.push(whose);
            }
        }
        for whose in again {
            for (id, _) in &self.lookups[&whose].halves {
                self.streams.remove(id);
            }
            self.ask(&self.lookups[&whose]);
        }
        over.sort_unstable();
        for whose in over {
            self.settle(whose, now, resolved);
        }
    }

    /// What the answers to a question come to, kept for as long as they say, goes to all that wait for it.
    fn settle(&mut self, whose: Whose, now: Time, resolved: &mut Vec<Resolved>) {
        let Lookup { places, halves, is_cut, .. } = self.end(whose);
        let none = if is_cut { Unresolved::Cut } else { Unresolved::NoAnswer };
        let answers: Vec<Answer> = halves.into_iter().filter_map(|(_, answer)| answer).collect();
        let good: Vec<&Answer> = answers.iter().filter(|answer| !answer.addresses.is_empty()).collect();
        let found = match good.iter().map(|answer| answer.ttl_s).min() {
            // Of a name with no address in one answer, the other one may have all of them.
            None if is_cut && answers.len() < 2 => Err(none),
            None => Err(answers.first().map_or(none, Answer::failure)),
            Some(ttl_s) => {
                let addresses: Vec<IpAddr> = good.iter().flat_map(|answer| answer.addresses.clone()).collect();
                let kept = match self.resolves {
                    Resolves::Ttl => Span(u64::from(ttl_s) * 1_000_000_000),
                    Resolves::Every(span) => span,
                    Resolves::EachConnection => Span::ZERO,
                };
                self.cache.insert(whose, Cached { addresses: addresses.clone(), until: now + kept });
                Ok(addresses)
            }
        };
        resolved.extend(places.into_iter().map(|place| (place, found.clone())));
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
    fn number(&mut self, whose: Whose) -> Option<u16> {
        for _ in 0..=u16::MAX {
            self.next_id = self.next_id.wrapping_add(1);
            if !self.questions.contains_key(&self.next_id) {
                self.questions.insert(self.next_id, whose);
                return Some(self.next_id);
            }
        }
        None
    }
}

impl std::fmt::Display for Unresolved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unresolved::NoName => f.write_str("it cannot be a host's name"),
            Unresolved::Unknown(why) => f.write_str(why),
            Unresolved::Failed(code) => write!(f, "the name server says `{code}`"),
            Unresolved::NoAnswer => f.write_str("the name server does not answer"),
            Unresolved::Cut => f.write_str("the name server's answer is cut, and over TCP it gives none"),
        }
    }
}
