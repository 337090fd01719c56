//! A trace: measured gaps between requests, with their demands and sizes where these are known.
//!
//! Three kinds of text are read, told apart by their first line:
//!
//! - a column of times: the gaps. The server model draws the demands;
//! - two columns, `gap,demand`, with or without a heading;
//! - a heading with `planned_ns` or `at_s` (a run's records, a plan written as CSV): the gaps are between its instants,
//!   sorted; a demand is `demand_*` where that is above 0, else from `sent_*` to `done_*` of a reply that was good.
//!
//! Times are seconds where nothing else is said: by a unit (`12 ms`) or by a heading that ends in one (`gap_ms`). A
//! heading may have `bytes` or `size_bytes`. Records that have neither a demand nor a good reply are left out and counted:
//! nothing is known of the work that they would have been. Where instants are read, the first request comes one mean gap
//! after the start, so that a repeated trace goes on at its own rate.
//!
//! A file may be packed with gzip. One of gaps and demands that does not fit in memory is read pair by pair ([`Pairs`]).

mod pairs;

use std::io::{self, BufRead};
use std::path::Path;

use sojourn_stats::{Dimension, Span, input, quantity};

pub use self::pairs::Pairs;

use crate::text::{TextError, unpacked};

/// A trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    gaps: Vec<Span>,
    demands: Option<Vec<Span>>,
    sizes: Option<Vec<u64>>,
    left_out: u64,
    gap_moments: (f64, f64),
    demand_moments: Option<(f64, f64)>,
    size_moments: Option<(f64, f64)>,
}

impl Trace {
    /// Reads the trace in the file at `path`.
    ///
    /// # Errors
    /// When the file cannot be read, and as [`Trace::read_from`].
    pub fn read(path: &Path) -> Result<Trace, TextError> {
        let name = path.display().to_string();
        match opened(path) {
            Ok(text) => Trace::read_from(text, &name),
            Err(error) => Err(TextError::Whole { name, fault: error.to_string() }),
        }
    }

    /// Reads a trace; `name` is what messages call it. Blank lines and `#` comments are left out.
    ///
    /// # Errors
    /// On the first line with a field that is not a time from 0 up, with its number; without two requests; when all
    /// come at one instant.
    pub fn read_from(text: impl BufRead, name: &str) -> Result<Trace, TextError> {
        let mut columns: Option<Columns> = None;
        let mut entries = Vec::new();
        let mut left_out = 0;
        for (index, line) in input::lines(text).enumerate() {
            let line_fault = |fault: String| TextError::Line { name: name.into(), line: index as u64 + 1, fault };
            let line = line.map_err(|error| line_fault(error.to_string()))?;
            let line = line.split('#').next().unwrap_or("").trim();
            if line.is_empty() {
                continue;
            }
            if columns.is_none() {
                let (read, is_heading) = Columns::of(line).map_err(line_fault)?;
                columns = Some(read);
                if is_heading {
                    continue;
                }
            }
            let columns = columns.as_ref().expect("read from the first line");
            match columns.entry(line).map_err(line_fault)? {
                Some(entry) => entries.push(entry),
                None => left_out += 1,
            }
        }
        let whole = |fault: &str| TextError::Whole { name: name.into(), fault: fault.into() };
        let columns =
            columns.ok_or_else(|| whole("it is empty; a trace has a gap per line, such as `0.012` or `12 ms`"))?;
        Trace::of(entries, &columns, left_out).map_err(whole)
    }

