//! Theory's answer: the asked's system, as far as formulas describe it.

mod storm;

use sojourn_model::Server;
use sojourn_model::system::Face;
use sojourn_stats::{Law, Span, Time};
use sojourn_theory::system::file_nodes::{self, SharedFiles};
use sojourn_theory::system::{ArrivalKind, System, answer as formulas};
use sojourn_traffic::{Sizes, Workload};

use crate::answer::Answer;
use crate::report::number::estimate;
use crate::spec::{Engine, Question, SystemQuestion};

pub(super) fn answer(question: &Question) -> Answer {
    match question {
        Question::System(asked) => {
            let mut answer = of_system(asked);
            if answer.measures.is_empty() {
                answer.notes.extend(before_faults(asked));
            }
            answer
        }
        Question::Network(network) => match sojourn_theory::network::answer(network) {
            Ok(known) => Answer { measures: known.measures, notes: known.notes, ..Answer::new(Engine::Theory) },
            Err(why) => unanswered(why.to_string()),
        },
    }
}

fn unanswered(why: String) -> Answer {
    Answer { notes: vec![why], ..Answer::new(Engine::Theory) }
}

/// What formulas know of the time before the first fault, where it does not begin at once. It is no row: a row is of the whole
/// run, of which they know nothing.
fn before_faults(asked: &SystemQuestion) -> Option<String> {
    let first = asked.system.faults.iter().map(|fault| fault.at).min().filter(|at| *at > Time::ZERO)?;
    let system = sojourn_model::System { faults: Vec::new(), ..asked.system.clone() };
    let known = of_system(&SystemQuestion { system, ..asked.clone() });
    let told = |(metric, words): (&str, &str)| {
        let measure = known.measures.iter().find(|measure| measure.metric == metric)?;
        Some(format!("{words} {}", estimate(&measure.estimate, &measure.unit).replace('\u{a0}', " ")))
    };
    let metrics = [("response_time_mean", "mean response time"), ("response_time_p99", "p99")];
    let told: Vec<String> = metrics.into_iter().filter_map(told).collect();
    let at = Span(first.0);
    (!told.is_empty()).then(|| format!("in steady state before the first fault (at {at}): {}", told.join(", ")))
}

fn of_system(asked: &SystemQuestion) -> Answer {
    if asked.system.loses_all() {
        return unanswered("no server is left".into());
    }
    if let Some(left) = asked.left() {
        let mut answer = of_system(&left);
        answer.notes.push("of what is left, once the decider knows which servers are gone".into());
        return answer;
    }
    if let Some(answer) = of_shared_files(asked) {
        return answer;
    }
    if let Some(storm) = storm::question(asked) {
        return match storm.and_then(|storm| sojourn_theory::storm::answer(&storm).map_err(|why| why.to_string())) {
            Ok(known) => Answer { measures: known.measures, notes: known.notes, ..Answer::new(Engine::Theory) },
            Err(why) => unanswered(why),
        };
    }
    if !asked.system.is_plain() {
        return unanswered(
            "not there yet: formulas know one tier in one place, where nothing breaks and no target has a `limit`"
                .into(),
        );
    }
    let (arrivals, patience) = match &asked.workload {
        Workload::Open(open) => match open.arrivals.law() {
            Some(gaps) => (ArrivalKind::Open { gaps }, &open.patience),
            None => return unanswered(open.arrivals.beyond_formulas().unwrap_or("the rate is not known").into()),
        },
        Workload::Trace(traced) => {
            let (mean_s, variance_s2) = traced.trace.gap_moments();
            let (mean_s, variance_s2) = (mean_s / traced.speed, variance_s2 / (traced.speed * traced.speed));
            (ArrivalKind::Moments { mean_s, variance_s2 }, &traced.patience)
        }
        Workload::Closed(closed) => {
            (ArrivalKind::Closed { users: closed.users, think: &closed.think }, &closed.patience)
        }
        Workload::Sessions(_) => {
            return unanswered(
                "users who browse pages in sessions are in no formula that is known here: sim answers".into(),
            );
        }
        Workload::Replay(_) => {
            return unanswered("a log's arrivals follow no law that formulas know: sim answers this".into());
        }
    };
    let (demand_mean_s, demand_variance_s2) = asked.demand_moments();
    let (tier, network) = (asked.system.tier(), &asked.system.network);
    let servers: Vec<Server> = asked.system.servers().cloned().collect();
    let (is_exponential, is_constant) = demand_shape(asked);
    let law = demand_law(asked).filter(|law| law.mean() > 0.0 && law.mean().is_finite());
    let links = [network.client_link(), network.cluster_link()];
    let question = System {
        arrivals,
        servers: &servers,
        demand_mean_s,
        demand_variance_s2,
        demand_is_exponential: is_exponential,
        demand_is_constant: is_constant,
        demand_law: law.as_ref(),
        policy: tier.map(|tier| tier.policy.as_str()),
        dispatchers: tier.map_or(1, |tier| tier.dispatchers),
        weights: tier.map_or(&[][..], |tier| &tier.weights[..]),
        has_immediate_information: tier.is_none_or(|tier| tier.polled.is_none()),
        has_links: links.iter().any(|link| link.rate.is_some()),
        path_s: links.iter().map(|link| 2.0 * link.delay.as_secs_f64()).sum(),
        patience: patience.as_ref(),
    };
    match formulas(&question) {
        Ok(known) => {
            let mut notes = known.notes;
            if matches!(asked.workload, Workload::Trace(_)) {
                notes.push("the trace by its moments: its gaps and demands are taken to be independent draws".into());
            }
            Answer { measures: known.measures, notes, ..Answer::new(Engine::Theory) }
        }
        Err(why) => unanswered(why.to_string()),
    }
}

