//! What templates compute of cells replication by replication (live: block by block), so that what changes from one to the
//! next is in all of them alike; the result has replications again.

use minijinja::{Environment, Error, Value};
use sojourn_stats::{Moments, measure};

use super::cells::{Cell, wrong};
use super::values::{both, cell, cells_of, compare};
use crate::number::{Number, known};
use crate::verdict::{near, positive};

pub(super) fn add(environment: &mut Environment<'_>) {
    environment.add_function("over", |a: Value, b: Value| pairs(&a, &b, |a, b| a / b));
    environment.add_function("less", |a: Value, b: Value| pairs(&a, &b, |a, b| a - b));
    // The mean of several figures, each block's first.
    environment.add_filter("averaged", |of: Value| -> Result<Value, Error> {
        let count = cells_of(&of)?.len() as f64;
        Ok(cell(together(&cells_of(&of)?, |all| Some(all.iter().sum::<f64>() / count))))
    });
    // Intercept and slope of the line with the least squares, or with the least squares of errors relative to the figures.
    environment.add_function("line", |xs: Value, ys: Value, relative: Option<bool>| -> Result<Vec<Value>, Error> {
        let (xs, ys) = points(&xs, &ys)?;
        let weight = move |y: f64| if relative == Some(true) { 1.0 / (y * y) } else { 1.0 };
        let of = |coefficient: usize| {
            let xs = xs.clone();
            together(&ys, move |ys| Some(least_squares(&xs, ys, weight)?[coefficient]))
        };
        Ok(vec![cell(of(0)), cell(of(1))])
    });
    // The value of such a line at x.
    environment.add_function("fitted_at", |line: Value, x: f64| -> Result<Value, Error> {
        Ok(cell(together(&cells_of(&line)?, |line| Some(line[0] + line[1] * x))))
    });
    // The slope of the line through (x, 1) with the least squares.
    environment.add_function("line_through_1", |at: f64, xs: Value, ys: Value| -> Result<Value, Error> {
        let (xs, ys) = points(&xs, &ys)?;
        Ok(cell(together(&ys, |ys| slope_through((at, 1.0), &xs, ys))))
    });
    environment.add_function("below_in_pairs", |a: Value, b: Value| {
        compare(&a, &b, &|a, b| positive(paired(b, a, |b, a| b - a).number))
    });
    environment.add_function("near_in_pairs", |a: Value, b: Value, tolerance: f64, ratio: Option<f64>| {
        compare(&a, &b, &|a, b| near(paired(a, b, |a, b| a / b).number, known(1.0), ratio.unwrap_or(1.0), tolerance))
    });
}

/// What `of` makes of the values of these cells in each replication that all of them have.
fn together(cells: &[Cell], of: impl Fn(&[f64]) -> Option<f64>) -> Cell {
    let Some(all) = cells.iter().map(Cell::replications).collect::<Option<Vec<_>>>() else { return Cell::default() };
    let count = all.iter().map(|of| of.values.len()).min().unwrap_or(0);
    let in_block = |block: usize| all.iter().map(|of| of.values[block]).collect::<Option<Vec<f64>>>();
    let values: Vec<Option<f64>> = (0..count).map(|block| in_block(block).and_then(|values| of(&values))).collect();
    let is_suspect = all.iter().any(|of| of.is_suspect);
    let mean = measure::mean_of_samples(&values.iter().flatten().copied().collect::<Moments>());
    let of = Cell::of(Number::of(&mean, is_suspect));
    Cell { replications: Some((values, is_suspect)), ..of }
}

fn paired(a: &Cell, b: &Cell, of: impl Fn(f64, f64) -> f64) -> Cell {
    together(&[a.clone(), b.clone()], |pair| Some(of(pair[0], pair[1])))
}

fn pairs(a: &Value, b: &Value, of: fn(f64, f64) -> f64) -> Result<Value, Error> {
    both(a, b, &|a, b| Ok(cell(paired(a, b, of))))
}

/// Abscissas and figures, as many of each.
fn points(xs: &Value, ys: &Value) -> Result<(Vec<f64>, Vec<Cell>), Error> {
    let xs: Option<Vec<f64>> = cells_of(xs)?.iter().map(|x| x.value).collect();
    let ys = cells_of(ys)?;
    let xs = xs.filter(|xs| xs.len() == ys.len()).ok_or_else(|| wrong("a line has as many abscissas as figures"))?;
    Ok((xs, ys))
}

