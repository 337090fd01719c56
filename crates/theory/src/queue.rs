//! A queue in Kendall's notation, and what theory says of it: `M/G/1-PS`, `M/M/4/100`, `GI/G/1`, `M/G/1-LPS(8)`.
//!
//! `A/S/c[/K][-discipline]`: gaps between arrivals, service, servers, room in all, and FCFS (default), PS or LPS(n).
//! The letters say what is *assumed* of the laws, which are given beside them: a law that breaks its letter is an
//! error, so that an exact formula is never used for a law it does not hold for. Source: Kendall, Stochastic processes
//! occurring in the theory of queues, Annals of Mathematical Statistics 24 (1953).

use std::fmt;

use sojourn_model::Discipline;
use sojourn_stats::Law;
use thiserror::Error;

use crate::answer::{Answer, PERCENTILES, Value, brief};
use crate::moments::{Gaps, Moments, Shape};
use crate::station::Station;

/// A queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Queue {
    /// Gaps between arrivals.
    pub arrivals: Letter,
    /// Service.
    pub service: Letter,
    /// Number of servers (under PS: cores that the jobs share).
    pub servers: u32,
    /// Most jobs inside, those in service included.
    pub capacity: Option<u32>,
    /// How jobs share the servers.
    pub discipline: Discipline,
}

/// What a letter says of a law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Letter {
    /// M: exponential.
    Markovian,
    /// D: constant.
    Deterministic,
    /// E2, E3, ...: Erlang of so many phases.
    Erlang(u32),
    /// H2: hyperexponential of two branches with balanced means.
    Hyperexponential,
    /// G or GI: any law, independent.
    General,
}

/// Why there is no answer about a queue; every message is one line.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum QueueError {
    /// The text is not the notation of a queue.
    #[error("`{text}`: {wrong}; a queue is written A/S/c, A/S/c/K, with -FCFS, -PS or -LPS(8) after it, e.g. M/G/1-PS")]
    Notation {
        /// The text.
        text: String,
        /// What is wrong with it.
        wrong: String,
    },
    /// A law is not what its letter says.
    #[error(
        "{role} of `{queue}`: {letter} is {}, but this law is not ({is}); write {instead} instead",
        letter.meaning()
    )]
    Letter {
        /// `arrivals` or `service`.
        role: &'static str,
        /// The queue.
        queue: Queue,
        /// What the law should be.
        letter: Letter,
        /// What it is.
        is: String,
        /// A letter that holds.
        instead: String,
    },
    /// A law whose mean is zero or infinite.
    #[error("{role}: {wrong}")]
    Mean {
        /// `arrivals` or `service`.
        role: &'static str,
        /// What is wrong, and the ways out.
        wrong: &'static str,
    },
    /// The queue grows without end.
    #[error(
        "utilisation is {}: the queue grows without end; with this service the arrival rate must stay below {} /s \
         (it is {} /s)",
        brief(*utilisation), brief(*largest_rate), brief(*rate)
    )]
    Unstable {
        /// Arrival rate x mean service / servers.
        utilisation: f64,
        /// The rate that the arrivals must stay below (1/s).
        largest_rate: f64,
        /// The rate they have (1/s).
        rate: f64,
    },
    /// There is no formula.
    #[error("`{queue}`: {why}; there are formulas for {SUPPORTED}")]
    Unsupported {
        /// The queue.
        queue: Queue,
        /// What is in the way.
        why: String,
    },
}

const SUPPORTED: &str = "A/S/c with A, S of M, D, E2.., H2, G, GI under FCFS, PS and LPS(n), and with room for K for \
                         M/M/c/K, M/G/c/K-PS and M/G/c/c";

const MEAN_ZERO: &str = "the mean is 0; it must be positive";
pub(crate) const NO_MEAN: &str = "the law has no mean, so no server keeps up with it under FCFS, PS or any \
                                  discipline: take bounded-pareto, or redraw at `max =` (PS needs a mean, but no \
                                  variance: an index above 1)";

impl Queue {
    /// Reads Kendall's notation.
    ///
    /// # Errors
    /// On anything else, with what is wrong and an example of what would be right.
    pub fn parse(text: &str) -> Result<Queue, QueueError> {
        read(text.trim()).map_err(|wrong| QueueError::Notation { text: text.into(), wrong })
    }

