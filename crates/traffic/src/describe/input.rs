//! What a file is, by its content: an access log, a capture, sessions of browsers, or a column of numbers.

use std::io::{self, BufRead, Cursor, Read};
use std::path::Path;

use sojourn_stats::input;
use thiserror::Error;

use super::{ColumnError, Numbers, read_column};
use crate::recorded::capture::{Capture, CaptureError};
use crate::recorded::har::Har;
use crate::recorded::log::{Log, LogError, LogFormat};
use crate::text::{TextError, unpacked};

/// Bytes at the start of a file that tell what it is.
const HEAD: usize = 1 << 14;

/// What was read.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "a program has one of them, or as many as files were named")]
pub enum Input {
    /// An access log.
    Log(Log),
    /// A capture of packets.
    Capture(Capture),
    /// A column of numbers.
    Numbers(Numbers),
    /// Sessions of browsers.
    Har(Har),
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
    #[error("{error}; of a CSV file name a column: --column {column}")]
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
    /// As sessions of browsers.
    #[error(transparent)]
    Har(#[from] TextError),
    /// What is read to its end is empty the second time.
    #[error("standard input is read once: name `-` once among the files")]
    Twice,
    /// They cannot be read as one.
    #[error("{0}: several files are read as one if all are logs, all are HTTP archives, or all are columns of numbers")]
    Several(String),
}

impl Input {
    /// Reads the file at `path`, plain, gzip or zstd: a capture and an HTTP archive by their first bytes, a column of numbers
    /// when its first line or, under a heading, its second is a number, else a log, in `format` or in the one that its first
    /// lines tell. `column` says that it is a column of numbers: the only one, or the one of a CSV file that is called so.
    ///
    /// # Errors
    /// When it cannot be read, and as [`Log::read`], [`Capture::read`] and [`read_column`].
    pub fn read(path: &Path, column: Option<Option<&str>>, format: Option<&LogFormat>) -> Result<Input, InputError> {
        let name = path.display().to_string();
        let file = input::open(path).map_err(|error| InputError::Io(format!("cannot read {name}: {error}")))?;
        Input::read_from(file, &name, column, format)
    }

    /// Reads several files, of which `-` is standard input: logs as one log in the order of time, columns as one column.
    ///
    /// # Errors
    /// As [`Input::read`]; for several of different kinds, several captures, or standard input twice.
    pub fn read_all(
        paths: &[impl AsRef<Path>],
        column: Option<Option<&str>>,
        format: Option<&LogFormat>,
    ) -> Result<Input, InputError> {
        let is_standard = |path: &&Path| *path == Path::new("-");
        if paths.iter().map(AsRef::as_ref).filter(is_standard).count() > 1 {
            return Err(InputError::Twice);
        }
        let mut inputs = Vec::new();
        for path in paths.iter().map(AsRef::as_ref) {
            inputs.push(match is_standard(&path) {
                true => Input::read_from(io::stdin(), "standard input", column, format)?,
                false => Input::read(path, column, format)?,
            });
        }
        if inputs.len() == 1 {
            return Ok(inputs.remove(0));
        }
        let (mut logs, mut archives, mut numbers) = (Vec::new(), Vec::new(), Numbers::default());
        for input in inputs {
            match input {
                Input::Log(log) => logs.push(log),
                Input::Numbers(more) => numbers = numbers.with(more),
                Input::Har(har) => archives.push(har),
                Input::Capture(_) => return Err(InputError::Several("a capture among several files".into())),
            }
        }
        match (logs.is_empty(), numbers.values.is_empty(), archives.is_empty()) {
            (false, true, true) => Ok(Input::Log(Log::joined(logs))),
            (true, false, true) => Ok(Input::Numbers(numbers)),
            (true, true, false) => Ok(Input::Har(Har::joined(archives))),
            (no_log, no_number, no_archive) => {
                let kinds = [("logs", no_log), ("columns of numbers", no_number), ("HTTP archives", no_archive)];
                let there: Vec<&str> =
                    kinds.into_iter().filter(|(_, is_missing)| !is_missing).map(|(kind, _)| kind).collect();
                Err(InputError::Several(there.join(" and ")))
            }
        }
    }

    /// Reads `source`; `name` is what messages call it.
    ///
    /// # Errors
    /// As [`Input::read`].
    pub fn read_from(
        mut source: impl Read + Send + 'static,
        name: &str,
        column: Option<Option<&str>>,
        format: Option<&LogFormat>,
    ) -> Result<Input, InputError> {
        let io = |error: io::Error| InputError::Io(format!("cannot read {name}: {error}"));
        let mut packed = Vec::new();
        source.by_ref().take(HEAD as u64).read_to_end(&mut packed).map_err(io)?;
        let mut head = Vec::new();
        // Of what is packed, the head ends in the middle.
        let _ = unpacked(Cursor::new(packed.clone())).map_err(io)?.take(HEAD as u64).read_to_end(&mut head);
        let source = Cursor::new(packed).chain(source);
        let is_log = format.is_some();
        if column.is_none() && !is_log && Capture::is_one(&head) {
            return Ok(Input::Capture(Capture::read_from(source, name)?));
        }
        if column.is_none() && !is_log && Har::is_one(&head) {
            let mut text = Vec::new();
            unpacked(source).map_err(io)?.read_to_end(&mut text).map_err(io)?;
            return Ok(Input::Har(Har::parse(&text, name)?));
        }
        if column.is_some() || !is_log && is_column(&head) {
            return Ok(Input::Numbers(read_column(unpacked(source).map_err(io)?, column.flatten(), name)?));
        }
        match Log::read_from(source, name, format) {
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
    unpacked(source)
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
