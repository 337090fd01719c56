//! One replication: users, connections, servers and links in virtual time.
//!
//! The next event is the earliest of: the balancer's deadline, the end of a window of its cores, a departure from a
//! station, the end of a flow, and the calendar's first entry; at one instant they come in this order. A connection is
//! named by its lane, user x parallel + place. Nothing is allocated per file.
//!
//! Conservation is asserted at every pause: objects asked = complete + lost + under way, and Little's law for them,
//! exactly, in whole nanoseconds; files asked = complete + dropped + under way; bytes sent = had + lost + on their last
//! way; bits carried by the links = bits of the flows; and those attached and open at each server are those that users
//! and connections say.

use std::sync::Arc;

use sojourn_dispatch::{Catalogue, Signals};
use sojourn_model::system::{Attached, Level};
use sojourn_model::{
    Admission, Balancing, ClusterNetwork, DelayCurve, Discipline, Flows, Mode, Server, Station, System,
};
use sojourn_stats::{Span, Stream, Time};
use sojourn_traffic::{Demand, Sessions, Visit, Visitor};

use super::balancer_cores::BalancerCores;
use super::calendar::{Calendar, Event, EventKind};
use super::occupancy::Occupancy;
use super::summary::Sums;
use super::tally::Tally;
use super::users::{Lane, NOWHERE, Stage, User};
use super::{attached, level};
use crate::balancer::{Asked, Balancer, Choice, signals};
use crate::control::{SimError, demand_of};
use crate::ledger::Ledger;
use crate::timers::Timers;

/// One replication.
pub(super) struct SessionsReplication {
    now: Time,
    horizon: Time,
    level: Level,
    attachment: Attached,
    /// Connections that a user may have open.
    parallel: u32,
    /// How long a server keeps an idle connection; none: connections serve one file.
    keep_alive: Option<Span>,
    delays: Delays,
    network: ClusterNetwork,
    balancing: Balancing,
    poll_cost: Span,
    balancer: Option<Balancer>,
    feedback: Feedback,
    balancer_cores: Option<BalancerCores>,
    servers: Vec<Host>,
    timers: Timers,
    flows: Option<Flows>,
    calendar: Calendar,
    users: Vec<User>,
    lanes: Vec<Lane>,
    /// Users attached to each server.
    attached: Occupancy,
    /// Connections open at each server; requests inside, where choices are made for them.
    open: Occupancy,
    /// What each server counted for polls that are on their way, oldest first: (count, when).
    reports: Vec<std::collections::VecDeque<(u32, Time)>>,
    /// Servers that a poll is for; kept so that a poll allocates nothing.
    polled: Vec<u32>,
    ledger: Ledger,
    files_asked: u64,
    files_done: u64,
    files_dropped: u64,
    bytes_sent: u64,
    bytes_had: u64,
    bytes_lost: u64,
    core_time_before: Vec<Span>,
    /// What each user has asked for, where that is kept.
    pub(super) visits: Option<Vec<Vec<Visit>>>,
    pub(super) tally: Tally,
}

/// A server.
struct Host {
    model: Server,
    serves: Serves,
}

#[allow(clippy::large_enum_variant, reason = "there are few servers, and a station is what most of them are")]
enum Serves {
    Station(Station),
    Curve(Arc<DelayCurve>),
}

/// Delays of packets on their way, where nothing waits.
#[derive(Clone, Copy)]
struct Delays {
    /// A packet to the balancer, through it, and a server's back to the user.
    there: Span,
    inbound: Span,
    back: Span,
    outbound: Span,
    /// A connection at a balancer whose cores are not counted.
    connection: Span,
    /// What slow start waits for.
    round_trip: Span,
    nominal_rate: Option<f64>,
}

/// Feedback that the balancer's policy requires: which instants it is told, and whether it is told bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Feedback {
    first_byte: FirstByte,
    bytes: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FirstByte {
    Untold,
    /// Of every file, at the balancer.
    AtBalancer,
    /// Of every page file, at the user.
    AtUser,
}

/// A job at a station that is a poll.
const POLL: u64 = u64::MAX;

