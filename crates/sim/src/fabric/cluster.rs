//! The fabric of users who browse: connections, what their files wait for, and the servers.
//!
//! Who chooses a server, and what that one learns, is the [`Routing`]'s. All else is here: the packets' delays and the
//! balancer's cores, servers as stations or delay curves, TCP's stalls, flows in shared links, the users attached to each
//! server and its open connections. What takes how long is in the module of the users (`sessions`).
//!
//! Asserted at every pause: bits carried by the links = bits of the flows; and those attached and open at each server are
//! those that users and connections say.

mod balancer_cores;
mod occupancy;
mod one_tier;
mod polls;
mod routing;
mod tiers;

use std::collections::VecDeque;
use std::sync::Arc;

use sojourn_dispatch::Catalogue;
use sojourn_model::system::{Attachment, Face, Target, Tier};
use sojourn_model::{
    Admission, Balancing, ClusterNetwork, DelayCurve, Discipline, Flows, Mode, Server, Station, System,
};
use sojourn_stats::{Span, Stream, Time};
use sojourn_traffic::Sessions;

use self::balancer_cores::BalancerCores;
use self::occupancy::Occupancy;
pub(crate) use self::one_tier::OneTier;
use self::polls::POLL;
use self::routing::FirstByte;
pub(crate) use self::routing::Routing;
pub(crate) use self::tiers::Tiers;
use crate::balancer::Asked;
use crate::control::SimError;
use crate::engine::Fabric;
use crate::sessions::connections::{Connected, Cx, Files, Lane, NOWHERE, Stage, What};
use crate::timers::Timers;

/// Connections to servers.
pub(crate) struct Cluster<R> {
    routing: R,
    attachment: Attachment,
    delays: Delays,
    network: ClusterNetwork,
    balancing: Balancing,
    balancer_cores: Option<BalancerCores>,
    servers: Vec<Server>,
    serves: Vec<Serves>,
    timers: Timers,
    flows: Option<Flows>,
    users: Vec<User>,
    /// Users attached to each server.
    attached: Occupancy,
    /// Connections open at each server; requests inside, where choices are made for them.
    open: Occupancy,
    /// What was counted for polls that are on their way, by their number, oldest first: (count, when).
    reports: Vec<VecDeque<(u32, Time)>>,
    /// Polls that are due; kept so that a poll allocates nothing.
    polled: Vec<u32>,
}

/// What a server is.
#[allow(clippy::large_enum_variant, reason = "there are few servers, and a station is what most of them are")]
enum Serves {
    Station(Station),
    Curve(Arc<DelayCurve>),
}

/// What the system knows of a user.
struct User {
    /// The server where the present session began, while users are attached for sessions.
    server: u32,
    /// The session has ended, and its user is attached to its server until the next has one.
    session_over: bool,
    /// What decides whether a reply waits for a timeout.
    losses: Stream,
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

impl<R: Routing> Cluster<R> {
    /// The servers of `system` and the users of `sessions`, with policies of `catalogue` and random streams of this seed.
    pub(crate) fn new(
        system: &System,
        sessions: &Sessions,
        catalogue: &Catalogue,
        seed: u64,
    ) -> Result<Cluster<R>, SimError> {
        let routing = R::new(system, sessions, catalogue, seed)?;
        let network = &system.network;
        let count = system.hosts.len();
        // Where there are several tiers, what passing one takes is refused.
        let balancing = forwarding(system).next().map_or(Balancing::free(Mode::Nat), |tier| tier.balancing);
        let shared = [network.shared_rate(), balancing.reply_rate(&network.tcp, 1.0)];
        let shared = shared.into_iter().flatten().reduce(f64::min);
        let finite = [network.client_rate, network.server_rate, shared].iter().any(Option::is_some);
        let flows = finite.then(|| {
            let (users, parallel) = (sessions.users, sessions.parallel);
            Flows::new(users, parallel, count as u32, network.client_rate, network.server_rate, shared)
        });
        let user = |user| User {
            server: NOWHERE,
            session_over: false,
            losses: Stream::new(seed, &format!("user {user}"), "losses"),
        };
        let half = Span(network.rtt.0 / 2);
        Ok(Cluster {
            attachment: innermost(system).map_or(Attachment::Session, |tier| tier.attachment),
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
            balancer_cores: BalancerCores::new(&balancing),
            servers: system.servers().cloned().collect(),
            serves: system.servers().map(Serves::new).collect(),
            timers: Timers::new(count),
            flows,
            users: (0..sessions.users).map(user).collect(),
            attached: Occupancy::new(count),
            open: Occupancy::new(count),
            reports: vec![VecDeque::new(); routing.polls()],
            polled: Vec::new(),
            routing,
        })
    }

