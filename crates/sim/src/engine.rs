//! One replication: the event loop that clients and a fabric of servers share.
//!
//! [`Clients`] say what is asked for and when, a [`Fabric`] brings it to a server and back, and both work on one [`Cx`]: the
//! clock, the agenda, what is inside, the ledger, the phases and the tally, one of each. The kinds of clients and
//! fabrics are type parameters, so that each pair compiles to a loop of its own: the common case, an open plan at a
//! direct fabric, pays for nothing that it does not use. Clients and fabrics meet over one kind of [`Traffic`]: requests
//! (`requests`), or files over the connections of users who browse (`sessions`).
//!
//! The next event is the earliest of five candidates, each kept where it is cheapest: the fabric's deadline (a number),
//! its departures (a tournament of the stations' timers), the agenda (a binary heap, empty without links, patience and
//! users) and what is planned next (a number). Nothing is allocated or hashed per request, and virtual calls are the
//! plan's demand and the policy only. What each request passes through once is always inlined: the compiler's own limit
//! is just below it, and the calls took a tenth of an M/M/1's instructions.
//!
//! Conservation is asserted at every pause: what came = completed + lost + inside; no server was busier than its cores;
//! and Little's law exactly, in whole nanoseconds: the integral of the number inside is the sum of the times spent.

use sojourn_model::Server;
use sojourn_stats::{Span, Time};

use crate::agenda::{Agenda, Entry, Event};
use crate::course::{Course, Milestone, Phases};
use crate::ledger::Ledger;

/// One replication.
pub(crate) struct Engine<C, F: Fabric> {
    pub(crate) clients: C,
    pub(crate) fabric: F,
    pub(crate) cx: Cx<F::Traffic>,
}

/// What clients and fabric share.
pub(crate) struct Cx<T: Traffic> {
    pub(crate) now: Time,
    pub(crate) agenda: Agenda<T::Entry>,
    /// What is inside.
    pub(crate) jobs: T::Jobs,
    pub(crate) phases: Phases,
    /// What is measured.
    pub(crate) tally: T::Tally,
    pub(crate) ledger: Ledger,
    /// The warm-up is over with what has just ended.
    pub(crate) milestone: Option<Milestone>,
    /// Clients whose requests have ended and that do not know it yet; none where they do not listen.
    pub(crate) ended: Vec<u32>,
    pub(crate) clients_listen: bool,
}

/// A kind of traffic.
pub(crate) trait Traffic {
    /// What can happen by itself, and in which order at one instant.
    type Entry: Entry<What: What>;
    /// What is known of all that is inside.
    type Jobs: Inside;
    /// What is measured of it.
    type Tally: Measured;
}

/// What can happen to a kind of traffic by itself.
pub(crate) trait What: Copy {
    /// Whether the clients take it; all else is the fabric's.
    fn is_of_clients(self) -> bool;

    /// Whether it happens to something inside that may be over by then: then its generation is looked at.
    fn has_generation(self) -> bool;
}

/// What is known of all that is inside.
pub(crate) trait Inside: Send {
    /// The generation of what is numbered so.
    fn generation(&self, entity: u32) -> u32;

    /// When each of what the ledger counts was planned.
    fn planned(&self) -> impl Iterator<Item = Time>;

    /// Asserts what must balance in itself.
    fn assert_balanced(&self) {}
}

/// Counts that begin anew when the warm-up is over.
pub(crate) trait Measured: Send {
    /// Begins anew at `now`; `busy` is the core time that each server has spent until then.
    fn restart(&mut self, now: Time, busy: Vec<Span>);

    /// Closes the window of throughput and utilisation at `now`, likewise.
    fn close(&mut self, now: Time, busy: Vec<Span>);
}

/// Who asks, and when.
pub(crate) trait Clients<F: Fabric>: Send {
    /// Whether they get the ends of their requests.
    const LISTEN: bool;

    /// They begin.
    fn start(&mut self, cx: &mut Cx<F::Traffic>);

    /// When [`Clients::arrive`] is due; [`Time::NEVER`] when nothing is planned, and all that they ask is in the agenda.
    #[inline]
    fn next_at(&self) -> Time {
        Time::NEVER
    }

