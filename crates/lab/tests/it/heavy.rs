//! Means that hang on few long jobs have no interval, and a note says why.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sojourn_lab::prelude::*;
use sojourn_lab::queue::QueueSettings;
use sojourn_stats::{Estimate, Measure};

/// The mean response time, and what is noted of it.
fn queue(queue: &str, service: &str, jobs: u64) -> (Estimate, String) {
    let arrivals = Some("exponential(utilization = 0.8)".to_owned());
    let settings = QueueSettings { arrivals, service: Some(service.to_owned()), jobs, ..QueueSettings::new(queue) };
    let report = settings.sim(&Arc::new(AtomicBool::new(false)), &|_| {}).unwrap();
    let percentile = of(&report.measures, "response_time_p50");
    assert!(percentile.interval().is_some(), "{queue}, {service}: {percentile:?}");
    let inside = of(&report.measures, "number_in_system_mean");
    let mean = of(&report.measures, "response_time_mean");
    assert_eq!(inside.interval().is_some(), mean.interval().is_some(), "{queue}, {service}: Little's law");
    (mean, report.notes.join("\n"))
}

/// Whether a percentile has an interval.
fn is_known(service: &str, jobs: u64, metric: &str) -> bool {
    let arrivals = Some("exponential(utilization = 0.8)".to_owned());
    let settings = QueueSettings { arrivals, service: Some(service.to_owned()), jobs, ..QueueSettings::new("M/G/1") };
    let report = settings.sim(&Arc::new(AtomicBool::new(false)), &|_| {}).unwrap();
    of(&report.measures, metric).interval().is_some()
}

/// Of M/lognormal/1 with a coefficient of variation of 3 and 10^6 jobs the p99's intervals covered 90 %, and where they were
/// given hung on what the run had seen.
#[test]
fn a_percentile_behind_few_long_jobs_has_no_interval() {
    let heavy = "lognormal(mean = 1 s, cv = 3)";
    assert!(!is_known(heavy, 1_000_000, "response_time_p99"));
    assert!(is_known(heavy, 1_000_000, "response_time_p90") && is_known(heavy, 3_000_000, "response_time_p99"));
    assert!(is_known("lognormal(mean = 1 s, cv = 2)", 1_000_000, "response_time_p99"));
    assert!(is_known("exponential(mean = 1 s)", 1_000_000, "response_time_p99"));
}

fn of(measures: &[Measure], metric: &str) -> Estimate {
    measures.iter().find(|measure| measure.metric == metric).expect("it is measured").estimate.clone()
}

#[test]
fn a_mean_that_hangs_on_the_longest_jobs_has_no_interval() {
    let pareto = "pareto(alpha = 2.5, mean = 1 s)";
    let (mean, note) = queue("M/G/1", pareto, 1_000_000);
    assert!(mean.interval().is_none() && mean.value().is_some(), "{mean:?}");
    assert!(
        note.contains("no interval for response_time_mean, waiting_time_mean") && note.contains("infinite"),
        "{note}"
    );
    let (mean, note) = queue("M/G/1", "lognormal(mean = 1 s, cv = 4)", 1_000_000);
    assert!(
        mean.interval().is_none() && note.contains("900000 jobs have too few") && !note.contains("infinite"),
        "{mean:?} {note}"
    );
    // A longer run has more of the longest; shared work is in the way of itself alone; a bound leaves no longer ones.
    for (kind, service, jobs) in [
        ("M/G/1", "exponential(mean = 1 s)", 100_000),
        ("M/G/1", "lognormal(mean = 1 s, cv = 2)", 1_000_000),
        ("M/G/1-PS", pareto, 1_000_000),
        ("M/G/1", "bounded-pareto(alpha = 1.5, min = 0.34 s, max = 100 s)", 1_000_000),
    ] {
        let (mean, note) = queue(kind, service, jobs);
        assert!(mean.interval().is_some() && !note.contains("no interval"), "{kind}, {service}: {mean:?} {note}");
    }
    assert!(queue("M/G/1", "lognormal(mean = 1 s, cv = 2)", 200_000).0.interval().is_none());
}

#[test]
fn an_experiment_says_the_same_of_its_servers() {
    let asked = |demand: &str, discipline: &str| {
        let text = format!(
            "name = \"heavy\"\n[workload]\nkind = \"open\"\narrivals = \"exponential(utilization = 0.5)\"\n[system.server]\n\
             discipline = \"{discipline}\"\ndemand = \"{demand}\"\n[run]\nprecision = \"20% at 95%\"\nmax_jobs = 2000000\n"
        );
        let experiment = Experiment::new(Path::new("heavy.toml"), text, &[]).unwrap();
        let answers = experiment.ask([Engine::Sim], &Progress::none()).unwrap();
        let answer = answers.iter().next().unwrap();
        (of(&answer.measures, "response_time_mean").interval().is_some(), answer.notes.join("\n"))
    };
    let (has_interval, note) = asked("pareto(alpha = 2.2, mean = 10 ms)", "fcfs");
    assert!(!has_interval && note.contains("no interval for response_time_mean"), "{note}");
    assert!(asked("pareto(alpha = 2.2, mean = 10 ms)", "ps").0);
    assert!(asked("exponential(mean = 10 ms)", "fcfs").0);
}
