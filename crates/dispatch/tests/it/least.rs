//! A policy that says "least" against the definition: a scan of books that the test keeps itself.

use std::collections::BTreeMap;
use std::ops::Range;

use sojourn_dispatch::{BackendId, Code, Dispatcher, Event, Information, Signals};
use sojourn_stats::{Span, Time};

use crate::common::{Step, Walk, assert_fits, weighted};

const WINDOW: Span = Span(1_000_000_000);
const STEPS: usize = 60_000;

#[derive(Clone, Copy, PartialEq)]
enum Rule {
    Load,
    PerWeight,
    RoundTrip,
    RoundTripOrZero,
    Bytes,
}

type Key<'a> = Box<dyn Fn(BackendId) -> Option<(f64, f64)> + 'a>;

/// The test's own books of one backend.
#[derive(Clone, Default)]
struct Book {
    up: bool,
    weight: f64,
    in_flight: u32,
    reported: u32,
    /// Bytes told by `Transmitted` that no `Completed` has covered.
    ahead: u64,
    /// What the window covers, and the one before it: the number of its part, and what happened.
    window: Vec<(u64, Happened)>,
}

#[derive(Clone, Copy)]
enum Happened {
    RoundTrip(u64),
    Bytes(u64),
    Failure { round_trip: u64, bytes: u64 },
}

impl Book {
    /// What happened in these parts.
    fn during(&self, parts: &Range<u64>) -> impl Iterator<Item = Happened> {
        self.window.iter().filter(|(part, _)| parts.contains(part)).map(|&(_, happened)| happened)
    }

    fn round_trips(&self, parts: &Range<u64>) -> impl Iterator<Item = u64> {
        self.during(parts).filter_map(|happened| match happened {
            Happened::RoundTrip(span) | Happened::Failure { round_trip: span, .. } => Some(span),
            Happened::Bytes(_) => None,
        })
    }

    fn bytes(&self, parts: &Range<u64>, with_failures: bool) -> u64 {
        let bytes = self.during(parts).map(|happened| match happened {
            Happened::Bytes(bytes) => bytes,
            Happened::Failure { bytes, .. } if with_failures => bytes,
            _ => 0,
        });
        bytes.sum()
    }

    fn failures(&self, parts: &Range<u64>) -> u32 {
        self.during(parts).filter(|happened| matches!(happened, Happened::Failure { .. })).count() as u32
    }
}

struct Books {
    rule: Rule,
    polled: bool,
    books: Vec<Book>,
    /// In how many parts the window forgets.
    parts: u64,
    /// How many parts before the present one decisions read: 1 for those that read the last window.
    lag: u64,
    /// The present part.
    part: u64,
    /// Longest round trip and most bytes, by the part in which they were met.
    longest: BTreeMap<u64, u64>,
    most: BTreeMap<u64, u64>,
}

impl Books {
    fn roll(&mut self, now: Time) {
        self.part = now.0 / (WINDOW.0 / self.parts);
        let (part, parts) = (self.part, self.parts);
        for book in &mut self.books {
            book.window.retain(|&(then, _)| then + 2 * parts > part);
        }
    }

    /// The parts that a window covers whose last part is `lag` parts before the present one.
    fn covered(&self, lag: u64) -> Range<u64> {
        let end = (self.part + 1).saturating_sub(lag);
        end.saturating_sub(self.parts)..end
    }

    fn happened(&mut self, id: BackendId, happened: Happened) {
        self.books[id.0 as usize].window.push((self.part, happened));
    }

    /// The largest of this window and of the last part before it that had any.
    fn largest(&self, by_part: &BTreeMap<u64, u64>) -> u64 {
        let first = (self.part + 1).saturating_sub(self.parts);
        let last = by_part.range(..first).rev().find(|(_, value)| **value > 0);
        by_part.range(first..).chain(last).map(|(_, &value)| value).max().unwrap_or(0)
    }

    fn round_trip(&mut self, id: BackendId, round_trip: Span) {
        self.happened(id, Happened::RoundTrip(round_trip.0));
        let longest = self.longest.entry(self.part).or_default();
        *longest = round_trip.0.max(*longest);
    }

    fn transmitted(&mut self, id: BackendId, bytes: u64) {
        self.happened(id, Happened::Bytes(bytes));
        let present = self.covered(0);
        let most = self.most.entry(self.part).or_default();
        *most = self.books[id.0 as usize].bytes(&present, false).max(*most);
    }

