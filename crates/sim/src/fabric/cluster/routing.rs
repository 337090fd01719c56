//! What the fabric of users who browse asks of who chooses.

use sojourn_dispatch::Catalogue;
use sojourn_model::System;
use sojourn_stats::{Span, Time};
use sojourn_traffic::Sessions;

use crate::balancer::Asked;
use crate::control::SimError;
use crate::sessions::connections::Lane;

/// Who chooses the servers of sessions, connections and requests, for how long, and what that one learns.
pub(crate) trait Routing: Send + Sized {
    /// Those in front of the servers of `system`, with policies of `catalogue` and random streams of this seed.
    fn new(system: &System, sessions: &Sessions, catalogue: &Catalogue, seed: u64) -> Result<Self, SimError>;

    /// Whether a choice is made for every request: users' connections then end in front of the servers.
    fn is_per_request(&self) -> bool;

    /// A user sets out to open a connection.
    fn sets_out(&mut self, lane: u32, asked: Asked, now: Time) {
        let _ = (lane, asked, now);
    }

    /// A connection opens: its server. `NOWHERE` if none takes it, or if each of its requests has a server of its own.
    fn opens(&mut self, lane: u32, asked: Asked, now: Time) -> u32;

    /// A request comes, where each has a server of its own; `NOWHERE` if none takes it.
    fn requests(&mut self, lane: u32, asked: Asked, now: Time) -> u32;

    /// Where the first byte of a reply is looked for.
    fn first_byte_seen(&self) -> FirstByte;

    /// It is seen there.
    fn first_byte(&mut self, number: u32, lane: &Lane, now: Time);

    /// The last byte of a reply to `user` is sent.
    fn sent(&mut self, number: u32, user: u32, lane: &Lane, now: Time);

    /// No server took the request, for which one was chosen.
    fn failed(&mut self, number: u32, lane: &Lane, now: Time);

    /// The user has dropped the request, for which a server was chosen.
    fn cancelled(&mut self, number: u32, lane: &Lane, now: Time);

    /// A connection has closed, or has broken.
    fn closed(&mut self, number: u32, lane: &Lane, breaks: bool, now: Time);

    /// A user's session is no longer held.
    fn session_ended(&mut self, user: u32, now: Time);

    /// When [`Routing::poll`] is due; [`Time::NEVER`] when nothing is.
    fn deadline(&self) -> Time;

    /// Does what is due, and adds the numbers of the polls to send.
    fn poll(&mut self, now: Time, polled: &mut Vec<u32>);

    /// How many polls there are numbers for.
    fn polls(&self) -> usize;

    /// What the poll of this number counts, and the work that it is to a server.
    fn counts(&self, number: u32) -> (Counted, Span);

    /// The answer to a poll: so many at `measured`.
    fn reported(&mut self, number: u32, count: u32, measured: Time, now: Time);
}

/// Where the first byte of a reply is looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FirstByte {
    Unread,
    /// Of every file, at the balancer.
    AtBalancer,
    /// Of every page file, at the user.
    AtUser,
}

/// What a poll counts.
#[derive(Clone, Copy)]
pub(crate) enum Counted {
    /// The users attached to a server.
    Users(u32),
    /// A server's connections; its requests, where choices are made for them.
    Connections(u32),
    /// What a decider has forwarded: so many.
    Forwarded(u32),
}
