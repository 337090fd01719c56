//! What theory says of a queue in Kendall's notation.
//!
//! The letters of the notation say what is *assumed* of the laws, which are given beside them: a law that breaks its
//! letter is an error, so that an exact formula is never used for a law it does not hold for. Every row says `exact` or
//! `approximate`, every formula is named with its assumptions and whether they are met, and a queue that no formula
//! here covers is refused by name.

use sojourn_stats::Law;
use thiserror::Error;

use crate::answer::{Answer, Value, brief, push_percentiles};
use crate::formula::general::gig1;
use crate::formula::markovian::finite_fcfs::FiniteFcfs;
use crate::formula::markovian::repairman;
use crate::formula::order::priority;
use crate::formula::sharing::fujita;
use crate::kendall;
pub use crate::kendall::{Discipline, Letter, Queue, UNLIMITED};
use crate::law::{Gaps, Moments, Shape};
use crate::station::response::Spread;
use crate::station::{NO_MEAN, Solution, Station, Times};

/// Question about a queue: its laws, and what else is to be answered.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Gaps between arrivals (s); with a population, how long each member stays away.
    pub gaps: &'a Law,
    /// Service (s).
    pub service: &'a Law,
    /// Sizes (s) for which the mean response time of such a job is asked.
    pub sizes_s: &'a [f64],
    /// All approximations: whether each that is known of the mean wait is asked for, beside the answer.
    pub all: bool,
    /// Means only: whether percentiles and standard deviation are left out, which can take milliseconds to compute.
    pub means_only: bool,
}

/// Class of jobs with its priority: the first is the most urgent.
#[derive(Clone, Debug)]
pub struct Class {
    /// Name, for the rows.
    pub name: String,
    /// Gaps between its arrivals (s).
    pub gaps: Law,
    /// Its service (s).
    pub service: Law,
}

/// Error where there is no answer about a queue; every message is one line.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum QueueError {
    /// The text is not the notation of a queue.
    #[error(
        "`{text}`: {wrong}{}",
        if wrong.ends_with('?') {
            ""
        } else {
            "; a queue is written A/S/c, A/S/c/room or A/S/c/room/population, with its discipline after it, \
             e.g. M/G/1-PS, M/G/1-LPS(8), M/M/3//20"
        }
    )]
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
        queue: Box<Queue>,
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
        "utilization {} is not below 1, so the queue never settles: with this service it is stable below {} /s (now {} /s)",
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
    #[error("`{queue}`: {why}; docs/queues.md lists what is answered how")]
    Unsupported {
        /// The queue.
        queue: Box<Queue>,
        /// What is in the way.
        why: String,
    },
    /// Classes where there are none, or a size that is none.
    #[error("{0}")]
    Question(String),
}

const NO_PERCENTILES: &str = "response_time percentiles: no formula for this law and discipline, or a tail too long for the grid \
                              of M/G/1; sim answers them";
const MEAN_ZERO: &str = "the mean is 0; it must be positive";

impl Queue {
    /// Queue that `text` says in Kendall's notation.
    ///
    /// # Errors
    /// On anything else, with what is wrong and an example of what would be right.
    pub fn parse(text: &str) -> Result<Queue, QueueError> {
        kendall::read(text.trim()).map_err(|wrong| QueueError::Notation { text: text.into(), wrong })
    }

    /// Answer of theory when the gaps between arrivals and the service times follow these laws (s).
    ///
    /// # Errors
    /// As [`Queue::answer_to`].
    pub fn answer(&self, gaps: &Law, service: &Law) -> Result<Answer, QueueError> {
        self.answer_to(&Question { gaps, service, sizes_s: &[], all: false, means_only: false })
    }

