//! Round robin: turns of at most one quantum on a core, in order of arrival. An unfinished job goes to the end of the
//! queue. If a turn ends at the instant of an arrival, it ends first. Time slices are the same with newcomers first: an
//! arrival takes the core at once, and the job that it interrupts is next, with a whole turn. At most `helpers` jobs
//! take turns; the others wait for a helper.
//!
//! Between arrivals and departures the rounds repeat, so many of them are done at once. One number (`given`) is the
//! work that they gave each job, and a job's `left` is kept as if the job had been there from the start. The next to
//! leave is the job that needs the fewest turns, and of these the first in the queue. An arrival compares itself with
//! the one known before; a departure searches all jobs. So an arrival is O(1) (O(n) with newcomers first), a departure
//! O(n), and a turn between two events O(1). Nothing is rounded.

use std::collections::VecDeque;

use sojourn_stats::{Span, Time};

use super::{Arrival, Jobs};
use crate::Departure;

#[derive(Clone, Debug)]
pub(crate) struct Turns {
    /// `left` is as of the start of the job's turn, plus `given`.
    pub(super) jobs: Jobs,
    quantum: u64,
    newcomers_first: bool,
    /// Most jobs that take turns.
    helpers: usize,
    /// The job on the core first.
    queue: VecDeque<u32>,
    /// Jobs without a helper, in order of arrival; their `left` is their service.
    waiting: VecDeque<u32>,
    /// When the present turn began.
    turn_began: Time,
    /// Work that whole rounds gave each job (ns).
    given: u64,
    /// Jobs that had no turn yet.
    unserved: usize,
    /// The job that leaves first, and when.
    next: Option<(u32, Time)>,
}

impl Turns {
    pub(super) fn new(quantum: Span) -> Turns {
        Turns {
            jobs: Jobs::default(),
            quantum: quantum.0,
            newcomers_first: false,
            helpers: usize::MAX,
            queue: VecDeque::new(),
            waiting: VecDeque::new(),
            turn_began: Time::ZERO,
            given: 0,
            unserved: 0,
            next: None,
        }
    }

    /// The same with newcomers first, and at most `helpers` that take turns.
    pub(super) fn with_newcomers_first(quantum: Span, helpers: u32) -> Turns {
        Turns { newcomers_first: true, helpers: helpers as usize, ..Turns::new(quantum) }
    }

    /// Does the turns up to `now`.
    pub(super) fn advance(&mut self, now: Time) {
        if self.queue.is_empty() {
            self.turn_began = now;
            return;
        }
        loop {
            let elapsed = (now - self.turn_began).0;
            if elapsed < self.quantum {
                return;
            }
            if self.unserved == 0
                && let Some(round) = self.quantum.checked_mul(self.queue.len() as u64)
            {
                // Not to the end of the last round: the job that leaves must then be on the core.
                let rounds = (elapsed - 1) / round;
                if rounds > 0 {
                    self.given += rounds * self.quantum;
                    self.turn_began += Span(rounds * round);
                    continue;
                }
            }
            let slot = self.queue[0];
            if self.left(slot) <= self.quantum {
                return;
            }
            self.jobs.at(slot).left -= self.quantum;
            self.queue.rotate_left(1);
            self.turn_began += Span(self.quantum);
            self.begin_turn(self.queue[0]);
        }
    }

    pub(super) fn arrive(&mut self, now: Time, arrival: Arrival) -> u32 {
        let slot = self.jobs.put(now, arrival);
        if self.queue.len() >= self.helpers {
            self.waiting.push_back(slot);
            return slot;
        }
        self.jobs.at(slot).left += self.given;
        self.unserved += 1;
        if self.newcomers_first {
            self.interrupt(now);
            self.queue.push_front(slot);
            self.go_on();
            return slot;
        }
        let before = self.queue.len() as u64;
        self.queue.push_back(slot);
        match self.next {
            None => {
                self.turn_began = now;
                self.begin_turn(slot);
                self.next = Some((slot, now + arrival.service));
            }
            Some((first, at)) => {
                let (its, ours) = (self.turns(first), self.turns(slot));
                self.next = Some(if ours < its {
                    // All others use up their turns of these rounds.
                    let rounds = u128::from(ours - 1) * u128::from(self.quantum) * u128::from(before);
                    let ahead = rounds + u128::from(before) * u128::from(self.quantum);
                    (slot, self.turn_began + span(ahead + u128::from(arrival.service.0)))
                } else {
                    (first, at + span(u128::from(its - 1) * u128::from(self.quantum)))
                });
            }
        }
        slot
    }

