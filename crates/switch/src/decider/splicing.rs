//! What is asked of the decider where packets are spliced.

use std::net::SocketAddrV4;

use sojourn_dispatch::{BackendId, Event, News, Request};
use sojourn_splice::SpliceCounts;
use sojourn_stats::Time;

use super::Decider;
use super::flow::{End, To};

impl sojourn_splice::Decider for Decider {
    fn choose(&mut self, client: SocketAddrV4, request: &Request, tried: &[BackendId], now: Time) -> Option<BackendId> {
        self.forward(client, request, tried, now).map_err(|why| self.refuse(why)).ok()
    }

    fn fail(&mut self, client: SocketAddrV4, is_refused: bool, now: Time) {
        let to = self.flows.get(&client).and_then(|flow| flow.to);
        self.end(client, End::Failed, now);
        if let Some(To::Server(backend)) = to
            && is_refused
        {
            self.learn(backend, News::Refused, "no program listens there", now);
        }
    }

    fn close(&mut self, client: SocketAddrV4, now: Time) {
        self.end(client, End::Closed, now);
    }

    fn forget(&mut self, client: SocketAddrV4, now: Time) {
        self.end(client, End::Forgotten, now);
    }

    fn observe(&mut self, event: Event, now: Time) {
        self.front.observe(event, now);
    }

    fn counts(&mut self) -> &mut SpliceCounts {
        self.counts.spliced.get_or_insert_default()
    }
}
