//! Who asks when: open plans, closed users and saturation, all as one source of jobs per thread.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fmt;

use sojourn_stats::{Span, Time};
use sojourn_traffic::{Planned, Request, Script, Step};

use crate::setting::Stop;

/// A user that asks again at once has to fear a server that refuses at once: after a failure it waits this long.
const PAUSE_AFTER_FAILURE: Span = Span(10_000_000);

/// Who asks when.
pub enum Schedule {
    /// Requests arrive by one global plan, whether or not earlier ones are done. A request takes the free connection
    /// used last, or opens one, or waits until one is free.
    Open(Box<dyn Iterator<Item = Planned> + Send>),
    /// Closed users, one connection each: think, ask, wait for the reply.
    Users(Vec<Box<dyn FnMut() -> Step + Send>>),
    /// This many users that never think and always ask the same: the most that the server can do.
    Saturate {
        /// Number of users, one connection each.
        connections: u32,
        /// What they ask.
        request: Request,
    },
}

impl Schedule {
    /// The open schedule of a plan: any iterator of requests in order of their planned instants.
    pub fn open(plan: impl Iterator<Item = Planned> + Send + 'static) -> Schedule {
        Schedule::Open(Box::new(plan))
    }

    /// The closed schedule of one script per user.
    pub fn users(scripts: impl IntoIterator<Item = Script>) -> Schedule {
        let mut users: Vec<Box<dyn FnMut() -> Step + Send>> = Vec::new();
        for mut script in scripts {
            users.push(Box::new(move || script.step()));
        }
        Schedule::Users(users)
    }

    /// `connections` users that ask for a fixed path without a pause.
    pub fn saturate(connections: u32) -> Schedule {
        let request = Request { client: 0, class: 0, object: 0, size: 0, demand: Span::ZERO, patience: Span::FOREVER };
        Schedule::Saturate { connections, request }
    }
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Schedule::Open(_) => f.write_str("Open"),
            Schedule::Users(users) => write!(f, "Users({})", users.len()),
            Schedule::Saturate { connections, .. } => write!(f, "Saturate({connections})"),
        }
    }
}

/// A request whose time has come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    /// Its number in the run.
    pub(crate) k: u64,
    /// The thread's own number of the user that asks; 0 in an open schedule.
    pub(crate) user: u32,
    pub(crate) planned: Time,
    pub(crate) request: Request,
}

/// One thread's share of a schedule.
pub(crate) enum Source {
    Plan(PlanShare),
    Users(UserShare),
}

pub(crate) struct PlanShare {
    jobs: Vec<(u64, Planned)>,
    next: usize,
}

pub(crate) struct UserShare {
    users: Vec<User>,
    thinking: BinaryHeap<Reverse<(Time, u32)>>,
    /// Users that did not think at all, in the order they finished.
    ready: VecDeque<(Time, u32)>,
    taken: u64,
    budget: u64,
    until: Time,
    thread: u64,
    threads: u64,
}

struct User {
    behaviour: Behaviour,
    request: Request,
}

enum Behaviour {
    Scripted(Box<dyn FnMut() -> Step + Send>),
    Constant,
}

/// A schedule dealt to threads.
pub(crate) struct Dealt {
    pub(crate) shares: Vec<Source>,
    /// Planned instants of an open schedule, in order.
    pub(crate) planned: Option<Vec<Time>>,
    /// How many requests there are to be, where that is known.
    pub(crate) requests: Option<u64>,
    /// When the last request has been planned, where that is known.
    pub(crate) end: Option<Time>,
}

/// Deals `schedule` to `threads`: a plan by request number, users by user number. With `by_client` a plan is dealt
/// by client, so that one thread sees all that a client does (its cookies).
///
/// The plan is drawn here up to its end, so that the threads do nothing but send; the price is 80 bytes a request, the
/// instants that the verdict needs included.
pub(crate) fn deal(schedule: Schedule, stop: Stop, threads: usize, by_client: bool) -> Dealt {
    match schedule {
        Schedule::Open(plan) => deal_plan(plan, stop, threads, by_client),
        Schedule::Users(users) => {
            let users = users.into_iter().map(Behaviour::Scripted);
            deal_users(users, Step { think: Span::ZERO, request: no_request() }, stop, threads)
        }
        Schedule::Saturate { connections, request } => {
            let users = (0..connections).map(|_| Behaviour::Constant);
            deal_users(users, Step { think: Span::ZERO, request }, stop, threads)
        }
    }
}

fn deal_plan(plan: Box<dyn Iterator<Item = Planned> + Send>, stop: Stop, threads: usize, by_client: bool) -> Dealt {
    let mut shares: Vec<Vec<(u64, Planned)>> = (0..threads).map(|_| Vec::new()).collect();
    let mut instants: Vec<Time> = Vec::new();
    let mut end = None;
    for (k, planned) in plan.enumerate() {
        let over = match stop {
            Stop::After(end) => planned.at.0 >= end.0,
            Stop::Requests(most) => k as u64 >= most,
        };
        if over {
            if let Stop::After(horizon) = stop {
                end = Some(Time(horizon.0));
            }
            break;
        }
        let key = if by_client { planned.request.client as usize } else { k };
        shares[key % threads].push((k as u64, planned));
        instants.push(planned.at);
    }
    let requests = Some(instants.len() as u64);
    // A plan that ends before its horizon (a log) ends with its last request.
    let end = end.or_else(|| instants.last().map(|&last| last + Span(1)));
    let shares = shares.into_iter().map(|jobs| Source::Plan(PlanShare { jobs, next: 0 })).collect();
    Dealt { shares, planned: Some(instants), requests, end }
}

