//! The share of the clients that give up, where it is known: a queue in which nothing is random.

use super::{MS, Script, Scripted, US, clean};
use crate::outcome::Outcome;

/// Clients come every 10 ms to one server that takes 15 ms for each, and leave when it has not begun after 20 ms. It is always
/// busy, so that it serves two in three: the waits are 15 ms, 20 ms and 25 ms in turns, and every third leaves. Until the end of
/// the warm-up it stands still, and nearly all leave.
fn every_third_leaves(warm_up: u64, measured: u64) -> Script {
    let gap = 10 * MS;
    let mut free = warm_up * gap;
    let requests = (0..warm_up + measured).map(|k| {
        let planned = k * gap;
        let start = planned.max(free);
        let (done, outcome) = match start - planned <= 20 * MS {
            true => (start + 15 * MS, Outcome::Ok),
            false => (planned + 20 * MS, Outcome::Abandoned),
        };
        if outcome == Outcome::Ok {
            free = done;
        }
        Scripted { planned, noticed: planned + 20 * US, begun: planned + 22 * US, done, queued: false, outcome }
    });
    let requests = requests.collect();
    Script { requests, end: (warm_up + measured) * gap, warm_up: warm_up * gap, asked: None, ..clean() }
}

/// Of those that came after the warm-up, and of all of these: also of those that leave when no more are planned.
#[test]
fn the_share_that_gives_up_is_of_all_that_came_after_the_warm_up() {
    let script = every_third_leaves(100, 3000);
    let last = script.requests.last().unwrap();
    assert!(last.outcome == Outcome::Abandoned && last.done > script.end, "it leaves after the end");
    let report = script.report();
    assert_eq!((report.measured.planned, report.measured.abandoned, report.measured.ok), (3000, 1000, 2000));
    assert_eq!(report.counts.abandoned, 1000 + 99, "of the warm-up one was served, the last but one");
    let share = report.value("abandoned_ratio").unwrap();
    assert!((share - 1.0 / 3.0).abs() < 1e-12, "{share}");
    // Who gave up has not failed.
    assert_eq!(report.value("error_ratio"), Some(0.0));
}
