//! Workloads as data: what an experiment's `[workload]` says, parsed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sojourn_stats::{Law, Span};

use crate::arrivals::Arrivals;
use crate::error::WorkloadError;
use crate::recorded::log::{Log, LogFormat, PathClasses};
use crate::recorded::trace::Trace;
use crate::sessions::Sessions;
use crate::site::CLASSES;
use crate::sizes::{Sizes, mixed};

/// A workload.
#[derive(Clone, Debug)]
pub enum Workload {
    /// Requests arrive whether or not earlier ones are done.
    Open(Open),
    /// A fixed number of users, each waiting for a reply and thinking before it asks again.
    Closed(Closed),
    /// A log's requests at a log's instants.
    Replay(Replay),
    /// A trace's requests at a trace's instants.
    Trace(Traced),
    /// Users who go from page to page of a site.
    Sessions(Sessions),
}

/// An open workload: a renewal process of requests.
#[derive(Clone, Debug)]
pub struct Open {
    /// The law of the gaps.
    pub arrivals: Arrivals,
    /// How many distinct clients the requests come from, each equally likely.
    pub clients: u32,
    /// Sizes of the replies.
    pub sizes: Sizes,
    /// How long clients wait before they give up (seconds); none: forever.
    pub patience: Option<Law>,
}

/// A closed workload.
#[derive(Clone, Debug)]
pub struct Closed {
    /// Number of users.
    pub users: u32,
    /// Thinking time (seconds).
    pub think: Law,
    /// Sizes of the replies.
    pub sizes: Sizes,
    /// As in [`Open`].
    pub patience: Option<Law>,
}

/// A log to replay.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The requests, read once.
    pub log: Arc<Log>,
    /// Where they came from, for messages.
    pub path: PathBuf,
    /// How many times faster than it happened.
    pub speed: f64,
    /// Requests that ask for the same kind of work, where the server's model tells them apart.
    pub classes: Option<PathClasses>,
    /// How many times as many requests it has as came.
    pub growth: f64,
    /// One in how many of those that came was logged; the others are copies of these.
    pub sampled: u32,
}

/// A trace to replay.
#[derive(Clone, Debug)]
pub struct Traced {
    /// The requests, read once.
    pub trace: Arc<Trace>,
    /// Where they came from, for messages.
    pub path: PathBuf,
    /// How many times faster they come than they came; what they ask for does not change.
    pub speed: f64,
    /// Begin again at the end, for ever.
    pub repeat: bool,
    /// As in [`Open`].
    pub clients: u32,
    /// Sizes of the replies where the trace does not know them.
    pub sizes: Sizes,
    /// As in [`Open`].
    pub patience: Option<Law>,
}

impl Workload {
    /// What can be asked for, by object number: the paths of a log or of a WebStone list; none where sizes are drawn
    /// anew, because then every request has an object of its own.
    pub fn objects(&self) -> &[String] {
        match self {
            Workload::Open(Open { sizes, .. }) | Workload::Closed(Closed { sizes, .. }) => sizes.objects(),
            Workload::Replay(replay) => replay.log.paths(),
            Workload::Trace(traced) => traced.sizes.objects(),
            Workload::Sessions(sessions) => sessions.site.paths(),
        }
    }

    /// How long clients wait before they give up, where they do.
    pub fn patience(&self) -> Option<&Law> {
        match self {
            Workload::Open(Open { patience, .. })
            | Workload::Closed(Closed { patience, .. })
            | Workload::Trace(Traced { patience, .. }) => patience.as_ref(),
            Workload::Replay(_) | Workload::Sessions(_) => None,
        }
    }