    /// What theory says when the gaps between arrivals and the service times follow these laws (seconds).
    ///
    /// Rows: `response_time_mean`, `waiting_time_mean` (time before service starts), `service_time_mean` (core time),
    /// `response_time_p50`, `_p90`,
    /// `_p95`, `_p99` and `_p99.9` where the law of the response time is known, `utilization`, `throughput`,
    /// `number_in_system_mean`, and `error_ratio` (the part that is lost) where there is a K.
    ///
    /// A mean wait that is infinite because the service law has no second moment is no error: the row is left out and
    /// a note says why.
    ///
    /// # Errors
    /// When a law breaks its letter or has no positive mean, when the queue is unstable, and when there is no formula.
    pub fn answer(&self, gaps: &Law, service: &Law) -> Result<Answer, QueueError> {
        let gaps = self.checked("arrivals", self.arrivals, gaps)?;
        let service = self.checked("service", self.service, service)?;
        self.answer_for(gaps, service)
    }

    /// The same for laws of which these moments are known.
    ///
    /// # Errors
    /// As [`Queue::answer`], the letters apart.
    pub fn answer_for(&self, gaps: Moments, service: Moments) -> Result<Answer, QueueError> {
        let station = Station {
            service: with_mean("service", service)?,
            cores: self.servers,
            discipline: self.discipline.clone(),
            capacity: self.capacity,
        };
        let arrivals = Gaps::all(with_mean("arrivals", gaps)?);
        let rate = arrivals.rate();
        if let Some(largest_rate) = station.largest_stable_rate()
            && rate >= largest_rate
        {
            let utilisation = rate / largest_rate;
            return Err(QueueError::Unstable { utilisation, largest_rate, rate });
        }
        let solution = station.solve(&arrivals);
        let Some(flow) = solution.flow else {
            let why = solution.times.err().unwrap_or_default();
            return Err(QueueError::Unsupported { queue: self.clone(), why });
        };
        let mut answer = Answer::default();
        match solution.times {
            Ok(times) => {
                answer.push("response_time_mean", "s", times.response_mean);
                match times.waiting_mean {
                    Some(waiting) => answer.push("waiting_time_mean", "s", waiting),
                    None => answer.note("waiting_time_mean: no formula for the queue in front"),
                }
                for (name, p) in PERCENTILES {
                    if let Some(law) = &times.law {
                        let quantile = Value { number: law.quantile(p), exact: law.is_exact() };
                        answer.push(format!("response_time_{name}"), "s", quantile);
                    }
                }
                answer.push("service_time_mean", "s", Value::exact(service.mean_s));
                let number = times.response_mean.times(flow.throughput);
                answer.push("number_in_system_mean", "1", number);
                answer.note(format!("formula: {}", times.formula));
                times.assumptions.into_iter().for_each(|line| answer.note(line));
            }
            Err(why) => answer.note(format!("response_time_mean: {why}")),
        }
        answer.push("utilization", "1", Value::exact(flow.utilisation));
        answer.push("throughput", "1/s", Value::exact(flow.throughput));
        if let Some(loss) = flow.loss {
            answer.push("error_ratio", "1", Value::exact(loss));
        }
        Ok(answer)
    }

    /// The moments of `law`, which must be what its letter says.
    fn checked(&self, role: &'static str, letter: Letter, law: &Law) -> Result<Moments, QueueError> {
        let moments = with_mean(role, Moments::of(law))?;
        let holds = match letter {
            Letter::Markovian => moments.is_exponential(),
            Letter::Deterministic => moments.shape == Shape::Constant,
            Letter::Erlang(1) => moments.is_exponential(),
            Letter::Erlang(phases) => moments.shape == Shape::Erlang(phases),
            Letter::Hyperexponential => moments.shape == Shape::Hyperexponential,
            Letter::General => true,
        };
        if holds {
            return Ok(moments);
        }
        let (is, instead) = match moments.shape {
            Shape::Exponential => ("it is exponential".into(), "M".into()),
            Shape::Constant => ("it is constant".into(), "D".into()),
            Shape::Erlang(phases) => (format!("it is Erlang of {phases} phases"), format!("E{phases}")),
            Shape::Hyperexponential => ("it is hyperexponential".into(), "H2".into()),
            Shape::General => (
                format!("its squared coefficient of variation is {}", brief(moments.scv)),
                if role == "arrivals" { "GI".into() } else { "G".into() },
            ),
        };
        Err(QueueError::Letter { role, queue: self.clone(), letter, is, instead })
    }
}

fn with_mean(role: &'static str, moments: Moments) -> Result<Moments, QueueError> {
    if moments.mean_s.is_nan() || moments.mean_s <= 0.0 {
        return Err(QueueError::Mean { role, wrong: MEAN_ZERO });
    }
    if moments.mean_s.is_infinite() {
        return Err(QueueError::Mean { role, wrong: NO_MEAN });
    }
    Ok(moments)
}

