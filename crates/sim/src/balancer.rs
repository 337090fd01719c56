//! The balancer as a fabric sees it: the fronts of one seat of a tier, told what its face would see.

use sojourn_dispatch::{
    Action, BackendId, Catalogue, ClientRules, Clients, Command, DispatchError, Event, Front, FrontSettings, Guards,
    Hardware, Heed, Information, Limit, News, Origin, Queue, Report, Request, RoundTrip, Signals, Table, key,
};
use sojourn_model::system::{self as model, Face, Region, Tier, Told, server_name};
use sojourn_stats::{Span, Stream, Time};

use crate::control::SimError;

/// One or more deciders over the targets of a seat.
pub(crate) struct Balancer {
    fronts: Vec<Front>,
    /// Which of them gets a request.
    draws: Stream,
    /// What the policy reads; the rest need not be told.
    requires: Signals,
    /// How long its answers are kept, of a DNS.
    lease: Option<Span>,
    /// When a dispatcher next wants to be polled.
    deadline: Time,
    /// Which server each client's cookie names, where the policy reads cookies.
    cookies: Vec<Option<BackendId>>,
    /// What was asked for last is to wait.
    waits: bool,
}

/// Where a request is sent, and by which dispatcher.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    pub(crate) dispatcher: u16,
    pub(crate) server: u32,
    /// Another target has failed at the request.
    pub(crate) is_retry: bool,
}

/// What a policy is asked about.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) client: u32,
    pub(crate) class: u8,
    pub(crate) object: u32,
    pub(crate) size: u64,
    /// Where it comes from, where the fabric knows of addresses.
    pub(crate) origin: Origin,
    /// What a node knows that redirects; none where another decider is asked.
    pub(crate) at_node: Option<AtNode>,
}

/// What a node that redirects knows of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AtNode {
    /// Its own number among the targets; none where it is none of them.
    pub(crate) here: Option<u32>,
    pub(crate) hops: u8,
    /// The request's demand, in seconds of a server of speed 1: the operations of an oracle that is right.
    pub(crate) work: f64,
    pub(crate) round_trip: Span,
}

/// What is told by the keys of clients' addresses.
const OF_CLIENTS: Signals = Signals::ADDRESS.union(Signals::CLIENT_RATES).union(Signals::ROUND_TRIPS);

/// What a face that redirects knows besides, of a request and of the servers.
const AT_NODE: Signals = Signals::HOPS
    .union(Signals::WORK)
    .union(Signals::CLIENT_ROUND_TRIP)
    .union(Signals::HARDWARE)
    .union(Signals::OWNERS);

/// The path of an object as the load generator asks an emulated server for it.
fn path_of(object: u32) -> String {
    format!("/work/{object}")
}

/// The key of a client's address.
pub(crate) fn client_key(client: u32) -> u64 {
    key(&client.to_string())
}

/// What a tier in a system of these regions tells its policy: what its face sees, what is reported to it and measured for
/// it, and what the simulator tells beside. `browses`: of users who browse, whose paths are not told.
pub fn signals(tier: &Tier, regions: &[Region], browses: bool) -> Signals {
    // A face that sees the path can look the size of the reply up.
    let of_path = if browses { Signals::empty() } else { Signals::PATH | Signals::OBJECT | Signals::SIZE };
    let seen = match tier.face {
        Face::Gateway => Signals::GATEWAY.difference(Signals::PATH) | of_path,
        Face::Switch => Signals::SWITCH,
        // It sees what it answers, and no reply.
        Face::Redirect if browses => Signals::ADDRESS | Signals::COOKIE,
        Face::Redirect => Signals::ADDRESS | Signals::COOKIE | of_path | AT_NODE,
        Face::Dns => Signals::DNS,
        // It hears of its own requests, and no more.
        Face::Client => {
            Signals::GATEWAY.difference(Signals::COOKIE | Signals::PATH) | of_path.difference(Signals::SIZE)
        }
    };
    let are_addressed = !browses && !regions.is_empty() && regions.iter().all(|region| region.addresses.is_some());
    let hears_of_others = tier.face != Face::Client;
    let given = [
        (are_addressed, Signals::ORIGIN),
        (hears_of_others && tier.reports.is_some(), Signals::REPORTS | Signals::UTILIZATION | Signals::ROOM),
        (hears_of_others && tier.reports.is_some_and(|reports| reports.client_rates.is_some()), Signals::CLIENT_RATES),
        (matches!(tier.face, Face::Dns | Face::Client) && tier.probes.is_some(), Signals::ROUND_TRIPS),
    ];
    let given = given.into_iter().filter(|(is_given, _)| *is_given).fold(seen, |signals, (_, more)| signals | more);
    let told = |one: &Told| match one {
        Told::Bytes => Signals::BYTES,
        Told::ClientFirstByte => Signals::CLIENT_FIRST_BYTE,
        Told::PredictedResponse => Signals::PREDICTED_RESPONSE,
    };
    match hears_of_others {
        true => tier.told.iter().fold(given | information(tier).signals(), |signals, one| signals | told(one)),
        false => given,
    }
}

