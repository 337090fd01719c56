//! Random: each eligible backend is equally likely.
//!
//! Reads nothing but who is eligible; counts nothing. A retry is drawn among those not yet tried. Weights are ignored.

use sojourn_stats::Stream;

use super::Entry;
use crate::{Ask, Decision, Explanation, Plain, Policy, Signals};

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

    fn plain(&self) -> Option<Plain> {
        Some(Plain::Drawn)
    }

    fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision {
        Decision::forward_or_refuse(ask.table.draw(ask.tried, draw))
    }

    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        let candidates = ask.candidates();
        let chance = 1.0 / candidates.clone().count() as f64;
        Explanation::of(candidates, |_| vec![("chance".into(), chance)])
    }
}
