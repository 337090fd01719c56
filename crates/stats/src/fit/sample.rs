//! A sample as every fit needs it: distinct values in order, with their logarithms and how often each occurs.

use super::{FitError, LEAST};

/// More distinct values than this are grouped.
const DISTINCT_MOST: usize = 1 << 17;
/// Groups in an e-fold of values.
const GROUPS_PER_E_FOLD: f64 = 4096.0;

/// Positive numbers, sorted, equal ones counted.
#[derive(Clone, Debug)]
pub struct Sample {
    pub(super) values: Vec<f64>,
    pub(super) logs: Vec<f64>,
    pub(super) weights: Vec<f64>,
    count: f64,
    sum: f64,
    sum_of_logs: f64,
}

impl Sample {
    /// The sample of these numbers.
    ///
    /// # Errors
    /// As [`super::candidates`].
    pub fn new(numbers: &[f64]) -> Result<Sample, FitError> {
        if let Some(place) = numbers.iter().position(|number| !(*number > 0.0 && number.is_finite())) {
            return Err(FitError::NotPositive { place: place + 1, number: numbers[place].to_string() });
        }
        if numbers.len() < LEAST {
            return Err(FitError::TooFew { least: LEAST, found: numbers.len() });
        }
        let mut sorted = numbers.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        if sorted[0] == sorted[sorted.len() - 1] {
            return Err(FitError::Constant { found: sorted.len(), number: sorted[0].to_string() });
        }
        Ok(Sample::of_sorted(&sorted))
    }

    /// Of these values, each with how often it occurs, which may be no whole number.
    ///
    /// # Errors
    /// As [`super::candidates`].
    pub fn weighted(mut values: Vec<(f64, f64)>) -> Result<Sample, FitError> {
        if let Some(place) = values.iter().position(|(value, _)| !(*value > 0.0 && value.is_finite())) {
            return Err(FitError::NotPositive { place: place + 1, number: values[place].0.to_string() });
        }
        values.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
        let count: f64 = values.iter().map(|(_, weight)| weight).sum();
        if count < LEAST as f64 {
            return Err(FitError::TooFew { least: LEAST, found: count as usize });
        }
        if values[0].0 == values[values.len() - 1].0 {
            return Err(FitError::Constant { found: count as usize, number: values[0].0.to_string() });
        }
        Ok(Sample::of_groups(values, count))
    }

    /// Of numbers that are known to be sorted, positive, enough and not all the same.
    pub(super) fn of_sorted(sorted: &[f64]) -> Sample {
        let groups = sorted.chunk_by(|one, other| one == other).map(|equal| (equal[0], equal.len() as f64)).collect();
        Sample::of_groups(groups, sorted.len() as f64)
    }

    /// Of values in their order, each with how often it occurs: together `count` times.
    fn of_groups(mut groups: Vec<(f64, f64)>, count: f64) -> Sample {
        if groups.len() > DISTINCT_MOST {
            let group = |value: f64| (value.ln() * GROUPS_PER_E_FOLD).floor();
            groups = groups.chunk_by(|one, other| group(one.0) == group(other.0)).map(together).collect();
        }
        let (values, weights): (Vec<f64>, Vec<f64>) = groups.into_iter().unzip();
        let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        let weighted = |of: &[f64]| of.iter().zip(&weights).map(|(value, weight)| value * weight).sum::<f64>();
        Sample { count, sum: weighted(&values), sum_of_logs: weighted(&logs), values, logs, weights }
    }

    /// How many numbers.
    pub fn count(&self) -> f64 {
        self.count
    }

    /// Their mean.
    pub fn mean(&self) -> f64 {
        self.sum / self.count
    }

    /// The mean of their logarithms.
    pub fn mean_log(&self) -> f64 {
        self.sum_of_logs / self.count
    }

    /// The smallest.
    pub fn min(&self) -> f64 {
        self.values[0]
    }

    /// The largest.
    pub fn max(&self) -> f64 {
        self.values[self.values.len() - 1]
    }

    /// The sum over all numbers of `of` their value and their logarithm.
    pub(super) fn total(&self, of: impl Fn(f64, f64) -> f64) -> f64 {
        let terms = self.values.iter().zip(&self.logs).zip(&self.weights);
        terms.map(|((value, log), weight)| weight * of(*value, *log)).sum()
    }
}

/// Neighbours as their mean.
fn together(neighbours: &[(f64, f64)]) -> (f64, f64) {
    let weight: f64 = neighbours.iter().map(|(_, weight)| weight).sum();
    (neighbours.iter().map(|(value, weight)| value * weight).sum::<f64>() / weight, weight)
}
