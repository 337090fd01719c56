//! Quantities with units: `10 ms`, `5 kB`, `374 /s`, `10 Mbit/s`. Units are written, never assumed.
//!
//! A unit is kept as an exact pair (multiply by, divide by), so that `1.1 ms` is the double nearest to 0.0011 s and
//! [`format()`] can promise text that reads back as the very same number.

use thiserror::Error;

use crate::nearest::{nearest, suggestion};

/// What a number measures; the SI unit it is kept in is in the variant's doc.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dimension {
    /// Seconds. Units `ns`, `us`, `ms`, `s`, `min`, `h`.
    Time,
    /// Bytes. Units `B`, `kB`, `MB`, `GB` (powers of 1000), `KiB`, `MiB`, `GiB` (powers of 1024).
    Size,
    /// Per second. Units `/s`, `/ms`, `/min`, `/h`.
    Rate,
    /// Seconds per byte. Units `s/B`, `ms/B`, `us/B`, `ns/B`, and the same per `kB` or `MB`.
    TimePerSize,
    /// Bits per second. Units `bit/s`, `kbit/s`, `Mbit/s`, `Gbit/s`.
    Bandwidth,
    /// A bare number (also `70%`).
    Number,
}

/// Why a text is not a quantity of the dimension asked for; the message says what would be right.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct QuantityError(pub String);

/// Reads `text` as a quantity of `dimension`, in its SI unit. Only a [`Dimension::Number`] may be negative.
///
/// # Errors
/// When the number or the unit is missing or wrong; the message names the unit expected.
pub fn parse(text: &str, dimension: Dimension) -> Result<f64, QuantityError> {
    let text = text.trim();
    let (number, unit) = split(text);
    let expected = dimension.name();
    let Some(value) = number.parse::<f64>().ok().filter(|value| value.is_finite()) else {
        return Err(QuantityError(format!("`{text}` is not {expected}: write e.g. {}", dimension.examples())));
    };
    if value < 0.0 && dimension != Dimension::Number {
        return Err(QuantityError(format!("`{text}` is negative; {expected} is not")));
    }
    if let Some(found) = dimension.units().iter().find(|known| known.name == unit) {
        return Ok(found.to_si(value));
    }
    Err(QuantityError(wrong_unit(text, number, unit, dimension)))
}

/// Reads `text` as a quantity of whichever dimension its unit belongs to.
///
/// # Errors
/// When the number is missing or no dimension knows the unit.
pub fn parse_any(text: &str) -> Result<(f64, Dimension), QuantityError> {
    let text = text.trim();
    let unit = split(text).1;
    let dimension = dimension_of(unit).ok_or_else(|| {
        let all = DIMENSIONS.iter().flat_map(|dimension| dimension.units().iter().map(|unit| unit.name));
        QuantityError(format!("`{text}`: `{unit}` is not a unit; {}", suggestion(unit, all)))
    })?;
    Ok((parse(text, dimension)?, dimension))
}

/// `text` with the unit that is probably meant where it has one of other programs (`150 rps` is `150 /s`), and what it
/// measures; none where neither is known. For messages only: such units are not read.
pub fn meant(text: &str) -> Option<(String, Dimension)> {
    let text = text.trim();
    if let Ok((_, dimension)) = parse_any(text) {
        return Some((text.to_owned(), dimension));
    }
    let (number, unit) = split(text);
    let lower = unit.to_lowercase();
    let (_, unit) = SYNONYMS.iter().find(|(word, _)| *word == lower)?;
    let meant = format!("{number} {unit}");
    let (_, dimension) = parse_any(&meant).ok()?;
    Some((meant, dimension))
}

/// How many SI units one `unit` of `dimension` is: 0.001 for `ms`.
///
/// # Errors
/// When `dimension` has no such unit; the message names the known ones.
pub fn unit(unit: &str, dimension: Dimension) -> Result<f64, QuantityError> {
    parse(&format!("1 {}", unit.trim()), dimension)
}

/// The names of the units of `dimension`, smallest first; none for a bare number.
pub fn known_units(dimension: Dimension) -> Vec<&'static str> {
    dimension.units().iter().map(|known| known.name).filter(|name| !name.is_empty() && *name != "%").collect()
}