impl SessionsReplication {
    /// The replication of users at `system` with this seed, up to `horizon`.
    pub(super) fn new(
        system: &System,
        sessions: &Sessions,
        catalogue: &Catalogue,
        seed: u64,
        horizon: Span,
        keep_series: bool,
    ) -> Result<SessionsReplication, SimError> {
        let (tier, network) = (system.tier(), &system.network);
        let count = system.hosts.len();
        let demand = demand_of(&system.hosts[0].server);
        let balancer = tier.map(|tier| Balancer::first(tier, count, true, catalogue, seed)).transpose()?;
        let told = tier.map_or(Signals::empty(), |tier| signals(tier, true));
        let balancing = tier.map_or(Balancing::free(Mode::Nat), |tier| tier.balancing);
        let requires = balancer.as_ref().map_or(Signals::empty(), Balancer::requires);
        let first_bytes = requires.intersects(Signals::FIRST_BYTE | Signals::CLIENT_FIRST_BYTE);
        let feedback = Feedback {
            first_byte: match told.contains(Signals::CLIENT_FIRST_BYTE) {
                _ if !first_bytes => FirstByte::Untold,
                true => FirstByte::AtUser,
                false => FirstByte::AtBalancer,
            },
            bytes: requires.contains(Signals::BYTES),
        };
        let shared = [network.shared_rate(), balancing.reply_rate(&network.tcp, 1.0)];
        let shared = shared.into_iter().flatten().reduce(f64::min);
        let finite = [network.client_rate, network.server_rate, shared].iter().any(Option::is_some);
        let flows = finite.then(|| {
            let (users, parallel) = (sessions.users, sessions.parallel);
            Flows::new(users, parallel, count as u32, network.client_rate, network.server_rate, shared)
        });
        let users: Vec<User> = (0..sessions.users).map(|user| new_user(sessions, user, seed, &demand)).collect();
        let half = Span(network.rtt.0 / 2);
        let mut replication = SessionsReplication {
            now: Time::ZERO,
            horizon: Time::ZERO + horizon,
            level: level(tier),
            attachment: attached(tier),
            parallel: sessions.parallel,
            keep_alive: sessions.keep_alive(),
            delays: Delays {
                there: half,
                inbound: balancing.inbound(network),
                back: network.rtt - half,
                outbound: balancing.outbound(),
                connection: balancing.per_connection,
                round_trip: network.rtt + balancing.inbound(network) + balancing.outbound(),
                nominal_rate: network.nominal_rate(),
            },
            network: *network,
            balancing,
            poll_cost: tier.map_or(Span::ZERO, |tier| tier.poll_cost),
            balancer,
            feedback,
            balancer_cores: BalancerCores::new(&balancing),
            servers: system.servers().map(Host::new).collect(),
            timers: Timers::new(count),
            flows,
            calendar: Calendar::default(),
            lanes: vec![Lane::closed(); users.len() * sessions.parallel as usize],
            users,
            attached: Occupancy::new(count),
            open: Occupancy::new(count),
            reports: vec![std::collections::VecDeque::new(); count],
            polled: Vec::new(),
            ledger: Ledger::default(),
            files_asked: 0,
            files_done: 0,
            files_dropped: 0,
            bytes_sent: 0,
            bytes_had: 0,
            bytes_lost: 0,
            core_time_before: vec![Span::ZERO; count],
            visits: None,
            tally: Tally::new(count, keep_series),
        };
        for user in 0..replication.users.len() as u32 {
            replication.think(user, Span::ZERO);
        }
        Ok(replication)
    }

    /// Takes the events before `end`.
    pub(super) fn run_before(&mut self, end: Time) {
        while self.step(end) {}
        self.settle_books();
    }

    /// Begins measuring at `now`: an instant between the last event and the next.
    pub(super) fn start_measuring(&mut self, now: Time) {
        self.tally.restart(now);
        self.attached.restart(now);
        self.open.restart(now);
        self.core_time_before = self.core_time(now);
    }

    /// Objects that have ended since measuring began.
    pub(super) fn ended(&self) -> u64 {
        self.tally.counts.ended
    }

    /// Objects under way.
    pub(super) fn under_way(&self) -> u64 {
        self.users.iter().filter(|user| user.asked.is_some()).count() as u64
    }

    /// What has been counted since measuring began, up to `now`: an instant between the last event and the next.
    pub(super) fn part(&self, now: Time) -> Sums {
        let spent = self.core_time(now);
        let cores = |host: &Host| f64::from(host.model.cores);
        let busy_s = spent.iter().zip(&self.core_time_before).zip(&self.servers);
        let busy_s = busy_s.map(|((after, before), host)| (*after - *before).as_secs_f64() / cores(host)).sum::<f64>();
        let stations = self.servers.iter().filter(|host| matches!(host.serves, Serves::Station(_))).count();
        Sums {
            elapsed_s: (now - self.tally.since).as_secs_f64(),
            counts: self.tally.counts.clone(),
            open: self.open.spent(now),
            attached: self.attached.spent(now),
            busy_s: (stations > 0).then(|| busy_s / stations as f64),
        }
    }

