//! How requests and replies travel between clients and the places that they ask: as messages, or over connections of TCP.
//!
//! Where a system has a [`Transport`], a request first has a connection: a new one, or one that its client has kept. A
//! connection ends at the decider or server that the client asks; a switch passes it on to a server. Times are drawn from the
//! losses of the client's path in each direction ([`TcpStack`](sojourn_model::TcpStack)): all that is sent before a time-out when
//! a transfer begins, the rest when the time-out has ended. So the transfers of one machine share its bursts of losses. A
//! client or server that gives up ends the request. Then the reply's bytes flow over the links: what TCP waits for comes
//! first, as if it were all in one piece, and the time on the links last. Requests of some classes come over TLS, whose handshake
//! (RFC 8446, section 2) is one more segment in each direction on a new connection; the processor's part of it is part of a
//! request's demand. On a link that paths share each round of a connection
//! joins a queue ([`Shared`]); of messages, all that flow have an equal share: a processor-sharing
//! [`Station`](sojourn_model::Station) of bits.
//!
//! The price: a link that messages share does not lend what a flow's own slower link leaves over. A switch is asked when the
//! request comes, a round trip after its SYN. Requests are one segment.

use sojourn_model::system::{Directions, Path, Transport};
use sojourn_model::{
    Admission, Carried, Connected, Connecting, Fin, Link, Loss, LossLaw, Sending, Shared, Spell, Step, System,
    TcpConnection, TcpStack, Way, Wire,
};
use sojourn_stats::{Span, Stream, Time};

use super::{Leg, Route, Routed};
use crate::fabric::deciders::Next;
use crate::requests::jobs::{Job, Stage};
use crate::requests::{Cx, What};

/// Connections of clients.
pub(super) struct Transfers {
    seed: u64,
    transport: Transport,
    /// The classes that are asked for over TLS.
    secure: Vec<u8>,
    regions: usize,
    /// What is lost in each direction, at `a * regions + b`.
    losses: Vec<Directions<LossLaw>>,
    /// What is between a machine and a region, at `machine * regions + region`, once it is needed.
    lines: Vec<Option<Box<Line>>>,
    /// The links that paths share.
    shared: Vec<Wire>,
    /// What is lost between servers: nothing.
    calm: [Loss; 2],
}

/// What is between a machine and a region.
struct Line {
    /// The losses from its clients, and to them.
    there: Loss,
    back: Loss,
    /// Connections that nothing uses.
    idle: Vec<Idle>,
    /// FINs that are to be sent again, and when. They are no events: those that were due pass when the path is next used.
    fins: Vec<(Time, End, Fin)>,
}

/// An end of a connection.
#[derive(Clone, Copy)]
enum End {
    Client,
    Server,
}

/// A connection that nothing uses, the client that has it, its other end, whether it is one of TLS, and since when.
struct Idle {
    client: u32,
    next: Next,
    is_secure: bool,
    connection: TcpConnection,
    since: Time,
}

/// What a connection does for a request that has to wait for a time-out.
pub(super) struct Waiting {
    task: Task,
    /// The end that is no client.
    next: Next,
    rate: Option<f64>,
    since: Time,
}

/// What it does.
#[derive(Clone, Copy)]
enum Task {
    SetsUp(Connecting),
    /// The client's part of a handshake of TLS, and the server's answer.
    Greets(Sending),
    Proves(Sending),
    Asks(Sending),
    /// A redirection.
    TurnsBack(Sending),
    Replies(Sending),
    /// A file, from the server that owns it.
    Crosses(Sending),
}

/// The two ends of a transfer.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    pub(super) client: u32,
    /// The first client on its machine.
    pub(super) machine: u32,
    /// The client's region.
    pub(super) home: usize,
    /// The region that it asks, and the round trip between them.
    pub(super) region: usize,
    pub(super) rtt: Span,
}

impl Transfers {
    /// None where requests and replies are messages.
    pub(super) fn new(system: &System, seed: u64) -> Option<Transfers> {
        let regions = system.regions.len();
        let loss = |at: usize| system.paths.between(at / regions, at % regions).map(Path::losses);
        system.transport.map(|transport| Transfers {
            seed,
            transport,
            secure: system.rules.secure.clone(),
            regions,
            losses: (0..regions * regions).map_while(loss).collect(),
            lines: Vec::new(),
            shared: system.media.iter().map(|medium| medium.link()).map(Wire::new).collect(),
            calm: ["to", "from"].map(|way| Loss::new(LossLaw::independent(0.0), Stream::new(seed, "servers", way))),
        })
    }

