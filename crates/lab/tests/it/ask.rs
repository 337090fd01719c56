//! Answers handed over in memory: the same as those of a run folder, the same for the same seed, and stopped when asked.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sojourn_dispatch::{Ask, Catalogue, Code, Decision, Policy, Reason, Signals};
use sojourn_lab::prelude::*;
use sojourn_lab::{Context, RunError, Step, VariantAnswers, Verdict, run};
use sojourn_stats::Stream;

const FILE: &str = r#"
name = "two servers"
seed = 1
[workload]
kind = "open"
arrivals = "exponential(utilization = 0.7)"
[[system.tier]]
face = "gateway"
policy = "random"
targets = { servers = 2 }
[system.server]
discipline = "ps"
demand = "exponential(mean = 10 ms)"
[vary]
policy = ["random", "least-connections"]
[objective]
mean = "< 40 ms"
[run]
max_jobs = 20_000
"#;

fn experiment() -> Experiment {
    Experiment::new(Path::new("two.toml"), FILE.into(), &[]).unwrap()
}

/// What of answers does not depend on when they were given.
fn timeless(answers: Answers) -> Answers {
    Answers { started: String::new(), elapsed_s: 0.0, events: Vec::new(), ..answers }
}

#[test]
fn the_same_seed_gives_the_same_answers() {
    let ask =
        |experiment: Experiment| timeless(experiment.ask([Engine::Theory, Engine::Sim], &Progress::none()).unwrap());
    let answers = ask(experiment());
    assert_eq!(answers, ask(experiment()));
    let by: Vec<(&str, &str)> = answers.iter().map(|answer| (&*answer.variant, answer.engine.name())).collect();
    let [random, least] = ["random", "least-connections"];
    assert_eq!(by, [(random, "theory"), (random, "sim"), (least, "theory"), (least, "sim")]);
    let mean = |answers: &Answers| answers.variants[1].answers[1].metric(Metric::RESPONSE_TIME_MEAN).unwrap();
    assert!(mean(&answers).low() < mean(&answers).value() && mean(&answers).value() < mean(&answers).high());
    assert_ne!(mean(&answers), mean(&ask(experiment().set("seed", "2").unwrap())));
    let command = "sojourn run two.toml --by theory,sim --set 'policy=random'";
    assert_eq!(ask(experiment().set("policy", "random").unwrap()).command, command, "which repeats it");
}

/// Runs that begin empty and soon end are not the long one of which theory is exact: it is said how many intervals do not hold
/// its numbers, as `queue` says it.
#[test]
fn intervals_that_do_not_hold_the_exact_number_are_told() {
    let short = [
        ("policy", "random"),
        ("workload.arrivals", "exponential(utilization = 0.95)"),
        ("run.duration", "1 s"),
        ("run.warm_up", "0 s"),
        ("run.precision", "none"),
    ];
    let short = short.iter().fold(experiment(), |experiment, (key, value)| experiment.set(key, value).unwrap());
    let answers = short.ask([Engine::Theory, Engine::Sim], &Progress::none()).unwrap();
    let notes = answers.variants[0].answer(Engine::Sim).unwrap().notes.join("\n");
    assert!(notes.contains("intervals do not hold the exact number"), "{notes}");
    let alone = short.ask([Engine::Sim], &Progress::none()).unwrap();
    let notes = alone.variants[0].answer(Engine::Sim).unwrap().notes.join("\n");
    assert!(!notes.contains("exact number"), "nothing stands beside it: {notes}");
}

/// What `--set` does to a variant with a name is a note of that variant, once.
#[test]
fn what_is_set_by_hand_is_noted_of_a_variant_with_a_name() {
    let text = format!("{FILE}[[variant]]\nname = \"two\"\nservers = 2\n");
    let experiment = Experiment::new(Path::new("two.toml"), text, &["servers=3".to_owned()]).unwrap();
    assert_eq!(experiment.replaced(), ["--set servers = 3 also replaces servers = 2 of the variant two"]);
    let answers = experiment.ask([Engine::Theory, Engine::Sim], &Progress::none()).unwrap();
    let noted = |variant: &VariantAnswers| {
        let notes = variant.answers.iter().flat_map(|answer| &answer.notes);
        notes.filter(|note| note.contains("also replaces servers = 2")).count()
    };
    assert_eq!(answers.variants.iter().map(noted).collect::<Vec<_>>(), [0, 0, 1]);
}

