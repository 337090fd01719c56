//! Users who follow scenarios: what they ask for, and what the replies come to.

use sojourn_stats::Time;

use super::{Why, Worker};
use crate::outcome::Outcome;
use crate::request::scenario::Answer;
use crate::schedule::Source;
use crate::schedule::passes::PassEnded;
use crate::wire::connection::Phase;

impl Worker<'_> {
    /// Gives the request at `place` what its step says, where it is a step's.
    #[inline]
    pub(super) fn fill(&mut self, place: u32) {
        if let Source::Passes(share) = &mut self.source {
            let connection = &mut self.connections[place as usize];
            let exchange = connection.exchange.as_ref().expect("only an exchange is filled");
            connection.special = Some(Box::new(share.request(&exchange.job, place)));
        }
    }

    /// What the whole reply at `place` comes to for its step, where it is a step's; `by_status` otherwise.
    #[inline]
    pub(super) fn judged(&mut self, place: u32, by_status: Outcome) -> Outcome {
        let Source::Passes(share) = &mut self.source else { return by_status };
        let connection = &self.connections[place as usize];
        let reply = &connection.reply;
        let answer = Answer { status: reply.status, bytes: reply.bytes, kept: reply.kept.as_deref() };
        let (outcome, fault) = share.judge(place, &answer);
        if let (Some(fault), Some(exchange)) = (fault, &connection.exchange) {
            self.recorder.fault(&exchange.job, fault);
        }
        outcome
    }

    /// A pass is over; a user who does not come back goes away.
    pub(super) fn pass_over(&mut self, pass: &PassEnded, now: Time) {
        self.recorder.pass_over(pass, now);
        let Some(place) = pass.leaves else { return };
        if self.connections[place as usize].phase != Phase::Closed {
            self.close(place, Why::Done);
        }
        if let Source::Passes(share) = &mut self.source {
            share.vacate(place);
        }
    }
}
