//! Which files are copied, and which copy has to go.

use sojourn_model::{COUNTED, Copies, CopyRules};
use sojourn_stats::{Span, Time};

const SECOND: u64 = 1_000_000_000;

fn at(seconds: u64) -> Time {
    Time(seconds * SECOND)
}

/// Three fetches within ten seconds; 1 kB of copies.
fn copies() -> Copies<u32> {
    Copies::new(CopyRules { after: 3, within: Span(10 * SECOND), max: 1000 })
}

#[test]
fn the_last_of_so_many_fetches_within_the_time_is_kept() {
    let mut of = copies();
    let due = [0, 5, 10, 14, 30, 31, 32].map(|second| of.is_due(&7, 100, at(second)));
    assert_eq!(due, [false, false, false, true, false, false, true], "the one at 0 s is too old at 10 s");
    assert!(!of.has(&7), "it is copied when it is there");
    assert!(of.keep(7, 100).is_empty());
    assert!(of.has(&7) && !of.is_due(&7, 100, at(33)), "one copy is enough");
    of.drop(&7);
    assert!(!of.has(&7) && of.used() == 0);
    assert_eq!(
        [40, 41, 42].map(|second| of.is_due(&7, 1001, at(second))),
        [false; 3],
        "it is larger than all copies may be"
    );
}

#[test]
fn the_least_recently_used_goes_first() {
    let mut of = copies();
    assert_eq!((of.keep(1, 400), of.keep(2, 400)), (vec![], vec![]));
    assert!(of.has(&1));
    assert_eq!((of.keep(3, 400), of.used()), (vec![2], 800));
    assert_eq!((of.keep(3, 600), of.used()), (vec![], 1000), "a copy takes the place of the one before it");
    assert_eq!((of.keep(4, 1000), of.used()), (vec![1, 3], 1000));
    assert_eq!((of.keep(5, 1001), of.used()), (vec![], 1000), "what is larger than all may be is not kept");
    assert_eq!((of.clear(), of.used()), (vec![4], 0));
}

#[test]
fn who_asks_for_many_files_does_not_fill_the_memory() {
    let mut of = copies();
    (0..COUNTED as u32).for_each(|file| assert!(!of.is_due(&file, 1, at(0))));
    let late = COUNTED as u32;
    assert_eq!([1, 2, 3].map(|second| of.is_due(&late, 1, at(second))), [false; 3], "there is no room to count it");
    assert_eq!([10, 11, 12].map(|second| of.is_due(&late, 1, at(second))), [false, false, true], "the others are old");
}
