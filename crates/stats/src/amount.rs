//! Amounts that read and print themselves, with their unit: sizes, rates and bandwidths, as [`Span`](crate::Span) does times.
//! What they print is the shortest text that reads back as the very same amount, so files, flags and messages agree.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Span;
use crate::quantity::{self, Dimension, QuantityError};

/// A number of bytes: `10 kB`, `1 MiB`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// How often a second: `374 /s`.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct PerSecond(pub f64);

/// Bits per second: `10 Mbit/s`.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Bandwidth(pub f64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimal = quantity::format(self.0 as f64, Dimension::Size);
        let binary = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)].into_iter();
        let binary = binary.map(|(unit, bytes)| (unit, self.0 / bytes, self.0 % bytes));
        let binary = binary
            .filter(|(_, whole, rest)| *whole > 0 && *rest == 0)
            .map(|(unit, whole, _)| format!("{whole} {unit}"));
        let shortest = binary.filter(|text| text.len() < decimal.len()).min_by_key(String::len);
        f.write_str(&shortest.unwrap_or(decimal))
    }
}

impl FromStr for Bytes {
    type Err = QuantityError;

    /// A size with its unit, rounded to the byte.
    ///
    /// # Errors
    /// As [`quantity::parse`].
    fn from_str(text: &str) -> Result<Bytes, QuantityError> {
        quantity::parse(text, Dimension::Size).map(|bytes| Bytes(bytes.round() as u64))
    }
}

macro_rules! text {
    ($($amount:ident: $dimension:ident,)*) => {$(
        impl fmt::Display for $amount {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&quantity::format(self.0, Dimension::$dimension))
            }
        }

        impl FromStr for $amount {
            type Err = QuantityError;

            /// # Errors
            /// As [`quantity::parse`].
            fn from_str(text: &str) -> Result<$amount, QuantityError> {
                quantity::parse(text, Dimension::$dimension).map($amount)
            }
        }
    )*};
}

text! { PerSecond: Rate, Bandwidth: Bandwidth, }

macro_rules! serde_as_text {
    ($($amount:ident: $dimension:ident,)*) => {$(
        impl Serialize for $amount {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $amount {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$amount, D::Error> {
                deserializer.deserialize_any(Text(Dimension::$dimension, PhantomData))
            }
        }
    )*};
}

serde_as_text! { Span: Time, Bytes: Size, PerSecond: Rate, Bandwidth: Bandwidth, }

/// Reads an amount. A number without a unit gets the same refusal as its text, which says how one is written.
struct Text<T>(Dimension, PhantomData<T>);

impl<T: FromStr<Err = QuantityError>> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with its unit, as {}", self.0.name(), self.0.examples())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }
}

/// For `#[serde(with = "sojourn_stats::nanoseconds")]`: a [`Span`], or an `Option` of one, as the number of its
/// nanoseconds, as records of decisions have it. An `Option` needs `default` besides, else `null` must be written.
pub mod nanoseconds {
    use super::{Deserialize, Deserializer, Serialize, Serializer, Span};

    /// What stands in a file as a number of nanoseconds.
    pub trait Nanoseconds: Copy {
        /// The number, or none.
        type Number: Serialize + for<'de> Deserialize<'de>;
        /// Its number.
        fn number(self) -> Self::Number;
        /// From its number.
        fn from_number(number: Self::Number) -> Self;
    }

    impl Nanoseconds for Span {
        type Number = u64;
        fn number(self) -> u64 {
            self.0
        }
        fn from_number(number: u64) -> Span {
            Span(number)
        }
    }

    impl Nanoseconds for Option<Span> {
        type Number = Option<u64>;
        fn number(self) -> Option<u64> {
            self.map(|span| span.0)
        }
        fn from_number(number: Option<u64>) -> Option<Span> {
            number.map(Span)
        }
    }

    /// # Errors
    /// Those of the serializer.
    pub fn serialize<T: Nanoseconds, S: Serializer>(span: &T, serializer: S) -> Result<S::Ok, S::Error> {
        span.number().serialize(serializer)
    }

    /// # Errors
    /// When it is no whole number.
    pub fn deserialize<'de, T: Nanoseconds, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        T::Number::deserialize(deserializer).map(T::from_number)
    }
}