fn deal_users(users: impl Iterator<Item = Behaviour>, constant: Step, stop: Stop, threads: usize) -> Dealt {
    let (requests, end) = match stop {
        Stop::After(end) => (None, Some(Time(end.0))),
        Stop::Requests(most) => (Some(most), None),
    };
    let until = end.unwrap_or(Time::NEVER);
    let mut shares: Vec<UserShare> = (0..threads as u64)
        .map(|thread| UserShare {
            users: Vec::new(),
            thinking: BinaryHeap::new(),
            ready: VecDeque::new(),
            taken: 0,
            // Shares differ by at most one request and add up.
            budget: requests.map_or(u64::MAX, |most| (most + threads as u64 - 1 - thread) / threads as u64),
            until,
            thread,
            threads: threads as u64,
        })
        .collect();
    for (number, behaviour) in users.enumerate() {
        let share = &mut shares[number % threads];
        let user = share.users.len() as u32;
        share.users.push(User { behaviour, request: constant.request });
        share.think(user, Time::ZERO, Span::ZERO);
    }
    Dealt { shares: shares.into_iter().map(Source::Users).collect(), planned: None, requests, end }
}

impl Source {
    /// When the next job is due, if nobody finishes before; [`Time::NEVER`] when there is none.
    #[inline]
    pub(crate) fn next_at(&self) -> Time {
        match self {
            Source::Plan(share) => share.jobs.get(share.next).map_or(Time::NEVER, |(_, planned)| planned.at),
            // The end itself is an event: the thread has to see it.
            Source::Users(share) if share.spent() => Time::NEVER,
            Source::Users(share) => share.earliest().min(share.until),
        }
    }

    /// The next job, if it is due at `now`.
    #[inline]
    pub(crate) fn take(&mut self, now: Time) -> Option<Job> {
        match self {
            Source::Plan(share) => {
                let &(k, planned) = share.jobs.get(share.next).filter(|(_, planned)| planned.at <= now)?;
                share.next += 1;
                Some(Job { k, user: 0, planned: planned.at, request: planned.request })
            }
            Source::Users(share) => share.take(now),
        }
    }

    /// User `user` of this thread has got its reply, or will get none.
    #[inline]
    pub(crate) fn finished(&mut self, user: u32, now: Time, failed: bool) {
        if let Source::Users(share) = self {
            share.think(user, now, if failed { PAUSE_AFTER_FAILURE } else { Span::ZERO });
        }
    }

    /// Whether no more jobs will come after `now`, whoever finishes.
    pub(crate) fn exhausted(&self, now: Time) -> bool {
        match self {
            Source::Plan(share) => share.next == share.jobs.len(),
            Source::Users(share) => share.spent() || (now >= share.until && share.earliest() >= share.until),
        }
    }

    /// Most jobs that can be under way at once; none: as many as the connections.
    pub(crate) fn population(&self) -> Option<usize> {
        match self {
            Source::Plan(_) => None,
            Source::Users(share) => Some(share.users.len()),
        }
    }

    /// How many jobs there will be, where that is known.
    pub(crate) fn jobs_planned(&self) -> usize {
        match self {
            Source::Plan(share) => share.jobs.len(),
            Source::Users(_) => 0,
        }
    }
}

impl UserShare {
    fn spent(&self) -> bool {
        self.taken >= self.budget || self.users.is_empty()
    }

    fn think(&mut self, user: u32, now: Time, pause: Span) {
        let state = &mut self.users[user as usize];
        let think = match &mut state.behaviour {
            Behaviour::Scripted(step) => {
                let step = step();
                state.request = step.request;
                step.think
            }
            Behaviour::Constant => Span::ZERO,
        } + pause;
        if think == Span::ZERO {
            self.ready.push_back((now, user));
        } else {
            self.thinking.push(Reverse((now + think, user)));
        }
    }

    /// When the next user stops thinking; [`Time::NEVER`] when none thinks.
    #[inline]
    fn earliest(&self) -> Time {
        let thinking = self.thinking.peek().map_or(Time::NEVER, |&Reverse((at, _))| at);
        self.ready.front().map_or(thinking, |&(at, _)| at.min(thinking))
    }

    #[inline]
    fn take(&mut self, now: Time) -> Option<Job> {
        let planned = self.earliest();
        // What was planned before the end is sent, however late that is seen.
        if planned > now || planned >= self.until || self.spent() {
            return None;
        }
        let user = match self.ready.front() {
            Some(&(at, user)) if at == planned => {
                self.ready.pop_front();
                user
            }
            _ => self.thinking.pop()?.0.1,
        };
        let k = self.taken * self.threads + self.thread;
        self.taken += 1;
        Some(Job { k, user, planned, request: self.users[user as usize].request })
    }
}

fn no_request() -> Request {
    Request { client: 0, class: 0, object: 0, size: 0, demand: Span::ZERO, patience: Span::FOREVER }
}
