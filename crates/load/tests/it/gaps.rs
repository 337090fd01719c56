//! The distance between planned and emitted gaps sees what changes a server's load, and nothing else.

use sojourn_load::verdict::gap_distance;
use sojourn_stats::Time;

/// 10,000 requests, one each millisecond, that go out in bunches of `bunch`, each up to `jitter` ns late.
fn emitted(bunch: u64, jitter: u64) -> Vec<Vec<(Time, Time)>> {
    let begun = |k: u64| Time((k / bunch * bunch) * 1_000_000 + k * 7919 % (jitter + 1));
    vec![(0..10_000).map(|k| (Time(k * 1_000_000), begun(k))).collect()]
}

#[test]
fn kept_gaps_have_no_distance() {
    assert_eq!(gap_distance(&emitted(1, 0)), Some(0.0));
}

#[test]
fn small_lateness_is_no_distance() {
    assert_eq!(gap_distance(&emitted(1, 40_000)), Some(0.0));
}

#[test]
fn bunches_are() {
    // Three of four gaps are 0 instead of 1 ms.
    let distance = gap_distance(&emitted(4, 0)).unwrap();
    assert!((distance - 0.75).abs() < 0.001, "{distance}");
}

#[test]
fn two_requests_have_no_distribution() {
    assert_eq!(gap_distance(&[emitted(1, 0).remove(0)[..2].to_vec()]), None);
}
