//! Numbers that were wrong where they were asked for, and what is right: no event seen is not none, and an overload of which
//! clients give up settles.

use std::path::Path;

use sojourn_lab::prelude::*;
use sojourn_lab::{ObjectiveAnswer, VariantAnswers};
use sojourn_stats::{Estimate, Measure};

fn by_sim(text: &str, set: &[(&str, &str)]) -> Answers {
    let experiment = Experiment::new(Path::new("asked.toml"), text.into(), &[]).unwrap();
    let experiment = set.iter().fold(experiment, |experiment, (key, value)| experiment.set(key, value).unwrap());
    experiment.ask([Engine::Sim], &Progress::none()).unwrap()
}

fn estimate<'a>(answers: &'a Answers, metric: &str) -> &'a Estimate {
    let known = answers.iter().flat_map(|answer| answer.estimate(metric));
    known.last().unwrap_or_else(|| panic!("no {metric}: {:?}", answers.variants))
}

/// Where something went wrong, what did not stands beside it, since more may come; what cannot come does not, and where all went
/// well nothing does.
#[test]
fn what_did_not_go_wrong_stands_beside_what_did() {
    let told = |attempts: (f64, f64), most_failed: f64, most_left: f64| {
        let row = |metric: &str, (value, ci_high): (f64, f64)| {
            Measure::new(metric, "1", Estimate::Sampled { value, ci_low: value, ci_high, samples: 99 })
        };
        let measures = vec![
            row("attempts_ratio", attempts),
            row("error_ratio", (0.0, most_failed)),
            row("abandoned_ratio", (0.0, most_left)),
        ];
        let answers = vec![Answer { measures, ..Answer::new(Engine::Sim) }];
        let variants = vec![VariantAnswers { answers, ..VariantAnswers::default() }];
        let told = Answers { variants, ..Answers::default() }.failures();
        told.into_iter().map(|(metric, _)| metric).collect::<Vec<_>>()
    };
    assert_eq!(told((1.2, 1.3), 0.01, 0.0), ["error_ratio", "attempts_ratio"]);
    assert!(told((1.0, 1.1), 0.01, 0.0).is_empty());
}

/// M/M/1-PS at utilisation 0.4 and a time-out of 300 ms: 0.165 % of the requests fail, and two runs of 5 s see none of it in
/// three cases of four.
const TIMED_OUT: &str = r#"
name = "timed out"
[workload]
kind = "open"
arrivals = "exponential(rate = 20 /s)"
[client]
timeout = "300 ms"
[system.server]
discipline = "ps"
demand = "exponential(mean = 20 ms)"
[objective]
error_ratio = "< 0.0001%"
[run]
duration = "5 s"
replications = 2
precision = "none"
"#;

#[test]
fn luck_meets_no_objective() {
    let mut lucky = 0;
    for seed in 1..=40 {
        let answers = by_sim(TIMED_OUT, &[("seed", &seed.to_string())]);
        let judged = &answers.objectives[0];
        assert_ne!(judged.met, Some(true), "seed {seed}: {judged:?}");
        if estimate(&answers, "error_ratio").value() == Some(0.0) {
            lucky += 1;
            assert!(judged.undecided && judged.measured.starts_with("0 % (0 to "), "seed {seed}: {judged:?}");
        }
    }
    assert!(lucky > 20, "{lucky} of 40 saw nothing");
    // One that may be decided is, by as many runs as it takes.
    let answers = by_sim(TIMED_OUT, &[("objective.error_ratio", "< 2%"), ("run.precision", "50% at 95%")]);
    assert_eq!(answers.objectives[0].met, Some(true), "{:?}", answers.objectives);
}