/// `run` is the same call beside a folder.
#[test]
fn a_folder_written_from_memory_is_that_of_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let [mine, theirs] = ["mine", "theirs"].map(|name| folder.path().join(name));
    let by = [Engine::Theory, Engine::Sim];
    let context = Context {
        program: "sojourn".into(),
        out: Some(theirs.clone()),
        threads: 1,
        command: String::new(),
        progress: &Progress::none(),
    };
    let (_, of_run) = run(&experiment(), Some(&by), &context).unwrap();
    let in_memory = experiment().ask(by, &Progress::none()).unwrap();
    assert_eq!(in_memory.objectives.len(), 4, "of two variants by two engines");
    in_memory.write(&mine).unwrap();
    for file in ["outcomes.csv", "curves.csv"] {
        let [mine, theirs] = [&mine, &theirs].map(|path| std::fs::read(path.join(file)).unwrap());
        assert!(!mine.is_empty() && mine == theirs, "{file}");
    }
    assert_eq!(Answers::open(&mine).unwrap(), in_memory);
    assert_eq!(Answers::open(&theirs).unwrap(), of_run);
    let command = in_memory.command.clone();
    assert_eq!(timeless(in_memory), Answers { command, ..timeless(of_run) });
}

#[test]
fn who_cancels_keeps_what_there_is() {
    let cancel = Arc::new(AtomicBool::new(false));
    let stop = |step: Step<'_>| {
        if step.variant.0 == 0 && step.done == 1.0 {
            cancel.store(true, Ordering::Relaxed);
        }
    };
    let progress = Progress::new(&cancel, &stop);
    let answers = experiment().ask([Engine::Sim], &progress).unwrap();
    assert!(answers.variants[0].answer(Engine::Sim).is_some());
    assert!(answers.variants[1].answers.is_empty(), "it was not asked");
    assert_eq!((answers.verdict, answers.objectives.len()), (Verdict::Incomplete, 1));
    assert!(answers.reasons[0].contains("interrupted"), "{:?}", answers.reasons);
    // Before there is anything.
    let refused = experiment().ask([Engine::Sim], &progress).unwrap_err();
    assert!(matches!(refused, RunError::Interrupted(_)), "{refused}");
}

/// What no system can do is missed, and the answer says why: so much is not asked of it.
#[test]
fn a_throughput_beyond_what_is_offered_says_so() {
    let text = FILE.replace("mean = \"< 40 ms\"", "throughput = \"> 900 /s\"");
    let experiment = Experiment::new(Path::new("two.toml"), text, &[]).unwrap();
    let answers = experiment.ask([Engine::Theory, Engine::Sim], &Progress::none()).unwrap();
    for objective in &answers.objectives {
        assert_eq!(objective.words().1, "MISSED: no more than 140 /s is offered", "{objective:?}");
    }
    let within = experiment.set("objective.throughput", "> 130 /s").unwrap();
    let answers = within.ask([Engine::Theory, Engine::Sim], &Progress::none()).unwrap();
    assert!(answers.objectives.iter().all(|of| !of.words().1.contains("offered")), "{:?}", answers.objectives);
}

/// Live parts are children of the program, which a library does not have.
#[test]
fn live_is_refused_in_a_line() {
    let refused = experiment().ask([Engine::Sim, Engine::Live], &Progress::none()).unwrap_err().to_string();
    assert!(refused.contains("two.toml: live") && refused.contains("sojourn run"), "{refused}");
    assert_eq!(refused.lines().count(), 1);
}

