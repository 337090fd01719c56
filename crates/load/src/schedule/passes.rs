//! Users who follow scenarios, step by step; each way through one is a pass.
//!
//! Closed users come back: each thinks, goes through a scenario, thinks, and goes through the next. What a user draws
//! (scenarios, thinking times, values in requests) is a stream of the user's own. Open passes come by a plan, each a
//! user of its own with a stream of its own, who has a place while the pass lasts; where all places are taken the pass
//! waits for one, and its first response time contains that. The first step of an open pass is due when the pass
//! comes, without thinking.
//!
//! After the end of the run nothing more is planned: what was under way is then an unfinished pass.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use sojourn_stats::{Span, Stream, Time};
use sojourn_traffic::{Planned, Request};

use crate::outcome::{Outcome, Settlement};
use crate::request::Special;
use crate::request::scenario::{Answer, Fault, Scenario, Scenarios};
use crate::schedule::job::{ANYWHERE, Due, Job, PAUSE_AFTER_FAILURE};
use crate::schedule::plan::PlanShare;
use crate::schedule::quota::Quota;

/// One thread's share of the passes.
pub(crate) struct PassShare {
    scenarios: Arc<Scenarios>,
    seed: u64,
    /// By place.
    users: Vec<User>,
    coming: Coming,
    quota: Quota,
    /// Users who think, by when they stop, and their places.
    thinking: BinaryHeap<Reverse<(Time, u32)>>,
    /// Those that did not think at all, in the order in which they came to that.
    ready: VecDeque<(Time, u32)>,
    /// Passes that have begun.
    begun: u64,
    /// Those of them that are not over.
    under_way: usize,
}

/// Where passes come from.
enum Coming {
    /// Users who come back.
    Users,
    /// A plan; with the places that are free.
    Plan { plan: PlanShare, free: Vec<u32> },
}

struct User {
    /// Its number among those of all threads.
    number: u32,
    stream: Stream,
    /// The scenario of its pass, or of the next one.
    scenario: usize,
    pass: Option<Pass>,
}

/// A pass under way.
struct Pass {
    k: u64,
    began: Time,
    /// Its present step.
    step: usize,
    values: Vec<Vec<u8>>,
}

/// A pass that is over.
pub(crate) struct PassEnded {
    pub(crate) k: u64,
    pub(crate) began: Time,
    pub(crate) end: PassEnd,
    /// The place of its user, who will not come back.
    pub(crate) leaves: Option<u32>,
}

/// How a pass ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PassEnd {
    /// With its last step.
    Whole,
    /// With a step that failed.
    Failed,
    /// With the run.
    Unfinished,
}

impl PassShare {
    /// A share of users who come back, without any yet.
    pub(super) fn of_users(scenarios: Arc<Scenarios>, seed: u64, quota: Quota) -> PassShare {
        PassShare::new(scenarios, seed, Coming::Users, quota)
    }

    /// A share of passes that come by `plan`, at most `places` of them at once.
    pub(super) fn of_plan(
        scenarios: Arc<Scenarios>,
        seed: u64,
        plan: PlanShare,
        places: usize,
        quota: Quota,
    ) -> PassShare {
        let free = (0..places as u32).rev().collect();
        let mut share = PassShare::new(scenarios, seed, Coming::Plan { plan, free }, quota);
        let user = || User { number: 0, stream: Stream::new(seed, "no user", "scenario"), scenario: 0, pass: None };
        share.users.resize_with(places, user);
        share
    }

    fn new(scenarios: Arc<Scenarios>, seed: u64, coming: Coming, quota: Quota) -> PassShare {
        PassShare {
            scenarios,
            seed,
            users: Vec::new(),
            coming,
            quota,
            thinking: BinaryHeap::new(),
            ready: VecDeque::new(),
            begun: 0,
            under_way: 0,
        }
    }

    /// One more user who comes back, with this number among those of all threads; it begins with thinking.
    pub(super) fn join(&mut self, number: u32) {
        let stream = Stream::new(self.seed, &format!("user {number}"), "scenario");
        self.users.push(User { number, stream, scenario: 0, pass: None });
        self.come_back(self.users.len() as u32 - 1, Time::ZERO, Span::ZERO);
    }