/// A fault that no client notices: of no failure while it lasts, and of none in the worst second, it is not known that there can
/// be none; nor of no retry.
#[test]
fn no_failure_over_a_fault_is_not_none() {
    let text = TIMED_OUT.replace("300 ms", "300 s\"\nretries = 3\n#").replace(
        "[objective]\nerror_ratio = \"< 0.0001%\"",
        "[[fault]]\nat = \"2 s\"\nuntil = \"3 s\"\nserver = 1\nwhat = \"slow(0.9)\"\n[objective]\n\
         \"during(fault).error_ratio\" = \"< 0.0001%\"\nworst_second_error_ratio = \"< 0.0001%\"\n\
         \"during(fault).attempts_ratio\" = \"< 1.0001\"",
    );
    let answers = by_sim(&text, &[]);
    assert_eq!(answers.objectives.len(), 3);
    for judged in &answers.objectives {
        assert!(judged.undecided && !judged.measured.contains("exactly"), "{judged:?}");
    }
    // About 40 requests come while it lasts, in two replications: 3 in 40.
    let Estimate::Sampled { value: 0.0, ci_high, .. } = estimate(&answers, "during(fault).error_ratio") else {
        panic!("{:?}", answers.variants)
    };
    assert!((0.04..0.12).contains(ci_high), "{ci_high}");
    // Of the worst second less is known than of all.
    let high = |metric: &str| estimate(&answers, metric).interval().unwrap().1;
    assert!(high("worst_second_error_ratio") >= high("error_ratio"), "{:?}", answers.variants);
}

/// A longer run has the fault no more often: it is not what is recommended where the interval leaves an objective open.
#[test]
fn over_a_fault_no_longer_run_is_recommended() {
    let said = |text: &str| {
        let answers = by_sim(text, &[]);
        let judged = &answers.objectives[0];
        assert!(judged.undecided, "{judged:?}");
        judged.words().1
    };
    let fault = "\n[[fault]]\nat = \"2 s\"\nuntil = \"3 s\"\nserver = 1\nwhat = \"slow(0.9)\"\n";
    assert!(said(TIMED_OUT).contains("more replications, or longer ones"), "{}", said(TIMED_OUT));
    let over_a_fault = said(&format!("{TIMED_OUT}{fault}"));
    assert!(over_a_fault.ends_with("have the fault more often, longer ones are another mixture"), "{over_a_fault}");
}

/// Clients that give up after an exponential time, at a load of 1.2: a birth and death process, 12 /s against 10 /s and 5 /s
/// for each that is there.
#[test]
fn an_overload_of_which_clients_give_up_is_answered() {
    let (mut chance, mut sum, mut mean) = (1.0, 0.0, 0.0);
    for inside in 0..60 {
        sum += chance;
        mean += chance * f64::from(inside);
        chance *= 12.0 / (10.0 + 5.0 * f64::from(inside + 1));
    }
    let given_up = 5.0 * mean / sum / 12.0;
    let text = include_str!("../data/patience-overload.toml");
    let experiment = Experiment::new(Path::new("patience-overload.toml"), text.into(), &[]).unwrap();
    let answers = experiment.ask([Engine::Theory, Engine::Sim], &Progress::none()).unwrap();
    // Of five half widths the false alarm is below one in a million.
    let near = |answers: &Answers, metric: &str, known: f64| {
        let (low, high) = estimate(answers, metric).interval().unwrap();
        let slack = 2.0 * (high - low);
        assert!(low - slack < known && known < high + slack, "{metric}: {low} to {high}, not {known}");
    };
    let by_theory = |metric: &str| {
        answers.variants[0].estimate(Engine::Theory, metric).and_then(Estimate::value).unwrap_or(f64::NAN)
    };
    assert!((by_theory("abandoned_ratio") - given_up).abs() < 1e-9, "{}", by_theory("abandoned_ratio"));
    near(&answers, "abandoned_ratio", given_up);
    for metric in ["response_time_mean", "utilization", "throughput"] {
        near(&answers, metric, by_theory(metric));
    }
    // A limited room sheds it too, and theory has a formula.
    let room = "name = \"room\"\n[workload]\nkind = \"open\"\narrivals = \"exponential(rate = 12 /s)\"\n\
                [system.server]\ndiscipline = \"fcfs\"\ndemand = \"exponential(mean = 100 ms)\"\n\
                limits = { jobs = 5 }\n[run]\nmax_jobs = 400_000\n";
    let experiment = Experiment::new(Path::new("room.toml"), room.into(), &[]).unwrap();
    let answers = experiment.ask([Engine::Theory, Engine::Sim], &Progress::none()).unwrap();
    // M/M/1/5 at 1.2: (1 - rho) rho^5 / (1 - rho^6).
    let lost = (1.0 - 1.2) * 1.2f64.powi(5) / (1.0 - 1.2f64.powi(6));
    let by_theory = answers.variants[0].estimate(Engine::Theory, "error_ratio").unwrap().value().unwrap();
    assert!((by_theory - lost).abs() < 1e-9, "{by_theory}, not {lost}");
    near(&answers, "error_ratio", lost);
}