    fn failed(&mut self, id: BackendId, after: Span) {
        let round_trip = 2 * after.0.max(WINDOW.0).max(self.largest(&self.longest));
        let bytes = self.largest(&self.most).max(1);
        self.happened(id, Happened::Failure { round_trip, bytes });
    }

    fn tell(&mut self, event: &Event) {
        let id = event.backend();
        match *event {
            Event::FirstByte { round_trip, .. } => self.round_trip(id, round_trip),
            Event::Transmitted { bytes, .. } => {
                self.books[id.0 as usize].ahead += bytes;
                if bytes > 0 {
                    self.transmitted(id, bytes);
                }
            }
            Event::Completed { status, bytes, latency, .. } => {
                let book = &mut self.books[id.0 as usize];
                book.in_flight -= 1;
                let untold = bytes.saturating_sub(book.ahead);
                book.ahead = book.ahead.saturating_sub(bytes);
                if untold > 0 {
                    self.transmitted(id, untold);
                }
                if status == 503 {
                    self.failed(id, latency);
                }
            }
            Event::Failed { after, .. } => {
                self.books[id.0 as usize].in_flight -= 1;
                self.failed(id, after);
            }
            Event::Cancelled { .. } => self.books[id.0 as usize].in_flight -= 1,
            Event::Joined { .. } => self.books[id.0 as usize].up = true,
            Event::Draining { .. } | Event::Down { .. } | Event::Left { .. } => self.books[id.0 as usize].up = false,
            _ => {}
        }
    }

    /// All that are least among those not tried, and what was compared.
    fn least(&self, tried: &[BackendId]) -> (Vec<BackendId>, Code) {
        let ids = (0..self.books.len() as u32).map(BackendId);
        let left: Vec<_> = ids.filter(|id| self.books[id.0 as usize].up && !tried.contains(id)).collect();
        let book = |id: BackendId| &self.books[id.0 as usize];
        let load = |id| if self.polled { book(id).reported } else { book(id).in_flight };
        let parts = &self.covered(self.lag);
        let charged = |id| f64::from(load(id) + book(id).failures(parts));
        let mean = |id: BackendId| {
            let trips = || book(id).round_trips(parts);
            (trips().sum::<u64>() / (trips().count() as u64).max(1)) as f64
        };
        let sampled = left.iter().all(|&id| book(id).round_trips(parts).next().is_some());
        let (key, code): (Key<'_>, Code) = match self.rule {
            Rule::Load => (Box::new(|id| Some((load(id).into(), 0.0))), Code::LeastInFlight),
            Rule::PerWeight => {
                let key = |id| (book(id).weight > 0.0).then(|| (f64::from(load(id)) / book(id).weight, 0.0));
                (Box::new(key), Code::LeastWeighted)
            }
            Rule::RoundTripOrZero => (Box::new(|id| Some((mean(id), charged(id)))), Code::LeastRoundTrip),
            Rule::RoundTrip if sampled => (Box::new(|id| Some((mean(id), charged(id)))), Code::LeastRoundTrip),
            Rule::RoundTrip => (Box::new(|id| Some((charged(id), 0.0))), Code::LeastInFlight),
            Rule::Bytes => {
                (Box::new(|id| Some((book(id).bytes(parts, true) as f64, charged(id)))), Code::LeastTransmitted)
            }
        };
        let keys: Vec<_> = left.iter().filter_map(|&id| key(id).map(|key| (id, key))).collect();
        let least = keys.iter().map(|&(_, key)| key).min_by(|a, b| a.partial_cmp(b).expect("numbers"));
        (keys.iter().filter(|(_, key)| Some(*key) == least).map(|&(id, _)| id).collect(), code)
    }
}