    /// A connection's first packet is at the balancer.
    fn opens(&mut self, number: u32, cx: &mut Cx) {
        let now = cx.now;
        let user = cx.jobs.user_of(number);
        if std::mem::take(&mut self.users[user as usize].session_over) {
            self.detach(user, now);
        }
        let server = self.routing.opens(number, asked(user, cx.jobs.lane(number)), now);
        let began = &mut self.users[user as usize].server;
        match self.attachment {
            _ if server == NOWHERE => {}
            Attachment::Session | Attachment::UntilNext if *began == NOWHERE => {
                *began = server;
                self.attached.enter(server, now);
            }
            Attachment::WhileConnected if !self.is_at(user, server, cx) => self.attached.enter(server, now),
            _ => {}
        }
        let window = self.network.tcp.initial_window;
        let lane = cx.jobs.lane(number);
        lane.open = true;
        (lane.server, lane.chosen, lane.bytes, lane.window) = (server, now, 0, window);
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
        cx.later(at, What::Requests, number);
    }

    /// A request is at the balancer.
    #[inline]
    fn requests(&mut self, number: u32, cx: &mut Cx) {
        if self.routing.is_per_request() {
            self.choose_for_request(number, cx);
        }
        match &mut self.balancer_cores {
            None => self.at_server(number, cx),
            Some(balancer_cores) => {
                let done = balancer_cores.work(cx.now, self.balancing.per_packet);
                // In a tunnel the packet is longer on its way on.
                let rest = self.delays.inbound - self.balancing.per_packet;
                cx.later(done + rest, What::Served, number);
            }
        }
    }

    fn choose_for_request(&mut self, number: u32, cx: &mut Cx) {
        let now = cx.now;
        let user = cx.jobs.user_of(number);
        let server = self.routing.requests(number, asked(user, cx.jobs.lane(number)), now);
        if server != NOWHERE {
            if !self.is_at(user, server, cx) {
                self.attached.enter(server, now);
            }
            self.open.enter(server, now);
        }
        let lane = cx.jobs.lane(number);
        (lane.server, lane.inside) = (server, server != NOWHERE);
    }

    /// A request is at its server.
    #[inline]
    fn at_server(&mut self, number: u32, cx: &mut Cx) {
        let now = cx.now;
        let lane = cx.jobs.lane(number);
        lane.sent = now;
        let server = lane.server;
        if server == NOWHERE {
            return self.refuse(number, cx);
        }
        match &mut self.serves[server as usize] {
            Serves::Curve(curve) => {
                let served = now + curve.stay(self.attached.at(server));
                self.served(number, served, cx);
            }
            Serves::Station(station) => {
                let service = self.servers[server as usize].service_time(lane.demand);
                let admission = station.arrive_of(lane.class, now, u64::from(number), service);
                self.timers.set(server as usize, station.next_departure());
                match admission {
                    Admission::Admitted(ticket) => (lane.stage, lane.ticket) = (Stage::AtStation, ticket),
                    Admission::Denied => self.refuse(number, cx),
                }
            }
        }
    }