    fn core_time(&self, now: Time) -> Vec<Span> {
        let spent = |host: &Host| match &host.serves {
            Serves::Station(station) => station.busy(now),
            Serves::Curve(_) => Span::ZERO,
        };
        self.servers.iter().map(spent).collect()
    }

    /// Takes one event, if one is due before `end`.
    #[inline]
    fn step(&mut self, end: Time) -> bool {
        let entry = self.calendar.first_at();
        let flow = self.flows.as_ref().map_or(Time::NEVER, Flows::next_end);
        let departure = self.timers.first_at();
        let window = self.balancer_cores.as_ref().map_or(Time::NEVER, BalancerCores::window_end);
        let deadline = self.balancer.as_ref().map_or(Time::NEVER, Balancer::deadline);
        let at = entry.min(flow).min(departure).min(window).min(deadline);
        if at >= end {
            return false;
        }
        assert!(at >= self.now, "time never goes back");
        self.now = at;
        if deadline == at {
            self.poll();
        } else if window == at {
            self.share_the_cores();
        } else if departure == at {
            self.depart(self.timers.first());
        } else if flow == at {
            let (user, place) = self.flows.as_mut().and_then(|flows| flows.end(at)).expect("a flow ends now");
            self.sent(user * self.parallel + place);
        } else {
            let event = self.calendar.take().expect("an entry is due");
            self.take(event);
        }
        true
    }

    #[inline]
    fn take(&mut self, event: Event) {
        let Event { kind, entity, generation } = event;
        match kind {
            EventKind::Counts => self.count(entity),
            EventKind::Reports => self.report(entity),
            EventKind::Thought => self.thought(entity),
            EventKind::Idle => self.look_after(entity),
            _ if self.lanes[entity as usize].generation != generation => {} // its file is over
            EventKind::Opens => self.opens(entity),
            EventKind::Requests => self.requests(entity),
            EventKind::Served => self.at_server(entity),
            EventKind::FirstByte => self.first_byte(entity),
            EventKind::Replies => self.replies(entity),
            EventKind::Received => self.received(entity),
            EventKind::GivesUp => self.give_up(self.user_of(entity)),
            EventKind::Asks => self.ask(entity),
        }
    }

    /// Something will happen to a connection's file, unless that is over by then.
    #[inline]
    fn later(&mut self, at: Time, kind: EventKind, lane: u32) {
        self.calendar.add(at, kind, lane, self.lanes[lane as usize].generation);
    }

    /// A user begins to think about its next object, `penalty` longer than its script says.
    fn think(&mut self, user: u32, penalty: Span) {
        let User { visitor, fetches, visit, .. } = &mut self.users[user as usize];
        *visit = visitor.visit(fetches);
        let at = self.now + visit.think + penalty;
        if at < self.horizon {
            self.calendar.add(at, EventKind::Thought, user, 0);
        }
    }

    /// It asks for it.
    fn thought(&mut self, user: u32) {
        self.ledger.enter(self.now);
        let asking = &mut self.users[user as usize];
        asking.asked = Some(self.now);
        (asking.given, asking.done) = (0, 0);
        if let Some(visits) = &mut self.visits {
            visits[user as usize].push(asking.visit);
        }
        self.give(user);
    }

    /// Gives a user's next files to its free connections; to an open one if there is any.
    #[inline]
    fn give(&mut self, number: u32) {
        let first = (number * self.parallel) as usize;
        loop {
            let user = &mut self.users[number as usize];
            let files = user.fetches.len() as u32;
            // What a page shows is known when the page is there.
            if user.given == files || (user.given > 0 && user.done == 0) {
                return;
            }
            let mine = &mut self.lanes[first..first + self.parallel as usize];
            let open = mine.iter().position(|lane| lane.open && lane.stage == Stage::Free);
            let free = || mine.iter().position(|lane| lane.stage == Stage::Free);
            let Some(place) = open.or_else(free) else { return };
            mine[place].stage = Stage::UnderWay;
            mine[place].file = user.given;
            let gap = user.fetches[user.given as usize].gap;
            user.given += 1;
            self.files_asked += 1;
            let lane = first as u32 + place as u32;
            if gap == Span::ZERO { self.ask(lane) } else { self.later(self.now + gap, EventKind::Asks, lane) }
        }
    }

