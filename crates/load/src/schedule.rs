//! Who asks when: open plans, closed users, users who browse and saturation, all as one source of jobs per thread.

pub(crate) mod plan;
pub(crate) mod sessions;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fmt;
use std::sync::Arc;

use sojourn_stats::{Span, Time};
use sojourn_traffic::{Fetch, Http, Planned, Request, Script, Step, Visit, Visitor};

use crate::outcome::{Outcome, Settlement};
use crate::part::Part;
use crate::schedule::plan::{Dealer, PlanShare};
use crate::schedule::sessions::{Ended, SessionShare};
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
    /// The thread's number among those of all parts.
    lane: u64,
    lanes: u64,
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
    /// Who knows the end of an open plan, at the latest when the run is over.
    pub(crate) dealer: Option<Arc<Dealer>>,
    /// How many requests there are to be, where that is known.
    pub(crate) requests: Option<u64>,
    /// When the last request has been planned, where that is known.
    pub(crate) end: Option<Time>,
}

/// Deals the share of `schedule` that is `part`'s to `threads`: a plan by request number, users by user number. With
/// `by_client` a plan is dealt by client, so that one thread sees all that a client does (its cookies).
pub(crate) fn deal(schedule: Schedule, stop: Stop, part: Part, threads: usize, by_client: bool) -> Dealt {
    match schedule {
        Schedule::Open(plan) => {
            let (dealer, shares) = Dealer::new(plan, stop, part, threads, by_client);
            let (requests, end) = match dealer.known() {
                Some((requests, end)) => (Some(requests), end),
                None => known(stop),
            };
            let shares = shares.into_iter().map(Source::Plan).collect();
            Dealt { shares, dealer: Some(dealer), requests, end }
        }
        Schedule::Users(users) => {
            let users = users.into_iter().map(Behaviour::Scripted);
            deal_users(users, Step { think: Span::ZERO, request: no_request() }, stop, part, threads)
        }
        Schedule::Sessions { users, parallel, http } => {
            let quotas = (0..threads).map(|thread| Quota::new(stop, part.lane(thread, threads)));
            let mut shares: Vec<SessionShare> = quotas.map(|quota| SessionShare::new(parallel, http, quota)).collect();
            for (number, browse) in users.into_iter().enumerate() {
                if let Some(thread) = part.thread(number as u64, threads) {
                    shares[thread].join(browse);
                }
            }
            let (requests, end) = known(stop);
            Dealt { shares: shares.into_iter().map(Source::Sessions).collect(), dealer: None, requests, end }
        }
        Schedule::Saturate { connections, request } => {
            let users = (0..connections).map(|_| Behaviour::Constant);
            deal_users(users, Step { think: Span::ZERO, request }, stop, part, threads)
        }
    }
}

fn deal_users(users: impl Iterator<Item = Behaviour>, constant: Step, stop: Stop, part: Part, threads: usize) -> Dealt {
    let (requests, end) = known(stop);
    let mut shares: Vec<UserShare> = (0..threads)
        .map(|thread| UserShare {
            users: Vec::new(),
            thinking: BinaryHeap::new(),
            ready: VecDeque::new(),
            quota: Quota::new(stop, part.lane(thread, threads)),
        })
        .collect();
    for (number, behaviour) in users.enumerate() {
        let Some(thread) = part.thread(number as u64, threads) else { continue };
        let share = &mut shares[thread];
        let user = share.users.len() as u32;
        share.users.push(User { behaviour, request: constant.request });
        share.think(user, Time::ZERO, Span::ZERO);
    }
    Dealt { shares: shares.into_iter().map(Source::Users).collect(), dealer: None, requests, end }
}

/// How many jobs a closed schedule has and when it ends, as far as `stop` says.
fn known(stop: Stop) -> (Option<u64>, Option<Time>) {
    match stop {
        Stop::After(end) => (None, Some(Time(end.0))),
        Stop::Requests(most) => (Some(most), None),
    }
}

impl Quota {
    /// The share of one thread, given its number among the threads of all parts and how many those are.
    fn new(stop: Stop, (lane, lanes): (u64, u64)) -> Quota {
        let (requests, end) = known(stop);
        // Shares differ by at most one request and add up.
        let budget = requests.map_or(u64::MAX, |most| (most + lanes - 1 - lane) / lanes);
        Quota { taken: 0, budget, until: end.unwrap_or(Time::NEVER), lane, lanes }
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
        let k = self.taken * self.lanes + self.lane;
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
            Source::Plan(share) => share.next_at(),
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
                let (k, Planned { at, request }) = share.take(now)?;
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
            Source::Plan(share) => share.exhausted(),
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

    /// How many jobs there will be, as far as that is known.
    pub(crate) fn jobs_planned(&self) -> usize {
        match self {
            Source::Plan(share) => share.len(),
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