/// Walks `STEPS` steps; every choice must be one of the least, and the reason must say how many there were. Returns how
/// often the r-th of k tied backends was chosen, and how often each rule decided.
fn walk(policy: &str, rule: Rule, polled: bool, seed: u64) -> (BTreeMap<(usize, usize), u64>, BTreeMap<String, u64>) {
    let backends = weighted(&[1.0, 2.0, 1.0, 0.0, 3.0, 0.5, 1.0]);
    let information = if polled { Information::Polled { every: Span(50_000_000) } } else { Information::Immediate };
    let mut dispatcher =
        Dispatcher::new(policy, &backends, information, Signals::GATEWAY | information.signals(), seed, "least")
            .expect(policy);
    let books = backends.iter().map(|&(_, weight)| Book { up: true, weight, ..Book::default() }).collect();
    let parts = if policy.contains("slide = true") { 10 } else { 1 };
    let lag = u64::from(policy.contains("reads = last"));
    let (longest, most) = (BTreeMap::new(), BTreeMap::new());
    let mut books = Books { rule, polled, books, parts, lag, part: 0, longest, most };
    let mut walk = Walk::new(seed, &backends);
    let (mut ranks, mut codes) = (BTreeMap::new(), BTreeMap::new());
    for step in 0..STEPS {
        let taken = walk.step();
        books.roll(walk.now);
        match taken {
            Step::Choose(request, tried) => {
                let (least, code) = books.least(&tried);
                let decision = dispatcher.choose(&request, &tried, walk.now);
                let chosen = decision.forwarded_to();
                assert_eq!(chosen.is_some(), !least.is_empty(), "{policy}, step {step}");
                let Some(chosen) = chosen else { continue };
                let rank = least.iter().position(|&id| id == chosen);
                let rank = rank.unwrap_or_else(|| panic!("{policy}, step {step}: {chosen:?} is not among {least:?}"));
                assert_eq!(decision.reason.ties as usize, least.len(), "{policy}, step {step}");
                assert_eq!(decision.reason.code, code, "{policy}, step {step}");
                *ranks.entry((least.len(), rank)).or_default() += 1;
                *codes.entry(format!("{code:?}")).or_default() += 1;
                books.books[chosen.0 as usize].in_flight += 1;
                walk.in_flight.push(chosen);
            }
            Step::Tell(event) => {
                dispatcher.observe(event, walk.now);
                books.tell(&event);
            }
            Step::Report(backend, report) => {
                dispatcher.report(backend, &report, walk.now);
                books.books[backend.0 as usize].reported = report.in_flight;
            }
            Step::Poll => drop(dispatcher.poll(walk.now)),
            Step::Join(name, weight) => {
                let id = dispatcher.join(&name, weight, walk.now).expect("a good weight");
                let book = &mut books.books[id.0 as usize];
                (book.up, book.weight) = (true, weight);
            }
        }
        for (at, book) in books.books.iter().enumerate() {
            assert_eq!(dispatcher.table().in_flight(BackendId(at as u32)), book.in_flight, "{policy}, step {step}");
        }
    }
    (ranks, codes)
}

/// Every one of k tied backends is as likely as any other: false alarm at most 1e-6.
fn assert_fair(policy: &str, ranks: &BTreeMap<(usize, usize), u64>) {
    let mut cells = Vec::new();
    let mut freedom = 0.0;
    for ties in 2..=7 {
        let seen: Vec<u64> = (0..ties).map(|rank| ranks.get(&(ties, rank)).copied().unwrap_or(0)).collect();
        let due = seen.iter().sum::<u64>() as f64 / ties as f64;
        if due >= 10.0 {
            freedom += (ties - 1) as f64;
            cells.extend(seen.into_iter().map(|seen| (seen, due)));
        }
    }
    assert!(freedom >= 3.0, "{policy}: the walk must meet ties");
    assert_fits(policy, cells, freedom);
}

#[test]
fn least_connections() {
    for polled in [false, true] {
        let (ranks, _) = walk("least-connections", Rule::Load, polled, 1);
        assert_fair("least-connections", &ranks);
    }
}

#[test]
fn ties_to_the_lowest_id() {
    let policies = [
        ("least-connections-lowest-id", Rule::Load),
        ("least-connections(ties = \"first\")", Rule::Load),
        ("weighted-least-connections(ties = first)", Rule::PerWeight),
        ("round-trip(ties = first)", Rule::RoundTrip),
        ("round-trip(unseen = zero, ties = first)", Rule::RoundTripOrZero),
        ("transmitted-size(slide = true, ties = first)", Rule::Bytes),
        ("round-trip(reads = last, ties = first)", Rule::RoundTrip),
        ("transmitted-size(reads = last, ties = first)", Rule::Bytes),
    ];
    for (policy, rule) in policies {
        for polled in [false, true] {
            let (ranks, _) = walk(policy, rule, polled, 2);
            assert!(ranks.keys().all(|&(_, rank)| rank == 0), "{policy}: a tie went to a higher id");
            assert!(ranks.keys().any(|&(ties, _)| ties > 2), "{policy}: the walk must meet ties");
        }
    }
}

