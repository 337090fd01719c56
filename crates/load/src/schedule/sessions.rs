//! Users who browse: each alternates thinking and pages, on a few connections of its own.
//!
//! An *object* is a page with all its embedded files (SURGE's user equivalent: P. Barford and M. Crovella, Generating
//! representative Web workloads for network and server performance evaluation, ACM SIGMETRICS 1998). Its page file goes
//! first and alone; then its embedded files go over up to `parallel` connections, each of which takes the next file
//! when it is free, after that file's active OFF time. The object is over when all its files are there, or as soon as
//! one of them failed: then the others are given up, and the user thinks on.
//!
//! This is the user alone, without sockets: it says what is due ([`SessionShare::due`]) and is told what became of it. A
//! user's connections have fixed places (`user * parallel + slot`), so that finding a free one is a look at two words,
//! and nothing is allocated while the users browse. The price is memory for `parallel` places per user, used or not.
//! A file is bound to its connection when that connection is chosen, not when it is established, as browsers did it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

use sojourn_stats::{Span, Time};
use sojourn_traffic::{Fetch, Http, Visit};

use crate::outcome::{Outcome, Settlement};
use crate::recorder::record::ObjectRecord;
use crate::schedule::job::{Due, Job, PAUSE_AFTER_FAILURE};
use crate::schedule::quota::Quota;

/// Most connections of one user: their places are the bits of a word.
pub(crate) const PARALLEL_MAX: u32 = 64;

/// What a user who browses does next: puts the files of the next page into the list, its own file first, and says how
/// long it thinks before.
pub type Browse = Box<dyn FnMut(&mut Vec<Fetch>) -> Visit + Send>;

/// One thread's share of the users who browse.
pub(crate) struct SessionShare {
    users: Vec<User>,
    slots: Vec<Slot>,
    parallel: u32,
    /// How long an idle connection is kept; none where each file has a connection of its own.
    keep_alive: Option<Span>,
    timers: BinaryHeap<Reverse<Timer>>,
    /// Files that are due since their connection became free.
    ready: VecDeque<Ready>,
    quota: Quota,
    /// Users who think. Those who would beyond the end have left.
    thinking: usize,
    /// Objects under way.
    under_way: usize,
}

struct User {
    browse: Browse,
    visit: Visit,
    /// The files of the object under way or thought of next; the page file first.
    fetches: Vec<Fetch>,
    object: Option<Object>,
    /// Slots that have a file, by bit.
    busy: u64,
    /// Slots without one whose connection is open.
    open: u64,
    /// Counts the user's objects: a timer of an earlier one is ignored.
    serial: u32,
}

/// An object under way.
struct Object {
    k: u64,
    planned: Time,
    page_done: Option<Time>,
    /// Who sent the page.
    backend: Option<u16>,
    /// Files that have been given a slot.
    given: u32,
    /// Those of them that are not over.
    pending: u32,
    bytes: u64,
}

/// A place for a connection of a user.
#[derive(Clone, Copy, Default)]
struct Slot {
    /// The file it has, by its place in the object.
    file: u32,
    /// When its connection became idle.
    idle_since: Time,
    /// Whether a timer looks after the idle connection: one per slot, however often it is used meanwhile.
    watched: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Timer {
    at: Time,
    what: What,
    serial: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// A user stops thinking.
    Think(u32),
    /// An active OFF time ends; the place.
    Gap(u32),
    /// A connection may have been idle for too long; the place.
    Idle(u32),
}

struct Ready {
    place: u32,
    at: Time,
    serial: u32,
}

/// An object that is over.
pub(crate) struct Ended {
    pub(crate) record: ObjectRecord,
    /// Where its user's connections are: what still goes on there is to be given up.
    pub(crate) places: Range<u32>,
}

impl SessionShare {
    pub(crate) fn new(parallel: u32, http: Http, quota: Quota) -> SessionShare {
        let keep_alive = match http {
            Http::V10 => None,
            Http::V11 { keep_alive } => Some(keep_alive),
        };
        SessionShare {
            users: Vec::new(),
            slots: Vec::new(),
            parallel,
            keep_alive,
            timers: BinaryHeap::new(),
            ready: VecDeque::new(),
            quota,
            thinking: 0,
            under_way: 0,
        }
    }

