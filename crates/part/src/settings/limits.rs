//! What clients of a part that speaks HTTP may take.

use clap::Args;
use serde::{Deserialize, Serialize};
use sojourn_stats::Span;

use super::Wrong;
use crate::listen::{HEAD_TIMEOUT, KEEP_ALIVE};

/// What clients may take.
#[derive(Args, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Close clients' connections that are idle for this long; `0 s`: a connection per request
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub keep_alive: Span,
    /// Answer 408 where the head of a request is not complete this long after its first byte
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub head_timeout: Span,
    /// Most connections of clients at once; further ones wait [default: as many as file descriptors suffice for]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<usize>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { keep_alive: KEEP_ALIVE, head_timeout: HEAD_TIMEOUT, connections: None }
    }
}

impl Limits {
    /// Whether clients can be served within them.
    ///
    /// # Errors
    /// Where no connection is left, or a head has no time.
    pub fn check(&self) -> Result<(), Wrong> {
        if self.connections == Some(0) {
            return Err(Wrong::new("connections", "it is a whole number of at least 1"));
        }
        if self.head_timeout == Span::ZERO {
            return Err(Wrong::new("head_timeout", "a head takes some time, e.g. `10 s`"));
        }
        Ok(())
    }
}