/// Intercept and slope of the line with the least weighted squares; none where all abscissas are one.
fn least_squares(xs: &[f64], ys: &[f64], weight: impl Fn(f64) -> f64) -> Option<[f64; 2]> {
    let sum = |of: &dyn Fn(f64, f64) -> f64| xs.iter().zip(ys).map(|(&x, &y)| weight(y) * of(x, y)).sum::<f64>();
    let (all, x, y) = (sum(&|_, _| 1.0), sum(&|x, _| x), sum(&|_, y| y));
    let (mean_x, mean_y) = (x / all, y / all);
    let (covariance, variance) = (sum(&|x, y| (x - mean_x) * (y - mean_y)), sum(&|x, _| (x - mean_x) * (x - mean_x)));
    let slope = covariance / variance;
    slope.is_finite().then_some([mean_y - slope * mean_x, slope])
}

/// The slope of the line through a point with the least squares; none where all abscissas are the point's.
fn slope_through((at, value): (f64, f64), xs: &[f64], ys: &[f64]) -> Option<f64> {
    let sum = |of: &dyn Fn(f64, f64) -> f64| xs.iter().zip(ys).map(|(x, y)| of(x - at, y - value)).sum::<f64>();
    Some(sum(&|x, y| x * y) / sum(&|x, _| x * x)).filter(|slope| slope.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_blocks(values: [f64; 3]) -> Cell {
        Cell { replications: Some((values.map(Some).to_vec(), false)), ..Cell::default() }
    }

    #[test]
    fn a_line_has_the_least_squares() {
        let [a, b] = least_squares(&[0.0, 1.0, 2.0], &[1.0, 3.0, 5.0], |_| 1.0).unwrap();
        assert!((a - 1.0).abs() < 1e-12 && (b - 2.0).abs() < 1e-12);
        // Normal equations solved by hand: means 1 and 8/3, covariance 3 over variance 2.
        let [a, b] = least_squares(&[0.0, 1.0, 2.0], &[1.0, 3.0, 4.0], |_| 1.0).unwrap();
        assert!((b - 1.5).abs() < 1e-12 && (a - (8.0 / 3.0 - 1.5)).abs() < 1e-12);
        // With weights 1/y^2 = 1, 1/4 and 1/100: means 0.7/1.26 = 5/9 and 1.6/1.26.
        let [a, b] = least_squares(&[0.0, 2.0, 20.0], &[1.0, 2.0, 10.0], |y| 1.0 / (y * y)).unwrap();
        let (mean_x, mean_y) = (0.7 / 1.26, 1.6 / 1.26);
        let slope = (1.0 + 2.0 - 1.26 * mean_x * mean_y) / (1.0 + 4.0 - 1.26 * mean_x * mean_x);
        assert!((b - slope).abs() < 1e-12 && (a - (mean_y - slope * mean_x)).abs() < 1e-12);
        assert_eq!(least_squares(&[1.0, 1.0], &[1.0, 2.0], |_| 1.0), None);
        let slope = slope_through((100.0, 1.0), &[20.0, 50.0], &[0.2, 0.5]).unwrap();
        assert!((slope - 0.01).abs() < 1e-12);
        assert_eq!(slope_through((100.0, 1.0), &[100.0], &[2.0]), None);
    }

    #[test]
    fn what_is_computed_in_blocks_has_blocks_again() {
        let (a, b) = (in_blocks([1.0, 10.0, 100.0]), in_blocks([2.0, 11.0, 101.0]));
        let difference = paired(&b, &a, |b, a| b - a);
        assert_eq!(difference.replications().unwrap().values, [Some(1.0); 3]);
        let number = difference.number.unwrap();
        assert_eq!((number.value, number.low, number.high), (1.0, 1.0, 1.0));
        let mut gap = b.clone();
        gap.replications.as_mut().unwrap().0[1] = None;
        assert_eq!(paired(&gap, &a, |b, a| b - a).replications().unwrap().values, [Some(1.0), None, Some(1.0)]);
        gap.replications.as_mut().unwrap().1 = true;
        assert!(paired(&gap, &a, |b, a| b - a).number.unwrap().is_suspect);
        assert!(paired(&a, &Cell::exact(Some(1.0)), |a, b| a - b).number.is_none(), "a number alone has no blocks");
    }
}
