//! Free capacity: turns in proportion to the free capacity last reported, spread smoothly.
//!
//! Smooth weighted round robin as nginx does it (see `weighted-round-robin`), with what each backend has free as its weight:
//! the front node of Agarwal 2001, section 4.4.2 ("weighted round robin (based on current load of servers)"). Where no one
//! has room, by the capacity reported; a backend that has not reported yet counts as the mean of the others, and before the
//! first report of all the static weights count. No parameters.
//!
//! Reads reports and weights; counts its own turns, which survive reports. Every report is a new set of weights, so there
//! are no rings of equal weights to keep: the price is a look at every backend per choice, and a front node has few.
//!
//! The price of going by what is free: with utilisation u, one of two equal backends whose share was larger than one half
//! by d has a free capacity that makes its next share smaller than one half by d u / (1 - u). Where they are busy for less
//! than half of the time that fades; above, the two swing further from report to report, however exact reports are.

use sojourn_stats::Stream;

use super::Entry;
use crate::{Ask, BackendId, Code, Decision, Explanation, Policy, Reason, Signals};

pub(super) const ENTRY: Entry = Entry {
    name: "free-capacity",
    summary: "turns in proportion to the free capacity last reported, smoothly spread",
    build: |_| Ok(Box::new(FreeCapacity::default())),
};

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct FreeCapacity {
    /// The running value of each backend.
    values: Vec<f64>,
}

impl Policy for FreeCapacity {
    fn requires(&self) -> Signals {
        Signals::REPORTS | Signals::ROOM
    }

    fn listens(&self) -> bool {
        false
    }

    fn choose(&mut self, ask: &Ask<'_>, _: &mut Stream) -> Decision {
        let Some(shares) = ask.table.shares_by_room(ask.tried) else { return Decision::refuse() };
        self.values.resize(ask.table.len(), 0.0);
        let mut best: Option<BackendId> = None;
        let share = |id| ask.table.share(id, shares);
        for id in ask.candidates().filter(|id| share(*id) > 0.0) {
            self.values[id.0 as usize] += share(id);
            if best.is_none_or(|best| self.value(id) > self.value(best)) {
                best = Some(id);
            }
        }
        let Some(id) = best else { return Decision::refuse() };
        self.values[id.0 as usize] -= shares.total;
        Decision::forward(id, Reason { code: Code::Turn, ties: 1, value: share(id) })
    }

    /// Each candidate's share and running value; the largest sum of the two is chosen.
    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        let shares = ask.table.shares_by_room(ask.tried);
        Explanation::of(ask.candidates(), |id| {
            let share = shares.map_or(0.0, |shares| ask.table.share(id, shares));
            vec![("share".into(), share), ("running_value".into(), self.value(id))]
        })
    }
}

impl FreeCapacity {
    fn value(&self, id: BackendId) -> f64 {
        self.values.get(id.0 as usize).copied().unwrap_or(0.0)
    }
}
