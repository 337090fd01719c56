//! A trace of gaps and demands, pair by pair.

use std::io::{self, BufRead, ErrorKind};
use std::path::Path;

use sojourn_stats::{Span, input};

use super::{Columns, opened};
use crate::text::TextError;

/// The (gap, demand) pairs of a file in its order, as [`super::Trace::read`] would read them, in the memory of one line.
pub struct Pairs {
    name: String,
    text: Box<dyn BufRead>,
    columns: Columns,
    /// The first line, when it is a pair and not a heading.
    first: Option<String>,
    line: String,
    number: u64,
}

impl Pairs {
    /// Opens the file at `path`, plain or gzip, and reads its first line. None where it is of another kind: instants,
    /// which take sorting, or gaps without demands.
    ///
    /// # Errors
    /// When the file cannot be read, is empty, or its first line makes no sense.
    pub fn open(path: &Path) -> Result<Option<Pairs>, TextError> {
        let name = path.display().to_string();
        let whole = |fault: String| TextError::Whole { name: name.clone(), fault };
        let mut text = opened(path).map_err(|error| whole(error.to_string()))?;
        let (mut line, mut number) = (String::new(), 0);
        let fault = |number, fault| TextError::Line { name: name.clone(), line: number, fault };
        while next_line(&mut *text, &mut line, &mut number).map_err(|error| fault(number + 1, error.to_string()))? {
            if bare(&line).is_empty() {
                continue;
            }
            let (columns, is_heading) = Columns::of(bare(&line)).map_err(|wrong| fault(number, wrong))?;
            if columns.gap_is_instant || columns.demand.is_none() || columns.sent_and_done.is_some() {
                return Ok(None);
            }
            let first = (!is_heading).then(|| line.clone());
            return Ok(Some(Pairs { name, text, columns, first, line, number }));
        }
        Err(whole("it is empty; a trace has a gap per line, such as `0.012` or `12 ms`".into()))
    }

    fn pair(&self, line: &str) -> Result<(Span, Span), TextError> {
        let fault = |fault| TextError::Line { name: self.name.clone(), line: self.number, fault };
        let entry = self.columns.entry(line).map_err(fault)?;
        let pair = entry.and_then(|entry| Some((entry.when, entry.demand?)));
        pair.ok_or_else(|| fault("the demand is missing".into()))
    }
}

impl Iterator for Pairs {
    type Item = Result<(Span, Span), TextError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(first) = self.first.take() {
            return Some(self.pair(bare(&first)));
        }
        loop {
            match next_line(&mut *self.text, &mut self.line, &mut self.number) {
                Ok(true) if bare(&self.line).is_empty() => {}
                Ok(true) => return Some(self.pair(bare(&self.line))),
                Ok(false) => return None,
                Err(error) => {
                    let (name, line) = (self.name.clone(), self.number + 1);
                    return Some(Err(TextError::Line { name, line, fault: error.to_string() }));
                }
            }
        }
    }
}

/// A line without its comment.
fn bare(line: &str) -> &str {
    line.split('#').next().unwrap_or("").trim()
}

fn next_line(text: &mut dyn BufRead, line: &mut String, number: &mut u64) -> io::Result<bool> {
    let mut bytes = std::mem::take(line).into_bytes();
    let more = input::next_line(text, &mut bytes)?;
    *line = String::from_utf8(bytes).map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not text in UTF-8"))?;
    *number += u64::from(more);
    Ok(more)
}
