//! Who asks when: open plans, closed users, users who browse or follow scenarios, and saturation, all as one source of
//! jobs per thread.

pub(crate) mod job;
pub(crate) mod passes;
mod plan;
mod quota;
pub(crate) mod sessions;
mod users;

use std::fmt;
use std::sync::Arc;

use sojourn_stats::{Span, Time};
use sojourn_traffic::{Http, Planned, Request, Script, Step, Visitor};

use crate::outcome::{Outcome, Settlement};
use crate::request::scenario::Scenarios;
use crate::schedule::job::{ANYWHERE, Due, Job, PAUSE_AFTER_FAILURE};
use crate::schedule::passes::{PassEnded, PassShare};
use crate::schedule::plan::{Dealer, PlanShare};
use crate::schedule::quota::Quota;
use crate::schedule::sessions::{Browse, Ended as ObjectEnded, SessionShare};
use crate::schedule::users::{Behaviour, UserShare};
use crate::setting::Stop;
use crate::share::Share;

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
    /// Users who follow scenarios, each with one connection.
    Scenarios {
        /// What they follow.
        scenarios: Arc<Scenarios>,
        /// Who they are.
        coming: Coming,
    },
    /// This many users that never think and always ask the same: the most that the server can do.
    Saturate {
        /// Number of users, one connection each.
        connections: u32,
        /// What they ask.
        request: Request,
    },
}

/// Who follows scenarios.
pub enum Coming {
    /// So many users, who begin again when they are through.
    Users(u32),
    /// A user for each request of a plan, who comes at its instant, goes through one scenario, and leaves. At most as
    /// many as there may be connections are there at once.
    Plan(Box<dyn Iterator<Item = Planned> + Send>),
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
            Schedule::Scenarios { coming: Coming::Users(users), .. } => write!(f, "Scenarios({users})"),
            Schedule::Scenarios { coming: Coming::Plan(_), .. } => f.write_str("Scenarios(open)"),
            Schedule::Saturate { connections, .. } => write!(f, "Saturate({connections})"),
        }
    }
}

/// One thread's share of a schedule.
pub(crate) enum Source {
    Plan(PlanShare),
    Users(UserShare),
    Sessions(SessionShare),
    Passes(PassShare),
}

/// Something larger than a request that is over.
pub(crate) enum Ended {
    Object(ObjectEnded),
    Pass(PassEnded),
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

/// What a schedule is dealt by.
#[derive(Clone, Copy)]
pub(crate) struct Deal {
    pub(crate) stop: Stop,
    pub(crate) share: Share,
    pub(crate) threads: usize,
    /// A plan is dealt by client, so that one thread sees all that a client does (its cookies).
    pub(crate) by_client: bool,
    /// Most places of all shares for users who come by a plan.
    pub(crate) places_max: u32,
    pub(crate) seed: u64,
}

impl Deal {
    /// The thread's part of what all threads of all shares have together; parts differ by at most one.
    pub(crate) fn part(&self, thread: usize, all: u32) -> usize {
        let (lane, lanes) = self.share.lane(thread, self.threads);
        ((u64::from(all) + lanes - 1 - lane) / lanes) as usize
    }
}

/// Deals what of `schedule` is this share's to its threads: a plan by request number, users by user number.
pub(crate) fn deal(schedule: Schedule, deal: Deal) -> Dealt {
    let Deal { stop, share, threads, by_client, seed, .. } = deal;
    match schedule {
        Schedule::Open(plan) => {
            let (dealer, shares) = Dealer::new(plan, stop, share, threads, by_client);
            let (requests, end) = match dealer.known() {
                Some((requests, end)) => (Some(requests), end),
                None => stop.known(),
            };
            let shares = shares.into_iter().map(Source::Plan).collect();
            Dealt { shares, dealer: Some(dealer), requests, end }
        }
        Schedule::Users(users) => {
            let users = users.into_iter().map(Behaviour::Scripted);
            deal_users(users, no_request(), stop, share, threads)
        }
        Schedule::Sessions { users, parallel, http } => {
            let quotas = (0..threads).map(|thread| Quota::new(stop, share.lane(thread, threads)));
            let mut shares: Vec<SessionShare> = quotas.map(|quota| SessionShare::new(parallel, http, quota)).collect();
            for (number, browse) in users.into_iter().enumerate() {
                if let Some(thread) = share.thread(number as u64, threads) {
                    shares[thread].join(browse);
                }
            }
            let (requests, end) = stop.known();
            Dealt { shares: shares.into_iter().map(Source::Sessions).collect(), dealer: None, requests, end }
        }
        Schedule::Scenarios { scenarios, coming } => {
            let quota = |thread| Quota::new(stop, share.lane(thread, threads));
            let (requests, end) = stop.known();
            let shares: Vec<PassShare> = match coming {
                Coming::Users(users) => {
                    let of_thread = |thread| PassShare::of_users(Arc::clone(&scenarios), seed, quota(thread));
                    let mut shares: Vec<PassShare> = (0..threads).map(of_thread).collect();
                    for number in 0..users {
                        if let Some(thread) = share.thread(u64::from(number), threads) {
                            shares[thread].join(number);
                        }
                    }
                    shares
                }
                Coming::Plan(plan) => {
                    let (_, plans) = Dealer::new(plan, stop, share, threads, false);
                    let of_thread = |(thread, plan)| {
                        let places = deal.part(thread, deal.places_max);
                        PassShare::of_plan(Arc::clone(&scenarios), seed, plan, places, quota(thread))
                    };
                    plans.into_iter().enumerate().map(of_thread).collect()
                }
            };
            // What is planned hangs on the replies too: the plan of the passes is none of requests.
            Dealt { shares: shares.into_iter().map(Source::Passes).collect(), dealer: None, requests, end }
        }
        Schedule::Saturate { connections, request } => {
            let users = (0..connections).map(|_| Behaviour::Constant);
            deal_users(users, request, stop, share, threads)
        }
    }
}

fn deal_users(
    users: impl Iterator<Item = Behaviour>,
    constant: Request,
    stop: Stop,
    share: Share,
    threads: usize,
) -> Dealt {
    let (requests, end) = stop.known();
    let quotas = (0..threads).map(|thread| Quota::new(stop, share.lane(thread, threads)));
    let mut shares: Vec<UserShare> = quotas.map(UserShare::new).collect();
    for (number, behaviour) in users.enumerate() {
        if let Some(thread) = share.thread(number as u64, threads) {
            shares[thread].join(behaviour, constant);
        }
    }
    Dealt { shares: shares.into_iter().map(Source::Users).collect(), dealer: None, requests, end }
}

impl Source {
    /// When something is due next, if no request is over before; [`Time::NEVER`] when nothing is. `over`: the end of the
    /// plan has been seen, and is no event any more.
    #[inline]
    pub(crate) fn next_at(&self, over: bool) -> Time {
        match self {
            Source::Sessions(share) => share.next_at().min(if over { Time::NEVER } else { share.end() }),
            _ if over => Time::NEVER,
            Source::Plan(share) => share.next_at(),
            // The end itself is an event: the thread has to see it.
            Source::Users(share) if share.spent() => Time::NEVER,
            Source::Users(share) => share.earliest().min(share.end()),
            Source::Passes(share) => share.next_at().min(share.end()),
        }
    }

