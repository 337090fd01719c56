//! The same path to the same backend: `path-hash`.

use sojourn_dispatch::{BackendId, Code, Dispatcher, Event, Information, Request, Signals, key};
use sojourn_stats::Time;

use crate::common::{REQUEST, assert_fits, dispatcher, equal, weighted};

const PATHS: u64 = 20_000;

fn asking(path: u64) -> Request {
    Request { key: key(&format!("/work/{path}")), ..REQUEST }
}

fn homes_without(dispatcher: &mut Dispatcher, tried: &[BackendId]) -> Vec<BackendId> {
    let mut home = |path| {
        let decision = dispatcher.choose(&asking(path), tried, Time::ZERO);
        assert_eq!(decision.reason.code, Code::PathHash);
        decision.forwarded_to().expect("some are up")
    };
    (0..PATHS).map(&mut home).collect()
}

fn homes(dispatcher: &mut Dispatcher) -> Vec<BackendId> {
    homes_without(dispatcher, &[])
}

/// The place of a number on the ring and the points of a backend, written again by their definition: outputs of
/// SplitMix64 (Steele, Lea and Flood 2014); its first outputs for the seed 1234567 are pinned in the test below.
fn splitmix(seed: u64, number: u64) -> u64 {
    let mut x = seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    x ^= x >> 30;
    x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^= x >> 27;
    x = x.wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[test]
fn a_path_belongs_to_the_first_point_at_or_after_its_hash() {
    let pinned = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
    assert_eq!([1, 2, 3].map(|number| splitmix(1_234_567, number)), pinned);
    for (points, weights, counts) in
        [(1, [1.0, 1.0, 1.0, 1.0], [1, 1, 1, 1]), (100, [1.0, 0.5, 2.0, 0.01], [100, 50, 200, 1])]
    {
        let backends = weighted(&weights);
        let mut dispatcher = dispatcher(&format!("path-hash(points = {points})"), &backends);
        let start = |at: usize| splitmix(key(&backends[at].0), 0);
        let ring: Vec<_> = (0..4).flat_map(|at| (1..=counts[at]).map(move |n| (splitmix(start(at), n), at))).collect();
        for path in 0..2_000 {
            let place = splitmix(asking(path).key, 0);
            let (_, due) = ring.iter().min_by_key(|(point, _)| point.wrapping_sub(place)).expect("it has points");
            let chosen = dispatcher.choose(&asking(path), &[], Time::ZERO).forwarded_to();
            assert_eq!(chosen, Some(BackendId(*due as u32)), "path {path}, {points} points");
        }
    }
}

#[test]
fn where_paths_belong_is_pinned() {
    let mut dispatcher = dispatcher("path-hash", &equal(4));
    let homes: Vec<_> = (0..16).map(|path| dispatcher.choose(&asking(path), &[], Time::ZERO).forwarded_to()).collect();
    let pinned = PINNED.map(|id| Some(BackendId(id)));
    assert_eq!(homes, pinned);
}

const PINNED: [u32; 16] = [0, 1, 0, 2, 0, 3, 0, 3, 1, 1, 2, 3, 1, 2, 3, 0];

#[test]
fn nothing_but_the_path_counts() {
    let mut dispatcher = dispatcher("path-hash", &equal(5));
    let home = dispatcher.choose(&asking(7), &[], Time::ZERO).forwarded_to();
    for client in 0..200 {
        let request = Request { client, object: client as u32, ..asking(7) };
        assert_eq!(dispatcher.choose(&request, &[], Time(client)).forwarded_to(), home);
    }
}

#[test]
fn only_the_paths_of_a_backend_that_goes_move() {
    for backends in [equal(6), weighted(&[1.0, 2.0, 3.0, 1.0, 2.0, 3.0])] {
        let mut dispatcher = dispatcher("path-hash", &backends);
        let gone = BackendId(2);
        let before = homes(&mut dispatcher);
        let retried = homes_without(&mut dispatcher, &[gone]);
        dispatcher.observe(Event::Down { backend: gone }, Time::ZERO);
        let during = homes(&mut dispatcher);
        for (was, is) in before.iter().zip(&during) {
            assert!(if *was == gone { *is != gone } else { is == was }, "{was:?} moved to {is:?}");
        }
        for heir in (0..6).map(BackendId).filter(|id| *id != gone) {
            let inherits = before.iter().zip(&during).any(|(&was, &is)| was == gone && is == heir);
            assert!(inherits, "{heir:?} got none of what {gone:?} left");
        }
        assert_eq!(retried, during, "a retry goes where the path belongs without those tried");
        dispatcher.observe(Event::Joined { backend: gone }, Time::ZERO);
        assert_eq!(homes(&mut dispatcher), before);
        // The heaviest of all, lest points be scaled by the greatest weight.
        let new = dispatcher.join("new", 7.0, Time::ZERO).expect("a good weight");
        assert!(before.iter().zip(homes(&mut dispatcher)).all(|(&was, is)| is == was || is == new));
    }
}

#[test]
fn a_change_of_weight_moves_paths_only_from_or_to_that_backend() {
    let mut dispatcher = dispatcher("path-hash", &equal(4));
    let one = BackendId(1);
    let before = homes(&mut dispatcher);
    dispatcher.join("s2", 3.0, Time::ZERO).expect("a good weight");
    let heavier = homes(&mut dispatcher);
    assert!(before.iter().zip(&heavier).all(|(was, is)| was == is || *is == one));
    assert!(before != heavier);
    dispatcher.join("s2", 0.5, Time::ZERO).expect("a good weight");
    let lighter = homes(&mut dispatcher);
    assert!(before.iter().zip(&lighter).all(|(was, is)| was == is || *was == one));
    assert!(before != lighter);
}

#[test]
fn where_a_path_belongs_does_not_depend_on_the_order_of_the_list() {
    let names = |dispatcher: &mut Dispatcher| {
        let homes = homes(dispatcher);
        homes.into_iter().map(|id| dispatcher.table().name(id).to_owned()).collect::<Vec<_>>()
    };
    let (forth, mut back) = (weighted(&[1.0, 2.0, 3.0]), weighted(&[1.0, 2.0, 3.0]));
    back.reverse();
    assert_eq!(names(&mut dispatcher("path-hash", &forth)), names(&mut dispatcher("path-hash", &back)));
}

#[test]
fn shares_tend_to_the_weights() {
    // The share of a backend on a ring of N points, k of them its own, is Beta(k, N - k). With N = 40 000 and up and
    // k = 10 000 its standard deviation is at most 0.87 % of it; that of 20 000 paths by chance is as much.
    for weights in [[1.0, 1.0, 1.0, 1.0], [1.0, 2.0, 3.0, 4.0]] {
        let mut counts = [0_u64; 4];
        for home in homes(&mut dispatcher("path-hash(points = 10000)", &weighted(&weights))) {
            counts[home.0 as usize] += 1;
        }
        let total: f64 = weights.iter().sum();
        // Two independent sources of variance: that of multinomial counts, PATHS / N more of the same for the ring.
        let inflated = 1.0 + PATHS as f64 / (10_000.0 * total);
        let cells = counts.into_iter().zip(weights).map(|(seen, weight)| {
            let due = PATHS as f64 * weight / total;
            (((seen as f64 - due) / inflated.sqrt() + due).round() as u64, due)
        });
        assert_fits("path-hash", cells, 3.0);
    }
}

#[test]
fn points_are_a_number_of_points() {
    for bad in ["0", "-1", "1.5", "many", "65537"] {
        let text = format!("path-hash(points = {bad})");
        let said = sojourn_dispatch::Catalogue::default().build(&text).err().expect("refused").to_string();
        assert_eq!(said, "policy `path-hash`: points is a whole number from 1 to 65536, as in `points = 100`");
    }
    for good in ["1", "65536"] {
        dispatcher(&format!("path-hash(points = {good})"), &equal(2));
    }
}

#[test]
fn a_weight_without_a_share_of_points_is_refused() {
    let made = |weight: f64| {
        let backends = [("a".to_string(), 1.0), ("b".to_string(), weight)];
        Dispatcher::new("path-hash", &backends, Information::Immediate, Signals::GATEWAY | Signals::PATH, 1, "test")
    };
    for weight in [0.0, 0.01, 655.36] {
        let mut dispatcher = made(weight).unwrap_or_else(|error| panic!("{weight}: {error}"));
        let refused = dispatcher.join("c", 656.0, Time::ZERO).unwrap_err().to_string();
        assert!(refused.starts_with("backend `c` has weight 656; with policy `path-hash` a weight is 0"), "{refused}");
    }
    for weight in [0.009, 656.0] {
        let refused = made(weight).expect_err("it has no share").to_string();
        assert!(refused.contains("from 1e-2 to 6.5536e2"), "{refused}");
    }
}
