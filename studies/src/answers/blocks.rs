//! What was measured live in blocks: in each block everything once, one block after the other, so that what is compared
//! alternates and a machine that changes meanwhile changes both sides.
//!
//! A figure is the mean of its blocks with Student's interval, and blocks are its replications: comparisons are made block by
//! block. Blocks in which the figure's own run was SUSPECT are left out where [`LEAST`] others are left; else all of them count,
//! and the figure is SUSPECT. Doubts are about the load generator and not about results, so that this chooses none.

use std::collections::{HashMap, HashSet};

use sojourn_stats::{Moments, measure};

use super::{Answers, Variant};

/// So many undisturbed blocks make a figure.
const LEAST: usize = 3;

impl Answers {
    /// The same experiment's answers of several blocks, as those of one.
    ///
    /// # Panics
    /// Without any block.
    pub(crate) fn of_blocks(blocks: Vec<Answers>) -> Answers {
        let first = blocks.first().expect("what was measured has a block");
        let settings: Vec<_> = first.variants.iter().map(|of| of.settings.clone()).collect();
        let variants: Vec<Variant> = settings
            .into_iter()
            .map(|settings| {
                let same = |of: &&Variant| of.settings == settings;
                let all: Vec<Option<&Variant>> = blocks.iter().map(|block| block.variants.iter().find(same)).collect();
                of_variant(&settings, &all)
            })
            .collect();
        let runs: Vec<&Variant> = blocks.iter().flat_map(|block| &block.variants).collect();
        let disturbed = runs.iter().filter(|run| run.is_suspect).count();
        let suspect = variants.iter().filter(|of| of.is_suspect).count();
        let left_out = match disturbed {
            0 => String::new(),
            some => format!("; {some} of {} runs were disturbed", runs.len()),
        };
        let verdict = match suspect {
            0 => format!("VALID{left_out}"),
            some => format!("SUSPECT: {some} of {} figures{left_out}", variants.len()),
        };
        Answers {
            verdict,
            elapsed_s: blocks.iter().map(|block| block.elapsed_s).sum(),
            host: blocks.first().map(|block| block.host.clone()).unwrap_or_default(),
            reasons: blocks.into_iter().flat_map(|block| block.reasons).collect(),
            variants,
        }
    }
}

impl Answers {
    /// Of each variant the metrics whose names begin with one of these: settings, metric, mean, the ends of its interval, the
    /// value in each block, and whether it is SUSPECT.
    pub(crate) fn figures(&self, metrics: &[&str]) -> Vec<[String; 7]> {
        let is_asked = |metric: &str| metrics.iter().any(|wanted| metric.starts_with(wanted));
        let of_variant = |of: &Variant| {
            let named = of.settings.iter().map(|(key, value)| format!("{key} = {value}"));
            let settings = named.collect::<Vec<_>>().join(", ");
            let mut names: Vec<&String> = of.estimates.keys().filter(|metric| is_asked(metric)).collect();
            names.sort();
            let row = |metric: &String| {
                let text = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.6e}"));
                let estimate = &of.estimates[metric];
                let (low, high) = estimate.interval().map_or((None, None), |(low, high)| (Some(low), Some(high)));
                let blocks = of.replications.get(metric).map_or(&[][..], Vec::as_slice);
                let blocks = blocks.iter().map(|value| text(*value)).collect::<Vec<_>>().join(" ");
                let is_suspect = of.is_suspect.to_string();
                [settings.clone(), metric.clone(), text(estimate.value()), text(low), text(high), blocks, is_suspect]
            };
            names.into_iter().map(row).collect::<Vec<_>>()
        };
        self.variants.iter().flat_map(of_variant).collect()
    }
}

