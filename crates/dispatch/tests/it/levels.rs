//! Levels of priority.

use sojourn_dispatch::policies::priority_levels::shares_of_levels;
use sojourn_dispatch::{BackendId, Dispatcher, Event};
use sojourn_stats::{Span, Time};

use crate::common::{REQUEST, assert_fits, dispatcher, equal};

/// Of levels of a hundred so many are up. Envoy's documentation has the first four; its code adds what rounding leaves over
/// to the first level, where its documentation says 36, 36, 28 and 7, 93.
#[test]
fn levels_take_the_shares_that_envoys_code_gives_them() {
    let of = |up: &[u64]| shares_of_levels(&up.iter().map(|up| (*up, 100)).collect::<Vec<_>>(), 140);
    assert_eq!(of(&[72, 100]), [100, 0]);
    assert_eq!(of(&[71, 100]), [99, 1]);
    assert_eq!(of(&[50, 100]), [70, 30]);
    assert_eq!(of(&[25, 100]), [35, 65]);
    assert_eq!(of(&[25, 25]), [50, 50]);
    assert_eq!(of(&[25, 25, 20]), [37, 35, 28]);
    assert_eq!(of(&[5, 65]), [8, 92]);
    assert_eq!(of(&[0, 0, 30]), [0, 0, 100]);
    assert_eq!(of(&[0, 0]), [0, 0], "none is up");
    assert_eq!(shares_of_levels(&[(0, 0), (1, 2)], 140), [0, 100], "a level without backends");
    // Backups: the first level has everything as long as one of its hundred is up.
    assert_eq!(shares_of_levels(&[(1, 100), (5, 5)], 10_000), [100, 0]);
    assert_eq!(shares_of_levels(&[(0, 100), (5, 5)], 10_000), [0, 100]);
}

fn down(dispatcher: &mut Dispatcher, backends: impl Iterator<Item = u32>) {
    for id in backends {
        dispatcher.observe(Event::Down { backend: BackendId(id) }, Time::ZERO);
    }
}

/// Where 5, 5 and 4 of 20 are up, 37, 35 and 28 per cent of the requests go to the levels, and all that are up share them
/// evenly.
#[test]
fn requests_go_to_levels_by_their_shares() {
    for inside in ["random", "round-robin", "power-of-d"] {
        let text = format!("priority-levels(levels = 20 20 20, within = {inside})");
        let mut levels = dispatcher(&text, &equal(60));
        down(&mut levels, (5..20).chain(25..40).chain(44..60));
        let draws = 100_000;
        let mut counts = [0_u64; 60];
        for _ in 0..draws {
            let chosen = levels.choose(&REQUEST, &[], Time::ZERO).forwarded_to().expect("some are up");
            counts[chosen.0 as usize] += 1;
            levels.observe(Event::Cancelled { backend: chosen, after: Span::ZERO }, Time::ZERO);
        }
        let of = |level: usize| counts[20 * level..20 * level + 20].iter().sum::<u64>();
        let cells = [0.37, 0.35, 0.28].iter().enumerate().map(|(level, share)| (of(level), share * f64::from(draws)));
        assert_fits(inside, cells, 2.0);
        let even =
            (0..60).filter(|at| counts[*at] > 0).map(|at| (counts[at], of(at / 20) as f64 / [5.0, 5.0, 4.0][at / 20]));
        assert_fits(inside, even, 11.0);
    }
}

#[test]
fn a_level_of_which_all_were_tried_passes_requests_on() {
    let mut levels = dispatcher("priority-levels(levels = 2 1)", &equal(4));
    let mut tried: Vec<BackendId> = Vec::new();
    while let Some(chosen) = levels.choose(&REQUEST, &tried, Time::ZERO).forwarded_to() {
        assert!(tried.len() >= 2 || chosen.0 < 2, "{chosen:?} while one of the first level is left");
        tried.push(chosen);
    }
    assert_eq!(tried.len(), 4, "what is more than the levels say is of the last one");
}
