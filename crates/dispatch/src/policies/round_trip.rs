//! Round trip: the backend with the shortest mean time from sending a request to the first byte of its reply, within
//! the averaging window; ties go to the one with fewer requests in flight, then are drawn.
//!
//! Parameters: `window`, default 1 s; `slide = true` for a window that slides instead of being cleared; `ties = first`
//! for the lowest number instead of a draw. Reads round trips and failures of the present window and the load of each
//! backend; counts nothing of its own.
//!
//! The time is what the face can tell: at a gateway that of the reply's first byte; behind a switch, in a simulation,
//! that of the client's own first byte (Zhang 2002, section 5.1.2, who calls only the former realistic).
//!
//! The means are lost at the end of each window, and decisions then rest on the number of open connections alone (the
//! same section). Zhang does not say what holds while only some backends have answered; read
//! literally, one that has not would hold the mean 0 and draw all requests, the more so the slower it is. Here a mean
//! that does not exist is not compared: **until every eligible backend has a round trip in this window, the one with
//! the fewest requests in flight is chosen** (ties drawn). A failure is a long round trip, and counts as a request in
//! flight until the window forgets it: a backend that fails fast never looks fast ([`crate::WindowTotals`]).

use sojourn_stats::{Stream, Time};

use super::Entry;
use crate::{Averaging, BackendId, Decision, Index, Policy, Request, Signals, Table, Ties};

pub(super) const ENTRY: Entry = Entry {
    name: "round-trip",
    summary: "shortest mean time to first byte in the averaging window, ties to fewer in flight",
    build: |params| Ok(Box::new(RoundTrip { window: params.window()?, ties: params.ties()? })),
};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct RoundTrip {
    window: Averaging,
    ties: Ties,
}

impl Policy for RoundTrip {
    fn requires(&self) -> Signals {
        Signals::IN_FLIGHT | Signals::FIRST_BYTE
    }

    fn window(&self) -> Option<Averaging> {
        Some(self.window)
    }

    fn index(&self) -> Index {
        Index::RoundTrip
    }

    fn ties(&self) -> Ties {
        self.ties
    }

    fn listens(&self) -> bool {
        false
    }

    fn choose(&mut self, _: &Request, table: &Table, exclude: &[BackendId], _: Time, stream: &mut Stream) -> Decision {
        Decision::forward_or_refuse(table.least(exclude, stream))
    }
}