    /// The next thing to do, if it is due at `now`.
    #[inline]
    pub(crate) fn due(&mut self, now: Time) -> Option<Due> {
        match self {
            Source::Plan(share) => share.take(now).map(|numbered| Due::Ask(planned(numbered))),
            Source::Users(share) => share.take(now).map(Due::Ask),
            Source::Sessions(share) => share.due(now),
            Source::Passes(share) => share.due(now),
        }
    }

    /// The request of `place` has got its reply, or will get none; the object or pass, where that is over as well.
    #[inline]
    pub(crate) fn finished(&mut self, place: u32, now: Time, settlement: Settlement) -> Option<Ended> {
        match self {
            Source::Plan(_) => None,
            Source::Users(share) => {
                let failed = settlement.outcome != Outcome::Ok;
                share.think(place, now, if failed { PAUSE_AFTER_FAILURE } else { Span::ZERO });
                None
            }
            Source::Sessions(share) => share.finished(place, now, settlement).map(Ended::Object),
            Source::Passes(share) => share.finished(place, now, settlement).map(Ended::Pass),
        }
    }

    /// Whether no more jobs will come after `now`, whichever request ends.
    pub(crate) fn exhausted(&self, now: Time) -> bool {
        match self {
            Source::Plan(share) => share.exhausted(),
            Source::Users(share) => share.spent() || (now >= share.end() && share.earliest() >= share.end()),
            Source::Sessions(share) => share.exhausted(now),
            Source::Passes(share) => share.exhausted(now),
        }
    }

    /// How many places for connections its users have; none: any job may go anywhere.
    pub(crate) fn places(&self) -> Option<usize> {
        match self {
            Source::Plan(_) => None,
            Source::Users(share) => Some(share.places()),
            Source::Sessions(share) => Some(share.places()),
            Source::Passes(share) => Some(share.places()),
        }
    }

    /// The jobs of a plan that are due by `at`, before any was taken.
    pub(crate) fn due_by(&self, at: Time) -> Vec<Job> {
        match self {
            Source::Plan(share) => share.due_by(at).copied().map(planned).collect(),
            _ => Vec::new(),
        }
    }

    /// Objects that are under way, with or without a request on a connection.
    pub(crate) fn objects_under_way(&self) -> usize {
        match self {
            Source::Plan(_) | Source::Users(_) | Source::Passes(_) => 0,
            Source::Sessions(share) => share.under_way(),
        }
    }

    /// How many jobs there will be, as far as that is known.
    pub(crate) fn jobs_planned(&self) -> usize {
        match self {
            Source::Plan(share) => share.len(),
            Source::Users(_) | Source::Sessions(_) | Source::Passes(_) => 0,
        }
    }
}

fn no_request() -> Request {
    Request { client: 0, class: 0, object: 0, size: 0, demand: Span::ZERO, patience: Span::FOREVER }
}

/// The job that a plan's request is.
fn planned((k, Planned { at, request }): (u64, Planned)) -> Job {
    Job::new(k, ANYWHERE, at, at, request)
}
