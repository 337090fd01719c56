//! Columns of numbers and logs: what is in them.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sojourn_stats::{Dimension, Fgn, Stream, quantity};
use sojourn_traffic::describe::{Numbers, describe, describe_capture, describe_har};
use sojourn_traffic::{Input, fit};

use crate::column::Column;
use crate::error;

/// Ten estimates of the Hurst parameter and the verdict, as JSON.
#[pyfunction]
pub(crate) fn hurst(py: Python<'_>, series: Column) -> PyResult<String> {
    let series = series.finite()?;
    let found = py.detach(|| sojourn_stats::hurst::estimate(&series)).map_err(error::input)?;
    serde_json::to_string(&found).map_err(error::run)
}

/// A path of fractional Gaussian noise, standard, as the bytes of doubles.
#[pyfunction]
pub(crate) fn fgn<'py>(py: Python<'py>, points: usize, h: f64, seed: u64) -> PyResult<Bound<'py, PyBytes>> {
    let path = py.detach(|| Fgn::new(h, points).map(|mut fgn| fgn.path(&mut Stream::new(seed, "python", "fgn"))));
    let path = path.map_err(error::input)?;
    let bytes: Vec<u8> = path.iter().flat_map(|number| number.to_ne_bytes()).collect();
    Ok(PyBytes::new(py, &bytes))
}

/// Numbers in a unit, in its SI unit.
fn numbers(series: &Column, unit: Option<&str>) -> PyResult<(Numbers, Dimension)> {
    let column = Numbers { values: series.finite()?, ..Numbers::default() };
    let Some(unit) = unit else { return Ok((column, Dimension::Number)) };
    let read = quantity::parse_any(&format!("1 {unit}")).map_err(|e| error::input(format!("unit: {e}")))?;
    Ok((column.scaled(read.0), read.1))
}

/// What a column of numbers holds, as JSON.
#[pyfunction]
#[pyo3(signature = (series, unit = None))]
pub(crate) fn describe_numbers(py: Python<'_>, series: Column, unit: Option<&str>) -> PyResult<String> {
    let (column, dimension) = numbers(&series, unit)?;
    let found = py.detach(|| sojourn_traffic::describe::describe_numbers(&column, dimension));
    serde_json::to_string(&found).map_err(error::run)
}

/// The law that fits a column of numbers, as text.
#[pyfunction]
#[pyo3(signature = (series, unit = None))]
pub(crate) fn fit_numbers(py: Python<'_>, series: Column, unit: Option<&str>) -> PyResult<String> {
    let (column, dimension) = numbers(&series, unit)?;
    py.detach(|| fit::of_numbers(&column, dimension)).map_err(error::input)
}

fn read(files: &[PathBuf]) -> PyResult<Input> {
    Input::read_all(files, None, None).map_err(error::input)
}

/// What is in logs, in a capture, in archives of browsers or in a file with a column of numbers: as JSON, with what a reader
/// must know.
#[pyfunction]
pub(crate) fn describe_files(py: Python<'_>, files: Vec<PathBuf>) -> PyResult<(String, Vec<String>)> {
    py.detach(|| {
        let (found, warnings) = match read(&files)? {
            Input::Log(log) => (describe(&log), log.warnings()),
            Input::Capture(capture) => (describe_capture(&capture), capture.warnings()),
            Input::Numbers(column) => {
                (sojourn_traffic::describe::describe_numbers(&column, Dimension::Number), Vec::new())
            }
            Input::Har(har) => (describe_har(&har), har.warnings()),
        };
        Ok((serde_json::to_string(&found).map_err(error::run)?, warnings))
    })
}

/// The workload that fits logs or a capture, or the law that fits a column, as text.
#[pyfunction]
pub(crate) fn fit_files(py: Python<'_>, files: Vec<PathBuf>) -> PyResult<String> {
    let name = files.first().and_then(|file| Some(file.file_name()?.to_string_lossy().into_owned()));
    let name = name.unwrap_or_default();
    py.detach(|| {
        let text = match read(&files)? {
            Input::Log(log) => fit::of_log(&log, &name),
            Input::Capture(capture) => fit::of_capture(&capture, &name),
            Input::Numbers(column) => fit::of_numbers(&column, Dimension::Number),
            Input::Har(_) => {
                let right = "sessions of browsers are a workload as they are: kind = \"session-file\" with har = ";
                return Err(error::input(format!("{name}: {right}\"{name}\"")));
            }
        };
        text.map_err(error::input)
    })
}
