//! The rules of reports: when a backend tells its load, and what its receiver makes of that. Simulated and live parts
//! share them, so that a live cluster reports as its twin does.
//!
//! A backend looks at its load at every tick. It reports when its busy share has changed considerably ([`CHANGE`]), when
//! its heartbeat is due, and at once when an overload begins or ends ([`OVERLOADED`]) or no backend is left. It tells what
//! it has done since its start ([`Totals`]), so that a lost report loses no request: the receiver makes differences and
//! learns the capacity from them ([`Account`]). A decider that passes reports on adds them up to those of one server of high
//! capacity ([`AsOne`]), and of clients it passes on those above the mean ([`above_mean`]). Rates of clients are long, so
//! each reporter sends them at an instant of its own ([`phase`]). Agarwal, A test bed for performance evaluation of load
//! balancing strategies for web server systems, 2001, sections 3.5 and 4.3; what he leaves open (how much is considerable,
//! when a server is overloaded, how long silence lasts) is set here. The price is that alarms are of numbers inside, since a
//! busy share takes time, and that two names may have nearly the same phase.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use sojourn_stats::{Span, Stream, Time};

use crate::Report;
use crate::capacity::{Estimator, Interval, Rule, estimator};

/// A considerable change of the busy share of the processor: a tenth of the capacity.
pub const CHANGE: f32 = 0.1;

/// More requests inside for each core than the first are an overload, which ends with no more than the second.
pub const OVERLOADED: (u32, u32) = (8, 2);

/// The report of a tick may come sooner than it should after that of the one before, by this part of the time between ticks: what
/// waits for a real clock is late now and then, and the next tick then seems early.
const EARLY: u64 = 10;

/// Heartbeats without a report after which a backend counts as down.
pub const SILENT_HEARTBEATS: u64 = 2;

/// Echo requests that measure one round trip to a client.
pub const ECHOES: u32 = 3;

/// Time between two of them, which is also how long the last one is waited for.
pub const ECHOES_APART: Span = Span(1_000_000_000);

/// When a backend reports.
#[derive(Clone, Copy, Debug, Default)]
pub struct Occasion {
    /// When it last did, and the busy share that it told.
    told: Option<(Time, f32)>,
    is_overloaded: bool,
    is_empty: bool,
}

/// What a backend has done since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Requests that have come.
    pub arrived: u64,
    /// Requests that it has served.
    pub completed: u64,
    /// Bytes of their replies.
    pub bytes: u64,
    /// Time that they took there (ns), where that is known.
    pub stayed_ns: Option<u128>,
    /// Core time that its processors have spent, and all that they had (ns), where both are known.
    pub busy_ns: Option<(u128, u128)>,
}

/// What a receiver knows of one backend that reports.
pub struct Account {
    /// Up to when it knows what was done.
    known: (Time, Totals),
    /// When what adds up reports last told a new room.
    renewed: Option<Time>,
    rate: f64,
    latency: Option<Span>,
    /// It has completed nothing lately, while it was overloaded.
    is_stuck: bool,
    learned: Box<dyn Estimator>,
    /// The share of saturation that counts as capacity.
    at: f64,
}

/// What a decider tells of its backends: one server of high capacity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AsOne {
    /// Their last reports, added up; nothing where none is left.
    pub report: Report,
    /// Requests that they have served, and bytes of their replies.
    pub totals: Totals,
    /// None of them is left.
    pub is_empty: bool,
}

/// The request rates (1/s) of clients, as each backend last told them.
#[derive(Clone, Debug, Default)]
pub struct Rates<K>(Vec<HashMap<K, f64>>);

/// The least time between two reports of ticks of a real clock.
pub fn earliest(every: Span) -> Span {
    Span(every.0 - every.0 / EARLY)
}

impl Occasion {
    /// Whether a backend whose processor is busy for this share has to report now.
    pub fn is_due(&self, cpu: f32, heartbeat: Span, now: Time) -> bool {
        self.told.is_none_or(|(at, told)| now - at >= heartbeat || (cpu - told).abs() >= CHANGE)
    }

    /// It has reported.
    pub fn told(&mut self, cpu: f32, now: Time) {
        self.told = Some((now, cpu));
    }

    /// Whether an overload has just begun or ended, with so many requests inside.
    pub fn has_turned(&mut self, inside: u32, cores: u32) -> bool {
        let limit = if self.is_overloaded { OVERLOADED.1 } else { OVERLOADED.0 };
        let is_overloaded = inside > limit * cores;
        std::mem::replace(&mut self.is_overloaded, is_overloaded) != is_overloaded
    }

