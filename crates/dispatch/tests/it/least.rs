//! A policy that says "least" against the definition: a scan of books that the test keeps itself.

use std::collections::BTreeMap;

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
    bytes: u64,
    real_bytes: u64,
    round_trips: Vec<u64>,
    failures: u32,
}

struct Books {
    rule: Rule,
    polled: bool,
    books: Vec<Book>,
    window: u64,
    /// Longest round trip and most bytes: of this window, and of the last that had any.
    longest: [u64; 2],
    most: [u64; 2],
}

impl Books {
    fn roll(&mut self, now: Time) {
        if now.0 / WINDOW.0 == self.window {
            return;
        }
        self.window = now.0 / WINDOW.0;
        for pair in [&mut self.longest, &mut self.most] {
            if pair[0] > 0 {
                *pair = [0, pair[0]];
            }
        }
        for book in &mut self.books {
            (book.bytes, book.real_bytes, book.failures) = (0, 0, 0);
            book.round_trips.clear();
        }
    }

    fn transmitted(&mut self, id: BackendId, bytes: u64) {
        let book = &mut self.books[id.0 as usize];
        book.bytes += bytes;
        book.real_bytes += bytes;
        self.most[0] = self.most[0].max(book.real_bytes);
    }

    fn failed(&mut self, id: BackendId, after: Span) {
        let longest = self.longest[0].max(self.longest[1]);
        let most = self.most[0].max(self.most[1]);
        let book = &mut self.books[id.0 as usize];
        book.failures += 1;
        book.round_trips.push(2 * after.0.max(WINDOW.0).max(longest));
        book.bytes += most.max(1);
    }

    fn tell(&mut self, event: &Event) {
        let id = event.backend();
        match *event {
            Event::FirstByte { round_trip, .. } => {
                self.books[id.0 as usize].round_trips.push(round_trip.0);
                self.longest[0] = self.longest[0].max(round_trip.0);
            }
            Event::Transmitted { bytes, .. } => {
                self.books[id.0 as usize].ahead += bytes;
                self.transmitted(id, bytes);
            }
            Event::Completed { status, bytes, latency, .. } => {
                let book = &mut self.books[id.0 as usize];
                book.in_flight -= 1;
                let untold = bytes.saturating_sub(book.ahead);
                book.ahead = book.ahead.saturating_sub(bytes);
                self.transmitted(id, untold);
                if status == 503 {
                    self.failed(id, latency);
                }
            }
            Event::Failed { after, .. } => {
                self.books[id.0 as usize].in_flight -= 1;
                self.failed(id, after);
            }
            Event::Cancelled { .. } => self.books[id.0 as usize].in_flight -= 1,
            Event::Reported { in_flight, .. } => self.books[id.0 as usize].reported = in_flight,
            Event::Joined { .. } => self.books[id.0 as usize].up = true,
            Event::Draining { .. } | Event::Down { .. } | Event::Left { .. } => self.books[id.0 as usize].up = false,
            _ => {}
        }
    }

    /// All that are least among those not excluded, and what was compared.
    fn least(&self, exclude: &[BackendId]) -> (Vec<BackendId>, Code) {
        let ids = (0..self.books.len() as u32).map(BackendId);
        let left: Vec<_> = ids.filter(|id| self.books[id.0 as usize].up && !exclude.contains(id)).collect();
        let book = |id: BackendId| &self.books[id.0 as usize];
        let load = |id| if self.polled { book(id).reported } else { book(id).in_flight };
        let charged = |id| f64::from(load(id) + book(id).failures);
        let mean = |id: BackendId| {
            let trips = &book(id).round_trips;
            (trips.iter().sum::<u64>() / trips.len() as u64) as f64
        };
        let sampled = left.iter().all(|&id| !book(id).round_trips.is_empty());
        let (key, code): (Key<'_>, Code) = match self.rule {
            Rule::Load => (Box::new(|id| Some((load(id).into(), 0.0))), Code::LeastInFlight),
            Rule::PerWeight => {
                let key = |id| (book(id).weight > 0.0).then(|| (f64::from(load(id)) / book(id).weight, 0.0));
                (Box::new(key), Code::LeastWeighted)
            }
            Rule::RoundTrip if sampled => (Box::new(|id| Some((mean(id), charged(id)))), Code::LeastRoundTrip),
            Rule::RoundTrip => (Box::new(|id| Some((charged(id), 0.0))), Code::LeastInFlight),
            Rule::Bytes => (Box::new(|id| Some((book(id).bytes as f64, charged(id)))), Code::LeastTransmitted),
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
        Dispatcher::new(policy, &backends, information, Signals::GATEWAY, seed, "least").expect(policy);
    let books = backends.iter().map(|&(_, weight)| Book { up: true, weight, ..Book::default() }).collect();
    let mut books = Books { rule, polled, books, window: 0, longest: [0; 2], most: [0; 2] };
    let mut walk = Walk::new(seed, &backends);
    let (mut ranks, mut codes) = (BTreeMap::new(), BTreeMap::new());
    for step in 0..STEPS {
        let taken = walk.step();
        books.roll(walk.now);
        match taken {
            Step::Choose(request, exclude) => {
                let (least, code) = books.least(&exclude);
                let decision = dispatcher.choose(&request, &exclude, walk.now);
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
fn least_connections_with_ties_to_the_lowest_id() {
    for polled in [false, true] {
        let (ranks, _) = walk("least-connections-lowest-id", Rule::Load, polled, 2);
        assert!(ranks.keys().all(|&(_, rank)| rank == 0), "a tie went to a higher id");
        assert!(ranks.keys().any(|&(ties, _)| ties > 2), "the walk must meet ties");
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
    for polled in [false, true] {
        let (ranks, codes) = walk("round-trip(window = 1 s)", Rule::RoundTrip, polled, 4);
        assert_fair("round-trip", &ranks);
        let both = ["LeastRoundTrip", "LeastInFlight"].map(|code| codes.get(code).copied().unwrap_or(0));
        assert!(both.iter().all(|&count| count > 1000), "the walk must meet full and empty windows: {codes:?}");
    }
}

#[test]
fn transmitted_size() {
    for polled in [false, true] {
        let (ranks, _) = walk("transmitted-size", Rule::Bytes, polled, 5);
        assert_fair("transmitted-size", &ranks);
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
                Step::Choose(mut request, exclude) => {
                    request.cookie = None;
                    let decision = dispatcher.choose(&request, &exclude, walk.now);
                    walk.in_flight.extend(decision.forwarded_to());
                    choices.push(decision);
                }
                Step::Tell(event) => dispatcher.observe(event, walk.now),
                Step::Poll | Step::Join(..) => {}
            }
        }
        choices
    };
    assert_eq!(choices("cookie(policy = round-trip(window = 100 ms))"), choices("round-trip(window = 100 ms)"));
    assert_eq!(choices("cookie"), choices("least-connections"));
}
