//! Servers that are chosen by the requests in flight, or that do not serve in order of arrival: event by event, without an event
//! list.
//!
//! The next event is the earliest departure or, if that is later, the next arrival: one number for each server and one for the
//! plan. A server that serves one request after another is a queue of (arrival, service), any other a [`Station`].

use std::collections::VecDeque;

use sojourn_dispatch::Chooser;
use sojourn_model::{Admission, Station};
use sojourn_stats::{Span, Time};

use super::Stop;
use super::books::Books;
use super::service;
use super::source::Source;
use crate::course::Milestone;
use crate::engine::Measured;
use crate::timers::Timers;

/// The servers, by how the next departure among them is found.
pub(super) enum Counting<S> {
    Four(Servers<S, Few<4>>),
    Sixteen(Servers<S, Few<16>>),
    Many(Servers<S, Timers>),
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

impl<S: Serve> Counting<S> {
    /// Without a chooser there is one server.
    pub(super) fn new(servers: Vec<S>, speeds: Vec<f64>, chooser: Option<Chooser>) -> Counting<S> {
        match speeds.len() {
            0..=4 => Counting::Four(Servers::new(servers, speeds, chooser, Few([u64::MAX; 4]))),
            5..=16 => Counting::Sixteen(Servers::new(servers, speeds, chooser, Few([u64::MAX; 16]))),
            many => Counting::Many(Servers::new(servers, speeds, chooser, Timers::new(many))),
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

/// A request that leaves: when it came, how long it waited, and its core time (ns).
#[derive(Clone, Copy)]
pub(super) struct Leaving {
    came: u64,
    waited: u64,
    work: u64,
}

/// A server.
pub(super) trait Serve {
    /// A request of so much core time (ns) comes: when the next departure is, if that is another now.
    fn arrive(&mut self, now: u64, work: u64) -> Option<u64>;
    /// Who leaves at `at`, when the next departure is due, and when the one after is; `u64::MAX` for never.
    fn depart(&mut self, at: u64) -> (Leaving, u64);
    /// Core time spent by `now`.
    fn busy(&self, now: Time) -> Span;
    fn cores(&self) -> u64;
    /// When those inside came (ns), in any order.
    fn inside(&self) -> Vec<u64>;
}

/// One request after another.
#[derive(Clone, Default)]
pub(super) struct InTurn {
    /// When it has done the first of its queue.
    next: u64,
    /// Core time of all that have left (ns).
    done: u64,
    /// Arrival and service of each request inside, in order of arrival.
    queue: VecDeque<(u64, u64)>,
}

impl Serve for InTurn {
    #[inline(always)]
    fn arrive(&mut self, now: u64, work: u64) -> Option<u64> {
        self.queue.push_back((now, work));
        (self.queue.len() == 1).then(|| {
            self.next = now + work;
            self.next
        })
    }

    #[inline(always)]
    fn depart(&mut self, at: u64) -> (Leaving, u64) {
        let (came, work) = self.queue.pop_front().expect("what leaves was there");
        self.done += work;
        self.next = self.queue.front().map_or(u64::MAX, |(_, work)| at + work);
        (Leaving { came, waited: at - came - work, work }, self.next)
    }

    fn busy(&self, now: Time) -> Span {
        match self.queue.front() {
            None => Span(self.done),
            Some((_, work)) => Span(self.done + (now.0 + work - self.next)),
        }
    }

    fn cores(&self) -> u64 {
        1
    }

    fn inside(&self) -> Vec<u64> {
        self.queue.iter().map(|(came, _)| *came).collect()
    }
}

impl Serve for Station {
    #[inline(always)]
    fn arrive(&mut self, now: u64, work: u64) -> Option<u64> {
        let due = self.next_departure();
        // A request is known by its core time: nothing else is asked of it when it leaves.
        let admission = self.arrive_of(0, Time(now), work, Span(work));
        assert!(admission != Admission::Denied, "there is room for all");
        let next = self.next_departure();
        (next != due).then(|| next.unwrap_or(Time::NEVER).0)
    }

    #[inline(always)]
    fn depart(&mut self, at: u64) -> (Leaving, u64) {
        let left = Station::depart(self, Time(at)).expect("a departure is due");
        let next = self.next_departure().unwrap_or(Time::NEVER).0;
        (Leaving { came: left.arrived.0, waited: (left.started - left.arrived).0, work: left.job }, next)
    }

    fn busy(&self, now: Time) -> Span {
        Station::busy(self, now)
    }

    fn cores(&self) -> u64 {
        u64::from(Station::cores(self))
    }

    fn inside(&self) -> Vec<u64> {
        self.arrivals().iter().map(|came| came.0).collect()
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
pub(super) struct Servers<S, N> {
    chooser: Option<Chooser>,
    speeds: Option<Vec<f64>>,
    next: N,
    servers: Vec<S>,
    /// Requests that have come, and the sum of their instants (modulo 2^64).
    came: (u64, u64),
}

impl<S: Serve, N: Next> Servers<S, N> {
    fn new(servers: Vec<S>, speeds: Vec<f64>, chooser: Option<Chooser>, next: N) -> Servers<S, N> {
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
        let number = self.chooser.as_mut().map_or(0, |chooser| chooser.choose(Time(now))) as usize;
        let work = self.speeds.as_ref().map_or(work, |speeds| service(work, speeds[number]));
        books.tally.sent(Time(now), number);
        if let Some(next) = self.servers[number].arrive(now, work) {
            self.next.set(number, next);
        }
        self.came = (self.came.0 + 1, self.came.1.wrapping_add(now));
        if self.came.0 - books.ended >= u64::from(books.most) {
            (books.overflowed, books.now) = (Some(books.most), Time(now));
        }
        source.take();
    }

    #[inline(always)]
    fn depart(&mut self, at: u64, number: usize, books: &mut Books) -> Option<Milestone> {
        if let Some(chooser) = &mut self.chooser {
            chooser.ended(number as u32);
        }
        let (Leaving { came, waited, work }, next) = self.servers[number].depart(at);
        self.next.set(number, next);
        books.leave(came, waited, work, at)
    }

    fn pass(&mut self, milestone: Milestone, books: &mut Books) {
        match milestone {
            Milestone::Begin(at) => books.tally.restart(at, self.busy(at)),
            Milestone::Close(at) => books.tally.close(at, self.busy(at)),
        }
    }

    fn busy(&self, now: Time) -> Vec<Span> {
        self.servers.iter().map(|server| server.busy(now)).collect()
    }

    fn settle_books(&self, books: &Books) {
        books.assert_balanced(self.came, self.servers.iter().flat_map(Serve::inside));
        let is_possible = |server: &S| server.busy(books.now).0 <= books.now.0.saturating_mul(server.cores());
        assert!(self.servers.iter().all(is_possible), "a server spent more core time than it has");
    }
}
