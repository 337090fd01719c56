//! What to buy: the cheapest system that meets every objective, out of all that may be varied.
//!
//! A plan is an experiment file with `[objective]` and `[plan]`: what may be chosen and what each choice costs
//! ([`choice`]). Candidates that are overloaded, or of which theory says that they miss an objective, are left out; the
//! others are simulated, the most telling of the cheapest first, until nothing cheaper can be left ([`search`]). An
//! objective is met where it is at the unfavourable end of the interval. What is found is asked further ([`advice`]):
//! what its bottleneck is and what relieving it buys, how much its traffic may grow, and how it does under other
//! traffic of the same rate, since an agreement has to hold for the worst of them (Fujita 2000, section 6).
//!
//! The price of pruning by formulas is that an approximate one may be wrong: it excludes a candidate only where it misses
//! by more than [`APPROXIMATION`] of the limit.
//!
//! Objectives hold where nothing is broken, and in each state that a fault makes of the system ([`state`]).

pub mod advice;
mod bound;
mod candidate;
pub mod choice;
mod found;
mod nearest;
mod page;
pub mod search;
pub mod state;

use std::io;
use std::path::PathBuf;

use serde::Serialize;
use serde_json::json;
use sojourn_sim::Precision;
use sojourn_stats::{Estimate, Measure};

use crate::answer::Answer;
use crate::engine::{self, Conditions};
use crate::folder::Writer;
use crate::host;
use crate::judged;
use crate::objective::{GIVEN_UP, Judgement, Objective};
use crate::run::{Context, RunError, Step};
use crate::spec::{Engine, Spec, SpecError};
use crate::variants::{Experiment, label};
use advice::{Growth, Relief, Traffic};
use bound::Bound;
use choice::Choices;
pub use found::{Answered, Nearest, Offer, Simulated, Tally, Utilization};
use nearest::{distance, far};
use search::{Candidate, Fate};
use state::State;

/// By how much of the limit an approximate formula has to miss an objective before it excludes a candidate.
pub const APPROXIMATION: f64 = 0.25;
/// The first look at a candidate: a failure that shows at this precision needs no better one.
const GLANCE: (Precision, u64) = (Precision { relative: 0.15, confidence: 0.95 }, 200_000);
/// Where the limit lies inside the interval, so many times as many requests are simulated, once.
const LONGER: u64 = 5;

/// A plan.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// What of its folder could not be written, in a line.
    #[serde(skip)]
    pub unwritten: Option<String>,
    /// The question.
    pub name: String,
    /// What costs are in.
    pub unit: String,
    /// Why the server model is SUSPECT, by which all of this was found; empty where it is not.
    pub doubts: Vec<String>,
    /// What must hold, in every state.
    pub objectives: Vec<String>,
    /// What became of the candidates.
    pub tally: Tally,
    /// The cheapest that meets every objective, and the next cheapest.
    pub offers: Vec<Offer>,
    /// Where there is no offer: how close one comes.
    pub nearest: Option<Nearest>,
    /// Why the cheapest is no cheaper, where there are faults to bear: what the next cheaper one that was asked does not meet.
    pub decided: Option<String>,
    /// What each next stronger choice would buy the cheapest.
    pub reliefs: Vec<Relief>,
    /// How much the traffic of the cheapest may grow.
    pub growth: Option<Growth>,
    /// How the cheapest does under other traffic.
    pub traffic: Vec<Traffic>,
    /// Every candidate that was asked something: label, cost and fate.
    pub asked: Vec<(String, f64, Fate)>,
    /// Whether the search was interrupted: something may be cheaper then.
    pub interrupted: bool,
    /// Whether what was asked of the cheapest besides was: some of `reliefs`, `growth` and `traffic` are missing then.
    pub cut_short: bool,
    /// The settings of the cheapest as `key=value`, for `sojourn run --set`.
    pub set: Vec<String>,
}