    /// Ends the present turn.
    fn interrupt(&mut self, now: Time) {
        if let Some(&slot) = self.queue.front() {
            let elapsed = (now - self.turn_began).0;
            self.jobs.at(slot).left -= elapsed;
        }
        self.turn_began = now;
    }

    /// Gives a free helper to the first waiting job, which goes first.
    fn admit(&mut self) {
        if let Some(slot) = self.waiting.pop_front() {
            self.jobs.at(slot).left += self.given;
            self.unserved += 1;
            self.queue.push_front(slot);
        }
    }

    pub(super) fn due(&self) -> Time {
        self.next.map_or(Time::NEVER, |(_, at)| at)
    }

    pub(super) fn depart(&mut self, at: Time) -> Departure {
        let slot = self.queue.pop_front().expect("a departure is due only while a job is served");
        debug_assert_eq!(Some((slot, at)), self.next, "the job that leaves is on the core");
        let departure = self.jobs.depart(slot, at);
        self.turn_began = at;
        self.admit();
        self.go_on();
        departure
    }

    pub(super) fn cancel(&mut self, now: Time, slot: u32) {
        if let Some(place) = self.waiting.iter().position(|other| *other == slot) {
            self.waiting.remove(place);
            self.jobs.remove(slot);
            return;
        }
        let place = self.queue.iter().position(|other| *other == slot).expect("every other job inside takes turns");
        if self.jobs.at(slot).started == Time::NEVER {
            self.unserved -= 1;
        }
        self.queue.remove(place);
        self.jobs.remove(slot);
        if place == 0 {
            // The rest of its turn is lost.
            self.turn_began = now;
        } else if !self.waiting.is_empty() {
            self.interrupt(now);
        }
        self.admit();
        self.go_on();
    }

    pub(super) fn occupancy(&self) -> (u32, u32) {
        let inside = (self.queue.len() + self.waiting.len()) as u32;
        (inside, inside.min(1))
    }

    /// After a departure: begins the next turn if the core is free, and finds the job that leaves first.
    fn go_on(&mut self) {
        self.next = None;
        let Some(&first) = self.queue.front() else { return };
        self.begin_turn(first);
        let fewest = self.queue.iter().enumerate().min_by_key(|(place, slot)| (self.turns(**slot), *place));
        let (place, &slot) = fewest.expect("the queue is not empty");
        let full = u128::from(self.turns(slot) - 1) * u128::from(self.quantum);
        let ahead = full * (self.queue.len() as u128 - 1) + place as u128 * u128::from(self.quantum);
        self.next = Some((slot, self.turn_began + span(ahead + u128::from(self.left(slot)))));
    }

    fn begin_turn(&mut self, slot: u32) {
        let began = self.turn_began;
        let entry = self.jobs.at(slot);
        if entry.started == Time::NEVER {
            entry.started = began;
            self.unserved -= 1;
        }
    }

    /// Work to come at the start of its turn.
    fn left(&self, slot: u32) -> u64 {
        self.jobs.entries[slot as usize].left - self.given
    }

    /// Turns to come, the present one included.
    fn turns(&self, slot: u32) -> u64 {
        self.left(slot).div_ceil(self.quantum).max(1)
    }
}

fn span(ns: u128) -> Span {
    Span(u64::try_from(ns).unwrap_or(u64::MAX))
}