/// What is known of servers that own files and redirect, behind a DNS that rotates; none of any other system.
fn of_shared_files(asked: &SystemQuestion) -> Option<Answer> {
    let system = &asked.system;
    let [rotation, nodes] = &system.tiers[..] else { return None };
    let rotates = rotation.face == Face::Dns && rotation.policy == "round-robin";
    let redirect = nodes.face == Face::Redirect && nodes.seats.iter().all(|seat| seat.host.is_some());
    let have_files = |server: &Server| server.machine.as_ref().is_some_and(|machine| machine.files.is_some());
    if !rotates || !redirect || !system.servers().all(have_files) {
        return None;
    }
    if !system.faults.is_empty() {
        return Some(unanswered("no formula for servers that break: sim answers this".into()));
    }
    let servers: Vec<Server> = system.servers().cloned().collect();
    let question = SharedFiles {
        servers: &servers,
        size_mean: asked.workload.size_moments().0,
        demand_mean_s: asked.demand_moments().0,
        policy: &nodes.policy,
        rate: match &asked.workload {
            Workload::Open(open) => open.arrivals.rate(),
            _ => None,
        },
    };
    Some(match file_nodes::answer(&question) {
        Ok(known) => Answer { measures: known.measures, notes: known.notes, ..Answer::new(Engine::Theory) },
        Err(why) => unanswered(why.to_string()),
    })
}

/// The law of the demand, mixed over the classes, where each class has one: it does not read the size, or nothing but
/// the size.
fn demand_law(asked: &SystemQuestion) -> Option<Law> {
    if asked.workload.demand_moments().is_some() {
        return None;
    }
    let of_class = |(class, name): (usize, &str)| {
        let demand = asked.system.hosts[0].server.demand(name);
        if demand.per_byte == 0.0 {
            return Some(demand.fixed.clone());
        }
        let sizes = size_law(asked, class).filter(|_| demand.fixed.limits() == (0.0, 0.0))?;
        Some(sizes.scaled(demand.per_byte))
    };
    let laws: Vec<Law> = asked.workload.classes().into_iter().enumerate().map(of_class).collect::<Option<_>>()?;
    let shares = asked.workload.shares()?;
    let mut parts: Vec<(f64, Law)> = shares.into_iter().zip(laws).filter(|(share, _)| *share > 0.0).collect();
    match parts.len() {
        1 => parts.pop().map(|(_, law)| law),
        _ => Some(Law::mixture(parts)),
    }
}

/// The law that the sizes of class number `class` are drawn from, where there is one.
pub(crate) fn size_law(asked: &SystemQuestion, class: usize) -> Option<&Law> {
    match asked.workload.sizes_of(class) {
        Some(Sizes::Law(law)) => Some(law),
        _ => None,
    }
}

/// Whether the demand is exponential, and whether it is the same for every request.
fn demand_shape(asked: &SystemQuestion) -> (bool, bool) {
    if let Some((_, variance)) = asked.workload.demand_moments() {
        return (false, variance == 0.0);
    }
    let classes = asked.workload.classes();
    let [class] = classes[..] else { return (false, asked.demand_moments().1 == 0.0) };
    let demand = asked.system.hosts[0].server.demand(class);
    let is_constant = |law: &Law| law.variance() == 0.0;
    if demand.per_byte == 0.0 {
        return (demand.fixed.is_exponential(), is_constant(&demand.fixed));
    }
    let exponential_sizes = size_law(asked, 0).is_some_and(Law::is_exponential) && demand.fixed.mean() == 0.0;
    let constant = is_constant(&demand.fixed) && asked.workload.size_moments().1 == 0.0;
    (exponential_sizes, constant)
}
