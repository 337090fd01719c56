//! What several tests use.

use sojourn_dispatch::{
    BackendId, Catalogue, Dispatcher, Event, Information, Origin, Report, Request, Signals, policies,
};
use sojourn_stats::{Span, Stream, Time};

/// A request of client 1 without a cookie.
pub(crate) const REQUEST: Request = Request {
    client: 1,
    class: 0,
    cookie: None,
    key: 0,
    object: 0,
    size: None,
    work: None,
    origin: Origin { region: None, address: None, location: None },
    round_trip: None,
    hops: 0,
    here: None,
    lease: None,
    claimed_by: None,
};

/// Backends `s1` to `s{n}` of weight 1.
pub(crate) fn equal(n: usize) -> Vec<(String, f64)> {
    weighted(&vec![1.0; n])
}

/// Backends `s1`, `s2`, ... of these weights.
pub(crate) fn weighted(weights: &[f64]) -> Vec<(String, f64)> {
    weights.iter().enumerate().map(|(at, &weight)| (format!("s{}", at + 1), weight)).collect()
}

/// A gateway's dispatcher with immediate information.
pub(crate) fn dispatcher(policy: &str, backends: &[(String, f64)]) -> Dispatcher {
    Dispatcher::new(policy, backends, Information::Immediate, Signals::GATEWAY, 1, "test").expect(policy)
}

/// The names of all policies that read what a gateway sees.
pub(crate) fn every_policy() -> impl Iterator<Item = &'static str> {
    let seen = |name: &str| Signals::GATEWAY.contains(Catalogue::default().build(name).expect(name).requires());
    policies::POLICIES.iter().map(|entry| entry.name).chain(every_bundle()).filter(move |name| seen(name))
}

/// The texts of all policies of products.
pub(crate) fn every_bundle() -> impl Iterator<Item = &'static str> {
    policies::PRODUCTS.iter().flat_map(|product| product.bundles.iter().map(|bundle| bundle.text))
}

/// What the DNS of a system of sites is told.
pub(crate) const AT_DNS: Signals = Signals::ADDRESS
    .union(Signals::ORIGIN)
    .union(Signals::REPORTS)
    .union(Signals::ROOM)
    .union(Signals::UTILIZATION)
    .union(Signals::CLIENT_RATES)
    .union(Signals::ROUND_TRIPS)
    .union(Signals::LEASES);

/// Policies that read what only such a DNS is told, with parameters.
pub(crate) const OF_SITES: [&str; 12] = [
    "weighted(by = free-capacity)",
    "nearest",
    "nearest(bits = 7, probes = false)",
    "nearest-with-room",
    "nearest-with-room(unprobed = free-capacity, bits = 7)",
    "nearest-with-room(holds = lease, spill = free-capacity)",
    "nearest-with-room(probes = false)",
    "least-load",
    "busiest-to-largest",
    "free-capacity",
    "remaining-capacity",
    "geographic",
];

/// Where the next `count` requests go at time 0, as letters: A for the first backend.
pub(crate) fn letters(dispatcher: &mut Dispatcher, count: usize) -> String {
    let mut next = || dispatcher.choose(&REQUEST, &[], Time::ZERO).forwarded_to();
    (0..count).map(|_| next().map_or('-', |id| (b'A' + id.0 as u8) as char)).collect()
}

/// Asserts that Pearson's statistic of `(observed, expected)` cells with `freedom` degrees of freedom is one that the
/// expected law exceeds once in a million times at most (normal quantile 4.753, by Wilson and Hilferty 1931).
pub(crate) fn assert_fits(what: &str, cells: impl IntoIterator<Item = (u64, f64)>, freedom: f64) {
    let statistic: f64 = cells.into_iter().map(|(seen, due)| (seen as f64 - due).powi(2) / due).sum();
    let spread = 2.0 / (9.0 * freedom);
    let limit = freedom * (1.0 - spread + 4.753 * spread.sqrt()).powi(3);
    assert!(statistic < limit, "{what}: chi-square {statistic:.1} of {freedom} degrees, limit {limit:.1}");
}

