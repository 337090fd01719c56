//! The experiments of the tree: every file can be read, and both fabrics of the simulator give one answer.

use std::path::{Path, PathBuf};

use sojourn_lab::spec::{Engine, Question};
use sojourn_lab::{Bounds, Experiment, Metric, Progress};
use sojourn_sim::{Control, WarmUp};
use sojourn_stats::Span;
use sojourn_traffic::Workload;

/// Every experiment of the tree, by its path.
fn files() -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("the project can be read") {
            let path = entry.expect("the project can be read").path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|end| end == "toml") {
                let text = std::fs::read_to_string(&path).expect("experiments are text");
                if text.starts_with("name = ") || text.contains("\nname = ") && text.contains("[run]") {
                    found.push(path);
                }
            }
        }
    }
    let mut found = Vec::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments"), &mut found);
    found.sort();
    found
}

#[test]
fn every_experiment_can_be_read() {
    let files = files();
    assert!(files.len() > 40, "{files:?}");
    for file in files {
        // It names no log: that is for its reader to give.
        if file.ends_with("replay-a-day.toml") {
            continue;
        }
        let source = Experiment::read(&file).unwrap_or_else(|e| panic!("{e}"));
        let variants = source.variants().unwrap_or_else(|e| panic!("{e}"));
        assert!(!variants.is_empty());
    }
}

/// What Andresen et al. (1996) printed for six nodes, 17.3 and 17.8 requests per second, is theory's answer to their experiment.
#[test]
fn the_bound_of_sweb_is_theorys_answer() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/sweb-1996/sustained.toml");
    let experiment = Experiment::read(&file).unwrap();
    let answers = experiment.ask([Engine::Theory], &Progress::none()).unwrap();
    for (policy, printed) in [("stay", "17.3"), ("file-locality", "17.8"), ("sweb", "17.8")] {
        let of_policy = answers.variants.iter().filter(|of| of.settings.iter().any(|(_, value)| value == policy));
        let bounds: Vec<f64> =
            of_policy.filter_map(|of| of.answers[0].metric("throughput_max").ok()).map(Bounds::value).collect();
        assert!(bounds.iter().all(|bound| format!("{bound:.1}") == printed), "{bounds:?}");
        assert_eq!(bounds.len(), 2, "{policy}");
    }
    let notes = &answers.variants[0].answers[0].notes;
    assert!(notes.iter().any(|note| note.contains("M = p / H")), "{notes:?}");
    // Servers that break have no such bound.
    let text = std::fs::read_to_string(&file).unwrap();
    let broken = text.replace("[run]", "[[fault]]\nat = \"1 s\"\nserver = 1\nwhat = \"down\"\n\n[run]");
    let experiment = Experiment::new(&file, broken, &[]).unwrap();
    let answers = experiment.ask([Engine::Theory], &Progress::none()).unwrap();
    let of_first = &answers.variants[0].answers[0];
    assert!(answers.is_empty() && of_first.notes[0].contains("servers that break"), "{:?}", of_first.notes);
    let missing = of_first.metric(Metric::THROUGHPUT).unwrap_err().to_string();
    assert!(missing.contains("no `throughput`: no formula for servers that break"), "{missing}");
}

/// A cluster that says that it is overloaded is left out until its load is moderate, where the policy reads reports (Agarwal
/// 2001, section 4.3.3): one request in twenty, at most, waits for it longer than a second. Without, they wait until it recovers.
#[test]
fn an_overloaded_cluster_is_left_out_where_reports_are_read() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/agarwal-2001/alarms.toml");
    let experiment = Experiment::read(&file).unwrap().set("run.replications", "2").unwrap();
    let answers = experiment.ask([Engine::Sim], &Progress::none()).unwrap();
    let p95_s = |policy: &str| {
        let of_policy = answers.iter().find(|answer| answer.variant == policy).expect(policy);
        of_policy.metric("response_time_p95").unwrap().value()
    };
    let [nearest, free, in_turn] = ["nearest-with-room", "free-capacity", "round-robin"].map(p95_s);
    assert!(nearest < 1.0 && free < 1.0 && in_turn > 10.0, "{nearest} s, {free} s; in turn {in_turn} s");
}

/// On every system that the direct fabric can be, the routed one gives the same numbers, to the last bit; so do the two
/// ways of users who browse. A run is cut off after 20,000 requests and 20 s of virtual time, unless `SOJOURN_WHOLE` is set,
/// as by `make nightly`.
#[test]
fn the_routed_fabric_gives_the_direct_fabrics_answers() {
    let is_whole = std::env::var_os("SOJOURN_WHOLE").is_some();
    let mut compared = 0;
    for file in files().into_iter().filter(|file| !file.ends_with("replay-a-day.toml")) {
        for variant in Experiment::read(&file).unwrap().variants().unwrap() {
            let Question::System(asked) = &variant.experiment.question else { continue };
            let is_played = !matches!(asked.workload, Workload::Trace(_));
            let is_simulated = variant.experiment.run.by.contains(&Engine::Sim);
            if !asked.system.is_plain() || !asked.is_modelled || !is_played || !is_simulated {
                continue;
            }
            let run = &variant.experiment.run;
            let whole = Control {
                seed: variant.experiment.seed,
                warm_up: WarmUp::Fixed(Span(100_000_000)),
                horizon: run.duration,
                precision: run.precision,
                max_jobs: run.max_jobs,
                replications: run.replications,
                predict: run.predict,
                threads: 2,
                ..Control::default()
            };
            let cut = Control {
                horizon: run.duration.map(|duration| duration.min(Span(20_000_000_000))),
                precision: None,
                max_jobs: 20_000,
                replications: 2,
                ..whole.clone()
            };
            let control = |always_routed| Control { always_routed, ..if is_whole { &whole } else { &cut }.clone() };
            let [direct, routed] = [false, true].map(|always_routed| {
                sojourn_sim::run(&asked.system, &asked.workload, &control(always_routed), &|_| {})
                    .unwrap_or_else(|e| panic!("{}: {e}", file.display()))
            });
            assert_eq!(direct, routed, "{}: {}", file.display(), variant.label());
            compared += 1;
        }
    }
    assert!(compared >= 20, "{compared} systems");
}