fn read(text: &str) -> Result<Queue, String> {
    let (fields, discipline) = match text.split_once('-') {
        Some((fields, discipline)) => (fields, read_discipline(discipline)?),
        None => (text, Discipline::Fcfs),
    };
    let fields: Vec<&str> = fields.split('/').map(str::trim).collect();
    let (arrivals, service, servers, capacity) = match fields[..] {
        [arrivals, service, servers] => (arrivals, service, servers, None),
        [arrivals, service, servers, capacity] => (arrivals, service, servers, Some(capacity)),
        _ => return Err(format!("{} part(s) between the slashes, not 3 or 4", fields.len())),
    };
    let queue = Queue {
        arrivals: read_letter("arrivals", arrivals)?,
        service: read_letter("service", service)?,
        servers: read_count("the number of servers", servers)?,
        capacity: capacity.map(|room| read_count("the room K", room)).transpose()?,
        discipline,
    };
    match queue.capacity {
        Some(room) if room < queue.servers => {
            Err(format!("room for {room} is less than the {} servers; K counts the jobs in service too", queue.servers))
        }
        _ => Ok(queue),
    }
}

fn read_letter(role: &str, text: &str) -> Result<Letter, String> {
    let upper = text.to_ascii_uppercase();
    match upper.as_str() {
        "M" => return Ok(Letter::Markovian),
        "D" => return Ok(Letter::Deterministic),
        "G" | "GI" => return Ok(Letter::General),
        "H2" => return Ok(Letter::Hyperexponential),
        _ => {}
    }
    if let Some(phases) = upper.strip_prefix('E') {
        return match phases.parse() {
            Ok(phases @ 1..) => Ok(Letter::Erlang(phases)),
            _ => Err(format!("{role} `{text}` needs a number of phases from 1 up, e.g. E2")),
        };
    }
    Err(format!("{role} `{text}` is none of M, D, G, GI, E2 (any number) and H2"))
}

fn read_count(what: &str, text: &str) -> Result<u32, String> {
    // A bound, because the formulas are sums over servers and room.
    match text.parse() {
        Ok(count @ 1..=1_000_000) => Ok(count),
        _ => Err(format!("{what} is `{text}`, not a whole number from 1 to 1000000")),
    }
}

fn read_discipline(text: &str) -> Result<Discipline, String> {
    let upper = text.trim().to_ascii_uppercase();
    match upper.as_str() {
        "FCFS" | "FIFO" => return Ok(Discipline::Fcfs),
        "PS" => return Ok(Discipline::Ps),
        _ => {}
    }
    if let Some(rest) = upper.strip_prefix("LPS") {
        let helpers = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
        return match helpers.map(str::trim).map(str::parse) {
            Some(Ok(helpers @ 1..)) => Ok(Discipline::LimitedPs { helpers }),
            _ => Err(format!("discipline `{text}` needs the number of jobs that share, e.g. LPS(8)")),
        };
    }
    Err(format!("discipline `{text}` is none of FCFS, PS and LPS(8) (any number)"))
}

impl Letter {
    fn meaning(self) -> String {
        match self {
            Letter::Markovian => "the exponential law".into(),
            Letter::Deterministic => "a constant".into(),
            Letter::Erlang(phases) => format!("the Erlang law of {phases} phases"),
            Letter::Hyperexponential => "the hyperexponential law of two branches with balanced means".into(),
            Letter::General => "any law".into(),
        }
    }
}

impl fmt::Display for Letter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Letter::Markovian => f.write_str("M"),
            Letter::Deterministic => f.write_str("D"),
            Letter::Erlang(phases) => write!(f, "E{phases}"),
            Letter::Hyperexponential => f.write_str("H2"),
            Letter::General => f.write_str("G"),
        }
    }
}

impl fmt::Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.arrivals, self.service, self.servers)?;
        if let Some(room) = self.capacity {
            write!(f, "/{room}")?;
        }
        match self.discipline {
            Discipline::Fcfs => Ok(()),
            Discipline::Ps => f.write_str("-PS"),
            Discipline::LimitedPs { helpers } => write!(f, "-LPS({helpers})"),
            Discipline::LeastAttained => f.write_str("-LAS"),
            Discipline::RoundRobin { quantum } => write!(f, "-RR({quantum})"),
            Discipline::Lcfs { preemptive: false } => f.write_str("-LCFS"),
            Discipline::Lcfs { preemptive: true } => f.write_str("-LCFS-PR"),
            Discipline::Priority { preemptive: false } => f.write_str("-PRIO"),
            Discipline::Priority { preemptive: true } => f.write_str("-PRIO-PR"),
            Discipline::DelayCurve(_) => f.write_str("-delay-curve"),
        }
    }
}