    /// A user asks for a file over a connection, which it opens if need be.
    #[inline]
    fn ask(&mut self, lane: u32) {
        let user = self.user_of(lane);
        let connection = &mut self.lanes[lane as usize];
        connection.asked = self.now;
        let open = connection.open;
        let patience = self.users[user as usize].fetches[connection.file as usize].request.patience;
        if patience != Span::FOREVER {
            self.later(self.now + patience, EventKind::GivesUp, lane);
        }
        let mut at = self.now + self.delays.there;
        if self.balancer_cores.is_none() {
            at += self.delays.inbound + if open { Span::ZERO } else { self.delays.connection };
        }
        self.later(at, if open { EventKind::Requests } else { EventKind::Opens }, lane);
    }

    /// A connection's first packet is at the balancer.
    fn opens(&mut self, lane: u32) {
        let user = self.user_of(lane);
        let class = self.class_of(lane);
        let (now, level) = (self.now, self.level);
        if std::mem::take(&mut self.users[user as usize].session_over) {
            self.detach(user);
        }
        let browsing = &mut self.users[user as usize];
        let server = match level {
            Level::Session if browsing.server != NOWHERE => browsing.server,
            Level::Request => NOWHERE,
            Level::Session | Level::Connection => match &mut self.balancer {
                Some(balancer) => balancer
                    .choose(Asked { client: user, class, object: 0 }, &[], now)
                    .map_or(NOWHERE, |choice| choice.server),
                None => 0,
            },
        };
        match self.attachment {
            Attached::Session | Attached::UntilNext if browsing.server == NOWHERE && server != NOWHERE => {
                (browsing.server, browsing.chosen, browsing.bytes) = (server, now, 0);
                self.attached.enter(server, now);
            }
            Attached::WhileConnected
                if level == Level::Connection && server != NOWHERE && !self.is_at(user, server) =>
            {
                self.attached.enter(server, now);
            }
            _ => {}
        }
        let window = self.network.tcp.initial_window;
        let connection = &mut self.lanes[lane as usize];
        connection.open = true;
        (connection.server, connection.chosen, connection.bytes, connection.window) = (server, now, 0, window);
        if server != NOWHERE {
            self.open.enter(server, now);
        }
        let round = self.delays.back + self.delays.there;
        let at = match &mut self.balancer_cores {
            // Two packets come in to set a connection up; behind NAT one goes out.
            Some(balancer_cores) => {
                let packets = if self.balancing.mode.is_two_way() { 3 } else { 2 };
                balancer_cores.work(now, self.balancing.per_connection + self.balancing.per_packet * packets) + round
            }
            None => now + round + self.delays.outbound + self.delays.inbound,
        };
        self.later(at, EventKind::Requests, lane);
    }

    /// A request is at the balancer.
    #[inline]
    fn requests(&mut self, lane: u32) {
        if self.level == Level::Request {
            self.choose_for_request(lane);
        }
        match &mut self.balancer_cores {
            None => self.at_server(lane),
            Some(balancer_cores) => {
                let done = balancer_cores.work(self.now, self.balancing.per_packet);
                // In a tunnel the packet is longer on its way on.
                let rest = self.delays.inbound - self.balancing.per_packet;
                self.later(done + rest, EventKind::Served, lane);
            }
        }
    }

    fn choose_for_request(&mut self, lane: u32) {
        let (user, class, now) = (self.user_of(lane), self.class_of(lane), self.now);
        let balancer = self.balancer.as_mut().expect("choices are made by a balancer");
        let server =
            balancer.choose(Asked { client: user, class, object: 0 }, &[], now).map_or(NOWHERE, |choice| choice.server);
        if server != NOWHERE {
            if !self.is_at(user, server) {
                self.attached.enter(server, now);
            }
            self.open.enter(server, now);
        }
        let connection = &mut self.lanes[lane as usize];
        (connection.server, connection.inside) = (server, server != NOWHERE);
    }

