//! Outcomes: the columns are a contract, and rows read back as they were written.

use sojourn_lab::Folder;
use sojourn_lab::outcome::{COLUMNS, Outcome, read_csv, write_csv};
use sojourn_lab::spec::Engine;
use sojourn_lab::variants::Setting;
use sojourn_stats::measure::NoInterval;
use sojourn_stats::{Estimate, Measure};

#[test]
fn rows_read_back_as_they_were_written() {
    let settings = vec![Setting { key: "policy".into(), value: "round-trip(window = 1 s), \"x\"".into() }];
    let estimates = [
        Estimate::Sampled { value: 0.1 + 0.2, ci_low: 1e-300, ci_high: 5.0, samples: 7 },
        Estimate::WithoutInterval { value: 0.1 + 0.7, samples: 71, why: NoInterval::TooFew },
        Estimate::WithoutInterval { value: 2.5, samples: 1_400_000, why: NoInterval::TooShort },
        Estimate::Exact { value: 1.0 / 3.0 },
        Estimate::Approximate { value: 2.5 },
        Estimate::TooFew { samples: 71 },
    ];
    let rows: Vec<Outcome> = estimates
        .into_iter()
        .map(|estimate| Outcome {
            settings: settings.clone(),
            engine: "sim".into(),
            measure: Measure::new("response_time_p99", "s", estimate),
        })
        .collect();
    let mut csv = Vec::new();
    write_csv(&rows, &["policy".into()], &mut csv).unwrap();
    let text = String::from_utf8(csv).unwrap();
    assert!(text.starts_with(&format!("policy,{}\n", COLUMNS.join(","))), "{text}");
    assert!(text.contains(",too-few,,,71\n"), "{text}");
    assert!(text.contains(",2.5,too-short,too-short,1400000\n"), "{text}");
    let (keys, back) = read_csv(&text).unwrap();
    assert_eq!(keys, ["policy"]);
    assert_eq!(back, rows);
}

#[test]
fn a_damaged_file_is_refused_with_its_line() {
    let good = "engine,metric,unit,estimate,ci_low,ci_high,samples\nsim,throughput,/s,1.0,0.9,1.1,10\n";
    assert!(read_csv(good).is_ok());
    assert!(read_csv(&good.replace("1.0,", "one,")).unwrap_err().contains("outcomes.csv:2"));
    assert!(read_csv(&good.replace("engine,", "motor,")).unwrap_err().contains("columns"));
}

/// Intervals of what cannot be negative end at 0 in what is told.
#[test]
fn an_interval_is_cut_off_at_zero_unless_the_metric_has_a_sign() {
    let estimate = Estimate::Sampled { value: 0.5, ci_low: -0.5, ci_high: 1.5, samples: 9 };
    let measures =
        ["response_time_mean", "prediction_error_mean"].map(|metric| Measure::new(metric, "1", estimate.clone()));
    let rows = Outcome::rows(&[], Engine::Sim, &measures);
    let ends: Vec<_> = rows.iter().map(|row| row.measure.estimate.interval()).collect();
    assert_eq!(ends, [Some((0.0, 1.5)), Some((-0.5, 1.5))]);
    assert_eq!(rows[0].measure.estimate.half_width(), Some(1.0), "as wide as it was");
}

/// A folder that the program wrote when every estimate had an interval.
#[test]
fn a_folder_of_schema_1_is_read() {
    let folder = Folder::read(std::path::Path::new("tests/schema-1")).unwrap();
    assert_eq!((folder.run.schema, folder.run.variants.len()), (1, 2));
    let p999 = folder.outcomes.iter().find(|row| row.engine == "sim" && row.measure.metric == "response_time_p99.9");
    assert!(matches!(p999.unwrap().measure.estimate, Estimate::TooFew { samples: 1.. }));
    assert!(folder.outcomes.iter().any(|row| row.measure.estimate.interval().is_some()));
    let objective = &folder.run.objectives[0];
    assert!(objective.met.is_some() && !objective.undecided);
    assert!(!sojourn_lab::compare::folders(&folder, &folder).unwrap().is_empty());
    let text = std::fs::read_to_string("tests/schema-1/run.json").unwrap();
    let stranger = std::env::temp_dir().join(format!("sojourn-schema-{}", std::process::id()));
    std::fs::create_dir_all(&stranger).unwrap();
    std::fs::write(stranger.join("run.json"), text.replace("\"schema\": 1", "\"schema\": 3")).unwrap();
    let refused = Folder::read(&stranger).unwrap_err().to_string();
    std::fs::remove_dir_all(&stranger).unwrap();
    assert!(refused.contains("schema 3 is none of the known 1 to 2"), "{refused}");
}