/// Where many clients give up, none fails: a limit on failures that is met says what it does not count, unless that has a
/// limit of its own.
#[test]
fn no_failure_where_clients_give_up_is_not_all() {
    let said = |objectives: &str| {
        let text = format!("{}\n[objective]\n{objectives}\n", include_str!("../data/patience-overload.toml"));
        let answers = by_sim(&text, &[]);
        let judged = answers.objectives.iter().find(|of| of.text == "error_ratio < 1%").unwrap();
        assert_eq!(judged.met, Some(true), "{judged:?}");
        judged.words().1
    };
    let alone = said("error_ratio = \"< 1%\"");
    let left_out = "given up, which error_ratio does not count: limit abandoned_ratio too";
    assert!(alone.starts_with("met; ") && alone.ends_with(left_out), "{alone}");
    assert_eq!(said("error_ratio = \"< 1%\"\nabandoned_ratio = \"< 90%\""), "met");
}

/// No number is no number that was seen to meet a limit.
#[test]
fn an_objective_without_a_number_is_not_met() {
    let of = |engine, met, undecided| ObjectiveAnswer {
        text: "response_time_p99 < 1 s".into(),
        variant: 0,
        engine,
        met,
        undecided,
        measured: String::new(),
        reason: String::new(),
    };
    let met = |objectives: Vec<ObjectiveAnswer>| {
        Answers { variants: vec![VariantAnswers::default()], objectives, ..Answers::default() }.objectives_met()
    };
    let (theory, sim) = (Engine::Theory, Engine::Sim);
    assert!(met(Vec::new()), "nothing was asked");
    assert!(met(vec![of(theory, None, false), of(sim, Some(true), false)]), "theory knows no p99, and sim does");
    assert!(!met(vec![of(theory, None, false), of(sim, None, false)]));
    assert!(!met(vec![of(theory, Some(true), false), of(sim, None, true)]));
    assert!(!met(vec![of(theory, Some(true), false), of(sim, Some(false), false)]));
}

/// M/M/1 at utilisation 0.7: the response time is exponential with mean 10 ms / 0.3, and its p99 is ln(100) times that.
const BREAKS: &str = r#"
name = "breaks"
[workload]
kind = "open"
arrivals = "exponential(rate = 70 /s)"
[system.server]
discipline = "fcfs"
demand = "exponential(mean = 10 ms)"
[[fault]]
at = "60 s"
until = "70 s"
server = 1
what = "down"
[run]
duration = "100 s"
"#;

/// Of a run in which something breaks formulas know nothing, so that it has no row. What they know of the time before is a note.
#[test]
fn theory_says_what_was_before_a_fault_and_has_no_row_of_the_run() {
    let said = |text: &str| {
        let experiment = Experiment::new(Path::new("breaks.toml"), text.into(), &[]).unwrap();
        let answers = experiment.ask([Engine::Theory], &Progress::none()).unwrap();
        let answer = &answers.variants[0].answers[0];
        assert!(answer.measures.is_empty(), "{:?}", answer.measures);
        answer.notes.join("\n")
    };
    let before = "in steady state before the first fault (at 60 s): mean response time 33.3 ms, p99 154 ms";
    let told = said(BREAKS);
    assert!(told.contains("where nothing breaks") && told.contains(before), "{told}");
    // The earliest of several, wherever it stands in the file.
    let earlier = "\n[[fault]]\nat = \"12.2 s\"\nuntil = \"13 s\"\nserver = 1\nwhat = \"slow(0.5)\"\n";
    assert!(said(&format!("{BREAKS}{earlier}")).contains("(at 12.2 s)"));
    // Nothing is before one that is there from the beginning, and without it the system may be more than formulas know.
    let at_once = BREAKS.replace("60 s", "0 s");
    let beyond =
        BREAKS.replace("exponential(rate = 70 /s)", "fgn(h = 0.8, mean = 14.3 ms, cv = 1, marginal = exponential)");
    for text in [at_once, beyond] {
        let told = said(&text);
        assert!(!told.is_empty() && !told.contains("before the first fault"), "{told}");
    }
}