/// Plans `source`; gives the folder written (`plan.json`, `report.html`) and what is in it.
///
/// # Errors
/// As [`crate::run()`]; also without `[plan]`, without objectives, and where the traffic is given as a utilisation, which would
/// grow with the system.
pub fn plan(source: &Experiment, context: &Context<'_>) -> Result<(PathBuf, Plan), RunError> {
    let choices = Choices::read(source)?;
    let mut candidates = choices.candidates();
    let mut planner = Planner { source, choices: &choices, context, done: 0, of: 0, impossible: Vec::new() };
    planner.impossible = planner.check(&candidates)?;
    let mut writer = Writer::create(context.out.as_deref(), &planner.experiment(&candidates[0])?.name)?;
    writer.event(&json!({"event": "asked", "plan": context.command, "date": host::date()}));
    match planner.plan(&mut candidates) {
        Ok(mut plan) => {
            let json = serde_json::to_vec_pretty(&plan).map_err(io::Error::other);
            let page = page::render(&plan, &source.text());
            let written = writer.write_all([("plan.json", json), ("report.html", Ok(page.into_bytes()))]);
            plan.unwritten = written.err().map(|unwritten| unwritten.to_string());
            Ok((writer.path().to_path_buf(), plan))
        }
        Err(error) => {
            writer.discard();
            Err(error)
        }
    }
}

/// Asks the engines about candidates.
pub(crate) struct Planner<'a> {
    pub(crate) source: &'a Experiment,
    pub(crate) choices: &'a Choices,
    context: &'a Context<'a>,
    /// Simulations so far, and how many candidates were open at the start.
    done: usize,
    of: usize,
    /// Why no candidate can meet an objective, of each of which a reason is known.
    impossible: Vec<String>,
}

impl Plan {
    /// Why there is neither an offer nor a candidate near to one, in a sentence; none where there is, or where something was
    /// not asked.
    pub fn no_candidate(&self) -> Option<String> {
        if !self.offers.is_empty() || self.nearest.is_some() || self.interrupted {
            return None;
        }
        let overloaded = self.asked.iter().filter_map(|(label, _, fate)| match fate {
            Fate::Overloaded { utilization, under } => Some((label, *utilization, with(under.as_deref()))),
            _ => None,
        });
        let key = |utilization: Option<f64>| utilization.unwrap_or(f64::INFINITY);
        let best = overloaded.min_by(|(_, one, _), (_, other, _)| key(*one).total_cmp(&key(*other)));
        let all_are = self.tally.overloaded == self.tally.candidates;
        Some(match best.filter(|_| all_are) {
            Some((label, Some(least), with)) => format!(
                "No candidate can do the work that comes: the best, {label}, would be at a utilisation of {least:.2}{with}"
            ),
            Some((_, None, with)) => format!("No candidate can do the work that comes: none has a server left{with}"),
            None => self.none_meets().to_owned(),
        })
    }

    /// What the limits that the cheapest meets do not tell, a sentence each.
    pub fn left_out(&self) -> impl Iterator<Item = String> {
        let answers = self.offers.first().into_iter().flat_map(|offer| &offer.simulated.answers);
        let told = answers.filter(|answer| answer.judgement == Judgement::Holds && !answer.reason.is_empty());
        told.map(|answer| format!("{} is met; {}", answer.what(), answer.reason))
    }

    /// Why none of it was seen to be so: the model of the server is SUSPECT. None where it is not.
    pub fn doubted(&self) -> Option<String> {
        let why = self.doubts.first()?;
        Some(format!("the server model is SUSPECT, and so is what is said of any candidate: {why}"))
    }
}

