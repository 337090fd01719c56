//! The scripts of closed users.

use std::collections::HashSet;

use sojourn_traffic::{Closed, Script, Sizes, Step};

use crate::support::{closed, demand};

fn steps(workload: &Closed, user: u32, seed: u64, steps: usize) -> Vec<Step> {
    let mut script = Script::new(workload, user, seed, demand());
    (0..steps).map(|_| script.step()).collect()
}

#[test]
fn a_script_does_not_depend_on_the_number_of_users() {
    assert_eq!(steps(&closed(3), 2, 1, 100), steps(&closed(3000), 2, 1, 100));
    assert_eq!(steps(&closed(3), 2, 1, 100), steps(&closed(3), 2, 1, 100));
    assert_ne!(steps(&closed(3), 2, 1, 100), steps(&closed(3), 2, 2, 100));
    let think = |user| steps(&closed(3), user, 1, 100).iter().map(|step| step.think).collect::<Vec<_>>();
    assert_ne!(think(0), think(1));
}

#[test]
fn sizes_do_not_shift_thinking_or_patience() {
    let webstone = Closed { sizes: Sizes::parse("webstone").unwrap(), ..closed(3) };
    let pairs = steps(&closed(3), 1, 1, 100).into_iter().zip(steps(&webstone, 1, 1, 100));
    for (drawn, listed) in pairs {
        assert_eq!((drawn.think, drawn.request.patience), (listed.think, listed.request.patience));
        assert_eq!(listed.request.client, 1);
        assert!(listed.request.object < 5);
    }
}

#[test]
fn no_two_users_ask_for_the_same_made_up_object() {
    let mut seen = HashSet::new();
    for user in 0..1000 {
        for step in steps(&closed(1000), user, 1, 100) {
            assert!(seen.insert(step.request.object));
        }
    }
}
