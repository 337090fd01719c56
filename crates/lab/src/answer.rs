//! What a run answers: one shape from the engine over memory and the run folder to the report.
//!
//! [`Answers`] has a [`VariantAnswers`] for each variant, and that an [`Answer`] for each engine that said something. A
//! run folder is written from it and opens into it again ([`Answers::write`], [`Answers::open`]); tables, reports and
//! comparisons read nothing else. The price: an opened folder is in memory as a whole.

mod metric;
mod objective;
mod trust;
mod variant;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sojourn_load::Second;
use sojourn_model::system::Fault;
use sojourn_stats::{Estimate, Measure, Span};

pub(crate) use self::metric::usual;
pub use self::metric::{Bounds, FAILURES, Metric, NoMetric, OF_FAULTS};
pub use self::objective::ObjectiveAnswer;
pub use self::trust::{Trust, Verdict};
pub use self::variant::VariantAnswers;
pub(crate) use self::variant::{BEFORE_RUN, NAME, RUN};
use crate::objective::GIVEN_UP;
use crate::spec::Engine;

/// Everything that a run found. As JSON it is `run.json`: all but the numbers, which stand in tables beside it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answers {
    /// Version of the run folder's layout ([`crate::folder::SCHEMA`]).
    pub schema: u32,
    /// The question.
    pub name: String,
    /// Why one would ask it.
    pub description: Option<String>,
    /// Version of the program.
    pub version: String,
    /// Run seed.
    pub seed: u64,
    /// The experiment as it was run, changes included.
    pub spec: String,
    /// The command that repeats it.
    pub command: String,
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// How long it took (s).
    pub elapsed_s: f64,
    /// The machine, as names and values.
    pub host: Vec<(String, String)>,
    /// Keys of the varied settings: the first columns of the outcomes.
    pub settings: Vec<String>,
    /// What was compared, in the order of the experiment file.
    pub variants: Vec<VariantAnswers>,
    /// What must hold, and whether it does.
    pub objectives: Vec<ObjectiveAnswer>,
    /// The worst of the verdicts of live runs and of models against a log, or that the run was interrupted.
    pub verdict: Verdict,
    /// Why it is not VALID.
    pub reasons: Vec<String>,
    /// What happened when, in order.
    #[serde(skip)]
    pub events: Vec<Value>,
}

/// What one engine says of one variant.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The variant's label.
    pub variant: String,
    /// The engine that answers.
    pub engine: Engine,
    /// Its numbers; none where it cannot answer.
    pub measures: Vec<Measure>,
    /// The distribution of the response time: (seconds, share that took no longer).
    pub curve: Vec<(f64, f64)>,
    /// Every metric's value in each replication, in their order (none where a replication has none); only the simulator
    /// has replications. With common random numbers, differences between variants are taken replication by replication.
    pub replications: Vec<(String, Vec<Option<f64>>)>,
    /// Open connections at a server and the share of the time that servers had so many; sessions only.
    pub connections: Vec<(u32, f64)>,
    /// The run second by second, warm-up included, where it is live.
    pub seconds: Vec<Second>,
    /// Where requests went over time; only where faults are planned.
    pub flows: Vec<Flow>,
    /// Outcomes over time, where something breaks or clients wait only so long.
    pub over_time: Vec<MetricOverTime>,
    /// Why it cannot be said how long the system took to recover from faults that ended.
    pub recovery_untold: Option<String>,
    /// Why it cannot answer, or what to beware of.
    pub notes: Vec<String>,
    /// How far it can be trusted, where it is live; how far the model is from it, where it is what happened.
    pub trust: Option<Trust>,
}

/// How many requests a part of the system got over time, by the instants at which they were planned.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flow {
    /// A site, or a server where there are no sites; or [`FAILED`].
    pub to: String,
    /// Beginnings of intervals (s) and requests per second in them.
    pub points: Vec<(f64, f64)>,
}

/// A metric over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetricOverTime {
    /// Its name: `attempts`, `goodput`, `failed` and more ([`sojourn_sim::OverTime::columns`]).
    pub metric: String,
    /// Its SI unit.
    pub unit: String,
    /// Beginnings of intervals (s), and what is known of it there.
    pub points: Vec<(f64, Estimate)>,
}

