//! HAProxy.

use sojourn_dispatch::{BackendId, Event, Limit, Request};
use sojourn_stats::{Stream, Time};

use super::{Twin, close, counts, hold, of, open, walk, weights};
use crate::common::{REQUEST, assert_fits, equal, letters};

/// The key of a server with so many in flight.
fn key(in_flight: u32, weight: u32) -> u64 {
    if in_flight == 0 { 0 } else { (u64::from(in_flight) + 1) * 4096 / (16 * u64::from(weight)) }
}

/// All servers in the order in which their keys last changed.
struct LeastConn {
    weights: Vec<u32>,
    order: Vec<(usize, u64)>,
}

impl LeastConn {
    fn new(weights: &[u32]) -> LeastConn {
        LeastConn { weights: weights.to_vec(), order: (0..weights.len()).map(|server| (server, 0)).collect() }
    }
}

impl Twin for LeastConn {
    fn choose(&mut self, _: &[u32]) -> usize {
        self.order.iter().min_by_key(|(_, key)| *key).expect("there are servers").0
    }

    fn moved(&mut self, server: usize, in_flight: &[u32]) {
        let new = key(in_flight[server], self.weights[server]);
        let at = self.order.iter().position(|(other, _)| *other == server).expect("it is there");
        if self.order[at].1 != new {
            self.order.remove(at);
            self.order.push((server, new));
        }
    }
}

#[test]
fn leastconn_gives_ties_to_the_server_whose_key_changed_longest_ago() {
    let mut stream = Stream::new(1, "haproxy", "weights");
    for case in 0..40 {
        let (count, largest) = (1 + stream.below(9), [1, 5, 256][case % 3]);
        let weights = weights(&mut stream, count, largest);
        walk("haproxy(2.6, leastconn)", &weights, case as u64, 23, &mut LeastConn::new(&weights));
    }
}

#[test]
fn a_retry_of_leastconn_takes_the_next_in_order() {
    // All idle, so in the order of their numbers; A and C are tried.
    let mut dispatcher = of("haproxy(2.6, leastconn)", &[1, 1, 1, 1]);
    let tried = [BackendId(0), BackendId(2)];
    assert_eq!(dispatcher.choose(&REQUEST, &tried, Time::ZERO).forwarded_to(), Some(BackendId(1)));
    assert_eq!(dispatcher.choose(&REQUEST, &tried, Time::ZERO).forwarded_to(), Some(BackendId(3)));
    close(&mut dispatcher, 1);
    assert_eq!(letters(&mut dispatcher, 3), "ACB");
}

#[test]
fn ties_to_the_oldest_are_there_without_a_product() {
    // In flight 1 each; then C, A and B end in this order.
    for policy in ["least-connections(ties = oldest)", "weighted-least-connections(ties = oldest)"] {
        let mut dispatcher = of(policy, &[1, 1, 1]);
        assert_eq!(letters(&mut dispatcher, 3), "ABC");
        [2, 0, 1].into_iter().for_each(|server| close(&mut dispatcher, server));
        assert_eq!(letters(&mut dispatcher, 3), "CAB", "{policy}");
    }
}

/// Since 3.2 the order within a key is drawn: always one of the least key, and in no fixed order.
#[test]
fn leastconn_of_lists_takes_any_of_the_least_key() {
    let mut stream = Stream::new(2, "haproxy", "lists");
    for case in 0..20 {
        let weights = weights(&mut stream, 8, [1, 4][case % 2]);
        let mut dispatcher = of("haproxy(3.2, leastconn)", &weights);
        let (mut held, mut in_flight) = (Vec::new(), vec![0; weights.len()]);
        for _ in 0..1_000 {
            if held.len() < 23 && (held.is_empty() || stream.below(100) < 55) {
                let least = (0..8).map(|server| key(in_flight[server], weights[server])).min();
                let server = open(&mut dispatcher);
                assert_eq!(Some(key(in_flight[server], weights[server])), least, "{weights:?}, {in_flight:?}");
                in_flight[server] += 1;
                held.push(server);
            } else {
                let server = held.swap_remove(stream.below(held.len()));
                close(&mut dispatcher, server);
                in_flight[server] -= 1;
            }
        }
    }
    let orders: std::collections::HashSet<String> =
        (0..20).map(|seed| letters(&mut with_seed("haproxy(3.2, leastconn)", 8, seed), 8)).collect();
    assert!(orders.len() > 15, "{orders:?}");
    assert!(orders.iter().all(|order| order.chars().collect::<std::collections::HashSet<_>>().len() == 8));
}

