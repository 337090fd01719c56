//! Servers that are chosen by the requests in flight: event by event, without an event list.
//!
//! The next event is the earliest departure or, if that is later, the next arrival: one number for each server and one for the
//! plan. A server is a queue of (arrival, service).

use std::collections::VecDeque;

use sojourn_dispatch::Chooser;
use sojourn_stats::{Span, Time};

use super::Stop;
use super::books::Books;
use super::service;
use super::source::Source;
use crate::course::Milestone;
use crate::engine::Measured;
use crate::timers::Timers;

/// The servers, by how the next departure among them is found.
pub(super) enum Counting {
    Four(Servers<Few<4>>),
    Sixteen(Servers<Few<16>>),
    Many(Servers<Timers>),
}

macro_rules! each {
    ($counting:expr, $servers:ident => $do:expr) => {
        match $counting {
            Counting::Four($servers) => $do,
            Counting::Sixteen($servers) => $do,
            Counting::Many($servers) => $do,
        }
    };
}

impl Counting {
    pub(super) fn new(speeds: Vec<f64>, chooser: Chooser) -> Counting {
        match speeds.len() {
            0..=4 => Counting::Four(Servers::new(speeds, chooser, Few([u64::MAX; 4]))),
            5..=16 => Counting::Sixteen(Servers::new(speeds, chooser, Few([u64::MAX; 16]))),
            many => Counting::Many(Servers::new(speeds, chooser, Timers::new(many))),
        }
    }

    /// Plays until `ended` requests have ended, or why it stops before.
    pub(super) fn run_until(&mut self, ended: u64, source: &mut Source, books: &mut Books) -> Stop {
        each!(self, servers => servers.run_until(ended, source, books))
    }

    /// The end of a phase.
    pub(super) fn pass(&mut self, milestone: Milestone, books: &mut Books) {
        each!(self, servers => servers.pass(milestone, books));
    }

    /// Core time that each server has spent by `now`, an instant between the last event and the next.
    pub(super) fn busy(&self, now: Time) -> Vec<Span> {
        each!(self, servers => servers.busy(now))
    }

    /// Requests that have come.
    pub(super) fn arrived(&self) -> u64 {
        each!(self, servers => servers.came.0)
    }

    /// Asserts the conservation laws.
    pub(super) fn settle_books(&self, books: &Books) {
        each!(self, servers => servers.settle_books(books));
    }
}

/// When which server's next departure is.
pub(super) trait Next {
    /// The earliest, of the lowest number among equals; `u64::MAX` where all are idle.
    fn first(&self) -> (u64, usize);
    fn set(&mut self, server: usize, at: u64);
}

/// As many as are looked at one by one.
pub(super) struct Few<const N: usize>([u64; N]);

impl<const N: usize> Next for Few<N> {
    #[inline(always)]
    fn first(&self) -> (u64, usize) {
        let mut first = (self.0[0], 0);
        for server in 1..N {
            let at = self.0[server];
            first = if at < first.0 { (at, server) } else { first };
        }
        first
    }

    #[inline(always)]
    fn set(&mut self, server: usize, at: u64) {
        self.0[server] = at;
    }
}

impl Next for Timers {
    #[inline(always)]
    fn first(&self) -> (u64, usize) {
        (self.first_at().0, Timers::first(self))
    }

    #[inline(always)]
    fn set(&mut self, server: usize, at: u64) {
        Timers::set(self, server, (at != u64::MAX).then_some(Time(at)));
    }
}

/// The servers, whose next departures are kept by `N`.
pub(super) struct Servers<N> {
    chooser: Chooser,
    speeds: Option<Vec<f64>>,
    next: N,
    servers: Vec<Server>,
    /// Requests that have come, and the sum of their instants (modulo 2^64).
    came: (u64, u64),
}

#[derive(Clone, Default)]
struct Server {
    /// When it has done the first of its queue.
    next: u64,
    /// Core time of all that have left (ns).
    done: u64,
    /// Arrival and service of each request inside, in order of arrival.
    queue: VecDeque<(u64, u64)>,
}

impl<N: Next> Servers<N> {
    fn new(speeds: Vec<f64>, chooser: Chooser, next: N) -> Servers<N> {
        let servers = vec![Server::default(); speeds.len()];
        let speeds = speeds.iter().any(|speed| *speed != 1.0).then_some(speeds);
        Servers { chooser, speeds, next, servers, came: (0, 0) }
    }

    fn run_until(&mut self, ended: u64, source: &mut Source, books: &mut Books) -> Stop {
        while books.ended < ended {
            let (at, server) = self.next.first();
            let comes = source.next_at();
            let first = at.min(comes);
            if first == u64::MAX || books.overflowed.is_some() {
                return Stop::Over;
            }
            while let Some(milestone) = books.phases.passed(Time(first)) {
                self.pass(milestone, books);
            }
            if at > comes {
                if source.is_dry() {
                    return Stop::Dry;
                }
                self.arrive(source, books);
            } else if let Some(milestone) = self.depart(at, server, books) {
                self.pass(milestone, books);
            }
        }
        Stop::Ended
    }

    #[inline(always)]
    fn arrive(&mut self, source: &mut Source, books: &mut Books) {
        let (now, work) = (source.next_at(), source.next_work());
        let number = self.chooser.choose(Time(now)) as usize;
        let work = self.speeds.as_ref().map_or(work, |speeds| service(work, speeds[number]));
        books.tally.sent(Time(now), number);
        let server = &mut self.servers[number];
        server.queue.push_back((now, work));
        if server.queue.len() == 1 {
            server.next = now + work;
            self.next.set(number, server.next);
        }
        self.came = (self.came.0 + 1, self.came.1.wrapping_add(now));
        if self.came.0 - books.ended >= u64::from(books.most) {
            (books.overflowed, books.now) = (Some(books.most), Time(now));
        }
        source.take();
    }

    #[inline(always)]
    fn depart(&mut self, at: u64, number: usize, books: &mut Books) -> Option<Milestone> {
        self.chooser.ended(number as u32);
        let server = &mut self.servers[number];
        let (came, work) = server.queue.pop_front().expect("what leaves was there");
        server.done += work;
        server.next = server.queue.front().map_or(u64::MAX, |(_, work)| at + work);
        self.next.set(number, server.next);
        books.leave(came, work, at)
    }

    fn pass(&mut self, milestone: Milestone, books: &mut Books) {
        match milestone {
            Milestone::Begin(at) => books.tally.restart(at, self.busy(at)),
            Milestone::Close(at) => books.tally.close(at, self.busy(at)),
        }
    }

    fn busy(&self, now: Time) -> Vec<Span> {
        let of = |server: &Server| match server.queue.front() {
            None => Span(server.done),
            Some((_, work)) => Span(server.done + (now.0 + work - server.next)),
        };
        self.servers.iter().map(of).collect()
    }

    fn settle_books(&self, books: &Books) {
        let inside = self.servers.iter().flat_map(|server| &server.queue).map(|(came, _)| *came);
        books.assert_balanced(self.came, inside);
        let busy = self.busy(books.now);
        assert!(busy.iter().all(|busy| busy.0 <= books.now.0), "a server spent more core time than it has");
    }
}
