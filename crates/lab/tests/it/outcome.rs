//! Outcomes: the columns are a contract, and rows read back as they were written.

use std::path::Path;

use sojourn_lab::folder::SCHEMA;
use sojourn_lab::outcome::{COLUMNS, measure_to_json};
use sojourn_lab::{Answer, Answers, Engine, Flow, ObjectiveAnswer, Trust, VariantAnswers, Verdict};
use sojourn_stats::measure::NoInterval;
use sojourn_stats::{Estimate, Measure};

/// Answers with something in each file of a folder, of two variants whose settings are the same.
fn sample() -> Answers {
    let estimates = [
        Estimate::Sampled { value: 0.1 + 0.2, ci_low: 1e-300, ci_high: 5.0, samples: 7 },
        Estimate::WithoutInterval { value: 0.1 + 0.7, samples: 71, why: NoInterval::TooFew },
        Estimate::WithoutInterval { value: 2.5, samples: 1_400_000, why: NoInterval::TooShort },
        Estimate::Exact { value: 1.0 / 3.0 },
        Estimate::Approximate { value: 2.5 },
        Estimate::TooFew { samples: 71 },
    ];
    let measure = |(number, estimate)| Measure::new(format!("response_time_p{number}"), "s", estimate);
    let measures: Vec<Measure> = estimates.into_iter().enumerate().map(measure).collect();
    let label = "round-trip(window = 1 s), \"x\"".to_owned();
    let answer = |engine| Answer {
        variant: label.clone(),
        measures: measures.clone(),
        curve: vec![(0.1, 0.5), (0.1 + 0.2, 1.0)],
        replications: vec![("a".into(), vec![Some(0.1), None]), ("b".into(), vec![Some(1e-9)])],
        connections: vec![(0, 0.25), (3, 0.75)],
        flows: vec![Flow { to: "c,1".into(), points: vec![(0.0, 1.5), (1.0, 0.0)] }],
        notes: vec!["a note".into()],
        ..Answer::new(engine)
    };
    let trust = Trust { verdict: Verdict::Suspect, reasons: vec!["late".into()], ..Trust::default() };
    let live = Answer { trust: Some(trust), ..answer(Engine::Live) };
    let settings = vec![("policy".to_owned(), label.clone())];
    let variant = |answers| VariantAnswers { label: label.clone(), settings: settings.clone(), answers };
    Answers {
        schema: SCHEMA,
        name: "n".into(),
        settings: vec!["policy".into()],
        variants: vec![variant(vec![answer(Engine::Sim), live]), variant(vec![answer(Engine::Sim)])],
        events: vec![serde_json::json!({"event": "asked", "variant": 0})],
        ..Answers::default()
    }
}

#[test]
fn a_folder_opens_into_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    sample().write(&path).unwrap();
    assert_eq!(Answers::open(&path).unwrap(), sample());
    let text = std::fs::read_to_string(path.join("outcomes.csv")).unwrap();
    assert!(text.starts_with(&format!("policy,{}\n", COLUMNS.join(","))), "{text}");
    assert!(text.contains(",too-few,,,71\n"), "{text}");
    assert!(text.contains(",2.5,too-short,too-short,1400000\n"), "{text}");
    let refused = sample().write(&path).unwrap_err().to_string();
    assert!(refused.contains("exists and is not empty"), "{refused}");
}

/// What a folder says is met is met by its numbers, or it is not: the version that wrote it may have had other rules.
#[test]
fn objectives_of_a_folder_are_judged_by_its_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    // It is 1/3 s.
    let objective = |text: &str| ObjectiveAnswer {
        text: text.to_owned(),
        variant: 1,
        engine: Engine::Sim,
        met: Some(true),
        undecided: false,
        measured: "333 ms".to_owned(),
        reason: String::new(),
    };
    let objectives = vec![objective("response_time_p3 < 400 ms"), objective("response_time_p3 < 300 ms")];
    let written = Answers { objectives, ..sample() };
    written.write(&path).unwrap();
    let opened = Answers::open(&path).unwrap();
    assert_eq!(opened.objectives[0], written.objectives[0]);
    assert_eq!((opened.objectives[1].met, opened.objectives[1].undecided), (Some(false), false));
    assert!(written.objectives_met() && !opened.objectives_met());
}

#[test]
fn a_damaged_folder_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    sample().write(&path).unwrap();
    for (file, good, wrong, said) in [
        ("outcomes.csv", ",2.5,too-short", ",two,too-short", "outcomes.csv:4: `two` is no number"),
        ("outcomes.csv", "engine,", "motor,", "outcomes.csv: the last columns should be engine,"),
        ("outcomes.csv", ",sim,response_time_p0,", ",sin,response_time_p0,", "outcomes.csv:2: `sin` is no engine"),
        ("outcomes.csv", "round-trip(window", "random(window", "outcomes.csv:2: no variant in run.json has this row"),
        ("curves.csv", "\n1,sim,", "\n7,sim,", "curves.csv: run.json has 2 variants, numbered from 0"),
        ("events.jsonl", "{", "", "events.jsonl: line 1: "),
        ("run.json", "\"schema\": 2", "\"schema\": 3", "run.json: schema 3 is none of the known 1 to 2"),
    ] {
        let text = std::fs::read_to_string(path.join(file)).unwrap();
        std::fs::write(path.join(file), text.replace(good, wrong)).unwrap();
        let refused = Answers::open(&path).unwrap_err().to_string();
        assert!(refused.contains(said) && !refused.contains('\n'), "{file}: {refused}");
        std::fs::write(path.join(file), text).unwrap();
    }
    assert!(Answers::open(&path).is_ok());
}

/// Intervals end where a metric cannot be in what is told.
#[test]
fn an_interval_as_json_ends_where_its_metric_cannot_be() {
    let estimate = Estimate::Sampled { value: 0.5, ci_low: -0.5, ci_high: 1.5, samples: 9 };
    let time = ("response_time_mean", 0.0, 1.5);
    for (metric, low, high) in [time, ("prediction_error_mean", -0.5, 1.5), ("error_ratio", 0.0, 1.0)] {
        let told = measure_to_json(&Measure::new(metric, "1", estimate.clone()));
        assert_eq!([told["ci_low"].as_f64(), told["ci_high"].as_f64()], [Some(low), Some(high)], "{metric}");
    }
}

/// A folder that the program wrote when every estimate had an interval.
#[test]
fn a_folder_of_schema_1_is_read() {
    let answers = Answers::open(Path::new("tests/schema-1")).unwrap();
    assert_eq!((answers.schema, answers.variants.len()), (1, 2));
    let p999 = answers.variants[0].estimate(Engine::Sim, "response_time_p99.9");
    assert!(matches!(p999.unwrap(), Estimate::TooFew { samples: 1.. }));
    assert!(answers.rows().any(|(_, _, measure)| measure.estimate.interval().is_some()));
    let objective = &answers.objectives[0];
    assert!(objective.met.is_some() && !objective.undecided);
    assert!(!sojourn_lab::compare::runs(&answers, &answers).unwrap().is_empty());
}
