//! Kendall's notation: `M/G/1-PS`, `M/M/4/100`, `GI/G/1`, `M/G/1-LPS(8)`, `M/M/3//20`.
//!
//! `A/S/c[/B[/K[/P]]]`: gaps between arrivals, service, servers, room in all, population, and the policy or discipline,
//! which may also stand behind a dash. What is left out or empty is unlimited, and FCFS. The letters say what is
//! *assumed* of the laws, which are given beside them. Source: Kendall, Stochastic processes occurring in the theory of
//! queues, Annals of Mathematical Statistics 24 (1953); with B, K and P: Jain, The Art of Computer Systems Performance
//! Analysis (1991), section 30.1.

mod meant;

use std::fmt;

use sojourn_model::Discipline as ServerDiscipline;
use sojourn_stats::{Dimension, Span, quantity};

/// Queue in Kendall's notation.
#[derive(Clone, Debug, PartialEq)]
pub struct Queue {
    /// Gaps between arrivals; with a population, how long each of its members stays away.
    pub arrivals: Letter,
    /// Service.
    pub service: Letter,
    /// Number of servers (under PS: cores that the jobs share); [`UNLIMITED`]: one for every job.
    pub servers: u32,
    /// Most jobs inside, those in service included.
    pub capacity: Option<u32>,
    /// Population: how many jobs there are in all; none: any number.
    pub population: Option<u32>,
    /// Discipline: which job is served.
    pub discipline: Discipline,
}

/// As many servers as there are jobs: `M/M/inf`.
pub const UNLIMITED: u32 = u32::MAX;

/// Letter of the notation: what is assumed of a law.
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

/// Discipline: which job is served.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Discipline {
    /// First come, first served.
    Fcfs,
    /// Processor sharing.
    Ps,
    /// Limited processor sharing.
    LimitedPs {
        /// Jobs served at once.
        helpers: u32,
    },
    /// Least attained service (LAS): the job that has been served least; equals share.
    LeastAttained,
    /// Round robin: in turns of a quantum.
    RoundRobin {
        /// The quantum (s).
        quantum_s: f64,
    },
    /// Last come, first served.
    Lcfs {
        /// Preemption: an arrival interrupts, and the interrupted job goes on later where it was.
        preemptive: bool,
    },
    /// Service in random order (SIRO; also RSS, ROS): each of the waiting jobs is equally likely.
    Siro,
    /// Priority by class, the first the most urgent.
    Priority {
        /// Preemption: a more urgent arrival interrupts, and the interrupted job goes on later where it was.
        preemptive: bool,
    },
}

/// The disciplines, for messages.
pub(crate) const DISCIPLINES: &str =
    "FCFS, PS, LPS(8) (any number), LAS, RR(10 ms) (any quantum), LCFS, LCFS-PR, SIRO, PRIO and PRIO-PR";

/// Their names, and that of queues side by side, which are read where they are known.
const NAMES: [&str; 12] =
    ["FCFS", "FIFO", "PS", "LPS(8)", "LAS", "RR(10 ms)", "LCFS", "LCFS-PR", "SIRO", "PRIO", "PRIO-PR", "JSQ"];

/// Reads the notation, or says what is wrong with it, or what was probably meant.
pub(crate) fn read(text: &str) -> Result<Queue, String> {
    read_as_written(text).map_err(|wrong| match (meant::meant(text), meant::with_numbers(text)) {
        (Some(meant), _) => {
            format!("{}; did you mean `{meant}`?", wrong.split("; did you mean").next().unwrap_or_default())
        }
        (None, Some((letter, example))) => {
            format!("`{letter}` is a letter; did you mean a number, for example `{example}`?")
        }
        (None, None) => match meant::with_servers(text) {
            Some(example) => format!("the number of servers is missing; did you mean `{example}`?"),
            None => wrong,
        },
    })
}

