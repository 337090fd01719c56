//! Answers of a run folder: the value of a metric in the variant with given settings.

mod blocks;

use std::collections::HashMap;
use std::path::Path;

use sojourn_lab::{Answer, Engine, VariantAnswers, Verdict};
use sojourn_stats::{Estimate, Moments, measure};

use crate::ReproduceError;
use crate::number::Number;

/// One engine's answers of one run folder.
#[derive(Debug)]
pub(crate) struct Answers {
    variants: Vec<Variant>,
    /// Duration of the run (s).
    pub(crate) elapsed_s: f64,
    /// The machine.
    pub(crate) host: Vec<(String, String)>,
    /// VALID, SUSPECT or INCOMPLETE.
    pub(crate) verdict: String,
    /// Why not VALID.
    reasons: Vec<String>,
}

#[derive(Debug)]
struct Variant {
    settings: Vec<(String, String)>,
    estimates: HashMap<String, Estimate>,
    replications: HashMap<String, Vec<Option<f64>>>,
    /// Response times (s) and the share that took no longer; open connections and the share of the time with so many.
    curve: Vec<(f64, f64)>,
    connections: Vec<(u32, f64)>,
    is_suspect: bool,
}

/// A metric of a variant, replication by replication. Replication k of every variant has the same users, so that
/// differences and ratios are taken pair by pair.
#[derive(Clone, Copy)]
pub(crate) struct Replications<'a> {
    pub(crate) values: &'a [Option<f64>],
    pub(crate) is_suspect: bool,
}

impl Answers {
    /// Reads the answers of `engine` in the run folder at `path`.
    pub(crate) fn read(path: &Path, engine: &str) -> Result<Answers, ReproduceError> {
        let all = sojourn_lab::Answers::open(path).map_err(|e| ReproduceError(e.to_string()))?;
        Ok(Answers::by_engine(all, engine))
    }

    fn by_engine(all: sojourn_lab::Answers, engine: &str) -> Answers {
        let is_interrupted = all.verdict == Verdict::Incomplete;
        let of_variant = |of: VariantAnswers| {
            // The run is as good as its worst variant; the others are not doubted for it, unless it was interrupted.
            let is_suspect = is_interrupted || engine == "live" && of.is_suspect();
            let answer = of.answers.into_iter().find(|answer| answer.engine.name() == engine);
            let answer = answer.unwrap_or_else(|| Answer::new(Engine::Sim));
            let Answer { measures, replications, curve, connections, .. } = answer;
            Variant {
                curve,
                connections,
                settings: of.settings,
                estimates: measures.into_iter().map(|measure| (measure.metric, measure.estimate)).collect(),
                replications: replications.into_iter().collect(),
                is_suspect,
            }
        };
        Answers {
            variants: all.variants.into_iter().map(of_variant).collect(),
            elapsed_s: all.elapsed_s,
            host: all.host,
            verdict: all.verdict.word().to_owned(),
            reasons: all.reasons,
        }
    }

    /// Why it is not VALID, as the end of a sentence.
    pub(crate) fn reasons(&self) -> String {
        match self.reasons.as_slice() {
            [] => String::new(),
            [one] => format!(": {one}"),
            [first, rest @ ..] => format!(": {first} (and {} more reasons)", rest.len()),
        }
    }

    /// Number of variants.
    pub(crate) fn variants(&self) -> usize {
        self.variants.len()
    }

    /// Whether a variant sets this key.
    pub(crate) fn varies(&self, key: &str) -> bool {
        self.variants.iter().any(|of| of.settings.iter().any(|(known, _)| known == key))
    }

    /// The variant that has all of `wanted`; an empty value stands for a setting that the variant does not name.
    fn variant(&self, wanted: &[(&str, &str)]) -> Option<&Variant> {
        let has = |of: &Variant, (key, value): &(&str, &str)| of.settings.iter().any(|(k, v)| k == key && v == value);
        self.variants.iter().find(|of| wanted.iter().all(|setting| has(of, setting)))
    }

