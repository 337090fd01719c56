//! Free capacity: turns in proportion to the free capacity last reported, spread smoothly.
//!
//! Smooth weighted round robin as nginx does it (see `weighted-round-robin`), with what each backend has free as its weight:
//! the front node of Agarwal 2001, section 4.4.2 ("weighted round robin (based on current load of servers)"). Where no one
//! has room, by the capacity reported; a backend that has not reported yet counts as the mean of the others, and before the
//! first report of all the static weights count. No parameters.
//!
//! Reads reports and weights; counts its own turns, which survive reports. Every report is a new weight, so there are no rings
//! of equal weights to keep: the price is an addition and a comparison for every backend per choice, a microsecond for a
//! thousand.
//!
//! The price of going by what is free: with utilisation u, one of two equal backends whose share was larger than one half
//! by d has a free capacity that makes its next share smaller than one half by d u / (1 - u). Where they are busy for less
//! than half of the time that fades; above, the two swing further from report to report, however exact reports are.

use sojourn_stats::{Stream, Time};

use super::Entry;
use crate::table::{ShareBy, Shares};
use crate::{Ask, BackendId, Code, Decision, Explanation, Index, Policy, Reason, Signals, Table};

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
    /// The share of each as last looked up; 0 for those that cannot be chosen.
    shares: Vec<f64>,
    /// What they were in proportion to then, and [`Table::generation`].
    by: Option<(ShareBy, u64)>,
    /// Those that have reported since.
    reported: Vec<BackendId>,
}

impl Policy for FreeCapacity {
    fn requires(&self) -> Signals {
        Signals::REPORTS | Signals::ROOM
    }

    fn index(&self) -> Index {
        Index::Room
    }

    fn choose(&mut self, ask: &Ask<'_>, _: &mut Stream) -> Decision {
        let Some(shares) = ask.table.shares_by_room(ask.tried) else { return Decision::refuse() };
        self.look_up(ask, shares);
        let Some(at) = self.turn() else { return Decision::refuse() };
        self.values[at] -= shares.total;
        Decision::forward(BackendId(at as u32), Reason { code: Code::Turn, ties: 1, value: self.shares[at] })
    }

    /// Each candidate's share and running value; the largest sum of the two is chosen.
    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        let shares = ask.table.shares_by_room(ask.tried);
        Explanation::of(ask.candidates(), |id| {
            let share = shares.map_or(0.0, |shares| ask.table.share(id, shares));
            let value = self.values.get(id.0 as usize).copied().unwrap_or(0.0);
            vec![("share".into(), share), ("running_value".into(), value)]
        })
    }

    fn reported(&mut self, backend: BackendId, table: &Table, _: Time) {
        if self.reported.len() < table.len() {
            self.reported.push(backend);
        } else {
            self.by = None;
        }
    }
}

impl FreeCapacity {
    /// Brings the shares up to date: of those that have reported; or of all, where what they are in proportion to or who can be
    /// chosen has changed, and for a retry.
    fn look_up(&mut self, ask: &Ask<'_>, shares: Shares) {
        let by = ask.tried.is_empty().then(|| (shares.by, ask.table.generation()));
        if by.is_some() && self.by == by {
            for id in self.reported.drain(..).filter(|id| ask.table.is_eligible(*id)) {
                self.shares[id.0 as usize] = ask.table.share(id, shares);
            }
            return;
        }
        self.by = by;
        self.reported.clear();
        self.values.resize(ask.table.len(), 0.0);
        self.shares.clear();
        self.shares.resize(ask.table.len(), 0.0);
        ask.candidates().for_each(|id| self.shares[id.0 as usize] = ask.table.share(id, shares));
    }

    /// Every running value grows by its share; the place of the largest of those with a share, the first of equals.
    fn turn(&mut self) -> Option<usize> {
        let mut best = None;
        let mut most = f64::NEG_INFINITY;
        for (at, (value, share)) in self.values.iter_mut().zip(&self.shares).enumerate() {
            *value += share;
            if *value > most && *share > 0.0 {
                (best, most) = (Some(at), *value);
            }
        }
        best
    }
}