fn read_as_written(text: &str) -> Result<Queue, String> {
    let (fields, dashed) = match text.split_once('-') {
        // A number of servers below 0, and no discipline.
        Some((fields, count)) if fields.ends_with('/') && count.starts_with(|c: char| c.is_ascii_digit()) => {
            (text, None)
        }
        // The sixth field has dashes of its own.
        Some((fields, _)) if fields.matches('/').count() >= 5 => (text, None),
        Some((fields, discipline)) => (fields, Some(read_discipline(discipline)?)),
        None => (text, None),
    };
    let fields: Vec<&str> = fields.splitn(6, '/').map(str::trim).collect();
    let [arrivals, service, servers, rest @ ..] = &fields[..] else {
        return Err(format!("{} part(s) between the slashes, not 3 to 6", fields.len()));
    };
    let field = |at: usize| rest.get(at).copied().filter(|text| !text.is_empty() && !is_unlimited(text));
    let discipline = match (dashed, field(2)) {
        (Some(discipline), None) => discipline,
        (None, Some(text)) => read_discipline(text)?,
        (None, None) => Discipline::Fcfs,
        (Some(_), Some(_)) => return Err("the discipline is given twice".into()),
    };
    let queue = Queue {
        arrivals: read_letter("arrivals", arrivals)?,
        service: read_letter("service", service)?,
        servers: if is_unlimited(servers) {
            UNLIMITED
        } else {
            read_count("the number of servers", servers).map_err(|wrong| wrong + ", nor `inf`")?
        },
        capacity: field(0).map(|room| read_count("the room K", room)).transpose()?,
        population: field(1).map(|count| read_count("the population", count)).transpose()?,
        discipline,
    };
    let most = queue.capacity.into_iter().chain(queue.population).min();
    if let (UNLIMITED, Some(most)) = (queue.servers, most) {
        return Err(format!("{most} servers are enough for {most} jobs: write that number in place of `{servers}`"));
    }
    match queue.capacity {
        Some(room) if room < queue.servers => {
            Err(format!("room for {room} is less than the {} servers; K counts the jobs in service too", queue.servers))
        }
        _ => Ok(queue),
    }
}

fn is_unlimited(text: &str) -> bool {
    ["inf", "infinite", "infinity", "∞"].iter().any(|word| text.eq_ignore_ascii_case(word))
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
        "LAS" | "FB" => return Ok(Discipline::LeastAttained),
        "LCFS" => return Ok(Discipline::Lcfs { preemptive: false }),
        "LCFS-PR" => return Ok(Discipline::Lcfs { preemptive: true }),
        "SIRO" | "RSS" | "ROS" => return Ok(Discipline::Siro),
        "PRIO" => return Ok(Discipline::Priority { preemptive: false }),
        "PRIO-PR" => return Ok(Discipline::Priority { preemptive: true }),
        _ => {}
    }
    let argument = |name: &str| {
        let rest = upper.strip_prefix(name)?;
        Some(rest.trim_start().strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).map(str::trim))
    };
    if let Some(helpers) = argument("LPS") {
        return match helpers.map(str::parse) {
            Some(Ok(helpers @ 1..)) => Ok(Discipline::LimitedPs { helpers }),
            _ => Err(format!("discipline `{text}` needs the number of jobs that share, e.g. LPS(8)")),
        };
    }
    if let Some(quantum) = argument("RR") {
        // Units are written small.
        let quantum = quantum.map(|_| text.trim()[2..].trim().trim_matches(['(', ')']).trim());
        return match quantum.map(|quantum| quantity::parse(quantum, Dimension::Time)) {
            Some(Ok(quantum_s)) if quantum_s > 0.0 && quantum_s.is_finite() => Ok(Discipline::RoundRobin { quantum_s }),
            _ => Err(format!("discipline `{text}` needs its quantum, a time above 0, e.g. RR(10 ms)")),
        };
    }
    match sojourn_stats::nearest(&upper, NAMES) {
        Some(meant) => Err(format!("there is no discipline `{text}`; did you mean `{meant}`?")),
        None => Err(match meant::absent(&upper) {
            Some((is, nearest)) => {
                format!("discipline `{text}` ({is}) is none of {DISCIPLINES}; {nearest}")
            }
            None => {
                let is = sojourn_stats::absent(&upper).map_or(String::new(), |is| format!(" ({is})"));
                format!("discipline `{text}`{is} is none of {DISCIPLINES}; queues side by side are JSQ or JSQ(2)")
            }
        }),
    }
}

