//! Gaps and demands in memory: two columns of doubles that stand elsewhere, as arrays of another language, and are read
//! in place.
//!
//! Who owns them may write into them meanwhile. They are read as atomics, which costs nothing and gives old or new numbers; and a
//! replay whose sums are not those of the numbers that were checked is an error, not an answer.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sojourn_stats::{Dimension, Span, quantity};

use super::wrong;
use crate::error::SpecError;

/// Doubles of this machine as their bits, one after another.
pub type Block = Arc<dyn AsRef<[AtomicU64]> + Send + Sync>;

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
        let [count, others] = [&gaps, &demands].map(|block| block.as_ref().as_ref().len());
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

    /// Refuses a replay of other gaps and demands than those that were checked: of `jobs` the last came after `span`, and they
    /// had `work_s` (s) in all.
    ///
    /// # Errors
    /// Where the numbers have changed since. A run that was cancelled has not read them all, and is not judged.
    pub(super) fn check_unchanged(&self, jobs: u64, span: Span, work_s: f64) -> Result<(), SpecError> {
        let count = self.gaps.as_ref().as_ref().len() as f64;
        // Each was rounded to a nanosecond, and sums of doubles lose at most a last digit with each number.
        let is_same = |sum: f64, checked: f64| (sum - checked).abs() <= count * (1e-9 + 2.0 * f64::EPSILON * checked);
        let are_same = is_same(span.as_secs_f64(), self.span_s) && is_same(work_s, self.demand_mean_s * count);
        if jobs as f64 == count && !are_same {
            let right = "leave the arrays alone until there is an answer";
            return Err(wrong(format!("arrivals and service were changed while they were replayed: {right}")));
        }
        Ok(())
    }
}

impl fmt::Debug for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Columns {{ span_s: {}, demand_mean_s: {} }}", self.span_s, self.demand_mean_s)
    }
}

fn doubles(block: &Block) -> impl Iterator<Item = f64> + '_ {
    block.as_ref().as_ref().iter().map(|bits| f64::from_bits(bits.load(Ordering::Relaxed)))
}

/// The sum of a column all of whose numbers are times.
fn sum(name: &str, block: &Block) -> Result<f64, SpecError> {
    let mut sum = 0.0;
    for (at, number) in doubles(block).enumerate() {
        if !(number >= 0.0 && number.is_finite()) {
            let shown = number.to_string().to_lowercase();
            let right = match number.is_finite() {
                true => "a time is a number from 0 on",
                false => "leave out what is missing or infinite",
            };
            return Err(wrong(format!("{name}[{at}] is {shown}: {right}")));
        }
        sum += number;
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::QueueSettings;

    /// Numbers, and what stands there from the second look on.
    struct Changing(Vec<AtomicU64>, Vec<AtomicU64>, AtomicU64);

    impl AsRef<[AtomicU64]> for Changing {
        fn as_ref(&self) -> &[AtomicU64] {
            // The length, the check, and then the replay.
            if self.2.fetch_add(1, Ordering::Relaxed) < 2 { &self.0 } else { &self.1 }
        }
    }

    fn block(first: &[f64], then: &[f64]) -> Block {
        let [first, then] = [first, then].map(|of| of.iter().map(|number| AtomicU64::new(number.to_bits())).collect());
        Arc::new(Changing(first, then, AtomicU64::new(0)))
    }

    fn replay(gaps: Block, demands: Block) -> Result<f64, SpecError> {
        let columns = Some(Columns::new(gaps, demands, "s")?);
        let report = QueueSettings { columns, ..QueueSettings::new("G/G/1") }.sim(&Arc::default(), &|_| {})?;
        let mean = report.measures.iter().find(|measure| measure.metric == "response_time_mean");
        Ok(mean.and_then(|mean| mean.estimate.value()).unwrap())
    }

    #[test]
    fn what_is_changed_while_it_is_replayed_is_no_answer() {
        let (gaps, demands) = ([2.0, 1.0, 1.0], [1.0, 2.0, 1.0]);
        // 1 s, 2 s, and 1 s after a wait of 1 s.
        assert_eq!(replay(block(&gaps, &gaps), block(&demands, &demands)).unwrap(), 5.0 / 3.0);
        for other in [[2.0, 1.0, 1.1], [2.0, 1.0, f64::NAN]] {
            let of_gaps = (block(&gaps, &other), block(&demands, &demands));
            let of_demands = (block(&gaps, &gaps), block(&demands, &other));
            for (gaps, demands) in [of_gaps, of_demands] {
                let refused = replay(gaps, demands).unwrap_err().to_string();
                assert!(refused.contains("were changed while they were replayed"), "{refused}");
            }
        }
    }

    #[test]
    fn the_first_number_that_is_no_time_is_named() {
        let good = [1.0, 1.0, 1.0];
        for (wrong, says) in [
            ([1.0, f64::NAN, 1.0], "arrivals[1] is nan: leave out what is missing or infinite"),
            ([1.0, 1.0, f64::INFINITY], "arrivals[2] is inf: leave out what is missing or infinite"),
            ([-0.5, f64::NAN, 1.0], "arrivals[0] is -0.5: a time is a number from 0 on"),
        ] {
            assert_eq!(replay(block(&wrong, &wrong), block(&good, &good)).unwrap_err().to_string(), says);
        }
    }
}
