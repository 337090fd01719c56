//! Priority levels: backends stand in levels, and a level takes what the levels before it cannot.
//!
//! A level can take min(100, 100 `overprovision` up / all) per cent of the requests, in whole numbers: with the default of
//! 1.4 the first level takes all of them until less than 71.5 % of its backends are up, and the next level what is missing.
//! Where all levels together can take less than 100 %, each takes its part of what they can, and the first that is up what
//! rounding leaves over (Envoy, `load_balancer_impl.cc`, `recalculatePerPriorityState`; its documentation rounds otherwise).
//! The level of a request is drawn by these shares.
//!
//! Parameters: `levels`, the number of backends of each level, in the order of the backends, as in `levels = 4 2`; any more
//! are of the last level. Without it all are of one level. `overprovision`, default 1.4; with as much as a level has
//! backends, such as 100, the next levels are backups in the sense of HAProxy and nginx: they get nothing while one backend
//! before them is up. `within` says who is chosen of a level: `random` (the default), `round-robin`, or `power-of-d`, the one
//! with fewer requests in flight of two drawn without repetition.
//!
//! Reads who is up, and with `within = power-of-d` requests in flight; keeps whose turn it is. A level all of whose backends
//! are full or were tried passes a request to the next one. Not modelled: Envoy's panic, where a level with few backends up
//! gets requests for those that are down too, which no policy here may choose. Price: where a backend becomes full or not,
//! or goes or comes, the levels are made anew.

use sojourn_stats::Stream;

use super::Entry;
use crate::{Ask, BackendId, Code, Decision, Explanation, Policy, Reason, Signals, State, Table};

pub(super) const ENTRY: Entry = Entry {
    name: "priority-levels",
    summary: "a level of backends takes what those before it cannot; drawn, in turn or by fewer in flight within it",
    build: |params| {
        let text = params.text("levels").unwrap_or("1");
        let sizes: Option<Vec<u32>> =
            text.split_whitespace().map(|size| size.parse().ok().filter(|size| *size > 0)).collect();
        let Some(sizes) = sizes.filter(|sizes| (1..=100).contains(&sizes.len())) else {
            let right = "1 to 100 whole numbers from 1 on, as in `levels = 4 2`";
            return Err(params.wrong(&format!("levels = {text}: it is {right}")));
        };
        let factor = params.number("overprovision", 1.4, 1.0..=1e6)?;
        let rules = [("random", Within::Random), ("round-robin", Within::Turns), ("power-of-d", Within::LeastOfTwo)];
        let within = params.choice("within", &rules)?.unwrap_or(Within::Random);
        Ok(Box::new(PriorityLevels::new(&sizes, (100.0 * factor).round() as u64, within)))
    },
};

/// The per cent of the requests that each level takes, of which so many backends are up and there in all, where a level of
/// which all are up could take `percent`; all are 0 where none is up.
pub fn shares_of_levels(levels: &[(u64, u64)], percent: u64) -> Vec<u64> {
    let can = |&(up, all): &(u64, u64)| (percent * up).checked_div(all).unwrap_or(0).min(100);
    let can: Vec<u64> = levels.iter().map(can).collect();
    let whole = can.iter().sum::<u64>().min(100);
    let mut left = if whole == 0 { 0 } else { 100 };
    let mut shares: Vec<u64> = Vec::with_capacity(levels.len());
    for can in &can {
        shares.push((can * 100).checked_div(whole).unwrap_or(0).min(left));
        left -= shares[shares.len() - 1];
    }
    if let Some(first) = can.iter().position(|can| *can > 0) {
        shares[first] += left;
    }
    shares
}

/// Who is chosen of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Within {
    Random,
    Turns,
    LeastOfTwo,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct PriorityLevels {
    /// What a level of which all are up could take, per cent.
    percent: u64,
    within: Within,
    /// The number of the first backend after each level but the last.
    ends: Vec<u32>,
    levels: Vec<Level>,
    generation: Option<u64>,
}

/// A level as it was when the table last changed.
#[derive(Clone, Debug, Default)]
struct Level {
    /// The per cent of the requests that are for it.
    share: u64,
    /// Those that can be chosen, in ascending order.
    eligible: Vec<BackendId>,
    /// The one that had the last turn.
    last: Option<BackendId>,
}