/// Writes `value` (SI unit) in the largest unit that keeps a digit before the point, such that [`parse`] gives back
/// the very same number: `10 ms`, `2.5 kB`, `374 /s`.
pub fn format(value: f64, dimension: Dimension) -> String {
    let units = dimension.units();
    let readable = units
        .iter()
        .filter(|unit| unit.shown && value.abs() >= unit.to_si(1.0))
        .max_by(|one, other| one.to_si(1.0).total_cmp(&other.to_si(1.0)));
    let text = |number: f64, unit: &str| if unit.is_empty() { number.to_string() } else { format!("{number} {unit}") };
    if let Some(unit) = readable {
        let written = text(value / unit.times * unit.over, unit.name);
        // Dividing may round: then the SI unit, which never does.
        if written.len() <= 16 && parse(&written, dimension) == Ok(value) {
            return written;
        }
    }
    text(value, dimension.si_unit())
}

impl Dimension {
    /// The SI unit that its numbers are kept in: `s`, `B`, `/s`, `s/B`, `bit/s`, or nothing for a bare number.
    pub fn si_unit(self) -> &'static str {
        match self {
            Dimension::Time => "s",
            Dimension::Size => "B",
            Dimension::Rate => "/s",
            Dimension::TimePerSize => "s/B",
            Dimension::Bandwidth => "bit/s",
            Dimension::Number => "",
        }
    }

    /// With its article, for messages: `a time`.
    pub fn name(self) -> &'static str {
        match self {
            Dimension::Time => "a time",
            Dimension::Size => "a size",
            Dimension::Rate => "a rate",
            Dimension::TimePerSize => "a time per size",
            Dimension::Bandwidth => "a bandwidth",
            Dimension::Number => "a number",
        }
    }

    /// How one is written, for messages.
    pub(crate) fn examples(self) -> &'static str {
        match self {
            Dimension::Time => "`10 s` or `10 ms`",
            Dimension::Size => "`10 B` or `10 kB`",
            Dimension::Rate => "`10 /s`",
            Dimension::TimePerSize => "`10 us/B` or `10 us/kB`",
            Dimension::Bandwidth => "`10 Mbit/s`",
            Dimension::Number => "`10`",
        }
    }

    fn units(self) -> &'static [Unit] {
        match self {
            Dimension::Time => TIME,
            Dimension::Size => SIZE,
            Dimension::Rate => RATE,
            Dimension::TimePerSize => TIME_PER_SIZE,
            Dimension::Bandwidth => BANDWIDTH,
            Dimension::Number => NUMBER,
        }
    }
}

struct Unit {
    name: &'static str,
    times: f64,
    over: f64,
    /// Whether [`format`] writes it: a person reads 90 s more easily than 1.5 min.
    shown: bool,
}

impl Unit {
    fn to_si(&self, value: f64) -> f64 {
        value * self.times / self.over
    }
}

const DIMENSIONS: [Dimension; 6] = [
    Dimension::Time,
    Dimension::Size,
    Dimension::Rate,
    Dimension::TimePerSize,
    Dimension::Bandwidth,
    Dimension::Number,
];

const fn shown(name: &'static str, times: f64, over: f64) -> Unit {
    Unit { name, times, over, shown: true }
}

const fn read(name: &'static str, times: f64, over: f64) -> Unit {
    Unit { name, times, over, shown: false }
}

const TIME: &[Unit] = &[
    shown("ns", 1.0, 1e9),
    shown("us", 1.0, 1e6),
    shown("ms", 1.0, 1e3),
    shown("s", 1.0, 1.0),
    read("min", 60.0, 1.0),
    read("h", 3600.0, 1.0),
];
const SIZE: &[Unit] = &[
    shown("B", 1.0, 1.0),
    shown("kB", 1e3, 1.0),
    shown("MB", 1e6, 1.0),
    shown("GB", 1e9, 1.0),
    read("KiB", 1024.0, 1.0),
    read("MiB", 1024.0 * 1024.0, 1.0),
    read("GiB", 1024.0 * 1024.0 * 1024.0, 1.0),
];
const RATE: &[Unit] = &[shown("/s", 1.0, 1.0), read("/ms", 1e3, 1.0), read("/min", 1.0, 60.0), read("/h", 1.0, 3600.0)];
const TIME_PER_SIZE: &[Unit] = &[
    read("s/B", 1.0, 1.0),
    shown("ms/B", 1.0, 1e3),
    shown("us/B", 1.0, 1e6),
    shown("ns/B", 1.0, 1e9),
    read("s/kB", 1.0, 1e3),
    read("ms/kB", 1.0, 1e6),
    read("us/kB", 1.0, 1e9),
    read("ns/kB", 1.0, 1e12),
    read("s/MB", 1.0, 1e6),
    read("ms/MB", 1.0, 1e9),
    read("us/MB", 1.0, 1e12),
    read("ns/MB", 1.0, 1e15),
];
const BANDWIDTH: &[Unit] =
    &[shown("bit/s", 1.0, 1.0), shown("kbit/s", 1e3, 1.0), shown("Mbit/s", 1e6, 1.0), shown("Gbit/s", 1e9, 1.0)];
