//! A column of numbers: reading it, and what it holds.

use std::io::{BufRead, Read};

use sojourn_stats::{Dimension, input, nearest};
use thiserror::Error;

use super::variable::Rounding;
use super::{Description, Facts, Variable, ascending, below_step, mean, variance};

/// Why a text is not a column of numbers.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ColumnError(pub String);

/// The numbers of a column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Numbers {
    /// In their order.
    pub values: Vec<f64>,
    /// The step of the clock or scale that they were read from, as far as the digits that are written tell it: 0.001 of `0.120`
    /// and `0.000`. None where it is not known, or finer than a billionth, which is how programs write what is not rounded.
    pub step: Option<f64>,
    /// Whether they are written as programs write what they round: all with as many digits behind the point, and not all of them
    /// whole numbers. A 0 among them is then a rounded one, whatever they measure.
    pub is_rounded: bool,
}

impl Numbers {
    /// The same in a unit of which each is so many times as many.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Numbers {
        let values = self.values.iter().map(|number| number * factor).collect();
        Numbers { values, step: self.step.map(|step| step * factor), ..self }
    }

    /// The quantity that they are of in the SI unit of `dimension`, and what is to be known of those that were rounded.
    pub(super) fn variable(&self, dimension: Dimension) -> (Variable, Option<String>) {
        // What writes a number with so many digits rounds it.
        let rounding = self.rounded_to(dimension).map(|step| Rounding { step, is_cut: false });
        Variable::of_rounded("number", "The numbers", &self.values, rounding, dimension)
    }

    /// The step that a 0 among them is below, of numbers of this dimension; none where a 0 is a 0, as far as one can tell.
    fn rounded_to(&self, dimension: Dimension) -> Option<f64> {
        match dimension {
            Dimension::Time => self.step,
            // Without a unit they may be of anything: of counts a 0 is none that was rounded.
            Dimension::Number => self.step.filter(|_| self.is_rounded),
            _ => None,
        }
    }

    /// All of both.
    #[must_use]
    pub fn with(mut self, other: Numbers) -> Numbers {
        if self.values.is_empty() {
            return other;
        }
        self.values.extend(other.values);
        let is_rounded = self.is_rounded && other.is_rounded && self.step == other.step;
        Numbers { step: self.step.zip(other.step).map(|(one, other)| one.min(other)), is_rounded, ..self }
    }
}

/// What a column of numbers holds, in the SI unit of `dimension`: moments, percentiles, laws, tail.
pub fn describe_numbers(column: &Numbers, dimension: Dimension) -> Description {
    let numbers = column.values.as_slice();
    let mut facts = Facts::default();
    let unit = dimension.si_unit();
    let sorted = ascending(numbers.iter().copied());
    facts.group("numbers");
    facts.count("count", numbers.len() as u64);
    if sorted.is_empty() {
        return Description { of: "numbers", facts: facts.all, ..Description::default() };
    }
    let (mean, variance) = (mean(&sorted), variance(&sorted));
    // Beside a negative number a 0 is none that was rounded down.
    let zero = column.rounded_to(dimension).filter(|_| sorted[0] >= 0.0).map(|step| below_step(step, dimension));
    let by_clock = (unit, zero.as_deref());
    facts.number_by_clock("mean", mean, by_clock);
    if mean != 0.0 || zero.is_none() {
        facts.number("standard_deviation", variance.sqrt(), unit);
    }
    facts.number("scv", variance / (mean * mean), "1");
    let third = sorted.iter().map(|x| (x - mean).powi(3)).sum::<f64>() / sorted.len() as f64;
    facts.number("skewness", third / variance.powf(1.5), "1");
    let products: f64 = numbers.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    facts.number("autocorrelation_lag_1", products / (variance * sorted.len() as f64), "1");
    facts.number_by_clock("min", sorted[0], by_clock);
    facts.quantiles_by_clock("", &sorted, &[0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999], by_clock);
    facts.number_by_clock("max", sorted[sorted.len() - 1], by_clock);
    let (zero, negative) =
        (numbers.iter().filter(|x| **x == 0.0).count(), numbers.iter().filter(|x| **x < 0.0).count());
    if zero > 0 {
        facts.count("zeros", zero as u64);
    }
    if negative > 0 {
        facts.count("negative", negative as u64);
    }
    let (variable, rounded) = column.variable(dimension);
    variable.tell(&mut facts);
    let mut remarks = variable.remarks();
    remarks.extend(rounded);
    Description { of: "numbers", facts: facts.all, variables: vec![variable], remarks, ..Description::default() }
}

/// Most numbers of a column: 2^25, 270 MB. Ten minutes of gaps at 50,000 requests/s are less.
pub const NUMBERS_MAX: usize = 1 << 25;
/// With more digits behind the point a number is not a rounded one.
const DIGITS_MOST: i32 = 9;
/// Most bytes of a line.
const LINE_MAX: u64 = 1 << 20;

