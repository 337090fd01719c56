//! Policies that draw, and what no policy may ever choose.

use sojourn_dispatch::{Action, BackendId, Code, Event};
use sojourn_stats::{Span, Time};

use crate::common::{REQUEST, assert_fits, dispatcher, equal, every_policy};

const DRAWS: u64 = 100_000;

#[test]
fn random_is_uniform() {
    let mut random = dispatcher("random", &equal(7));
    random.observe(Event::Down { backend: BackendId(3) }, Time::ZERO);
    for exclude in [&[][..], &[BackendId(0), BackendId(5)][..]] {
        let mut counts = [0_u64; 7];
        for _ in 0..DRAWS {
            let chosen = random.choose(&REQUEST, exclude, Time::ZERO).forwarded_to().expect("some are up");
            counts[chosen.0 as usize] += 1;
        }
        let left: Vec<usize> = (0..7).filter(|&at| at != 3 && !exclude.contains(&BackendId(at as u32))).collect();
        let due = DRAWS as f64 / left.len() as f64;
        assert_eq!(left.iter().map(|&at| counts[at]).sum::<u64>(), DRAWS, "one was chosen that must not be");
        assert_fits("random", left.iter().map(|&at| (counts[at], due)), left.len() as f64 - 1.0);
    }
}

#[test]
fn probabilistic_chances_are_inverse_to_the_load() {
    let loads = [0_u32, 1, 3, 9, 0];
    let mut dispatcher = dispatcher("probabilistic-least-connections", &equal(5));
    for (at, &load) in loads.iter().enumerate() {
        let others: Vec<_> = (0..5).filter(|&other| other != at as u32).map(BackendId).collect();
        for _ in 0..load {
            dispatcher.choose(&REQUEST, &others, Time::ZERO);
        }
    }
    for exclude in [&[][..], &[BackendId(0)][..]] {
        let chance = |at: usize| {
            if exclude.contains(&BackendId(at as u32)) { 0.0 } else { 1.0 / f64::from(loads[at] + 1) }
        };
        let total: f64 = (0..5).map(chance).sum();
        let mut counts = [0_u64; 5];
        for _ in 0..DRAWS {
            let decision = dispatcher.choose(&REQUEST, exclude, Time::ZERO);
            let chosen = decision.forwarded_to().expect("all are up");
            let at = chosen.0 as usize;
            assert!((decision.reason.value - chance(at) / total).abs() < 1e-9, "{:?}", decision.reason);
            counts[at] += 1;
            dispatcher.observe(Event::Cancelled { backend: chosen, after: Span::ZERO }, Time::ZERO);
        }
        let cells = (0..5).filter(|&at| chance(at) > 0.0).map(|at| (counts[at], DRAWS as f64 * chance(at) / total));
        assert_fits("probabilistic-least-connections", cells, 4.0 - exclude.len() as f64);
    }
}

#[test]
fn power_of_d_is_the_least_of_d_distinct_backends() {
    // Backend number k holds k requests: of d distinct ones it is the least in C(n - 1 - k, d - 1) of C(n, d) draws.
    let n = 6_u32;
    for (d, chances) in [(1, [1.0; 6]), (2, [5.0, 4.0, 3.0, 2.0, 1.0, 0.0]), (3, [10.0, 6.0, 3.0, 1.0, 0.0, 0.0])] {
        let mut dispatcher = dispatcher(&format!("power-of-d(d = {d})"), &equal(n as usize));
        for at in 0..n {
            let others: Vec<_> = (0..n).filter(|&other| other != at).map(BackendId).collect();
            for _ in 0..at {
                dispatcher.choose(&REQUEST, &others, Time::ZERO);
            }
        }
        let mut counts = [0_u64; 6];
        for _ in 0..DRAWS {
            let chosen = dispatcher.choose(&REQUEST, &[], Time::ZERO).forwarded_to().expect("all are up");
            counts[chosen.0 as usize] += 1;
            dispatcher.observe(Event::Cancelled { backend: chosen, after: Span::ZERO }, Time::ZERO);
        }
        let total: f64 = chances.iter().sum();
        let possible = (0..6).filter(|&at| chances[at] > 0.0);
        assert!((0..6).all(|at| chances[at] > 0.0 || counts[at] == 0), "d = {d}: {counts:?}");
        let cells: Vec<_> = possible.map(|at| (counts[at], DRAWS as f64 * chances[at] / total)).collect();
        let freedom = cells.len() as f64 - 1.0;
        assert_fits("power-of-d", cells, freedom);
    }
}

#[test]
fn retries_are_distinct_until_no_backend_is_left() {
    for policy in every_policy() {
        let mut dispatcher = dispatcher(policy, &equal(6));
        for _ in 0..50 {
            let mut tried = Vec::new();
            while let Some(id) = dispatcher.choose(&REQUEST, &tried, Time::ZERO).forwarded_to() {
                assert!(!tried.contains(&id), "{policy} chose {id:?} again");
                dispatcher.observe(Event::Cancelled { backend: id, after: Span::ZERO }, Time::ZERO);
                tried.push(id);
            }
            assert_eq!(tried.len(), 6, "{policy} gave up early");
        }
    }
}

#[test]
fn only_backends_that_are_up_are_chosen() {
    for policy in every_policy() {
        let mut dispatcher = dispatcher(policy, &equal(5));
        let [draining, down, left] = [0, 2, 4].map(BackendId);
        dispatcher.observe(Event::Draining { backend: draining }, Time::ZERO);
        dispatcher.observe(Event::Down { backend: down }, Time::ZERO);
        dispatcher.observe(Event::Left { backend: left }, Time::ZERO);
        for client in 0..200 {
            let request = sojourn_dispatch::Request { client, cookie: Some(draining), ..REQUEST };
            let chosen = dispatcher.choose(&request, &[], Time::ZERO).forwarded_to();
            assert!([Some(BackendId(1)), Some(BackendId(3))].contains(&chosen), "{policy} chose {chosen:?}");
        }
    }
}

#[test]
fn no_backend_left_is_a_refusal() {
    for policy in every_policy() {
        let mut empty = dispatcher(policy, &[]);
        let mut down = dispatcher(policy, &equal(1));
        down.observe(Event::Down { backend: BackendId(0) }, Time::ZERO);
        for dispatcher in [&mut empty, &mut down] {
            let decision = dispatcher.choose(&REQUEST, &[], Time::ZERO);
            assert_eq!((decision.action, decision.reason.code), (Action::Refuse, Code::NoBackend), "{policy}");
            assert_eq!(decision.reason.to_string(), "no backend can take it");
        }
    }
}
