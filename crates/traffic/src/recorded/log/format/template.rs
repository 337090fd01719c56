//! A line as fields with fixed texts between them: what nginx, Apache, Envoy and Traefik write by a format string.
//!
//! A field reaches to the first place where the text behind it stands, in quotes to the first one that no backslash escapes.
//! A line that does not follow the format to its last byte is bad.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter};

use super::super::fault::Fault;
use super::super::record::{Fields, Record, Role};

/// A compiled format string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template {
    pieces: Vec<Piece>,
    /// The text behind the last field.
    tail: Box<[u8]>,
    /// Whether fields may follow that are not known: of formats that grow.
    is_open: bool,
}

/// A field behind the text that stands before it.
type Piece = (Box<[u8]>, Role);

/// What stands in a format string.
pub(super) enum Part {
    /// A text.
    Text(Vec<u8>),
    /// A field.
    Field(Role),
}

impl Template {
    /// Of the parts of a format string.
    ///
    /// # Errors
    /// Where two fields that are read have nothing between them, or an instant or a request is missing.
    pub(super) fn new(parts: impl IntoIterator<Item = Part>) -> Result<Template, &'static str> {
        let (mut pieces, mut text) = (Vec::<Piece>::new(), Vec::new());
        for part in parts {
            match part {
                Part::Text(more) => text.extend(more),
                Part::Field(_) if text.is_empty() && !pieces.is_empty() => {
                    return Err("two fields with nothing between them: a line does not say where one ends");
                }
                Part::Field(role) => pieces.push((std::mem::take(&mut text).into(), role)),
            }
        }
        let has = |role: Role| pieces.iter().any(|piece| piece.1 == role);
        if !(has(Role::Instant) || has(Role::Day) && has(Role::TimeOfDay)) {
            return Err("there is no field that says when a request came");
        }
        let has_request = has(Role::Request) || has(Role::RequestOfUrl) || has(Role::Method) && has(Role::Path);
        if !has_request {
            return Err("there is no field with the request, and not both of its method and its path");
        }
        while text.last() == Some(&b'\n') {
            text.pop();
        }
        Ok(Template { pieces, tail: text.into(), is_open: false })
    }

    /// The same, where fields may follow that are not known.
    pub(super) fn open(self) -> Template {
        Template { is_open: true, ..self }
    }

    /// What a line says.
    #[inline]
    pub(super) fn read<'a>(&self, line: &'a [u8]) -> Result<Record<'a>, Fault> {
        let mut fields = Fields::default();
        let mut rest = line;
        for (index, (before, role)) in self.pieces.iter().enumerate() {
            rest = rest.strip_prefix(&**before).ok_or(Fault::Shape)?;
            if role.is_padded() {
                rest = rest.trim_ascii_start();
            }
            let stop = self.pieces.get(index + 1).map_or(&*self.tail, |next| &*next.0);
            let length = match stop {
                [] if self.is_open => memchr(b' ', rest).unwrap_or(rest.len()),
                [] => self.last_field(rest, *role)?,
                [b'"', ..] => end_of_quoted(rest, stop).ok_or(Fault::Shape)?,
                stop => end(rest, stop, role.is_list()).ok_or(Fault::Shape)?,
            };
            fields.take(*role, Cow::Borrowed(&rest[..length]))?;
            rest = &rest[length..];
        }
        let rest = rest.strip_prefix(&*self.tail).ok_or(Fault::Shape)?;
        let is_over = rest.is_empty() || self.is_open && rest[0] == b' ';
        if is_over { fields.finish() } else { Err(Fault::Extra) }
    }

    /// How long the last field is: the line has nothing behind it but, of a list, what was tried besides.
    fn last_field(&self, rest: &[u8], role: Role) -> Result<usize, Fault> {
        match end(rest, b" ", role.is_list()) {
            Some(_) => Err(Fault::Extra),
            None => Ok(rest.len()),
        }
    }
}

/// Where `stop` is first in `text`. The blanks of a list, behind a comma and about a colon, are no end of it.
#[inline]
fn end(text: &[u8], stop: &[u8], is_list: bool) -> Option<usize> {
    let mut colon = usize::MAX;
    memchr_iter(stop[0], text).find(|&at| {
        if is_list && stop[0] == b' ' {
            if text[at..].starts_with(b" : ") {
                colon = at;
            }
            let within = colon != usize::MAX && at <= colon + 2 && at >= colon;
            if within || at > 0 && text[at - 1] == b',' {
                return false;
            }
        }
        text[at..].starts_with(stop)
    })
}

/// Where `stop`, which begins with a quote, is first in `text` with no backslash before it.
#[inline]
fn end_of_quoted(text: &[u8], stop: &[u8]) -> Option<usize> {
    memchr_iter(b'"', text).find(|&at| {
        let escapes = text[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
        escapes % 2 == 0 && text[at..].starts_with(stop)
    })
}
