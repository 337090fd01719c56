//! A table, a policy and its stream, held together.

mod client;
mod requirement;
mod setting;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::io::{self, Write};

use sojourn_stats::{Span, Stream, Time};

use crate::claims::Claims;
use crate::dispatcher::requirement::{check_names, check_weight, met_by, polls};
use crate::record::{Detail, Header, RecordError, Recorder};
use crate::{
    Action, Ask, BackendId, Catalogue, Clients, Code, Command, Decision, DispatchError, Event, Explanation, Hold,
    Information, Policy, Reason, Report, Request, Signals, State, Table,
};

/// One decider: what the simulator's balancer and the live gateway both hold.
///
/// Every call takes the time, which must not run backwards. What is due (a window's end, a lease's end) is done before a
/// choice or an event of that time or later, so that a late timer cannot let a choice read an old window.
pub struct Dispatcher {
    table: Table,
    clients: Clients,
    policy: Box<dyn Policy>,
    stream: Stream,
    /// When what is known is next to be brought up to date: the end of a window, a lease or a rate.
    due: Time,
    /// When the policy next wants to be polled, as it said when it was last called.
    policy_due: Time,
    /// When each ends, at which backend, and what it reserved of the room there.
    leases: BinaryHeap<Reverse<(Time, BackendId, u64)>>,
    polls: Option<Polls>,
    requires: Signals,
    listens: bool,
    /// The policy reads what is known of clients, so that a request counts as a use of its client.
    reads_clients: bool,
    claims: Claims,
    /// What no backend has room for is refused.
    needs_room: bool,
    fresh: bool,
    recorder: Option<Recorder<Box<dyn Write + Send>>>,
    /// How it was made.
    header: Header,
}

#[derive(Debug)]
struct Polls {
    every: Span,
    next: Time,
}

impl Dispatcher {
    /// A dispatcher that follows `policy` (a text such as `least-connections` or `round-trip(window = 1 s)`) at a face
    /// that provides `signals`, over backends of these names and weights, all eligible. `name` names its random stream.
    ///
    /// With [`Information::Polled`], reports fill in for requests in flight that the face may not see.
    ///
    /// # Errors
    /// On an unknown policy, a bad parameter, a signal that the policy requires and the face does not provide, two
    /// backends of one name, a weight that the policy cannot give its share ([`Policy::weights`]), or polls every 0 s.
    pub fn new(
        policy: &str,
        backends: &[(String, f64)],
        information: Information,
        signals: Signals,
        seed: u64,
        name: &str,
    ) -> Result<Dispatcher, DispatchError> {
        Dispatcher::from_catalogue(&Catalogue::default(), policy, backends, information, signals, seed, name)
    }

    /// The same with a policy of `catalogue`, where policies of your own have names too.
    ///
    /// # Errors
    /// As [`Dispatcher::new`].
    pub fn from_catalogue(
        catalogue: &Catalogue,
        policy: &str,
        backends: &[(String, f64)],
        information: Information,
        signals: Signals,
        seed: u64,
        name: &str,
    ) -> Result<Dispatcher, DispatchError> {
        Dispatcher::with_policy(catalogue.build(policy)?, policy, backends, information, signals, seed, name)
    }