    pub(crate) fn places(&self) -> usize {
        self.users.len()
    }

    /// When nothing more is planned, where that is known.
    pub(crate) fn end(&self) -> Time {
        self.quota.until
    }

    /// Passes that have begun so far.
    pub(crate) fn begun(&self) -> u64 {
        self.begun
    }

    /// When something is due next, if no request is over before.
    pub(crate) fn next_at(&self) -> Time {
        match &self.coming {
            Coming::Users => self.earliest(),
            Coming::Plan { plan, .. } => self.earliest().min(plan.next_at()),
        }
    }

    /// Whether no more requests will be planned at `now` or later, whichever request ends.
    pub(crate) fn exhausted(&self, now: Time) -> bool {
        let no_more_come = match &self.coming {
            Coming::Users => self.quota.spent() || now >= self.quota.until,
            Coming::Plan { plan, .. } => plan.exhausted(),
        };
        let ended = now >= self.quota.until && self.earliest() >= self.quota.until;
        no_more_come && (ended || self.under_way == 0)
    }

    /// The next request, if it is due at `now`. The first one of an open pass has no place yet ([`PassShare::seat`]).
    pub(crate) fn due(&mut self, now: Time) -> Option<Due> {
        loop {
            let at = self.earliest();
            if let Coming::Plan { plan, .. } = &mut self.coming
                && plan.next_at() <= at
                && let Some((k, Planned { at, .. })) = plan.take(now)
            {
                let (_, scenario) = self.visitor(k);
                let job = job_of(k, ANYWHERE, at, k as u32, self.scenarios.scenario(scenario).number(0));
                return Some(Due::Ask(job));
            }
            if at > now || at >= self.quota.until {
                return None;
            }
            let place = match self.ready.front() {
                Some(&(ready, place)) if ready == at => {
                    self.ready.pop_front();
                    place
                }
                _ => self.thinking.pop()?.0.1,
            };
            if self.users[place as usize].pass.is_none() {
                // The last pass may have begun while it thought.
                let Some(k) = self.quota.take() else { continue };
                self.begin(place, k, at);
            }
            let user = &self.users[place as usize];
            let pass = user.pass.as_ref().expect("it has one by now");
            let number = self.scenarios.scenario(user.scenario).number(pass.step);
            return Some(Due::Ask(job_of(pass.k, place, at, user.number, number)));
        }
    }

    /// A place for the pass that `job` begins, where one is free.
    pub(crate) fn seat(&mut self, job: &Job) -> Option<u32> {
        let Coming::Plan { free, .. } = &mut self.coming else { return None };
        let place = free.pop()?;
        let (stream, scenario) = self.visitor(job.k);
        self.users[place as usize] = User { number: job.request.client, stream, scenario, pass: None };
        self.begin(place, job.k, job.planned);
        Some(place)
    }

    /// The user at `place`, who does not come back, is gone.
    pub(crate) fn vacate(&mut self, place: u32) {
        if let Coming::Plan { free, .. } = &mut self.coming {
            free.push(place);
        }
    }

    /// What `job` asks for.
    pub(crate) fn request(&mut self, job: &Job, place: u32) -> Special {
        let user = &mut self.users[place as usize];
        let pass = user.pass.as_ref().expect("only a pass asks");
        let step = self.scenarios.scenario(user.scenario).step(pass.step).expect("a pass is at one of its steps");
        step.request(job, &pass.values, &mut user.stream)
    }

    /// What the reply to the request of `place` comes to, and what of it did not come out.
    pub(crate) fn judge(&mut self, place: u32, answer: &Answer<'_>) -> (Outcome, Option<Fault>) {
        let user = &mut self.users[place as usize];
        let pass = user.pass.as_mut().expect("only a pass asks");
        let step = self.scenarios.scenario(user.scenario).step(pass.step).expect("a pass is at one of its steps");
        step.judge(answer, &mut pass.values)
    }

