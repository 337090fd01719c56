//! Where something stands in a configuration, what is said of it, and why a configuration is refused.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use sojourn_stats::config::{one_line, shown};
use sojourn_stats::meant_aside;
use thiserror::Error;

/// A line of a file, counted from 1. It is shown as `haproxy.cfg:12`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileLine {
    /// The file, as the user named it or as another file includes it.
    pub file: Arc<str>,
    /// The line.
    pub line: usize,
}

impl FileLine {
    /// The line `line` of `file`.
    pub fn new(file: &Arc<str>, line: usize) -> FileLine {
        FileLine { file: Arc::clone(file), line }
    }

    /// Why what stands here is refused.
    pub fn refused(&self, why: impl fmt::Display) -> ImportError {
        ImportError(plain(&format!("{self}: {why}")))
    }
}

impl fmt::Display for FileLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// One line that says where, what is wrong, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ImportError(pub String);

/// How a line was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reading {
    /// Its meaning is in the pool, or as near as the note says.
    Used,
    /// Its meaning is known, and a pool cannot say it.
    LeftOut,
    /// It is not known here.
    NotUnderstood,
}

/// What is said of a line of a configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    /// Where it stands.
    pub at: FileLine,
    /// How it was read.
    pub reading: Reading,
    /// A sentence for a person, in one line without control characters.
    pub text: String,
}

/// The notes of a configuration or of a part of it, as many as a person would read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// In the order of the files; at most [`Notes::MAX`].
    pub kept: Vec<Note>,
    /// How many more there were.
    pub more: usize,
    /// Directives that concern neither who serves a request nor how long it waits, and the lines that have them.
    pub passed_over: BTreeMap<String, Vec<FileLine>>,
}

impl Notes {
    /// Most notes that are kept.
    pub const MAX: usize = 200;

    /// Adds one.
    pub fn add(&mut self, at: &FileLine, reading: Reading, text: impl AsRef<str>) {
        if self.kept.len() < Notes::MAX {
            self.kept.push(Note { at: at.clone(), reading, text: plain(text.as_ref()) });
        } else {
            self.more += 1;
        }
    }

    /// Adds one of a line that begins with `word`, which is not known here.
    pub fn not_understood(&mut self, at: &FileLine, word: &str) {
        self.add(at, Reading::NotUnderstood, format!("\"{}\" is not understood", cut(word)));
    }

    /// The same, with the word of `known` that was probably meant.
    pub fn not_known<'a>(&mut self, at: &FileLine, word: &str, known: impl IntoIterator<Item = &'a str>) {
        // To look for it takes a while: of very many lines no more are told, and what is longer than any is none of them.
        let is_worth_it = self.kept.len() < Notes::MAX && word.len() <= CUT_AT;
        let meant = if is_worth_it { meant_aside(word, known) } else { String::new() };
        self.add(at, Reading::NotUnderstood, format!("\"{}\" is not understood{meant}", cut(word)));
    }

    /// How many parts were not understood.
    pub fn unknown(&self) -> usize {
        self.kept.iter().filter(|note| note.reading == Reading::NotUnderstood).count()
    }

    /// Adds a directive that does not matter here. Of as many lines as [`Notes::MAX`] it is kept where they are.
    pub fn pass_over(&mut self, at: &FileLine, word: &str) {
        let lines = self.passed_over.entry(plain(word)).or_default();
        if lines.len() < Notes::MAX {
            lines.push(at.clone());
        }
    }

    /// Adds all of `other`.
    pub fn extend(&mut self, other: &Notes) {
        for note in &other.kept {
            self.add(&note.at, note.reading, &note.text);
        }
        self.more += other.more;
        for (word, lines) in &other.passed_over {
            lines.iter().for_each(|at| self.pass_over(at, word));
        }
    }
}

/// Most characters of a word of a user's file in a line of text.
const CUT_AT: usize = 60;

/// A word of a user's file, as long as a line of text has room for.
pub(crate) fn cut(word: &str) -> String {
    match word.char_indices().nth(CUT_AT) {
        Some((end, _)) => format!("{}...", &word[..end]),
        None => word.into(),
    }
}

/// `text` in one line of some length, without what moves a terminal's cursor or has no place in a file of settings.
fn plain(text: &str) -> String {
    const MOST: usize = 300;
    let end = text.char_indices().nth(MOST).map_or(text.len(), |(end, _)| end);
    let is_cut = end < text.len();
    let text = shown(&one_line(&text[..end])).replace('\t', " ");
    if is_cut { text + "..." } else { text }
}
