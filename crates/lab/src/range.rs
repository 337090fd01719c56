//! Ranges of values, as `[vary]` and the choices of a plan write them: `"1..8"`, `"0.5..0.95 step 0.05"`, `"50 /s..200 /s step 50
//! /s"`.

use toml_edit::Value;

/// More values than this are a mistake.
pub(crate) const MOST: usize = 10_000;
/// How a range is written, for messages.
pub(crate) const FORM: &str = "`\"1..8\"`, `\"0.5..0.95 step 0.05\"` or `\"50 /s..200 /s step 50 /s\"`";

/// The values of the range that `text` writes, both ends among them; none of another text. Without a step, ends are whole
/// numbers, one apart.
///
/// # Errors
/// What is wrong with it, where it is meant as a range: a step that is missing, not above 0 or misses the end, ends in the wrong
/// order, units that differ.
pub(crate) fn values(text: &str) -> Option<Result<Vec<Value>, String>> {
    let (low, rest) = text.split_once("..")?;
    let (high, step) = match rest.split_once("step") {
        Some((high, step)) => (high, Some(step)),
        None => (rest, None),
    };
    let (low, high) = (Number::read(low)?, Number::read(high)?);
    let step = match step {
        Some(step) => Number::read(step)?,
        None if low.decimals > 0 || high.decimals > 0 => {
            return Some(Err(format!("`{text}`: it takes a step: {FORM}")));
        }
        None => Number { digits: 1, decimals: 0, unit: "" },
    };
    Some(between(text, [low, high, step]))
}

fn between(text: &str, all: [Number<'_>; 3]) -> Result<Vec<Value>, String> {
    let decimals = all.iter().map(|number| number.decimals).max().unwrap_or(0);
    let units: Vec<&str> = all.iter().map(|number| number.unit).filter(|unit| !unit.is_empty()).collect();
    let unit = units.first().copied().unwrap_or("");
    if units.iter().any(|other| *other != unit) {
        return Err(format!("`{text}`: ends and step of a range have one unit"));
    }
    let [low, high, step] = all.map(|number| number.with(decimals));
    let (Some(low), Some(high), Some(step)) = (low, high, step) else {
        return Err(format!("`{text}`: too many digits for a range"));
    };
    if step <= 0 || high < low {
        return Err(format!("`{text}`: a range goes up, by a step above 0: {FORM}"));
    }
    if (high - low) / step >= MOST as i64 {
        return Err(format!("`{text}`: {} values are too many; at most {MOST}", (high - low) / step + 1));
    }
    let amount = |digits: i64| digits as f64 / 10f64.powi(decimals as i32);
    if (high - low) % step != 0 {
        let last = amount(high - (high - low) % step);
        return Err(format!("`{text}`: its steps do not end there, the last is {last}: {FORM}"));
    }
    let value = |digits: i64| {
        let number = amount(digits);
        match (unit, decimals) {
            ("", 0) => Value::from(digits),
            ("", _) => Value::from(number),
            _ => Value::from(format!("{number} {unit}")),
        }
    };
    Ok((0..=(high - low) / step).map(|number| value(low + number * step)).collect())
}

/// A decimal number, kept as its digits, so that steps add up without rounding.
#[derive(Clone, Copy)]
struct Number<'a> {
    digits: i64,
    decimals: u32,
    unit: &'a str,
}

