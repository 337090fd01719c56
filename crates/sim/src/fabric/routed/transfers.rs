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
    Carried, Connected, Connecting, Fin, Loss, LossLaw, Sending, Shared, Spell, Step, System, TcpConnection, TcpStack,
    Way, Wire,
};
use sojourn_stats::{Span, Stream, Time};

use super::Routed;
use super::network::{Ends, Network};
use super::route::Route;
use super::waiting::{Task, Waiting};
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

    /// The connection of the request in `slot` goes on with a task, until it has to wait or to its end: how long that takes
    /// from now on, where what follows is the caller's.
    fn carry(
        &mut self,
        slot: u32,
        mut waiting: Waiting,
        route: &mut Route,
        network: &mut Network,
        cx: &mut Cx,
    ) -> Option<Span> {
        let Waiting { ref mut task, next, rate, since } = waiting;
        let Job { client, choice, .. } = cx.jobs.slab[slot as usize];
        let mut ends = network.ends(client, network.region_of(next));
        let spells = match task {
            Task::Crosses(_) => {
                // All owners are in one region.
                let rtt = Span(2 * network.between_regions(ends.region, ends.region).0);
                ends = Ends { home: ends.region, rtt, ..ends };
                network.spells(next, Next::Server(choice.server), since)
            }
            _ => network.spells_of_client(client, next, since),
        };
        let medium = network.medium_between(ends.home, ends.region).map(|(medium, _)| medium);
        let (step, connection) = self.go_on(ends, task, rate, &spells, (cx.now, medium));
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
    /// A request sets out from its client to `next`: as a message, or over a connection that it may need first.
    pub(super) fn send(&mut self, slot: u32, next: Next, cx: &mut Cx) {
        let route = &mut self.routes[slot];
        route.next = Some(next);
        let Job { client, class, .. } = cx.jobs.slab[slot as usize];
        let region = self.network.region_of(next);
        let Some(transfers) = &mut self.transfers else {
            if self.network.passes_from_client(client, next, cx.now) {
                let delay = self.network.one_way(client, region);
                self.move_on(slot, next, delay, cx);
            }
            return;
        };
        route.front = Some(next);
        route.connection = transfers.kept(self.network.ends(client, region), next, class, cx.now);
        match route.connection {
            Some(_) => self.asks(slot, cx),
            None => self.carry(slot, Task::SetsUp(Connecting::default()), next, None, cx),
        }
    }

    /// A client has the answer to its SYN, and asks, or greets first.
    pub(super) fn connects(&mut self, slot: u32, cx: &mut Cx) {
        let Job { planned, class, .. } = cx.jobs.slab[slot as usize];
        cx.tally.connected(planned, Some(self.routes[slot].set_up));
        match self.transfers.as_ref().is_some_and(|transfers| transfers.is_secure(class)) {
            true => self.carry_to_front(slot, Task::Greets, cx),
            false => self.asks(slot, cx),
        }
    }

    /// The client's part of a handshake has come.
    pub(super) fn greeted(&mut self, slot: u32, cx: &mut Cx) {
        self.carry_to_front(slot, Task::Proves, cx);
    }

    /// A client has a connection, and asks.
    pub(super) fn asks(&mut self, slot: u32, cx: &mut Cx) {
        self.carry_to_front(slot, Task::Asks, cx);
    }

    /// TCP gives up: a client the connection that it wanted, or either end one that it had.
    pub(super) fn gives_up(&mut self, slot: u32, cx: &mut Cx) {
        if self.routes[slot].connection.is_none() {
            cx.tally.connected(cx.jobs.slab[slot as usize].planned, None);
        }
        self.deny(slot, cx);
    }

    /// One segment goes over the connection between a client and what it asks.
    fn carry_to_front(&mut self, slot: u32, task: impl FnOnce(Sending) -> Task, cx: &mut Cx) {
        let front = self.routes[slot].front.expect("a connection has another end");
        let sending = self.sending(slot, 0, None);
        self.carry(slot, task(sending), front, None, cx);
    }

    /// What begins to be sent over the connection of a request.
    fn sending(&self, slot: u32, bytes: u64, rate: Option<f64>) -> Sending {
        let transfers = self.transfers.as_ref().expect("what is carried has a connection");
        let connection = self.routes[slot].connection.expect("what is carried has a connection");
        transfers.begin(connection, bytes, rate)
    }

    /// A connection begins with a task, and what follows it happens.
    fn carry(&mut self, slot: u32, task: Task, next: Next, rate: Option<f64>, cx: &mut Cx) {
        let waiting = Waiting { task, next, rate, since: cx.now };
        if let Some(after) = self.go_on(slot, waiting, cx) {
            self.carried(slot, &task, next, cx.now, after, cx);
        }
    }

    /// A connection goes on with a task, until it has to wait or to its end: how long that takes from now on, where what
    /// follows is the caller's.
    fn go_on(&mut self, slot: u32, waiting: Waiting, cx: &mut Cx) -> Option<Span> {
        let transfers = self.transfers.as_mut().expect("what is carried has a connection");
        transfers.carry(slot, waiting, &mut self.routes[slot], &mut self.network, cx)
    }

    /// A time-out has ended, or a round over a link that others use too.
    pub(super) fn sends_again(&mut self, slot: u32, cx: &mut Cx) {
        let waiting = self.routes[slot].waiting.take().expect("it waits");
        let Waiting { task, next, since, .. } = *waiting;
        if let Some(after) = self.go_on(slot, *waiting, cx) {
            self.carried(slot, &task, next, since, after, cx);
        }
    }

    /// A task that began at `since` ends `after` now.
    fn carried(&mut self, slot: u32, task: &Task, next: Next, since: Time, after: Span, cx: &mut Cx) {
        match task {
            Task::SetsUp(_) => unreachable!("a connection that is set up is an event of its own"),
            Task::Greets(_) => cx.later(cx.now + after, What::Greeted, slot),
            Task::Proves(_) => cx.later(cx.now + after, What::Secured, slot),
            Task::Asks(_) => self.move_on(slot, next, after, cx),
            Task::TurnsBack(_) => {
                self.release(slot, self.network.region_of(next), cx);
                cx.later(cx.now + after, What::Redirected, slot);
            }
            Task::Replies(_) => self.replies(slot, since, cx.now + after, cx),
            Task::Crosses(_) => cx.later(cx.now + after, What::Fetched, slot),
        }
    }

    /// A redirection sets out from a decider to its client, unless the decider gives up, or it is lost. The client then opens
    /// another connection.
    pub(super) fn turn_back(&mut self, slot: u32, decider: u32, cx: &mut Cx) {
        let (client, from) = (cx.jobs.slab[slot as usize].client, Next::Decider(decider));
        let region = self.network.region_of(from);
        let delay = if self.transfers.is_some() {
            let task = Task::TurnsBack(self.sending(slot, 0, None));
            let waiting = Waiting { task, next: from, rate: None, since: cx.now };
            let Some(after) = self.go_on(slot, waiting, cx) else { return };
            self.release(slot, region, cx);
            after
        } else if self.network.passes_from_client(client, from, cx.now) {
            self.network.one_way(client, region)
        } else {
            return;
        };
        self.happens(cx.now + delay, What::Redirected, slot, cx);
    }

    /// A file sets out from the server that owns it, over a kept connection and a link that others use too. Where requests are
    /// messages it does not.
    pub(super) fn carry_file(&mut self, slot: u32, owner: u32, rate: f64, cx: &mut Cx) -> bool {
        let Some(Transfers { transport: Transport { stack, .. }, .. }) = &self.transfers else { return false };
        let sending = stack.begin(stack.rested(), cx.jobs.slab[slot as usize].size, Some(rate));
        self.carry(slot, Task::Crosses(sending), Next::Server(owner), Some(rate), cx);
        true
    }

    /// The reply sets out for its client.
    pub(super) fn answer(&mut self, slot: u32, from: Next, cx: &mut Cx) {
        let job = cx.jobs.slab[slot as usize];
        let region = self.network.region_of(from);
        let route = &mut self.routes[slot];
        (route.from, route.set_out) = (region, cx.now);
        if self.transfers.is_some() {
            let rate = self.network.rate(job.client, region);
            let task = Task::Replies(self.sending(slot, job.size, rate));
            self.carry(slot, task, from, rate, cx);
        } else if self.network.passes_from_client(job.client, from, cx.now) {
            self.flow(slot, cx);
        }
    }

    /// A reply that set out at `since` would have landed at `at`, if nothing else flowed.
    fn replies(&mut self, slot: u32, since: Time, at: Time, cx: &mut Cx) {
        let job = cx.jobs.slab[slot as usize];
        let route = &mut self.routes[slot];
        let Some(rate) = self.network.rate(job.client, route.from) else {
            return self.happens(at, What::ReplyAtClient, slot, cx);
        };
        route.lands = at;
        let bytes = self.transfers.as_ref().map_or(job.size, |transfers| transfers.on_the_link(job.size));
        let flowing = Span::from_secs_f64(8.0 * bytes as f64 / rate);
        let stall = (at - since).0.saturating_sub(flowing.0 + self.network.one_way(job.client, route.from).0);
        route.flows = since + Span(stall);
        let flows = route.flows.max(cx.now);
        self.happens(flows, What::ReplyFlows, slot, cx);
    }

    /// The reply's bytes enter the links.
    pub(super) fn flow(&mut self, slot: u32, cx: &mut Cx) {
        let job = &mut cx.jobs.slab[slot as usize];
        let route = &mut self.routes[slot];
        let bytes = self.transfers.as_ref().map_or(job.size, |transfers| transfers.on_the_link(job.size));
        let medium = self.network.medium(job.client, route.from);
        // Over a shared link it comes round by round, and the rounds before this one are on its client's own link already.
        let is_in_rounds = medium.is_some() && self.transfers.is_some();
        let since = if is_in_rounds { route.flows.min(cx.now) } else { cx.now };
        let mut arrives = self.network.reply(job.client, route.from, bytes, since);
        match medium {
            None => {}
            // It has waited for the link already, round by round.
            Some(_) if self.transfers.is_some() => arrives = arrives.max(route.lands),
            Some((medium, rate)) => {
                route.lands = arrives;
                let work = Span::from_secs_f64(8.0 * bytes as f64 / rate).max(Span(1));
                let ticket = self.stations.enter(self.stations.medium(medium), job, slot, Time::NEVER, work, cx.now);
                (job.ticket, job.stage) = (ticket.expect("a link has no limit"), Stage::Flowing);
                return;
            }
        }
        self.happens(arrives, What::ReplyAtClient, slot, cx);
    }

    /// The reply's last byte has left a link that paths share.
    pub(super) fn flowed(&mut self, slot: u32, cx: &mut Cx) {
        let job = &mut cx.jobs.slab[slot as usize];
        job.stage = Stage::Returning;
        let Route { from, lands, .. } = self.routes[slot];
        let arrives = (cx.now + self.network.one_way(job.client, from)).max(lands);
        self.happens(arrives, What::ReplyAtClient, slot, cx);
    }

    /// The client of a reply that flows over a shared link goes away.
    pub(super) fn leave_medium(&mut self, slot: u32, cx: &mut Cx) {
        let job = &cx.jobs.slab[slot as usize];
        let medium = self.network.medium(job.client, self.routes[slot].from);
        let (medium, _) = medium.expect("it flows over a shared link");
        self.stations.cancel(self.stations.medium(medium), job.ticket, cx.now);
    }

    /// The client of a request has its reply: its connection is free.
    pub(super) fn release(&mut self, slot: u32, region: usize, cx: &Cx) {
        let Job { client, class, .. } = cx.jobs.slab[slot as usize];
        let route = &mut self.routes[slot];
        if let (Some(transfers), Some(connection), Some(front)) =
            (&mut self.transfers, route.connection.take(), route.front)
        {
            transfers.release(self.network.ends(client, region), front, class, connection, cx.now);
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