    /// The same with a policy of your own, which `text` names in messages and records.
    ///
    /// # Errors
    /// As [`Dispatcher::new`].
    pub fn with_policy(
        policy: Box<dyn Policy>,
        text: &str,
        backends: &[(String, f64)],
        information: Information,
        signals: Signals,
        seed: u64,
        name: &str,
    ) -> Result<Dispatcher, DispatchError> {
        let requires = met_by(policy.requires(), signals);
        let polls = polls(requires, text, information, signals)?;
        check_names(&*policy, text, backends)?;
        let counted = signals.contains(Signals::IN_FLIGHT);
        let mut table = Table::new(policy.index(), policy.ties(), policy.window(), polls.is_some(), counted);
        for (backend, weight) in backends {
            check_weight(&*policy, text, backend, *weight)?;
            if table.id(backend).is_some() {
                return Err(DispatchError::Backend(format!("two backends are called `{backend}`; names must differ")));
            }
            table.join(backend, *weight);
        }
        let reports = if polls.is_some() { Signals::REPORTS } else { Signals::empty() };
        let mut dispatcher = Dispatcher {
            requires: requires | reports,
            reads_clients: requires.intersects(Signals::CLIENT_RATES | Signals::ROUND_TRIPS),
            clients: Clients::default(),
            claims: Claims::default(),
            needs_room: false,
            listens: policy.listens(),
            due: Time::NEVER,
            policy_due: Time::NEVER,
            leases: BinaryHeap::new(),
            polls,
            stream: Stream::new(seed, name, "dispatch"),
            fresh: true,
            recorder: None,
            header: Header::new(text, backends, information, signals, seed, name),
            table,
            policy,
        };
        dispatcher.reschedule();
        dispatcher.ask_policy();
        Ok(dispatcher)
    }

    /// Chooses a backend for `request` and counts the choice there for as long as the decision is held. `tried`: the
    /// backends that were already tried for this request.
    ///
    /// # Panics
    /// When the policy breaks its contract and chooses a backend that is not eligible or was already tried.
    #[inline]
    pub fn choose(&mut self, request: &Request, tried: &[BackendId], now: Time) -> Decision {
        self.catch_up(now);
        if self.reads_clients {
            self.clients.touch(request.client);
        }
        let ask = Ask { request, table: &self.table, clients: &self.clients, tried, now };
        if let Some(recorder) = &mut self.recorder {
            recorder.explain(|| self.policy.explain(&ask));
        }
        let mut decision = match self.needs_room.then(|| missing_room(&ask)).flatten() {
            Some(rate) => {
                let reason = Reason { code: Code::NoRoom, ties: 0, value: rate };
                Decision { reason, ..Decision::refuse() }
            }
            None => self.policy.choose(&ask, &mut self.stream),
        };
        self.ask_policy();
        if decision.action == Action::Refuse && self.table.full() > 0 {
            let full = self.table.full();
            decision.reason = Reason { code: Code::Full, ties: 0, value: full as f64 };
        }
        match (decision.action, decision.hold) {
            (Action::Forward(id), Hold::UntilTold) => {
                assert!(tried.is_empty() || !tried.contains(&id), "a policy chose {id:?}, which was already tried");
                self.table.forwarded(id, false);
            }
            (_, Hold::UntilTold) => {}
            _ => self.hold(&mut decision, request, tried, now),
        }
        self.fresh = false;
        if let Some(recorder) = &mut self.recorder {
            recorder.choose(request, tried, &decision, now);
        }
        decision
    }

    /// What the policy would compare for this request now: each candidate with its terms. It looks at every backend, so
    /// ask only for those who want to know why.
    pub fn explain(&mut self, request: &Request, tried: &[BackendId], now: Time) -> Explanation {
        self.catch_up(now);
        self.policy.explain(&Ask { request, table: &self.table, clients: &self.clients, tried, now })
    }

    /// The backends of an answer ([`Action::Answer`]), best first, `first` included, written to `list`.
    pub fn answer(&self, request: &Request, first: BackendId, now: Time, list: &mut Vec<BackendId>) {
        list.clear();
        list.push(first);
        let ask = Ask { request, table: &self.table, clients: &self.clients, tried: &[], now };
        self.policy.answer(&ask, first, list);
    }

    /// Tells the table and the policy what happened.
    ///
    /// # Panics
    /// When a request ends that was never forwarded, a connection closes that was never opened, or the backend's number
    /// was never given: the face's books are wrong.
    #[inline]
    pub fn observe(&mut self, event: Event, now: Time) {
        self.catch_up(now);
        self.fresh = false;
        if let Some(recorder) = &mut self.recorder {
            recorder.observe(&event, now); // first, so that the record ends with what broke an invariant
        }
        self.table.observe(&event);
        if self.listens {
            self.policy.observe(&event, &self.table, now);
            self.ask_policy();
        }
    }

