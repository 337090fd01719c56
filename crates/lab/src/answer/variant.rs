//! What was found of one variant: how it is called, and what each engine says of it.

use serde::{Deserialize, Serialize};
use sojourn_stats::{Estimate, Measure};

use super::{Answer, FAILURES, Trust, Verdict, usual};
use crate::objective::FAILED_MOST;
use crate::spec::Engine;
use crate::variants::label;

/// The column of what the file calls variants, behind the settings.
pub(crate) const NAME: &str = "name";
/// The setting that tells several runs in one page apart.
pub(crate) const RUN: &str = "run";
/// What stands between the label of a variant and its run.
pub(crate) const BEFORE_RUN: &str = " \u{b7} ";

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
