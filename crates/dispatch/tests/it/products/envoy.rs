//! Envoy.

use sojourn_dispatch::{BackendId, Dispatcher, Request, Signals};
use sojourn_stats::{Stream, Time};

use super::{Twin, close, counts, hold, of, open, walk, weights};
use crate::common::{REQUEST, assert_fits, equal, weighted};

/// False alarms: one in a million each. Of 600 at Envoy 1.40 itself: 45/110/173/272.
#[test]
fn least_request_draws_with_repetition() {
    const REQUESTS: u64 = 60_000;
    let mut dispatcher = of("envoy(least-request)", &[1, 1, 1, 1]);
    hold(&mut dispatcher, &[3, 2, 1, 0]);
    let seen = counts(&mut dispatcher, 4, REQUESTS);
    let due = [37.5, 112.5, 187.5, 262.5];
    assert_fits("two draws", seen.into_iter().zip(due.map(|due| due * REQUESTS as f64 / 600.0)), 3.0);
    assert_fits("measured", [45, 110, 173, 272].into_iter().zip(due), 3.0);
    // Of three draws all of the k + 1 most loaded: ((k + 1) / 4)^3.
    let mut dispatcher = of("envoy(1.40, least-request, choices = 3)", &[2, 2, 2, 2]);
    hold(&mut dispatcher, &[3, 2, 1, 0]);
    let seen = counts(&mut dispatcher, 4, REQUESTS);
    let below = |k: f64| (k / 4.0_f64).powi(3);
    let due = [1.0, 2.0, 3.0, 4.0].map(|k| REQUESTS as f64 * (below(k) - below(k - 1.0)));
    assert_fits("three draws", seen.into_iter().zip(due), 3.0);
}

/// Ties go to the first drawn: with equal loads the first draw alone decides. False alarms: one in a million.
#[test]
fn a_full_scan_draws_among_the_least() {
    let mut dispatcher = of("envoy(least-request, scan = full)", &[1, 1, 1, 1]);
    hold(&mut dispatcher, &[2, 1, 1, 1]);
    let seen = counts(&mut dispatcher, 4, 30_000);
    assert_eq!(seen[0], 0);
    assert_fits("full scan", seen[1..].iter().map(|seen| (*seen, 1e4)), 2.0);
}

/// A schedule said plainly: all entries in a list, the least (deadline, order) is picked.
struct Schedule {
    weights: Vec<u32>,
    /// Deadline, order.
    entries: Vec<(f64, u64)>,
    order: u64,
    bias: f64,
}

impl Schedule {
    fn new(weights: &[u32], bias: f64) -> Schedule {
        let entries = weights.iter().enumerate().map(|(order, weight)| (1.0 / f64::from(*weight), order as u64));
        Schedule { weights: weights.to_vec(), entries: entries.collect(), order: weights.len() as u64, bias }
    }
}

impl Twin for Schedule {
    fn choose(&mut self, in_flight: &[u32]) -> usize {
        let all = 0..self.entries.len();
        let first = all.min_by(|a, b| self.entries[*a].partial_cmp(&self.entries[*b]).expect("finite"));
        let first = first.expect("there are hosts");
        let weight = f64::from(self.weights[first]) / (f64::from(in_flight[first]) + 1.0).powf(self.bias);
        self.entries[first] = (self.entries[first].0 + 1.0 / weight, self.order);
        self.order += 1;
        first
    }
}

/// A schedule that began so many picks ago, all hosts idle; how many is drawn, so that each number is tried.
struct Begun(Schedule);

impl Begun {
    /// The number of picks after which the schedule makes the first choices of `policy`.
    fn beginning(policy: &str, weights: &[u32], bias: f64) -> u32 {
        let mut dispatcher = of(policy, weights);
        let sum: u32 = weights.iter().sum();
        let seen: Vec<usize> = (0..3 * sum)
            .map(|_| {
                let server = open(&mut dispatcher);
                close(&mut dispatcher, server);
                server
            })
            .collect();
        let idle = vec![0; weights.len()];
        let begins = |picks: &u32| {
            let mut schedule = Schedule::new(weights, bias);
            (0..*picks).for_each(|_| _ = schedule.choose(&idle));
            seen.iter().all(|server| schedule.choose(&idle) == *server)
        };
        (0..sum).find(begins).unwrap_or_else(|| panic!("{policy}, {weights:?}: no beginning gives {seen:?}"))
    }
}

impl Twin for Begun {
    fn choose(&mut self, in_flight: &[u32]) -> usize {
        self.0.choose(in_flight)
    }
}

