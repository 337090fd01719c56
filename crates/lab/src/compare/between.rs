//! Two runs beside each other, variant by variant.

use super::advice::ADVISED;
use super::{Comparison, How, LeftOut, Stated, Within, briefest, in_common, left_out, metric};
use crate::answer::{Answer, Answers};
use crate::spec::{Engine, SpecError};

/// What two runs say about one variant, by one engine.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantComparison {
    /// The variant's name.
    pub label: String,
    /// The engine that answers in both.
    pub engine: Engine,
    /// Metric by metric, in A's order.
    pub metrics: Vec<Comparison>,
    /// What both have and is not compared, since one of them has no interval of it, or no number.
    pub left_out: Vec<LeftOut>,
    /// How many replications A and B have; none but of the simulator.
    pub replications: (usize, usize),
}

impl VariantComparison {
    /// That not all of its replications are in pairs, in a sentence; none where all are, or none is.
    pub fn unpaired(&self) -> Option<String> {
        let (a, b) = self.replications;
        let is_paired = self.metrics.iter().any(|of| matches!(of.how, How::Pairs(_)));
        let (less, more, name) = if a < b { (a, b, "B") } else { (b, a, "A") };
        (is_paired && less < more).then(|| {
            format!(
                "The pairs are of the first {less} replications, which both have; {name} has {more}. The columns A and B are \
                 of all."
            )
        })
    }
}

/// How many of these comparisons are judged together: formulas have no intervals to be judged by.
pub fn judged_together(all: &[VariantComparison]) -> usize {
    all.iter().filter(|of| of.engine != Engine::Theory).map(|of| of.metrics.len()).sum()
}

/// What a reader must know of all of these comparisons, in a sentence for each kind: which replications are in no pair, what is
/// compared without them, and what is not compared.
pub fn notes(all: &[VariantComparison]) -> Vec<String> {
    let left_out = left_out::sentences(all.iter().flat_map(|of| &of.left_out), all.len());
    unpaired(all).into_iter().chain(of_whole_runs(all)).chain(left_out).collect()
}

/// Which metrics are not compared replication by replication although there are some.
fn of_whole_runs(all: &[VariantComparison]) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    let has_replications = |of: &&VariantComparison| of.replications.0 > 0 && of.replications.1 > 0;
    for of in all.iter().filter(has_replications).flat_map(|of| &of.metrics).filter(|of| of.is_of_whole_runs()) {
        if !names.contains(&of.metric.as_str()) {
            names.push(&of.metric);
        }
    }
    (!names.is_empty()).then(|| {
        format!(
            "B / A of {} is that of A and of B together, by their two intervals: in a short replication the index is larger.",
            names.join(", ")
        )
    })
}

/// What it takes to see a difference of the mean response time and of the throughput, of those comparisons in which none was seen
/// where it takes most: a sentence each.
pub fn hardest(all: &[VariantComparison]) -> Vec<String> {
    ADVISED.into_iter().filter_map(|metric| hardest_of(all, metric)).collect()
}

/// That not all replications are in pairs.
fn unpaired(all: &[VariantComparison]) -> Option<String> {
    let told: Vec<String> = all.iter().filter_map(VariantComparison::unpaired).collect();
    match (told.len(), all.len()) {
        (0, _) => None,
        (1, 1) => told.into_iter().next(),
        (some, all) => Some(format!(
            "In {some} of {all} comparisons one run has more replications than the other: the pairs are of the first ones, which \
             both have; the columns A and B are of all."
        )),
    }
}

/// What it takes to see a difference of `metric`, of those in which none was seen where it takes most.
fn hardest_of(all: &[VariantComparison], metric: &str) -> Option<String> {
    let of_metric: Vec<(&VariantComparison, &Comparison)> =
        all.iter().filter_map(|of| Some((of, of.metrics.iter().find(|of| of.metric == metric)?))).collect();
    let unseen: Vec<_> = of_metric.iter().filter(|(_, of)| of.advised("").is_some()).collect();
    let could_see = |of: &Comparison| of.could_have_seen.unwrap_or(0.0);
    let (of, comparison) = unseen.iter().max_by(|one, other| could_see(one.1).total_cmp(&could_see(other.1)))?;
    let among = match of_metric.len() {
        1 => String::new(),
        count => {
            let (some, by) = (unseen.len(), of.engine);
            format!(" in {some} of {count} comparisons, of which {} by {by} takes most", of.label)
        }
    };
    comparison.advised(&among)
}

