//! A column of numbers: reading it, and what it holds.

use sojourn_stats::{Dimension, nearest};
use thiserror::Error;

use super::{Description, Facts, Variable, ascending, mean, variance};

/// Why a text is not a column of numbers.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ColumnError(pub String);

/// What a column of numbers holds, in the SI unit of `dimension`: moments, percentiles, laws, tail.
pub fn describe_numbers(numbers: &[f64], dimension: Dimension) -> Description {
    let mut facts = Facts::default();
    let unit = dimension.si_unit();
    let sorted = ascending(numbers.iter().copied());
    facts.group("numbers");
    facts.count("count", numbers.len() as u64);
    if sorted.is_empty() {
        return Description { of: "numbers", facts: facts.all, ..Description::default() };
    }
    let (mean, variance) = (mean(&sorted), variance(&sorted));
    facts.number("mean", mean, unit);
    facts.number("standard_deviation", variance.sqrt(), unit);
    facts.number("scv", variance / (mean * mean), "1");
    let third = sorted.iter().map(|x| (x - mean).powi(3)).sum::<f64>() / sorted.len() as f64;
    facts.number("skewness", third / variance.powf(1.5), "1");
    let products: f64 = numbers.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    facts.number("autocorrelation_lag_1", products / (variance * sorted.len() as f64), "1");
    facts.number("min", sorted[0], unit);
    facts.quantiles("", &sorted, &[0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999], unit);
    facts.number("max", sorted[sorted.len() - 1], unit);
    let (zero, negative) =
        (numbers.iter().filter(|x| **x == 0.0).count(), numbers.iter().filter(|x| **x < 0.0).count());
    if zero > 0 {
        facts.count("zeros", zero as u64);
    }
    if negative > 0 {
        facts.count("negative", negative as u64);
    }
    let variable = Variable::of("number", "The numbers", numbers, dimension);
    variable.tell(&mut facts);
    let remarks = variable.remarks();
    Description { of: "numbers", facts: facts.all, variables: vec![variable], remarks, ..Description::default() }
}

/// Reads a column of numbers: one per line, or the CSV column called `column`. Blank lines and `#` comments are left
/// out, and so is a first line that is no number (a heading). `name` is what messages call the text.
///
/// # Errors
/// On the first line whose field is not a finite number, with its line number; on an unknown column, with those there
/// are; when there is no number at all.
pub fn read_column(text: &str, column: Option<&str>, name: &str) -> Result<Vec<f64>, ColumnError> {
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .peekable();
    let field = match column {
        None => {
            lines.next_if(|(_, line)| line.parse::<f64>().is_err());
            0
        }
        Some(column) => {
            let (_, heading) = lines.next().ok_or_else(|| ColumnError(format!("{name}: it is empty")))?;
            let known: Vec<&str> = heading.split(',').map(|word| word.trim().trim_matches('"')).collect();
            known.iter().position(|word| *word == column).ok_or_else(|| {
                let meant = nearest(column, known.iter().copied());
                let meant = meant.map_or(String::new(), |word| format!("; did you mean `{word}`?"));
                ColumnError(format!("{name}: no column `{column}` among {}{meant}", known.join(", ")))
            })?
        }
    };
    let number = |(index, line): (usize, &str)| {
        let word = match column {
            None => line,
            Some(_) => line.split(',').nth(field).unwrap_or("").trim(),
        };
        match word.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            _ => Err(ColumnError(format!("{name}:{index}: `{word}` is not a number"))),
        }
    };
    let numbers = lines.map(number).collect::<Result<Vec<f64>, ColumnError>>()?;
    if numbers.is_empty() {
        return Err(ColumnError(format!("{name}: there is no number in it")));
    }
    Ok(numbers)
}
