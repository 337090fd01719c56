//! An experiment's system: arrivals, a policy and its servers, answered where a formula exists.
//!
//! Random dispatch and round robin hand each server a renewal stream of its own, so that N servers are N separate
//! queues. Every other policy looks at the servers and ties their queues together: there the totals, which follow from
//! conservation alone, are answered, the mean response time in the few cases that are solved, and otherwise one line
//! says that it is not.
//!
//! A path that takes the same time for all requests moves every arrival by as much: the queues are what they were, and
//! the time on the way is added to the response time. For closed users it is a further stay away from the server, of
//! which the formula reads the mean only. Both are exact; a link with a rate is a queue of its own and is not answered.

mod balanced;
pub mod file_nodes;
mod split;

use sojourn_model::{Discipline as ServerDiscipline, Server};
use sojourn_stats::{Dimension, Law, quantity};

use self::split::Part;
use crate::answer::{Answer, Unanswered, Value, brief, push_percentiles, rounded};
use crate::formula::markovian::finite_fcfs::FiniteFcfs;
use crate::formula::markovian::{impatient, repairman};
use crate::kendall::Discipline;
use crate::law::Moments;
use crate::numeric;
use crate::station::response::ResponseLaw;
use crate::station::{Flow, NO_MEAN, Solution, Station};

/// System as the formulas see it: arrivals, a policy and its servers.
#[derive(Clone, Copy, Debug)]
pub struct System<'a> {
    /// Arrivals.
    pub arrivals: ArrivalKind<'a>,
    /// Servers behind the dispatcher. Their own `demand` is not read: see the fields below.
    pub servers: &'a [Server],
    /// Mean work per request on a server of speed 1 (s); infinite where there is none.
    pub demand_mean_s: f64,
    /// Variance of the work (s^2); infinite where there is none.
    pub demand_variance_s2: f64,
    /// Exponential work: whether it follows the exponential law.
    pub demand_is_exponential: bool,
    /// Constant work: whether it is the same for every request.
    pub demand_is_constant: bool,
    /// Law of the work (s), where it is known.
    pub demand_law: Option<&'a Law>,
    /// Policy as it is written, with its parameters; none for a single server.
    pub policy: Option<&'a str>,
    /// Number of dispatchers, each of which decides for itself.
    pub dispatchers: u32,
    /// Weights of the servers, as many as there are; empty: all equal.
    pub weights: &'a [f64],
    /// Immediate information: whether the policy knows the servers' present state (not polled, not reported now and
    /// then).
    pub has_immediate_information: bool,
    /// Links: whether there are any with a rate.
    pub has_links: bool,
    /// Time that every request spends on its way to the server and back, beside the links with a rate (s).
    pub path_s: f64,
    /// Patience: how long clients wait before they give up (s), where they do.
    pub patience: Option<&'a Law>,
}

impl<'a> System<'a> {
    /// System with one dispatcher that is up to date, no policy, no links, no path and patient clients, whose requests
    /// need work of this law (s at speed 1).
    pub fn new(arrivals: ArrivalKind<'a>, servers: &'a [Server], demand: &'a Law) -> System<'a> {
        System {
            arrivals,
            servers,
            demand_mean_s: demand.mean(),
            demand_variance_s2: demand.variance(),
            demand_is_exponential: demand.is_exponential(),
            demand_is_constant: demand.variance() == 0.0,
            demand_law: Some(demand),
            policy: None,
            dispatchers: 1,
            weights: &[],
            has_immediate_information: true,
            has_links: false,
            path_s: 0.0,
            patience: None,
        }
    }
}

/// Arrivals of a system.
#[derive(Clone, Copy, Debug)]
pub enum ArrivalKind<'a> {
    /// An open renewal stream.
    Open {
        /// The gaps between arrivals (s).
        gaps: &'a Law,
    },
    /// An open stream of which two moments of its gaps are known, taken to be renewal.
    Moments {
        /// Mean gap (s).
        mean_s: f64,
        /// Variance of the gaps (s^2).
        variance_s2: f64,
    },
    /// A fixed number of users, each thinking between an answer and the next request.
    Closed {
        /// Users.
        users: u32,
        /// Think time (s).
        think: &'a Law,
    },
}