/// The event that says how a variant was simulated.
pub(crate) const SIMULATED: &str = "simulated";

/// Where the requests are that no server has answered well.
pub const FAILED: &str = "failed";

impl Answers {
    /// Every answer with numbers: variant by variant, engine by engine. Of an engine that could not answer, `variants` has
    /// the notes that say why.
    pub fn iter(&self) -> impl Iterator<Item = &Answer> {
        self.all().filter(|answer| !answer.measures.is_empty())
    }

    /// Every answer, those without numbers too.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Answer> {
        self.variants.iter().flat_map(|variant| &variant.answers)
    }

    /// Every number with its variant and answer: the rows of `outcomes.csv`, in their order.
    pub fn rows(&self) -> impl Iterator<Item = (&VariantAnswers, &Answer, &Measure)> {
        let answers =
            self.variants.iter().flat_map(|variant| variant.answers.iter().map(move |answer| (variant, answer)));
        answers.flat_map(|(variant, answer)| answer.measures.iter().map(move |measure| (variant, answer, measure)))
    }

    /// How the simulator has played each variant, a line each: without an event list, or why with one.
    pub fn how_simulated(&self) -> Vec<String> {
        let line = |event: &Value| {
            let variant = event["variant"].as_u64().and_then(|number| self.variants.get(number as usize))?;
            let how = match event["why"].as_str() {
                None => "simulated without an event list".to_string(),
                Some(why) => format!("simulated event by event: {why}"),
            };
            (event["event"] == SIMULATED).then(|| match variant.label.is_empty() {
                true => how,
                false => format!("{}: {how}", variant.label),
            })
        };
        self.events.iter().filter_map(line).collect()
    }

    /// Whether `engine` has a number of any variant.
    pub fn has(&self, engine: Engine) -> bool {
        self.iter().any(|answer| answer.engine == engine)
    }

    /// Whether not all variants that have the setting `key` have the same value of it.
    pub(crate) fn varies(&self, key: &str) -> bool {
        let mut values = self.variants.iter().filter_map(|variant| variant.setting(key));
        let first = values.next();
        values.any(|value| Some(value) != first)
    }

    /// Whether no engine has a number.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// Whether at least one variant was seen to meet every objective, by each engine that has a number and by one at least; true
    /// without objectives.
    pub fn objectives_met(&self) -> bool {
        let of = |variant: usize| self.objectives.iter().filter(move |objective| objective.variant == variant);
        let is_met = |variant: usize| {
            let seen = |text: &str| of(variant).any(|objective| objective.text == text && objective.met == Some(true));
            let holds = |of: &ObjectiveAnswer| of.met != Some(false) && !of.undecided && seen(&of.text);
            of(variant).next().is_some() && of(variant).all(holds)
        };
        self.objectives.is_empty() || (0..self.variants.len()).any(is_met)
    }

    /// What there is to tell of what goes wrong, each of [`FAILURES`] with what it is called: nothing where all went well,
    /// else also that of which none was seen, and which may come all the same.
    pub fn failures(&self) -> Vec<(&'static str, &'static str)> {
        if FAILURES.iter().all(|(metric, _)| self.worst(metric).is_none()) {
            return Vec::new();
        }
        let may_come = |(metric, _): &(&str, &str)| {
            let known = self.all().filter_map(|answer| answer.estimate(metric));
            known.map(Estimate::ends).any(|ends| ends.is_none_or(|(_, high)| high > usual(metric)))
        };
        FAILURES.into_iter().filter(may_come).collect()
    }

    /// Where `metric`, one of [`FAILURES`], is highest, if anywhere it is more than it is when all goes well.
    pub fn worst(&self, metric: &str) -> Option<(&VariantAnswers, &Answer, f64)> {
        let all = self.variants.iter().flat_map(|variant| variant.answers.iter().map(move |answer| (variant, answer)));
        let known = all.filter_map(|(variant, answer)| Some((variant, answer, answer.estimate(metric)?.value()?)));
        known.filter(|(.., value)| *value > usual(metric)).max_by(|one, other| one.2.total_cmp(&other.2))
    }

    /// Why the run as a whole is not VALID, beside what its live runs say of themselves: also where a model misses what happened.
    pub fn own_reasons(&self) -> Vec<&str> {
        let is_own = |reason: &&String| {
            !self.variants.iter().any(|variant| {
                let mut said = variant.trust().into_iter().flat_map(|trust| &trust.reasons);
                said.any(|own| **reason == format!("{}: {own}", variant.label))
            })
        };
        self.reasons.iter().filter(is_own).map(String::as_str).collect()
    }
}

