//! Several tiers in front of the servers of users who browse: each choice is held for what its tier says.
//!
//! | decided by | held | learns the end |
//! |---|---|---|
//! | DNS | until the TTL ends, by a resolver or a client; asked when a connection opens | never |
//! | a tier at level `session` | by the user, until its session ends | then |
//! | a tier at level `connection` | until the connection closes | then |
//! | a tier at level `request` | until the reply's last byte is sent | then |
//!
//! A connection's route is the stack of the choices that hold for it, the outermost first. Choices are made when a packet
//! comes to the first tier: passing the others takes no time. Users' connections end at the first tier whose choices are for
//! requests.

use sojourn_dispatch::{Catalogue, Signals};
use sojourn_model::System;
use sojourn_model::system::{Affinity, Face};
use sojourn_stats::{Span, Time};
use sojourn_traffic::Sessions;

use super::super::deciders::{Decider, Next, deciders};
use super::super::names::Names;
use super::forwarding;
use super::routing::{Counted, FirstByte, Routing};
use crate::balancer::{Asked, Balancer, Choice, signals};
use crate::control::SimError;
use crate::sessions::connections::{Lane, NOWHERE};

/// Deciders in front of servers.
pub(crate) struct Tiers {
    /// All seats of all tiers, tier by tier; the first is where connections come in.
    deciders: Vec<Decider>,
    /// Answers of the DNS that are held; none where the first tier is no DNS.
    names: Option<Names>,
    is_per_request: bool,
    first_byte: FirstByte,
    /// The choice that each user's session holds, by decider, then by user.
    held: Vec<Vec<Held>>,
    /// The route of each lane.
    routes: Vec<Stack>,
    /// The decider that sends a poll, and which of its targets it polls, by the poll's number; and each decider's first.
    polls: Vec<(u32, u32)>,
    first_polls: Vec<u32>,
}

/// A session's choice.
#[derive(Clone, Copy)]
struct Held {
    choice: Option<Choice>,
    chosen: Time,
    /// Bytes that the session has had from there.
    bytes: u64,
}

const NOTHING: Held = Held { choice: None, chosen: Time::ZERO, bytes: 0 };

/// The choices that hold for a connection.
#[derive(Clone, Default)]
struct Stack {
    /// Where the connection comes in, as the DNS says where there is one.
    entry: Option<Next>,
    legs: Vec<Leg>,
    /// Legs that hold as long as the connection; the others are the present request's.
    held: usize,
    /// Where the connection ends and requests are taken one by one.
    ends_at: Option<u32>,
}

/// A choice.
#[derive(Clone, Copy)]
struct Leg {
    decider: u32,
    choice: Choice,
}

impl Tiers {
    /// Follows the choices from `next` to a server; [`NOWHERE`] where one refuses, or where each request has a choice of
    /// its own and this is not `for_request`.
    fn follow(&mut self, number: u32, mut next: Next, asked: Asked, for_request: bool, now: Time) -> u32 {
        loop {
            let decider = match next {
                Next::Server(server) => return server,
                Next::Decider(decider) => decider,
            };
            let Decider { affinity, balancer, targets, .. } = &mut self.deciders[decider as usize];
            let route = &mut self.routes[number as usize];
            let choice = match *affinity {
                Affinity::Request if !for_request => {
                    route.ends_at = Some(decider);
                    return NOWHERE;
                }
                Affinity::Session => {
                    let held = &mut self.held[decider as usize][asked.client as usize];
                    if held.choice.is_none() {
                        *held = Held { choice: balancer.choose(asked, &[], now), chosen: now, bytes: 0 };
                    }
                    held.choice
                }
                Affinity::Connection | Affinity::Request => balancer.choose(asked, &[], now),
            };
            let Some(choice) = choice else { return NOWHERE };
            route.legs.push(Leg { decider, choice });
            next = targets[choice.server as usize];
        }
    }

    /// Gives the deciders of the present request a signal of it.
    fn signal_request(&mut self, number: u32, signal: impl Fn(&mut Balancer, Choice)) {
        let Stack { legs, held, .. } = &self.routes[number as usize];
        for leg in &legs[*held..] {
            signal(&mut self.deciders[leg.decider as usize].balancer, leg.choice);
        }
    }
}

impl Routing for Tiers {
    fn new(system: &System, sessions: &Sessions, catalogue: &Catalogue, seed: u64) -> Result<Tiers, SimError> {
        let deciders = deciders(system, true, catalogue, seed)?;
        let given =
            system.tiers.iter().flat_map(|tier| std::iter::repeat_n(signals(tier, &[], true), tier.seats.len()));
        let looks =
            deciders.iter().zip(given).map(|(decider, given)| FirstByte::new(decider.balancer.requires(), given));
        let looks: Vec<FirstByte> = looks.filter(|look| *look != FirstByte::Unread).collect();
        if looks.windows(2).any(|two| two[0] != two[1]) {
            return Err(SimError::NotYet("first bytes that one tier sees at itself, another at the user".into()));
        }
        let mut polls = Vec::new();
        let mut first_polls = Vec::new();
        for (number, decider) in deciders.iter().enumerate() {
            first_polls.push(polls.len() as u32);
            polls.extend((0..decider.targets.len() as u32).map(|target| (number as u32, target)));
        }
        let names = system.tiers.first().filter(|tier| tier.face == Face::Dns);
        let held = |decider: &Decider| match decider.affinity {
            Affinity::Session if decider.face != Face::Dns => vec![NOTHING; sessions.users as usize],
            _ => Vec::new(),
        };
        Ok(Tiers {
            names: names.map(|_| Names::new(system, &vec![0; sessions.users as usize])),
            is_per_request: forwarding(system).any(|tier| tier.affinity == Affinity::Request),
            first_byte: looks.first().copied().unwrap_or(FirstByte::Unread),
            held: deciders.iter().map(held).collect(),
            routes: vec![Stack::default(); sessions.users as usize * sessions.parallel as usize],
            deciders,
            polls,
            first_polls,
        })
    }

