//! Random: each eligible backend is equally likely.
//!
//! Reads nothing but who is eligible; counts nothing. A retry is drawn among those not yet tried. Weights are ignored.

use sojourn_stats::{Stream, Time};

use super::Entry;
use crate::{BackendId, Decision, Policy, Request, Signals, Table};

pub(super) const ENTRY: Entry =
    Entry { name: "random", summary: "each backend equally likely", build: |_| Ok(Box::new(Random)) };

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Random;

impl Policy for Random {
    fn requires(&self) -> Signals {
        Signals::empty()
    }

    fn listens(&self) -> bool {
        false
    }

    fn choose(&mut self, _: &Request, table: &Table, exclude: &[BackendId], _: Time, stream: &mut Stream) -> Decision {
        Decision::forward_or_refuse(table.draw(exclude, stream))
    }
}
