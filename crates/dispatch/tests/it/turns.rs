//! Round robin and its weighted kin: who comes next.

use sojourn_dispatch::{BackendId, Event};
use sojourn_stats::{Stream, Time};

use crate::common::{REQUEST, dispatcher, equal, letters, weighted};

#[test]
fn round_robin_goes_in_order() {
    assert_eq!(letters(&mut dispatcher("round-robin", &equal(4)), 9), "ABCDABCDA");
}

#[test]
fn round_robin_keeps_its_place_when_backends_come_and_go() {
    let mut dispatcher = dispatcher("round-robin", &equal(4));
    let [b, c] = [BackendId(1), BackendId(2)];
    assert_eq!(letters(&mut dispatcher, 2), "AB");
    dispatcher.observe(Event::Left { backend: b }, Time::ZERO);
    assert_eq!(letters(&mut dispatcher, 4), "CDAC");
    dispatcher.observe(Event::Down { backend: c }, Time::ZERO);
    assert_eq!(letters(&mut dispatcher, 3), "DAD");
    dispatcher.join("s2", 1.0, Time::ZERO).expect("a good weight");
    dispatcher.observe(Event::Joined { backend: c }, Time::ZERO);
    dispatcher.join("s5", 1.0, Time::ZERO).expect("a good weight");
    assert_eq!(letters(&mut dispatcher, 7), "EABCDEA");
}

#[test]
fn round_robin_stays_fair_under_churn() {
    // s8 flaps at every choice; the turn of the others must not restart: their counts differ by one at most.
    let mut dispatcher = dispatcher("round-robin", &equal(8));
    let mut counts = [0_u32; 8];
    for turn in 0..7_001 {
        let flap = BackendId(7);
        let event = if turn % 2 == 0 { Event::Down { backend: flap } } else { Event::Joined { backend: flap } };
        dispatcher.observe(event, Time::ZERO);
        let chosen = dispatcher.choose(&REQUEST, &[], Time::ZERO).forwarded_to().expect("seven are up");
        counts[chosen.0 as usize] += 1;
    }
    let (most, fewest) = (counts[..7].iter().max(), counts[..7].iter().min());
    assert!(most.unwrap() - fewest.unwrap() <= 1, "{counts:?}");
}

#[test]
fn a_retry_takes_the_next_turn_not_yet_tried() {
    let mut dispatcher = dispatcher("round-robin", &equal(3));
    assert_eq!(letters(&mut dispatcher, 1), "A");
    let retry = dispatcher.choose(&REQUEST, &[BackendId(0), BackendId(1)], Time::ZERO);
    assert_eq!(retry.forwarded_to(), Some(BackendId(2)));
    assert_eq!(letters(&mut dispatcher, 3), "ABC");
}

#[test]
fn smooth_weights_5_1_1_as_nginx_documents() {
    // nginx, commit "Upstream: smooth weighted round-robin balancing" (2012): a a b a c a a.
    assert_eq!(letters(&mut dispatcher("weighted-round-robin", &weighted(&[5.0, 1.0, 1.0])), 14), "AABACAAAABACAA");
}

#[test]
fn smooth_is_nginx_for_any_weights() {
    let mut stream = Stream::new(1, "weights", "draw");
    for case in 0..200 {
        let count = 1 + stream.below(9);
        let weights: Vec<f64> = (0..count).map(|_| stream.below(5) as f64).collect();
        let mut dispatcher = dispatcher("weighted-round-robin", &weighted(&weights));
        let mut values = vec![0.0; count];
        for turn in 0..300 {
            values.iter_mut().zip(&weights).for_each(|(value, weight)| *value += weight);
            let mut best = None;
            for at in (0..count).filter(|&at| weights[at] > 0.0) {
                if best.is_none_or(|best: usize| values[at] > values[best]) {
                    best = Some(at);
                }
            }
            if let Some(best) = best {
                values[best] -= weights.iter().sum::<f64>();
            }
            let chosen = dispatcher.choose(&REQUEST, &[], Time::ZERO).forwarded_to().map(|id| id.0 as usize);
            assert_eq!(chosen, best, "case {case}, weights {weights:?}, turn {turn}");
        }
    }
}

#[test]
fn classic_weights_4_3_2() {
    for weights in [[4.0, 3.0, 2.0], [40.0, 30.0, 20.0], [2.0, 1.5, 1.0], [1.2, 0.9, 0.6]] {
        let mut dispatcher = dispatcher("weighted-round-robin-classic", &weighted(&weights));
        assert_eq!(letters(&mut dispatcher, 18), "ABCABCABAABCABCABA", "{weights:?}");
    }
}

#[test]
fn weighted_turns_keep_to_the_weights_under_churn_and_retries() {
    // A backend that flaps between choices, and a retry now and then, must not move the others' shares. Each of the
    // cycles is off by a few turns at most; 3 % of 40,000 choices is far more.
    for policy in ["weighted-round-robin", "weighted-round-robin-classic"] {
        let mut dispatcher = dispatcher(policy, &weighted(&[4.0, 3.0, 2.0, 1.0]));
        let mut counts = [0_u32; 4];
        for turn in 0..40_000 {
            if turn % 97 == 0 {
                dispatcher.observe(Event::Down { backend: BackendId(3) }, Time::ZERO);
            } else if turn % 97 == 48 {
                dispatcher.observe(Event::Joined { backend: BackendId(3) }, Time::ZERO);
            }
            let exclude: &[BackendId] = if turn % 50 == 0 { &[BackendId((turn / 50) % 3)] } else { &[] };
            let chosen = dispatcher.choose(&REQUEST, exclude, Time::ZERO).forwarded_to().expect("three are up");
            assert!(!exclude.contains(&chosen));
            counts[chosen.0 as usize] += 1;
        }
        let of_three = f64::from(counts[..3].iter().sum::<u32>());
        for (at, share) in [4.0 / 9.0, 3.0 / 9.0, 2.0 / 9.0].into_iter().enumerate() {
            let seen = f64::from(counts[at]) / of_three;
            assert!((seen - share).abs() < 0.03 * share + 0.005, "{policy}: {counts:?}");
        }
    }
}

#[test]
fn weight_zero_is_never_chosen() {
    let by_weight = [
        "weighted-round-robin",
        "weighted-round-robin-classic",
        "weighted-least-connections",
        "address-hash",
        "path-hash",
    ];
    for policy in by_weight {
        let mut one = dispatcher(policy, &weighted(&[0.0, 1.0, 0.0]));
        assert_eq!(letters(&mut one, 5), "BBBBB", "{policy}");
        let retry = one.choose(&REQUEST, &[BackendId(1)], Time::ZERO);
        assert_eq!(retry.forwarded_to(), None, "{policy}");
        assert_eq!(letters(&mut dispatcher(policy, &weighted(&[0.0, 0.0])), 2), "--", "{policy}");
    }
}
