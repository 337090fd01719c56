//! Live runs second by second: kept in the run folder, drawn in its report, and drawn beside those of other runs.

use std::collections::HashSet;

use sojourn_lab::folder::SCHEMA;
use sojourn_lab::report::{render, runs};
use sojourn_lab::{Answer, Answers, Engine, Trust, VariantAnswers};
use sojourn_load::{Limits, Second};

/// Five seconds of which the third lost replies and the fourth was late.
fn seconds() -> Vec<Second> {
    let plain = |number: u64| Second {
        planned: 100 + number,
        begun: 100 + number,
        again: 2 * number,
        ok: 100 + number,
        failed: 0,
        inside: number,
        response_time_mean_s: 0.012,
        response_time_p50_s: Some(0.010),
        response_time_p99_s: Some(0.228),
        lateness_p99_s: Some(2e-5),
        lateness_mean_s: Some(1.25e-5),
    };
    let mut all: Vec<Second> = (0..5).map(plain).collect();
    (all[2].ok, all[2].failed) = (60, 42);
    all[3].lateness_p99_s = Some(0.007);
    all[4].response_time_p99_s = None;
    all
}

fn answers() -> Answers {
    let incidents = vec![(2.5, "server-2 ended (signal: 9)".into())];
    let trust = Some(Trust { limits: Limits::default(), incidents, ..Trust::default() });
    let variant = "round-robin".to_owned();
    let live = Answer { variant: variant.clone(), seconds: seconds(), trust, ..Answer::new(Engine::Live) };
    let settings = vec![("policy".into(), variant.clone())];
    let variants = vec![VariantAnswers { label: variant, settings, answers: vec![live] }];
    Answers { schema: SCHEMA, name: "n".into(), settings: vec!["policy".into()], variants, ..Answers::default() }
}

/// Every figure has its numbers behind it, and no id is there twice.
fn check_figures(page: &str, least: usize) {
    let figures = page.matches("<figure").count();
    assert!(figures >= least, "{figures}");
    assert_eq!(page.matches("class=\"behind\"").count(), figures, "numbers behind each figure");
    let ids: Vec<&str> = page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let distinct: HashSet<&str> = ids.iter().copied().collect();
    assert_eq!(distinct.len(), ids.len(), "{ids:?}");
}

#[test]
fn seconds_are_read_back_as_they_were_written() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("run");
    answers().write(&path).unwrap();
    assert_eq!(Answers::open(&path).unwrap(), answers());
    // A folder from before there were any.
    std::fs::remove_file(path.join("seconds.csv")).unwrap();
    assert!(Answers::open(&path).unwrap().variants[0].answers[0].seconds.is_empty());
}

#[test]
fn a_report_draws_them_and_marks_the_doubtful() {
    let page = render(&answers());
    check_figures(&page, 4);
    for id in ["plot-rate-0", "plot-response-0", "plot-inside-0", "plot-lateness-0"] {
        assert!(page.contains(&format!("id=\"{id}\"")), "{id}");
    }
    assert!(page.contains("<title>2 s: planned 102, begun 102, good replies 60, failed 42</title>"), "on hover");
    assert!(page.contains("99th percentile 228\u{a0}ms"), "in one readable unit");
    assert!(page.contains("failed, beyond the limit: doubtful") && !page.contains("planned, beyond the limit"));
    assert_eq!(page.matches("1 of them are doubtful").count(), 2, "one second failed, another was late");
    let drawn = page.split("<figure").filter(|figure| figure.contains("server-2 ended (signal: 9), 2.5 s")).count();
    assert_eq!(drawn, 4, "an incident stands at its instant in each figure");
    let mut quiet = answers();
    quiet.variants[0].answers[0].seconds.clear();
    assert!(!render(&quiet).contains("second by second"), "nothing is claimed of what was not measured");
}

#[test]
fn runs_beside_each_other_are_series_of_the_same_figures() {
    let one = answers();
    let two = [("one".to_owned(), &one), ("<two>".to_owned(), &one)];
    let page = runs::render(&two, "0.1.0");
    check_figures(&page, 9);
    assert!(page.contains("<title>2 s: one 42, &lt;two&gt; 42</title>"), "both on the same axes");
    assert!(!page.contains("<two>"), "names are text");
    assert!(page.contains("one: server-2 ended (signal: 9), 2.5 s"), "whose incident it was");
    assert_eq!(page, runs::render(&two, "0.1.0"), "the same runs give the same bytes");
}