    /// Takes a report of a backend; false for one that is older than its last, or that says what no backend can say (a
    /// value that is not finite, a share or rate below 0). Such a report is ignored.
    ///
    /// # Panics
    /// When the backend's number was never given.
    pub fn report(&mut self, backend: BackendId, report: &Report, now: Time) -> bool {
        self.catch_up(now);
        self.fresh = false;
        let taken = self.table.take_report(backend, report);
        if taken {
            if let Some(recorder) = &mut self.recorder {
                recorder.report(backend, report, now);
            }
            if self.listens {
                self.policy.reported(backend, &self.table, now);
                self.ask_policy();
            }
        }
        taken
    }

    /// Makes a backend of this name known and eligible. One that was known before, and left, keeps its number and its
    /// counters; its weight is the new one.
    ///
    /// # Errors
    /// When the weight is neither 0 nor one of [`Policy::weights`].
    pub fn join(&mut self, name: &str, weight: f64, now: Time) -> Result<BackendId, DispatchError> {
        check_weight(&*self.policy, &self.header.policy, name, weight)?;
        self.catch_up(now);
        self.fresh = false;
        if let Some(recorder) = &mut self.recorder {
            recorder.join(name, weight, now);
        }
        let id = self.table.join(name, weight);
        if self.listens {
            self.policy.observe(&Event::Joined { backend: id }, &self.table, now);
            self.ask_policy();
        }
        Ok(id)
    }

    /// Does what is due by `now` (window ends, polls) and returns what the face must do.
    ///
    /// # Panics
    /// When the policy breaks its contract and gives a command whose signal it does not require.
    pub fn poll(&mut self, now: Time) -> Vec<Command> {
        self.catch_up(now);
        self.fresh = false;
        let mut commands = Vec::new();
        if let Some(polls) = self.polls.as_mut().filter(|polls| polls.next <= now) {
            polls.next = Time((now.0 - now.0 % polls.every.0).saturating_add(polls.every.0));
            let ids = (0..self.table.len() as u32).map(BackendId);
            let asked = ids.filter(|&id| matches!(self.table.state(id), State::Up | State::Draining));
            commands.extend(asked.map(Command::Poll));
        }
        let own = self.policy.poll(&self.table, now);
        self.ask_policy();
        let allowed = |command: &Command| self.requires.contains(command.needs());
        assert!(own.iter().all(allowed), "a policy gave a command of {own:?} whose signal it does not require");
        for command in &own {
            if let Command::Measure { client, .. } = *command {
                self.clients.probed(client, now);
            }
        }
        commands.extend(own);
        if let Some(recorder) = &mut self.recorder {
            recorder.poll(&commands, now);
        }
        commands
    }

    /// When [`Dispatcher::poll`] is next due. Polls are due from the start of the run on.
    #[inline]
    pub fn next_deadline(&self) -> Option<Time> {
        let polls = self.polls.as_ref().map_or(Time::NEVER, |polls| polls.next);
        let next = self.due.min(polls).min(self.policy_due);
        (next < Time::NEVER).then_some(next)
    }

    /// What is known of the backends.
    #[inline]
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The part of all requests that each backend gets in the long run, by id; see [`Policy::shares`].
    pub fn shares(&self) -> Option<Vec<f64>> {
        self.policy.shares(&self.table)
    }

    /// What is known of the clients.
    #[inline]
    pub fn clients(&self) -> &Clients {
        &self.clients
    }

    /// The signals that are read here. A face need not tell `FirstByte` or `Transmitted` where
    /// [`Signals::FIRST_BYTE`] or [`Signals::BYTES`] is missing; ends of requests it tells in any case, if it sees
    /// them. Where [`Signals::CLIENT_FIRST_BYTE`] stands instead of `FIRST_BYTE`, it tells `FirstByte` when the client
    /// has that byte, with the time since the request was forwarded.
    pub fn requires(&self) -> Signals {
        self.requires
    }

    /// The policy, as it was asked for.
    pub fn policy(&self) -> &str {
        &self.header.policy
    }

