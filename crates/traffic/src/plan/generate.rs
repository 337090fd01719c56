//! A plan written out as CSV, for other tools and for eyes.

use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use sojourn_stats::Time;
use thiserror::Error;

use super::Plan;
use crate::error::WorkloadError;
use crate::request::Demand;
use crate::workload::Workload;

/// How much of a plan to write: what comes first ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Until {
    /// At most so many requests.
    pub requests: u64,
    /// Only requests planned before this instant.
    pub end: Time,
}

impl Until {
    /// The first `requests` requests.
    pub fn requests(requests: u64) -> Until {
        Until { requests, end: Time::NEVER }
    }

    /// The requests planned before `end`.
    pub fn end(end: Time) -> Until {
        Until { requests: u64::MAX, end }
    }
}

/// Why a plan was not written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GenerateError {
    /// There is no plan.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// It could not be written.
    #[error("the plan could not be written: {0}")]
    Io(#[from] io::Error),
}

/// Writes the plan of `workload` under `seed` as CSV with the columns `at_s,client,class,object,size_bytes,demand_s` and
/// returns the number of requests written. Times have all their nine decimals: reading them back gives the very plan.
///
/// # Errors
/// As [`Plan::new`], and when `out` cannot be written.
pub fn generate(
    workload: &Workload,
    seed: u64,
    demand: Arc<dyn Demand>,
    until: Until,
    mut out: impl Write,
) -> Result<u64, GenerateError> {
    let plan = Plan::new(workload, seed, demand)?;
    write(plan, &workload.classes(), until, &mut out)
}

/// Not generic, so that it is compiled here, once and optimised.
fn write(plan: Plan, classes: &[&str], until: Until, out: &mut dyn Write) -> Result<u64, GenerateError> {
    let mut out = BufWriter::new(out);
    let mut written = 0;
    writeln!(out, "at_s,client,class,object,size_bytes,demand_s")?;
    // The count is checked first: a plan is not asked for a request that is not written.
    for planned in plan.take(usize::try_from(until.requests).unwrap_or(usize::MAX)) {
        if planned.at >= until.end {
            break;
        }
        let request = planned.request;
        writeln!(
            out,
            "{},{},{},{},{},{}",
            Decimal(planned.at.0),
            request.client,
            classes[usize::from(request.class)],
            request.object,
            request.size,
            Decimal(request.demand.0),
        )?;
        written += 1;
    }
    out.flush()?;
    Ok(written)
}

/// Nanoseconds, written exactly in seconds.
struct Decimal(u64);

impl std::fmt::Display for Decimal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:09}", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}