    /// What is planned next comes.
    fn arrive(&mut self, fabric: &mut F, cx: &mut Cx<F::Traffic>) {
        let _ = (fabric, cx);
        unreachable!("nothing is planned");
    }

    /// What is theirs in the agenda happens to `entity`.
    fn fire(&mut self, what: Happens<F>, entity: u32, fabric: &mut F, cx: &mut Cx<F::Traffic>);

    /// A request of `client` has ended.
    fn ended(&mut self, client: u32, cx: &mut Cx<F::Traffic>) {
        let _ = (client, cx);
    }
}

/// What can happen at a fabric.
pub(crate) type Happens<F> = <<<F as Fabric>::Traffic as Traffic>::Entry as Entry>::What;

/// What brings requests to servers and replies back.
pub(crate) trait Fabric: Send {
    /// What it carries.
    type Traffic: Traffic;

    /// Enters in the agenda what is to happen by itself.
    fn start(&mut self, cx: &mut Cx<Self::Traffic>) {
        let _ = cx;
    }

    /// When [`Fabric::meet_deadline`] is due; [`Time::NEVER`] when nothing is.
    fn deadline(&self) -> Time;

    /// When [`Fabric::depart`] is due; [`Time::NEVER`] when all stations (and flows) are idle.
    fn next_departure(&self) -> Time;

    /// Does what is due of its own: polls and the ends of windows.
    fn meet_deadline(&mut self, cx: &mut Cx<Self::Traffic>);

    /// The job that is due leaves its station (or the links).
    fn depart(&mut self, cx: &mut Cx<Self::Traffic>);

    /// A request sets out from its client.
    fn enter(&mut self, slot: u32, cx: &mut Cx<Self::Traffic>);

    /// What the fabric entered in the agenda happens, to the request in `slot` (or to what the fabric numbers so).
    fn fire(&mut self, what: Happens<Self>, slot: u32, cx: &mut Cx<Self::Traffic>)
    where
        Self: Sized;

    /// The client of a request goes away: the request leaves where it is. The caller ends it.
    fn cancel(&mut self, slot: u32, cx: &mut Cx<Self::Traffic>);

    /// The servers' models.
    fn servers(&self) -> &[Server];

    /// Whether its requests come over connections that are set up, and counted.
    fn has_connections(&self) -> bool {
        false
    }

    /// When each fault begins and ends; [`Time::NEVER`] of one that does not.
    fn troubles(&self) -> Vec<(Time, Time)> {
        Vec::new()
    }

    /// Whether clients ask once more for what has failed.
    fn may_retry(&self) -> bool {
        false
    }

    /// Whether a request may be denied: else that none was is no matter of chance.
    fn may_deny(&self) -> bool {
        true
    }

    /// Core time that each server has spent up to `now`, an instant between the last event and the next.
    fn busy(&self, now: Time) -> Vec<Span>;

    /// Measuring begins at `now`.
    fn restart(&mut self, now: Time) {
        let _ = now;
    }

    /// Asserts what must balance in it.
    fn assert_balanced(&self, cx: &Cx<Self::Traffic>) {
        let _ = cx;
    }
}

/// When the next event of each kind is due; [`Time::NEVER`] where there is none.
#[derive(Clone, Copy)]
pub(crate) struct Due {
    deadline: Time,
    departure: Time,
    entry: Time,
    planned: Time,
}

impl<T: Traffic> Cx<T> {
    /// Something will happen to a request, unless it is gone by then.
    #[inline]
    pub(crate) fn later(&mut self, at: Time, what: <T::Entry as Entry>::What, slot: u32) {
        self.agenda.add(at, what, slot, self.jobs.generation(slot));
    }
}

impl Due {
    /// When the next event is due.
    #[inline(always)]
    fn first(self) -> Time {
        self.deadline.min(self.of_jobs())
    }

    /// When the next event of a request or a client is due. Deadlines go on for ever, even when nothing is inside.
    #[inline(always)]
    pub(crate) fn of_jobs(self) -> Time {
        self.departure.min(self.entry).min(self.planned)
    }
}

