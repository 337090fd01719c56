//! What a file is, by its content: an access log, a capture, or a column of numbers.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use thiserror::Error;

use super::{ColumnError, read_column};
use crate::recorded::capture::{Capture, CaptureError};
use crate::recorded::log::{Log, LogError};

/// Bytes at the start of a file that tell what it is.
const HEAD: usize = 1 << 14;

/// What was read.
#[derive(Clone, Debug)]
pub enum Input {
    /// An access log.
    Log(Log),
    /// A capture of packets.
    Capture(Capture),
    /// A column of numbers.
    Numbers(Vec<f64>),
}

/// Why a file is none of them.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InputError {
    /// It cannot be read.
    #[error("{0}")]
    Io(String),
    /// As a log.
    #[error(transparent)]
    Log(#[from] LogError),
    /// As a table with commas, which is no log either.
    #[error("{error}; of a CSV file name a column: --numbers {column}")]
    Table {
        /// What is wrong with it as a log.
        error: LogError,
        /// Its first column.
        column: String,
    },
    /// As a capture.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// As a column.
    #[error(transparent)]
    Column(#[from] ColumnError),
}

impl Input {
    /// Reads the file at `path`, plain or gzip: a capture by its first bytes, a column of numbers when its first line or,
    /// under a heading, its second is a number, else a log. `column` says that it is a column of numbers: the only one, or
    /// the one of a CSV file that is called so.
    ///
    /// # Errors
    /// When it cannot be read, and as [`Log::read`], [`Capture::read`] and [`read_column`].
    pub fn read(path: &Path, column: Option<Option<&str>>) -> Result<Input, InputError> {
        let name = path.display().to_string();
        let io = |error: io::Error| InputError::Io(format!("cannot read {name}: {error}"));
        let mut head = Vec::new();
        File::open(path).and_then(unpack).map_err(io)?.take(HEAD as u64).read_to_end(&mut head).ok();
        if column.is_none() && Capture::is_one(&head) {
            return Ok(Input::Capture(Capture::read(path)?));
        }
        if column.is_some() || is_column(&head) {
            let text = column_text(File::open(path).map_err(io)?).map_err(io)?;
            return Ok(Input::Numbers(read_column(text, column.flatten(), &name)?));
        }
        match Log::read(path) {
            Ok(log) => Ok(Input::Log(log)),
            Err(error) => Err(match first_column(&head).filter(|_| matches!(error, LogError::NoGoodLine { .. })) {
                Some(column) => InputError::Table { error, column },
                None => InputError::Log(error),
            }),
        }
    }
}

/// The text of a column of numbers, plain or gzip.
///
/// # Errors
/// When its first bytes cannot be read.
pub fn column_text(source: impl Read + 'static) -> io::Result<impl BufRead> {
    Ok(BufReader::with_capacity(1 << 16, unpack(source)?))
}

/// The bytes, unpacked where they are gzip.
fn unpack(source: impl Read + 'static) -> io::Result<Box<dyn Read>> {
    let mut source = BufReader::new(source);
    let mut magic = Vec::new();
    source.by_ref().take(2).read_to_end(&mut magic)?;
    let gzip = magic == b"\x1f\x8b";
    let source = io::Cursor::new(magic).chain(source);
    Ok(if gzip { Box::new(MultiGzDecoder::new(source)) } else { Box::new(source) })
}

/// Whether the text that begins so is a column of numbers, with or without a heading.
fn is_column(head: &[u8]) -> bool {
    lines(head).take(2).any(|line| line.parse::<f64>().is_ok())
}

/// The name of the first column, where the text looks like a table with commas.
fn first_column(head: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(head);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'))?;
    let (first, _) = line.split_once(',')?;
    let word = first.trim().trim_matches('"');
    (!word.is_empty() && word.len() < 40 && !word.contains([' ', '['])).then(|| word.to_owned())
}

/// The lines with something in them.
fn lines(head: &[u8]) -> impl Iterator<Item = &str> {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        // The head may end within a character.
        Err(error) => std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default(),
    };
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}
