//! The load generator as this crate uses it: short runs of a few kinds, with every reply kept.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sojourn_load::{Load, Outcome, Record, Report, Schedule, Stop, Targets};
use sojourn_stats::{Law, Span, Stream, Time};
use sojourn_traffic::{Planned, Request, Step};

use crate::others::Machine;
use crate::settings::{CalibrateError, Progress, Settings};
use crate::target::Target;

/// A client thread busier than this would be measured itself.
pub(crate) const BUSY_MAX: f64 = 0.9;
/// Share of requests that may fail.
const ERRORS_MAX: f64 = 0.01;
/// Shortest time after which a request counts as failed.
const PATIENCE: Span = Span(10_000_000_000);

pub(crate) struct Client<'a> {
    pub(crate) target: &'a Target,
    pub(crate) settings: &'a Settings,
    pub(crate) cancel: &'a Arc<AtomicBool>,
    pub(crate) progress: &'a (dyn Fn(Progress<'_>) + Sync),
    /// Time of all runs so far (s).
    pub(crate) spent_s: Cell<f64>,
    /// How busy this machine was meanwhile.
    pub(crate) machine: RefCell<Machine>,
}

/// A good reply.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reply {
    /// The number that the request carried as its client.
    pub(crate) mark: u32,
    pub(crate) planned: Time,
    pub(crate) begun: Time,
    pub(crate) done: Time,
    /// Bytes of the body.
    pub(crate) bytes: u64,
}

impl Reply {
    /// From the planned instant to the last byte (s).
    pub(crate) fn response_s(&self) -> f64 {
        self.done.saturating_since(self.planned).as_secs_f64()
    }

    /// From when the client acted to the last byte (s).
    pub(crate) fn taken_s(&self) -> f64 {
        self.done.saturating_since(self.begun).as_secs_f64()
    }
}

impl<'a> Client<'a> {
    pub(crate) fn new(
        target: &'a Target,
        settings: &'a Settings,
        progress: &'a (dyn Fn(Progress<'_>) + Sync),
        cancel: &'a Arc<AtomicBool>,
    ) -> Client<'a> {
        Client { target, settings, cancel, progress, spent_s: Cell::default(), machine: RefCell::default() }
    }
}

impl Client<'_> {
    /// Reports the present stage of the measurement.
    pub(crate) fn say(&self, stage: &str) {
        let share = (self.spent_s.get() / self.settings.time.as_secs_f64()).min(0.99);
        (self.progress)(Progress { stage, share });
    }

    /// One user requests these levels one after another, each `think` after the reply before; marks are levels.
    pub(crate) fn one_by_one(&self, levels: Vec<usize>, think: Span) -> Result<Vec<Reply>, CalibrateError> {
        let requests = levels.len() as u64;
        let mut steps: Vec<Step> =
            levels.into_iter().map(|level| Step { think, request: request(level, level as u32) }).collect();
        steps.reverse();
        let last = Step { think, request: request(0, 0) };
        let user: Box<dyn FnMut() -> Step + Send> = Box::new(move || steps.pop().unwrap_or(last));
        let report = self.run(Schedule::Users(vec![user]), Stop::Requests(requests), 1, PATIENCE)?;
        Ok(replies(&report))
    }

    /// `users` users request `level` without a pause for `duration`. Their starts are `stagger` apart.
    pub(crate) fn closed(
        &self,
        level: usize,
        users: u32,
        stagger: Span,
        duration: Span,
        slowest: Span,
    ) -> Result<Closed, CalibrateError> {
        let replies = self.mixed(users, |_| Box::new(move || level), stagger, duration, slowest)?;
        let mut done: Vec<Time> = replies.iter().map(|reply| reply.done).collect();
        done.retain(|at| at.0 <= duration.0);
        done.sort_unstable();
        Ok(Closed { done })
    }

    /// `users` users send requests without a pause for `duration`, each at the level that its `choice` gives. Their
    /// starts are `stagger` apart; marks are levels.
    pub(crate) fn mixed(
        &self,
        users: u32,
        choice: impl Fn(u32) -> Choice,
        stagger: Span,
        duration: Span,
        slowest: Span,
    ) -> Result<Vec<Reply>, CalibrateError> {
        let user = |number: u32| {
            let mut level = choice(number);
            let mut think = Span(stagger.0 * u64::from(number));
            let step = move || {
                let level = level();
                Step { think: std::mem::replace(&mut think, Span::ZERO), request: request(level, level as u32) }
            };
            Box::new(step) as Box<dyn FnMut() -> Step + Send>
        };
        let schedule = Schedule::Users((0..users).map(user).collect());
        let report = self.run(schedule, Stop::After(duration), users, slowest)?;
        refuse_busy(&report, users)?;
        Ok(replies(&report))
    }

    /// An open load of exactly these requests.
    pub(crate) fn planned(
        &self,
        plan: Vec<Planned>,
        connections: u32,
        slowest: Span,
    ) -> Result<(Vec<Reply>, Report), CalibrateError> {
        let requests = plan.len() as u64;
        let report = self.run(Schedule::open(plan.into_iter()), Stop::Requests(requests), connections, slowest)?;
        Ok((replies(&report), report))
    }

    /// Refuses a server that answers faster than the settings allow.
    pub(crate) fn refuse_fast(&self, rate: f64) -> Result<(), CalibrateError> {
        if rate > self.settings.rate_max {
            return Err(CalibrateError::Refused(format!(
                "the server answers {rate:.0} requests/s, above the {:.0} allowed; ask for more work per request, or \
                 raise --rate-max",
                self.settings.rate_max
            )));
        }
        Ok(())
    }

    /// `users` users request the reference level, with think times from `think` (s), for `duration`. Requests may fail.
    pub(crate) fn attached(
        &self,
        users: u32,
        think: &Law,
        duration: Span,
        slowest: Span,
    ) -> Result<Report, CalibrateError> {
        let user = |number: u32| {
            let request = request(self.target.reference, number);
            let mut stream = Stream::new(self.settings.seed, &format!("user {number} of {users}"), "think");
            let think = think.clone();
            let step = move || Step { think: Span::from_secs_f64(think.sample(&mut stream)), request };
            Box::new(step) as Box<dyn FnMut() -> Step + Send>
        };
        let schedule = Schedule::Users((0..users).map(user).collect());
        self.run_any(schedule, Stop::After(duration), users, slowest)
    }

    /// A run in which at most [`ERRORS_MAX`] of the requests may fail.
    fn run(&self, schedule: Schedule, stop: Stop, connections: u32, slowest: Span) -> Result<Report, CalibrateError> {
        let report = self.run_any(schedule, stop, connections, slowest)?;
        let counts = &report.counts;
        if counts.wrong() as f64 > ERRORS_MAX * counts.planned as f64 {
            return Err(CalibrateError::Refused(format!("{}; a server in trouble has no model", counts.trouble())));
        }
        Ok(report)
    }

    fn run_any(
        &self,
        schedule: Schedule,
        stop: Stop,
        connections: u32,
        slowest: Span,
    ) -> Result<Report, CalibrateError> {
        let paths = self.target.levels.iter().map(|level| level.path.clone()).collect();
        let patience = PATIENCE.max(slowest);
        let mut load = Load::new(self.target.address, self.target.host.clone(), schedule, Targets::Paths(paths));
        load.headers.clone_from(&self.target.headers);
        if self.settings.connection_per_request {
            load.headers.push(("connection".into(), "close".into()));
        }
        load.connections_max = connections.max(1);
        load.allowed = self.settings.allowed;
        load.timeout = patience;
        load.grace = patience;
        load.stop = stop;
        load.keep_records = true;
        let report = sojourn_load::run(load, self.cancel, &|_| {})?;
        if self.cancel.load(Ordering::Relaxed) {
            return Err(CalibrateError::Interrupted);
        }
        self.spent_s.set(self.spent_s.get() + report.elapsed_s);
        self.machine.borrow_mut().after(&report);
        Ok(report)
    }
}

