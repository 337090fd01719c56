//! Round trip: the backend with the shortest mean time from sending a request to the first byte of its reply, within
//! the averaging window; ties go to the one with fewer requests in flight, then are drawn.
//!
//! Parameters: `window`, default 1 s; `slide = true` for a window that slides instead of being cleared; `ties = first`
//! for the lowest number instead of a draw; `unseen = zero` and `reads = last` for other readings of Zhang, below.
//! Reads round trips and failures of the window and the load of each backend; counts nothing of its own.
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
//!
//! `unseen = zero` (the default is `unseen = in-flight`) is the literal reading, there to reproduce published results
//! and not to serve with: a backend without a round trip in this window has the mean 0 and so comes before all that
//! have one; of several such, the one with the fewest requests in flight, ties as ever. Price: the slower to answer,
//! the more it draws, and a backend that hangs draws everything from when the others have answered until it fails.
//!
//! `reads = last` (the default is `reads = present`) is for published results too: decisions compare the means of the
//! last complete window, computed at its end and frozen while the present one fills, and during the first window no
//! backend has one. What is said above of a backend without a round trip then holds for a whole window. Requests in
//! flight are counted live as ever; failures count in the window after theirs. Price: news is up to a window late, so
//! the best of one window draws all of the next (a herd), those that then had nothing to answer have no mean in the
//! one after, and a backend that fails fast draws traffic in every other window. It does not go with `slide = true`.

use sojourn_stats::Stream;

use super::Entry;
use crate::{Ask, Averaging, Decision, Index, Policy, Signals, Ties};

pub(super) const ENTRY: Entry = Entry {
    name: "round-trip",
    summary: "shortest mean time to first byte in the averaging window, ties to fewer in flight",
    build: |params| {
        let (window, ties) = (params.window()?, params.ties()?);
        let unseen = params.choice("unseen", &[("in-flight", Index::RoundTrip), ("zero", Index::RoundTripOrZero)])?;
        Ok(Box::new(RoundTrip { window, ties, index: unseen.unwrap_or(Index::RoundTrip) }))
    },
};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct RoundTrip {
    window: Averaging,
    ties: Ties,
    /// What holds for a backend without a round trip in the window.
    index: Index,
}

impl Policy for RoundTrip {
    fn requires(&self) -> Signals {
        Signals::IN_FLIGHT | Signals::FIRST_BYTE
    }

    fn window(&self) -> Option<Averaging> {
        Some(self.window)
    }

    fn index(&self) -> Index {
        self.index
    }

    fn ties(&self) -> Ties {
        self.ties
    }

    fn listens(&self) -> bool {
        false
    }

    fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision {
        Decision::forward_or_refuse(ask.table.least(ask.tried, draw))
    }
}
