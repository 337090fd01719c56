//! From a place to an open connection: the name, the addresses in turn, TCP, TLS.

use std::io;
use std::net::SocketAddr;

use nix::sys::epoll::{EpollEvent, EpollFlags};
use sojourn_stats::{Span, Time};

use super::{RESOLVER, Why, Worker};
use crate::outcome::Outcome;
use crate::request::url::Scheme;
use crate::schedule::Source;
use crate::wire::connection::{Connection, Phase, connect, outcome_of};
use crate::wire::exchange::Opening;
use crate::wire::resolve::{Found, Unresolved};
use crate::wire::tls::Session;

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
        let origin = &self.origins[number as usize];
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
            Found::Asked => {}
            Found::Never => self.opening_failed(place, Outcome::NotResolved),
        }
    }

    /// Takes in what the name server says.
    pub(super) fn receive_answers(&mut self) {
        let now = self.setting.clock.now();
        let mut resolved = Vec::new();
        self.resolver.receive(now, &mut resolved);
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
            let origin = &self.origins[connection.origin as usize];
            let port = origin.address.map_or(origin.port, |address| address.port());
            let ip = connection.opening.addresses[connection.opening.tried];
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
            let token = u64::from(connection.generation) << 32 | u64::from(place);
            let flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
            let opened = connect(SocketAddr::new(ip, port), local)
                .and_then(|stream| Ok(self.epoll.add(&stream, EpollEvent::new(flags, token)).map(|()| stream)?));
            match opened {
                Ok(stream) => {
                    connection.stream = Some(stream);
                    return;
                }
                Err(_) if connection.opening.tried < connection.opening.addresses.len() => {
                    self.recorder.connections.retried_addresses += 1;
                }
                Err(error) => return self.opening_failed(place, outcome_of(&error)),
            }
        }
    }

    /// The address tried last does not take the connection of `place`.
    pub(super) fn not_connected(&mut self, place: u32, error: &io::Error) {
        let connection = &mut self.connections[place as usize];
        connection.stream = None;
        if connection.opening.tried < connection.opening.addresses.len() {
            self.recorder.connections.retried_addresses += 1;
            return self.connect_next(place);
        }
        self.opening_failed(place, outcome_of(error));
    }

    /// The TCP connection of `place` stands.
    pub(super) fn connected(&mut self, place: u32) {
        let now = self.setting.clock.now();
        let user = self.user_of(place);
        let connection = &mut self.connections[place as usize];
        connection.opening.connected = Some(now);
        connection.opening.since = now;
        for dead in &connection.opening.addresses[..connection.opening.tried - 1] {
            self.resolver.demote(user, connection.origin, *dead);
        }
        let origin = &self.origins[connection.origin as usize];
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
            self.idle[connection.origin as usize].push(place);
        }
    }

    /// There will be no connection at `place`.
    pub(super) fn opening_failed(&mut self, place: u32, outcome: Outcome) {
        if self.streams.is_some() {
            self.carrier_ended(place, outcome);
        } else if self.connections[place as usize].exchange.is_some() {
            self.fail(place, outcome);
        } else {
            // Opened ahead: a request that needs one opens its own, and says what it met.
            self.close(place, Why::Lost);
        }
    }

    /// An address that does not answer has its share of the timeout, so that the next one is tried in time.
    pub(super) fn look_after_opening(&mut self, place: u32, now: Time) {
        let connection = &self.connections[place as usize];
        let opening = &connection.opening;
        let waited = now.saturating_since(opening.since).0;
        let left = opening.addresses.len().saturating_sub(opening.tried);
        if connection.phase == Phase::Connecting
            && left > 0
            && waited >= self.setting.timeout.0 / opening.addresses.len() as u64
        {
            self.not_connected(place, &io::Error::from(io::ErrorKind::TimedOut));
        } else if connection.exchange.is_none() && waited >= self.setting.timeout.0 {
            self.opening_failed(place, Outcome::Timeout);
        }
    }

    /// Whose names those of `place` are.
    fn user_of(&self, place: u32) -> u32 {
        match (&self.source, &self.streams) {
            (_, Some(_)) => place,
            (Source::Sessions(share), _) => place / share.parallel(),
            _ => place,
        }
    }
}
