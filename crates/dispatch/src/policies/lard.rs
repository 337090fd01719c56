//! Locality-aware request distribution (LARD): each path has a backend of its own, until that one is much busier than another.
//!
//! A path that is asked for first goes to the backend with the fewest requests in flight, and stays there, so that each backend's
//! cache holds a part of the site. It moves to the one with the fewest in flight when its own has more than `high` while some
//! backend has fewer than `low`, or has 2 x `high`. With `replicates = true` (LARD/R) the path keeps its backends and gets one
//! more; its requests go to the one of them with the fewest in flight, and when the set has not changed for `keep`, the one with
//! the most leaves it.
//!
//! Parameters: `low`, default 25; `high`, default 65; `replicates`, default false; `keep`, default 20 s: the paper's. Reads the
//! key of the path and requests in flight. It remembers 65,536 paths, or up to twice as many: those asked for last. The price:
//! the mapping is one decider's own; several deciders have several.
//!
//! Pai, Aron, Banga, Svendsen, Druschel, Zwaenepoel, Nahum, Locality-aware request distribution in cluster-based network
//! servers, ASPLOS 1998, figures 2 and 3.

use std::collections::HashMap;

use sojourn_stats::{Span, Stream, Time};

use super::Entry;
use crate::{Ask, BackendId, Code, Decision, DispatchError, Explanation, Index, Params, Policy, Reason, Signals};

pub(super) const ENTRY: Entry = Entry {
    name: "lard",
    summary: "a backend for each path, another one when that is much busier (LARD)",
    build: |params| Ok(Box::new(Lard::read(params)?)),
};

/// So many paths are remembered, and those asked for before them, no more than as many.
const PATHS: usize = 1 << 16;

/// See the module.
#[derive(Clone, Debug)]
pub struct Lard {
    low: u32,
    high: u32,
    replicates: bool,
    keep: Span,
    /// Of the paths asked for since `before` was put aside.
    lately: HashMap<u64, Home>,
    before: HashMap<u64, Home>,
}

/// The backends of a path; the first is the oldest.
#[derive(Clone, Debug)]
struct Home {
    backends: Vec<BackendId>,
    changed: Time,
}

impl Lard {
    fn read(params: &mut Params<'_>) -> Result<Lard, DispatchError> {
        let most = f64::from(u32::MAX / 2);
        let low = params.number("low", 25.0, 1.0..=most)?.ceil() as u32;
        let high = params.number("high", 65.0, 1.0..=most)?.floor() as u32;
        if low > high {
            let why = format!("policy `lard`: low = {low} is above high = {high}; write `low = 25, high = 65`");
            return Err(DispatchError::Policy(why));
        }
        Ok(Lard {
            low,
            high,
            replicates: params.choice("replicates", &[("true", true), ("false", false)])?.unwrap_or(false),
            keep: params.span("keep", Span(20_000_000_000))?,
            lately: HashMap::new(),
            before: HashMap::new(),
        })
    }

    /// The backends of a path, as far as they are known.
    fn home(&mut self, key: u64, now: Time) -> &mut Home {
        if self.lately.len() >= PATHS && !self.lately.contains_key(&key) {
            self.before = std::mem::take(&mut self.lately);
        }
        let before = &mut self.before;
        self.lately
            .entry(key)
            .or_insert_with(|| before.remove(&key).unwrap_or(Home { backends: Vec::new(), changed: now }))
    }
}

impl Policy for Lard {
    fn requires(&self) -> Signals {
        Signals::PATH | Signals::IN_FLIGHT
    }

    fn index(&self) -> Index {
        Index::Load
    }

    fn listens(&self) -> bool {
        false
    }

    fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision {
        let Lard { low, high, replicates, keep, .. } = *self;
        let Some((idle, reason)) = ask.table.least(ask.tried, draw) else { return Decision::refuse() };
        let load = |id: BackendId| ask.table.load(id);
        let home = self.home(ask.request.key, ask.now);
        let own = home.backends.iter().copied().filter(|id| ask.may_choose(*id)).min_by_key(|id| load(*id));
        let chosen = match own {
            Some(own) if !(load(own) > high && load(idle) < low || load(own) >= 2 * high) => own,
            _ => {
                if !replicates {
                    home.backends.clear();
                }
                if !home.backends.contains(&idle) {
                    home.backends.push(idle);
                    home.changed = ask.now;
                }
                idle
            }
        };
        if home.backends.len() > 1 && ask.now.saturating_since(home.changed) > keep {
            let busiest = (0..home.backends.len()).max_by_key(|&place| load(home.backends[place]));
            home.backends.remove(busiest.expect("there are some"));
            home.changed = ask.now;
        }
        let reason = Reason { code: Code::PathHome, value: f64::from(load(chosen)), ..reason };
        Decision::forward(chosen, reason)
    }

    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        let known = self.lately.get(&ask.request.key).or_else(|| self.before.get(&ask.request.key));
        let is_home = |id| f64::from(u8::from(known.is_some_and(|home| home.backends.contains(&id))));
        Explanation::of(ask.candidates(), |id| {
            vec![("in_flight".into(), f64::from(ask.table.load(id))), ("home".into(), is_home(id))]
        })
    }
}
