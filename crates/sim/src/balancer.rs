//! The balancer as the engine sees it: one or more dispatchers, told what a gateway would see.

use sojourn_dispatch::{
    Action, BackendId, Catalogue, Command, Dispatcher, Event, Information, Report, Request, Signals, key,
};
use sojourn_stats::{Span, Stream, Time};

use crate::scenario::{Scenario, SimError, server_name};

/// One or more dispatchers over the servers of a scenario.
pub(crate) struct Balancer {
    dispatchers: Vec<Dispatcher>,
    /// Which of them gets a request.
    draws: Stream,
    /// What the policy reads; the rest need not be told.
    requires: Signals,
    /// When a dispatcher next wants to be polled.
    deadline: Time,
    /// Which server each client's cookie names, where the policy reads cookies.
    cookies: Vec<Option<BackendId>>,
}

/// What a balancer is made of.
pub(crate) struct Setting<'a> {
    pub(crate) catalogue: &'a Catalogue,
    pub(crate) policy: &'a str,
    pub(crate) servers: usize,
    /// None: all equal.
    pub(crate) weights: &'a [f64],
    pub(crate) information: Information,
    /// What the simulator really tells, reports apart: those come where the balancer polls.
    pub(crate) signals: Signals,
    pub(crate) dispatchers: u32,
}

/// Where a request is sent, and by whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    pub(crate) dispatcher: u32,
    pub(crate) server: u32,
}

impl Balancer {
    /// The balancer of `scenario`; none where it has no policy.
    pub(crate) fn new(scenario: &Scenario, seed: u64) -> Result<Option<Balancer>, SimError> {
        let Some(policy) = &scenario.policy else { return Ok(None) };
        let setting = Setting {
            catalogue: &scenario.catalogue,
            policy,
            servers: scenario.servers.len(),
            weights: &scenario.weights,
            information: scenario.information,
            signals: scenario.signals & Scenario::PROVIDES,
            dispatchers: scenario.dispatchers,
        };
        Balancer::of(&setting, seed).map(Some)
    }

    /// The dispatchers of `setting`.
    pub(crate) fn of(setting: &Setting<'_>, seed: u64) -> Result<Balancer, SimError> {
        let Setting { catalogue, policy, servers, weights, information, dispatchers, .. } = *setting;
        let signals = setting.signals | information.signals();
        let weight = |index: usize| weights.get(index).copied().unwrap_or(1.0);
        let backends: Vec<_> = (0..servers).map(|index| (server_name(index), weight(index))).collect();
        let dispatchers = (0..dispatchers)
            .map(|number| {
                let name = dispatcher_name(number);
                Dispatcher::from_catalogue(catalogue, policy, &backends, information, signals, seed, &name)
            })
            .collect::<Result<Vec<_>, _>>()?;
        let mut balancer = Balancer {
            requires: dispatchers[0].requires(),
            dispatchers,
            draws: Stream::new(seed, "clients", "dispatcher"),
            deadline: Time::NEVER,
            cookies: Vec::new(),
        };
        balancer.find_deadline();
        Ok(balancer)
    }

    /// What the policy reads.
    pub(crate) fn requires(&self) -> Signals {
        self.requires
    }

    /// When [`Balancer::poll`] is due.
    #[inline]
    pub(crate) fn deadline(&self) -> Time {
        self.deadline
    }

    /// Chooses a server; none where the policy does anything but forward.
    #[inline]
    pub(crate) fn choose(&mut self, client: u32, class: u8, now: Time) -> Option<Choice> {
        let dispatcher = if self.dispatchers.len() == 1 { 0 } else { self.draws.below(self.dispatchers.len()) };
        let cookies = self.requires.contains(Signals::COOKIE);
        let cookie = if cookies { self.cookies.get(client as usize).copied().flatten() } else { None };
        let address = if self.requires.contains(Signals::ADDRESS) { key(&client.to_string()) } else { 0 };
        let request = Request { client: address, class, cookie, ..Request::default() };
        let decision = self.dispatchers[dispatcher].choose(&request, &[], now);
        self.heed(dispatcher);
        let Action::Forward(backend) = decision.action else { return None };
        if cookies {
            let client = client as usize;
            if self.cookies.len() <= client {
                self.cookies.resize(client + 1, None);
            }
            self.cookies[client] = Some(backend);
        }
        Some(Choice { dispatcher: dispatcher as u32, server: backend.0 })
    }

