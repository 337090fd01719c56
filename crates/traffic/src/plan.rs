//! The plan: who asks for what, and when. An open plan is ONE global arrival process; a closed one is a script per
//! user. The same workload and seed give the same plan to every engine.
//!
//! Each purpose (arrivals, clients, sizes, demands, patience) draws from a stream of its own, so that another law of
//! sizes leaves every arrival where it was. A plan is an enum and not a trait object, and draws only what is random: a
//! constant size or a single client costs nothing. The only indirect call per request is the server's demand.

pub mod generate;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use sojourn_stats::{Law, Span, Stream, Time};

pub use self::generate::generate;
use crate::arrivals::clock::Clock;
use crate::error::WorkloadError;
use crate::recorded::log::{Log, PathClasses};
use crate::recorded::trace::Trace;
use crate::request::{Demand, Patience, Request, STATIC};
use crate::sizes::{Choice, Sizer, Sizes};
use crate::workload::{Closed, Open, Replay, Traced, Workload};

/// A request of an open plan at its planned instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// When it should be sent.
    pub at: Time,
    /// What is sent.
    pub request: Request,
}

/// A closed user's next step: think, then ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Thinking time since the last reply (or the start).
    pub think: Span,
    /// What is sent then.
    pub request: Request,
}

/// An open plan: requests in order of their planned instants. Ends when a log or a trace ends, and when a profile has
/// come to its last level and that is 0; endless otherwise.
pub struct Plan {
    source: Source,
    demands: Stream,
    demand: Arc<dyn Demand>,
}

#[allow(clippy::large_enum_variant, reason = "there is one plan per run, and a box would cost a jump per request")]
enum Source {
    Open(Renewal),
    Replay(Playback),
    Trace(Trail),
}

impl Plan {
    /// The plan of an open, log or trace `workload`.
    ///
    /// The first arrival of an open plan is one gap after the start (an ordinary renewal process; sources that are on and
    /// off are in their steady state). A log's requests
    /// are spread inside their second by uniform order statistics, so that they keep their order; the plan starts with
    /// the second of the first one.
    ///
    /// # Errors
    /// When the workload is closed, or its arrival rate was never settled, and as [`Workload::check`].
    pub fn new(workload: &Workload, seed: u64, demand: Arc<dyn Demand>) -> Result<Plan, WorkloadError> {
        workload.check()?;
        let source = match workload {
            Workload::Open(open) => Source::Open(Renewal::new(open, seed)?),
            Workload::Replay(replay) => Source::Replay(Playback::new(replay, seed)),
            Workload::Trace(traced) => Source::Trace(Trail::new(traced, seed)),
            Workload::Sessions(_) => {
                let reason = "sessions have no plan: their instants depend on the replies (use a visitor per user)";
                return Err(WorkloadError::Invalid(reason.into()));
            }
            Workload::Closed(_) => {
                let reason =
                    "a closed workload has no plan: its instants depend on the replies (use a script per user)";
                return Err(WorkloadError::Invalid(reason.into()));
            }
        };
        Ok(Plan { source, demands: Stream::new(seed, "source", "demands"), demand })
    }

    /// Every request planned before `end`.
    pub fn collect_until(self, end: Time) -> Vec<Planned> {
        self.take_while(|planned| planned.at < end).collect()
    }
}

impl Iterator for Plan {
    type Item = Planned;

    #[inline]
    fn next(&mut self) -> Option<Planned> {
        let mut planned = match &mut self.source {
            Source::Open(renewal) => renewal.next()?,
            Source::Replay(playback) => playback.next()?,
            Source::Trace(trail) => {
                let planned = trail.next()?;
                if trail.knows_demands() {
                    return Some(planned);
                }
                planned
            }
        };
        let request = &mut planned.request;
        request.demand = self.demand.draw(request.class, request.size, &mut self.demands);
        Some(planned)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.source {
            Source::Open(renewal) if renewal.clock.changes() => (0, None),
            Source::Open(_) => (usize::MAX, None),
            Source::Trace(trail) if trail.repeat => (usize::MAX, None),
            Source::Trace(trail) => (trail.remaining(), Some(trail.remaining())),
            Source::Replay(playback) => (playback.remaining(), Some(playback.remaining())),
        }
    }
}

/// The endless script of one closed user.
pub struct Script {
    user: u32,
    think: Law,
    thinks: Stream,
    sizes: Sizer,
    patience: Patience,
    demands: Stream,
    demand: Arc<dyn Demand>,
}

impl Script {
    /// The script of user number `user`; a user's script does not depend on how many others there are.
    pub fn new(workload: &Closed, user: u32, seed: u64, demand: Arc<dyn Demand>) -> Script {
        let name = format!("user {user}");
        // Users count the objects that they make up from starts that lie as far apart as they can for however many
        // users there are (van der Corput): no two users share a number, short of thousands of millions of requests.
        let first_object = user.reverse_bits();
        Script {
            user,
            think: workload.think.clone(),
            thinks: Stream::new(seed, &name, "think"),
            sizes: Sizer::new(&workload.sizes, first_object, seed, &name),
            patience: Patience::new(workload.patience.as_ref(), seed, &name),
            demands: Stream::new(seed, &name, "demands"),
            demand,
        }
    }

