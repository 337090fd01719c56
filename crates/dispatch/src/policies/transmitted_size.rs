//! Transmitted size: the backend that transmitted the fewest bytes within the averaging window; ties go to the one with
//! fewer requests in flight, then are drawn.
//!
//! Parameter: `window`, default 1 s. Reads bytes and failures of the present window and the load of each backend; counts
//! nothing of its own. The counts are cleared at the end of each window (Zhang 2002, section 5.1.2).
//!
//! A backend without bytes in this window has transmitted 0 and is the least: so it was published. A failure transmits
//! nothing either, so it is charged: as many bytes as the most that any backend transmitted, and a request in flight
//! until the window ends ([`crate::WindowTotals`]). A backend that hangs without failing does draw the requests of the
//! rest of the window, until a time-out or a health check says so: Zhang found this policy the slowest of five.

use sojourn_stats::{Span, Stream, Time};

use super::Entry;
use crate::{BackendId, Decision, Index, Policy, Request, Signals, Table};

pub(super) const ENTRY: Entry = Entry {
    name: "transmitted-size",
    summary: "fewest bytes transmitted in the averaging window, ties to fewer in flight",
    build: |params| Ok(Box::new(TransmittedSize { window: params.span("window", Span(1_000_000_000))? })),
};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct TransmittedSize {
    window: Span,
}

impl Policy for TransmittedSize {
    fn requires(&self) -> Signals {
        Signals::IN_FLIGHT | Signals::BYTES
    }

    fn window(&self) -> Option<Span> {
        Some(self.window)
    }

    fn index(&self) -> Index {
        Index::Bytes
    }

    fn listens(&self) -> bool {
        false
    }

    fn choose(&mut self, _: &Request, table: &Table, exclude: &[BackendId], _: Time, stream: &mut Stream) -> Decision {
        Decision::forward_or_refuse(table.least(exclude, stream))
    }
}
