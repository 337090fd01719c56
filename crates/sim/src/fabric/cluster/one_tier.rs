//! One tier in front of all servers, or a single server: the fast path of users who browse.

use sojourn_dispatch::{Catalogue, Signals};
use sojourn_model::System;
use sojourn_model::system::Affinity;
use sojourn_stats::{Span, Time};
use sojourn_traffic::Sessions;

use super::routing::{Counted, FirstByte, Routing};
use crate::balancer::{Asked, Balancer, Choice, signals};
use crate::control::SimError;
use crate::sessions::connections::{Lane, NOWHERE};

/// The only tier; none: users go to the only server.
pub(crate) struct OneTier {
    affinity: Affinity,
    balancer: Option<Balancer>,
    first_byte: FirstByte,
    /// The policy reads bytes.
    bytes: bool,
    poll_cost: Span,
    servers: usize,
    /// The choice that each user's session holds, where choices are made for sessions.
    held: Vec<Held>,
}

/// A session's choice.
#[derive(Clone, Copy)]
struct Held {
    server: u32,
    chosen: Time,
    /// Bytes that the session has had from there.
    bytes: u64,
}

const NOTHING: Held = Held { server: NOWHERE, chosen: Time::ZERO, bytes: 0 };

impl OneTier {
    fn choose(&mut self, asked: Asked, now: Time) -> u32 {
        match &mut self.balancer {
            Some(balancer) => balancer.choose(asked, &[], now).map_or(NOWHERE, |choice| choice.server),
            None => 0,
        }
    }

    fn balancer(&mut self) -> &mut Balancer {
        self.balancer.as_mut().expect("choices are made by a balancer")
    }
}

impl Routing for OneTier {
    fn new(system: &System, sessions: &Sessions, catalogue: &Catalogue, seed: u64) -> Result<OneTier, SimError> {
        let tier = system.tier();
        let servers = system.hosts.len();
        let balancer = tier.map(|tier| Balancer::first(tier, servers, true, catalogue, seed)).transpose()?;
        // Without a balancer a user simply goes to its server.
        let affinity = tier.map_or(Affinity::Session, |tier| tier.affinity);
        let given = tier.map_or(Signals::empty(), |tier| signals(tier, &[], true));
        let requires = balancer.as_ref().map_or(Signals::empty(), Balancer::requires);
        Ok(OneTier {
            affinity,
            balancer,
            first_byte: FirstByte::new(requires, given),
            bytes: requires.contains(Signals::BYTES),
            poll_cost: tier.map_or(Span::ZERO, |tier| tier.poll_cost),
            servers,
            held: if affinity == Affinity::Session { vec![NOTHING; sessions.users as usize] } else { Vec::new() },
        })
    }

    #[inline]
    fn is_per_request(&self) -> bool {
        self.affinity == Affinity::Request
    }

    fn opens(&mut self, _: u32, asked: Asked, now: Time) -> u32 {
        match self.affinity {
            Affinity::Session => match self.held[asked.client as usize].server {
                NOWHERE => {
                    let server = self.choose(asked, now);
                    self.held[asked.client as usize] = Held { server, chosen: now, bytes: 0 };
                    server
                }
                server => server,
            },
            Affinity::Connection => self.choose(asked, now),
            Affinity::Request => NOWHERE,
        }
    }

    fn requests(&mut self, _: u32, asked: Asked, now: Time) -> u32 {
        self.choose(asked, now)
    }

    #[inline]
    fn first_byte_seen(&self) -> FirstByte {
        self.first_byte
    }

    fn first_byte(&mut self, _: u32, lane: &Lane, now: Time) {
        self.balancer().first_byte(choice(lane.server), now - lane.sent, now);
    }

    #[inline]
    fn sent(&mut self, _: u32, user: u32, lane: &Lane, now: Time) {
        if self.affinity == Affinity::Session {
            self.held[user as usize].bytes += lane.size;
        }
        if self.affinity == Affinity::Request {
            self.balancer().completed(choice(lane.server), lane.size, now - lane.sent, now);
        } else if self.bytes {
            self.balancer().transmitted(choice(lane.server), lane.size, now);
        }
    }

    fn failed(&mut self, _: u32, lane: &Lane, now: Time) {
        self.balancer().failed(choice(lane.server), now - lane.sent, now);
    }

    fn cancelled(&mut self, _: u32, lane: &Lane, now: Time) {
        self.balancer().cancelled(choice(lane.server), now - lane.sent, now);
    }

    fn closed(&mut self, _: u32, lane: &Lane, breaks: bool, now: Time) {
        if self.affinity != Affinity::Connection || lane.server == NOWHERE {
            return;
        }
        if breaks {
            self.balancer().cancelled(choice(lane.server), now - lane.chosen, now);
        } else {
            self.balancer().completed(choice(lane.server), lane.bytes, now - lane.chosen, now);
        }
    }

    fn session_ended(&mut self, user: u32, now: Time) {
        if self.affinity != Affinity::Session {
            return;
        }
        let Held { server, chosen, bytes } = std::mem::replace(&mut self.held[user as usize], NOTHING);
        if let (true, Some(balancer)) = (server != NOWHERE, &mut self.balancer) {
            balancer.completed(choice(server), bytes, now - chosen, now);
        }
    }

    #[inline]
    fn deadline(&self) -> Time {
        self.balancer.as_ref().map_or(Time::NEVER, Balancer::deadline)
    }

    fn poll(&mut self, now: Time, polled: &mut Vec<u32>) {
        self.balancer().poll(now, |server| {
            polled.push(server as u32);
            None
        });
    }

    fn polls(&self) -> usize {
        self.servers
    }

    fn counts(&self, server: u32) -> (Counted, Span) {
        let counted = match self.affinity {
            Affinity::Session => Counted::Users(server),
            Affinity::Connection | Affinity::Request => Counted::Connections(server),
        };
        (counted, self.poll_cost)
    }

    fn reported(&mut self, server: u32, count: u32, measured: Time, now: Time) {
        self.balancer().reported(server, count, measured, now);
    }
}

impl FirstByte {
    /// Where a policy that requires these signals looks for first bytes, which gets those.
    pub(super) fn new(requires: Signals, given: Signals) -> FirstByte {
        if !requires.intersects(Signals::FIRST_BYTE | Signals::CLIENT_FIRST_BYTE) {
            FirstByte::Unread
        } else if given.contains(Signals::CLIENT_FIRST_BYTE) {
            FirstByte::AtUser
        } else {
            FirstByte::AtBalancer
        }
    }
}

fn choice(server: u32) -> Choice {
    Choice { dispatcher: 0, server, is_retry: false }
}
