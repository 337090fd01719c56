//! What is taken from a reply.

use std::fmt;

use regex::bytes::Regex;
use serde_json::Value;

use super::Look;

/// One value that a step takes.
#[derive(Debug)]
pub(crate) struct Take {
    /// The variable's name.
    pub(crate) name: String,
    /// Its number.
    pub(crate) variable: usize,
    pub(crate) from: From,
}

/// Where the value stands.
#[derive(Debug)]
pub(crate) enum From {
    /// The first field of this name, lower case.
    Header(String),
    /// The pair of this name in a `set-cookie`.
    Cookie(String),
    /// At this JSON pointer (RFC 6901) of the body.
    Json(String),
    /// The first group of the first match in the body.
    Regex(Regex),
}

impl Take {
    pub(crate) fn looks_into_body(&self) -> bool {
        matches!(self.from, From::Json(_) | From::Regex(_))
    }

    /// The value; none where it is not there. Of JSON a text is taken without its quotes, and `null` is no value.
    pub(super) fn value(&self, look: &mut Look<'_>) -> Option<Vec<u8>> {
        match &self.from {
            From::Header(name) => look.fields(name).next().map(<[u8]>::to_vec),
            From::Cookie(name) => look.fields("set-cookie").find_map(|cookie| {
                let pair = cookie.split(|&byte| byte == b';').next()?;
                let at = pair.iter().position(|&byte| byte == b'=')?;
                (pair[..at].trim_ascii() == name.as_bytes()).then(|| pair[at + 1..].trim_ascii().to_vec())
            }),
            From::Json(pointer) => match look.json()?.pointer(pointer)? {
                Value::Null => None,
                Value::String(text) => Some(text.clone().into_bytes()),
                other => Some(other.to_string().into_bytes()),
            },
            From::Regex(regex) => Some(regex.captures(look.body()?)?.get(1)?.as_bytes().to_vec()),
        }
    }
}

impl fmt::Display for Take {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match &self.from {
            From::Header(field) => write!(f, "take `{name}` from header `{field}`"),
            From::Cookie(cookie) => write!(f, "take `{name}` from cookie `{cookie}`"),
            From::Json(pointer) => write!(f, "take `{name}` from json `{pointer}`"),
            From::Regex(regex) => write!(f, "take `{name}` from regex `{regex}`"),
        }
    }
}