    fn of(mut entries: Vec<Entry>, columns: &Columns, left_out: u64) -> Result<Trace, &'static str> {
        if entries.len() < 2 {
            return Err("a trace has at least 2 requests whose work is known");
        }
        if columns.gap_is_instant {
            entries.sort_by_key(|entry| entry.when);
            let first = entries[0].when;
            let mut before = first;
            for entry in &mut entries {
                let at = entry.when;
                (entry.when, before) = (at - before, at);
            }
            entries[0].when = Span((before - first).0 / (entries.len() as u64 - 1));
        }
        let gaps: Vec<Span> = entries.iter().map(|entry| entry.when).collect();
        let demands: Option<Vec<Span>> = entries.iter().map(|entry| entry.demand).collect();
        let sizes: Option<Vec<u64>> = entries.iter().map(|entry| entry.size).collect();
        let of_spans = |spans: &[Span]| moments(spans.iter().map(|span| span.as_secs_f64()));
        let gap_moments = of_spans(&gaps);
        if gap_moments.0 <= 0.0 {
            return Err("all requests come at one instant; a trace has gaps above 0");
        }
        Ok(Trace {
            gap_moments,
            demand_moments: demands.as_deref().map(of_spans),
            size_moments: sizes.as_deref().map(|sizes| moments(sizes.iter().map(|size| *size as f64))),
            gaps,
            demands,
            sizes,
            left_out,
        })
    }

    /// The gap before each request; the first one's is from the start.
    pub fn gaps(&self) -> &[Span] {
        &self.gaps
    }

    /// The work of each request on a server of speed 1, where the trace knows it.
    pub fn demands(&self) -> Option<&[Span]> {
        self.demands.as_deref()
    }

    /// The bytes of each reply, where the trace knows them.
    pub fn sizes(&self) -> Option<&[u64]> {
        self.sizes.as_deref()
    }

    /// Records that were left out because nothing is known of their work.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Mean and variance of the gaps (s, s^2): the data's own.
    pub fn gap_moments(&self) -> (f64, f64) {
        self.gap_moments
    }

    /// Mean and variance of the demands (s, s^2), where they are known.
    pub fn demand_moments(&self) -> Option<(f64, f64)> {
        self.demand_moments
    }

    /// Mean and variance of the sizes (bytes, bytes^2), where they are known.
    pub fn size_moments(&self) -> Option<(f64, f64)> {
        self.size_moments
    }

    /// How long it lasts, from the start to the last request.
    pub fn span(&self) -> Span {
        Span(self.gaps.iter().map(|gap| gap.0).sum())
    }
}

/// The text of a file, plain or gzip (told apart by content).
fn opened(path: &Path) -> io::Result<Box<dyn BufRead>> {
    unpacked(input::open(path)?)
}

fn moments(values: impl ExactSizeIterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.clone().sum::<f64>() / count;
    (mean, values.map(|value| (value - mean).powi(2)).sum::<f64>() / count)
}

/// A request as read; `when` is a gap or an instant.
struct Entry {
    when: Span,
    demand: Option<Span>,
    size: Option<u64>,
}

/// Where things stand in a line.
struct Columns {
    when: Column,
    gap_is_instant: bool,
    demand: Option<Column>,
    sent_and_done: Option<(Column, Column)>,
    outcome: Option<usize>,
    size: Option<usize>,
    count: usize,
}

/// A column of times, and how many seconds its numbers are worth.
#[derive(Clone, Copy)]
struct Column {
    index: usize,
    unit_s: f64,
}

