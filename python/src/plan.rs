//! The cheapest system that meets its objectives.

use std::path::PathBuf;

use pyo3::prelude::*;
use sojourn_lab::Context;

use crate::attend::{Ended, attended};
use crate::error;
use crate::experiment::{Experiment, failure};
use crate::policy::{Registered, Trouble, catalogue};

/// The plan as JSON, and its folder.
#[pyfunction]
pub(crate) fn plan(
    py: Python<'_>,
    experiment: &Experiment,
    policies: Vec<Registered>,
    progress: Option<Bound<'_, PyAny>>,
    folder: PathBuf,
) -> PyResult<String> {
    let trouble = Trouble::new(None);
    let experiment = experiment.0.clone().with_policies(&catalogue(&policies, &trouble)?);
    let ended = attended(py, progress.as_ref(), &trouble, move |progress| {
        let context = Context {
            program: PathBuf::new(),
            out: Some(folder),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            command: format!("sojourn plan {}", experiment.file.display()),
            progress,
        };
        sojourn_lab::plan::plan(&experiment, &context)
    })?;
    match ended {
        Ended::Whole(found) => serde_json::to_string(&found.map_err(failure)?.1).map_err(error::run),
        Ended::Interrupted(_, raised) => Err(raised),
    }
}
