//! What else there is to know of a plan: what is busiest and what relieving it buys, how much the traffic may grow, and how it
//! does under other traffic.

use std::sync::Arc;

use serde::Serialize;
use sojourn_model::network::Population;
use sojourn_stats::Measure;
use sojourn_theory::network::hit_ratios;
use sojourn_traffic::Workload;

use super::search::Candidate;
use super::state::{self, State};
use super::{Answered, Planner, Utilization};
use crate::run::RunError;
use crate::spec::{Question, Spec};

/// How narrow the bracket of the growth becomes.
const GROWTH_WITHIN: f64 = 0.05;

/// What the next stronger value of a choice buys.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Relief {
    /// The setting.
    pub key: String,
    /// Its value in the plan.
    pub from: String,
    /// Its next value.
    pub to: String,
    /// What that costs more.
    pub cost: f64,
    /// Each objective then.
    pub answers: Vec<Answered>,
}

/// How much the traffic may grow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Growth {
    /// The largest factor at which every objective was seen to hold.
    pub holds: f64,
    /// The smallest above it at which not every one was; none up to the largest factor asked about.
    pub fails: Option<f64>,
}

/// The plan under other traffic.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Traffic {
    /// Its name.
    pub name: String,
    /// The arrivals, or whatever else it sets.
    pub arrivals: String,
    /// Each objective under it.
    pub answers: Vec<Answered>,
    /// Whether every one holds.
    pub holds: bool,
}

pub(super) struct Advice {
    pub(super) reliefs: Vec<Relief>,
    pub(super) growth: Option<Growth>,
    pub(super) traffic: Vec<Traffic>,
    pub(super) cut_short: bool,
}

pub(super) fn ask(planner: &Planner<'_>, best: &Candidate) -> Result<Advice, RunError> {
    let mut advice = Advice { reliefs: Vec::new(), growth: None, traffic: Vec::new(), cut_short: true };
    for (number, choice) in planner.choices.choices.iter().enumerate() {
        let (now, next) = (best.picks[number], best.picks[number] + 1);
        if next >= choice.values.len() {
            continue;
        }
        let mut picks = best.picks.clone();
        picks[number] = next;
        let relieved = planner.choices.candidate(picks);
        let states = planner.states(&planner.choices.settings(&relieved))?;
        if state::overload(&states).is_some() {
            continue;
        }
        let Some(found) = planner.judge(&states, &planner.label(&relieved))? else { return Ok(advice) };
        advice.reliefs.push(Relief {
            key: choice.key.clone(),
            from: crate::variants::show(&choice.values[now]),
            to: crate::variants::show(&choice.values[next]),
            cost: relieved.cost - best.cost,
            answers: found.answers,
        });
    }
    let Some(growth) = growth(planner, best)? else { return Ok(advice) };
    advice.growth = growth;
    for (name, changes) in &planner.choices.traffic {
        let settings = [planner.choices.settings(best), changes.clone()].concat();
        let states = planner.states(&settings)?;
        let Some(found) = planner.judge(&states, name)? else { return Ok(advice) };
        let holds = found.holds();
        let set: Vec<String> = changes.iter().map(|(_, value)| crate::variants::show(value)).collect();
        advice.traffic.push(Traffic { name: name.clone(), arrivals: set.join(", "), answers: found.answers, holds });
    }
    advice.cut_short = false;
    Ok(advice)
}

/// The growth that the cheapest survives; the inner none where its workload cannot grow, the outer one where it was
/// interrupted.
fn growth(planner: &Planner<'_>, best: &Candidate) -> Result<Option<Option<Growth>>, RunError> {
    let states = planner.states(&planner.choices.settings(best))?;
    let mut found = Growth { holds: 1.0, fails: None };
    let mut next = planner.choices.growth;
    if next <= 1.0 {
        return Ok(Some(None));
    }
    loop {
        let grown = |state: &State| {
            let spec = state.spec.as_ref().map(|spec| spec.grown(next));
            Some(State { under: state.under.clone(), spec: spec.map_or(Some(None), |grown| grown.map(Some))? })
        };
        let Some(grown) = states.iter().map(grown).collect::<Option<Vec<State>>>() else { return Ok(Some(None)) };
        let holds = if state::overload(&grown).is_some() {
            false
        } else {
            match planner.judge(&grown, &format!("traffic x {next:.2}"))? {
                Some(found) => found.holds(),
                None => return Ok(None),
            }
        };
        match holds {
            true => found.holds = next,
            false => found.fails = Some(next),
        }
        match found.fails {
            Some(fails) if fails > found.holds * (1.0 + GROWTH_WITHIN) => next = (fails * found.holds).sqrt(),
            _ => return Ok(Some(Some(found))),
        }
    }
}

