//! Power of d choices: of d backends drawn without repetition, the one with the fewest requests in flight; ties go to
//! the one drawn first.
//!
//! Parameter: `d`, default 2. Reads the load of d backends; counts nothing. Two choices already shorten the longest
//! queue exponentially (Mitzenmacher, The power of two choices in randomized load balancing, IEEE TPDS 12, 2001), and
//! stale counts make less of a herd than under `least-connections`. The draws are distinct: with repetition, two
//! choices among two backends would be none half of the time.

use sojourn_stats::Stream;

use super::Entry;
use crate::{Ask, BackendId, Code, Decision, DispatchError, Explanation, Plain, Policy, Reason, Signals};

pub(super) const ENTRY: Entry = Entry {
    name: "power-of-d",
    summary: "fewest in flight of d backends drawn without repetition",
    build: |params| match params.text("d").unwrap_or("2").parse() {
        Ok(d) if d >= 1 => Ok(Box::new(PowerOfD { d, drawn: Vec::new() })),
        _ => Err(DispatchError::Policy("policy `power-of-d`: d is a whole number of at least 1, as in `d = 2`".into())),
    },
};

/// See the module.
#[derive(Clone, Debug)]
pub struct PowerOfD {
    d: usize,
    /// Those drawn for the present request; kept so that a choice allocates nothing.
    drawn: Vec<BackendId>,
}

impl Policy for PowerOfD {
    fn requires(&self) -> Signals {
        Signals::IN_FLIGHT
    }

    fn listens(&self) -> bool {
        false
    }

    fn plain(&self) -> Option<Plain> {
        Some(Plain::LeastOf(self.d))
    }

    fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision {
        let Ask { table, tried, .. } = *ask;
        let backends = table.eligible();
        let tried_here = tried.iter().filter(|id| table.is_eligible(**id)).count();
        let open = backends.len().saturating_sub(tried_here);
        self.drawn.clear();
        let mut best: Option<(u32, BackendId)> = None;
        while self.drawn.len() < self.d.min(open) {
            let id = backends[draw.below(backends.len())];
            if self.drawn.contains(&id) || tried.contains(&id) {
                continue;
            }
            self.drawn.push(id);
            if best.is_none_or(|(least, _)| table.load(id) < least) {
                best = Some((table.load(id), id));
            }
        }
        match best {
            Some((load, id)) => {
                Decision::forward(id, Reason { code: Code::LeastInFlight, ties: 1, value: f64::from(load) })
            }
            None => Decision::refuse(),
        }
    }

    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        Explanation::of(ask.candidates(), |id| vec![("in_flight".into(), f64::from(ask.table.load(id)))])
    }
}
