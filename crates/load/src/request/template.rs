//! Texts with drawn values: `/work?iter={erlang(k = 2, mean = 40000)}`.
//!
//! What is drawn for a request follows from the run's seed and the request's number alone, so that it is the same at any
//! number of threads and processes. A law's numbers are written whole, rounded, unless `as real` follows it; its stream
//! is the request's own, and the price is a hash per request that has a drawn value.

use std::borrow::Cow;
use std::io::Write;

use sojourn_stats::{Dimension, Law, LawError, Stream};
use thiserror::Error;

use crate::schedule::job::Job;

/// A text in whose braces stand laws of plain numbers, or `client`, `k` (the request's number), `object`, `size` (B) or
/// `demand` (ns); `{{` and `}}` are braces.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    pieces: Vec<Piece>,
    /// The endpoint that it is for, by its number; none: whichever the request is dealt to.
    pub(crate) endpoint: Option<usize>,
}

/// Why a text is no template; the message says what would be right.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct TemplateError(String);

#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(String),
    Client,
    K,
    Object,
    Size,
    Demand,
    /// A variable of a scenario, by its number.
    Variable(usize),
    Drawn {
        law: Law,
        real: bool,
    },
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// One line that names the part that is wrong and what would be right.
    pub fn parse(text: &str) -> Result<Template, TemplateError> {
        Template::read(text, Piece::parse)
    }

    /// Reads a template of a scenario: in braces also stand the names of `variables`, and of a request's own numbers
    /// only `client` and `k`, here the pass's.
    pub(crate) fn of_step(text: &str, variables: &[String]) -> Result<Template, TemplateError> {
        Template::read(text, |inside| match variables.iter().position(|variable| variable == inside) {
            Some(variable) => Ok(Piece::Variable(variable)),
            None if inside == "client" || inside == "k" => Piece::parse(inside),
            None if is_name(inside) => Err(format!(
                "`{inside}` is not known here: no step before takes it, and the data have no such column; \
                 write `{{{{` for a brace"
            )),
            None => Piece::drawn(inside).map_err(|error| {
                format!("{error} (in braces stands a variable, a law, client or k; write `{{{{` for a brace)")
            }),
        })
    }

    fn read(text: &str, piece: impl Fn(&str) -> Result<Piece, String>) -> Result<Template, TemplateError> {
        let wrong = |why: String| TemplateError(format!("template `{text}`: {why}"));
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            plain.push_str(&rest[..at]);
            let (brace, after) = (&rest[at..=at], &rest[at + 1..]);
            if let Some(after) = after.strip_prefix(brace) {
                plain.push_str(brace);
                rest = after;
                continue;
            }
            if brace == "}" {
                return Err(wrong("`}` without `{`; write `}}` for a brace".to_owned()));
            }
            let Some((inside, after)) = after.split_once('}') else {
                return Err(wrong("`{` without `}`; write `{{` for a brace".to_owned()));
            };
            if !plain.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
            }
            pieces.push(piece(inside.trim()).map_err(wrong)?);
            rest = after;
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Ok(Template { pieces, endpoint: None })
    }

    /// The same, always asked of endpoint number `endpoint` of the load.
    pub fn at(mut self, endpoint: usize) -> Template {
        self.endpoint = Some(endpoint);
        self
    }

    /// Puts `text`, as it is, before it.
    pub(crate) fn begin_with(&mut self, text: &str) {
        match self.pieces.first_mut() {
            Some(Piece::Text(first)) => first.insert_str(0, text),
            _ => self.pieces.insert(0, Piece::Text(text.into())),
        }
    }

    /// The text, where nothing in it is drawn or filled in.
    pub(crate) fn plain(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => Some(""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// What stands before the first value.
    pub(crate) fn beginning(&self) -> &str {
        match self.pieces.first() {
            Some(Piece::Text(text)) => text,
            _ => "",
        }
    }

    /// Its texts, without the values.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// Writes it for `job`; `stream` gives what is drawn.
    pub(crate) fn write(&self, job: &Job, stream: &mut Stream, out: &mut Vec<u8>) {
        self.write_with(job, stream, |_| unreachable!("only a template of a step has variables"), out);
    }

    /// Writes it for `job` with the values of its variables.
    pub(crate) fn write_with<'a>(
        &self,
        job: &Job,
        stream: &mut Stream,
        value: impl Fn(usize) -> Cow<'a, [u8]>,
        out: &mut Vec<u8>,
    ) {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => {
                    out.extend_from_slice(text.as_bytes());
                    continue;
                }
                Piece::Variable(variable) => {
                    out.extend_from_slice(&value(*variable));
                    continue;
                }
                Piece::Client => write!(out, "{}", job.request.client),
                Piece::K => write!(out, "{}", job.k),
                Piece::Object => write!(out, "{}", job.request.object),
                Piece::Size => write!(out, "{}", job.request.size),
                Piece::Demand => write!(out, "{}", job.request.demand.0),
                Piece::Drawn { law, real: true } => write!(out, "{}", law.sample(stream)),
                Piece::Drawn { law, real: false } => write!(out, "{:.0}", law.sample(stream).round()),
            }
            .expect("a Vec takes all");
        }
    }
}

impl Piece {
    fn parse(text: &str) -> Result<Piece, String> {
        Ok(match text {
            "client" => Piece::Client,
            "k" => Piece::K,
            "object" => Piece::Object,
            "size" => Piece::Size,
            "demand" => Piece::Demand,
            _ => Piece::drawn(text)
                .map_err(|error| format!("{error} (in braces stands a law, or client, k, object, size or demand)"))?,
        })
    }

    /// What a law draws, whole unless `as real` follows it.
    fn drawn(text: &str) -> Result<Piece, LawError> {
        let (law, real) = match text.strip_suffix("as real") {
            Some(law) => (law.trim_end(), true),
            None => (text, false),
        };
        Ok(Piece::Drawn { law: Law::parse(law, Dimension::Number)?, real })
    }
}

/// Whether `text` is a name, and so no law.
pub(crate) fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// The stream that request `k` of the run seeded by `seed` draws from for `purpose`.
pub(crate) fn stream_of(seed: u64, k: u64, purpose: &str) -> Stream {
    let mut entity = [0u8; 28];
    let mut left = &mut entity[..];
    write!(left, "request {k}").expect("20 digits at most");
    let length = 28 - left.len();
    Stream::new(seed, std::str::from_utf8(&entity[..length]).expect("ASCII"), purpose)
}