fn with_seed(policy: &str, servers: usize, seed: u64) -> sojourn_dispatch::Dispatcher {
    let (information, signals) = (Default::default(), sojourn_dispatch::Signals::GATEWAY);
    sojourn_dispatch::Dispatcher::new(policy, &equal(servers), information, signals, seed, "test").expect(policy)
}

/// The published order of weights 5, 1, 1 is nginx's; HAProxy's own, and the trees said plainly.
#[derive(Default)]
struct RoundRobin {
    weight: Vec<i64>,
    next: Vec<i64>,
    rest: Vec<i64>,
    /// Key, number of the insertion, server.
    present: Vec<(i64, u64, usize)>,
    init: Vec<usize>,
    later: Vec<usize>,
    position: i64,
    sum: i64,
    inserted: u64,
}

impl RoundRobin {
    fn new(weights: &[u32]) -> RoundRobin {
        let weight: Vec<i64> = weights.iter().map(|weight| 16 * i64::from(*weight)).collect();
        let (sum, count) = (weight.iter().sum(), weight.len());
        let mut init: Vec<usize> = (0..count).collect();
        init.sort_by_key(|server| -weight[*server]);
        RoundRobin {
            weight,
            next: vec![0; count],
            rest: vec![0; count],
            init,
            position: sum,
            sum,
            ..Default::default()
        }
    }
}

impl Twin for RoundRobin {
    fn choose(&mut self, _: &[u32]) -> usize {
        let server = loop {
            let first = self.present.iter().min().map(|(.., server)| *server);
            match (first.filter(|server| self.next[*server] <= self.position), self.init.first()) {
                (Some(server), _) => break server,
                (None, Some(&server)) => {
                    (self.next[server], self.rest[server]) = (0, 0);
                    break server;
                }
                (None, None) => match first {
                    Some(server) => break server,
                    None => {
                        std::mem::swap(&mut self.init, &mut self.later);
                        self.position = self.sum;
                    }
                },
            }
        };
        self.present.retain(|(.., other)| *other != server);
        self.init.retain(|other| *other != server);
        let weight = self.weight[server];
        if self.next[server] == 0 {
            self.next[server] = self.position;
        }
        self.next[server] += self.sum / weight;
        self.rest[server] += self.sum % weight;
        if self.rest[server] >= weight {
            self.rest[server] -= weight;
            self.next[server] += 1;
        }
        self.position += 1;
        if self.next[server] >= 2 * self.sum {
            self.next[server] -= self.sum;
            self.later.push(server);
            self.later.sort_by_key(|server| -self.weight[*server]);
        } else {
            self.inserted += 1;
            let key = 256 * self.next[server] + (4096 + self.rest[server] - weight) / 16;
            self.present.push((key, self.inserted, server));
        }
        server
    }
}

#[test]
fn roundrobin_is_three_trees() {
    let mut stream = Stream::new(3, "haproxy", "weights");
    for case in 0..60 {
        let (count, largest) = (1 + stream.below(9), [1, 5, 256][case % 3]);
        let weights = weights(&mut stream, count, largest);
        walk("haproxy(2.6, roundrobin)", &weights, case as u64, 23, &mut RoundRobin::new(&weights));
    }
    // Shares are the weights, exactly, in each round.
    let mut dispatcher = of("haproxy(2.6, roundrobin)", &[1, 2, 3, 5]);
    for _ in 0..5 {
        assert_eq!(counts(&mut dispatcher, 4, 11), [1, 2, 3, 5]);
    }
}

#[test]
fn turns_of_haproxy_pass_over_who_is_full_and_come_back() {
    let mut dispatcher = of("haproxy(2.6, roundrobin)", &[1, 1, 1]);
    dispatcher.limit(Limit::new(1, 0).expect("a good limit")).expect("ends are told");
    let mut open = || dispatcher.choose(&REQUEST, &[], Time::ZERO).forwarded_to().map(|id| id.0);
    assert_eq!([open(), open(), open(), open()], [Some(0), Some(1), Some(2), None]);
    close(&mut dispatcher, 1);
    assert_eq!(letters(&mut dispatcher, 2), "B-");
    [0, 1, 2].into_iter().for_each(|server| close(&mut dispatcher, server));
    let back = letters(&mut dispatcher, 3);
    assert!(["A", "B", "C"].iter().all(|letter| back.contains(letter)), "{back}");
}