/// Reads a column of numbers: one per line, or the CSV column called `column`. Blank lines and `#` comments are left
/// out, and so is a first line that is no number (a heading). `name` is what messages call the text. Nothing but the
/// numbers is held, and no more than [`NUMBERS_MAX`] of them: a packed file of 1 MB may hold a GB.
///
/// # Errors
/// On the first line whose field is not a finite number, with its line number; on an unknown column, with those there
/// are; when there is no number at all, or too many; when it cannot be read, or is no text.
pub fn read_column(mut text: impl BufRead, column: Option<&str>, name: &str) -> Result<Numbers, ColumnError> {
    read(&mut text, column, name)
}

/// Not generic, so that it is compiled here, once and optimised.
fn read(mut text: &mut dyn BufRead, column: Option<&str>, name: &str) -> Result<Numbers, ColumnError> {
    let mut numbers = Vec::new();
    let (mut most_digits, mut least_digits) = (Some(0), i32::MAX);
    // Where the number stands in a line; known once the heading is read, or found not to be there.
    let mut field = None;
    let mut line = Vec::new();
    for index in 1_u64.. {
        line.clear();
        let read = Read::by_ref(&mut text).take(LINE_MAX).read_until(b'\n', &mut line);
        if read.map_err(|error| ColumnError(format!("cannot read {name}: {error}")))? == 0 {
            break;
        }
        if line.len() as u64 == LINE_MAX {
            return Err(ColumnError(format!("{name}:{index}: a line of more than {LINE_MAX} bytes holds no number")));
        }
        let no_text = |_| ColumnError(format!("{name}: a binary file, not a column of numbers"));
        // Of files that were put together, each may begin with its mark.
        let line = std::str::from_utf8(input::without_mark(&line)).map_err(no_text)?.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let at = match (field, column) {
            (Some(at), _) => at,
            (None, Some(column)) => {
                field = Some(place(line, column, name)?);
                continue;
            }
            (None, None) => {
                field = Some(0);
                if line.parse::<f64>().is_err() {
                    continue;
                }
                0
            }
        };
        let word = if column.is_some() { line.split(',').nth(at).unwrap_or("").trim() } else { line };
        match word.parse::<f64>() {
            Ok(number) if number.is_finite() => {
                numbers.push(number);
                let digits = digits_behind_the_point(word);
                most_digits = most_digits.zip(digits).map(|(most, digits)| most.max(digits));
                least_digits = least_digits.min(digits.unwrap_or(0));
            }
            _ => {
                let is_table = column.is_none() && word.contains(',');
                let right = if is_table { "; of a CSV file name a column: --column NAME" } else { "" };
                return Err(ColumnError(format!("{name}:{index}: `{word}` is not a number{right}")));
            }
        }
        if numbers.len() > NUMBERS_MAX {
            let why = format!("more than {NUMBERS_MAX} numbers; take a part of them, or sums of several each");
            return Err(ColumnError(format!("{name}: {why}")));
        }
    }
    match (numbers.is_empty(), field) {
        (false, _) => {
            let step = most_digits.filter(|digits| *digits <= DIGITS_MOST).map(|digits| 10_f64.powi(-digits));
            // Of whole numbers, as counts that are written 3.0, none is rounded to a tenth.
            let is_rounded = most_digits == Some(least_digits) && numbers.iter().any(|number| number.fract() != 0.0);
            Ok(Numbers { values: numbers, step, is_rounded })
        }
        (true, None) if column.is_some() => Err(ColumnError(format!("{name}: it is empty"))),
        (true, _) => Err(ColumnError(format!("{name}: there is no number in it"))),
    }
}

/// How many digits are written behind the point; none of a number with an exponent, whose digits do not say what it was rounded
/// to.
fn digits_behind_the_point(word: &str) -> Option<i32> {
    let is_plain = !word.contains(['e', 'E']);
    is_plain.then(|| word.split_once('.').map_or(0, |(_, digits)| digits.len() as i32))
}

/// Where `column` stands in this heading.
fn place(heading: &str, column: &str, name: &str) -> Result<usize, ColumnError> {
    let known: Vec<&str> = heading.split(',').map(|word| word.trim().trim_matches('"')).collect();
    known.iter().position(|word| *word == column).ok_or_else(|| {
        let meant = nearest(column, known.iter().copied());
        let meant = meant.map_or(String::new(), |word| format!("; did you mean `{word}`?"));
        ColumnError(format!("{name}: no column `{column}` among {}{meant}", known.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use std::io::{self, BufReader};

    use super::*;

    /// What a packed file may become: the same line without end.
    struct Endless(&'static [u8], usize);

    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            for byte in buffer.iter_mut() {
                *byte = self.0[self.1];
                self.1 = (self.1 + 1) % self.0.len();
            }
            Ok(buffer.len())
        }
    }

    #[test]
    fn a_text_without_end_is_refused_with_a_number() {
        for (text, why) in [("1\n", "more than 33554432 numbers"), ("1", "bytes holds no number")] {
            // It ends for the sake of a reader without a limit, one number beyond that.
            let beyond = Endless(text.as_bytes(), 0).take(2 * (NUMBERS_MAX as u64 + 1));
            let error = read_column(BufReader::with_capacity(1 << 16, beyond), None, "bomb").unwrap_err().to_string();
            assert!(error.starts_with("bomb") && error.contains(why), "{error}");
        }
    }
}
