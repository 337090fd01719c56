//! An experiment from file to answer.
//!
//! [`Source`] is an experiment file with the command line's changes; its [`Variant`]s are read and checked by
//! [`spec`]; [`run`] asks each engine about each variant and writes a run [`folder`], whose [`report`] is for people.
//! None of the crates' logic is in here.

mod answer;
pub mod compare;
mod engine;
pub mod folder;
pub mod host;
pub mod objective;
pub mod outcome;
pub mod plan;
pub mod report;
mod run;
pub mod search;
pub mod spec;
pub mod variants;

pub use answer::{Answer, PathDelay};
pub use engine::live::facts as load_facts;
pub use folder::{Folder, Verdict};
pub use run::{Context, Progress, RunError, run};
pub use spec::{Engine, Experiment, SpecError};
pub use variants::{Source, Variant};