/// How fresh what a tier's policy knows is.
pub fn information(tier: &Tier) -> Information {
    tier.polled.map_or(Information::Immediate, |every| Information::Polled { every })
}

impl Balancer {
    /// The only seat of a system's only tier, in front of `targets` servers.
    pub(crate) fn first(
        tier: &Tier,
        targets: usize,
        browses: bool,
        catalogue: &Catalogue,
        seed: u64,
    ) -> Result<Balancer, SimError> {
        Balancer::of(tier, (0..targets).map(server_name), signals(tier, &[], browses), catalogue, seed, "")
    }

    /// The dispatchers of a seat over targets of these names. `seat` names its random streams: nothing for the first.
    pub(crate) fn of(
        tier: &Tier,
        targets: impl Iterator<Item = String>,
        signals: Signals,
        catalogue: &Catalogue,
        seed: u64,
        seat: &str,
    ) -> Result<Balancer, SimError> {
        let weight = |index: usize| tier.weights.get(index).copied().unwrap_or(1.0);
        let backends: Vec<_> = targets.enumerate().map(|(index, name)| (name, weight(index))).collect();
        if tier.dispatchers > u16::MAX.into() {
            return Err(SimError::Invalid(format!("{} dispatchers: at most {}", tier.dispatchers, u16::MAX)));
        }
        let limit = tier.limit.map(|model::Limit { connections, returns }| Limit::new(connections, returns));
        // Nodes that redirect weigh the load of each, their own too, and hear no alarms: nor do those of `sojourn node`.
        let are_nodes = tier.face == Face::Redirect && tier.seats.iter().any(|seat| seat.host.is_some());
        let settings = FrontSettings {
            seed,
            poll: tier.polled,
            limit: limit.transpose()?,
            heed_reports: if are_nodes { Heed::Never } else { Heed::IfRead },
            ..FrontSettings::new(tier.policy.as_str())
        };
        let queue = tier.guards.queue.clone().or(tier.waits.then(Queue::default));
        let settings = settings.guarded(Guards { queue, ..tier.guards.clone() });
        let front = |number| {
            Front::new(&settings, &backends, catalogue, signals, &format!("{seat}{}", dispatcher_name(number)))
        };
        let mut fronts = (0..tier.dispatchers).map(front).collect::<Result<Vec<_>, DispatchError>>()?;
        if tier.reports.is_some() && tier.face != Face::Client {
            // It goes by reports alone: the health of its targets is not looked at.
            for front in &mut fronts {
                front.backends().for_each(|target| _ = front.watch(target, false, true, Time::ZERO));
            }
        }
        if !tier.limits.is_empty() {
            for place in 0..backends.len() {
                let limit = tier.limit_of(place).map(|of| Limit::new(of.connections, of.returns)).transpose()?;
                fronts.iter_mut().try_for_each(|front| front.limit_of(BackendId(place as u32), limit))?;
            }
        }
        let mut balancer = Balancer {
            waits: false,
            requires: fronts[0].requires(),
            fronts,
            draws: Stream::new(seed, &format!("{seat}clients"), "dispatcher"),
            lease: (tier.face == Face::Dns).then_some(tier.ttl),
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

    /// Chooses a target that is not among those `tried`; none where the policy does anything but forward.
    #[inline]
    pub(crate) fn choose(&mut self, asked: Asked, tried: &[BackendId], now: Time) -> Option<Choice> {
        let dispatcher = if self.fronts.len() == 1 { 0 } else { self.draws.below(self.fronts.len()) };
        let request = request(asked, self.requires, &self.cookies, self.lease);
        let decision = self.fronts[dispatcher].choose(&request, tried, now);
        self.heed(dispatcher);
        self.waits = decision.action == Action::Queue;
        let (Action::Forward(backend) | Action::Answer(backend)) = decision.action else { return None };
        self.set_cookie(asked.client, backend);
        Some(Choice { dispatcher: dispatcher as u16, server: backend.0, is_retry: !tried.is_empty() })
    }

    /// A client has a cookie that names a backend, where the policy reads cookies.
    #[inline]
    fn set_cookie(&mut self, client: u32, backend: BackendId) {
        if self.requires.contains(Signals::COOKIE) {
            let client = client as usize;
            if self.cookies.len() <= client {
                self.cookies.resize(client + 1, None);
            }
            self.cookies[client] = Some(backend);
        }
    }

    /// Asks for the cache line in which a target's requests are counted.
    #[inline(always)]
    pub(crate) fn prefetch(&self, target: u32) {
        for front in &self.fronts {
            front.table().prefetch(BackendId(target));
        }
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

    /// Whether the policy reads what a node that redirects knows.
    #[inline]
    pub(crate) fn is_of_node(&self) -> bool {
        self.requires.intersects(AT_NODE)
    }

    /// What a target is made of.
    pub(crate) fn set_hardware(&mut self, target: u32, hardware: Hardware) {
        self.fronts.iter_mut().for_each(|one| one.set_hardware(BackendId(target), hardware));
    }

    /// The targets that own a file.
    pub(crate) fn set_owners(&mut self, file: u32, owners: &[BackendId]) {
        self.fronts.iter_mut().for_each(|one| one.set_owners(file, owners));
    }

    /// So long would the request that is chosen for next take at a server.
    pub(crate) fn predicted(&mut self, server: u32, response: Span, now: Time) {
        let backend = BackendId(server);
        self.fronts.iter_mut().for_each(|one| one.observe(Event::Predicted { backend, response }, now));
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
        self.answered(choice, 200, bytes, latency, now);
    }

    /// The reply is complete, with this status.
    #[inline]
    pub(crate) fn answered(&mut self, choice: Choice, status: u16, bytes: u64, latency: Span, now: Time) {
        self.tell(choice, Event::Completed { backend: BackendId(choice.server), status, bytes, latency }, now);
    }

    /// The server denied the request.
    pub(crate) fn failed(&mut self, choice: Choice, after: Span, now: Time) {
        self.tell(choice, Event::Failed { backend: BackendId(choice.server), after }, now);
    }

    /// The client is gone, this long after the request was sent.
    pub(crate) fn cancelled(&mut self, choice: Choice, after: Span, now: Time) {
        self.tell(choice, Event::Cancelled { backend: BackendId(choice.server), after }, now);
    }

    /// Whether what was asked for last, and got no target, is to wait.
    pub(crate) fn lets_wait(&self) -> bool {
        self.waits
    }

    /// The request in this slot waits; its number in the queue.
    pub(crate) fn wait(&mut self, slot: u32, now: Time) -> u64 {
        let number = self.fronts[0].wait(slot.into(), now);
        self.heed(0);
        number
    }

    /// A request that another target had failed at has ended, or waits no more.
    pub(crate) fn retry_ended(&mut self) {
        self.fronts[0].retry_ended();
    }

    /// The one of this number waits no more; `is_retry` where another target had failed at it.
    pub(crate) fn leave(&mut self, number: u64, is_retry: bool) {
        self.fronts[0].leave(number);
        if is_retry {
            self.fronts[0].retry_ended();
        }
    }

    /// The slot of the oldest that waits, if a target takes it now, since when it has waited, and where it goes.
    #[inline]
    pub(crate) fn let_in(&mut self, asked: impl Fn(u32) -> (Asked, bool), now: Time) -> Option<(u32, Time, Choice)> {
        if self.fronts[0].waiting() == 0 {
            return None;
        }
        let Balancer { fronts, requires, cookies, lease, .. } = self;
        let of = |slot: u64| request(asked(slot as u32).0, *requires, cookies, *lease);
        let admitted = fronts[0].let_in(of, now)?;
        self.heed(0);
        let slot = admitted.name as u32;
        let (asked, is_retry) = asked(slot);
        let backend = admitted.decision.forwarded_to().expect("it goes on");
        self.set_cookie(asked.client, backend);
        Some((slot, admitted.since, Choice { dispatcher: 0, server: backend.0, is_retry }))
    }

    /// The slot of the next one that has waited for too long, or for which no target will ever have room, or of any if all are
    /// to go.
    #[inline]
    pub(crate) fn turn_away(&mut self, all: bool, now: Time) -> Option<u32> {
        let front = &mut self.fronts[0];
        let turned_away = front.overdue(now).or_else(|| if all { front.dismiss() } else { front.hopeless() })?;
        Some(turned_away as u32)
    }

    /// News of a target.
    pub(crate) fn learn(&mut self, target: u32, news: News<'_>, now: Time) {
        self.tell_all(|front| _ = front.learn(BackendId(target), news, now));
    }

    /// Requests that were sent on and have not ended.
    pub(crate) fn in_flight(&self) -> u32 {
        let of = |table: &Table| (0..table.len() as u32).map(|id| table.in_flight(BackendId(id))).sum::<u32>();
        self.fronts.iter().map(|front| of(front.table())).sum()
    }

    /// Does what is due; `ask` tells how many requests a server has, or nothing if [`Balancer::reported`] will. What else
    /// is wanted is for the caller to do.
    pub(crate) fn poll(&mut self, now: Time, mut ask: impl FnMut(usize) -> Option<u32>) -> Vec<Command> {
        let mut wanted = Vec::new();
        for front in &mut self.fronts {
            if front.deadline().is_none_or(|deadline| deadline > now) {
                continue;
            }
            for command in front.due(now) {
                match command {
                    Command::Poll(backend) => {
                        if let Some(in_flight) = ask(backend.0 as usize) {
                            front.report(backend, &Report::of_in_flight(in_flight, now), now);
                        }
                    }
                    other => wanted.push(other),
                }
            }
        }
        self.find_deadline();
        assert!(self.deadline > now, "a dispatcher that was polled at its deadline has a later one, or none");
        wanted
    }

    /// How long to keep what is known of how many clients.
    pub(crate) fn keep_clients(&mut self, rules: ClientRules) {
        self.fronts.iter_mut().for_each(|one| one.keep_clients(rules));
    }

    /// Where a target is.
    pub(crate) fn set_origin(&mut self, target: u32, origin: Origin) {
        self.fronts.iter_mut().for_each(|one| one.set_origin(BackendId(target), origin));
    }

    /// What the first dispatcher knows of clients; all of them are told the same.
    pub(crate) fn clients(&self) -> &Clients {
        self.fronts[0].clients()
    }

    /// A client sends so many requests per second.
    pub(crate) fn client_rate(&mut self, client: u32, origin: Origin, rate: f64, now: Time) {
        let client = client_key(client);
        self.tell_all(|one| _ = one.tell_rate(client, origin, rate, now));
    }

    /// The round trip between a client and a target was measured.
    pub(crate) fn round_trip(&mut self, client: u32, target: u32, round_trip: RoundTrip, now: Time) {
        let client = client_key(client);
        self.tell_all(|one| one.tell_round_trip(client, BackendId(target), round_trip, now));
    }

    /// What the first dispatcher knows of the targets; all of them are told the same reports.
    pub(crate) fn table(&self) -> &Table {
        self.fronts[0].table()
    }

    /// The first dispatcher, which stands for all where its tier adds up reports, and in what all of them learn.
    pub(crate) fn front(&self) -> &Front {
        &self.fronts[0]
    }

    /// The only dispatcher's answer from a server that it polled: how many requests it had at `measured`.
    pub(crate) fn reported(&mut self, server: u32, in_flight: u32, measured: Time, now: Time) {
        self.fronts[0].report(BackendId(server), &Report::of_in_flight(in_flight, measured), now);
        self.heed(0);
    }

    fn tell_all(&mut self, tell: impl FnMut(&mut Front)) {
        self.fronts.iter_mut().for_each(tell);
        (0..self.fronts.len()).for_each(|dispatcher| self.heed(dispatcher));
    }

    #[inline]
    fn tell(&mut self, choice: Choice, event: Event, now: Time) {
        let front = &mut self.fronts[choice.dispatcher as usize];
        if choice.is_retry && matches!(event, Event::Completed { .. } | Event::Failed { .. } | Event::Cancelled { .. })
        {
            front.retry_ended();
        }
        front.observe(event, now);
        self.heed(choice.dispatcher as usize);
    }

    /// A dispatcher may have set itself an earlier deadline.
    #[inline]
    fn heed(&mut self, dispatcher: usize) {
        if let Some(deadline) = self.fronts[dispatcher].deadline() {
            self.deadline = self.deadline.min(deadline);
        }
    }

    fn find_deadline(&mut self) {
        let deadlines = self.fronts.iter().filter_map(Front::deadline);
        self.deadline = deadlines.min().unwrap_or(Time::NEVER);
    }
}

/// What a policy that reads this is told of a request.
#[inline]
fn request(asked: Asked, requires: Signals, cookies: &[Option<BackendId>], lease: Option<Span>) -> Request {
    let Asked { client, class, object, size, origin, at_node } = asked;
    let has_cookies = requires.contains(Signals::COOKIE);
    let cookie = if has_cookies { cookies.get(client as usize).copied().flatten() } else { None };
    let address = if requires.intersects(OF_CLIENTS) { client_key(client) } else { 0 };
    let path = if requires.contains(Signals::PATH) { key(&path_of(object)) } else { 0 };
    let size = requires.contains(Signals::SIZE).then_some(size);
    let mut request =
        Request { client: address, class, cookie, key: path, object, size, origin, lease, ..Request::default() };
    if let Some(AtNode { here, hops, work, round_trip }) = at_node {
        (request.here, request.hops) = (here.map(BackendId), hops);
        (request.work, request.round_trip) = (Some(work), Some(round_trip));
    }
    request
}

/// The name of dispatcher number `number` (from 0), which names its random stream: a live gateway's is the same.
pub(crate) fn dispatcher_name(number: u32) -> String {
    format!("dispatcher {number}")
}