    /// A request is at its server.
    #[inline]
    fn at_server(&mut self, lane: u32) {
        let now = self.now;
        let user = self.user_of(lane);
        let connection = &mut self.lanes[lane as usize];
        connection.sent = now;
        let server = connection.server;
        if server == NOWHERE {
            return self.refuse(lane);
        }
        let browsing = &mut self.users[user as usize];
        let request = &browsing.fetches[connection.file as usize].request;
        if connection.file == 0 {
            browsing.page_server = server;
        }
        let host = &mut self.servers[server as usize];
        match &mut host.serves {
            Serves::Curve(curve) => {
                let served = now + curve.stay(self.attached.at(server));
                self.served(lane, served);
            }
            Serves::Station(station) => {
                let service = host.model.service_time(request.demand);
                let admission = station.arrive_of(request.class, now, u64::from(lane), service);
                self.timers.set(server as usize, station.next_departure());
                match admission {
                    Admission::Admitted(ticket) => (connection.stage, connection.ticket) = (Stage::AtStation, ticket),
                    Admission::Denied => self.refuse(lane),
                }
            }
        }
    }

    /// A job departs from a station.
    fn depart(&mut self, server: usize) {
        let Serves::Station(station) = &mut self.servers[server].serves else {
            unreachable!("only stations have timers");
        };
        let departure = station.depart(self.now).expect("the timer is the station's next departure");
        self.timers.set(server, station.next_departure());
        if departure.job != POLL {
            self.served(departure.job as u32, self.now);
        }
    }

    /// A server will have done its work on a request at `done`, and replies.
    #[inline]
    fn served(&mut self, lane: u32, done: Time) {
        let user = self.user_of(lane) as usize;
        let connection = &mut self.lanes[lane as usize];
        connection.stage = Stage::UnderWay;
        let (file, window) = (connection.file, connection.window);
        let size = self.users[user].fetches[file as usize].request.size;
        match self.feedback.first_byte {
            FirstByte::Untold => {}
            FirstByte::AtBalancer => self.later(done, EventKind::FirstByte, lane),
            FirstByte::AtUser if file > 0 => {}
            FirstByte::AtUser => {
                let segment = self.network.transmission(size.min(self.network.tcp.segment));
                self.later(done + segment + self.delays.back + self.delays.outbound, EventKind::FirstByte, lane);
            }
        }
        let Delays { nominal_rate, round_trip, .. } = self.delays;
        let tcp = &self.network.tcp;
        let (mut stall, window) = tcp.stall(window, size, nominal_rate, round_trip);
        if tcp.timeouts > 0.0 && self.users[user].losses.uniform() < tcp.timeouts {
            stall += tcp.timeout;
        }
        self.lanes[lane as usize].window = window;
        self.later(done + stall, EventKind::Replies, lane);
    }

    /// The first byte of a reply is seen, at the balancer or at the user.
    fn first_byte(&mut self, lane: u32) {
        let Lane { server, sent, .. } = self.lanes[lane as usize];
        let balancer = self.balancer.as_mut().expect("only a balancer looks for first bytes");
        balancer.first_byte(Choice { dispatcher: 0, server }, self.now - sent, self.now);
    }

    /// A reply enters the links.
    #[inline]
    fn replies(&mut self, lane: u32) {
        let user = self.user_of(lane);
        let connection = &mut self.lanes[lane as usize];
        let size = self.users[user as usize].fetches[connection.file as usize].request.size;
        match &mut self.flows {
            Some(flows) => {
                connection.stage = Stage::Flowing;
                flows.start(self.now, user, lane % self.parallel, connection.server, size);
            }
            None => self.sent(lane),
        }
    }

    /// The last byte of a reply is sent.
    #[inline]
    fn sent(&mut self, lane: u32) {
        let now = self.now;
        let user = self.user_of(lane);
        let connection = &mut self.lanes[lane as usize];
        let Lane { server, sent, file, .. } = *connection;
        let browsing = &mut self.users[user as usize];
        let size = browsing.fetches[file as usize].request.size;
        connection.bytes += size;
        browsing.bytes += size;
        (connection.inside, connection.stage) = (false, Stage::Returning);
        self.bytes_sent += size;
        self.tally.sent(server, size);
        let choice = Choice { dispatcher: 0, server };
        if self.level == Level::Request {
            self.leave_server(lane);
            let balancer = self.balancer.as_mut().expect("choices are made by a balancer");
            balancer.completed(choice, size, now - sent, now);
        } else if self.feedback.bytes {
            let balancer = self.balancer.as_mut().expect("only a balancer feedback");
            balancer.transmitted(choice, size, now);
        }
        self.later(now + self.delays.back + self.delays.outbound, EventKind::Received, lane);
    }

    /// A request that was chosen a server for is over there.
    fn leave_server(&mut self, lane: u32) {
        let server = self.lanes[lane as usize].server;
        self.open.leave(server, self.now);
        if !self.is_at(self.user_of(lane), server) {
            self.attached.leave(server, self.now);
        }
    }