    /// Answer of theory to `question`.
    ///
    /// Rows, those that are known: `response_time_mean`, `waiting_time_mean` (time before service starts),
    /// `service_time_mean` (core time), `response_time_std`, `response_time_p50`, `_p90`, `_p95`, `_p99` and `_p99.9`,
    /// `response_time_mean_at_10s` for each size asked for, `delay_probability` (of not starting at once),
    /// `break_even_size` (the work to which FCFS and PS give the same mean response time), `utilization`, `throughput`,
    /// `number_in_system_mean`, and, where the room is limited, `blocking_probability` and `error_ratio`, the same
    /// number. When all approximations are asked for, the mean wait by each
    /// (`waiting_time_mean_kraemer_langenbach_belz`, ...), where jobs are served one after the other and there is room
    /// for all.
    ///
    /// A mean wait that is infinite because the service law has no second moment is no error: the row is left out and
    /// a note says why.
    ///
    /// # Errors
    /// When a law breaks its letter or has no positive mean, when the queue is unstable, and when there is no formula.
    pub fn answer_to(&self, question: &Question) -> Result<Answer, QueueError> {
        if let Some(size) = question.sizes_s.iter().find(|size| !(**size > 0.0 && size.is_finite())) {
            return Err(QueueError::Question(format!(
                "a size of {size} s: a job needs some service, and an end of it"
            )));
        }
        let gaps = self.checked("arrivals", self.arrivals, question.gaps)?;
        let service = self.checked("service", self.service, question.service)?;
        if let Some(population) = self.population {
            return self.answer_population(population, gaps, service, question);
        }
        if self.servers == UNLIMITED {
            return Ok(unlimited(gaps, question));
        }
        let law = Some(question.service.clone());
        let mut station = Station::new(service, law, self.servers, self.discipline, self.capacity);
        station.means_only = question.means_only;
        let arrivals = Gaps::all(gaps).with_law(question.gaps);
        let rate = arrivals.rate();
        if let Some(largest_rate) = station.largest_stable_rate()
            && rate >= largest_rate
        {
            let utilisation = rate / largest_rate;
            return Err(QueueError::Unstable { utilisation, largest_rate, rate });
        }
        let heavy = service.scv.is_infinite() || arrivals.scv().is_infinite();
        let mut answer = self.rows(&station, station.solve(&arrivals), question, heavy)?;
        let single = self.servers == 1 && self.capacity.is_none() && arrivals.is_poisson();
        let shares = matches!(self.discipline, Discipline::Fcfs | Discipline::Ps | Discipline::LimitedPs { .. });
        if single && shares && service.scv.is_finite() {
            let second = (1.0 + service.scv) * service.mean_s.powi(2);
            let size = fujita::break_even_size(service.mean_s, second);
            answer.push("break_even_size", "s", Value::exact(size));
            answer.note(
                "break_even_size: to this work FCFS and PS give the same mean response time; PS is kinder to less",
            );
        }
        let first =
            matches!(self.discipline, Discipline::Fcfs | Discipline::Lcfs { preemptive: false } | Discipline::Siro);
        if question.all && (self.capacity.is_some() || !first) {
            answer.note(
                "approximations: of the wait where jobs are neither interrupted nor shared and there is room for all",
            );
        } else if question.all {
            for (name, wait) in gig1::approximations(self.servers, &arrivals, service.mean_s, service.scv) {
                answer.push(format!("waiting_time_mean_{name}"), "s", Value::approximate(wait));
            }
        }
        Ok(answer)
    }