impl Columns {
    /// Reads a first line, and whether it is a heading.
    fn of(line: &str) -> Result<(Columns, bool), String> {
        let words: Vec<&str> = line.split(',').map(|word| word.trim().trim_matches('"')).collect();
        let plain = |index| Column { index, unit_s: 1.0 };
        let found = |gap_is_instant, when, demand| Columns {
            when,
            gap_is_instant,
            demand,
            sent_and_done: None,
            outcome: None,
            size: None,
            count: words.len(),
        };
        if time(words[0], 1.0).is_some() {
            return match words.len() {
                1 => Ok((found(false, plain(0), None), false)),
                2 => Ok((found(false, plain(0), Some(plain(1))), false)),
                more => {
                    Err(format!("{more} numbers; a line is a gap, or a gap and a demand; more columns need a heading"))
                }
            };
        }
        if words[0].starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+') {
            return Err(not_a_time(words[0]));
        }
        let named = |stem: &str| {
            words.iter().enumerate().find_map(|(index, word)| {
                let unit = word.strip_prefix(stem)?;
                let unit_s = match unit.strip_prefix('_') {
                    None if unit.is_empty() => 1.0,
                    Some(unit) => quantity::unit(unit, Dimension::Time).ok()?,
                    None => return None,
                };
                Some(Column { index, unit_s })
            })
        };
        let place = |names: &[&str]| words.iter().position(|word| names.contains(word));
        let (when, gap_is_instant) = match (named("gap"), named("planned").or_else(|| named("at"))) {
            (Some(gap), _) => (gap, false),
            (None, Some(instant)) => (instant, true),
            (None, None) if words.len() <= 2 => (plain(0), false),
            (None, None) => {
                return Err(format!(
                    "no column of gaps or instants among {}: name one `gap_s`, `planned_ns` or `at_s`",
                    words.join(", ")
                ));
            }
        };
        let bare = |index: usize| words.len() == 2 && !gap_is_instant && when.index != index;
        let demand = named("demand").or_else(|| (0..words.len()).find(|index| bare(*index)).map(plain));
        let columns = Columns {
            sent_and_done: named("sent").zip(named("done")),
            outcome: place(&["outcome"]),
            size: place(&["size_bytes", "bytes"]),
            ..found(gap_is_instant, when, demand)
        };
        Ok((columns, true))
    }

    /// Reads a line; none: nothing is known of its work.
    fn entry(&self, line: &str) -> Result<Option<Entry>, String> {
        let mut words = [""; COLUMNS_MAX];
        let mut count = 0;
        for word in line.split(',') {
            if let Some(place) = words.get_mut(count) {
                *place = word.trim().trim_matches('"');
            }
            count += 1;
        }
        if count != self.count {
            return Err(format!("{count} fields where the first line has {}", self.count));
        }
        let read =
            |column: Column| time(words[column.index], column.unit_s).ok_or_else(|| not_a_time(words[column.index]));
        let when = read(self.when)?;
        let size = match self.size {
            None => None,
            Some(index) => {
                let word = words[index];
                Some(word.parse().map_err(|_| format!("`{word}` is not a number of bytes"))?)
            }
        };
        let known = match self.demand {
            Some(column) if !words[column.index].is_empty() => Some(read(column)?),
            _ => None,
        };
        // A column of demands that are all 0 is that of a run whose requests did not carry any.
        let demand = match (known, self.sent_and_done) {
            (Some(demand), Some(_)) if demand > Span::ZERO => Some(demand),
            (_, Some((sent, done))) => {
                let good = self.outcome.is_none_or(|index| words[index].eq_ignore_ascii_case("ok"));
                if !good || words[sent.index].is_empty() || words[done.index].is_empty() {
                    return Ok(None);
                }
                Some(Span(read(done)?.0.saturating_sub(read(sent)?.0)))
            }
            (None, None) if self.demand.is_some() => return Err(not_a_time("")),
            (known, None) => known,
        };
        Ok(Some(Entry { when, demand, size }))
    }
}

/// Columns that a line may have; those beyond are counted, and not looked at.
const COLUMNS_MAX: usize = 64;

/// A number of units, or a number with a unit of its own.
fn time(word: &str, unit_s: f64) -> Option<Span> {
    // Whole nanoseconds stay what they are, however large.
    if unit_s == 1e-9
        && let Ok(ns) = word.parse::<u64>()
    {
        return Some(Span(ns));
    }
    let seconds = match word.parse::<f64>() {
        Ok(number) => number * unit_s,
        Err(_) => quantity::parse(word, Dimension::Time).ok()?,
    };
    (seconds >= 0.0 && seconds.is_finite()).then(|| Span::from_secs_f64(seconds))
}

fn not_a_time(word: &str) -> String {
    format!("`{word}` is not a time from 0 up, such as `0.012` (seconds) or `12 ms`")
}