impl Discipline {
    /// Discipline of a server model; none for a delay curve, time slices, and queues that drop what has waited too long, for
    /// which no formula is known.
    pub fn of_server(discipline: &ServerDiscipline) -> Option<Discipline> {
        match discipline {
            ServerDiscipline::Fcfs => Some(Discipline::Fcfs),
            ServerDiscipline::Ps => Some(Discipline::Ps),
            ServerDiscipline::LimitedPs { helpers } => Some(Discipline::LimitedPs { helpers: *helpers }),
            ServerDiscipline::LeastAttained => Some(Discipline::LeastAttained),
            ServerDiscipline::RoundRobin { quantum } => {
                Some(Discipline::RoundRobin { quantum_s: quantum.as_secs_f64() })
            }
            ServerDiscipline::Lcfs { preemptive } => Some(Discipline::Lcfs { preemptive: *preemptive }),
            ServerDiscipline::Priority { preemptive } => Some(Discipline::Priority { preemptive: *preemptive }),
            // No formula is known for it.
            ServerDiscipline::TimeSlices { .. }
            | ServerDiscipline::Dropping { .. }
            | ServerDiscipline::DelayCurve(_) => None,
        }
    }

    /// Discipline of a server model that simulates this queue; none where there is no such server.
    pub fn for_server(self) -> Option<ServerDiscipline> {
        match self {
            Discipline::Fcfs => Some(ServerDiscipline::Fcfs),
            Discipline::Ps => Some(ServerDiscipline::Ps),
            Discipline::LimitedPs { helpers } => Some(ServerDiscipline::LimitedPs { helpers }),
            Discipline::LeastAttained => Some(ServerDiscipline::LeastAttained),
            Discipline::RoundRobin { quantum_s } => {
                Some(ServerDiscipline::RoundRobin { quantum: Span::from_secs_f64(quantum_s) })
            }
            Discipline::Lcfs { preemptive } => Some(ServerDiscipline::Lcfs { preemptive }),
            Discipline::Priority { preemptive } => Some(ServerDiscipline::Priority { preemptive }),
            Discipline::Siro => None,
        }
    }
}

impl Letter {
    pub(crate) fn meaning(self) -> String {
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

impl fmt::Display for Discipline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Discipline::Fcfs => f.write_str("FCFS"),
            Discipline::Ps => f.write_str("PS"),
            Discipline::LimitedPs { helpers } => write!(f, "LPS({helpers})"),
            Discipline::LeastAttained => f.write_str("LAS"),
            Discipline::RoundRobin { quantum_s } => write!(f, "RR({})", quantity::format(*quantum_s, Dimension::Time)),
            Discipline::Lcfs { preemptive } => f.write_str(if *preemptive { "LCFS-PR" } else { "LCFS" }),
            Discipline::Siro => f.write_str("SIRO"),
            Discipline::Priority { preemptive } => f.write_str(if *preemptive { "PRIO-PR" } else { "PRIO" }),
        }
    }
}

impl fmt::Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/", self.arrivals, self.service)?;
        match self.servers {
            UNLIMITED => f.write_str("inf")?,
            servers => write!(f, "{servers}")?,
        }
        match (self.capacity, self.population) {
            (None, None) => {}
            (Some(room), None) => write!(f, "/{room}")?,
            (None, Some(count)) => write!(f, "//{count}")?,
            (Some(room), Some(count)) => write!(f, "/{room}/{count}")?,
        }
        match self.discipline {
            Discipline::Fcfs => Ok(()),
            discipline => write!(f, "-{discipline}"),
        }
    }
}