    /// Answer of theory about Poisson classes with priorities, the first the most urgent. Each of the rows
    /// `response_time_mean_NAME`, `waiting_time_mean_NAME`, `service_time_mean_NAME`, `throughput_NAME` and
    /// `utilization_NAME`, and the same of all jobs together. A class that the others leave too little of the server
    /// has no times, and a note that says so.
    ///
    /// # Errors
    /// When the discipline is not a priority, a law breaks its letter, arrivals are not Poisson, two classes have one
    /// name, no class has a mean response time, or there is no formula.
    pub fn answer_classes(&self, classes: &[Class]) -> Result<Answer, QueueError> {
        let refuse = |why: &str| Err(QueueError::Unsupported { queue: Box::new(self.clone()), why: why.into() });
        let Discipline::Priority { preemptive } = self.discipline else {
            return Err(QueueError::Question(format!(
                "`{self}` knows no classes: only -PRIO and -PRIO-PR serve by class; else give one --arrivals and --service"
            )));
        };
        if self.capacity.is_some() || self.population.is_some() {
            return refuse("no formula for classes with limited room or population");
        }
        if classes.is_empty() {
            return Err(QueueError::Question(format!(
                "`{self}` serves by class: give each with its arrivals and service"
            )));
        }
        let mut known = Vec::new();
        for (number, class) in classes.iter().enumerate() {
            if class.name.is_empty() || classes[..number].iter().any(|other| other.name == class.name) {
                return Err(QueueError::Question(format!(
                    "class {} is called `{}`: every class needs a name of its own, or its rows could not be told apart",
                    number + 1,
                    class.name
                )));
            }
            let gaps = self.checked("arrivals", self.arrivals, &class.gaps)?;
            let service = self.checked("service", self.service, &class.service)?;
            if !gaps.is_exponential() {
                return refuse(&format!(
                    "no formula for classes unless arrivals are Poisson, and those of {} are not",
                    class.name
                ));
            }
            known.push((1.0 / gaps.mean_s, service));
        }
        let times = if self.servers == 1 {
            let class = |&(arrival_rate, service): &(f64, Moments)| priority::Class {
                arrival_rate,
                service_mean_s: service.mean_s,
                service_second_moment_s2: (1.0 + service.scv) * service.mean_s.powi(2),
            };
            let classes: Vec<priority::Class> = known.iter().map(class).collect();
            if preemptive { priority::preemptive_resume(&classes) } else { priority::non_preemptive(&classes) }
        } else {
            let mean_s = known[0].1.mean_s;
            let equal = known
                .iter()
                .all(|(_, service)| service.is_exponential() && (service.mean_s / mean_s - 1.0).abs() < 1e-12);
            if preemptive || !equal {
                return refuse(
                    "several servers have a formula for one exponential service of all classes, without preemption",
                );
            }
            let rates: Vec<f64> = known.iter().map(|(rate, _)| *rate).collect();
            priority::non_preemptive_servers(self.servers, &rates, mean_s)
        };
        if !times.iter().any(|times| times.response_time_mean_s.is_finite()) {
            return refuse(
                "no class has a mean response time: the most urgent asks for all that there is, or its service has no second \
                 moment",
            );
        }
        Ok(self.class_rows(classes, &known, &times))
    }

    fn class_rows(&self, classes: &[Class], known: &[(f64, Moments)], times: &[priority::ClassTimes]) -> Answer {
        let mut answer = Answer::default();
        let total: f64 = known.iter().map(|(rate, _)| rate).sum();
        let over =
            |of: &dyn Fn(usize) -> f64| known.iter().enumerate().map(|(at, (rate, _))| rate * of(at)).sum::<f64>();
        let stable = times.iter().all(|times| times.response_time_mean_s.is_finite());
        if stable {
            answer.push("response_time_mean", "s", Value::exact(over(&|at| times[at].response_time_mean_s) / total));
            answer.push("waiting_time_mean", "s", Value::exact(over(&|at| times[at].waiting_time_mean_s) / total));
            answer.push("utilization", "1", Value::exact(over(&|at| known[at].1.mean_s) / f64::from(self.servers)));
            answer.push("throughput", "1/s", Value::exact(total));
        }
        for ((class, (rate, service)), times) in classes.iter().zip(known).zip(times) {
            let name = &class.name;
            if !times.response_time_mean_s.is_finite() {
                let why = if service.scv.is_finite() {
                    "it and the more urgent classes ask for more than there is"
                } else {
                    "the second moment of a service is infinite"
                };
                answer.note(format!("response_time_mean_{name}: infinite, for {why}"));
                continue;
            }
            answer.push(format!("response_time_mean_{name}"), "s", Value::exact(times.response_time_mean_s));
            answer.push(format!("waiting_time_mean_{name}"), "s", Value::exact(times.waiting_time_mean_s));
            answer.push(format!("service_time_mean_{name}"), "s", Value::exact(service.mean_s));
            answer.push(format!("throughput_{name}"), "1/s", Value::exact(*rate));
            let share = rate * service.mean_s / f64::from(self.servers);
            answer.push(format!("utilization_{name}"), "1", Value::exact(share));
        }
        answer.note("formula: priorities (Cobham 1954; with preemption White and Christie 1958), exact");
        answer.note("Poisson arrivals of every class: yes");
        answer.note("gaps and services independent of each other: assumed");
        answer
    }