    /// One more user, who begins with thinking; one who thinks for ever has left.
    pub(crate) fn join(&mut self, browse: Browse) {
        let user = self.users.len() as u32;
        let visit = Visit { think: Span::ZERO, page: 0, first: false, last: false };
        self.users.push(User { browse, visit, fetches: Vec::new(), object: None, busy: 0, open: 0, serial: 0 });
        self.slots.resize(self.slots.len() + self.parallel as usize, Slot::default());
        self.think(user, Time::ZERO, Span::ZERO);
    }

    /// How many places the connections of all users need.
    pub(crate) fn places(&self) -> usize {
        self.slots.len()
    }

    /// How many places each user has.
    pub(crate) fn parallel(&self) -> u32 {
        self.parallel
    }

    /// When the last object has been planned, where that is known.
    pub(crate) fn end(&self) -> Time {
        self.quota.until
    }

    /// Objects planned so far.
    pub(crate) fn planned(&self) -> u64 {
        self.quota.taken()
    }

    /// Objects whose users are waiting for them.
    pub(crate) fn under_way(&self) -> usize {
        self.under_way
    }

    /// Whether no object will be planned at `now` or later, whatever happens.
    pub(crate) fn exhausted(&self, now: Time) -> bool {
        self.quota.spent() || now >= self.quota.until || (self.thinking == 0 && self.under_way == 0)
    }

    /// When something is due next, if nothing is over before.
    #[inline]
    pub(crate) fn next_at(&self) -> Time {
        let timer = self.timers.peek().map_or(Time::NEVER, |Reverse(timer)| timer.at);
        self.ready.front().map_or(timer, |ready| ready.at.min(timer))
    }

    /// The next thing to do, if it is due at `now`.
    pub(crate) fn due(&mut self, now: Time) -> Option<Due> {
        while let Some(ready) = self.ready.pop_front() {
            if self.users[self.user_of(ready.place)].serial == ready.serial {
                return Some(Due::Ask(self.job(ready.place, ready.at)));
            }
        }
        while let Some(&Reverse(Timer { at, what, serial })) = self.timers.peek() {
            if at > now {
                return None;
            }
            self.timers.pop();
            let due = match what {
                What::Think(user) => self.begin(user, at),
                What::Gap(place) if self.users[self.user_of(place)].serial == serial => {
                    Some(Due::Ask(self.job(place, at)))
                }
                What::Idle(place) => self.look_after(place, now),
                What::Gap(_) => None,
            };
            if due.is_some() {
                return due;
            }
        }
        None
    }

    /// The file at `place` is over; the object, if it is over too.
    pub(crate) fn finished(&mut self, place: u32, now: Time, settlement: Settlement) -> Option<Ended> {
        let number = self.user_of(place);
        let user = &mut self.users[number];
        user.busy &= !(1 << (place % self.parallel));
        let object = user.object.as_mut().expect("a file that is not of an object under way was given up with it");
        object.pending -= 1;
        object.bytes += settlement.bytes;
        if settlement.outcome != Outcome::Ok {
            return Some(self.conclude(number as u32, now, settlement.outcome));
        }
        if object.page_done.is_none() {
            object.page_done = Some(now);
            object.backend = settlement.backend;
        }
        let whole = object.pending == 0 && object.given as usize == user.fetches.len();
        if whole {
            return Some(self.conclude(number as u32, now, Outcome::Ok));
        }
        self.give(number as u32, now);
        None
    }

    /// The connection at `place` is open and has nothing to do.
    #[inline]
    pub(crate) fn idles(&mut self, place: u32, now: Time) {
        let number = self.user_of(place);
        self.users[number].open |= 1 << (place % self.parallel);
        let slot = &mut self.slots[place as usize];
        slot.idle_since = now;
        if let (Some(keep_alive), false) = (self.keep_alive, slot.watched) {
            slot.watched = true;
            self.timers.push(Reverse(Timer { at: now + keep_alive, what: What::Idle(place), serial: 0 }));
        }
    }

    /// The connection at `place` is closed.
    pub(crate) fn closed(&mut self, place: u32) {
        let number = self.user_of(place);
        self.users[number].open &= !(1 << (place % self.parallel));
    }

    /// Ends what is still under way, as unfinished; for when the run is cut off.
    pub(crate) fn cut_off(&mut self, now: Time) -> Vec<Ended> {
        let open: Vec<u32> =
            (0..self.users.len() as u32).filter(|&user| self.users[user as usize].object.is_some()).collect();
        open.into_iter().map(|user| self.conclude(user, now, Outcome::Unfinished)).collect()
    }

