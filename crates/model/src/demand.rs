//! Service demand of a request: a law, a cost per byte, or both (`1 ms + 1 us/B`).

use std::fmt;

use serde::de::{self, Deserialize, Deserializer};
use sojourn_stats::{Dimension, Law, Span, Stream, quantity};

/// Work of a request on a server of speed 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// The part that does not depend on the size (seconds).
    pub fixed: Law,
    /// Seconds per byte of the reply.
    pub per_byte: f64,
    /// As written.
    text: String,
}

impl Demand {
    /// Reads `1 ms + 1 us/B`, `exponential(mean = 10 ms)`, `2 us/B`, `erlang(k = 2, mean = 1 ms) + 80 ns/B`.
    ///
    /// # Errors
    /// One line that says what would be right.
    pub fn parse(text: &str) -> Result<Demand, String> {
        let mut fixed = None;
        let mut per_byte = None;
        for term in terms(text) {
            if term.is_empty() {
                return Err(format!("demand `{text}`: write it as `1 ms`, `1 us/B`, or `1 ms + 1 us/B`"));
            }
            if is_per_byte(term) {
                let cost_s = quantity::parse(term, Dimension::TimePerSize).map_err(|e| e.to_string())?;
                if cost_s < 0.0 {
                    return Err(format!("demand `{term}`: a cost per byte is not negative"));
                }
                if per_byte.replace(cost_s).is_some() {
                    return Err(format!("demand `{text}`: one cost per byte, not two"));
                }
            } else {
                let law = Law::parse(term, Dimension::Time).map_err(|e| e.to_string())?;
                if law.limits().0 < 0.0 {
                    return Err(format!("demand `{term}`: work is not negative"));
                }
                if fixed.replace(law).is_some() {
                    return Err(format!("demand `{text}`: one law, not two; a mixture is `mix(0.9: ..., 0.1: ...)`"));
                }
            }
        }
        let fixed = fixed.unwrap_or_else(|| Law::constant(0.0));
        Ok(Demand { fixed, per_byte: per_byte.unwrap_or(0.0), text: text.trim().to_string() })
    }

    /// The transmission of the bytes that a job carries, at a link of `rate` bit/s.
    pub fn carried(rate: f64) -> Demand {
        let per_byte = 8.0 / rate;
        let text = quantity::format(per_byte, Dimension::TimePerSize);
        Demand { fixed: Law::constant(0.0), per_byte, text }
    }

    /// The transmission of a separate message of `size` bytes, at a link of `rate` bit/s.
    pub fn message(size: Law, rate: f64) -> Demand {
        let text = format!("{size} at {}", quantity::format(rate, Dimension::Bandwidth));
        Demand { fixed: size.scaled(8.0 / rate), per_byte: 0.0, text }
    }

    /// Draws the work of a request with a reply of `size` bytes.
    #[inline]
    pub fn draw(&self, size: u64, stream: &mut Stream) -> Span {
        Span::from_secs_f64(self.fixed.sample(stream) + self.per_byte * size as f64)
    }

    /// Mean and variance (s, s^2) when sizes have this mean and variance (B, B^2) and are independent of the rest.
    pub fn moments(&self, size_mean: f64, size_variance: f64) -> (f64, f64) {
        // 0 * infinity: a demand that does not read the size does not inherit its infinite moments.
        let part = |factor: f64, moment: f64| if factor == 0.0 { 0.0 } else { factor * moment };
        let mean = self.fixed.mean() + part(self.per_byte, size_mean);
        let variance = self.fixed.variance() + part(self.per_byte * self.per_byte, size_variance);
        (mean, variance)
    }
}

impl fmt::Display for Demand {
    /// As it was written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Demand {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Demand, D::Error> {
        Demand::parse(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

/// The terms of a sum, split at every `+` outside parentheses that is not an exponent's sign.
fn terms(text: &str) -> impl Iterator<Item = &str> {
    let bytes = text.as_bytes();
    let mut depth = 0i32;
    let mut plus = Vec::new();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            b'+' if depth == 0 => {
                let exponent = at >= 2 && matches!(bytes[at - 1], b'e' | b'E') && bytes[at - 2].is_ascii_digit();
                if !exponent {
                    plus.push(at);
                }
            }
            _ => {}
        }
    }
    let starts = std::iter::once(0).chain(plus.clone().into_iter().map(|at| at + 1));
    starts.zip(plus.into_iter().chain([text.len()])).map(|(from, to)| text[from..to].trim())
}

/// Whether a term is a cost per byte: a `/` outside parentheses.
fn is_per_byte(term: &str) -> bool {
    let mut depth = 0i32;
    term.bytes().any(|byte| {
        depth += i32::from(byte == b'(') - i32::from(byte == b')');
        depth == 0 && byte == b'/'
    })
}