impl<C: Clients<F>, F: Fabric> Engine<C, F> {
    /// The replication of clients at a fabric, which `course` plays; nothing is in `jobs` and `tally` yet.
    pub(crate) fn new(
        clients: C,
        fabric: F,
        jobs: <F::Traffic as Traffic>::Jobs,
        tally: <F::Traffic as Traffic>::Tally,
        course: &Course,
    ) -> Engine<C, F> {
        let cx = Cx {
            now: Time::ZERO,
            agenda: Agenda::default(),
            jobs,
            phases: Phases::new(course, fabric.servers().len()),
            tally,
            ledger: Ledger::default(),
            milestone: None,
            ended: Vec::new(),
            clients_listen: C::LISTEN,
        };
        let mut engine = Engine { clients, fabric, cx };
        engine.fabric.start(&mut engine.cx);
        engine.clients.start(&mut engine.cx);
        engine
    }

    /// Takes the events before `end`.
    pub(crate) fn run_before(&mut self, end: Time) {
        loop {
            let due = self.due();
            if due.first() >= end {
                break;
            }
            self.take(due);
        }
        self.settle_books();
    }

    /// Begins measuring at `now`, unless that has happened: an instant between the last event and the next.
    pub(crate) fn start_measuring(&mut self, now: Time) {
        if self.cx.phases.is_warming_up() {
            let milestone = self.cx.phases.begin(now);
            self.pass(milestone);
        }
    }

    /// When the next event of each kind is due.
    #[inline(always)]
    pub(crate) fn due(&self) -> Due {
        Due {
            deadline: self.fabric.deadline(),
            departure: self.fabric.next_departure(),
            entry: self.cx.agenda.first_at(),
            planned: self.clients.next_at(),
        }
    }

    /// Takes the event that is due first.
    #[inline(always)]
    pub(crate) fn take(&mut self, due: Due) {
        let at = due.first();
        assert!(at >= self.cx.now, "time never goes back");
        while let Some(milestone) = self.cx.phases.passed(at) {
            self.pass(milestone);
        }
        self.cx.now = at;
        if due.deadline == at {
            self.fabric.meet_deadline(&mut self.cx);
        } else if due.departure == at {
            self.fabric.depart(&mut self.cx);
        } else if due.entry == at {
            self.take_entry();
        } else {
            self.clients.arrive(&mut self.fabric, &mut self.cx);
        }
        self.signal_ends();
    }

    /// Takes the agenda's first entry.
    #[inline]
    fn take_entry(&mut self) {
        let Event { what, entity, generation } = self.cx.agenda.take().expect("an entry is due");
        if what.has_generation() && self.cx.jobs.generation(entity) != generation {
            return;
        }
        if what.is_of_clients() {
            self.clients.fire(what, entity, &mut self.fabric, &mut self.cx);
        } else {
            self.fabric.fire(what, entity, &mut self.cx);
        }
    }

    /// Signals what the last event has ended: the warm-up, and to clients their requests.
    #[inline]
    fn signal_ends(&mut self) {
        if let Some(milestone) = self.cx.milestone.take() {
            self.pass(milestone);
        }
        if !C::LISTEN {
            return;
        }
        for place in 0..self.cx.ended.len() {
            let client = self.cx.ended[place];
            self.clients.ended(client, &mut self.cx);
        }
        self.cx.ended.clear();
    }

    /// The end of a phase.
    pub(crate) fn pass(&mut self, milestone: Milestone) {
        match milestone {
            Milestone::Begin(at) => {
                self.cx.tally.restart(at, self.fabric.busy(at));
                self.fabric.restart(at);
            }
            Milestone::Close(at) => self.cx.tally.close(at, self.fabric.busy(at)),
        }
    }

    /// Asserts the conservation laws.
    pub(crate) fn settle_books(&self) {
        let cx = &self.cx;
        cx.ledger.assert_balanced(cx.now, cx.jobs.planned());
        cx.jobs.assert_balanced();
        self.fabric.assert_balanced(cx);
        for (busy, server) in self.fabric.busy(cx.now).iter().zip(self.fabric.servers()) {
            let most = u128::from(cx.now.0) * u128::from(server.cores);
            assert!(u128::from(busy.0) <= most, "a server spent more core time than it has");
        }
    }
}