    /// Whether the policy reads first bytes.
    #[inline]
    pub(crate) fn wants_first_byte(&self) -> bool {
        self.requires.contains(Signals::FIRST_BYTE)
    }

    /// Whether the policy reads predictions.
    #[inline]
    pub(crate) fn wants_predictions(&self) -> bool {
        self.requires.contains(Signals::PREDICTED_RESPONSE)
    }

    /// So long would the request that is chosen for next take at a server.
    pub(crate) fn predicted(&mut self, server: u32, response: Span, now: Time) {
        let backend = BackendId(server);
        self.dispatchers.iter_mut().for_each(|one| one.observe(Event::Predicted { backend, response }, now));
    }

    /// The reply's first byte is here, this long after the request was sent.
    #[inline]
    pub(crate) fn first_byte(&mut self, choice: Choice, round_trip: Span, now: Time) {
        self.tell(choice, Event::FirstByte { backend: BackendId(choice.server), round_trip }, now);
    }

    /// So many bytes of replies have passed.
    #[inline]
    pub(crate) fn transmitted(&mut self, choice: Choice, bytes: u64, now: Time) {
        self.tell(choice, Event::Transmitted { backend: BackendId(choice.server), bytes }, now);
    }

    /// The reply is complete.
    #[inline]
    pub(crate) fn completed(&mut self, choice: Choice, bytes: u64, latency: Span, now: Time) {
        self.tell(choice, Event::Completed { backend: BackendId(choice.server), status: 200, bytes, latency }, now);
    }

    /// The server denied the request.
    pub(crate) fn failed(&mut self, choice: Choice, after: Span, now: Time) {
        self.tell(choice, Event::Failed { backend: BackendId(choice.server), after }, now);
    }

    /// The client is gone.
    pub(crate) fn cancelled(&mut self, choice: Choice, now: Time) {
        self.tell(choice, Event::Cancelled { backend: BackendId(choice.server) }, now);
    }

    /// Does what is due; `ask` tells how many requests a server has, or nothing if [`Balancer::reported`] will.
    pub(crate) fn poll(&mut self, now: Time, mut ask: impl FnMut(usize) -> Option<u32>) {
        for dispatcher in &mut self.dispatchers {
            if dispatcher.next_deadline().is_none_or(|deadline| deadline > now) {
                continue;
            }
            for command in dispatcher.poll(now) {
                let Command::Poll(backend) = command else {
                    unreachable!("a policy that gives other commands is refused before the run")
                };
                if let Some(in_flight) = ask(backend.0 as usize) {
                    dispatcher.report(backend, &Report::of_in_flight(in_flight, now), now);
                }
            }
        }
        self.find_deadline();
        assert!(self.deadline > now, "a dispatcher that was polled at its deadline has a later one, or none");
    }

    /// The only dispatcher's answer from a server that it polled: how many requests it had at `measured`.
    pub(crate) fn reported(&mut self, server: u32, in_flight: u32, measured: Time, now: Time) {
        self.dispatchers[0].report(BackendId(server), &Report::of_in_flight(in_flight, measured), now);
        self.heed(0);
    }

    #[inline]
    fn tell(&mut self, choice: Choice, event: Event, now: Time) {
        self.dispatchers[choice.dispatcher as usize].observe(event, now);
        self.heed(choice.dispatcher as usize);
    }

    /// A dispatcher may have set itself an earlier deadline.
    #[inline]
    fn heed(&mut self, dispatcher: usize) {
        if let Some(deadline) = self.dispatchers[dispatcher].next_deadline() {
            self.deadline = self.deadline.min(deadline);
        }
    }

    fn find_deadline(&mut self) {
        let deadlines = self.dispatchers.iter().filter_map(Dispatcher::next_deadline);
        self.deadline = deadlines.min().unwrap_or(Time::NEVER);
    }
}

/// The name of dispatcher number `number` (from 0), which names its random stream: a live gateway's is the same.
fn dispatcher_name(number: u32) -> String {
    format!("dispatcher {number}")
}
