//! Draws an index by given weights in constant time (Walker, ACM TOMS 3(3), 1977; built as by Vose, IEEE TSE 17(9),
//! 1991).
//!
//! One uniform number serves both the column and the choice inside it: of its 53 bits at least 20 are left for the
//! choice below 2^33 weights, so a weight is off by at most 1e-6 of an average one. The price is a table of 12 bytes
//! per weight.

use sojourn_stats::Stream;

/// A table of weights: an index is drawn from it in constant time.
#[derive(Clone, Debug)]
pub struct Alias {
    /// Share of the column that is its own, and whose the rest is.
    columns: Vec<(f64, u32)>,
}

impl Alias {
    /// The table of these weights, of which at least one is above 0 and none below.
    pub fn new(weights: &[f64]) -> Alias {
        let total: f64 = weights.iter().sum();
        let scale = weights.len() as f64 / total;
        let mut shares: Vec<f64> = weights.iter().map(|weight| weight * scale).collect();
        let mut columns: Vec<(f64, u32)> = (0..weights.len()).map(|index| (1.0, index as u32)).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..weights.len()).partition(|index| shares[*index] < 1.0);
        while let (Some(&less), Some(&more)) = (small.last(), large.last()) {
            small.pop();
            columns[less] = (shares[less], more as u32);
            shares[more] -= 1.0 - shares[less];
            if shares[more] < 1.0 {
                large.pop();
                small.push(more);
            }
        }
        // What rounding leaves over fills its own column.
        Alias { columns }
    }

    /// An index, drawn by weight.
    #[inline]
    pub fn sample(&self, stream: &mut Stream) -> u32 {
        let place = stream.uniform() * self.columns.len() as f64;
        let column = (place as usize).min(self.columns.len() - 1);
        let (own, other) = self.columns[column];
        if place - (column as f64) < own { column as u32 } else { other }
    }
}
