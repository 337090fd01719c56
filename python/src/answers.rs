//! Answers in memory, in a folder and as Arrow.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, Float64Array, RecordBatch, RecordBatchIterator, StringArray, UInt64Array};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};
use sojourn_lab::Engine;
use sojourn_lab::report::Said;

use crate::experiment::Texts;
use crate::{error, frame};

/// What an experiment's engines answered. What people use is `sojourn.Answers`.
#[pyclass(frozen, module = "sojourn._sojourn")]
#[derive(Clone)]
pub(crate) struct Answers {
    pub(crate) answers: Arc<sojourn_lab::Answers>,
    /// Variants that have none, by their number, and why; of sweeps only.
    failed: Arc<Vec<(usize, String)>>,
    /// Them as rows, once these were asked for.
    rows: Arc<OnceLock<RecordBatch>>,
}

impl Answers {
    pub(crate) fn new(answers: sojourn_lab::Answers) -> Answers {
        Answers::with_failures(answers, Vec::new())
    }

    pub(crate) fn with_failures(answers: sojourn_lab::Answers, failed: Vec<(usize, String)>) -> Answers {
        Answers { answers: Arc::new(answers), failed: Arc::new(failed), rows: Arc::default() }
    }

    fn rows(&self) -> PyResult<RecordBatch> {
        if let Some(known) = self.rows.get() {
            return Ok(known.clone());
        }
        let rows = frame::rows(&self.answers, &self.failed).map_err(error::run)?;
        Ok(self.rows.get_or_init(|| rows).clone())
    }
}

#[pymethods]
impl Answers {
    #[staticmethod]
    fn open(path: PathBuf) -> PyResult<Answers> {
        sojourn_lab::Answers::open(path).map(Answers::new).map_err(error::input)
    }

    fn write(&self, path: PathBuf) -> PyResult<()> {
        self.answers.write(path).map_err(error::input)
    }

    /// The rows through Arrow's C stream interface, as a capsule.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // As the interface allows: a schema that is asked for is a wish.
        let _ = requested_schema;
        let rows = self.rows()?;
        let schema = rows.schema();
        let reader = RecordBatchIterator::new([Ok(rows)], schema);
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }

    /// The same rows as Python's own values: names, and the values of each column.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyList>)>> {
        let rows = self.rows()?;
        let names = rows.schema().fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>();
        names.into_iter().zip(rows.columns()).map(|(name, column)| Ok((name, list(py, &**column)?))).collect()
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.rows()?.num_rows())
    }

    #[getter]
    fn name(&self) -> &str {
        &self.answers.name
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.answers.seed
    }

    #[getter]
    fn verdict(&self) -> &'static str {
        self.answers.verdict.word()
    }

    #[getter]
    fn reasons(&self) -> Vec<String> {
        self.answers.reasons.clone()
    }

    #[getter]
    fn settings(&self) -> Vec<String> {
        self.answers.settings.clone()
    }

    #[getter]
    fn spec(&self) -> &str {
        &self.answers.spec
    }

    #[getter]
    fn command(&self) -> &str {
        &self.answers.command
    }

    #[getter]
    fn elapsed_s(&self) -> f64 {
        self.answers.elapsed_s
    }

    /// Label and settings of each variant.
    #[getter]
    fn variants(&self) -> Vec<(String, Texts)> {
        self.answers.variants.iter().map(|variant| (variant.label.clone(), variant.settings.clone())).collect()
    }

    /// Each remark once: the labels of the variants that it is of, the engine, and what it says.
    #[getter]
    fn notes(&self) -> Vec<(Vec<String>, &'static str, String)> {
        let (mut places, mut notes) = (HashMap::new(), Vec::<(Vec<String>, &'static str, String)>::new());
        for variant in &self.answers.variants {
            let said =
                variant.answers.iter().flat_map(|of| of.notes.iter().map(|note| (of.engine.name(), note.as_str())));
            for (engine, note) in said {
                let place = *places.entry((engine, note)).or_insert_with(|| {
                    notes.push((Vec::new(), engine, note.to_owned()));
                    notes.len() - 1
                });
                let variants = &mut notes[place].0;
                if variants.last() != Some(&variant.label) {
                    variants.push(variant.label.clone());
                }
            }
        }
        notes
    }

    /// The same for people, as reports have it: remarks that differ in numbers only once, of several numbers with those of the
    /// variant that has most.
    #[getter]
    fn remarks(&self) -> Vec<(Vec<String>, &'static str, String)> {
        let variants = &self.answers.variants;
        let label = |number: &usize| variants[*number].label.clone();
        let remarks = Said::of(variants, |_| true).notes.into_iter();
        remarks.map(|of| (of.variants.iter().map(label).collect(), of.engine.name(), of.told(variants))).collect()
    }

    /// (objective, variant's label, engine, whether it is met, the number that decides) of each.
    #[getter]
    fn objectives(&self) -> Vec<(String, String, &'static str, Option<bool>, String)> {
        let of = |one: &sojourn_lab::ObjectiveAnswer| {
            let label = self.answers.variants.get(one.variant).map_or(String::new(), |variant| variant.label.clone());
            (one.text.clone(), label, one.engine.name(), one.met, one.measured.clone())
        };
        self.answers.objectives.iter().map(of).collect()
    }

    /// The rows of `pairs.csv` as JSON.
    fn pairs(&self) -> String {
        serde_json::Value::from(self.answers.pairs_to_json()).to_string()
    }

    /// The distribution of the response time of a variant (its number) by an engine: seconds, and the share that took no longer.
    fn curve(&self, variant: usize, engine: &str) -> PyResult<Vec<(f64, f64)>> {
        let engine = Engine::named(engine).ok_or_else(|| error::input(format!("`{engine}` is no engine")))?;
        let of = self.answers.variants.get(variant).and_then(|variant| variant.answer(engine));
        Ok(of.map(|answer| answer.curve.clone()).unwrap_or_default())
    }

    /// The page that a run folder has as `report.html`.
    fn report(&self) -> String {
        sojourn_lab::report::render(&self.answers)
    }
}

fn list<'py>(py: Python<'py>, column: &dyn Array) -> PyResult<Bound<'py, PyList>> {
    let any = column.as_any();
    if let Some(texts) = any.downcast_ref::<StringArray>() {
        return PyList::new(py, texts.iter());
    }
    if let Some(counts) = any.downcast_ref::<UInt64Array>() {
        return PyList::new(py, counts.iter());
    }
    let numbers = any.downcast_ref::<Float64Array>().expect("rows have texts, counts and numbers");
    PyList::new(py, numbers.iter())
}
