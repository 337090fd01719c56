//! Who asks when: open plans, closed users, users who browse and saturation, all as one source of jobs per thread.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fmt;

use sojourn_stats::{Span, Time};
use sojourn_traffic::{Fetch, Http, Planned, Request, Script, Step, Visit, Visitor};

use crate::outcome::{Outcome, Settlement};
use crate::sessions::{Ended, SessionShare};
use crate::setting::Stop;

/// A user that asks again at once has to fear a server that refuses at once: after a failure it waits this long.
pub(crate) const PAUSE_AFTER_FAILURE: Span = Span(10_000_000);

/// What a user who browses does next: puts the files of the next page into the list, its own file first, and says how
/// long it thinks before.
pub type Browse = Box<dyn FnMut(&mut Vec<Fetch>) -> Visit + Send>;

/// Who asks when.
pub enum Schedule {
    /// Requests arrive by one global plan, whether or not earlier ones are done. A request takes the free connection
    /// used last, or opens one, or waits until one is free.
    Open(Box<dyn Iterator<Item = Planned> + Send>),
    /// Closed users, one connection each: think, ask, wait for the reply.
    Users(Vec<Box<dyn FnMut() -> Step + Send>>),
    /// Users who browse: think, ask for a page, then for its embedded files on a few connections at once.
    Sessions {
        /// What each of them does.
        users: Vec<Browse>,
        /// Most connections of one user, 1 to 64.
        parallel: u32,
        /// HTTP/1.0, a connection per file; or HTTP/1.1 with connections that the user closes when they were idle for
        /// `keep_alive` (of this run's clock: already divided by any time scale) and at the end of a session.
        http: Http,
    },
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

    /// The schedule of one visitor per user, with at most `parallel` connections each.
    pub fn sessions(visitors: impl Iterator<Item = Visitor>, parallel: u32, http: Http) -> Schedule {
        let mut users: Vec<Browse> = Vec::new();
        for mut visitor in visitors {
            users.push(Box::new(move |fetches| visitor.visit(fetches)));
        }
        Schedule::Sessions { users, parallel, http }
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
            Schedule::Sessions { users, parallel, http } => {
                write!(f, "Sessions({} x {parallel}, {http:?})", users.len())
            }
            Schedule::Saturate { connections, .. } => write!(f, "Saturate({connections})"),
        }
    }
}

/// The place of a job that may go out on any connection.
pub(crate) const ANYWHERE: u32 = u32::MAX;

/// A request whose time has come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    /// Its number in the run; that of its object where users browse.
    pub(crate) k: u64,
    /// The thread's own number of the place of the connection that has to carry it; [`ANYWHERE`] in an open schedule.
    pub(crate) place: u32,
    pub(crate) planned: Time,
    /// The instant that says which part of the run it belongs to: its own, or that of its object.
    pub(crate) counts_at: Time,
    pub(crate) request: Request,
}

/// One thread's share of a schedule.
pub(crate) enum Source {
    Plan(PlanShare),
    Users(UserShare),
    Sessions(SessionShare),
}

/// What a source wants done.
pub(crate) enum Due {
    /// A request is to go out.
    Ask(Job),
    /// The idle connection at this place has been kept for long enough.
    Close(u32),
}

