//! What a front does for its guards: with each choice, each end of a request, each news, and when something is due.

use sojourn_stats::Time;

use super::guards::{Guarded, Scope, Share, WaitingRoom, Whole, end_of};
use super::{Admitted, Change, Front, News, Standing};
use crate::{Action, BackendId, Code, Decision, Event, Limit, Reason, Request};

impl Front {
    /// What guards have changed since this was last asked: a face that tells of changes asks after each call.
    #[inline]
    pub fn take_change(&mut self) -> Option<Change> {
        self.changes.pop()
    }

    /// A request waits from now on, which the face knows by this name: [`Front::choose`] has said that it may. Gives its
    /// number in the queue.
    ///
    /// # Panics
    /// Where no request waits.
    pub fn wait(&mut self, name: u64, now: Time) -> u64 {
        self.room().enter(name, now)
    }

    /// The one of this number waits no more: its client is gone, or it was overdue.
    ///
    /// # Panics
    /// Where no request waits.
    pub fn leave(&mut self, number: u64) {
        self.room().leave(number);
    }

    /// Whether requests may wait.
    pub fn has_queue(&self) -> bool {
        self.guards.as_ref().is_some_and(|guards| guards.room.is_some())
    }

    /// How many wait.
    #[inline]
    pub fn waiting(&self) -> u32 {
        let room = self.guards.as_ref().and_then(|guards| guards.room.as_ref());
        room.map_or(0, |room| room.waiting())
    }

    /// The oldest that waits, if it has waited for too long by `now`; it waits no more.
    pub fn overdue(&mut self, now: Time) -> Option<u64> {
        let room = self.guards.as_mut()?.room.as_mut()?;
        room.expire(now);
        room.next_late()
    }

    /// The oldest that waits, if it need not: nothing will ever take it, since no backend may be chosen, and none is full. It
    /// waits no more.
    pub fn hopeless(&mut self) -> Option<u64> {
        let table = self.dispatcher.table();
        if self.guards.is_none() || table.full() > 0 || !table.eligible().is_empty() {
            return None;
        }
        self.dismiss()
    }

    /// The oldest that waits; it waits no more.
    pub fn dismiss(&mut self) -> Option<u64> {
        let room = self.guards.as_mut()?.room.as_mut()?;
        let (name, _) = room.oldest()?;
        room.pop();
        Some(name)
    }

    /// The oldest that waits, if a backend takes it now. `request` gives what is asked for by the one of this name. A face
    /// asks until there is none, whenever something has ended or was learned.
    pub fn let_in(&mut self, mut request: impl FnMut(u64) -> Request, now: Time) -> Option<Admitted> {
        loop {
            let guards = self.guards.as_mut()?;
            let is_at_limit = guards.is_at_limit_of_all();
            let room = guards.room.as_mut()?;
            let Some((name, since)) = room.oldest() else {
                room.freed.clear();
                return None;
            };
            let freed = *room.freed.front()?;
            if is_at_limit {
                return None;
            }
            if !self.dispatcher.table().is_eligible(freed) {
                room.freed.pop_front();
                continue;
            }
            // With all others passed over the policy is left no choice; where all share one limit, it has its own.
            let others: Vec<BackendId> = match guards.limiter.as_ref().is_some_and(|of| of.scope() == Scope::Tier) {
                true => Vec::new(),
                false => self.backends().filter(|other| *other != freed).collect(),
            };
            let decision = self.dispatcher.choose(&request(name), &others, now);
            let guards = self.guards.as_mut().expect("there are some");
            let room = guards.room.as_mut().expect("there is one");
            if decision.forwarded_to().is_none() {
                room.freed.pop_front();
                continue;
            }
            room.pop();
            guards.in_flight += 1;
            return Some(Admitted { name, since, decision });
        }
    }

    /// An attempt that [`Front::choose`] has sent on after another one had failed has ended: so many may be in flight
    /// ([`crate::Breakers`]).
    pub fn retry_ended(&mut self) {
        if let Some(guards) = &mut self.guards {
            guards.retries = guards.retries.saturating_sub(1);
        }
    }

    #[cold]
    pub(super) fn choose_guarded(&mut self, request: &Request, tried: &[BackendId], now: Time) -> Decision {
        self.meet_guards(now);
        let guards = self.guards();
        if let Some(count) = guards.open_breaker(!tried.is_empty()) {
            return refused(Code::Breaker, count);
        }
        let decision = match guards.is_at_limit_of_all() {
            true => refused(Code::Full, self.dispatcher.table().up().len() as u32),
            false => self.dispatcher.choose(request, tried, now),
        };
        let guards = self.guards();
        match (decision.action, &guards.room) {
            (Action::Forward(_), _) => {
                guards.in_flight += 1;
                guards.retries += u32::from(!tried.is_empty());
                decision
            }
            (Action::Refuse, Some(room)) if decision.reason.code == Code::Full => match room.is_full() {
                true => refused(Code::Breaker, room.waiting()),
                false => {
                    guards.retries += u32::from(!tried.is_empty());
                    Decision { action: Action::Queue, ..decision }
                }
            },
            _ => decision,
        }
    }