/// Answer of theory about `system`.
///
/// Rows, those that a formula gives: `response_time_mean`, `waiting_time_mean` (time before service starts),
/// `response_time_p50`, `_p90`, `_p95`, `_p99`, `_p99.9`, `number_in_system_mean` (at the servers, not on the way),
/// `service_time_mean` (core time), `throughput`, `utilization` (core time over cores x time, mean over the servers),
/// `error_ratio` (lost to full servers, where they have a capacity), `abandoned_ratio` (where clients give up), `share_1`,
/// ... (up to 16 servers). The notes say why the others are missing.
///
/// # Errors
/// [`Unanswered`] when there is not even a total: unstable, impatient clients of other than exponential laws, closed users
/// over several servers.
pub fn answer(system: &System) -> Result<Answer, Unanswered> {
    let refuse = |why: &str| Err(Unanswered(why.into()));
    if system.servers.is_empty() {
        return refuse("a system without servers");
    }
    if system.servers.iter().any(|server| matches!(server.discipline, ServerDiscipline::DelayCurve(_))) {
        return refuse("no formula for a server that is a delay curve: sim answers this");
    }
    if system.servers.iter().any(|server| matches!(server.discipline, ServerDiscipline::TimeSlices { .. })) {
        return refuse("no formula for time slices: sim answers this, and limited-ps is near where slices are short");
    }
    if !(system.path_s >= 0.0 && system.path_s.is_finite()) {
        return refuse("the time on the path must be finite and not negative");
    }
    if system.demand_mean_s.is_infinite() {
        return Err(Unanswered(format!("demand: {NO_MEAN}")));
    }
    if system.demand_mean_s.is_nan() || system.demand_mean_s <= 0.0 {
        return refuse("no formula for requests without any work: the mean demand must be positive");
    }
    if let Some(patience) = system.patience {
        return impatient(system, patience);
    }
    match system.arrivals {
        ArrivalKind::Closed { users, think } => closed_users(system, users, think),
        ArrivalKind::Open { gaps } => open_arrivals(system, Moments::of(gaps), Some(gaps)),
        ArrivalKind::Moments { mean_s, variance_s2 } => {
            open_arrivals(system, Moments::from_variance(mean_s, variance_s2), None)
        }
    }
}

/// Clients who give up, of one server, where all laws are exponential.
fn impatient(system: &System, patience: &Law) -> Result<Answer, Unanswered> {
    let refuse =
        |why: &str| Err(Unanswered(format!("no formula for clients that give up unless {why}: sim answers this")));
    let ArrivalKind::Open { gaps } = system.arrivals else { return refuse("they come by themselves") };
    let [server] = system.servers else { return refuse("there is one server") };
    let station = station(system, server);
    if !(gaps.is_exponential() && system.demand_is_exponential && patience.is_exponential()) {
        return refuse("gaps, work and patience are exponential");
    }
    let shares = matches!(station.discipline, Discipline::Fcfs | Discipline::Ps | Discipline::LimitedPs { .. });
    if !shares || system.has_links || system.path_s > 0.0 || station.usable_cores() < station.cores {
        return refuse("they are at the server, under fcfs, ps or limited-ps on all cores");
    }
    let (rate, service_s) = (1.0 / gaps.mean(), station.service.mean_s);
    let Some(solved) = impatient::solve(station.cores, station.capacity, rate, service_s, patience.mean()) else {
        return refuse("fewer are inside at once");
    };
    let mut answer = Answer::default();
    if station.discipline == Discipline::Fcfs {
        answer.push("response_time_mean", "s", Value::exact(solved.response_time_mean_s));
        answer.push("waiting_time_mean", "s", Value::exact(solved.waiting_time_mean_s));
    } else {
        answer.note("response_time_mean: no formula for clients that give up unless they are served in order");
    }
    answer.push("throughput", "1/s", Value::exact(solved.throughput));
    answer.push("utilization", "1", Value::exact(solved.busy_mean / f64::from(station.cores)));
    answer.push("number_in_system_mean", "1", Value::exact(solved.number_mean));
    if station.capacity.is_some() {
        answer.push("error_ratio", "1", Value::exact(solved.loss));
    }
    answer.push("abandoned_ratio", "1", Value::exact(solved.given_up));
    answer.push("share_1", "1", Value::exact(1.0));
    answer.note(
        "formula: M/M/c with clients that give up, waiting or in service, exact; times are those of requests served",
    );
    Ok(answer)
}

