//! How long a run is: its rounds, what it says of them while it goes on, and where it stops.

use std::sync::Mutex;

use sojourn_sim::{Control, Precision, Progress, Report, WarmUp};
use sojourn_stats::Span;

use crate::support::{Scenario, cluster, estimate, queue};

const FCFS: &str = "discipline = \"fcfs\"\ndemand = \"exponential(mean = 1 s)\"";
const SECOND: Span = Span(1_000_000_000);

/// What a precision that any interval has takes: one look, and one at twice the length that confirms it.
fn loose() -> Control {
    let precision = Some(Precision { relative: 100.0, confidence: 0.95 });
    Control { precision, warm_up: WarmUp::Fixed(Span(0)), ..Control::default() }
}

/// A precision that no run has.
fn strict() -> Control {
    Control { precision: Some(Precision { relative: 1e-6, confidence: 0.95 }), ..loose() }
}

/// The report with everything that was said before it.
fn watched(scenario: &Scenario, control: &Control) -> (Report, Vec<Progress>) {
    let said = Mutex::new(Vec::new());
    let Scenario { system, workload } = scenario;
    let report = sojourn_sim::run(system, workload, control, &|now| said.lock().unwrap().push(now)).unwrap();
    (report, said.into_inner().unwrap())
}

fn half_busy() -> Scenario {
    queue("exponential(rate = 0.5 /s)", FCFS)
}

#[test]
fn what_is_sharp_at_once_is_confirmed_at_twice_the_length() {
    let (report, said) = watched(&half_busy(), &loose());
    assert_eq!((report.jobs, report.converged), (20 * 2 * 10_000, true));
    // Each round is announced with what it takes, and every request is counted once.
    assert_eq!((said[0].planned, said.last().unwrap().planned), (20 * 10_000, 20 * 20_000));
    assert_eq!(said.last().unwrap().jobs, report.jobs);
    // Of many servers each gets its share, and what is left of the beginning is left out.
    let (report, _) = watched(&cluster("exponential(rate = 250 /s)", "random", 500, FCFS), &loose());
    assert!(report.jobs >= 20 * 2 * 500 * 40, "{} requests", report.jobs);
}

/// Five percent of ten relaxation times are measured at the first look: the next one is as long as it takes, within limits.
#[test]
fn what_is_sharp_but_too_short_goes_on_as_long_as_it_must() {
    let jobs = |relaxation| watched(&half_busy(), &Control { relaxation: Some(relaxation), ..loose() }).0.jobs;
    // 30,000 requests at least: three times the first look, of which the confirmation takes twice as many.
    assert_eq!(jobs(3000), 20 * 60_000);
    assert_eq!(jobs(1001), 20 * 26_000, "a round is 1.3 times as long at least");
}

#[test]
fn a_run_without_a_precision_spends_what_it_may() {
    let control = Control { precision: None, max_jobs: 3_000_000, ..loose() };
    let (report, said) = watched(&half_busy(), &control);
    assert_eq!((report.jobs, report.converged), (3_000_000, true));
    assert!(said.iter().all(|now| now.planned == 3_000_000 && now.jobs <= 3_000_000));
    assert_eq!(said.last().unwrap().jobs, 3_000_000);
}

#[test]
fn a_run_that_cannot_be_sharp_ends_at_its_limit_and_says_so() {
    let (report, said) = watched(&half_busy(), &Control { max_jobs: 1_000_000, ..strict() });
    assert_eq!((report.jobs, report.converged), (1_000_000, false));
    assert!(report.notes.iter().any(|note| note.contains("limit of 1000000 requests")), "{:?}", report.notes);
    // A round is four times as long as all before at most.
    let mut rounds: Vec<u64> = said.iter().map(|now| now.planned).collect();
    rounds.dedup();
    assert_eq!(rounds, [200_000, 800_000, 1_000_000]);
}

/// Replications that end by themselves: more of them instead of longer ones.
#[test]
fn replications_that_end_are_added_up_to_the_limit() {
    let horizon = Some(Span(2000 * SECOND.0));
    let (report, said) = watched(&half_busy(), &Control { horizon, max_jobs: 300_000, ..strict() });
    // Some 1000 requests each.
    assert!((275..=300).contains(&report.replications), "{}", report.replications);
    assert!((275_000..=305_000).contains(&report.jobs), "{}", report.jobs);
    assert!(report.notes.iter().any(|note| note.contains("limit of 300000 requests")), "{:?}", report.notes);
    let all = said.last().unwrap().jobs;
    assert_eq!(all, report.jobs, "every request is counted once");
    // The last round is announced with what all of it takes.
    let late = said.iter().filter(|now| (0.8..0.9).contains(&(now.jobs as f64 / all as f64)));
    let planned: Vec<f64> = late.map(|now| now.planned as f64 / all as f64).collect();
    assert!(!planned.is_empty() && planned.iter().all(|part| (part - 1.0).abs() < 0.1), "{planned:?}");
}