    /// Bytes on the link for a reply of so many bytes.
    fn on_the_link(&self, bytes: u64) -> u64 {
        self.transport.stack.on_the_link(bytes)
    }

    /// Whether a request of this class comes over TLS.
    fn is_secure(&self, class: u8) -> bool {
        self.secure.contains(&class)
    }

    /// The connection to `next` that a client has kept for requests of this class.
    fn kept(&mut self, ends: Ends, next: Next, class: u8, now: Time) -> Option<TcpConnection> {
        let (stack, is_secure) = (self.transport.stack, self.is_secure(class));
        let line = self.line(ends);
        // The last used one is the last.
        let wanted = (ends.client, next, is_secure);
        let place = line.idle.iter().rposition(|idle| (idle.client, idle.next, idle.is_secure) == wanted)?;
        let Idle { mut connection, since, .. } = line.idle.remove(place);
        stack.rest(&mut connection, now - since, ends.rtt);
        Some(connection)
    }

    /// Goes on with a task; the connection that it has now.
    fn go_on(
        &mut self,
        ends: Ends,
        task: &mut Task,
        rate: Option<f64>,
        spells: &[Spell],
        (now, medium): (Time, Option<usize>),
    ) -> (Step<Carried>, Option<TcpConnection>) {
        let (stack, rtt) = (self.transport.stack, ends.rtt);
        let mut link = medium.map(|medium| self.shared[medium]);
        // Servers that send each other files share the way back as well; the clients' way to the servers is another.
        let carries_answers = matches!(task, Task::Crosses(_));
        let shared = link.as_mut().map(|link| Shared { link, now, carries_answers });
        let (there, back) = if let Task::Crosses(_) = task {
            let [there, back] = &mut self.calm;
            (there, back)
        } else {
            let line = self.line(ends);
            line.settle(&stack, rtt, now);
            (&mut line.there, &mut line.back)
        };
        match task {
            Task::SetsUp(connecting) => match connecting.go_on(&stack, &mut Way { rtt, rate, there, back, spells }) {
                Step::Waits(until) => (Step::Waits(until), None),
                Step::Ends(Connected { after, connection }) => {
                    (Step::Ends(Carried { after, is_whole: connection.is_some() }), connection)
                }
            },
            Task::Asks(sending) | Task::Greets(sending) => {
                (sending.go_on(&stack, &mut Way { rtt, rate, there, back, spells }, None), Some(sending.connection()))
            }
            Task::TurnsBack(sending) | Task::Proves(sending) => {
                let mut way = Way { rtt, rate, there: back, back: there, spells };
                (sending.go_on(&stack, &mut way, None), Some(sending.connection()))
            }
            Task::Replies(sending) | Task::Crosses(sending) => {
                let mut way = Way { rtt, rate, there: back, back: there, spells };
                let step = sending.go_on(&stack, &mut way, shared);
                let connection = sending.connection();
                if let (Some(medium), Some(link)) = (medium, link) {
                    self.shared[medium] = link;
                }
                (step, Some(connection))
            }
        }
    }

    /// Begins to send over a connection.
    fn begin(&self, connection: TcpConnection, bytes: u64, rate: Option<f64>) -> Sending {
        self.transport.stack.begin(connection, bytes, rate)
    }

    /// A client has its reply.
    fn release(&mut self, ends: Ends, next: Next, class: u8, connection: TcpConnection, now: Time) {
        let Transport { stack, one_request_per_connection, .. } = self.transport;
        let is_secure = self.is_secure(class);
        let line = self.line(ends);
        if !one_request_per_connection {
            return line.idle.push(Idle { client: ends.client, next, is_secure, connection, since: now });
        }
        let fin = stack.fin(&connection, ends.rtt);
        line.fins.extend([(now, End::Server, fin), (now, End::Client, fin)]);
        line.settle(&stack, ends.rtt, now);
    }