    /// No server takes a request: an empty reply goes back.
    fn refuse(&mut self, lane: u32) {
        let connection = &mut self.lanes[lane as usize];
        let Lane { server, sent, .. } = *connection;
        if std::mem::take(&mut connection.inside) {
            self.leave_server(lane);
            let balancer = self.balancer.as_mut().expect("choices are made by a balancer");
            balancer.failed(Choice { dispatcher: 0, server }, self.now - sent, self.now);
        }
        self.later(self.now + self.delays.back + self.delays.outbound, EventKind::Received, lane);
    }

    /// A user has a file, or knows that it will not get it: then the object is over.
    #[inline]
    fn received(&mut self, lane: u32) {
        let now = self.now;
        let user = self.user_of(lane);
        let connection = &mut self.lanes[lane as usize];
        let browsing = &mut self.users[user as usize];
        let had = connection.stage == Stage::Returning;
        connection.stage = Stage::Free;
        connection.generation = connection.generation.wrapping_add(1);
        browsing.done += 1;
        self.files_done += 1;
        if had {
            self.bytes_had += browsing.fetches[connection.file as usize].request.size;
            self.tally.file(connection.asked, now, connection.file == 0);
        }
        match self.keep_alive {
            None => self.close(lane, false),
            Some(keep_alive) => {
                connection.idle_since = now;
                if !connection.watched {
                    connection.watched = true;
                    self.calendar.add(now + keep_alive, EventKind::Idle, lane, 0);
                }
            }
        }
        let browsing = &self.users[user as usize];
        if !had {
            self.drop_files(user);
            self.tally.refused();
            self.end_object(user, false);
        } else if browsing.done as usize == browsing.fetches.len() {
            self.complete(user);
        } else {
            self.give(user);
        }
    }

    /// An object is complete.
    fn complete(&mut self, user: u32) {
        let browsing = &self.users[user as usize];
        let asked = browsing.asked.expect("an object was asked for before it is complete");
        self.tally.object(asked, self.now, browsing.page_server);
        self.end_object(user, true);
    }

    /// A user's patience with one of its files is at an end, and so is the object.
    fn give_up(&mut self, user: u32) {
        self.drop_files(user);
        self.tally.abandoned();
        self.end_object(user, false);
    }

    /// An object ends; after the last one of a session its user closes all connections. Then it thinks.
    fn end_object(&mut self, user: u32, complete: bool) {
        let browsing = &mut self.users[user as usize];
        let asked = browsing.asked.take().expect("an object was asked for before it ends");
        let (server, last) = (browsing.page_server, browsing.visit.last);
        self.ledger.leave(asked, self.now);
        if complete {
            self.ledger.completed()
        } else {
            self.ledger.lost()
        }
        if last {
            self.end_session(user);
        }
        let penalty = if complete { self.denied(user, server) } else { Span::ZERO };
        self.think(user, penalty);
    }

    /// A user wants none of the files that it has asked for and not had; their connections break.
    fn drop_files(&mut self, user: u32) {
        for lane in user * self.parallel..(user + 1) * self.parallel {
            let connection = &mut self.lanes[lane as usize];
            let Lane { stage, server, ticket, file, .. } = *connection;
            if stage == Stage::Free {
                continue;
            }
            connection.stage = Stage::Free;
            connection.generation = connection.generation.wrapping_add(1);
            self.files_dropped += 1;
            let inside = std::mem::take(&mut connection.inside);
            match stage {
                Stage::AtStation => {
                    let Serves::Station(station) = &mut self.servers[server as usize].serves else {
                        unreachable!("only a station is where files wait");
                    };
                    station.cancel(self.now, ticket);
                    self.timers.set(server as usize, station.next_departure());
                }
                Stage::Flowing => {
                    let flows = self.flows.as_mut().expect("files flow in links");
                    flows.cancel(self.now, user, lane % self.parallel);
                }
                Stage::Returning => {
                    self.bytes_lost += self.users[user as usize].fetches[file as usize].request.size;
                }
                Stage::UnderWay | Stage::Free => {}
            }
            if inside {
                self.leave_server(lane);
                let balancer = self.balancer.as_mut().expect("choices are made by a balancer");
                balancer.cancelled(Choice { dispatcher: 0, server }, self.now);
            }
            if self.lanes[lane as usize].open {
                self.close(lane, true);
            }
        }
    }