impl Planner<'_> {
    /// Refuses, before anything is simulated, what no plan can be made of. Gives the reasons why an objective is out of every
    /// candidate's reach.
    fn check(&self, candidates: &[Candidate]) -> Result<Vec<String>, RunError> {
        let fail = |message: &str| Err(SpecError(format!("{}: {message}", self.source.file.display())).into());
        let mut bounds: Vec<(Objective, Option<Bound>)> = Vec::new();
        for (number, candidate) in candidates.iter().enumerate() {
            let experiment = self.experiment(candidate)?;
            if experiment.objectives.is_empty() {
                return fail("a plan needs an objective, e.g. `p99 = \"< 200 ms\"` under [objective]");
            }
            if experiment.grows_with_its_system() {
                return fail(
                    "the traffic is given as a utilization, which would grow with every server bought: give its rate",
                );
            }
            engine::check(&experiment, &[Engine::Sim])
                .map_err(|message| SpecError(format!("{}: {message}", self.source.file.display())))?;
            if number == 0 {
                let bound = |objective: &Objective| (objective.clone(), Bound::of(objective, &experiment));
                bounds = experiment.objectives.iter().map(bound).collect();
            }
            for (objective, best) in &mut bounds {
                *best = best.and_then(|best| Some(best.or(Bound::of(objective, &experiment)?, objective)));
            }
            let states = self.states(&self.choices.settings(candidate))?;
            let can_do = |spec: &&Spec| spec.overload().is_none() && !spec.loses_all();
            for spec in states.iter().skip(1).filter_map(|of| of.spec.as_ref()).filter(can_do) {
                engine::check(spec, &[Engine::Sim])
                    .map_err(|message| SpecError(format!("{}: plan.fault: {message}", self.source.file.display())))?;
            }
        }
        Ok(bounds.iter().filter_map(|(objective, best)| best.as_ref()?.against(objective)).collect())
    }

    pub(crate) fn experiment(&self, candidate: &Candidate) -> Result<Spec, RunError> {
        Ok(self.source.candidate(&self.choices.settings(candidate))?)
    }

    fn plan(&mut self, candidates: &mut [Candidate]) -> Result<Plan, RunError> {
        for candidate in candidates.iter_mut() {
            candidate.fate = self.prune(candidate)?;
        }
        self.of = candidates.iter().filter(|candidate| candidate.fate == Fate::Open).count();
        let complete = search::search(self.choices, candidates, &mut |candidate| self.simulate(candidate))?;
        let first = self.experiment(&candidates[0])?;
        let objectives = self.objectives(candidates)?;
        let doubts = first.system().map_or_else(Vec::new, |asked| asked.findings.doubts.clone());
        let mut plan = Plan {
            unwritten: None,
            name: first.name,
            doubts,
            unit: self.choices.unit.clone(),
            objectives,
            tally: tally(candidates),
            offers: Vec::new(),
            nearest: None,
            decided: None,
            reliefs: Vec::new(),
            growth: None,
            traffic: Vec::new(),
            asked: Vec::new(),
            interrupted: !complete,
            cut_short: false,
            set: Vec::new(),
        };
        let cheapest = candidates.iter().filter_map(|candidate| match &candidate.fate {
            Fate::Meets(simulated) => Some((candidate, simulated)),
            _ => None,
        });
        let mut cheapest: Vec<(&Candidate, &Simulated)> = cheapest.collect();
        // Of those that cost the same first what does better.
        cheapest.sort_by(|(one, found), (other, of)| one.cost.total_cmp(&other.cost).then_with(|| found.compared(of)));
        cheapest.truncate(self.choices.offers);
        plan.offers = cheapest
            .iter()
            .map(|(candidate, simulated)| Offer {
                label: self.label(candidate),
                settings: self.choices.told(candidate),
                cost: candidate.cost,
                simulated: (*simulated).clone(),
            })
            .collect();
        if let Some((best, _)) = cheapest.first() {
            plan.set = plan.offers[0].settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
            let advice = advice::ask(self, best)?;
            (plan.reliefs, plan.growth, plan.traffic) = (advice.reliefs, advice.growth, advice.traffic);
            plan.cut_short = advice.cut_short;
            plan.decided = self.decided(candidates, best);
        } else if complete {
            plan.nearest = self.nearest(candidates)?;
        }
        let asked = candidates.iter().filter(|candidate| !matches!(candidate.fate, Fate::Open | Fate::Weaker));
        plan.asked = asked.map(|candidate| (self.label(candidate), candidate.cost, candidate.fate.clone())).collect();
        Ok(plan)
    }

    pub(crate) fn label(&self, candidate: &Candidate) -> String {
        let told = self.choices.told(candidate);
        label(told.iter().map(|(key, value)| (key.as_str(), value.as_str())))
    }

    /// What becomes of a candidate without simulation.
    fn prune(&self, candidate: &Candidate) -> Result<Fate, RunError> {
        let states = self.states(&self.choices.settings(candidate))?;
        if let Some(state::Overload { under, utilization }) = state::overload(&states) {
            return Ok(Fate::Overloaded { utilization, under });
        }
        let (mut misses, mut answers) = (Vec::new(), Vec::new());
        for State { under, spec } in &states {
            let Some(spec) = spec else { continue };
            let told = self.ask(Engine::Theory, spec, &|_, _| {})?;
            misses.extend(spec.objectives.iter().filter_map(|of| excluded(of, under.as_ref(), &told.measures)));
            answers.extend(spec.objectives.iter().map(|of| answered(of, under.as_ref(), &told.measures)));
        }
        let farthest = misses.into_iter().max_by(|one, other| far(one).total_cmp(&far(other)));
        let known: Vec<&Answered> = answers.iter().filter(|answer| answer.estimate.is_some()).collect();
        Ok(farthest.map_or(Fate::Open, |answer| Fate::Excluded { answer, distance: distance(known) }))
    }

    /// What the simulator says of a candidate; none where it was interrupted.
    fn simulate(&mut self, candidate: &Candidate) -> Result<Option<Fate>, RunError> {
        let states = self.states(&self.choices.settings(candidate))?;
        self.done += 1;
        let label = self.label(candidate);
        let simulated = self.judge(&states, &label)?;
        Ok(simulated.map(|found| if found.holds() { Fate::Meets(found) } else { Fate::Misses(found) }))
    }

    /// What the simulator says of every objective in every state, of which none is overloaded; none where it was interrupted.
    pub(crate) fn judge(&self, states: &[State], label: &str) -> Result<Option<Simulated>, RunError> {
        let mut found = Simulated::default();
        for State { under, spec } in states {
            let Some(spec) = spec else { continue };
            let label = format!("{label}{}", with(under.as_deref()));
            let Some(of_state) = self.judge_state(spec, under.as_ref(), &label)? else { return Ok(None) };
            found.answers.extend(of_state.answers);
            found.given_up = found.given_up.max(of_state.given_up);
            found.failed = found.failed.max(of_state.failed);
            if under.is_none() {
                found.parts = of_state.parts;
            }
        }
        Ok(Some(found))
    }

    /// What the simulator says of every objective in a state. First a glance, then as precisely as the file
    /// asks, then once more for longer where that does not decide.
    fn judge_state(
        &self,
        experiment: &Spec,
        under: Option<&String>,
        label: &str,
    ) -> Result<Option<Simulated>, RunError> {
        let mut glance = experiment.clone();
        (glance.run.precision, glance.run.max_jobs) = (Some(GLANCE.0), GLANCE.1.min(experiment.run.max_jobs));
        let mut longer = experiment.clone();
        longer.run.max_jobs = experiment.run.max_jobs.saturating_mul(LONGER);
        if let Some(precision) = &mut longer.run.precision {
            precision.relative /= (LONGER as f64).sqrt();
        }
        for (number, experiment) in [&glance, experiment, &longer].into_iter().enumerate() {
            let answer = self.ask(Engine::Sim, experiment, &|done, remark| {
                let variant = (self.done.saturating_sub(1), self.of.max(self.done).max(1));
                self.context.progress.show(Step { variant, label, engine: Engine::Sim, done, remark });
            })?;
            if self.context.progress.is_cancelled() {
                return Ok(None);
            }
            let judged = |objective: &Objective| by_sim(objective, under, experiment, &answer);
            let answers: Vec<Answered> = experiment.objectives.iter().map(judged).collect();
            // That too many requests failed is no longer run's matter.
            let decided = |answer: &Answered| {
                matches!(answer.judgement, Judgement::Holds | Judgement::Fails) || answer.times_outdone.is_some()
            };
            let fails = answers.iter().any(|answer| answer.judgement == Judgement::Fails);
            // What seems to hold at a glance is confirmed as precisely as was asked.
            if fails || number == 2 || (number == 1 && answers.iter().all(decided)) {
                let share = |metric: &str| answer.estimate(metric).and_then(Estimate::value).unwrap_or(0.0);
                return Ok(Some(Simulated {
                    answers,
                    parts: advice::parts(experiment, &answer.measures),
                    given_up: share(GIVEN_UP),
                    failed: share("error_ratio"),
                }));
            }
        }
        unreachable!("the third answer is taken as it is")
    }

    fn ask(
        &self,
        engine: Engine,
        experiment: &Spec,
        progress: &(dyn Fn(f64, &str) + Sync),
    ) -> Result<Answer, RunError> {
        let conditions = Conditions {
            program: &self.context.program,
            folder: std::path::Path::new(""),
            index: 0,
            threads: self.context.threads,
            cancel: self.context.progress.cancel(),
            path: None,
            faults: None,
            progress,
        };
        let label = experiment.name.clone();
        let asked = engine::ask(engine, experiment, &conditions);
        asked.map(|(answer, _)| answer).map_err(|message| RunError::Engine { engine: engine.name(), label, message })
    }
}