    /// Whether what adds up reports has just lost the last of its backends, or has one again.
    pub fn has_emptied(&mut self, is_empty: bool) -> bool {
        std::mem::replace(&mut self.is_empty, is_empty) != is_empty
    }

    /// Whether the overload that it found last lasts.
    pub fn is_overloaded(&self) -> bool {
        self.is_overloaded
    }
}

impl Totals {
    /// Adds what a report says was done since the one before it.
    pub fn add(&mut self, report: &Report) {
        self.completed += u64::from(report.requests);
        self.bytes += report.bytes;
    }
}

impl Account {
    /// Knows what was done until `at`.
    pub fn new(at: Time, totals: Totals) -> Account {
        Account::learning(at, totals, Rule::default())
    }

    /// The same, with another rule of capacity.
    ///
    /// # Panics
    /// On a name that [`known`](crate::capacity::known) does not give.
    pub fn learning(at: Time, totals: Totals, by: Rule) -> Account {
        let learned = estimator(by.estimator).expect("its name was looked up");
        let known = (at, totals);
        Account { known, renewed: None, rate: 0.0, latency: None, is_stuck: false, learned, at: by.at }
    }

    /// What was done until `at` is not its business: the backend counts anew. What was learned stays.
    pub fn restart(&mut self, at: Time, totals: Totals) {
        self.known = (at, totals);
    }

    /// Completes a report with the differences to the last one and with what they teach: requests, bytes, latency, capacity
    /// and room, which is capacity less the rate served; an overloaded backend that answers nothing has none. An alarm comes
    /// sooner than `every` after the last report, which is too soon to tell a rate, so that the report is early
    /// ([`Report::is_early`]); where clocks are real, `every` is the time between ticks less what ticks may seem early
    /// ([`earliest`]).
    pub fn understand(&mut self, report: &mut Report, totals: &Totals, every: Span) {
        let (since, known) = self.known;
        let length = report.measured.saturating_since(since);
        report.is_early = length < every;
        if !report.is_early {
            let completed = totals.completed - known.completed;
            let sent = (totals.arrived - known.arrived) as u32;
            let stayed_ns = totals.stayed_ns.zip(known.stayed_ns).map(|(now, before)| now - before);
            let latency = stayed_ns.and_then(|ns| ns.checked_div(u128::from(completed))).map(|ns| Span(ns as u64));
            let busy = totals.busy_ns.zip(known.busy_ns);
            let busy = busy.map(|(now, before)| (now.0 - before.0) as f64 / (now.1 - before.1) as f64);
            (report.requests, report.bytes) = (completed as u32, totals.bytes - known.bytes);
            let (completed, in_flight) = (completed as u32, report.in_flight);
            self.learned.learn(&Interval { length, sent, completed, latency, busy, in_flight });
            self.is_stuck = completed == 0 && in_flight > OVERLOADED.0;
            (self.latency, self.rate) = (latency, f64::from(completed) / length.as_secs_f64());
            self.known = (report.measured, *totals);
        }
        self.recall(report);
    }

    /// Completes a report that tells nothing of requests with what was learned before.
    pub fn recall(&self, report: &mut Report) {
        report.latency = self.latency;
        // What is not known yet is 0.
        let capacity = self.learned.capacity().unwrap_or(0.0) * self.at;
        let room = if self.is_stuck { 0.0 } else { (capacity - self.rate).max(0.0) };
        (report.capacity, report.room) = (capacity as f32, room as f32);
    }

    /// The same for a backend that adds up reports itself: its capacity and room are in the report.
    pub fn add_differences(&mut self, report: &mut Report, totals: &Totals, every: Span) {
        let (_, known) = self.known;
        report.is_early = self.renewed.is_some_and(|last| report.measured.saturating_since(last) < every);
        if !report.is_early {
            self.renewed = Some(report.measured);
        }
        (report.requests, report.bytes) = ((totals.completed - known.completed) as u32, totals.bytes - known.bytes);
        self.known = (report.measured, *totals);
    }
}

impl AsOne {
    /// What is known of those `backends` that are up, and what all of them have `done` so far.
    pub fn of<'a>(
        backends: impl Iterator<Item = Option<&'a Report>> + Clone,
        done: impl Iterator<Item = Totals>,
        now: Time,
    ) -> AsOne {
        let sum = add_up(backends, now);
        let add = |sum: Totals, of: Totals| Totals {
            completed: sum.completed + of.completed,
            bytes: sum.bytes + of.bytes,
            ..Totals::default()
        };
        let totals = done.fold(Totals::default(), add);
        AsOne { is_empty: sum.is_none(), report: sum.unwrap_or_default(), totals }
    }
}

