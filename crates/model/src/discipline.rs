//! Service disciplines, and how a server model and a station of a network write them.

use std::sync::Arc;

use sojourn_stats::{Dimension, Span, quantity};
use thiserror::Error;

use crate::DelayCurve;
use crate::message::unknown;

/// How jobs share a server's cores.
#[derive(Clone, Debug, PartialEq)]
pub enum Discipline {
    /// First come, first served.
    Fcfs,
    /// Processor sharing: n jobs each get min(1, cores / n) of a core.
    Ps,
    /// Limited processor sharing: at most `helpers` jobs share, behind a FIFO dispatcher queue (Fujita 2000, section
    /// 2.4).
    LimitedPs {
        /// Jobs served at once.
        helpers: u32,
    },
    /// Least attained service, or foreground-background: the jobs with the least work done so far share the core
    /// equally (Kleinrock, Queueing Systems, volume 2, 1976, section 4.6). One core only.
    LeastAttained,
    /// Turns on the core in order of arrival; a job that is not finished after its turn goes to the end of the queue. A
    /// change of turns costs nothing. One core only.
    RoundRobin {
        /// The longest turn.
        quantum: Span,
    },
    /// Time slices as a kernel gives them to processes: round robin in which an arrival takes the core at once, and the
    /// job that it interrupts is next. At most `helpers` jobs take turns, behind a FIFO queue. One core only.
    TimeSlices {
        /// The longest turn.
        quantum: Span,
        /// Jobs that take turns; [`u32::MAX`] for any number.
        helpers: u32,
    },
    /// Last come, first served.
    Lcfs {
        /// An arrival takes the core from a job at once; that job goes on later where it stopped (preemptive resume).
        preemptive: bool,
    },
    /// First come, first served, or last come, first served, where a job that has waited too long is dropped when its turn
    /// comes, without an answer.
    Dropping {
        /// The job that came last is served first; a job in service is not interrupted.
        newest_first: bool,
        /// Which jobs are dropped.
        drops: Drops,
    },
    /// Priority by class: a class of a lower number first, within a class in order of arrival.
    Priority {
        /// As in `Lcfs`.
        preemptive: bool,
    },
    /// Nothing is shared: the curve gives each job's time in the server, from the number of jobs (or users) that it
    /// finds, itself included. Its demand plays no part.
    DelayCurve(Arc<DelayCurve>),
}

/// Which jobs a server drops when their turn comes. The deadline of a job is the instant at which its client gives it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drops {
    /// Those whose deadline is over.
    Expired,
    /// Those that could not be finished before their deadline.
    TooLate,
    /// While the shortest wait of the last `interval` is above `target`, those that have waited for more than twice the target
    /// (folly's `Codel.cpp`, which Envoy's overload manager follows; the idea: Nichols and Jacobson, Controlling Queue Delay,
    /// ACM Queue, 2012).
    CoDel {
        /// The longest wait that is good enough.
        target: Span,
        /// How long waits are looked at.
        interval: Span,
    },
}

/// The keys that only some disciplines have, as they are written.
pub(crate) struct Keys<'a> {
    pub helpers: Option<u32>,
    pub quantum: Option<&'a str>,
    pub preemptive: Option<bool>,
    pub drops: Option<&'a str>,
}

/// A key that does not go with the discipline, and what would be right.
#[derive(Debug, Error)]
#[error("{key}: {what}")]
pub(crate) struct Misfit {
    pub key: &'static str,
    pub what: String,
}

impl Discipline {
    /// The names of the disciplines that serve jobs by their demand.
    pub(crate) const NAMES: [&str; 8] =
        ["fcfs", "ps", "limited-ps", "least-attained-service", "round-robin", "time-slices", "lcfs", "priority"];

    /// The discipline called `name`, one of [`Discipline::NAMES`], with the keys that only it has.
    pub(crate) fn read(name: &str, keys: &Keys<'_>) -> Result<Discipline, Misfit> {
        let misfit = |key, what: &str| Misfit { key, what: what.into() };
        if keys.helpers.is_some() && !["limited-ps", "time-slices"].contains(&name) {
            return Err(misfit("helpers", "only limited-ps and time-slices have them; leave it out"));
        }
        if keys.quantum.is_some() && !["round-robin", "time-slices"].contains(&name) {
            return Err(misfit("quantum", "only round-robin and time-slices have one; leave it out"));
        }
        if keys.preemptive.is_some() && !["lcfs", "priority"].contains(&name) {
            return Err(misfit("preemptive", "only lcfs and priority can be; leave it out"));
        }
        let preemptive = keys.preemptive.unwrap_or(false);
        if let Some(text) = keys.drops {
            let newest_first = match (name, preemptive) {
                ("fcfs", _) => false,
                ("lcfs", false) => true,
                _ => return Err(misfit("drops", "only fcfs and lcfs (not preemptive) have it; leave it out")),
            };
            return Ok(Discipline::Dropping { newest_first, drops: Drops::read(text)? });
        }
        let quantum = || {
            let needs = || misfit("discipline", &format!("{name} needs `quantum`, the longest turn: \"10 ms\""));
            let quantum_s = quantity::parse(keys.quantum.ok_or_else(needs)?, Dimension::Time);
            quantum_s.map(Span::from_secs_f64).map_err(|error| misfit("quantum", &error.to_string()))
        };
        let discipline = match name {
            "fcfs" => Discipline::Fcfs,
            "ps" => Discipline::Ps,
            "limited-ps" => {
                let needs = || misfit("discipline", "limited-ps needs `helpers = N`, the jobs served at once");
                Discipline::LimitedPs { helpers: keys.helpers.ok_or_else(needs)? }
            }
            "least-attained-service" => Discipline::LeastAttained,
            "round-robin" => Discipline::RoundRobin { quantum: quantum()? },
            "time-slices" => Discipline::TimeSlices { quantum: quantum()?, helpers: keys.helpers.unwrap_or(u32::MAX) },
            "lcfs" => Discipline::Lcfs { preemptive },
            "priority" => Discipline::Priority { preemptive },
            other => unreachable!("the readers know the names, and `{other}` is none"),
        };
        discipline.check_keys()?;
        Ok(discipline)
    }