    fn user_of(&self, place: u32) -> usize {
        (place / self.parallel) as usize
    }

    /// `user` draws its next visit and thinks; not beyond the end of the run.
    fn think(&mut self, user: u32, now: Time, pause: Span) {
        let state = &mut self.users[user as usize];
        state.fetches.clear();
        state.visit = (state.browse)(&mut state.fetches);
        assert!(!state.fetches.is_empty(), "an object has at least its page file");
        let at = now + state.visit.think + pause;
        if at < self.quota.until && !self.quota.spent() {
            self.thinking += 1;
            self.timers.push(Reverse(Timer { at, what: What::Think(user), serial: 0 }));
        }
    }

    /// `user` has stopped thinking at `at` and asks for its page.
    fn begin(&mut self, user: u32, at: Time) -> Option<Due> {
        self.thinking -= 1;
        let k = self.quota.take()?;
        self.under_way += 1;
        let state = &mut self.users[user as usize];
        state.object = Some(Object { k, planned: at, page_done: None, backend: None, given: 0, pending: 0, bytes: 0 });
        let place = self.choose(user).expect("a user who begins an object has no file under way");
        Some(Due::Ask(self.job(place, at)))
    }

    /// Gives the next files to slots that are free.
    fn give(&mut self, user: u32, now: Time) {
        while let Some(place) = self.choose(user) {
            let state = &self.users[user as usize];
            let (gap, serial) = (state.fetches[self.slots[place as usize].file as usize].gap, state.serial);
            if gap == Span::ZERO {
                self.ready.push_back(Ready { place, at: now, serial });
            } else {
                self.timers.push(Reverse(Timer { at: now + gap, what: What::Gap(place), serial }));
            }
        }
    }

    /// Gives the object's next file to a free slot, one with an open connection if there is any.
    fn choose(&mut self, user: u32) -> Option<u32> {
        let state = &mut self.users[user as usize];
        let object = state.object.as_mut()?;
        if object.given as usize == state.fetches.len() {
            return None;
        }
        let all = u64::MAX >> (64 - self.parallel);
        let free = all & !state.busy;
        let best = if free & state.open != 0 { free & state.open } else { free };
        if best == 0 {
            return None;
        }
        let slot = best.trailing_zeros();
        state.busy |= 1 << slot;
        // A user that has a file is not idle, not even while an active OFF time passes.
        state.open &= !(1 << slot);
        let place = user * self.parallel + slot;
        self.slots[place as usize].file = object.given;
        object.given += 1;
        object.pending += 1;
        Some(place)
    }

    fn job(&self, place: u32, at: Time) -> Job {
        let state = &self.users[self.user_of(place)];
        let object = state.object.as_ref().expect("only files of an object under way have a slot");
        let request = state.fetches[self.slots[place as usize].file as usize].request;
        Job::new(object.k, place, at, object.planned, request)
    }

    /// Closes the connection at `place` if it has been idle for long enough, or else looks again later.
    fn look_after(&mut self, place: u32, now: Time) -> Option<Due> {
        let idle = self.users[self.user_of(place)].open & 1 << (place % self.parallel) != 0;
        let slot = &mut self.slots[place as usize];
        slot.watched = false;
        let keep_alive = self.keep_alive?;
        let at = slot.idle_since + keep_alive;
        if !idle {
            return None;
        }
        if at <= now {
            return Some(Due::Close(place));
        }
        slot.watched = true;
        self.timers.push(Reverse(Timer { at, what: What::Idle(place), serial: 0 }));
        None
    }

    /// The object of `user` is over; the user thinks on.
    fn conclude(&mut self, user: u32, now: Time, outcome: Outcome) -> Ended {
        let state = &mut self.users[user as usize];
        let object = state.object.take().expect("only an object under way ends");
        let record = ObjectRecord {
            k: object.k,
            client: state.fetches[0].request.client,
            page: state.visit.page,
            first: state.visit.first,
            last: state.visit.last,
            outcome,
            planned: object.planned,
            page_done: object.page_done,
            backend: object.backend,
            done: now,
            files: object.given,
            bytes: object.bytes,
        };
        state.busy = 0;
        state.serial = state.serial.wrapping_add(1);
        self.under_way -= 1;
        if outcome != Outcome::Unfinished {
            self.think(user, now, if outcome == Outcome::Ok { Span::ZERO } else { PAUSE_AFTER_FAILURE });
        }
        Ended { record, places: user * self.parallel..(user + 1) * self.parallel }
    }
}