/// How busy each part is, the busiest first.
pub(super) fn parts(experiment: &Spec, measures: &[Measure]) -> Vec<Utilization> {
    let value = |metric: &str| measures.iter().find(|measure| measure.metric == metric)?.estimate.value();
    let mut parts = Vec::new();
    match &experiment.question {
        Question::Network(network) => {
            for station in &network.stations {
                if let Some(utilization) = value(&format!("utilization_{}", station.name)) {
                    parts.push(Utilization { name: station.name.clone(), utilization });
                }
            }
        }
        Question::System(asked) => {
            if let Some(utilization) = value("utilization") {
                parts.push(Utilization { name: "servers".into(), utilization });
            }
            let bits = value("throughput").map(|rate| rate * asked.workload.size_moments().0 * 8.0);
            if let (Some(bits), Some(rate)) = (bits, asked.system.network.cluster_rate) {
                parts.push(Utilization { name: "cluster_rate".into(), utilization: bits / rate });
            }
        }
    }
    parts.sort_by(|a, b| b.utilization.total_cmp(&a.utilization));
    parts
}

impl Spec {
    /// Where more work comes than can be done, and none of it is given up or denied: the utilisation that this would be. Of a
    /// network, and where the policy says what each server gets, it is that of the one that is asked too much.
    pub(crate) fn overload(&self) -> Option<f64> {
        let asked = match &self.question {
            Question::Network(network) => return Some(network.unstable(&hit_ratios(network))?.load),
            Question::System(asked) => asked,
        };
        let left = asked.left();
        let asked = left.as_ref().unwrap_or(asked);
        let Workload::Open(open) = &asked.workload else { return None };
        let is_shed = sojourn_sim::sheds_load(&asked.system, &asked.workload);
        let of_one = asked
            .load()
            .filter(|_| open.arrivals.profile().is_none())
            .and_then(|load| Some(load.overloaded()?.utilization));
        let of_all = open.arrivals.rate()? / asked.capacity();
        Some(of_all).filter(|utilization| *utilization >= 1.0).or(of_one).filter(|_| !is_shed)
    }

    /// Whether no server is left, from the beginning on.
    pub(crate) fn loses_all(&self) -> bool {
        self.system().is_some_and(|asked| asked.system.loses_all())
    }

    /// Whether its rate is given as a share of what the system can do.
    pub(crate) fn grows_with_its_system(&self) -> bool {
        self.system().is_some_and(
            |asked| matches!(&asked.workload, Workload::Open(open) if open.arrivals.utilization().is_some()),
        )
    }