    /// `metric` in that variant with its interval; none if there is none.
    pub(crate) fn number(&self, wanted: &[(&str, &str)], metric: &str) -> Option<Number> {
        let variant = self.variant(wanted)?;
        Number::of(variant.estimates.get(metric)?, variant.is_suspect)
    }

    /// Its value alone, which formulas have too.
    pub(crate) fn value(&self, wanted: &[(&str, &str)], metric: &str) -> Option<f64> {
        self.variant(wanted)?.estimates.get(metric)?.value()
    }

    /// The share of the requests of that variant that took no longer than `time_s`; none if it has no distribution.
    pub(crate) fn share_within(&self, wanted: &[(&str, &str)], time_s: f64) -> Option<f64> {
        let curve = &self.variant(wanted)?.curve;
        let after = curve.partition_point(|(known, _)| *known <= time_s);
        let ((from_s, low), (to_s, high)) = match (after.checked_sub(1), curve.get(after)) {
            (None, first) => return first.map(|_| 0.0),
            (Some(last), None) => return Some(curve[last].1),
            (Some(before), Some(next)) => (curve[before], *next),
        };
        Some(low + (high - low) * (time_s - from_s) / (to_s - from_s))
    }

    /// Open connections at a server of that variant, and the share of the time that servers had so many.
    pub(crate) fn connections(&self, wanted: &[(&str, &str)]) -> Option<&[(u32, f64)]> {
        Some(&self.variant(wanted)?.connections)
    }

    /// The sum of `metric` over all variants that have it.
    pub(crate) fn sum(&self, metric: &str) -> f64 {
        self.variants.iter().filter_map(|of| of.estimates.get(metric)?.value()).sum()
    }

    /// `metric` in each replication of that variant.
    pub(crate) fn replications(&self, wanted: &[(&str, &str)], metric: &str) -> Option<Replications<'_>> {
        let variant = self.variant(wanted)?;
        Some(Replications { values: variant.replications.get(metric)?, is_suspect: variant.is_suspect })
    }

    /// `metric` of `a` minus that of `b`, replication by replication.
    pub(crate) fn paired(&self, metric: &str, a: &[(&str, &str)], b: &[(&str, &str)]) -> Option<Number> {
        less(self.replications(a, metric), self.replications(b, metric))
    }

    /// What `of` makes of some metrics of `a`, minus what it makes of those of `b`, replication by replication.
    pub(crate) fn paired_of<const N: usize>(
        &self,
        metrics: [&str; N],
        of: impl Fn([f64; N]) -> f64,
        a: &[(&str, &str)],
        b: &[(&str, &str)],
    ) -> Option<Number> {
        let [a, b] = [a, b].map(|wanted| metrics.map(|metric| self.replications(wanted, metric)));
        let all: Vec<Replications<'_>> = a.iter().chain(&b).copied().collect::<Option<_>>()?;
        let count = all.iter().map(|one| one.values.len()).min()?;
        let made = |from: &[Option<Replications<'_>>; N], replication: usize| {
            let values = from.map(|one| one.and_then(|one| one.values[replication]));
            values.iter().all(Option::is_some).then(|| of(values.map(Option::unwrap_or_default)))
        };
        let less = |replication| Some(made(&a, replication)? - made(&b, replication)?);
        mean((0..count).filter_map(less), all.iter().any(|one| one.is_suspect))
    }

    /// `metric` of `a` over that of `b`, replication by replication.
    pub(crate) fn ratio(&self, metric: &str, a: &[(&str, &str)], b: &[(&str, &str)]) -> Option<Number> {
        over(self.replications(a, metric), self.replications(b, metric))
    }
}

