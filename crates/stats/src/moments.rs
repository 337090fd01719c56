//! Mean and variance of a stream of numbers in constant memory.

use serde::{Deserialize, Serialize};

/// Count, mean, variance and extremes of the numbers pushed, by Welford's recurrence (Technometrics 4(3), 1962); two
/// of them merge by Chan, Golub and LeVeque's (Am. Statistician 37(3), 1983). A division per number is the price of
/// not losing digits when the mean is large beside the spread.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moments {
    count: u64,
    mean: f64,
    squares: f64,
    min: f64,
    max: f64,
}

impl Moments {
    /// Of no numbers yet.
    pub const fn new() -> Moments {
        Moments { count: 0, mean: 0.0, squares: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY }
    }

    /// Takes in one number.
    #[inline]
    pub fn push(&mut self, value: f64) {
        self.count += 1;
        let off = value - self.mean;
        self.mean += off / self.count as f64;
        self.squares += off * (value - self.mean);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Takes in all numbers of `other`.
    pub fn merge(&mut self, other: &Moments) {
        if other.count == 0 {
            return;
        }
        let (ours, theirs) = (self.count as f64, other.count as f64);
        let all = ours + theirs;
        let apart = other.mean - self.mean;
        self.mean += apart * theirs / all;
        self.squares += other.squares + apart * apart * ours * theirs / all;
        self.count += other.count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// How many numbers.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their mean; 0 of none.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Their sample variance (divisor n - 1); 0 of fewer than two.
    pub fn variance(&self) -> f64 {
        if self.count < 2 { 0.0 } else { self.squares / (self.count - 1) as f64 }
    }

    /// The smallest; infinite of none.
    pub fn min(&self) -> f64 {
        self.min
    }

    /// The largest; minus infinite of none.
    pub fn max(&self) -> f64 {
        self.max
    }
}

impl Default for Moments {
    fn default() -> Moments {
        Moments::new()
    }
}

impl FromIterator<f64> for Moments {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Moments {
        let mut moments = Moments::new();
        values.into_iter().for_each(|value| moments.push(value));
        moments
    }
}