    /// The same with `factor` times the traffic: requests come so much faster, or so many more users ask; none where that
    /// cannot be said.
    pub(crate) fn grown(&self, factor: f64) -> Option<Spec> {
        let mut grown = self.clone();
        let more = |users: u32| (f64::from(users) * factor).round() as u32;
        let asked = match &mut grown.question {
            Question::Network(network) => {
                for chain in &mut Arc::make_mut(network).chains {
                    match &mut chain.population {
                        Population::Open { gaps } => *gaps = gaps.scaled(1.0 / factor),
                        Population::Closed { users, .. } => *users = more(*users),
                    }
                }
                return Some(grown);
            }
            Question::System(asked) => asked,
        };
        match &mut asked.workload {
            Workload::Open(open) => open.arrivals = open.arrivals.at_rate(open.arrivals.rate()? * factor)?,
            Workload::Closed(closed) => closed.users = more(closed.users),
            Workload::Trace(traced) => traced.speed *= factor,
            Workload::Replay(replay) => replay.speed *= factor,
            Workload::Sessions(_) => return None,
        }
        Some(grown)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use sojourn_stats::Estimate;

    use super::*;
    use crate::variants::Experiment;

    /// A file `requests`, which some of the workloads read, stands beside the experiment.
    fn spec(text: &str) -> Spec {
        let folder = tempfile::tempdir().unwrap();
        let trace = folder.path().join("requests");
        let log = "a - - [01/Aug/1995:00:00:0N +0000] \"GET / HTTP/1.0\" 200 7\n";
        let is_log = text.contains("kind = \"log\"");
        let lines =
            if is_log { (0..9).map(|n| log.replace('N', &n.to_string())).collect() } else { "10 ms,30 ms\n".repeat(9) };
        std::fs::write(&trace, lines).unwrap();
        let text = format!("name = \"x\"\n{}", text.replace("FILE", trace.to_str().unwrap()));
        Experiment::new(Path::new("x.toml"), text, &[]).unwrap().variants().unwrap().remove(0).experiment
    }

    const SERVERS: &str = "[system.server]\ndiscipline = \"fcfs\"\ndemand = \"20 ms\"\ncores = 2\n";
    const NETWORK: &str = r#"
[[station]]
name = "one"
discipline = "fcfs"
[[station]]
name = "two"
discipline = "fcfs"
[[chain]]
name = "open"
arrivals = "exponential(rate = 10 /s)"
steps = [{ station = "one", demand = "40 ms" }]
[[chain]]
name = "closed"
users = 7
think = "1 s"
steps = [{ station = "two", demand = "30 ms" }]
"#;

    /// Three times the traffic is three times as many requests a second, or as many users, of whatever kind they are.
    #[test]
    fn traffic_grows_by_its_factor() {
        let open = spec(&format!("[workload]\nkind = \"open\"\narrivals = \"erlang(k = 2, rate = 5 /s)\"\n{SERVERS}"));
        let closed = spec(&format!("[workload]\nkind = \"closed\"\nusers = 7\nthink = \"1 s\"\n{SERVERS}"));
        let trace = "[workload]\nkind = \"trace\"\nfile = \"FILE\"\nspeed = 2\nclients = 1\nrepeat = true\n";
        let trace = spec(&format!("{trace}{SERVERS}"));
        let replay = spec(&format!("[workload]\nkind = \"log\"\nlog = \"FILE\"\nspeed = 4\n{SERVERS}"));
        let amount = |spec: &Spec| match &spec.system().unwrap().workload {
            Workload::Open(open) => open.arrivals.rate().unwrap(),
            Workload::Closed(closed) => closed.users.into(),
            Workload::Trace(traced) => traced.speed,
            Workload::Replay(replay) => replay.speed,
            Workload::Sessions(_) => unreachable!("there is none"),
        };
        for (spec, before, after) in [(open, 5.0, 15.0), (closed, 7.0, 21.0), (trace, 2.0, 6.0), (replay, 4.0, 12.0)] {
            let grown = spec.grown(3.0).unwrap();
            assert!((amount(&spec) - before).abs() < 1e-9 && (amount(&grown) - after).abs() < 1e-9);
        }
        let grown = spec(NETWORK).grown(3.0).unwrap();
        let Question::Network(network) = &grown.question else { panic!("it is one") };
        let rates: Vec<f64> = network
            .chains
            .iter()
            .map(|chain| match &chain.population {
                Population::Open { gaps } => 1.0 / gaps.mean(),
                Population::Closed { users, .. } => f64::from(*users),
            })
            .collect();
        assert!((rates[0] - 30.0).abs() < 1e-9 && rates[1] == 21.0, "{rates:?}");
    }

    /// What is offered over what can be done, where that is 1 and more and nothing is turned away.
    #[test]
    fn an_overload_is_what_is_offered_over_what_can_be_done() {
        let open = |rate: u32, more: &str| {
            let text =
                format!("[workload]\nkind = \"open\"\narrivals = \"exponential(rate = {rate} /s)\"\n{SERVERS}{more}");
            spec(&format!("{text}[run]\nduration = \"10 s\"\n")).overload()
        };
        assert_eq!(open(99, ""), None);
        assert!((open(150, "").unwrap() - 1.5).abs() < 1e-9);
        assert_eq!(open(150, "limits = { jobs = 9 }\n"), None);
        // Both servers together could do 200 /s, and the first gets two thirds of the requests.
        let tier =
            "[[system.tier]]\nface = \"gateway\"\npolicy = \"POLICY\"\ntargets = { servers = 2, weights = [2, 1] }\n";
        let of = |policy: &str| {
            let text = "[workload]\nkind = \"open\"\narrivals = \"exponential(rate = 160 /s)\"\n";
            let server = "[system.server]\ndiscipline = \"ps\"\ndemand = \"10 ms\"\n";
            spec(&format!("{text}{}{server}", tier.replace("POLICY", policy))).overload()
        };
        assert!((of("weighted-round-robin").unwrap() - 160.0 * 2.0 / 300.0).abs() < 1e-9);
        assert_eq!(of("weighted-least-connections"), None);
        assert_eq!(spec(NETWORK).overload(), None);
        assert!((spec(NETWORK).grown(3.0).unwrap().overload().unwrap() - 1.2).abs() < 1e-9);
    }

    /// 50 replies of 1000 B a second are a tenth of 4 Mbit/s.
    #[test]
    fn the_busiest_part_is_the_first() {
        let text = format!(
            "[workload]\nkind = \"open\"\narrivals = \"exponential(rate = 50 /s)\"\nsize = \"constant(1000 B)\"\n\
             [system.network]\ncluster_rate = \"4 Mbit/s\"\n{SERVERS}"
        );
        let measured = |utilization: f64| {
            let of = |metric: &str, value| Measure::new(metric, "1", Estimate::Exact { value });
            let found = parts(&spec(&text), &[of("throughput", 50.0), of("utilization", utilization)]);
            found.into_iter().map(|part| (part.name, (part.utilization * 1e6).round() / 1e6)).collect::<Vec<_>>()
        };
        let (servers, link) = ("servers".to_owned(), "cluster_rate".to_owned());
        assert_eq!(measured(0.5), [(servers.clone(), 0.5), (link.clone(), 0.1)]);
        assert_eq!(measured(0.05), [(link, 0.1), (servers, 0.05)]);
    }
}
