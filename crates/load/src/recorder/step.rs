//! The steps on the way to a reply, and their times.

use serde::{Deserialize, Serialize};
use sojourn_stats::{Histogram, Span};

use crate::report::estimate::WINDOWS;
use crate::wire::exchange::Exchange;

/// A step on the way to a reply and how long it took, where there was one.
type Step = (&'static str, fn(&Exchange) -> Option<Span>);

/// The steps: name asked for, connection opened, TLS handshake, waiting for the reply's first byte.
pub(crate) const STEPS: [Step; 4] = [
    ("resolve_time", |exchange| Some(exchange.resolved?.saturating_since(exchange.begun))),
    ("connect_time", |exchange| {
        Some(exchange.connected?.saturating_since(exchange.resolved.unwrap_or(exchange.begun)))
    }),
    ("tls_time", |exchange| Some(exchange.secured?.saturating_since(exchange.connected?))),
    ("first_byte_time", |exchange| Some(exchange.first_byte?.saturating_since(exchange.sent?))),
];

/// The times of one step by window; nothing is allocated where it is never gone.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Steps(pub(crate) Vec<Histogram>);

impl Steps {
    #[inline]
    pub(crate) fn record(&mut self, window: usize, took: Span) {
        if self.0.is_empty() {
            self.0.resize(WINDOWS, Histogram::new());
        }
        self.0[window].record(took.0);
    }

    pub(crate) fn absorb(&mut self, other: Steps) {
        if self.0.is_empty() {
            self.0 = other.0;
        } else {
            for (window, more) in self.0.iter_mut().zip(&other.0) {
                window.merge(more);
            }
        }
    }
}
