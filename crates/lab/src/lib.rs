//! An experiment from file to answer: the same question by theory, simulation and real sockets, in one table.
//!
//! [`Experiment`] is an experiment file with changes; its [`Variant`]s are read and checked by [`spec`]. It asks the
//! engines about each of them, and what they say is [`Answers`]: in memory, in a run [`folder`] and in a [`report`]. The
//! crate connects the others and contains none of their logic. The price: it depends on all of them.
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
//! # 2. Answers
//!
//! Theory and simulation run in this process, without a folder and without children:
//!
//! ```
//! # let file = tempfile::tempdir()?;
//! # std::env::set_current_dir(&file)?;
//! # std::fs::write("two.toml", r#"
//! # name = "two servers"
//! # [workload]
//! # kind = "open"
//! # arrivals = "exponential(utilization = 0.7)"
//! # [[system.tier]]
//! # face = "gateway"
//! # policy = "round-robin"
//! # targets = { servers = 2 }
//! # [system.server]
//! # discipline = "ps"
//! # demand = "exponential(mean = 10 ms)"
//! # "#)?;
//! use sojourn_lab::prelude::*;
//!
//! let experiment = Experiment::read("two.toml")?.set("policy", "random")?;
//! let answers = experiment.ask([Engine::Theory, Engine::Sim], &Progress::none())?;
//! for answer in &answers {
//!     let mean = answer.metric(Metric::RESPONSE_TIME_MEAN)?;
//!     println!("{} {}: {:.1} to {:.1} ms", answer.variant, answer.engine, 1e3 * mean.low(), 1e3 * mean.high());
//!     let known = 0.01 / 0.3; // M/M/1: 10 ms over 1 - 0.7
//!     assert!((mean.value() / known - 1.0).abs() < 0.1);
//! }
//!
//! // Only who wants it: a run folder, with tables and a report that opens from disk. It opens into the same shape.
//! answers.write("runs/mine")?;
//! assert_eq!(Answers::open("runs/mine")?, answers);
//! assert!(std::path::Path::new("runs/mine/report.html").exists());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`run()`] does the same beside a run folder, and can ask live: its parts are children of the program that
//! [`Context::program`] names, which is the command line's.
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

mod after_failures;
mod answer;
pub mod compare;
mod engine;
mod error;
mod exact;
pub mod folder;
mod heavy;
pub mod host;
mod judged;
pub mod objective;
pub mod outcome;
pub mod plan;
pub mod queue;
mod range;
pub mod report;
mod run;
pub mod scan;
pub mod search;
pub mod spec;
pub mod sweep;
mod topology;
pub mod variants;

pub use after_failures::after_failures;
pub use answer::{
    Answer, Answers, Bounds, FAILED, FAILURES, Flow, Metric, MetricOverTime, NoMetric, OF_FAULTS, ObjectiveAnswer,
    Trust, VariantAnswers, Verdict,
};
pub use engine::live::bed::needs_bed;
pub use engine::live::facts as load_facts;
pub use exact::missed;
pub use report::number::{between, is_share, outwards, plus_minus};
pub use run::{Context, Progress, RunError, Step, run};
pub use spec::{Engine, Spec, SpecError};
pub use topology::topology;
pub use variants::{Experiment, Variant};

/// What a caller needs who asks about an experiment.
pub mod prelude {
    pub use crate::{Answer, Answers, Engine, Experiment, Metric, Progress};
}

/// The README's example, tested with those above.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