impl<'a> Number<'a> {
    fn read(text: &'a str) -> Option<Number<'a>> {
        let text = text.trim();
        let of_number = |c: char| c.is_ascii_digit() || c == '.' || c == '-' || c == '+';
        let (number, unit) = text.split_at(text.find(|c| !of_number(c)).unwrap_or(text.len()));
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let is_fraction = fraction.chars().all(|c| c.is_ascii_digit());
        let digits: i64 = format!("{whole}{fraction}").parse().ok().filter(|_| is_fraction)?;
        let (power, unit) = exponent(unit).unwrap_or((0, unit));
        let (decimals, unit) = (fraction.len() as i64 - i64::from(power), unit.trim());
        // What is too long for its digits stays so: `with` refuses it.
        let zeros = u32::try_from(-decimals).unwrap_or(0);
        let digits = digits.saturating_mul(10i64.checked_pow(zeros).unwrap_or(i64::MAX));
        Some(Number { digits, decimals: u32::try_from(decimals).unwrap_or(0), unit })
    }

    /// Its digits with so many decimals.
    fn with(self, decimals: u32) -> Option<i64> {
        let digits = self.digits.checked_mul(10i64.checked_pow(decimals - self.decimals)?);
        digits.filter(|digits| digits.unsigned_abs() < 1 << 53)
    }
}

/// The power of ten that `text`, which follows the digits of a number, begins with, and what comes after it: -9 of `e-9 s`.
fn exponent(text: &str) -> Option<(i32, &str)> {
    let rest = text.strip_prefix(['e', 'E'])?;
    let (sign, digits) = rest.split_at(usize::from(rest.starts_with(['-', '+'])));
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let (power, after) = rest.split_at(sign.len() + end);
    Some((power.parse().ok()?, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<String> {
        let values = values(text).expect("a range").expect("a sound one");
        values.iter().map(|value| value.to_string().trim().to_owned()).collect()
    }

    #[test]
    fn a_range_has_both_ends_and_no_rounding() {
        assert_eq!(read("1..4"), ["1", "2", "3", "4"]);
        assert_eq!(read("0.5..0.95 step 0.15"), ["0.5", "0.65", "0.8", "0.95"]);
        assert_eq!(read("0..1 step 0.1").len(), 11);
        assert_eq!(read("0.1 .. 0.7 step 0.2"), ["0.1", "0.3", "0.5", "0.7"]);
        assert_eq!(read("-1..1 step 2"), ["-1", "1"]);
        assert_eq!(read("50 /s..200 /s step 75 /s"), ["\"50 /s\"", "\"125 /s\"", "\"200 /s\""]);
        assert_eq!(read("50..100 ms step 50"), ["\"50 ms\"", "\"100 ms\""]);
        assert_eq!(read("7..7"), ["7"]);
        assert_eq!(read("0..4e-1 step 2e-1"), ["0.0", "0.2", "0.4"]);
        assert_eq!(read("1e3..3E+3 step 1e3"), ["1000", "2000", "3000"]);
        assert_eq!(read("1.5e1 ms..2e1 ms step 5 ms"), ["\"15 ms\"", "\"20 ms\""]);
    }

    #[test]
    fn what_is_no_range_is_left_and_a_wrong_one_is_refused() {
        for text in ["../models/a.toml", "random", "exponential(mean = 1..2)", "..", "1..x"] {
            assert!(values(text).is_none(), "{text}");
        }
        for text in [
            "5..1",
            "1..5 step 0",
            "1..5 step -1",
            "0.5..0.95",
            "0.5..0.95 step 0.1",
            "0..1 step 0.00001",
            "1 ms..5 s step 1 ms",
            "1..99999999999999999",
        ] {
            let fault = values(text).expect("meant as a range").expect_err(text);
            assert!(fault.contains(text), "{fault}");
        }
    }

    /// A step is a number as others are: with an exponent it is not of the unit `e-9`.
    #[test]
    fn too_many_values_are_counted() {
        let fault = |text| values(text).expect("meant as a range").expect_err(text);
        let many = fault("0.5..0.9 step 1e-9");
        assert!(many.contains("400000001 values are too many; at most 10000"), "{many}");
        // The same where the steps would not end there either.
        let many = fault("0.5..0.9 step 3e-9");
        assert!(many.contains("133333334 values are too many"), "{many}");
        for text in ["0..1 step 1e-30", "0..1e30 step 1", "-1e30..1 step 1", "0..1 step 1e-1000000"] {
            assert!(fault(text).contains("too many digits"), "{text}: {}", fault(text));
        }
    }
}