fn closed_users(system: &System, users: u32, think: &Law) -> Result<Answer, Unanswered> {
    let refuse = |why: String| Err(Unanswered(format!("{why}: sim answers this")));
    let [server] = system.servers else {
        return refuse(format!("no formula for closed users over {} servers", system.servers.len()));
    };
    if system.has_links {
        return refuse("no formula for closed users behind links with a rate".into());
    }
    if users == 0 || !think.mean().is_finite() {
        return Err(Unanswered("closed users: at least one user and a think time with a mean".into()));
    }
    if server.capacity.is_some_and(|capacity| capacity < users) {
        return refuse("no formula for more closed users than the server has room for".into());
    }
    let station = station(system, server);
    if !matches!(station.discipline, Discipline::Fcfs | Discipline::Ps | Discipline::LimitedPs { .. }) {
        return refuse(format!("no formula for closed users under {}", station.discipline));
    }
    let always_shared = station.places().is_none_or(|places| places >= users);
    if !system.demand_is_exponential && !always_shared {
        return refuse("no formula for closed users unless demand is exponential or shared by PS".into());
    }
    let places = station.places().unwrap_or(users);
    // A user on the way is as far from the server as one that thinks.
    let away_mean_s = think.mean() + system.path_s;
    let solved = repairman::solve(users, away_mean_s, station.usable_cores(), places, station.service.mean_s);
    let mut answer = Answer::default();
    answer.push("response_time_mean", "s", Value::exact(solved.response_time_mean_s + system.path_s));
    answer.push("waiting_time_mean", "s", Value::exact(solved.waiting_time_mean_s));
    answer.push("service_time_mean", "s", Value::exact(station.service.mean_s));
    let cores = station.usable_cores();
    if system.demand_is_exponential && places == cores {
        let law = FiniteFcfs::of_population(users, users, away_mean_s, cores, station.service.mean_s);
        push_percentiles(&mut answer, true, |p| system.path_s + law.quantile(p));
    } else {
        answer.note("response_time percentiles: no formula");
    }
    answer.push("throughput", "1/s", Value::exact(solved.throughput));
    let used = f64::from(station.usable_cores()) / f64::from(station.cores);
    answer.push("utilization", "1", Value::exact(solved.utilisation * used));
    answer.push("number_in_system_mean", "1", Value::exact(solved.number_mean));
    answer.push("share_1", "1", Value::exact(1.0));
    answer.note("formula: machine repairman, exact for any think time law");
    note_path(system.path_s, &mut answer);
    answer.note(if system.demand_is_exponential {
        "exponential service: yes"
    } else {
        "exponential service: no, not assumed (all users share by PS)"
    });
    Ok(answer)
}

fn open_arrivals(system: &System, gaps: Moments, law: Option<&Law>) -> Result<Answer, Unanswered> {
    if gaps.mean_s.is_nan() || gaps.mean_s <= 0.0 || gaps.mean_s.is_infinite() {
        return Err(Unanswered("arrivals: the mean gap must be positive and finite".into()));
    }
    let count = system.servers.len();
    let mut answer = Answer::default();
    if count > 1 && policy_name(system).is_empty() {
        return Err(Unanswered(format!("{count} servers need a policy")));
    }
    match split::parts(system, gaps) {
        Some(mut parts) => {
            if let Some(law) = law {
                let known = parts.iter_mut().filter_map(|part| part.gaps.as_mut());
                known.for_each(|gaps| *gaps = gaps.clone().with_law(law));
            }
            separate_queues(system, 1.0 / gaps.mean_s, &parts, &mut answer)?;
        }
        None => {
            let policy = policy_name(system);
            let known = balanced::known(system, gaps)
                .map_err(|why| format!("no formula for {policy} over {count} servers{why}: sim answers this"));
            totals(system, 1.0 / gaps.mean_s, known, &mut answer)?;
        }
    }
    Ok(answer)
}

const LINKS: &str = "totals: taken to be let through by the links";

/// Servers of one kind, and what each of them does.
struct Group {
    station: Station,
    /// The part of the arrivals that each of them gets.
    share: f64,
    count: f64,
    solution: Solution,
}