    fn line(&mut self, Ends { machine, home, region, .. }: Ends) -> &mut Line {
        let place = machine as usize * self.regions + region;
        if self.lines.len() <= place {
            self.lines.resize_with(place + 1, || None);
        }
        let (law, seed) = (self.losses[home * self.regions + region], self.seed);
        self.lines[place].get_or_insert_with(|| {
            let of = |direction: &str, law: LossLaw| {
                let draws =
                    Stream::new(seed, &format!("client {machine}"), &format!("losses {direction} region {region}"));
                Loss::new(law, draws)
            };
            Box::new(Line { there: of("to", law.up), back: of("from", law.down), idle: Vec::new(), fins: Vec::new() })
        })
    }
}

impl Line {
    /// FINs pass that were due until `now`, in the order of time.
    fn settle(&mut self, stack: &TcpStack, rtt: Span, now: Time) {
        loop {
            let due = self.fins.iter().enumerate().filter(|(_, (at, ..))| *at <= now);
            let Some((place, _)) = due.min_by_key(|(_, (at, ..))| *at) else { return };
            let (at, end, mut fin) = self.fins.remove(place);
            let (there, back) = match end {
                End::Client => (&mut self.there, &mut self.back),
                End::Server => (&mut self.back, &mut self.there),
            };
            if let Some(wait) = fin.go_on(stack, &mut Way { rtt, rate: None, there, back, spells: &[] }) {
                self.fins.push((at + wait, end, fin));
            }
        }
    }
}

impl Routed {
    /// How long a request takes from its client to `next`; none where it needs a connection first, its client gives up, or
    /// it is lost.
    pub(super) fn reach(&mut self, slot: u32, next: Next, cx: &mut Cx) -> Option<Span> {
        let Job { client, class, .. } = cx.jobs.slab[slot as usize];
        let region = self.region_of(next);
        let (here, there) = (self.place_of_client(client), self.place_of(next));
        let Some(transfers) = &mut self.transfers else {
            let passes = self.outages.passes(here, there, cx.now);
            return passes.then(|| self.places.one_way(client, region));
        };
        let ends = self.places.ends(client, region);
        let route = &mut self.routes[slot as usize];
        route.front = Some(next);
        route.connection = transfers.kept(ends, next, class, cx.now);
        if route.connection.is_some() {
            return self.ask(slot, next, cx);
        }
        let task = Task::SetsUp(Connecting::default());
        self.does(slot, Waiting { task, next, rate: None, since: cx.now }, cx);
        None
    }

    /// A client has the answer to its SYN, and asks, or greets first.
    pub(super) fn connects(&mut self, slot: u32, cx: &mut Cx) {
        let Route { set_up, front, .. } = self.routes[slot as usize];
        let Job { planned, class, .. } = cx.jobs.slab[slot as usize];
        cx.tally.connected(planned, Some(set_up));
        if !self.transfers.as_ref().is_some_and(|transfers| transfers.is_secure(class)) {
            return self.asks(slot, cx);
        }
        let next = front.expect("a connection has another end");
        let task = Task::Greets(self.sending(slot, 0, None));
        if let Some(after) = self.does(slot, Waiting { task, next, rate: None, since: cx.now }, cx) {
            cx.later(cx.now + after, What::Greeted, slot);
        }
    }

    /// The client's part of a handshake has come.
    pub(super) fn greeted(&mut self, slot: u32, cx: &mut Cx) {
        let next = self.routes[slot as usize].front.expect("a connection has another end");
        let task = Task::Proves(self.sending(slot, 0, None));
        if let Some(after) = self.does(slot, Waiting { task, next, rate: None, since: cx.now }, cx) {
            cx.later(cx.now + after, What::Secured, slot);
        }
    }

    /// A client has a connection, and asks.
    pub(super) fn asks(&mut self, slot: u32, cx: &mut Cx) {
        let front = self.routes[slot as usize].front.expect("a connection has another end");
        if let Some(delay) = self.ask(slot, front, cx) {
            self.set_out(slot, front, delay, cx);
        }
    }

    /// TCP gives up: a client the connection that it wanted, or either end one that it had.
    pub(super) fn gives_up(&mut self, slot: u32, cx: &mut Cx) {
        if self.routes[slot as usize].connection.is_none() {
            cx.tally.connected(cx.jobs.slab[slot as usize].planned, None);
        }
        self.deny(slot, cx);
    }

    /// How long a request takes over its connection to `next`; none where it has to wait for a time-out, or its client gives up.
    fn ask(&mut self, slot: u32, next: Next, cx: &mut Cx) -> Option<Span> {
        let task = Task::Asks(self.sending(slot, 0, None));
        self.does(slot, Waiting { task, next, rate: None, since: cx.now }, cx)
    }

