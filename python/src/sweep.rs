//! The points of a sweep, and what is known of them.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use sojourn_lab::sweep::{Store, Sweep as Points};
use sojourn_lab::{Engine, RunError};

use crate::answers::Answers;
use crate::attend::{Ended, attended};
use crate::error;
use crate::experiment::Experiment;
use crate::policy::{Registered, Trouble, catalogue};

/// A sweep with its store. What people use is `sojourn.sweep`.
#[pyclass(frozen, module = "sojourn._sojourn")]
pub(crate) struct Sweep {
    policies: Vec<Registered>,
    points: Points,
    /// None once it is closed, so that another sweep may have it.
    store: Mutex<Option<Store>>,
    /// What was known when it was closed.
    answers: Mutex<Option<Answers>>,
}

#[pymethods]
impl Sweep {
    /// `code`: what else the answers hang on; `store`: a file, else what is known ends with this; `independent`: axes with
    /// random numbers of their own; `budget`: requests that all points together may simulate.
    #[new]
    fn new(
        experiment: &Experiment,
        engines: Vec<String>,
        policies: Vec<Registered>,
        code: String,
        store: Option<&str>,
        independent: Vec<String>,
        budget: Option<u64>,
    ) -> PyResult<Sweep> {
        let by = Engine::parse_list(&engines.join(",")).map_err(error::input)?;
        let points = Points::new(&experiment.0, &by, &code).map_err(error::input)?;
        let points = points.independent(&independent).map_err(error::input)?;
        let points = match budget {
            Some(budget) => points.within_budget(budget).map_err(error::input)?,
            None => points,
        };
        let store = store.map_or_else(|| Ok(Store::memory()), |path| Store::open(Path::new(path)));
        let store = Mutex::new(Some(store.map_err(error::input)?));
        Ok(Sweep { policies, points, store, answers: Mutex::default() })
    }

    fn __len__(&self) -> usize {
        self.points.points().len()
    }

    /// What is to be asked now: numbers of points, and how many requests each is to simulate, where that is not the experiment's
    /// own affair. Once all of it is known there may be more.
    fn due(&self) -> PyResult<Vec<(usize, Option<u64>)>> {
        let store = self.store();
        Ok(self.points.due(store.as_ref().ok_or_else(closed)?.records()))
    }

    /// The record of the point of this number with so many requests, as text.
    #[pyo3(signature = (number, requests, threads, patience_s))]
    fn ask(
        &self,
        py: Python<'_>,
        number: usize,
        requests: Option<u64>,
        threads: Option<usize>,
        patience_s: Option<f64>,
    ) -> PyResult<String> {
        let trouble = Trouble::new(patience_s);
        let known = catalogue(&self.policies, &trouble)?;
        let threads = threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
        let by = self.points.by().to_vec();
        let Some(point) = self.points.point(number, requests) else {
            return Err(error::input(format!("there is no point {number}: there are {}", self.points.points().len())));
        };
        let point = point.with(&known, threads);
        let ended = attended(py, None, &trouble, move |progress| point.ask(&by, progress))?;
        match ended {
            Ended::Whole(Ok(record)) => serde_json::to_string(&record).map_err(error::run),
            Ended::Whole(Err(RunError::Spec(wrong))) => Err(error::input(wrong)),
            Ended::Whole(Err(other)) => Err(error::run(other)),
            Ended::Interrupted(_, raised) => Err(raised),
        }
    }

    /// Keeps a record.
    fn put(&self, record: &str) -> PyResult<()> {
        self.store().as_mut().ok_or_else(closed)?.put_text(record.trim_end()).map_err(error::run)
    }

    /// The answers of all points of which something is known.
    fn answers(&self) -> PyResult<Answers> {
        if let Some(answers) = &*self.answers.lock().unwrap_or_else(PoisonError::into_inner) {
            return Ok(answers.clone());
        }
        let store = self.store();
        let records = store.as_ref().ok_or_else(closed)?.records();
        let failed = self.points.failures(records);
        Ok(Answers::with_failures(self.points.answers(records), failed))
    }

    /// Lets go of the store.
    fn close(&self) -> PyResult<()> {
        if self.store().is_some() {
            let last = self.answers()?;
            *self.answers.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
            *self.store() = None;
        }
        Ok(())
    }
}

impl Sweep {
    fn store(&self) -> MutexGuard<'_, Option<Store>> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn closed() -> PyErr {
    error::run("this sweep is over")
}
