//! nginx.

use std::net::Ipv4Addr;

use sojourn_dispatch::{BackendId, Dispatcher, Event, Origin, Request, Signals};
use sojourn_stats::{Span, Stream, Time};

use super::{Twin, counts, hold, of, walk, weights};
use crate::common::{REQUEST, assert_fits, letters, weighted};

/// The loops of `ngx_http_upstream_get_least_conn_peer`.
struct LeastConn {
    weights: Vec<i64>,
    current: Vec<i64>,
}

impl Twin for LeastConn {
    fn choose(&mut self, in_flight: &[u32]) -> usize {
        let all = 0..self.weights.len();
        let cross = |one: usize, other: usize| i64::from(in_flight[one]) * self.weights[other];
        let first = all.clone().reduce(|best, one| if cross(one, best) < cross(best, one) { one } else { best });
        let first = first.expect("there are servers");
        let tied: Vec<usize> = all.filter(|one| cross(*one, first) == cross(first, *one)).collect();
        if tied.len() == 1 {
            return first;
        }
        let mut best = first;
        for one in &tied {
            self.current[*one] += self.weights[*one];
            if self.current[*one] > self.current[best] {
                best = *one;
            }
        }
        self.current[best] -= tied.iter().map(|one| self.weights[*one]).sum::<i64>();
        best
    }
}

#[test]
fn least_conn_takes_smooth_turns_among_the_tied_alone() {
    let mut stream = Stream::new(1, "nginx", "weights");
    for case in 0..60 {
        let (count, largest) = (1 + stream.below(9), [1, 3, 10][case % 3]);
        let weights = weights(&mut stream, count, largest);
        let signed = weights.iter().map(|weight| i64::from(*weight)).collect();
        let mut twin = LeastConn { weights: signed, current: vec![0; count] };
        walk("nginx(least_conn)", &weights, case as u64, 23, &mut twin);
    }
}

#[test]
fn a_retry_of_least_conn_leaves_out_who_was_tried_and_the_turns_go_on() {
    // All idle. A has its turn: -3, 1, 1, 1. With A tried, B of three: -3, -1, 2, 2. Then C: -2, 0, -1, 3, D: -1, 1, 0, 0;
    // and B.
    let mut dispatcher = of("nginx(least_conn)", &[1, 1, 1, 1]);
    let mut idle = |tried: &[BackendId]| {
        let id = dispatcher.choose(&REQUEST, tried, Time::ZERO).forwarded_to().expect("all are up");
        dispatcher.observe(Event::Cancelled { backend: id, after: Span::ZERO }, Time::ZERO);
        id.0
    };
    let a = BackendId(0);
    assert_eq!([idle(&[]), idle(&[a]), idle(&[]), idle(&[]), idle(&[])], [0, 1, 2, 3, 1]);
}

#[test]
fn round_robin_is_the_documented_order() {
    assert_eq!(letters(&mut of("nginx(round-robin)", &[5, 1, 1]), 7), "AABACAA");
}

/// Chances of two different draws by weight; the second wins a tie.
fn two_different(held: &[u32], weights: &[u32]) -> Vec<f64> {
    let total: f64 = weights.iter().map(|weight| f64::from(*weight)).sum();
    let mut due = vec![0.0; weights.len()];
    for first in 0..weights.len() {
        for second in (0..weights.len()).filter(|second| *second != first) {
            let (one, two) = (f64::from(weights[first]), f64::from(weights[second]));
            let keeps = held[second] * weights[first] > held[first] * weights[second];
            due[if keeps { first } else { second }] += one / total * two / (total - one);
        }
    }
    due
}

/// False alarms: one in a million each.
#[test]
fn random_two_draws_two_different_servers_by_weight() {
    const REQUESTS: u64 = 60_000;
    for (policy, held, weights) in [
        ("nginx(random two)", [3, 2, 1, 0], [1, 1, 1, 1]),
        ("nginx(random two)", [1, 0, 2, 0], [1, 2, 3, 4]),
        ("nginx(1.22, random two least_conn)", [1, 1, 1, 1], [7, 7, 7, 7]),
    ] {
        let mut dispatcher = of(policy, &weights);
        hold(&mut dispatcher, &held);
        let seen = counts(&mut dispatcher, 4, REQUESTS);
        let due = two_different(&held, &weights);
        let cells: Vec<_> = seen.into_iter().zip(due.iter().map(|due| due * REQUESTS as f64)).collect();
        assert_fits(policy, cells.iter().copied().filter(|(_, due)| *due > 0.0), 3.0);
        assert!(cells.iter().all(|(seen, due)| *due > 0.0 || *seen == 0), "{cells:?}");
    }
    let seen = counts(&mut of("nginx(random)", &[1, 2, 3]), 3, REQUESTS);
    assert_fits("nginx(random)", seen.into_iter().zip([1e4, 2e4, 3e4]), 2.0);
}

/// The loop of the source, by hand.
fn ip_hash(address: [u8; 3], weights: &[u32]) -> usize {
    let hash = address.iter().fold(89_u32, |hash, number| (hash * 113 + u32::from(*number)) % 6271);
    let mut left = hash % weights.iter().sum::<u32>();
    weights.iter().position(|weight| left.checked_sub(*weight).map(|less| left = less).is_none()).expect("in range")
}

#[test]
fn ip_hash_reads_three_numbers_of_the_address() {
    let weights = [1, 2, 3, 1];
    let named = weighted(&weights.map(f64::from));
    let made = Dispatcher::new("nginx(ip_hash)", &named, Default::default(), Signals::all(), 1, "test");
    let mut dispatcher = made.expect("addresses are told");
    let mut choose = |address: [u8; 4]| {
        let origin = Origin { address: Some(Ipv4Addr::from(address)), ..Default::default() };
        let decision = dispatcher.choose(&Request { origin, ..REQUEST }, &[], Time::ZERO);
        decision.forwarded_to().expect("all are up").0 as usize
    };
    let mut stream = Stream::new(4, "nginx", "addresses");
    for _ in 0..500 {
        let [a, b, c, d] = [(); 4].map(|()| stream.below(256) as u8);
        assert_eq!(choose([a, b, c, d]), ip_hash([a, b, c], &weights));
        assert_eq!(choose([a, b, c, 0]), choose([a, b, c, 255]), "a whole /24 goes to one server");
    }
}

/// Points of memcached's ketama by nginx: CRC-32 of `127.0.0.1`, a zero, `8080` and four zero bytes is the first of
/// that server.
#[test]
fn a_consistent_hash_moves_only_what_was_lost() {
    let mut dispatcher = of("nginx(hash consistent)", &[1, 2, 1, 1, 1]);
    let mut homes = |tried: &[BackendId]| {
        let mut home = |key: u64| dispatcher.choose(&Request { key, ..REQUEST }, tried, Time::ZERO).forwarded_to();
        (0..4_000).map(&mut home).collect::<Vec<_>>()
    };
    let (before, after) = (homes(&[]), homes(&[BackendId(1)]));
    let moved: Vec<_> = before.iter().zip(&after).filter(|(before, after)| before != after).collect();
    assert!(moved.iter().all(|(before, _)| **before == Some(BackendId(1))));
    assert!(moved.iter().map(|(_, after)| after).collect::<std::collections::HashSet<_>>().len() == 4);
    let own = before.iter().filter(|home| **home == Some(BackendId(1))).count() as f64 / 4_000.0;
    // Of 320 points of 960; the spread of such a share is 0.33 / sqrt(320), five of which are left.
    assert!((own - 2.0 / 6.0).abs() < 0.1, "{own}");
}