/// Servers that each have their part of the arrivals, which come at `rate` (1/s) in all.
fn separate_queues(system: &System, rate: f64, parts: &[Part], answer: &mut Answer) -> Result<(), Unanswered> {
    let n = system.servers.len();
    let mut groups: Vec<Group> = Vec::new();
    for (server, Part { share, gaps }) in system.servers.iter().zip(parts) {
        let Some(gaps) = gaps else { continue };
        let station = station(system, server);
        if let Some(group) = groups.iter_mut().find(|group| group.station == station && group.share == *share) {
            group.count += 1.0;
            continue;
        }
        if let Some(limit) = station.largest_stable_rate() {
            stable(rate, limit / share, n > 1)?;
        }
        let solution = station.solve(gaps);
        groups.push(Group { station, share: *share, count: 1.0, solution });
    }
    if n > 1 {
        split::described(system, parts).into_iter().for_each(|line| answer.note(line));
        if !system.has_immediate_information {
            answer.note("stale information: not read by this policy");
        }
    }
    if system.has_links {
        answer.note("response_time_mean: no formula for links with a rate: sim answers this");
        answer.note(LINKS);
    } else {
        times(&groups, system.path_s, answer);
    }
    if system.has_links && groups.iter().any(|group| group.station.capacity.is_some()) {
        return Err(Unanswered("no formula for a limited room behind links: sim answers this".into()));
    }
    let Some(flows) = flows(&groups) else {
        let why = groups.iter().find_map(|group| group.solution.times.as_ref().err());
        return Err(Unanswered(why.cloned().unwrap_or_default()));
    };
    let over_servers = |of: &dyn Fn(&Group, &Flow) -> f64| -> f64 {
        flows.iter().map(|(group, flow)| group.count * of(group, flow)).sum()
    };
    let throughput = over_servers(&|_, flow| flow.throughput);
    let core_time = over_servers(&|group, flow| flow.throughput * group.station.service.mean_s);
    let utilisation = over_servers(&|_, flow| flow.utilisation) / n as f64;
    answer.push("service_time_mean", "s", Value::exact(core_time / throughput));
    answer.push("throughput", "1/s", Value::exact(throughput));
    answer.push("utilization", "1", Value::exact(utilisation));
    if flows.iter().any(|(_, flow)| flow.loss.is_some()) {
        let lost = over_servers(&|group, flow| group.share * flow.loss.unwrap_or(0.0));
        answer.push("error_ratio", "1", Value::exact(lost));
    }
    shares(parts.iter().map(|part| part.share), answer);
    Ok(())
}

fn flows(groups: &[Group]) -> Option<Vec<(&Group, Flow)>> {
    groups.iter().map(|group| Some((group, group.solution.flow?))).collect()
}

/// The rows about times: mixtures of the groups' by the requests that each serves, and `path_s` on the way.
fn times(groups: &[Group], path_s: f64, answer: &mut Answer) {
    let mut parts = Vec::new();
    let mut served = 0.0;
    for group in groups {
        match (&group.solution.times, group.solution.flow) {
            (Ok(times), Some(flow)) => {
                let weight = group.count * flow.throughput;
                served += weight;
                parts.push((weight, times));
            }
            (Err(why), _) => return answer.note(format!("response_time_mean: {why}")),
            // A station whose flow is not known has no times either.
            (Ok(_), None) => return,
        }
    }
    let mixed = |of: &dyn Fn(usize) -> Value| {
        let number = parts.iter().enumerate().map(|(i, part)| part.0 * of(i).number).sum::<f64>();
        Value { number: number / served, exact: (0..parts.len()).all(|i| of(i).exact) }
    };
    let response = mixed(&|i| parts[i].1.response_mean);
    answer.push("response_time_mean", "s", response.plus(path_s));
    let waiting: Option<Vec<Value>> = parts.iter().map(|(_, times)| times.waiting_mean).collect();
    match waiting {
        Some(waiting) => answer.push("waiting_time_mean", "s", mixed(&|i| waiting[i])),
        None => answer.note("waiting_time_mean: no formula for the queue in front"),
    }
    let laws: Option<Vec<(f64, ResponseLaw)>> =
        parts.iter().map(|(weight, times)| Some((weight / served, times.law.clone()?))).collect();
    match laws.as_deref() {
        Some([(_, law)]) => {
            push_percentiles(answer, law.is_exact(), |p| path_s + law.quantile(p));
            law.caveat().into_iter().for_each(|caveat| answer.note(caveat));
        }
        Some(laws) => push_percentiles(answer, laws.iter().all(|(_, law)| law.is_exact()), |p| {
            let tail = |t| laws.iter().map(|(weight, law)| weight * law.tail(t)).sum();
            path_s + numeric::quantile(p, response.number, tail)
        }),
        None => answer.note("response_time percentiles: no formula"),
    }
    answer.push("number_in_system_mean", "1", response.times(served));
    note_path(path_s, answer);
    for (_, times) in parts {
        answer.note(format!("formula: {}", times.formula));
        times.assumptions.iter().for_each(|line| answer.note(line));
    }
}

/// Says what was added to the queues' own times.
fn note_path(path_s: f64, answer: &mut Answer) {
    if path_s > 0.0 {
        let path = quantity::format(rounded(path_s), Dimension::Time);
        answer.note(format!("path: {path} of every response time, the same for all"));
    }
}

/// The policy without its parameters; empty for a single server.
fn policy_name<'a>(system: &System<'a>) -> &'a str {
    system.policy.unwrap_or_default().split('(').next().unwrap_or_default().trim()
}

