//! Integer time. An instant ([`Time`]) and a length of time ([`Span`]), both in nanoseconds since the start of the
//! run or in nanoseconds: 2^64 ns are 584 years. Integers make a run reproducible to the bit and let conservation
//! laws be asserted with `==`; the price is that a drawn time is rounded to the nanosecond.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::quantity::{self, Dimension, QuantityError};

/// An instant: nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Time(pub u64);

/// A length of time in nanoseconds. Its text has a unit, `250 ms`; where a file has it as a number, see
/// [`nanoseconds`](crate::nanoseconds).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// Later than any event.
    pub const NEVER: Time = Time(u64::MAX);

    /// The instant `seconds` after the start, rounded to the nanosecond; negative and NaN give zero.
    #[inline]
    pub fn from_secs_f64(seconds: f64) -> Time {
        Time(Span::from_secs_f64(seconds).0)
    }

    /// Seconds since the start.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-9
    }

    /// How long after `earlier` this is; zero when it is not after it.
    #[inline]
    pub fn saturating_since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);
    /// Longer than any run.
    pub const FOREVER: Span = Span(u64::MAX);

    /// `seconds` rounded to the nanosecond; negative and NaN give zero, too large saturates.
    #[inline]
    pub fn from_secs_f64(seconds: f64) -> Span {
        Span((seconds * 1e9 + 0.5) as u64)
    }

    /// In seconds.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-9
    }

    /// This span as the standard library's type, for the live side.
    pub fn as_std(self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.0)
    }
}

impl From<std::time::Duration> for Span {
    fn from(duration: std::time::Duration) -> Span {
        Span(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl Add<Span> for Time {
    type Output = Time;
    #[inline]
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    #[inline]
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub for Time {
    type Output = Span;
    /// # Panics
    /// When `earlier` is later: time never runs backwards.
    #[inline]
    fn sub(self, earlier: Time) -> Span {
        Span(self.0.checked_sub(earlier.0).expect("time never runs backwards"))
    }
}

impl Add for Span {
    type Output = Span;
    #[inline]
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    #[inline]
    fn add_assign(&mut self, other: Span) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Span;
    /// # Panics
    /// When `other` is longer.
    #[inline]
    fn sub(self, other: Span) -> Span {
        Span(self.0.checked_sub(other.0).expect("a span is never negative"))
    }
}

impl SubAssign for Span {
    #[inline]
    fn sub_assign(&mut self, other: Span) {
        *self = *self - other;
    }
}

impl Mul<u64> for Span {
    type Output = Span;
    #[inline]
    fn mul(self, factor: u64) -> Span {
        Span(self.0.saturating_mul(factor))
    }
}

impl Sum for Span {
    fn sum<I: Iterator<Item = Span>>(spans: I) -> Span {
        spans.fold(Span::ZERO, Add::add)
    }
}

impl fmt::Display for Span {
    /// Exactly, in the largest unit that keeps a digit before the point: `1.5 s`, `20 ms`, `3 us`, `7 ns`. What is
    /// shorter than 13 days reads back as the very same span. With a precision, `{span:.3}`, for people to read: of so
    /// many digits at most.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, divisor, decimals) = match self.0 {
            1..1_000 => ("ns", 1, 0),
            1_000..1_000_000 => ("us", 1_000, 3),
            1_000_000..1_000_000_000 => ("ms", 1_000_000, 6),
            _ => ("s", 1_000_000_000, 9),
        };
        let whole = self.0 / divisor;
        let text = match f.precision() {
            Some(digits) => {
                let decimals = digits.saturating_sub(whole.to_string().len()).min(decimals);
                format!("{:.decimals$}", self.0 as f64 / divisor as f64)
            }
            None if decimals == 0 => whole.to_string(),
            None => format!("{whole}.{:0decimals$}", self.0 % divisor),
        };
        let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
        write!(f, "{text} {unit}")
    }
}

impl FromStr for Span {
    type Err = QuantityError;

    /// A time with its unit, rounded to the nanosecond.
    ///
    /// # Errors
    /// As [`quantity::parse`].
    fn from_str(text: &str) -> Result<Span, QuantityError> {
        quantity::parse(text, Dimension::Time).map(Span::from_secs_f64)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Span(self.0).fmt(f)
    }
}