impl<'a> IntoIterator for &'a Answers {
    type Item = &'a Answer;
    type IntoIter = Box<dyn Iterator<Item = &'a Answer> + 'a>;

    fn into_iter(self) -> Self::IntoIter {
        Box::new(self.iter())
    }
}

impl Answer {
    /// An answer of `engine` with nothing in it yet.
    pub fn new(engine: Engine) -> Answer {
        Answer {
            variant: String::new(),
            engine,
            measures: Vec::new(),
            curve: Vec::new(),
            replications: Vec::new(),
            connections: Vec::new(),
            seconds: Vec::new(),
            flows: Vec::new(),
            over_time: Vec::new(),
            recovery_untold: None,
            notes: Vec::new(),
            trust: None,
        }
    }

    /// Whether it has no number, no remark and no verdict.
    pub(crate) fn is_silent(&self) -> bool {
        self.measures.is_empty() && self.notes.is_empty() && self.trust.is_none()
    }

    /// How `metric` is known, where something is said of it.
    pub fn estimate(&self, metric: &str) -> Option<&Estimate> {
        self.measures.iter().find(|measure| measure.metric == metric).map(|measure| &measure.estimate)
    }

    /// The share (1) of the requests that failed or were given up, of which response times say nothing; none where nothing is
    /// said of either.
    pub fn failed(&self) -> Option<f64> {
        let known = [Metric::ERROR_RATIO.0, GIVEN_UP].into_iter().filter_map(|metric| self.estimate(metric)?.value());
        known.reduce(|sum, share| sum + share)
    }

    /// A number with its interval; `metric` is a [`Metric`] or the name of any other.
    ///
    /// # Errors
    /// When the engine has no such number, with what it says of that.
    pub fn metric(&self, metric: impl AsRef<str>) -> Result<Bounds, NoMetric> {
        let none = |why: String| NoMetric {
            engine: self.engine,
            variant: self.variant.clone(),
            metric: metric.as_ref().to_owned(),
            why,
        };
        let noted = || self.notes.first().map_or(String::new(), |note| format!(": {note}"));
        let estimate = self.estimate(metric.as_ref()).ok_or_else(|| none(noted()))?;
        let value = estimate.value().ok_or_else(|| none(": too few samples".into()))?;
        Ok(Bounds { value, ends: estimate.ends().unwrap_or((f64::NEG_INFINITY, f64::INFINITY)) })
    }

    /// `metric` in each replication, where there are any.
    pub fn replications(&self, metric: &str) -> Option<&[Option<f64>]> {
        self.replications.iter().find(|(of, _)| of == metric).map(|(_, values)| values.as_slice())
    }
}

/// What a run leaves beside its answer.
#[derive(Default)]
pub(crate) struct Traces {
    /// What happened meanwhile.
    pub(crate) events: Vec<Value>,
    /// What the way to the servers and back took by itself, where it is live.
    pub(crate) path: Option<PathDelay>,
    /// The faults as they really happened, where it is live and some were planned.
    pub(crate) faults: Option<Vec<Fault>>,
}

/// What the way to the servers and back takes when they have nothing to do: sockets, wake-ups and the gateway's work.
/// Measured live before each run, and given to the twin, whose servers would else be nearer than live's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PathDelay {
    /// From a client to the balancer and back; zero without a balancer.
    pub(crate) client: Span,
    /// From the balancer (or the client, without one) to a server and back.
    pub(crate) cluster: Span,
}