    #[cold]
    pub(super) fn observe_guarded(&mut self, event: Event, now: Time) {
        self.meet_guards(now);
        let Some((backend, end)) = end_of(&event) else {
            if let Event::Inherited { .. } = event {
                self.guards().in_flight += 1;
            }
            return self.dispatcher.observe(event, now);
        };
        let in_flight = self.dispatcher.table().in_flight(backend);
        self.dispatcher.observe(event, now);
        let servers = self.dispatcher.table().len() - self.left;
        let guards = self.guards();
        let of_all = guards.in_flight;
        guards.in_flight = guards.in_flight.saturating_sub(1);
        guards.room.iter_mut().for_each(|room| room.may_have_room(backend));
        let limit = guards.limiter.as_mut().and_then(|limiter| {
            let is_of_all = limiter.scope() == Scope::Tier;
            let limit = limiter.ended(backend, end, if is_of_all { of_all } else { in_flight })?;
            (!is_of_all).then_some(limit)
        });
        let ejects = guards.outliers.as_mut().is_some_and(|outliers| outliers.ended(backend, end, servers, now));
        self.limit_to(backend, limit.map(|most| Limit::new(most, most - 1).expect("it returns with one less")));
        if ejects {
            self.eject(backend, true, now);
        }
    }

    /// A backend is something else from now on, before the dispatcher knows.
    pub(super) fn learned(&mut self, backend: BackendId, was: Standing, is: Standing, now: Time) {
        let table = self.dispatcher.table();
        let usual = Whole { weight: table.weight(backend), limit: table.limit_of(backend) };
        let guards = self.guards();
        guards.room.iter_mut().for_each(|room| room.may_have_room(backend));
        // Where limits follow response times they grow by themselves.
        let limit = usual.limit.filter(|_| guards.limiter.is_none());
        let Some(starts) = &mut guards.starts else { return };
        if is != Standing::Up {
            if let Some(whole) = starts.end(backend) {
                self.dispatcher.set_weight(backend, whole.weight, now);
                self.limit_to(backend, whole.limit);
            }
        } else if was < Standing::Left && starts.begins(was == Standing::Down) {
            starts.begin(backend, Whole { limit, ..usual }, now);
            self.meet_guards(now);
        }
    }

    /// Does what guards have due by `now`.
    #[inline]
    pub(super) fn meet_guards(&mut self, now: Time) {
        let Some(guards) = &mut self.guards else { return };
        guards.outliers.iter_mut().for_each(|outliers| outliers.start(now));
        if guards.due() <= now {
            self.meet_what_is_due(now);
        }
    }

    #[cold]
    fn meet_what_is_due(&mut self, now: Time) {
        let servers = self.dispatcher.table().len() - self.left;
        let guards = self.guards();
        guards.room.iter_mut().for_each(|room| room.expire(now));
        let changes = guards.outliers.as_mut().map_or(Vec::new(), |outliers| outliers.scan(servers, now));
        let shares = guards.starts.as_mut().map_or(Vec::new(), |starts| starts.steps(now));
        for Share { backend, weight, limit } in shares {
            self.dispatcher.set_weight(backend, weight, now);
            self.limit_to(backend, limit);
        }
        for (backend, is_ejected) in changes {
            self.eject(backend, is_ejected, now);
        }
    }

    fn eject(&mut self, backend: BackendId, is_ejected: bool, now: Time) {
        let change = self.learn(backend, News::Ejected(is_ejected), now);
        self.changes.extend(change);
    }

    /// A backend has this limit from now on, if it has one.
    fn limit_to(&mut self, backend: BackendId, limit: Option<Limit>) {
        if let Some(limit) = limit.filter(|limit| self.dispatcher.table().limit_of(backend) != Some(*limit)) {
            self.dispatcher.limit_of(backend, Some(limit)).expect("ends of requests are told");
            self.guards().room.iter_mut().for_each(|room| room.may_have_room(backend));
        }
    }

    /// The queue of one that has one.
    pub(super) fn room(&mut self) -> &mut WaitingRoom {
        self.guards().room.as_mut().expect("it has a queue")
    }

    #[inline]
    fn guards(&mut self) -> &mut Guarded {
        self.guards.as_mut().expect("it has guards")
    }
}

fn refused(code: Code, value: u32) -> Decision {
    Decision { reason: Reason { code, ties: 0, value: value.into() }, ..Decision::refuse() }
}