#[test]
fn first_fills_the_first_before_the_second() {
    let mut dispatcher = of("haproxy(2.6, first)", &[1, 1, 1]);
    dispatcher.limit(Limit::new(2, 1).expect("a good limit")).expect("ends are told");
    assert_eq!(letters(&mut dispatcher, 5), "AABBC");
    close(&mut dispatcher, 0);
    assert_eq!(letters(&mut dispatcher, 3), "AC-");
}

/// The parts of the ring, point by point: a random walk over all numbers.
fn shares(weights: &[u32]) -> Vec<f64> {
    let mut dispatcher = of("haproxy(2.6, random(1))", weights);
    let explained = {
        open(&mut dispatcher);
        dispatcher.explain(&REQUEST, &[], Time::ZERO)
    };
    let share = |candidate: &sojourn_dispatch::Candidate| {
        candidate.terms.iter().find(|(name, _)| name == "share_of_a_draw").expect("it is told").1
    };
    explained.candidates.iter().map(share).collect()
}

/// Hashes of Jenkins's at 0, 1, 2, ... are a function of two published pieces; the shares were found with HAProxy's own
/// code.
#[test]
fn draws_on_the_ring_are_not_even() {
    let percent =
        |weights: &[u32]| shares(weights).iter().map(|share| (1000.0 * share).round() / 10.0).collect::<Vec<_>>();
    assert_eq!(percent(&[1, 1, 1, 1]), [28.9, 18.5, 24.3, 28.3]);
    assert_eq!(shares(&[1, 1]).iter().map(|share| (100.0 * share).round()).collect::<Vec<_>>(), [43.0, 57.0]);
    let extremes = |servers: usize, weight: u32| {
        let shares = shares(&vec![weight; servers]);
        let round = |share: f64| (share * servers as f64 * 100.0).round() / 100.0;
        (round(shares.iter().copied().fold(1.0, f64::min)), round(shares.iter().copied().fold(0.0, f64::max)))
    };
    assert_eq!((extremes(100, 1), extremes(4, 256)), ((0.63, 1.44), (0.99, 1.01)));
    assert!((shares(&[1, 2, 3]).iter().sum::<f64>() - 1.0).abs() < 1e-9);
}

/// False alarms: one in a million each.
#[test]
fn draws_have_these_shares() {
    for draws in ["haproxy(2.6, random(1))", "haproxy(3.3, default)", "haproxy(3.4, default)"] {
        for weights in [&[1, 1, 1, 1][..], &[1, 2, 3]] {
            let mut dispatcher = of(draws, weights);
            let seen = counts(&mut dispatcher, weights.len(), 100_000);
            let due = shares(weights).into_iter().map(|share| 1e5 * share);
            assert_fits(draws, seen.into_iter().zip(due), weights.len() as f64 - 1.0);
        }
    }
}

/// Of two draws with shares p, the one with fewer for its weight, the later one if they tie.
fn two_draws(shares: &[f64], held: &[u32], weights: &[u32]) -> Vec<f64> {
    let mut due = vec![0.0; shares.len()];
    for first in 0..shares.len() {
        for second in 0..shares.len() {
            let keeps = held[second] * weights[first] > held[first] * weights[second];
            due[if keeps { first } else { second }] += shares[first] * shares[second];
        }
    }
    due
}