    /// The next step.
    pub fn step(&mut self) -> Step {
        let think = Span::from_secs_f64(self.think.sample(&mut self.thinks));
        let Choice { class, object, size } = self.sizes.next();
        let patience = self.patience.next();
        let demand = self.demand.draw(class, size, &mut self.demands);
        Step { think, request: Request { client: self.user, class, object, size, demand, patience } }
    }
}

/// An open workload's source; the demand is left to the plan.
struct Renewal {
    clock: Clock,
    mark: Mark,
}

impl Renewal {
    fn new(open: &Open, seed: u64) -> Result<Renewal, WorkloadError> {
        Ok(Renewal {
            clock: Clock::new(&open.arrivals, seed)?,
            mark: Mark::new(open.clients, &open.sizes, open.patience.as_ref(), seed),
        })
    }

    #[inline]
    fn next(&mut self) -> Option<Planned> {
        let at = self.clock.next()?;
        Some(Planned { at, request: self.mark.next() })
    }
}

/// What a request of a plan is but for its instant and its demand: who asks, for what, and how patiently.
struct Mark {
    clients: usize,
    choices: Stream,
    sizes: Sizer,
    patience: Patience,
}

impl Mark {
    fn new(clients: u32, sizes: &Sizes, patience: Option<&Law>, seed: u64) -> Mark {
        Mark {
            clients: clients as usize,
            choices: Stream::new(seed, "source", "clients"),
            sizes: Sizer::new(sizes, 0, seed, "source"),
            patience: Patience::new(patience, seed, "source"),
        }
    }

    #[inline]
    fn next(&mut self) -> Request {
        let client = if self.clients == 1 { 0 } else { self.choices.below(self.clients) as u32 };
        let Choice { class, object, size } = self.sizes.next();
        let patience = self.patience.next();
        Request { client, class, object, size, demand: Span::ZERO, patience }
    }
}

/// A trace's source; demands that it does not know are left to the plan.
struct Trail {
    trace: Arc<Trace>,
    speed: f64,
    repeat: bool,
    mark: Mark,
    next: usize,
    /// When the last request happened, at speed 1.
    happened: Span,
}

impl Trail {
    fn new(traced: &Traced, seed: u64) -> Trail {
        Trail {
            trace: Arc::clone(&traced.trace),
            speed: traced.speed,
            repeat: traced.repeat,
            mark: Mark::new(traced.clients, &traced.sizes, traced.patience.as_ref(), seed),
            next: 0,
            happened: Span::ZERO,
        }
    }

    fn knows_demands(&self) -> bool {
        self.trace.demands().is_some()
    }

    fn next(&mut self) -> Option<Planned> {
        if self.repeat && self.next == self.trace.gaps().len() {
            self.next = 0;
        }
        let k = self.next;
        self.happened += *self.trace.gaps().get(k)?;
        self.next += 1;
        let mut request = self.mark.next();
        if let Some(demands) = self.trace.demands() {
            request.demand = demands[k];
        }
        if let Some(sizes) = self.trace.sizes() {
            request.size = sizes[k];
        }
        Some(Planned { at: faster(self.happened, self.speed), request })
    }

    fn remaining(&self) -> usize {
        self.trace.gaps().len() - self.next
    }
}

/// The instant at which it happens when everything is `speed` times as fast.
fn faster(happened: Span, speed: f64) -> Time {
    Time(if speed == 1.0 { happened.0 } else { (happened.0 as f64 / speed) as u64 })
}

/// A log's source; the demand is left to the plan.
struct Playback {
    log: Arc<Log>,
    classes: Option<PathClasses>,
    speed: f64,
    spread: Stream,
    /// How exactly the log says when a request came.
    step_ns: u64,
    /// The next request to plan.
    next: usize,
    /// How many instants have been drawn, and those of them that are to come (ns).
    drawn: usize,
    instants_ns: BinaryHeap<Reverse<u64>>,
}

impl Playback {
    fn new(replay: &Replay, seed: u64) -> Playback {
        let Replay { log, classes, speed, .. } = replay.clone();
        let (spread, instants_ns) = (Stream::new(seed, "source", "arrivals"), BinaryHeap::new());
        let step_ns = (log.resolution_s() * 1e9).round() as u64;
        Playback { log, classes, speed, step_ns, spread, next: 0, drawn: 0, instants_ns }
    }

    fn next(&mut self) -> Option<Planned> {
        let entries = self.log.entries();
        let entry = entries.get(self.next)?;
        // What is drawn is final when all that may come before it have been drawn.
        while let Some(other) = entries.get(self.drawn) {
            let since_first_us = (other.time_us - entries[0].time_us) as u64;
            let begin_ns = since_first_us.saturating_mul(1_000);
            if self.instants_ns.peek().is_some_and(|Reverse(first)| *first < begin_ns) {
                break;
            }
            let place = self.spread.below(self.step_ns as usize) as u64;
            self.instants_ns.push(Reverse(begin_ns.saturating_add(place)));
            self.drawn += 1;
        }
        let Reverse(instant_ns) = self.instants_ns.pop().expect("an instant was drawn for every request");
        self.next += 1;
        let happened = Span(instant_ns);
        let at = faster(happened, self.speed);
        let (client, object, size) = (entry.client, entry.object, entry.bytes);
        let class = self.classes.as_ref().map_or(STATIC, |classes| classes.of(object));
        let request = Request { client, class, object, size, demand: Span::ZERO, patience: Span::FOREVER };
        Some(Planned { at, request })
    }

    fn remaining(&self) -> usize {
        self.log.requests() - self.next
    }
}
