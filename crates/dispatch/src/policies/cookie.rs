//! Cookie affinity: a request whose cookie names an eligible backend goes there; for any other the policy inside
//! decides.
//!
//! Parameter: `policy`, the one inside, default `least-connections`, as in `cookie(policy = round-trip(window = 1 s))`.
//! Reads the request's cookie and what the policy inside reads. A backend that drains or is down loses its clients to
//! the policy inside at once, and a retry never goes back to one that was tried. Setting the cookie is the face's work.

use std::ops::RangeInclusive;

use sojourn_stats::{Stream, Time};

use super::Entry;
use crate::{
    Ask, Averaging, BackendId, Code, Command, Decision, Event, Explanation, Index, Policy, Reason, Signals, Table, Ties,
};

pub(super) const ENTRY: Entry = Entry {
    name: "cookie",
    summary: "where the client's cookie says, else by the policy inside",
    build: |params| {
        let inside = params.policy("policy", "least-connections")?;
        Ok(Box::new(Cookie::around(inside)))
    },
};

/// See the module.
pub struct Cookie {
    inside: Box<dyn Policy>,
}

impl Cookie {
    /// Affinity around any policy.
    pub fn around(inside: Box<dyn Policy>) -> Cookie {
        Cookie { inside }
    }
}

impl Policy for Cookie {
    fn requires(&self) -> Signals {
        Signals::COOKIE | self.inside.requires()
    }

    fn window(&self) -> Option<Averaging> {
        self.inside.window()
    }

    fn index(&self) -> Index {
        self.inside.index()
    }

    fn ties(&self) -> Ties {
        self.inside.ties()
    }

    fn weights(&self) -> RangeInclusive<f64> {
        self.inside.weights()
    }

    fn whole_weights(&self) -> bool {
        self.inside.whole_weights()
    }

    fn listens(&self) -> bool {
        self.inside.listens()
    }

    fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision {
        match ask.request.cookie {
            Some(id) if ask.may_choose(id) => Decision::forward(id, Reason { code: Code::Cookie, ties: 1, value: 0.0 }),
            _ => self.inside.choose(ask, draw),
        }
    }

    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        let mut explanation = self.inside.explain(ask);
        for candidate in &mut explanation.candidates {
            let named = ask.request.cookie == Some(candidate.backend);
            candidate.terms.insert(0, ("cookie".into(), f64::from(u8::from(named))));
        }
        explanation
    }

    fn answer(&self, ask: &Ask<'_>, first: BackendId, list: &mut Vec<BackendId>) {
        self.inside.answer(ask, first, list);
    }

    fn observe(&mut self, event: &Event, table: &Table, now: Time) {
        self.inside.observe(event, table, now);
    }

    fn reported(&mut self, backend: BackendId, table: &Table, now: Time) {
        self.inside.reported(backend, table, now);
    }

    fn rated(&mut self, ask: &Ask<'_>, draw: &mut Stream) {
        self.inside.rated(ask, draw);
    }

    fn poll(&mut self, table: &Table, now: Time) -> Vec<Command> {
        self.inside.poll(table, now)
    }

    fn next_deadline(&self) -> Option<Time> {
        self.inside.next_deadline()
    }
}