    /// The request of `place` has got its reply, or will get none; the pass, where that is over as well.
    pub(crate) fn finished(&mut self, place: u32, now: Time, settlement: Settlement) -> Option<PassEnded> {
        let user = &mut self.users[place as usize];
        // An open pass that got no place has no user.
        let pass = user.pass.as_mut()?;
        if settlement.outcome != Outcome::Ok {
            return Some(self.conclude(place, now, PassEnd::Failed));
        }
        pass.step += 1;
        let Some(step) = self.scenarios.scenario(user.scenario).step(pass.step) else {
            return Some(self.conclude(place, now, PassEnd::Whole));
        };
        let think = step.think(&mut user.stream);
        if now + think >= self.quota.until {
            return Some(self.conclude(place, now, PassEnd::Unfinished));
        }
        self.think(place, now, think);
        None
    }

    /// Ends the passes that are still under way; for when the run is cut off.
    pub(crate) fn cut_off(&mut self) -> impl Iterator<Item = PassEnded> + '_ {
        let passes = self.users.iter_mut().filter_map(|user| user.pass.take());
        passes.map(|pass| PassEnded { k: pass.k, began: pass.began, end: PassEnd::Unfinished, leaves: None })
    }

    fn earliest(&self) -> Time {
        let thinking = self.thinking.peek().map_or(Time::NEVER, |&Reverse((at, _))| at);
        self.ready.front().map_or(thinking, |&(at, _)| at.min(thinking))
    }

    /// Who goes through open pass `k`: its stream, and the scenario that it draws from it first.
    fn visitor(&self, k: u64) -> (Stream, usize) {
        let mut stream = Stream::new(self.seed, &format!("pass {k}"), "scenario");
        let scenario = self.scenarios.choose(&mut stream);
        (stream, scenario)
    }

    fn begin(&mut self, place: u32, k: u64, began: Time) {
        let user = &mut self.users[place as usize];
        let scenario: &Scenario = self.scenarios.scenario(user.scenario);
        let values = scenario.values(u64::from(user.number), k);
        user.pass = Some(Pass { k, began, step: 0, values });
        self.begun += 1;
        self.under_way += 1;
    }

    /// The pass at `place` is over; a user who comes back thinks of the next one.
    fn conclude(&mut self, place: u32, now: Time, end: PassEnd) -> PassEnded {
        let pass = self.users[place as usize].pass.take().expect("only a pass under way ends");
        self.under_way -= 1;
        let comes_back = matches!(self.coming, Coming::Users);
        // Whose next step lies beyond the end is still thinking then.
        if comes_back && end != PassEnd::Unfinished {
            let pause = if end == PassEnd::Failed { PAUSE_AFTER_FAILURE } else { Span::ZERO };
            self.come_back(place, now, pause);
        }
        PassEnded { k: pass.k, began: pass.began, end, leaves: (!comes_back).then_some(place) }
    }

    /// The user at `place` chooses its next scenario and thinks before it; not beyond the end of the run.
    fn come_back(&mut self, place: u32, now: Time, pause: Span) {
        let user = &mut self.users[place as usize];
        user.scenario = self.scenarios.choose(&mut user.stream);
        let first = self.scenarios.scenario(user.scenario).step(0).expect("a scenario has a step");
        let think = first.think(&mut user.stream) + pause;
        if now + think < self.quota.until && !self.quota.spent() {
            self.think(place, now, think);
        }
    }

    fn think(&mut self, place: u32, now: Time, think: Span) {
        if think == Span::ZERO {
            self.ready.push_back((now, place));
        } else {
            self.thinking.push(Reverse((now + think, place)));
        }
    }
}

/// The request of a step, given the step's number among those of all scenarios.
fn job_of(k: u64, place: u32, at: Time, client: u32, step: usize) -> Job {
    let class = u8::try_from(step).expect("there are at most 255 steps");
    let request = Request { client, class, object: 0, size: 0, demand: Span::ZERO, patience: Span::FOREVER };
    Job { target: step as u32, ..Job::new(k, place, at, at, request) }
}
