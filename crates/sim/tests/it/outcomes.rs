//! Outcomes over time, of events that are told one by one.

use sojourn_sim::{Failure, OutcomesOverTime, Recovery};
use sojourn_stats::{Span, Time};

const MS: u64 = 1_000_000;

/// All that is counted belongs to the interval in which it happens, and percentiles to that of the reply: intervals without one
/// have none, and the last one, which nothing has followed yet, has its own.
#[test]
fn each_interval_has_its_own() {
    let mut outcomes = OutcomesOverTime::new(Span(1000 * MS), Vec::new(), Time(5000 * MS));
    for (at_ms, count, response_ms) in [(500, 10, 5), (2500, 196, 10), (2600, 4, 900), (3999, 1, 70)] {
        for _ in 0..count {
            outcomes.arrived(Time((at_ms - response_ms) * MS));
            outcomes.answered(Time(at_ms * MS), Span(response_ms * MS));
        }
    }
    outcomes.again(Time(1000 * MS));
    outcomes.arrived(Time(999 * MS));
    outcomes.failed(Time(1999 * MS), Failure::TimedOut);
    let (columns, measures, _) = outcomes.told(Time::ZERO);
    let values = |metric: &str| -> Vec<Option<f64>> {
        let column = columns.iter().find(|column| column.metric == metric).unwrap_or_else(|| panic!("no {metric}"));
        column.values.iter().map(|estimate| estimate.value()).collect()
    };
    let all = |values: [f64; 4]| values.map(Some).to_vec();
    assert_eq!(values("arrivals"), all([11.0, 4.0, 196.0, 1.0]));
    assert_eq!(values("attempts"), all([11.0, 5.0, 196.0, 1.0]));
    assert_eq!(values("goodput"), all([10.0, 0.0, 200.0, 1.0]));
    assert_eq!(values("timed_out"), all([0.0, 1.0, 0.0, 0.0]));
    assert_eq!(values("in_flight"), all([1.0, 4.0, 0.0, 0.0]));
    // A bucket is within 0.4 % of what is in it.
    let is_near = |found: Option<f64>, expected: f64| found.is_some_and(|found| (found / expected - 1.0).abs() < 0.004);
    let p50 = values("response_time_p50");
    assert!(is_near(p50[0], 0.005) && p50[1].is_none() && is_near(p50[2], 0.01), "{p50:?}");
    let p99 = values("response_time_p99");
    assert!(p99[0].is_none() && p99[1].is_none() && is_near(p99[2], 0.9), "{p99:?}");
    let worst = measures.iter().find(|measure| measure.metric == "worst_second_p99").expect("it is told");
    assert!(is_near(worst.estimate.value(), 0.9), "{worst:?}");
}

const SECOND: u64 = 1_000_000_000;

/// Seconds of a run: how many requests come in each, and how many of them fail; each ends after a millisecond.
type Seconds<'a> = &'a [(u64, u32, u32)];

/// What is said of the recovery of a run of a minute that measures from its fifth second on, with a fault in each of these
/// spans (s) and these numbers of requests and failures in so many seconds, one behind the other.
fn recovery(faults: &[(u64, u64)], seconds: Seconds<'_>) -> (Option<Recovery>, Option<f64>) {
    let faults = faults.iter().map(|(from, to)| (Time(from * SECOND), Time(to * SECOND))).collect();
    let mut outcomes = OutcomesOverTime::new(Span(SECOND), faults, Time(60 * SECOND));
    let each = seconds.iter().flat_map(|(count, came, failed)| (0..*count).map(move |_| (*came, *failed)));
    for (second, (came, failed)) in (0..).zip(each) {
        for number in 0..came {
            let begins = second * SECOND + u64::from(number) * SECOND / u64::from(came + 1);
            outcomes.arrived(Time(begins));
            let ends = Time(begins + MS);
            match number < failed {
                true => outcomes.failed(ends, Failure::TimedOut),
                false => outcomes.answered(ends, Span(MS)),
            }
        }
    }
    let (_, measures, recoveries) = outcomes.told(Time(5 * SECOND));
    let told = measures.iter().find(|measure| measure.metric == "recovery_time");
    assert!(recoveries.len() <= 1, "there is one run");
    let is_row = matches!(recoveries[..], [Recovery::After(_) | Recovery::Never | Recovery::NotYet]);
    assert_eq!(told.is_some(), is_row, "what cannot be said has no row: {recoveries:?}");
    (recoveries.first().copied(), told.and_then(|told| told.estimate.value()))
}

