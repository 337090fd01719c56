//! Attempts: what is done with a request when its reply does not come, where clients ask more than once.
//!
//! [`sojourn_model::Tries`] decides; here its time-outs, waits and hedges are alarms of the loop, and its attempts exchanges on
//! connections. A request stays one: it is taken up once and recorded once, when its last attempt has ended or one had a good
//! reply. Alarms count from the instants at which they were due, never from when they were noticed, so that lateness does not
//! add up. An attempt that is given up closes its connection (its stream, over HTTP/2), by which a server may notice.
//!
//! What fails is tried again but for what would fail again: a status of 4xx other than 408, 425 and 429, a redirect without end,
//! a reply that a check does not hold of, and what this host has no socket for.

use std::cmp::Reverse;

use sojourn_model::{AfterFailure, Effort};
use sojourn_stats::Time;

use super::{Why, Worker};
use crate::outcome::Outcome;
use crate::recorder::ReplyFacts;
use crate::schedule::Source;
use crate::schedule::job::Job;
use crate::wire::connection::Connection;

/// A request that is not over.
pub(super) struct Trying {
    job: Job,
    effort: Effort,
    under_way: Vec<Attempt>,
    /// Whether one of its attempts has had a connection, or a place for one.
    is_begun: bool,
}

/// An attempt that has not ended.
struct Attempt {
    number: u32,
    /// From when on it counts.
    since: Time,
    /// The place of its connection; none while it waits for one.
    place: Option<u32>,
}

/// What is due at an instant, of some request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Alarm {
    /// The client has waited long enough for the attempt of this number.
    TimesOut(u32),
    /// It asks a second time beside the first.
    Hedges,
    /// It asks again.
    TriesAgain,
}

