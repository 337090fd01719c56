//! What a client does when a reply does not come, call by call.

use sojourn_model::system::{Backoff, Budget, Hedge, Retries, Rules};
use sojourn_model::{AfterFailure, Attempt, Effort, Tries};
use sojourn_stats::{Law, Span, Stream, Time};

const MS: u64 = 1_000_000;

fn at(ms: u64) -> Time {
    Time(ms * MS)
}

fn span(ms: u64) -> Span {
    Span(ms * MS)
}

fn retries(at_most: u32, budget: Option<Budget>) -> Option<Retries> {
    Some(Retries { at_most, backoff: Some(Backoff::Law(Law::constant(0.05))), budget })
}

fn draws(retry: u32) -> Stream {
    Stream::new(1, "request", &format!("retry {retry}"))
}

/// A request that fails so often, at once each time: how often it is tried again.
fn retried(tries: &mut Tries, now: Time, most: u32) -> u32 {
    let mut effort = tries.begins(now, now);
    (0..=most)
        .take_while(|_| {
            tries.tries(&mut effort, now);
            matches!(tries.failed(&mut effort, now, draws), AfterFailure::Retry(_))
        })
        .count() as u32
}

#[test]
fn each_attempt_has_its_own_time_and_the_request_one_in_all() {
    let rules =
        Rules { timeout: Some(span(500)), deadline: Some(span(1200)), retries: retries(3, None), ..Rules::default() };
    let mut tries = Tries::new(&rules);
    let mut effort = tries.begins(at(100), at(100));
    let attempt = |number, until| Attempt { number, until: Some(at(until)), hedge: None };
    assert_eq!(tries.tries(&mut effort, at(100)), attempt(0, 600));
    assert_eq!(tries.failed(&mut effort, at(600), draws), AfterFailure::Retry(span(50)));
    assert_eq!(tries.tries(&mut effort, at(650)), attempt(1, 1150));
    assert_eq!(tries.failed(&mut effort, at(1150), draws), AfterFailure::Retry(span(50)));
    // The request ends at 1.3 s.
    assert_eq!(tries.tries(&mut effort, at(1200)), attempt(2, 1300));
    assert_eq!(tries.failed(&mut effort, at(1300), draws), AfterFailure::GiveUp);
    assert_eq!((effort.retries(), effort.attempts()), (2, 3));
    // One that fails so late that its wait ends after that is not tried again.
    let mut late = tries.begins(at(100), at(100));
    tries.tries(&mut late, at(100));
    assert_eq!(tries.failed(&mut late, at(1250), draws), AfterFailure::GiveUp);
    assert_eq!(retried(&mut Tries::new(&Rules { retries: retries(3, None), ..Rules::default() }), at(0), 9), 3);
    assert_eq!(retried(&mut Tries::new(&Rules::default()), at(0), 9), 0);
}

/// Full jitter is even from 0 to twice as much before each retry, up to a most. The mean of 10,000 even draws has a standard
/// deviation of 0.29 % of the range: five of them (false alarm below 1e-6).
#[test]
fn full_jitter_doubles_up_to_its_most() {
    let backoff = Backoff::FullJitter { base: span(25), most: span(250) };
    for (before, longest_ms) in [(0, 25.0), (1, 50.0), (3, 200.0), (4, 250.0), (70, 250.0)] {
        let waits: Vec<f64> = (0..10_000u32)
            .map(|number| {
                let draws = |retry| Stream::new(7, &format!("request {number}"), &format!("retry {retry}"));
                backoff.wait(before, draws).as_secs_f64() * 1e3 / longest_ms
            })
            .collect();
        let mean = waits.iter().sum::<f64>() / waits.len() as f64;
        assert!(waits.iter().all(|wait| (0.0..1.0).contains(wait)), "{before}");
        assert!((mean - 0.5).abs() < 5.0 * 0.0029, "{before}: {mean}");
    }
}

/// Of a hundred requests in ten seconds a fifth may be repeated; what is older does not count.
#[test]
fn a_share_is_of_the_last_ten_seconds() {
    let rules = Rules { retries: retries(3, Some(Budget::Share(0.2))), ..Rules::default() };
    let mut tries = Tries::new(&rules);
    let all: u32 = (0..100).map(|number| retried(&mut tries, at(100 * number), 3)).sum();
    assert_eq!(all, 20);
    // Ten seconds after the last of them, one request is all that is counted.
    assert_eq!(retried(&mut tries, at(20_000), 3), 0);
}