    /// The rows of an open queue; of a `heavy` tail what passes through may be all there is.
    fn rows(
        &self,
        station: &Station,
        solution: Solution,
        question: &Question,
        heavy: bool,
    ) -> Result<Answer, QueueError> {
        let Some(flow) = solution.flow else {
            let why = solution.times.err().unwrap_or_default();
            return Err(QueueError::Unsupported { queue: Box::new(self.clone()), why });
        };
        let mut answer = Answer::default();
        match solution.times {
            Ok(times) => {
                push_times(&mut answer, &times, station.service.mean_s, question);
                answer.push("number_in_system_mean", "1", times.response_mean.times(flow.throughput));
                answer.note(format!("formula: {}", times.formula));
                if let Some(by_size) = times.by_size.filter(|_| !question.sizes_s.is_empty()) {
                    answer.note(by_size.formula());
                }
                times.assumptions.into_iter().for_each(|line| answer.note(line));
            }
            Err(why) if heavy => answer.note(format!("response_time_mean: {why}")),
            Err(why) => return Err(QueueError::Unsupported { queue: Box::new(self.clone()), why }),
        }
        answer.push("utilization", "1", Value::exact(flow.utilisation));
        answer.push("throughput", "1/s", Value::exact(flow.throughput));
        if let Some(loss) = flow.loss {
            answer.push("blocking_probability", "1", Value::exact(loss));
            answer.push("error_ratio", "1", Value::exact(loss));
        }
        Ok(answer)
    }

    /// A population of which each member stays away, asks, and waits for the answer.
    fn answer_population(
        &self,
        population: u32,
        away: Moments,
        service: Moments,
        question: &Question,
    ) -> Result<Answer, QueueError> {
        let refuse = |why: &str| Err(QueueError::Unsupported { queue: Box::new(self.clone()), why: why.into() });
        let station = Station::new(service, None, self.servers, self.discipline, self.capacity);
        let room = self.capacity.unwrap_or(population).min(population);
        let shared = self.discipline == Discipline::Ps || station.places().is_some_and(|places| places >= room);
        match self.discipline {
            Discipline::Fcfs | Discipline::Ps | Discipline::LimitedPs { .. } => {}
            Discipline::Lcfs { preemptive: false } | Discipline::Siro if service.is_exponential() => {}
            _ => return refuse("no formula for a population under this discipline: sim answers this"),
        }
        if !service.is_exponential() && !shared {
            return refuse(
                "no formula for a population unless service is exponential or always shared: sim answers this",
            );
        }
        if room < population && !away.is_exponential() {
            return refuse("no formula for a population without room for all unless the time away is exponential");
        }
        if !question.sizes_s.is_empty() {
            return refuse("no formula for the response time by size in a population");
        }
        let places = station.places().unwrap_or(room);
        let solved =
            repairman::solve_with_room(population, room, away.mean_s, station.usable_cores(), places, service.mean_s);
        let mut answer = Answer::default();
        answer.push("response_time_mean", "s", Value::exact(solved.response_time_mean_s));
        answer.push("waiting_time_mean", "s", Value::exact(solved.waiting_time_mean_s));
        answer.push("service_time_mean", "s", Value::exact(service.mean_s));
        let in_order = matches!(self.discipline, Discipline::Fcfs | Discipline::LimitedPs { .. })
            && places == station.usable_cores();
        let has_law = in_order && service.is_exponential();
        if has_law && !question.means_only {
            let law = FiniteFcfs::of_population(population, room, away.mean_s, station.usable_cores(), service.mean_s);
            answer.push("response_time_std", "s", Value::exact(law.std_s()));
            push_percentiles(&mut answer, true, |p| law.quantile(p));
        } else if !question.means_only {
            answer.note(NO_PERCENTILES);
        }
        answer.push("number_in_system_mean", "1", Value::exact(solved.number_mean));
        let used = f64::from(station.usable_cores()) / f64::from(self.servers);
        answer.push("utilization", "1", Value::exact(solved.utilisation * used));
        answer.push("throughput", "1/s", Value::exact(solved.throughput));
        if self.capacity.is_some() {
            answer.push("blocking_probability", "1", Value::exact(solved.loss));
            answer.push("error_ratio", "1", Value::exact(solved.loss));
            answer.note(
                "formula: machine repairman with room for fewer (Engset), exact; a job that finds no room goes away again",
            );
        } else {
            answer.note("formula: machine repairman, exact for any law of the time away");
        }
        answer.note(format!("population: {population}; the arrivals given are how long each of them stays away"));
        Ok(answer)
    }

