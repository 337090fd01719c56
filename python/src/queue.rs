//! One queue, by formula and by simulation.

use std::sync::Arc;

use pyo3::prelude::*;
use sojourn_lab::queue::{Columns, QueueSettings};
use sojourn_stats::Measure;

use crate::attend::{Ended, attended};
use crate::column::Column;
use crate::policy::Trouble;
use crate::{error, frame};

/// metric, unit, estimate, ci_low, ci_high, samples, method, note.
type Row = (String, String, Option<f64>, Option<f64>, Option<f64>, Option<u64>, &'static str, Option<String>);

/// Rows and notes of `theory` and of `sim`, none of one that was not asked.
type Both = (Option<(Vec<Row>, Vec<String>)>, Option<(Vec<Row>, Vec<String>)>);

/// Asks theory, of means alone where `means_only`, and where `jobs` says how many, the simulation. `columns`: gaps and
/// services, which stay where they are, and their unit.
#[pyfunction]
#[pyo3(signature = (
    notation, arrivals, service, columns, sizes, every, classes, theory, means_only, jobs, warm_up, seed, predict
))]
pub(crate) fn queue(
    py: Python<'_>,
    notation: &str,
    arrivals: Option<String>,
    service: Option<String>,
    columns: Option<(Column, Column, String)>,
    sizes: Vec<String>,
    every: bool,
    classes: Vec<String>,
    theory: bool,
    means_only: bool,
    jobs: Option<u64>,
    warm_up: Option<u64>,
    seed: u64,
    predict: Option<String>,
) -> PyResult<Both> {
    let columns = columns.map(|(gaps, demands, unit)| Columns::new(Arc::new(gaps), Arc::new(demands), &unit));
    let settings = QueueSettings {
        arrivals,
        service,
        columns: columns.transpose().map_err(error::input)?,
        sizes,
        all: every,
        means_only,
        classes,
        warm_up,
        seed,
        predict,
        jobs: jobs.unwrap_or(1_000_000),
        ..QueueSettings::new(notation)
    };
    let known = match theory {
        true => {
            let answer = settings.theory().map_err(error::input)?;
            Some((rows(&answer.measures), answer.notes))
        }
        false => None,
    };
    if jobs.is_none() {
        return Ok((known, None));
    }
    settings.check_sim().map_err(error::input)?;
    let trouble = Trouble::new(None);
    let cancel = Arc::clone(&trouble.cancel);
    match attended(py, None, &trouble, move |_| settings.sim(&cancel, &|_| {}))? {
        Ended::Whole(report) => {
            let report = report.map_err(error::input)?;
            Ok((known, Some((rows(&report.measures), report.notes))))
        }
        Ended::Interrupted(_, raised) => Err(raised),
    }
}

fn rows(measures: &[Measure]) -> Vec<Row> {
    let row = |measure: &Measure| {
        let Measure { metric, unit, estimate } = measure.within_range();
        let (low, high) = estimate.interval().unzip();
        let samples = frame::samples(&estimate);
        (metric, unit, estimate.value(), low, high, samples, frame::method(&estimate), frame::note(&estimate))
    };
    measures.iter().map(row).collect()
}
