//! HTTP/2: places are streams of connections that have places of their own, behind theirs.

use std::collections::HashMap;

use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;

use super::{Why, Worker};
use crate::outcome::Outcome;
use crate::request::Method;
use crate::request::url::Scheme;
use crate::schedule::Source;
use crate::wire::channel::Channel;
use crate::wire::connection::{Connection, Phase};

/// How often a request is sent again because the server has not processed it. One that refuses it more often than this will
/// not take it.
const NOT_PROCESSED_MAX: u8 = 8;

/// Which streams go over which connection.
pub(super) struct Streams {
    /// How many places share a connection: neighbours.
    width: u32,
    /// The place of the connection of each group of places to each origin. One to which the server lets nothing new come is
    /// here no more, and lives until what is under way on it is over.
    carriers: HashMap<(u32, u32), u32>,
    /// The group that a carrier is of, by the carrier's place.
    groups: HashMap<u32, u32>,
    /// Places of carriers that are gone and stand in `carriers` no more.
    spare: Vec<u32>,
    next_ticket: u64,
    /// The place of each stream that is under way, and of its carrier.
    tickets: HashMap<u64, (u32, u32)>,
}

impl Streams {
    pub(super) fn new(width: u32) -> Streams {
        let (carriers, groups, spare, tickets) = (HashMap::new(), HashMap::new(), Vec::new(), HashMap::new());
        Streams { width, carriers, groups, spare, next_ticket: 0, tickets }
    }
}