    fn end_session(&mut self, user: u32) {
        for lane in user * self.parallel..(user + 1) * self.parallel {
            if self.lanes[lane as usize].open {
                self.close(lane, false);
            }
        }
        match self.attachment {
            Attached::Session => self.detach(user),
            Attached::UntilNext => self.users[user as usize].session_over = true,
            Attached::WhileConnected => {}
        }
    }

    /// A user leaves the server where its session began.
    fn detach(&mut self, user: u32) {
        let browsing = &mut self.users[user as usize];
        let (server, chosen, bytes) = (browsing.server, browsing.chosen, browsing.bytes);
        if server == NOWHERE {
            return; // no server took it
        }
        browsing.server = NOWHERE;
        self.attached.leave(server, self.now);
        if let (Level::Session, Some(balancer)) = (self.level, &mut self.balancer) {
            balancer.completed(Choice { dispatcher: 0, server }, bytes, self.now - chosen, self.now);
        }
    }

    /// Whether the user was denied after an object, and what that costs.
    fn denied(&mut self, user: u32, server: u32) -> Span {
        let Serves::Curve(curve) = &self.servers[server as usize].serves else { return Span::ZERO };
        let Some(denied) = &curve.denied else { return Span::ZERO };
        // Drawn whatever the share is, so that a user's draws do not depend on the others.
        let draw = self.users[user as usize].denials.uniform();
        if draw >= curve.denied_share(self.attached.at(server)) {
            return Span::ZERO;
        }
        self.tally.denied();
        denied.penalty
    }

    /// A connection closes, on whichever side; or breaks, when its file is given up.
    fn close(&mut self, lane: u32, breaks: bool) {
        let now = self.now;
        let user = self.user_of(lane);
        let connection = &mut self.lanes[lane as usize];
        let Lane { server, chosen, bytes, .. } = *connection;
        connection.open = false;
        if server == NOWHERE || self.level == Level::Request {
            return;
        }
        self.open.leave(server, now);
        if self.level == Level::Connection {
            if self.attachment == Attached::WhileConnected && !self.is_at(user, server) {
                self.attached.leave(server, now);
            }
            let balancer = self.balancer.as_mut().expect("choices are made by a balancer");
            let choice = Choice { dispatcher: 0, server };
            if breaks {
                balancer.cancelled(choice, now);
            } else {
                balancer.completed(choice, bytes, now - chosen, now);
            }
        }
    }

    /// Closes a connection that has been idle for too long, or looks at it again when it may have been.
    fn look_after(&mut self, lane: u32) {
        let keep_alive = self.keep_alive.expect("only persistent connections are looked after");
        let connection = &mut self.lanes[lane as usize];
        let until = connection.idle_since + keep_alive;
        connection.watched = false;
        if !connection.open || connection.stage != Stage::Free {
            return; // it is watched again when it is idle
        }
        if until <= self.now {
            self.close(lane, false);
        } else {
            connection.watched = true;
            self.calendar.add(until, EventKind::Idle, lane, 0);
        }
    }

    /// The balancer asks servers for their load.
    fn poll(&mut self) {
        let balancer = self.balancer.as_mut().expect("only a balancer has deadlines");
        let polled = &mut self.polled;
        balancer.poll(self.now, |server| {
            polled.push(server as u32);
            None
        });
        let mut asked = self.now;
        for place in 0..self.polled.len() {
            let server = self.polled[place];
            if let Some(balancer_cores) = &mut self.balancer_cores {
                asked = balancer_cores.work(self.now, self.balancing.per_packet * 2);
            }
            self.calendar.add(asked + self.delays.there, EventKind::Counts, server, 0);
        }
        self.polled.clear();
    }

    /// A server counts those it has, which is work to a station.
    fn count(&mut self, server: u32) {
        let (now, place) = (self.now, server as usize);
        if let (Serves::Station(station), true) = (&mut self.servers[place].serves, self.poll_cost > Span::ZERO) {
            // A station that is full counts without taking on the work.
            let _ = station.arrive(now, POLL, self.poll_cost);
            self.timers.set(place, station.next_departure());
        }
        let count = match self.level {
            Level::Session => self.attached.at(server),
            Level::Connection | Level::Request => self.open.at(server),
        };
        self.reports[place].push_back((count, now));
        self.calendar.add(now + self.delays.back, EventKind::Reports, server, 0);
    }