impl PriorityLevels {
    fn new(sizes: &[u32], percent: u64, within: Within) -> PriorityLevels {
        let ends = sizes[..sizes.len() - 1].iter().scan(0, |end, size| {
            *end += size;
            Some(*end)
        });
        let levels = vec![Level::default(); sizes.len()];
        PriorityLevels { percent, within, ends: ends.collect(), levels, generation: None }
    }

    fn level(&self, id: BackendId) -> usize {
        self.ends.partition_point(|end| *end <= id.0)
    }

    #[cold]
    fn refresh(&mut self, table: &Table) {
        self.generation = Some(table.generation());
        let mut counts = vec![(0, 0); self.levels.len()];
        for id in (0..table.len() as u32).map(BackendId).filter(|id| table.state(*id) != State::Left) {
            counts[self.level(id)].1 += 1;
        }
        table.up().iter().for_each(|id| counts[self.level(*id)].0 += 1);
        let shares = shares_of_levels(&counts, self.percent);
        for (level, share) in self.levels.iter_mut().zip(shares) {
            level.share = share;
            level.eligible.clear();
        }
        for id in table.eligible() {
            let level = self.level(*id);
            self.levels[level].eligible.push(*id);
        }
    }

    /// The level that a request is for.
    fn draw(&self, draw: &mut Stream) -> usize {
        if let Some(alone) = self.levels.iter().position(|level| level.share == 100) {
            return alone;
        }
        let (point, mut sum) = (draw.below(100) as u64, 0);
        let covers = |level: &Level| {
            sum += level.share;
            point < sum
        };
        self.levels.iter().position(covers).unwrap_or(0)
    }
}

impl Level {
    /// One of those that were not tried; none where none is left.
    fn choose(&mut self, within: Within, ask: &Ask<'_>, draw: &mut Stream) -> Option<(BackendId, Reason)> {
        let is_open = |id: &BackendId| !ask.tried.contains(id);
        let eligible = &self.eligible;
        let tried = eligible.iter().filter(|id| !is_open(id));
        let open = eligible.len() - if ask.tried.is_empty() { 0 } else { tried.count() };
        if open == 0 {
            return None;
        }
        let mut drawn = || loop {
            let id = eligible[draw.below(eligible.len())];
            if is_open(&id) {
                return id;
            }
        };
        let reason = |code, ties: usize, value| Reason { code, ties: ties as u32, value };
        Some(match within {
            Within::Random => (drawn(), reason(Code::Drawn, open, 0.0)),
            Within::Turns => {
                let next = self.last.map_or(0, |last| eligible.partition_point(|id| *id <= last));
                let id = *eligible[next..].iter().chain(&eligible[..next]).find(|id| is_open(id))?;
                self.last = Some(id);
                (id, reason(Code::Turn, 1, 0.0))
            }
            Within::LeastOfTwo => {
                let first = drawn();
                let other = (open > 1).then(|| {
                    loop {
                        let id = drawn();
                        if id != first {
                            break id;
                        }
                    }
                });
                let load = |id: BackendId| ask.table.load(id);
                let id = other.filter(|other| load(*other) < load(first)).unwrap_or(first);
                (id, reason(Code::LeastInFlight, 1, f64::from(load(id))))
            }
        })
    }
}

impl Policy for PriorityLevels {
    fn requires(&self) -> Signals {
        if self.within == Within::LeastOfTwo { Signals::IN_FLIGHT } else { Signals::empty() }
    }

    fn listens(&self) -> bool {
        false
    }

    fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision {
        if self.generation != Some(ask.table.generation()) {
            self.refresh(ask.table);
        }
        let first = self.draw(draw);
        let (before, from) = self.levels.split_at_mut(first);
        let mut levels = from.iter_mut().chain(before);
        Decision::forward_or_refuse(levels.find_map(|level| level.choose(self.within, ask, draw)))
    }

    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        Explanation::of(ask.candidates(), |id| {
            let level = self.level(id);
            let share = self.levels[level].share as f64 / 100.0;
            let load = ("in_flight".into(), f64::from(ask.table.load(id)));
            vec![("level".into(), level as f64), ("share_of_level".into(), share), load]
        })
    }
}