    /// What begins to be sent over the connection of a request.
    fn sending(&self, slot: u32, bytes: u64, rate: Option<f64>) -> Sending {
        let transfers = self.transfers.as_ref().expect("what is carried has a connection");
        let connection = self.routes[slot as usize].connection.expect("what is carried has a connection");
        transfers.begin(connection, bytes, rate)
    }

    /// A connection goes on with a task, until it has to wait or to its end: how long that takes from now on, where what
    /// follows is the caller's.
    fn does(&mut self, slot: u32, mut waiting: Waiting, cx: &mut Cx) -> Option<Span> {
        let Waiting { ref mut task, next, rate, since } = waiting;
        let Job { client, choice, .. } = cx.jobs.slab[slot as usize];
        let mut ends = self.places.ends(client, self.region_of(next));
        let (here, there) = (self.place_of_client(client), self.place_of(next));
        let (from, to) = match task {
            Task::SetsUp(_) | Task::Greets(_) | Task::Asks(_) => (here, there),
            Task::Proves(_) | Task::TurnsBack(_) | Task::Replies(_) => (there, here),
            Task::Crosses(_) => {
                // All owners are in one region.
                let rtt = Span(2 * self.places.between(ends.region, ends.region).0);
                ends = Ends { home: ends.region, rtt, ..ends };
                (there, self.place_of(Next::Server(choice.server)))
            }
        };
        let spells = self.outages.spells(from, to, since);
        let medium = self.places.medium_between(ends.home, ends.region).map(|(medium, _)| medium);
        let transfers = self.transfers.as_mut().expect("what is carried has a connection");
        let (step, connection) = transfers.go_on(ends, task, rate, &spells, (cx.now, medium));
        let route = &mut self.routes[slot as usize];
        let Carried { after, is_whole } = match step {
            Step::Ends(carried) => carried,
            Step::Waits(until) => {
                route.waiting = Some(Box::new(waiting));
                cx.later(since + until, What::SendsAgain, slot);
                return None;
            }
        };
        let at = since + after;
        match task {
            Task::SetsUp(_) => {
                (route.connection, route.set_up) = (connection, after);
                cx.later(at, if is_whole { What::Connects } else { What::GivesUp }, slot);
                return None;
            }
            // What a request teaches its client does not help the replies.
            Task::Greets(_) | Task::Asks(_) | Task::Crosses(_) => {}
            Task::Proves(_) | Task::TurnsBack(_) | Task::Replies(_) => route.connection = connection,
        }
        if is_whole {
            return Some(at - cx.now);
        }
        cx.later(at, What::GivesUp, slot);
        None
    }

    /// A time-out has ended, or a round over a link that others use too.
    pub(super) fn sends_again(&mut self, slot: u32, cx: &mut Cx) {
        let waiting = self.routes[slot as usize].waiting.take().expect("it waits");
        let Waiting { task, next, since, .. } = *waiting;
        let Some(after) = self.does(slot, *waiting, cx) else { return };
        match task {
            Task::SetsUp(_) => unreachable!("a connection that is set up is an event of its own"),
            Task::Greets(_) => cx.later(cx.now + after, What::Greeted, slot),
            Task::Proves(_) => cx.later(cx.now + after, What::Secured, slot),
            Task::Asks(_) => self.set_out(slot, next, after, cx),
            Task::TurnsBack(_) => {
                self.release(slot, self.region_of(next), cx);
                cx.later(cx.now + after, What::Redirected, slot);
            }
            Task::Replies(_) => self.replies(slot, since, cx.now + after, cx),
            Task::Crosses(_) => cx.later(cx.now + after, What::Fetched, slot),
        }
    }

    /// How long a redirection takes from a decider to its client; none where the decider gives up, or it is lost. The client
    /// then opens another connection.
    pub(super) fn turn_back(&mut self, slot: u32, decider: u32, cx: &mut Cx) -> Option<Span> {
        let client = cx.jobs.slab[slot as usize].client;
        let (from, region) = (Next::Decider(decider), self.deciders[decider as usize].region);
        if self.transfers.is_none() {
            let passes = self.outages.passes(self.place_of(from), self.place_of_client(client), cx.now);
            return passes.then(|| self.places.one_way(client, region));
        }
        let task = Task::TurnsBack(self.sending(slot, 0, None));
        let carried = self.does(slot, Waiting { task, next: from, rate: None, since: cx.now }, cx)?;
        self.release(slot, region, cx);
        Some(carried)
    }

