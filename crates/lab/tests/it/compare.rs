//! Two run folders beside each other: which variants, which engines, and what each interval is made from.

use sojourn_lab::compare::{How, VariantComparison, hardest, notes, runs};
use sojourn_lab::{Answer, Answers, Engine, VariantAnswers};
use sojourn_stats::measure::NoInterval;
use sojourn_stats::{Estimate, Measure};

/// A run of these variants, of which each has a throughput of 10 times its number and more, by sim and by theory.
fn run(seed: u64, labels: &[&str]) -> Answers {
    let variant = |(number, label): (usize, &&str)| {
        let value = 10.0 * (number + 1) as f64;
        let sampled = Estimate::Sampled { value, ci_low: value - 1.0, ci_high: value + 1.0, samples: 9 };
        let by = |(engine, estimate)| {
            let measures = vec![Measure::new("throughput", "1/s", estimate)];
            Answer { measures, ..Answer::new(engine) }
        };
        let answers = [(Engine::Theory, Estimate::Exact { value }), (Engine::Sim, sampled)].map(by).to_vec();
        VariantAnswers { label: label.to_string(), settings: vec![("policy".into(), label.to_string())], answers }
    };
    Answers { seed, variants: labels.iter().enumerate().map(variant).collect(), ..Answers::default() }
}

/// The same with these values of the first variant in its replications.
fn replicated(seed: u64, values: &[Option<f64>]) -> Answers {
    let mut answers = run(seed, &["random"]);
    // Of another metric, which says nothing of it.
    let other = ("utilization".into(), vec![Some(1.0), Some(2.0)]);
    answers.variants[0].answers[1].replications = vec![other, ("throughput".into(), values.to_vec())];
    answers
}

fn compared(a: &Answers, b: &Answers) -> Vec<(String, String, f64, f64)> {
    let of = |one: VariantComparison| {
        assert_eq!(one.metrics.len(), 1);
        (one.label, one.engine.to_string(), one.metrics[0].a, one.metrics[0].b)
    };
    runs(a, b).unwrap().into_iter().map(of).collect()
}

#[test]
fn variants_are_matched_by_name_and_the_only_ones_in_any_case() {
    let of = |label: &str, engine: &str, a, b| (label.to_owned(), engine.to_owned(), a, b);
    let (a, b) = (run(1, &["random", "round-robin"]), run(1, &["round-robin", "least"]));
    let both = [of("round-robin", "theory", 20.0, 10.0), of("round-robin", "sim", 20.0, 10.0)];
    assert_eq!(compared(&a, &b), both);
    let alone = [of("random", "theory", 10.0, 10.0), of("random", "sim", 10.0, 10.0)];
    assert_eq!(compared(&run(1, &["random"]), &run(1, &["least"])), alone);
    for (one, other) in [(&["random"][..], &["least", "turns"][..]), (&["random", "turns"], &["least"])] {
        let error = runs(&run(1, one), &run(1, other)).unwrap_err().to_string();
        let named = format!("A has [{}], B has [{}]", one.join("; "), other.join("; "));
        assert!(error.contains("no variant in common") && error.contains(&named), "{error}");
    }
}

#[test]
fn replications_of_one_seed_are_pairs_and_others_samples() {
    let how = |a: &Answers, b: &Answers| {
        let all = runs(a, b).unwrap();
        all.iter().find(|one| one.engine == Engine::Sim).unwrap().metrics[0].how
    };
    let values = [Some(9.0), Some(10.0), Some(11.0)];
    let (a, b) = (replicated(1, &values), replicated(1, &[Some(9.0), None, Some(12.0)]));
    assert_eq!(how(&a, &b), How::Pairs(2), "what one of them lacks is no pair");
    assert_eq!(how(&a, &replicated(2, &values)), How::Samples(3, 3));
    assert_eq!(how(&a, &replicated(1, &values[..2])), How::Pairs(2), "as far as both have one");
    assert_eq!(how(&a, &replicated(1, &[Some(9.0), None, None])), How::Estimates, "one pair has no interval");
    assert_eq!(how(&a, &run(1, &["random"])), How::Estimates);
    // Without an interval of the whole its replications say nothing.
    let mut short = replicated(1, &values);
    short.variants[0].answers[1].measures[0].estimate =
        Estimate::WithoutInterval { value: 10.0, samples: 9, why: NoInterval::TooShort };
    for (one, other, who) in [(&a, &short, "B"), (&short, &a, "A")] {
        let all = runs(one, other).unwrap();
        let is_said = |of: &VariantComparison| of.metrics.is_empty() && of.left_out[0].metric == "throughput";
        assert!(all.iter().all(|of| of.engine == Engine::Theory || is_said(of)), "{all:?}");
        let said = format!(
            "Not compared: throughput (in 1 of 2): {who} is too short a run for an interval; how long is enough"
        );
        assert!(notes(&all).iter().any(|told| told.starts_with(&said)), "{:?}", notes(&all));
    }
}

