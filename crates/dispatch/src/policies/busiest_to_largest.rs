//! Busiest to largest: the clients that ask most get the backend with the largest capacity that has room for them; ties are
//! drawn.
//!
//! A client whose rate is told and above the mean of the rates told is one of the busiest (Agarwal 2001, section 3.5.1:
//! "assign clients having high request rates to servers having higher capacity"). What it asks for is taken off the room
//! of its backend until that one's next report. All others, and the busiest where no one has room for them, are drawn in
//! proportion to free capacity. No parameters, and no look at distance.
//!
//! Reads reports and the rates of clients; counts nothing else. For the busiest clients only it looks at two numbers of every
//! backend, which is its price: a microsecond for a thousand.

use sojourn_stats::Stream;

use super::Entry;
use crate::{Ask, Code, Decision, Explanation, Hold, Index, Policy, Reason, Signals};

pub(super) const ENTRY: Entry = Entry {
    name: "busiest-to-largest",
    summary: "the busiest clients to the largest capacity with room, the others in proportion to free capacity",
    build: |_| Ok(Box::new(BusiestToLargest)),
};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct BusiestToLargest;

impl Policy for BusiestToLargest {
    fn requires(&self) -> Signals {
        Signals::REPORTS | Signals::ROOM | Signals::CLIENT_RATES
    }

    fn index(&self) -> Index {
        Index::Room
    }

    fn listens(&self) -> bool {
        false
    }

    fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision {
        match busy_rate(ask).and_then(|rate| Some((rate, largest(ask, rate, draw)?))) {
            Some((rate, decision)) => decision.held(Hold::UntilReport { cpu: 0.0, room: rate as f32 }),
            None => Decision::forward_or_refuse(ask.table.draw_by_room(ask.tried, draw)),
        }
    }

    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        let rate = busy_rate(ask);
        Explanation::of(ask.candidates(), |id| {
            let mut terms = ask.table.terms(id);
            let fits = rate.map(|rate| f64::from(u8::from(ask.table.has_room(id, rate))));
            terms.extend(fits.map(|fits| ("has_room".into(), fits)));
            terms
        })
    }
}

/// The rate of the client, if it is one of the busiest.
fn busy_rate(ask: &Ask<'_>) -> Option<f64> {
    let rate = ask.clients.rate(ask.request.client)?;
    ask.clients.mean_rate().filter(|mean| rate > *mean).map(|_| rate)
}

/// The backend with the largest capacity that has room for more than `rate`.
fn largest(ask: &Ask<'_>, rate: f64, draw: &mut Stream) -> Option<Decision> {
    let (id, capacity, ties) = ask.table.largest_with_room(rate, ask.tried, draw)?;
    Some(Decision::forward(id, Reason { code: Code::LargestCapacity, ties, value: capacity }))
}