/// Gives the level of a user's next request.
pub(crate) type Choice = Box<dyn FnMut() -> usize + Send>;

fn refuse_busy(report: &Report, users: u32) -> Result<(), CalibrateError> {
    let busy = report.client_busy.iter().copied().fold(0.0, f64::max);
    if busy > BUSY_MAX {
        return Err(CalibrateError::Refused(format!(
            "the client is the limit: its thread was {:.0} % busy with {users} connections; ask for more work per \
             request, or measure from another machine",
            busy * 100.0
        )));
    }
    Ok(())
}

/// A run of closed users.
pub(crate) struct Closed {
    /// When replies came, before the end of the run, in order.
    pub(crate) done: Vec<Time>,
}

impl Closed {
    /// Seconds per reply in `blocks` equal numbers of replies, after `warm_up`. Equal requests that share a processor
    /// leave it in the same uneven rhythm round after round. So a block has whole rounds of all `users` if there are
    /// enough replies.
    pub(crate) fn gaps_s(&self, warm_up: Span, blocks: usize, users: u32) -> Vec<f64> {
        let after: Vec<Time> = self.done.iter().copied().filter(|at| at.0 > warm_up.0).collect();
        let each = after.len().saturating_sub(1) / blocks;
        let users = users as usize;
        let each = if each >= users { each - each % users } else { each };
        if each == 0 {
            return Vec::new();
        }
        let gap =
            |block: usize| after[(block + 1) * each].saturating_since(after[block * each]).as_secs_f64() / each as f64;
        (0..blocks).map(gap).collect()
    }
}

fn replies(report: &Report) -> Vec<Reply> {
    let records = report.records.as_deref().unwrap_or_default();
    let good = records.iter().filter(|record| record.outcome == Outcome::Ok);
    let reply = |record: &Record| Reply {
        mark: record.client,
        planned: record.planned,
        begun: begun(record),
        done: record.done,
        bytes: record.bytes,
    };
    good.map(reply).collect()
}

/// A request for `level` that carries `mark`.
pub(crate) fn request(level: usize, mark: u32) -> Request {
    let object = level as u32;
    Request { client: mark, class: 0, object, size: 0, demand: Span::ZERO, patience: Span::FOREVER }
}

fn begun(record: &Record) -> Time {
    record.begun.unwrap_or(record.planned)
}
