//! What a run answers: one shape from the engine over memory and the run folder to the report.
//!
//! [`Answers`] has a [`VariantAnswers`] for each variant, and that an [`Answer`] for each engine that said something. A
//! run folder is written from it and opens into it again ([`Answers::write`], [`Answers::open`]); tables, reports and
//! comparisons read nothing else. The price: an opened folder is in memory as a whole.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sojourn_load::{Limits, Second};
use sojourn_model::system::Fault;
use sojourn_stats::{Estimate, Measure, Span};
use thiserror::Error;

use crate::objective::{FAILED_MOST, GIVEN_UP};
use crate::spec::Engine;
use crate::variants::label;

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

/// What was found of one combination of the varied settings.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(from = "VariantFile")]
pub struct VariantAnswers {
    /// What tells it from the others in a few words.
    pub label: String,
    /// The varied settings and their values.
    pub settings: Vec<(String, String)>,
    /// What each engine said that has something to say, in the order of [`Engine::ALL`].
    pub answers: Vec<Answer>,
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

/// How far a live run can be trusted, and on what that rests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trust {
    /// Whether it can be trusted.
    pub verdict: Verdict,
    /// Why not.
    pub reasons: Vec<String>,
    /// Whether all that speaks against it is that requests failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_of_failures: bool,
    /// Facts as names and texts: lateness of the generator, busy share of each core, retries, causes of failures.
    pub facts: Vec<(String, String)>,
    /// What its verdict was judged by.
    #[serde(default)]
    pub limits: Limits,
    /// What its parts did although nothing asked for it: seconds after the start, and what.
    #[serde(default)]
    pub incidents: Vec<(f64, String)>,
}

impl Trust {
    /// Adds a doubt, if there is one, and whether it is that requests failed.
    pub(crate) fn doubt(&mut self, doubt: Option<String>, is_of_failures: bool) {
        let Some(doubt) = doubt else { return };
        self.is_of_failures = is_of_failures && (self.is_of_failures || self.verdict == Verdict::Valid);
        self.verdict = self.verdict.max(Verdict::Suspect);
        self.reasons.push(doubt);
    }
}

/// Whether a run can be trusted, from best to worst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// Yes.
    #[default]
    Valid,
    /// The measurement may have measured something else.
    Suspect,
    /// It was interrupted; what was measured is kept.
    Incomplete,
}

impl Verdict {
    /// As tables and pages have it: `VALID`, `SUSPECT` or `INCOMPLETE`.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Valid => "VALID",
            Verdict::Suspect => "SUSPECT",
            Verdict::Incomplete => "INCOMPLETE",
        }
    }
}

/// Whether a variant meets an objective, by one engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObjectiveAnswer {
    /// The objective as written, with its metric: `response_time_p90 < 500 ms`.
    pub text: String,
    /// Number of the variant.
    pub variant: usize,
    /// The engine that answers.
    pub engine: Engine,
    /// Whether it holds; none where that engine has no number, or one that does not decide.
    pub met: Option<bool>,
    /// There is a number, and its interval does not decide, or it has none.
    #[serde(default)]
    pub undecided: bool,
    /// The number that decides it with its interval, in the unit of the limit; empty where there is none.
    #[serde(default)]
    pub measured: String,
    /// Why it is undecided where there is more to say than that the interval does not tell, such as how many requests would
    /// decide it; or why it is missed by whatever system, or what it leaves out though it is met. Empty where the number says
    /// all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl ObjectiveAnswer {
    /// What came of it: a word for a style (`good`, `bad`, `warn`, `muted`), and the words.
    pub fn words(&self) -> (&'static str, String) {
        let (style, word) = self.outcome();
        let words = match (self.why(), style) {
            ("", _) => word.to_owned(),
            (why, "good") => format!("{word}; {why}"),
            (why, _) => format!("{word}: {why}"),
        };
        (style, words)
    }

    /// The same without the reason: a word for a style, and one of `met`, `MISSED`, `UNDECIDED` and `no number`.
    pub fn outcome(&self) -> (&'static str, &'static str) {
        match (self.met, self.undecided) {
            (Some(true), _) => ("good", "met"),
            (Some(false), _) => ("bad", "MISSED"),
            (None, true) => ("warn", "UNDECIDED"),
            (None, false) => ("muted", "no number"),
        }
    }

    /// Why it is undecided, or what else is to be said of what came of it; empty where the number says all.
    pub fn why(&self) -> &str {
        match (self.met, self.undecided) {
            (None, false) => "",
            _ if !self.reason.is_empty() => &self.reason,
            (None, true) if self.engine == Engine::Sim => {
                "the interval does not tell; more replications, or longer ones"
            }
            (None, true) => "the interval does not tell; measure longer",
            (Some(_), _) => "",
        }
    }
}