/// Behind a silence there is nothing to compare with: neither a recovery nor the lack of one.
#[test]
fn behind_a_silence_no_recovery_is_told() {
    let fault = [(30, 32)];
    let well = (Some(Recovery::After(0.0)), Some(0.0));
    assert_eq!(recovery(&fault, &[(60, 10, 0)]), well);
    let silent = |spoke: usize| (Some(Recovery::SilentBefore { spoke, of: 25 }), None);
    assert_eq!(recovery(&fault, &[(30, 0, 0), (30, 10, 0)]), silent(0));
    // What came in the warm-up says nothing.
    assert_eq!(recovery(&fault, &[(5, 10, 0), (25, 0, 0), (30, 10, 0)]), silent(0));
    // Four seconds are too few, and five are not, though the silence is behind them.
    assert_eq!(recovery(&fault, &[(9, 10, 0), (21, 0, 0), (30, 10, 0)]), silent(4));
    assert_eq!(recovery(&fault, &[(10, 10, 0), (20, 0, 0), (30, 10, 0)]), well);
    assert_eq!(recovery(&[(4, 5)], &[(60, 10, 0)]), (Some(Recovery::LittleBefore), None));
}

/// Nor does a silence after the fault say that it recovered, or that it did not.
#[test]
fn a_silence_after_a_fault_tells_no_recovery() {
    let fault = [(30, 32)];
    let silent = (Some(Recovery::SilentAfter), None);
    assert_eq!(recovery(&fault, &[(32, 10, 0)]), silent);
    assert_eq!(recovery(&fault, &[(36, 10, 0)]), silent, "four seconds");
    assert_eq!(recovery(&fault, &[(32, 10, 0), (2, 10, 10)]), silent, "it was broken when requests ceased to come");
    assert_eq!(recovery(&fault, &[(37, 10, 0)]), (Some(Recovery::After(0.0)), Some(0.0)), "five seconds");
    // Requests come again: from the third second after the fault on all was as before.
    let again = [(32, 10, 0), (2, 10, 10), (10, 0, 0), (16, 10, 0)];
    assert_eq!(recovery(&fault, &again), (Some(Recovery::After(2.0)), Some(2.0)));
    // Fewer requests than before have fewer good replies, and lack nothing.
    assert_eq!(recovery(&fault, &[(32, 10, 0), (28, 3, 0)]), (Some(Recovery::After(0.0)), Some(0.0)));
}

/// What fails as much as before the fault has not recovered, nor did it fail to.
#[test]
fn what_was_failing_before_the_fault_does_not_recover() {
    let fault = [(30, 32)];
    for after in [250, 249, 0] {
        let failing = [(30, 250, 249), (2, 250, 250), (28, 250, after)];
        assert_eq!(recovery(&fault, &failing), (Some(Recovery::FailingBefore { share: 0.996 }), None), "{after}");
    }
    // Of 2,500 requests 4 % are surely more than 1 %, and 1 % is what is usual.
    let of = |failed: u32| recovery(&fault, &[(30, 100, failed), (2, 100, 100), (28, 100, failed)]);
    assert_eq!(of(4), (Some(Recovery::FailingBefore { share: 0.04 }), None));
    assert_eq!(of(1), (Some(Recovery::After(0.0)), Some(0.0)));
    // One of few that failed is no sign of a larger share: 1 of 75 may be 1 in 2,962.
    let one = [(6, 3, 0), (1, 3, 1), (23, 3, 0), (2, 3, 3), (28, 3, 0)];
    assert_eq!(recovery(&fault, &one), (Some(Recovery::After(0.0)), Some(0.0)));
}

/// Not within the run is not, however the last second of it was; a run that ended too soon says neither.
#[test]
fn what_did_not_recover_within_the_run_has_no_time() {
    let fault = [(30, 32)];
    assert_eq!(recovery(&fault, &[(30, 10, 0), (30, 10, 10)]), (Some(Recovery::Never), None));
    assert_eq!(recovery(&fault, &[(30, 10, 0), (26, 10, 10), (4, 10, 0)]), (Some(Recovery::NotYet), None));
    assert_eq!(recovery(&fault, &[(30, 10, 0), (25, 10, 10), (5, 10, 0)]), (Some(Recovery::After(23.0)), Some(23.0)));
    assert_eq!(recovery(&[(30, 56)], &[(60, 10, 0)]), (Some(Recovery::EndsEarly), None));
    assert_eq!(recovery(&[], &[(60, 10, 0)]), (None, None), "there is nothing to recover from");
}

/// Of several faults what was before the first is compared with what is after the last; one that never ends has no end.
#[test]
fn of_several_faults_it_is_before_the_first_and_after_the_last() {
    let seconds = [(20, 10, 0), (2, 10, 10), (8, 0, 0), (2, 10, 10), (3, 10, 5), (25, 10, 0)];
    assert_eq!(recovery(&[(20, 22), (30, 32)], &seconds), (Some(Recovery::After(3.0)), Some(3.0)));
    let silent = [(22, 0, 0), (8, 10, 0), (2, 10, 10), (28, 10, 0)];
    let untold = Some(Recovery::SilentBefore { spoke: 0, of: 15 });
    assert_eq!(recovery(&[(20, 22), (30, 32)], &silent), (untold, None));
}