/// Where one run has more replications than the other, it is said that the rest of them is in no pair.
#[test]
fn replications_without_a_pair_are_told() {
    let values: Vec<Option<f64>> = (0..10).map(|k| Some(9.0 + 0.1 * f64::from(k))).collect();
    let said = |a: &Answers, b: &Answers| {
        let all = runs(a, b).unwrap();
        all.iter().find(|one| one.engine == Engine::Sim).unwrap().unpaired()
    };
    let (many, few) = (replicated(1, &values), replicated(1, &values[..4]));
    // The first metric of an answer tells how many there are.
    let cut = |answers: &mut Answers, count: usize| {
        answers.variants[0].answers[1].replications.iter_mut().for_each(|(_, values)| values.resize(count, Some(1.0)));
    };
    let (mut many, mut few) = (many, few);
    cut(&mut many, 10);
    cut(&mut few, 4);
    let told = |name: &str| {
        format!(
            "The pairs are of the first 4 replications, which both have; {name} has 10. The columns A and B are of all."
        )
    };
    assert_eq!(said(&many, &few), Some(told("A")));
    assert_eq!(said(&few, &many), Some(told("B")));
    assert_eq!(said(&many, &many), None);
    few.seed = 2;
    assert_eq!(said(&many, &few), None, "of another seed all are used");
}

/// Of many variants each kind of note stands once, with how many of them it is about.
#[test]
fn notes_of_many_variants_stand_once() {
    let labels = ["random", "round-robin", "jsq"];
    let made = |replications: usize| {
        let mut answers = run(1, &labels);
        let bare = Estimate::WithoutInterval { value: 0.1, samples: 9, why: NoInterval::TooShort };
        for variant in &mut answers.variants[..2] {
            variant.answers[1].measures.push(Measure::new("waiting_time_mean", "s", bare.clone()));
        }
        let values = (0..replications).map(|k| Some(9.0 + 0.1 * k as f64)).collect();
        answers.variants[0].answers[1].replications = vec![("throughput".into(), values)];
        answers
    };
    let all = runs(&made(10), &made(4)).unwrap();
    assert_eq!(all.len(), 6);
    let told = [notes(&all), hardest(&all)].concat();
    let starts = [
        "In 1 of 6 comparisons one run has more replications than the other: the pairs are of the first ones",
        "Not compared: waiting_time_mean (in 2 of 6): A and B are too short runs for an interval; how long is enough",
        // 20 with an interval of 1 on either side; a tenth of 30 could have been seen, and replications are equal.
        "No difference of throughput was seen in 1 of 6 comparisons, of which round-robin by sim takes most: to see 10 % takes",
    ];
    assert_eq!(told.len(), starts.len(), "{told:#?}");
    for (told, start) in told.iter().zip(starts) {
        assert!(told.starts_with(start), "{told}");
    }
    let of_one: Vec<VariantComparison> = all.into_iter().filter(|of| of.engine == Engine::Sim).take(1).collect();
    let told = notes(&of_one);
    assert!(told[0].starts_with("The pairs are of the first 4 replications, which both have; A has 10."), "{told:#?}");
    assert!(told[1].starts_with("Not compared: waiting_time_mean: A and B are too short runs for an"), "{told:#?}");
    assert_eq!(told.len(), 2, "{told:#?}");
}