/// How often clients asked for each request.
const ATTEMPTS: &str = "attempts_ratio";

/// Metrics of what goes wrong with requests, and what it is called: each is said wherever it is not 0.
pub const FAILURES: [(&str, &str); 6] = [
    ("error_ratio", "failed"),
    ("worst_second_error_ratio", "failed or given up in the worst second"),
    ("denied_ratio", "denied"),
    ("abandoned_ratio", "given up"),
    ("connection_error_ratio", "without a connection"),
    (ATTEMPTS, "attempts"),
];

/// The column of what the file calls variants, behind the settings.
pub(crate) const NAME: &str = "name";
/// The setting that tells several runs in one page apart.
pub(crate) const RUN: &str = "run";
/// What stands between the label of a variant and its run.
pub(crate) const BEFORE_RUN: &str = " \u{b7} ";

/// What one of [`FAILURES`] is where all goes well: a request is asked for once.
pub(crate) fn usual(metric: &str) -> f64 {
    if metric == ATTEMPTS { 1.0 } else { 0.0 }
}

/// Metrics of what a fault does, and what each is called: they are said wherever a fault is planned.
pub const OF_FAULTS: [(&str, &str); 5] = [
    // First, since it is what most ask of a fault.
    ("recovery_time", "recovery"),
    ("during(fault).error_ratio", "failed or given up"),
    ("during(fault).attempts_ratio", "attempts"),
    ("during(fault).throughput", "good replies"),
    ("during(fault).response_time_p99", "p99"),
];

/// The name of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric(pub &'static str);

impl Metric {
    /// Mean time from the planned instant of a request to its last byte (s).
    pub const RESPONSE_TIME_MEAN: Metric = Metric("response_time_mean");
    /// The time within which half of the requests were answered (s).
    pub const RESPONSE_TIME_P50: Metric = Metric("response_time_p50");
    /// The time within which nine in ten requests were answered (s).
    pub const RESPONSE_TIME_P90: Metric = Metric("response_time_p90");
    /// The time within which all but one in a hundred requests were answered (s).
    pub const RESPONSE_TIME_P99: Metric = Metric("response_time_p99");
    /// Good replies per second (1/s).
    pub const THROUGHPUT: Metric = Metric("throughput");
    /// Busy share of the servers (1).
    pub const UTILIZATION: Metric = Metric("utilization");
    /// Share of the requests that failed (1).
    pub const ERROR_RATIO: Metric = Metric("error_ratio");
}

impl AsRef<str> for Metric {
    fn as_ref(&self) -> &str {
        self.0
    }
}

/// A number of an answer with the ends of its interval, all in its SI unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    value: f64,
    ends: (f64, f64),
}

impl Bounds {
    /// The best single number.
    pub fn value(self) -> f64 {
        self.value
    }

    /// Lower end of its interval: of a formula the number itself, and without an interval minus infinity.
    pub fn low(self) -> f64 {
        self.ends.0
    }

    /// Upper end of its interval: of a formula the number itself, and without an interval infinity.
    pub fn high(self) -> f64 {
        self.ends.1
    }
}

/// Why an answer has no such number.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{engine}, {variant}: no `{metric}`{why}")]
pub struct NoMetric {
    engine: Engine,
    variant: String,
    metric: String,
    why: String,
}

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

impl VariantAnswers {
    /// What the file calls it, with the values of what varies besides; none where it is called by its settings.
    pub fn name(&self) -> Option<&str> {
        let own = self.own_label();
        // What was set by hand stands before the settings.
        let is_name = !own.ends_with(&self.by_values(&[])) && !self.told().0.is_empty();
        is_name.then_some(own)
    }