impl Worker<'_> {
    /// `job` is asked for, for the first time: with the number and the end of its attempt, where clients ask more than once.
    #[inline]
    pub(super) fn tried_first(&mut self, job: Job, now: Time) -> Job {
        let Some(attempts) = self.setting.attempts else { return job };
        let effort = attempts.lock().begins(job.planned, now);
        self.trying.insert(job.k, Trying { job, effort, under_way: Vec::new(), is_begun: false });
        self.tried(job.k, job.planned).unwrap_or(job)
    }

    /// The next attempt of request `k`, which counts from `since` on; none where the request is over.
    fn tried(&mut self, k: u64, since: Time) -> Option<Job> {
        let (attempts, trying) = (self.setting.attempts?, self.trying.get_mut(&k)?);
        let attempt = attempts.lock().tries(&mut trying.effort, since);
        let number = attempt.number;
        trying.under_way.push(Attempt { number, since, place: None });
        self.alarms.extend(attempt.until.map(|at| Reverse((at, k, Alarm::TimesOut(number)))));
        self.alarms.extend(attempt.hedge.map(|at| Reverse((at, k, Alarm::Hedges))));
        Some(Job { attempt: number, until: attempt.until.unwrap_or(Time::NEVER), ..trying.job })
    }

    /// The attempt that `job` is has a connection, or a place for one. Returns whether it is the first of its request that has:
    /// those before it may have timed out while they waited.
    #[inline]
    pub(super) fn is_at(&mut self, job: &Job, place: u32) -> bool {
        if let Some(attempt) = self.attempt(job) {
            attempt.place = Some(place);
        }
        self.trying.get_mut(&job.k).is_none_or(|trying| !std::mem::replace(&mut trying.is_begun, true))
    }

    /// The generator acts on `job` at `begun`; with the first attempt that has a connection its request begins.
    #[inline]
    pub(super) fn begun(&mut self, job: &Job, begun: Time, free: bool, is_first: bool) {
        if job.attempt > 0 {
            self.recorder.tried_again(job, begun);
        }
        if is_first {
            self.recorder.begun(job, begun, free);
        }
    }

    /// Whether what waits for a connection still needs one.
    pub(super) fn is_wanted(&mut self, job: &Job) -> bool {
        self.setting.attempts.is_none() || self.attempt(job).is_some()
    }

    fn attempt(&mut self, job: &Job) -> Option<&mut Attempt> {
        self.trying.get_mut(&job.k)?.under_way.iter_mut().find(|attempt| attempt.number == job.attempt)
    }

    /// When the next alarm is due.
    #[inline]
    pub(super) fn next_alarm(&self) -> Time {
        self.alarms.peek().map_or(Time::NEVER, |Reverse((at, ..))| *at)
    }

    /// Does what is due by `now`.
    #[inline]
    pub(super) fn ring(&mut self, now: Time) {
        while self.next_alarm() <= now {
            let Some(Reverse((at, k, alarm))) = self.alarms.pop() else { return };
            match alarm {
                Alarm::TimesOut(number) => self.times_out(k, number, at),
                Alarm::TriesAgain => self.ask_again(k, at, now),
                Alarm::Hedges => {
                    let hedges =
                        |trying: &Trying| self.setting.attempts.is_some_and(|of| of.lock().hedges(&trying.effort, at));
                    if self.trying.get(&k).is_some_and(hedges) {
                        self.ask_again(k, at, now);
                    }
                }
            }
        }
    }

    /// A further attempt of request `k` goes out.
    fn ask_again(&mut self, k: u64, at: Time, now: Time) {
        let Some(job) = self.tried(k, at) else { return };
        let place = match &self.source {
            Source::Plan(_) => self.place(&job),
            _ => Some(self.place_of_user(job.place)),
        };
        match (place, &self.source) {
            (Some(place), Source::Plan(_)) => self.begin(place, Job { place, ..job }, now, false),
            (Some(place), _) => self.begin(place, job, now, false),
            (None, _) => self.waiting.push_back(job),
        }
    }

    /// The user's own place, or where that is taken by its first attempt, one behind those of all users.
    fn place_of_user(&mut self, user: u32) -> u32 {
        let is_free = |connection: &Connection| connection.exchange.is_none();
        if is_free(&self.connections[user as usize]) {
            return user;
        }
        let users = self.source.places().unwrap_or(0);
        let free = self.connections.iter().skip(users).position(is_free).map(|at| users + at);
        let place = free.unwrap_or(self.connections.len());
        if place == self.connections.len() {
            self.connections.push(Connection::default());
        }
        place as u32
    }

    fn times_out(&mut self, k: u64, number: u32, at: Time) {
        let Some(trying) = self.trying.get_mut(&k) else { return };
        let Some(attempt) = trying.under_way.iter().find(|attempt| attempt.number == number) else { return };
        let (job, place) = (Job { attempt: number, ..trying.job }, attempt.place);
        match place {
            Some(place) => self.fail_at(place, Outcome::Timeout, at),
            None => {
                let Some(job) = self.over_with(job, Outcome::Timeout, 0, at) else { return };
                let now = self.setting.clock.now();
                let settlement = self.recorder.over(&job, None, Outcome::Timeout, now, ReplyFacts::default());
                self.settle(&job, now, settlement);
            }
        }
    }

    /// An attempt has ended at `at`, and its connection is the caller's affair. The request, where it is over with that, by its
    /// last attempt; what else was under way for it is then given up. None where it goes on.
    #[inline]
    pub(super) fn over_with(&mut self, job: Job, outcome: Outcome, status: u16, at: Time) -> Option<Job> {
        let Some(attempts) = self.setting.attempts else { return Some(job) };
        let trying = self.trying.get_mut(&job.k)?;
        let index = trying.under_way.iter().position(|attempt| attempt.number == job.attempt)?;
        let ended = trying.under_way.swap_remove(index);
        if outcome == Outcome::Ok {
            attempts.lock().answered(at.saturating_since(ended.since));
        } else if may_succeed(outcome, status) {
            let draws = |retry| attempts.draws(job.k, retry);
            match attempts.lock().failed(&mut trying.effort, at, draws) {
                AfterFailure::Wait => return None,
                AfterFailure::Retry(wait) => {
                    self.alarms.push(Reverse((at + wait, job.k, Alarm::TriesAgain)));
                    return None;
                }
                AfterFailure::GiveUp => {}
            }
        }
        let last = trying.effort.attempts().saturating_sub(1);
        let over = self.trying.remove(&job.k).into_iter().flat_map(|trying| trying.under_way);
        over.filter_map(|attempt| attempt.place).for_each(|place| self.drop_attempt(place));
        Some(Job { attempt: last, ..job })
    }

    /// What is under way at `place` is given up, though its request may go on.
    pub(super) fn drop_attempt(&mut self, place: u32) {
        let connection = &mut self.connections[place as usize];
        connection.exchange = None;
        connection.special = None;
        self.active -= 1;
        self.close(place, Why::Lost);
    }

    /// Counts requests that are not over as unfinished.
    pub(super) fn cut_tries_off(&mut self, now: Time) {
        for trying in std::mem::take(&mut self.trying).into_values() {
            let places = trying.under_way.iter().filter_map(|attempt| attempt.place);
            let exchanges: Vec<_> =
                places.filter_map(|place| self.connections[place as usize].exchange.take()).collect();
            let job = Job { attempt: trying.effort.attempts().saturating_sub(1), ..trying.job };
            self.recorder.over(&job, exchanges.first(), Outcome::Unfinished, now, ReplyFacts::default());
            self.waiting.retain(|job| job.k != trying.job.k);
        }
    }
}

/// Whether a further attempt may have a good reply after one that came to this.
fn may_succeed(outcome: Outcome, status: u16) -> bool {
    match outcome {
        Outcome::ClientError => matches!(status, 408 | 425 | 429),
        Outcome::NotResolved
        | Outcome::Refused
        | Outcome::Reset
        | Outcome::Tls
        | Outcome::Timeout
        | Outcome::ClosedEarly
        | Outcome::Protocol
        | Outcome::ServerError => true,
        Outcome::Ok
        | Outcome::Redirects
        | Outcome::Check
        | Outcome::Take
        | Outcome::Local
        | Outcome::Missed
        | Outcome::Abandoned
        | Outcome::Unfinished => false,
    }
}