/// The value of a parameter of the policy, as it is written: `3` of `d` in `power-of-d(d = 3)`.
fn parameter<'a>(system: &System<'a>, key: &str) -> Option<&'a str> {
    let (_, inside) = system.policy?.split_once('(')?;
    let inside = inside.trim_end().trim_end_matches(')');
    let mut given = inside.split(',').filter_map(|part| part.split_once('='));
    given.find(|(name, _)| name.trim() == key).map(|(_, value)| value.trim())
}

/// Whether all servers have one weight, above 0.
fn has_equal_weights(system: &System) -> bool {
    system.weights.iter().all(|weight| *weight > 0.0 && *weight == system.weights[0])
}

/// What holds under any policy that keeps equal servers stable, and what is known of its times.
fn totals(
    system: &System,
    rate: f64,
    known: Result<balanced::Known, String>,
    answer: &mut Answer,
) -> Result<(), Unanswered> {
    let first = station(system, &system.servers[0]);
    let equal = system.servers.iter().all(|server| station(system, server) == first);
    let policy = policy_name(system);
    // Hash and affinity follow the clients, weights what they are set to: nothing says that the shares are equal.
    let is_symmetric = match policy {
        "weighted-least-connections" | "weighted-round-robin" | "weighted-round-robin-classic" => {
            has_equal_weights(system)
        }
        _ => [
            "least-connections",
            "least-connections-lowest-id",
            "probabilistic-least-connections",
            "power-of-d",
            "round-robin",
            "round-trip",
            "transmitted-size",
        ]
        .contains(&policy),
    };
    let prefers_first = policy == "least-connections-lowest-id" || parameter(system, "ties") == Some("first");
    let n = system.servers.len();
    let Some(limit) = first.largest_stable_rate().filter(|_| equal && is_symmetric) else {
        return Err(Unanswered(known.err().unwrap_or_default()));
    };
    stable(rate, limit * n as f64, false)?;
    match known {
        Ok(balanced::Known { response_mean, formula }) => {
            answer.push("response_time_mean", "s", response_mean.plus(system.path_s));
            if first.discipline == Discipline::Fcfs {
                answer.push("waiting_time_mean", "s", response_mean.plus(-first.service.mean_s));
            }
            answer.push("number_in_system_mean", "1", response_mean.times(rate));
            note_path(system.path_s, answer);
            answer.note(format!("formula: {formula}"));
            answer.note("response_time percentiles: no formula");
        }
        Err(why) => answer.note(format!("response_time_mean: {why}")),
    }
    answer.note(format!("totals: by conservation and symmetry, if {policy} keeps every server stable"));
    if system.has_links {
        answer.note(LINKS);
    }
    let cores = n as f64 * f64::from(first.cores);
    answer.push("service_time_mean", "s", Value::exact(first.service.mean_s));
    answer.push("throughput", "1/s", Value::exact(rate));
    answer.push("utilization", "1", Value::exact(rate * first.service.mean_s / cores));
    match prefers_first {
        true => answer.note("totals: ties go to the first servers, which have more than their share of the requests"),
        false => shares((0..n).map(|_| 1.0 / n as f64), answer),
    }
    Ok(())
}

/// The part of the requests that each server is sent; beyond 16 servers the rows would be too many to read.
fn shares(all: impl ExactSizeIterator<Item = f64>, answer: &mut Answer) {
    let count = all.len();
    for (server, share) in all.enumerate().take_while(|_| count <= 16) {
        answer.push(format!("share_{}", server + 1), "1", Value::exact(share));
    }
}

/// Refuses arrivals at `rate` when they are not below `limit` (both of the whole system, 1/s).
fn stable(rate: f64, limit: f64, each: bool) -> Result<(), Unanswered> {
    if rate < limit {
        return Ok(());
    }
    let of = if each { " of a server" } else { "" };
    Err(Unanswered(format!(
        "utilization {}{of} is not below 1, so its queue never settles: stable below {} /s (now {} /s)",
        brief(rate / limit),
        brief(limit),
        brief(rate)
    )))
}

fn station(system: &System, server: &Server) -> Station {
    let mean = system.demand_mean_s / server.speed;
    let law = system.demand_law.map(|law| law.scaled(1.0 / server.speed));
    let service = match &law {
        Some(law) => Moments::of(law),
        None if system.demand_is_exponential => Moments::exponential(mean),
        None if system.demand_is_constant => Moments::constant(mean),
        None => Moments::from_variance(mean, system.demand_variance_s2 / server.speed.powi(2)),
    };
    let discipline = Discipline::of_server(&server.discipline).expect("what it does not know was refused above");
    Station::new(service, law, server.cores, discipline, server.capacity)
}