    /// From now on writes every call and every decision to `out`, as lines of JSON that [`crate::record::replay`]
    /// understands; with [`Detail::Explained`] also what each candidate of a choice had to offer. Written through a
    /// buffer: call [`Dispatcher::finish_record`] at the end.
    ///
    /// # Errors
    /// When this dispatcher has been used already (a replay could not begin where the record does), or `out` fails.
    pub fn record_to(&mut self, out: Box<dyn Write + Send>, detail: Detail) -> Result<(), RecordError> {
        if !self.fresh {
            return Err(RecordError::Late);
        }
        let mut recorder = Recorder::new(out, &self.header, detail)?;
        // Limits may be set before; they are no part of the header.
        self.table.limit().into_iter().for_each(|limit| recorder.limit(limit));
        self.table.own_limits().for_each(|(backend, limit)| recorder.limit_of(backend, limit));
        self.recorder = Some(recorder);
        Ok(())
    }

    /// Why the record is not written any more, once writing has failed.
    pub fn record_error(&self) -> Option<&io::Error> {
        self.recorder.as_ref()?.error()
    }

    /// Ends the record, if there is one, and writes out its last lines.
    ///
    /// # Errors
    /// The first error that writing met; what came after it is not in the record. Decisions never wait for this.
    pub fn finish_record(&mut self) -> io::Result<()> {
        self.recorder.take().map_or(Ok(()), Recorder::finish)
    }

    #[inline]
    fn catch_up(&mut self, now: Time) {
        if now >= self.due {
            self.do_due(now);
        }
    }

    #[cold]
    fn do_due(&mut self, now: Time) {
        while let Some(&Reverse((until, id, reserved))) = self.leases.peek().filter(|lease| lease.0.0 <= now) {
            debug_assert!(until <= now);
            self.leases.pop();
            self.table.lease_ended(id, reserved);
        }
        self.clients.expire(now);
        self.table.roll(now);
        self.reschedule();
    }

    /// Counts a choice that is held otherwise than until the end of the request is told.
    #[cold]
    fn hold(&mut self, decision: &mut Decision, request: &Request, tried: &[BackendId], now: Time) {
        let Some(id) = decision.chosen() else { return };
        assert!(!tried.contains(&id), "a policy chose {id:?}, which was already tried");
        if let Some(asker) = request.claimed_by {
            decision.hold = self.claims.within(decision.hold, (request, asker), (id, &self.table), now);
        }
        match decision.hold {
            Hold::UntilTold => {}
            Hold::Until(until) => self.lease(id, until, 0.0),
            Hold::Reserved { until, room } => self.lease(id, until, room),
            Hold::UntilReport { cpu, room } => {
                match decision.action {
                    Action::Forward(_) => self.table.forwarded(id, false),
                    _ => self.table.chosen(id),
                }
                self.table.believe(id, cpu, room);
            }
        }
    }

    fn lease(&mut self, id: BackendId, until: Time, room: f32) {
        self.table.forwarded(id, true);
        let reserved = self.table.reserve(id, room);
        self.leases.push(Reverse((until, id, reserved)));
        self.reschedule();
    }

    #[inline]
    fn ask_policy(&mut self) {
        self.policy_due = self.policy.next_deadline().unwrap_or(Time::NEVER);
    }

    fn reschedule(&mut self) {
        let lease = self.leases.peek().map_or(Time::NEVER, |lease| lease.0.0);
        let ends = [self.table.window_end(), self.clients.next_expiry()];
        self.due = ends.into_iter().flatten().fold(lease, Time::min);
    }
}

impl fmt::Debug for Dispatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dispatcher").field("policy", &self.header.policy).field("table", &self.table).finish()
    }
}

/// The rate (1/s) for which none of those that may be chosen has room; `None` where one has, or none may be chosen.
fn missing_room(ask: &Ask<'_>) -> Option<f64> {
    let Ask { request, table, clients, tried, .. } = *ask;
    let rate = clients.rate(request.client).or_else(|| clients.mean_rate()).unwrap_or(0.0);
    let has_any =
        if tried.is_empty() { table.any_has_room(rate) } else { ask.candidates().any(|id| table.has_room(id, rate)) };
    (!has_any && ask.candidates().next().is_some()).then_some(rate)
}
