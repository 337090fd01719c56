//! How sharp a fit is: the curvature of the likelihood at its peak.

use nalgebra::DMatrix;

use super::{Parameter, Sample, Shape};
use crate::interval::{normal_quantile, ratio};
use crate::measure::CONFIDENCE;

/// The parameters with their intervals: from the inverse of the observed information in the coordinates of
/// [`Shape::coordinates`], by central differences, carried back to the parameters. The share of a body is binomial. An
/// extreme of the sample has no interval.
pub(super) fn parameters(shape: &Shape, sample: &Sample) -> Vec<Parameter> {
    let coordinates = shape.coordinates();
    let variances = variances(shape, sample, &coordinates);
    let z = normal_quantile(0.5 + 0.5 * CONFIDENCE);
    let named = shape.named();
    let end = |index: usize, sign: f64| {
        let mut at: Vec<f64> = coordinates.iter().map(|(place, _)| *place).collect();
        at[index] += sign * z * variances[index].sqrt();
        shape.at(&at).named()[index].1
    };
    let parameter = |(index, (name, value)): (usize, (&'static str, f64))| {
        let (ci_low, ci_high) = match (name, index < coordinates.len()) {
            (_, true) => (end(index, -1.0), end(index, 1.0)),
            ("share_body", false) => {
                let n = sample.count();
                ratio((value * n).round() as u64, n as u64, CONFIDENCE).unwrap_or((value, value))
            }
            _ => (value, value),
        };
        Parameter { name, value, ci_low, ci_high }
    };
    named.into_iter().enumerate().map(parameter).collect()
}

/// Variances of the coordinates; infinite where the likelihood is flat.
fn variances(shape: &Shape, sample: &Sample, coordinates: &[(f64, f64)]) -> Vec<f64> {
    let places: Vec<f64> = coordinates.iter().map(|(place, _)| *place).collect();
    let moved = |moves: &[(usize, f64)]| {
        let mut at = places.clone();
        for (index, sign) in moves {
            at[*index] += sign * coordinates[*index].1;
        }
        shape.at(&at).log_likelihood(sample)
    };
    let peak = moved(&[]);
    let information = DMatrix::from_fn(places.len(), places.len(), |row, column| {
        let steps = coordinates[row].1 * coordinates[column].1;
        if row == column {
            -(moved(&[(row, 1.0)]) - 2.0 * peak + moved(&[(row, -1.0)])) / steps
        } else {
            let (along, across) = (moved(&[(row, 1.0), (column, 1.0)]), moved(&[(row, 1.0), (column, -1.0)]));
            let (against, back) = (moved(&[(row, -1.0), (column, 1.0)]), moved(&[(row, -1.0), (column, -1.0)]));
            -(along - across - against + back) / (4.0 * steps)
        }
    });
    match information.try_inverse() {
        Some(inverse) => (0..places.len())
            .map(|index| inverse[(index, index)])
            .map(|variance| if variance > 0.0 { variance } else { f64::INFINITY })
            .collect(),
        None => vec![f64::INFINITY; places.len()],
    }
}