    /// A server will have done its work on a request at `done`, and replies.
    #[inline]
    fn served(&mut self, number: u32, done: Time, cx: &mut Cx) {
        let lane = cx.jobs.lane(number);
        lane.stage = Stage::UnderWay;
        let Lane { file, size, window, .. } = *lane;
        match self.routing.first_byte_seen() {
            FirstByte::Unread => {}
            FirstByte::AtBalancer => cx.later(done, What::FirstByte, number),
            FirstByte::AtUser if file > 0 => {}
            FirstByte::AtUser => {
                let segment = self.network.transmission(size.min(self.network.tcp.segment));
                cx.later(done + segment + self.delays.back + self.delays.outbound, What::FirstByte, number);
            }
        }
        let Delays { nominal_rate, round_trip, .. } = self.delays;
        let tcp = &self.network.tcp;
        let (mut stall, window) = tcp.stall(window, size, nominal_rate, round_trip);
        if tcp.timeouts > 0.0 {
            let user = cx.jobs.user_of(number) as usize;
            if self.users[user].losses.uniform() < tcp.timeouts {
                stall += tcp.timeout;
            }
        }
        cx.jobs.lane(number).window = window;
        cx.later(done + stall, What::Replies, number);
    }

    /// A reply enters the links.
    #[inline]
    fn replies(&mut self, number: u32, cx: &mut Cx) {
        match &mut self.flows {
            Some(flows) => {
                let (user, parallel) = (cx.jobs.user_of(number), cx.jobs.parallel);
                let lane = cx.jobs.lane(number);
                lane.stage = Stage::Flowing;
                flows.start(cx.now, user, number % parallel, lane.server, lane.size);
            }
            None => self.sent(number, cx),
        }
    }

    /// The last byte of a reply is sent.
    #[inline]
    fn sent(&mut self, number: u32, cx: &mut Cx) {
        let now = cx.now;
        let user = cx.jobs.user_of(number);
        let lane = cx.jobs.lane(number);
        lane.bytes += lane.size;
        (lane.inside, lane.stage) = (false, Stage::Returning);
        let lane = *lane;
        cx.jobs.bytes_sent += lane.size;
        cx.tally.sent(lane.server, lane.size);
        if self.routing.is_per_request() {
            self.leave_server(number, cx);
        }
        self.routing.sent(number, user, &lane, now);
        cx.later(now + self.delays.back + self.delays.outbound, What::Received, number);
    }

    /// A request that a server was chosen for is over there.
    fn leave_server(&mut self, number: u32, cx: &mut Cx) {
        let server = cx.jobs.lane(number).server;
        self.open.leave(server, cx.now);
        if !self.is_at(cx.jobs.user_of(number), server, cx) {
            self.attached.leave(server, cx.now);
        }
    }

    /// No server takes a request: an empty reply goes back.
    fn refuse(&mut self, number: u32, cx: &mut Cx) {
        if std::mem::take(&mut cx.jobs.lane(number).inside) {
            self.leave_server(number, cx);
            self.routing.failed(number, cx.jobs.lane(number), cx.now);
        }
        cx.later(cx.now + self.delays.back + self.delays.outbound, What::Received, number);
    }

    /// A user leaves the server where its session began.
    fn detach(&mut self, user: u32, now: Time) {
        let server = std::mem::replace(&mut self.users[user as usize].server, NOWHERE);
        if server != NOWHERE {
            self.attached.leave(server, now);
        }
        self.routing.session_ended(user, now);
    }

    /// Finds what the balancer's cores leave to replies.
    fn share_the_cores(&mut self, now: Time) {
        let balancer_cores = self.balancer_cores.as_mut().expect("only cores that are counted have windows");
        let left = balancer_cores.reply_rate(&self.balancing, &self.network.tcp);
        if let (Some(left), Some(flows)) = (left, &mut self.flows) {
            flows.set_shared_rate(now, self.network.shared_rate().map_or(left, |shared| shared.min(left)));
        }
    }

