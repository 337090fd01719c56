//! What templates compute of cells, and compare.

use minijinja::{Environment, Error, Value};
use sojourn_stats::{Moments, measure};

use super::cells::{Cell, wrong};
use super::values::{Compared, both, cell, cells_of, compare, comparisons, each};
use crate::answers::{Replications, relative_spread, spread};
use crate::number::{Number, between, known, quotient, scaled, slope};
use crate::verdict::{at_least, below, inside, near, positive};

pub(super) fn add(environment: &mut Environment<'_>) {
    computing(environment);
    comparing(environment);
}

fn computing(environment: &mut Environment<'_>) {
    add_two(environment, "quotient", |a, b| Cell::of(quotient(a.number, b.number)));
    add_two(environment, "scaled", |a, b| Cell {
        value: a.value.zip(b.value).map(|(a, b)| a * b),
        replications: b.value.zip(a.replications()).map(|(factor, of)| {
            (of.values.iter().map(|value| Some(value.as_ref()? * factor)).collect(), of.is_suspect)
        }),
        ..Cell::of(b.value.and_then(|factor| scaled(a.number, factor)))
    });
    // Of values alone.
    add_two(environment, "ratio", |a, b| Cell {
        value: a.value.zip(b.value).map(|(a, b)| a / b).filter(|of| of.is_finite()),
        ..Cell::default()
    });
    environment.add_filter("exact", |a: Value| each(&a, &|a| Ok(cell(Cell::exact(a.value)))));
    // Only if it has an interval.
    environment.add_filter("sampled", |a: Value| each(&a, &|a| Ok(cell(Cell::of(a.number)))));
    environment.add_function("slope", |a: Value, b: Value, distance: f64| {
        both(&a, &b, &|a, b| Ok(cell(Cell::of(slope(a.number, b.number, distance)))))
    });
    environment.add_function("between", |a: Value, b: Value, share: Value| {
        each(&share, &|share| {
            let share = share.value.ok_or_else(|| wrong("which share?"))?;
            both(&a, &b, &|a, b| Ok(cell(Cell::of(between(a.number, b.number, share)))))
        })
    });
    environment.add_function("minus", |a: Value, b: Value| {
        both(&a, &b, &|a, b| Ok(cell(Cell::exact(a.value.zip(b.value).map(|(a, b)| a - b)))))
    });
    environment.add_filter("mean", |of: Value| mean(&of));
    environment.add_filter("mean_of_each", |of: Value| -> Result<Value, Error> {
        of.try_iter()?.map(|of| mean(&of)).collect()
    });
    environment.add_filter("median", |of: Value| -> Result<Value, Error> {
        let all = sorted(&of)?;
        Ok(cell(Cell::exact(all.get(all.len() / 2).copied())))
    });
    environment.add_filter("cells", |of: Value| -> Result<usize, Error> { Ok(sorted(&of)?.len()) });
    // Of ratios, the percentage that is no further from 1 than so much.
    environment.add_filter("percent_within", |of: Value, low: f64, high: f64| -> Result<String, Error> {
        let all = sorted(&of)?;
        let near = all.iter().filter(|ratio| (low..=high).contains(&(*ratio - 1.0))).count();
        Ok(format!("{:.0}", 100.0 * near as f64 / all.len() as f64))
    });
    // Of pairs that both have a value, the percentage whose second lies where one further run of the first would, 95 %.
    environment.add_function("percent_in_one_run", |ours: Value, theirs: Value| -> Result<String, Error> {
        let pairs = cells_of(&ours)?.into_iter().zip(cells_of(&theirs)?);
        let is_inside = |(ours, theirs): (Cell, Cell)| {
            let (low, high) = one_run(ours.replications()?)?;
            Some((low..=high).contains(&theirs.value?))
        };
        let all: Vec<bool> = pairs.filter_map(is_inside).collect();
        let inside = all.iter().filter(|is_inside| **is_inside).count();
        Ok(if all.is_empty() { "-".into() } else { format!("{:.0}", 100.0 * inside as f64 / all.len() as f64) })
    });
    environment.add_function("with_interval", |values: Value, low: Value, high: Value| -> Result<Value, Error> {
        let (low, high) = (cells_of(&low)?, cells_of(&high)?);
        let ends = low.iter().zip(&high).map(|(low, high)| Some((low.value?, high.value?)));
        let number = |(value, ends): (Cell, Option<(f64, f64)>)| {
            let number =
                value.value.zip(ends).map(|(value, (low, high))| Number { value, low, high, is_suspect: false });
            cell(Cell::of(number))
        };
        Ok(cells_of(&values)?.into_iter().zip(ends).map(number).collect())
    });
    // Of the servers that have one, each one's part of all.
    environment.add_filter("shares", |of: Value| -> Result<Value, Error> {
        let all: Vec<f64> = cells_of(&of)?.iter().filter_map(|of| of.value).collect();
        let sum: f64 = all.iter().sum();
        Ok(all.into_iter().map(|of| cell(Cell::exact(Some(if sum > 0.0 { of / sum } else { 0.0 })))).collect())
    });
    // The largest share less the smallest, over the equal share; replication by replication where there are any.
    environment.add_filter("spread", |of: Value| -> Result<Value, Error> {
        let all = cells_of(&of)?;
        let replicated = all.iter().map(Cell::replications).collect::<Option<Vec<_>>>();
        let exact =
            || all.iter().map(|of| of.value).collect::<Option<Vec<_>>>().and_then(|all| known(relative_spread(&all)));
        Ok(cell(Cell::of(replicated.map_or_else(exact, |all| spread(&all)))))
    });
    environment.add_filter("picked", |of: Value, places: Vec<usize>| -> Result<Value, Error> {
        places.into_iter().map(|place| of.get_item_by_index(place)).collect()
    });
    environment.add_filter("furthest_from_1", |of: Value| extreme(&of, |value| (value - 1.0).abs()));
    environment.add_filter("place_of_largest", |of: Value| -> Result<Option<usize>, Error> {
        let ranked = cells_of(&of)?.into_iter().map(|of| of.value.unwrap_or(0.0)).enumerate();
        Ok(ranked.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(place, _)| place))
    });
}