    /// Its answer is at the balancer.
    fn report(&mut self, server: u32) {
        let (count, measured) = self.reports[server as usize].pop_front().expect("an answer was counted");
        let balancer = self.balancer.as_mut().expect("only a balancer asks");
        balancer.reported(server, count, measured, self.now);
    }

    /// Finds what the balancer's cores leave to replies.
    fn share_the_cores(&mut self) {
        let balancer_cores = self.balancer_cores.as_mut().expect("only cores that are counted have windows");
        let left = balancer_cores.reply_rate(&self.balancing, &self.network.tcp);
        if let (Some(left), Some(flows)) = (left, &mut self.flows) {
            flows.set_shared_rate(self.now, self.network.shared_rate().map_or(left, |shared| shared.min(left)));
        }
    }

    /// Whether a user has a connection (or a request, where choices are made for them) at `server`.
    fn is_at(&self, user: u32, server: u32) -> bool {
        let lanes = &self.lanes[(user * self.parallel) as usize..((user + 1) * self.parallel) as usize];
        let counts = |lane: &Lane| if self.level == Level::Request { lane.inside } else { lane.open };
        lanes.iter().any(|lane| lane.server == server && counts(lane))
    }

    #[inline]
    fn user_of(&self, lane: u32) -> u32 {
        lane / self.parallel
    }

    fn class_of(&self, lane: u32) -> u8 {
        let file = self.lanes[lane as usize].file;
        self.users[self.user_of(lane) as usize].fetches[file as usize].request.class
    }

    /// Asserts the conservation laws.
    fn settle_books(&self) {
        self.ledger.assert_balanced(self.now, self.users.iter().filter_map(|user| user.asked));
        let busy = self.lanes.iter().filter(|lane| lane.stage != Stage::Free).count() as u64;
        assert_eq!(self.files_asked, self.files_done + self.files_dropped + busy, "files are neither made nor lost");
        let size = |(number, lane): (usize, &Lane)| {
            self.users[self.user_of(number as u32) as usize].fetches[lane.file as usize].request.size
        };
        let returning: u64 =
            self.lanes.iter().enumerate().filter(|(_, lane)| lane.stage == Stage::Returning).map(size).sum();
        assert_eq!(self.bytes_sent, self.bytes_had + self.bytes_lost + returning, "bytes are neither made nor lost");
        if let Some(flows) = &self.flows {
            flows.assert_balanced();
            let flowing = self.lanes.iter().filter(|lane| lane.stage == Stage::Flowing).count();
            assert_eq!(flows.under_way() as usize, flowing, "a flow is of a file that was asked for");
        }
        for server in 0..self.servers.len() as u32 {
            let there = |lane: &&Lane| {
                lane.server == server && if self.level == Level::Request { lane.inside } else { lane.open }
            };
            let open = self.lanes.iter().filter(there).count();
            assert_eq!(self.open.at(server) as usize, open, "connections that are open are counted");
            let attached = match self.attachment {
                Attached::WhileConnected => {
                    (0..self.users.len() as u32).filter(|user| self.is_at(*user, server)).count()
                }
                Attached::Session | Attached::UntilNext => {
                    self.users.iter().filter(|user| user.server == server).count()
                }
            };
            assert_eq!(self.attached.at(server) as usize, attached, "users that are attached are counted");
            if let Serves::Station(station) = &self.servers[server as usize].serves {
                let most = u128::from(self.now.0) * u128::from(self.servers[server as usize].model.cores);
                assert!(u128::from(station.busy(self.now).0) <= most, "a server spent more core time than it has");
            }
        }
    }
}

impl Host {
    fn new(server: &Server) -> Host {
        let serves = match &server.discipline {
            Discipline::DelayCurve(curve) => Serves::Curve(Arc::clone(curve)),
            discipline => Serves::Station(Station::new(discipline.clone(), server.cores, server.capacity)),
        };
        Host { model: server.clone(), serves }
    }
}

fn new_user(sessions: &Sessions, user: u32, seed: u64, demand: &Arc<dyn Demand>) -> User {
    User {
        visitor: Visitor::new(sessions, user, seed, Arc::clone(demand)),
        fetches: Vec::new(),
        visit: Visit { think: Span::ZERO, page: 0, first: true, last: true },
        given: 0,
        done: 0,
        asked: None,
        server: NOWHERE,
        page_server: NOWHERE,
        chosen: Time::ZERO,
        bytes: 0,
        session_over: false,
        losses: Stream::new(seed, &format!("user {user}"), "losses"),
        denials: Stream::new(seed, &format!("user {user}"), "denials"),
    }
}
