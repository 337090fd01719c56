//! What has to hold of a reply.

use std::fmt;

use regex::bytes::Regex;
use serde_json::Value;

use super::Look;

/// One check of a step.
#[derive(Debug)]
pub(crate) enum Check {
    /// The status is one of these.
    Status(Vec<u16>),
    /// The body has at most so many bytes.
    MaxSize(u64),
    /// The body has this text in it.
    Contains(String),
    /// The body has a match of this in it.
    Matches(Regex),
    /// This value stands in the body at this JSON pointer (RFC 6901).
    Json { pointer: String, value: Value },
}

impl Check {
    /// Whether it says which statuses are good.
    pub(super) fn is_of_status(&self) -> bool {
        matches!(self, Check::Status(_))
    }

    pub(super) fn looks_into_body(&self) -> bool {
        matches!(self, Check::Contains(_) | Check::Matches(_) | Check::Json { .. })
    }

    /// Whether it holds; of a body that was not kept whole nothing does.
    pub(super) fn holds(&self, look: &mut Look<'_>) -> bool {
        match self {
            Check::Status(statuses) => statuses.contains(&look.answer.status),
            Check::MaxSize(most) => look.answer.bytes <= *most,
            Check::Contains(text) => {
                look.body().is_some_and(|body| memchr::memmem::find(body, text.as_bytes()).is_some())
            }
            Check::Matches(regex) => look.body().is_some_and(|body| regex.is_match(body)),
            Check::Json { pointer, value } => {
                look.json().and_then(|json| json.pointer(pointer)).is_some_and(|found| are_equal(found, value))
            }
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Check::Status(statuses) => {
                let statuses: Vec<String> = statuses.iter().map(u16::to_string).collect();
                write!(f, "status {}", statuses.join(" or "))
            }
            Check::MaxSize(most) => write!(f, "body of at most {most} B"),
            Check::Contains(text) => write!(f, "body contains `{text}`"),
            Check::Matches(regex) => write!(f, "body matches `{regex}`"),
            Check::Json { pointer, value } => write!(f, "json `{pointer}` is {value}"),
        }
    }
}

/// Whether two JSON values are the same, numbers by their value.
fn are_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| are_equal(a, b)),
        _ => a == b,
    }
}