    /// A file sets out from the server that owns it, over a kept connection and a link that others use too. Where requests are
    /// messages it does not.
    pub(super) fn carries(&mut self, slot: u32, owner: u32, rate: f64, cx: &mut Cx) -> bool {
        let Some(Transfers { transport: Transport { stack, .. }, .. }) = &self.transfers else { return false };
        let sending = stack.begin(stack.rested(), cx.jobs.slab[slot as usize].size, Some(rate));
        let (task, next) = (Task::Crosses(sending), Next::Server(owner));
        if let Some(after) = self.does(slot, Waiting { task, next, rate: Some(rate), since: cx.now }, cx) {
            cx.later(cx.now + after, What::Fetched, slot);
        }
        true
    }

    /// The reply sets out for its client.
    pub(super) fn answer(&mut self, slot: u32, from: Next, cx: &mut Cx) {
        let job = cx.jobs.slab[slot as usize];
        let region = self.region_of(from);
        (self.routes[slot as usize].from, self.routes[slot as usize].set_out) = (region, cx.now);
        if self.transfers.is_none() {
            if self.outages.passes(self.place_of(from), self.place_of_client(job.client), cx.now) {
                self.flow(slot, cx);
            }
            return;
        }
        let rate = self.places.rate(job.client, region);
        let task = Task::Replies(self.sending(slot, job.size, rate));
        if let Some(after) = self.does(slot, Waiting { task, next: from, rate, since: cx.now }, cx) {
            self.replies(slot, cx.now, cx.now + after, cx);
        }
    }

    /// A reply that set out at `since` would have landed at `at`, if nothing else flowed.
    fn replies(&mut self, slot: u32, since: Time, at: Time, cx: &mut Cx) {
        let job = cx.jobs.slab[slot as usize];
        let region = self.routes[slot as usize].from;
        let Some(rate) = self.places.rate(job.client, region) else {
            return self.lands(slot, at, cx);
        };
        self.routes[slot as usize].lands = at;
        let flowing = Span::from_secs_f64(8.0 * self.bytes_on_the_link(job.size) as f64 / rate);
        let stall = Span((at - since).0.saturating_sub(flowing.0 + self.places.one_way(job.client, region).0));
        match since + stall {
            begins if begins <= cx.now => self.flow(slot, cx),
            begins => cx.later(begins, What::ReplyFlows, slot),
        }
    }

    /// The reply's bytes enter the links.
    pub(super) fn flow(&mut self, slot: u32, cx: &mut Cx) {
        let job = cx.jobs.slab[slot as usize];
        let region = self.routes[slot as usize].from;
        let bytes = self.bytes_on_the_link(job.size);
        let arrives = self.places.reply(job.client, region, bytes, cx.now);
        let (medium, rate) = match self.places.medium(job.client, region) {
            None => return self.lands(slot, arrives, cx),
            // It has waited for the link already, round by round.
            Some(_) if self.transfers.is_some() => {
                return self.lands(slot, arrives.max(self.routes[slot as usize].lands), cx);
            }
            Some(medium) => medium,
        };
        self.routes[slot as usize].lands = arrives;
        let number = self.first_medium + medium;
        let station = &mut self.stations[number];
        let work = Span::from_secs_f64(8.0 * bytes as f64 / rate).max(Span(1));
        let Admission::Admitted(ticket) = station.arrive_of(job.class, cx.now, u64::from(slot), work) else {
            unreachable!("a link has no limit")
        };
        let job = &mut cx.jobs.slab[slot as usize];
        (job.ticket, job.stage) = (ticket, Stage::Flowing);
        self.timers.set(number, station.next_departure());
    }

    /// The reply's last byte has left a link that paths share.
    pub(super) fn flowed(&mut self, slot: u32, cx: &mut Cx) {
        let job = &mut cx.jobs.slab[slot as usize];
        job.stage = Stage::Returning;
        let Route { from, lands, .. } = self.routes[slot as usize];
        let arrives = (cx.now + self.places.one_way(job.client, from)).max(lands);
        self.lands(slot, arrives, cx);
    }