/// A random walk through everything that a face can do, with the face's books kept right.
pub(crate) struct Walk {
    pub(crate) now: Time,
    pub(crate) stream: Stream,
    /// Where the requests in flight are.
    pub(crate) in_flight: Vec<BackendId>,
    names: Vec<String>,
}

/// What a walk did.
pub(crate) enum Step {
    /// A choice is to be made, without these.
    Choose(Request, Vec<BackendId>),
    /// This is to be told.
    Tell(Event),
    /// A backend reports.
    Report(BackendId, Report),
    /// The dispatcher is to be polled.
    Poll,
    /// A backend is to join again.
    Join(String, f64),
}

impl Walk {
    pub(crate) fn new(seed: u64, backends: &[(String, f64)]) -> Walk {
        let names = backends.iter().map(|(name, _)| name.clone()).collect();
        Walk { now: Time::ZERO, stream: Stream::new(seed, "walk", "steps"), in_flight: Vec::new(), names }
    }

    /// The next step, some 7 ms after the last one.
    pub(crate) fn step(&mut self) -> Step {
        self.now += Span(self.stream.below(15_000_000) as u64);
        let kind = self.stream.below(1000);
        let some = BackendId(self.stream.below(self.names.len()) as u32);
        match kind {
            0..400 => {
                let cookie = (self.stream.below(8) == 0).then_some(some);
                let retry = self.stream.below(10) == 0;
                let tried = if retry { 1 + self.stream.below(3) } else { 0 };
                let mut random = || BackendId(self.stream.below(self.names.len()) as u32);
                let tried = (0..tried).map(|_| random()).collect();
                let client = self.stream.below(50) as u64;
                Step::Choose(Request { client, cookie, ..Request::default() }, tried)
            }
            400..800 if !self.in_flight.is_empty() => {
                let at = self.stream.below(self.in_flight.len());
                let backend = self.in_flight.swap_remove(at);
                let span = Span(1_000 * (1 + self.stream.below(40) as u64));
                let bytes = 100 * self.stream.below(4) as u64;
                Step::Tell(match self.stream.below(20) {
                    0 => Event::Failed { backend, after: span },
                    1 => Event::Cancelled { backend, after: Span::ZERO },
                    2 => Event::Completed { backend, status: 503, bytes, latency: span },
                    _ => Event::Completed { backend, status: 200, bytes, latency: span },
                })
            }
            800..880 if !self.in_flight.is_empty() => {
                let backend = self.in_flight[self.stream.below(self.in_flight.len())];
                let round_trip = Span(500_000 * (1 + self.stream.below(4) as u64)); // coarse, so that means do tie
                Step::Tell(Event::FirstByte { backend, round_trip })
            }
            880..940 if !self.in_flight.is_empty() => {
                let backend = self.in_flight[self.stream.below(self.in_flight.len())];
                Step::Tell(Event::Transmitted { backend, bytes: 100 * self.stream.below(4) as u64 })
            }
            940..960 => Step::Poll,
            960..975 => Step::Report(some, Report::of_in_flight(self.stream.below(6) as u32, self.now)),
            975..980 => Step::Tell(Event::Down { backend: some }),
            980..983 => Step::Tell(Event::Draining { backend: some }),
            983..985 => Step::Tell(Event::Left { backend: some }),
            985..997 => Step::Tell(Event::Joined { backend: some }),
            _ => Step::Join(self.names[some.0 as usize].clone(), self.stream.below(4) as f64),
        }
    }

    /// Takes a step with `dispatcher`.
    pub(crate) fn take(&mut self, dispatcher: &mut Dispatcher) {
        match self.step() {
            Step::Choose(request, tried) => {
                let decision = dispatcher.choose(&request, &tried, self.now);
                self.in_flight.extend(decision.forwarded_to());
            }
            Step::Tell(event) => dispatcher.observe(event, self.now),
            Step::Report(backend, report) => assert!(dispatcher.report(backend, &report, self.now)),
            Step::Poll => drop(dispatcher.poll(self.now)),
            Step::Join(name, weight) => drop(dispatcher.join(&name, weight, self.now)),
        }
    }
}