    /// The names of the classes of requests, by class number: those of the workload, `static`, `dynamic` and `secure` of
    /// users who browse, and else `static` alone.
    pub fn classes(&self) -> Vec<&str> {
        match (self, self.sizes().and_then(Sizes::classes)) {
            (_, Some(classes)) => classes.names().iter().map(String::as_str).collect(),
            (Workload::Sessions(_), None) => CLASSES.to_vec(),
            (Workload::Replay(Replay { classes: Some(classes), .. }), None) => {
                classes.names().iter().map(String::as_str).collect()
            }
            (_, None) => vec![CLASSES[0]],
        }
    }

    /// The share of each class in all requests, by class number; none of users who browse, whose pages decide it.
    pub fn shares(&self) -> Option<Vec<f64>> {
        match (self, self.sizes().and_then(Sizes::classes)) {
            (_, Some(classes)) => Some(classes.shares().to_vec()),
            (Workload::Sessions(_), None) => None,
            (Workload::Replay(Replay { classes: Some(classes), log, .. }), None) => Some(classes.shares(log)),
            (_, None) => Some(vec![1.0]),
        }
    }

    /// Where the sizes of the replies to class number `class` are drawn from; none where a log, a trace or a site knows
    /// them.
    pub fn sizes_of(&self, class: usize) -> Option<&Sizes> {
        if matches!(self, Workload::Trace(traced) if traced.trace.sizes().is_some()) {
            return None;
        }
        let sizes = self.sizes()?;
        Some(sizes.classes().map_or(sizes, |classes| classes.sizes(class)))
    }

    /// Mean and variance of what a request costs, mixed over the classes. `of` gives those of one class, from its name
    /// and from mean and variance of its sizes (bytes, bytes^2). Users who browse count as one class without a name.
    pub fn moments(&self, of: impl Fn(&str, (f64, f64)) -> (f64, f64)) -> (f64, f64) {
        let of_any = self.size_moments();
        let Some(shares) = self.shares() else { return of("", of_any) };
        let part = |(class, (share, name)): (usize, (&f64, &str))| {
            (*share, of(name, self.sizes_of(class).map_or(of_any, Sizes::moments)))
        };
        mixed(shares.iter().zip(self.classes()).enumerate().map(part))
    }

    fn sizes(&self) -> Option<&Sizes> {
        match self {
            Workload::Open(Open { sizes, .. })
            | Workload::Closed(Closed { sizes, .. })
            | Workload::Trace(Traced { sizes, .. }) => Some(sizes),
            Workload::Replay(_) | Workload::Sessions(_) => None,
        }
    }

    /// Mean and variance of the size of a reply (bytes, bytes^2).
    pub fn size_moments(&self) -> (f64, f64) {
        match self {
            Workload::Open(Open { sizes, .. }) | Workload::Closed(Closed { sizes, .. }) => sizes.moments(),
            Workload::Replay(replay) => replay.log.moments(),
            Workload::Trace(traced) => traced.trace.size_moments().unwrap_or_else(|| traced.sizes.moments()),
            Workload::Sessions(sessions) => sessions.site.size_moments(),
        }
    }

    /// Mean and variance of the demands (s, s^2) where the workload knows them itself, whatever the server model says.
    pub fn demand_moments(&self) -> Option<(f64, f64)> {
        match self {
            Workload::Trace(traced) => traced.trace.demand_moments(),
            _ => None,
        }
    }

