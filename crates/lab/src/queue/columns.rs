//! Gaps and demands in memory: two columns of doubles that stand elsewhere, as arrays of another language, and are read
//! in place.

use std::fmt;
use std::sync::Arc;

use sojourn_stats::{Dimension, Span, quantity};

use super::wrong;
use crate::error::SpecError;

/// Doubles of this machine, one after another.
pub type Block = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// A gap and a demand for each job, in one unit.
#[derive(Clone)]
pub struct Columns {
    gaps: Block,
    demands: Block,
    unit_s: f64,
    span_s: f64,
    demand_mean_s: f64,
}

/// Longer than any trace (s): nanoseconds since its start must be a number of 64 bits.
const LONGEST_S: f64 = 1.8e10;

impl Columns {
    /// The time before each job, and its work on one core, both in `unit`.
    ///
    /// # Errors
    /// When there are no jobs or not as many gaps as demands, a number is missing, infinite or below 0, all gaps are 0,
    /// together they are longer than any trace, or the unit is none of time: one line that says which.
    pub fn new(gaps: Block, demands: Block, unit: &str) -> Result<Columns, SpecError> {
        let (unit_s, dimension) =
            quantity::parse_any(&format!("1 {unit}")).map_err(|error| wrong(format!("unit: {error}")))?;
        if dimension != Dimension::Time {
            return Err(wrong(format!("unit = {unit}: gaps and services are times, such as in ms")));
        }
        let [count, others] = [&gaps, &demands].map(|block| block.as_ref().as_ref().len() / 8);
        if count != others {
            return Err(wrong(format!(
                "arrivals has {count} gaps and service {others} times: each job has one of each"
            )));
        }
        let [span, work] = [("arrivals", &gaps), ("service", &demands)].map(|(name, block)| sum(name, block));
        let (span_s, work_s) = (span? * unit_s, work? * unit_s);
        if count == 0 || span_s == 0.0 {
            return Err(wrong("arrivals: a trace has gaps, not all of them 0"));
        }
        if span_s > LONGEST_S {
            let years = span_s / 31_557_600.0;
            return Err(wrong(format!(
                "arrivals: the gaps together are {years:.0} years: are they instants, or in another unit than {unit}?"
            )));
        }
        Ok(Columns { gaps, demands, unit_s, span_s, demand_mean_s: work_s / count as f64 })
    }

    /// The gap and the demand of each job.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (Span, Span)> + '_ {
        let span = |number: f64| Span::from_secs_f64(number * self.unit_s);
        doubles(&self.gaps).zip(doubles(&self.demands)).map(move |(gap, demand)| (span(gap), span(demand)))
    }

    pub(super) fn demand_mean_s(&self) -> f64 {
        self.demand_mean_s
    }
}

impl fmt::Debug for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Columns {{ span_s: {}, demand_mean_s: {} }}", self.span_s, self.demand_mean_s)
    }
}

fn doubles(block: &Block) -> impl Iterator<Item = f64> + '_ {
    let of = |eight: &[u8]| f64::from_ne_bytes(eight.try_into().expect("doubles have eight bytes"));
    block.as_ref().as_ref().chunks_exact(8).map(of)
}

/// The sum of a column all of whose numbers are times.
fn sum(name: &str, block: &Block) -> Result<f64, SpecError> {
    let mut sum = 0.0;
    for (at, number) in doubles(block).enumerate() {
        if !(number >= 0.0 && number.is_finite()) {
            return Err(wrong(format!(
                "{name}[{at}] is {number}: a time is a number from 0 on; leave out what is missing"
            )));
        }
        sum += number;
    }
    Ok(sum)
}