    /// Its name in a server model.
    pub fn name(&self) -> &'static str {
        match self {
            Discipline::Fcfs | Discipline::Dropping { newest_first: false, .. } => "fcfs",
            Discipline::Ps => "ps",
            Discipline::LimitedPs { .. } => "limited-ps",
            Discipline::LeastAttained => "least-attained-service",
            Discipline::RoundRobin { .. } => "round-robin",
            Discipline::TimeSlices { .. } => "time-slices",
            Discipline::Lcfs { .. } | Discipline::Dropping { newest_first: true, .. } => "lcfs",
            Discipline::Priority { .. } => "priority",
            Discipline::DelayCurve(_) => "delay-curve",
        }
    }

    /// Its keys as [`Discipline::read`] reads them, `name = value` each.
    pub(crate) fn written(&self) -> Vec<String> {
        let mut keys = vec![format!("discipline = \"{}\"", self.name())];
        let quantum_of = |quantum: &Span| format!("quantum = \"{} ns\"", quantum.0);
        match self {
            Discipline::LimitedPs { helpers } => keys.push(format!("helpers = {helpers}")),
            Discipline::RoundRobin { quantum } => keys.push(quantum_of(quantum)),
            Discipline::TimeSlices { quantum, helpers } => {
                keys.push(quantum_of(quantum));
                keys.extend((*helpers < u32::MAX).then(|| format!("helpers = {helpers}")));
            }
            Discipline::Lcfs { preemptive } | Discipline::Priority { preemptive } => {
                keys.push(format!("preemptive = {preemptive}"));
            }
            Discipline::Dropping { drops, .. } => keys.push(format!("drops = \"{}\"", drops.written())),
            Discipline::Fcfs | Discipline::Ps | Discipline::LeastAttained | Discipline::DelayCurve(_) => {}
        }
        keys
    }

    /// Refuses an impossible [`crate::Station`] of this discipline.
    ///
    /// # Errors
    /// One line: no cores, several of them under a discipline that is modelled on one, no helpers, an empty turn.
    pub fn check(&self, cores: u32) -> Result<(), String> {
        match self {
            _ if cores == 0 => Err("cores: a server has at least 1".into()),
            Discipline::LeastAttained | Discipline::RoundRobin { .. } | Discipline::TimeSlices { .. } if cores > 1 => {
                Err(format!("cores = {cores}: {} is modelled on 1 core only", self.name()))
            }
            _ => self.check_keys().map_err(|misfit| misfit.to_string()),
        }
    }

    /// Refuses impossible keys of the discipline.
    fn check_keys(&self) -> Result<(), Misfit> {
        match self {
            Discipline::LimitedPs { helpers: 0 } | Discipline::TimeSlices { helpers: 0, .. } => {
                Err(Misfit { key: "helpers", what: "at least 1 job is served at once".into() })
            }
            Discipline::RoundRobin { quantum: Span::ZERO } | Discipline::TimeSlices { quantum: Span::ZERO, .. } => {
                Err(Misfit { key: "quantum", what: "a turn is longer than 0 s".into() })
            }
            _ => Ok(()),
        }
    }
}

impl Drops {
    /// Reads the key `drops`.
    fn read(text: &str) -> Result<Drops, Misfit> {
        let misfit = |what: String| Misfit { key: "drops", what };
        let wrong = || misfit(unknown("rule", text, &["expired", "too-late", "codel(5 ms, 100 ms)"]));
        let written = text.trim();
        match written.split_once('(') {
            None if written == "expired" => return Ok(Drops::Expired),
            None if written == "too-late" => return Ok(Drops::TooLate),
            None if written == "codel" => {
                return Ok(Drops::CoDel { target: Span(5_000_000), interval: Span(100_000_000) });
            }
            _ => {}
        }
        let inside = written.strip_prefix("codel").map(str::trim).and_then(|rest| rest.strip_prefix('('));
        let inside = inside.and_then(|rest| rest.strip_suffix(')')).ok_or_else(wrong)?;
        let (target, interval) = inside.split_once(',').ok_or_else(wrong)?;
        let span = |text: &str| {
            let seconds = quantity::parse(text, Dimension::Time).map_err(|error| misfit(error.to_string()))?;
            Ok(Span::from_secs_f64(seconds))
        };
        match (span(target)?, span(interval)?) {
            (target, interval) if target > Span::ZERO && interval >= target => Ok(Drops::CoDel { target, interval }),
            _ => Err(misfit("codel(target, interval): a target above 0 s, and an interval that is no shorter".into())),
        }
    }

    /// As [`Drops::read`] reads it.
    fn written(self) -> String {
        match self {
            Drops::Expired => "expired".into(),
            Drops::TooLate => "too-late".into(),
            Drops::CoDel { target, interval } => format!("codel({} ns, {} ns)", target.0, interval.0),
        }
    }
}
