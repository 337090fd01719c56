//! An experiment from file to answer: the same question by theory, simulation and real sockets, in one table.
//!
//! [`Experiment`] is an experiment file with the command line's changes; its [`Variant`]s are read and checked by [`spec`];
//! [`run`] asks each engine about each variant and writes a run [`folder`], whose [`report`] is for people. The crate
//! connects the others and contains none of their logic. The price: it depends on all of them.
//!
//! # 1. An experiment and its variants
//!
//! Whatever can be written in the file can be varied, and each variant is checked as if it were typed by hand:
//!
//! ```
//! use std::path::Path;
//! use sojourn_lab::Experiment;
//!
//! let text = r#"
//! name = "two servers"
//! [workload]
//! kind = "open"
//! arrivals = "exponential(utilization = 0.7)"
//! [[system.tier]]
//! face = "gateway"
//! policy = "random"
//! targets = { servers = 2 }
//! [system.server]
//! discipline = "ps"
//! demand = "exponential(mean = 10 ms)"
//! [vary]
//! policy = ["random", "least-connections"]
//! "#;
//! let variants = Experiment::new(Path::new("two.toml"), text.into(), &["servers=3".into()])?.variants()?;
//! let labels: Vec<String> = variants.iter().map(|variant| variant.label()).collect();
//! assert_eq!(labels, ["random", "least-connections"]);
//! assert_eq!(variants[0].experiment.system().expect("it has servers").system.hosts.len(), 3);
//!
//! let wrong = text.replace("targets", "target");
//! let refused = Experiment::new(Path::new("two.toml"), wrong, &[])?.variants().unwrap_err().to_string();
//! assert!(refused.starts_with("two.toml:9: ") && refused.contains("did you mean `targets`?"), "{refused}");
//! # Ok::<(), sojourn_lab::SpecError>(())
//! ```
//!
//! # 2. A run
//!
//! Theory and simulation run in this process. The parts of a live run are children of the program that
//! [`Context::program`] names, which is the command line's.
//!
//! ```
//! use std::path::Path;
//! use std::sync::Arc;
//! use std::sync::atomic::AtomicBool;
//! use sojourn_lab::{Context, Engine, Folder, Experiment, run};
//!
//! # let text = r#"
//! # name = "two servers"
//! # [workload]
//! # kind = "open"
//! # arrivals = "exponential(utilization = 0.7)"
//! # [[system.tier]]
//! # face = "gateway"
//! # policy = "random"
//! # targets = { servers = 2 }
//! # [system.server]
//! # discipline = "ps"
//! # demand = "exponential(mean = 10 ms)"
//! # "#;
//! let folder = tempfile::tempdir()?;
//! let context = Context {
//!     program: "sojourn".into(),
//!     out: Some(folder.path().join("run")),
//!     threads: 1,
//!     cancel: Arc::new(AtomicBool::new(false)),
//!     command: "an example".into(),
//!     progress: &|_| {},
//! };
//! let source = Experiment::new(Path::new("two.toml"), text.into(), &[])?;
//! let (path, answered) = run(&source, Some(&[Engine::Theory, Engine::Sim]), &context)?;
//! let mean = |engine| answered.rows(0, engine).find(|row| row.measure.metric == "response_time_mean");
//! let [theory, sim] = ["theory", "sim"].map(|engine| mean(engine).expect("it answers").measure.estimate.clone());
//! assert!((theory.value().unwrap() - 0.01 / 0.3).abs() < 1e-9, "M/M/1: 10 ms over 1 - 0.7");
//! assert!(sim.interval().is_some());
//!
//! // The run folder is the interface: it is read back whole, and has a report that opens from disk.
//! assert_eq!(Folder::read(&path)?.outcomes.len(), answered.outcomes.len());
//! assert!(path.join("report.html").exists());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # 3. What must hold
//!
//! An [`Objective`](objective::Objective) is judged by the unfavourable end of an interval; [`plan`] searches the
//! cheapest system that meets its objectives, [`search`] the highest load that does, and [`compare`] says whether two runs
//! differ, by how much, and how small a difference could have been seen.
//!
//! ```
//! use sojourn_lab::objective::{Judgement, Objective};
//! use sojourn_stats::Estimate;
//!
//! let objective = Objective::parse("p99 < 50 ms")?;
//! let estimate = |ci_high| Estimate::Sampled { value: 0.045, ci_low: 0.041, ci_high, samples: 10_000 };
//! assert_eq!(objective.judge(&estimate(0.049)), Judgement::Holds);
//! assert_eq!(objective.judge(&estimate(0.051)), Judgement::Undecided);
//! # Ok::<(), sojourn_lab::SpecError>(())
//! ```

mod answer;
pub mod compare;
mod engine;
mod error;
pub mod folder;
pub mod host;
pub mod objective;
pub mod outcome;
pub mod plan;
pub mod report;
mod run;
pub mod search;
pub mod spec;
mod topology;
pub mod variants;

pub use answer::{Answer, FAILED, PathDelay, Place};
pub use engine::live::bed::needs_bed;
pub use engine::live::facts as load_facts;
pub use folder::{Folder, Verdict};
pub use run::{Context, Progress, RunError, run};
pub use spec::{Engine, Spec, SpecError};
pub use topology::topology;
pub use variants::{Experiment, Variant};

/// The README's example, tested with those above.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