/// One variant, as it was measured in each block that has it.
fn of_variant(settings: &[(String, String)], blocks: &[Option<&Variant>]) -> Variant {
    let sound = blocks.iter().flatten().filter(|of| !of.is_suspect).count();
    let is_suspect = sound < LEAST;
    let counts = |of: &&Variant| is_suspect || !of.is_suspect;
    let metrics: HashSet<&String> = blocks.iter().flatten().flat_map(|of| of.estimates.keys()).collect();
    let in_blocks = |metric: &String| -> Vec<Option<f64>> {
        blocks.iter().map(|of| of.filter(counts)?.estimates.get(metric)?.value()).collect()
    };
    let replications: HashMap<String, Vec<Option<f64>>> =
        metrics.into_iter().map(|metric| (metric.clone(), in_blocks(metric))).collect();
    let mean =
        |values: &[Option<f64>]| measure::mean_of_samples(&values.iter().flatten().copied().collect::<Moments>());
    Variant {
        settings: settings.to_vec(),
        estimates: replications.iter().map(|(metric, values)| (metric.clone(), mean(values))).collect(),
        replications,
        curve: Vec::new(),
        connections: Vec::new(),
        is_suspect,
    }
}

#[cfg(test)]
mod tests {
    use sojourn_lab::{Answer, Engine, Trust, VariantAnswers, Verdict};
    use sojourn_stats::{Estimate, Measure};

    use super::*;
    use crate::verdict::positive;

    /// A block with two variants of these values; the second as trusted as said.
    fn block(values: [f64; 2], second: Verdict) -> Answers {
        let variant = |place: usize, verdict| {
            let value = values[place];
            let estimate = Estimate::Sampled { value, ci_low: value, ci_high: value, samples: 9 };
            let measures = vec![Measure::new("x", "s", estimate)];
            let trust = Some(Trust { verdict, ..Trust::default() });
            let live = Answer { engine: Engine::Live, measures, trust, ..Answer::new(Engine::Sim) };
            let settings = vec![("way".to_owned(), place.to_string())];
            VariantAnswers { label: place.to_string(), settings, answers: vec![live] }
        };
        let variants = vec![variant(0, Verdict::Valid), variant(1, second)];
        let all = sojourn_lab::Answers { variants, verdict: second, elapsed_s: 2.0, ..Default::default() };
        Answers::by_engine(all, "live")
    }

    /// The second value is 1 more than the first in each block, while both drift by far more.
    fn drifting(disturbed: usize) -> Answers {
        let of = |place: usize| if place < disturbed { Verdict::Suspect } else { Verdict::Valid };
        let values = [[1.0, 2.01], [11.0, 12.0], [21.0, 21.99], [31.0, 32.0]];
        Answers::of_blocks(values.into_iter().enumerate().map(|(place, values)| block(values, of(place))).collect())
    }

    #[test]
    fn a_drift_is_in_both_sides_of_a_comparison() {
        let answers = drifting(0);
        let (a, b) = ([("way", "0")], [("way", "1")]);
        let [first, second] = [a, b].map(|of| answers.number(&of, "x").unwrap());
        assert!((first.value - 16.0).abs() < 1e-12 && first.high > second.low, "apart they overlap: {first:?}");
        assert_eq!(positive(answers.paired("x", &b, &a)).holds, Some(true));
        assert_eq!((answers.verdict.as_str(), answers.elapsed_s), ("VALID", 8.0));
    }

    #[test]
    fn a_disturbed_block_is_left_out_where_three_are_left() {
        let second = [("way", "1")];
        let answers = drifting(1);
        let number = answers.number(&second, "x").unwrap();
        assert!(!number.is_suspect && (number.value - (12.0 + 21.99 + 32.0) / 3.0).abs() < 1e-12);
        assert_eq!(answers.replications(&second, "x").unwrap().values[0], None);
        assert_eq!(answers.verdict, "VALID; 1 of 8 runs were disturbed");
        // The other variant had no doubt in that block.
        assert_eq!(answers.replications(&[("way", "0")], "x").unwrap().values.iter().flatten().count(), 4);
        let answers = drifting(2);
        let number = answers.number(&second, "x").unwrap();
        assert!(number.is_suspect && (number.value - 17.0).abs() < 1e-12, "all blocks, and SUSPECT: {number:?}");
        assert_eq!(answers.verdict, "SUSPECT: 1 of 2 figures; 2 of 8 runs were disturbed");
        assert!(answers.paired("x", &second, &[("way", "0")]).unwrap().is_suspect);
    }
}