    /// The client of a reply that flows over a shared link goes away.
    pub(super) fn leave_medium(&mut self, slot: u32, cx: &mut Cx) {
        let job = cx.jobs.slab[slot as usize];
        let from = self.routes[slot as usize].from;
        let (medium, _) = self.places.medium(job.client, from).expect("it flows over a shared link");
        let number = self.first_medium + medium;
        self.stations[number].cancel(cx.now, job.ticket);
        self.timers.set(number, self.stations[number].next_departure());
    }

    /// The client of a request has its reply: its connection is free.
    pub(super) fn release(&mut self, slot: u32, region: usize, cx: &Cx) {
        let Job { client, class, .. } = cx.jobs.slab[slot as usize];
        let route = &mut self.routes[slot as usize];
        if let (Some(transfers), Some(connection), Some(front)) =
            (&mut self.transfers, route.connection.take(), route.front)
        {
            transfers.release(self.places.ends(client, region), front, class, connection, cx.now);
        }
    }

    /// When the first byte and the last of a reply, which leave the site of server `host` at these instants, are at the
    /// innermost gateway, which may be at another site.
    pub(super) fn at_innermost_gateway(
        &mut self,
        slot: u32,
        host: usize,
        leaves: (Time, Time),
        size: u64,
    ) -> (Time, Time) {
        let next = Next::Server(host as u32);
        match self.gateway(slot).map(|place| self.routes[slot as usize].legs[place]) {
            Some(leg) if !self.is_at_same_site(leg.decider, next) => {
                (leaves.0 + self.between(leg.decider, next), self.relay(leg, next, size, leaves.1))
            }
            _ => leaves,
        }
    }

    /// When a reply of `size` bytes that leaves `inner` at `now` is at the gateway that forwarded to it.
    pub(super) fn relay(&mut self, outer: Leg, inner: Next, size: u64, now: Time) -> Time {
        let delay = self.between(outer.decider, inner);
        let rate = match self.is_at_same_site(outer.decider, inner) {
            true => None,
            false => self.places.rate_between(self.deciders[outer.decider as usize].region, self.region_of(inner)),
        };
        if rate.is_none() {
            return now + delay;
        }
        let wire = self.relays.entry((outer.decider, outer.choice.server));
        wire.or_insert_with(|| Wire::new(Link { delay, rate })).send(now, size).arrives
    }

    fn bytes_on_the_link(&self, bytes: u64) -> u64 {
        self.transfers.as_ref().map_or(bytes, |transfers| transfers.on_the_link(bytes))
    }

    fn lands(&mut self, slot: u32, at: Time, cx: &mut Cx) {
        match at {
            at if at == cx.now => self.complete(slot, cx),
            at => cx.later(at, What::ReplyAtClient, slot),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// FINs that were due have passed, each in its own direction and in the order of time; one that comes through is gone.
    #[test]
    fn fins_that_were_due_pass_when_a_path_is_used() {
        let (stack, rtt) = (TcpStack::LINUX_6, Span(100 * MS));
        let loss = |share| Loss::new(LossLaw::independent(share), Stream::new(1, "fins", "losses"));
        let (mut never, mut back) = (loss(0.0), loss(0.0));
        let way = &mut Way { rtt, rate: None, there: &mut never, back: &mut back, spells: &[] };
        let fin = stack.fin(&stack.connect(way).connection.expect("set up"), rtt);
        let mut line = Line { there: loss(1.0), back: loss(0.0), idle: Vec::new(), fins: Vec::new() };
        line.fins.extend([(Time(0), End::Server, fin), (Time(0), End::Client, fin)]);
        let next = |line: &Line| line.fins.iter().map(|(at, ..)| at.0 / MS).collect::<Vec<_>>();
        // Nothing of the client passes, neither its FIN nor what acknowledges the server's: 300 ms, then twice as long.
        line.settle(&stack, rtt, Time(0));
        assert_eq!(next(&line), [300, 300]);
        line.settle(&stack, rtt, Time(899 * MS));
        assert_eq!(next(&line), [900, 900]);
        line.settle(&stack, rtt, Time(900 * MS));
        assert_eq!(next(&line), [2100, 2100]);
        line.there = loss(0.0);
        line.settle(&stack, rtt, Time(2100 * MS));
        assert!(line.fins.is_empty());
    }
}