/// The spread of servers' shares, replication by replication.
pub(crate) fn spread(shares: &[Replications<'_>]) -> Option<Number> {
    let replications = shares.iter().map(|of| of.values.len()).min()?;
    let spread = |replication: usize| {
        let of: Vec<f64> = shares.iter().map(|share| share.values[replication]).collect::<Option<_>>()?;
        Some(relative_spread(&of))
    };
    mean((0..replications).filter_map(spread), shares.iter().any(|share| share.is_suspect))
}

/// The largest share less the smallest, relative to an equal share.
pub(crate) fn relative_spread(shares: &[f64]) -> f64 {
    let (low, high) = shares.iter().fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(*x), high.max(*x)));
    (high - low) * shares.len() as f64
}

/// `a` minus `b`, pair by pair.
pub(crate) fn less(a: Option<Replications<'_>>, b: Option<Replications<'_>>) -> Option<Number> {
    pairs(a?, b?, |a, b| a - b)
}

/// `a` over `b`, pair by pair.
pub(crate) fn over(a: Option<Replications<'_>>, b: Option<Replications<'_>>) -> Option<Number> {
    pairs(a?, b?, |a, b| a / b)
}

fn pairs(a: Replications<'_>, b: Replications<'_>, of: impl Fn(f64, f64) -> f64) -> Option<Number> {
    let values = a.values.iter().zip(b.values).filter_map(|(a, b)| Some(of((*a)?, (*b)?)));
    mean(values, a.is_suspect || b.is_suspect)
}

/// The mean of one value per replication, with Student's interval.
fn mean(values: impl Iterator<Item = f64>, is_suspect: bool) -> Option<Number> {
    Number::of(&measure::mean_of_samples(&values.collect::<Moments>()), is_suspect)
}

