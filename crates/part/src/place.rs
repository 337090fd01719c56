//! Where a mistake in a configuration file is. Each gets one line: file, line, key, and what is wrong and would be right.

use std::fmt::Display;
use std::net::SocketAddr;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use sojourn_stats::{Dimension, Span, nearest, quantity};
use toml::Spanned;

/// A file of TOML and its text.
pub struct Place<'a> {
    /// The text of the file.
    pub text: &'a str,
    /// Its name, for messages and for paths beside it.
    pub file: &'a Path,
}

impl Place<'_> {
    /// Reads the text; an error of TOML or of its keys is told in one line.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, String> {
        toml::from_str(self.text).map_err(|error| self.not_toml(&error))
    }

    /// One line: where, the key, and what is wrong and would be right.
    pub fn wrong(&self, at: Range<usize>, key: &str, what: impl Display) -> String {
        format!("{}:{}: {key}: {what}", self.file.display(), self.line(at.start))
    }

    /// A path of the file, which starts where the file is.
    pub fn path(&self, path: &Path) -> PathBuf {
        self.file.parent().map_or_else(|| path.to_owned(), |folder| folder.join(path))
    }

    /// An address with its port; `example` says how one is written.
    pub fn address(&self, text: &str, at: Range<usize>, key: &str, example: &str) -> Result<SocketAddr, String> {
        let wrong = || self.wrong(at, key, format!("`{text}` is no IP:PORT, as {example}"));
        text.parse().map_err(|_| wrong())
    }

    /// A time with its unit.
    pub fn time(&self, text: &Spanned<String>, key: &str) -> Result<Span, String> {
        let seconds = quantity::parse(text.get_ref(), Dimension::Time);
        seconds.map(Span::from_secs_f64).map_err(|error| self.wrong(text.span(), key, error))
    }

    /// A number of bytes with its unit.
    pub fn size(&self, text: &Spanned<String>, key: &str) -> Result<u64, String> {
        let bytes = quantity::parse(text.get_ref(), Dimension::Size);
        bytes.map(|bytes| bytes as u64).map_err(|error| self.wrong(text.span(), key, error))
    }

    fn not_toml(&self, error: &toml::de::Error) -> String {
        let line = error.span().map_or(1, |span| self.line(span.start));
        let message = error.message().lines().next().unwrap_or("not TOML").to_owned();
        let mut ticked = message.split('`').skip(1).step_by(2);
        let message = match (message.starts_with("unknown field"), ticked.next()) {
            (true, Some(word)) => {
                let known: Vec<&str> = ticked.collect();
                match nearest(word, known.iter().copied()) {
                    Some(meant) => format!("unknown key `{word}`; did you mean `{meant}`?"),
                    None => format!("unknown key `{word}`; known are {}", known.join(", ")),
                }
            }
            _ => message,
        };
        format!("{}:{line}: {message}", self.file.display())
    }

    fn line(&self, offset: usize) -> usize {
        self.text[..offset.min(self.text.len())].matches('\n').count() + 1
    }
}