/// What a reader must know of the pairs of replications in `all`, which are of these runs, in sentences: how alike the two of a
/// pair are.
pub fn about_pairs(runs: &[&Answers], all: &[Within]) -> String {
    let lengths: Vec<Option<String>> = runs.iter().map(|run| length(run)).collect();
    let are_as_long = lengths[0].is_some() && lengths.iter().all(|length| *length == lengths[0]);
    let mut text = match are_as_long {
        true => "Replications of the same number have the same seed, and so the same requests.".to_owned(),
        false => "Replications of the same number have the same seed, and so begin with the same requests; how long each is, \
                  its precision says. With a `duration` and a `warm_up` under [run] all are as long, and these intervals mostly \
                  narrower."
            .to_owned(),
    };
    if all.iter().any(|of| of.replications.0 != of.replications.1) {
        text += " Where one variant has more of them than the other, the rest are left out here.";
    }
    if all.len() >= MANY {
        text += &format!(
            " Of {} intervals at 95 % one in twenty misses the truth by chance, and those of one seed go wrong together: another \
             --seed draws other requests.",
            all.len()
        );
    }
    text
}

/// So many intervals that one of them is likely to miss.
const MANY: usize = 10;

/// How long the replications of a run are, where its file says so; the words tell two lengths apart.
fn length(run: &Answers) -> Option<String> {
    let spec: toml::Table = toml::from_str(&run.spec).unwrap_or_default();
    let says = |table: &str, key: &str| spec.get(table).and_then(|table| table.get(key));
    let kind = says("workload", "kind").and_then(toml::Value::as_str).unwrap_or_default();
    let played = says("workload", kind).filter(|_| ["log", "trace"].contains(&kind));
    says("run", "duration").or(played).map(ToString::to_string)
}

/// Sets two runs beside each other: variants of the same name or settings (or the only ones), engine by engine. Replications are
/// paired where both runs have the same seed, as far as both have one. A metric that has no interval in one of them is left out.
///
/// # Errors
/// When they have no variant in common.
pub fn runs(a: &Answers, b: &Answers) -> Result<Vec<VariantComparison>, SpecError> {
    let stated = (Stated::by(a), Stated::by(b));
    let mut all = Vec::new();
    let matched = in_common(a, b);
    for (of_a, of_b) in &matched {
        let (variant, other) = (&a.variants[*of_a], &b.variants[*of_b]);
        for of_a in &variant.answers {
            let Some(of_b) = other.answer(of_a.engine) else { continue };
            let engine = of_a.engine;
            let spent = stated.0.spent(variant, engine).and(stated.1.spent(other, engine));
            let compared = of_a.measures.iter().filter_map(|measure| metric(measure, of_a, of_b, a.seed == b.seed));
            let metrics: Vec<Comparison> = compared.map(|of| Comparison { spent, ..of }).collect();
            let is_compared = |name: &str| metrics.iter().any(|of| of.metric == name);
            let of_both = of_a
                .measures
                .iter()
                .filter(|of| !is_compared(&of.metric))
                .filter_map(|of| Some(LeftOut::of(&of.metric, &of.estimate, of_b.estimate(&of.metric)?, spent)));
            let left_out: Vec<LeftOut> = of_both.collect();
            if !(metrics.is_empty() && left_out.is_empty()) {
                // The only ones may be of other settings, of which the head of a comparison speaks.
                let label = if a.variants.len() == 1 { &variant.label } else { briefest(&[variant, other]) };
                let label = label.to_owned();
                let count = |of: &Answer| of.replications.first().map_or(0, |(_, values)| values.len());
                let replications = (count(of_a), count(of_b));
                all.push(VariantComparison { label, engine, metrics, left_out, replications });
            }
        }
    }
    if !matched.is_empty() {
        return Ok(all);
    }
    let names = |answers: &Answers| {
        let names: Vec<&str> = answers.variants.iter().map(|variant| variant.label.as_str()).collect();
        names.join("; ")
    };
    Err(SpecError(format!("the two runs have no variant in common: A has [{}], B has [{}]", names(a), names(b))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ratios of one seed share its draw: where one misses the truth, most may.
    #[test]
    fn many_intervals_of_one_seed_are_said_to_go_wrong_together() {
        let pairs = [(1.0, 1.5), (2.0, 2.6), (3.0, 3.4)];
        let comparison = Comparison::of_pairs("response_time_mean", "s", &pairs).unwrap();
        let one = Within {
            engine: Engine::Sim,
            others: String::new(),
            values: ("random".into(), "jsq".into()),
            places: (0, 1),
            comparison,
            is_of_few: false,
            replications: (3, 3),
        };
        let run = Answers::default();
        let told = |count: usize| about_pairs(&[&run], &vec![one.clone(); count]);
        let words =
            "one in twenty misses the truth by chance, and those of one seed go wrong together: another --seed ";
        assert!(told(MANY).contains(words) && told(MANY).contains("Of 10 intervals"), "{}", told(MANY));
        assert!(!told(MANY - 1).contains("one in twenty"), "{}", told(MANY - 1));
    }
}