    /// Checks what the types do not: that there are clients, and that time goes on.
    ///
    /// # Errors
    /// Without clients or users, with a mean gap of 0, a speed that is not positive, or an empty log.
    pub fn check(&self) -> Result<(), WorkloadError> {
        let fault = match self {
            Workload::Open(open) if open.clients == 0 => "clients = 0: an open workload needs at least one".into(),
            Workload::Open(open) => return open.arrivals.check(),
            Workload::Closed(closed) if closed.users == 0 => "users = 0: a closed workload needs at least one".into(),
            Workload::Closed(_) => return Ok(()),
            Workload::Replay(replay) if !(replay.speed > 0.0 && replay.speed.is_finite()) => {
                format!("speed = {}: a log is replayed at a speed above 0, such as 60", replay.speed)
            }
            Workload::Replay(replay) if replay.log.requests() == 0 => {
                format!("{}: there is no request to replay", replay.path.display())
            }
            Workload::Replay(_) => return Ok(()),
            Workload::Trace(traced) if !(traced.speed > 0.0 && traced.speed.is_finite()) => {
                format!("speed = {}: a trace is replayed at a speed above 0, such as 2", traced.speed)
            }
            Workload::Trace(traced) if traced.clients == 0 => "clients = 0: a trace needs at least one".into(),
            Workload::Trace(_) => return Ok(()),
            Workload::Sessions(sessions) => return sessions.check(),
        };
        Err(WorkloadError::Invalid(fault))
    }
}

impl Replay {
    /// The log at `path`, replayed as fast as it happened.
    ///
    /// # Errors
    /// As [`Log::read`].
    pub fn read(path: &Path) -> Result<Replay, WorkloadError> {
        Replay::read_all(&[path], None)
    }

    /// The same of several logs, each in `format` or in the one that its first lines tell, put together in the order of time.
    ///
    /// # Errors
    /// As [`Log::read`].
    ///
    /// # Panics
    /// Without a path.
    pub fn read_all(paths: &[impl AsRef<Path>], format: Option<&LogFormat>) -> Result<Replay, WorkloadError> {
        let first = paths.first().expect("there is a log to replay").as_ref();
        let log = match paths {
            [_] => Log::read_as(first, format)?,
            _ => {
                let logs: Result<Vec<Log>, _> = paths.iter().map(|path| Log::read_as(path.as_ref(), format)).collect();
                Log::joined(logs?)
            }
        };
        let log = log.at_servers();
        Ok(Replay { log: Arc::new(log), path: first.into(), speed: 1.0, classes: None, growth: 1.0, sampled: 1 })
    }

    /// The same log at the speed at which it lasts `span`.
    pub fn lasting(self, span: Span) -> Replay {
        Replay { speed: self.log.span().0 as f64 / span.0 as f64, ..self }
    }

    /// The same with `growth` times as many requests, see [`Log::grown`].
    pub fn grown(self, growth: f64, seed: u64) -> Replay {
        match growth == 1.0 {
            true => self,
            false => Replay { log: Arc::new(self.log.grown(growth, seed)), growth: self.growth * growth, ..self },
        }
    }

    /// The same of a log of which one in `every` requests was logged: the others are copies of these, each copy a little later
    /// ([`Log::grown`]). So the rate is that of all; when the others came, and for what, is not known.
    pub fn of_sample(self, every: u32, seed: u64) -> Replay {
        match every {
            0 | 1 => self,
            every => {
                Replay { log: Arc::new(self.log.grown(f64::from(every), seed)), sampled: self.sampled * every, ..self }
            }
        }
    }

    /// How long it lasts at its speed.
    pub fn span(&self) -> Span {
        Span::from_secs_f64(self.log.span().as_secs_f64() / self.speed)
    }
}

impl Traced {
    /// The trace at `path` as it was: with replies of 1 kB to 1000 clients where it does not know better.
    ///
    /// # Errors
    /// As [`Trace::read`].
    pub fn read(path: &Path) -> Result<Traced, WorkloadError> {
        Ok(Traced {
            trace: Arc::new(Trace::read(path)?),
            path: path.into(),
            speed: 1.0,
            repeat: false,
            clients: 1000,
            sizes: Sizes::Law(Law::constant(1000.0)),
            patience: None,
        })
    }

    /// How long it lasts at its speed, to the last request; repeated, once.
    pub fn span(&self) -> Span {
        Span::from_secs_f64(self.trace.span().as_secs_f64() / self.speed)
    }

    /// Requests per second.
    pub fn rate(&self) -> f64 {
        self.speed / self.trace.gap_moments().0
    }
}