    /// What the file calls it alone, which all variants have that a range makes of one; none where it has no name.
    pub fn name_alone(&self) -> Option<String> {
        self.name()?;
        let keys: Vec<&str> = self.settings.iter().map(|(key, _)| key.as_str()).filter(|key| *key != RUN).collect();
        Some(self.label_without(&keys)).filter(|name| !name.is_empty())
    }

    /// Its label, or what stands for it, without the values of these settings and without its run; empty where nothing is left.
    pub(crate) fn label_without(&self, keys: &[&str]) -> String {
        if self.own_label().ends_with(&self.by_values(&[])) {
            return self.by_values(keys);
        }
        let (own, told) = self.told();
        let is_left_out = |part: &str| {
            let of_key = |(key, value): &(String, String)| {
                keys.contains(&key.as_str()) && label(std::iter::once((key.as_str(), value.as_str()))) == part
            };
            self.settings.iter().any(of_key)
        };
        let own = own.split(", ").filter(|part| !part.is_empty() && !is_left_out(part)).map(str::to_owned);
        let told = told.into_iter().rev().filter(|(key, _)| !keys.contains(key)).map(|(_, words)| words);
        own.chain(told).collect::<Vec<String>>().join(", ")
    }

    /// Whether its label is of values of settings, and that of `key` is one of them.
    pub(crate) fn tells(&self, key: &str) -> bool {
        self.name().is_none() && self.told().1.iter().any(|(of, _)| *of == key)
    }

    /// Whether what the file calls it stands for its value of `key`: it has a name, beside which that value is not told.
    pub(crate) fn is_by_name(&self, key: &str) -> bool {
        key != RUN && self.name().is_some() && !self.has_beside_name(key)
    }

    /// Whether its label has the value of `key` before what the file calls it, or behind that.
    pub(crate) fn has_beside_name(&self, key: &str) -> bool {
        let (own, behind) = self.told();
        let words = self.setting(key).map_or(String::new(), |value| label(std::iter::once((key, value))));
        // A value may have commas of its own.
        let is_before = !words.is_empty() && format!(", {own}, ").contains(&format!(", {words}, "));
        is_before || behind.iter().any(|(of, _)| *of == key)
    }

    /// The values of its settings without those of these keys and without its run, as a label has them.
    fn by_values(&self, without: &[&str]) -> String {
        let told = self.settings.iter().filter(|(key, _)| key != RUN && !without.contains(&key.as_str()));
        label(told.map(|(key, value)| (key.as_str(), value.as_str())))
    }

    /// Its label without its run, which stands behind it in a page of several.
    pub(crate) fn own_label(&self) -> &str {
        let of_run = self.setting(RUN).and_then(|run| self.label.strip_suffix(run)?.strip_suffix(BEFORE_RUN));
        of_run.unwrap_or(&self.label)
    }

    /// What of its label is no value of a setting, and the settings whose values stand behind that, from the last, with the
    /// words for each. A label may leave out settings.
    fn told(&self) -> (&str, Vec<(&str, String)>) {
        let valued = self.settings.iter().filter(|(key, value)| key != RUN && !value.is_empty());
        let words = |(key, value): &(String, String)| label(std::iter::once((key.as_str(), value.as_str())));
        let mut left: Vec<(&str, String)> = valued.map(|setting| (setting.0.as_str(), words(setting))).collect();
        let (mut rest, mut told) = (self.own_label(), Vec::new());
        loop {
            let is_last = |place: &usize| {
                let before = rest.strip_suffix(left[*place].1.as_str());
                before.is_some_and(|before| before.is_empty() || before.ends_with(", "))
            };
            let Some(place) = (0..left.len()).filter(is_last).max_by_key(|place| left[*place].1.len()) else {
                return (rest, told);
            };
            let (key, words) = left.swap_remove(place);
            rest = &rest[..rest.len() - words.len()];
            rest = rest.strip_suffix(", ").unwrap_or(rest);
            told.push((key, words));
        }
    }

    /// What `engine` said, if it said anything.
    pub fn answer(&self, engine: Engine) -> Option<&Answer> {
        self.answers.iter().find(|answer| answer.engine == engine)
    }