/// What is asked for beside mean, p90 and p99 keeps a run going until it is as sharp; what is not asked for does not.
#[test]
fn a_metric_that_is_asked_for_is_as_sharp_as_asked() {
    let precision = Some(Precision { relative: 0.03, confidence: 0.95 });
    let width = |metrics: &[&str]| {
        let metrics = metrics.iter().map(|name| name.to_string()).collect();
        let (report, _) = watched(&half_busy(), &Control { precision, metrics, ..loose() });
        assert!(report.converged);
        estimate(&report, "response_time_p99.9").relative_half_width()
    };
    assert!(width(&[]) > 0.03 && width(&["response_time_p99.9"]) <= 0.03);
}

/// What is over before its warm-up has no numbers, and how many are is said; of nothing else there is anything to say.
#[test]
fn warm_ups_that_do_not_end_are_counted() {
    let (settled, _) = watched(&half_busy(), &loose());
    assert_eq!(settled.notes, [""; 0]);
    // 1000 requests come in 2000 s, in some replications earlier and in some later.
    let control = Control { precision: None, max_jobs: 20_000, ..loose() };
    let (report, _) =
        watched(&half_busy(), &Control { warm_up: WarmUp::Fixed(Span(2000 * SECOND.0)), ..control.clone() });
    let [note] = &report.notes[..] else { panic!("{:?}", report.notes) };
    let short = note.strip_prefix("the warm-up was not over at the end of ").and_then(|rest| rest.split(' ').next());
    let short: usize = short.unwrap_or_else(|| panic!("{note}")).parse().unwrap();
    assert!((1..20).contains(&short) && note.ends_with("of 20 replications"), "{note}");
    let (name, values) = &report.replications_values[0];
    assert_eq!(values.len(), 20 - short, "{name}");
    // Where the warm-up is to be found, and there is none to be seen.
    let scenario = queue("exponential(rate = 0.999 /s)", FCFS);
    let (report, _) = watched(&scenario, &Control { warm_up: WarmUp::Auto, ..control });
    let said = report
        .notes
        .iter()
        .any(|note| note.starts_with("no end of the warm-up") && note.contains(" of 20 replications: near"));
    assert!(said, "{:?}", report.notes);
}

/// A limit is of all requests, those of the warm-up included.
#[test]
fn a_warm_up_counts_against_the_limit() {
    let warm_up = WarmUp::Fixed(Span(2000 * SECOND.0));
    let (report, said) = watched(&half_busy(), &Control { max_jobs: 1_000_000, warm_up, ..strict() });
    assert_eq!(said.last().unwrap().jobs, 1_000_000);
    // 1000 requests in each of twenty.
    assert!((975_000..985_000).contains(&report.jobs), "{}", report.jobs);
}

/// Long replications are told of in steps, after each of which a run can be stopped.
#[test]
fn long_replications_that_end_are_told_of_in_steps() {
    let control = Control { horizon: Some(Span(300_000 * SECOND.0)), precision: None, replications: 2, ..loose() };
    let (report, said) = watched(&half_busy(), &control);
    assert!(report.jobs > 290_000 && said.last().unwrap().jobs == report.jobs, "{}", report.jobs);
    assert!(said.windows(2).all(|pair| pair[1].jobs - pair[0].jobs <= 1 << 16), "{said:?}");
}

/// An interval narrows with the root of the length: one 1.5 times too wide takes 2.25 times as many requests, and a tenth more.
#[test]
fn a_round_is_as_long_as_the_widest_interval_calls_for() {
    let (_, said) = watched(&half_busy(), &loose());
    let widest = said.last().unwrap().relative.unwrap();
    let precision = Some(Precision { relative: widest / 1.5, confidence: 0.95 });
    let (_, said) = watched(&half_busy(), &Control { precision, ..loose() });
    let second = said.iter().find(|now| now.relative.is_some()).unwrap();
    assert_eq!(second.relative, Some(widest));
    assert!(second.planned.abs_diff(20 * 24_750) <= 20, "{}", second.planned);
}

/// The run that live runs is replication 0: it has the seed of the run, the others have seeds of their own.
#[test]
fn the_first_replication_has_the_seed_of_the_run() {
    let horizon = Span(2000 * SECOND.0);
    let control = Control { horizon: Some(horizon), precision: None, replications: 2, ..loose() };
    let (report, _) = watched(&half_busy(), &control);
    let (_, means) = report.replications_values.iter().find(|(name, _)| name == "response_time_mean").unwrap();
    let one = crate::support::run_plan(&half_busy(), control.seed, horizon, Span(0)).unwrap();
    let one = estimate(&one, "response_time_mean").value().unwrap();
    let off = |mean: Option<f64>| (mean.unwrap() / one - 1.0).abs();
    assert!(off(means[0]) < 1e-6 && off(means[1]) > 1e-3, "{means:?}, {one}");
}
