//! Priority levels: backends stand in levels, and a level takes what the levels before it cannot.
//!
//! A level can take min(100, 100 `overprovision` up / all) per cent of the requests, in whole numbers: with the default of 1.4 the
//! first level takes all of them until less than 71.5 % of its backends are up, and the next level what is missing. Where all levels
//! together can take less than 100 %, each takes its part of what they can, and the first that is up what rounding leaves over
//! (Envoy, `load_balancer_impl.cc`, `recalculatePerPriorityState`; its documentation rounds otherwise). The level of a request is
//! drawn by these shares.
//!
//! Parameters: `levels`, the number of backends of each level, in the order of the backends, as in `levels = 4 2`; any more are of
//! the last level. `overprovision`, default 1.4; with as much as a level has backends, such as 100, the others are backups in the
//! sense of HAProxy and nginx: they get nothing while one of the level is up. `policy`, default `random`, chooses within the level;
//! each level has its own.
//!
//! Reads who is up, and what the policies inside read. A level all of whose backends are full or were tried passes a request to the
//! next one. Not modelled: Envoy's panic, where a level with few backends up gets requests for those that are down too, which no
//! policy here may choose. Price: the policy inside looks past all that are not of its level, so that a choice takes time in
//! proportion to the square of their number.

use std::ops::RangeInclusive;

use sojourn_stats::{Stream, Time};

use super::Entry;
use crate::{
    Ask, Averaging, BackendId, Command, Decision, Event, Explanation, Index, Policy, Signals, State, Table, Ties,
};

pub(super) const ENTRY: Entry = Entry {
    name: "priority-levels",
    summary: "a level of backends takes what those before it cannot, by another policy inside",
    build: |params| {
        let Some(text) = params.text("levels") else {
            return Err(params.wrong("say how many backends each level has, as in `levels = 4 2`"));
        };
        let sizes: Option<Vec<usize>> =
            text.split_whitespace().map(|size| size.parse().ok().filter(|size| *size > 0)).collect();
        let Some(sizes) = sizes.filter(|sizes| (1..=100).contains(&sizes.len())) else {
            return Err(params.wrong(&format!("levels = {text}: these are 1 to 100 whole numbers from 1 on, as in `levels = 4 2`")));
        };
        let factor = params.number("overprovision", 1.4, 1.0..=1e6)?;
        let inside = params.policies("policy", "random", sizes.len())?;
        Ok(Box::new(PriorityLevels::new(&sizes, (100.0 * factor).round() as u64, inside)))
    },
};

/// The per cent of the requests that each level takes, of which so many backends are up and there in all, where a level of which
/// all are up could take `percent`; all are 0 where none is up.
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

/// See the module.
pub struct PriorityLevels {
    /// What a level of which all are up could take, per cent.
    percent: u64,
    /// The first backend after each level but the last.
    ends: Vec<u32>,
    inside: Vec<Box<dyn Policy>>,
    shares: Vec<u64>,
    membership: Option<u64>,
    /// All that may not be chosen for the present request; kept so that a choice allocates nothing.
    excluded: Vec<BackendId>,
}

impl PriorityLevels {
    /// Levels of these sizes, each with its own policy.
    fn new(sizes: &[usize], percent: u64, inside: Vec<Box<dyn Policy>>) -> PriorityLevels {
        let mut end = 0;
        let mut after = |size: &usize| {
            end += *size as u32;
            end
        };
        let ends = sizes[..sizes.len() - 1].iter().map(&mut after).collect();
        PriorityLevels { percent, ends, inside, shares: Vec::new(), membership: None, excluded: Vec::new() }
    }

    fn level(&self, id: BackendId) -> usize {
        self.ends.partition_point(|end| *end <= id.0)
    }

    #[cold]
    fn refresh(&mut self, table: &Table) {
        self.membership = Some(table.membership());
        let mut levels = vec![(0, 0); self.inside.len()];
        for id in (0..table.len() as u32).map(BackendId).filter(|id| table.state(*id) != State::Left) {
            levels[self.level(id)].1 += 1;
        }
        table.up().iter().for_each(|id| levels[self.level(*id)].0 += 1);
        self.shares = shares_of_levels(&levels, self.percent);
    }

    /// The level that a request is for.
    fn draw(&self, draw: &mut Stream) -> usize {
        if let Some(alone) = self.shares.iter().position(|share| *share == 100) {
            return alone;
        }
        let (point, mut sum) = (draw.below(100) as u64, 0);
        let covers = |share: &u64| {
            sum += share;
            point < sum
        };
        self.shares.iter().position(covers).unwrap_or(0)
    }

    fn first(&self) -> &dyn Policy {
        &*self.inside[0]
    }
}

impl Policy for PriorityLevels {
    fn requires(&self) -> Signals {
        self.first().requires()
    }

    fn window(&self) -> Option<Averaging> {
        self.first().window()
    }

    fn index(&self) -> Index {
        self.first().index()
    }

    fn ties(&self) -> Ties {
        self.first().ties()
    }

    fn weights(&self) -> RangeInclusive<f64> {
        self.first().weights()
    }

    fn whole_weights(&self) -> bool {
        self.first().whole_weights()
    }

    fn weighs(&self) -> bool {
        self.first().weighs()
    }

    fn names(&self) -> &[String] {
        self.first().names()
    }

    fn listens(&self) -> bool {
        self.first().listens()
    }

    fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision {
        if self.membership != Some(ask.table.membership()) {
            self.refresh(ask.table);
        }
        let (first, levels) = (self.draw(draw), self.inside.len());
        for level in (first..levels).chain(0..first) {
            let mut excluded = std::mem::take(&mut self.excluded);
            excluded.clear();
            let is_out = |id: &BackendId| self.level(*id) != level || ask.tried.contains(id);
            excluded.extend(ask.table.eligible().iter().copied().filter(is_out));
            let decision = self.inside[level].choose(&Ask { tried: &excluded, ..*ask }, draw);
            self.excluded = excluded;
            if decision.chosen().is_some() || levels == 1 {
                return decision;
            }
        }
        Decision::refuse()
    }

    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        let mut explanation = self.first().explain(ask);
        for candidate in &mut explanation.candidates {
            let level = self.level(candidate.backend);
            let share = self.shares.get(level).map_or(f64::NAN, |share| *share as f64 / 100.0);
            candidate.terms.insert(0, ("level".into(), level as f64));
            candidate.terms.insert(1, ("share_of_level".into(), share));
        }
        explanation
    }

    fn observe(&mut self, event: &Event, table: &Table, now: Time) {
        self.inside.iter_mut().for_each(|inside| inside.observe(event, table, now));
    }

    fn reported(&mut self, backend: BackendId, table: &Table, now: Time) {
        self.inside.iter_mut().for_each(|inside| inside.reported(backend, table, now));
    }

    fn rated(&mut self, ask: &Ask<'_>, draw: &mut Stream) {
        self.inside.iter_mut().for_each(|inside| inside.rated(ask, draw));
    }

    fn poll(&mut self, table: &Table, now: Time) -> Vec<Command> {
        self.inside.iter_mut().flat_map(|inside| inside.poll(table, now)).collect()
    }

    fn next_deadline(&self) -> Option<Time> {
        self.inside.iter().filter_map(|inside| inside.next_deadline()).min()
    }
}