    /// The answer of `engine`, which is made where there is none yet.
    pub(crate) fn answer_mut(&mut self, engine: Engine) -> &mut Answer {
        let at = self.answers.partition_point(|answer| answer.engine < engine);
        if self.answers.get(at).is_none_or(|answer| answer.engine != engine) {
            self.answers.insert(at, Answer { variant: self.label.clone(), ..Answer::new(engine) });
        }
        &mut self.answers[at]
    }

    /// How `engine` knows `metric`, where it says something of it.
    pub fn estimate(&self, engine: Engine, metric: &str) -> Option<&Estimate> {
        self.answer(engine)?.estimate(metric)
    }

    /// What `engine` says of `metric`, with its unit.
    pub fn measure(&self, engine: Engine, metric: &str) -> Option<&Measure> {
        self.answer(engine)?.measures.iter().find(|measure| measure.metric == metric)
    }

    /// How far its live run can be trusted, where there is one.
    pub fn trust(&self) -> Option<&Trust> {
        self.answer(Engine::Live)?.trust.as_ref()
    }

    /// How far its model gives what happened, where that is known from a log.
    pub fn model_trust(&self) -> Option<&Trust> {
        self.answer(Engine::Log)?.trust.as_ref()
    }

    /// Whether any engine saw one of [`FAILURES`].
    pub fn has_failures(&self) -> bool {
        let is_seen = |answer: &Answer, metric: &str| {
            answer.estimate(metric).and_then(Estimate::value).is_some_and(|value| value > usual(metric))
        };
        self.answers.iter().any(|answer| FAILURES.iter().any(|(metric, _)| is_seen(answer, metric)))
    }

    /// The share (1) of the requests that failed or were given up by `engine`; none where it says nothing of either.
    pub fn failed(&self, engine: Engine) -> Option<f64> {
        self.answer(engine)?.failed()
    }

    /// Whether so many requests failed or were given up by `engine`, more than 1 %, that its response times are of some of them
    /// only.
    pub fn is_of_few(&self, engine: Engine) -> bool {
        self.failed(engine).is_some_and(|failed| failed > FAILED_MOST)
    }

    /// Whether its live run is not VALID.
    pub fn is_suspect(&self) -> bool {
        self.trust().is_some_and(|trust| trust.verdict != Verdict::Valid)
    }

    /// The value of the varied setting `key`.
    pub fn setting(&self, key: &str) -> Option<&str> {
        self.settings.iter().find(|(of, _)| of == key).map(|(_, value)| value.as_str())
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

/// A variant in `run.json`.
#[derive(Serialize, Deserialize)]
struct VariantFile {
    label: String,
    settings: Vec<(String, String)>,
    /// Remarks by engine: why there is no answer, what to beware of.
    notes: Vec<(Engine, String)>,
    /// How far its live run can be trusted; none where live was not asked.
    live: Option<Trust>,
    /// How far its model gives what a log says happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    log: Option<Trust>,
    /// Why it cannot be said how long a recovery took, by engine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    recovery_untold: Vec<(Engine, String)>,
}

impl From<VariantFile> for VariantAnswers {
    fn from(file: VariantFile) -> VariantAnswers {
        let VariantFile { label, settings, notes, live, log, recovery_untold } = file;
        let mut variant = VariantAnswers { label, settings, answers: Vec::new() };
        notes.into_iter().for_each(|(engine, note)| variant.answer_mut(engine).notes.push(note));
        if live.is_some() {
            variant.answer_mut(Engine::Live).trust = live;
        }
        if log.is_some() {
            variant.answer_mut(Engine::Log).trust = log;
        }
        for (engine, why) in recovery_untold {
            variant.answer_mut(engine).recovery_untold = Some(why);
        }
        variant
    }
}

impl Serialize for VariantAnswers {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let notes = self.answers.iter().flat_map(|of| of.notes.iter().map(|note| (of.engine, note.clone())));
        let (label, settings) = (self.label.clone(), self.settings.clone());
        let (live, log) = (self.trust().cloned(), self.model_trust().cloned());
        let untold = self.answers.iter().filter_map(|of| Some((of.engine, of.recovery_untold.clone()?)));
        let recovery_untold = untold.collect();
        VariantFile { label, settings, notes: notes.collect(), live, log, recovery_untold }.serialize(serializer)
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}