#[test]
fn weighted_least_connections() {
    for polled in [false, true] {
        let (ranks, _) = walk("weighted-least-connections", Rule::PerWeight, polled, 3);
        assert_fair("weighted-least-connections", &ranks);
    }
}

#[test]
fn round_trip() {
    for variant in ["", ", slide = true", ", reads = present", ", reads = last"] {
        let policy = &format!("round-trip(window = 1 s{variant})");
        for polled in [false, true] {
            let (ranks, codes) = walk(policy, Rule::RoundTrip, polled, 4);
            assert_fair(policy, &ranks);
            let both = ["LeastRoundTrip", "LeastInFlight"].map(|code| codes.get(code).copied().unwrap_or(0));
            assert!(both.iter().all(|&count| count > 400), "the walk must meet full and empty windows: {codes:?}");
        }
    }
}

#[test]
fn round_trip_with_zero_for_the_unseen() {
    for variant in ["slide = false", "slide = true", "reads = last"] {
        let policy = format!("round-trip(window = 1 s, {variant}, unseen = zero)");
        for polled in [false, true] {
            let (ranks, _) = walk(&policy, Rule::RoundTripOrZero, polled, 7);
            assert_fair(&policy, &ranks);
        }
    }
}

#[test]
fn the_unseen_come_first_or_are_not_compared() {
    // The first has answered and has nothing in flight; the others have one request each, and no answer yet.
    let backends = weighted(&[1.0; 3]);
    let first_byte = |id, ns| Event::FirstByte { backend: BackendId(id), round_trip: Span(ns) };
    for slide in [false, true] {
        let chosen = |unseen: &str, answered: &[u32], at: Time| {
            let policy = format!("round-trip(slide = {slide}, ties = first, unseen = {unseen})");
            let mut dispatcher = crate::common::dispatcher(&policy, &backends);
            for _ in 0..3 {
                dispatcher.choose(&crate::common::REQUEST, &[], Time(1));
            }
            for &id in answered {
                dispatcher.observe(first_byte(id, 1_000), Time(2));
            }
            let end = Event::Completed { backend: BackendId(0), status: 200, bytes: 1, latency: Span(1_000) };
            dispatcher.observe(end, Time(2));
            dispatcher.choose(&crate::common::REQUEST, &[], at).forwarded_to().expect("all are up").0
        };
        assert_eq!(["in-flight", "zero"].map(|unseen| chosen(unseen, &[0], Time(3))), [0, 1]);
        assert_eq!(["in-flight", "zero"].map(|unseen| chosen(unseen, &[0, 1], Time(3))), [0, 2]);
        // All or none known: the two readings agree.
        assert_eq!(["in-flight", "zero"].map(|unseen| chosen(unseen, &[0, 1, 2], Time(3))), [0, 0]);
        assert_eq!(["in-flight", "zero"].map(|unseen| chosen(unseen, &[0, 1], Time(0) + WINDOW * 2)), [0, 0]);
    }
}

#[test]
fn transmitted_size() {
    for polled in [false, true] {
        let (ranks, _) = walk("transmitted-size", Rule::Bytes, polled, 5);
        assert_fair("transmitted-size", &ranks);
        let (ranks, _) = walk("transmitted-size(reads = last)", Rule::Bytes, polled, 8);
        assert_fair("transmitted-size(reads = last)", &ranks);
        // Sums of a window that is never empty hardly ever tie.
        walk("transmitted-size(slide = true)", Rule::Bytes, polled, 6);
    }
}

#[test]
fn cookie_leaves_the_rest_to_the_policy_inside() {
    // The same walk and stream without a single cookie: the same choices as the policy inside alone.
    let backends = weighted(&[1.0; 5]);
    let choices = |policy: &str| {
        let mut dispatcher = crate::common::dispatcher(policy, &backends);
        let mut walk = Walk::new(9, &backends);
        let mut choices = Vec::new();
        for _ in 0..5_000 {
            match walk.step() {
                Step::Choose(mut request, tried) => {
                    request.cookie = None;
                    let decision = dispatcher.choose(&request, &tried, walk.now);
                    walk.in_flight.extend(decision.forwarded_to());
                    choices.push(decision);
                }
                Step::Tell(event) => dispatcher.observe(event, walk.now),
                Step::Report(..) | Step::Poll | Step::Join(..) => {}
            }
        }
        choices
    };
    assert_eq!(choices("cookie(policy = round-trip(window = 100 ms))"), choices("round-trip(window = 100 ms)"));
    assert_eq!(choices("cookie"), choices("least-connections"));
}
