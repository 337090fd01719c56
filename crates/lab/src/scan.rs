//! A curve over a range: the same load at one rate after another, or with ever more connections or users.

use sojourn_load::Report;
use sojourn_load::order::{Order, Tuning};

use crate::error::SpecError;
use crate::search::number;

/// A share of failures at which the server is past its knee and further steps only hurt it.
const ERRORS_MAX: f64 = 0.5;

/// What is varied, over which values.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// What is varied.
    pub what: Varied,
    /// Its values, in order.
    pub values: Vec<f64>,
}

/// What is varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Varied {
    /// Requests per second.
    Rate,
    /// Connections that each ask again as soon as they have a reply.
    Connections,
    /// Users who browse.
    Users,
}

impl Varied {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Varied::Rate => "rate",
            Varied::Connections => "connections",
            Varied::Users => "users",
        }
    }
}

/// More steps than this are a mistake in the step.
const STEPS_MAX: usize = 1000;

impl Range {
    /// Reads `1000:10000:1000` (rates per second), `connections=1:64:8`, or with a factor `users=1:64:x2`.
    ///
    /// # Errors
    /// One line that says what is wrong and shows what would be right.
    pub fn parse(text: &str) -> Result<Range, SpecError> {
        let fail = |what: &str| {
            SpecError(format!("--scan {text}: {what}; write FROM:TO:STEP, e.g. 1000:10000:1000 or connections=1:64:x2"))
        };
        let (what, range) = match text.split_once('=') {
            None | Some(("rate", _)) => (Varied::Rate, text.strip_prefix("rate=").unwrap_or(text)),
            Some(("connections", range)) => (Varied::Connections, range),
            Some(("users", range)) => (Varied::Users, range),
            Some(_) => return Err(fail("what is varied is the rate, the connections or the users")),
        };
        let parts: Vec<&str> = range.split(':').map(str::trim).collect();
        let [from, to, step] = parts[..] else { return Err(fail("three numbers are needed")) };
        let number = |text: &str| {
            text.parse::<f64>()
                .ok()
                .filter(|n| *n > 0.0 && n.is_finite())
                .ok_or_else(|| fail("the numbers are above 0"))
        };
        let (from, to) = (number(from)?, number(to)?);
        let next: Box<dyn Fn(usize) -> f64> = match step.strip_prefix('x') {
            Some(factor) => {
                let factor = number(factor)?;
                if factor <= 1.0 {
                    return Err(fail("a factor is above 1"));
                }
                Box::new(move |i| from * factor.powi(i as i32))
            }
            None => {
                let step = number(step)?;
                Box::new(move |i| from + step * i as f64)
            }
        };
        let values: Vec<f64> = (0..=STEPS_MAX).map(next).take_while(|v| *v <= to * (1.0 + 1e-9)).collect();
        if values.is_empty() {
            return Err(fail("it ends before it begins"));
        }
        if values.len() > STEPS_MAX {
            return Err(fail("that is more than a thousand steps"));
        }
        if what != Varied::Rate && values.iter().any(|value| value.fract() != 0.0) {
            return Err(fail("connections and users are whole numbers"));
        }
        Ok(Range { what, values })
    }

    /// Refuses what an order has nothing of.
    ///
    /// # Errors
    /// One line that says what is missing, or what must be left out.
    pub fn check(&self, order: &Order) -> Result<(), SpecError> {
        let open = order.rate().map_err(|error| SpecError(error.to_string()))?.is_some();
        let users = order.settings.users.is_some();
        match self.what {
            Varied::Rate if !open => Err(SpecError(
                "--scan of the rate: --rate or --arrivals gives the law whose rate is varied, e.g. --rate '1 /s'"
                    .into(),
            )),
            Varied::Users if !users => {
                Err(SpecError("--scan users=...: --users says that there are any, e.g. --users 1".into()))
            }
            Varied::Connections if open || users => {
                Err(SpecError("--scan connections=...: leave out --rate, --arrivals and --users".into()))
            }
            _ => Ok(()),
        }
    }

    /// What `value` changes of an order.
    fn tuning(&self, value: f64) -> Tuning {
        match self.what {
            Varied::Rate => Tuning { rate: Some(value), ..Tuning::default() },
            Varied::Connections => Tuning { connections: Some(value as u32), ..Tuning::default() },
            Varied::Users => Tuning { users: Some(value as u32), ..Tuning::default() },
        }
    }
}

/// What a scan measured.
#[derive(Clone, Debug, Default)]
pub struct Scanned {
    /// Each value and what it gave, in order.
    pub steps: Vec<(f64, Report)>,
    /// Why the rest was left out, where it was.
    pub remark: Option<String>,
}

/// Runs `order` with one value of `range` after another. `run` is given the order and a label, and says whether the scan
/// is to end with its report.
/// Where more than half of the requests fail the rest is left out, unless `keep_going`.
///
/// # Errors
/// Those of `run`.
pub fn scan<E>(
    order: &Order,
    range: &Range,
    keep_going: bool,
    mut run: impl FnMut(&Order, &str) -> Result<(Report, bool), E>,
) -> Result<Scanned, E> {
    let mut scanned = Scanned::default();
    for (index, &value) in range.values.iter().enumerate() {
        let label = format!("{}/{} {} {}", index + 1, range.values.len(), range.what.name(), number(value));
        let (report, is_last) = run(&order.tuned(range.tuning(value)), &label)?;
        let errors = report.value("error_ratio").unwrap_or(0.0);
        scanned.steps.push((value, report));
        if is_last {
            break;
        }
        if errors > ERRORS_MAX && !keep_going && index + 1 < range.values.len() {
            scanned.remark = Some(format!(
                "stopped at {} {}: {:.0} % failed; --keep-going goes on",
                range.what.name(),
                number(value),
                errors * 100.0
            ));
            break;
        }
    }
    Ok(scanned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_their_mistakes() {
        let values = |text: &str| Range::parse(text).map(|range| (range.what, range.values));
        assert_eq!(values("100:300:100").unwrap(), (Varied::Rate, vec![100.0, 200.0, 300.0]));
        assert_eq!(values("rate=0.1:0.3:0.1").unwrap().1.len(), 3, "rounding loses no step");
        assert_eq!(values("connections=1:20:x3").unwrap(), (Varied::Connections, vec![1.0, 3.0, 9.0]));
        assert_eq!(values("users=5:5:1").unwrap(), (Varied::Users, vec![5.0]));
        for bad in ["", "1:2", "1:2:0", "3:2:1", "1:2:x1", "a:2:1", "size=1:2:1", "users=1:2:0.5", "1:1e9:1", "-1:2:1"]
        {
            let message = Range::parse(bad).unwrap_err().to_string();
            assert!(message.contains("FROM:TO:STEP"), "{bad}: {message}");
        }
    }
}