    /// Refuses laws (s) that are not what the letters say; no gaps where arrivals have no law of their own.
    ///
    /// # Errors
    /// When a law breaks its letter or has no positive mean.
    pub fn check_laws(&self, gaps: Option<&Law>, service: &Law) -> Result<(), QueueError> {
        if let Some(gaps) = gaps {
            self.checked("arrivals", self.arrivals, gaps)?;
        }
        self.checked("service", self.service, service).map(|_| ())
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
        Err(QueueError::Letter { role, queue: Box::new(self.clone()), letter, is, instead })
    }
}

/// Where every job has a server of its own, it takes its service, whatever the laws are.
fn unlimited(gaps: Moments, question: &Question) -> Answer {
    let (law, rate) = (question.service, 1.0 / gaps.mean_s);
    let mut answer = Answer::default();
    answer.push("response_time_mean", "s", Value::exact(law.mean()));
    answer.push("waiting_time_mean", "s", Value::exact(0.0));
    answer.push("service_time_mean", "s", Value::exact(law.mean()));
    if !question.means_only {
        if law.variance().is_finite() {
            answer.push("response_time_std", "s", Value::exact(law.variance().sqrt()));
        }
        match law.quantile(0.5) {
            Ok(_) => push_percentiles(&mut answer, true, |p| law.quantile(p).expect("it has a median")),
            Err(_) => answer.note(NO_PERCENTILES),
        }
    }
    for &size in question.sizes_s {
        answer.push(format!("response_time_mean_at_{size}s"), "s", Value::exact(size));
    }
    answer.push("delay_probability", "1", Value::exact(0.0));
    answer.push("throughput", "1/s", Value::exact(rate));
    answer.push("number_in_system_mean", "1", Value::exact(rate * law.mean()));
    answer.note("formula: a server for every job: the service itself, exact for any laws; no utilization");
    if gaps.is_exponential() {
        answer.note("number in system: Poisson with this mean, for any service law");
    }
    answer
}

fn push_times(answer: &mut Answer, times: &Times, service_mean_s: f64, question: &Question) {
    answer.push("response_time_mean", "s", times.response_mean);
    match times.waiting_mean {
        Some(waiting) => answer.push("waiting_time_mean", "s", waiting),
        None => answer.note("waiting_time_mean: no formula for the queue in front"),
    }
    answer.push("service_time_mean", "s", Value::exact(service_mean_s));
    if !question.means_only {
        push_spread(answer, times);
    }
    for &size in question.sizes_s {
        match &times.by_size {
            Some(by_size) => answer.push(format!("response_time_mean_at_{size}s"), "s", by_size.response_mean(size)),
            None => answer.note(format!("response_time_mean_at_{size}s: no formula by size here; sim answers it")),
        }
    }
    if let Some(delayed) = times.delay_probability {
        answer.push("delay_probability", "1", delayed);
    }
}

fn push_spread(answer: &mut Answer, times: &Times) {
    if let Some(std_s) = times.spread.as_ref().and_then(Spread::std_s) {
        answer.push("response_time_std", "s", Value::exact(std_s));
    }
    match &times.law {
        Some(law) => {
            push_percentiles(answer, law.is_exact(), |p| law.quantile(p));
            law.caveat().into_iter().for_each(|caveat| answer.note(caveat));
        }
        None => answer.note(NO_PERCENTILES),
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
