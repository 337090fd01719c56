//! Who is woken of the requests that wait at a decider for a backend with room. The decider knows their order, and how long
//! each may wait ([`sojourn_dispatch::Queue`]).

use std::collections::HashMap;

use sojourn_dispatch::{Decision, Event, Front, Request};
use sojourn_stats::{Span, Time};
use tokio::sync::oneshot::{Receiver, Sender, channel};

/// Requests that wait at a decider, by name.
#[derive(Default)]
pub(super) struct Waiting {
    requests: HashMap<u64, Waiter>,
    next: u64,
}

struct Waiter {
    /// Its number in the decider's queue.
    number: u64,
    request: Request,
    /// Told where it goes and when that was decided; dropped where it is turned away.
    goes_on: Sender<(Decision, Time)>,
}

impl Waiting {
    /// A request waits from now on: its name, and where it is told where it goes.
    pub(super) fn enter(
        &mut self,
        front: &mut Front,
        request: Request,
        now: Time,
    ) -> (u64, Receiver<(Decision, Time)>) {
        let (goes_on, place) = channel();
        let name = self.next;
        self.next += 1;
        let number = front.wait(name, now);
        self.requests.insert(name, Waiter { number, request, goes_on });
        (name, place)
    }

    /// One waits no more.
    pub(super) fn leave(&mut self, front: &mut Front, name: u64) {
        if let Some(waiter) = self.requests.remove(&name) {
            front.leave(waiter.number);
        }
    }

    /// Lets go on what can, and turns away what has waited for too long or in vain.
    #[inline]
    pub(super) fn go_on(&mut self, front: &mut Front, now: Time) {
        if !self.requests.is_empty() {
            self.let_in(front, now);
        }
    }

    fn let_in(&mut self, front: &mut Front, now: Time) {
        while let Some(name) = front.overdue(now).or_else(|| front.hopeless()) {
            self.requests.remove(&name);
        }
        while let Some(admitted) = front.let_in(|name| self.requests[&name].request, now) {
            let waiter = self.requests.remove(&admitted.name).expect("what goes on has waited");
            if waiter.goes_on.send((admitted.decision, now)).is_err()
                && let Some(backend) = admitted.decision.forwarded_to()
            {
                // Its client went away at this very moment.
                front.observe(Event::Cancelled { backend, after: Span::ZERO }, now);
            }
        }
    }

    /// Another front takes the place of the one that they wait at; where it has no queue, they are turned away.
    pub(super) fn move_to(&mut self, front: &mut Front, now: Time) {
        if !front.has_queue() {
            return self.requests.clear();
        }
        let mut names: Vec<u64> = self.requests.keys().copied().collect();
        names.sort_unstable();
        for name in names {
            let number = front.wait(name, now);
            self.requests.get_mut(&name).expect("it waits").number = number;
        }
    }
}
