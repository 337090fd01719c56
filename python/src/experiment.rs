//! Experiments and what the engines answer.

use std::path::PathBuf;

use pyo3::prelude::*;
use sojourn_lab::{Context, Engine, RunError, run};

use crate::answers::Answers;
use crate::attend::{Ended, attended};
use crate::error;
use crate::policy::{Registered, Trouble, catalogue};

/// Names and values.
pub(crate) type Texts = Vec<(String, String)>;

/// An experiment file with changes. What people use is `sojourn.Experiment`.
#[pyclass(frozen, module = "sojourn._sojourn")]
pub(crate) struct Experiment(pub(crate) sojourn_lab::Experiment);

#[pymethods]
impl Experiment {
    #[staticmethod]
    fn read(path: PathBuf) -> PyResult<Experiment> {
        sojourn_lab::Experiment::read(path).map(Experiment).map_err(error::input)
    }

    #[staticmethod]
    fn parse(text: String, file: PathBuf) -> PyResult<Experiment> {
        sojourn_lab::Experiment::new(&file, text, &[]).map(Experiment).map_err(error::input)
    }

    fn set(&self, key: &str, value: &str) -> PyResult<Experiment> {
        self.0.clone().set(key, value).map(Experiment).map_err(error::input)
    }

    fn vary(&self, key: &str, values: Vec<String>) -> PyResult<Experiment> {
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        self.0.clone().vary(key, &values).map(Experiment).map_err(error::input)
    }

    #[getter]
    fn text(&self) -> String {
        self.0.text()
    }

    #[getter]
    fn file(&self) -> PathBuf {
        self.0.file.clone()
    }

    /// Label and settings of each variant.
    fn variants(&self, py: Python<'_>, policies: Vec<Registered>) -> PyResult<Vec<(String, Texts)>> {
        let of = |variant: &sojourn_lab::Variant| {
            let settings = variant.settings.iter().map(|one| (one.key.clone(), one.value.clone())).collect();
            (variant.label(), settings)
        };
        self.of_variants(py, &policies, move |variants| variants.iter().map(of).collect())
    }

    /// The engines that the file names.
    fn engines(&self, py: Python<'_>, policies: Vec<Registered>) -> PyResult<Vec<&'static str>> {
        self.of_variants(py, &policies, |variants| {
            let first = variants.first().map(|variant| &variant.experiment.run.by);
            first.into_iter().flatten().map(|engine| engine.name()).collect()
        })
    }

    /// Asks `engines` and gives what they say, with the exception of an interruption. `program`: the command line's, which live
    /// needs; `folder`: where a run folder is written, which live needs too.
    #[allow(clippy::type_complexity, reason = "a pair that Python takes apart")]
    fn ask(
        &self,
        py: Python<'_>,
        engines: Vec<String>,
        policies: Vec<Registered>,
        progress: Option<Bound<'_, PyAny>>,
        program: Option<PathBuf>,
        folder: Option<PathBuf>,
        patience_s: Option<f64>,
        threads: Option<usize>,
    ) -> PyResult<(Option<Answers>, Option<Py<PyAny>>)> {
        let by = Engine::parse_list(&engines.join(",")).map_err(error::input)?;
        let trouble = Trouble::new(patience_s);
        let experiment = self.0.clone().with_policies(&catalogue(&policies, &trouble)?);
        let threads = threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
        let experiment = experiment.on_threads(threads);
        let ended = attended(py, progress.as_ref(), &trouble, move |progress| match folder {
            None => experiment.ask(by, progress),
            Some(folder) => {
                let command = format!("sojourn run {}", experiment.file.display());
                let program = program.unwrap_or_default();
                let context = Context { program, out: Some(folder), threads, command, progress };
                run(&experiment, Some(&by), &context).map(|(_, answers)| answers)
            }
        })?;
        match ended {
            Ended::Whole(answers) => Ok((Some(Answers::new(answers.map_err(failure)?)), None)),
            Ended::Interrupted(answers, raised) => {
                let kept = answers.and_then(Result::ok).map(Answers::new);
                Ok((kept, Some(raised.into_value(py).into_any())))
            }
        }
    }
}

impl Experiment {
    /// What `of` takes from the variants. To read them makes objects of policies, and may take as long as their code does.
    fn of_variants<T: Send + 'static>(
        &self,
        py: Python<'_>,
        policies: &[Registered],
        of: impl FnOnce(&[sojourn_lab::Variant]) -> T + Send + 'static,
    ) -> PyResult<T> {
        let trouble = Trouble::new(None);
        let experiment = self.0.clone().with_policies(&catalogue(policies, &trouble)?);
        match attended(py, None, &trouble, move |_| experiment.variants().map(|read| of(&read)))? {
            Ended::Whole(read) => read.map_err(error::input),
            Ended::Interrupted(_, raised) => Err(raised),
        }
    }
}

pub(crate) fn failure(failed: RunError) -> PyErr {
    match failed {
        RunError::Spec(wrong) => error::input(wrong),
        other => error::run(other),
    }
}

/// A table of JSON as TOML.
#[pyfunction]
pub(crate) fn toml_of_json(json: &str) -> PyResult<String> {
    let value: toml::Value = serde_json::from_str(json).map_err(error::input)?;
    toml::to_string_pretty(&value).map_err(error::input)
}