/// "with 1 server down"; nothing where nothing is broken.
fn with(under: Option<&str>) -> String {
    under.map_or(String::new(), |under| format!(" with {under}"))
}

/// The objective that theory says is missed.
fn excluded(objective: &Objective, under: Option<&String>, measures: &[Measure]) -> Option<Answered> {
    let answer = answered(objective, under, measures);
    let estimate = answer.estimate.as_ref()?;
    let margin = match estimate {
        Estimate::Exact { .. } => 0.0,
        _ => APPROXIMATION * objective.limit.abs(),
    };
    let value = estimate.value()?;
    let by = if objective.below { value - objective.limit } else { objective.limit - value };
    (by >= 0.0 && by >= margin).then_some(answer)
}

/// What the simulator says of an objective, as a run does: a time meets no limit where more requests failed or were given up than
/// may be slower, and a limit on failures leaves out what was given up.
fn by_sim(objective: &Objective, under: Option<&String>, experiment: &Spec, answer: &Answer) -> Answered {
    let judgement = match objective.judge_answer(answer) {
        // It may still have recovered in time.
        Judgement::NotRecovered if judged::ended_early(objective, experiment, answer).is_some() => {
            Judgement::RecoveryUntold
        }
        judgement => judgement,
    };
    let outdone = objective.outdone_in(answer).filter(|_| judgement == Judgement::Holds);
    let times_outdone = objective.times_outdone_in(answer).filter(|_| outdone.is_some());
    let left_out = || judged::left_out(objective, &experiment.objectives, answer);
    let (judgement, reason) = match (judgement, outdone) {
        (_, Some(why)) => (Judgement::Undecided, Some(why)),
        (Judgement::Holds, None) => (Judgement::Holds, left_out()),
        (other, None) => (other, None),
    };
    Answered {
        judgement,
        reason: reason.unwrap_or_default(),
        times_outdone,
        of_all: objective.told_of_all(&answer.measures, &answer.curve),
        ..answered(objective, under, &answer.measures)
    }
}

fn answered(objective: &Objective, under: Option<&String>, measures: &[Measure]) -> Answered {
    let measure = measures.iter().find(|measure| measure.metric == objective.metric);
    Answered {
        objective: objective.text.clone(),
        under: under.cloned(),
        metric: objective.metric.clone(),
        unit: measure.map_or(String::new(), |measure| measure.unit.clone()),
        limit: objective.limit,
        estimate: measure.map(|measure| measure.estimate.clone()),
        judgement: objective.judge_among(measures),
        reason: String::new(),
        times_outdone: None,
        of_all: None,
    }
}

fn tally(candidates: &[Candidate]) -> Tally {
    let mut tally = Tally { candidates: candidates.len(), ..Tally::default() };
    for candidate in candidates {
        let count = match candidate.fate {
            Fate::Overloaded { .. } => &mut tally.overloaded,
            Fate::Excluded { .. } => &mut tally.excluded,
            Fate::Meets(_) | Fate::Misses(_) => &mut tally.simulated,
            Fate::Weaker => &mut tally.weaker,
            Fate::Open => &mut tally.dearer,
        };
        *count += 1;
    }
    tally
}
