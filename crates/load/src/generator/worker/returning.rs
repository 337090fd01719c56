//! Back to where a request was first asked, when a redirect leads it to a server that takes no connection.
//!
//! An honest client does so where it matters that it gets its reply: the name is what it was given, the server that it was sent
//! to is not. It comes back at once, and where it is sent to such a server again a while later each time, until its timeout: who
//! sends it there learns that the server is dead by its silence only. Nothing of the request has been sent, so that any method
//! may be asked for again. Browsers do not: they show the failure. HTTP/2 does not either, here.

use sojourn_stats::{Span, Time};

use super::{Why, Worker};
use crate::outcome::Outcome;
use crate::wire::connection::Phase;

/// Between two returns of a request.
const PAUSE: Span = Span(100_000_000);

impl Worker<'_> {
    /// Whether the request of `place`, for which no connection could be opened, goes back to where it was first asked.
    pub(super) fn goes_back(&mut self, place: u32, outcome: Outcome) -> bool {
        let connection = &mut self.connections[place as usize];
        let was_redirected = connection.special.as_ref().is_some_and(|special| special.hops > 0);
        let is_refused = matches!(outcome, Outcome::Refused | Outcome::Reset);
        let Some(exchange) = connection.exchange.as_mut().filter(|_| self.setting.returns) else { return false };
        if !was_redirected || !is_refused {
            return false;
        }
        let is_first = !std::mem::replace(&mut exchange.came_back, true);
        (exchange.sent, exchange.first_byte, exchange.retried) = (None, None, false);
        connection.origin = exchange.job.endpoint;
        connection.special = connection.first.take();
        connection.shut();
        connection.phase = Phase::Returning;
        connection.opening.since = self.setting.clock.now();
        self.count_closed(Why::Lost);
        self.recorder.connections.returned += 1;
        if is_first {
            self.open(place);
        }
        true
    }

    /// The request of `place` waits before it is asked for again.
    pub(super) fn look_after_return(&mut self, place: u32, now: Time) {
        if now.saturating_since(self.connections[place as usize].opening.since) >= PAUSE {
            self.open(place);
        }
    }
}