const NUMBER: &[Unit] = &[shown("", 1.0, 1.0), read("%", 1.0, 100.0)];

/// What people write instead; only ever offered, never accepted.
const SYNONYMS: &[(&str, &str)] = &[
    ("sec", "s"),
    ("second", "s"),
    ("seconds", "s"),
    ("msec", "ms"),
    ("millis", "ms"),
    ("milliseconds", "ms"),
    ("usec", "us"),
    ("µs", "us"),
    ("μs", "us"),
    ("nsec", "ns"),
    ("m", "min"),
    ("minute", "min"),
    ("minutes", "min"),
    ("hour", "h"),
    ("hours", "h"),
    ("byte", "B"),
    ("bytes", "B"),
    ("b", "B"),
    ("kb", "kB"),
    ("k", "kB"),
    ("mb", "MB"),
    ("m", "MB"),
    ("gb", "GB"),
    ("g", "GB"),
    ("hz", "/s"),
    ("per second", "/s"),
    ("1/s", "/s"),
    ("rps", "/s"),
    ("req/s", "/s"),
    ("requests/s", "/s"),
    ("bps", "bit/s"),
    ("b/s", "bit/s"),
    ("kbps", "kbit/s"),
    ("mbps", "Mbit/s"),
    ("gbps", "Gbit/s"),
    ("percent", "%"),
];

/// The leading number of `text` and the unit after it.
fn split(text: &str) -> (&str, &str) {
    let bytes = text.as_bytes();
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let mut end = digits(usize::from(matches!(bytes.first(), Some(b'+' | b'-'))));
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let first = end + 1 + usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if digits(first) > first {
            end = digits(first);
        }
    }
    (&text[..end], text[end..].trim())
}

fn dimension_of(unit: &str) -> Option<Dimension> {
    DIMENSIONS.into_iter().find(|dimension| dimension.units().iter().any(|known| known.name == unit))
}

fn wrong_unit(text: &str, number: &str, unit: &str, dimension: Dimension) -> String {
    let names: Vec<&str> = dimension.units().iter().map(|known| known.name).filter(|name| !name.is_empty()).collect();
    let known = format!("(known: {})", known_units(dimension).join(", "));
    let expected = dimension.name();
    if unit.is_empty() {
        return format!("`{text}` has no unit: write e.g. {} {known}", examples_with(number, dimension));
    }
    if let Some(other) = dimension_of(unit) {
        return match dimension {
            Dimension::Number => {
                format!("`{text}` is {} where a bare number is expected: write `{number}`", other.name())
            }
            _ => format!(
                "`{text}` is {} where {expected} is expected: write e.g. {} {known}",
                other.name(),
                examples_with(number, dimension)
            ),
        };
    }
    let lower = unit.to_lowercase();
    let synonym =
        SYNONYMS.iter().find(|(word, meant)| *word == lower && names.contains(meant)).map(|(_, meant)| *meant);
    match synonym.or_else(|| nearest(unit, names.iter().copied())) {
        Some(meant) => {
            format!("`{text}`: `{unit}` is not a unit of {expected}; did you mean `{number} {meant}`? {known}")
        }
        None => format!("`{text}`: `{unit}` is not a unit of {expected} {known}"),
    }
}

/// The examples of `dimension` with the number that the user wrote.
fn examples_with(number: &str, dimension: Dimension) -> String {
    dimension.examples().replace("10", number)
}
