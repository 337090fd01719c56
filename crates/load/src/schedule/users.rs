//! Closed users: each thinks, asks, and waits for its reply.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use sojourn_stats::{Span, Time};
use sojourn_traffic::{Request, Step};

use super::job::Job;
use super::quota::Quota;

/// One thread's share of the closed users.
pub(crate) struct UserShare {
    users: Vec<User>,
    thinking: BinaryHeap<Reverse<(Time, u32)>>,
    /// Users that did not think at all, in the order they finished.
    ready: VecDeque<(Time, u32)>,
    quota: Quota,
}

struct User {
    behaviour: Behaviour,
    request: Request,
}

/// What a user does.
pub(super) enum Behaviour {
    Scripted(Box<dyn FnMut() -> Step + Send>),
    Constant,
}

impl UserShare {
    pub(super) fn new(quota: Quota) -> UserShare {
        UserShare { users: Vec::new(), thinking: BinaryHeap::new(), ready: VecDeque::new(), quota }
    }

    /// One more user, who begins with thinking; `constant` is what one without a script asks.
    pub(super) fn join(&mut self, behaviour: Behaviour, constant: Request) {
        let user = self.users.len() as u32;
        self.users.push(User { behaviour, request: constant });
        self.think(user, Time::ZERO, Span::ZERO);
    }

    /// How many places the connections of all users need.
    pub(super) fn places(&self) -> usize {
        self.users.len()
    }

    /// When no more requests are planned.
    pub(super) fn end(&self) -> Time {
        self.quota.until
    }

    pub(super) fn spent(&self) -> bool {
        self.quota.spent() || self.users.is_empty()
    }

    pub(super) fn think(&mut self, user: u32, now: Time, pause: Span) {
        let state = &mut self.users[user as usize];
        let think = match &mut state.behaviour {
            Behaviour::Scripted(step) => {
                let step = step();
                state.request = step.request;
                step.think
            }
            Behaviour::Constant => Span::ZERO,
        } + pause;
        if think == Span::ZERO {
            self.ready.push_back((now, user));
        } else {
            self.thinking.push(Reverse((now + think, user)));
        }
    }

    /// When the next user stops thinking; [`Time::NEVER`] when none thinks.
    #[inline]
    pub(super) fn earliest(&self) -> Time {
        let thinking = self.thinking.peek().map_or(Time::NEVER, |&Reverse((at, _))| at);
        self.ready.front().map_or(thinking, |&(at, _)| at.min(thinking))
    }

    #[inline]
    pub(super) fn take(&mut self, now: Time) -> Option<Job> {
        let planned = self.earliest();
        // What was planned before the end is sent, however late that is seen.
        if planned > now || planned >= self.quota.until || self.spent() {
            return None;
        }
        let user = match self.ready.front() {
            Some(&(at, user)) if at == planned => {
                self.ready.pop_front();
                user
            }
            _ => self.thinking.pop()?.0.1,
        };
        let k = self.quota.take()?;
        Some(Job::new(k, user, planned, planned, self.users[user as usize].request))
    }
}
