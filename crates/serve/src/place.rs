//! Where mistakes are in a configuration file of TOML: each gets one line, with the file, the line, the key and what would be
//! right. Relative paths start where the file is.

use std::net::SocketAddr;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use sojourn_stats::{Dimension, Span, nearest, quantity};
use toml::Spanned;

/// A file and its text.
pub(crate) struct Place<'a> {
    pub(crate) text: &'a str,
    pub(crate) file: &'a Path,
}

impl Place<'_> {
    /// Reads the file.
    ///
    /// # Errors
    /// Where it is no TOML, or has a key that is not known.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, String> {
        toml::from_str(self.text).map_err(|error| self.not_toml(&error))
    }

    /// One line: where, the key, and what is wrong and would be right.
    pub(crate) fn wrong(&self, at: Range<usize>, key: &str, what: impl std::fmt::Display) -> String {
        format!("{}:{}: {key}: {what}", self.file.display(), self.line(at.start))
    }

    /// A path of the file, which starts where the file is.
    pub(crate) fn path(&self, path: &Path) -> PathBuf {
        self.file.parent().map_or_else(|| path.to_owned(), |folder| folder.join(path))
    }

    /// Reads an address and a port.
    pub(crate) fn address(&self, text: &str, at: Range<usize>, key: &str) -> Result<SocketAddr, String> {
        let wrong = || self.wrong(at, key, format!("`{text}` is no IP:PORT, as 127.0.0.1:53 or [::1]:53"));
        text.parse().map_err(|_| wrong())
    }

    /// Reads a time above zero.
    pub(crate) fn time(&self, text: &Spanned<String>, key: &str) -> Result<Span, String> {
        let seconds = quantity::parse(text.get_ref(), Dimension::Time);
        let seconds = seconds.map_err(|error| self.wrong(text.span(), key, error))?;
        match Span::from_secs_f64(seconds) {
            Span::ZERO => Err(self.wrong(text.span(), key, "it is above 0, e.g. `60 s`")),
            span => Ok(span),
        }
    }

    fn line(&self, offset: usize) -> usize {
        self.text[..offset.min(self.text.len())].matches('\n').count() + 1
    }

    /// An error of TOML or of its keys, in one line.
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
}