fn add_two(environment: &mut Environment<'_>, name: &'static str, of: fn(&Cell, &Cell) -> Cell) {
    environment.add_function(name, move |a: Value, b: Value| both(&a, &b, &|a, b| Ok(cell(of(a, b)))));
}

fn mean(of: &Value) -> Result<Value, Error> {
    let all = cells_of(of)?.into_iter().map(|of| of.value).collect::<Option<Vec<f64>>>();
    Ok(cell(Cell::exact(all.map(|all| all.iter().sum::<f64>() / all.len() as f64))))
}

/// Where the value of one further run lies, 95 %: the mean of n, and their interval widened by the root of n + 1.
fn one_run(runs: Replications<'_>) -> Option<(f64, f64)> {
    let moments: Moments = runs.values.iter().copied().flatten().collect();
    let (estimate, wider) = (measure::mean_of_samples(&moments), (moments.count() as f64 + 1.0).sqrt());
    let (mean, (low, high)) = (estimate.value()?, estimate.interval()?);
    Some((mean - (mean - low) * wider, mean + (high - mean) * wider))
}

/// The values that there are, from the smallest to the largest.
fn sorted(of: &Value) -> Result<Vec<f64>, Error> {
    let mut all: Vec<f64> = cells_of(of)?.into_iter().filter_map(|of| of.value).collect();
    all.sort_by(f64::total_cmp);
    Ok(all)
}

/// The cell of those whose value is largest by `rank`.
fn extreme(of: &Value, rank: impl Fn(f64) -> f64) -> Result<Value, Error> {
    let ranked = cells_of(of)?.into_iter().filter_map(|of| Some((rank(of.value?), of)));
    Ok(cell(ranked.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, of)| of).unwrap_or_default()))
}

fn comparing(environment: &mut Environment<'_>) {
    environment.add_function("below", |a: Value, b: Value| compare(&a, &b, &|a, b| below(a.number, b.number)));
    environment.add_function("near", |a: Value, b: Value, tolerance: f64, ratio: Option<f64>| {
        compare(&a, &b, &|a, b| near(a.number, b.number, ratio.unwrap_or(1.0), tolerance))
    });
    environment.add_function("inside", |a: Value, low: f64, high: f64| {
        compare(&a, &0.0.into(), &|a, _| inside(a.number, low, high))
    });
    environment
        .add_function("at_least", |a: Value, least: f64| compare(&a, &0.0.into(), &|a, _| at_least(a.number, least)));
    environment.add_function("positive", |a: Value| compare(&a, &0.0.into(), &|a, _| positive(a.number)));
    environment.add_filter("opposite", |of: Value| -> Result<Value, Error> {
        Ok(comparisons(&of)?.into_iter().map(|of| Value::from_object(Compared(!of))).collect())
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three runs of 1, 2 and 3: deviation 1, Student's quantile for two degrees of freedom 4.303, times the root of 1 + 1/3.
    #[test]
    fn one_further_run_lies_wider_than_the_mean() {
        let values = [1.0, 2.0, 3.0].map(Some);
        let (low, high) = one_run(Replications { values: &values, is_suspect: false }).unwrap();
        let half = 4.302_653 * (4.0_f64 / 3.0).sqrt();
        assert!((low - (2.0 - half)).abs() < 1e-4 && (high - (2.0 + half)).abs() < 1e-4, "{low} to {high}");
        assert_eq!(one_run(Replications { values: &values[..1], is_suspect: false }), None, "one run has no deviation");
    }
}