/// A run of a given length begins empty: that is said where it moves the numbers, with the warm-up that leaves it out.
#[test]
fn a_run_that_begins_empty_says_so() {
    let notes = |load: f64, more: &str| {
        let text = format!(
            "name = \"empty\"\n[workload]\nkind = \"open\"\narrivals = \"exponential(utilization = {load})\"\n[system.server]\n\
             discipline = \"fcfs\"\ndemand = \"exponential(mean = 10 ms)\"\n[run]\nduration = \"100 s\"\n{more}"
        );
        let experiment = Experiment::new(Path::new("empty.toml"), text, &[]).unwrap();
        let answers = experiment.ask([Engine::Sim], &Progress::none()).unwrap();
        answers.iter().next().unwrap().notes.join("\n")
    };
    let said = notes(0.95, "");
    assert!(said.contains("begin empty") && said.contains("`run.warm_up = \""), "{said}");
    let said = notes(0.95, "warm_up = \"5 s\"\n");
    assert!(said.contains("the warm-up of 5 s is short") && said.contains("`run.warm_up = \"4"), "{said}");
    for none in [notes(0.95, "warm_up = \"50 s\"\n"), notes(0.5, "")] {
        assert!(!none.contains("begin empty") && !none.contains("is short"), "{none}");
    }
}

/// The backend with the lowest number of those that may be chosen.
struct Lowest;

impl Policy for Lowest {
    fn requires(&self) -> Signals {
        Signals::empty()
    }

    fn choose(&mut self, ask: &Ask<'_>, _: &mut Stream) -> Decision {
        let reason = Reason { code: Code::Own, ties: 1, value: 0.0 };
        Decision::forward_or_refuse(ask.candidates().next().map(|id| (id, reason)))
    }
}

/// A policy of one's own has its name in experiments, wherever it is written; live, whose parts do not know it, says so.
#[test]
fn a_catalogue_of_ones_own_gives_names_to_experiments() {
    let mut catalogue = Catalogue::default();
    catalogue.add("lowest", "the lowest number", |_| Ok(Box::new(Lowest))).unwrap();
    let slow = experiment().with_policies(&catalogue).set("arrivals", "exponential(rate = 10 /s)").unwrap();
    let own = slow.vary("policy", &["lowest", "random"]).unwrap();
    let answers = own.ask([Engine::Sim], &Progress::none()).unwrap();
    let shares: Vec<f64> = answers.iter().map(|of| of.metric("share_1").unwrap().value()).collect();
    assert!(shares[0] == 1.0 && shares[1] < 0.6, "the first server has it all: {shares:?}");
    let unknown = experiment().set("policy", "lowest").unwrap().ask([Engine::Sim], &Progress::none()).unwrap_err();
    assert!(unknown.to_string().contains("unknown policy `lowest`"), "{unknown}");
    let folder = tempfile::tempdir().unwrap();
    let context = Context {
        program: "sojourn".into(),
        out: Some(folder.path().join("run")),
        threads: 1,
        command: String::new(),
        progress: &Progress::none(),
    };
    let refused = run(&own, Some(&[Engine::Live]), &context).unwrap_err().to_string();
    assert!(refused.contains("do not know your policy `lowest`"), "{refused}");
    assert!(!folder.path().join("run").exists());
}

#[test]
fn what_is_varied_from_outside_is_as_in_the_file() {
    let labels = |experiment: &Experiment| -> Vec<String> {
        experiment.variants().unwrap().iter().map(sojourn_lab::Variant::label).collect()
    };
    let varied = experiment().set("policy", "random").unwrap().vary("policy", &["random", "round-robin"]).unwrap();
    assert_eq!(labels(&varied), ["random", "round-robin"], "what was set before is set no more");
    let product = varied.vary("servers", &["2", "3"]).unwrap();
    assert_eq!(labels(&product).len(), 4);
    assert!(product.text().contains("servers = [2, 3]"), "{}", product.text());
    let again = product.vary("servers", &["\"2..4 step 1\""]).unwrap();
    assert_eq!(labels(&again).len(), 6, "a range, in place of the list");
    let refused = again.vary("servers", &[]).unwrap_err().to_string();
    assert!(refused.contains("takes at least one value"), "{refused}");
    let tables = Experiment::new(
        Path::new("two.toml"),
        FILE.replace("policy = [\"random\", \"least-connections\"]", "both = [{ policy = \"random\", servers = 2 }]"),
        &[],
    );
    let refused = tables.unwrap().vary("servers", &["3"]).unwrap_err().to_string();
    assert!(refused.starts_with("two.toml:") && refused.contains("the tables of `both`"), "{refused}");
}

#[test]
fn answers_do_not_depend_on_threads() {
    let ask =
        |threads: usize| timeless(experiment().on_threads(threads).ask([Engine::Sim], &Progress::none()).unwrap());
    assert_eq!(ask(1), ask(3));
}