/// Three requests are held at the first server, as on the product. False alarms: one in a million each.
#[test]
fn the_default_since_3_3_draws_once_and_random_2_twice() {
    const REQUESTS: u64 = 60_000;
    let even = [1, 1, 1, 1];
    for (policy, held, weights, is_once) in [
        ("haproxy(3.3, default)", [3, 0, 0, 0], even, true),
        ("haproxy(3.3, random(2))", [3, 0, 0, 0], even, false),
        ("haproxy(2.6, random(2))", [3, 1, 1, 0], [1, 2, 3, 1], false),
        ("haproxy(2.6, random)", [3, 2, 1, 0], even, false),
    ] {
        let mut dispatcher = of(policy, &weights);
        hold(&mut dispatcher, &held);
        let seen = counts(&mut dispatcher, 4, REQUESTS);
        let once = shares(&weights);
        let due = if is_once { once } else { two_draws(&once, &held, &weights) };
        let cells: Vec<_> = seen.iter().copied().zip(due.iter().map(|due| due * REQUESTS as f64)).collect();
        assert_fits(policy, cells.iter().copied().filter(|(_, due)| *due > 0.0), 3.0);
        assert!(cells.iter().all(|(seen, due)| *due > 0.0 || *seen == 0), "{policy}: {cells:?}");
    }
    // What was counted at HAProxy 3.4.0 itself, of 1,200: 359/233/271/337 without a `balance` line.
    let due: Vec<f64> = shares(&even).iter().map(|share| share * 1_200.0).collect();
    assert_fits("3.4.0", [359, 233, 271, 337].into_iter().zip(due), 3.0);
}

#[test]
fn a_full_winner_of_the_draws_is_refused() {
    let mut dispatcher = of("haproxy(2.6, random(1))", &[1, 1]);
    dispatcher.limit(Limit::new(1, 0).expect("a good limit")).expect("ends are told");
    let forwarded = (0..200).filter(|_| dispatcher.choose(&REQUEST, &[], Time::ZERO).forwarded_to().is_some()).count();
    assert_eq!(forwarded, 2);
    close(&mut dispatcher, 0);
    let refused =
        (0..200).take_while(|_| dispatcher.choose(&REQUEST, &[], Time::ZERO).forwarded_to().is_none()).count();
    assert!(refused < 200, "one that is free again is drawn");
}

#[test]
fn the_own_numbers_are_marsaglias() {
    // The first numbers of the generator from HAProxy's first state, by hand, and so the first servers of four.
    let mut state: u32 = 2_463_534_242;
    let mut number = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    assert_eq!(number(), 723_471_715); // Marsaglia's paper, section 4
    let mut own = of("haproxy(2.6, random(2), numbers = own)", &[1, 1, 1, 1]);
    let mut again = with_seed("haproxy(2.6, random(2), numbers = own)", 4, 99);
    assert_eq!(letters(&mut own, 200), letters(&mut again, 200), "no seed moves them");
}

/// Without avalanche addresses near each other go together.
#[test]
fn source_spreads_neighbours_by_avalanche_alone() {
    let signals = sojourn_dispatch::Signals::all();
    let make = |policy| {
        sojourn_dispatch::Dispatcher::new(policy, &equal(8), Default::default(), signals, 1, "test").expect(policy)
    };
    let servers = |policy| {
        let mut dispatcher = make(policy);
        let mut choose = |last: u8| {
            let address = Some(std::net::Ipv4Addr::new(10, 1, 2, last));
            let request = Request { origin: sojourn_dispatch::Origin { address, ..Default::default() }, ..REQUEST };
            dispatcher.choose(&request, &[], Time::ZERO).forwarded_to().expect("all are up")
        };
        (0..200).map(&mut choose).collect::<std::collections::BTreeSet<_>>().len()
    };
    assert_eq!(servers("haproxy(2.6, source, avalanche = false)"), 1);
    assert_eq!(servers("haproxy(2.6, source)"), 8);
}

/// By path: only what a server held moves when it goes, and to more than one other.
#[test]
fn uri_moves_only_what_was_lost() {
    let mut dispatcher = of("haproxy(2.6, uri)", &[1; 6]);
    let homes = |dispatcher: &mut sojourn_dispatch::Dispatcher| {
        let home = |key: u64| dispatcher.choose(&Request { key, ..REQUEST }, &[], Time::ZERO).forwarded_to();
        (0..2_000).map(|number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).map(home).collect::<Vec<_>>()
    };
    let before = homes(&mut dispatcher);
    dispatcher.observe(Event::Down { backend: BackendId(2) }, Time::ZERO);
    let after = homes(&mut dispatcher);
    let moved: Vec<_> = before.iter().zip(&after).filter(|(before, after)| before != after).collect();
    assert!(moved.iter().all(|(before, _)| **before == Some(BackendId(2))));
    assert!(moved.iter().map(|(_, after)| after).collect::<std::collections::HashSet<_>>().len() > 1);
}