/// What a made-up world says of a variant, by its settings: metrics and values.
#[cfg(test)]
pub(crate) type World<'a> = &'a dyn Fn(&Settings<'_>) -> Vec<(String, f64)>;

/// What a variant of a made-up run sets, by key.
#[cfg(test)]
pub(crate) type Settings<'a> = dyn Fn(&str) -> String + 'a;

#[cfg(test)]
impl Answers {
    /// Answers to every variant of this file of `experiments` as `world` has them, each as `estimate` of its value and in
    /// three replications nearby.
    pub(crate) fn made_up(file: &str, world: World<'_>, estimate: fn(f64) -> Estimate) -> Answers {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../experiments").join(file);
        let variants = sojourn_lab::Experiment::read(&file).unwrap().variants().unwrap();
        let variants = variants.into_iter().map(|variant| {
            let settings: Vec<_> = variant.settings.into_iter().map(|of| (of.key, of.value)).collect();
            let of =
                |key: &str| settings.iter().find(|(known, _)| known == key).map_or(String::new(), |of| of.1.clone());
            let values = world(&of);
            let estimates = values.iter().map(|(metric, value)| (metric.clone(), estimate(*value))).collect();
            let near = |value: f64| [0.9999, 1.0, 1.0001].map(|factor| Some(factor * value)).to_vec();
            let replications = values.into_iter().map(|(metric, value)| (metric, near(value))).collect();
            Variant {
                settings,
                estimates,
                replications,
                curve: vec![(1.0, 0.0), (5.0, 1.0)],
                connections: vec![(100, 0.25), (150, 0.5), (200, 0.25)],
                is_suspect: false,
            }
        });
        let verdict = String::from("VALID");
        Answers { variants: variants.collect(), elapsed_s: 1.0, host: Vec::new(), verdict, reasons: Vec::new() }
    }

    /// The same with every variant of a SUSPECT run.
    pub(crate) fn doubted(mut self) -> Answers {
        self.variants.iter_mut().for_each(|variant| variant.is_suspect = true);
        self
    }
}

/// The folder of a study's published numbers.
#[cfg(test)]
pub(crate) fn published(study: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../experiments").join(study).join("published")
}

/// A sampled number with a narrow interval.
#[cfg(test)]
pub(crate) fn sampled(value: f64) -> Estimate {
    Estimate::Sampled { value, ci_low: 0.9999 * value, ci_high: 1.0001 * value, samples: 1000 }
}

#[cfg(test)]
mod tests {
    use sojourn_lab::Trust;
    use sojourn_stats::Measure;

    use super::*;
    use crate::verdict::positive;

    /// A run of two variants, the second as trusted as said.
    fn run_of(second: Verdict, run: Verdict) -> sojourn_lab::Answers {
        let variant = |value: &str, verdict, values: [f64; 3]| {
            let sim = Answer { measures: vec![Measure::new("x", "s", sampled(1.0))], ..Answer::new(Engine::Sim) };
            let live = Answer {
                engine: Engine::Live,
                replications: vec![("x".into(), values.map(Some).to_vec())],
                trust: Some(Trust { verdict, ..Trust::default() }),
                ..sim.clone()
            };
            let settings = vec![("users".to_owned(), value.to_owned())];
            VariantAnswers { label: value.into(), settings, answers: vec![sim, live] }
        };
        let variants = vec![variant("1", Verdict::Valid, [1.0, 2.0, 3.0]), variant("2", second, [0.9, 1.9, 2.88])];
        sojourn_lab::Answers { variants, verdict: run, ..Default::default() }
    }

    #[test]
    fn a_number_is_suspect_if_its_own_variant_was() {
        let doubts = |second, run, engine| {
            let answers = Answers::by_engine(run_of(second, run), engine);
            ["1", "2"].map(|users| answers.number(&[("users", users)], "x").unwrap().is_suspect)
        };
        assert_eq!(doubts(Verdict::Valid, Verdict::Valid, "live"), [false, false]);
        assert_eq!(doubts(Verdict::Suspect, Verdict::Suspect, "live"), [false, true]);
        assert_eq!(
            doubts(Verdict::Suspect, Verdict::Suspect, "sim"),
            [false, false],
            "the simulator was not disturbed"
        );
        assert_eq!(doubts(Verdict::Incomplete, Verdict::Incomplete, "live"), [true, true]);
        assert_eq!(doubts(Verdict::Valid, Verdict::Incomplete, "sim"), [true, true], "it was interrupted");
    }

    #[test]
    fn a_share_is_read_off_between_the_points_of_a_distribution() {
        let mut run = run_of(Verdict::Valid, Verdict::Valid);
        run.variants[0].answers[0].curve = vec![(1.0, 0.0), (2.0, 0.5), (4.0, 1.0)];
        let answers = Answers::by_engine(run, "sim");
        let share = |users, time_s| answers.share_within(&[("users", users)], time_s);
        assert_eq!([0.5, 1.5, 2.0, 3.0, 9.0].map(|time_s| share("1", time_s).unwrap()), [0.0, 0.25, 0.5, 0.75, 1.0]);
        assert_eq!(share("2", 1.0), None, "it has none");
    }

    #[test]
    fn differences_are_paired_and_suspect_if_one_side_is() {
        let (one, two) = ([("users", "1")], [("users", "2")]);
        let answers = Answers::by_engine(run_of(Verdict::Valid, Verdict::Valid), "live");
        // 0.1, 0.1 and 0.12: clear of zero although the two overlap by far.
        let difference = answers.paired("x", &one, &two);
        assert_eq!(positive(difference).holds, Some(true));
        assert_eq!(positive(answers.paired("x", &two, &one)).holds, Some(false));
        assert!((difference.unwrap().value - 0.32 / 3.0).abs() < 1e-12);
        let ratio = answers.ratio("x", &one, &two).unwrap();
        assert!(ratio.value > 1.0 && !ratio.is_suspect);
        let answers = Answers::by_engine(run_of(Verdict::Suspect, Verdict::Suspect), "live");
        assert!(
            answers.paired("x", &one, &two).unwrap().is_suspect && answers.ratio("x", &two, &one).unwrap().is_suspect
        );
        assert!(answers.paired("y", &one, &two).is_none());
    }
}
