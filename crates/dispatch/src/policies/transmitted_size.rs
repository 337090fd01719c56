//! Transmitted size: the backend that transmitted the fewest bytes within the averaging window; ties go to the one with
//! fewer requests in flight, then are drawn.
//!
//! Parameters: `window`, default 1 s; `slide = true` for a window that slides instead of being cleared (Zhang 2002,
//! section 2.3); `ties = first` for the lowest number instead of a draw; `reads = last` for another reading of Zhang,
//! below. Reads bytes and failures of the window and the load of each backend; counts nothing of its own. The counts
//! are cleared at the end of each window (section 5.1.2). With ties to the lowest number, a lightly loaded system sends
//! most requests to the first backend: Zhang's figures 5.5 and 5.15 show that skew.
//!
//! A backend without bytes in this window has transmitted 0 and is the least: so it was published. A failure
//! transmits nothing either, so it is charged: as many bytes as the most that any backend transmitted, and a request
//! in flight until the window forgets it ([`crate::WindowTotals`]). A backend that hangs without failing does draw
//! the requests of the rest of the window, until a time-out or a health check says so: Zhang found this policy the
//! slowest of five.
//!
//! `reads = last` (the default is `reads = present`) is there to reproduce published results and not to serve with:
//! decisions compare the bytes of the last complete window, frozen while the present one fills, and during the first
//! window every backend has 0. Requests in flight are counted live as ever; failures count in the window after theirs.
//! Price: the least of one window draws all of the next whatever it transmits meanwhile, and a backend that fails fast
//! draws traffic in every other window. It does not go with `slide = true`.

use sojourn_stats::Stream;

use super::Entry;
use crate::{Ask, Averaging, Decision, Index, Policy, Signals, Ties};

pub(super) const ENTRY: Entry = Entry {
    name: "transmitted-size",
    summary: "fewest bytes transmitted in the averaging window, ties to fewer in flight",
    build: |params| Ok(Box::new(TransmittedSize { window: params.window()?, ties: params.ties()? })),
};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct TransmittedSize {
    window: Averaging,
    ties: Ties,
}

impl Policy for TransmittedSize {
    fn requires(&self) -> Signals {
        Signals::IN_FLIGHT | Signals::BYTES
    }

    fn window(&self) -> Option<Averaging> {
        Some(self.window)
    }

    fn index(&self) -> Index {
        Index::Bytes
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
