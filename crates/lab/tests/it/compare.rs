//! Two run folders beside each other: which variants, which engines, and what each interval is made from.

use sojourn_lab::compare::{How, VariantComparison, folders};
use sojourn_lab::folder::{Folder, Replicated, RunFile, SCHEMA, VariantFile};
use sojourn_lab::outcome::Outcome;
use sojourn_lab::variants::Setting;
use sojourn_stats::measure::NoInterval;
use sojourn_stats::{Estimate, Measure};

/// A run of these variants, of which each has a throughput of 10 times its number and more, by sim and by theory.
fn run(seed: u64, labels: &[&str]) -> Folder {
    let mut folder = Folder { run: RunFile { schema: SCHEMA, seed, ..RunFile::default() }, ..Folder::default() };
    for (number, label) in labels.iter().enumerate() {
        let settings = vec![("policy".into(), label.to_string())];
        folder.run.variants.push(VariantFile { label: label.to_string(), settings, notes: Vec::new(), live: None });
        let value = 10.0 * (number + 1) as f64;
        let sampled = Estimate::Sampled { value, ci_low: value - 1.0, ci_high: value + 1.0, samples: 9 };
        for (engine, estimate) in [("sim", sampled), ("theory", Estimate::Exact { value })] {
            folder.outcomes.push(Outcome {
                settings: vec![Setting { key: "policy".into(), value: label.to_string() }],
                engine: engine.into(),
                measure: Measure::new("throughput", "1/s", estimate),
            });
        }
    }
    folder
}

/// The same with these values of the first variant in its replications.
fn replicated(seed: u64, values: &[Option<f64>]) -> Folder {
    let mut folder = run(seed, &["random"]);
    // Of other variants, engines and metrics, which say nothing of it.
    for (variant, engine, metric) in [(1, "sim", "throughput"), (0, "live", "throughput"), (0, "sim", "utilization")] {
        let values = vec![Some(1.0), Some(2.0)];
        folder.replications.push(Replicated { variant, engine: engine.into(), metric: metric.into(), values });
    }
    let values = values.to_vec();
    folder.replications.push(Replicated { variant: 0, engine: "sim".into(), metric: "throughput".into(), values });
    folder
}

fn compared(a: &Folder, b: &Folder) -> Vec<(String, String, f64, f64)> {
    let of = |one: VariantComparison| {
        assert_eq!(one.metrics.len(), 1);
        (one.label, one.engine, one.metrics[0].a, one.metrics[0].b)
    };
    folders(a, b).unwrap().into_iter().map(of).collect()
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
        let error = folders(&run(1, one), &run(1, other)).unwrap_err().to_string();
        let named = format!("A has [{}], B has [{}]", one.join("; "), other.join("; "));
        assert!(error.contains("no variant in common") && error.contains(&named), "{error}");
    }
}

#[test]
fn replications_of_one_seed_are_pairs_and_others_samples() {
    let how = |a: &Folder, b: &Folder| {
        let all = folders(a, b).unwrap();
        all.iter().find(|one| one.engine == "sim").unwrap().metrics[0].how
    };
    let values = [Some(9.0), Some(10.0), Some(11.0)];
    let (a, b) = (replicated(1, &values), replicated(1, &[Some(9.0), None, Some(12.0)]));
    assert_eq!(how(&a, &b), How::Pairs(2), "what one of them lacks is no pair");
    assert_eq!(how(&a, &replicated(2, &values)), How::Samples(3, 3));
    assert_eq!(how(&a, &replicated(1, &values[..2])), How::Samples(3, 2));
    assert_eq!(how(&a, &replicated(1, &[Some(9.0), None, None])), How::Estimates, "one pair has no interval");
    assert_eq!(how(&a, &run(1, &["random"])), How::Estimates);
    // Without an interval of the whole its replications say nothing.
    let mut short = replicated(1, &values);
    short.outcomes[0].measure.estimate =
        Estimate::WithoutInterval { value: 10.0, samples: 9, why: NoInterval::TooShort };
    for (one, other) in [(&a, &short), (&short, &a)] {
        assert!(folders(one, other).unwrap().iter().all(|compared| compared.engine == "theory"));
    }
}
