//! Polls of a balancer: it asks servers for their load, they count, and their answers come back.

use sojourn_stats::Span;

use super::routing::{Counted, Routing};
use super::{Cluster, Serves};
use crate::sessions::connections::{Cx, What};

/// A job at a station that is a poll.
pub(super) const POLL: u64 = u64::MAX;

impl<R: Routing> Cluster<R> {
    /// The balancer asks servers for their load.
    pub(super) fn poll(&mut self, cx: &mut Cx) {
        self.routing.poll(cx.now, &mut self.polled);
        let mut asked = cx.now;
        for number in self.polled.drain(..) {
            if let Some(balancer_cores) = &mut self.balancer_cores {
                asked = balancer_cores.work(cx.now, self.balancing.per_packet * 2);
            }
            cx.agenda.add(asked + self.delays.there, What::Counts, number, 0);
        }
    }

    /// A server counts those it has, which is work to a station.
    pub(super) fn count(&mut self, number: u32, cx: &mut Cx) {
        let (counted, work) = self.routing.counts(number);
        let (server, count) = match counted {
            Counted::Users(server) => (Some(server as usize), self.attached.at(server)),
            Counted::Connections(server) => (Some(server as usize), self.open.at(server)),
            Counted::Forwarded(count) => (None, count),
        };
        if let (Some(server), true) = (server, work > Span::ZERO)
            && let Serves::Station(station) = &mut self.serves[server]
        {
            // A station that is full counts without taking on the work.
            let _ = station.arrive(cx.now, POLL, work);
            self.timers.set(server, station.next_departure());
        }
        self.reports[number as usize].push_back((count, cx.now));
        cx.agenda.add(cx.now + self.delays.back, What::Reports, number, 0);
    }

    /// Its answer is at the balancer.
    pub(super) fn report(&mut self, number: u32, cx: &mut Cx) {
        let (count, measured) = self.reports[number as usize].pop_front().expect("an answer was counted");
        self.routing.reported(number, count, measured, cx.now);
    }
}