/// The requests of the ten seconds before a fault have paid for retries that nothing asked for: a fault of five seconds gets
/// those of ten, and one of ten no more.
#[test]
fn a_share_that_was_saved_is_spent_when_a_fault_begins() {
    let rules = Rules { retries: retries(3, Some(Budget::Share(0.2))), ..Rules::default() };
    let mut tries = Tries::new(&rules);
    (0..200).for_each(|number| _ = tries.begins(at(100 * number), at(100 * number)));
    let mut of_five_seconds =
        |from: u64| -> u32 { (from..from + 50).map(|number| retried(&mut tries, at(100 * number), 3)).sum() };
    // Of 50 requests each: 1.4 attempts at each, then 1.
    assert_eq!((of_five_seconds(200), of_five_seconds(250)), (20, 0));
}

/// Tenths of tokens add up to whole ones exactly, the bucket begins empty, and holds no more than its most.
#[test]
fn a_bucket_fills_with_requests() {
    let budget = Some(Budget::Tokens { per_request: 0.1, most: 2 });
    let mut tries = Tries::new(&Rules { retries: retries(9, budget), ..Rules::default() });
    let all: Vec<u32> = (0..20).map(|_| retried(&mut tries, at(0), 9)).collect();
    assert_eq!(all.iter().sum::<u32>(), 2);
    assert_eq!((all[8], all[9], all[19]), (0, 1, 1));
    // Requests that do not fail fill it, up to two.
    (0..1000).for_each(|_| _ = tries.begins(at(0), at(0)));
    assert_eq!(retried(&mut tries, at(0), 9), 2);
}

/// A hedge goes by what replies have taken, once enough are known, and counts as an attempt; the other one is waited for.
#[test]
fn a_hedge_waits_for_a_percentile() {
    let mut tries = Tries::new(&Rules { hedge: Some(Hedge::Quantile(0.9)), ..Rules::default() });
    let first = |tries: &mut Tries| {
        let mut effort = tries.begins(at(0), at(0));
        (tries.tries(&mut effort, at(0)).hedge, effort)
    };
    assert_eq!(first(&mut tries).0, None, "nothing is known");
    (1..=49).for_each(|ms| tries.answered(span(ms)));
    assert_eq!(first(&mut tries).0, None, "fewer than five would be beyond");
    (50..=128).for_each(|ms| tries.answered(span(ms)));
    let (hedge, mut effort) = first(&mut tries);
    // A bucket of the histogram is up to 1 % wide.
    let hedge = hedge.unwrap();
    assert!((hedge.0 as f64 / at(116).0 as f64 - 1.0).abs() < 0.02, "{hedge:?}");
    assert!(tries.hedges(&effort, hedge));
    assert_eq!(tries.tries(&mut effort, hedge).hedge, None, "one is enough");
    assert!(!tries.hedges(&effort, hedge));
    assert_eq!(tries.failed(&mut effort, hedge, draws), AfterFailure::Wait);
    assert_eq!(tries.failed(&mut effort, hedge, draws), AfterFailure::GiveUp);
    // Not beside an attempt that has failed already.
    assert!(!tries.hedges(&Effort::default(), hedge));
}

/// A hedge takes from the budget of retries.
#[test]
fn hedges_and_retries_have_one_budget() {
    let budget = Some(Budget::Tokens { per_request: 1.0, most: 1 });
    let rules = Rules { hedge: Some(Hedge::After(span(10))), retries: retries(1, budget), ..Rules::default() };
    let mut tries = Tries::new(&rules);
    let mut effort = tries.begins(at(0), at(0));
    assert_eq!(tries.tries(&mut effort, at(0)).hedge, Some(at(10)));
    assert!(tries.hedges(&effort, at(10)));
    tries.tries(&mut effort, at(10));
    assert_eq!(tries.failed(&mut effort, at(20), draws), AfterFailure::Wait);
    assert_eq!(tries.failed(&mut effort, at(20), draws), AfterFailure::GiveUp, "nothing is left");
}