impl Worker<'_> {
    /// Sends the request of `place` when its connection is there.
    pub(super) fn begin_stream(&mut self, place: u32) {
        let origin = self.connections[place as usize].origin;
        let streams = self.streams.as_mut().expect("only HTTP/2 has streams");
        let group = place / streams.width;
        let takes_more = |carrier: &u32| {
            let channel = self.connections[*carrier as usize].channel.as_ref();
            !channel.is_some_and(|channel| channel.closed())
        };
        let before = streams.carriers.get(&(group, origin)).copied();
        let carrier = match before.filter(takes_more) {
            Some(carrier) => carrier,
            // There was none, or the server takes no more requests there: what is under way on it goes on.
            None => {
                let carrier = streams.spare.pop().unwrap_or(self.connections.len() as u32);
                if carrier as usize == self.connections.len() {
                    self.connections.push(Connection::default());
                }
                self.connections[carrier as usize].origin = origin;
                streams.carriers.insert((group, origin), carrier);
                streams.groups.insert(carrier, group);
                carrier
            }
        };
        let has_streams = |before: &u32| streams.tickets.values().any(|(_, on)| on == before);
        let over = before.filter(|before| *before != carrier && !has_streams(before));
        over.into_iter().for_each(|over| self.carrier_gone(over, Outcome::ClosedEarly));
        self.connections[place as usize].phase = Phase::Waiting;
        self.connections[place as usize].ticket = 0;
        let carrying = &mut self.connections[carrier as usize];
        match carrying.phase {
            Phase::Closed => self.open(carrier),
            Phase::Idle => {
                self.recorder.connections.reused += 1;
                self.connections[place as usize].used = true;
                self.transmit_stream(place, carrier);
                self.flush_carrier(carrier);
            }
            _ => {}
        }
    }

    /// The connection at `carrier` can carry streams.
    pub(super) fn carrier_established(&mut self, carrier: u32) {
        let clock = self.setting.clock;
        let connection = &mut self.connections[carrier as usize];
        connection.phase = Phase::Idle;
        connection.channel = Some(Box::new(Channel::new(clock)));
        for place in self.places_of(carrier) {
            if self.connections[place as usize].phase == Phase::Waiting {
                self.connections[place as usize].used = false;
                self.transmit_stream(place, carrier);
            }
        }
        self.flush_carrier(carrier);
    }

    /// Hands the request of `place` over to `carrier`.
    fn transmit_stream(&mut self, place: u32, carrier: u32) {
        let renderer = self.setting.renderer;
        let streams = self.streams.as_mut().expect("only HTTP/2 has streams");
        streams.next_ticket += 1;
        let ticket = streams.next_ticket;
        let [connection, carrying] = self
            .connections
            .get_disjoint_mut([place as usize, carrier as usize])
            .expect("a stream and its connection have places of their own");
        let exchange = connection.exchange.as_mut().expect("only an exchange is transmitted");
        let special = connection.special.as_deref();
        connection.reply.expect(renderer.method(special) == Method::Head, self.setting.cookies);
        let keeping = special.and_then(|special| special.step.as_ref()?.keeping);
        if !connection.used {
            exchange.opened(&carrying.opening);
        }
        let origin = &self.origins[connection.origin as usize];
        let scheme = if origin.scheme == Scheme::Https { "https" } else { "http" };
        let job = &exchange.job;
        let mut path = Vec::new();
        renderer.write_path(job, special, &mut path);
        let uri = format!("{scheme}://{}{}", origin.authority, String::from_utf8_lossy(&path));
        let mut request = Request::builder().method(renderer.method(special).name()).uri(uri);
        for (name, value) in renderer.plain_headers(special) {
            // Those are of the connection in HTTP/1.1, and forbidden here (RFC 9113, section 8.2.2).
            if !["connection", "keep-alive", "content-length", "host"].contains(&name.to_ascii_lowercase().as_str()) {
                request = request.header(name, value);
            }
        }
        let cookie = if self.setting.cookies { self.cookies.get(&job.request.client) } else { None };
        let mut headers = Vec::new();
        renderer.each_drawn_header(job, special, cookie.map(Vec::as_slice), |name, value| {
            headers.push((name.to_owned(), value.to_vec()));
        });
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let body = renderer.body(job, special);
        exchange.sent = Some(self.setting.clock.now());
        connection.phase = Phase::Receiving;
        connection.ticket = ticket;
        let Ok(request) = request.body(Full::new(Bytes::from(body))) else {
            return self.fail(place, Outcome::Local);
        };
        streams.tickets.insert(ticket, (place, carrier));
        carrying.channel.as_mut().expect("an established connection").send(ticket, request, keeping);
    }

    /// The connection at `carrier` has read so many bytes into the buffer.
    pub(super) fn receive_streams(&mut self, carrier: u32, read: usize) {
        let connection = &mut self.connections[carrier as usize];
        let channel = connection.channel.as_mut().expect("only a channel receives");
        channel.input(&self.buffer[..read]);
        self.flush_carrier(carrier);
    }

    /// Lets the channel of `carrier` work, writes what it wants written, and completes what is over.
    fn flush_carrier(&mut self, carrier: u32) {
        let connection = &mut self.connections[carrier as usize];
        let Some(channel) = connection.channel.as_mut() else { return };
        channel.run();
        let output = channel.output();
        let finished = channel.finished();
        if !output.is_empty() && connection.stream.is_some() {
            match &mut connection.tls {
                Some(tls) => tls.put(&output),
                None => connection.unsent.extend_from_slice(&output),
            }
            self.send_rest(carrier);
        }
        for over in finished {
            self.stream_over(over);
        }
    }

    fn stream_over(&mut self, over: crate::wire::channel::Finished) {
        let streams = self.streams.as_mut().expect("only HTTP/2 has streams");
        let Some((place, carrier)) = streams.tickets.remove(&over.ticket) else { return };
        let connection = &mut self.connections[place as usize];
        if connection.ticket != over.ticket {
            return;
        }
        let Some(exchange) = connection.exchange.as_mut() else { return };
        exchange.first_byte = over.first_byte;
        let reply = &mut connection.reply;
        (reply.status, reply.bytes, reply.backend, reply.location) =
            (over.status, over.bytes, over.backend, over.location);
        reply.kept = over.kept;
        for cookie in over.cookies.iter().filter(|_| self.setting.cookies) {
            reply.take_cookie(cookie);
        }
        connection.ticket = 0;
        match over.failed {
            None => {
                self.connections[carrier as usize].used = true;
                let now = self.setting.clock.now();
                self.complete(place, now, true);
            }
            Some(outcome) if over.not_processed => self.not_processed(place, outcome),
            Some(outcome) => self.stream_broken(place, outcome),
        }
    }

    /// The server has not processed the request of `place`, whatever its method: it goes out again.
    fn not_processed(&mut self, place: u32, outcome: Outcome) {
        let Some(exchange) = self.connections[place as usize].exchange.as_mut() else { return };
        if exchange.not_processed == NOT_PROCESSED_MAX {
            return self.fail(place, outcome);
        }
        exchange.not_processed += 1;
        (exchange.sent, exchange.first_byte) = (None, None);
        self.recorder.not_processed(&exchange.job);
        self.begin_stream(place);
    }

    /// The connection of `place` broke under it: a request without an answer goes out once more, where it may,
    /// on a connection that had carried others.
    fn stream_broken(&mut self, place: u32, outcome: Outcome) {
        let connection = &mut self.connections[place as usize];
        let Some(exchange) = connection.exchange.as_mut() else { return };
        let idempotent = self.setting.renderer.method(connection.special.as_deref()).is_idempotent();
        if outcome != Outcome::ClosedEarly
            || !connection.used
            || exchange.retried
            || exchange.first_byte.is_some()
            || !idempotent
        {
            return self.fail(place, outcome);
        }
        exchange.retried = true;
        (exchange.sent, exchange.first_byte) = (None, None);
        self.recorder.retried(&exchange.job);
        self.begin_stream(place);
    }

    /// The connection at `carrier` is gone, or will not come.
    pub(super) fn carrier_ended(&mut self, carrier: u32, outcome: Outcome) {
        let mut again = Vec::new();
        if let Some(channel) = &mut self.connections[carrier as usize].channel {
            channel.end();
            // What was whole before the end is complete; what was not is broken off below.
            channel.run();
            for over in channel.finished() {
                match over.failed {
                    None => self.stream_over(over),
                    Some(outcome) if over.not_processed => {
                        let streams = self.streams.as_mut().expect("only HTTP/2 has streams");
                        let Some((place, _)) = streams.tickets.remove(&over.ticket) else { continue };
                        if std::mem::take(&mut self.connections[place as usize].ticket) == over.ticket {
                            again.push((place, outcome));
                        }
                    }
                    Some(_) => {}
                }
            }
        }
        self.carrier_gone(carrier, outcome);
        for (place, outcome) in again {
            self.not_processed(place, outcome);
        }
    }

    /// Closes `carrier`; the streams on it have broken.
    fn carrier_gone(&mut self, carrier: u32, outcome: Outcome) {
        let connection = &mut self.connections[carrier as usize];
        if connection.phase == Phase::Closed {
            return;
        }
        if connection.phase == Phase::Resolving {
            self.resolver.forget(carrier);
        }
        let (opened, opening) = (connection.phase == Phase::Idle, std::mem::take(&mut connection.opening));
        connection.shut();
        self.count_closed(if opened { Why::Server } else { Why::Lost });
        let is_current = self.is_current(carrier);
        let streams = self.streams.as_mut().expect("only HTTP/2 has streams");
        if !is_current {
            streams.spare.push(carrier);
        }
        let mut broken: Vec<(u64, u32)> = Vec::new();
        streams.tickets.retain(|ticket, (place, on)| {
            if *on == carrier {
                broken.push((*ticket, *place));
            }
            *on != carrier
        });
        broken.sort_unstable();
        for (ticket, place) in broken {
            let connection = &mut self.connections[place as usize];
            if connection.exchange.is_some() && connection.ticket == ticket {
                connection.ticket = 0;
                self.stream_broken(place, outcome);
            }
        }
        if opened || !is_current {
            return;
        }
        for place in self.places_of(carrier) {
            let connection = &mut self.connections[place as usize];
            if connection.exchange.is_some() && connection.phase == Phase::Waiting {
                (connection.opening.resolved, connection.opening.connected, connection.opening.secured) =
                    (opening.resolved, opening.connected, opening.secured);
                self.fail(place, outcome);
            }
        }
    }

    /// Whether new streams of its group go over `carrier`.
    fn is_current(&self, carrier: u32) -> bool {
        let streams = self.streams.as_ref().expect("only HTTP/2 has streams");
        let (group, origin) = (streams.groups[&carrier], self.connections[carrier as usize].origin);
        streams.carriers.get(&(group, origin)) == Some(&carrier)
    }

    /// Closes `place`, if it is a stream's, and its connection where the user is done with that too. Whether it was.
    pub(super) fn close_stream(&mut self, place: u32, why: Why) -> bool {
        let streams = self.streams.as_mut().expect("only HTTP/2 has streams");
        if streams.groups.contains_key(&place) {
            // The source does not know of carriers.
            let connection = &mut self.connections[place as usize];
            connection.shut();
            self.count_closed(why);
            return true;
        }
        let group = place / streams.width;
        let connection = &mut self.connections[place as usize];
        if connection.phase == Phase::Idle {
            let idle = &mut self.idle[connection.origin as usize];
            if let Some(at) = idle.iter().rposition(|&idle| idle == place) {
                idle.remove(at);
            }
        }
        connection.shut();
        let (ticket, origin) = (std::mem::take(&mut connection.ticket), connection.origin);
        let mut carrier = streams.carriers.get(&(group, origin)).copied();
        if ticket != 0 {
            if let Some((_, on)) = streams.tickets.remove(&ticket) {
                carrier = Some(on);
            }
            if let Some(channel) = carrier.and_then(|carrier| self.connections[carrier as usize].channel.as_mut()) {
                channel.cancel(ticket);
            }
            carrier.into_iter().for_each(|carrier| self.flush_carrier(carrier));
        }
        match &mut self.source {
            Source::Plan(_) => self.vacant.push(place),
            Source::Users(_) => {}
            source @ (Source::Sessions(_) | Source::Passes(_)) => {
                if let Source::Sessions(share) = source {
                    share.closed(place);
                }
                // A user who is done with all places of a connection closes it.
                if matches!(why, Why::Done | Why::Idle)
                    && let Some(carrier) = carrier
                    && self.connections[carrier as usize].phase == Phase::Idle
                    && self.places_of(carrier).all(|place| self.connections[place as usize].phase == Phase::Closed)
                {
                    self.connections[carrier as usize].shut();
                    self.count_closed(why);
                }
            }
        }
        true
    }

    /// The places whose streams `carrier` carries, those to other origins left out.
    fn places_of(&self, carrier: u32) -> impl Iterator<Item = u32> + use<> {
        let streams = self.streams.as_ref().expect("only HTTP/2 has streams");
        let (group, width) = (streams.groups[&carrier], streams.width);
        let origin = self.connections[carrier as usize].origin;
        let places: Vec<u32> = (group * width..(group + 1) * width)
            .filter(|&place| self.connections.get(place as usize).is_some_and(|place| place.origin == origin))
            .filter(|place| !streams.groups.contains_key(place))
            .collect();
        places.into_iter()
    }
}