/// What backends last reported, as if they were one server; none where there is none. One that has not reported yet, or of
/// which nothing is known, counts as the mean of the others.
fn add_up<'a>(backends: impl Iterator<Item = Option<&'a Report>> + Clone, now: Time) -> Option<Report> {
    let count = backends.clone().count();
    if count == 0 {
        return None;
    }
    let told = || backends.clone().flatten();
    let sum_of = |value: &dyn Fn(&Report) -> f64| told().map(value).sum::<f64>();
    let known = told().filter(|report| report.capacity > 0.0).count();
    let of_all = if known > 0 { count as f64 / known as f64 } else { 0.0 };
    let weighs = |report: &Report| if known > 0 { f64::from(report.capacity) } else { 1.0 };
    let weight = sum_of(&weighs).max(f64::MIN_POSITIVE);
    let mean =
        |share: &dyn Fn(&Report) -> f32| (sum_of(&|report| f64::from(share(report)) * weighs(report)) / weight) as f32;
    let requests = sum_of(&|report| f64::from(report.requests));
    let waited_s =
        sum_of(&|report| report.latency.map_or(0.0, |latency| latency.as_secs_f64() * f64::from(report.requests)));
    Some(Report {
        measured: now,
        in_flight: told().map(|report| report.in_flight).sum(),
        latency: (requests > 0.0).then(|| Span::from_secs_f64(waited_s / requests)),
        cpu: mean(&|report| report.cpu),
        disk: mean(&|report| report.disk),
        net: mean(&|report| report.net),
        room: (sum_of(&|report| f64::from(report.room)) * of_all) as f32,
        capacity: (sum_of(&|report| f64::from(report.capacity)) * of_all) as f32,
        ..Report::default()
    })
}

/// How long after each multiple of `every` the reporter of this name tells the rates of clients, so that not all do at once.
pub fn phase(name: &str, every: Span) -> Span {
    // A draw, since hashes of names that differ in their last letter differ little.
    Span((Stream::new(0, name, "rates of clients").uniform() * every.0 as f64) as u64)
}

/// Those of the clients whose rate is above the mean of all.
pub fn above_mean<K>(rates: Vec<(K, f64)>) -> Vec<(K, f64)> {
    let mean = rates.iter().map(|(_, rate)| rate).sum::<f64>() / rates.len() as f64;
    rates.into_iter().filter(|(_, rate)| *rate > mean).collect()
}

impl<K: Clone + Ord + Hash> Rates<K> {
    /// No rates yet of so many backends.
    pub fn new(backends: usize) -> Rates<K> {
        Rates(vec![HashMap::new(); backends])
    }

    /// A further backend, which has told nothing yet.
    pub fn add_backend(&mut self) {
        self.0.push(HashMap::new());
    }

    /// A backend tells all its rates anew. Gives the sum over all backends for each client that it names or named before;
    /// of one that has stopped asking there is no news: what is known of it expires.
    pub fn replace(&mut self, backend: usize, rates: impl IntoIterator<Item = (K, f64)>) -> Vec<(K, f64)> {
        let before = std::mem::take(&mut self.0[backend]).into_keys();
        self.0[backend] = rates.into_iter().collect();
        let mut clients: Vec<K> = before.chain(self.0[backend].keys().cloned()).collect();
        clients.sort_unstable();
        clients.dedup();
        self.sums(clients)
    }

    /// A backend tells further rates. Gives the sums as [`Rates::replace`].
    pub fn extend(&mut self, backend: usize, rates: impl IntoIterator<Item = (K, f64)>) -> Vec<(K, f64)> {
        let rates: Vec<(K, f64)> = rates.into_iter().collect();
        let clients = rates.iter().map(|(client, _)| client.clone()).collect();
        self.0[backend].extend(rates);
        self.sums(clients)
    }

    /// A backend is lost, and its rates with it. Gives the sums as [`Rates::replace`].
    pub fn forget(&mut self, backend: usize) -> Vec<(K, f64)> {
        self.replace(backend, [])
    }

    /// The sums of all clients, in their order.
    pub fn all(&self) -> Vec<(K, f64)> {
        let mut sums: BTreeMap<&K, f64> = BTreeMap::new();
        for (client, rate) in self.0.iter().flatten() {
            *sums.entry(client).or_default() += rate;
        }
        sums.into_iter().map(|(client, rate)| (client.clone(), rate)).collect()
    }

    fn sums(&self, clients: Vec<K>) -> Vec<(K, f64)> {
        let sum = |client: &K| self.0.iter().filter_map(|rates| rates.get(client)).sum::<f64>();
        let sums = clients.into_iter().map(|client| (sum(&client), client));
        sums.filter(|(rate, _)| *rate > 0.0).map(|(rate, client)| (client, rate)).collect()
    }
}