/// A thread's part of what is to be planned: up to a number, or up to an instant.
pub(crate) struct Quota {
    taken: u64,
    budget: u64,
    pub(crate) until: Time,
    thread: u64,
    threads: u64,
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
    quota: Quota,
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
        Schedule::Sessions { users, parallel, http } => {
            let quotas = (0..threads).map(|thread| Quota::new(stop, thread, threads));
            let mut shares: Vec<SessionShare> = quotas.map(|quota| SessionShare::new(parallel, http, quota)).collect();
            for (number, browse) in users.into_iter().enumerate() {
                shares[number % threads].join(browse);
            }
            let (requests, end) = known(stop);
            Dealt { shares: shares.into_iter().map(Source::Sessions).collect(), planned: None, requests, end }
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
    let (requests, end) = known(stop);
    let mut shares: Vec<UserShare> = (0..threads)
        .map(|thread| UserShare {
            users: Vec::new(),
            thinking: BinaryHeap::new(),
            ready: VecDeque::new(),
            quota: Quota::new(stop, thread, threads),
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

/// How many jobs a closed schedule has and when it ends, as far as `stop` says.
fn known(stop: Stop) -> (Option<u64>, Option<Time>) {
    match stop {
        Stop::After(end) => (None, Some(Time(end.0))),
        Stop::Requests(most) => (Some(most), None),
    }
}

impl Quota {
    fn new(stop: Stop, thread: usize, threads: usize) -> Quota {
        let (thread, threads) = (thread as u64, threads as u64);
        let (requests, end) = known(stop);
        // Shares differ by at most one request and add up.
        let budget = requests.map_or(u64::MAX, |most| (most + threads - 1 - thread) / threads);
        Quota { taken: 0, budget, until: end.unwrap_or(Time::NEVER), thread, threads }
    }

    #[inline]
    pub(crate) fn spent(&self) -> bool {
        self.taken >= self.budget
    }

    /// The number of one more, where there is one.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<u64> {
        if self.spent() {
            return None;
        }
        let k = self.taken * self.threads + self.thread;
        self.taken += 1;
        Some(k)
    }

    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }
}

impl Source {
    /// When something is due next, if nobody finishes before; [`Time::NEVER`] when nothing is. `over`: the end of the
    /// plan has been seen, and is no event any more.
    #[inline]
    pub(crate) fn next_at(&self, over: bool) -> Time {
        match self {
            Source::Sessions(share) => share.next_at().min(if over { Time::NEVER } else { share.end() }),
            _ if over => Time::NEVER,
            Source::Plan(share) => share.jobs.get(share.next).map_or(Time::NEVER, |(_, planned)| planned.at),
            // The end itself is an event: the thread has to see it.
            Source::Users(share) if share.spent() => Time::NEVER,
            Source::Users(share) => share.earliest().min(share.quota.until),
        }
    }

    /// The next thing to do, if it is due at `now`.
    #[inline]
    pub(crate) fn due(&mut self, now: Time) -> Option<Due> {
        match self {
            Source::Plan(share) => {
                let &(k, Planned { at, request }) =
                    share.jobs.get(share.next).filter(|(_, planned)| planned.at <= now)?;
                share.next += 1;
                Some(Due::Ask(Job { k, place: ANYWHERE, planned: at, counts_at: at, request }))
            }
            Source::Users(share) => share.take(now).map(Due::Ask),
            Source::Sessions(share) => share.due(now),
        }
    }

    /// The request of `place` has got its reply, or will get none; the object, where that is over as well.
    #[inline]
    pub(crate) fn finished(&mut self, place: u32, now: Time, settlement: Settlement) -> Option<Ended> {
        match self {
            Source::Plan(_) => None,
            Source::Users(share) => {
                let failed = settlement.outcome != Outcome::Ok;
                share.think(place, now, if failed { PAUSE_AFTER_FAILURE } else { Span::ZERO });
                None
            }
            Source::Sessions(share) => share.finished(place, now, settlement),
        }
    }

    /// Whether no more jobs will come after `now`, whoever finishes.
    pub(crate) fn exhausted(&self, now: Time) -> bool {
        match self {
            Source::Plan(share) => share.next == share.jobs.len(),
            Source::Users(share) => {
                share.spent() || (now >= share.quota.until && share.earliest() >= share.quota.until)
            }
            Source::Sessions(share) => share.exhausted(now),
        }
    }

    /// How many places for connections its users have; none: any job may go anywhere.
    pub(crate) fn places(&self) -> Option<usize> {
        match self {
            Source::Plan(_) => None,
            Source::Users(share) => Some(share.users.len()),
            Source::Sessions(share) => Some(share.places()),
        }
    }

    /// Objects that are under way, with or without a request on a connection.
    pub(crate) fn objects_under_way(&self) -> usize {
        match self {
            Source::Plan(_) | Source::Users(_) => 0,
            Source::Sessions(share) => share.under_way(),
        }
    }

    /// How many jobs there will be, where that is known.
    pub(crate) fn jobs_planned(&self) -> usize {
        match self {
            Source::Plan(share) => share.jobs.len(),
            Source::Users(_) | Source::Sessions(_) => 0,
        }
    }
}

impl UserShare {
    fn spent(&self) -> bool {
        self.quota.spent() || self.users.is_empty()
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
        if planned > now || planned >= self.quota.until || self.spent() {
            return None;
        }
        let user = match self.ready.front() {
            Some(&(at, user)) if at == planned => {
                self.ready.pop_front();
                user
            }
            _ => self.thinking.pop()?.0.1,
        };
        let k = self.quota.take()?;
        Some(Job { k, place: user, planned, counts_at: planned, request: self.users[user as usize].request })
    }
}

fn no_request() -> Request {
    Request { client: 0, class: 0, object: 0, size: 0, demand: Span::ZERO, patience: Span::FOREVER }
}