#[test]
fn unequal_weights_go_by_earliest_deadline() {
    let mut stream = Stream::new(5, "envoy", "weights");
    for case in 0..30 {
        let count = 2 + stream.below(5);
        let mut weights = weights(&mut stream, count, [2, 5, 9][case % 3]);
        weights[0] = weights[1] + 1; // not all the same
        for (policy, bias) in
            [("envoy(round-robin)", 0.0), ("envoy(least-request)", 1.0), ("envoy(least-request, bias = 0)", 0.0)]
        {
            let picks = Begun::beginning(policy, &weights, bias);
            let mut schedule = Schedule::new(&weights, bias);
            (0..picks).for_each(|_| _ = schedule.choose(&vec![0; count]));
            walk(policy, &weights, case as u64, 23, &mut Begun(schedule));
        }
    }
}

#[test]
fn round_robin_of_equal_weights_goes_on_from_a_drawn_place() {
    let starts: std::collections::HashSet<usize> = (0..40)
        .map(|seed| {
            let made =
                Dispatcher::new("envoy(round-robin)", &equal(4), Default::default(), Signals::GATEWAY, seed, "t");
            let mut dispatcher = made.expect("it is known");
            let seen: Vec<usize> = (0..9).map(|_| open(&mut dispatcher)).collect();
            assert!(seen.windows(2).all(|pair| pair[1] == (pair[0] + 1) % 4), "{seen:?}");
            seen[0]
        })
        .collect();
    assert_eq!(starts.len(), 4);
}

/// Listing 1 of the paper, host by host, with the weights of the source.
fn maglev(names: &[String], weights: &[u32], size: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|host| &names[*host]);
    let hash = |host: usize, seed| twox_hash::XxHash64::oneshot(seed, names[host].as_bytes());
    let sum = f64::from(weights.iter().sum::<u32>());
    let share = |host: usize| f64::from(weights[host]) / sum;
    let most = order.iter().map(|host| share(*host)).fold(0.0, f64::max);
    let (mut table, mut target, mut next) = (vec![None; size as usize], vec![0.0; names.len()], vec![0; names.len()]);
    for round in 1.. {
        for &host in &order {
            if f64::from(round) * share(host) < target[host] {
                continue;
            }
            target[host] += most;
            loop {
                let place = (hash(host, 0) % size + (hash(host, 1) % (size - 1) + 1) * next[host]) % size;
                next[host] += 1;
                if table[place as usize].is_none() {
                    table[place as usize] = Some(host);
                    break;
                }
            }
            if table.iter().all(Option::is_some) {
                return table.into_iter().flatten().collect();
            }
        }
    }
    unreachable!("a round fills a place")
}

#[test]
fn maglev_fills_its_table_as_in_the_paper() {
    for weights in [&[1, 1, 1, 1][..], &[1, 2, 5]] {
        let named = weighted(&weights.iter().map(|weight| f64::from(*weight)).collect::<Vec<_>>());
        let names: Vec<String> = named.iter().map(|(name, _)| name.clone()).collect();
        let table = maglev(&names, weights, 251);
        let made = "envoy(maglev, table = 251, key = hash)";
        let mut dispatcher = Dispatcher::new(made, &named, Default::default(), Signals::GATEWAY, 1, "t").expect(made);
        for key in 0..251 {
            let chosen = dispatcher.choose(&Request { key, ..REQUEST }, &[], Time::ZERO).forwarded_to();
            assert_eq!(chosen, Some(BackendId(table[key as usize] as u32)), "{weights:?}, place {key}");
        }
    }
}

/// Points by definition, the first at or after the hash.
#[test]
fn the_ring_has_whole_shares_of_at_least_1024_points() {
    let weights = [1, 2, 5];
    let named = weighted(&weights.map(f64::from));
    // The least weight of 8 gets 1,024 / 8 = 128 points.
    let mut ring: Vec<(u64, u32)> = Vec::new();
    for (host, weight) in weights.iter().enumerate() {
        let point = |n| twox_hash::XxHash64::oneshot(0, format!("{}_{n}", named[host].0).as_bytes());
        ring.extend((0..128 * *weight).map(|n| (point(n), host as u32)));
    }
    ring.sort_unstable();
    let policy = "envoy(RING_HASH, key = hash)";
    let mut dispatcher = Dispatcher::new(policy, &named, Default::default(), Signals::GATEWAY, 1, "t").expect(policy);
    let mut stream = Stream::new(6, "envoy", "hashes");
    for _ in 0..2_000 {
        let key = stream.bits();
        let due = ring.iter().find(|(point, _)| *point >= key).unwrap_or(&ring[0]).1;
        let chosen = dispatcher.choose(&Request { key, ..REQUEST }, &[], Time::ZERO).forwarded_to();
        assert_eq!(chosen, Some(BackendId(due)));
    }
}