    /// Whether a user has a connection (or a request, where choices are made for them) at `server`.
    fn is_at(&self, user: u32, server: u32, cx: &Cx) -> bool {
        let lanes = cx.jobs.lanes_of(user);
        cx.jobs.lanes[lanes.start as usize..lanes.end as usize].iter().any(|lane| self.counts_at(lane, server))
    }

    /// Whether what a lane carries counts at `server`.
    #[inline]
    fn counts_at(&self, lane: &Lane, server: u32) -> bool {
        lane.server == server && if self.routing.is_per_request() { lane.inside } else { lane.open }
    }
}

impl<R: Routing> Fabric for Cluster<R> {
    type Traffic = Files;

    #[inline]
    fn deadline(&self) -> Time {
        let window = self.balancer_cores.as_ref().map_or(Time::NEVER, BalancerCores::window_end);
        self.routing.deadline().min(window)
    }

    #[inline]
    fn next_departure(&self) -> Time {
        self.timers.first_at().min(self.flows.as_ref().map_or(Time::NEVER, Flows::next_end))
    }

    fn meet_deadline(&mut self, cx: &mut Cx) {
        if self.routing.deadline() == cx.now { self.poll(cx) } else { self.share_the_cores(cx.now) }
    }

    /// A job departs from a station; else a flow ends.
    #[inline]
    fn depart(&mut self, cx: &mut Cx) {
        if self.timers.first_at() > cx.now {
            let (user, place) = self.flows.as_mut().and_then(|flows| flows.end(cx.now)).expect("a flow ends now");
            return self.sent(user * cx.jobs.parallel + place, cx);
        }
        let server = self.timers.first();
        let Serves::Station(station) = &mut self.serves[server] else { unreachable!("only stations have timers") };
        let departure = station.depart(cx.now).expect("the timer is the station's next departure");
        self.timers.set(server, station.next_departure());
        if departure.job != POLL {
            self.served(departure.job as u32, cx.now, cx);
        }
    }

    #[inline]
    fn enter(&mut self, number: u32, cx: &mut Cx) {
        let user = cx.jobs.user_of(number);
        let lane = cx.jobs.lane(number);
        let open = lane.open;
        if !open {
            self.routing.sets_out(number, asked(user, lane), cx.now);
        }
        let mut at = cx.now + self.delays.there;
        if self.balancer_cores.is_none() {
            at += self.delays.inbound + if open { Span::ZERO } else { self.delays.connection };
        }
        cx.later(at, if open { What::Requests } else { What::Opens }, number);
    }

    #[inline]
    fn fire(&mut self, what: What, entity: u32, cx: &mut Cx) {
        match what {
            What::Counts => self.count(entity, cx),
            What::Reports => self.report(entity, cx),
            What::Opens => self.opens(entity, cx),
            What::Requests => self.requests(entity, cx),
            What::Served => self.at_server(entity, cx),
            What::FirstByte => self.routing.first_byte(entity, cx.jobs.lane(entity), cx.now),
            What::Replies => self.replies(entity, cx),
            other => unreachable!("users take {other:?}"),
        }
    }

    fn cancel(&mut self, number: u32, cx: &mut Cx) {
        let lane = cx.jobs.lane(number);
        let inside = std::mem::take(&mut lane.inside);
        let Lane { stage, server, ticket, size, .. } = *lane;
        match stage {
            Stage::AtStation => {
                let Serves::Station(station) = &mut self.serves[server as usize] else {
                    unreachable!("only a station is where files wait");
                };
                station.cancel(cx.now, ticket);
                self.timers.set(server as usize, station.next_departure());
            }
            Stage::Flowing => {
                let flows = self.flows.as_mut().expect("files flow in links");
                flows.cancel(cx.now, cx.jobs.user_of(number), number % cx.jobs.parallel);
            }
            Stage::Returning => cx.jobs.bytes_lost += size,
            Stage::UnderWay | Stage::Free => {}
        }
        if inside {
            self.leave_server(number, cx);
            self.routing.cancelled(number, cx.jobs.lane(number), cx.now);
        }
    }

    fn servers(&self) -> &[Server] {
        &self.servers
    }

