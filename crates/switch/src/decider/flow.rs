//! A connection as the switch counts it, from the choice of its server to its end.

use std::net::SocketAddrV4;

use sojourn_dispatch::{BackendId, Event};
use sojourn_stats::{Span, Time};

use super::super::kernel::rules::Mark;
use super::super::overflow::Sites;
use super::Decider;

/// A connection.
pub(super) struct Flow {
    pub(super) mark: Mark,
    /// None where the server is not on the list any more.
    pub(super) to: Option<To>,
    pub(super) since: Time,
    /// The kernel's last list did not have it.
    pub(super) is_missing: bool,
}

/// Where a connection goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum To {
    Server(BackendId),
    Site(BackendId),
}

/// How a connection ended.
#[derive(Clone, Copy)]
pub(super) enum End {
    Closed,
    Forgotten,
    /// The server did not accept it.
    Failed,
}

impl Flow {
    pub(super) fn new(mark: Mark, to: Option<To>, since: Time) -> Flow {
        Flow { mark, to, since, is_missing: false }
    }
}

impl Decider {
    /// Ends a connection, if it is known.
    pub(super) fn end(&mut self, client: SocketAddrV4, end: End, now: Time) {
        let Some(flow) = self.flows.remove(&client) else { return };
        match end {
            End::Closed => self.counts.closed += 1,
            End::Forgotten => self.counts.forgotten += 1,
            End::Failed => self.counts.connections -= 1,
        }
        let Some(to) = flow.to else { return };
        let (To::Server(backend) | To::Site(backend)) = to;
        let event = match end {
            End::Closed => {
                // What the server said does not pass here.
                let latency = now.saturating_since(flow.since);
                Event::Completed { backend, status: 200, bytes: 0, latency }
            }
            End::Forgotten => Event::Cancelled { backend, after: Span::ZERO },
            End::Failed => Event::Failed { backend, after: now.saturating_since(flow.since) },
        };
        match to {
            To::Server(_) => {
                self.front.observe(event, now);
                self.front.observe(Event::Closed { backend }, now);
                let server = &mut self.servers[backend.0 as usize];
                server.open -= 1;
                server.connections -= u64::from(matches!(end, End::Failed));
            }
            To::Site(_) => self.sites_mut().end(event, now),
        }
    }

    pub(super) fn sites_mut(&mut self) -> &mut Sites {
        self.sites.as_mut().expect("only a switch with other sites passes connections on")
    }
}