    fn is_per_request(&self) -> bool {
        self.is_per_request
    }

    /// The DNS is asked, or its answer is still held.
    fn sets_out(&mut self, number: u32, asked: Asked, now: Time) {
        let entry = match &mut self.names {
            None => self.deciders.first().map_or(Some(Next::Server(0)), |_| Some(Next::Decider(0))),
            Some(names) => {
                let dns = &mut self.deciders[0];
                let target = names.resolve(asked.client, now, |client| {
                    let target = dns.balancer.choose(Asked { client, ..asked }, &[], now)?.server;
                    Some((target, dns.ttl(client, target)))
                });
                target.map(|target| dns.targets[target as usize])
            }
        };
        self.routes[number as usize].entry = entry;
    }

    fn opens(&mut self, number: u32, asked: Asked, now: Time) -> u32 {
        let route = &mut self.routes[number as usize];
        route.legs.clear();
        route.ends_at = None;
        let server = match route.entry {
            Some(next) => self.follow(number, next, asked, false, now),
            None => NOWHERE,
        };
        let route = &mut self.routes[number as usize];
        route.held = route.legs.len();
        server
    }

    fn requests(&mut self, number: u32, asked: Asked, now: Time) -> u32 {
        let route = &mut self.routes[number as usize];
        route.legs.truncate(route.held);
        let Some(decider) = route.ends_at else { return NOWHERE };
        let server = self.follow(number, Next::Decider(decider), asked, true, now);
        if server == NOWHERE {
            self.signal_request(number, |balancer, choice| balancer.failed(choice, Span::ZERO, now));
        }
        server
    }

    fn first_byte_seen(&self) -> FirstByte {
        self.first_byte
    }

    fn first_byte(&mut self, number: u32, lane: &Lane, now: Time) {
        for leg in &self.routes[number as usize].legs {
            let balancer = &mut self.deciders[leg.decider as usize].balancer;
            if balancer.requires().intersects(Signals::FIRST_BYTE | Signals::CLIENT_FIRST_BYTE) {
                balancer.first_byte(leg.choice, now - lane.sent, now);
            }
        }
    }

    fn sent(&mut self, number: u32, user: u32, lane: &Lane, now: Time) {
        for &Leg { decider, choice } in &self.routes[number as usize].legs {
            let Decider { affinity, balancer, .. } = &mut self.deciders[decider as usize];
            if *affinity == Affinity::Session {
                self.held[decider as usize][user as usize].bytes += lane.size;
            }
            if *affinity == Affinity::Request {
                balancer.completed(choice, lane.size, now - lane.sent, now);
            } else if balancer.requires().contains(Signals::BYTES) {
                balancer.transmitted(choice, lane.size, now);
            }
        }
    }

    fn failed(&mut self, number: u32, lane: &Lane, now: Time) {
        self.signal_request(number, |balancer, choice| balancer.failed(choice, now - lane.sent, now));
    }

    fn cancelled(&mut self, number: u32, lane: &Lane, now: Time) {
        self.signal_request(number, |balancer, choice| balancer.cancelled(choice, now - lane.sent, now));
    }

    fn closed(&mut self, number: u32, lane: &Lane, breaks: bool, now: Time) {
        let route = &mut self.routes[number as usize];
        for Leg { decider, choice } in route.legs.drain(..) {
            let Decider { affinity, balancer, .. } = &mut self.deciders[decider as usize];
            match affinity {
                Affinity::Connection if breaks => balancer.cancelled(choice, now - lane.chosen, now),
                Affinity::Connection => balancer.completed(choice, lane.bytes, now - lane.chosen, now),
                Affinity::Session | Affinity::Request => {}
            }
        }
        route.held = 0;
    }

    fn session_ended(&mut self, user: u32, now: Time) {
        for (decider, held) in self.deciders.iter_mut().zip(&mut self.held) {
            let Some(held) = held.get_mut(user as usize) else { continue };
            let Held { choice, chosen, bytes } = std::mem::replace(held, NOTHING);
            if let Some(choice) = choice {
                decider.balancer.completed(choice, bytes, now - chosen, now);
            }
        }
    }

    fn deadline(&self) -> Time {
        self.deciders.iter().map(|decider| decider.balancer.deadline()).min().unwrap_or(Time::NEVER)
    }

    fn poll(&mut self, now: Time, polled: &mut Vec<u32>) {
        for (decider, first) in self.deciders.iter_mut().zip(&self.first_polls) {
            if decider.balancer.deadline() > now {
                continue;
            }
            decider.balancer.poll(now, |target| {
                polled.push(first + target as u32);
                None
            });
        }
    }

    fn polls(&self) -> usize {
        self.polls.len()
    }

    fn counts(&self, number: u32) -> (Counted, Span) {
        let (decider, target) = self.polls[number as usize];
        let Decider { affinity, targets, poll_cost, .. } = &self.deciders[decider as usize];
        let counted = match targets[target as usize] {
            Next::Server(server) if *affinity == Affinity::Session => Counted::Users(server),
            Next::Server(server) => Counted::Connections(server),
            Next::Decider(other) => Counted::Forwarded(self.deciders[other as usize].balancer.in_flight()),
        };
        (counted, *poll_cost)
    }

    fn reported(&mut self, number: u32, count: u32, measured: Time, now: Time) {
        let (decider, target) = self.polls[number as usize];
        self.deciders[decider as usize].balancer.reported(target, count, measured, now);
    }
}