    fn busy(&self, now: Time) -> Vec<Span> {
        let spent = |serves: &Serves| match serves {
            Serves::Station(station) => station.busy(now),
            Serves::Curve(_) => Span::ZERO,
        };
        self.serves.iter().map(spent).collect()
    }

    fn restart(&mut self, now: Time) {
        self.attached.restart(now);
        self.open.restart(now);
    }

    fn assert_balanced(&self, cx: &Cx) {
        let lanes = &cx.jobs.lanes;
        if let Some(flows) = &self.flows {
            flows.assert_balanced();
            let flowing = lanes.iter().filter(|lane| lane.stage == Stage::Flowing).count();
            assert_eq!(flows.under_way() as usize, flowing, "a flow is of a file that was asked for");
        }
        for server in 0..self.servers.len() as u32 {
            let open = lanes.iter().filter(|lane| self.counts_at(lane, server)).count();
            assert_eq!(self.open.at(server) as usize, open, "connections that are open are counted");
            let attached = match self.attachment {
                Attachment::WhileConnected => {
                    (0..self.users.len() as u32).filter(|user| self.is_at(*user, server, cx)).count()
                }
                Attachment::Session | Attachment::UntilNext => {
                    self.users.iter().filter(|user| user.server == server).count()
                }
            };
            assert_eq!(self.attached.at(server) as usize, attached, "users that are attached are counted");
        }
    }
}

impl<R: Routing> Connected for Cluster<R> {
    fn close(&mut self, number: u32, breaks: bool, cx: &mut Cx) {
        let now = cx.now;
        let lane = cx.jobs.lane(number);
        lane.open = false;
        let lane = *lane;
        if lane.server != NOWHERE && !self.routing.is_per_request() {
            self.open.leave(lane.server, now);
            let user = cx.jobs.user_of(number);
            if self.attachment == Attachment::WhileConnected && !self.is_at(user, lane.server, cx) {
                self.attached.leave(lane.server, now);
            }
        }
        self.routing.closed(number, &lane, breaks, now);
    }

    fn end_session(&mut self, user: u32, cx: &mut Cx) {
        match self.attachment {
            Attachment::Session => self.detach(user, cx.now),
            Attachment::UntilNext => self.users[user as usize].session_over = true,
            Attachment::WhileConnected => self.routing.session_ended(user, cx.now),
        }
    }

    fn denial(&self, server: u32) -> Option<(f64, Span)> {
        let Serves::Curve(curve) = &self.serves[server as usize] else { return None };
        let denied = curve.denied.as_ref()?;
        Some((curve.denied_share(self.attached.at(server)), denied.penalty))
    }

    fn spent(&self, now: Time) -> (Vec<u64>, Vec<u64>) {
        (self.open.spent(now), self.attached.spent(now))
    }
}

impl Serves {
    fn new(server: &Server) -> Serves {
        match &server.discipline {
            Discipline::DelayCurve(curve) => Serves::Curve(Arc::clone(curve)),
            discipline => Serves::Station(Station::new(discipline.clone(), server.cores, server.capacity)),
        }
    }
}

/// The tiers that forward connections or requests: all but a DNS.
fn forwarding(system: &System) -> impl Iterator<Item = &Tier> {
    system.tiers.iter().filter(|tier| tier.face != Face::Dns)
}

/// The tier in front of the servers; none: users meet the only one.
pub(crate) fn innermost(system: &System) -> Option<&Tier> {
    system.tiers.iter().find(|tier| has_hosts(tier))
}

fn has_hosts(tier: &Tier) -> bool {
    targets(tier).any(|target| matches!(target, Target::Host(_)))
}

fn targets(tier: &Tier) -> impl Iterator<Item = &Target> {
    tier.seats.iter().flat_map(|seat| &seat.targets)
}

/// What a policy is asked about: it gets no paths of users who browse.
fn asked(user: u32, lane: &Lane) -> Asked {
    Asked { client: user, class: lane.class, ..Asked::default() }
}
