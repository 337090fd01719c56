//! From a place to an open connection: the name, the addresses in turn, TCP, TLS.
//!
//! Of several addresses the first that takes the connection has it, as with browsers (RFC 8305): the next one is tried when one
//! fails, and beside one that has not answered for a while. The price: a server that is slow to answer has connections
//! opened to it that nothing is asked on.

use std::io;
use std::net::SocketAddr;

use nix::sys::epoll::{EpollEvent, EpollFlags};
use sojourn_stats::{Span, Time};

use super::{DECIDED, RESOLVER, Why, Worker};
use crate::outcome::Outcome;
use crate::request::url::Scheme;
use crate::schedule::Source;
use crate::wire::connection::{Connection, Phase, connect, outcome_of};
use crate::wire::exchange::{Attempt, Opening};
use crate::wire::resolve::{Found, Unresolved};
use crate::wire::tls::Session;

/// What is heard of a connection's socket.
const WATCHED: EpollFlags =
    EpollFlags::EPOLLIN.union(EpollFlags::EPOLLOUT).union(EpollFlags::EPOLLRDHUP).union(EpollFlags::EPOLLET);

impl Worker<'_> {
    /// Begins to open connections for what a plan has due first, of which each request finds one free.
    pub(super) fn open_ahead(&mut self) {
        if self.streams.is_some() || !self.setting.persistent || self.setting.open_ahead == Span::ZERO {
            return;
        }
        for job in self.source.due_by(Time(self.setting.open_ahead.0)) {
            let job = self.dealt(job);
            if self.connections.len() == self.connections_max {
                return;
            }
            let place = self.connections.len() as u32;
            self.connections.push(Connection { origin: job.endpoint, ..Connection::default() });
            self.open(place);
        }
    }

    /// Begins to open the connection of `place` to its origin.
    pub(super) fn open(&mut self, place: u32) {
        let now = self.setting.clock.now();
        let user = self.user_of(place);
        let connection = &mut self.connections[place as usize];
        self.recorder.connections.opened += 1;
        connection.phase = Phase::Resolving;
        connection.used = false;
        connection.unsent.clear();
        connection.generation = connection.generation.wrapping_add(1);
        let mut addresses = std::mem::take(&mut connection.opening.addresses);
        addresses.clear();
        connection.opening = Opening { addresses, since: now, ..Opening::default() };
        let number = connection.origin;
        let origin = self.setting.reached(&self.origins[number as usize]);
        if let Some(address) = origin.address {
            connection.opening.addresses.push(address.ip());
            return self.connect_next(place);
        }
        let epoll = &self.epoll;
        let listen = |socket: &std::net::UdpSocket| {
            epoll.add(socket, EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, RESOLVER)).is_ok()
        };
        match self.resolver.look_up(place, (user, number), &origin.host, now, listen) {
            Found::Known(addresses) => {
                connection.opening.addresses = addresses;
                self.connect_next(place);
            }
            Found::Asked => self.recorder.connections.resolutions += 1,
            Found::Awaited => {}
            Found::Never => self.opening_failed(place, Outcome::NotResolved),
        }
    }

    /// Takes in what the name server says.
    pub(super) fn receive_answers(&mut self) {
        let now = self.setting.clock.now();
        let mut resolved = Vec::new();
        let epoll = &self.epoll;
        let listen = |stream: &std::net::TcpStream| epoll.add(stream, EpollEvent::new(WATCHED, RESOLVER)).is_ok();
        self.resolver.receive(now, listen, &mut resolved);
        for (place, answer) in resolved {
            self.resolved(place, answer, now);
        }
    }

    /// Asks the name server again where it owes an answer.
    pub(super) fn sweep_resolver(&mut self, now: Time) {
        let mut resolved = Vec::new();
        self.resolver.sweep(now, &mut resolved);
        for (place, answer) in resolved {
            self.resolved(place, answer, now);
        }
    }

    fn resolved(&mut self, place: u32, answer: Result<Vec<std::net::IpAddr>, Unresolved>, now: Time) {
        let connection = &mut self.connections[place as usize];
        if connection.phase != Phase::Resolving {
            return;
        }
        match answer {
            Ok(addresses) => {
                connection.opening.addresses = addresses;
                connection.opening.resolved = Some(now);
                self.connect_next(place);
            }
            Err(_) => self.opening_failed(place, Outcome::NotResolved),
        }
    }

    /// Tries the next address of `place`.
    fn connect_next(&mut self, place: u32) {
        let number = self.number_of(place);
        loop {
            let connection = &mut self.connections[place as usize];
            let origin = self.setting.reached(&self.origins[connection.origin as usize]);
            let port = origin.address.map_or(origin.port, |address| address.port());
            connection.opening.at = connection.opening.tried;
            let ip = connection.opening.addresses[connection.opening.at];
            connection.opening.tried += 1;
            connection.opening.since = self.setting.clock.now();
            connection.phase = Phase::Connecting;
            // A late event of the address before is ignored.
            connection.generation = connection.generation.wrapping_add(1);
            if !self.setting.allowed.allows(ip) {
                let redirected = connection.special.as_ref().is_some_and(|special| special.hops > 0);
                let outcome = if redirected { Outcome::Redirects } else { Outcome::NotResolved };
                return self.opening_failed(place, outcome);
            }
            let client = match (&self.source, &connection.exchange) {
                (Source::Plan(_), _) | (_, None) => number,
                _ if self.setting.saturated => number,
                (_, Some(exchange)) => u64::from(exchange.job.request.client),
            };
            let own = self.setting.local.iter().filter(|local| local.is_ipv4() == ip.is_ipv4());
            let local = match own.clone().count() as u64 {
                0 => None,
                count => own.clone().nth((client % count) as usize).copied(),
            };
            let token = token(place, connection.generation);
            let opened = connect(SocketAddr::new(ip, port), local)
                .and_then(|stream| Ok(self.epoll.add(&stream, EpollEvent::new(WATCHED, token)).map(|()| stream)?));
            match opened {
                Ok(stream) => {
                    connection.stream = Some(stream);
                    return;
                }
                Err(error) if !self.goes_on(place, &error) => return,
                Err(_) => {}
            }
        }
    }

    /// Whether there is an address to try after one that failed; if not, the opening fails, unless an earlier attempt may
    /// still succeed.
    fn goes_on(&mut self, place: u32, error: &io::Error) -> bool {
        let opening = &self.connections[place as usize].opening;
        let has_more = opening.tried < opening.addresses.len();
        if has_more {
            self.recorder.connections.retried_addresses += 1;
        } else if opening.earlier.is_empty() {
            self.opening_failed(place, outcome_of(error));
        }
        has_more
    }

    /// The address tried last does not take the connection of `place`.
    pub(super) fn not_connected(&mut self, place: u32, error: &io::Error) {
        self.connections[place as usize].stream = None;
        if self.goes_on(place, error) {
            self.connect_next(place);
        }
    }

    /// Something is said of a socket that is not the connection's own: maybe an attempt at an earlier address is decided.
    pub(super) fn earlier_attempt(&mut self, place: u32, generation: u32, flags: EpollFlags) {
        let connection = &mut self.connections[place as usize];
        let earlier = &mut connection.opening.earlier;
        let found = earlier.iter().position(|attempt| attempt.generation == generation);
        let Some(found) = found.filter(|_| connection.phase == Phase::Connecting && flags.intersects(DECIDED)) else {
            return;
        };
        let Attempt { stream, at, .. } = earlier.swap_remove(found);
        match stream.take_error() {
            Ok(None) => {
                // From now on its events are the connection's.
                connection.generation = connection.generation.wrapping_add(1);
                let token = token(place, connection.generation);
                match self.epoll.modify(&stream, &mut EpollEvent::new(WATCHED, token)) {
                    Ok(()) => {
                        (connection.stream, connection.opening.at) = (Some(stream), at);
                        self.connected(place);
                    }
                    Err(_) => self.opening_failed(place, Outcome::Local),
                }
            }
            Ok(Some(error)) | Err(error) if earlier.is_empty() && connection.stream.is_none() => {
                self.opening_failed(place, outcome_of(&error));
            }
            Ok(Some(_)) | Err(_) => {}
        }
    }

    /// The TCP connection of `place` stands.
    pub(super) fn connected(&mut self, place: u32) {
        let now = self.setting.clock.now();
        let user = self.user_of(place);
        let connection = &mut self.connections[place as usize];
        let opening = &mut connection.opening;
        opening.connected = Some(now);
        opening.since = now;
        opening.earlier.clear();
        if opening.at > 0 {
            self.recorder.connections.failed_over += 1;
            self.resolver.prefer(user, connection.origin, opening.addresses[opening.at]);
        }
        let origin = self.setting.reached(&self.origins[connection.origin as usize]);
        if origin.scheme == Scheme::Http {
            return self.established(place);
        }
        connection.phase = Phase::Securing;
        let name = self.setting.tls.name_of(&origin.host).ok();
        let session = name.zip(self.tls.as_ref()).and_then(|(name, config)| Session::new(config, name).ok());
        let Some(session) = session else { return self.opening_failed(place, Outcome::Tls) };
        connection.tls = Some(Box::new(session));
        self.send_rest(place);
    }

    /// The TLS handshake of `place` is done.
    pub(super) fn secured(&mut self, place: u32) {
        let connection = &mut self.connections[place as usize];
        connection.opening.secured = Some(self.setting.clock.now());
        let tls = connection.tls.as_ref().expect("it has just finished");
        let counts = &mut self.recorder.connections;
        *if tls.resumed() { &mut counts.resumed } else { &mut counts.secured } += 1;
        if self.streams.is_some() && !tls.speaks_http2() {
            return self.opening_failed(place, Outcome::Tls);
        }
        self.established(place);
    }

    /// Requests can go out on the connection of `place`.
    fn established(&mut self, place: u32) {
        if self.streams.is_some() {
            return self.carrier_established(place);
        }
        let connection = &mut self.connections[place as usize];
        if connection.exchange.is_some() {
            self.transmit(place);
        } else {
            // Opened ahead: its opening is no request's.
            (connection.phase, connection.used) = (Phase::Idle, true);
            self.idle[self.setting.pool(connection.origin)].push(place);
        }
    }

    /// There will be no connection at `place`.
    pub(super) fn opening_failed(&mut self, place: u32, outcome: Outcome) {
        if self.streams.is_some() {
            self.carrier_ended(place, outcome);
        } else if self.connections[place as usize].exchange.is_some() {
            if !self.goes_back(place, outcome) {
                self.fail(place, outcome);
            }
        } else {
            // Opened ahead: a request that needs one opens its own, and says what it met.
            self.close(place, Why::Lost);
        }
    }

    /// Beside an address that does not answer for a while the next one is tried.
    pub(super) fn look_after_opening(&mut self, place: u32, now: Time) {
        let connection = &mut self.connections[place as usize];
        let opening = &mut connection.opening;
        let waited = now.saturating_since(opening.since);
        let has_more = opening.tried < opening.addresses.len();
        if connection.phase == Phase::Connecting && has_more && waited >= self.setting.next_address {
            let (generation, at) = (connection.generation, opening.at);
            opening.earlier.extend(connection.stream.take().map(|stream| Attempt { stream, generation, at }));
            self.recorder.connections.retried_addresses += 1;
            self.connect_next(place);
        } else if connection.exchange.is_none() && waited >= self.setting.timeout {
            self.opening_failed(place, Outcome::Timeout);
        }
    }

    /// Whose names those of `place` are.
    fn user_of(&self, place: u32) -> u32 {
        match (&self.source, &self.connections[place as usize].exchange) {
            _ if self.streams.is_some() => place,
            (Source::Sessions(share), _) => place / share.parallel(),
            // Each request of a plan has a connection of its own, which is its client's.
            (Source::Plan(_), Some(exchange)) if !self.setting.persistent => exchange.job.request.client,
            _ => place,
        }
    }
}

/// By which the events of a connection's present socket are known.
fn token(place: u32, generation: u32) -> u64 {
    u64::from(generation) << 32 | u64::from(place)
}
