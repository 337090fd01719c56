//! Outcomes: the columns are a contract, and rows read back as they were written.

use sojourn_lab::outcome::{COLUMNS, Outcome, read_csv, write_csv};
use sojourn_lab::variants::Setting;
use sojourn_stats::{Estimate, Measure};

#[test]
fn rows_read_back_as_they_were_written() {
    let settings = vec![Setting { key: "policy".into(), value: "round-trip(window = 1 s), \"x\"".into() }];
    let estimates = [
        Estimate::Sampled { value: 0.1 + 0.2, ci_low: 1e-300, ci_high: 5.0, samples: 7 },
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
    assert!(text.contains(",too-few,,,71"), "{text}");
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
